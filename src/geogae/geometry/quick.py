"""The fit of many small graphs in one compiled call: a few steps of the first try, which suffice for most of them.

Step by step it is :func:`geogae.geometry.descent.fit_topology`; what is not exact with its margin by then is left
to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numba import njit

from geogae.geometry.adjacency import all_distances, closed_twins, rows_of, without_twins
from geogae.geometry.cache import Fit
from geogae.geometry.descent import WIDEN, count_wrong
from geogae.geometry.kernel import descend, f32
from geogae.geometry.pose import pose
from geogae.geometry.recipe import NOISE, RATE, Recipe
from geogae.geometry.starts import START_RAW, gram_of, principal
from geogae.graph import Graph
from geogae.labelling.canonical import in_chunks

NODES = 400  # of a graph that may be small once its twins are merged
BALLS = 64  # of a small graph
STEPS = 100  # of the descent


def fit_all_quickly(topologies: Mapping[bytes, Graph], dim: int, recipe: Recipe, threads: int) -> dict[bytes, Fit]:
    """The fits, by key, of those graphs that are exact with their margin within a few steps."""
    small = {key: graph for key, graph in topologies.items() if graph.n <= NODES}
    if recipe.start != "mds" or not small:
        return {}
    first_node = np.cumsum([0, *(graph.n for graph in small.values())])
    first_edge = np.cumsum([0, *(len(graph.edges) for graph in small.values())])
    edges = np.concatenate([graph.edges for graph in small.values()])
    stream = np.random.default_rng([recipe.seed, 0]).standard_normal((dim - 1) * BALLS)  # as descent.start_of draws it
    balls, steps = np.empty((first_node[-1], dim), np.float32), np.empty(len(small), np.int64)
    how = (f32(recipe.alpha), f32(recipe.gamma), f32(recipe.temperature), f32(recipe.margin), RATE)
    limit, halt = int(min(STEPS, recipe.steps, recipe.budget // BALLS**2)), np.zeros(1, dtype=bool)

    def work(chunk: tuple[int, int]) -> None:
        fit_quickly(*chunk, first_node, first_edge, edges, dim, stream, NOISE, *how, limit, halt, balls, steps)

    try:
        in_chunks(work, len(small), threads)
    finally:
        halt[0] = True  # interrupted: the other threads can stop
    bounds = pairwise(first_node.tolist())
    return {
        key: Fit(balls[begin:end], taken, 1, checked=True)
        for key, taken, (begin, end) in zip(small, steps.tolist(), bounds, strict=True)
        if taken >= 0
    }


@njit(cache=True, nogil=True)
def fit_quickly(
    begin, end, first_node, first_edge, edges, dim, stream, noise, alpha, gamma, temperature, margin, rate, limit, halt,
    balls, steps,
):  # fmt: skip
    """Fit the graphs ``begin`` … ``end`` of a packed collection; see ``colour_refinement.label_without_search``.

    Writes balls (nodes, d) and the steps of each graph, -1 for those that need more. ``stream`` holds the seeded noise.
    """
    for g in range(begin, end):
        steps[g] = -1
        n = first_node[g + 1] - first_node[g]
        if halt[0] or n > NODES:
            continue
        start, neighbour = rows_of(n, edges[first_edge[g] : first_edge[g + 1]])
        twins, first = closed_twins(start, neighbour)
        k = len(first)
        if k > BALLS:
            continue
        start, neighbour = without_twins(start, neighbour, twins, first)
        sign = _signs(start, neighbour, twins, first)
        points = principal(gram_of(all_distances(start, neighbour)), dim - 1) + noise * stream[: (dim - 1) * k].reshape(
            dim - 1, k
        )
        centers, raw = points.astype(np.float32), np.full(k, START_RAW, np.float32)
        taken, _, narrow = descend(
            centers, raw, sign, 0, alpha, gamma, temperature, temperature, margin, rate, limit, WIDEN, halt
        )
        if narrow > 0:
            continue
        own = np.empty((n, dim - 1))
        for i in range(n):
            for c in range(dim - 1):
                own[i, c] = centers[c, twins[i]]
        posed = pose(own)
        out = balls[first_node[g] : first_node[g + 1]]
        for i in range(n):
            for c in range(dim - 1):
                out[i, c] = f32(posed[i, c])
            out[i, dim - 1] = raw[twins[i]]
        if count_wrong(out, edges[first_edge[g] : first_edge[g + 1]]) == 0:
            steps[g] = taken


@njit(cache=True, nogil=True)
def _signs(start, neighbour, twins, first):
    """+1 for pairs of balls that intersect, and for balls that twins share; else -1, (k, k)."""
    k = len(first)
    sign = np.full((k, k), -1, np.int8)
    for a in range(k):
        for b in neighbour[start[a] : start[a + 1]]:
            sign[a, b] = 1
    for i in range(len(twins)):
        if first[twins[i]] != i:
            sign[twins[i], twins[i]] = 1
    return sign
