"""Numbers in bins: where each one falls, and how far into its bin; with open ends, so that every number has a place.

The inner bins of a column are equally wide; the density of the bins below and above them falls off as a power.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

ENDS = 5e-4  # share of the numbers that is beyond the inner bins on either side
NARROW = 1e-6  # relative width of a bin of a column that does not vary
POWER = 3.0  # by which the share of what is still further out falls

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


class Bins:
    """``edges`` (m, B - 1) of the inner bins of each column, ``tails`` (m, 2) the lengths of those below and above."""

    def __init__(self, edges: _Floats, tails: _Floats) -> None:
        self.edges, self.tails = edges, tails
        self.count = edges.shape[1] + 1  # B

    @classmethod
    def of(cls, rows: _Floats, count: int) -> Self:
        low, high = np.quantile(rows, [ENDS, 1 - ENDS], axis=0)
        least = NARROW * (1 + np.abs(low))
        pad = 0.5 * np.maximum(high - low, least) / (count - 3)  # a number at the end is inside
        low, high = low - pad, high + pad
        edges = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, count - 1)
        width = (high - low) / (count - 2)
        below = [np.mean(low[c] - rows[:, c][rows[:, c] < low[c]]) if (rows[:, c] < low[c]).any() else 0.0
                 for c in range(rows.shape[1])]  # fmt: skip
        above = [np.mean(rows[:, c][rows[:, c] >= high[c]] - high[c]) if (rows[:, c] >= high[c]).any() else 0.0
                 for c in range(rows.shape[1])]  # fmt: skip
        return cls(edges, np.maximum(np.column_stack([below, above]), width[:, None]))

    def place(self, rows: _Floats) -> tuple[_Ints, _Floats]:
        """The bin of each number (N, m) and the share of the bin below it, in (0, 1)."""
        bins = np.stack([np.searchsorted(e, rows[:, c], side="right") for c, e in enumerate(self.edges)], axis=1)
        return bins, self._share(rows, bins)

    def _share(self, rows: _Floats, bins: _Ints) -> _Floats:
        column = np.arange(rows.shape[1])
        low = self.edges[column, (bins - 1).clip(min=0)]
        high = self.edges[column, bins.clip(max=self.count - 2)]
        inner = (rows - low) / np.where(high > low, high - low, 1)
        below = (1 + np.maximum((high - rows) / self.tails[:, 0], 0)) ** -POWER
        above = 1 - (1 + np.maximum((rows - low) / self.tails[:, 1], 0)) ** -POWER
        return np.where(bins == 0, below, np.where(bins == self.count - 1, above, inner)).clip(0, 1)

    def number(self, column: int, bins: _Ints, share: _Floats) -> _Floats:
        """The inverse of :meth:`place`, of one column (N,)."""
        edges, (below, above) = self.edges[column], self.tails[column]
        low, high = edges[(bins - 1).clip(min=0)], edges[bins.clip(max=self.count - 2)]
        share = share.clip(1e-12, 1 - 1e-12)  # a draw ends somewhere
        inner = low + share * (high - low)
        lowest, highest = high - below * (share ** (-1 / POWER) - 1), low + above * ((1 - share) ** (-1 / POWER) - 1)
        return np.where(bins == 0, lowest, np.where(bins == self.count - 1, highest, inner))

    def log_density(self, bins: _Ints, share: _Floats) -> _Floats:
        """Logarithm of the density of each number (N, m) within its bin."""
        width = np.log(self.edges[:, 1] - self.edges[:, 0])
        below = np.log(POWER / self.tails[:, 0]) + (1 + 1 / POWER) * np.log(np.maximum(share, 1e-300))
        above = np.log(POWER / self.tails[:, 1]) + (1 + 1 / POWER) * np.log(np.maximum(1 - share, 1e-300))
        inner = -width * np.ones_like(share)
        return np.where(bins == 0, below, np.where(bins == self.count - 1, above, inner))
