"""Numbers in bins: where each one falls, and how far into its bin; with open ends, so that every number has a place.

Bins are narrow where numbers are many: half of the bins are shared out evenly over the range, half over the numbers.
Within a bin, numbers are spread as in training, in PARTS of equal weight. The density of the bins at either end falls
off as a power.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

ENDS = 1e-4  # share of the numbers that is beyond the inner bins on either side
PARTS = 8  # of a bin
NARROW = 1e-6  # width of a part at least, against the mean width of a bin, or the size of the numbers
POWER = 3.0  # by which the share of what is still further out falls

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


class Bins:
    """``edges`` (m, PARTS · (B - 2) + 1) of the parts of the inner bins, ``tails`` (m, 2) the lengths of the ends."""

    def __init__(self, edges: _Floats, tails: _Floats) -> None:
        self.edges, self.tails = edges, tails
        self.count = (edges.shape[1] - 1) // PARTS + 2  # B

    @classmethod
    def of(cls, rows: _Floats, count: int) -> Self:
        made = [_column(np.sort(column), count) for column in rows.T]
        return cls(np.stack([edges for edges, _ in made]), np.stack([tails for _, tails in made]))

    def place(self, rows: _Floats) -> tuple[_Ints, _Floats]:
        """The bin of each number (N, m) and the share of the bin below it, from 0 to 1."""
        found = [self._place(column, numbers) for column, numbers in enumerate(rows.T)]
        return np.stack([bins for bins, _ in found], axis=1), np.stack([share for _, share in found], axis=1)

    def _place(self, column: int, numbers: _Floats) -> tuple[_Ints, _Floats]:
        edges, (below, above) = self.edges[column], self.tails[column]
        part = np.searchsorted(edges, numbers, side="right") - 1  # -1 below, len(edges) - 1 above
        inner = part.clip(0, len(edges) - 2)
        within = (numbers - edges[inner]) / (edges[inner + 1] - edges[inner])
        share = (inner % PARTS + within.clip(0, 1)) / PARTS
        share = np.where(part < 0, (1 + np.maximum(edges[0] - numbers, 0) / below) ** -POWER, share)
        last = part > len(edges) - 2
        share = np.where(last, 1 - (1 + np.maximum(numbers - edges[-1], 0) / above) ** -POWER, share)
        return np.where(part < 0, 0, np.where(last, self.count - 1, inner // PARTS + 1)), share

    def number(self, column: int, bins: _Ints, share: _Floats) -> _Floats:
        """The inverse of :meth:`place`, of one column (N,)."""
        edges, (below, above) = self.edges[column], self.tails[column]
        share = share.clip(1e-9, 1 - 1e-9)  # a draw ends somewhere
        part, within = np.divmod(share * PARTS, 1)
        inner = ((bins - 1) * PARTS + part.astype(np.int64)).clip(0, len(edges) - 2)
        number = edges[inner] + within * (edges[inner + 1] - edges[inner])
        lowest, highest = (length * (far ** (-1 / POWER) - 1) for length, far in ((below, share), (above, 1 - share)))
        return np.where(bins == 0, edges[0] - lowest, np.where(bins == self.count - 1, edges[-1] + highest, number))

    def log_density(self, bins: _Ints, share: _Floats) -> _Floats:
        """Logarithm of the density of each number (N, m) within its bin."""
        column = np.arange(bins.shape[1])
        part = ((bins - 1) * PARTS + (share * PARTS).astype(np.int64).clip(max=PARTS - 1)).clip(
            0, self.edges.shape[1] - 2
        )
        inner = -np.log(PARTS * (self.edges[column, part + 1] - self.edges[column, part]))
        below, above = (
            np.log(POWER / length) + (1 + 1 / POWER) * np.log(np.maximum(far, 1e-300))
            for length, far in ((self.tails[:, 0], share), (self.tails[:, 1], 1 - share))
        )
        return np.where(bins == 0, below, np.where(bins == self.count - 1, above, inner))


def _column(numbers: _Floats, count: int) -> tuple[_Floats, _Floats]:
    """Edges and tails of one column, of its numbers in ascending order."""
    low, high = np.quantile(numbers, [ENDS, 1 - ENDS])
    least = NARROW * max((high - low) / count, 1 + abs(low) if high <= low else 0.0)
    pad = max(0.5 * (high - low) / (count - 3), count * PARTS * least)
    low, high = low - pad, high + pad
    inside = numbers[(numbers >= low) & (numbers <= high)]
    even = np.linspace(low, high, 1025)
    upto = 0.5 * np.linspace(0, 1, 1025) + 0.5 * np.searchsorted(inside, even) / max(1, len(inside))
    bins = np.interp(np.linspace(0, 1, count - 1), upto, even)  # (B - 1,), the edges of the inner bins
    edges = [bins[:1]]
    for begin, end in pairwise(bins.tolist()):
        own = inside[np.searchsorted(inside, begin) : np.searchsorted(inside, end)]
        cuts = np.quantile(own, np.arange(1, PARTS) / PARTS) if len(own) >= 4 * PARTS else np.empty(0)
        if not len(cuts):
            cuts = begin + (end - begin) * np.arange(1, PARTS) / PARTS
        edges.append(np.append(cuts, end))
    found = np.concatenate(edges)
    found = np.maximum.accumulate(found + least * np.arange(len(found)))  # no part is empty
    outside = [found[0] - numbers[numbers < found[0]], numbers[numbers > found[-1]] - found[-1]]
    width = (high - low) / count
    return found, np.array([max(float(far.mean()) if len(far) else 0.0, width) for far in outside])
