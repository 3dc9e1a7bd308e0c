"""Splits: sizes, reproducibility, and isomorphic graphs on one side."""

from __future__ import annotations

from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geogae.datasets import load, split, splits
from geogae.errors import GeoGAEError
from geogae.graph import Graph


@given(st.integers(1, 400), st.integers(0, 5))
def test_every_graph_is_in_one_part(count: int, seed: int) -> None:
    parts = split(range(count), seed)
    assert sorted(index for part in parts for index in part) == list(range(count))
    assert all(part == sorted(part) for part in parts)
    train, validation, test = map(len, parts)
    assert abs(train - 0.7 * count) <= 0.5 + 1e-9
    assert abs(train + validation - 0.85 * count) <= 0.5 + 1e-9
    assert abs(test - 0.15 * count) <= 1
    assert split(range(count), seed) == parts


def test_values() -> None:
    assert [len(part) for part in split(range(188))] == [132, 28, 28]
    assert [len(part) for part in split(range(10))] == [7, 2, 1]
    assert [len(part) for part in split(range(10), fractions=(0.5, 0.5, 0))] == [5, 5, 0]
    assert split(range(20), 0) != split(range(20), 1)
    assert split(range(20), 0)[2] == [1, 9, 15]  # a change here breaks published splits


@pytest.mark.parametrize("fractions", [(0.7, 0.3), (0.7, 0.2, 0.2), (1.2, -0.1, -0.1)])
def test_bad_fractions(fractions: tuple) -> None:
    with pytest.raises(GeoGAEError, match="must be three numbers from 0 up that sum to 1"):
        split([1, 2], fractions=fractions)


def test_nothing_to_split() -> None:
    with pytest.raises(GeoGAEError, match="no graphs to split"):
        split([])


@pytest.mark.parametrize("seed", range(3))
def test_isomorphic_graphs_stay_together(seed: int) -> None:
    graphs = load("MUTAG")
    parts = split(graphs, seed, disjoint=True)
    assert sorted(g.name for part in parts for g in part) == sorted(g.name for g in graphs)
    assert [len(part) for part in parts] == [132, 28, 28]
    train, validation, test = ([g.topology().to_networkx() for g in part] for part in parts)
    for one, other in [*product(train, validation + test), *product(validation, test)]:
        assert not (nx.faster_could_be_isomorphic(one, other) and nx.is_isomorphic(one, other))


def test_classes_are_those_of_isomorphism() -> None:
    hexagon, triangles = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    turned = nx.relabel_nodes(hexagon, dict(enumerate([3, 0, 5, 1, 4, 2])))
    classes = splits.isomorphism_classes([hexagon, triangles, turned, Graph(2)])
    assert sorted(classes) == [[0, 2], [1], [3]]


def test_a_class_too_large_for_its_part_goes_to_the_largest() -> None:
    same = [Graph(2, [(0, 1)])] * 9 + [Graph(1)]
    assert sorted(map(len, split(same, disjoint=True))) == [0, 1, 9]
    assert np.ptp([len(split(same, seed, disjoint=True)[0]) for seed in range(5)]) == 0
