"""Pairs of balls that are near each other, by a grid of cells: far pairs cost nothing.

Cells lie on the three coordinates of the largest extent. A cell is as wide as two ordinary balls and the reach between
them, so that an ordinary ball meets others in its own and the adjacent cells only. The few larger balls look through
all the cells that they can touch.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

ORDINARY = 0.98  # share of the balls that are ordinary, the smallest ones
AXES = 3
LARGER = 20  # times as many pairs may be listed with a large ball
CHUNK = 1024  # balls that are compared at once
OCCUPANCY = 4  # balls in a cell, at least, on average


def near_pairs(
    centers: NDArray[np.floating], radii: NDArray[np.floating], reach: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs i < j of balls less than ``reach`` apart, in order; centres (n, D), radii as the rule scales them."""
    points = np.ascontiguousarray(centers.T, dtype=np.float64)  # (D, n)
    start, other, _, _ = search(
        points, np.ascontiguousarray(radii, dtype=np.float64), float(reach), np.full(len(radii), len(radii))
    )
    i, j = np.repeat(np.arange(len(radii)), np.diff(start)), other
    i, j = np.minimum(i, j), np.maximum(i, j)
    by_pair = np.lexsort([j, i])
    return i[by_pair], j[by_pair].astype(np.int64)


@njit(cache=True, nogil=True)
def search(points, radii, reach, most):
    """Each pair of balls less than ``reach`` apart, once: with node i, ``other[start[i]:start[i + 1]]``.

    ``points`` are (D, n). About ``most[i]`` pairs at most are listed with node i, more with a large ball. Returns also
    how many pairs were examined, and whether some are missing.
    """
    dim, n = points.shape
    axes, low, width, shape, usual = _grid(points, radii, reach)
    order, first, large = _fill(points, radii, axes, low, width, shape, usual)
    count = len(order)
    sorted_points, sorted_radii = np.empty((dim, count), points.dtype), np.empty(count, radii.dtype)
    for p in range(count):
        sorted_radii[p] = radii[order[p]]
    for k in range(dim):
        x, y = points[k], sorted_points[k]
        for p in range(count):
            y[p] = x[order[p]]
    place = np.full(n, -1, np.int64)
    for p in range(count):
        place[order[p]] = p
    start = np.zeros(n + 1, np.int64)
    other = np.empty(8 * n + CHUNK, np.int32)
    square = np.empty(CHUNK, points.dtype)
    lows, highs = np.empty(AXES, np.int64), np.empty(AXES, np.int64)
    found, examined, cut = 0, n, False
    for i in range(n):
        ordinary = place[i] >= 0
        room = most[i] if ordinary else LARGER * most[i]
        for a in range(AXES):
            if axes[a] < 0:
                lows[a], highs[a] = 0, 0
                continue
            x, far = points[axes[a], i] - low[a], radii[i] + usual + reach
            lows[a] = max(0, min(shape[a] - 1, int((x - far) / width[a])))
            highs[a] = max(0, min(shape[a] - 1, int((x + far) / width[a])))
        for c0 in range(lows[0], highs[0] + 1):
            for c1 in range(lows[1], highs[1] + 1):
                row = (c0 * shape[1] + c1) * shape[2]
                begin, end = first[row + lows[2]], first[row + highs[2] + 1]
                if ordinary:
                    begin = max(begin, place[i] + 1)  # each pair once
                while begin < end:
                    if found - start[i] >= room:
                        cut = True
                        break
                    stop = min(end, begin + CHUNK)
                    examined += stop - begin
                    if found + stop - begin > len(other):
                        other = np.concatenate((other, np.empty(len(other) + CHUNK, np.int32)))
                    found = _select(
                        sorted_points[:, begin:stop], sorted_radii[begin:stop], order[begin:stop], points[:, i],
                        radii[i] + reach, square[: stop - begin], other, found,
                    )  # fmt: skip
                    begin = stop
        if not ordinary:
            for j in large:
                if found - start[i] >= room:
                    cut = True
                    break
                if j > i:
                    d2 = points.dtype.type(0)
                    for k in range(dim):
                        d2 += (points[k, i] - points[k, j]) ** 2
                    if d2 < (radii[i] + radii[j] + reach) ** 2:
                        if found == len(other):
                            other = np.concatenate((other, np.empty(len(other), np.int32)))
                        other[found] = j
                        found += 1
        start[i + 1] = found
    return start, other[:found], examined + len(large) * (len(large) - 1) // 2, cut


@njit(cache=True, nogil=True)
def _select(points, radii, names, point, far, square, other, found):
    """Write the names of the balls that are near a point; squares of distances first, which vectorises."""
    x, c = points[0], point[0]
    for p in range(len(square)):
        square[p] = (x[p] - c) ** 2
    for k in range(1, len(points)):
        x, c = points[k], point[k]
        for p in range(len(square)):
            square[p] += (x[p] - c) ** 2
    for p in range(len(square)):
        if square[p] < (radii[p] + far) ** 2:
            other[found] = names[p]
            found += 1
    return found


@njit(cache=True, nogil=True)
def _grid(points, radii, reach):
    """The axes of the grid (-1 for none), where it begins, widths and numbers of cells, the largest ordinary radius."""
    dim, n = points.shape
    usual = np.sort(radii)[min(n - 1, int(ORDINARY * n))]
    extents, lows = np.empty(dim), np.empty(dim)
    for k in range(dim):
        lows[k] = points[k].min()
        extents[k] = points[k].max() - lows[k]
    by_extent = np.argsort(-extents)
    axes, shape = np.full(AXES, -1, np.int64), np.ones(AXES, np.int64)
    low, width = np.zeros(AXES), np.ones(AXES)
    cell = max(2 * usual + reach, 1e-9)
    room = max(n / OCCUPANCY, 1.0)  # cells that may be
    for place in range(min(AXES, dim)):
        k, a = by_extent[place], AXES - 1 - place  # cells along the longest axis lie next to each other
        axes[a], low[a] = k, lows[k]
        shape[a] = max(1, int(min(extents[k] / cell, room)))
        width[a] = max(extents[k] / shape[a], 1e-9) * 1.0001
        room /= shape[a]
    return axes, low, width, shape, usual


@njit(cache=True, nogil=True)
def _fill(points, radii, axes, low, width, shape, usual):
    """The ordinary balls by cell, the first of each cell among them, and the large balls."""
    n = len(radii)
    cells = np.full(n, -1, np.int64)
    first = np.zeros(shape[0] * shape[1] * shape[2] + 1, np.int64)
    large = np.empty(n, np.int64)
    many = 0
    for i in range(n):
        if radii[i] > usual:
            large[many] = i
            many += 1
            continue
        cell = 0
        for a in range(AXES):
            inside = 0 if axes[a] < 0 else int((points[axes[a], i] - low[a]) / width[a])
            cell = cell * shape[a] + max(0, min(shape[a] - 1, inside))
        cells[i] = cell
        first[cell + 1] += 1
    first = np.cumsum(first)
    fill = first[:-1].copy()
    order = np.empty(n - many, np.int64)
    for i in range(n):
        if cells[i] >= 0:
            order[fill[cells[i]]] = i
            fill[cells[i]] += 1
    return order, first, large[:many]
