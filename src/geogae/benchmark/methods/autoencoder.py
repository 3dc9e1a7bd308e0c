"""GeoGAE's architectures as methods of the benchmark: by preset, or the best of several candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geogae import presets
from geogae.autoencoders import find
from geogae.datasets import NUMBERS
from geogae.graph import Graph

Settings = dict[str, Any]


class AutoencoderMethod:
    """Of several candidates, the one with the best F1 on validation graphs."""

    side_information: tuple[str, ...] = ()

    def __init__(self, candidates: Sequence[Settings]) -> None:
        from geogae.estimator import GeoGAE

        self.candidates = [GeoGAE(**settings) for settings in candidates]
        for model in self.candidates:
            model.check_params()

    def fit(self, train: list[Graph], validation: list[Graph], run: Path) -> Mapping[str, Any]:
        from geogae.training.loop import STATE

        scores = []
        for model in self.candidates:
            folder = run if find(model.architecture).trained else None  # what is trained leaves a state to resume
            resume = folder is not None and (run / STATE).exists()
            model.fit(train, validation=validation, run=folder, resume=resume)
            scores.append(max(row["validation_f1"] for row in model.history_))
        best = int(np.argmax(scores))  # the first of equals
        tried = [
            {**model.autoencoder_.state().facts["reader"], "order": model.get_params()["order"], "validation_f1": f1}
            for model, f1 in zip(self.candidates, scores, strict=True)
        ]
        self.model = self.candidates[best].autoencoder_
        params = {**self.candidates[best].get_params(), **self.model.state().facts["reader"]}
        return {**params, "tried": tried, "history": self.candidates[best].history_}

    def why_not(self, graph: Graph) -> str | None:
        return self.model.why_not(graph)

    def read(self, graphs: list[Graph]) -> list[Any]:
        return self.model.read(graphs)

    def encode(self, readings: list[Any]) -> NDArray[np.float32]:
        return self.model.encode(readings)

    def decode(self, codes: NDArray[np.float32]) -> list[Graph]:
        return [decoding.graph for decoding in self.model.decode(codes)]


def linear(dataset: str, changes: Settings) -> AutoencoderMethod:
    """On the clouds that the paper's model reads."""
    paper = preset("paper", dataset)
    shared = {name: value for name, value in paper.items() if name in ("dim", "order", "latent_dim")}
    return AutoencoderMethod([{"architecture": "linear", **shared, **changes}])


def linear_tuned(dataset: str, changes: Settings) -> AutoencoderMethod:
    """In the paper's dimension and in the smallest that is exact, in both orders: the best on validation graphs."""
    paper, own = preset("paper", dataset), preset("linear", dataset)
    dims = dict.fromkeys((own.get("dim", "auto"), paper.get("dim", "auto")))
    shared = {"architecture": "linear", "latent_dim": paper.get("latent_dim", 192)}
    candidates = [{**shared, "dim": dim, "order": order, **changes} for dim in dims for order in ("axis", "greedy")]
    return AutoencoderMethod([one for i, one in enumerate(candidates) if one not in candidates[:i]])


def by_preset(dataset: str, changes: Settings, recipe: str = "") -> AutoencoderMethod:
    """The preset ``recipe/dataset``; a budget by the clock or by processor time replaces its epochs."""
    values = preset(recipe, dataset)
    if changes.keys() & {"minutes", "core_minutes"}:
        changes = {"epochs": None, **changes}
    return AutoencoderMethod([{**values, **changes}])


def preset(recipe: str, dataset: str) -> Settings:
    """The values for a data set of the paper; for another, the defaults of the recipe's architecture."""
    name = f"{recipe}/{dataset.lower().removesuffix(NUMBERS)}".strip("/")
    if name in presets.names():
        values = presets.read(name)
        values.pop("dataset")
        return values
    values = {"attributes": "decoded"} if recipe.endswith("attributes") else {}
    return values | ({"architecture": "sequential"} if recipe.startswith(("paper", "sequential")) else {})
