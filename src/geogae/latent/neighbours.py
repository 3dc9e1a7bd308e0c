"""The graphs that are most like a graph, by the distance between descriptors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 1 << 24  # distances


class Neighbour(NamedTuple):
    index: int  # type: ignore[assignment]  # among the graphs that were searched; tuple has a method of this name
    distance: float


def nearest(
    queries: NDArray[np.floating], among: NDArray[np.floating], k: int, leave_out: NDArray[np.int64] | None = None
) -> list[list[Neighbour]]:
    """The k nearest rows of each query (Q, d), nearest first, equals by their index; ``leave_out`` (Q,) is no match."""
    found: list[list[Neighbour]] = []
    searched = among.astype(np.float64)
    rows = max(1, AT_ONCE // max(1, len(searched)))
    for begin in range(0, len(queries), rows):
        part = queries[begin : begin + rows].astype(np.float64)
        squares = (part**2).sum(1)[:, None] + (searched**2).sum(1) - 2 * part @ searched.T
        if leave_out is not None:
            squares[np.arange(len(part)), leave_out[begin : begin + rows]] = np.inf
        for row, own in enumerate(np.sqrt(squares.clip(min=0))):
            first = np.argpartition(own, min(k, len(own)) - 1)[:k] if k < len(own) else np.arange(len(own))
            order = first[np.lexsort((first, own[first]))]
            exact = np.linalg.norm(searched[order] - part[row], axis=1)  # differences of squares are rough near zero
            order, exact = order[np.lexsort((order, exact))], np.sort(exact)
            found.append(
                [Neighbour(int(i), float(d)) for i, d in zip(order, exact, strict=True) if np.isfinite(own[i])]
            )
    return found
