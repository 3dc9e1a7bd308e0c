"""Arrays and text as JSON that a page can hold: compact, and with nothing in it that a browser could run."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Packed = dict[str, Any]

_WHOLE = (np.uint8, np.int8, np.uint16, np.int16, np.int32, np.int64)  # narrowest first


def pack(values: ArrayLike, kind: type[np.generic] | None = None) -> Packed:
    """An array as its type, shape and little-endian bytes in base64; whole numbers in the narrowest type that fits."""
    array = np.asarray(values)
    if kind is None:
        kind = _narrowest(array) if array.dtype.kind in "iub" else np.float32
    array = np.ascontiguousarray(array, dtype=np.dtype(kind).newbyteorder("<"))
    return {
        "type": array.dtype.str[1:],
        "shape": list(array.shape),
        "data": b64encode(array.tobytes()).decode("ascii"),
    }


def pack_ragged(rows: Sequence[NDArray[Any]], kind: type[np.generic] | None = None) -> Packed:
    """Arrays of different lengths on end, with the number of rows of each."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    return {"lengths": pack(lengths), "values": pack(np.concatenate(rows) if len(rows) else np.zeros(0), kind)}


def to_script(value: Any) -> str:
    """JSON for a <script> element: no character in it can end the element or begin another."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _narrowest(array: NDArray[Any]) -> type[np.generic]:
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    return next(kind for kind in _WHOLE if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
