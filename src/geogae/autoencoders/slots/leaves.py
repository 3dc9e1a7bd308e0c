"""Leaves, folded: a node with one neighbour is counted there, instead of having a ball of its own.

Most nodes of discussion graphs, and of molecules with hydrogens, are leaves. The core, which is the graph without them,
has a third of the nodes of REDDIT-BINARY, and its cloud is fitted much faster. Leaves of one kind have the same
categories and the same edge categories. Each of the commonest kinds has its own count; other leaves stay in the core.
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
    written_counts,
)
from geogae.graph import Graph

MOST_KINDS = 4  # counts in a slot
COMMON = 0.02  # share of all nodes, at least, of a kind that is counted


class Leaves(FoldingFeature):
    """``kinds`` (k, node columns + edge columns) are the categories of a leaf and of its edge, the commonest first."""

    name = "leaves"
    random_share = 0.7  # where most leaves are, few training graphs show

    def __init__(self, kinds: Ints, node_columns: int = 0) -> None:
        self.kinds, self.node_columns = kinds, node_columns
        self.width = self.columns = len(kinds)

    @classmethod
    def of(cls, graphs: Sequence[Graph]) -> Self:
        """The commonest kinds of leaves; of graphs without attributes there is one."""
        seen: Counter[tuple[int, ...]] = Counter()
        for graph in graphs:
            seen.update(map(tuple, leaves_of(graph)[2].tolist()))
        total = sum(graph.n for graph in graphs)
        edged = next((graph for graph in graphs if len(graph.edges)), graphs[0])
        widths = _width(graphs[0], "node"), _width(edged, "edge")
        ranked = sorted(seen, key=lambda kind: (-seen[kind], kind)) or [(0,) * sum(widths)]
        common = [kind for kind in ranked[:MOST_KINDS] if seen[kind] >= COMMON * total] or ranked[:1]
        return cls(np.array(common, np.int64).reshape(len(common), sum(widths)), widths[0])

    def fold(self, graph: Graph) -> Folded:
        """Once: what becomes a leaf by it stays. Of two nodes with one edge, the more frequent kind is folded."""
        kind_of, hub_of = _leaves(graph.n, graph.edges, *_categories(graph), self.kinds)  # (n,), (n,)
        kept, rest, slots, counts = _folded(kind_of, hub_of, len(self.kinds))
        return Folded(with_columns(graph.subgraph(kept), counts), kept, rest, slots)

    def left(self, graph: Graph) -> int:
        kind_of, hub_of = _leaves(graph.n, graph.edges, *_categories(graph), self.kinds)
        return len(_folded(kind_of, hub_of, len(self.kinds))[0])

    def unfold(self, core: Graph, limit: int) -> Graph:
        """The core's nodes, then their leaves in the same order, those of one node kind by kind."""
        table, arcs, k = core.node_categorical, core.edge_categorical, len(self.kinds)
        assert table is not None  # its last columns are the counts
        edges, rows, leaf = _unfolded(core.edges, table, k, limit - core.n)  # (E + L, 2), (E + L,), (L,)
        graph, own = Graph.from_sorted_edges(core.n + len(leaf), edges), table.shape[1] - k
        if not own and arcs is None:
            return graph
        kinds = self.kinds[leaf]
        nodes = np.concatenate([table[:, :own], kinds[:, : self.node_columns]]) if own else None
        if arcs is not None:
            arcs = np.concatenate([arcs, kinds[:, self.node_columns :]])[rows]
        return graph.with_attributes(node_categorical=nodes, edge_categorical=arcs)

    def write(self, core: Graph, counts: Ints) -> SlotValues:
        return written_counts(counts[:, : self.columns])

    def state(self) -> State:
        return State({"kinds": torch.from_numpy(self.kinds)}, {"node_columns": self.node_columns})

    @classmethod
    def from_state(cls, state: State) -> Self:
        return cls(state_array(state, "kinds"), int(state.facts["node_columns"]))


def leaves_of(graph: Graph) -> tuple[Ints, Ints, Ints]:
    """The leaves (L,), the neighbour of each (L,), and their kinds (L, c): node categories, then edge categories."""
    single = graph.degrees == 1
    i, j = graph.edges.T
    ends = np.concatenate([np.flatnonzero(single[i]), np.flatnonzero(single[j])])  # the edge of each leaf
    nodes = np.concatenate([i[single[i]], j[single[j]]])
    hubs = np.concatenate([j[single[i]], i[single[j]]])
    parts = [graph.node_categorical[nodes]] if graph.node_categorical is not None else []
    parts += [graph.edge_categorical[ends]] if graph.edge_categorical is not None else []
    return nodes, hubs, np.concatenate(parts, axis=1) if parts else np.zeros((len(nodes), 0), np.int64)


