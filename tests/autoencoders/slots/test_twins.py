"""Nodes that share a ball, next to each other in the node order."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from families import plain, shuffled
from geogae.geometry.cloud import HyperballCloud
from geogae.geometry.fitting import fit_clouds


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.randoms(use_true_random=False))
def test_equal_balls_stand_where_the_first_of_them_stood(kinds: list[int], random: object) -> None:
    order = np.arange(len(kinds))
    random.shuffle(order)  # type: ignore[attr-defined]
    balls = np.array([[kind, -kind] for kind in kinds], np.float32)
    cloud = HyperballCloud(balls[:, :1], balls[:, 1], order)
    grouped = cloud.grouped()
    read = [kinds[node] for node in grouped.order]
    before = [kinds[node] for node in order]
    assert sorted(grouped.order) == list(range(len(kinds))) and cloud.different_balls == len(set(kinds))
    assert list(dict.fromkeys(read)) == list(dict.fromkeys(before))  # kinds in the order of their first nodes
    assert sum(one != two for one, two in pairwise(read)) == len(set(kinds)) - 1
    for kind in set(kinds):  # and within a kind as they stood
        assert [n for n in grouped.order if kinds[n] == kind] == [n for n in order if kinds[n] == kind]
    assert np.array_equal(grouped.grouped().order, grouped.order)


def test_twins_of_a_fitted_cloud() -> None:
    graph = plain(nx.windmill_graph(4, 5))  # four cliques of five that share a node
    [cloud] = fit_clouds([graph], 4, cache=False)
    grouped = cloud.grouped()
    assert cloud.different_balls == 5 and grouped.exact and grouped.to_graph() == graph
    assert len(grouped.order) == 17 and grouped.graph is graph
    [other] = fit_clouds([shuffled(graph, 1)], 4, cache=False)
    assert np.array_equal(other.grouped().balls, grouped.balls)
    assert other.grouped().ordered().graph == grouped.ordered().graph
