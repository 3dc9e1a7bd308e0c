"""The graphs of a run. Fits and choices see training and validation graphs; one function gives out the test graphs."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from geogae import datasets
from geogae.benchmark.plan import Run
from geogae.benchmark.provenance import now
from geogae.datasets.splits import isomorphism_classes
from geogae.errors import GeoGAEError
from geogae.graph import Graph
from geogae.json_lines import append

TEST_READS = "test_reads.log"  # in the results folder: who looked at which test graphs, and when


def development(run: Run) -> tuple[list[Graph], list[Graph]]:
    """Training and validation graphs."""
    train, validation, _ = _parts(run.dataset, run.sample, run.split, run.seed)
    return train, validation


def held_out(run: Run, results: Path) -> list[Graph]:
    """The test graphs. Nothing else in the benchmark reads them, and every reading is a line in the log."""
    append(results / TEST_READS, {"when": now(), "run": str(run)})
    return _parts(run.dataset, run.sample, run.split, run.seed)[2]


def unseen(run: Run) -> list[bool]:
    """Which of the test graphs are isomorphic to no training graph, attributes aside."""
    return _unseen(run.dataset, run.sample, run.split, run.seed)


@lru_cache(maxsize=1)
def _unseen(dataset: str, sample: int | None, split: str, seed: int) -> list[bool]:
    train, _, test = _parts(dataset, sample, split, seed)
    new = [False] * len(train) + [True] * len(test)
    if split == "paper":
        for members in isomorphism_classes([*train, *test]):
            if not all(new[index] for index in members):  # a training graph is one of them
                for index in members:
                    new[index] = False
    return new[len(train) :]


@lru_cache(maxsize=1)
def _graphs(dataset: str, sample: int | None) -> list[Graph]:
    graphs = datasets.read(dataset)
    if sample is None:
        return graphs
    if sample > len(graphs):
        raise GeoGAEError(f"{dataset}:{sample} asks for more than its {len(graphs)} graphs; ask for fewer")
    return datasets.sample(graphs, sample, seed=0)


@lru_cache(maxsize=1)
def _parts(dataset: str, sample: int | None, split: str, seed: int) -> tuple[list[Graph], list[Graph], list[Graph]]:
    parts = datasets.split(_graphs(dataset, sample), seed, disjoint=split == "disjoint")
    if not all(parts):
        counts = ", ".join(str(len(part)) for part in parts)
        raise GeoGAEError(f"{dataset} splits into {counts} graphs; each part needs one: give more graphs")
    return parts
