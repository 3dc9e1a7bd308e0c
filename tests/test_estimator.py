"""GeoGAE as its users meet it: scikit-learn's conventions, encode and decode, files, what cannot be."""

from __future__ import annotations

import inspect
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from geogae.coding import Decoding
from geogae.saved import CONFIG, FORMAT, WEIGHTS
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from geogae import GeoGAE, GeoGAEError, Graph, datasets, formats, metrics
from geogae.estimator import HEADROOM
from geogae.plots import plot_reconstructions

TINY: dict[str, Any] = {
    "architecture": "sequential",
    "dim": 4,
    "token_dim": 16,
    "latent_dim": 32,
    "encoder_hidden": 32,
    "encoder_layers": 1,
    "encoder_heads": 2,
    "decoder_hidden": 32,
    "decoder_layers": 1,
    "passes": 2,
    "batch_size": 4,
    "epochs": 2,
    "validations": 2,
}
SCORES = {"f1", "f1_unweighted", "exact", "size_error", "size_error_relative", "truncated"}
KEYS = SCORES | {"inexact_clouds", "too_large"}
LINEAR: dict[str, Any] = {"architecture": "linear", "dim": 3, "order": "axis", "latent_dim": 50}


@pytest.fixture(scope="module")
def graphs() -> list[Graph]:
    return datasets.load("MUTAG")[:24]


@pytest.fixture(scope="module")
def model(graphs: list[Graph]) -> GeoGAE:
    return GeoGAE(**{**TINY, "epochs": 20, "lr": 3e-3}).fit(graphs[:16], validation=graphs[16:])


# -- conventions ---


def test_parameters() -> None:
    model = GeoGAE(**TINY)
    assert list(model.get_params()) == list(inspect.signature(GeoGAE).parameters)
    assert model.set_params(lr=0.5) is model and model.get_params()["lr"] == 0.5
    assert GeoGAE(**model.get_params()).get_params() == model.get_params()
    with pytest.raises(GeoGAEError, match="'depth' is no parameter of GeoGAE; valid are"):
        model.set_params(depth=3)


def test_clone(model: GeoGAE) -> None:
    copy = clone(model)
    assert copy is not model and copy.get_params() == model.get_params()
    with pytest.raises(GeoGAEError, match=r"not fitted yet; call fit, or GeoGAE\.load a saved model"):
        copy.encode(Graph(1))


@pytest.mark.parametrize("use", ["encode", "decode", "evaluate", "transform", "score", "reconstruct", "save"])
def test_unfitted(use: str, tmp_path: Path) -> None:
    with pytest.raises(GeoGAEError, match="this GeoGAE is not fitted yet"):
        getattr(GeoGAE(), use)(tmp_path / "x" if use == "save" else [])
    assert not list(tmp_path.iterdir())


def test_before_a_classifier(graphs: list[Graph]) -> None:
    labels = [graph.label for graph in graphs]
    pipeline = make_pipeline(GeoGAE(**TINY), LogisticRegression())
    assert set(pipeline.fit(graphs, labels).predict(graphs)) <= set(labels)
    assert np.array_equal(pipeline[:-1].transform(graphs), pipeline[0].encode(graphs))
    pipeline.set_params(geogae__epochs=1)
    assert len(cross_val_score(pipeline, graphs, labels, cv=2, error_score="raise")) == 2


def test_transform(model: GeoGAE, graphs: list[Graph]) -> None:
    assert np.array_equal(model.transform(graphs[0]), model.encode(graphs[:1]))
    z = model.encode(graphs[:3])
    assert model.inverse_transform(z) == model.decode(z)
    assert model.inverse_transform(z[0]) == [model.decode(z[0])]
    assert model.score(graphs[:5]) == model.evaluate(graphs[:5])["f1"]


def test_fit_transform_of_a_generator(graphs: list[Graph]) -> None:
    model = GeoGAE(**TINY)
    assert np.array_equal(model.fit_transform(graph for graph in graphs), model.transform(graphs))


def test_training_is_reproducible(model: GeoGAE, graphs: list[Graph]) -> None:
    again = clone(model).fit(graphs[:16], validation=graphs[16:])
    assert np.array_equal(again.encode(graphs), model.encode(graphs))
    other = clone(model).set_params(seed=1).fit(graphs[:16], validation=graphs[16:])
    assert not np.array_equal(other.encode(graphs), model.encode(graphs))


def test_the_best_weights_are_the_ones_kept(graphs: list[Graph]) -> None:
    model = GeoGAE(**{**TINY, "epochs": 8, "validations": 8, "lr": 5e-3}).fit(graphs[:16], validation=graphs[16:])
    best = max(row["validation_f1"] for row in model.history_)
    assert len(model.history_) == 8 and model.evaluate(graphs[16:])["f1"] == pytest.approx(best)


def test_nothing_to_train_on(graphs: list[Graph]) -> None:
    with pytest.raises(GeoGAEError, match="0 graphs to train on and 0 to validate on; give at least one of each"):
        GeoGAE(**TINY).fit([])
    with pytest.raises(GeoGAEError, match="2 graphs to train on and 0 to validate on"):
        GeoGAE(**TINY).fit(graphs[:2], validation=[])


def test_one_graph_is_enough() -> None:
    for graph in (Graph(1), Graph(2, [(0, 1)])):
        model = GeoGAE(**TINY).fit([graph])
        assert model.encode(graph).shape == (32,)


# -- encode ---


def test_one_vector_or_many(model: GeoGAE, graphs: list[Graph]) -> None:
    one, many = model.encode(graphs[0]), model.encode(graphs)
    assert one.shape == (32,) and many.shape == (24, 32) and one.dtype == many.dtype == np.float32
    assert model.encode(graphs[:1]).shape == (1, 32) and model.encode([]).shape == (0, 32)
    assert np.array_equal(model.encode(graph for graph in graphs), many)
    assert np.array_equal(model.encode(tuple(graphs)), many)


def test_batched_is_single(model: GeoGAE, graphs: list[Graph]) -> None:
    alone = np.stack([model.encode(graph) for graph in graphs])
    assert len({graph.n for graph in graphs}) > 3
    assert model.encode(graphs) == pytest.approx(alone, abs=1e-4)


