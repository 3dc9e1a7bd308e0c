"""Files of graphs. The suffix decides the format, unless ``format`` does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from geogae.errors import GeoGAEError
from geogae.formats.detect import iter_graphs
from geogae.formats.limits import limited
from geogae.formats.registry import FILES, FileFormat, suffixes
from geogae.formats.simplify import SIMPLIFY
from geogae.formats.text import guessed_suffix, is_stream, peekable
from geogae.graph import Graph
from geogae.registry import entry


def read(
    source: str | os.PathLike[str] | IO[bytes], *, format: str | None = None, simplify: bool = False, **how: Any
) -> list[Graph]:
    """The graphs of a file, of a folder in TU format, or of an open binary stream with one graph a line.

    ``format`` is a suffix ("jsonl", "smi", "g6") for a file that has another one; for a stream it is guessed from the
    first lines if not given. ``simplify`` reads what is not undirected, unweighted and simple as if it were. ``how``
    goes to the reader of the format. What a file may ask for is limited, see :mod:`geogae.formats.limits`.
    """
    return limited(iter_read(source, format=format, simplify=simplify, **how), source)


def iter_read(
    source: str | os.PathLike[str] | IO[bytes], *, format: str | None = None, simplify: bool = False, **how: Any
) -> Iterator[Graph]:
    """As :func:`read`, one graph at a time.

    Memory is bounded for ``.jsonl``, ``.smi``, ``.g6``, ``.s6`` and ``.parquet``; the other formats are read as a whole
    first. An error in a later line comes when that line is reached.
    """
    if is_stream(source):
        source = peekable(source)
        suffix = guessed_suffix(source) if format is None else _suffix(format)
        reader = _format(suffix, f"format={format!r}", "read")
        if not reader.text:
            raise GeoGAEError(f"{suffix} cannot be read from a stream; give a file, or .jsonl, .smi, .g6 or .s6")
    else:
        path = source = Path(cast("str | os.PathLike[str]", source))
        is_folder = _is_folder(path)
        suffix = ("" if is_folder else path.suffix.lower()) if format is None else _suffix(format)
        if not suffix and not is_folder:
            raise GeoGAEError(f"{path} has no suffix that is known; read {suffixes()}")
        reader = _format(suffix, path, "read")
    policy: dict[str, Any] = {**SIMPLIFY} if simplify and reader.policy else {}
    return iter(reader.read(source, **policy | how))


def write(graphs: Any, path: str | os.PathLike[str]) -> None:
    """Write graphs to a file, or without a suffix to a new folder in TU format.

    ``graphs`` is anything that :func:`geogae.formats.as_graphs` takes. An iterator is written in bounded memory where
    the format allows (``.jsonl``, ``.smi``, ``.g6``, ``.s6``, ``.parquet``).
    """
    target = Path(path)
    _format(target.suffix.lower(), target, "write").write(iter_graphs(graphs), target)


def _format(suffix: str, what: object, verb: str) -> FileFormat:
    if suffix not in FILES:
        raise GeoGAEError(f"{what} has no suffix that is known; {verb} {suffixes()}")
    return entry(FILES, suffix)


def _suffix(format: str) -> str:
    return f".{format.lower().removeprefix('.')}"


def _is_folder(path: Path) -> bool:
    try:
        path.stat()
    except FileNotFoundError:
        raise GeoGAEError(f"{path} does not exist") from None
    except (OSError, ValueError) as error:  # ValueError: a null character
        raise GeoGAEError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    return path.is_dir()
