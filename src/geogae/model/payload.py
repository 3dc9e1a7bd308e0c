"""What a slot carries beside its ball: how surprising its node and the edges to earlier nodes are, and their numbers.

An edge's attributes ride with its later end: a slot has a place for the edge to the first, the second, … of the
earlier neighbours. Categories ride as surprises (see there), so most of what is carried is 0. A continuous attribute
rides as what it differs by from the average of its category; where little is left of that, not at all; and where it
runs smoothly through the graph, as positions do, as a few coefficients of the whole graph, its riders.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from geogae.attributes import Block, Columns, Schema
from geogae.errors import GeoGAEError
from geogae.geometry.family import FREE, Bounds
from geogae.graph import Graph
from geogae.model.surprises import Surprises

SURPRISE, NUMBER = 1.5, 0.3  # units of what is carried, against those of the balls
SURPRISE_WEIGHT, NUMBER_WEIGHT = 30.0, 1.0  # of a surprise, or a number, that is off, against a pair of nodes
SHRINK = 2.0  # sightings that the overall average counts for beside a category's own
KNOWN, SMOOTH = 0.01, 0.1  # shares of a column's variance that may be left, to need nothing, or only riders
LANDMARKS = 8  # nodes, distances from which riders multiply
RIDERS = 0.25  # of z at most are riders
RIDGE = 1e-3  # keeps coefficients small where a few nodes do not settle them

_Floats = NDArray[np.float32]
_Codes = NDArray[np.int64]


class Load(NamedTuple):
    """What one graph carries."""

    values: _Floats  # (n, e), in its slots
    present: NDArray[np.bool_]  # (n, e), False where there is no such edge
    bounds: Bounds  # between which a decoder reads the same categories
    riders: _Floats  # (q,)


class Payload:
    """The places of a slot, in their order: for its node and then for each edge, surprises and numbers.

    ``smooth`` are the continuous node columns that ride as coefficients, ``loose`` those that ride in the slots.
    """

    spare = 0.3  # of the axes are drawn at random: a surprise may come anywhere

    def __init__(self, schema: Schema, edges: int, smooth: Sequence[int], loose: Sequence[int]) -> None:
        self.schema, self.edges = schema, edges  # at most so many earlier neighbours
        self.node, self.edge = schema.node, schema.edge
        self.smooth, self.loose = list(smooth), list(loose)
        self.surprises = Surprises([len(c) for c in self.node.categories], [len(c) for c in self.edge.categories])
        self.averages = [np.zeros((_kinds(block), len(block.mean))) for block in (self.node, self.edge)]

    @classmethod
    def of(cls, schema: Schema, train: Sequence[Graph], rest: Sequence[Graph], latent_dim: int) -> Payload:
        """Expectations of training graphs, and room for the ``rest`` as well; all in node order."""
        nodes, edges = ([block.columns(graph) for graph in train] for block in (schema.node, schema.edge))
        averages = [_averages(schema.node, nodes), _averages(schema.edge, edges)]
        smooth, loose = _routes(train, [part.numbers - averages[0][_kind(schema.node, part.codes)] for part in nodes])
        if len(smooth) * (LANDMARKS + 1) > RIDERS * latent_dim:
            smooth, loose = [], sorted([*smooth, *loose])
        most = max(map(earlier_neighbours, [*train, *rest])) if schema.edge.width else 0
        payload = cls(schema, most, smooth, loose)
        payload.averages = averages
        payload.surprises.fit(train, [part.codes for part in nodes], [part.codes for part in edges])
        return payload

    @property
    def width(self) -> int:
        """Numbers e in a slot."""
        node, edge = self._widths
        return node + self.edges * edge

    @property
    def gaps(self) -> bool:
        """Whether slots have places that a graph may leave empty: those of edges."""
        return self.edges > 0

    @property
    def riders(self) -> int:
        """Numbers q of the whole graph."""
        return len(self.smooth) * (LANDMARKS + 1)

    def check(self, graph: Graph) -> None:
        """An error unless the attributes of the graph, in node order, are known and there is room for them."""
        self.schema.check(graph)
        if self.edge.width and (most := earlier_neighbours(graph)) > self.edges:
            raise GeoGAEError(
                f"{graph.name or 'a graph without name'} has a node with edges to {most} earlier ones; this model "
                f"carries attributes of {self.edges}; leave it out, or train with graphs as dense"
            )

    def load(self, graph: Graph) -> Load:
        """Of a graph in node order."""
        node, edge = self.node.columns(graph), self.edge.columns(graph)
        ranks = self.surprises.ranks(graph, node.codes, edge.codes)
        numbers = [part.numbers - self._expected(at, part.codes) for at, part in enumerate((node, edge))]
        riders = coefficients(graph, numbers[0][:, self.smooth]).ravel()
        numbers[0] = numbers[0][:, self.loose]
        values, present = (np.zeros((graph.n, self.width), kind) for kind in (np.float32, bool))
        low, high = np.full_like(values, -FREE), np.full_like(values, FREE)
        blocks = (self.node, self.edge)
        for (slots, places), rank, number, block in zip(self._places(graph), ranks, numbers, blocks, strict=True):
            c = rank.shape[1]
            last = rank == [len(known) - 1 for known in block.categories]  # what is beyond it is still it
            values[slots, places] = np.concatenate([SURPRISE * bits(rank), NUMBER * number], axis=1)
            present[slots, places] = True
            low[slots, places[:, :c]] = np.where(rank > 0, SURPRISE * bits(rank - 0.5), -FREE)
            high[slots, places[:, :c]] = np.where(last, FREE, SURPRISE * bits(rank + 0.5))
            low[slots, places[:, c:]] = high[slots, places[:, c:]] = NUMBER * number
        return Load(values, present, Bounds(low, high, self._weights()), riders.astype(np.float32))

    def unload(self, graph: Graph, values: _Floats, riders: _Floats) -> Graph:
        """The graph with the attributes that its slots (n, e) and riders (q,) tell of it."""
        codes, numbers = self._read(graph, values)
        node, edge = (self._expected(at, codes[at]) for at in (0, 1))
        node[:, self.loose] += numbers[0] / NUMBER
        edge += numbers[1] / NUMBER
        if self.smooth:
            node[:, self.smooth] += functions(graph) @ riders.reshape(LANDMARKS + 1, -1)
        return self.schema.dress(
            graph, Columns(codes[0], node.astype(np.float32)), Columns(codes[1], edge.astype(np.float32))
        )

    def riders_beside(self, true: Graph, graph: Graph, values: _Floats) -> _Floats:
        """The riders (q,) of a true graph, if ``graph`` and ``values`` (n, e) are what its z decodes to without them.

        The functions that they multiply are those of the decoded graph: one wrong edge makes others of them.
        """
        codes, _ = self._read(graph, values)
        left = self.node.columns(true).numbers - self._expected(0, codes[0])
        return coefficients(graph, left[:, self.smooth]).ravel().astype(np.float32)

    def _read(self, graph: Graph, values: _Floats) -> tuple[tuple[_Codes, _Codes], tuple[_Floats, _Floats]]:
        """Codes of nodes and edges, and their numbers, out of what the slots of a graph carry."""
        node, edge = (values[slots, places] for slots, places in self._places(graph))
        c, e = len(self.node.categories), len(self.edge.categories)
        codes = self.surprises.read(graph, rank_of(node[:, :c] / SURPRISE), rank_of(edge[:, :e] / SURPRISE))
        return codes, (node[:, c:], edge[:, e:])

    def _expected(self, at: int, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Continuous attributes as their category has them on average; ``at`` 0 for nodes, 1 for edges."""
        return self.averages[at][_kind((self.node, self.edge)[at], codes)]

    @property
    def _widths(self) -> tuple[int, int]:
        """Numbers for a node and for an edge."""
        edge = len(self.edge.categories) + len(self.edge.mean) if self.edges else 0
        return len(self.node.categories) + len(self.loose), edge

    def _places(self, graph: Graph) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Slots (rows, 1) and places (rows, columns) of nodes and of edges; edges beyond the room share the last."""
        own, each = self._widths
        i, j = graph.edges.T
        order = np.lexsort((i, j))
        number = np.empty(len(j), np.int64)  # of the edge among those to earlier nodes
        number[order] = np.arange(len(j)) - np.searchsorted(j[order], j[order])
        begin = own + each * number.clip(max=max(0, self.edges - 1))
        slot = np.arange(graph.n)[:, None]
        return [(slot, np.arange(own) + 0 * slot), (j[:, None], begin[:, None] + np.arange(each))]

    def _weights(self) -> _Floats:
        """Of each place of a slot, (e,)."""
        node = np.repeat([SURPRISE_WEIGHT, NUMBER_WEIGHT], [len(self.node.categories), len(self.loose)])
        edge = np.repeat([SURPRISE_WEIGHT, NUMBER_WEIGHT], [len(self.edge.categories), len(self.edge.mean)])
        return np.concatenate([node, np.tile(edge, self.edges)]).astype(np.float32)


class Leaves:
    """The number of leaves that hang on each node, in the place of attributes: see geometry/folding.py."""

    width, riders = 1, 0
    gaps = False
    spare = 0.7  # of the axes are drawn at random: where most leaves hang, few training graphs tell

    def check(self, core: Graph) -> None:
        """Any number can be carried."""

    def load(self, core: Graph) -> Load:
        """Of a core in node order."""
        assert core.node_categorical is not None
        counts = core.node_categorical.astype(np.float32)  # (n, 1)
        bounds = Bounds.of_counts(counts)
        bounds = bounds._replace(low=np.where(counts > 0, bounds.low, np.float32(-FREE)))  # less than none is none
        return Load(counts, np.ones(counts.shape, bool), bounds, np.empty(0, np.float32))

    def counts(self, values: _Floats, limit: int) -> _Codes:
        """The numbers (n,) that slots (n, 1) tell, none above ``limit``."""
        return np.rint(np.nan_to_num(values[:, 0]).clip(0, limit)).astype(np.int64)


def bits(rank: NDArray[np.floating] | NDArray[np.int64]) -> NDArray[np.float64]:
    """Where a rank stands on the scale of surprises: 0, 1, 1.6, 2, …; rare ones must not outweigh all others."""
    return np.log2(1 + rank)


def rank_of(surprise: _Floats) -> NDArray[np.int64]:
    """The rank between whose bounds, half a rank below and above, a surprise is."""
    return np.rint(np.exp2(surprise.astype(np.float64).clip(0, 40)) - 1).astype(np.int64)


def earlier_neighbours(graph: Graph) -> int:
    """The most that a node has."""
    return int(np.bincount(graph.edges[:, 1], minlength=1).max())


def functions(graph: Graph) -> NDArray[np.float64]:
    """1 and the distances in steps from LANDMARKS nodes, each far from those before it, (n, LANDMARKS + 1).

    Whole numbers that depend on the ordered graph alone: encoder and decoder have the same, on any machine.
    """
    steps = shortest_path(csr_array(graph.adjacency()), unweighted=True)
    steps[np.isinf(steps)] = graph.n
    from_all, columns = steps[0], [np.ones(graph.n)]
    for _ in range(LANDMARKS):
        landmark = int(from_all.argmax())
        columns.append(steps[landmark])
        from_all = np.minimum(from_all, steps[landmark])
    return np.column_stack(columns)


def coefficients(graph: Graph, numbers: NDArray[np.floating]) -> NDArray[np.floating]:
    """Of :func:`functions` that add up to numbers (n, columns), by ridge regression, (LANDMARKS + 1, columns)."""
    if not numbers.shape[1]:
        return np.zeros((LANDMARKS + 1, 0))
    known = functions(graph)
    return np.linalg.solve(known.T @ known + RIDGE * np.eye(LANDMARKS + 1), known.T @ numbers)


def _routes(graphs: Sequence[Graph], left: Sequence[NDArray[np.floating]]) -> tuple[list[int], list[int]]:
    """Which columns are to ride as coefficients, and which in the slots, by what is left of each beside its average."""
    variance = np.mean(np.concatenate(left) ** 2, axis=0)  # in units of the whole column's
    telling = [at for at, graph in enumerate(graphs) if graph.n > 2 * (LANDMARKS + 1)]  # few nodes fit any functions
    rough = [left[at] - functions(graphs[at]) @ coefficients(graphs[at], left[at]) for at in telling]
    beside = np.mean(np.concatenate(rough) ** 2, axis=0) if rough else variance
    carried = [column for column in range(len(variance)) if variance[column] > KNOWN]
    smooth = [column for column in carried if rough and beside[column] < SMOOTH]
    return smooth, [column for column in carried if column not in smooth]


def _kinds(block: Block) -> int:
    return len(block.categories[0]) if block.categories else 1


def _kind(block: Block, codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """What a row's continuous attributes are expected by: its first category."""
    return codes[:, 0] if block.categories else np.zeros(len(codes), np.int64)


def _averages(block: Block, found: Sequence[Columns]) -> NDArray[np.float64]:
    numbers = np.concatenate([part.numbers for part in found]).astype(np.float64)
    kinds = np.concatenate([_kind(block, part.codes) for part in found])
    totals = np.zeros((_kinds(block), numbers.shape[1]))
    np.add.at(totals, kinds, numbers)
    return totals / (np.bincount(kinds, minlength=_kinds(block)) + SHRINK)[:, None]
