"""HyperballCloud: a graph as balls; two nodes are joined exactly when their balls intersect (paper, Section 3.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from geogae.errors import GeoGAEError
from geogae.geometry.neighbours import near_pairs
from geogae.graph import ATTRIBUTES, Graph

RADIUS_SCALE = 0.75  # eq. 2
NARROW = 1e-6  # what differs by less may be rounding
LARGE = 1000  # nodes: beyond, only pairs of balls that are near each other are looked at


def softplus(raw: NDArray[np.floating]) -> NDArray[np.floating]:
    """f: ℝ → ℝ₊ of the paper, which turns a raw radius into a radius."""
    return np.logaddexp(raw, 0)


def margins(centers: NDArray[np.floating], radii_raw: NDArray[np.floating]) -> NDArray[np.float64]:
    """How deep two balls intersect (positive) or how far apart they are (negative), (n, n); eq. 2's numerator."""
    radii = softplus(radii_raw.astype(np.float64))  # (n,)
    return RADIUS_SCALE * (radii[:, None] + radii) - cdist(centers, centers)


def intersection_rule(centers: NDArray[np.floating], radii_raw: NDArray[np.floating]) -> NDArray[np.int64]:
    """The edges of a cloud, (E, 2), i < j: joined if and only if the margin is positive (eq. 4)."""
    points, radii = np.ascontiguousarray(centers, dtype=np.float64), softplus(radii_raw.astype(np.float64))
    if len(points) > LARGE and np.isfinite(points).all() and np.isfinite(radii).all():
        return _joined_near(points, radii.astype(np.float64))
    return _joined(points, radii)


def _joined_near(points: NDArray[np.float64], radii: NDArray[np.float64]) -> NDArray[np.int64]:
    i, j = near_pairs(points, RADIUS_SCALE * radii, NARROW)
    touching = RADIUS_SCALE * (radii[i] + radii[j]) - _distances(points, i, j) > 0
    return np.column_stack([i[touching], j[touching]])