def _categories(graph: Graph) -> tuple[Ints, Ints]:
    """Those of nodes (n, a) and of edges (E, b), without columns where the graph has none."""
    nodes, edges = graph.node_categorical, graph.edge_categorical
    return (
        np.zeros((graph.n, 0), np.int64) if nodes is None else nodes,
        np.zeros((len(graph.edges), 0), np.int64) if edges is None else edges,
    )


@njit(cache=True)
def _leaves(n: int, edges: Any, node_categories: Any, edge_categories: Any, kinds: Any) -> Any:
    """The kind of leaf that each node is, (n,), or the number of kinds if it is none; and the neighbour of a leaf."""
    degree = np.zeros(n, np.int64)
    for i, j in edges:
        degree[i] += 1
        degree[j] += 1
    kind_of, hub_of = np.full(n, len(kinds), np.int64), np.zeros(n, np.int64)
    a, b = node_categories.shape[1], edge_categories.shape[1]
    if kinds.shape[1] != a + b:
        return kind_of, hub_of
    for e in range(len(edges)):
        for side in range(2):
            leaf = edges[e, side]
            if degree[leaf] != 1:
                continue
            hub_of[leaf] = edges[e, 1 - side]
            for k in range(len(kinds)):
                same = True
                for c in range(a):
                    same &= node_categories[leaf, c] == kinds[k, c]
                for c in range(b):
                    same &= edge_categories[e, c] == kinds[k, a + c]
                if same:
                    kind_of[leaf] = k
                    break
    return kind_of, hub_of


@njit(cache=True)
def _folded(kind_of: Any, hub_of: Any, kinds: int) -> Any:
    """The nodes that stay, those that are folded, kind by kind, the slot of each, and counts (slots, kinds)."""
    n = len(kind_of)
    goes = np.zeros(n, np.bool_)
    for v in range(n):
        hub = hub_of[v]
        if kind_of[v] < kinds:  # of a pair of leaves, one is folded into the other
            goes[v] = kind_of[v] < kind_of[hub] or (kind_of[v] == kind_of[hub] and v < hub)
    kept = np.flatnonzero(~goes)
    place = np.empty(n, np.int64)
    place[kept] = np.arange(len(kept))
    rest, slots = np.empty(n - len(kept), np.int64), np.empty(n - len(kept), np.int64)
    counts = np.zeros((len(kept), kinds), np.int64)
    fill = 0
    for k in range(kinds):
        for v in range(n):
            if goes[v] and kind_of[v] == k:
                rest[fill], slots[fill] = v, place[hub_of[v]]
                counts[slots[fill], k] += 1
                fill += 1
    return kept, rest, slots, counts


@njit(cache=True)
def _unfolded(edges: Any, table: Any, kinds: int, limit: int) -> Any:
    """Edges with those of leaves, in order, the row of each (leaves count behind ``edges``), and kinds of leaves.

    The last ``kinds`` columns of ``table`` are the leaves of each node and kind; the last ones beyond ``limit`` are
    left out. Leaves have the highest numbers, so that the edges of a node to its leaves follow those to nodes behind
    it.
    """
    n, first = len(table), table.shape[1] - kinds
    leaves = 0
    for v in range(n):
        for k in range(kinds):
            leaves += min(table[v, first + k], limit - leaves)
    leaves = max(leaves, 0)
    new, rows = np.empty((len(edges) + leaves, 2), np.int64), np.empty(len(edges) + leaves, np.int64)
    kind_of = np.empty(leaves, np.int64)
    e, leaf = 0, 0
    for v in range(n):
        while e < len(edges) and edges[e, 0] == v:
            new[e + leaf, 0], new[e + leaf, 1] = v, edges[e, 1]
            rows[e + leaf] = e
            e += 1
        for k in range(kinds):
            for _ in range(min(table[v, first + k], leaves - leaf)):
                new[e + leaf, 0], new[e + leaf, 1] = v, n + leaf
                rows[e + leaf], kind_of[leaf] = len(edges) + leaf, k
                leaf += 1
    return new, rows, kind_of


def _width(graph: Graph, kind: str) -> int:
    table = getattr(graph, f"{kind}_categorical")
    return 0 if table is None else table.shape[1]
