"""What every training graph obeys, learned from the graphs and not written down for any field.

Three rules: whether graphs are connected, which categories nodes have, and the largest total of a node's edges for each
of them: the sum of the edges' first category where there is one (bond orders), else the degree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from geogae.graph import Graph

DISCONNECTED, UNKNOWN, OVERFULL, REFUSED = "disconnected", "unknown node", "too many or too strong edges", "no molecule"


class Rules:
    """``largest`` maps the categories of a node to its largest total; ``connected`` is whether all graphs are."""

    def __init__(self, connected: bool, largest: dict[tuple[int, ...], int]) -> None:
        self.connected, self.largest = connected, largest

    @classmethod
    def of(cls, graphs: Iterable[Graph]) -> Self:
        connected, largest = True, dict[tuple[int, ...], int]()
        for graph in graphs:
            connected = connected and is_connected(graph)
            for kind, total in zip(_kinds(graph), _totals(graph), strict=True):
                largest[kind] = max(total, largest.get(kind, 0))
        return cls(connected, largest)

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

    def to_json(self) -> dict[str, Any]:
        return {
            "connected": self.connected,
            "largest": [[*kind, total] for kind, total in sorted(self.largest.items())],
        }

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Self:
        return cls(bool(facts["connected"]), {tuple(row[:-1]): int(row[-1]) for row in facts["largest"]})


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


def _kinds(graph: Graph) -> list[tuple[int, ...]]:
    if graph.node_categorical is None:
        return [()] * graph.n
    return [tuple(row) for row in graph.node_categorical.tolist()]


def _totals(graph: Graph) -> list[int]:
    strength = np.ones(len(graph.edges), np.int64)
    if graph.edge_categorical is not None and len(graph.edges):
        strength = graph.edge_categorical[:, 0]
    totals = np.zeros(graph.n, np.int64)
    for end in graph.edges.T:
        np.add.at(totals, end, strength)
    return totals.tolist()
