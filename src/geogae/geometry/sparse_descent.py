"""The descent of :mod:`geogae.geometry.kernel` for large graphs: only edges and near non-edges are looked at.

Balls that are far apart have a negligible gradient. The list of near pairs has a skin: it holds for as long as no ball
has moved or grown by half of it, then the pairs are searched again.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from geogae.geometry.kernel import BETA1, BETA2, FAST, INLINE, SCALE, adam, f32, focal_row
from geogae.geometry.neighbours import search

REACH = 9.0  # temperatures: the gradient of a non-edge that is farther apart is negligible
SKIN = 1.0
RENEWAL = 20  # steps, and three times as many, and so on
FULL_RATE = 40  # steps at the full rate; then it falls, so that the last wrong pairs settle
FALL, LEAST_RATE = 0.98, 0.15  # by this factor a step, to this share
CROWD = 1000  # pairs listed with a ball: in a crowd, some of the near pairs suffice
SEARCH = 4  # pairs that the search examines in the time that the gradient takes for one


@njit(cache=True, nogil=True)
def neighbour_lists(centers, radii, edge_start, edge_other, reach):
    """For each node its edges to later nodes, then its near non-edges, each pair once; and where these begin.

    Returns also the pairs that the search examined, and whether some pairs are missing.
    """
    n = len(radii)
    start, other, examined, cut = search(centers, radii, reach, np.diff(edge_start) + CROWD)
    rows, split = np.zeros(n + 1, np.int64), np.zeros(n, np.int64)
    listed = np.empty(len(other) + len(edge_other), np.int32)
    mark = np.full(n, -1, np.int64)
    fill = 0
    for i in range(n):
        for a in range(edge_start[i], edge_start[i + 1]):
            j = edge_other[a]
            mark[j] = i
            if j > i:
                listed[fill] = j
                fill += 1
        split[i] = fill
        for a in range(start[i], start[i + 1]):
            if mark[other[a]] != i:
                listed[fill] = other[a]
                fill += 1
        rows[i + 1] = fill
    return rows, split, listed[:fill], examined, cut


@njit(**INLINE)
def near_gradient(
    centers, raw, rows, split, listed, shared, alpha, gamma, temperature, margin, reach, grad_centers, grad_raw,
    radii, d2, pull, sign, near, near_radii, near_grad,
):  # fmt: skip
    """:func:`geogae.geometry.kernel.sphere_gradient` over the pairs of the lists; ``shared`` are balls of twins."""
    dim, n = centers.shape
    grad_centers[:] = 0
    grad_raw[:] = 0
    for i in range(n):
        radii[i] = SCALE * (max(raw[i], f32(0)) + math.log1p(math.exp(-abs(raw[i]))))
    wrong, narrow = 0.0, 0.0
    for i in range(n):
        begin, end = rows[i], rows[i + 1]
        size = end - begin
        if size == 0:
            continue
        names = listed[begin:end]
        for p in range(size):
            d2[p] = f32(1e-12)
        for k in range(dim):
            x, c = centers[k], centers[k, i]
            for p in range(size):
                t = x[names[p]] - c
                d2[p] += t * t
        size = 0
        for p in range(end - begin):
            j = names[p]
            edge = begin + p < split[i]
            far = radii[i] + radii[j] + reach
            if edge or d2[p] < far * far:  # the others are in the skin
                near[size], d2[size], near_radii[size], near_grad[size] = j, d2[p], radii[j], f32(0)
                sign[size] = 1 if edge else -1
                size += 1
        names = near[:size]
        g, w, m = focal_row(
            d2[:size], radii[i], near_radii[:size], sign[:size], alpha, gamma, temperature, margin, pull, near_grad
        )
        grad_raw[i] += g
        wrong += w
        narrow += m
        for p in range(size):
            grad_raw[names[p]] += near_grad[p]
        for k in range(dim):
            x, g_k, c = centers[k], grad_centers[k], centers[k, i]
            total = f32(0)
            for p in range(size):
                t = pull[p] * (x[names[p]] - c)
                g_k[names[p]] += t
                total += t
            g_k[i] -= total
    for i in range(n):
        if shared[i]:
            d2[0], sign[0], near_grad[0], near_radii[0] = f32(1e-12), 1, f32(0), radii[i]
            g, w, m = focal_row(
                d2[:1], radii[i], near_radii[:1], sign[:1], alpha, gamma, temperature, margin, pull, near_grad
            )
            grad_raw[i] += g + near_grad[0]
            wrong += w
            narrow += m
    for i in range(n):
        grad_raw[i] *= SCALE / (f32(1) + math.exp(min(-raw[i], f32(80))))
    return wrong, narrow


@njit(**FAST)
def descend_near(
    centers, raw, edge_start, edge_other, shared, lifted, alpha, gamma, hot, temperature, margin, rate, steps, budget,
    widen, halt,
):  # fmt: skip
    """:func:`geogae.geometry.kernel.descend` on lists; ``budget`` are pairs. Returns also the pairs looked at."""
    rows_all, n = centers.shape
    flat = rows_all - lifted
    grad_centers, grad_raw = np.zeros((rows_all, n), f32), np.zeros(n, f32)
    first, second = np.zeros((rows_all + 1, n), f32), np.zeros((rows_all + 1, n), f32)
    radii = np.zeros(n, f32)
    best_centers, best_raw = centers.copy(), raw.copy()
    best_wrong, best_narrow = np.inf, np.inf
    decay1, decay2 = 1.0, 1.0
    landing = steps // 2 if lifted else 0
    deadline = steps
    step, looked, builds = 0, 0, 0
    listed_centers, listed_radii = centers.copy(), radii.copy()
    rows, split, listed = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int32)
    buffers, sign, near = np.zeros((4, 1), f32), np.zeros(1, np.int8), np.zeros(1, np.int32)
    renewal = RENEWAL
    stale, cut, skin, used, examined = True, False, f32(SKIN), 0, 0
    while not halt[0]:
        aloft = step < landing
        if step == landing and lifted:
            centers[flat:] = 0
            stale = True
        rows_now = rows_all if aloft else flat
        descent = step / landing if aloft else 1.0
        t_now = f32(math.exp((1 - descent) * math.log(hot) + descent * math.log(temperature)))
        reach = max(f32(REACH) / (f32(1) + gamma) * t_now, margin)
        for i in range(n):
            radii[i] = SCALE * (max(raw[i], f32(0)) + math.log1p(math.exp(-abs(raw[i]))))
        if not stale:
            moved = f32(0)
            for i in range(n):
                d = f32(0)
                for k in range(rows_now):
                    d += (centers[k, i] - listed_centers[k, i]) ** 2
                moved = max(moved, math.sqrt(d) + max(radii[i] - listed_radii[i], f32(0)))
            stale = bool(2 * moved > skin)
        if stale:
            if builds > 0:  # so that to search the pairs costs as much as to use them
                skin = min(max(skin * f32(1.25 if examined > SEARCH * used else 0.8), f32(0.2)), f32(10))
            rows, split, listed, examined, cut = neighbour_lists(
                centers[:rows_now], radii, edge_start, edge_other, reach + f32(skin)
            )
            listed_centers[:] = centers
            listed_radii[:] = radii
            most = 1
            for i in range(n):
                most = max(most, rows[i + 1] - rows[i])
            if most > len(sign):
                buffers = np.zeros((4, 2 * most), f32)
                sign, near = np.zeros(2 * most, np.int8), np.zeros(2 * most, np.int32)
            builds += 1
            used = 0
            stale = False
        wrong, narrow = near_gradient(
            centers[:rows_now], raw, rows, split, listed, shared, alpha, gamma, t_now, margin, reach,
            grad_centers[:rows_now], grad_raw, radii, buffers[0], buffers[1], sign, near, buffers[2], buffers[3],
        )  # fmt: skip
        if cut:  # pairs are missing from the lists
            wrong += 1
            narrow += 1
        looked += len(listed)
        used += len(listed)
        if aloft:
            spring = f32(0.1 * descent / (1.0001 - descent))
            for k in range(flat, rows_all):
                for j in range(n):
                    grad_centers[k, j] += spring * centers[k, j]
        else:
            if wrong < best_wrong or (wrong == best_wrong and narrow < best_narrow):
                if wrong == 0 and best_wrong > 0:
                    deadline = min(steps, step + widen)
                best_wrong, best_narrow = wrong, narrow
                best_centers[:] = centers
                best_raw[:] = raw
            if narrow == 0 or step >= deadline or looked > budget:
                break
        if step == renewal and not lifted:  # Adam forgets the first gradients, which are far larger than later ones
            first[:] = 0
            second[:] = 0
            decay1, decay2 = 1.0, 1.0
            renewal *= 3
        decay1 *= BETA1
        decay2 *= BETA2
        if lifted:
            rate_now = rate * (0.02 + 0.49 * (1 + math.cos(math.pi * step / steps)))
        else:
            rate_now = rate * max(LEAST_RATE, FALL ** max(0, step - FULL_RATE))
        scaled, correction = f32(rate_now / (1 - decay1)), f32(1 / (1 - decay2))
        for k in range(rows_now):
            adam(centers[k], grad_centers[k], first[k], second[k], scaled, correction)
        adam(raw, grad_raw, first[rows_all], second[rows_all], scaled, correction)
        step += 1
    centers[:] = best_centers
    raw[:] = best_raw
    return step, best_wrong, best_narrow, looked
