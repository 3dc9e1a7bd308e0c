"""Large collections through a fitted model in bounded memory: graphs to blocks of z, and blocks of z to graphs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geogae.errors import GeoGAEError
from geogae.files import atomic_path, exclusive
from geogae.formats.vectors import write_vectors

if TYPE_CHECKING:
    from geogae.estimator import GeoGAE
    from geogae.graph import Graph

BLOCK = 2048  # graphs in memory at a time


def encode_blocks(
    model: GeoGAE, graphs: Iterable[Any], *, block: int = BLOCK, n_jobs: int = 1, first: int = 0
) -> Iterator[NDArray[np.float32]]:
    """z of graphs, block by block, (rows, m) each; ``first`` graphs are passed over."""
    coming = islice(iter(graphs), first, None)
    while part := list(islice(coming, block)):
        yield model.encode(part, n_jobs=n_jobs)


def decode_blocks(model: GeoGAE, blocks: Iterable[NDArray[Any]]) -> Iterator[Graph]:
    """The graphs of blocks of z, one at a time."""
    for rows in blocks:
        yield from model.inverse_transform(rows)


def write_resumable(
    model: GeoGAE, graphs: Iterable[Any], path: str | os.PathLike[str], about: dict[str, Any], **how: Any
) -> tuple[tuple[int, int], int]:
    """Encode graphs into an ``.npy`` file; a job that was ended continues where it stopped.

    Rows are kept in ``.NAME.rows`` beside the file until it is whole. They are used again if ``about``, which says of
    which model and which graphs they are, is the same. Where no row was written, nothing is left behind. Returns the
    shape of the array and how many rows were there.
    """
    target = Path(path)
    rows, note = target.with_name(f".{target.name}.rows"), target.with_name(f".{target.name}.rows.json")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with rows.open("ab") as file, _held(file, rows, target):
            try:
                done = _rows_done(rows, note, about, model.latent_dim)
                file.truncate(done * model.latent_dim * 4)  # rows of another job, or a row that was cut short
                if not done:  # after other rows are gone: a kill in between must not leave them under this note
                    with atomic_path(note) as temporary:
                        temporary.write_text(json.dumps(about) + "\n")
                for block in encode_blocks(model, graphs, first=done, **how):
                    file.write(np.ascontiguousarray(block, "<f4").tobytes())
                    file.flush()
                shape = write_vectors(_stored(rows, model.latent_dim), target)
                file.truncate(0)
            finally:
                if os.fstat(file.fileno()).st_size < 4 * model.latent_dim:  # not one row to continue from
                    with suppress(OSError):
                        rows.unlink()
                    note.unlink(missing_ok=True)
    except OSError as error:
        raise GeoGAEError(f"cannot write {target}: {error.strerror or error}; choose another place") from None
    return shape, done


@contextmanager
def _held(file: IO[bytes], rows: Path, target: Path) -> Iterator[None]:
    """The rows belong to this job alone: two jobs that add to one file would mix theirs."""
    with exclusive(file, wait=False) as alone:
        try:
            there = os.path.samestat(os.fstat(file.fileno()), rows.stat())  # not removed by a job that just ended
        except FileNotFoundError:
            there = False
        if not (alone and there):
            raise GeoGAEError(f"another job is writing {target}; wait for it, or choose another file")
        yield


def _rows_done(rows: Path, note: Path, about: dict[str, Any], width: int) -> int:
    try:
        same = json.loads(note.read_text()) == about
    except (OSError, ValueError):
        return 0
    return rows.stat().st_size // (4 * width) if same and rows.is_file() else 0


def _stored(rows: Path, width: int) -> Iterator[NDArray[np.float32]]:
    with rows.open("rb") as file:
        while content := file.read(4 * width * BLOCK):
            yield np.frombuffer(content, "<f4").reshape(-1, width)
