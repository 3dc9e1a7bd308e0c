"""Trivial baselines: a path, a complete graph, a star, the mean training graph, the nearest training graph.

Most of them get the true size as side information. Each writes graphs in a node order of its own and is compared with
the truth in that order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from geogae.autoencoders import Reading
from geogae.geometry.cloud import HyperballCloud
from geogae.geometry.fitting import canonicalise, fit_clouds
from geogae.graph import Graph
from geogae.metrics import evaluate


class TrivialBaseline:
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
        """Most baselines learn nothing."""

    def clouds(self, graphs: list[Graph]) -> list[HyperballCloud]:
        return fit_clouds(graphs, self.dim, order=self.order, n_jobs=torch.get_num_threads())  # type: ignore[arg-type]

    def ordered(self, graphs: list[Graph]) -> list[Graph]:
        return [graph.relabel(cloud.order) for graph, cloud in zip(graphs, self.clouds(graphs), strict=True)]

    def why_not(self, graph: Graph) -> str | None:
        return None

    def read(self, graphs: list[Graph]) -> list[Reading]:
        return [Reading(graph) for graph in self.ordered(graphs)]

    def encode(self, readings: list[Reading]) -> Any:
        return [reading.ordered.n for reading in readings]

    def decode(self, codes: Any) -> list[Graph]:
        return [Graph(n, self.edges(n)) for n in codes]

    def edges(self, n: int) -> Any:
        raise NotImplementedError


class PathBaseline(TrivialBaseline):
    """Node i is joined to node i + 1."""

    def edges(self, n: int) -> Any:
        return np.column_stack([np.arange(n - 1), np.arange(1, n)])


class CompleteBaseline(TrivialBaseline):
    """All nodes are joined."""

    def fit(self, train: list[Graph], validation: list[Graph], run: Path) -> Mapping[str, Any]:
        return {}

    def ordered(self, graphs: list[Graph]) -> list[Graph]:
        return graphs

    def edges(self, n: int) -> Any:
        return np.argwhere(np.triu(np.ones((n, n), dtype=bool), 1))


class StarBaseline(TrivialBaseline):
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


class MeanBaseline(TrivialBaseline):
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


class NearestBaseline(TrivialBaseline):
    """The training graph whose padded, ordered cloud is nearest; the code is its number."""

    side_information: tuple[str, ...] = ()

    def learn(self, train: list[Graph], clouds: list[HyperballCloud], validation: list[Graph]) -> None:
        self.known = [graph.relabel(cloud.order) for graph, cloud in zip(train, clouds, strict=True)]
        self.rows = [cloud.balls.ravel() for cloud in clouds]

    def encode(self, readings: list[Reading]) -> Any:
        rows = [cloud.balls.ravel() for cloud in self.clouds([reading.ordered for reading in readings])]
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
