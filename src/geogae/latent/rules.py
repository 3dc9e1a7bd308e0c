"""What every training graph obeys, learned from the graphs and not written down for any field.

Three rules: whether graphs are connected, which categories nodes have, and the largest total of a node's edges for each
of them: the sum of the edges' first category where there is one (bond orders), else the degree. Rules tell valid draws
from others. A decoder may be asked to keep them: it then takes the best supported graph among those that do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from geogae.graph import Graph

Kind = tuple[int, ...]  # the categories of a node

DISCONNECTED, UNKNOWN, OVERFULL, REFUSED = "disconnected", "unknown node", "too many or too strong edges", "no molecule"


class Rules:
    """What training graphs obey.

    ``connected`` is whether all graphs are. ``largest`` maps the categories of a node to its largest total, ``counts``
    to how many nodes have them. ``strengths`` are the values of the edges' first category, ascending.
    """

    def __init__(
        self, connected: bool, largest: dict[Kind, int], counts: dict[Kind, int], strengths: Sequence[int] = (1,)
    ) -> None:
        self.connected, self.largest, self.counts, self.strengths = connected, largest, counts, list(strengths)
        self.most_edges = max(largest.values(), default=0) // max(1, min(self.strengths, default=1))  # of one node

    @classmethod
    def of(cls, graphs: Iterable[Graph]) -> Self:
        connected, largest, counts, strengths = True, dict[Kind, int](), Counter[Kind](), set[int]()
        for graph in graphs:
            connected = connected and is_connected(graph)
            strengths.update(_strengths(graph).tolist())
            for kind, total in zip(_kinds(graph), _totals(graph), strict=True):
                largest[kind] = max(total, largest.get(kind, 0))
                counts[kind] += 1
        return cls(connected, largest, dict(counts), sorted(strengths))

    def broken(self, graph: Graph) -> str | None:
        """The first rule that a graph breaks, or None."""
        if self.connected and not is_connected(graph):
            return DISCONNECTED
        for kind, total in zip(_kinds(graph), _totals(graph), strict=True):
            if kind not in self.largest:
                return UNKNOWN
            if total > self.largest[kind]:
                return OVERFULL
        return None

    # -- keeping them -------------------------------------------------------------------------------------------------

    def edges(self, support: NDArray[np.float64]) -> NDArray[np.int64]:
        """Edges (E, 2) of nodes whose pairs have ``support`` (n, n): those above 0, as far as the rules allow.

        If graphs are connected, a spanning tree of the best supported pairs comes first. No node has more edges than
        any of a training graph. Where the pairs above 0 break neither rule, they are the edges.
        """
        n = len(support)
        first, second = np.triu_indices(n, 1)
        order = np.argsort(-support[first, second], kind="stable")
        pairs = np.column_stack([first, second])[order]
        positive = support[first, second][order] > 0
        degree, part = np.zeros(n, np.int64), np.arange(n)  # part: the component of each node
        chosen = np.zeros(len(pairs), bool)
        if self.connected:
            for at, (i, j) in enumerate(pairs.tolist()):
                if part[i] != part[j] and max(degree[i], degree[j]) < self.most_edges:
                    chosen[at] = True
                    degree[[i, j]] += 1
                    part[part == part[j]] = part[i]
        for at in np.flatnonzero(positive & ~chosen).tolist():
            i, j = pairs[at].tolist()
            if max(degree[i], degree[j]) < self.most_edges:
                chosen[at] = True
                degree[[i, j]] += 1
        edges = pairs[chosen]
        return edges[np.lexsort((edges[:, 1], edges[:, 0]))]

    def attributes(self, graph: Graph) -> Graph:
        """The graph with weaker edges, and then other categories, at nodes whose total is more than theirs allow."""
        if self.broken(graph) in (None, DISCONNECTED):
            return graph
        kinds, strengths = _kinds(graph), _strengths(graph).copy()
        own_edges: list[list[int]] = [[] for _ in range(graph.n)]
        for edge, (i, j) in enumerate(graph.edges.tolist()):
            own_edges[i].append(edge)
            own_edges[j].append(edge)
        for node, edges in enumerate(own_edges):
            while strengths[edges].sum() > self.largest.get(kinds[node], self.most_edges * min(self.strengths)):
                strongest = max(edges, key=lambda edge: strengths[edge])
                weaker = [strength for strength in self.strengths if strength < strengths[strongest]]
                if not weaker:
                    break
                strengths[strongest] = weaker[-1]
        for node, edges in enumerate(own_edges):
            kinds[node] = self._allowed(kinds[node], int(strengths[edges].sum()))
        changed: dict[str, Any] = {}
        if graph.node_categorical is not None:
            changed["node_categorical"] = np.array(kinds, np.int64).reshape(graph.node_categorical.shape)
        if graph.edge_categorical is not None and len(graph.edges):
            changed["edge_categorical"] = np.column_stack([strengths, graph.edge_categorical[:, 1:]])
        return graph.with_attributes(**changed) if changed else graph

    def _allowed(self, kind: Kind, total: int) -> Kind:
        """The same categories if they allow this total, else the commonest that do, of the same first one if any."""
        if total <= self.largest.get(kind, -1):
            return kind
        able = [other for other, most in self.largest.items() if most >= total]
        return max(able, key=lambda other: (other[:1] == kind[:1], self.counts[other]), default=kind)

    # -- files --------------------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        kinds = [[*kind, total, self.counts[kind]] for kind, total in sorted(self.largest.items())]
        return {"connected": self.connected, "kinds": kinds, "strengths": self.strengths}

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Self:
        largest = {tuple(row[:-2]): int(row[-2]) for row in facts["kinds"]}
        counts = {tuple(row[:-2]): int(row[-1]) for row in facts["kinds"]}
        return cls(bool(facts["connected"]), largest, counts, [int(one) for one in facts["strengths"]])


def is_connected(graph: Graph) -> bool:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if graph.n == 1:
        return True
    if len(graph.edges) < graph.n - 1:
        return False
    i, j = graph.edges.T
    return connected_components(coo_array((np.ones(len(i)), (i, j)), (graph.n, graph.n)), directed=False)[0] == 1


def counted(reasons: Sequence[str | None]) -> dict[str, int]:
    """How often each reason occurs."""
    return dict(Counter(reason for reason in reasons if reason is not None).most_common())


def _kinds(graph: Graph) -> list[Kind]:
    if graph.node_categorical is None:
        return [()] * graph.n
    return [tuple(row) for row in graph.node_categorical.tolist()]


def _strengths(graph: Graph) -> NDArray[np.int64]:
    if graph.edge_categorical is not None and len(graph.edges):
        return graph.edge_categorical[:, 0]
    return np.ones(len(graph.edges), np.int64)


def _totals(graph: Graph) -> list[int]:
    totals = np.zeros(graph.n, np.int64)
    for end in graph.edges.T:
        np.add.at(totals, end, _strengths(graph))
    return totals.tolist()
