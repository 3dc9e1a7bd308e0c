"""The intersection rule, of one cloud and of many: exactly the pairs whose margin is positive."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from geogae.geometry.cloud import graphs_of_balls, intersection_rule, margins


def joined(balls: np.ndarray) -> np.ndarray:
    """By the definition: pairs i < j of balls (n, d) with a positive margin, in ascending order."""
    return np.argwhere(np.triu(margins(balls[:, :-1], balls[:, -1]) > 0, 1))


@given(st.lists(st.integers(1, 25), min_size=1, max_size=6), st.integers(2, 6), st.floats(-4, 6), st.integers(0, 99))
def test_the_rule_is_its_definition_from_no_edge_to_all(sizes: list[int], dim: int, radius: float, seed: int) -> None:
    balls = np.random.default_rng(seed).standard_normal((len(sizes), max(sizes), dim)).astype(np.float32)
    balls[..., -1] += radius
    graphs = graphs_of_balls(balls, np.array(sizes))
    for own, n, graph in zip(balls, sizes, graphs, strict=True):
        assert graph.n == n
        np.testing.assert_array_equal(graph.edges.reshape(-1, 2), joined(own[:n]))
        np.testing.assert_array_equal(intersection_rule(own[:n, :-1], own[:n, -1]), graph.edges)


def test_balls_that_are_no_numbers_join_nothing() -> None:
    balls = np.full((1, 4, 3), np.nan, np.float32)
    assert not len(graphs_of_balls(balls, np.array([4]))[0].edges)
