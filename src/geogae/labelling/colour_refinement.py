"""The compiled steps of canonical labelling, on coloured graphs: renumber, refine, split into parts, unite orbits.

:func:`label_without_search` strings them together for the many graphs that need no search.

A coloured graph on n nodes is four arrays. Its nodes are numbered cell by cell: ``cell[v]`` is the first node of the
cell (colour class) of v. Row v of the adjacency, ``neighbour[start[v]:start[v + 1]]``, ascends, and ``kind`` (1, 2, …)
tells the edges of each row apart; two nodes without an edge are of kind 0. Both directions of an edge are stored.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Arcs = NDArray[np.int32]  # one number for each direction of each edge


@njit(cache=True, nogil=True)
def adjacency_rows(order: Ints, pairs: Ints, pair_kind: Ints) -> tuple[Ints, Arcs, Arcs]:
    """``start, neighbour, kind`` of the graph with these edges, (E, 2), whose node i is the given node order[i]."""
    n = len(order)
    start = np.zeros(n + 1, np.int64)
    for i, j in pairs:
        start[i + 1] += 1
        start[j + 1] += 1
    start = np.cumsum(start)
    neighbour = np.empty(2 * len(pairs), np.int32)
    kind = np.empty(2 * len(pairs), np.int32)
    fill = start[:-1].copy()
    for e in range(len(pairs)):
        i, j = pairs[e]
        neighbour[fill[i]], neighbour[fill[j]] = j, i
        kind[fill[i]] = kind[fill[j]] = pair_kind[e]
        fill[i] += 1
        fill[j] += 1
    return renumber(order, start, neighbour, kind)


@njit(cache=True, nogil=True)
def renumber(order: Ints, start: Ints, neighbour: Arcs, kind: Arcs) -> tuple[Ints, Arcs, Arcs]:
    """The adjacency whose node i is the given node order[i]; its rows ascend, whether or not the given ones do."""
    n = len(order)
    position = np.empty(n, np.int64)
    new_start = np.zeros(n + 1, np.int64)
    for i in range(n):
        v = order[i]
        position[v] = i
        new_start[i + 1] = new_start[i] + start[v + 1] - start[v]
    new_neighbour, new_kind = np.empty_like(neighbour), np.empty_like(kind)
    fill = new_start[:-1].copy()
    for i in range(n):  # edges are symmetric: writing i into the rows of its neighbours, i ascending, sorts every row
        for arc in range(start[order[i]], start[order[i] + 1]):
            j = position[neighbour[arc]]
            new_neighbour[fill[j]] = i
            new_kind[fill[j]] = kind[arc]
            fill[j] += 1
    return new_start, new_neighbour, new_kind


@njit(cache=True, nogil=True)
def mix(value: np.int64) -> np.int64:
    """A 64-bit hash of an integer (the finaliser of splitmix64, on wrapping signed integers)."""
    value = (value + 1) * np.int64(-7046029254386353131)
    value = (value ^ (value >> 30)) * np.int64(-4658895280553007687)
    value = (value ^ (value >> 27)) * np.int64(-7723592293110705685)
    return value ^ (value >> 31)


@njit(cache=True, nogil=True)
def refine(
    cell: Ints, start: Ints, neighbour: Arcs, kind: Arcs, single: int, best_trace: Ints
) -> tuple[Ints, Ints, Ints, int, int]:
    """Split cells until nodes of one cell have equally many neighbours of each kind in every cell (equitable).

    ``single`` is the node that leaves its cell first, in a graph that was equitable before; -1 to refine from scratch.
    Splits are made in an order that depends on the structure alone; the ``trace`` hashes what they saw, step by step.
    The refinement stops as soon as its trace is known to be larger than ``best_trace`` (lexicographically; an empty
    one is no bound).

    Returns ``order, cell, trace, verdict, work``: the new node i is the given node order[i] and ``cell`` is that of the
    new nodes; verdict -1, 0, 1 says whether the trace is worse than, equal to or better than the best; work is the
    number of nodes and edges looked at. After a verdict of -1 the other results mean nothing.
    """
    n = len(cell)
    order, position, cell = np.arange(n), np.arange(n), cell.copy()
    size = np.zeros(n, np.int64)  # of the cell that begins here
    for v in range(n):
        size[cell[v]] += 1

    waiting = np.zeros(n, np.bool_)  # cells that others must still be compared against ...
    stack = np.empty(n, np.int64)  # ... and the same as a stack
    depth = 0
    if single < 0:
        for c in range(n):
            if size[c] > 0:
                stack[depth], waiting[c] = c, True
                depth += 1
    else:
        first = cell[single]
        last = first + size[first] - 1
        order[single], order[last] = last, single
        position[single], position[last] = last, single
        size[first] -= 1
        cell[single], size[last] = last, 1
        stack[0], waiting[last] = last, True
        depth = 1

    trace = np.empty(n + 1, np.int64)
    steps = 0
    seen = np.int64(0)  # hash of everything seen so far
    verdict = 0 if len(best_trace) else 1
    work = n
    score = np.zeros(n, np.int64)  # hash of the edges from a node into the splitter
    touched = np.empty(n, np.int64)  # cells with neighbours in the splitter ...
    hits = np.zeros(n, np.int64)  # ... and how many of their nodes have some: these move to the end of the cell

    while depth > 0:
        depth -= 1
        splitter = stack[depth]
        waiting[splitter] = False
        touched_cells = 0
        edges_seen = np.int64(0)
        for v in order[splitter : splitter + size[splitter]].copy():
            work += start[v + 1] - start[v]
            for arc in range(start[v], start[v + 1]):
                u, weight = neighbour[arc], mix(kind[arc])
                c = cell[u]
                edges_seen += mix(c ^ weight)
                if size[c] == 1:
                    continue
                border = c + size[c] - hits[c]
                if position[u] < border:
                    if hits[c] == 0:
                        touched[touched_cells] = c
                        touched_cells += 1
                    hits[c] += 1
                    other, place = order[border - 1], position[u]
                    order[place], order[border - 1] = other, u
                    position[other], position[u] = place, border - 1
                score[u] += weight
        seen = mix(seen ^ splitter) + edges_seen

        touched[:touched_cells].sort()
        for c in touched[:touched_cells]:
            end = c + size[c]
            begin = end - hits[c]
            hits[c] = 0
            members = order[begin:end]
            scores = score[members]
            score[members] = 0
            if scores.min() == scores.max():
                if begin == c:
                    continue  # all alike: no split
            else:
                by_score = np.argsort(scores, kind="mergesort")
                members = members[by_score]
                scores = scores[by_score]
                order[begin:end] = members

            # The pieces: nodes without an edge to the splitter, if any, then runs of equal score.
            largest, piece = c, c
            if begin > c:
                size[c] = begin - c
                piece = begin
            for p in range(begin, end):
                v = order[p]
                if p > begin and scores[p - begin] != scores[p - begin - 1]:
                    piece = p
                position[v], cell[v] = p, piece
                size[piece] = p + 1 - piece
            piece = c
            while piece < end:
                if size[piece] > size[largest]:
                    largest = piece
                seen = mix(seen ^ piece) + (scores[piece - begin] if piece >= begin else 0)
                piece += size[piece]
            keep = c if waiting[c] else largest  # one piece need not wait: the whole cell waits, or has been compared
            piece = c
            while piece < end:
                if piece != keep:
                    stack[depth], waiting[piece] = piece, True
                    depth += 1
                piece += size[piece]

            trace[steps] = seen
            if verdict == 0:
                verdict = compared(steps, seen, best_trace)
                if verdict < 0:
                    return order, cell, trace, verdict, work
            steps += 1

    trace[steps] = seen
    if verdict == 0:
        verdict = compared(steps, seen, best_trace)
        if verdict == 0 and steps + 1 < len(best_trace):
            verdict = 1
    return order, cell[order], trace[: steps + 1], verdict, work


@njit(cache=True, nogil=True)
def compared(step: int, seen: np.int64, best_trace: Ints) -> int:
    """-1, 0 or 1 for a step that is worse than, equal to or better than the best trace's."""
    if step >= len(best_trace) or seen > best_trace[step]:
        return -1
    return 1 if seen < best_trace[step] else 0


