"""The exact edit distance of small graphs: nodes and edges added or removed, and labels of nodes changed, at 1 each.

Nothing is gained by removing a node of the smaller graph, since a node of the larger one is always free to take it:
the distance is the least over all ways to place the smaller graph's nodes in the larger one, by branch and bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from geogae.graph import Graph

MOST = 12  # nodes


def edit_distance(one: Graph, other: Graph) -> int:
    """At most MOST nodes each; the first categorical column is the label."""
    small, large = (one, other) if one.n <= other.n else (other, one)
    if large.n > MOST:
        raise ValueError(f"exact edit distances are for graphs of at most {MOST} nodes, not {large.n}")
    labels = [
        np.zeros(g.n, np.int64) if g.node_categorical is None else g.node_categorical[:, 0] for g in (small, large)
    ]
    order = np.argsort(-small.degrees, kind="stable")  # what matters most first
    first = small.adjacency()[np.ix_(order, order)]
    return int(_least(first, large.adjacency(), labels[0][order], labels[1].copy()))


@njit(cache=True)
def _least(first: Any, second: Any, labels: Any, others: Any) -> int:
    n, m = len(first), len(second)
    total_second = second.sum() // 2
    place = np.full(n, -1, np.int64)
    used = np.zeros(m, np.bool_)
    cost = np.zeros(n + 1, np.int64)  # of what is placed so far, nodes and edges among them
    covered = np.zeros(n + 1, np.int64)  # edges of the second among what is placed
    remaining = np.zeros(n + 1, np.int64)  # edges of the first that are not yet placed
    for i in range(n - 1, -1, -1):
        remaining[i] = remaining[i + 1] + first[i, :i].sum()
    best = n + m + first.sum() // 2 + total_second
    depth = 0
    while depth >= 0:
        if depth == n:
            best = min(best, cost[n] + (m - n) + total_second - covered[n])
            depth -= 1
            used[place[depth]] = False
            continue
        v = place[depth] + 1
        while v < m and used[v]:
            v += 1
        if v == m:
            place[depth] = -1
            depth -= 1
            if depth >= 0:
                used[place[depth]] = False
            continue
        place[depth] = v
        more = 1 if labels[depth] != others[v] else 0
        found = 0
        for i in range(depth):
            a, b = first[depth, i], second[v, place[i]]
            more += 1 if a and not b else 0
            more += 1 if b and not a else 0
            found += 1 if b else 0
        new_cost, new_covered = cost[depth] + more, covered[depth] + found
        rest = total_second - new_covered - remaining[depth + 1]
        if new_cost + (m - n) + abs(rest) < best:
            used[v] = True
            depth += 1
            cost[depth], covered[depth] = new_cost, new_covered
            if depth < n:
                place[depth] = -1
    return best