def test_order_is_restored(model: GeoGAE, graphs: list[Graph]) -> None:
    order = np.random.default_rng(0).permutation(len(graphs))
    assert model.encode([graphs[i] for i in order]) == pytest.approx(model.encode(graphs)[order], abs=1e-6)


def test_other_kinds_of_graphs(model: GeoGAE, graphs: list[Graph]) -> None:
    plain = [graph.topology() for graph in graphs[:4]]
    z = model.encode(plain)
    assert np.array_equal(model.encode([formats.to_networkx(graph) for graph in plain]), z)
    assert np.array_equal(model.encode(formats.to_networkx(plain[0])), model.encode(plain[0]))
    assert model.encode(nx.cycle_graph(5)).shape == (32,)
    assert np.array_equal(model.encode(plain[0].adjacency()), model.encode(plain[0]))


def test_a_relabelled_graph_has_the_same_vector(model: GeoGAE, graphs: list[Graph]) -> None:
    random = np.random.default_rng(0)
    shuffled = [graph.relabel(random.permutation(graph.n)) for graph in graphs]
    assert model.encode(shuffled) == pytest.approx(model.encode(graphs), abs=1e-6)


def test_a_graph_that_is_too_large_is_flagged(
    model: GeoGAE, graphs: list[Graph], caplog: pytest.LogCaptureFixture
) -> None:
    limit = HEADROOM * max(graph.n for graph in graphs)
    assert model.max_nodes_ == limit
    model.encode(nx.path_graph(limit))
    assert not caplog.records
    model.encode([nx.path_graph(limit + 1), nx.path_graph(3)])
    said = f"1 of 2 graphs have more than the {limit} nodes that this model carries (up to {limit + 1}): they come back"
    assert caplog.messages == [f"{said} cut"]


@pytest.mark.parametrize("what", [3.5, [None], [Graph(1), "no molecule ("]])
def test_what_is_no_graph(model: GeoGAE, what: Any) -> None:
    with pytest.raises(GeoGAEError):
        model.encode(what)


# -- decode ---


def test_decode(model: GeoGAE, graphs: list[Graph]) -> None:
    z = model.encode(graphs)
    back = model.decode(z)
    assert len(back) == 24 and all(isinstance(graph, Graph) for graph in back)
    assert model.decode(z[3]) == back[3] and model.decode(z.tolist()) == back and model.decode(z[:0]) == []


def test_details_and_batched_is_single(model: GeoGAE, graphs: list[Graph]) -> None:
    z = np.concatenate((model.encode(graphs[:4]), np.random.default_rng(0).normal(scale=5, size=(20, 32))))
    together = model.decode(z, details=True)
    assert len({decoding.graph.n for decoding in together}) > 3
    assert [decoding.graph for decoding in together] == model.decode(z)
    for row, decoding in zip(z, together, strict=True):
        alone = model.decode(row, details=True)
        assert isinstance(alone, Decoding)
        assert (alone.graph.n, alone.truncated) == (decoding.graph.n, decoding.truncated)
        assert decoding.cloud.balls == pytest.approx(alone.cloud.balls, abs=1e-4)
        assert decoding.stop == pytest.approx(alone.stop, abs=1e-4)
        assert decoding.cloud.to_graph() == decoding.graph and decoding.cloud.dim == 4
        assert len(decoding.stop) == decoding.graph.n <= model.max_nodes_
        assert (decoding.stop[:-1] <= 0.5).all() and (decoding.stop[-1] > 0.5) != decoding.truncated


def test_graphs_that_are_cut_are_flagged(model: GeoGAE, graphs: list[Graph], caplog: pytest.LogCaptureFixture) -> None:
    endless = deepcopy(model)
    endless.model_.decoder.head.register_forward_hook(lambda head, given, out: (out[0], out[1] - 100))  # type: ignore
    endless.max_nodes_ = 7
    back = endless.decode(model.encode(graphs[:5]), details=True)
    assert [(decoding.graph.n, decoding.truncated) for decoding in back] == [(7, True)] * 5
    assert caplog.messages == ["5 of 5 graphs hit the limit of 7 nodes and are cut there"]


WRONG = {
    "width": (np.zeros((2, 31)), r"z has shape \(2, 31\); this model decodes rows of 32 numbers"),
    "one vector's width": (np.zeros(5), r"z has shape \(1, 5\); this model decodes rows of 32 numbers"),
    "depth": (np.zeros((1, 2, 32)), r"z has shape \(1, 2, 32\); this model decodes rows of 32"),
    "number": (1.0, r"z has shape \(1, 1\)"),
    "nan": (np.full((2, 32), np.nan), "z has 64 values that are not finite; encode the graphs again"),
    "infinity": (np.array([np.inf] + [0] * 31), "z has 1 values that are not finite"),
    "text": ("z", "z must be real numbers: one vector or a"),
    "texts": ([["a"] * 32], "z must be real numbers"),
    "ragged": ([[1.0], [1.0, 2.0]], "z must be real numbers"),
    "nothing": (None, "z "),
}


@pytest.mark.parametrize(("z", "said"), WRONG.values(), ids=WRONG)
def test_what_is_no_vector(model: GeoGAE, z: Any, said: str) -> None:
    with pytest.raises(GeoGAEError, match=said):
        model.decode(z)


def test_evaluate(model: GeoGAE, graphs: list[Graph]) -> None:
    scores = model.evaluate(graphs[16:])
    assert scores.keys() == KEYS and all(isinstance(value, float) for value in scores.values())
    assert scores["inexact_clouds"] == scores["too_large"] == 0 <= scores["f1"] <= 1
    assert model.evaluate(iter(graphs[16:])) == scores
    assert {f"validation_{key}" for key in SCORES} < model.history_[-1].keys()
    pairs = model.reconstruct(graphs[16:])
    assert [truth.n for truth, _ in pairs] == [graph.n for graph in graphs[16:]]
    with pytest.raises(GeoGAEError, match="at least one"):
        model.evaluate([])


# -- variants ---


def test_variational(graphs: list[Graph]) -> None:
    model = GeoGAE(**TINY, variational=True, kl_weight=0.1, kl_epochs=1).fit(graphs)
    assert model.history_[-1]["loss_kl"] > 0
    assert np.array_equal(model.encode(graphs), model.encode(graphs))  # μ, not a draw


