"""The canonical pose: centred, on its principal axes, with the signs of its skewness (paper, Section 3.3, steps 1-3).

Where the paper's rule leaves a choice, because singular values tie or a third moment vanishes, the numbering of the
nodes decides; with canonical labelling that is a property of the graph alone.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_TINY = np.finfo(float).tiny
TIE = 1e-6  # singular values, lengths and moments closer than this, relative to the largest, count as equal


def canonical_pose(centers: NDArray[np.floating]) -> NDArray[np.float64]:
    """The same points in a pose that no translation, rotation or reflection of the input changes, (n, D)."""
    points = centers - centers.mean(axis=0, dtype=np.float64)  # step 1
    _, singular, axes = np.linalg.svd(points, full_matrices=False)  # step 2; (k,), (k, D)
    posed = points @ axes.T
    flat = singular <= TIE * max(singular[0], _TINY)
    if flat.any():
        posed[:, flat] = 0
    for block in _tied(singular):
        if block.stop - block.start > 1:
            posed[:, block] = _pose_tied(posed[:, block])
    posed *= _signs(posed)  # step 3
    missing = points.shape[1] - len(singular)  # fewer points than dimensions span fewer axes
    return np.pad(posed, ((0, 0), (0, missing))) if missing else posed


def _tied(singular: NDArray[np.float64]) -> list[slice]:
    """Runs of equal singular values."""
    values = singular.tolist()
    starts = [k for k in range(len(values)) if k == 0 or values[k - 1] - values[k] > TIE * values[0]]
    return [slice(a, b) for a, b in pairwise([*starts, len(values)])]


def _pose_tied(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Axes for a block in which every axis is principal: through the farthest node, then the farthest of the rest."""
    rest, basis = points.copy(), []
    for _ in range(points.shape[1]):
        lengths = np.linalg.norm(rest, axis=1)
        node = _first_largest(lengths)
        if lengths[node] == 0:  # a flat block: coordinates are all zero already
            return points
        axis = rest[node] / lengths[node]
        basis.append(axis)
        rest = rest - np.outer(rest @ axis, axis)
    return points @ np.array(basis).T


def _signs(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sign of each axis's third moment, (D,); where it vanishes, that of the first of the largest coordinates."""
    third = points * points * points
    moment = third.sum(axis=0)
    signs = np.sign(moment)
    for k in np.flatnonzero(np.abs(moment) <= TIE * np.abs(third).sum(axis=0)):
        signs[k] = 1.0 if points[_first_largest(np.abs(points[:, k])), k] >= 0 else -1.0
    return signs


def _first_largest(values: NDArray[np.float64]) -> int:
    """The first position whose value is the largest, up to a tie."""
    return int(np.argmax(values >= (1 - TIE) * values.max()))
