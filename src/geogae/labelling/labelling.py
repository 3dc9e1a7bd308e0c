"""Canonical labelling: the same graph, however its nodes are numbered, becomes the same input.

Individualisation and refinement, on ever smaller parts. Nodes are coloured until nodes of one colour (a cell) look
alike. What the colours alone determine is then taken out of the graph, which often falls apart; its parts are labelled
one by one and sorted, so neither trees and twins nor copies multiply the search. Only a part that holds together is
searched: each node of its largest cell gets a colour of its own in turn, and the best outcome counts.

Two shortcuts keep that search small. Of the nodes that known symmetries map onto each other only one is tried. And an
outcome that equals the canonical form of an earlier part is canonical itself: the rest of its search is skipped.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geogae.errors import GeoGAEError
from geogae.formats import as_graph
from geogae.graph import Graph
from geogae.labelling.colour_refinement import adjacency_rows, refine, renumber, split_into_parts, unite

DEFAULT_BUDGET = 100_000_000  # edges looked at in one search: a few seconds
_PART_WORK = 2_000  # what handling one part costs beside its edges, in the same unit
_NO_TRACE = np.zeros(0, dtype=np.int64)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Labelling:
    """A numbering of a graph's nodes; ``graph.relabel(order)`` is the canonical graph.

    When ``complete`` is False the search ran out of its budget: ``order`` is valid, but another numbering of the same
    graph may lead to another one.
    """

    order: NDArray[np.int64]  # (n,), position i holds the graph's node order[i]
    complete: bool


def canonical_labelling(graph: Graph, *, budget: int = DEFAULT_BUDGET) -> Labelling:
    """The order of nodes that makes isomorphic graphs identical, attributes included; label and name take no part."""
    by_kind, first, edge_kind = kinds(graph)
    given = _Coloured(first, *adjacency_rows(by_kind, graph.edges, edge_kind))
    nodes, cell, *_ = refine(*given, -1, _NO_TRACE)
    search = _Search(budget)
    solution = _solve(given.renumbered(nodes, cell), search)
    return Labelling(by_kind[nodes[solution.order]], search.complete)


def kinds(graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The nodes by kind of attributes, (n,), the first position of the kind of each, (n,), and kinds of edges, (E,)."""
    node_kind = _ranks(graph.n, graph.node_categorical, graph.node_continuous)
    edge_kind = _ranks(len(graph.edges), graph.edge_categorical, graph.edge_continuous) + 1
    by_kind = np.argsort(node_kind, kind="stable")
    sorted_kind = node_kind[by_kind]
    return by_kind, np.searchsorted(sorted_kind, sorted_kind), edge_kind


def canonical_form(graph: Any, *, budget: int = DEFAULT_BUDGET) -> bytes:
    """A 32-byte certificate (BLAKE2b of the canonical graph): equal forms mean isomorphic graphs, attributes included.

    ``graph`` is anything that :func:`geogae.formats.as_graph` takes: NetworkX, PyG, RDKit, SMILES, …
    Isomorphic graphs have equal forms whenever the search completes within its budget; otherwise a warning is logged.
    """
    graph = as_graph(graph)
    labelling = canonical_labelling(graph, budget=budget)
    if not labelling.complete:
        _log.warning("%r: no canonical form within budget=%d; isomorphic graphs may get other forms", graph, budget)
    return _form(graph.relabel(labelling.order))


def isomorphic(a: Any, b: Any, *, attributes: bool = True, budget: int = DEFAULT_BUDGET) -> bool:
    """Whether renumbering turns one graph into the other, with or without attributes; label and name take no part.

    Each is anything that :func:`geogae.formats.as_graph` takes: NetworkX, PyG, RDKit, SMILES, …
    """
    a, b = as_graph(a), as_graph(b)
    if not attributes:
        a, b = a.topology(), b.topology()
    if (a.n, len(a.edges)) != (b.n, len(b.edges)):
        return False
    first, second = canonical_labelling(a, budget=budget), canonical_labelling(b, budget=budget)
    equal = _form(a.relabel(first.order)) == _form(b.relabel(second.order))
    if not equal and not (first.complete and second.complete):
        raise GeoGAEError(f"budget={budget} does not suffice to compare {a!r} and {b!r}; try budget={10 * budget}")
    return equal


def _form(graph: Graph) -> bytes:
    blocks = (graph.node_categorical, graph.node_continuous, graph.edge_categorical, graph.edge_continuous)
    rows = (None if block is None or not block.size else block for block in blocks)  # as equality of graphs has it
    return _digest(np.array(graph.n), graph.edges, *rows, size=32)


def _digest(*arrays: NDArray[Any] | None, size: int) -> bytes:
    digest = blake2b(digest_size=size)
    for array in arrays:
        digest.update(b"none" if array is None else str(array.shape).encode())
        digest.update(b"" if array is None else array.tobytes())
    return digest.digest()


def _ranks(
    rows: int, categorical: NDArray[np.int64] | None, continuous: NDArray[np.float32] | None
) -> NDArray[np.int64]:
    """Numbers 0, 1, … for the distinct attribute rows, by value, (rows,); all 0 without attributes."""
    columns = [] if categorical is None else list(categorical.T)
    columns += [] if continuous is None else list(continuous.T)
    rank = np.zeros(rows, dtype=np.int64)
    if columns:
        order = np.lexsort(columns)
        new = np.zeros(rows, dtype=bool)
        for column in columns:
            new[1:] |= column[order[1:]] != column[order[:-1]]
        rank[order] = np.cumsum(new)
    return rank