@pytest.mark.parametrize("changes", [{"bundle": 3}, {"order": "axis"}, {"precision": "bfloat16"}])
def test_variants(graphs: list[Graph], tmp_path: Path, changes: dict[str, Any]) -> None:
    graphs = graphs[:12]
    model = GeoGAE(**{**TINY, **changes}).fit(graphs)
    z = model.encode(graphs)
    assert {graph.n % 3 for graph in graphs} == {0, 1, 2}
    assert z == pytest.approx(np.stack([model.encode(graph) for graph in graphs]), abs=1e-4)
    assert all(1 <= graph.n <= model.max_nodes_ for graph in model.decode(z))
    assert model.evaluate(graphs)["inexact_clouds"] == 0
    model.save(tmp_path)
    loaded = GeoGAE.load(tmp_path)
    assert loaded.dim_ == model.dim_ and np.array_equal(loaded.encode(graphs), z)


def test_the_smallest_dimension(tmp_path: Path) -> None:
    model = GeoGAE(**{**TINY, "dim": "auto"}).fit([nx.path_graph(n) for n in range(1, 9)])
    assert (model.dim, model.dim_) == ("auto", 2)
    model.save(tmp_path)
    loaded = GeoGAE.load(tmp_path)
    assert (loaded.dim, loaded.dim_) == ("auto", 2) and loaded.evaluate(nx.star_graph(2))["inexact_clouds"] == 0


# -- linear ---


@pytest.fixture(scope="module")
def linear(graphs: list[Graph]) -> GeoGAE:
    """Room for 28 nodes of 3 numbers in 50: the larger graphs come back in part."""
    return GeoGAE(**LINEAR).fit(graphs[:16], validation=graphs[16:])


def too_large(model: GeoGAE, by: int = 1) -> Graph:
    n = model.max_nodes_ + by
    return Graph(n, [(i, i + 1) for i in range(n - 1)], name="a long path")


def test_linear_there_and_back(linear: GeoGAE, graphs: list[Graph]) -> None:
    assert linear.max_nodes_ == max(graph.n for graph in graphs)
    z = linear.encode(graphs)
    assert z.shape == (24, 50) and z.dtype == np.float32 and z[:, 0].tolist() == [graph.n for graph in graphs]
    back = linear.decode(z, details=True)
    assert [decoding.graph for decoding in back] == linear.decode(z) == [linear.decode(row) for row in z]
    assert [decoding.graph.n for decoding in back] == [graph.n for graph in graphs]
    for true, decoding in zip(linear.ordered(graphs), back, strict=True):
        assert decoding.cloud.to_graph() == decoding.graph and not decoding.truncated
        assert decoding.stop.tolist() == [0.0] * (true.n - 1) + [1.0]
        if true.n * linear.dim_ < 50:
            assert decoding.graph.edges.tolist() == true.edges.tolist()
    assert sum(graph.n * 3 < 50 for graph in graphs) > 5


def test_linear_is_lossless_with_room_for_all(graphs: list[Graph]) -> None:
    """Also for graphs that are nothing like the 4 that it was fitted to."""
    model = GeoGAE(**{**LINEAR, "latent_dim": 3 * 28 + 1}).fit(graphs[:4], validation=graphs[5])
    others = [nx.star_graph(9), nx.empty_graph(6), nx.complete_graph(8), nx.cycle_graph(28), Graph(1)]
    scores = model.evaluate([*graphs[4:], *map(formats.as_graph, others)])
    assert (model.max_nodes_, scores["f1"], scores["exact"], scores["size_error"]) == (28, 1, 1, 0)


def test_linear_batched_is_single_and_relabelling_changes_nothing(linear: GeoGAE, graphs: list[Graph]) -> None:
    z, random = linear.encode(graphs), np.random.default_rng(0)
    assert np.stack([linear.encode(graph) for graph in graphs]) == pytest.approx(z, abs=1e-4)
    shuffled = [graph.relabel(random.permutation(graph.n)) for graph in graphs]
    assert linear.encode(shuffled) == pytest.approx(z, abs=1e-6)
    assert linear.encode([]).shape == (0, 50)
    ordered = linear.ordered(graphs)
    assert [graph.edges.tolist() for graph in linear.ordered(shuffled)] == [graph.edges.tolist() for graph in ordered]
    assert all(metrics.same_topology(*pair) for pair in zip(ordered, graphs, strict=True))
    assert any(one.edges.tolist() != two.edges.tolist() for one, two in zip(ordered, graphs, strict=True))


def test_linear_scores(linear: GeoGAE, graphs: list[Graph]) -> None:
    scores = linear.evaluate(graphs[16:])
    assert scores.keys() == KEYS and linear.score(graphs[16:]) == scores["f1"]
    assert scores["size_error"] == scores["truncated"] == scores["too_large"] == 0 < scores["f1"] < 1
    assert scores["f1"] == metrics.evaluate(*zip(*linear.reconstruct(graphs[16:]), strict=True))["f1"]
    [row] = linear.history_
    assert {f"validation_{key}": scores[key] for key in SCORES}.items() <= row.items() and row["step"] == 0


def test_linear_z_of_any_size_and_no_training(graphs: list[Graph]) -> None:
    """What only a trained model needs is not asked for."""
    for m in (2, 3, 37):
        model = GeoGAE(**{**LINEAR, "latent_dim": m}, token_dim=7, epochs=None, seed=3).fit(graphs)
        assert model.encode(graphs[0]).shape == (m,)
    with pytest.raises(GeoGAEError, match="latent_dim=1 must be a whole number, at least 2"):
        GeoGAE(**{**LINEAR, "latent_dim": 1}).fit(graphs)
    with pytest.raises(GeoGAEError, match="latent_dim=37 must be a multiple of token_dim=64"):
        GeoGAE("sequential", latent_dim=37).fit(graphs)


def test_linear_is_reproducible_and_knows_no_seed(linear: GeoGAE, graphs: list[Graph]) -> None:
    other = clone(linear).set_params(seed=5).fit(graphs[:16], validation=graphs[16:])
    assert np.array_equal(other.encode(graphs), linear.encode(graphs))


