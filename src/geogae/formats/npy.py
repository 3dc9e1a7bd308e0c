"""Untrusted ``.npy`` arrays: the header is checked before memory is taken, and nothing is unpickled.

``numpy.load`` is not used, because it allocates as much as a header states, and fails in many ways on a damaged one.
"""

from __future__ import annotations

import ast
import math
import struct
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geogae.errors import GeoGAEError

MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 10_000


class Header(NamedTuple):
    """What an array is: its shape, type and order; ``start`` is where its numbers begin."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    start: int

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(file: IO[bytes]) -> Header:
    """The header of an array; a header that is none, or one of Python objects, is an error."""
    prefix = file.read(8)
    if prefix[:6] != MAGIC or len(prefix) < 8:
        raise GeoGAEError("it does not begin as an .npy array does")
    kind, width = ("<H", 2) if prefix[6] == 1 else ("<I", 4)
    field = file.read(width)
    length = struct.unpack(kind, field)[0] if len(field) == width else 0
    text = file.read(length) if 0 < length <= _LONGEST_HEADER and prefix[6] in (1, 2, 3) else b""
    try:
        record = ast.literal_eval(text.decode("utf-8" if prefix[6] == 3 else "latin1").strip())
        descr, fortran, shape = record["descr"], record["fortran_order"], record["shape"]
        if len(text) < length or len(record) != 3 or not isinstance(descr, str) or not isinstance(fortran, bool):
            raise ValueError
        if not isinstance(shape, tuple) or not all(type(size) is int and 0 <= size < 1 << 62 for size in shape):
            raise ValueError
        dtype = np.dtype(descr)
    except (ValueError, SyntaxError, TypeError, KeyError, RecursionError, MemoryError):
        raise GeoGAEError("the header of its array is damaged") from None
    if dtype.hasobject or dtype.kind not in "biufcUS" or not dtype.itemsize:
        raise GeoGAEError(f"it holds {dtype}, not numbers")
    if len(shape) > 8:
        raise GeoGAEError(f"it has {len(shape)} axes")
    return Header(shape, dtype, fortran, 8 + width + length)


def read_array(file: IO[bytes], size: int) -> NDArray[Any]:
    """The array of a file or member of ``size`` bytes; the size that its header states must be that of the file."""
    header = read_header(file)
    if header.start + header.nbytes != size:
        raise GeoGAEError(
            f"its header states an array of shape {header.shape} and type {header.dtype}, {header.nbytes:,} bytes, "
            f"but {size - header.start:,} follow"
        )
    content = file.read(header.nbytes)
    if len(content) != header.nbytes or file.read(1):  # reading to the end lets zipfile check the CRC
        raise GeoGAEError("it is cut off")
    array = np.frombuffer(content, dtype=header.dtype) if header.nbytes else np.zeros(0, header.dtype)
    return array.reshape(header.shape, order="F" if header.fortran else "C")
