"""Run a plan: each run in a worker process, measured, and written as one JSON file. What fails is a result, too."""

from __future__ import annotations

import json
import logging
import math
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from itertools import pairwise
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

from geogae.benchmark.folds import development, held_out
from geogae.benchmark.methods import METHODS
from geogae.benchmark.plan import Run
from geogae.benchmark.provenance import provenance
from geogae.benchmark.results import FORMAT, read_result, run_of
from geogae.errors import GeoGAEError
from geogae.files import atomic_path
from geogae.graph import Graph
from geogae.progress import progress_bar

log = logging.getLogger("geogae")

HISTORY = ("seconds", "core_seconds", "step", "validation_f1")  # of a validation, what a result keeps
SAVING = 60.0  # seconds that an interrupted training gets to save its state


def run_plan(
    runs: Sequence[Run], results: Path, work: Path, *, threads: int, jobs: int = 1, retry: bool = False
) -> dict[str, int]:
    """Run what has no result yet, ``jobs`` at a time with ``threads`` each; how many were done, failed and skipped.

    ``work`` keeps checkpoints, from which an interrupted training goes on. With ``retry`` failed runs are run again.
    """
    todo = [run for run in runs if _missing(run, results, retry)]
    counts = {"done": 0, "failed": 0, "skipped": len(runs) - len(todo)}
    if counts["skipped"]:
        log.info("%d of %d runs have their result already", counts["skipped"], len(runs))
    origin = {**provenance(), "command": " ".join(["geogae", *sys.argv[1:]])}
    free: SimpleQueue[Worker] = SimpleQueue()
    workers = [Worker() for _ in range(jobs)]
    for worker in workers:
        free.put(worker)

    def one(run: Run) -> tuple[Run, dict[str, Any]]:
        worker = free.get()
        try:
            return run, worker.measure(run, results, work / run.path(Path()).with_suffix(""), threads)
        finally:
            free.put(worker)

    with ThreadPoolExecutor(jobs) as pool, progress_bar("benchmark", len(todo)) as advance:
        try:
            running = [pool.submit(one, run) for run in todo]
            for finished in as_completed(running):
                run, entry = finished.result()
                if "unavailable" in entry:
                    raise GeoGAEError(entry["unavailable"])
                _write(run.path(results), {**entry, "threads": threads, **origin})
                counts["failed" if entry["error"] else "done"] += 1
                log.info("%d of %d: %s: %s", sum(counts.values()), len(runs), run, _in_words(entry))
                advance()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.stop()
    return counts


def measure(run: Run, results: Path, work: Path) -> dict[str, Any]:
    """Fit, encode and decode, and compare; what goes wrong is the result's ``error``.

    Graphs that are not on this machine are nobody's result: only ``unavailable`` says why.
    """
    entry: dict[str, Any] = {"format": FORMAT, "method": run.method, "changes": dict(run.changes)}
    entry |= {"dataset": run.dataset, "sample": run.sample, "split": run.split, "seed": run.seed, "error": None}
    try:
        train, validation = development(run)
    except GeoGAEError as error:
        return {"unavailable": str(error)}
    _forget_peak()
    began, used = time.perf_counter(), time.process_time()
    try:
        measured = _measured(run, train, validation, results, work)
        json.dumps(measured, allow_nan=False)  # NaN wherever it hides, or what no file can hold
        entry |= measured
    except GeoGAEError as error:
        entry["error"] = str(error)
    except Exception as error:
        traceback.print_exc()
        entry["error"] = f"{type(error).__name__}: {error}"
    seconds = {"wall": time.perf_counter() - began, "cpu": time.process_time() - used}
    entry["seconds"] = entry.get("seconds", {}) | {name: round(value, 3) for name, value in seconds.items()}
    entry["peak_gib"] = _peak_gib()
    return entry