def test_linear_cannot_carry_graphs_beyond_its_slots(
    linear: GeoGAE, graphs: list[Graph], caplog: pytest.LogCaptureFixture
) -> None:
    limit, large = linear.max_nodes_, too_large(linear)
    for given, names in (
        (large, "1 of 1 graphs (a long path;"),
        ([*graphs, large], "1 of 25 graphs (a long path;"),
        ([nx.path_graph(limit + 2), large, large, large], "4 of 4 graphs (a graph without name, a long path, a long"),
    ):
        with pytest.raises(GeoGAEError) as error:
            linear.encode(given)
        said = str(error.value)
        assert said.startswith(names) and "\n" not in said
        assert f"have more than the {limit} nodes that this model carries; leave them out, train with graphs as" in said
        assert ("path, …; up to" in said) == (len(names) > 40)
    assert not caplog.records
    assert linear.encode(too_large(linear, by=0)).shape == (50,)


def test_linear_scores_graphs_beyond_its_slots_as_lost(
    linear: GeoGAE, graphs: list[Graph], caplog: pytest.LogCaptureFixture
) -> None:
    few, large = graphs[16:18], too_large(linear)
    alone = linear.evaluate(few)
    scores = linear.evaluate([few[0], large, few[1]])
    nodes = sum(graph.n for graph in few)
    assert scores["too_large"] == 1 and alone["too_large"] == 0
    assert scores["f1"] == pytest.approx(alone["f1"] * nodes / (nodes + large.n))
    assert scores["size_error"] == pytest.approx(large.n / 3) and scores["truncated"] == 0
    limit = linear.max_nodes_
    said = f"1 of 3 graphs have more than the {limit} nodes that this model carries (up to {large.n}): they are lost"
    assert caplog.messages == [said]
    nothing = linear.evaluate(large)
    assert (nothing["f1"], nothing["exact"], nothing["too_large"]) == (0, 0, 1)


def test_linear_reconstructs_what_it_can(linear: GeoGAE, graphs: list[Graph], tmp_path: Path) -> None:
    large = too_large(linear)
    (first, back), (second, nothing), (_, again) = linear.reconstruct([graphs[0], large, graphs[1]])
    assert (first.n, back and back.n) == (graphs[0].n,) * 2 and again == linear.decode(linear.encode(graphs[1]))
    assert nothing is None and metrics.same_topology(second, large)
    figure = plot_reconstructions([(first, back), (second, nothing)], tmp_path / "back.png")
    assert figure.axes[3].get_title() == "from z: too large" and (tmp_path / "back.png").stat().st_size > 1000
    assert [graph.n for graph in linear.ordered([large, graphs[0]])] == [large.n, graphs[0].n]


@pytest.mark.parametrize(("z", "said"), [(np.zeros((2, 49)), "decodes rows of 50"), (np.full(50, np.nan), "z has 50")])
def test_linear_what_is_no_vector(linear: GeoGAE, z: Any, said: str) -> None:
    with pytest.raises(GeoGAEError, match=said):
        linear.decode(z)


def test_linear_sizes_beyond_the_slots_are_cut(linear: GeoGAE, caplog: pytest.LogCaptureFixture) -> None:
    z = np.zeros((2, 50))
    z[:, 0] = 5, 1e9
    whole, cut = linear.decode(z, details=True)
    assert (whole.graph.n, whole.truncated, cut.graph.n, cut.truncated) == (5, False, linear.max_nodes_, True)
    assert (cut.stop <= 0.5).all()
    assert caplog.messages == [f"1 of 2 graphs hit the limit of {linear.max_nodes_} nodes and are cut there"]


def test_linear_saved_loaded_and_cloned(linear: GeoGAE, graphs: list[Graph], tmp_path: Path) -> None:
    linear.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [CONFIG, WEIGHTS]
    loaded = GeoGAE.load(tmp_path)
    assert loaded.get_params() == linear.get_params() and loaded.max_nodes_ == linear.max_nodes_
    z = linear.encode(graphs)
    assert np.array_equal(loaded.encode(graphs), z) and loaded.decode(z) == linear.decode(z)
    with pytest.raises(GeoGAEError, match="1 of 1 graphs"):
        loaded.encode(too_large(loaded))
    copy = clone(linear)
    assert copy.get_params() == linear.get_params() and not hasattr(copy, "model_")
    rewrite(tmp_path, params={**linear.get_params(), "latent_dim": 49})
    with pytest.raises(GeoGAEError, match=r"does not fit config\.json beside it"):
        GeoGAE.load(tmp_path)
    rewrite(tmp_path, params={**linear.get_params(), "architecture": "sequential", "latent_dim": 64})
    with pytest.raises(GeoGAEError, match=r"does not fit config\.json beside it"):
        GeoGAE.load(tmp_path)


def test_linear_before_a_classifier(graphs: list[Graph]) -> None:
    labels = [graph.label for graph in graphs]
    pipeline = make_pipeline(GeoGAE(**LINEAR), StandardScaler(), LogisticRegression())
    assert pipeline.fit(graphs, labels).score(graphs, labels) > 0.8
    assert np.array_equal(pipeline[:1].transform(graphs), pipeline[0].encode(graphs))
    pipeline.set_params(geogae__latent_dim=20)
    assert pipeline.fit(graphs, labels)[0].encode(graphs[0]).shape == (20,)


def test_linear_from_one_graph() -> None:
    for graph in (Graph(1), Graph(2, [(0, 1)]), Graph(3)):
        model = GeoGAE(**LINEAR).fit([graph])
        assert model.evaluate(graph)["exact"] == 1 and model.decode(model.encode(graph)) == graph


# -- parallel ---

SMALL: dict[str, Any] = {"dim": 3, "order": "axis", "latent_dim": 48}  # for up to 84 numbers of a cloud


@pytest.fixture(scope="module")
def mutag() -> tuple[list[Graph], list[Graph], list[Graph]]:
    return datasets.split(datasets.load("MUTAG"), seed=0)


@pytest.fixture(scope="module")
def parallel(mutag: tuple[list[Graph], list[Graph], list[Graph]]) -> GeoGAE:
    train, validation, _ = mutag
    return GeoGAE.from_preset("mutag", latent_dim=48).fit(train, validation=validation)


@pytest.fixture(scope="module")
def unseen(mutag: tuple[list[Graph], list[Graph], list[Graph]]) -> list[Graph]:
    return mutag[2]