# -- the search ---------------------------------------------------------------------------------------------------


class _Coloured(NamedTuple):
    """A coloured graph, as :mod:`geogae.labelling.colour_refinement` describes it."""

    cell: NDArray[np.int64]
    start: NDArray[np.int64]
    neighbour: NDArray[np.int32]
    kind: NDArray[np.int32]

    def renumbered(self, order: NDArray[np.int64], cell: NDArray[np.int64]) -> _Coloured:
        """The graph whose node i is this graph's node order[i], with new cells."""
        return _Coloured(cell, *renumber(order, self.start, self.neighbour, self.kind))

    def certificate(self, order: NDArray[np.int64], colour: NDArray[np.int64]) -> bytes:
        """Equal for two graphs with colours, (n,), exactly when their orders make them identical."""
        return _digest(*self.renumbered(order, colour[order]), size=16)


class _Solution(NamedTuple):
    order: NDArray[np.int64]  # the canonical order of the nodes
    orbit: NDArray[np.int64]  # symmetries that were found map order[i] onto order[orbit[i]]


@dataclass
class _Search:
    budget: int
    complete: bool = True
    canonical: set[bytes] = field(default_factory=set)  # certificates of parts in their canonical order


_Solving = Generator[_Coloured, _Solution, _Solution]  # asks for the solutions of smaller graphs, returns its own


def _solve(graph: _Coloured, search: _Search) -> _Solution:
    """Solve an equitable graph; the recursion lives on a list, as it may go deeper than Python's own."""
    stack = [_by_parts(graph, search)]
    answer: Any = None
    while stack:
        try:
            smaller = stack[-1].send(answer)
        except StopIteration as finished:
            stack.pop()
            answer = finished.value
        else:
            stack.append(_by_parts(smaller, search))
            answer = None
    return answer


def _by_parts(graph: _Coloured, search: _Search) -> _Solving:
    """Label an equitable graph part by part: isolated nodes by colour, then larger parts by certificate."""
    search.budget -= _PART_WORK + len(graph.neighbour)
    nodes, bounds, indivisible, cell, start, neighbour, kind = split_into_parts(*graph)
    if len(bounds) == 2 and bounds[0] == 0:  # one part, and it is everything
        return (yield from _by_search(_Coloured(cell, start, neighbour, kind), search))

    solved = []
    for (begin, end), simple in zip(pairwise(bounds.tolist()), indivisible.tolist(), strict=True):
        arcs = slice(start[begin], start[end])
        part = _Coloured(cell[begin:end], start[begin : end + 1] - start[begin], neighbour[arcs], kind[arcs])
        members = nodes[begin:end]
        colour = graph.cell[members]
        if simple:  # its nodes are in order, those of one cell are alike
            search.budget -= _PART_WORK + len(part.neighbour)
            solved.append((_digest(colour, *part[1:], size=16), members, part.cell))
        else:
            order, orbit = yield part
            solved.append((part.certificate(order, colour), members[order], orbit))
    solved.sort(key=lambda part: part[0])

    isolated = nodes[: bounds[0]]
    colour = graph.cell[isolated]
    orders, orbits = [isolated], [np.searchsorted(colour, colour)]
    last, position = b"", len(isolated)
    for certificate, order, orbit in solved:
        orbits.append(orbits[-1] if certificate == last else orbit + position)  # copies can change places
        orders.append(order)
        last, position = certificate, position + len(order)
    return _Solution(np.concatenate(orders), np.concatenate(orbits))


def _by_search(graph: _Coloured, search: _Search) -> _Solving:
    """Label a connected equitable graph: nodes of its largest cell are singled out in turn, the best outcome counts.

    The best outcome has the least trace, then the least certificate. In the largest cell a choice decides most.
    """
    n = len(graph.cell)
    sizes = np.bincount(graph.cell)
    first = int(sizes.argmax())
    root = np.arange(n)  # the smallest node that known symmetries map each node to
    best_order, best_certificate, best_trace = root, b"", _NO_TRACE
    for node in range(first, first + int(sizes[first])):
        if root[node] != node:
            continue
        if best_certificate and search.budget <= 0:
            search.complete = False
            break
        nodes, cell, trace, verdict, work = refine(*graph, node, best_trace)
        search.budget -= work
        if verdict < 0:
            continue
        order, orbit = yield graph.renumbered(nodes, cell)
        order = nodes[order]
        unite(root, order, order[orbit])
        certificate = graph.certificate(order, graph.cell)
        if certificate == best_certificate:
            unite(root, order, best_order)
        elif verdict > 0 or certificate < best_certificate:
            best_order, best_certificate, best_trace = order, certificate, trace
        if certificate in search.canonical:
            best_order, best_certificate = order, certificate
            break
    search.canonical.add(best_certificate)
    position = np.empty(n, dtype=np.int64)
    position[best_order] = np.arange(n)
    return _Solution(best_order, position[root[best_order]])
