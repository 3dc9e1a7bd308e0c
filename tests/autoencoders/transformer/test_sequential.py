"""``sequential``, the paper's model, as an autoencoder: training, batches, what is cut, variants, runs."""

from __future__ import annotations

import logging
from copy import deepcopy
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.base import clone

from geogae import GeoGAE, GeoGAEError, Graph, datasets, formats
from geogae.autoencoders.transformer.decoder import Decoded
from geogae.autoencoders.transformer.sequences import Sequences
from geogae.autoencoders.transformer.sequential import HEADROOM, MAX_READ, _spread
from geogae.model_folder import load_folder, save_folder
from toy_graphs import circles, discussion

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


@pytest.fixture(scope="module")
def graphs() -> list[Graph]:
    return datasets.load("MUTAG")[:24]


@pytest.fixture(scope="module")
def model(graphs: list[Graph]) -> GeoGAE:
    return GeoGAE(**{**TINY, "epochs": 20, "lr": 3e-3}).fit(graphs[:16], validation=graphs[16:])


def test_training_is_reproducible(graphs: list[Graph]) -> None:
    one, again, other = (GeoGAE(**TINY, seed=seed).fit(graphs[:8], validation=graphs[8:10]) for seed in (0, 0, 1))
    z = one.encode(graphs)
    assert np.array_equal(again.encode(graphs), z) and not np.array_equal(other.encode(graphs), z)


def test_threads_change_z_in_the_third_digit(graphs: list[Graph]) -> None:
    """As docs/reproducibility.md says: one thread gives the same bits, two sum in another order."""
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 1, 2):
            torch.set_num_threads(threads)
            found.append(GeoGAE(**{**TINY, "epochs": 3}).fit(graphs[:16], validation=graphs[16:]).encode(graphs))
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(found[0], found[1])
    assert np.abs(found[0] - found[2]).max() < 0.01 * np.abs(found[0]).max()
    page = (Path(__file__).parents[3] / "docs" / "reproducibility.md").read_text(encoding="utf-8")
    assert "differs by about 1e-3" in " ".join(page.split())


