"""Benchmark tasks: measures that are right by themselves, and results that can be written."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest

from geogae import datasets
from geogae.benchmark.tasks import classify, distance, sample, simple_vectors
from geogae.benchmark.tasks.edit_distance import edit_distance
from geogae.graph import Graph


def labelled(n: int, chance: float, seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    return Graph(n, np.argwhere(np.triu(rng.random((n, n)) < chance, 1)), node_categorical=rng.integers(0, 2, (n, 1)))


@pytest.mark.parametrize("seed", range(8))
def test_edit_distance_is_exact(seed: int) -> None:
    one, other = labelled(4, 0.5, seed), labelled(5 - seed % 2, 0.4, seed + 100)
    graphs = []
    for graph in (one, other):
        made = graph.to_networkx()
        nx.set_node_attributes(made, dict(enumerate(graph.node_categorical[:, 0].tolist())), "kind")
        graphs.append(made)
    expected = nx.graph_edit_distance(*graphs, node_match=lambda a, b: a["kind"] == b["kind"])
    assert edit_distance(one, other) == edit_distance(other, one) == expected
    assert edit_distance(one, one.relabel(np.random.default_rng(0).permutation(one.n))) == 0


def test_discrepancies() -> None:
    graphs = [Graph.from_networkx(nx.gnp_random_graph(10, 0.3, seed=s)) for s in range(20)]
    others = [Graph.from_networkx(nx.complete_graph(10)) for _ in range(20)]
    for make in sample.KINDS.values():
        assert abs(sample._mmd(make(graphs), make(graphs))) < 1e-12
        assert sample._mmd(make(graphs), make(others)) > 0.05


def test_wl_kernel_is_a_kernel() -> None:
    kernel = simple_vectors.wl_kernel(datasets.load("MUTAG")[:30])
    np.testing.assert_allclose(np.diag(kernel), 1)
    assert np.linalg.eigvalsh(kernel).min() > -1e-9


def test_classify_and_distance_write_results() -> None:
    graphs = datasets.load("MUTAG")[:60]
    results = list(classify.run("MUTAG", graphs, seed=0, k=4))
    assert {(r["vectors"], r["classifier"]) for r in results} >= {("descriptor", "svm"), ("WL kernel", "svm")}
    assert all(40 <= r["accuracy"] <= 100 for r in results)
    found = list(distance.edits("MUTAG", datasets.load("MUTAG"), seed=0))
    by_name = {r["vectors"]: r["tau"] for r in found}
    assert by_name["descriptor"] > 0.5
    json.dumps(results + found)
