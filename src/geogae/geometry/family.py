"""Descent on L_sphere within a family of clouds: balls = mean + w · loadings, a point w for each graph.

What a linear decoder can say is such a family. Margins leave a cloud much room, so that a family with far fewer
dimensions than the cloud has numbers still holds an exact one; it only has to be found. Beside its ball a slot may
hold further numbers, each of which is to come between bounds.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from geogae.geometry.kernel import _FAST, _INLINE, _adam, f32, sphere_gradient

HOT, COLD = 0.3, 0.01  # the temperature falls from here to there
RATE = 0.2  # Adam's step at first, in units of the family's deviations; it falls with half a cosine
EASE, NEAR = 0.3, 0.05  # a number is drawn until it is so far within its bounds, and must be so far in the end
MARGIN = 0.02  # the rule is right by so much when a descent may end: rounding must not turn it
REACH = 1e9  # a ball beyond this ends a descent, as one that is not a number does: squares must not overflow
_REACH_BITS = int(np.float32(REACH).view(np.int32))
COUNT_WEIGHT = 300.0  # of a number of nodes that rounds wrongly, against a pair: it shifts all nodes behind it
FREE = 2e9  # a bound that bounds nothing
_SHARE = 16  # graphs of one size that a thread takes at once, with one copy of their slots' loadings


class Bounds(NamedTuple):
    """Where the numbers of a graph's slots beside the balls are to be; low = high asks for a value, but softly."""

    low: NDArray[np.float32]  # (n, e)
    high: NDArray[np.float32]  # (n, e)
    weight: NDArray[np.float32]  # (e,), of a number that is beyond, against a pair of nodes

    @classmethod
    def of_counts(cls, counts: NDArray[np.float32]) -> Bounds:
        """What rounds to whole numbers (n, 1)."""
        return cls(counts - np.float32(0.5), counts + np.float32(0.5), np.array([COUNT_WEIGHT], np.float32))


def fit_in_family(
    starts: NDArray[np.float32],  # (G, k), a point for each graph
    mean: NDArray[np.float32],  # (slots, d + e)
    loadings: NDArray[np.float32],  # (k, slots, d + e)
    adjacencies: Sequence[NDArray[np.bool_]],  # (n_g, n_g), n_g ≤ slots
    steps: int,
    threads: int | None = None,
    bounds: Sequence[Bounds] | None = None,  # of the last e numbers of each slot
    pull: float = 0.0,  # weight of ½‖w‖², the negative logarithm of a normal prior
) -> NDArray[np.float32]:
    """The points of the fewest wrong pairs that at most ``steps`` find, (G, k); a start that is right stays.

    Each graph descends by itself: neither the graphs beside it nor the threads change a bit of its point.
    """
    points = np.array(starts, dtype=np.float32, order="C")
    by_coordinate, mean_by_coordinate = loadings.transpose(0, 2, 1), mean.T  # (k, d + e, slots), (d + e, slots)
    sizes = np.array([len(joined) for joined in adjacencies], dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")  # the longest work first
    shares = [
        share[begin : begin + _SHARE].tolist()
        for share in np.split(order, np.flatnonzero(np.diff(sizes[order])) + 1)
        for begin in range(0, len(share), _SHARE)
    ]

    def fit(share: list[int]) -> None:
        """Some graphs of one size: they have the same slots."""
        n = sizes[share[0]]
        own = np.array(by_coordinate[:, :, :n], dtype=np.float32, order="C").reshape(len(loadings), -1)  # (k, d·n)
        middle = np.array(mean_by_coordinate[:, :n], dtype=np.float32, order="C")
        for graph in share:
            sign = np.full((n, n), -1, dtype=np.int8)
            sign[adjacencies[graph]] = 1
            np.fill_diagonal(sign, -1)
            low, high, weight = bounds[graph] if bounds is not None else _nothing(n)
            _descend(points[graph], middle, own, sign, _by_number(low), _by_number(high), weight, pull, steps)

    with threadpool_limits(1), ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        list(pool.map(fit, shares))
    return points


def _nothing(n: int) -> Bounds:
    return Bounds(np.empty((n, 0), np.float32), np.empty((n, 0), np.float32), np.empty(0, np.float32))


def _by_number(bounds: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.array(bounds.T, dtype=np.float32, order="C")  # (e, n)


@njit(**_FAST)
def _descend(point, mean, loadings, sign, low, high, weight, pull_home, steps):
    """Adam on one graph's point, in place; the best state seen (fewest wrong, then fewest narrow pairs) remains."""
    rows, n = mean.shape
    d = rows - len(weight)
    k = len(point)
    balls, gradient = np.empty((rows, n), f32), np.empty((rows, n), f32)
    radii, d2, pull = np.empty(n, f32), np.empty(n, f32), np.empty(n, f32)
    first, second, slope, best = np.zeros(k, f32), np.zeros(k, f32), np.empty(k, f32), point.copy()
    flat, flat_mean, flat_gradient = balls.reshape(-1), mean.reshape(-1), gradient.reshape(-1)
    best_wrong, best_narrow = np.inf, np.inf
    decay1, decay2 = 1.0, 1.0
    for step in range(steps + 1):
        offset = np.dot(point, loadings)
        if not (_within_reach(offset) and _within_reach(flat_mean)):
            break
        flat[:] = flat_mean + offset
        done = step / max(steps, 1)
        temperature = f32(math.exp((1 - done) * math.log(HOT) + done * math.log(COLD)))
        wrong, narrow = sphere_gradient(
            balls[: d - 1], balls[d - 1], sign, f32(0.5), f32(0), temperature, f32(MARGIN),
            gradient[: d - 1], gradient[d - 1], radii, d2, pull,
        )  # fmt: skip
        for e in range(len(weight)):
            for i in range(n):
                width = min(high[e, i] - low[e, i], f32(1))
                over, under = balls[d + e, i] - high[e, i], low[e, i] - balls[d + e, i]
                beyond = max(over, under)
                if width > 0:
                    wrong += 1.0 if beyond >= 0 else 0.0
                    narrow += 1.0 if beyond >= f32(-NEAR) * width else 0.0
                push = max(beyond + f32(EASE) * width, f32(0))
                gradient[d + e, i] = weight[e] * (push if over > under else -push)
        if wrong < best_wrong or (wrong == best_wrong and narrow < best_narrow):
            best_wrong, best_narrow = wrong, narrow
            best[:] = point
        if narrow == 0:
            break
        slope[:] = np.dot(loadings, flat_gradient) + f32(pull_home) * point
        decay1 *= 0.9
        decay2 *= 0.99
        rate = RATE * 0.5 * (1 + math.cos(math.pi * done))
        _adam(point, slope, first, second, f32(rate / (1 - decay1)), f32(1 / (1 - decay2)))
    point[:] = best


@njit(**_INLINE)
def _within_reach(numbers):
    """By their bits, as those of NaN are the largest: fastmath takes it for granted that a number is one."""
    lost = 0
    for bits in numbers.view(np.int32):
        lost += (bits & 0x7FFFFFFF) > _REACH_BITS  # without the sign
    return lost == 0
