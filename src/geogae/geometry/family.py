"""Descent on L_sphere within a family of clouds: balls = mean + w · loadings, a point w for each graph.

What a linear decoder can say is such a family. Margins leave a cloud much room, so that a family with far fewer
dimensions than the cloud has numbers still holds an exact one; it only has to be found.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from geogae.geometry.kernel import _FAST, _adam, f32, sphere_gradient

HOT, COLD = 0.3, 0.01  # the temperature falls from here to there
RATE = 0.2  # Adam's step at first, in units of the family's deviations; it falls with half a cosine
MARGIN = 0.02  # the rule is right by so much when a descent may end: rounding must not turn it


def fit_in_family(
    starts: NDArray[np.float32],  # (G, k), a point for each graph
    mean: NDArray[np.float32],  # (slots, d)
    loadings: NDArray[np.float32],  # (k, slots, d)
    adjacencies: Sequence[NDArray[np.bool_]],  # (n_g, n_g), n_g ≤ slots
    steps: int,
    threads: int | None = None,
) -> NDArray[np.float32]:
    """The points of the fewest wrong pairs that at most ``steps`` find, (G, k); a start that is right stays."""
    points = starts.astype(np.float32, copy=True)
    by_coordinate, mean_by_coordinate = loadings.transpose(0, 2, 1), mean.T  # (k, d, slots), (d, slots)
    sizes = np.array([len(joined) for joined in adjacencies])

    def fit_size(n: int) -> None:
        """All graphs of one size: they share the slots."""
        shared = np.ascontiguousarray(by_coordinate[:, :, :n]).reshape(len(loadings), -1)  # (k, d·n)
        middle = np.ascontiguousarray(mean_by_coordinate[:, :n])
        for graph in np.flatnonzero(sizes == n).tolist():
            sign = np.where(adjacencies[graph], np.int8(1), np.int8(-1))
            np.fill_diagonal(sign, -1)
            _descend(points[graph], middle, shared, sign, steps)

    with threadpool_limits(1), ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        list(pool.map(fit_size, sorted(set(sizes.tolist()), reverse=True)))
    return points


@njit(**_FAST)
def _descend(point, mean, loadings, sign, steps):
    """Adam on one graph's point, in place; the best state seen (fewest wrong, then fewest narrow pairs) remains."""
    d, n = mean.shape
    k = len(point)
    balls, gradient = np.empty((d, n), f32), np.empty((d, n), f32)
    radii, d2, pull = np.empty(n, f32), np.empty(n, f32), np.empty(n, f32)
    first, second, slope, best = np.zeros(k, f32), np.zeros(k, f32), np.empty(k, f32), point.copy()
    flat, flat_mean, flat_gradient = balls.reshape(-1), mean.reshape(-1), gradient.reshape(-1)
    best_wrong, best_narrow = np.inf, np.inf
    decay1, decay2 = 1.0, 1.0
    for step in range(steps + 1):
        flat[:] = flat_mean + np.dot(point, loadings)
        done = step / max(steps, 1)
        temperature = f32(math.exp((1 - done) * math.log(HOT) + done * math.log(COLD)))
        wrong, narrow = sphere_gradient(
            balls[: d - 1], balls[d - 1], sign, f32(0.5), f32(0), temperature, f32(MARGIN),
            gradient[: d - 1], gradient[d - 1], radii, d2, pull,
        )  # fmt: skip
        if wrong < best_wrong or (wrong == best_wrong and narrow < best_narrow):
            best_wrong, best_narrow = wrong, narrow
            best[:] = point
        if narrow == 0:
            break
        slope[:] = np.dot(loadings, flat_gradient)
        decay1 *= 0.9
        decay2 *= 0.99
        rate = RATE * 0.5 * (1 + math.cos(math.pi * done))
        _adam(point, slope, first, second, f32(rate / (1 - decay1)), f32(1 / (1 - decay2)))
    point[:] = best