def _distances(points: NDArray[np.float64], i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of the pairs i, j, (pairs,); coordinate by coordinate, which takes no (pairs, D) of memory."""
    square = np.zeros(len(i))
    for x in points.T:
        square += (x[i] - x[j]) ** 2
    return np.sqrt(square)


def graphs_of_balls(balls: NDArray[np.float32], sizes: NDArray[np.int64]) -> list[Graph]:
    """The intersection rule for many clouds at once: balls (B, n, d), of each the first ``sizes`` (B,)."""
    centers = np.ascontiguousarray(balls[..., :-1], dtype=np.float64)
    with np.errstate(invalid="ignore"):  # a z beyond all reason may give balls that are no numbers: they join nothing
        radii = softplus(balls[..., -1].astype(np.float64))
    edges, ends = _all_joined(centers, radii, sizes)
    begins = [0, *ends.tolist()]
    return [
        Graph.from_sorted_edges(n, edges[begin:end].copy())  # a view would keep the whole batch alive
        for n, begin, end in zip(sizes.tolist(), begins[:-1], begins[1:], strict=True)
    ]


@njit(cache=True, nogil=True)
def _all_joined(centers, radii, sizes):
    """The edges of all clouds behind each other, (E, 2), and where those of each end, (B,)."""
    edges, ends, count = np.empty((2 * sizes.sum(), 2), np.int64), np.empty(len(sizes), np.int64), 0
    for b, n in enumerate(sizes):
        edges, count = _with_joined(edges, count, centers[b, :n], radii[b, :n])
        ends[b] = count
    return edges[:count], ends


@njit(cache=True, nogil=True)
def _joined(centers, radii):
    """The pairs i < j whose margin is positive, in their order."""
    edges, count = _with_joined(np.empty((2 * len(radii), 2), np.int64), 0, centers, radii)
    return edges[:count].copy()


@njit(cache=True, nogil=True)
def _with_joined(edges, count, centers, radii):
    """The first ``count`` edges, and those of a cloud behind them, in an array that grows; and how many there are.

    Every pair is written, and the next one over it if it is not joined: this is faster than a branch.
    """
    n, dim = centers.shape
    for i in range(n):
        if count + n > len(edges):
            longer = np.empty((2 * len(edges) + n, 2), np.int64)
            longer[:count] = edges[:count]
            edges = longer
        for j in range(i + 1, n):
            square = 0.0
            for k in range(dim):
                square += (centers[i, k] - centers[j, k]) ** 2
            edges[count, 0], edges[count, 1] = i, j
            count += RADIUS_SCALE * (radii[i] + radii[j]) - math.sqrt(square) > 0
    return edges, count


@dataclass(frozen=True, eq=False)
class HyperballCloud:
    """Balls in the numbering of their graph's nodes, in canonical pose, with the node order the model reads them in.

    ``graph`` is the graph the cloud was fitted to, None for a cloud that a model decoded. Whether the cloud is exact
    is never stored: it is what the intersection rule says.
    """

    centers: NDArray[np.float32]  # (n, d-1)
    radii_raw: NDArray[np.float32]  # (n,), radius = softplus(raw)
    order: NDArray[np.int64]  # (n,), position i of the sequence is node order[i]
    graph: Graph | None = None
    steps: int = 0  # gradient steps that the fit took, over all its tries
    tries: int = 0
    canonical: bool = True  # False where the labelling ran out of its budget: a renumbered graph may get another cloud

    def __post_init__(self) -> None:
        n = len(self.centers)
        if self.centers.ndim != 2 or self.radii_raw.shape != (n,) or self.order.shape != (n,):
            raise GeoGAEError(
                f"a cloud needs centers (n, d-1), radii_raw (n,) and order (n,), "
                f"not {self.centers.shape}, {self.radii_raw.shape} and {self.order.shape}"
            )

    def __repr__(self) -> str:
        state = "" if self.graph is None else f", exact={self.exact}, margin={self.margin:.3g}, steps={self.steps}"
        return f"HyperballCloud(n={self.n}, dim={self.dim}{state})"

    @property
    def n(self) -> int:
        return len(self.centers)

    @property
    def dim(self) -> int:
        """The paper's d: d-1 coordinates and the raw radius."""
        return self.centers.shape[1] + 1

    @property
    def radii(self) -> NDArray[np.float32]:
        return softplus(self.radii_raw).astype(np.float32)

    @property
    def balls(self) -> NDArray[np.float32]:
        """Geometric embeddings x^g in node order, what the encoder reads, (n, d)."""
        return np.column_stack([self.centers, self.radii_raw])[self.order]

    def margins(self) -> NDArray[np.float64]:
        return margins(self.centers, self.radii_raw)

    def to_graph(self) -> Graph:
        """The graph that the intersection rule reads from the balls, in their numbering.

        Attributes, label and name of the fitted graph come along; edge attributes only where every edge has them.
        """
        edges = intersection_rule(self.centers, self.radii_raw)
        source = self.graph
        if source is None:
            return Graph.from_sorted_edges(self.n, edges)
        fields = ATTRIBUTES if np.array_equal(edges, source.edges) else ("node_categorical", "node_continuous")
        attributes = {field: getattr(source, field) for field in fields}
        return Graph(self.n, edges, **attributes, label=source.label, name=source.name)

    @cached_property
    def exact(self) -> bool:
        """Whether the intersection rule gives back exactly the fitted graph."""
        return np.array_equal(intersection_rule(self.centers, self.radii_raw), self._fitted_to().edges)

    @cached_property
    def margin(self) -> float:
        """The smallest margin by which the rule is right (negative: it is wrong somewhere); inf for a single node."""
        graph = self._fitted_to()
        if self.n > LARGE:
            return self._margin_of_near_pairs(graph)
        joined = graph.adjacency()
        signed = np.where(joined, 1, -1) * self.margins()
        return float(signed[np.triu_indices(self.n, 1)].min(initial=np.inf))

    def _margin_of_near_pairs(self, graph: Graph) -> float:
        """The smallest margin is that of an edge, or of balls that are nearer to each other than this margin."""
        points, radii = self.centers.astype(np.float64), RADIUS_SCALE * softplus(self.radii_raw.astype(np.float64))
        i, j = graph.edges.T
        smallest = float((radii[i] + radii[j] - _distances(points, i, j)).min(initial=np.inf))
        reach = max(smallest, 0.0) if len(i) else float(radii.max())
        while True:
            i, j = near_pairs(points, radii, reach + NARROW)
            apart = ~np.isin(i * self.n + j, graph.edges[:, 0] * self.n + graph.edges[:, 1])
            gaps = _distances(points, i[apart], j[apart]) - radii[i[apart]] - radii[j[apart]]
            if len(gaps) or len(graph.edges):
                return float(min(smallest, gaps.min(initial=np.inf)))
            reach *= 2

    @property
    def ordered_graph(self) -> Graph:
        """The graph in node order: what is to come back."""
        return self._fitted_to().relabel(self.order)

    def ordered(self) -> HyperballCloud:
        """The same cloud with its nodes, and its graph's, renumbered by the node order."""
        return replace(
            self,
            centers=self.centers[self.order],
            radii_raw=self.radii_raw[self.order],
            order=np.arange(self.n),
            graph=None if self.graph is None else self.graph.relabel(self.order),
        )

    def _fitted_to(self) -> Graph:
        if self.graph is None:
            raise GeoGAEError("this cloud was decoded, not fitted: it has no graph to be exact for")
        return self.graph
