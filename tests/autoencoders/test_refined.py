"""``refined``: what is right stays, what can be repaired is, the decoder is linear and needs z alone."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

from geogae import datasets, formats, metrics
from geogae.autoencoders import linear as linear_file
from geogae.autoencoders.base import evaluate
from geogae.autoencoders.linear import HEADROOM, ROOM, LinearAutoencoder
from geogae.autoencoders.refined import RefinedAutoencoder
from geogae.autoencoders.slots import candidates
from geogae.errors import GeoGAEError
from geogae.graph import Graph
from toy_graphs import circles, copies, discussion

SMALL: dict[str, Any] = {"dim": 3, "order": "axis", "latent_dim": 48}  # 47 numbers for up to 84 of a cloud
Parts = tuple[list[Graph], list[Graph], list[Graph]]


@pytest.fixture(scope="module")
def mutag() -> Parts:
    return datasets.split(datasets.load("MUTAG"), seed=0)


def fitted(train: list[Graph], validation: list[Graph] | None = None, **how: Any) -> RefinedAutoencoder:
    model = RefinedAutoencoder(**{**SMALL, **how})
    model.fit(train, validation)
    return model


@pytest.fixture(scope="module")
def model(mutag: Parts) -> RefinedAutoencoder:
    train, validation, _ = mutag
    return fitted(train, validation)


@pytest.fixture(scope="module")
def unseen(mutag: Parts) -> list[Graph]:
    return mutag[2]


def encoded(model: LinearAutoencoder, graphs: list[Graph], **how: Any) -> np.ndarray:
    return model.encode(model.read(graphs), **how)


def decoded(model: LinearAutoencoder, z: np.ndarray) -> list[Graph]:
    return [decoding.graph for decoding in model.decode(z)]


def right(model: LinearAutoencoder, z: np.ndarray, graphs: list[Graph]) -> np.ndarray:
    true = [reading.ordered.topology() for reading in model.read(graphs)]
    return np.array([one == two for one, two in zip(decoded(model, z), true, strict=True)])


# -- refinement ---


def test_unseen_graphs_come_back_exactly(model: RefinedAutoencoder, mutag: Parts) -> None:
    """From 48 numbers, which without refinement do not suffice; without it, it is the linear one to the last bit."""
    train, validation, test = mutag
    scores = evaluate(model, test)
    assert (scores["f1"], scores["exact"], scores["size_error"], scores["lossy"], scores["not_encoded"]) == (
        1, 1, 0, 0, 0,
    )  # fmt: skip
    still, linear = fitted(train, validation, steps=0), LinearAutoencoder(**SMALL)
    linear.fit(train, validation)
    start, z = encoded(still, test), encoded(model, test)
    assert np.array_equal(start, encoded(linear, test)) and evaluate(still, test)["f1"] < 0.95
    before, after, moved = right(model, start, test), right(model, z, test), (z != start).any(1)
    assert after.all() and 3 <= before.sum() < len(test) and (moved | before).all() and (~moved).any()
    assert np.array_equal(z[:, 0], start[:, 0]) and z[:, 0].tolist() == [graph.n for graph in test]


def test_the_more_steps_the_more_graphs(mutag: Parts) -> None:
    train, _, test = mutag
    models = [fitted(train, latent_dim=24, steps=steps) for steps in (0, 5, 50, 500)]
    counts = [int(right(one, encoded(one, test), test).sum()) for one in models]
    assert counts == sorted(counts) and counts[-1] > counts[0] + 3


def test_a_pull_keeps_z_near_the_mean(mutag: Parts, model: RefinedAutoencoder) -> None:
    train, _, test = mutag
    pulled = fitted(train, pull=1.0)
    units = model.decoder.deviations.numpy()
    far, near = (np.linalg.norm(encoded(one, test)[:, 1:] / units, axis=1) for one in (model, pulled))
    assert near.mean() < far.mean()


def test_numbers_without_an_axis_stay_zero(mutag: Parts) -> None:
    train, _, test = mutag
    wide = fitted(train, latent_dim=28 * 3 + 20)
    z = encoded(wide, test)
    assert not z[:, 28 * 3 + 1 :].any() and right(wide, z, test).all()


def test_what_is_refined_survives_rounding(model: RefinedAutoencoder, unseen: list[Graph]) -> None:
    z = encoded(model, unseen)
    noise = 1e-4 * np.random.default_rng(0).normal(size=z.shape)
    noise[:, 0] = 0.4
    assert right(model, (z + noise).astype(np.float32), unseen).all()


# -- each graph by itself ---


def test_the_batch_its_size_and_the_workers_change_no_bit(model: RefinedAutoencoder, unseen: list[Graph]) -> None:
    z = encoded(model, unseen)
    assert np.array_equal(np.concatenate([encoded(model, [graph]) for graph in unseen]), z)
    assert np.array_equal(encoded(model, unseen, batch_size=3, n_jobs=2), z)
    order = np.random.default_rng(0).permutation(len(unseen))
    assert np.array_equal(encoded(model, [unseen[i] for i in order]), z[order])


def test_numberings_and_ignored_attributes_change_no_bit(model: RefinedAutoencoder, unseen: list[Graph]) -> None:
    random, z = np.random.default_rng(0), encoded(model, unseen)
    shuffled = [graph.topology().relabel(random.permutation(graph.n)) for graph in unseen]
    assert np.array_equal(encoded(model, shuffled), z)
    numbered = [Graph(g.n, g.edges, node_continuous=random.normal(size=(g.n, 2)), name="x", label=3) for g in shuffled]
    assert np.array_equal(encoded(model, numbered), z)


def test_it_is_reproducible_and_knows_no_seed(model: RefinedAutoencoder, mutag: Parts) -> None:
    train, validation, test = mutag
    other = fitted(train, validation, seed=5)
    assert np.array_equal(encoded(other, test), encoded(model, test))


def test_decoding_needs_z_and_the_linear_decoder_alone(model: RefinedAutoencoder, unseen: list[Graph]) -> None:
    """A linear autoencoder with the same state, which never saw a graph and cannot take a step, decodes the same."""
    z = encoded(model, unseen)
    other = LinearAutoencoder.from_state(model.state(), **SMALL)
    assert decoded(other, z) == decoded(model, z)
    again = RefinedAutoencoder.from_state(model.state(), **SMALL)
    assert np.array_equal(encoded(again, unseen), z)


def test_isolated_and_single_nodes(mutag: Parts) -> None:
    """Isolated nodes, a graph that has nothing else, and single nodes, beside others."""
    graphs = mutag[0][:8]
    apart = [Graph(g.n + 2, g.edges) for g in graphs]
    odd = [Graph(1), Graph(4), Graph(9, [(0, 1)]), Graph(2, [(0, 1)])]
    some = fitted([*apart, *graphs, *odd], odd, latent_dim=80)
    scores = evaluate(some, [*odd, *apart])
    assert (scores["f1"], scores["exact"]) == (1, 1)
    assert decoded(some, encoded(some, odd[:2])) == odd[:2]


def test_with_a_descriptor_too_each_graph_is_by_itself(mutag: Parts) -> None:
    """At 128 numbers z has one; it, too, is the same for every numbering, batch and larger graph beside it."""
    train, _, test = mutag
    model, random = fitted(train, latent_dim=128), np.random.default_rng(0)
    assert model.descriptor is not None and model.decoder.descriptor_dim == 16
    z = encoded(model, test)
    assert right(model, z, test).all() and np.array_equal(z[:, :16], model.descriptor.describe(
        [graph.topology() for graph in test]))  # fmt: skip
    assert np.array_equal(np.concatenate([encoded(model, [graph]) for graph in test]), z)
    assert np.array_equal(encoded(model, [graph.relabel(random.permutation(graph.n)) for graph in test]), z)
    assert np.array_equal(encoded(model, [*test, formats.as_graph(nx.path_graph(40))])[:-1], z)
    again = RefinedAutoencoder.from_state(model.state(), **{**SMALL, "latent_dim": 128})
    assert np.array_equal(encoded(again, test), z) and decoded(again, z) == decoded(model, z)


HOW = [{"order": "greedy"}, {"order": "axis"}, {"consensus": True}, {"latent_dim": 192}]


@pytest.mark.parametrize("how", HOW, ids=str)
def test_one_graph_is_enough(how: dict[str, Any]) -> None:
    for graph in (Graph(1), Graph(2, [(0, 1)]), Graph(3), formats.as_graph(nx.cycle_graph(5))):
        model = RefinedAutoencoder(**{"latent_dim": 8, **how})
        model.fit([graph])
        [back] = decoded(model, encoded(model, [graph]))
        assert metrics.same_topology(back, graph)


# -- larger graphs ---


def test_a_larger_graph_is_refined_too_and_changes_nothing(model: RefinedAutoencoder, unseen: list[Graph]) -> None:
    """A path of 32 nodes, of which z has 47 numbers: the size is right, and most edges."""
    z = encoded(model, unseen)
    large = formats.as_graph(nx.path_graph(32))
    reading = model.read([large])[0]
    assert model.lossy(reading) is not None and model.why_not(large) is None
    both = model.encode([*model.read(unseen), reading])
    assert np.array_equal(both[:-1], z)
    [back] = decoded(model, both[-1:])
    assert back.n == 32 and metrics.edge_f1(reading.ordered, back) > 0.6
    assert model.why_not(formats.as_graph(nx.path_graph(ROOM + 1))) is not None


# -- folding ---


def all_come_back(model: RefinedAutoencoder, unseen: list[Graph], **parameters: Any) -> None:
    """Exactly; alone, renumbered or in a batch; and so from its state."""
    scores = evaluate(model, unseen)
    assert (scores["exact"], scores["size_error"], scores["not_encoded"], scores["lossy"]) == (1, 0, 0, 0)
    z, random = encoded(model, unseen), np.random.default_rng(0)
    assert np.array_equal(np.concatenate([encoded(model, [graph]) for graph in unseen]), z)
    assert np.array_equal(encoded(model, [g.relabel(random.permutation(g.n)) for g in unseen]), z)
    assert decoded(model, z) == [reading.ordered for reading in model.read(unseen)]
    again = RefinedAutoencoder.from_state(model.state(), **parameters)
    assert np.array_equal(encoded(again, unseen), z) and decoded(again, z) == decoded(model, z)


def names(model: LinearAutoencoder) -> list[str]:
    return [feature.name for feature in model.features.features]


def test_twins_are_folded() -> None:
    some, how = [circles(seed) for seed in range(80)], {"dim": 4, "latent_dim": 16}
    model = RefinedAutoencoder(**how)
    [row] = model.fit(some[:50], some[50:60])  # folding is tried first, as it leaves less than half of the nodes
    assert row["validation_f1"] == 1 and names(model) == ["twins"]
    assert model.decoder.slots < 10 < max(graph.n for graph in some)
    all_come_back(model, some[60:], **how)
    larger = formats.as_graph(nx.complete_graph(30))  # more nodes than any, and one ball
    assert model.lossy(model.read([larger])[0]) is None
    assert decoded(model, encoded(model, [larger]))[0].n == 30
    [reading] = model.read([formats.as_graph(nx.path_graph(12))])
    assert (
        model.lossy(reading)
        == f"it has 12 nodes that are not folded; the largest graph of the fit has {model.decoder.slots}"
    )


def test_of_many_graphs_a_sample_decides_the_folding(monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[tuple[int, int]] = []
    inner = LinearAutoencoder._fit

    def counted(self: Any, graphs: Any, descriptors: Any, validation: Any, *rest: Any) -> Any:
        assert np.array_equal(descriptors, self._described(graphs))
        fits.append((len(graphs), len(validation)))
        return inner(self, graphs, descriptors, validation, *rest)

    monkeypatch.setattr(LinearAutoencoder, "_fit", counted)
    monkeypatch.setattr(candidates, "FOLD_FIRST_BELOW", 0)
    monkeypatch.setattr(linear_file, "TRIED", 30)
    monkeypatch.setattr(linear_file, "TRIED_ON", 8)
    some, how = [circles(seed) for seed in range(80)], {"dim": 4, "latent_dim": 16}
    model = RefinedAutoencoder(**how)
    [row] = model.fit(some[:50], some[50:60])
    assert fits == [(30, 8), (30, 8), (50, 10)] and names(model) == ["twins"]
    alone = RefinedAutoencoder(**how, twins="folded")  # the sample leaves no trace but the choice
    assert alone.fit(some[:50], some[50:60])[0]["validation_f1"] == row["validation_f1"]
    assert np.array_equal(encoded(alone, some[60:]), encoded(model, some[60:]))


def test_validation_graphs_choose_what_is_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "FOLD_FIRST_BELOW", 0)
    some = [circles(seed) for seed in range(60)]
    model = RefinedAutoencoder(dim=4, latent_dim=16)
    kept, folded = model.fit(some[:50], some[50:])
    assert kept["validation_f1"] < folded["validation_f1"] and names(model) == ["twins"]


def test_a_trial_without_any_error_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "FOLD_FIRST_BELOW", 0)
    some = [circles(seed) for seed in range(30)]
    model = RefinedAutoencoder(dim=4, latent_dim=128, descriptor=0)  # room for a ball of each node
    [row] = model.fit(some[:20], some[20:])
    assert row["validation_f1"] == 1 and names(model) == []


def test_leaves_are_folded() -> None:
    some, how = [discussion(seed) for seed in range(70)], {"dim": 3, "latent_dim": 24}
    model = RefinedAutoencoder(**how)
    model.fit(some[:40], some[40:50])
    assert names(model) == ["leaves"] and model.decoder.slots < 9 < 40 < max(graph.n for graph in some)
    all_come_back(model, some[50:], **how)
    [star] = decoded(model, encoded(model, [formats.as_graph(nx.star_graph(70))]))  # more nodes than any, and one ball
    assert star.n == 71 and star.degrees.max() == 70
    whole = model.decode(encoded(model, some[:1]))[0]
    assert not whole.truncated and whole.balls is not None and len(whole.balls) < whole.graph.n


def test_no_z_decodes_to_more_nodes_than_the_limit() -> None:
    some = [discussion(seed) for seed in range(30)]
    model = RefinedAutoencoder(dim=3, latent_dim=24)
    model.fit(some[:20], some[20:])
    assert model.max_nodes == max(ROOM, HEADROOM * max(graph.n for graph in some))
    z = encoded(model, some)
    wild = np.resize(np.array([3e38, -1e38], np.float32), (1, 24))  # balls and counts overflow
    for extreme in (z * np.float32(1e3), z * np.float32(1e30), np.full((1, 24), 3e38, np.float32), wild):
        for decoding in model.decode(extreme):
            assert 1 <= decoding.graph.n <= model.max_nodes
    assert all(decoding.truncated for decoding in model.decode(z * np.float32(1e3)))
    limit = model.max_nodes
    stars = [formats.as_graph(nx.star_graph(n)) for n in (limit - 1, limit)]
    assert model.why_not(stars[0]) is None and model.why_not(stars[1]) is not None
    assert decoded(model, encoded(model, stars[:1]))[0].n == limit


def test_the_shortest_z_with_leaves() -> None:
    model = RefinedAutoencoder(dim=3, latent_dim=2)
    model.fit([discussion(seed) for seed in range(20)])
    assert names(model) == ["leaves"] and encoded(model, [discussion(3)]).shape == (1, 2)


def test_when_nodes_are_folded(mutag: Parts) -> None:
    some, molecules = [discussion(seed) for seed in range(20)], mutag[0][:20]
    assert names(fitted(molecules)) == []  # most nodes of molecules are no leaves
    assert names(fitted(molecules, leaves="folded")) == ["leaves"]
    assert names(fitted(molecules, leaves="folded", twins="folded")) == ["leaves", "twins"]
    kept = fitted(some, leaves="kept", dim=5)
    assert names(kept) == [] and kept.decoder.slots == max(graph.n for graph in some)
    linear = LinearAutoencoder(dim=3, latent_dim=24)
    linear.fit(molecules)
    assert names(linear) == []
    numbered = [Graph(g.n, g.edges, node_continuous=np.arange(float(g.n))) for g in some]
    with pytest.raises(GeoGAEError, match="leaves='folded' would lose continuous attributes; take leaves='kept'"):
        fitted(numbered, attributes="decoded", leaves="folded")
    assert names(fitted(numbered, attributes="decoded", dim=5)) == ["attributes"]


def test_graphs_are_held_out_where_folding_is_to_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cliques may be folded or kept; of discussions the leaves are folded in any case."""
    asked: list[int] = []
    inner = linear_file.hold_out
    monkeypatch.setattr(
        linear_file, "hold_out", lambda graphs, *given: asked.append(len(graphs)) or inner(graphs, *given)
    )
    model = RefinedAutoencoder(dim=4, latent_dim=16)
    assert {"validation_f1"} <= model.fit([circles(seed) for seed in range(20)])[0].keys() and asked == [20]
    model = RefinedAutoencoder(dim=3, latent_dim=16)
    [row] = model.fit([discussion(seed) for seed in range(20)])
    assert asked == [20] and "validation_f1" not in row


