"""Sections 3.3 and 3.4 and Appendices A and B.1, by values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from geogae.geometry.cloud import HyperballCloud, intersection_rule, margins, softplus
from geogae.geometry.differentiable import focal
from geogae.geometry.differentiable import margins as torch_margins
from geogae.geometry.ordering import axis_order, greedy_order
from geogae.geometry.pose import canonical_pose
from geogae.geometry.proposition import proposition_cloud
from geogae.graph import Graph
from strategies import graphs


def raw(*radii: float) -> np.ndarray:
    """Raw radii of given radii: the inverse of softplus."""
    return np.log(np.expm1(radii))


# Three balls on a line; the first two intersect.
CENTERS = np.array([[0.0, 0.0], [1.0, 0.0], [4.0, 0.0]])
RAW = raw(1, 1, 2)
AB, AC, BC = 0.75 * 2 - 1, 0.75 * 3 - 4, 0.75 * 3 - 3  # 0.5, -1.75, -0.75


def test_radius_is_softplus() -> None:
    assert softplus(np.array([0.0, 64.0])).tolist() == [math.log(2), 64.0]
    np.testing.assert_allclose(softplus(RAW), [1, 1, 2])
    assert softplus(np.array([-1e4, 1e4], dtype=np.float32)).tolist() == [0, 1e4]


def test_margin_of_eq_2() -> None:
    expected = [[1.5, AB, AC], [AB, 1.5, BC], [AC, BC, 3.0]]
    np.testing.assert_allclose(margins(CENTERS, RAW), expected)
    balls = torch.from_numpy(np.column_stack([CENTERS, RAW]))
    np.testing.assert_allclose(torch_margins(balls).numpy(), expected, atol=2e-6)
    np.testing.assert_allclose(torch_margins(balls.expand(2, 3, 3))[1].numpy(), expected, atol=2e-6)


@pytest.mark.parametrize("alpha", [0.5, 0.25])
@pytest.mark.parametrize("gamma", [0.0, 1.0, 2.0, 2.5])
@pytest.mark.parametrize("temperature", [0.4, 1.0])
def test_sphere_loss_of_eq_3(alpha: float, gamma: float, temperature: float) -> None:
    def term(weight: float, p: float) -> float:
        return -weight * (1 - p) ** gamma * math.log(p)

    p_ab, p_ac, p_bc = (1 / (1 + math.exp(-m / temperature)) for m in (AB, AC, BC))
    by_hand = [term(alpha, p_ab), term(1 - alpha, 1 - p_ac), term(1 - alpha, 1 - p_bc)]
    logits = torch.tensor([AB, AC, BC], dtype=torch.float64) / temperature
    loss = focal(logits, torch.tensor([True, False, False]), alpha, gamma)
    np.testing.assert_allclose(loss.numpy(), by_hand, rtol=1e-12)


def test_sphere_loss_in_numbers() -> None:
    """α = 0.5, γ = 2, T = 0.4 and a margin of 0.5: p = σ(1.25) = 0.7773, 0.5 · 0.2227² · 0.2519 = 0.006247."""
    loss = focal(torch.tensor([0.5, -0.5]) / 0.4, torch.tensor([True, True]), 0.5, 2.0)
    np.testing.assert_allclose(loss, [0.006247, 0.5 * 0.7773**2 * 1.5019], rtol=1e-3)


def test_intersection_rule_of_eq_4() -> None:
    assert intersection_rule(CENTERS, RAW).tolist() == [[0, 1]]
    large = np.array([64.0, 64.0])  # softplus(64) is 64 to the last bit: 0.75 · 128 = 96
    assert intersection_rule(np.array([[0.0], [96.0]]), large).tolist() == []  # a margin of zero is no edge
    assert intersection_rule(np.array([[0.0], [95.999]]), large).tolist() == [[0, 1]]


def test_a_cloud_knows_whether_it_is_exact() -> None:
    balls = (CENTERS.astype(np.float32), RAW.astype(np.float32), np.array([1, 0, 2]))
    cloud = HyperballCloud(*balls, graph=Graph(3, [(0, 1)], node_categorical=[7, 8, 9], name="ABC"))
    assert cloud.exact and cloud.margin == pytest.approx(AB) and cloud.to_graph() == cloud.graph
    wrong = HyperballCloud(*balls, graph=Graph(3, [(0, 1), (1, 2)]))
    assert not wrong.exact and wrong.margin == pytest.approx(BC)
    ordered = cloud.ordered()
    assert ordered.graph == Graph(3, [(0, 1)], node_categorical=[8, 7, 9]) and ordered.exact
    np.testing.assert_array_equal(ordered.balls, cloud.balls)


# -- the pose ---------------------------------------------------------------------------------------------------


def test_pose_by_example() -> None:
    """Mean (5, 3); the first principal axis is the second coordinate; -8 - 1 + 27 > 0 keeps its sign."""
    for flip in (1, -1):
        np.testing.assert_allclose(
            canonical_pose(np.array([[5, flip * y] for y in (1, 2, 6)])), [[-2, 0], [-1, 0], [3, 0]]
        )


def test_pose_where_the_skewness_vanishes() -> None:
    """x is longer (32 > 6) and has no third moment: the first node decides; y has 1 - 8 + 1 < 0 and is negated."""
    np.testing.assert_allclose(
        canonical_pose(np.array([[-4, 1], [0, -2], [4, 1]])), [[4, -1], [0, 2], [-4, -1]], atol=1e-12
    )


# -- Algorithm 1 ------------------------------------------------------------------------------------------------

LINE = np.array([[0.0, 0.0], [1.0, 0.0], [-3.0, 0.0], [2.0, 0.0]])  # its mean is zero


def test_algorithm_1_by_example() -> None:
    """From 0: 1 + 0, 3 + 0.158 and 2 + 0.1, so 1; from 1: 4 + 0.158 and 1 + 0.1, so 3; then 2."""
    assert greedy_order(LINE, raw(1, 1, 1, 1)).tolist() == [0, 1, 3, 2]


def test_algorithm_1_measures_by_size() -> None:
    """A ball of radius 9 is near: 3 / 5 + 0.158 < 1; from there 4 / 5 + 0 < 5 / 5 + 0.1."""
    assert greedy_order(LINE, raw(1, 1, 9, 1)).tolist() == [0, 2, 1, 3]


def test_algorithm_1_guards_the_logarithm_of_zero() -> None:
    """Two nodes at the centre: the first begins, log2(1e-6) / 10 = -2 draws the other; ±1 tie."""
    points = np.array([[-1.0], [0.0], [0.0], [1.0]])
    assert greedy_order(points, raw(1, 1, 1, 1)).tolist() == [1, 2, 0, 3]


def test_order_by_the_first_axis() -> None:
    assert axis_order(LINE, raw(1, 1, 1, 1)).tolist() == [2, 0, 1, 3]
    assert axis_order(np.array([[1.0, 2.0], [1.0, 0.0], [0.0, 5.0]]), raw(1, 1, 1)).tolist() == [2, 1, 0]


# -- Proposition 1 ----------------------------------------------------------------------------------------------


def test_proposition_1_by_example() -> None:
    """A path of three: node 1 takes the first one of node 0, node 2 the first free one of node 1."""
    cloud = proposition_cloud(Graph(3, [(0, 1), (1, 2)]))
    assert cloud.centers.astype(int).tolist() == [
        [1, 1, 1, 0, 0, 0, 0, 0, 0],
        [1, 0, 0, 1, 1, 0, 0, 0, 0],
        [0, 0, 0, 1, 0, 0, 1, 1, 0],
    ]
    np.testing.assert_allclose(0.75 * cloud.radii, 0.5 * math.sqrt(5), rtol=1e-6)


@given(graphs())
def test_proposition_1_gives_every_graph_an_exact_cloud(graph: Graph) -> None:
    cloud, n = proposition_cloud(graph), graph.n
    assert cloud.dim == n * n + 1 and cloud.exact and cloud.to_graph() == graph
    assert (cloud.centers.sum(axis=1) == n).all() and cloud.centers.sum(axis=0).max() <= 2
    closest = min(math.sqrt(2 * n - 1) - math.sqrt(2 * n - 2), math.sqrt(2 * n) - math.sqrt(2 * n - 1))
    assert cloud.margin >= closest - 1e-5


@given(st.integers(20, 60), st.floats(0, 1), st.integers(0, 2**32))
def test_proposition_1_for_larger_graphs(n: int, density: float, seed: int) -> None:
    joined = np.triu(np.random.default_rng(seed).random((n, n)) < density, 1)
    assert proposition_cloud(Graph(n, np.argwhere(joined))).exact
