"""The canonical pose: centred, on its principal axes, with the signs of its skewness (paper, Section 3.3, steps 1-3).

Where the paper's rule leaves a choice, because singular values tie or a third moment vanishes, the numbering of the
nodes decides; with canonical labelling that is a property of the graph alone.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

TIE = 1e-6  # singular values, lengths and moments closer than this, relative to the largest, count as equal


def canonical_pose(centers: NDArray[np.floating]) -> NDArray[np.float64]:
    """The same points in a pose that no translation, rotation or reflection of the input changes, (n, D)."""
    return pose(np.ascontiguousarray(centers, dtype=np.float64))


@njit(cache=True, nogil=True)
def pose(centers):
    """:func:`canonical_pose` of float64 centres, compiled."""
    n, dim = centers.shape
    points = centers - centers.sum(axis=0) / n  # step 1
    _, singular, rows = np.linalg.svd(points, False)  # step 2; (k,), (k, D), k = min(n, D)
    axes = np.ascontiguousarray(rows)
    posed = np.zeros((n, dim))
    begin = 0
    for end in range(1, len(singular) + 1):
        if singular[end - 1] > TIE * singular[0]:  # else flat: the coordinates are zero
            posed[:, end - 1] = points @ axes[end - 1]
        if end == len(singular) or singular[end - 1] - singular[end] > TIE * singular[0]:
            if end - begin > 1:
                _pose_tied(posed[:, begin:end])
            begin = end
    for k in range(dim):
        posed[:, k] *= _sign(posed[:, k])  # step 3
    return posed


@njit(cache=True, nogil=True)
def _pose_tied(points):
    """Axes for a block in which every axis is principal: through the farthest node, then the farthest of the rest."""
    dim = points.shape[1]
    rest = points.copy()
    basis = np.zeros((dim, dim))
    for k in range(dim):
        lengths = np.sqrt((rest * rest).sum(axis=1))
        node = _first_largest(lengths)
        if lengths[node] == 0:  # a flat block: coordinates are all zero already
            return
        basis[k] = rest[node] / lengths[node]
        for i in range(len(rest)):
            rest[i] -= (rest[i] * basis[k]).sum() * basis[k]
    points[:] = np.ascontiguousarray(points) @ basis.T


@njit(cache=True, nogil=True)
def _sign(x):
    """The sign of an axis's third moment; where it vanishes, that of the first of the largest coordinates."""
    third = x * x * x
    if abs(third.sum()) > TIE * np.abs(third).sum():
        return np.sign(third.sum())
    return 1.0 if x[_first_largest(np.abs(x))] >= 0 else -1.0


@njit(cache=True, nogil=True)
def _first_largest(values):
    """The first position whose value is the largest, up to a tie."""
    largest = values.max()
    for i in range(len(values)):
        if values[i] >= (1 - TIE) * largest:
            return i
    return 0
