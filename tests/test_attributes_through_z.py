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
from geogae.attributes import Schema
from geogae.saved import CONFIG, WEIGHTS
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from geogae import GeoGAE, GeoGAEError, Graph, estimator, formats, metrics
from geogae.graph import ATTRIBUTES
from geogae.training.checkpoint import load_checkpoint, save_checkpoint
from geogae.training.loop import METRICS
from test_estimator import KEYS, rewrite

# -- graphs that are made up ---

KINDS: dict[str, dict[str, Any]] = {
    "all": {"nodes": (3, 2), "node_numbers": 2, "edges": (2, 3), "edge_numbers": 1},
    "categories": {"nodes": (3, 2), "edges": (4,)},
    "numbers": {"node_numbers": 2, "edge_numbers": 2},
    "nodes": {"nodes": (4, 3), "node_numbers": 1},
    "edges": {"edges": (3, 2), "edge_numbers": 1},
}
WIDTHS = ("nodes", "node_numbers", "edges", "edge_numbers")


def dressed(n: int, pairs: Any, seed: int, *, nodes: Any = (), node_numbers: int = 0, edges: Any = (),
            edge_numbers: int = 0, name: str | None = None) -> Graph:  # fmt: skip
    """Categories such as -1, 2, 5, that are no codes; numbers about 2, with a deviation of 3."""
    random = np.random.default_rng(seed)
    pairs = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)

    def categories(rows: int, counts: tuple[int, ...]) -> Any:
        return np.column_stack([3 * random.integers(0, c, rows) - 1 for c in counts]) if counts else None

    def numbers(rows: int, columns: int) -> Any:
        return random.normal(2, 3, (rows, columns)) if columns else None

    return Graph(
        n,
        pairs,
        node_categorical=categories(n, nodes),
        node_continuous=numbers(n, node_numbers),
        edge_categorical=categories(len(pairs), edges),
        edge_continuous=numbers(len(pairs), edge_numbers),
        name=name,
    )


def made(seed: int, kind: str = "all") -> Graph:
    """A tree of 4 to 8 nodes with up to two more edges."""
    random = np.random.default_rng(seed)
    n = int(random.integers(4, 9))
    pairs = {(int(random.integers(j)), j) for j in range(1, n)}
    pairs |= {tuple(sorted(random.choice(n, 2, replace=False).tolist())) for _ in range(2)}
    return dressed(n, sorted(pairs), seed, **KINDS[kind], name=f"made/{seed}")


def several(kind: str = "all", count: int = 6) -> list[Graph]:
    return [made(seed, kind) for seed in range(count)]


def changed(graph: Graph, **fields: Any) -> Graph:
    return Graph(graph.n, graph.edges, **{f: getattr(graph, f) for f in (*ATTRIBUTES, "name")} | fields)


def shuffled(graphs: list[Graph], seed: int = 0) -> list[Graph]:
    random = np.random.default_rng(seed)
    return [graph.relabel(random.permutation(graph.n)) for graph in graphs]


# -- models that are small ---

PARALLEL: dict[str, Any] = {"architecture": "parallel", "dim": 4, "latent_dim": 32}
LINEAR: dict[str, Any] = {"architecture": "linear", "dim": 4, "latent_dim": 32}
TINY: dict[str, Any] = {
    "architecture": "sequential", "dim": 4, "token_dim": 16, "latent_dim": 32, "encoder_hidden": 32,
    "encoder_layers": 2, "encoder_heads": 2, "decoder_hidden": 32, "decoder_layers": 1, "passes": 2,
    "batch_size": 4, "epochs": 8, "validations": 2, "lr": 5e-3,
}  # fmt: skip
OVERFITTED: dict[str, Any] = {
    **TINY, "token_dim": 64, "latent_dim": 128, "encoder_hidden": 128, "decoder_hidden": 128,
    "decoder_layers": 2, "decoder_heads": 2, "batch_size": 6, "epochs": 300, "validations": 1, "lr": 3e-3,
    "rho": 2.0,
}  # fmt: skip
COUNTED = KEYS | {"unknown_attributes"}  # scores of a model that reads attributes
MODELS = {"parallel": PARALLEL, "linear": LINEAR, "sequential": TINY}
SLOTS = ("parallel", "linear")