@njit(cache=True, nogil=True)
def without_backgrounds(cell: Ints, start: Ints, neighbour: Arcs, kind: Arcs) -> tuple[Ints, Arcs, Arcs]:
    """The adjacency of an equitable graph without what its cells alone determine.

    For every pair of cells the commonest kind (the smallest one on a tie) becomes kind 0, "no edge", and pairs of
    kind 0 become edges of that kind instead: a complete graph loses its edges, a complete multipartite one becomes
    disjoint cliques, and a node alone in its cell is isolated. Never adds edges.
    """
    n = len(cell)
    size = np.zeros(n, np.int64)
    for v in range(n):
        size[cell[v]] += 1
    new_start = np.zeros(n + 1, np.int64)
    new_neighbour, new_kind = np.empty_like(neighbour), np.empty_like(kind)
    tally = np.zeros(kind.max() + 1 if len(kind) else 1, np.int64)
    fill = 0
    for v in range(n):
        begin, row_end = start[v], start[v + 1]
        while begin < row_end:  # neighbour[begin:end] are the neighbours in one cell
            c = cell[neighbour[begin]]
            end, commonest = begin, 0
            while end < row_end and cell[neighbour[end]] == c:
                tally[kind[end]] += 1
                end += 1
            tally[0] = size[c] - (c == cell[v]) - (end - begin)
            for arc in range(begin, end):
                k = kind[arc]
                if tally[k] > tally[commonest] or (tally[k] == tally[commonest] and k < commonest):
                    commonest = k
            for arc in range(begin, end):
                tally[kind[arc]] = 0
            arc = begin
            for u in neighbour[begin:end] if commonest == 0 else np.arange(c, c + size[c]).astype(np.int32):
                k = 0
                if arc < end and neighbour[arc] == u:
                    k = kind[arc]
                    arc += 1
                if k != commonest and u != v:
                    new_neighbour[fill], new_kind[fill] = u, k if k > 0 else commonest
                    fill += 1
            begin = end
        new_start[v + 1] = fill
    return new_start, new_neighbour[:fill], new_kind[:fill]


