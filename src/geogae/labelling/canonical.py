"""Graphs in canonical numbering: what is fitted depends on a graph's structure alone.

Many graphs are labelled in one compiled call. Those that colours alone do not settle are searched one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geogae.graph import Graph
from geogae.labelling.colour_refinement import label_without_search
from geogae.labelling.labelling import canonical_labelling, kinds

CHUNK = 100  # small graphs in one compiled call


class Canonical(NamedTuple):
    """A graph's structure in canonical numbering."""

    topology: Graph
    order: NDArray[np.int64]  # (n,), canonical node i is the graph's node order[i]
    key: bytes  # equal exactly for equal topologies
    complete: bool  # False where the labelling ran out of its budget


def canonicalise(graph: Graph) -> Canonical:
    """One graph; see :func:`canonicalise_all`."""
    return canonicalise_all([graph])[0]


def canonicalise_all(
    graphs: Sequence[Graph], threads: int = 1, advance: Callable[[int], Any] = lambda graphs: None
) -> list[Canonical]:
    """Attributes settle which of several symmetric nodes is which; the structure alone settles the topology's form."""
    forms = _label(graphs, threads, advance)
    attributed = [i for i, graph in enumerate(graphs) if graph.attributed]
    again = _label([forms[i].topology for i in attributed], threads, lambda graphs: None)
    for i, plain in zip(attributed, again, strict=True):
        complete = forms[i].complete and plain.complete
        forms[i] = plain._replace(order=forms[i].order[plain.order], complete=complete)
    return forms


def _label(graphs: Sequence[Graph], threads: int, advance: Callable[[int], Any]) -> list[Canonical]:
    """Each graph by its own canonical labelling, attributes included."""
    if not graphs:
        return []
    first_node = np.cumsum([0, *(graph.n for graph in graphs)])
    first_edge = np.cumsum([0, *(len(graph.edges) for graph in graphs)])
    pairs = np.concatenate([graph.edges for graph in graphs])
    pair_kind = np.ones(len(pairs), dtype=np.int64)
    by_kind = np.arange(first_node[-1]) - np.repeat(first_node[:-1], np.diff(first_node))
    cell = np.zeros(first_node[-1], dtype=np.int64)
    for g, graph in enumerate(graphs):
        if graph.attributed:
            own_nodes, own_edges = slice(first_node[g], first_node[g + 1]), slice(first_edge[g], first_edge[g + 1])
            by_kind[own_nodes], cell[own_nodes], pair_kind[own_edges] = kinds(graph)
    order, edges, labelled = np.empty_like(cell), np.empty_like(pairs), np.zeros(len(graphs), dtype=bool)

    def label(chunk: tuple[int, int]) -> None:
        label_without_search(*chunk, first_node, first_edge, pairs, pair_kind, by_kind, cell, order, edges, labelled)
        advance(chunk[1] - chunk[0])

    in_chunks(label, len(graphs), threads)
    forms = []
    nodes, arcs = pairwise(first_node.tolist()), pairwise(first_edge.tolist())
    for graph, (a, b), (c, d), simple in zip(graphs, nodes, arcs, labelled.tolist(), strict=True):
        if simple:
            forms.append(_canonical(order[a:b], edges[c:d], True))
        else:
            labelling = canonical_labelling(graph)
            forms.append(
                _canonical(labelling.order, graph.topology().relabel(labelling.order).edges, labelling.complete)
            )
    return forms


def _canonical(order: NDArray[np.int64], edges: NDArray[np.int64], complete: bool) -> Canonical:
    n = len(order)
    key = blake2b(n.to_bytes(8, "little") + edges.tobytes(), digest_size=16).digest()
    return Canonical(Graph.from_sorted_edges(n, edges), order, key, complete)


def in_chunks(work: Callable[[tuple[int, int]], Any], count: int, threads: int) -> None:
    """``work((begin, end))`` for all of 0 … count, in threads where it is worth one."""
    chunks = [(begin, min(begin + CHUNK, count)) for begin in range(0, count, CHUNK)]
    if len(chunks) == 1 or threads == 1:
        for chunk in chunks:
            work(chunk)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, chunks):
            pass
