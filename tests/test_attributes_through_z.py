"""Node and edge attributes through GeoGAE: ignored, encoded, decoded, by each architecture and from files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from attributed import (
    KINDS,
    MODELS,
    OVERFITTED,
    SLOTS,
    TINY,
    changed,
    columns,
    dressed,
    fitted,
    known,
    made,
    ordered,
    schema_of,
    scores_of,
    several,
    shuffled,
)
from geogae import GeoGAE, Graph, formats, metrics
from geogae.autoencoders.schema import Schema
from geogae.autoencoders.transformer import sequential
from geogae.training.loop import METRICS
from test_estimator import KEYS


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Models this small are faster so, and much faster beside other work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def models() -> dict[str, GeoGAE]:
    """Of each architecture, one that decodes attributes; the sequential one has learned its graphs by heart."""
    graphs = several()
    overfitted = GeoGAE(**OVERFITTED, attributes="decoded").fit(graphs, validation=graphs)
    return {name: fitted(name, graphs) for name in SLOTS} | {"sequential": overfitted}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest, models: dict[str, GeoGAE]) -> GeoGAE:
    return models[request.param]


# -- there and back ---

DECODE = """
import sys, numpy as np
from geogae import GeoGAE, formats
for name in sys.argv[1:]:
    formats.write(GeoGAE.load(name).decode(np.load(f"{name}.npy")), f"{name}.jsonl")
"""


@pytest.fixture(scope="module")
def elsewhere(models: dict[str, GeoGAE], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where another process has decoded z.npy: it has models and z, and no graph, no cloud and no cache."""
    folder = tmp_path_factory.mktemp("elsewhere")
    for name, model in models.items():
        model.save(folder / name)
        np.save(folder / f"{name}.npy", model.encode(several()))
    alone = os.environ | {"GEOGAE_CACHE": str(folder / "none")}
    subprocess.run([sys.executable, "-c", DECODE, *models], check=True, env=alone, cwd=folder)
    return folder


def test_attributes_come_back_in_another_process_through_z_alone(model: GeoGAE, elsewhere: Path) -> None:
    graphs = several()
    true, back = ordered(model, graphs), formats.read(elsewhere / f"{model.architecture}.jsonl")
    assert len({graph.n for graph in graphs}) > 2 and len(back) == 6
    for wanted, found in zip(true, back, strict=True):
        assert found.n == wanted.n and found.edges.tolist() == wanted.edges.tolist()
        for field in ("node_categorical", "edge_categorical"):
            assert getattr(found, field).tolist() == getattr(wanted, field).tolist()
        for field in ("node_continuous", "edge_continuous"):
            assert getattr(found, field) == pytest.approx(getattr(wanted, field), abs=0.1)
    scores = metrics.evaluate(true, back) | metrics.attributes(true, back)
    assert [scores[name] for name in ("f1", "exact", "node_f1", "edge_f1", "whole")] == [1] * 5
    assert max(scores["node_rmse"], scores["edge_rmse"]) < 0.02


@pytest.mark.parametrize("name", SLOTS)
def test_unseen_graphs_come_back_with_numbers_for_all(name: str) -> None:
    """z has a number for each of a slot: then nothing needs to be like what was seen."""
    graphs = several("categories", 40)
    model = fitted(name, graphs[:20], latent_dim=200)
    unseen = known(model, graphs[20:])
    scores = model.evaluate(unseen)
    assert len(unseen) > 10 and {scores[key] for key in ("f1", "exact", "node_f1", "edge_f1", "whole")} == {1}


