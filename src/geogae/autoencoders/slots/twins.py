"""Adjacent twins, folded: nodes with the same closed neighbourhood are one slot and the number of further nodes in it.

In social graphs most nodes are twins. Twins are folded only if they have the same categories, too: each must be
interchangeable with the others, attributes included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from numba import njit

from geogae.autoencoders.base import State
from geogae.autoencoders.slots.base import (
    Folded,
    FoldingFeature,
    Ints,
    SlotValues,
    state_array,
    with_columns,
    within_limit,
    without_columns,
    written_counts,
)
from geogae.geometry.adjacency import closed_twins, rows_of
from geogae.graph import Graph


class Twins(FoldingFeature):
    """``edge`` (c,) are the categories of the edges between folded twins; others stay in the core."""

    name = "twins"
    width = columns = 1

    def __init__(self, edge: Ints) -> None:
        self.edge = edge

    @classmethod
    def of(cls, graphs: Sequence[Graph]) -> Self:
        """The commonest categories of edges."""
        seen: Counter[tuple[int, ...]] = Counter()
        unseen: tuple[int, ...] = ()
        for graph in graphs:
            if graph.edge_categorical is not None:
                unseen = (0,) * graph.edge_categorical.shape[1]  # of graphs with columns and no edges
                seen.update(map(tuple, graph.edge_categorical.tolist()))
        return cls(np.array(max(seen, key=lambda kind: (seen[kind], kind)) if seen else unseen, np.int64))

    def fold(self, graph: Graph) -> Folded:
        twin = twin_classes(graph, self.edge)  # (n,), the first node of each node's class
        kept, slot = np.unique(twin, return_inverse=True)
        rest = np.flatnonzero(twin != np.arange(graph.n))
        further = np.bincount(slot, minlength=len(kept)) - 1
        return Folded(with_columns(graph.subgraph(kept), further[:, None]), kept, rest, slot[rest])

    def left(self, graph: Graph) -> int:
        return int((twin_classes(graph, self.edge) == np.arange(graph.n)).sum())

    def unfold(self, core: Graph, limit: int) -> Graph:
        """The core's nodes, then the further twins of each in the same order."""
        core, counts = without_columns(core, self.columns)
        further = within_limit(counts[:, 0], limit - core.n)
        edges = _unfolded_edges(core.edges, further)
        n, nodes, kinds = core.n + int(further.sum()), core.node_categorical, core.edge_categorical
        if nodes is None and kinds is None:
            return Graph.from_sorted_edges(n, edges)
        origin = np.concatenate([np.arange(core.n), np.repeat(np.arange(core.n), further)])  # (n,), a core node each
        if kinds is not None:
            ends = np.sort(origin[edges], axis=1)  # (E, 2), of the core edge that each repeats; alike within a class
            place = np.searchsorted(core.edges @ [core.n, 1], ends @ [core.n, 1])
            kinds = np.concatenate([kinds, self.edge[None]])[np.where(ends[:, 0] == ends[:, 1], -1, place)]
        return Graph.from_edges_once(n, edges, None if nodes is None else nodes[origin], kinds)

    def write(self, core: Graph, counts: Ints) -> SlotValues:
        return written_counts(counts[:, -self.columns :])

    def state(self) -> State:
        return State({"edge": torch.from_numpy(self.edge)})

    @classmethod
    def from_state(cls, state: State) -> Self:
        return cls(state_array(state, "edge"))


@njit(cache=True)
def _unfolded_edges(edges: Any, further: Any) -> Any:
    """The edges of the unfolded graph, (E, 2), sorted: each further twin is joined to its class and its neighbours."""
    n = len(further)
    start, neighbour = rows_of(n, edges)
    first = np.empty(n + 1, np.int64)  # the further twins of v are first[v] … first[v + 1]
    first[0] = n
    for v in range(n):
        first[v + 1] = first[v] + further[v]
    total, size = first[n], 1 + further
    count = 0
    for v in range(n):
        count += size[v] * (size[v] - 1) // 2
        for u in neighbour[start[v] : start[v + 1]]:
            if u > v:
                count += size[u] * size[v]
    unfolded = np.empty((count, 2), np.int64)
    joined, end, own = np.empty(n, np.int64), 0, 0
    for u in range(total):
        if u < n:
            own = u
        else:
            own = 0 if u == n else own
            while u >= first[own + 1]:
                own += 1
        count = 0  # of core nodes that this node is joined to, its own among them, ascending
        for v in neighbour[start[own] : start[own + 1]]:
            if v > own and (count == 0 or joined[count - 1] < own):
                joined[count] = own
                count += 1
            joined[count] = v
            count += 1
        if count == 0 or joined[count - 1] < own:
            joined[count] = own
            count += 1
        for v in joined[:count]:  # the core's nodes come first …
            if v > u:
                unfolded[end] = u, v
                end += 1
        for v in joined[:count]:  # … then the further ones, class by class
            for w in range(max(first[v], u + 1), first[v + 1]):
                unfolded[end] = u, w
                end += 1
    return unfolded


def twin_classes(graph: Graph, edge: Ints) -> Ints:
    """The smallest node of each node's class of interchangeable adjacent twins, (n,)."""
    kind, smallest = closed_twins(*rows_of(graph.n, graph.edges))  # classes by closed neighbourhoods alone
    if graph.node_categorical is None and graph.edge_categorical is None:
        return smallest[kind]
    first = np.arange(graph.n)
    arcs = {} if graph.edge_categorical is None else _kinds_of_arcs(graph.edges, graph.edge_categorical)
    for nodes in np.split(np.argsort(kind, kind="stable"), np.cumsum(np.bincount(kind))[:-1]):
        if len(nodes) > 1:
            for group in _interchangeable(graph, nodes, edge, arcs):
                first[group] = group[0]
    return first


def _kinds_of_arcs(edges: Ints, categories: Ints) -> dict[tuple[int, int], tuple[int, ...]]:
    kinds = {(i, j): tuple(kind) for (i, j), kind in zip(edges.tolist(), categories.tolist(), strict=True)}
    return kinds | {(j, i): kind for (i, j), kind in kinds.items()}


def _interchangeable(
    graph: Graph, nodes: Ints, edge: Ints, kinds: dict[tuple[int, int], tuple[int, ...]]
) -> list[Ints]:
    """Parts of a class of twins with the same categories towards everybody, and ``edge`` among themselves."""
    if graph.edge_categorical is None:
        assert graph.node_categorical is not None
        _, number = np.unique(graph.node_categorical[nodes], axis=0, return_inverse=True)
        return [nodes[number.ravel() == one] for one in range(number.max() + 1)]
    own, common = set(nodes.tolist()), tuple(edge.tolist())
    outside = sorted({j for i, j in kinds if i == int(nodes[0])} - own)
    parts: dict[tuple[object, ...], list[int]] = {}
    for v in nodes.tolist():
        categories = () if graph.node_categorical is None else tuple(graph.node_categorical[v].tolist())
        parts.setdefault((categories, tuple(kinds[v, w] for w in outside)), []).append(v)
    good = []
    for part in parts.values():
        within = all(kinds[v, w] == common for v in part for w in part if v != w)
        across = all(len({kinds[v, w] for v in part}) == 1 for w in own - set(part))
        if len(part) > 1 and within and across:
            good.append(np.array(part))
    return good
