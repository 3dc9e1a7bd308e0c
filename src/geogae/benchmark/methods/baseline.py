"""PIGVAE, ReGAE and GRALE as methods of the benchmark: by preset, from z alone and with their side information."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geogae.autoencoders import Reading, Session, parameters_of
from geogae.benchmark.baselines import find, preset
from geogae.datasets import NUMBERS
from geogae.graph import Graph
from geogae.parameters import check_names
from geogae.training.loop import STATE


class BaselineMethod:
    """One of the compared methods with its preset's parameters; see :class:`geogae.benchmark.methods.Method`."""

    side_information: tuple[str, ...] = ()  # it decodes z alone, and …

    def __init__(self, name: str, parameters: Mapping[str, Any]) -> None:
        check_names(parameters, name, parameters_of(find(name)))
        self.model = find(name)(**parameters)
        self.parameters, self.seed = dict(parameters), int(parameters.get("seed", 0))
        self.optional_side_information = self.model.side_information  # … is scored with each of these as well

    def fit(self, train: list[Graph], validation: list[Graph], run: Path) -> Mapping[str, Any]:
        history = self.model.fit(train, validation, Session(run, resume=(run / STATE).exists()))
        return {**self.parameters, **self.model.facts, "history": history}

    def why_not(self, graph: Graph) -> str | None:
        return self.model.why_not(graph)

    def read(self, graphs: list[Graph]) -> list[Reading]:
        """Every graph is numbered at random first: what a method gains from the numbering of a file is not its own."""
        random = np.random.default_rng(self.seed)
        return self.model.read([graph.relabel(random.permutation(graph.n)) for graph in graphs])

    def encode(self, readings: Sequence[Reading]) -> NDArray[np.float32]:
        return self.model.encode(readings)

    def decode(self, codes: NDArray[np.float32]) -> list[Graph]:
        return [decoding.graph for decoding in self.model.decode(codes)]

    def decode_with(
        self, codes: NDArray[np.float32], readings: Sequence[Reading], side_information: str
    ) -> list[Graph]:
        return [decoding.graph for decoding in self.model.decode_with(codes, readings, side_information)]


def baseline(dataset: str, changes: Mapping[str, Any], name: str, attributes: str = "ignored") -> BaselineMethod:
    """The preset of a data set of the paper, with changes; a budget by the clock or in epochs replaces its own."""
    values = {**preset(name, dataset.removesuffix(NUMBERS)), "attributes": attributes}
    if changes.keys() & {"minutes", "epochs"}:
        values["core_minutes"] = None
    return BaselineMethod(name, {**values, **changes})
