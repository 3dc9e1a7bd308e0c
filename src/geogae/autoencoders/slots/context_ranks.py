"""Context ranks: a category as its rank among what is expected, given the graph and the categories before it.

Most of a molecule's atoms and bonds follow from its structure and from those before them. What is expected is a table
of how often each category was met in a context, for contexts from coarse to fine, each blended with the one before it
(as PPM compressors do). The rank is 0 where the likeliest category is the true one, so most ranks are 0. Nodes come in
node order, then edges, by their later end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from geogae.graph import Graph
from geogae.labelling.colour_refinement import mix

BLEND = 2.0  # sightings that the context before a finer one counts for
MOST_ROWS = 100_000  # of the table; rare contexts say little, and a saved model should be small
LEVELS = 8  # contexts of a node or an edge
ROUNDS = 3  # of colour refinement: the finest context sees the structure so many steps around

_LEARN, _RANK, _READ = range(3)
_Codes = NDArray[np.int64]


class ContextRanks:
    """Tables for ``node_sizes`` and ``edge_sizes``, the numbers of categories of each column."""

    def __init__(self, node_sizes: Sequence[int], edge_sizes: Sequence[int]) -> None:
        self.node_sizes, self.edge_sizes = (np.array(sizes, dtype=np.int64) for sizes in (node_sizes, edge_sizes))
        self.contexts = np.empty(0, np.int64)  # (T,), ascending; one row for each category met in a context
        self.codes = np.empty(0, np.int64)  # (T,)
        self.counts = np.empty(0, np.int64)  # (T,)

    def fit(
        self, graphs: Sequence[Graph], nodes: Sequence[_Codes], edges: Sequence[_Codes], marks: Sequence[_Codes]
    ) -> None:
        """Count; ``nodes`` (n, columns) and ``edges`` (E, columns) are the codes of each graph.

        ``marks`` (n, any) are whole numbers that the decoder knows of each node before: counts of folded nodes.
        """
        seen = [self._walk(_LEARN, *one)[2] for one in zip(graphs, nodes, edges, marks, strict=True)]
        pairs = np.concatenate([np.empty((0, 2), np.int64), *seen])  # (T', 2), context and code
        rows, counts = np.unique(pairs, axis=0, return_counts=True)
        kept = _commonest(rows[:, 0], counts)
        self.contexts, self.codes = (np.ascontiguousarray(column) for column in rows[kept].T)
        self.counts = counts[kept]

    def ranks(self, graph: Graph, nodes: _Codes, edges: _Codes, marks: _Codes) -> tuple[_Codes, _Codes]:
        """Of the codes of nodes (n, columns) and of edges (E, columns); an unknown code, -1, has rank 0."""
        return self._walk(_RANK, graph, nodes, edges, marks)[:2]

    def read(self, graph: Graph, nodes: _Codes, edges: _Codes, marks: _Codes) -> tuple[_Codes, _Codes]:
        """The codes that have these ranks; a rank that is too high is the highest."""
        return self._walk(_READ, graph, nodes, edges, marks)[:2]

    def _walk(
        self, what: int, graph: Graph, nodes: _Codes, edges: _Codes, marks: _Codes
    ) -> tuple[_Codes, _Codes, _Codes]:
        i, j = graph.edges.T
        order = np.lexsort((i, j))  # by the later end
        arcs = np.concatenate([np.column_stack([i, j, np.arange(len(i))]), np.column_stack([j, i, np.arange(len(i))])])
        arcs = arcs[np.argsort(arcs[:, 0], kind="stable")]
        start = np.concatenate([[0], np.bincount(arcs[:, 0], minlength=graph.n).cumsum()])
        rows = (nodes.size + edges.size) * LEVELS if what == _LEARN else 0
        return _walk(
            what, marks.astype(np.int64, order="C"), start, np.ascontiguousarray(arcs[:, 1]),
            np.ascontiguousarray(arcs[:, 2]), graph.edges[order], order, nodes.astype(np.int64, order="C"),
            edges.astype(np.int64, order="C"), self.node_sizes, self.edge_sizes, self.contexts, self.codes, self.counts,
            np.empty((rows, 2), np.int64),
        )  # fmt: skip


def _commonest(contexts: _Codes, counts: _Codes) -> NDArray[np.bool_]:
    """Which rows are kept: those of the contexts that were met most, MOST_ROWS at the most."""
    if len(contexts) <= MOST_ROWS:
        return np.ones(len(contexts), bool)
    _, context, size = np.unique(contexts, return_inverse=True, return_counts=True)
    met = np.bincount(context, counts)  # of each context
    order = np.lexsort((np.arange(len(met)), -met))
    chosen = order[np.cumsum(size[order]) <= MOST_ROWS]
    return np.isin(context, chosen)


@njit(cache=True)
def _walk(
    what, marks, start, neighbour, edge_of, edges, order, nodes, bonds, node_sizes, edge_sizes, contexts, codes, counts,
    seen,
):  # fmt: skip
    """Node by node and edge by edge: learn the code in its contexts, turn it into its rank, or a rank into its code."""
    n, count = len(nodes), 0
    colours = _colours(marks, start, neighbour)
    label, kind = np.zeros(n, np.int64), np.full(len(bonds), np.int64(-1))  # hashes of the categories so far
    given_nodes, given_bonds = np.zeros_like(nodes), np.zeros_like(bonds)
    context = np.empty(LEVELS, np.int64)
    for i in range(n):
        for column in range(len(node_sizes)):
            _node_contexts(context, i, label[i] + mix(np.int64(column)), colours, start, neighbour, label)
            code = _code(
                what, context, node_sizes[column], nodes, given_nodes, i, column, contexts, codes, counts, seen, count
            )
            count += LEVELS
            label[i] = mix(label[i] ^ mix(code + 1))
    for at in range(len(edges)):
        e = order[at]
        own = np.int64(0)
        for column in range(len(edge_sizes)):
            _edge_contexts(
                context, edges[at, 0], edges[at, 1], mix(own + column), colours, start, neighbour, edge_of, label, kind
            )
            code = _code(
                what, context, edge_sizes[column], bonds, given_bonds, e, column, contexts, codes, counts, seen, count
            )
            count += LEVELS
            own = mix(own ^ mix(code + 1))
        kind[e] = own
    return given_nodes, given_bonds, seen


@njit(cache=True)
def _code(what, context, size, values, given, row, column, contexts, codes, counts, seen, count):
    """One category: what is expected, and so its rank, or the other way round. Returns the code that a decoder has."""
    if what == _LEARN:
        for level in range(LEVELS):
            seen[count + level, 0], seen[count + level, 1] = context[level], values[row, column]
        return values[row, column]
    expected = np.full(size, 1.0 / size)
    for level in range(LEVELS):
        begin = _first(contexts, context[level])
        end, total = begin, 0.0
        while end < len(contexts) and contexts[end] == context[level]:
            total += counts[end]
            end += 1
        if end > begin:
            expected *= BLEND / (total + BLEND)
            for seen in range(begin, end):
                if codes[seen] < size:  # as it is, unless the table is damaged or two contexts have one hash
                    expected[codes[seen]] += counts[seen] / (total + BLEND)
    if what == _READ:
        given[row, column] = _ranked(expected, min(max(values[row, column], 0), size - 1))
        return given[row, column]
    code, rank = values[row, column], 0
    if code < 0:  # unknown: the likeliest stands for it
        return _ranked(expected, 0)
    for other in range(size):  # the first of equals first
        rank += expected[other] > expected[code] or (expected[other] == expected[code] and other < code)
    given[row, column] = rank
    return code


@njit(cache=True)
def _first(ascending, value):
    """Where ``value`` stands, or would; numpy's own takes seconds to compile, as its sorting does."""
    low, high = 0, len(ascending)
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def _ranked(expected, rank):
    """The code of this rank: the largest is taken away so many times; most ranks are 0."""
    best = 0
    for taken in range(rank + 1):
        best = 0
        for code in range(1, len(expected)):
            if expected[code] > expected[best]:
                best = code
        if taken < rank:
            expected[best] = -1.0
    return best


