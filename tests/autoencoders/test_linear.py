"""``linear``: lossless where z has numbers for all, sizes exact, and what it cannot encode or not give back is said."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

from geogae import datasets, formats, metrics
from geogae.autoencoders import linear as linear_file
from geogae.autoencoders.base import Decoding, State, evaluate, hold_out, reconstruct
from geogae.autoencoders.linear import ROOM, LinearAutoencoder
from geogae.errors import GeoGAEError
from geogae.graph import Graph

SMALL: dict[str, Any] = {"dim": 3, "order": "axis", "latent_dim": 50}  # 49 numbers for up to 84 of a cloud


@pytest.fixture(scope="module")
def graphs() -> list[Graph]:
    return datasets.load("MUTAG")[:24]


@pytest.fixture(scope="module")
def model(graphs: list[Graph]) -> LinearAutoencoder:
    model = LinearAutoencoder(**SMALL)
    model.fit(graphs[:16], graphs[16:])
    return model


def encoded(model: LinearAutoencoder, graphs: list[Graph], **how: Any) -> np.ndarray:
    return model.encode(model.read(graphs), **how)


def decoded(model: LinearAutoencoder, z: np.ndarray) -> list[Graph]:
    return [decoding.graph for decoding in model.decode(z)]


def path(n: int) -> Graph:
    return Graph(n, [(i, i + 1) for i in range(n - 1)], name=f"path of {n}")


# -- there and back ---


def test_there_and_back(model: LinearAutoencoder, graphs: list[Graph]) -> None:
    readings = model.read(graphs)
    z = model.encode(readings)
    assert z.shape == (24, 50) and z.dtype == np.float32 and z[:, 0].tolist() == [graph.n for graph in graphs]
    back = model.decode(z)
    assert decoded(model, z) == [decoding.graph for row in z for decoding in model.decode(row[None])]
    for reading, decoding in zip(readings, back, strict=True):
        true = reading.ordered
        assert isinstance(decoding, Decoding) and decoding.cloud is not None and not decoding.truncated
        assert decoding.cloud.to_graph() == decoding.graph and decoding.graph.n == true.n
        assert decoding.stop is not None and decoding.stop.tolist() == [0.0] * (true.n - 1) + [1.0]
        if true.n * 3 < 50:
            assert decoding.graph.edges.tolist() == true.edges.tolist()
    assert sum(graph.n * 3 < 50 for graph in graphs) > 5
    assert all(metrics.same_topology(one.ordered, two) for one, two in zip(readings, graphs, strict=True))
    assert any(one.ordered.edges.tolist() != two.edges.tolist() for one, two in zip(readings, graphs, strict=True))


def test_lossless_with_numbers_for_all(graphs: list[Graph]) -> None:
    """Also for graphs that are nothing like the 5 that it was fitted to."""
    model = LinearAutoencoder(**{**SMALL, "latent_dim": 3 * 28 + 1})
    model.fit(graphs[:4], graphs[5:6])
    others = [nx.star_graph(9), nx.empty_graph(6), nx.complete_graph(8), nx.cycle_graph(28), Graph(1)]
    scores = evaluate(model, [*graphs[4:], *map(formats.as_graph, others)])
    assert model.decoder.slots == 28 and (scores["f1"], scores["exact"], scores["size_error"]) == (1, 1, 0)
    assert scores["lossy"] == scores["not_encoded"] == 0


def test_the_batch_its_size_and_the_workers_change_no_bit(model: LinearAutoencoder, graphs: list[Graph]) -> None:
    z, random = encoded(model, graphs), np.random.default_rng(0)
    assert np.array_equal(np.concatenate([encoded(model, [graph]) for graph in graphs]), z)
    for how in ({"batch_size": 1}, {"batch_size": 5}, {"n_jobs": 2, "batch_size": 7}):
        assert np.array_equal(encoded(model, graphs, **how), z)
    order = random.permutation(len(graphs))
    assert np.array_equal(encoded(model, [graphs[i] for i in order]), z[order])
    shuffled = [graph.relabel(random.permutation(graph.n)) for graph in graphs]
    assert np.array_equal(encoded(model, shuffled), z)
    topologies = [reading.ordered.edges.tolist() for reading in model.read(shuffled)]
    assert topologies == [reading.ordered.edges.tolist() for reading in model.read(graphs)]
    assert encoded(model, []).shape == (0, 50) and decoded(model, z[:0]) == []


def test_scores(model: LinearAutoencoder, graphs: list[Graph]) -> None:
    scores = evaluate(model, graphs[16:])
    assert scores["size_error"] == scores["truncated"] == scores["not_encoded"] == 0 < scores["f1"] < 1
    pairs = [(true, decoding and decoding.graph) for true, decoding in reconstruct(model, graphs[16:])]
    assert scores["f1"] == metrics.evaluate(*zip(*pairs, strict=True))["f1"]
    [row] = LinearAutoencoder(**SMALL).fit(graphs[:16], graphs[16:])
    counts = ("not_encoded", "lossy", "inexact_clouds")
    expected = {f"validation_{key}": value for key, value in scores.items() if key not in counts}
    assert expected.items() <= row.items() and row["step"] == 0


@pytest.mark.parametrize("m", [2, 3, 37])
def test_z_of_any_size(graphs: list[Graph], m: int) -> None:
    model = LinearAutoencoder(**{**SMALL, "latent_dim": m})
    model.fit(graphs)
    z = encoded(model, graphs)
    assert z.shape == (24, m) and [graph.n for graph in decoded(model, z)] == [graph.n for graph in graphs]


def test_one_graph_is_enough() -> None:
    for graph in (Graph(1), Graph(2, [(0, 1)]), Graph(3)):
        model = LinearAutoencoder(**SMALL)
        model.fit([graph])
        assert decoded(model, encoded(model, [graph])) == [graph]


def test_it_is_reproducible_and_knows_no_seed(model: LinearAutoencoder, graphs: list[Graph]) -> None:
    other = LinearAutoencoder(**SMALL, seed=5)
    other.fit(graphs[:16], graphs[16:])
    assert np.array_equal(encoded(other, graphs), encoded(model, graphs))


@pytest.mark.parametrize(
    ("z", "said"),
    [
        (np.zeros((2, 49), np.float32), r"z has shape \(2, 49\); this model decodes rows of 50 numbers"),
        (np.zeros(50, np.float32), r"z has shape \(50,\)"),
        (np.full((1, 50), np.nan, np.float32), "z has 50 values that are not finite; encode the graphs again"),
    ],
)
def test_what_is_no_z(model: LinearAutoencoder, z: np.ndarray, said: str) -> None:
    with pytest.raises(GeoGAEError, match=said):
        model.decode(z)


# -- larger graphs ---


def test_sizes_beyond_the_limit_are_cut(model: LinearAutoencoder) -> None:
    assert model.max_nodes == ROOM  # four times 28 would be less
    z = np.zeros((4, 50), np.float32)
    z[:, 0] = 5.4, -7, ROOM, 1e9
    back = model.decode(z)
    assert [decoding.graph.n for decoding in back] == [5, 1, ROOM, ROOM]
    assert [decoding.truncated for decoding in back] == [False, False, False, True]
    assert back[3].stop is not None and (back[3].stop <= 0.5).all()


def test_a_larger_graph_is_encoded_and_flagged(model: LinearAutoencoder, graphs: list[Graph]) -> None:
    """Its size comes back; and nothing changes for graphs that fit, beside it or not."""
    large = path(40)
    assert model.why_not(large) is None and model.why_not(path(ROOM)) is None
    *few, reading = model.read([*graphs, large])
    assert [model.lossy(one) for one in few] == [None] * 24
    assert model.lossy(reading) == "it has 40 nodes; the largest graph of the fit has 28"
    z = model.encode([*few, reading])
    assert np.array_equal(z[:-1], encoded(model, graphs)) and z[-1, 0] == 40
    back = decoded(model, z)
    assert back[:-1] == decoded(model, z[:-1]) and back[-1].n == 40
    scores = evaluate(model, [*graphs, large])
    assert (scores["lossy"], scores["not_encoded"]) == (1, 0)


def test_numbers_of_z_beyond_the_fit_serve_larger_graphs(graphs: list[Graph]) -> None:
    """28 nodes have 84 numbers; from 200 a graph of 60 nodes comes back whole."""
    model = LinearAutoencoder(**{**SMALL, "latent_dim": 200})
    model.fit(graphs)
    [reading] = model.read([path(60)])
    [decoding] = model.decode(model.encode([reading]))
    assert decoding.graph == reading.ordered.topology()


def test_how_large_a_graph_may_be() -> None:
    """Four times the largest of the fit, and at least ROOM; a model that was saved with less gets as much."""
    model = LinearAutoencoder(**{**SMALL, "dim": 3})
    model.fit([path(300), path(5)])
    assert model.max_nodes == 1200
    state = model.state()
    older = State(state.tensors, {**state.facts, "max_nodes": 112})
    assert LinearAutoencoder.from_state(older, **{**SMALL, "dim": 3}).max_nodes == ROOM == 1000


def test_a_lower_limit_of_nodes_does_not_refuse_saved_models(
    model: LinearAutoencoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEOGAE_MAX_NODES", "200")
    assert LinearAutoencoder.from_state(model.state(), **SMALL).max_nodes == ROOM


def test_why_not(model: LinearAutoencoder, graphs: list[Graph], caplog: pytest.LogCaptureFixture) -> None:
    large = path(ROOM + 1)
    assert model.why_not(large) == (
        "it has 1001 nodes; the model encodes up to 1000: leave it out, or fit with graphs as large"
    )
    alone, scores = evaluate(model, graphs[:2]), evaluate(model, [graphs[0], large, graphs[1]])
    nodes = graphs[0].n + graphs[1].n
    assert (scores["not_encoded"], alone["not_encoded"]) == (1, 0)
    assert scores["f1"] == pytest.approx(alone["f1"] * nodes / (nodes + large.n))
    assert scores["size_error"] == pytest.approx(large.n / 3) and scores["truncated"] == 0
    assert caplog.messages == [f"1 of 3 graphs cannot be encoded; the first: {model.why_not(large)}"]
    (_, back), (same, nothing), _ = reconstruct(model, [graphs[0], large, graphs[1]])
    assert back is not None and nothing is None and same == large


# -- what is held out ---


def test_where_there_is_nothing_to_choose_no_graph_is_held_out(
    graphs: list[Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        linear_file, "hold_out", lambda *given: pytest.fail("a graph is held out and nothing is chosen")
    )
    model = LinearAutoencoder(**SMALL)
    [row] = model.fit(graphs)
    assert not any(name.startswith("validation") for name in row)
    again = LinearAutoencoder(**SMALL, leaves="folded")
    again.fit(graphs)
    whole = LinearAutoencoder(**SMALL)
    whole.fit(graphs[::-1])
    assert np.allclose(np.abs(encoded(model, graphs)), np.abs(encoded(whole, graphs)), atol=1e-2)  # all were read


def test_a_tenth_is_held_out_by_its_seed(graphs: list[Graph]) -> None:
    train, held_out = hold_out(graphs, None, 3)
    assert len(held_out) == 2 and len(train) == 22 and not set(map(id, train)) & set(map(id, held_out))
    assert hold_out(graphs, None, 3) == (train, held_out) != hold_out(graphs, None, 4)
    assert hold_out(graphs[:9], None, 0) == (graphs[:9], graphs[:9])
    assert hold_out(graphs[:20], graphs[20:], 0) == (graphs[:20], graphs[20:])


# -- state ---


def test_state(model: LinearAutoencoder, graphs: list[Graph]) -> None:
    state = model.state()
    again = LinearAutoencoder.from_state(state, **SMALL)
    z = encoded(model, graphs)
    assert np.array_equal(encoded(again, graphs), z) and decoded(again, z) == decoded(model, z)
    assert again.why_not(path(113)) == model.why_not(path(113))
    for changes in ({"latent_dim": 49}, {"latent_dim": 51}, {"consensus": True}):
        with pytest.raises((KeyError, ValueError, RuntimeError)):
            LinearAutoencoder.from_state(state, **{**SMALL, **changes})
    for name, wrong in (("slots", 0), ("slots", np.inf), ("max_nodes", -1), ("reader", {}), ("reader", {"dim": "x"})):
        with pytest.raises((KeyError, ValueError)):
            LinearAutoencoder.from_state(type(state)(state.tensors, {**state.facts, name: wrong}), **SMALL)


WRONG = [
    ({"latent_dim": 1}, "latent_dim=1 must be a whole number, from 2 to 65536"),
    ({"latent_dim": 2.5}, "latent_dim=2.5 must be a whole number"),
    ({"attributes": "all"}, "attributes='all' is not known; valid are ignored, encoded, decoded"),
    ({"leaves": True}, "leaves=True is not known; valid are auto, folded, kept"),
    ({"dim": 1}, "dim"),
    ({"order": "spiral"}, "order='spiral' is not known; valid are greedy, axis"),
    ({"margin": -1}, "margin=-1 must be a number, from 0 to 1000"),
    ({"seed": -1}, "seed=-1 must be a whole number, at least 0"),
    ({"device": "abacus"}, "abacus"),
    ({"leaves": "folded", "consensus": True}, "leaves='folded' leaves graphs of many sizes; consensus=True needs one"),
]


@pytest.mark.parametrize(("changes", "said"), WRONG, ids=[next(iter(changes)) for changes, _ in WRONG])
def test_parameters_are_checked(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(GeoGAEError, match=said) as error:
        LinearAutoencoder(**changes)
    assert "\n" not in str(error.value)
