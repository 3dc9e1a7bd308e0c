"""A graph while it is edited, and where training graphs have which attributes and rings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from geogae.graph import ATTRIBUTES, Graph

NEAR = 8  # steps between two nodes, at most, that a new edge joins
LOOKED_AT = 1000  # edges of training graphs whose rings are measured

K = TypeVar("K")
V = TypeVar("V")


class Places:
    """Where the training graphs have which attributes.

    Nodes and edges of all training graphs are numbered through; the attributes of node 7 are row 7 of ``tables``. The
    class of a node is its categories. What is asked for in a place that training graphs do not have comes from any.
    """

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self.graphs = list(graphs)
        self.tables = {field: _stacked([getattr(graph, field) for graph in graphs]) for field in ATTRIBUTES}
        self.first_node = np.cumsum([0, *(graph.n for graph in graphs)]).tolist()
        self.first_edge = np.cumsum([0, *(len(graph.edges) for graph in graphs)]).tolist()
        categories = self.tables["node_categorical"]
        if categories is None:
            self.kind = [0] * self.first_node[-1]
        else:
            self.kind = np.unique(categories, axis=0, return_inverse=True)[1].ravel().tolist()
        self.leaves: dict[int | None, list[tuple[int, int]]] = defaultdict(list)  # at a node of a class: (node, edge)
        self.middles: dict[tuple[int, int] | None, list[int]] = defaultdict(list)  # between two nodes of these classes
        self.links: dict[tuple[int, int] | None, list[int]] = defaultdict(list)  # edges between these classes
        if any(table is not None for table in self.tables.values()):
            for graph, node, edge in zip(self.graphs, self.first_node, self.first_edge, strict=False):
                self._learn(graph, node, edge)
        self.rings = self._ring_steps() or list(range(2, NEAR + 1))

    def _learn(self, graph: Graph, first_node: int, first_edge: int) -> None:
        ends: dict[int, list[tuple[int, int]]] = defaultdict(list)  # of each node: neighbour and edge
        for edge, (i, j) in enumerate(graph.edges.tolist(), first_edge):
            ends[i].append((j, edge))
            ends[j].append((i, edge))
            _put(self.links, self._pair(first_node + i, first_node + j), edge)
        for node, around in ends.items():
            row = first_node + node
            if len(around) == 1:
                [(other, edge)] = around
                _put(self.leaves, self.kind[first_node + other], (row, edge))
            elif len(around) == 2:
                _put(self.middles, self._pair(*(first_node + other for other, _ in around)), row)

    def _ring_steps(self) -> list[int]:
        """How far the ends of an edge are from each other without it, of some edges; not of bridges."""
        random, found = Random(0), list[int]()
        for _ in range(LOOKED_AT):
            number = random.randrange(len(self.graphs))
            graph = self.graphs[number]
            if not len(graph.edges):
                continue
            draft = Draft.of(self, number, graph.n)
            a, b = graph.edges[random.randrange(len(graph.edges))].tolist()
            draft.cut(a, b)
            steps = draft.near(a, NEAR).get(b)
            found += [] if steps is None else [steps]
        return found

    def link(self, a: int, b: int, random: Random) -> int:
        """An edge that joins such nodes; 0 where there is none to take attributes from."""
        return _drawn(self.links, self._pair(a, b), random) if self.links else 0

    def leaf(self, a: int, random: Random) -> tuple[int, int]:
        """A leaf of such a node and the edge that it has; any node, where no training graph has leaves."""
        if not self.leaves:
            row = random.randrange(len(self.kind))
            return row, self.link(a, row, random)
        return _drawn(self.leaves, self.kind[a], random)

    def middle(self, a: int, b: int, random: Random) -> int:
        """A node of degree two between such nodes; any node, where no training graph has one."""
        if not self.middles:
            return random.randrange(len(self.kind))
        return _drawn(self.middles, self._pair(a, b), random)

    def _pair(self, a: int, b: int) -> tuple[int, int]:
        one, other = self.kind[a], self.kind[b]
        return (one, other) if one <= other else (other, one)


class Draft:
    """A graph while it is edited: nodes and their edges, each with the training row that its attributes come from."""

    def __init__(self, rows: dict[int, int], edges: dict[int, dict[int, int]], most: int) -> None:
        self.rows, self.edges, self.most = rows, edges, most
        self.next = len(rows)

    @classmethod
    def of(cls, places: Places, number: int, most: int) -> Draft:
        graph, node, edge = places.graphs[number], places.first_node[number], places.first_edge[number]
        edges: dict[int, dict[int, int]] = {i: {} for i in range(graph.n)}
        for row, (i, j) in enumerate(graph.edges.tolist(), edge):
            edges[i][j] = edges[j][i] = row
        return cls({i: node + i for i in range(graph.n)}, edges, most)

    @property
    def full(self) -> bool:
        return len(self.rows) >= self.most

    def add(self, row: int) -> int:
        node = self.next
        self.next += 1
        self.rows[node], self.edges[node] = row, {}
        return node

    def remove(self, node: int) -> None:
        for other in self.edges.pop(node):
            del self.edges[other][node]
        del self.rows[node]

    def join(self, a: int, b: int, row: int) -> None:
        self.edges[a][b] = self.edges[b][a] = row

    def cut(self, a: int, b: int) -> int:
        """Remove the edge of two nodes; its training row."""
        del self.edges[a][b]
        return self.edges[b].pop(a)

    def near(self, source: int, limit: int) -> dict[int, int]:
        """Nodes at most ``limit`` steps away, and how many; breadth first."""
        steps, queue = {source: 0}, [source]
        for a in queue:  # grows on the way
            if steps[a] == limit:
                break
            for b in self.edges[a]:
                if b not in steps:
                    steps[b] = steps[a] + 1
                    queue.append(b)
        return steps

    def linked(self, a: int, b: int) -> bool:
        """Whether there is a path from one to the other."""
        return b in self.near(a, len(self.rows))

    def graph(self, places: Places) -> Graph:
        number = {node: i for i, node in enumerate(self.rows)}
        pairs = sorted(
            (number[a], number[b], row) for a, ends in self.edges.items() for b, row in ends.items() if a < b
        )  # the nodes of a draft ascend, so a < b keeps i < j
        table = np.array(pairs, dtype=np.int64).reshape(-1, 3)
        rows = {"node": np.array(list(self.rows.values())), "edge": table[:, 2]}
        given = {field: block[rows[field[:4]]] for field, block in places.tables.items() if block is not None}
        edges = np.ascontiguousarray(table[:, :2])
        return Graph(len(number), edges, **given) if given else Graph.from_sorted_edges(len(number), edges)


def _put(pools: dict[K | None, list[V]], key: K, value: V) -> None:
    pools[key].append(value)
    pools[None].append(value)


def _drawn(pools: dict[K | None, list[V]], key: K, random: Random) -> V:
    return random.choice(pools[key] if key in pools else pools[None])


def _stacked(blocks: Sequence[NDArray[Any] | None]) -> NDArray[Any] | None:
    """One table of all rows; a graph without edges need not have a block."""
    found = [block for block in blocks if block is not None and len(block)]
    return np.concatenate(found) if found else None
