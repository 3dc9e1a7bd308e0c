<<<<<<< HEAD
"""One of each kind is added from outside of the package: a file (this one) and a line of a registry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import networkx as nx
=======
"""One of each kind is added from outside the package: an autoencoder, a node order, a method of the benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

>>>>>>> core-tests
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
<<<<<<< HEAD

from geogae import GeoGAE, Graph, datasets, fit_clouds, formats
from geogae.autoencoders import AUTOENCODERS, Autoencoder, Decoding, Reading, Session, State
from geogae.autoencoders.base import ALONE
from geogae.benchmark.methods import METHODS, Entry
from geogae.benchmark.results import read_results
from geogae.geometry.ordering import ORDERS
from shell import Run

CHAINS = [nx.path_graph(n) for n in range(3, 23)]


# -- an autoencoder ---


class Chain(Autoencoder[Reading]):
    """Every graph is a chain: z is its length, the rest is 0."""
=======
from sklearn.base import clone

from geogae import GeoGAE, GeoGAEError, Graph, datasets, fit_clouds
from geogae.autoencoders import AUTOENCODERS, Autoencoder, Decoding, Reading, Session, State
from geogae.autoencoders.base import ALONE, check_latent, check_number
from geogae.benchmark.methods import METHODS, Entry
from geogae.benchmark.plan import Run
from geogae.benchmark.measurement import measure
from geogae.geometry.ordering import ORDERS


@pytest.fixture(autouse=True)
def registries() -> Iterator[None]:
    """As they were, afterwards."""
    kept = [(registry, dict(registry)) for registry in (AUTOENCODERS, METHODS, ORDERS)]
    yield
    for registry, entries in kept:
        registry.clear()  # type: ignore[attr-defined]
        registry.update(entries)  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def graphs() -> list[Graph]:
    return [graph.topology() for graph in datasets.load("MUTAG")[:12]]


# -- an autoencoder: one class and one line ---


class DegreeAutoencoder(Autoencoder[Reading]):
    """z is the size and the mean degrees of nodes, in descending order; it decodes to a star of that size."""
