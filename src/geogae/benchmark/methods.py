"""Methods behind one protocol: floors that need no learning, PCA, and the autoencoders.

A floor's code is what its decoder is told: a size, or the number of a training graph. Each method writes graphs in a
node order of its own and is compared with the truth in that order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from geogae import presets
from geogae.datasets import NUMBERS
from geogae.errors import GeoGAEError
from geogae.geometry.cloud import HyperballCloud
from geogae.geometry.fitting import canonicalise, fit_clouds
from geogae.graph import Graph
from geogae.metrics import evaluate

Settings = dict[str, Any]


class Method(Protocol):
    """What the benchmark asks of a method."""

    side_information: tuple[str, ...]  # what its decoder knows beside a code that it made itself: "size", "alignment"

    def fit(self, train: list[Graph], validation: list[Graph], run: Path) -> Mapping[str, Any]:
        """Learn; ``run`` is a folder to keep checkpoints in. Returns facts for the result file."""

    def ordered(self, graphs: list[Graph]) -> list[Graph]:
        """The graphs in the node order in which the method writes them."""

    def carries(self, graphs: list[Graph]) -> list[bool]:
        """Which graphs it can encode."""

    def encode(self, graphs: list[Graph]) -> Any: ...

    def decode(self, codes: Any) -> list[Graph]: ...


# -- floors -----------------------------------------------------------------------------------------------------------


class Floor:
    """Nodes ordered by the clouds that the paper's model reads; the code is the true size."""

    side_information: tuple[str, ...] = ("size",)

    def __init__(self, dim: int | str, order: str) -> None:
        self.dim, self.order = dim, order

    def fit(self, train: list[Graph], validation: list[Graph], run: Path) -> Mapping[str, Any]:
        clouds = self.clouds(train)
        self.dim = clouds[0].dim
        self.learn(train, clouds, validation)
        return {"dim": self.dim, "order": self.order}

    def learn(self, train: list[Graph], clouds: list[HyperballCloud], validation: list[Graph]) -> None:
        """Most floors know nothing."""

    def clouds(self, graphs: list[Graph]) -> list[HyperballCloud]:
        import torch

        return fit_clouds(graphs, self.dim, order=self.order, threads=torch.get_num_threads())  # type: ignore[arg-type]

    def ordered(self, graphs: list[Graph]) -> list[Graph]:
        return [graph.relabel(cloud.order) for graph, cloud in zip(graphs, self.clouds(graphs), strict=True)]

    def carries(self, graphs: list[Graph]) -> list[bool]:
        return [True] * len(graphs)

    def encode(self, graphs: list[Graph]) -> Any:
        return [graph.n for graph in graphs]

    def decode(self, codes: Any) -> list[Graph]:
        return [Graph(n, self.edges(n)) for n in codes]

    def edges(self, n: int) -> Any:
        raise NotImplementedError


class PathFloor(Floor):
    """Node i is joined to node i + 1."""

    def edges(self, n: int) -> Any:
        return np.column_stack([np.arange(n - 1), np.arange(1, n)])


class CompleteFloor(Floor):
    """All nodes are joined."""

    def fit(self, train: list[Graph], validation: list[Graph], run: Path) -> Mapping[str, Any]:
        return {}

    def ordered(self, graphs: list[Graph]) -> list[Graph]:
        return graphs

    def edges(self, n: int) -> Any:
        return np.argwhere(np.triu(np.ones((n, n), dtype=bool), 1))


class StarFloor(Floor):
    """The node of highest degree is joined to all others."""

    def fit(self, train: list[Graph], validation: list[Graph], run: Path) -> Mapping[str, Any]:
        return {"order": "degree"}

    def ordered(self, graphs: list[Graph]) -> list[Graph]:
        ordered = []
        for graph in graphs:
            order = canonicalise(graph.topology()).order  # ties go by structure, not by the numbering
            ordered.append(graph.relabel(order[np.argsort(-graph.degrees[order], kind="stable")]))
        return ordered

    def edges(self, n: int) -> Any:
        return np.column_stack([np.zeros(n - 1, dtype=int), np.arange(1, n)])


