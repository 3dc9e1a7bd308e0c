"""Slot features combine: leaves, twins and attributes in any combination give back any graph in any numbering."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geogae import isomorphic
from geogae.autoencoders.schema import Schema
from geogae.autoencoders.slots import FEATURES, Attributes, Leaves, SlotFeature, SlotFeatures, Twins
from geogae.autoencoders.slots.base import first_nodes, with_columns, without_columns
from geogae.errors import GeoGAEError
from geogae.graph import Graph

COMBINATIONS = list(product([False, True], repeat=3))


@st.composite
def collections(draw: st.DrawFn) -> list[Graph]:
    """Graphs with many leaves and twins, a node and an edge category each."""
    columns = draw(st.sampled_from([(1, 1), (2, 0), (0, 1), (1, 2)]))
    return [draw(attributed(*columns)) for _ in range(draw(st.integers(1, 3)))]


@st.composite
def attributed(draw: st.DrawFn, node: int, edge: int) -> Graph:
    """A random core, cliques in the place of some nodes and leaves on others."""
    core = draw(st.integers(1, 4))
    pairs = [(i, j) for i in range(core) for j in range(i) if draw(st.booleans())]
    n = core
    for hub in range(core):
        clique = [hub, *range(n, n + draw(st.integers(0, 3)))]
        neighbours = [i if j == hub else j for i, j in pairs if hub in (i, j)]
        pairs += [(i, j) for i in clique for j in clique if i > j]
        pairs += [(i, j) for i in clique[1:] for j in neighbours]
        n += len(clique) - 1
        leaves = draw(st.integers(0, 3))
        pairs += [(hub, n + leaf) for leaf in range(leaves)]
        n += leaves
    random = np.random.default_rng(draw(st.integers(0, 2**16)))
    kinds = draw(st.integers(1, 3))
    return Graph(
        n,
        list({(min(pair), max(pair)) for pair in pairs}),
        node_categorical=random.integers(0, kinds, (n, node)) * 7 - 3 if node else None,
        edge_categorical=random.integers(0, kinds, (len({(min(p), max(p)) for p in pairs}), edge)) if edge else None,
    ).relabel(random.permutation(n))


def fitted(
    graphs: list[Graph], leaves: bool, twins: bool, attributes: bool, seed: int = 0
) -> tuple[SlotFeatures, list[np.ndarray]]:
    """As a linear autoencoder fits them, and an order for the core of each graph."""
    random = np.random.default_rng(seed)
    features: list[SlotFeature] = []
    cores = graphs if attributes else [graph.topology() for graph in graphs]
    for kind, wanted in ((Leaves, leaves), (Twins, twins)):
        if wanted:
            feature = kind.of(cores)
            cores = [feature.fold(core).core for core in cores]
            features.append(feature)
    count = sum(feature.columns for feature in features)
    orders = [random.permutation(core.n) for core in cores]
    if attributes:
        pairs = [without_columns(core.relabel(order), count) for core, order in zip(cores, orders, strict=True)]
        features.append(Attributes.of(Schema.of(graphs), pairs, [], 64))
    return SlotFeatures(features), orders


@pytest.mark.parametrize(("leaves", "twins", "attributes"), COMBINATIONS)
@settings(max_examples=25)
@given(collections(), st.integers(0, 2**32))
def test_fold_write_read_unfold(leaves: bool, twins: bool, attributes: bool, graphs: list[Graph], seed: int) -> None:
    random = np.random.default_rng(seed)
    try:
        features, orders = fitted(graphs, leaves, twins, attributes, seed)
    except GeoGAEError:  # edge columns alone, and not one edge
        assert not any(len(graph.edges) for graph in graphs)
        return
    state = features.state()
    again = SlotFeatures.from_state(state, FEATURES)
    assert [type(one) for one in again.features] == [type(one) for one in features.features]
    for whole, order in zip(graphs, orders, strict=True):
        graph = whole if attributes else whole.topology()
        core, steps = features.fold(graph)
        ordered = order
        for step in reversed(steps):
            ordered = step.order(ordered)
        written = features.write(core.relabel(order))
        assert written.values.shape == (core.n, features.width) == written.low.shape
        assert features.lossy(core.relabel(order)) is None
        assert ((written.low <= written.values) & (written.values <= written.high)).all()
        plain = core.topology().relabel(order)
        for one in (features, again):
            back, cut = one.read(written.values, written.coefficients, plain, graph.n)
            assert back == graph.relabel(ordered) and not cut
        if graph.n > 1:
            back, cut = features.read(written.values, written.coefficients, plain, graph.n - 1)
            assert cut and back == first_nodes(graph.relabel(ordered), graph.n - 1)
        other = features.fold(graph.relabel(random.permutation(graph.n)))[0]
        assert isomorphic(other, core)


def test_leaves_and_twins_meet() -> None:
    """A clique of four of whose nodes two have a leaf each: twins are those with as many leaves."""
    graph = Graph(6, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (0, 4), (1, 5)])
    features, _ = fitted([graph], True, True, False)
    core, _ = features.fold(graph)
    assert core == with_columns(Graph(2, [(0, 1)]), np.array([[1, 1], [0, 1]]))  # leaves, further twins
    back, _ = features.read(features.write(core).values, np.empty(0, np.float32), core.topology(), 6)
    assert isomorphic(back, graph)


def test_no_feature_writes_nothing() -> None:
    features = SlotFeatures()
    assert not features and features.width == features.columns == 0
    written = features.write(Graph(3))
    assert written.values.shape == (3, 0) and written.coefficients.shape == (0,)
    assert features.fold(Graph(3)) == (Graph(3), []) and features.lossy(Graph(3)) is None


def test_values_that_need_not_come_back() -> None:
    features, _ = fitted([Graph(4, [(0, 1), (0, 2), (0, 3)])], True, False, False)
    written = features.write(features.fold(Graph(3, [(0, 1), (0, 2)]))[0])
    free = written.unbounded()
    assert np.array_equal(free.values, written.values) and not free.weight.any()
    assert (free.high - free.low > 1e9).all()