@njit(cache=True, nogil=True)
def split_into_parts(
    cell: Ints, start: Ints, neighbour: Arcs, kind: Arcs
) -> tuple[Ints, Ints, NDArray[np.bool_], Ints, Ints, Arcs, Arcs]:
    """The connected components of an equitable graph after :func:`without_backgrounds`, each one a coloured graph.

    Returns ``nodes, bounds, indivisible, cell, start, neighbour, kind``: part p has the nodes
    ``nodes[bounds[p]:bounds[p + 1]]``, and ``indivisible[p]`` says whether it has no parts in turn; its arrays are the
    matching slices of the rest (``start`` less its first value), numbered from 0 within the part. The nodes before
    ``bounds[0]`` are isolated.
    """
    n = len(cell)
    start, neighbour, kind = without_backgrounds(cell, start, neighbour, kind)
    part = np.full(n, -1, np.int64)
    stack = np.empty(n, np.int64)
    sizes = np.zeros(n + 1, np.int64)  # sizes[0] counts the isolated nodes
    parts = 0
    for root in range(n):
        if part[root] >= 0:
            continue
        if start[root] == start[root + 1]:
            part[root] = 0
            sizes[0] += 1
            continue
        parts += 1
        part[root], stack[0], depth = parts, root, 1
        while depth > 0:
            depth -= 1
            v = stack[depth]
            sizes[parts] += 1
            for u in neighbour[start[v] : start[v + 1]]:
                if part[u] < 0:
                    part[u], stack[depth] = parts, u
                    depth += 1

    bounds = np.cumsum(sizes[: parts + 1])
    fill = bounds - sizes[: parts + 1]
    nodes = np.empty(n, np.int64)
    for v in range(n):
        nodes[fill[part[v]]] = v
        fill[part[v]] += 1
    start, neighbour, kind = renumber(nodes, start, neighbour, kind)
    part_cell = np.zeros(n, np.int64)
    for p in range(parts):
        begin, end = bounds[p], bounds[p + 1]
        for i in range(begin, end):
            same = i > begin and cell[nodes[i]] == cell[nodes[i - 1]]
            part_cell[i] = part_cell[i - 1] if same else i - begin
        neighbour[start[begin] : start[end]] -= begin
    indivisible = np.zeros(parts, np.bool_)
    for p in range(parts):
        begin, end = bounds[p], bounds[p + 1]
        arcs = slice(start[begin], start[end])
        rows = start[begin : end + 1] - start[begin]
        indivisible[p] = len(without_backgrounds(part_cell[begin:end], rows, neighbour[arcs], kind[arcs])[1]) == 0
    return nodes, bounds, indivisible, part_cell, start, neighbour, kind