def _measured(run: Run, train: list[Graph], validation: list[Graph], results: Path, work: Path) -> dict[str, Any]:
    from geogae import metrics

    method = METHODS[run.method].make(run.dataset, {"seed": run.seed, **dict(run.changes)})
    clock = [time.perf_counter()]
    facts = dict(method.fit(train, validation, work))
    clock.append(time.perf_counter())
    test = held_out(run, results)  # everything is chosen by now
    fits = [method.why_not(graph) is None for graph in test]
    readings = method.read([graph for graph, one in zip(test, fits, strict=True) if one])
    clock.append(time.perf_counter())
    codes = method.encode(readings)
    clock.append(time.perf_counter())
    decoded = method.decode(codes)
    clock.append(time.perf_counter())
    if len(decoded) != len(readings):
        raise GeoGAEError(f"{run.method} gave back {len(decoded)} graphs for {len(readings)}")
    pairs = iter(zip((reading.ordered for reading in readings), decoded, strict=True))
    both = [next(pairs) if one else (graph, None) for graph, one in zip(test, fits, strict=True)]
    true, back = [graph for graph, _ in both], [graph for _, graph in both]
    scores, each = metrics.evaluate(true, back), metrics.scores(true, back)
    if any(graph is not None and graph.attributed for graph in back):
        scores |= metrics.attributes(true, back)
    if not all(math.isfinite(score) for score in scores.values()):
        raise GeoGAEError(f"scores are not finite: {scores}")
    fit, read, encode, decode = (round(end - begin, 3) for begin, end in pairwise(clock))
    history = facts.pop("history", [])
    return {
        "config": facts,
        "side_information": method.side_information,
        "graphs": {"train": len(train), "validation": len(validation), "test": len(test)},
        "too_large": len(test) - len(readings),
        "scores": scores,
        "each": {
            "nodes": [graph.n for graph in true],
            "f1": [round(float(f1), 4) for f1 in each["f1"]],
            "exact": each["exact"].astype(int).tolist(),
            "size_error": each["size_error"].astype(int).tolist(),
        },
        "history": [{name: row[name] for name in HISTORY if name in row} for row in history],
        "seconds": {"fit": fit, "read": read, "encode": encode, "decode": decode},
    }


# -- processes --------------------------------------------------------------------------------------------------------


class Worker:
    """A process that measures one run after another; should it die, the run is told so and the next gets a new one."""

    def __init__(self) -> None:
        self.process: SpawnProcess | None = None
        self.pipe: Connection

    def measure(self, run: Run, results: Path, work: Path, threads: int) -> dict[str, Any]:
        if self.process is None or not self.process.is_alive():
            context = multiprocessing.get_context("spawn")  # torch's threads do not survive a fork
            self.pipe, theirs = context.Pipe()
            self.process = context.Process(target=_serve, args=(theirs, threads), daemon=True)
            self.process.start()
            theirs.close()
        began = time.perf_counter()
        try:
            self.pipe.send((run, results, work))
            return self.pipe.recv()
        except (EOFError, OSError):  # OSError if it did not live to read what was sent
            self.process.join()
            code = self.process.exitcode or 0
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        seconds = {"wall": round(time.perf_counter() - began, 3)}
        entry: dict[str, Any] = {"format": FORMAT, "method": run.method, "changes": dict(run.changes)}
        entry |= {"dataset": run.dataset, "sample": run.sample, "split": run.split, "seed": run.seed}
        return entry | {"error": f"the process ended with {how}", "seconds": seconds, "peak_gib": None}

    def stop(self) -> None:
        """As Ctrl-C would: a training saves its state first."""
        if self.process is None or not self.process.is_alive():
            return
        with suppress(OSError):
            self.pipe.send(None)  # in the background of a shell SIGINT may be ignored
            os.kill(self.process.pid or 0, signal.SIGINT)
        self.process.join(SAVING)
        self.process.terminate()


def _serve(pipe: Connection, threads: int) -> None:
    """In the worker: measure what comes until nothing comes any more."""
    import torch

    Thread(target=_follow_parent, daemon=True).start()
    torch.set_num_threads(threads)
    logging.getLogger("geogae").setLevel(logging.ERROR)  # the plan's process talks
    with suppress(EOFError, KeyboardInterrupt):
        while task := pipe.recv():
            pipe.send(measure(*task))


def _follow_parent() -> None:
    """Should the plan's process be killed, so is the worker, lest it train on beside the one of the next plan."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _forget_peak() -> None:
    """Let the peak of memory start anew, where the system allows it (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_gib() -> float | None:
    """The peak of this process since it was forgotten; else since the process began."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return round(int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 2**20, 3)
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30, 3)


# -- files ------------------------------------------------------------------------------------------------------------


def _missing(run: Run, results: Path, retry: bool) -> bool:
    """Whether a run is still to be done; a file that is no result of it is told, and made anew."""
    path = run.path(results)
    if not path.exists():
        return True
    try:
        entry = read_result(path)
        if (other := run_of(entry)) != run:
            raise GeoGAEError(f"{path} is of {other}, not of {run}")
    except GeoGAEError as error:
        log.warning("%s: it is made anew", error)
        return True
    return retry and entry["error"] is not None


def _write(path: Path, entry: Mapping[str, Any]) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(entry, allow_nan=False) + "\n")


def _in_words(entry: Mapping[str, Any]) -> str:
    if entry["error"]:
        return f"failed: {entry['error']}"
    return f"F1 {100 * entry['scores']['f1']:.1f} in {entry['seconds']['wall']:.1f} s"
