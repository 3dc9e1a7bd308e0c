"""Colours and statistics of nodes, of many graphs at once.

Graphs are concatenated: node v of graph g is node ``first[g] + v``, and the rows of the adjacency are one compressed
array. Nothing here depends on the numbering of nodes, and the work grows with nodes and edges alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from geogae.graph import Graph

CHUNK = 2_000_000  # nodes and arcs that are concatenated at a time

_Ints = NDArray[np.int64]


class PackedGraphs(NamedTuple):
    """Some graphs, concatenated."""

    first: _Ints  # (G + 1,), the first node of each graph
    start: _Ints  # (N + 1,), the first arc of each node
    neighbour: _Ints  # (A,), where the arc leads
    node_kind: _Ints  # (N,), a hash of the node's categories
    arc_kind: _Ints  # (A,), a hash of the edge's categories

    @property
    def graph_of(self) -> _Ints:
        """The graph of each node, (N,)."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    @property
    def degrees(self) -> _Ints:
        return np.diff(self.start)


def packed_chunks(graphs: Sequence[Graph]) -> Iterator[PackedGraphs]:
    """All graphs, some at a time."""
    begin = 0
    while begin < len(graphs):
        end, room = begin, CHUNK
        while end < len(graphs) and (end == begin or room > 0):
            room -= graphs[end].n + 2 * len(graphs[end].edges)
            end += 1
        yield _pack(graphs[begin:end])
        begin = end


def _pack(graphs: Sequence[Graph]) -> PackedGraphs:
    first = np.concatenate([[0], np.cumsum([graph.n for graph in graphs])])
    counts = np.array([len(graph.edges) for graph in graphs])
    pairs = np.concatenate([np.empty((0, 2), np.int64), *(graph.edges for graph in graphs)])
    pairs = pairs + np.repeat(first[:-1], counts)[:, None]
    kinds = _hashed([graph.edge_categorical for graph in graphs], counts)
    ends = np.concatenate([pairs, pairs[:, ::-1]])  # both directions
    order = np.argsort(ends[:, 0], kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(ends[:, 0], minlength=first[-1]))])
    node_kind = _hashed([graph.node_categorical for graph in graphs], np.diff(first))
    return PackedGraphs(first, start, ends[order, 1], node_kind, np.tile(kinds, 2)[order])


def _hashed(blocks: Sequence[NDArray[np.int64] | None], rows: _Ints) -> _Ints:
    """One number for each row of categories, 0 where a graph has none."""
    result = np.zeros(int(rows.sum()), np.int64)
    position = 0
    for block, count in zip(blocks, rows.tolist(), strict=True):
        if block is not None:
            for column in block.T:
                result[position : position + count] = _combined(result[position : position + count], column)
        position += count
    return result


def _combined(one: _Ints, other: _Ints) -> _Ints:
    return _mix(_mix(one) + other)


def _mix(value: Any) -> Any:
    """A 64-bit hash of whole numbers (the finaliser of splitmix64, on wrapping unsigned integers)."""
    with np.errstate(over="ignore"):
        value = value.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (value ^ (value >> np.uint64(31))).astype(np.int64)


def colours(packed: PackedGraphs, rounds: int) -> list[_Ints]:
    """Weisfeiler and Leman's colours after 0, 1, …, ``rounds`` rounds, (N,) each: equal where neighbourhoods are."""
    current = _mix(packed.node_kind)
    found = [current]
    for _ in range(rounds):
        arcs = _mix(_mix(current)[packed.neighbour] + packed.arc_kind)
        current = _combined(current, _sums(packed.start, arcs))  # a sum does not ask for the neighbours' order
        found.append(current)
    return found


@njit(cache=True)
def _sums(start: Any, arcs: Any) -> Any:
    """The sum of each node's arcs, wrapping."""
    totals = np.zeros(len(start) - 1, np.int64)
    for v in range(len(totals)):
        for arc in range(start[v], start[v + 1]):
            totals[v] += arcs[arc]
    return totals


@njit(cache=True)
def mean_over_neighbours(start: Any, neighbour: Any, values: Any) -> Any:
    """One step of a random walk on functions (N, c) in whole numbers; a node without neighbours keeps its own."""
    result = np.empty_like(values)
    for v in range(len(start) - 1):
        degree = start[v + 1] - start[v]
        for c in range(values.shape[1]):
            total = 0
            for arc in range(start[v], start[v + 1]):
                total += values[neighbour[arc], c]
            result[v, c] = (2 * total + degree) // (2 * degree) if degree else values[v, c]
    return result


@njit(cache=True)
def triangles(start: Any, neighbour: Any) -> Any:
    """The number of triangles at each node, (N,)."""
    n = len(start) - 1
    counts = np.zeros(n, np.int64)
    seen = np.full(n, -1, np.int64)
    for v in range(n):
        for arc in range(start[v], start[v + 1]):
            seen[neighbour[arc]] = v
        for arc in range(start[v], start[v + 1]):
            u = neighbour[arc]
            for further in range(start[u], start[u + 1]):
                if seen[neighbour[further]] == v:
                    counts[v] += 1
    return counts // 2


UNIT = 1 << 16  # node functions are whole multiples of 1 / UNIT: their sums do not depend on the order of nodes
STEPS = 4  # of the random walk that averages node functions
HISTOGRAMS = ((0, 10, 21), (0, 1, 9))  # from, to and places, of the logarithm of degrees and of clustering


def statistics(packed: PackedGraphs) -> NDArray[np.float64]:
    """Numbers of each graph (G, columns): sizes, how node functions are spread after some steps, their histograms.

    The functions of a node are the logarithm of its degree, its clustering and the inverse of its degree.
    """
    degrees = packed.degrees
    pairs = np.maximum(degrees * (degrees - 1), 1)
    closed = 2 * triangles(packed.start, packed.neighbour) / pairs
    functions = np.column_stack([np.log2(1 + degrees), closed, 1 / np.maximum(degrees, 1)])
    values = np.rint(UNIT * functions).astype(np.int64)  # (N, 3)
    sizes = np.diff(packed.first)[:, None]
    edges = _totals(packed, degrees[:, None]) / 2
    columns = [np.log(sizes), np.log1p(edges), np.log1p(edges) - np.log(sizes)]
    for step in range(STEPS + 1):
        if step:
            values = mean_over_neighbours(packed.start, packed.neighbour, values)
        mean = _totals(packed, values) / sizes / UNIT
        square = _totals(packed, values * values) / sizes / UNIT**2
        columns += [mean, np.sqrt(np.maximum(square - mean**2, 0))]
        if step < 2:
            columns += [np.log1p(_histogram(packed, values[:, c], *places)) for c, places in enumerate(HISTOGRAMS)]
    return np.concatenate(columns, axis=1)


def _totals(packed: PackedGraphs, values: _Ints) -> _Ints:
    """Sums over the nodes of each graph, (G, c)."""
    return np.add.reduceat(values, packed.first[:-1], axis=0)


def _histogram(packed: PackedGraphs, values: _Ints, low: int, high: int, places: int) -> NDArray[np.float64]:
    """How many nodes of each graph are at each place, (G, places); one between two places counts for both in part."""
    position = np.clip((values - low * UNIT) * (places - 1) // (high - low), 0, (places - 1) * UNIT - 1)
    place, part = np.divmod(position, UNIT)
    counts = np.zeros((len(packed.first) - 1, places), np.int64)
    np.add.at(counts, (packed.graph_of, place), UNIT - part)
    np.add.at(counts, (packed.graph_of, place + 1), part)
    return counts / UNIT