@njit(cache=True)
def _colours(marks, start, neighbour):
    """Hashes of the structure around each node, (ROUNDS + 1, n): its degree and marks, its neighbours', and so on."""
    n = len(start) - 1
    colours = np.zeros((ROUNDS + 1, n), np.int64)
    for i in range(n):
        colours[0, i] = start[i + 1] - start[i]
        for mark in marks[i]:
            colours[0, i] = mix(colours[0, i] ^ mix(mark))
    for depth in range(ROUNDS):
        for i in range(n):
            around = np.int64(0)
            for arc in range(start[i], start[i + 1]):
                around += mix(colours[depth, neighbour[arc]])
            colours[depth + 1, i] = mix(colours[depth, i] ^ mix(around))
    return colours


@njit(cache=True)
def _node_contexts(context, i, own, colours, start, neighbour, label):
    """From nothing to the structure three steps around and what neighbours before ``i``, and theirs, are."""
    near, far = np.int64(0), np.int64(0)  # sums of hashes: of sets with repeats
    for arc in range(start[i], start[i + 1]):
        j = neighbour[arc]
        if j < i:
            near += mix(label[j])
            beyond = np.int64(0)
            for further in range(start[j], start[j + 1]):
                if neighbour[further] < i:
                    beyond += mix(label[neighbour[further]])
            far += mix(label[j] ^ mix(beyond))
    context[0] = np.int64(0)
    context[1] = colours[0, i]
    context[2] = colours[0, i] ^ mix(near)
    context[3] = colours[1, i] ^ mix(near)
    context[4] = colours[0, i] ^ mix(far)
    context[5] = colours[1, i] ^ mix(far)
    context[6] = colours[2, i] ^ mix(far)
    context[7] = colours[3, i] ^ mix(far)
    for level in range(LEVELS):
        context[level] = mix(mix(context[level] + level) ^ own)


@njit(cache=True)
def _edge_contexts(context, i, j, own, colours, start, neighbour, edge_of, label, kind):
    """From nothing to what the two ends are, the structure around them and the edges that they have by then."""
    context[:] = 0
    for end, other in ((i, j), (j, i)):  # sums: the two ends have no order
        edges, around = np.int64(0), np.int64(0)
        for arc in range(start[end], start[end + 1]):
            known = kind[edge_of[arc]]
            if known != -1:
                edges += mix(known)
            if neighbour[arc] != other:
                around += mix(label[neighbour[arc]] ^ mix(known))
        context[1] += mix(label[end])
        context[2] += mix(label[end] ^ mix(colours[0, end]))
        context[3] += mix(label[end] ^ mix(colours[0, end] ^ mix(edges)))
        context[4] += mix(label[end] ^ mix(colours[1, end] ^ mix(edges)))
        context[5] += mix(label[end] ^ mix(around))
        context[6] += mix(label[end] ^ mix(colours[2, end] ^ mix(edges)))
        context[7] += mix(label[end] ^ mix(colours[3, end] ^ mix(edges)))
    for level in range(LEVELS):
        context[level] = mix(mix(context[level] + level) ^ ~own)