@njit(cache=True, nogil=True)
def unite(root: Ints, a: Ints, b: Ints) -> None:
    """Join the classes of a[i] and b[i], for every i, in place; ``root[v]`` is the smallest node of the class of v."""
    for i in range(len(a)):
        u, v = a[i], b[i]
        while root[u] != u:
            u = root[u]
        while root[v] != v:
            v = root[v]
        root[max(u, v)] = min(u, v)
    for v in range(len(root)):
        root[v] = root[root[v]]


@njit(cache=True, nogil=True)
def label_without_search(
    begin: int, end: int, first_node: Ints, first_edge: Ints, pairs: Ints, pair_kind: Ints, by_kind: Ints, cell: Ints,
    order: Ints, edges: Ints, labelled: NDArray[np.bool_],
) -> None:  # fmt: skip
    """The canonical orders and edges of graphs ``begin`` … ``end`` of a packed collection, where colours settle them.

    Graph g has the nodes ``first_node[g]:first_node[g + 1]`` of ``by_kind`` (its nodes, sorted by kind) and ``cell``
    (the first position of each one's kind), and the edges ``first_edge[g]:first_edge[g + 1]`` of ``pairs`` and
    ``pair_kind``. What is found is written to the same places of ``order`` and ``edges``, and ``labelled`` says for
    which graphs.
    """
    for g in range(begin, end):
        nodes, arcs = slice(first_node[g], first_node[g + 1]), slice(first_edge[g], first_edge[g + 1])
        rows = adjacency_rows(by_kind[nodes], pairs[arcs], pair_kind[arcs])
        found = _order_without_search(cell[nodes], rows[0], rows[1], rows[2])
        labelled[g] = len(found) > 0
        if labelled[g]:
            order[nodes] = by_kind[nodes][found]
            start, neighbour, _ = renumber(found, rows[0], rows[1], rows[2])
            e = first_edge[g]
            for i in range(len(found)):
                for j in neighbour[start[i] : start[i + 1]]:
                    if i < j:
                        edges[e, 0], edges[e, 1] = i, j
                        e += 1


@njit(cache=True, nogil=True)
def _order_without_search(cell: Ints, start: Ints, neighbour: Arcs, kind: Arcs) -> Ints:
    """The canonical order of a coloured graph; empty where colours do not settle it.

    They settle a graph of which they leave no parts, or parts that are copies of each other and have, each, no parts.
    """
    nothing = np.zeros(0, np.int64)
    order, cell, _, _, _ = refine(cell, start, neighbour, kind, -1, nothing)
    start, neighbour, kind = renumber(order, start, neighbour, kind)
    nodes, bounds, indivisible, _, start, neighbour, kind = split_into_parts(cell, start, neighbour, kind)
    if len(bounds) == 1:
        return order[nodes]
    begin, end = bounds[0], bounds[1]
    if not indivisible[0]:
        return nothing
    for p in range(1, len(bounds) - 1):
        if bounds[p + 1] - bounds[p] != end - begin:
            return nothing
        for i in range(begin, end):
            j = i + bounds[p] - begin
            if cell[nodes[i]] != cell[nodes[j]] or start[i + 1] - start[i] != start[j + 1] - start[j]:
                return nothing
            for x in range(start[i], start[i + 1]):
                y = x - start[i] + start[j]
                if neighbour[x] != neighbour[y] or kind[x] != kind[y]:
                    return nothing
    return order[nodes]
