"""Latent refinement: Adam on the components of one z, on L_sphere, until its decoding is the graph.

Margins leave a cloud much freedom, so that a decoder with far fewer components than a cloud has numbers still has an
exact cloud in its range. Numbers beside the balls have bounds to stay within. As in auto-decoders, only z is optimised.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from geogae.autoencoders.slots.base import SlotValues
from geogae.geometry.kernel import FAST, INLINE, adam, f32, sphere_gradient

# the share of the steps and the first temperature of each attempt: most graphs need few steps, if the temperature falls
# fast; those that are left gain more from a long and hotter attempt
ATTEMPTS = ((0.1, 0.3), (0.9, 0.5))
COLD = 0.01  # the last temperature of each attempt
RATE = 0.4  # Adam's step at first, in units of the axes' deviations; it falls with half a cosine
INSIDE, NEAR = 0.3, 0.05  # a number is pushed until it is so far within its bounds, and must be so far in the end
MARGIN = 0.02  # margin at which a refinement ends, so that rounding changes no edge
ROWS, BLOCK = 4, 16  # components whose loadings are read together, and that are updated together
REACH = 1e9  # a ball beyond this ends a refinement, as one that is not a number does: squares must not overflow
_REACH_BITS = int(np.float32(REACH).view(np.int32))


def refine(
    starts: NDArray[np.float32],  # (G, k), components in units of their deviations
    means: NDArray[np.float32],  # (slots, w), or (G, slots, w) if each graph has its own
    loadings: NDArray[np.float32],  # (k, slots, w), axes times deviations
    adjacencies: Sequence[NDArray[np.bool_]],  # (n_g, n_g), n_g ≤ slots
    written: Sequence[SlotValues],  # what the last e numbers of each slot are to be
    steps: int,
    pull: float = 0.0,  # weight of ½‖components‖², the negative logarithm of a normal prior
) -> NDArray[np.float32]:
    """The components with the fewest wrong pairs that are found, (G, k); a start that is right stays.

    There are up to two attempts of ``steps`` in all; the second is longer and hotter and starts from the best
    components of the first. Each graph is refined by itself: the graphs beside it change no bit of its result.
    """
    k = starts.shape[1]
    missing = -k % ROWS  # loadings of zero move nothing
    points = np.ascontiguousarray(np.pad(starts, ((0, 0), (0, missing))), np.float32)
    loadings = np.pad(loadings, ((0, missing), (0, 0), (0, 0)))
    sizes = np.array([len(joined) for joined in adjacencies], dtype=np.int64)
    order = np.argsort(sizes, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(sizes[order])) + 1):  # graphs of one size share their slots
        n = sizes[group[0]] if len(group) else 0
        places = np.ascontiguousarray(loadings[:, :n].transpose(0, 2, 1), np.float32)  # (k, w, n)
        own = places.reshape(len(loadings), -1)  # (k, w·n)
        for graph in group.tolist():
            middle = np.ascontiguousarray((means if means.ndim == 2 else means[graph])[:n].T, np.float32)  # (w, n)
            sign = np.full((n, n), -1, dtype=np.int8)
            sign[adjacencies[graph]] = 1
            np.fill_diagonal(sign, -1)
            low, high = (np.ascontiguousarray(part.T, np.float32) for part in written[graph][2:4])  # (e, n)
            problem = (middle, own, sign, low, high, written[graph].weight, pull)
            for share, hot in ATTEMPTS:
                if _refine(points[graph], *problem, round(share * steps), hot) == 0:
                    break
    return points[:, :k].copy()


@njit(**FAST)
def _refine(point, mean, loadings, sign, low, high, weight, pull, steps, hot):
    """Adam on one graph's components, in place; the best state seen (fewest wrong, then fewest narrow) remains.

    Returns how many pairs and numbers are narrow in it: wrong, or right by less than their margin.
    """
    rows, n = mean.shape
    d = rows - len(weight)
    k = len(point)
    slots, gradient = np.empty((rows, n), f32), np.empty((rows, n), f32)
    radii, d2, force = np.empty(n, f32), np.empty(n, f32), np.empty(n, f32)
    first, second, slope, best = np.zeros(k, f32), np.zeros(k, f32), np.empty(k, f32), point.copy()
    flat, flat_mean, flat_gradient = slots.reshape(-1), mean.reshape(-1), gradient.reshape(-1)
    best_wrong, best_narrow = np.inf, np.inf
    decay1, decay2 = 1.0, 1.0
    flat[:] = flat_mean
    _decode(point, loadings, flat)
    for step in range(steps + 1):
        if not _within_reach(flat):
            break
        done = step / max(steps, 1)
        temperature = f32(math.exp((1 - done) * math.log(hot) + done * math.log(COLD)))
        wrong, narrow = sphere_gradient(
            slots[: d - 1], slots[d - 1], sign, f32(0.5), f32(0), temperature, f32(MARGIN),
            gradient[: d - 1], gradient[d - 1], radii, d2, force,
        )  # fmt: skip
        for e in range(len(weight)):
            for i in range(n):
                width = min(high[e, i] - low[e, i], f32(1))
                over, under = slots[d + e, i] - high[e, i], low[e, i] - slots[d + e, i]
                beyond = max(over, under)
                if width > 0 and weight[e] > 0:
                    wrong += 1.0 if beyond >= 0 else 0.0
                    narrow += 1.0 if beyond >= f32(-NEAR) * width else 0.0
                push = max(beyond + f32(INSIDE) * width, f32(0))
                gradient[d + e, i] = weight[e] * (push if over > under else -push)
        if wrong < best_wrong or (wrong == best_wrong and narrow < best_narrow):
            best_wrong, best_narrow = wrong, narrow
            best[:] = point
        if narrow == 0:
            break
        decay1 *= 0.9
        decay2 *= 0.99
        rate = f32(RATE * 0.5 * (1 + math.cos(math.pi * done)) / (1 - decay1))
        flat[:] = flat_mean
        for begin in range(0, k, BLOCK):  # a block's loadings are read from memory once, for both products
            some = slice(begin, min(begin + BLOCK, k))
            _project(loadings[some], flat_gradient, slope[some])
            slope[some] += f32(pull) * point[some]
            adam(point[some], slope[some], first[some], second[some], rate, f32(1 / (1 - decay2)))
            _decode(point[some], loadings[some], flat)
    point[:] = best
    return best_narrow


# Both products are written out, not left to BLAS, whose threads and rounding differ between machines. ROWS loadings at
# a time save reading and writing the slots for each of them.


@njit(**INLINE)
def _decode(point, loadings, slots):
    """Add point · loadings to the slots, (k,) times (k, w·n)."""
    for i in range(0, len(point), ROWS):
        a, b, c, d = point[i], point[i + 1], point[i + 2], point[i + 3]
        row_a, row_b, row_c, row_d = loadings[i], loadings[i + 1], loadings[i + 2], loadings[i + 3]
        for j in range(len(slots)):
            slots[j] = slots[j] + a * row_a[j] + b * row_b[j] + c * row_c[j] + d * row_d[j]


@njit(**INLINE)
def _project(loadings, gradient, slope):
    """loadings · gradient, (k, w·n) times (w·n,)."""
    for i in range(0, len(slope), ROWS):
        a, b, c, d = f32(0), f32(0), f32(0), f32(0)
        row_a, row_b, row_c, row_d = loadings[i], loadings[i + 1], loadings[i + 2], loadings[i + 3]
        for j in range(len(gradient)):
            a += row_a[j] * gradient[j]
            b += row_b[j] * gradient[j]
            c += row_c[j] * gradient[j]
            d += row_d[j] * gradient[j]
        slope[i], slope[i + 1], slope[i + 2], slope[i + 3] = a, b, c, d


@njit(**INLINE)
def _within_reach(numbers):
    """By their bits, as those of NaN are the largest: fastmath takes it for granted that a number is one."""
    lost = 0
    for bits in numbers.view(np.int32):
        lost += (bits & 0x7FFFFFFF) > _REACH_BITS  # without the sign
    return lost == 0
