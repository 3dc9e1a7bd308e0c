"""Vectors z as files: ``.npy``, or JSON (a list of rows). Nothing is unpickled, and sizes are checked first."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geogae.errors import GeoGAEError
from geogae.files import atomic_path
from geogae.formats import npy
from geogae.formats.limits import check

SUFFIXES = (".npy", ".json")
_WANTED = "it must be an .npy file of numbers, or JSON: a list of rows of equally many numbers"
_HEADER = 128  # bytes, room for any number of rows


def read_vectors(path: str | os.PathLike[str]) -> NDArray[Any]:
    """All vectors of a file, as they are stored: (rows, m), or (m,) for one vector."""
    with _readable(path):
        if Path(path).suffix.lower() == ".json":
            return _from_json(Path(path))
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            check("unpacked", size, str(path))
            return npy.read_array(file, size)


def iter_vectors(path: str | os.PathLike[str], rows: int = 4096) -> Iterator[NDArray[Any]]:
    """The vectors of a file in blocks of at most so many rows, in bounded memory if it is an ``.npy`` file."""
    if Path(path).suffix.lower() == ".json":
        array = np.atleast_2d(read_vectors(path))
        yield from (array[start : start + rows] for start in range(0, len(array), rows))
        return
    with _readable(path), Path(path).open("rb") as file:
        header = npy.read_header(file)
        if header.start + header.nbytes != os.fstat(file.fileno()).st_size:
            raise GeoGAEError(f"its header states {header.nbytes:,} bytes of numbers, but other than that follow")
        if header.fortran or len(header.shape) != 2:  # its rows do not follow one another
            file.seek(0)
            check("unpacked", header.nbytes, str(path))
            array = np.atleast_2d(npy.read_array(file, header.start + header.nbytes))
            yield from (array[start : start + rows] for start in range(0, len(array), rows))
            return
        count, width = header.shape
        check("unpacked", min(rows, count) * width * header.dtype.itemsize, str(path))
        for start in range(0, count, rows):
            block = min(rows, count - start)
            content = file.read(block * width * header.dtype.itemsize)
            yield np.frombuffer(content, header.dtype).reshape(block, width)


def write_vectors(blocks: Iterable[NDArray[Any]], path: str | os.PathLike[str]) -> tuple[int, int]:
    """Write blocks of float32 rows (rows, m) to one ``.npy`` file as they come, and return its shape.

    ``blocks`` may be one array as well. The file appears when the last block is written.
    """
    blocks = [blocks] if isinstance(blocks, np.ndarray) else blocks
    count, width = 0, None
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        file.write(bytes(_HEADER))
        for block in blocks:
            block = np.ascontiguousarray(block, dtype="<f4")
            if block.ndim != 2 or (width is not None and block.shape[1] != width):
                raise GeoGAEError(f"a block of vectors has shape {block.shape}; it must be (rows, {width or 'm'})")
            file.write(block.tobytes())
            count, width = count + len(block), block.shape[1]
        if width is None:
            raise GeoGAEError("there are no vectors to write; give at least one")
        file.seek(0)
        file.write(_header(count, width))
    return count, width


def _header(count: int, width: int) -> bytes:
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({count}, {width}), }}"
    return npy.MAGIC + b"\x01\x00" + (_HEADER - 10).to_bytes(2, "little") + text.ljust(_HEADER - 11).encode() + b"\n"


def _from_json(path: Path) -> NDArray[np.float64]:
    with path.open("rb") as file:
        check("line", os.fstat(file.fileno()).st_size, f"{path} (an .npy file may be larger)")
        content = file.read()
    rows = json.loads(content.decode("utf-8-sig"))
    try:
        array = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise GeoGAEError("its rows are not lists of equally many numbers") from None
    if array.ndim not in (1, 2):
        raise GeoGAEError(f"it has {array.ndim} axes")
    return array


@contextmanager
def _readable(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except GeoGAEError as error:
        raise GeoGAEError(f"{path} holds no vectors that can be read: {error}; {_WANTED}") from None
    except OSError as error:
        raise GeoGAEError(f"cannot read {path}: {error.strerror or error}; {_WANTED}") from None
    except (ValueError, RecursionError):  # not JSON, not text
        raise GeoGAEError(f"{path} holds no vectors; {_WANTED}") from None