class MeanFloor(Floor):
    """Joined where enough training graphs that reach so far are; how many is chosen on validation graphs."""

    THRESHOLDS: ClassVar[NDArray[np.float64]] = np.linspace(0.05, 0.95, 19)

    def learn(self, train: list[Graph], clouds: list[HyperballCloud], validation: list[Graph]) -> None:
        largest = max(graph.n for graph in train)
        joined = np.zeros((largest, largest), dtype=np.float32)
        for graph, cloud in zip(train, clouds, strict=True):
            i, j = graph.relabel(cloud.order).edges.T
            joined[i, j] += 1
        reach = np.cumsum(np.bincount([graph.n - 1 for graph in train], minlength=largest)[::-1])[::-1]
        frequency = joined / np.maximum(reach, 1)  # of the graphs that have node j
        true = self.ordered(validation)
        best = -1.0
        for threshold in self.THRESHOLDS:
            candidate = np.argwhere(frequency >= threshold)  # (E, 2), i < j
            back = [Graph(graph.n, candidate[candidate[:, 1] < graph.n]) for graph in true]
            if (f1 := evaluate(true, back)["f1"]) > best:
                best, self.common = f1, candidate

    def edges(self, n: int) -> Any:
        return self.common[self.common[:, 1] < n]


class NearestFloor(Floor):
    """The training graph whose padded, ordered cloud is nearest; the code is its number."""

    side_information: tuple[str, ...] = ()

    def learn(self, train: list[Graph], clouds: list[HyperballCloud], validation: list[Graph]) -> None:
        self.known = [graph.relabel(cloud.order) for graph, cloud in zip(train, clouds, strict=True)]
        self.rows = [cloud.balls.ravel() for cloud in clouds]

    def encode(self, graphs: list[Graph]) -> Any:
        rows = [cloud.balls.ravel() for cloud in self.clouds(graphs)]
        width = max(map(len, [*rows, *self.rows]))
        known, asked = _padded(self.rows, width), _padded(rows, width)
        distances = (known**2).sum(1) - 2 * asked @ known.T  # (graphs, train), up to a constant of the row
        return distances.argmin(1)

    def decode(self, codes: Any) -> list[Graph]:
        return [self.known[number] for number in codes]


def _padded(rows: Sequence[NDArray[np.float32]], width: int) -> NDArray[np.float32]:
    padded = np.zeros((len(rows), width), dtype=np.float32)
    for row, values in zip(padded, rows, strict=True):
        row[: len(values)] = values
    return padded


# -- autoencoders -----------------------------------------------------------------------------------------------------


class Autoencoder:
    """GeoGAE; of several candidates the one with the best F1 on validation graphs."""

    side_information: tuple[str, ...] = ()

    def __init__(self, candidates: Sequence[Settings]) -> None:
        from geogae.estimator import GeoGAE

        self.candidates = [GeoGAE().set_params(**settings) for settings in candidates]

    def fit(self, train: list[Graph], validation: list[Graph], run: Path) -> Mapping[str, Any]:
        from geogae.training.loop import STATE

        scores = []
        for model in self.candidates:
            trained = model.architecture == "sequential"
            model.fit(
                train,
                validation=validation,
                run=run if trained else None,
                resume=trained and (run / STATE).exists(),
            )
            scores.append(max(row["validation_f1"] for row in model.history_))
        best = int(np.argmax(scores))  # the first of equals
        tried = [
            {"dim": model.dim_, "order": model.order, "validation_f1": f1}
            for model, f1 in zip(self.candidates, scores, strict=True)
        ]
        self.model = self.candidates[best]
        return {**self.model.get_params(), "dim": self.model.dim_, "tried": tried, "history": self.model.history_}

    def ordered(self, graphs: list[Graph]) -> list[Graph]:
        return self.model.ordered(graphs)

    def carries(self, graphs: list[Graph]) -> list[bool]:
        """A graph that the sequential model cuts still comes back in part."""
        return self.model.reads(graphs)

    def encode(self, graphs: list[Graph]) -> Any:
        return self.model.encode(graphs)

    def decode(self, codes: Any) -> list[Graph]:
        return self.model.decode(codes)