def fitted(name: str, graphs: list[Graph], **changes: Any) -> GeoGAE:
    return GeoGAE(**{**MODELS[name], "attributes": "decoded", **changes}).fit(graphs, validation=graphs)


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


def scores_of(kind: str) -> set[str]:
    names = ("node_f1", "node_rmse", "edge_f1", "edge_rmse")
    return {score for score, width in zip(names, WIDTHS, strict=True) if KINDS[kind].get(width)} | {"whole"}


def columns(graph: Graph) -> list[int]:
    blocks = [getattr(graph, field) for field in ATTRIBUTES]
    return [0 if block is None else block.shape[1] for block in blocks]


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
    if model.architecture == "sequential":
        assert model.encoder_layers >= 2
    true, back = model.ordered(graphs), formats.read(elsewhere / f"{model.architecture}.jsonl")
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
def test_unseen_graphs_come_back_with_room_for_all(name: str) -> None:
    """z has a number for each that a slot carries: then nothing needs to be like what was seen."""
    graphs = several("categories", 40)
    model = fitted(name, graphs[:20], latent_dim=200)
    unseen = [graph for graph, reads in zip(graphs[20:], model.reads(graphs[20:]), strict=True) if reads]
    scores = model.evaluate(unseen)
    assert len(unseen) > 10 and {scores[key] for key in ("f1", "exact", "node_f1", "edge_f1", "whole")} == {1}


