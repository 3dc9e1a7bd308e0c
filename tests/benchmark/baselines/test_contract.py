"""What every compared method must do: the contract of an autoencoder, resume, memory, attributes, presets."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small import METHODS, SMALL, attributed, graphs, prepared, random_graph

from geogae import GeoGAEError, Graph, presets
from geogae.autoencoders.base import Session
from geogae.benchmark.baselines import BASELINES, OutOfMemory, find, preset
from geogae.benchmark.methods import METHODS as BENCHMARK
from geogae.benchmark.methods.baseline import baseline
from geogae.training.loop import STATE


def trained(method: str, examples: list[Graph], session: Session | None = None, **changes: Any) -> Any:
    model = find(method)(**{**SMALL[method], "epochs": 2, "core_minutes": None, "batch_size": 4, **changes})
    model.fit(examples, examples[:3], *([session] if session else []))
    return model


@pytest.mark.parametrize("method", METHODS)
def test_z_depends_on_its_graph_alone(method: str) -> None:
    model = prepared(method, graphs())
    readings = model.read(graphs())
    z = model.encode(readings)
    assert np.isfinite(z).all() and z.shape == (8, 12)
    assert np.array_equal(z[3:5], model.encode(readings[3:5]))
    assert np.abs(z - model.encode(readings, batch_size=4)).max() < 1e-4
    assert model.decode(z)[2].graph == model.decode(z[2:3])[0].graph


@pytest.mark.parametrize("method", METHODS)
def test_losses_in_bfloat16_are_near_those_in_float32(method: str) -> None:
    model = prepared(method, graphs())
    batch = model.collate(model.training_readings(graphs()))
    losses = []
    for coarse in (False, True):
        torch.manual_seed(0)  # of the noise
        with torch.autocast("cpu", torch.bfloat16, enabled=coarse):
            parts = model.loss(model.network, batch)
        assert all(part.dtype == torch.float32 for part in parts.values())
        losses.append({name: part.item() for name, part in parts.items()})
    for name, value in losses[0].items():
        assert value == pytest.approx(losses[1][name], rel=0.05, abs=0.02), name


@pytest.mark.parametrize("attributes", ["ignored", "decoded"])
@pytest.mark.parametrize("method", METHODS)
def test_state_and_back(method: str, attributes: str) -> None:
    if method == "regae" and attributes == "decoded":
        with pytest.raises(GeoGAEError, match="attributes='decoded' is not known; valid are ignored"):
            prepared(method, graphs(), attributes=attributes)
        return
    examples = [attributed(graph) for graph in graphs()]
    model = trained(method, examples, attributes=attributes)
    state = model.state()
    facts = json.loads(json.dumps(state.facts))
    again = type(model).from_state(type(state)(state.tensors, facts), **SMALL[method], attributes=attributes)
    readings = model.read(examples)
    z = model.encode(readings)
    assert np.array_equal(z, again.encode(again.read(examples)))
    for one, other in zip(model.decode(z), again.decode(z), strict=True):
        assert one.graph == other.graph
        assert one.graph.attributed == (attributes == "decoded")
    with pytest.raises(ValueError, match=r"size mismatch"):
        type(model).from_state(state, **{**SMALL[method], "latent_dim": 24}, attributes=attributes)


@pytest.mark.parametrize("method", METHODS)
def test_a_resumed_run_is_the_uninterrupted_one(method: str, tmp_path: Path) -> None:
    examples, values = graphs(), {**SMALL[method], "epochs": 3, "core_minutes": None, "batch_size": 4}
    if method != "regae":
        values["dropout"] = 0.3  # its draws go on where they were
    whole, stopped, resumed = (find(method)(**values) for _ in range(3))
    whole.fit(examples, examples[:3])
    loss, calls = stopped.loss, []

    def interrupting(network: Any, batch: Any) -> Any:
        calls.append(batch)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        return loss(network, batch)

    stopped.loss = interrupting  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(examples, examples[:3], Session(tmp_path))
    assert (tmp_path / STATE).exists()
    resumed.fit(examples, examples[:3], Session(tmp_path, resume=True))
    for name, weight in whole.network.state_dict().items():
        assert torch.equal(weight, resumed.network.state_dict()[name]), name


@pytest.mark.parametrize("method", METHODS)
def test_what_does_not_fit_in_memory_is_known_before_the_first_step(method: str) -> None:
    model = find(method)(**SMALL[method], memory_gib=1e-4, batch_size=4)
    with pytest.raises(
        OutOfMemory, match=r"OOM: training needs about .* GiB for a batch of 4 graphs of 8 nodes"
    ) as error:
        model.fit(graphs(), graphs())
    assert error.value.needed > error.value.limit == int(1e-4 * 2**30)
    assert not hasattr(model, "network")  # its weights alone may be too much


@pytest.mark.parametrize(
    ("method", "dataset", "n", "least_gib", "most_gib"),
    [
        ("pigvae", "REDDIT-BINARY", 3782, 300, 5000),
        ("grale", "REDDIT-BINARY", 3782, 200, 5000),
        ("regae", "MUTAG", 28, 0.05, 2),
    ],
)
def test_memory_of_the_papers_settings(method: str, dataset: str, n: int, least_gib: float, most_gib: float) -> None:
    """As in the paper, PIGVAE and GRALE cannot take REDDIT-BINARY."""
    model = find(method)(**preset(method, dataset))
    model.prepare([Graph(2, [(0, 1)])]) if method != "grale" else model.facts.update(nodes=n)
    assert least_gib < model.predicted_bytes(n, model.batch_size) / 2**30 < most_gib


MEASURE = """
import resource, sys
import numpy as np
from geogae import Graph
from geogae.benchmark.baselines import find
from geogae.benchmark.baselines.memory import COPIES
method, n, count, values = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), eval(sys.argv[4])
path = Graph(n, [(i, i + 1) for i in range(n - 1)])
model = find(method)(**values)
model.prepare([path])
weights = sum(parameter.nbytes for parameter in model.network.parameters())
predicted = model.predicted_bytes(n, count) - (COPIES - 2) * weights  # one step has weights and gradients alone
model.network.train()
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
small = model.collate(model.read([path]))
model.loss(model.network, small)["total"].backward()  # libraries are loaded, buffers are there
batch = model.collate(model.read([path] * count))
before = peak()
model.loss(model.network, batch)["total"].backward()
print((peak() - before) / predicted)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "n", "count", "values"),
    [
        ("pigvae", 40, 8, {"layers": 2}),
        ("regae", 100, 32, {"encoder_hidden": (256,), "decoder_hidden": (256,)}),
        ("grale", 40, 8, {}),
    ],
)
def test_predicted_memory_is_what_a_step_takes(method: str, n: int, count: int, values: dict[str, Any]) -> None:
    command = [sys.executable, "-c", MEASURE, method, str(n), str(count), repr(values)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 0.6 < float(done.stdout) < 1.4


@pytest.mark.slow
@pytest.mark.parametrize("method", ["pigvae", "grale"])
def test_attributes_are_learned(method: str) -> None:
    """A single graph, shown often: its categories and numbers come back with its edges."""
    graph = attributed(random_graph(5, 1))
    wider = {"pigvae": {"hidden": 32, "dropout": 0.0, "variational": False}, "grale": {"node_dim": 32, "edge_dim": 32}}
    model = trained(
        method, [graph] * 2, attributes="decoded", epochs=250, lr=3e-3, clip=1.0, validations=1, **wider[method]
    )
    readings = model.read([graph])
    back = model.decode_with(model.encode(readings), readings, model.side_information[0])[0].graph
    true = readings[0].ordered
    assert np.array_equal(back.edges, true.edges)
    assert np.array_equal(back.node_categorical, true.node_categorical)
    assert np.array_equal(back.edge_categorical, true.edge_categorical)
    assert np.abs(back.node_continuous - true.node_continuous).max() < 1.0
    assert np.abs(back.edge_continuous - true.edge_continuous).max() < 1.0


@pytest.mark.parametrize("method", METHODS)
def test_side_information_that_is_not_known(method: str) -> None:
    model = prepared(method, graphs())
    readings = model.read(graphs()[:1])
    with pytest.raises(GeoGAEError, match="side_information='everything' is not known; valid are"):
        model.decode_with(model.encode(readings), readings, "everything")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("wrong", [{"latent_dim": 0}, {"lr": -1}, {"batch_size": 0}, {"device": "abacus"}, {"clip": 0}])
def test_wrong_parameters_are_one_line(method: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(GeoGAEError, match=next(iter(wrong))):
        find(method)(**wrong)


def test_the_papers_hyperparameters() -> None:
    """Sections 4.1 and A of the paper, as the presets have them."""
    assert len(presets.DATASETS) == 7
    shown = {(name, dataset): preset(name, dataset) for name in BASELINES for dataset in presets.DATASETS}
    for (name, _), values in shown.items():
        find(name)(**values)
    pick = lambda name, dataset, *fields: tuple(shown[name, dataset][field] for field in fields)  # noqa: E731
    fields = ("latent_dim", "hidden", "feedforward", "heads", "layers", "kl_weight", "permutation_weight")
    assert pick("pigvae", "mutag", *fields) == (64, 128, 512, 4, 4, 1e-3, 0.1)
    assert pick("pigvae", "syntheticnew", *fields) == (16, 256, 256, 8, 4, 1e-2, 1.0)
    assert pick("pigvae", "qm9", *fields) == (32, 128, 256, 2, 1, 1e-3, 0.5)
    fields = ("latent_dim", "encoder_hidden", "decoder_hidden", "block", "lr", "weight_decay")
    assert pick("regae", "imdb-binary", *fields) == (160, [2048], [4096], 4, 5e-4, 1e-4)
    assert pick("regae", "collab", *fields) == (604, [2048, 1536], [4096], 16, 3e-4, 1e-3)
    fields = (
        "layers",
        "heads",
        "node_hidden",
        "node_dim",
        "edge_hidden",
        "edge_dim",
        "latent_dim",
        "matcher",
        "batch_size",
    )
    assert pick("grale", "mutag", *fields) == (3, 8, 64, 64, 0, 64, 256, "softsort", 64)
    assert pick("grale", "qm9", *fields) == (6, 8, 64, 128, 64, 64, 128, "sinkhorn", 256)


def test_the_benchmark_scores_with_and_without_side_information(tmp_path: Path) -> None:
    assert {"pigvae", "regae", "grale", "pigvae-attributes", "grale-attributes"} <= BENCHMARK.keys()
    small = {**SMALL["regae"], "epochs": 2, "seed": 0}
    method = baseline("MUTAG", small, name="regae")
    facts = method.fit(graphs(), graphs()[:2], tmp_path)
    assert facts["largest"] == 8 and facts["history"]
    readings = method.read(graphs())
    codes = method.encode(readings)
    assert method.side_information == () and method.optional_side_information == ("size",)
    assert [graph.n for graph in method.decode_with(codes, readings, "size")] == [graph.n for graph in graphs()]
    assert len(method.decode(codes)) == 8
    with pytest.raises(GeoGAEError, match="'heads' is no parameter of regae; valid are"):
        baseline("MUTAG", {"heads": 3}, name="regae")
    with pytest.raises(GeoGAEError, match="pigvae has no preset for 'PROTEINS'"):
        baseline("PROTEINS", {}, name="pigvae")
