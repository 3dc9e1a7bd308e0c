"""Graphs beyond 1,000 nodes: only near pairs are looked at, and nothing else changes."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from families import assert_same, copies, plain, shuffled
from geogae.geometry.adjacency import all_distances, landmark_distances, rows_of
from geogae.geometry.cloud import LARGE, HyperballCloud, _joined, _joined_near, margins, softplus
from geogae.geometry.descent import count_wrong, wrong_pairs
from geogae.geometry.fitting import fit_clouds
from geogae.geometry.neighbours import near_pairs
from geogae.geometry.starts import mds_start, path_distances
from geogae.graph import Graph

GRAPHS: dict[str, tuple[nx.Graph, int]] = {
    "tree": (nx.random_labeled_tree(1500, seed=0), 6),
    "preferential tree": (nx.barabasi_albert_graph(1200, 1, seed=0), 8),
    "grid": (nx.grid_2d_graph(40, 30), 4),
    "star": (nx.star_graph(1100), 4),
    "path": (nx.path_graph(3000), 2),
    "triangles": (copies(nx.complete_graph(3), 400), 3),
    "cliques": (copies(nx.complete_graph(30), 40), 3),
    "empty": (nx.empty_graph(1050), 3),
    "complete": (nx.complete_graph(1010), 2),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_exact_and_the_same_however_numbered_and_in_whatever_batch(name: str) -> None:
    graph, dim = GRAPHS[name]
    graph = plain(graph)
    (alone,) = fit_clouds([graph], dim, cache=False, tries=2)
    assert alone.exact and alone.to_graph() == graph and alone.n > LARGE
    others = [plain(nx.path_graph(9)), shuffled(graph, 1), plain(nx.cycle_graph(70))]
    cloud = fit_clouds(others, dim, cache=False, tries=2, n_jobs=2)[1]
    assert_same(cloud, alone)
    np.testing.assert_array_equal(cloud.balls, alone.balls)


# -- pairs ------------------------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(st.integers(1, 300), st.integers(1, 6), st.floats(0, 3), st.floats(0, 2), st.integers(0, 2**32))
def test_near_pairs_are_those_of_all_pairs(n: int, dim: int, reach: float, spread: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    points = random.normal(size=(n, dim)) * np.array([10.0, 5, 1, 1, 1, 1])[:dim]
    radii = np.exp(spread * random.normal(size=n))
    apart = np.linalg.norm(points[:, None] - points, axis=-1) - radii[:, None] - radii
    i, j = near_pairs(points, radii, reach)
    expected = np.argwhere(np.triu(apart < reach, 1))
    assert np.array_equal(np.column_stack([i, j]), expected)


@settings(max_examples=40)
@given(st.integers(2, 200), st.integers(1, 4), st.integers(0, 2**32))
def test_the_sparse_rule_is_the_rule(n: int, dim: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    points, raw = 3 * random.normal(size=(n, dim)), random.normal(size=n)
    np.testing.assert_array_equal(_joined_near(points, softplus(raw)), _joined(points, softplus(raw)))


@pytest.mark.parametrize("seed", range(3))
def test_margin_and_wrong_pairs_of_a_large_cloud(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = LARGE + 200
    centers, raw = 12 * random.random((n, 3)).astype(np.float32), random.normal(size=n).astype(np.float32)
    read = HyperballCloud(centers, raw, np.arange(n)).to_graph()
    changed = Graph(n, np.concatenate([read.edges[3:], [(0, n - 1)] if [0, n - 1] not in read.edges.tolist() else []]))
    for graph, wrong in ((read, 0), (changed, 4)):
        cloud = HyperballCloud(centers, raw, np.arange(n), graph)
        signed = np.where(graph.adjacency(), 1, -1) * margins(centers, raw)
        assert cloud.margin == pytest.approx(signed[np.triu_indices(n, 1)].min(), abs=1e-12)
        assert cloud.exact == (wrong == 0)
        balls = np.column_stack([centers, raw])
        assert wrong_pairs(balls, graph) == count_wrong(balls, graph.edges) == wrong


def test_margin_without_edges() -> None:
    n = LARGE + 10
    line = HyperballCloud(50 * np.arange(n, dtype=np.float32)[:, None], np.zeros(n, np.float32), np.arange(n), Graph(n))
    assert line.margin == pytest.approx(50 - 1.5 * np.log(2)) and line.exact


def test_balls_that_are_no_numbers_join_nothing() -> None:
    n = LARGE + 10
    cloud = HyperballCloud(np.full((n, 2), np.nan, np.float32), np.zeros(n, np.float32), np.arange(n))
    assert cloud.to_graph() == Graph(n)


# -- distances --------------------------------------------------------------------------------------------------


def test_distances_are_networkx_s() -> None:
    graph = nx.disjoint_union(nx.gnm_random_graph(60, 90, seed=0), nx.path_graph(7))
    rows = rows_of(67, plain(graph).edges)
    expected = dict(nx.all_pairs_shortest_path_length(graph))
    far = max(max(row.values()) for row in expected.values()) + 2
    dense = [[expected[i].get(j, far) for j in range(67)] for i in range(67)]
    assert all_distances(*rows).tolist() == dense == path_distances(plain(graph)).tolist()
    some = landmark_distances(*rows, 67)  # the first node, then always the farthest: all of them in the end
    assert sorted(some.tolist()) == sorted(dense)


def test_landmarks_give_the_distances_of_a_grid() -> None:
    """What classical scaling finds from all distances, landmarks find from a few: neighbours near, others far."""
    grid = plain(nx.grid_2d_graph(40, 40))
    points = mds_start(grid, 2)
    i, j = grid.edges.T
    steps = np.linalg.norm(points[:, i] - points[:, j], axis=0)
    across = np.linalg.norm(points[:, 0] - points[:, -1])
    assert 0.5 < np.median(steps) < 1.5 and 40 < across < 90


def test_memory_and_time_of_a_tree_of_20_000_nodes_are_linear() -> None:
    """No (n, n) array, which would take 400 MB a byte; two steps suffice to see it."""
    import tracemalloc

    tree = plain(nx.random_labeled_tree(20_000, seed=0))
    tracemalloc.start()
    (cloud,) = fit_clouds([tree], 6, cache=False, steps=2, tries=1, order="axis")
    _ = cloud.margin
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert cloud.steps == 2 and peak < 300e6
