"""Attributes of small, plain and unseen graphs through GeoGAE: what is flagged, what is an error, damaged states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from attributed import (
    KINDS,
    MODELS,
    SLOTS,
    changed,
    dressed,
    fitted,
    known,
    made,
    schema_of,
    scores_of,
    several,
)
from geogae import GeoGAE, GeoGAEError, Graph, metrics
from geogae.autoencoders.schema import Schema
from geogae.graph import ATTRIBUTES
from test_estimator import KEYS


@pytest.fixture(scope="module")
def models() -> dict[str, GeoGAE]:
    """Of each architecture, one that decodes attributes."""
    return {name: fitted(name, several()) for name in MODELS}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest, models: dict[str, GeoGAE]) -> GeoGAE:
    return models[request.param]


# -- small graphs ---


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ["all", "nodes", "edges"])
def test_a_graph_without_edges(name: str, kind: str) -> None:
    """It needs no table of edge attributes, and comes back beside others, whether the model was fitted on it or not."""
    apart, single = (dressed(n, [], 0, **KINDS[kind]) for n in (4, 1))
    bare = changed(apart, edge_categorical=None, edge_continuous=None)
    model = fitted(name, [*several(kind), apart, single], latent_dim=64, epochs=2)
    assert [model.why_not(graph) for graph in (apart, bare, single)] == [None] * 3
    assert model.encode(bare) == pytest.approx(model.encode(apart), abs=1e-6)
    if name in SLOTS:
        for graph in (apart, bare, single):
            [(true, back)] = model.reconstruct(graph)
            assert back is not None and metrics.same_categories(true, back)
    without = fitted(name, several(kind), latent_dim=64, epochs=2)
    assert without.encode([apart, bare]).shape == (2, 64) and without.evaluate([apart, bare])["not_encoded"] == 0


@pytest.mark.parametrize("name", MODELS)
def test_graphs_that_all_have_no_edges(name: str) -> None:
    graphs = [dressed(n, [], n, **KINDS["nodes"]) for n in (1, 2, 5)]
    model = fitted(name, graphs, epochs=2, dim=3)
    scores = model.evaluate(graphs)
    assert scores.keys() == KEYS | scores_of("nodes")
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


# -- what was never seen, and what cannot be encoded ---


def test_an_unseen_category_is_encoded_as_the_likeliest_and_flagged(
    model: GeoGAE, caplog: pytest.LogCaptureFixture
) -> None:
    """All else of the graph comes back where it did, and nothing changes for the graphs beside it."""
    graph, others = made(2), [made(0), made(1)]
    z = model.encode(others)
    for kind, column, valid in (("node", 0, "-1, 2, 5"), ("node", 1, "-1, 2"), ("edge", 1, "-1, 2, 5")):
        table = getattr(graph, f"{kind}_categorical").copy()
        table[1, column] = 4
        strange = changed(graph, **{f"{kind}_categorical": table})
        assert model.why_not(strange) is None
        both = model.encode([*others, strange])
        why = f"{kind}_categorical column {column} holds 4; the model knows {valid}"
        assert caplog.messages == [f"1 of 3 graphs may not come back whole; graph 'made/2': {why}"]
        caplog.clear()
        assert both[:2] == pytest.approx(z, abs=1e-5) and np.isfinite(both[2]).all()
        scores = model.evaluate([*others, strange])
        assert (scores["lossy"], scores["not_encoded"]) == (1, 0)
        [(true, back)] = model.reconstruct(strange)
        assert back is not None and schema_of(model).unknown(back) is None  # type: ignore[union-attr]
        if model.architecture == "refined":
            assert true.edges.tolist() == back.edges.tolist()
            wrong = sum((getattr(true, field) != getattr(back, field)).sum()
                        for field in ("node_categorical", "edge_categorical"))  # fmt: skip
            assert wrong == 1  # the one that was never seen


def test_missing_and_other_columns(model: GeoGAE) -> None:
    graph = made(2)
    for field, width in zip(ATTRIBUTES, (2, 2, 2, 1), strict=True):
        rows = graph.n if field.startswith("node") else len(graph.edges)
        for found, table in ((0, None), (3, np.zeros((rows, 3), int))):
            strange = changed(graph, **{field: table})
            reason = f"it has {found} {field} columns; the model was fitted on graphs with {width}: give graphs of the"
            with pytest.raises(GeoGAEError) as error:
                model.encode(strange)
            said = str(error.value)
            assert said.startswith(f"graph 'made/2' cannot be encoded: {reason}") and "\n" not in said
            assert (model.why_not(strange) or "").startswith(reason)
            assert (model.evaluate(strange)["f1"], model.evaluate(strange)["not_encoded"]) == (0, 1)
    with pytest.raises(GeoGAEError, match="graph 0 of 4 nodes cannot be encoded: it has 0 node_categorical columns"):
        model.encode(Graph(4, [(0, 1)]))


@pytest.mark.parametrize("name", SLOTS)
def test_a_node_with_more_earlier_neighbours_than_places(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """A slot has places for as many edges as training and validation graphs needed; what is beyond is flagged."""
    paths = [dressed(n, [(i, i + 1) for i in range(n - 1)], n, **KINDS["edges"]) for n in range(3, 9)]
    dense = dressed(7, [(i, j) for i in range(7) for j in range(i)], 0, **KINDS["edges"], name="dense")
    model = fitted(name, paths)
    z = model.encode(paths)
    assert np.array_equal(model.encode([*paths, dense])[:-1], z)
    assert (
        "graph 'dense': a node has edges to 6 earlier ones; the model has places for the attributes of" in caplog.text
    )
    assert model.evaluate([*paths, dense])["lossy"] == 1
    whole = GeoGAE(**MODELS[name], attributes="decoded").fit(paths, validation=[*paths, dense])
    assert whole.evaluate([*paths, dense])["lossy"] == 0
    nodes = fitted(name, [changed(g, edge_categorical=None, edge_continuous=None, node_continuous=np.ones((g.n, 1)))
                          for g in paths])  # fmt: skip
    assert len(known(nodes, [Graph(7, dense.edges, node_continuous=np.ones((7, 1)))])) == 1  # no edge has anything


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("mode", ["encoded", "decoded"])
def test_there_must_be_attributes(name: str, mode: str) -> None:
    plain = [graph.topology() for graph in several()]
    with pytest.raises(GeoGAEError) as error:
        fitted(name, plain, attributes=mode)
    assert str(error.value) == "the graphs have no attributes; give graphs that have some, or attributes='ignored'"
    with pytest.raises(GeoGAEError) as error:
        fitted(name, [*several("categories"), *plain[:1]], attributes=mode)
    said = f"graphs have 0 or 2 node_categorical columns (a graph of {plain[0].n} nodes has 0); all need the same"
    assert str(error.value).startswith(said) and "\n" not in str(error.value)
    with pytest.raises(GeoGAEError, match="graphs have 0 or 1 edge_continuous columns"):
        GeoGAE(**MODELS[name], attributes=mode).fit(several("all"), validation=changed(made(3), edge_continuous=None))


# -- files ---


def test_save_and_load(model: GeoGAE, tmp_path: Path) -> None:
    graphs = several()
    model.save(tmp_path)
    loaded = GeoGAE.load(tmp_path)
    assert schema_of(loaded) == schema_of(model) == Schema.of(2 * graphs)
    assert loaded.get_params() == model.get_params() == clone(loaded).get_params()
    z = model.encode(graphs)
    assert np.array_equal(loaded.encode(graphs), z) and loaded.decode(z) == model.decode(z)
    assert loaded.evaluate(graphs) == model.evaluate(graphs)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again" / "config.json").read_text() == (tmp_path / "config.json").read_text()


BROKEN_SCHEMAS: dict[str, Any] = {
    "none": None,
    "a list": [1],
    "text": "node",
    "half": {"node": {"kind": "node", "categories": [], "mean": [], "scale": []}},
    "categories that are text": {
        kind: {"kind": kind, "categories": [["a"]], "mean": [], "scale": []} for kind in ("node", "edge")
    },
    "no scale": {kind: {"kind": kind, "categories": [], "mean": [1.0]} for kind in ("node", "edge")},
    "other graphs": Schema.of(several("edges")).to_json(),
}


@pytest.mark.parametrize("schema", BROKEN_SCHEMAS.values(), ids=BROKEN_SCHEMAS)
def test_a_schema_that_does_not_fit(model: GeoGAE, schema: Any) -> None:
    """Such a state is a ValueError or its like, which loading turns into one line."""
    autoencoder, params = model.autoencoder_, model.get_params()
    params.pop("architecture")
    state = autoencoder.state()
    facts = json.loads(json.dumps(state.facts))
    (facts if "schema" in facts else facts["features"]["attributes"])["schema"] = schema
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError, RuntimeError)):
        type(autoencoder).from_state(type(state)(state.tensors, facts), **params)


def test_a_tensor_that_is_missing(model: GeoGAE) -> None:
    params = model.get_params()
    params.pop("architecture")
    state = model.autoencoder_.state()
    few = [name for name in state.tensors if "features" in name][:8]
    assert len(few) >= 4
    for name in few:
        tensors = {key: tensor for key, tensor in state.tensors.items() if key != name}
        with pytest.raises((KeyError, ValueError, RuntimeError)):
            type(model.autoencoder_).from_state(type(state)(tensors, state.facts), **params)