@pytest.mark.parametrize(
    ("name", "value"),
    [("latent_dim", 65536), ("token_dim", 32), ("encoder_hidden", 10**6), ("encoder_hidden", 10**30),
     ("decoder_layers", 100), ("decoder_layers", 10**6), ("passes", 10**6), ("bundle", 10**6)],
)  # fmt: skip
def test_sizes_that_are_not_those_of_the_weights(model: GeoGAE, tmp_path: Path, name: str, value: int) -> None:
    """One line, and no memory is taken for them."""
    model.save(tmp_path)
    config, tensors = load_folder(tmp_path)
    config = {key: config[key] for key in ("params", "facts")}
    save_folder(tmp_path, {**config, "params": {**config["params"], name: value}}, tensors)
    with pytest.raises(GeoGAEError) as error:
        GeoGAE.load(tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("value", [0, -1, HEADROOM * MAX_READ + 1, 10**30, float("inf"), float("nan"), "x", None])
def test_limits_that_are_none(model: GeoGAE, tmp_path: Path, value: Any) -> None:
    model.save(tmp_path)
    config, tensors = load_folder(tmp_path)
    facts = {**config["facts"], "max_nodes": value}
    save_folder(tmp_path, {"params": config["params"], "facts": facts}, tensors)
    with pytest.raises(GeoGAEError, match=r"max_nodes=.* must be a whole number, from 1 to"):
        GeoGAE.load(tmp_path)


def test_the_best_weights_are_the_ones_kept(graphs: list[Graph]) -> None:
    model = GeoGAE(**{**TINY, "epochs": 8, "validations": 8, "lr": 5e-3}).fit(graphs[:16], validation=graphs[16:])
    best = max(row["validation_f1"] for row in model.history_)
    assert len(model.history_) == 8 and model.evaluate(graphs[16:])["f1"] == pytest.approx(best)


def test_validation_is_bounded_and_spread_over_sizes(graphs: list[Graph]) -> None:
    assert _spread(graphs, 10**6) == graphs
    total = sum(graph.n for graph in graphs)
    some = _spread(graphs, total // 3)
    assert 0 < sum(graph.n for graph in some) <= total // 3 + max(graph.n for graph in graphs)
    rank = {id(graph): i for i, graph in enumerate(sorted(graphs, key=lambda graph: graph.n))}
    places = sorted(rank[id(graph)] for graph in some)
    assert len(some) == len(graphs) // 3 and max(np.diff(places)) <= 4
    assert _spread(graphs, 1)  # one at least


def test_validation_scores_are_those_of_the_decoder(model: GeoGAE, graphs: list[Graph]) -> None:
    """Graphs in groups of like size, up to twice the largest of the group: nothing else than ``decode`` cuts later."""
    autoencoder = model.autoencoder_
    readings = autoencoder.read([graph.topology() for graph in graphs])
    sizes = [len(decoding.graph.adjacency()) for decoding in autoencoder.decode(autoencoder.encode(readings))]
    assert max(sizes) <= HEADROOM * min(graph.n for graph in graphs)  # no group cuts what this model decodes
    assert autoencoder._validated(readings) == pytest.approx(autoencoder.scores(readings))


def test_one_graph_is_enough() -> None:
    for graph in (Graph(1), Graph(2, [(0, 1)])):
        assert GeoGAE(**TINY).fit([graph]).encode(graph).shape == (32,)


def test_batched_is_single_and_numberings_change_nothing(model: GeoGAE, graphs: list[Graph]) -> None:
    z, random = model.encode(graphs), np.random.default_rng(0)
    assert len({graph.n for graph in graphs}) > 3 and model.encode([]).shape == (0, 32)
    assert np.stack([model.encode(graph) for graph in graphs]) == pytest.approx(z, abs=1e-4)
    assert model.encode(graphs, batch_size=3) == pytest.approx(z, abs=1e-4)
    order = random.permutation(len(graphs))
    assert model.encode([graphs[i] for i in order]) == pytest.approx(z[order], abs=1e-6)
    shuffled = [graph.relabel(random.permutation(graph.n)) for graph in graphs]
    assert model.encode(shuffled) == pytest.approx(z, abs=1e-6)


def test_decoded_batched_is_single(model: GeoGAE, graphs: list[Graph]) -> None:
    z = np.concatenate((model.encode(graphs[:4]), np.random.default_rng(0).normal(scale=5, size=(20, 32))))
    limit = HEADROOM * max(graph.n for graph in graphs)
    together = model.decode(z, details=True)
    assert len({decoding.graph.n for decoding in together}) > 3
    assert [decoding.graph for decoding in together] == model.decode(z)
    for row, decoding in zip(z, together, strict=True):
        alone = model.decode(row, details=True)
        assert (alone.graph.n, alone.truncated) == (decoding.graph.n, decoding.truncated)
        assert decoding.cloud.balls == pytest.approx(alone.cloud.balls, abs=1e-4)
        assert decoding.stop == pytest.approx(alone.stop, abs=1e-4)
        assert decoding.cloud.to_graph() == decoding.graph and decoding.cloud.dim == 4
        assert len(decoding.stop) == decoding.graph.n <= limit
        assert (decoding.stop[:-1] <= 0.5).all() and (decoding.stop[-1] > 0.5) != decoding.truncated


def test_graphs_that_are_cut_are_flagged(model: GeoGAE, graphs: list[Graph], caplog: pytest.LogCaptureFixture) -> None:
    endless = deepcopy(model)
    endless.autoencoder_.network.decoder.head.register_forward_hook(lambda head, given, out: (out[0], out[1] - 100))
    endless.autoencoder_.max_nodes = 7
    back = endless.decode(model.encode(graphs[:5]), details=True)
    assert [(decoding.graph.n, decoding.truncated) for decoding in back] == [(7, True)] * 5
    assert caplog.messages == ["5 of 5 graphs are cut at the model's limit of nodes"]


def test_a_graph_beyond_the_limit_is_flagged(
    model: GeoGAE, graphs: list[Graph], caplog: pytest.LogCaptureFixture
) -> None:
    largest = max(graph.n for graph in graphs)
    limit = HEADROOM * largest
    z = model.encode(nx.path_graph(largest))
    assert not caplog.records
    both = model.encode([nx.path_graph(limit + 1), nx.path_graph(largest)])
    why = f"graph 0 of {limit + 1} nodes: it has {limit + 1} nodes; the largest graph of the fit has {largest}"
    assert caplog.messages == [f"1 of 2 graphs may not come back whole; {why}, and decoding stops at {limit}"]
    assert both[1] == pytest.approx(z, abs=1e-5)
    assert model.evaluate([nx.path_graph(limit + 1), nx.path_graph(largest + 1), *graphs[:2]])["lossy"] == 2
    assert model.why_not(Graph(MAX_READ)) is None
    said = f"it has {MAX_READ + 1} nodes; at most {MAX_READ} are read: leave it out"
    assert model.why_not(Graph(MAX_READ + 1)) == said


def test_variational(graphs: list[Graph]) -> None:
    model = GeoGAE(**TINY, variational=True, kl_weight=0.1, kl_epochs=1).fit(graphs[:12])
    assert model.history_[-1]["loss_kl"] > 0
    assert np.array_equal(model.encode(graphs), model.encode(graphs))  # μ, not a draw


@pytest.mark.parametrize(
    "changes", [{"bundle": 3}, {"order": "axis"}, {"precision": "bfloat16"}, {"absolute_positions": True}]
)
def test_variants(graphs: list[Graph], tmp_path: Path, changes: dict[str, Any]) -> None:
    graphs = graphs[:12]
    model = GeoGAE(**{**TINY, **changes}).fit(graphs)
    z = model.encode(graphs)
    assert {graph.n % 3 for graph in graphs} == {0, 1, 2}
    assert z == pytest.approx(np.stack([model.encode(graph) for graph in graphs]), abs=1e-4)
    limit = HEADROOM * max(graph.n for graph in graphs)
    assert all(1 <= graph.n <= limit for graph in model.decode(z))
    model.save(tmp_path)
    assert np.array_equal(GeoGAE.load(tmp_path).encode(graphs), z)


def test_the_smallest_dimension(tmp_path: Path) -> None:
    model = GeoGAE(**{**TINY, "dim": "auto"}).fit([nx.path_graph(n) for n in range(1, 9)])
    assert model.dim == "auto" and model.autoencoder_.reader.dim == 2
    model.save(tmp_path)
    loaded = GeoGAE.load(tmp_path)
    assert loaded.dim == "auto" and loaded.autoencoder_.reader.dim == 2


def test_a_run_folder_is_a_saved_model(graphs: list[Graph], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    model = GeoGAE(**TINY).fit(graphs[:12], run=tmp_path)
    assert np.array_equal(GeoGAE.load(tmp_path).encode(graphs), model.encode(graphs))
    again = clone(model).fit(graphs[:12], run=tmp_path, resume=True)
    assert again.history_ == model.history_
    with pytest.raises(GeoGAEError, match="was started with other lr"):
        clone(model).set_params(lr=0.5).fit(graphs[:12], run=tmp_path, resume=True)
    with pytest.raises(GeoGAEError, match="is of another model"):
        clone(model).set_params(decoder_hidden=64).fit(graphs[:12], run=tmp_path, resume=True)
    assert not caplog.records


def test_attributes_need_a_second_layer() -> None:
    with pytest.raises(GeoGAEError, match="encoder_layers=1 leaves no layer in which nodes see their edges"):
        GeoGAE(**TINY, attributes="decoded").check_params()


FOLDED = [*(circles(seed) for seed in range(6)), *(discussion(seed) for seed in range(6))]  # twins, and leaves


@pytest.mark.parametrize("edits", [0, 2])
def test_folded_nodes(tmp_path: Path, edits: int) -> None:
    """Slots that come back as they were give the graph back, node by node; numberings change nothing."""
    folds: dict[str, Any] = {"leaves": "folded", "twins": "folded", "edits": edits, "batch_size": 1024}
    model = GeoGAE(**{**TINY, **folds, "epochs": 1}).fit(FOLDED, validation=FOLDED[:2])
    autoencoder = model.autoencoder_
    readings = autoencoder.read(FOLDED)
    assert sum(reading.cloud.n for reading in readings) < 0.6 * sum(graph.n for graph in FOLDED)
    batch = Sequences([reading.cloud for reading in readings], None, autoencoder.features)[range(len(FOLDED))]
    assert batch.balls.shape[-1] == 4 + 2  # d, and two counts
    stops = torch.zeros(batch.balls.shape[:2])
    autoencoder.network.decode = lambda z, limit: Decoded(batch.balls, batch.sizes, stops, batch.sizes < 0)
    decoded = autoencoder.decode(np.zeros((len(FOLDED), 32), np.float32))
    assert [decoding.graph for decoding in decoded] == [reading.ordered.topology() for reading in readings]
    del autoencoder.network.decode

    numbered = [graph.relabel(np.random.default_rng(graph.n).permutation(graph.n)) for graph in FOLDED]
    z = model.encode(FOLDED)
    assert np.array_equal(model.encode(numbered), z)
    model.save(tmp_path)
    loaded = GeoGAE.load(tmp_path)
    assert np.array_equal(loaded.encode(FOLDED), z) and loaded.decode(z) == model.decode(z)


def test_a_core_beyond_the_limit_is_flagged() -> None:
    model = GeoGAE(**{**TINY, "epochs": 1, "leaves": "folded"}).fit(FOLDED)
    largest = max(reading.cloud.n for reading in model.autoencoder_.read(FOLDED))
    star, path = (formats.as_graph(graph) for graph in (nx.star_graph(3 * largest), nx.path_graph(largest + 3)))
    reasons = [model.autoencoder_.lossy(reading) for reading in model.autoencoder_.read([star, path])]
    assert reasons[0] is None  # one node that is not folded
    assert reasons[1] is not None and f"{largest + 1} nodes that are not folded" in reasons[1]
    most = model.autoencoder_.max_nodes
    [one, more] = model.autoencoder_.read([formats.as_graph(nx.star_graph(n)) for n in (most - 1, most)])
    assert model.autoencoder_.lossy(one) is None
    assert model.autoencoder_.lossy(more) == f"it has {most + 1} nodes, and decoding stops at {most}"


def test_warnings_name_the_graph(caplog: pytest.LogCaptureFixture) -> None:
    """A ring of six is no graph of intervals (d = 2)."""
    ring = Graph(6, [(i, (i + 1) % 6) for i in range(6)], name="ring")
    GeoGAE(**{**TINY, "epochs": 1, "dim": 2}).fit([nx.path_graph(4), nx.path_graph(5), ring])
    assert any("ring" in message for message in caplog.messages)


@pytest.mark.parametrize("other", [{"attributes": "encoded"}, {"consensus": True}])
def test_folding_that_cannot_be(other: dict[str, Any]) -> None:
    with pytest.raises(GeoGAEError, match=r"twins='folded' does not go with .*; take twins='kept'"):
        GeoGAE(**TINY, **other, twins="folded").fit([nx.path_graph(3)])
