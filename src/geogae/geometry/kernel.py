"""One graph's descent on L_sphere (eq. 1-3), fused: distances, focal gradient, Adam and the stopping test in one loop.

Written for LLVM's vectoriser, measured in docs/geometry.md: rows are contiguous, coordinates lie apart (D, n), loops
start at zero, exp and log are polynomials, and reductions are sums (a ``min`` would keep the loop scalar). Each graph
runs by itself, so its cloud cannot depend on the batch around it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from geogae.geometry.cloud import RADIUS_SCALE

f32 = np.float32
FAST: dict[str, Any] = {"fastmath": True, "error_model": "numpy", "cache": True, "nogil": True}
INLINE = {**FAST, "forceinline": True}  # else the process that compiles rounds otherwise than those that load
BETA1, BETA2 = 0.9, 0.99  # Adam's; the short second memory suits a loss that changes from step to step
SCALE = f32(RADIUS_SCALE)


@njit(inline="always", **FAST)
def _exp_neg(a):
    """exp(-a) for a ≥ 0, flat beyond 20: Taylor at a/32, squared five times; relative error 2e-5 to 13, then 5e-4."""
    y = min(a, f32(20.0)) * f32(1 / 32)
    p = f32(1) - y * (
        f32(1) - y * (f32(1 / 2) - y * (f32(1 / 6) - y * (f32(1 / 24) - y * (f32(1 / 120) - y * f32(1 / 720)))))
    )
    p = p * p
    p = p * p
    p = p * p
    p = p * p
    return p * p


@njit(inline="always", **FAST)
def _log1p(u):
    """log(1 + u) for 0 ≤ u ≤ 1, as 2 artanh(u / (2 + u)); error below 2e-6."""
    s = u / (f32(2) + u)
    z = s * s
    return f32(2) * s * (f32(1) + z * (f32(1 / 3) + z * (f32(1 / 5) + z * (f32(1 / 7) + z * f32(1 / 9)))))


@njit(**INLINE)
def _squared_distances(centers, i, d2):
    """d2[j] = ‖x_i - x_(i+1+j)‖² for the later nodes."""
    x, c = centers[0, i + 1 :], centers[0, i]
    for j in range(len(x)):
        t = x[j] - c
        d2[j] = f32(1e-12) + t * t
    for k in range(1, len(centers)):
        x, c = centers[k, i + 1 :], centers[k, i]
        for j in range(len(x)):
            t = x[j] - c
            d2[j] += t * t


@njit(**INLINE)
def focal_row(d2, radius, radii, sign, alpha, gamma, temperature, margin, pull, grad_radii):
    """Eq. 2 and 3 for one node against the later ones: gradients, wrong pairs and pairs with less than ``margin``.

    With t = ±m/T the signed logit, p̂ = σ(t) and q = 1 - p̂:  dL/dt = α̂ q^γ (γ p̂ log p̂ - q).
    """
    one, zero = f32(1), f32(0)
    per_t = one / temperature
    grad_radius, wrong, narrow = zero, zero, zero
    for j in range(len(d2)):
        distance = np.sqrt(d2[j])
        s = f32(sign[j])  # +1 edge, -1 no edge
        signed = s * (radius + radii[j] - distance)  # the margin, positive when the rule is right
        wrong += one if signed <= zero else zero
        narrow += one if signed <= margin else zero
        t = signed * per_t
        u = _exp_neg(abs(t))
        q = (u if t > zero else one) / (one + u)
        log_p = min(t, zero) - _log1p(u)
        focus = q * q if gamma == f32(2) else _exp_neg(gamma * (max(t, zero) + _log1p(u)))
        weight = f32(0.5) + s * (alpha - f32(0.5))  # α for edges, 1 - α otherwise
        g = weight * focus * (gamma * (one - q) * log_p - q) * per_t * s  # dL/dm
        grad_radii[j] += g
        grad_radius += g
        pull[j] = -g / distance
    return grad_radius, wrong, narrow


@njit(**INLINE)
def _pull_row(centers, i, pull, grad_centers):
    for k in range(len(centers)):
        x, g, c = centers[k, i + 1 :], grad_centers[k, i + 1 :], centers[k, i]
        total = f32(0)
        for j in range(len(x)):
            t = pull[j] * (x[j] - c)
            g[j] += t
            total += t
        grad_centers[k, i] -= total


@njit(**INLINE)
def sphere_gradient(centers, raw, sign, alpha, gamma, temperature, margin, grad_centers, grad_raw, radii, d2, pull):
    """Gradient of L_sphere over the pairs i < j, in place; returns (wrong pairs, pairs with less than ``margin``).

    ``sign`` is +1 for an edge and -1 for none; +1 on the diagonal means that twins share the ball, whose margin is
    with itself: without that term its radius may vanish.
    """
    n = centers.shape[1]
    grad_centers[:] = 0
    grad_raw[:] = 0
    for i in range(n):
        radii[i] = SCALE * (max(raw[i], f32(0)) + math.log1p(math.exp(-abs(raw[i]))))  # 0.75 softplus(raw)
    wrong, narrow = 0.0, 0.0
    for i in range(n - 1):
        later = n - i - 1
        _squared_distances(centers, i, d2)
        g, w, m = focal_row(
            d2[:later], radii[i], radii[i + 1 :], sign[i, i + 1 :],
            alpha, gamma, temperature, margin, pull, grad_raw[i + 1 :],
        )  # fmt: skip
        grad_raw[i] += g
        wrong += w
        narrow += m
        _pull_row(centers, i, pull, grad_centers)
    for i in range(n):
        if sign[i, i] > 0:
            d2[0] = f32(1e-12)
            g, w, m = focal_row(
                d2[:1], radii[i], radii[i : i + 1], sign[i, i : i + 1],
                alpha, gamma, temperature, margin, pull, grad_raw[i : i + 1],
            )  # fmt: skip
            grad_raw[i] += g
            wrong += w
            narrow += m
    for i in range(n):
        grad_raw[i] *= SCALE / (f32(1) + math.exp(min(-raw[i], f32(80))))  # softplus' = σ; no overflow
    return wrong, narrow


@njit(**INLINE)
def adam(x, g, first, second, rate, correction):
    for j in range(len(x)):
        first[j] = f32(BETA1) * first[j] + f32(1 - BETA1) * g[j]
        second[j] = f32(BETA2) * second[j] + f32(1 - BETA2) * g[j] * g[j]
        x[j] -= rate * first[j] / (np.sqrt(second[j] * correction) + f32(1e-8))


@njit(**INLINE)
def descend(centers, raw, sign, lifted, alpha, gamma, hot, temperature, margin, rate, steps, widen, halt):
    """Adam until the cloud is exact with ``margin``, in place; returns (steps taken, wrong pairs, narrow pairs).

    ``centers`` is (D + lifted, n). During the first half of a lifted try the temperature falls from ``hot`` to
    ``temperature`` and a growing quadratic penalty brings the extra coordinates to zero: balls pass each other in
    dimensions that are not there in the end. Once exact, at most ``widen`` further steps are spent on the margin; the
    best state seen (fewest wrong, then fewest narrow pairs) is what remains. ``halt[0]``, set by another thread, ends
    it at once.
    """
    rows, n = centers.shape
    flat = rows - lifted
    grad_centers, grad_raw = np.zeros((rows, n), f32), np.zeros(n, f32)
    first, second = np.zeros((rows + 1, n), f32), np.zeros((rows + 1, n), f32)
    radii, d2, pull = np.zeros(n, f32), np.zeros(n, f32), np.zeros(n, f32)
    best_centers, best_raw = centers.copy(), raw.copy()
    best_wrong, best_narrow = np.inf, np.inf
    decay1, decay2 = 1.0, 1.0
    landing = steps // 2 if lifted else 0
    deadline = steps
    step = 0
    while not halt[0]:
        aloft = step < landing
        if step == landing:
            centers[flat:] = 0
        rows_now = rows if aloft else flat
        descent = step / landing if aloft else 1.0  # 0 → 1 while lifted
        t_now = f32(math.exp((1 - descent) * math.log(hot) + descent * math.log(temperature)))
        wrong, narrow = sphere_gradient(
            centers[:rows_now], raw, sign, alpha, gamma, t_now, margin,
            grad_centers[:rows_now], grad_raw, radii, d2, pull,
        )  # fmt: skip
        if aloft:
            spring = f32(0.1 * descent / (1.0001 - descent))
            for k in range(flat, rows):
                for j in range(n):
                    grad_centers[k, j] += spring * centers[k, j]
        else:
            if wrong < best_wrong or (wrong == best_wrong and narrow < best_narrow):
                if wrong == 0 and best_wrong > 0:
                    deadline = min(steps, step + widen)
                best_wrong, best_narrow = wrong, narrow
                best_centers[:] = centers
                best_raw[:] = raw
            if narrow == 0 or step >= deadline:
                break
        decay1 *= BETA1
        decay2 *= BETA2
        rate_now = rate
        if lifted:
            rate_now = rate * (0.02 + 0.49 * (1 + math.cos(math.pi * step / steps)))
        scaled, correction = f32(rate_now / (1 - decay1)), f32(1 / (1 - decay2))
        for k in range(rows_now):
            adam(centers[k], grad_centers[k], first[k], second[k], scaled, correction)
        adam(raw, grad_raw, first[rows], second[rows], scaled, correction)
        step += 1
    centers[:] = best_centers
    raw[:] = best_raw
    return step, best_wrong, best_narrow
