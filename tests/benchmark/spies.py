"""Methods that go wrong or remember what they were given, here and in a worker process."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from geogae import Graph
from geogae.autoencoders import Reading
from geogae.benchmark import measurement, runner
from geogae.benchmark.methods import METHODS, Entry
from geogae.benchmark.plan import Run


class Spy:
    """Gives graphs back as they are, and calls ``watch`` with the name of each step and its graphs."""

    side_information = ()
    max_nodes: int | None = None

    def __init__(self, watch: Callable[[str, list[Graph]], Any] = lambda step, graphs: None, **facts: Any) -> None:
        self.watch, self.facts = watch, facts

    def fit(self, train: list[Graph], validation: list[Graph], run: Path) -> Mapping[str, Any]:
        self.watch("fit", train + validation)
        return self.facts

    def why_not(self, graph: Graph) -> str | None:
        return None if self.max_nodes is None or graph.n <= self.max_nodes else "too large"

    def read(self, graphs: list[Graph]) -> list[Reading]:
        self.watch("read", graphs)
        return [Reading(graph) for graph in graphs]

    def encode(self, readings: list[Reading]) -> Any:
        self.watch("encode", [reading.ordered for reading in readings])
        return [reading.ordered for reading in readings]

    def decode(self, codes: Any) -> list[Graph]:
        self.watch("decode", codes)
        return codes


class InProcess:
    """A worker without a process."""

    def measure(self, run: Run, results: Path, work: Path, threads: int) -> dict[str, Any]:
        return measurement.measure(run, results, work)

    def stop(self, *, interrupt: bool) -> None: ...


def entry(method: Any) -> Entry:
    return Entry(lambda dataset, changes: method, trained=False)


def one(method: str = "complete", seed: int = 0, **fields: Any) -> Run:
    """A run on MUTAG."""
    changes = tuple(sorted(fields.pop("changes", {}).items()))
    return Run(**{"method": method, "changes": changes, "dataset": "MUTAG", "sample": None, "split": "paper",
                  "seed": seed, **fields})  # fmt: skip


# -- in a worker ---


def killed(step: str, graphs: list[Graph]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def asleep(step: str, graphs: list[Graph]) -> None:
    print("asleep", flush=True)
    time.sleep(60)


_serve = runner._serve


def serve(pipe: Any, threads: int) -> None:
    """As a worker does, with spies among its methods."""
    METHODS.update(killed=entry(Spy(killed)), asleep=entry(Spy(asleep)))
    _serve(pipe, threads)


def blocked(pipe: Any, threads: int) -> None:
    """Says whether SIGINT is blocked when a worker begins."""
    pipe.recv()
    pipe.send({"blocked": signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])})


def dead(pipe: Any, threads: int) -> None:
    """A worker that ends before it reads what it is sent."""
    os._exit(3)
