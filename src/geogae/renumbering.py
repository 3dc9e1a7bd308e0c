"""The compiled step behind ``Graph.relabel`` and ``Graph.subgraph``: edges between nodes with new numbers, in order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True)
def renumbered(edges: Any, place: Any) -> Any:
    """The edges (E', 2) between the new numbers of their ends, in order, and the row that each had, (E',).

    An edge with an end whose new number is negative is left out.
    """
    count = 0
    for i, j in edges:
        count += place[i] >= 0 and place[j] >= 0
    key, row = np.empty(count, np.int64), np.empty(count, np.int64)
    n, e = len(place), 0
    for r in range(len(edges)):
        i, j = place[edges[r, 0]], place[edges[r, 1]]
        if i >= 0 and j >= 0:
            key[e], row[e] = min(i, j) * n + max(i, j), r
            e += 1
    by_key = np.argsort(key)
    new = np.empty((count, 2), np.int64)
    for e in range(count):
        new[e, 0], new[e, 1] = divmod(key[by_key[e]], n)
    return new, row[by_key]
