"""Trivial baselines by hand-computed F1, PCA and the autoencoder as GeoGAE itself has them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geogae import GeoGAE, GeoGAEError, Graph, datasets, metrics
from geogae.benchmark.methods import METHODS, Method, trivial
from strategies import graphs as any_graphs

TINY = {"token_dim": 16, "latent_dim": 32, "encoder_hidden": 32, "encoder_layers": 1, "encoder_heads": 2}
TINY |= {"decoder_hidden": 32, "decoder_layers": 1, "passes": 1, "batch_size": 8, "validations": 1, "epochs": 1}
TRIVIAL = ["path", "complete", "star", "mean", "nearest"]

DOT, PAIR, TRIANGLE = Graph(1), Graph(2, [(0, 1)]), Graph(3, [(0, 1), (0, 2), (1, 2)])
CLIQUE = Graph(4, [(i, j) for j in range(4) for i in range(j)])
CHAIN = Graph(4, [(0, 1), (1, 2), (2, 3)])
STAR = Graph(5, [(3, i) for i in (0, 1, 2, 4)])


@pytest.fixture(scope="module")
def mutag() -> list[Graph]:
    return datasets.load("MUTAG")[:40]


@pytest.fixture
def as_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clouds leave the nodes in the order of their numbers."""

    def clouds(graphs: list[Graph], dim: Any, **_: Any) -> list[Any]:
        return [SimpleNamespace(order=np.arange(g.n), dim=dim, balls=np.ones((g.n, 3), "f4")) for g in graphs]

    monkeypatch.setattr(trivial, "fit_clouds", clouds)


def made(name: str, dataset: str = "MUTAG", **changes: Any) -> Method:
    return METHODS[name].make(dataset, changes)


def through(method: Method, graphs: list[Graph]) -> list[float]:
    """F1 of each graph."""
    readings = method.read(graphs)
    return metrics.scores(ordered(method, graphs), method.decode(method.encode(readings)))["f1"].tolist()


def ordered(method: Method, graphs: list[Graph]) -> list[Graph]:
    return [reading.ordered for reading in method.read(graphs)]


def back(method: Method, graphs: list[Graph]) -> list[Graph]:
    return method.decode(method.encode(method.read(graphs)))


# -- trivial baselines ---


@pytest.mark.parametrize(
    ("name", "expected"),
    {
        "path": [1, 1, 4 / 5, 2 * 3 / (6 + 3), 1, 0],
        "complete": [1, 1, 1, 1, 2 * 3 / (3 + 6), 0],
        "star": [1, 1, 4 / 5, 2 * 3 / (6 + 3), 2 * 2 / (3 + 3), 0],  # of a chain: both neighbours of an inner node
    }.items(),
)
def test_trivial_baselines_by_hand(name: str, expected: list[float], tmp_path: Path) -> None:
    baseline = made(name, order="axis")
    baseline.fit([CLIQUE, CHAIN], [STAR], tmp_path)
    shapes = [DOT, PAIR, TRIANGLE, CLIQUE, CHAIN, Graph(3)]
    assert through(baseline, shapes) == pytest.approx(expected)
    assert [graph.n for graph in back(baseline, shapes)] == [1, 2, 3, 4, 4, 3]
    assert baseline.side_information == ("size",) and not list(tmp_path.iterdir())


def test_path_is_as_the_nodes_are_ordered(as_numbered: None, tmp_path: Path) -> None:
    baseline = made("path", dim=3)
    assert baseline.fit([CHAIN], [CHAIN], tmp_path) == {"dim": 3, "order": "greedy"}
    assert through(baseline, [CHAIN, STAR, CHAIN.relabel([0, 2, 1, 3])]) == pytest.approx([1, 2 * 2 / 8, 2 * 1 / 6])