# -- consensus ---


def test_consensus_there_and_back() -> None:
    some, how = copies(), {"consensus": True, "dim": 7, "latent_dim": 40}
    model = RefinedAutoencoder(**how)  # type: ignore[arg-type]
    model.fit(some[:11], some[11:13])
    plain = RefinedAutoencoder(order="axis", dim=7, latent_dim=40)
    plain.fit(some[:13])
    assert evaluate(model, some[13:])["f1"] > 0.9 > evaluate(plain, some[13:])["f1"]
    z, random = encoded(model, some), np.random.default_rng(0)
    assert np.array_equal(np.concatenate([encoded(model, [graph]) for graph in some]), z)
    assert np.array_equal(encoded(model, [graph.relabel(random.permutation(30)) for graph in some]), z)
    again = RefinedAutoencoder.from_state(model.state(), **how)
    assert np.array_equal(encoded(again, some), z) and decoded(again, z) == decoded(model, z)
    for n in (29, 31):
        assert (
            model.why_not(Graph(n))
            == again.why_not(Graph(n))
            == (f"it has {n} nodes; graphs are laid on a consensus of 30: leave it out, or train with consensus=False")
        )
    with pytest.raises(GeoGAEError, match="consensus=True needs graphs of one size, not of 3 to 30 nodes; use"):
        RefinedAutoencoder(consensus=True).fit([*some[:2], Graph(3)])


WRONG = [({"steps": -1}, "steps=-1 must be a whole number, from 0 to"), ({"pull": np.nan}, "pull=nan must be a number")]


@pytest.mark.parametrize(("changes", "said"), WRONG)
def test_parameters_are_checked(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(GeoGAEError, match=said):
        RefinedAutoencoder(**changes)
