"""One graph to its cloud: tries on L_sphere (eq. 1-3) until the intersection rule gives the graph back exactly.

Adjacent twins (equal closed neighbourhoods) share one ball, which is always exact and leaves fewer balls to fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import islice

import numpy as np
from numba import njit
from numpy.typing import NDArray

from geogae.geometry.adjacency import closed_twins, rows_of, without_twins
from geogae.geometry.cache import Fit
from geogae.geometry.cloud import LARGE, RADIUS_SCALE, softplus
from geogae.geometry.kernel import descend
from geogae.geometry.pose import canonical_pose
from geogae.geometry.recipe import Recipe, Try, tries
from geogae.geometry.sparse_descent import descend_near, neighbour_lists
from geogae.geometry.starts import START_RAW, mds_start, planar_start
from geogae.graph import Graph

WIDEN = 300  # further steps for the margin once a cloud is exact
WIDEN_LARGE = 100  # the same for a large graph: a handful of its millions of pairs stays narrow for long
STUCK = 0.9  # the last lifted try leaves more than this share of its forerunner's wrong pairs, and more than FEW
FEW = 20
NEAR_COST = 8  # pairs of the dense descent in the time that the sparse one takes for one
HAIR = 1e-9  # a margin that another order of summation could turn


def fit_topology(
    topology: Graph, dim: int, recipe: Recipe, first: Fit | None = None, halt: NDArray[np.bool_] | None = None
) -> Fit:
    """Tries until one is exact, or the budget is used up: then the one with the fewest wrong pairs. Posed.

    ``first`` is a first try that was made elsewhere. ``halt[0]``, set by another thread, ends the fit as it stands.
    """
    halt = np.zeros(1, dtype=bool) if halt is None else halt
    large = topology.n > LARGE
    core, twins = _merged(topology, recipe)
    descent = _sparse_descent(core, twins) if large else _dense_descent(core, twins)
    pairs = max(1, core.n * (core.n - 1) // 2)
    best, fewest, before, taken, done = first, np.inf, np.inf, 0, 0
    left = recipe.budget
    if first is not None:
        fewest, taken, done = wrong_pairs(first.balls, topology), first.steps, 1
        left -= taken * pairs
    for attempt, how in islice(enumerate(tries(recipe, dim, large)), done, None):
        steps = how.steps if large else int(min(how.steps, left // pairs))
        if done and (fewest == 0 or halt[0] or steps < how.steps // 4 or left <= 0):
            break
        points, raw = start_of(how, core, dim, recipe.seed, attempt)
        step, cost = descent(points, raw, how, recipe, max(1, steps), left, halt)
        taken += step
        left -= cost
        done += 1
        balls = pose_balls(points[: dim - 1].T[twins], raw[twins])
        wrong = wrong_pairs(balls, topology)
        if best is None or wrong < fewest:
            best, fewest = Fit(balls, taken, done), wrong
        if how.lifted and wrong > max(FEW, STUCK * before):
            break
        before = wrong if how.lifted else before
    assert best is not None
    return best._replace(steps=taken, tries=done)


Descent = Callable[..., tuple[int, float]]  # moves centres and raw radii in place; returns its steps and their cost


def _dense_descent(core: Graph, twins: NDArray[np.int64]) -> Descent:
    """Over all pairs of balls."""
    sign = _signs(core, twins)

    def descent(
        points: NDArray[np.float32], raw: NDArray[np.float32], how: Try, recipe: Recipe, steps: int, left: float,
        halt: NDArray[np.bool_],
    ) -> tuple[int, float]:  # fmt: skip
        step, _, _ = descend(
            points, raw, sign, how.lifted, np.float32(recipe.alpha), np.float32(how.gamma),
            np.float32(how.hot), np.float32(how.cold), np.float32(recipe.margin), how.rate, steps, WIDEN, halt,
        )  # fmt: skip
        return step, step * max(1, core.n * (core.n - 1) // 2)

    return descent


def _sparse_descent(core: Graph, twins: NDArray[np.int64]) -> Descent:
    """Over edges and pairs of balls that are near each other."""
    rows, shared = rows_of(core.n, core.edges), np.bincount(twins) > 1

    def descent(
        points: NDArray[np.float32], raw: NDArray[np.float32], how: Try, recipe: Recipe, steps: int, left: float,
        halt: NDArray[np.bool_],
    ) -> tuple[int, float]:  # fmt: skip
        step, _, _, looked = descend_near(
            points, raw, *rows, shared, how.lifted, np.float32(recipe.alpha), np.float32(how.gamma),
            np.float32(how.hot), np.float32(how.cold), np.float32(recipe.margin), how.rate, steps, left / NEAR_COST,
            WIDEN_LARGE, halt,
        )  # fmt: skip
        return step, NEAR_COST * looked

    return descent


def _merged(topology: Graph, recipe: Recipe) -> tuple[Graph, NDArray[np.int64]]:
    """The graph of the balls, and the ball of each node, (n,)."""
    return merge_adjacent_twins(topology) if recipe.start == "mds" else (topology, np.arange(topology.n))


def _signs(core: Graph, twins: NDArray[np.int64]) -> NDArray[np.int8]:
    """+1 for an edge and -1 for none, (k, k); +1 on the diagonal is a ball that twins share: it intersects itself."""
    sign = np.where(core.adjacency(), np.int8(1), np.int8(-1))
    sign[np.diag_indices(core.n)] = np.where(np.bincount(twins) > 1, 1, -1)
    return sign


def core_of(topology: Graph, recipe: Recipe) -> tuple[Graph, NDArray[np.int8], NDArray[np.int64]]:
    """What is fitted: the graph of the balls, the signs of their pairs, (k, k), and the ball of each node, (n,)."""
    core, twins = _merged(topology, recipe)
    return core, _signs(core, twins), twins


def merge_adjacent_twins(graph: Graph) -> tuple[Graph, NDArray[np.int64]]:
    """The graph with one node for each class of equal closed neighbourhoods, and each node's class, (n,)."""
    start, neighbour = rows_of(graph.n, graph.edges)
    twins, first = closed_twins(start, neighbour)
    if len(first) == graph.n:
        return graph, twins
    start, neighbour = without_twins(start, neighbour, twins, first)
    node = np.repeat(np.arange(len(first)), np.diff(start))
    return Graph.from_sorted_edges(len(first), np.column_stack([node, neighbour])[node < neighbour]), twins


