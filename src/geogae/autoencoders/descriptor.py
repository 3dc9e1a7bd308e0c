"""The descriptor of a graph: k numbers that say what it is like, the same for every numbering of its nodes.

They are principal components of the logarithms of how often each neighbourhood occurs (Weisfeiler and Leman's colours,
with attributes where graphs have them) and of statistics of degrees, clustering and random walks. A small edit changes
few counts by little, so it changes the descriptor by little. Components keep their own deviations, so that plain
distances compare counts; their common scale makes the sum of their variances k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from geogae.autoencoders.axes import principal_components
from geogae.autoencoders.base import State
from geogae.autoencoders.structure import PackedGraphs, colours, packed_chunks, statistics
from geogae.checks import check_number
from geogae.errors import GeoGAEError
from geogae.graph import Graph

ROUNDS = 2  # of colour refinement
COLOURS = 2048  # that are counted at most, those that most graphs have
LEARN_FROM = 20_000  # graphs, at most
STATISTICS = 1.0  # weight of the statistics' variance against that of the counts
LEAST = 1e-6  # variance below which a column does not vary


class Descriptor:
    """Learned from training graphs; see the module. ``k`` is the number of components."""

    def __init__(self, k: int = 16) -> None:
        check_number("k", k, int, 1, 1024)
        self.k = k
        self.colours = np.empty(0, np.int64)  # (c,), hashes that are counted, ascending
        self.scale = np.empty(0)  # (p,), of each column: counts, then statistics
        self.mean = np.empty(0)  # (p,), of the scaled columns
        self.axes = np.empty((k, 0))  # (k, p)

    def fit(self, graphs: Sequence[Graph]) -> Self:
        if not graphs:
            raise GeoGAEError("a descriptor is learned from at least one graph")
        if len(graphs) > LEARN_FROM:
            chosen = np.random.default_rng(0).choice(len(graphs), LEARN_FROM, replace=False)
            graphs = [graphs[i] for i in np.sort(chosen)]
        found = [_Found.of(packed) for packed in packed_chunks(graphs)]
        self.colours = _frequent(found)
        counts, numbers = self._columns(found)
        weights = [_block_scale(counts.power(2).mean(0) - counts.mean(0) ** 2, alike=True)]
        weights += [STATISTICS**0.5 * _block_scale(numbers.var(0), alike=False)]
        self.scale = np.concatenate(weights)
        rows = np.concatenate([counts.toarray(), numbers], axis=1) * self.scale
        self.mean = rows.mean(0)
        self.axes = _principal(rows - self.mean, self.k)
        return self

    def describe(self, graphs: Sequence[Graph]) -> NDArray[np.float32]:
        """(len(graphs), k); neither the numbering of nodes nor the graphs beside a graph change it."""
        if not len(self.colours):
            raise GeoGAEError("this descriptor is not fitted yet; call fit")
        rows = [np.empty((0, self.k))]
        c, middle = len(self.colours), self.axes @ self.mean  # (k,)
        for packed in packed_chunks(graphs):
            found = _Found.of(packed)
            # row by row, as a BLAS product of a row may depend on the rows beside it
            described = np.einsum("gs,ks->gk", found.statistics, self.axes[:, c:] * self.scale[c:])
            _add_counts(described, self.axes, self.scale, *self._counted(found))
            rows.append(described - middle)
        return np.concatenate(rows).astype(np.float32)

    def _columns(self, found: Sequence[_Found]) -> tuple[csr_array, NDArray[np.float64]]:
        """Logarithms of counts (G, c) and statistics (G, s)."""
        parts = []
        for one in found:
            graph, place, value = self._counted(one)
            parts.append(csr_array((value, (graph, place)), (len(one.statistics), len(self.colours))))
        return csr_array(vstack(parts)), np.concatenate([one.statistics for one in found])

    def _counted(self, found: _Found) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Of each colour that is counted in a graph: the graph, the place of the colour, and the logarithm."""
        place = np.searchsorted(self.colours, found.colour).clip(max=len(self.colours) - 1)
        known = self.colours[place] == found.colour
        return found.graph[known], place[known], np.log1p(found.count[known])

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """Arrays, and facts that JSON can hold."""
        import torch

        arrays = {"colours": self.colours, "scale": self.scale, "mean": self.mean, "axes": self.axes}
        return State({name: torch.from_numpy(np.ascontiguousarray(a)) for name, a in arrays.items()}, {"k": self.k})

    @classmethod
    def from_state(cls, state: State) -> Self:
        made = cls(state.facts["k"])
        for name in ("colours", "scale", "mean", "axes"):
            setattr(made, name, state.tensors[name].numpy())
        if made.axes.shape != (made.k, len(made.scale)) or made.mean.shape != made.scale.shape:
            raise ValueError(f"axes {made.axes.shape} of a descriptor with k={made.k}, {len(made.scale)} columns")
        return made


class _Found(NamedTuple):
    """What some graphs show: each row is a graph, a colour and how many of its nodes have it."""

    graph: NDArray[np.int64]
    colour: NDArray[np.int64]
    count: NDArray[np.int64]  # type: ignore[assignment]  # tuple has a method of this name
    statistics: NDArray[np.float64]  # (G, s)

    @classmethod
    def of(cls, packed: PackedGraphs) -> _Found:
        rounds = colours(packed, ROUNDS)  # (ROUNDS + 1, N)
        graph, colour = np.tile(packed.graph_of, len(rounds)), rounds.ravel()
        order = np.lexsort((colour, graph))
        graph, colour = graph[order], colour[order]
        first = np.flatnonzero(np.append(True, (np.diff(graph) != 0) | (np.diff(colour) != 0)))
        return cls(graph[first], colour[first], np.diff(np.append(first, len(graph))), statistics(packed))


@njit(cache=True)
def _add_counts(described: Any, axes: Any, scale: Any, graph: Any, place: Any, value: Any) -> None:
    """Add to descriptors (G, k) what each count brings along the axes (k, p)."""
    for row in range(len(graph)):
        scaled = value[row] * scale[place[row]]
        for k in range(len(axes)):
            described[graph[row], k] += scaled * axes[k, place[row]]


def _frequent(found: Sequence[_Found]) -> NDArray[np.int64]:
    """The colours of the most graphs, ascending; a colour of one graph alone says nothing of others."""
    kinds, graphs = np.unique(np.concatenate([one.colour for one in found]), return_counts=True)
    shared = np.flatnonzero(graphs > 1) if (graphs > 1).any() else np.arange(len(kinds))
    kept = shared[np.argsort(-graphs[shared], kind="stable")[:COLOURS]]
    return np.sort(kinds[kept])


def _block_scale(variance: Any, *, alike: bool) -> NDArray[np.float64]:
    """Factors that give a block of columns the variance 1 in all: one factor if ``alike``, else one for each."""
    variance = np.asarray(variance, dtype=np.float64).ravel()
    varies = variance > LEAST
    if alike:
        return np.full(len(variance), 1 / np.sqrt(max(variance.sum(), LEAST)))
    return np.where(varies, 1 / np.sqrt(np.where(varies, variance, 1) * max(varies.sum(), 1)), 0.0)


def _principal(centred: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Principal axes (k, p), scaled so that the variances of the components add up to k; zero beyond the rank."""
    _, axes, deviations = principal_components(centred, min(k, *centred.shape))
    total = float((deviations**2).sum())
    padded = np.zeros((k, centred.shape[1]))
    padded[: len(axes)] = axes * np.sqrt(k / total) if total > LEAST else axes
    return padded
