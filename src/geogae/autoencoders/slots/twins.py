"""Adjacent twins, folded: nodes with the same closed neighbourhood are one slot and the number of further nodes in it.

In social graphs most nodes are twins. Twins are folded only if they have the same categories, too: each must be
interchangeable with the others, attributes included.
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
        counts = within_limit(counts[:, 0], limit - core.n)
        first = np.repeat(np.arange(core.n), counts)  # (R,), the core node that each repeats
        origin = np.concatenate([np.arange(core.n), first])  # (n,), the core node of each node
        size = 1 + counts
        members, begin = np.argsort(origin, kind="stable"), np.cumsum(size) - size  # nodes class by class
        i, j = np.concatenate([core.edges, np.repeat(np.flatnonzero(counts), 2).reshape(-1, 2)]).T  # (E + classes,)
        pairs = size[i] * size[j]
        of = np.repeat(np.arange(len(i)), pairs)  # the core edge, or class, of each pair of nodes
        number = np.arange(len(of)) - np.repeat(np.cumsum(pairs) - pairs, pairs)
        one = members[begin[i[of]] + number // size[j[of]]]
        other = members[begin[j[of]] + number % size[j[of]]]
        kept = (of < len(core.edges)) | (one < other)  # a pair within a class comes twice, and a node with itself
        kinds = core.edge_categorical
        if kinds is not None:
            kinds = np.concatenate([kinds, self.edge[None]])[of.clip(max=len(kinds))][kept]
        nodes = None if core.node_categorical is None else core.node_categorical[origin]
        edges = np.column_stack([np.minimum(one, other), np.maximum(one, other)])[kept]
        return Graph.from_edges_once(core.n + len(first), edges, nodes, kinds)

    def write(self, core: Graph, counts: Ints) -> SlotValues:
        return written_counts(counts[:, -self.columns :])

    def state(self) -> State:
        return State({"edge": torch.from_numpy(self.edge)})

    @classmethod
    def from_state(cls, state: State) -> Self:
        return cls(state_array(state, "edge"))


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
