"""Numbers as text: comma-separated rows, one a line."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geogae.errors import GeoGAEError

Kind = Any  # np.int64, np.float32 or np.float64

_NOT_SEPARATORS = bytes(set(range(256)) - set(b",\n"))
_QUOTED = 40  # characters of a value in a message
_INTEGER_LIMITS = np.iinfo(np.int64)


def parse(text: bytes, kind: Kind, source: str, columns: int | None = None) -> NDArray[Any]:
    """The table, (lines, columns); without ``columns`` the first line decides. ``source`` names the file in errors.

    The whole text is checked and parsed at once. Only a text that fails is read line by line, to name the line.
    """
    text = text.rstrip()
    if not text:
        return np.zeros((0, columns or 1), dtype=kind)
    if columns is None:
        columns = text.partition(b"\n")[0].count(b",") + 1
    separators = text.translate(None, delete=_NOT_SEPARATORS) + b"\n"
    lines = separators.count(b"\n")
    if separators == (b"," * (columns - 1) + b"\n") * lines:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # what NumPy issues for text that is not a number
            try:
                values = np.fromstring(text.replace(b",", b" "), dtype=kind, sep=" ")
            except (DeprecationWarning, ValueError):
                values = np.zeros(0)
        if len(values) == lines * columns and _in_range(values):
            values += kind(0)  # -0.0 becomes 0.0, as in Graph
            table: NDArray[Any] = values.reshape(lines, columns)
            return table
    raise GeoGAEError(f"{source} {_first_fault(text, kind, columns)}")


def lines(table: NDArray[Any], format: str) -> Iterator[str]:
    """The table as text, in pieces; ``format`` is that of one number."""
    line = ", ".join([format] * table.shape[1]) + "\n"
    for start in range(0, len(table), 100_000):
        piece = table[start : start + 100_000]
        yield line * len(piece) % tuple(piece.ravel().tolist())


def _in_range(values: NDArray[Any]) -> bool:
    if values.dtype.kind == "f":
        return bool(np.isfinite(values).all())
    return bool(values.min() > _INTEGER_LIMITS.min and values.max() < _INTEGER_LIMITS.max)  # the parser saturates


def _first_fault(text: bytes, kind: Kind, columns: int) -> str:
    integers = kind is np.int64
    for number, line in enumerate(text.split(b"\n"), start=1):
        cells = [cell.strip()[:_QUOTED].decode(errors="replace") for cell in line.split(b",")]
        if cells == [""]:
            return f"line {number}: the line is empty; remove it"
        if len(cells) != columns:
            return f"line {number}: {len(cells)} values instead of {columns}, separated by commas"
        for cell in cells:
            try:
                value = int(cell) if integers else float(cell)
            except ValueError:
                return f"line {number}: {cell!r} is not a {'whole ' if integers else ''}number"
            if integers and abs(value) >= _INTEGER_LIMITS.max:
                return f"line {number}: {cell} is too large for 64 bits"
            if not integers and not abs(value) <= float(np.finfo(kind).max):
                return f"line {number}: {cell} is not a finite number of {np.finfo(kind).bits} bits"
    return "cannot be read as numbers separated by commas"