>>>>>>> core-tests

    def __init__(
        self,
        *,
        latent_dim: int = 4,
        attributes: str = "ignored",
<<<<<<< HEAD
        scale: float = 1.0,
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        self.latent_dim, self.scale, self.longest = latent_dim, scale, 0
=======
        decimals: int = 3,
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        check_number("latent_dim", latent_dim, int, 2, 100)
        check_number("decimals", decimals, int, 0, 9)
        self.latent_dim, self.attributes, self.decimals = latent_dim, attributes, decimals
        self.largest = 0
>>>>>>> core-tests

    def fit(
        self, graphs: Sequence[Graph], validation: Sequence[Graph] | None = None, session: Session = ALONE
    ) -> list[dict[str, Any]]:
<<<<<<< HEAD
        self.longest = max(graph.n for graph in graphs)
        return [{"step": 0, "validation_f1": 1.0}]

    def why_not(self, graph: Graph) -> str | None:
        return f"it has {graph.n} nodes; at most {self.longest}" if graph.n > self.longest else None

    def read(self, graphs: Sequence[Graph], *, n_jobs: int = 1, progress: bool = False) -> list[Reading]:
        return [Reading(graph) for graph in graphs]
=======
        self.largest = max(graph.n for graph in graphs)
        return [{"step": 0, "validation_f1": self.scores(self.read(validation or graphs))["f1"]}]

    def why_not(self, graph: Graph) -> str | None:
        return f"it has {graph.n} nodes, more than {self.largest}: leave it out" if graph.n > self.largest else None

    def lossy(self, reading: Reading) -> str | None:
        return "only stars come back" if reading.ordered.degrees.max() < reading.ordered.n - 1 else None

    def read(self, graphs: Sequence[Graph], *, n_jobs: int = 1, progress: bool = False) -> list[Reading]:
        return [Reading(graph.relabel(np.argsort(-graph.degrees, kind="stable"))) for graph in graphs]
>>>>>>> core-tests

    def encode(
        self, readings: Sequence[Reading], *, batch_size: int | None = None, n_jobs: int = 1
    ) -> NDArray[np.float32]:
<<<<<<< HEAD
        z = np.zeros((len(readings), self.latent_dim), dtype=np.float32)
        z[:, 0] = [self.scale * reading.ordered.n for reading in readings]
        return z

    def decode(self, z: NDArray[np.float32]) -> list[Decoding]:
        sizes = np.rint(z[:, 0] / self.scale).astype(int)
        return [Decoding(Graph(n, [(i, i + 1) for i in range(n - 1)])) for n in sizes.tolist()]

    def state(self) -> State:
        return State({"longest": torch.tensor(self.longest)}, {})
=======
        z = np.zeros((len(readings), self.latent_dim), np.float32)
        for row, (graph,) in zip(z, readings, strict=True):
            degrees = np.sort(graph.degrees)[::-1][: self.latent_dim - 1]
            row[0], row[1 : 1 + len(degrees)] = graph.n, degrees.round(self.decimals)
        return z

    def decode(self, z: NDArray[np.float32]) -> list[Decoding]:
        check_latent(z, self.latent_dim)
        return [Decoding(star(int(row[0]))) for row in z]

    def state(self) -> State:
        return State({"largest": torch.tensor([self.largest])})
>>>>>>> core-tests

    @classmethod
    def from_state(cls, state: State, **parameters: Any) -> Self:
        model = cls(**parameters)
<<<<<<< HEAD
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
=======
        model.largest = int(state.tensors["largest"][0])
        return model


def star(n: int) -> Graph:
    return Graph(n, [(0, i) for i in range(1, n)])


def test_an_autoencoder(graphs: list[Graph], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    AUTOENCODERS["degrees"] = DegreeAutoencoder
    model = GeoGAE("degrees", decimals=1).fit(graphs)
    assert model.get_params() == GeoGAE.defaults("degrees") | {"decimals": 1} and clone(model).decimals == 1
    z = model.encode(graphs)
    assert z.shape == (12, model.latent_dim)
    assert "12 of 12 graphs may not come back whole; graph" in caplog.text and "only stars come back" in caplog.text
    assert model.decode(model.encode(star(5))) == star(5) and model.score([star(7)]) == 1
    scores = model.evaluate([*graphs, star(99)])
    assert (scores["not_encoded"], scores["lossy"], scores["size_error"]) == (1, 12, pytest.approx(99 / 13))
    with pytest.raises(GeoGAEError, match="cannot be encoded: it has 99 nodes, more than .*: leave it out"):
        model.encode(star(99))
    model.save(tmp_path)
    loaded = GeoGAE.load(tmp_path)
    assert loaded.architecture == "degrees" and np.array_equal(loaded.encode(graphs), z)
    with pytest.raises(GeoGAEError, match="decimals=10 must be a whole number, from 0 to 9"):
        GeoGAE("degrees", decimals=10).fit(graphs)
    with pytest.raises(GeoGAEError, match="'steps' is no parameter of degrees; valid are latent_dim, attributes, deci"):
        GeoGAE("degrees", steps=3)
    del AUTOENCODERS["degrees"]
    with pytest.raises(GeoGAEError, match="architecture='degrees' is not known; valid are refined, sequential, linear"):
        GeoGAE.load(tmp_path)


def test_an_autoencoder_by_the_place_of_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(AUTOENCODERS, "degrees", f"{__name__}:DegreeAutoencoder")
    assert GeoGAE("degrees").fit([star(4)]).decode(np.array([3.0] + [0] * 191)) == star(3)


# -- a node order: one function and one line ---


def by_radius(centers: NDArray[np.floating], radii_raw: NDArray[np.floating]) -> NDArray[np.int64]:
    return np.argsort(-radii_raw, kind="stable")


def test_a_node_order(graphs: list[Graph]) -> None:
    ORDERS["by radius"] = by_radius
    for cloud in fit_clouds(graphs, 3, order="by radius"):
        assert (np.diff(cloud.balls[:, -1]) <= 0).all() and cloud.exact
    model = GeoGAE(dim=3, order="by radius", latent_dim=86).fit(graphs)
    scores = model.evaluate([graph.relabel(np.arange(graph.n)[::-1]) for graph in graphs])
    assert (scores["f1"], scores["exact"]) == (1, 1)
    del ORDERS["by radius"]
    with pytest.raises(GeoGAEError, match="order='by radius' is not known; valid are greedy, axis"):
        GeoGAE(order="by radius").fit(graphs)


# -- a method of the benchmark: one class and one line ---


class StarMethod:
    """Every graph is a star; the code is the size."""

    side_information = ("size",)

    def __init__(self, dataset: str, changes: Mapping[str, Any]) -> None:
        self.dataset = dataset

    def fit(self, train: list[Graph], validation: list[Graph], run: Path) -> Mapping[str, Any]:
        return {"graphs": len(train)}
>>>>>>> core-tests

    def why_not(self, graph: Graph) -> str | None:
        return None

    def read(self, graphs: list[Graph]) -> list[Reading]:
<<<<<<< HEAD
        return [Reading(graph) for graph in graphs]
=======
        return [Reading(graph.relabel(np.argsort(-graph.degrees, kind="stable"))) for graph in graphs]
>>>>>>> core-tests

    def encode(self, readings: list[Reading]) -> list[int]:
        return [reading.ordered.n for reading in readings]

    def decode(self, codes: list[int]) -> list[Graph]:
<<<<<<< HEAD
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
=======
        return [star(n) for n in codes]


def test_a_method_of_the_benchmark(tmp_path: Path) -> None:
    METHODS["stars"] = Entry(StarMethod, sized=False)
    entry = measure(Run("stars", (), "MUTAG", None, "paper", 0), tmp_path / "results", tmp_path / "work")
    assert entry["error"] is None and entry["method"] == "stars" and entry["scores"]["size_error"] == 0
    assert 0 < entry["scores"]["f1"] < 0.5
>>>>>>> core-tests