def test_a_star_is_found_whatever_its_middle_is_called(tmp_path: Path) -> None:
    star = made("star")
    star.fit([CHAIN], [CHAIN], tmp_path)
    assert through(star, [STAR, STAR.relabel([3, 0, 1, 2, 4]), Graph(6, STAR.edges)]) == pytest.approx([1, 1, 8 / 9])
    [found] = ordered(star, [STAR])
    assert found.degrees.tolist() == [4, 1, 1, 1, 1]


@given(any_graphs(), st.randoms(use_true_random=False))
def test_the_order_of_a_star_does_not_depend_on_numbers(graph: Graph, random: Any) -> None:
    shuffled = graph.relabel(random.sample(range(graph.n), graph.n))
    [one], [other] = (ordered(made("star"), [g]) for g in (graph, shuffled))
    assert one.edges.tolist() == other.edges.tolist()
    assert one.degrees.tolist() == sorted(graph.degrees, reverse=True)


def test_mean_takes_its_threshold_from_validation(as_numbered: None, tmp_path: Path) -> None:
    train = [TRIANGLE, Graph(3, [(0, 1), (1, 2)]), Graph(3, [(0, 1)]), Graph(3, [(0, 1)])]  # 1, 1/2 and 1/4
    for validation, edges in (
        (Graph(3, [(0, 1), (1, 2)]), [[0, 1], [1, 2]]),
        (Graph(3, [(0, 1)]), [[0, 1]]),
        (TRIANGLE, [[0, 1], [0, 2], [1, 2]]),
        (Graph(3), [[0, 1], [0, 2], [1, 2]]),  # no threshold is better: the first
    ):
        baseline = made("mean", dim=3)
        baseline.fit(train, [validation], tmp_path)
        [three, two, one, five] = baseline.decode([3, 2, 1, 5])
        assert three.edges.tolist() == edges and two.edges.tolist() == [[0, 1]] and not len(one.edges)
        assert five.n == 5 and five.edges.tolist() == edges
        assert through(baseline, [validation]) == [1.0 if len(validation.edges) else 0.0]


def test_mean_counts_the_graphs_that_reach_so_far(as_numbered: None, tmp_path: Path) -> None:
    """One of four has the edge (1, 2), but only one has a node 2."""
    baseline = made("mean", dim=3)
    baseline.fit([PAIR, PAIR, Graph(2), Graph(3, [(1, 2)])], [Graph(3, [(1, 2)])], tmp_path)
    assert baseline.decode([3])[0].edges.tolist() == [[1, 2]]


def test_nearest_knows_the_training_graphs(mutag: list[Graph], tmp_path: Path) -> None:
    train, others = mutag[:30], mutag[30:]
    baseline = made("nearest")
    assert baseline.fit(train, mutag[:1], tmp_path) == {"dim": 4, "order": "greedy"} and baseline.side_information == ()
    assert through(baseline, train) == [1.0] * 30
    known, found = ordered(baseline, train), back(baseline, others)
    assert all(graph in known for graph in found) and 0 < np.mean(through(baseline, others)) < 1
    random = np.random.default_rng(0)
    assert back(baseline, [graph.relabel(random.permutation(graph.n)) for graph in others]) == found
    small = made("nearest")
    small.fit(train[:1], train[:1], tmp_path)
    assert back(small, [CLIQUE, max(mutag, key=len)]) == ordered(small, train[:1]) * 2


