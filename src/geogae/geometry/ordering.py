"""The order in which the model reads the nodes (paper, Section 3.4 and Algorithm 1). Ties go to the smaller number.

An order is a function of the centres (n, d-1) and raw radii (n,) of a posed cloud that returns its nodes, (n,), in the
order in which they are read. ``ORDERS["by radius"] = lambda centers, radii_raw: np.argsort(radii_raw, kind="stable")``
registers another one; ``order="by radius"`` then works wherever an order is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from geogae.geometry.cloud import softplus

TIE = 1e-9  # what differs by less is equal: rounding must not choose between two nodes of one distance
NEAREST = 1e-6  # a distance below this counts as this: log2 of zero is not a number
VANISHED = 1e-30  # a mean radius below this counts as this: a decoded ball may have none


def greedy_order(centers: NDArray[np.floating], radii_raw: NDArray[np.floating]) -> NDArray[np.int64]:
    """Algorithm 1: from the node nearest the centre, always on to the nearest by size, (n,)."""
    points = np.ascontiguousarray(centers, dtype=np.float64)
    middle = np.add.reduce(points, axis=0) / len(points)  # as np.mean, which takes longer than to order a molecule
    return _greedy(points, softplus(radii_raw.astype(np.float64)), middle)


def axis_order(centers: NDArray[np.floating], radii_raw: NDArray[np.floating]) -> NDArray[np.int64]:
    """Along the first principal axis of a posed cloud, then along the second, and so on, (n,)."""
    return np.lexsort([radii_raw, *centers.T[::-1]])


Order = Callable[[NDArray[np.floating], NDArray[np.floating]], NDArray[np.int64]]

ORDERS: dict[str, Order] = {  # the registry: name → order
    "greedy": greedy_order,
    "axis": axis_order,
}


@njit(cache=True, nogil=True)
def _greedy(points, radii, middle):
    n, dim = points.shape
    penalty = np.empty(n)
    first = 0
    for j in range(n):
        square = 0.0
        for k in range(dim):
            square += (points[j, k] - middle[k]) ** 2
        penalty[j] = math.log2(max(math.sqrt(square), NEAREST)) / 10
        if penalty[j] < penalty[first] - TIE:
            first = j  # line 3
    order = np.empty(n, np.int64)
    order[0] = first
    left = np.ones(n, np.bool_)
    left[first] = False
    for i in range(1, n):
        last = order[i - 1]
        best, best_score = -1, np.inf
        for j in range(n):
            if not left[j]:
                continue
            square = 0.0
            for k in range(dim):
                square += (points[j, k] - points[last, k]) ** 2
            size = max(0.5 * (radii[j] + radii[last]), VANISHED)
            score = math.sqrt(square) / size + penalty[j]  # line 7
            if best < 0 or score < best_score - TIE:
                best, best_score = j, score
        order[i] = best
        left[best] = False
    return order