# -- by name ----------------------------------------------------------------------------------------------------------


class Entry(NamedTuple):
    """A method by name."""

    make: Callable[[str, Settings], Method]  # for a data set, with changes; those that it does not know are an error
    trained: bool  # whether it takes a budget of minutes
    sized: bool = True  # whether it has a z of size m


def _floor(kind: type[Floor]) -> Entry:
    def make(dataset: str, changes: Settings) -> Method:
        paper = _preset("paper", dataset)
        settings = {"dim": paper.get("dim", "auto"), "order": paper.get("order", "greedy")}
        changes = {name: value for name, value in changes.items() if name != "seed"}
        if unknown := sorted(changes.keys() - settings.keys()):
            raise GeoGAEError(f"a floor has no parameter {', '.join(unknown)}; valid are {', '.join(settings)}")
        settings |= changes
        fit_clouds([], cache=False, **settings)  # nothing to fit: only what cannot be is told
        return kind(**settings)

    return Entry(make, trained=False, sized=False)


def _linear(dataset: str, changes: Settings) -> Method:
    """On the clouds that the paper's model reads."""
    paper = _preset("paper", dataset)
    shared = {name: value for name, value in paper.items() if name in ("dim", "order", "latent_dim")}
    return Autoencoder([{"architecture": "linear", **shared, **changes}])


def _linear_tuned(dataset: str, changes: Settings) -> Method:
    """In the paper's dimension and in the smallest that is exact, in both orders: the best on validation graphs."""
    paper, own = _preset("paper", dataset), _preset("linear", dataset)
    dims = dict.fromkeys((own.get("dim", "auto"), paper.get("dim", "auto")))
    shared = {"architecture": "linear", "latent_dim": paper.get("latent_dim", 192)}
    candidates = [{**shared, "dim": dim, "order": order, **changes} for dim in dims for order in ("axis", "greedy")]
    return Autoencoder([one for i, one in enumerate(candidates) if one not in candidates[:i]])


def _refined(dataset: str, changes: Settings, recipe: str = "") -> Method:
    return Autoencoder([{**_preset(recipe, dataset), **changes}])


def _sequential(dataset: str, changes: Settings, recipe: str = "paper") -> Method:
    if changes.keys() & {"minutes", "core_minutes"}:
        changes = {"epochs": None, **changes}
    return Autoencoder([{"architecture": "sequential", **_preset(recipe, dataset), **changes}])


def _preset(recipe: str, dataset: str) -> Settings:
    """The values for a data set of the paper; nothing for another, which then gets GeoGAE's defaults."""
    name = f"{recipe}/{dataset.lower().removesuffix(NUMBERS)}".strip("/")
    if name not in presets.names():
        return {"attributes": "decoded"} if recipe.endswith("attributes") else {}
    values = presets.read(name)
    values.pop("dataset")
    return values


METHODS: dict[str, Entry] = {
    "path": _floor(PathFloor),
    "complete": _floor(CompleteFloor),
    "star": _floor(StarFloor),
    "mean": _floor(MeanFloor),
    "nearest": _floor(NearestFloor),
    "linear": Entry(_linear, trained=False),
    "linear-tuned": Entry(_linear_tuned, trained=False),
    "sequential": Entry(_sequential, trained=True),
    "refined": Entry(_refined, trained=False),
    "sequential-attributes": Entry(partial(_sequential, recipe="paper-attributes"), trained=True),
    "refined-attributes": Entry(partial(_refined, recipe="attributes"), trained=False),
}