def test_nearest_by_hand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Beyond its balls a cloud counts as zeros."""

    def clouds(graphs: list[Graph], dim: Any, **_: Any) -> list[Any]:
        balls = {1: [[3, 0]], 2: [[1, 0], [0, 1]], 3: [[1, 0], [0, 0.2], [0, 0.1]], 4: [[3, 0], [1, 0], [0, 0], [0, 0]]}
        return [SimpleNamespace(order=np.arange(g.n), dim=2, balls=np.array(balls[g.n], "f4")) for g in graphs]

    monkeypatch.setattr(trivial, "fit_clouds", clouds)
    baseline = made("nearest", dim=2)
    baseline.fit([DOT, PAIR], [DOT], tmp_path)
    assert baseline.encode(baseline.read([DOT, PAIR, TRIANGLE, CHAIN])).tolist() == [
        0,
        1,
        1,
        0,
    ]  # 4.05 and 0.65; 1 and 6


def test_a_trivial_baseline_reads_the_clouds_of_the_paper(tmp_path: Path) -> None:
    for dataset, dim in (("AIDS", 6), ("MUTAG", 4)):
        assert made("path", dataset).fit([CHAIN], [CHAIN], tmp_path)["dim"] == dim
    assert made("path", "OTHER").fit([CHAIN], [CHAIN], tmp_path)["dim"] == 2  # auto
    assert made("path", "AIDS", dim=3, order="axis").fit([CHAIN], [CHAIN], tmp_path) == {"dim": 3, "order": "axis"}


# -- autoencoders ---


def test_linear_is_geogaes(mutag: list[Graph], tmp_path: Path) -> None:
    method = made("linear", latent_dim=40)
    facts = method.fit(mutag[:30], mutag[30:35], tmp_path)
    model = GeoGAE("linear", dim=4, order="greedy", latent_dim=40).fit(mutag[:30], validation=mutag[30:35])
    assert facts.items() >= model.get_params().items()
    assert np.array_equal(method.encode(method.read(mutag[35:])), model.encode(mutag[35:]))
    assert np.mean(through(method, mutag[35:])) == pytest.approx(model.evaluate(mutag[35:])["f1_unweighted"])
    assert method.side_information == () and not list(tmp_path.iterdir())


def test_linear_tuned_chooses_on_validation(mutag: list[Graph], tmp_path: Path) -> None:
    method = made("linear-tuned", latent_dim=40)
    facts = method.fit(mutag[:30], mutag[30:35], tmp_path)
    tried = {(row["dim"], row["order"]): row["validation_f1"] for row in facts["tried"]}
    assert tried.keys() == {(3, "axis"), (3, "greedy"), (4, "axis"), (4, "greedy")} and len(set(tried.values())) > 1
    assert tried[facts["dim"], facts["order"]] == max(tried.values())
    for (dim, order), f1 in tried.items():
        model = GeoGAE("linear", dim=dim, order=order, latent_dim=40).fit(mutag[:30], validation=mutag[30:35])
        assert f1 == model.evaluate(mutag[30:35])["f1"]
    assert method.encode(method.read(mutag[35:])).shape == (5, 40)


def test_sequential_is_trained_by_the_papers_preset(mutag: list[Graph], tmp_path: Path) -> None:
    method = made("sequential", **TINY)
    facts = method.fit(mutag[:20], mutag[20:25], tmp_path / "work")
    assert (facts["architecture"], facts["dim"], facts["epochs"], facts["passes"]) == ("sequential", 4, 1, 1)
    assert len(facts["history"]) == 1 and (tmp_path / "work" / "config.json").exists()
    assert len(back(method, mutag[25:])) == 15
    paper = made("sequential", "AIDS").candidates[0]  # type: ignore[attr-defined]
    assert paper.get_params() == GeoGAE.from_preset("paper/aids").get_params()
    timed = made("sequential", "AIDS", minutes=10).candidates[0]  # type: ignore[attr-defined]
    assert (timed.get_params()["minutes"], timed.get_params()["epochs"]) == (10, None)


def test_data_that_the_paper_does_not_know() -> None:
    for name in ("linear", "sequential"):
        [model] = made(name, "OTHER").candidates  # type: ignore[attr-defined]
        assert model.get_params() == GeoGAE("linear" if name == "linear" else "sequential").get_params()


@pytest.mark.parametrize("name", METHODS)
def test_parameters_that_are_none(name: str) -> None:
    with pytest.raises(GeoGAEError, match=r"colour.*; valid are .*(dim, order|latent_dim)"):
        made(name, colour="red")
    assert made(name, "MUTAG", seed=3)  # a baseline draws nothing