def test_scores_are_those_of_what_comes_back(model: GeoGAE) -> None:
    graphs = [*several(), *map(made, range(50, 53))]
    graphs = [graph for graph, reads in zip(graphs, model.reads(graphs), strict=True) if reads]
    scores, pairs = model.evaluate(graphs), model.reconstruct(graphs)
    expected = metrics.attributes(*zip(*pairs, strict=True)) | metrics.evaluate(*zip(*pairs, strict=True))
    assert expected.items() <= scores.items() and scores.keys() == COUNTED | scores_of("all")
    assert [back for _, back in pairs] == model.decode(model.encode(graphs))
    assert model.score(graphs) == scores["f1"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_decoded(name: str, kind: str) -> None:
    graphs = several(kind)
    model = fitted(name, graphs)
    assert model.schema_ == Schema.of(2 * graphs)  # training and validation
    scores = model.evaluate(graphs)
    assert scores.keys() == COUNTED | scores_of(kind)
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
    assert model.schema_ == Schema.of(2 * graphs) and model.evaluate(graphs).keys() == COUNTED
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
    assert model.schema_ is None and model.payload_ is None and model.evaluate(graphs).keys() == KEYS
    z = model.encode(graphs)
    assert z == pytest.approx(model.encode(plain), abs=1e-6)
    assert z == pytest.approx(fitted(name, plain, attributes="ignored").encode(plain), abs=1e-6)
    assert not any(graph.attributed for graph in model.decode(z))
    strange = changed(graphs[0], node_categorical=np.full((graphs[0].n, 5), 77), edge_continuous=None)
    assert model.reads([strange]) == [True] and model.encode(strange) == pytest.approx(z[0], abs=1e-6)


# -- z depends on the graph alone ---


def alike(n: int, pairs: Any, seed: int) -> Graph:
    return dressed(n, pairs, seed, **KINDS["all"])


SYMMETRIC = [  # where attributes alone tell nodes apart
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
    assert model.ordered(shuffled(graphs)) == model.ordered(graphs)


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
    schema = model.schema_
    assert schema is not None
    random, width = np.random.default_rng(0), model.latent_dim
    z = np.concatenate([random.normal(scale=scale, size=(8, width)) for scale in (0.1, 1, 30, 1e4)])
    z[:, 0] = np.where(np.arange(len(z)) % 2, z[:, 0], 7)
    assert sum(graph.n > 1 for graph in model.decode(z)) > 4
    for graph in model.decode(z):
        schema.check(graph)
        assert columns(graph) == [2, 2, 2, 1]


@pytest.mark.parametrize("order", ["axis", "template"])
def test_other_orders(order: str, tmp_path: Path) -> None:
    """Of a template's slots, each has a node of its own for all graphs."""
    pairs = [(i, j) for i in range(7) for j in range(i) if (i * j + i) % 3 == 1 or i == j + 1]
    graphs = [alike(7, pairs[: len(pairs) - seed % 3], seed) for seed in range(6)]
    model = fitted("parallel", graphs, order=order, latent_dim=48)
    scores = model.evaluate(shuffled(graphs))
    assert (scores["exact"], scores["whole"]) == (1, 1)
    assert model.encode(shuffled(graphs)) == pytest.approx(model.encode(graphs), abs=1e-5)
    model.save(tmp_path)
    assert GeoGAE.load(tmp_path).evaluate(graphs) == model.evaluate(graphs)


# -- small graphs ---


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ["all", "nodes", "edges"])
def test_a_graph_without_edges(name: str, kind: str) -> None:
    """It needs no table of edge attributes, and comes back beside others, whether the model was fitted on it or not."""
    apart, single = (dressed(n, [], 0, **KINDS[kind]) for n in (4, 1))
    bare = changed(apart, edge_categorical=None, edge_continuous=None)
    model = fitted(name, [*several(kind), apart, single], latent_dim=64, epochs=2)
    assert model.reads([apart, bare, single]) == [True] * 3
    assert model.encode(bare) == pytest.approx(model.encode(apart), abs=1e-6)
    if name in SLOTS:
        for graph in (apart, bare, single):
            [(true, back)] = model.reconstruct(graph)
            assert back is not None and metrics.same_categories(true, back)
    without = fitted(name, several(kind), latent_dim=64, epochs=2)
    assert without.encode([apart, bare]).shape == (2, 64) and without.evaluate([apart, bare])["unknown_attributes"] == 0


@pytest.mark.parametrize("name", MODELS)
def test_graphs_that_all_have_no_edges(name: str) -> None:
    graphs = [dressed(n, [], n, **KINDS["nodes"]) for n in (1, 2, 5)]
    model = fitted(name, graphs, epochs=2, dim=3)
    scores = model.evaluate(graphs)
    assert scores.keys() == COUNTED | scores_of("nodes")
    if name in SLOTS:
        assert (scores["exact"], scores["node_f1"], scores["whole"]) == (1, 1, 1)


@pytest.mark.parametrize("name", MODELS)
def test_one_graph_is_enough(name: str) -> None:
    for graph in (made(3), dressed(1, [], 0, **KINDS["nodes"])):
        model = fitted(name, [graph], epochs=2)
        assert model.encode(graph).shape == (32,)
        if name in SLOTS:
            assert model.evaluate(graph)["whole"] == 1


@pytest.mark.parametrize("name", MODELS)
def test_columns_that_do_not_vary(name: str) -> None:
    graphs = [
        changed(
            graph,
            node_categorical=np.full((graph.n, 1), 7),
            node_continuous=np.full((graph.n, 1), 2.5),
            edge_categorical=np.full((len(graph.edges), 2), -3),
            edge_continuous=None,
        )
        for graph in several()
    ]
    model = fitted(name, graphs, epochs=2)
    for back in model.decode(model.encode(graphs)):
        assert (back.node_categorical == 7).all() and (back.edge_categorical == -3).all()
    if name in SLOTS:
        assert model.evaluate(graphs)["node_rmse"] < 1e-3


# -- what cannot be encoded ---


def test_an_unseen_category(model: GeoGAE, caplog: pytest.LogCaptureFixture) -> None:
    graph = made(2)
    for kind, column, valid in (("node", 0, "-1, 2, 5"), ("node", 1, "-1, 2"), ("edge", 1, "-1, 2, 5")):
        table = getattr(graph, f"{kind}_categorical").copy()
        table[1, column] = 4
        strange = changed(graph, **{f"{kind}_categorical": table})
        said = f"graph 'made/2': {kind}_categorical column {column} holds 4, which no graph that the model was fitted"
        with pytest.raises(GeoGAEError) as error:
            model.encode([made(0), strange])
        assert str(error.value).startswith(said) and "\n" not in str(error.value)
        assert f"valid are {valid}; leave the graph out, or fit with it" in str(error.value)
        with pytest.raises(GeoGAEError):
            model.transform(strange)
        assert not caplog.records
        assert model.reads([made(0), strange]) == model.carries([made(0), strange]) == [True, False]
        few = [made(0), strange, made(1)]
        alone, scores = model.evaluate([made(0), made(1)]), model.evaluate(few)
        assert len(caplog.messages) == 1 and caplog.messages[0].startswith(f"1 of 3 graphs are lost, the first: {said}")
        caplog.clear()
        share = (made(0).n + made(1).n) / sum(g.n for g in few)
        for score in ("f1", "node_f1", "edge_f1"):
            assert scores[score] == pytest.approx(share * alone[score])
        assert scores["whole"] == pytest.approx(alone["whole"] * 2 / 3)
        assert (scores["unknown_attributes"], scores["too_large"], alone["unknown_attributes"]) == (1, 0, 0)
        assert [back is None for _, back in model.reconstruct(few)] == [False, True, False]
        caplog.clear()
    nothing = model.evaluate(strange)
    assert (nothing["f1"], nothing["node_f1"], nothing["edge_f1"], nothing["whole"]) == (0, 0, 0, 0)


def test_missing_and_other_columns(model: GeoGAE) -> None:
    graph = made(2)
    for field, width in zip(ATTRIBUTES, (2, 2, 2, 1), strict=True):
        rows = graph.n if field.startswith("node") else len(graph.edges)
        for found, table in ((0, None), (3, np.zeros((rows, 3), int))):
            strange = changed(graph, **{field: table})
            with pytest.raises(GeoGAEError) as error:
                model.encode(strange)
            said = f"graph 'made/2' has {found} {field} columns; the model was fitted on graphs with {width}; give"
            assert str(error.value).startswith(said) and "\n" not in str(error.value)
            assert model.reads([strange]) == [False] and model.evaluate(strange)["f1"] == 0
    with pytest.raises(GeoGAEError, match="a graph of 4 nodes has 0 node_categorical columns"):
        model.encode(Graph(4, [(0, 1)]))


@pytest.mark.parametrize("name", SLOTS)
def test_a_node_with_too_many_earlier_neighbours(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """A slot has places for as many edges as training and validation graphs needed."""
    paths = [dressed(n, [(i, i + 1) for i in range(n - 1)], n, **KINDS["edges"]) for n in range(3, 9)]
    dense = dressed(7, [(i, j) for i in range(7) for j in range(i)], 0, **KINDS["edges"], name="dense")
    model = fitted(name, paths)
    said = r"dense has a node with edges to 6 earlier ones; this model carries attributes of \d; leave it out, or train"
    with pytest.raises(GeoGAEError, match=said):
        model.encode([*paths, dense])
    assert model.evaluate([*paths, dense])["unknown_attributes"] == 1 and "1 of 7 graphs are lost" in caplog.text
    whole = GeoGAE(**MODELS[name], attributes="decoded").fit(paths, validation=[*paths, dense])
    assert whole.reads([*paths, dense]) == [True] * 7
    nodes = fitted(name, [changed(g, edge_categorical=None, edge_continuous=None, node_continuous=np.ones((g.n, 1)))
                          for g in paths])  # fmt: skip
    assert nodes.reads([Graph(7, dense.edges, node_continuous=np.ones((7, 1)))]) == [True]  # no edge has anything


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("mode", ["encoded", "decoded"])
def test_there_must_be_attributes(name: str, mode: str) -> None:
    plain = [graph.topology() for graph in several()]
    with pytest.raises(GeoGAEError) as error:
        fitted(name, plain, attributes=mode)
    assert str(error.value) == "the graphs carry no attributes; give graphs that do, or attributes='ignored'"
    with pytest.raises(GeoGAEError) as error:
        fitted(name, [*several("categories"), *plain[:1]], attributes=mode)
    said = f"graphs have 0 or 2 node_categorical columns (a graph of {plain[0].n} nodes has 0); all need the same"
    assert str(error.value).startswith(said) and "\n" not in str(error.value)
    with pytest.raises(GeoGAEError, match="graphs have 0 or 1 edge_continuous columns"):
        GeoGAE(**MODELS[name], attributes=mode).fit(several("all"), validation=changed(made(3), edge_continuous=None))


def test_edge_attributes_need_a_second_layer() -> None:
    said = "encoder_layers=1 leaves no layer in which nodes see their edges; edge attributes need at least 2"
    with pytest.raises(GeoGAEError, match=said):
        fitted("sequential", several("edges"), encoder_layers=1)
    assert fitted("sequential", several("nodes"), encoder_layers=1, epochs=1).encode(made(0, "nodes")).shape == (32,)


# -- variants ---


@pytest.mark.parametrize("name", MODELS)
def test_variational(name: str, tmp_path: Path) -> None:
    graphs = several(count=12)
    model = fitted(name, graphs, variational=True, kl_weight=1e-4, kl_epochs=1)
    z = model.encode(graphs)
    assert np.array_equal(z, model.encode(graphs))  # μ, not a draw
    scores = model.evaluate(graphs)
    assert scores.keys() == COUNTED | scores_of("all")
    if name in SLOTS:
        assert (scores["exact"], scores["whole"]) == (1, 1) and np.abs(z[:, 0].mean()) < 1e-4
    else:
        assert model.history_[-1]["loss_kl"] > 0
    assert model.schema_ is not None
    for drawn in model.decode(np.random.default_rng(0).normal(size=(9, 32))):
        model.schema_.check(drawn)
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
    inner = estimator.sequential_objective

    def interrupt(*given: Any, **named: Any) -> Any:
        if next(calls) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return inner(*given, **named)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(estimator, "sequential_objective", interrupt)
        GeoGAE(**asked).fit(graphs, validation=graphs, run=tmp_path / "a")
    resumed, whole = (
        GeoGAE(**asked).fit(graphs, validation=graphs, run=tmp_path / name, resume=name == "a") for name in "ab"
    )

    def timeless(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{name: value for name, value in row.items() if not name.endswith("seconds")} for row in rows]

    assert timeless(resumed.history_) == timeless(whole.history_) and len(whole.history_) == 6
    assert resumed.schema_ == whole.schema_ and np.array_equal(resumed.encode(graphs), whole.encode(graphs))
    loaded = GeoGAE.load(tmp_path / "a")
    assert loaded.evaluate(graphs) == whole.evaluate(graphs)
    rows = [json.loads(line) for line in (tmp_path / "a" / METRICS).read_text().splitlines()]
    assert rows == resumed.history_


def test_conventions(model: GeoGAE) -> None:
    copy = clone(model)
    assert copy.get_params() == model.get_params() and copy.attributes == "decoded" and not hasattr(copy, "schema_")
    assert GeoGAE(attributes="encoded", feature_weight=0.5).get_params()["feature_weight"] == 0.5
    assert repr(GeoGAE(attributes="encoded")) == "GeoGAE(attributes='encoded')"
    graphs = several()
    assert np.array_equal(model.transform(graphs[0])[0], model.encode(graphs[0]))
    assert model.inverse_transform(model.transform(graphs)) == model.decode(model.encode(graphs))


@pytest.mark.parametrize("name", MODELS)
def test_in_a_pipeline(name: str) -> None:
    graphs = several(count=12)
    pipeline = make_pipeline(GeoGAE(**MODELS[name]), StandardScaler())
    pipeline.set_params(geogae__attributes="decoded", geogae__epochs=1)
    assert pipeline.fit_transform(graphs).shape == (12, 32)
    back = pipeline.inverse_transform(pipeline.transform(graphs))
    assert [columns(graph) for graph in back] == [[2, 2, 2, 1]] * 12


def test_fitting_again_forgets(tmp_path: Path) -> None:
    """A model that is fitted once with attributes and once without knows none, also after saving."""
    graphs = several()
    model = fitted("parallel", graphs)
    model.set_params(attributes="ignored").fit(graphs)
    assert model.schema_ is None and model.payload_ is None and not model.decode(model.encode(made(0))).attributed
    model.save(tmp_path)
    assert "schema" not in json.loads((tmp_path / CONFIG).read_text())["fitted"]
    assert np.array_equal(GeoGAE.load(tmp_path).encode(graphs), model.encode(graphs))


# -- files ---


def test_save_and_load(model: GeoGAE, tmp_path: Path) -> None:
    graphs = several()
    model.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [CONFIG, WEIGHTS]
    loaded = GeoGAE.load(tmp_path)
    assert loaded.schema_ == model.schema_ == Schema.of(2 * graphs) and loaded.get_params() == model.get_params()
    z = model.encode(graphs)
    assert np.array_equal(loaded.encode(graphs), z) and loaded.decode(z) == model.decode(z)
    assert loaded.evaluate(graphs) == model.evaluate(graphs)
    old, new = model.payload_, loaded.payload_
    assert (old is None) == (new is None) == (model.architecture == "sequential")
    if old is not None and new is not None:
        assert (new.edges, new.smooth, new.loose, new.width, new.riders) == (
            old.edges, old.smooth, old.loose, old.width, old.riders,
        )  # fmt: skip
        for mine, its in zip((new.surprises, *new.averages), (old.surprises, *old.averages), strict=True):
            for one, other in [(vars(mine), vars(its))] if hasattr(mine, "codes") else [({"": mine}, {"": its})]:
                assert one.keys() == other.keys()
                assert all(np.array_equal(one[key], other[key]) for key in one)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again" / CONFIG).read_text() == (tmp_path / CONFIG).read_text()
    one, other = (load_checkpoint(folder / WEIGHTS)[0] for folder in (tmp_path, tmp_path / "again"))
    assert one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


def fails(folder: Path, said: str) -> None:
    with pytest.raises(GeoGAEError, match=said) as error:
        GeoGAE.load(folder)
    assert "\n" not in str(error.value)


def config_of(model: GeoGAE, folder: Path) -> dict[str, Any]:
    model.save(folder)
    return json.loads((folder / CONFIG).read_text())["fitted"]


BROKEN_SCHEMAS: dict[str, Any] = {
    "none": None,
    "a list": [1],
    "text": "node",
    "half": {"node": {"kind": "node", "categories": [], "mean": [], "scale": []}},
    "categories that are text": {
        kind: {"kind": kind, "categories": [["a"]], "mean": [], "scale": []} for kind in ("node", "edge")
    },
    "no scale": {kind: {"kind": kind, "categories": [], "mean": [1.0]} for kind in ("node", "edge")},
}


@pytest.mark.parametrize("schema", BROKEN_SCHEMAS.values(), ids=BROKEN_SCHEMAS)
def test_a_damaged_schema(model: GeoGAE, tmp_path: Path, schema: Any) -> None:
    rewrite(tmp_path, fitted=config_of(model, tmp_path) | {"schema": schema})
    fails(tmp_path, r"config\.json is missing or damaged")


def test_a_schema_of_other_graphs(model: GeoGAE, tmp_path: Path) -> None:
    fitted_fields = config_of(model, tmp_path)
    rewrite(tmp_path, fitted=fitted_fields | {"schema": Schema.of(several("edges")).to_json()})
    fails(tmp_path, r"model\.safetensors does not fit config\.json beside it")


def test_a_config_without_its_schema(model: GeoGAE, tmp_path: Path) -> None:
    fitted_fields = config_of(model, tmp_path)
    rewrite(tmp_path, fitted={name: value for name, value in fitted_fields.items() if name != "schema"})
    fails(tmp_path, r"config\.json")


@pytest.mark.parametrize("payload", [None, 3, [], {"edges": 2}, {"edges": "x", "smooth": [], "loose": []}])
def test_a_damaged_payload(models: dict[str, GeoGAE], tmp_path: Path, payload: Any) -> None:
    rewrite(tmp_path, fitted=config_of(models["parallel"], tmp_path) | {"payload": payload})
    fails(tmp_path, r"config\.json")


@pytest.mark.parametrize("name", ["contexts", "codes", "counts", "node_averages", "edge_averages"])
def test_a_table_is_missing(models: dict[str, GeoGAE], tmp_path: Path, name: str) -> None:
    models["parallel"].save(tmp_path)
    tensors, facts = load_checkpoint(tmp_path / WEIGHTS)
    assert f"payload.{name}" in tensors
    save_checkpoint(tmp_path / WEIGHTS, {key: t for key, t in tensors.items() if key != f"payload.{name}"}, facts)
    fails(tmp_path, r"model\.safetensors does not fit config\.json beside it; restore both, or train again")


def test_a_head_is_missing(models: dict[str, GeoGAE], tmp_path: Path) -> None:
    models["sequential"].save(tmp_path)
    tensors, facts = load_checkpoint(tmp_path / WEIGHTS)
    kept = {name: tensor for name, tensor in tensors.items() if "features" not in name}
    assert len(kept) < len(tensors)
    save_checkpoint(tmp_path / WEIGHTS, kept, facts)
    fails(tmp_path, r"model\.safetensors does not fit config\.json beside it")


def test_a_mode_that_the_weights_are_not_of(models: dict[str, GeoGAE], tmp_path: Path) -> None:
    models["sequential"].save(tmp_path)
    rewrite(tmp_path, params={**models["sequential"].get_params(), "attributes": "encoded"})
    fails(tmp_path, r"model\.safetensors does not fit config\.json beside it")