def test_scores_are_those_of_what_comes_back(model: GeoGAE) -> None:
    graphs = [*several(), *map(made, range(50, 53))]
    graphs = known(model, graphs)
    scores, pairs = model.evaluate(graphs), model.reconstruct(graphs)
    expected = metrics.attributes(*zip(*pairs, strict=True)) | metrics.evaluate(*zip(*pairs, strict=True))
    assert expected.items() <= scores.items() and scores.keys() == KEYS | scores_of("all")
    assert [back for _, back in pairs] == model.decode(model.encode(graphs))
    assert model.score(graphs) == scores["f1"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_decoded(name: str, kind: str) -> None:
    graphs = several(kind)
    model = fitted(name, graphs)
    assert schema_of(model) == Schema.of(2 * graphs)  # training and validation
    scores = model.evaluate(graphs)
    assert scores.keys() == KEYS | scores_of(kind)
    assert {f"validation_{key}" for key in scores_of(kind)} < model.history_[-1].keys()
    if name in SLOTS:
        assert {scores[key] for key in scores if key.endswith(("f1", "exact", "whole"))} == {1}
        assert all(scores[key] < 1e-3 for key in scores if key.endswith("rmse"))
    for back in model.decode(model.encode(graphs)):
        assert columns(back) == columns(graphs[0])


@pytest.mark.parametrize("name", MODELS)
def test_encoded(name: str) -> None:
    """Attributes are in z, and do not come out of it."""
    graphs = several()
    model = fitted(name, graphs, attributes="encoded")
    assert schema_of(model) == Schema.of(2 * graphs) and model.evaluate(graphs).keys() == KEYS
    z = model.encode(graphs)
    assert not any(graph.attributed for graph in model.decode(z))
    for graph, own in zip(graphs, z, strict=True):
        for field, other in (
            ("node_categorical", np.roll(np.unique(graph.node_categorical), 1)[0]),
            ("node_continuous", 9.0),
            ("edge_categorical", -1),
            ("edge_continuous", -9.0),
        ):
            table = getattr(graph, field).copy()
            table[:, 0] = other
            if not np.array_equal(table, getattr(graph, field)):
                assert np.abs(model.encode(changed(graph, **{field: table})) - own).max() > 1e-4, field
    if name == "sequential":
        assert not {"loss_nfeat", "loss_efeat"} & model.history_[-1].keys()


@pytest.mark.parametrize("name", MODELS)
def test_ignored(name: str) -> None:
    graphs = several()
    plain = [graph.topology() for graph in graphs]
    model = fitted(name, graphs, attributes="ignored")
    assert schema_of(model) is None and model.evaluate(graphs).keys() == KEYS
    z = model.encode(graphs)
    assert z == pytest.approx(model.encode(plain), abs=1e-6)
    assert z == pytest.approx(fitted(name, plain, attributes="ignored").encode(plain), abs=1e-6)
    assert not any(graph.attributed for graph in model.decode(z))
    strange = changed(graphs[0], node_categorical=np.full((graphs[0].n, 5), 77), edge_continuous=None)
    assert model.why_not(strange) is None and model.encode(strange) == pytest.approx(z[0], abs=1e-6)


# -- z depends on the graph alone ---


def alike(n: int, pairs: Any, seed: int) -> Graph:
    return dressed(n, pairs, seed, **KINDS["all"])


SYMMETRIC = [  # where attributes alone distinguish nodes
    alike(6, [(i, (i + 1) % 6) for i in range(6)], 0),
    alike(5, [(0, i) for i in range(1, 5)], 1),
    alike(4, [(i, j) for i in range(4) for j in range(i)], 2),
    alike(5, [], 3),
    alike(6, [(0, 1), (2, 3), (4, 5)], 4),
]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("mode", ["encoded", "decoded"])
def test_a_relabelled_graph_has_the_same_vector(name: str, mode: str) -> None:
    graphs = [*several(), *SYMMETRIC]
    model = fitted(name, graphs, attributes=mode, epochs=4)
    z = model.encode(graphs)
    for seed in range(4):
        assert model.encode(shuffled(graphs, seed)) == pytest.approx(z, abs=1e-5)
    assert ordered(model, shuffled(graphs)) == ordered(model, graphs)


def test_batched_is_single(model: GeoGAE) -> None:
    graphs = several()
    z = model.encode(graphs)
    assert np.stack([model.encode(graph) for graph in graphs]) == pytest.approx(z, abs=1e-4)
    assert model.encode(graphs[::-1]) == pytest.approx(z[::-1], abs=1e-4)
    together = model.decode(z)
    for row, back in zip(z, together, strict=True):
        alone = model.decode(row)
        assert metrics.same_categories(alone, back)
        for field in ("node_continuous", "edge_continuous"):
            assert getattr(alone, field) == pytest.approx(getattr(back, field), abs=1e-3)
    assert model.encode([]).shape == (0, z.shape[1]) and model.decode(z[:0]) == []


def test_any_vector_decodes_to_known_categories(model: GeoGAE) -> None:
    schema = schema_of(model)
    assert schema is not None
    random, width = np.random.default_rng(0), model.latent_dim
    z = np.concatenate([random.normal(scale=scale, size=(8, width)) for scale in (0.1, 1, 30, 1e4)])
    z[:, 0] = np.where(np.arange(len(z)) % 2, z[:, 0], 7)
    assert sum(graph.n > 1 for graph in model.decode(z)) > 4
    for graph in model.decode(z):
        assert schema.unknown(graph) is None and columns(graph) == [2, 2, 2, 1]


@pytest.mark.parametrize("how", [{"order": "axis"}, {"consensus": True}], ids=str)
def test_other_orders(how: dict[str, Any], tmp_path: Path) -> None:
    pairs = [(i, j) for i in range(7) for j in range(i) if (i * j + i) % 3 == 1 or i == j + 1]
    graphs = [alike(7, pairs[: len(pairs) - seed % 3], seed) for seed in range(6)]
    model = fitted("refined", graphs, **how, latent_dim=48)
    scores = model.evaluate(shuffled(graphs))
    assert (scores["exact"], scores["whole"]) == (1, 1)
    assert model.encode(shuffled(graphs)) == pytest.approx(model.encode(graphs), abs=1e-5)
    model.save(tmp_path)
    assert GeoGAE.load(tmp_path).evaluate(graphs) == model.evaluate(graphs)


# -- variants ---


def test_variational(tmp_path: Path) -> None:
    graphs = several(count=12)
    model = fitted("sequential", graphs, variational=True, kl_weight=1e-4, kl_epochs=1)
    assert np.array_equal(model.encode(graphs), model.encode(graphs))  # μ, not a draw
    scores, schema = model.evaluate(graphs), schema_of(model)
    assert scores.keys() == KEYS | scores_of("all") and model.history_[-1]["loss_kl"] > 0 and schema is not None
    for drawn in model.decode(np.random.default_rng(0).normal(size=(9, 32))):
        assert schema.unknown(drawn) is None and schema.why_not(drawn) is None
    model.save(tmp_path)
    assert GeoGAE.load(tmp_path).evaluate(graphs) == scores


def test_bundles_of_several_nodes() -> None:
    graphs = several(count=12)
    model = fitted("sequential", graphs, bundle=3, epochs=20)
    assert {graph.n % 3 for graph in graphs} == {0, 1, 2}
    z = model.encode(graphs)
    assert z == pytest.approx(np.stack([model.encode(graph) for graph in graphs]), abs=1e-4)
    assert model.history_[-1]["loss_nfeat"] < model.history_[0]["loss_nfeat"]
    assert [columns(back) for back in model.decode(z)] == [[2, 2, 2, 1]] * 12


def test_the_weight_of_features() -> None:
    """L_total has λ_feat (L_nfeat + L_efeat); with none, the heads stay as they began."""
    graphs, rows = several(), {}
    for weight in (0.0, 1.0, 3.0):
        model = fitted("sequential", graphs, feature_weight=weight, epochs=1, batch_size=6)
        [rows[weight]] = model.history_[:1]
    parts = rows[0.0]["loss_nfeat"] + rows[0.0]["loss_efeat"]
    assert parts > 0.5 and [rows[w]["loss_nfeat"] for w in rows] == pytest.approx([rows[0.0]["loss_nfeat"]] * 3)
    for weight, row in rows.items():
        assert row["loss_total"] == pytest.approx(rows[0.0]["loss_total"] + weight * parts, rel=1e-4)


def test_sequential_weights_are_chosen_by_attributes_too() -> None:
    """By the mean of all three F1s, which is no score of its own."""
    graphs = several("categories")
    model = fitted("sequential", graphs, epochs=30, validations=10)
    named = [f"validation_{name}" for name in ("f1", "node_f1", "edge_f1")]
    best = max(np.mean([row[name] for name in named]) for row in model.history_)
    scores = model.evaluate(graphs)
    assert np.mean([scores[name] for name in ("f1", "node_f1", "edge_f1")]) == pytest.approx(best)
    assert max(row["validation_choice"] for row in model.history_) == pytest.approx(best) and "choice" not in scores


def test_resumed_is_uninterrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs, calls = several(), iter(range(1, 1000))
    asked: dict[str, Any] = {**TINY, "epochs": 6, "validations": 6, "attributes": "decoded", "variational": True}
    inner = sequential.sequential_objective

    def interrupt(*given: Any, **named: Any) -> Any:
        if next(calls) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return inner(*given, **named)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(sequential, "sequential_objective", interrupt)
        GeoGAE(**asked).fit(graphs, validation=graphs, run=tmp_path / "a")
    resumed, whole = (
        GeoGAE(**asked).fit(graphs, validation=graphs, run=tmp_path / name, resume=name == "a") for name in "ab"
    )

    def timeless(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{name: value for name, value in row.items() if not name.endswith("seconds")} for row in rows]

    assert timeless(resumed.history_) == timeless(whole.history_) and len(whole.history_) == 6
    assert schema_of(resumed) == schema_of(whole) and np.array_equal(resumed.encode(graphs), whole.encode(graphs))
    loaded = GeoGAE.load(tmp_path / "a")
    assert loaded.evaluate(graphs) == whole.evaluate(graphs)
    rows = [json.loads(line) for line in (tmp_path / "a" / METRICS).read_text().splitlines()]
    assert rows == resumed.history_


@pytest.mark.parametrize("name", MODELS)
def test_in_a_pipeline(name: str) -> None:
    graphs = several(count=12)
    pipeline = make_pipeline(GeoGAE(**MODELS[name]), StandardScaler())
    pipeline.set_params(geogae__attributes="decoded")
    assert pipeline.fit_transform(graphs).shape == (12, 32)
    back = pipeline.inverse_transform(pipeline.transform(graphs))
    assert [columns(graph) for graph in back] == [[2, 2, 2, 1]] * 12


def test_fitting_again_forgets(tmp_path: Path) -> None:
    """A model that is fitted once with attributes and once without knows none, also after saving."""
    graphs = several()
    model = fitted("refined", graphs)
    model.set_params(attributes="ignored").fit(graphs)
    assert schema_of(model) is None and not model.decode(model.encode(made(0))).attributed
    model.save(tmp_path)
    assert "schema" not in (tmp_path / "config.json").read_text()
    assert np.array_equal(GeoGAE.load(tmp_path).encode(graphs), model.encode(graphs))
