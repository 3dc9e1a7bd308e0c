"""Leaves, folded: a node with one neighbour is counted there, instead of having a ball of its own.

Most nodes of discussion graphs, and of molecules with hydrogens, are leaves. The core, which is the graph without them,
has a third of the nodes of REDDIT-BINARY, and its cloud is fitted much faster. Leaves of one kind have the same
categories and the same edge categories. Each of the commonest kinds has its own count; other leaves stay in the core.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Self

import numpy as np
import torch

from geogae.autoencoders.base import State
from geogae.autoencoders.slots.base import (
    Folded,
    Ints,
    SlotFeature,
    SlotValues,
    state_array,
    with_columns,
    within_limit,
    without_columns,
    written_counts,
)
from geogae.graph import Graph

MOST_KINDS = 4  # counts in a slot
COMMON = 0.02  # share of all nodes, at least, of a kind that is counted


class Leaves(SlotFeature):
    """``kinds`` (k, node columns + edge columns) are the categories of a leaf and of its edge, the commonest first."""

    name = "leaves"
    random_axes = 0.7  # where most leaves are, few training graphs show

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
        """Once: what becomes a leaf by it stays. Of two nodes that have only each other, the commoner kind goes."""
        nodes, hubs, kinds = leaves_of(graph)  # (L,), (L,), (L, c)
        match = (kinds[:, None] == self.kinds[None]).all(-1) if kinds.shape[1] == self.kinds.shape[1] else None
        known = np.zeros(len(nodes), bool) if match is None else match.any(1)
        kind = np.zeros(len(nodes), np.int64) if match is None else match.argmax(1)
        nodes, hubs, kind = nodes[known], hubs[known], kind[known]
        kind_of = np.full(graph.n, len(self.kinds))
        kind_of[nodes] = kind
        partner = kind_of[hubs]  # a pair of leaves: one of the two is folded into the other
        folded = (kind < partner) | ((kind == partner) & (nodes < hubs))
        nodes, hubs, kind = nodes[folded], hubs[folded], kind[folded]
        order = np.lexsort((nodes, kind))
        nodes, hubs, kind = nodes[order], hubs[order], kind[order]
        stays = np.ones(graph.n, bool)
        stays[nodes] = False
        kept, place = np.flatnonzero(stays), np.cumsum(stays) - 1
        counts = np.zeros((len(kept), len(self.kinds)), np.int64)
        np.add.at(counts, (place[hubs], kind), 1)
        return Folded(with_columns(graph.subgraph(kept), counts), kept, nodes, place[hubs])

    def unfold(self, core: Graph, limit: int) -> Graph:
        """The core's nodes, then their leaves in the same order, those of one node kind by kind."""
        core, counts = without_columns(core, self.columns)
        counts = within_limit(counts.ravel(), limit - core.n)
        place = np.repeat(np.arange(len(counts)), counts)  # (L,), node and kind of each leaf as one number
        hubs, kinds = place // len(self.kinds), self.kinds[place % len(self.kinds)]  # (L,), (L, c)
        edges = np.column_stack([hubs, core.n + np.arange(len(hubs))])
        return core.extended(len(hubs), edges, kinds[:, : self.node_columns], kinds[:, self.node_columns :])

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


def _width(graph: Graph, kind: str) -> int:
    table = getattr(graph, f"{kind}_categorical")
    return 0 if table is None else table.shape[1]
