"""One of each kind is added from outside of the package: a file (this one) and a line of a registry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import networkx as nx
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from geogae import GeoGAE, Graph, datasets, fit_clouds, formats
from geogae.autoencoders import AUTOENCODERS, Autoencoder, Decoding, Reading, Session, State
from geogae.autoencoders.base import DEFAULT_SESSION
from geogae.benchmark.methods import METHODS, Entry
from geogae.benchmark.results import read_results
from geogae.geometry.ordering import ORDERS
from shell import Run

CHAINS = [nx.path_graph(n) for n in range(3, 23)]


# -- an autoencoder ---


class Chain(Autoencoder[Reading]):
    """Every graph is a chain: z is its length, the rest is 0."""

    def __init__(
        self,
        *,
        latent_dim: int = 4,
        attributes: str = "ignored",
        scale: float = 1.0,
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        self.latent_dim, self.attributes, self.scale, self.longest = latent_dim, attributes, scale, 0

    def fit(
        self, graphs: Sequence[Graph], validation: Sequence[Graph] | None = None, session: Session = DEFAULT_SESSION
    ) -> list[dict[str, Any]]:
        self.longest = max(graph.n for graph in [*graphs, *(validation or [])])
        return [{"step": 0}]

    def why_not(self, graph: Graph) -> str | None:
        return f"it has {graph.n} nodes; at most {self.longest}" if graph.n > self.longest else None

    def read(self, graphs: Sequence[Graph], *, n_jobs: int = 1, progress: bool = False) -> list[Reading]:
        return [Reading(graph) for graph in graphs]

    def encode(
        self, readings: Sequence[Reading], *, batch_size: int | None = None, n_jobs: int = 1
    ) -> NDArray[np.float32]:
        z = np.zeros((len(readings), self.latent_dim), dtype=np.float32)
        z[:, 0] = [self.scale * reading.ordered.n for reading in readings]
        return z

    def decode(self, z: NDArray[np.float32]) -> list[Decoding]:
        sizes = np.rint(z[:, 0] / self.scale).astype(int)
        return [Decoding(Graph(n, [(i, i + 1) for i in range(n - 1)])) for n in sizes.tolist()]

    def state(self) -> State:
        return State({"longest": torch.tensor(self.longest)}, {})

    @classmethod
    def from_state(cls, state: State, **parameters: Any) -> Self:
        model = cls(**parameters)
        model.longest = int(state.tensors["longest"])
        return model


def test_an_autoencoder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(AUTOENCODERS, "chain", Chain)
    model = GeoGAE("chain", latent_dim=3, scale=2.0).fit(CHAINS)
    assert model.encode(CHAINS[2]).tolist() == [10, 0, 0] and model.evaluate(CHAINS)["exact"] == 1
    model.save(tmp_path / "model")
    again = GeoGAE.load(tmp_path / "model")
    assert again.get_params()["scale"] == 2.0 and again.decode(model.encode(CHAINS)) == model.decode(
        model.encode(CHAINS)
    )
    assert "at most 22" in (again.why_not(nx.path_graph(40)) or "")
    assert GeoGAE("chain").latent_dim == GeoGAE.defaults("chain")["latent_dim"] == 192


def test_an_autoencoder_on_the_command_line(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setitem(AUTOENCODERS, "chain", Chain)
    Path("chain.toml").write_text('architecture = "chain"\nlatent_dim = 4\nscale = 2.0\n')
    formats.write(CHAINS, "chains.jsonl")
    for how in ([], ["--json"]):
        done = run("train", "chain.toml", "--data", "chains.jsonl", "--out", f"run{len(how)}", *how)
        assert done.code == 0 and ('"f1": 1.0' if how else "100.00 %") in done.out
    assert run("encode", "run0", "chains.jsonl", "-o", "z.npy").code == 0
    assert np.load("z.npy")[3].tolist() == [12, 0, 0, 0]


# -- a node order ---


def test_a_node_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ORDERS, "by radius", lambda centers, radii_raw: np.argsort(radii_raw, kind="stable"))
    [cloud] = fit_clouds([nx.star_graph(5)], 3, order="by radius")
    assert np.all(np.diff(cloud.balls[:, -1]) >= 0)
    model = GeoGAE("linear", dim=3, order="by radius", latent_dim=48).fit(CHAINS[:8])
    assert model.evaluate(CHAINS[:8])["exact"] == 1


# -- a file format and a data set ---


def read_sizes(path: Any, **how: Any) -> Iterable[Graph]:
    return [Graph(n, [(i, i + 1) for i in range(n - 1)]) for n in map(int, Path(path).read_text().split())]


def write_sizes(graphs: Iterable[Graph], path: Any) -> None:
    Path(path).write_text(" ".join(str(graph.n) for graph in graphs))


def test_a_file_format(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setitem(formats.FILES, ".sizes", formats.FileFormat(read=read_sizes, write=write_sizes))
    formats.write(CHAINS, "chains.sizes")
    assert Path("chains.sizes").read_text().startswith("3 4 5") and len(formats.read("chains.sizes")) == 20
    assert run("cloud", "chains.sizes", "--dim", 3).code == 0


def test_a_data_set(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setitem(datasets.DATASETS, "CHAINS", datasets.DataSet(load=lambda name, root, policy: CHAINS))
    assert [graph.n for graph in datasets.load("CHAINS")] == list(range(3, 23))
    assert run("cloud", "CHAINS", "--dim", 3).code == 0


# -- a benchmark method ---


class Twice:
    """Decodes every graph to two copies of its first node."""

    side_information: tuple[str, ...] = ("size",)

    def fit(self, train: list[Graph], validation: list[Graph], run: Path) -> Mapping[str, Any]:
        return {"note": "nothing to learn"}

    def why_not(self, graph: Graph) -> str | None:
        return None

    def read(self, graphs: list[Graph]) -> list[Reading]:
        return [Reading(graph) for graph in graphs]

    def encode(self, readings: list[Reading]) -> list[int]:
        return [reading.ordered.n for reading in readings]

    def decode(self, codes: list[int]) -> list[Graph]:
        return [Graph(2, [(0, 1)]) for _ in codes]


def test_a_benchmark_method(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    from geogae.benchmark import measurement, runner

    class Here:
        """A worker in this process."""

        def measure(self, run: Any, results: Path, work: Path, threads: int) -> dict[str, Any]:
            return measurement.measure(run, results, work)

        def stop(self, *, interrupt: bool) -> None: ...

    monkeypatch.setattr(runner, "Worker", Here)
    monkeypatch.setitem(METHODS, "twice", Entry(lambda dataset, changes: Twice(), sized=False))
    assert run("benchmark", "run", "--methods", "twice", "--seeds", 0).code == 0
    [result] = read_results(Path("benchmarks/results"))
    assert result["config"] == {"note": "nothing to learn"} and 0 < result["scores"]["f1"] < 0.5
    assert "| twice | size |" in run("benchmark", "report").out