def test_parallel_is_the_default() -> None:
    assert GeoGAE().architecture == GeoGAE.from_preset("mutag").architecture == "parallel"


def test_parallel_gives_back_unseen_graphs_exactly(
    parallel: GeoGAE, mutag: tuple[list[Graph], list[Graph], list[Graph]]
) -> None:
    """From 48 numbers, which without descent do not suffice."""
    train, validation, test = mutag
    scores = parallel.evaluate(test)
    assert scores.keys() == KEYS and (scores["f1"], scores["exact"], scores["size_error"]) == (1, 1, 0)
    assert parallel.score(test) == 1 and parallel.history_[0]["validation_f1"] == 1
    still = clone(parallel).set_params(descent=0).fit(train, validation=validation)
    linear = clone(parallel).set_params(architecture="linear").fit(train, validation=validation)
    assert np.array_equal(still.encode(test), linear.encode(test)) and still.score(test) == linear.score(test) < 0.95
    assert np.array_equal(still.encode(test)[:, 0], parallel.encode(test)[:, 0])


def test_parallel_there_and_back(parallel: GeoGAE, unseen: list[Graph]) -> None:
    z = parallel.encode(unseen)
    assert z.shape == (28, 48) and z.dtype == np.float32 and z[:, 0].tolist() == [graph.n for graph in unseen]
    back = parallel.decode(z, details=True)
    for true, decoding in zip(parallel.ordered(unseen), back, strict=True):
        assert decoding.graph == true.topology() == decoding.cloud.to_graph() and not decoding.truncated
        assert decoding.stop.tolist() == [0.0] * (true.n - 1) + [1.0]
    assert [decoding.graph for decoding in back] == parallel.decode(z) == [parallel.decode(row) for row in z]
    assert [pair[1] for pair in parallel.reconstruct(unseen)] == parallel.decode(z)
    assert all(metrics.same_topology(*pair) for pair in parallel.reconstruct(unseen) if pair[1])


def test_parallel_batched_is_single_to_the_last_bit(parallel: GeoGAE, unseen: list[Graph]) -> None:
    z = parallel.encode(unseen)
    assert np.array_equal(np.stack([parallel.encode(graph) for graph in unseen]), z)
    order = np.random.default_rng(0).permutation(len(unseen))
    assert np.array_equal(parallel.encode([unseen[i] for i in order]), z[order])
    assert parallel.encode([]).shape == (0, 48) and parallel.decode(z[:0]) == []


def test_parallel_relabelling_and_attributes_change_nothing(parallel: GeoGAE, unseen: list[Graph]) -> None:
    random = np.random.default_rng(0)
    z = parallel.encode([graph.topology() for graph in unseen])
    shuffled = [graph.topology().relabel(random.permutation(graph.n)) for graph in unseen]
    assert np.array_equal(parallel.encode(shuffled), z)
    numbered = [Graph(g.n, g.edges, node_continuous=random.normal(size=(g.n, 2)), name="x", label=3) for g in shuffled]
    assert np.array_equal(parallel.encode(numbered), z)
    assert np.array_equal(parallel.encode(unseen), z)


def test_parallel_is_reproducible_and_knows_no_seed(parallel: GeoGAE, mutag: tuple[list[Graph], ...]) -> None:
    train, validation, test = mutag
    other = clone(parallel).set_params(seed=5).fit(train, validation=validation)
    assert np.array_equal(other.encode(test), parallel.encode(test))
    copy = clone(parallel)
    assert copy.get_params() == parallel.get_params() and not hasattr(copy, "model_")


def test_parallel_saved_and_decoded_elsewhere(parallel: GeoGAE, unseen: list[Graph], tmp_path: Path) -> None:
    """A process that never saw a graph decodes the same from z."""
    parallel.save(tmp_path / "model")
    z, back = parallel.encode(unseen), parallel.decode(parallel.encode(unseen))
    loaded = GeoGAE.load(tmp_path / "model")
    assert loaded.get_params() == parallel.get_params() and loaded.max_nodes_ == parallel.max_nodes_
    assert np.array_equal(loaded.encode(unseen), z) and loaded.decode(z) == back and loaded.score(unseen) == 1
    np.save(tmp_path / "z.npy", z)
    program = (
        "import sys, numpy as np; from geogae import GeoGAE, formats\n"
        "model, z, back = sys.argv[1:]\n"
        "formats.write(GeoGAE.load(model).decode(np.load(z)), back)"
    )
    paths = [str(tmp_path / name) for name in ("model", "z.npy", "b.jsonl")]
    alone = os.environ | {"GEOGAE_CACHE": str(tmp_path / "none")}
    subprocess.run([sys.executable, "-c", program, *paths], check=True, env=alone)
    assert formats.read(tmp_path / "b.jsonl") == back
    rewrite(tmp_path / "model", params={**parallel.get_params(), "latent_dim": 49})
    with pytest.raises(GeoGAEError, match=r"does not fit config\.json beside it"):
        GeoGAE.load(tmp_path / "model")


def test_parallel_cannot_carry_graphs_beyond_its_slots(
    parallel: GeoGAE, unseen: list[Graph], caplog: pytest.LogCaptureFixture
) -> None:
    large = nx.path_graph(29)
    assert parallel.slots_ == 28 and parallel.carries([large, *unseen]) == [False] + [True] * 28
    with pytest.raises(GeoGAEError) as error:
        parallel.encode([*unseen, large])
    said = str(error.value)
    assert said.startswith("1 of 29 graphs (a graph without name; up to 29 nodes) have more than the 28 nodes that")
    assert said.endswith("train with graphs as large, or use architecture='sequential'") and "\n" not in said
    assert not caplog.records
    scores = parallel.evaluate([unseen[0], formats.as_graph(large)])
    assert scores["too_large"] == 1 and scores["f1"] == pytest.approx(unseen[0].n / (unseen[0].n + 29))
    assert len(caplog.messages) == 1 and "more than the 28 nodes" in caplog.messages[0]
    assert parallel.reconstruct([large])[0][1] is None
    path = nx.path_graph(28)
    assert parallel.decode(parallel.encode(path)).n == 28


