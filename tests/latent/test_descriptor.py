"""Descriptors: the same for every numbering, near for near graphs, alone or among others."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from geogae import datasets
from geogae.autoencoders.descriptor import Descriptor
from geogae.autoencoders.structure import colours, packed_chunks, triangles
from geogae.errors import GeoGAEError
from geogae.graph import Graph


@pytest.fixture(scope="module")
def fitted() -> Descriptor:
    return Descriptor(16).fit(datasets.load("MUTAG")[:100])


def test_numbering_and_company_change_no_bit(fitted: Descriptor) -> None:
    graphs = datasets.load("MUTAG")[100:]
    rows = fitted.describe(graphs)
    rng = np.random.default_rng(0)
    moved = [graph.relabel(rng.permutation(graph.n)) for graph in graphs]
    np.testing.assert_array_equal(fitted.describe(moved), rows)
    np.testing.assert_array_equal(fitted.describe(graphs[5:6]), rows[5:6])


def test_few_edits_are_near_many_are_far(fitted: Descriptor) -> None:
    rng = np.random.default_rng(0)
    near, far = [], []
    for graph in datasets.load("MUTAG")[100:130]:
        edges = graph.edges.tolist()
        for count, found in ((1, near), (5, far)):
            kept = [edges[i] for i in np.sort(rng.permutation(len(edges))[count:])]
            cut = Graph(graph.n, kept, node_categorical=graph.node_categorical)
            plain = Graph(graph.n, edges, node_categorical=graph.node_categorical)
            found.append(float(np.linalg.norm(np.subtract(*fitted.describe([cut, plain])))))
    assert np.mean(np.array(near) < far) > 0.9


def test_scale_and_order_of_components(fitted: Descriptor) -> None:
    variance = fitted.describe(datasets.load("MUTAG")[:100]).var(0)
    assert variance.sum() == pytest.approx(16, rel=1e-4)
    assert (np.diff(variance) < 1e-4).all()


def test_attributes_take_part() -> None:
    rng = np.random.default_rng(0)
    graphs = [Graph(5, [(i, i + 1) for i in range(4)], node_categorical=rng.integers(0, 3, (5, 1))) for _ in range(40)]
    described = Descriptor(4).fit(graphs).describe(graphs)
    assert len(np.unique(described.round(4), axis=0)) > 10
    plain = [graph.topology() for graph in graphs]
    assert np.ptp(Descriptor(4).fit(plain).describe(plain), axis=0).max() < 1e-6


def test_state(fitted: Descriptor) -> None:
    graphs = datasets.load("MUTAG")[100:120]
    again = Descriptor.from_state(fitted.state())
    np.testing.assert_array_equal(again.describe(graphs), fitted.describe(graphs))


def test_counts_are_right() -> None:
    graphs = [Graph.from_networkx(nx.gnp_random_graph(12, 0.4, seed=s)) for s in range(5)]
    [packed] = packed_chunks(graphs)
    expected = np.concatenate([list(nx.triangles(graph.to_networkx()).values()) for graph in graphs])
    np.testing.assert_array_equal(triangles(packed.start, packed.neighbour), expected)
    [packed] = packed_chunks([Graph(4, [(0, 1), (1, 2), (2, 3)])])
    rounds = colours(packed, 2)
    assert [len(set(colour.tolist())) for colour in rounds] == [1, 2, 2]
    assert rounds[2][0] == rounds[2][3] != rounds[2][1] == rounds[2][2]


def test_odd_graphs_and_wrong_use(fitted: Descriptor) -> None:
    odd = [Graph(1, []), Graph(3, []), Graph(300, [(0, i) for i in range(1, 300)])]
    assert np.isfinite(fitted.describe(odd)).all()
    assert fitted.describe([]).shape == (0, 16)
    alone = Descriptor(8).fit([Graph(3, [(0, 1)])]).describe([Graph(3, [(0, 1)])])
    assert np.abs(alone).max() < 1e-6
    with pytest.raises(GeoGAEError, match="at least one graph"):
        Descriptor().fit([])
    with pytest.raises(GeoGAEError, match="not fitted"):
        Descriptor().describe([Graph(1, [])])
    with pytest.raises(GeoGAEError, match="k=0"):
        Descriptor(0)
