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
            _hash_rows(block, result[position : position + count])
        position += count
    return result


@njit(cache=True)
def _hash_rows(block: Any, result: Any) -> None:
    for row in range(len(block)):
        for value in block[row]:
            result[row] = _combined(result[row], value)


@njit(cache=True)
def _mixed(value: Any) -> Any:
    """A 64-bit hash of a whole number (the finaliser of splitmix64, on wrapping unsigned integers)."""
    bits = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64(bits ^ (bits >> np.uint64(31)))


@njit(cache=True)
def _combined(one: Any, other: Any) -> Any:
    return _mixed(_mixed(one) + other)


def colours(packed: PackedGraphs, rounds: int) -> _Ints:
    """Weisfeiler and Leman's colours after 0, 1, …, ``rounds`` rounds: equal where neighbourhoods are.

    Shape (rounds + 1, N).
    """
    found: _Ints = _colours(packed.start, packed.neighbour, packed.node_kind, packed.arc_kind, rounds)
    return found


@njit(cache=True)
def _colours(start: Any, neighbour: Any, node_kind: Any, arc_kind: Any, rounds: int) -> Any:
    n = len(node_kind)
    found = np.empty((rounds + 1, n), np.int64)
    mixed = np.empty(n, np.int64)
    for v in range(n):
        found[0, v] = _mixed(node_kind[v])
    for step in range(rounds):
        for v in range(n):
            mixed[v] = _mixed(found[step, v])
        for v in range(n):
            total = 0  # wraps; a sum does not ask for the neighbours' order
            for arc in range(start[v], start[v + 1]):
                total += _mixed(mixed[neighbour[arc]] + arc_kind[arc])
            found[step + 1, v] = _combined(found[step, v], total)
    return found


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
    """The number of triangles at each node, (N,), each found once, from its node of least degree."""
    n = len(start) - 1
    ahead, end = np.empty(len(neighbour), np.int64), start[:-1].copy()  # arcs towards nodes of higher degree
    for v in range(n):
        degree = start[v + 1] - start[v]
        for u in neighbour[start[v] : start[v + 1]]:
            other = start[u + 1] - start[u]
            if other > degree or (other == degree and u > v):
                ahead[end[v]] = u
                end[v] += 1
    counts = np.zeros(n, np.int64)
    seen = np.full(n, -1, np.int64)
    for v in range(n):
        for u in ahead[start[v] : end[v]]:
            seen[u] = v
        for u in ahead[start[v] : end[v]]:
            for w in ahead[start[u] : end[u]]:
                if seen[w] == v:
                    counts[v] += 1
                    counts[u] += 1
                    counts[w] += 1
    return counts


UNIT = 1 << 16  # node functions are whole multiples of 1 / UNIT: their sums do not depend on the order of nodes
STEPS = 4  # of the random walk that averages node functions
HISTOGRAMS = ((0, 10, 21), (0, 1, 9))  # from, to and places, of the logarithm of degrees and of clustering
COUNTED = 2  # steps whose functions are counted in histograms, the first being the functions themselves


def statistics(packed: PackedGraphs) -> NDArray[np.float64]:
    """Numbers of each graph (G, columns): sizes, how node functions are spread after some steps, their histograms.

    The functions of a node are the logarithm of its degree, its clustering and the inverse of its degree.
    """
    degrees = packed.degrees
    pairs = np.maximum(degrees * (degrees - 1), 1)
    closed = 2 * triangles(packed.start, packed.neighbour) / pairs
    functions = np.column_stack([np.log2(1 + degrees), closed, 1 / np.maximum(degrees, 1)])
    values = np.rint(UNIT * functions).astype(np.int64)  # (N, 3)
    totals, squares, counts = _walk(packed.first, packed.start, packed.neighbour, values)
    sizes = np.diff(packed.first)[:, None]  # (G, 1)
    edges = np.diff(packed.start[packed.first])[:, None] / 2
    mean = totals / sizes[..., None] / UNIT  # (G, STEPS + 1, 3)
    deviation = np.sqrt(np.maximum(squares / sizes[..., None] / UNIT**2 - mean**2, 0))
    logarithms = np.log1p(counts / UNIT)  # (G, COUNTED, places)
    columns = [np.log(sizes), np.log1p(edges), np.log1p(edges) - np.log(sizes)]
    for step in range(STEPS + 1):
        columns += [mean[:, step], deviation[:, step]]
        if step < COUNTED:
            columns.append(logarithms[:, step])
    return np.concatenate(columns, axis=1)


@njit(cache=True)
def _walk(first: Any, start: Any, neighbour: Any, values: Any) -> Any:
    """Of node functions (N, 3), before and after each step: totals and totals of squares, (G, STEPS + 1, 3).

    And how many nodes are at each place of the histograms, in units of 1 / UNIT, (G, COUNTED, places); a node between
    two places counts for both in part.
    """
    graphs = len(first) - 1
    shape = (graphs, STEPS + 1, values.shape[1])
    totals, squares = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    counts = np.zeros((graphs, COUNTED, HISTOGRAMS[0][2] + HISTOGRAMS[1][2]), np.int64)
    for step in range(STEPS + 1):
        if step:
            values = mean_over_neighbours(start, neighbour, values)
        for g in range(graphs):
            for v in range(first[g], first[g + 1]):
                for c in range(values.shape[1]):
                    totals[g, step, c] += values[v, c]
                    squares[g, step, c] += values[v, c] * values[v, c]
                if step < COUNTED:
                    begin = 0
                    for c in range(len(HISTOGRAMS)):
                        low, high, places = HISTOGRAMS[c]
                        position = (values[v, c] - low * UNIT) * (places - 1) // (high - low)
                        position = min(max(position, 0), (places - 1) * UNIT - 1)
                        place, part = position // UNIT, position % UNIT
                        counts[g, step, begin + place] += UNIT - part
                        counts[g, step, begin + place + 1] += part
                        begin += places
    return totals, squares, counts