PARALLEL_WRONG = {
    "width": (np.zeros((2, 47)), r"z has shape \(2, 47\); this model decodes rows of 48 numbers"),
    "nan": (np.full(48, np.nan), "z has 48 values that are not finite; encode the graphs again"),
    "infinity": (np.full((1, 48), np.inf), "z has 48 values that are not finite"),
}


@pytest.mark.parametrize(("z", "said"), PARALLEL_WRONG.values(), ids=PARALLEL_WRONG)
def test_parallel_what_is_no_vector(parallel: GeoGAE, z: Any, said: str) -> None:
    with pytest.raises(GeoGAEError, match=said):
        parallel.decode(z)


def test_parallel_sizes_beyond_the_slots_are_cut(parallel: GeoGAE, caplog: pytest.LogCaptureFixture) -> None:
    z = np.zeros((3, 48))
    z[:, 0] = 5.4, -7, 1e9
    few, least, cut = parallel.decode(z, details=True)
    assert [(d.graph.n, d.truncated) for d in (few, least, cut)] == [(5, False), (1, False), (28, True)]
    assert len(caplog.messages) == 1 and caplog.messages[0].startswith("1 of 3 graphs hit the limit of ")


def test_parallel_before_a_classifier(graphs: list[Graph]) -> None:
    labels = [graph.label for graph in graphs]
    pipeline = make_pipeline(GeoGAE(**SMALL), StandardScaler(), LogisticRegression())
    assert pipeline.fit(graphs, labels).score(graphs, labels) > 0.8
    assert np.array_equal(pipeline[:1].transform(graphs), pipeline[0].encode(graphs))
    pipeline.set_params(geogae__latent_dim=20)
    assert pipeline.fit(graphs, labels)[0].encode(graphs[0]).shape == (20,)
    folds = cross_val_score(pipeline, graphs * 2, labels * 2, cv=2, error_score="raise")  # each has the largest graph
    assert len(folds) == 2 and min(folds) > 0.7
    assert GeoGAE(**SMALL).fit_transform(iter(graphs)).shape == (24, 48)


@pytest.mark.parametrize("order", ["greedy", "axis", "template"])
def test_parallel_from_one_graph(order: str) -> None:
    for graph in (Graph(1), Graph(2, [(0, 1)]), Graph(3), formats.as_graph(nx.cycle_graph(5))):
        model = GeoGAE(order=order, latent_dim=8).fit([graph])  # type: ignore[arg-type]
        assert model.evaluate(graph)["exact"] == 1
        assert metrics.same_topology(model.decode(model.encode(graph)), graph)


def test_parallel_isolated_nodes_and_single_nodes(graphs: list[Graph]) -> None:
    """Isolated nodes, a graph that has nothing else, and single nodes, beside others."""
    apart = [Graph(g.n + 2, g.edges) for g in graphs[:8]]
    odd = [Graph(1), Graph(4), Graph(9, [(0, 1)]), Graph(2, [(0, 1)])]
    model = GeoGAE(**{**SMALL, "latent_dim": 80}).fit([*apart, *graphs[:8], *odd], validation=odd)
    scores = model.evaluate([*odd, *apart])
    assert (scores["f1"], scores["exact"], scores["inexact_clouds"]) == (1, 1, 0)
    assert model.decode(model.encode(Graph(1))) == Graph(1) and model.decode(model.encode(Graph(4))) == Graph(4)


def test_parallel_z_of_any_size_and_no_training(graphs: list[Graph]) -> None:
    for m in (2, 3, 37):
        model = GeoGAE(**{**SMALL, "latent_dim": m}, token_dim=7, epochs=None, minutes=1e-3).fit(graphs)
        assert model.encode(graphs[0]).shape == (m,) and model.evaluate(graphs)["size_error"] == 0
    with pytest.raises(GeoGAEError, match="latent_dim=1 must be a whole number, at least 2"):
        GeoGAE(**{**SMALL, "latent_dim": 1}).fit(graphs)
    with pytest.raises(GeoGAEError, match="descent=-1 must be a whole number, at least 0"):
        GeoGAE(descent=-1).fit(graphs)