def pose_balls(centers: NDArray[np.floating], radii_raw: NDArray[np.floating]) -> NDArray[np.float32]:
    """Balls in canonical pose, (n, d)."""
    balls = np.empty((len(centers), centers.shape[1] + 1), dtype=np.float32)
    balls[:, :-1], balls[:, -1] = canonical_pose(centers), radii_raw
    return balls


@lru_cache(maxsize=8)  # graphs come by size, and many share theirs
def _noise(seed: int, attempt: int, rows: int, n: int) -> NDArray[np.float64]:
    return np.random.default_rng([seed, attempt]).standard_normal((rows, n))


def start_of(
    how: Try, core: Graph, dim: int, seed: int, attempt: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Centres (d - 1 + lifted, n) and raw radii (n,)."""
    noise = _noise(seed, attempt, dim - 1 + how.lifted, core.n)
    drawing = planar_start(core) if how.start == "drawing" else None
    if drawing is not None:
        points, raw = drawing  # without noise, which could make edges of the drawing cross
    else:
        points = noise if how.start == "random" else mds_start(core, len(noise)) + how.noise * noise
        raw = np.full(core.n, START_RAW)
    return np.ascontiguousarray(points, dtype=np.float32), raw.astype(np.float32)


def wrong_pairs(balls: NDArray[np.float32], topology: Graph) -> int:
    """Pairs of nodes that the intersection rule reads wrongly or within rounding; not all where balls are crowded."""
    if topology.n > LARGE:
        centers = np.ascontiguousarray(balls[:, :-1].T, dtype=np.float64)
        radii = RADIUS_SCALE * softplus(balls[:, -1].astype(np.float64))
        start, neighbour = rows_of(topology.n, topology.edges)
        lists = neighbour_lists(centers, radii, start, neighbour, 10 * HAIR)
        return _count_wrong_near(np.ascontiguousarray(centers.T), radii, *lists)
    return count_wrong(balls, topology.edges)


@njit(cache=True, nogil=True)
def _count_wrong_near(points, radii, rows, split, listed, _, missing):
    """:func:`count_wrong` over edges and near pairs; points (n, D)."""
    wrong = 1 if missing else 0
    for i in range(len(radii)):
        for a in range(rows[i], rows[i + 1]):
            margin = _margin(points, radii, i, listed[a])
            wrong += 1 if (margin if a < split[i] else -margin) <= HAIR else 0
    return wrong


@njit(cache=True, nogil=True)
def count_wrong(balls, edges):
    """Pairs of balls (n, d) that intersect and are no edge, or are one and do not; what is within rounding is wrong."""
    n, dim = balls.shape[0], balls.shape[1] - 1
    centers, radii = np.empty((n, dim)), np.empty(n)
    for i in range(n):
        raw = float(balls[i, dim])
        radii[i] = RADIUS_SCALE * (max(raw, 0.0) + math.log1p(math.exp(-abs(raw))))
        for k in range(dim):
            centers[i, k] = balls[i, k]
    wrong = 0
    for i in range(n):
        for j in range(i):
            if _margin(centers, radii, i, j) >= -HAIR:
                wrong += 1
    for i, j in edges:
        margin = _margin(centers, radii, i, j)
        wrong += (1 if margin <= HAIR else 0) - (1 if margin >= -HAIR else 0)
    return wrong


@njit(cache=True, nogil=True)
def _margin(centers, radii, i, j):
    square = 0.0
    for k in range(centers.shape[1]):
        square += (centers[i, k] - centers[j, k]) ** 2
    return radii[i] + radii[j] - math.sqrt(square)  # eq. 4
