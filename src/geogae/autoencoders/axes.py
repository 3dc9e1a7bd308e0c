"""The axes of the linear decoder: principal ones, those that complete them, and random ones; all in NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr

RIDGE = 1e-3  # of the regression on descriptors, in units of their mean square
LEAST = 0.1  # deviation that any axis is given: smaller deviations in training are not trusted


def principal_components(
    rows: NDArray[np.float64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Mean (p,), at most ``count`` principal axes (k, p) and the deviations along them (k,) of rows (N, p).

    From the eigenvectors of whichever of the two Gram matrices is smaller.
    """
    mean = rows.mean(0)
    centred = rows - mean
    wide = centred.shape[0] < centred.shape[1]
    gram = centred @ centred.T if wide else centred.T @ centred
    size = len(gram)
    values, vectors = eigh(gram, subset_by_index=(max(0, size - count), size - 1))
    values, vectors = values[::-1], vectors[:, ::-1]  # largest first
    kept = values > 1e-10 * max(values[0], 1.0)  # else rounding, not variance
    values, vectors = values[kept], vectors[:, kept]
    axes = (centred.T @ vectors / np.sqrt(values)).T if wide else vectors.T
    largest = axes[np.arange(len(axes)), np.abs(axes).argmax(1)]
    axes = axes * np.where(largest < 0, -1, 1)[:, None]  # a sign that does not depend on LAPACK
    return mean, axes, np.sqrt(values / len(rows))


def regressed(rows: NDArray[np.float64], on: NDArray[np.float64]) -> NDArray[np.float64]:
    """Slopes (h, p) of rows (N, p) on numbers (N, h), by ridge regression."""
    gram = on.T @ on
    return np.linalg.solve(gram + RIDGE * max(np.trace(gram) / len(gram), LEAST) * np.eye(len(gram)), on.T @ rows)


def completed(axes: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Orthonormal rows (k, p) with more of them, up to ``count``, along the first coordinates that they miss.

    With fewer training clouds than z has numbers, no number of z is unused; the first slots are those that most
    graphs have.
    """
    k, p = axes.shape
    if k >= min(count, p):
        return axes
    missed = 1 - (axes**2).sum(0)  # (p,), of each coordinate's unit vector
    chosen = np.flatnonzero(missed > 1e-6)[: min(count, p) - k]  # never none: what is missed adds up to p - k
    rest = _units(chosen, p) - axes[:, chosen].T @ axes  # what is left of these unit vectors
    rest, triangle, _ = qr(rest.T, mode="economic", pivoting=True)
    rest = rest.T[np.abs(np.diag(triangle)) > 1e-6]  # some of the chosen may say the same
    rest -= rest @ axes.T @ axes  # once more, against rounding
    more = np.concatenate([axes, rest / np.linalg.norm(rest, axis=1, keepdims=True)])
    return completed(more, count)


def random_axes(
    axes: NDArray[np.float64], padded: NDArray[np.float64], sizes: NDArray[np.int64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Random axes (c, p) across those that there are, at most ``count``, and the deviations along them (c,).

    A rare value may be needed in a slot where no training graph has one, and no principal axis moves that number.
    Along random axes every number of every slot (N, slots, w) can be moved. An entry's deviation is that of its number
    over all slots, times the share of graphs that reach its slot.
    """
    offsets = (padded - padded.mean(0)).reshape(len(padded), -1)
    spread = (padded**2).sum((0, 1)) / sizes.sum()  # (d,), of a place, over all slots
    spread = spread.clip(LEAST**2 * spread.mean())  # what training graphs never use may still come
    reach = (np.arange(padded.shape[1])[:, None] < sizes).sum(1) + 0.5  # (slots,), graphs; none is out of reach
    scale = np.sqrt(np.outer(reach / len(padded), spread)).ravel()  # (p,)
    count = min(count, axes.shape[1] - len(axes))
    drawn = np.random.default_rng(0).normal(size=(count, axes.shape[1])) * scale
    drawn -= drawn @ axes.T @ axes
    drawn = np.linalg.qr(drawn.T)[0].T
    drawn -= drawn @ axes.T @ axes  # once more, against rounding
    return drawn, (offsets @ drawn.T).std(0)


def _units(chosen: NDArray[np.int64], p: int) -> NDArray[np.float64]:
    units = np.zeros((len(chosen), p))
    units[np.arange(len(chosen)), chosen] = 1
    return units