def test_parallel_as_a_run(graphs: list[Graph], tmp_path: Path) -> None:
    model = GeoGAE(**SMALL).fit(graphs[:16], validation=graphs[16:], run=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [CONFIG, WEIGHTS]
    assert np.array_equal(GeoGAE.load(tmp_path).encode(graphs), model.encode(graphs))
    assert {f"validation_{key}" for key in SCORES} < model.history_[0].keys() and model.history_[0]["step"] == 0


def test_parallel_variational_z_is_a_prior(mutag: tuple[list[Graph], ...], parallel: GeoGAE) -> None:
    """Training graphs are spread as N(0, 1), and draws from it are graphs of their size."""
    train, validation, test = mutag
    model = clone(parallel).set_params(variational=True, kl_weight=0.0).fit(train, validation=validation)
    z = model.encode(train)
    assert np.abs(z[:, 0].mean()) < 1e-4 and z[:, 0].std() == pytest.approx(1, abs=1e-4)
    assert 0.3 < z[:, 1:].std() < 3 and np.array_equal(model.encode(test), model.encode(test))
    assert model.evaluate(test)["size_error"] == 0 and model.score(test) == pytest.approx(1, abs=0.01)
    drawn = model.decode(np.random.default_rng(0).normal(size=(50, 48)))
    sizes = np.array([graph.n for graph in drawn])
    assert abs(sizes.mean() - np.mean([graph.n for graph in train])) < 3 and sizes.min() >= 1 and sizes.max() <= 28


def all_come_back(model: GeoGAE, unseen: list[Graph], folder: Path) -> GeoGAE:
    """Exactly; alone, renumbered or in a batch; and so from the saved model, which is returned."""
    scores = model.evaluate(unseen)
    assert (scores["exact"], scores["size_error"], scores["too_large"]) == (1, 0, 0)
    z, random = model.encode(unseen), np.random.default_rng(0)
    assert np.array_equal(np.stack([model.encode(graph) for graph in unseen]), z)
    assert np.array_equal(model.encode([g.relabel(random.permutation(g.n)) for g in unseen]), z)
    assert model.decode(z) == model.ordered(unseen) == [model.decode(row) for row in z]
    assert model.reconstruct(unseen) == list(zip(model.ordered(unseen), model.decode(z), strict=True))
    model.save(folder)
    loaded = GeoGAE.load(folder)
    assert np.array_equal(loaded.encode(unseen), z) and loaded.decode(z) == model.decode(z)
    return loaded


# -- parallel: twins ---


def circles(seed: int) -> Graph:
    """Cliques that share one node: in each, all others are twins."""
    n, edges = 1, []
    for more in np.random.default_rng(seed).integers(1, 8, 1 + seed % 5).tolist():
        members = [0, *range(n, n + more)]
        n += more
        edges += [(i, j) for i in members for j in members if i < j]
    return Graph(n, edges)


def test_twins_share_a_slot(tmp_path: Path) -> None:
    some = [circles(seed) for seed in range(80)]
    model = GeoGAE(dim=4, latent_dim=16).fit(some[:50], validation=some[50:60])
    assert model.shares_ and model.slots_ < 10 < max(graph.n for graph in some)
    assert all_come_back(model, some[60:], tmp_path).shares_
    larger = nx.complete_graph(30)  # more nodes than any, and one ball
    assert model.decode(model.encode(larger)).n == 30
    with pytest.raises(
        GeoGAEError, match=r"have more than the \d nodes that this model carries \(adjacent twins count once\)"
    ):
        model.encode(nx.path_graph(12))


# -- parallel: folded leaves ---


def discussion(seed: int) -> Graph:
    """Posts with some answers each, of which few are answered."""
    random = np.random.default_rng(seed)
    tree = nx.random_labeled_tree(int(random.integers(2, 9)), seed=seed)
    for post in list(tree):
        tree.add_edges_from((post, f"{post}.{answer}") for answer in range(random.integers(1, 12)))
    return formats.as_graph(nx.convert_node_labels_to_integers(tree))


def test_leaves_are_counted_where_they_hang(tmp_path: Path) -> None:
    some = [discussion(seed) for seed in range(70)]
    model = GeoGAE(dim=3, latent_dim=24).fit(some[:40], validation=some[40:50])
    assert model.folds_ and model.slots_ < 9 < 40 < max(graph.n for graph in some)
    assert all_come_back(model, some[50:], tmp_path).folds_
    more = model.decode(model.encode(nx.star_graph(70)))  # more nodes than any, and one ball
    assert more.n == 71 and more.degrees.max() == 70
    with pytest.raises(GeoGAEError, match=r"up to 10 nodes\) have more than the 8 nodes .* \(leaves do not count\)"):
        model.encode(nx.path_graph(12))


def test_no_z_decodes_to_more_leaves_than_the_limit() -> None:
    some = [discussion(seed) for seed in range(30)]
    model = GeoGAE(dim=3, latent_dim=24).fit(some[:20], validation=some[20:])
    assert model.max_nodes_ == 2 * max(graph.n for graph in some)
    for factor in (1e3, 1e30):
        for decoding in model.decode(model.encode(some) * np.float32(factor), details=True):
            assert decoding.graph.n <= model.max_nodes_ and len(decoding.balls) == len(decoding.stop) <= model.slots_
            assert decoding.truncated
    standard = GeoGAE(dim=3, latent_dim=24, variational=True).fit(some[:20], validation=some[20:])
    for worst in (np.full(24, 3e38), np.resize([3e38, -1e38], 24)):  # balls and numbers of leaves overflow
        assert standard.decode(worst).n <= standard.max_nodes_
    whole = model.decode(model.encode(some[0]), details=True)
    assert not whole.truncated and whole.cloud.n < whole.graph.n


def test_more_leaves_than_can_come_back() -> None:
    some = [discussion(seed) for seed in range(30)]
    model = GeoGAE(dim=3, latent_dim=24).fit(some)
    limit = model.max_nodes_
    assert model.carries([nx.star_graph(limit - 1), nx.star_graph(limit)]) == [True, False]
    assert model.evaluate(nx.star_graph(limit))["too_large"] == 1
    with pytest.raises(
        GeoGAEError, match=rf"up to {limit + 1} nodes\) have more than the {limit} nodes that this model c"
    ):
        model.encode(nx.star_graph(limit))
    twins = GeoGAE(dim=4, latent_dim=16).fit([circles(seed) for seed in range(50)])
    limit = twins.max_nodes_
    assert twins.shares_ and twins.carries([nx.complete_graph(n) for n in (limit, limit + 1)]) == [True, False]


def test_the_shortest_z_with_leaves() -> None:
    model = GeoGAE(dim=3, latent_dim=2).fit([discussion(seed) for seed in range(20)])
    assert model.folds_ and model.encode(discussion(3)).shape == (2,)


def test_when_leaves_are_folded(graphs: list[Graph]) -> None:
    some = [discussion(seed) for seed in range(20)]
    assert not GeoGAE(dim=3, latent_dim=24).fit(graphs[:20]).folds_  # most nodes of molecules are no leaves
    assert GeoGAE(dim=3, latent_dim=24, leaves="folded").fit(graphs[:20]).folds_
    kept = GeoGAE(dim=5, latent_dim=24, leaves="kept").fit(some)
    assert not kept.folds_ and kept.slots_ == max(graph.n for graph in some)
    linear = GeoGAE("linear", dim=3, latent_dim=24, leaves="folded").fit(some)
    assert linear.folds_ and not GeoGAE("linear", dim=5, latent_dim=24).fit(some).folds_
    assert linear.decode(linear.encode(some[3])).n == some[3].n
    for change in ({"architecture": "sequential"}, {"order": "template"}, {"attributes": "encoded"}):
        with pytest.raises(GeoGAEError, match=f"leaves='folded' needs {next(iter(change))}='"):
            GeoGAE(leaves="folded").set_params(**change)


# -- parallel: the slots of a template ---


@pytest.fixture(scope="module")
def copies() -> list[Graph]:
    """One base, each copy with two edges changed and in a numbering of its own."""
    base, made = nx.gnm_random_graph(30, 90, seed=1), []
    for seed in range(16):
        random = np.random.default_rng(seed)
        changed = base.copy()
        changed.remove_edges_from([list(base.edges)[i] for i in random.choice(90, 2, replace=False)])
        changed.add_edges_from(random.choice(list(nx.non_edges(base)), 2, replace=False).tolist())
        made.append(formats.as_graph(changed).relabel(random.permutation(30)))
    return made


def test_template_there_and_back(copies: list[Graph], tmp_path: Path) -> None:
    model = GeoGAE(order="template", dim=7, latent_dim=40).fit(copies[:11], validation=copies[11:13])
    assert (
        model.score(copies[13:]) > 0.9 > GeoGAE(order="axis", dim=7, latent_dim=40).fit(copies[:13]).score(copies[13:])
    )
    z, random = model.encode(copies), np.random.default_rng(0)
    assert np.array_equal(np.stack([model.encode(graph) for graph in copies]), z)
    assert np.array_equal(model.encode([graph.relabel(random.permutation(30)) for graph in copies]), z)
    model.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [CONFIG, WEIGHTS]
    loaded = GeoGAE.load(tmp_path)
    assert np.array_equal(loaded.encode(copies), z) and loaded.decode(z) == model.decode(z)
    assert loaded.ordered(copies) == model.ordered(copies) and loaded.evaluate(copies) == model.evaluate(copies)


def test_template_needs_graphs_of_one_size(copies: list[Graph], graphs: list[Graph]) -> None:
    with pytest.raises(GeoGAEError, match=r"order='template' needs graphs of one size, not of \d+ to 28 nodes; use"):
        GeoGAE(order="template").fit(graphs)
    model = GeoGAE(order="template", dim=7, latent_dim=12).fit(copies[:3])
    for other in (graphs[0], Graph(31)):
        with pytest.raises(GeoGAEError, match="cannot be laid on the template of 30 nodes") as error:
            model.encode(other)
        assert "\n" not in str(error.value)


# -- parallel: real data ---


@pytest.mark.skipif("GEOGAE_DATA" not in os.environ, reason="GEOGAE_DATA does not name a folder with TU data")
def test_aids_within_seconds() -> None:
    try:
        molecules = datasets.load("AIDS")
    except GeoGAEError as error:
        pytest.skip(str(error))
    train, validation, _ = datasets.split(molecules, seed=0)
    model = GeoGAE.from_preset("aids").fit(train, validation=validation)
    [row] = model.history_
    assert row["validation_f1"] >= 0.99 and row["validation_exact"] >= 0.98 and row["validation_size_error"] == 0
    assert row["seconds"] < 20  # beside the clouds


# -- files ---


@pytest.fixture
def saved(model: GeoGAE, tmp_path: Path) -> Iterator[Path]:
    model.save(tmp_path / "model")
    yield tmp_path / "model"


def rewrite(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps({k: v for k, v in (config | changes).items() if v is not None}))


def test_save_and_load(model: GeoGAE, saved: Path, graphs: list[Graph]) -> None:
    assert sorted(path.name for path in saved.iterdir()) == [CONFIG, WEIGHTS]
    loaded = GeoGAE.load(saved)
    assert loaded.get_params() == model.get_params() and loaded.max_nodes_ == model.max_nodes_
    z = loaded.encode(graphs)
    assert np.array_equal(z, model.encode(graphs)) and loaded.decode(z) == model.decode(z)
    state = model.model_.state_dict()
    assert all(torch.equal(value, state[name]) for name, value in loaded.model_.state_dict().items())


def test_a_model_of_another_version(saved: Path) -> None:
    rewrite(saved, format=99, geogae="7.0", fitted=None, params=None)
    said = rf"has format 99, written by geogae 7\.0; .* reads format {FORMAT}: use that version"
    with pytest.raises(GeoGAEError, match=said):
        GeoGAE.load(saved)


@pytest.mark.parametrize("changes", [{"format": None}, {"params": None}, {"params": 3}, {"fitted": {"dim": "x"}}])
def test_a_damaged_config(saved: Path, changes: dict[str, Any]) -> None:
    rewrite(saved, **changes)
    with pytest.raises(GeoGAEError, match=r"config\.json is missing or damaged"):
        GeoGAE.load(saved)


@pytest.mark.parametrize("content", [None, b"", b'{"format": 1', b"[1]", b"\xff\xfe"])
def test_a_config_that_is_none(saved: Path, content: bytes | None) -> None:
    (saved / CONFIG).unlink() if content is None else (saved / CONFIG).write_bytes(content)
    with pytest.raises(GeoGAEError, match=r"config\.json is missing or damaged") as error:
        GeoGAE.load(saved)
    assert "\n" not in str(error.value)


def test_a_parameter_that_this_version_does_not_know(saved: Path) -> None:
    rewrite(saved, params={**TINY, "colour": "red"})
    with pytest.raises(GeoGAEError, match="'colour' is no parameter of GeoGAE"):
        GeoGAE.load(saved)


def test_weights_that_do_not_fit(saved: Path) -> None:
    rewrite(saved, params={**TINY, "decoder_hidden": 64})
    with pytest.raises(GeoGAEError, match=r"model\.safetensors does not fit config\.json beside it; restore both") as e:
        GeoGAE.load(saved)
    assert "\n" not in str(e.value)


def test_damaged_or_missing_weights(saved: Path) -> None:
    (saved / WEIGHTS).write_bytes((saved / WEIGHTS).read_bytes()[:-100])
    with pytest.raises(GeoGAEError, match=r"model\.safetensors is not a whole geogae checkpoint"):
        GeoGAE.load(saved)
    (saved / WEIGHTS).unlink()
    with pytest.raises(GeoGAEError, match=r"model\.safetensors is missing"):
        GeoGAE.load(saved)
    with pytest.raises(GeoGAEError, match="is no folder; a saved model is a folder with"):
        GeoGAE.load(saved / "nope")


def test_a_run_folder_is_a_saved_model(graphs: list[Graph], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    model = GeoGAE(**TINY).fit(graphs, run=tmp_path)
    assert np.array_equal(GeoGAE.load(tmp_path).encode(graphs), model.encode(graphs))
    again = clone(model).fit(graphs, run=tmp_path, resume=True)
    assert again.history_ == model.history_
    with pytest.raises(GeoGAEError, match="was started with other lr"):
        clone(model).set_params(lr=0.5).fit(graphs, run=tmp_path, resume=True)
    with pytest.raises(GeoGAEError, match="is of another model"):
        clone(model).set_params(decoder_hidden=64).fit(graphs, run=tmp_path, resume=True)
    assert not caplog.records
