"""Run a plan: each run is measured in a worker process and appended to the results. A failure is a result, too."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

from geogae.benchmark.measurement import identity, measure
from geogae.benchmark.plan import Run
from geogae.benchmark.provenance import now, provenance
from geogae.benchmark.results import FORMAT, read_file
from geogae.errors import GeoGAEError
from geogae.json_lines import append
from geogae.progress import progress_bar

log = logging.getLogger("geogae")

START = "spawn"  # how a worker process begins: torch's threads do not survive a fork
SAVING = 60.0  # seconds that an interrupted training gets to save its state


def run_plan(
    runs: Sequence[Run],
    results: Path,
    work: Path,
    *,
    threads: int,
    jobs: int = 1,
    retry: bool = False,
    again: bool = False,
) -> dict[str, int]:
    """Run what has no result yet, ``jobs`` at a time with ``threads`` each; how many were done, failed and skipped.

    ``work`` keeps checkpoints, from which an interrupted training continues. With ``retry`` failed runs are run again,
    with ``again`` those whose result is from another commit.
    """
    origin = {**provenance(), "command": " ".join(["geogae", *sys.argv[1:]])}
    todo = _missing(runs, results, origin, retry, again)
    counts = {"done": 0, "failed": 0, "skipped": len(runs) - len(todo)}
    if counts["skipped"]:
        log.info("%d of %d runs have their result already", counts["skipped"], len(runs))
    free: SimpleQueue[Worker] = SimpleQueue()
    workers = [Worker() for _ in range(min(jobs, max(len(todo), 1)))]
    for worker in workers:
        free.put(worker)

    def one(run: Run) -> tuple[Run, dict[str, Any]]:
        worker = free.get()
        try:
            return run, worker.measure(run, results, run.folder(work), threads)
        finally:
            free.put(worker)

    finished = False
    with ThreadPoolExecutor(len(workers)) as pool, progress_bar("benchmark", len(todo)) as advance:
        try:
            for future in as_completed([pool.submit(one, run) for run in todo]):
                run, entry = future.result()
                if "unavailable" in entry:
                    raise GeoGAEError(entry["unavailable"])
                append(run.file(results), {**entry, "threads": threads, **origin, "when": now()})
                counts["failed" if entry["error"] else "done"] += 1
                log.info("%d of %d: %s: %s", sum(counts.values()), len(runs), run, _in_words(entry))
                advance()
            finished = True
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.stop(interrupt=not finished)
    return counts


# -- processes --------------------------------------------------------------------------------------------------------


class Worker:
    """A process that measures one run after another; if it dies, the run fails and the next one gets a new process."""

    def __init__(self) -> None:
        self.process: BaseProcess | None = None
        self.pipe: Connection

    def measure(self, run: Run, results: Path, work: Path, threads: int) -> dict[str, Any]:
        if self.process is None or not self.process.is_alive():
            context: Any = multiprocessing.get_context(START)
            self.pipe, theirs = context.Pipe()
            self.process = context.Process(target=_serve, args=(theirs, threads), daemon=True)
            with _sigint_blocked():  # inherited, so that Ctrl-C does not hit the imports of the new process
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
        failed = {"error": f"the process ended with {how}", "seconds": seconds, "peak_gib": None}
        return {"format": FORMAT, **identity(run), **failed}

    def stop(self, *, interrupt: bool) -> None:
        """Let the process end; with ``interrupt`` also if it works: a training saves its state first."""
        if self.process is None or not self.process.is_alive():
            return
        with suppress(OSError):
            self.pipe.send(None)
            if interrupt:
                os.kill(self.process.pid or 0, signal.SIGINT)
        self.process.join(SAVING)
        self.process.terminate()


@contextmanager
def _sigint_blocked() -> Iterator[None]:
    """No SIGINT for this thread, nor for the process that it starts, where the system allows it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # starting it would lift the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection, threads: int) -> None:
    """In the worker: measure what comes until nothing comes any more. SIGINT counts only during a measurement."""
    signal.signal(signal.SIGINT, _ignore)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    import torch

    Thread(target=_follow_parent, daemon=True).start()
    torch.set_num_threads(threads)
    logging.getLogger("geogae").setLevel(logging.ERROR)  # the plan's process talks
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while task := pipe.recv():
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                entry = measure(*task)
            finally:
                signal.signal(signal.SIGINT, _ignore)
            pipe.send(entry)


def _ignore(number: int, frame: object) -> None:
    """A signal handler that does nothing."""


def _follow_parent() -> None:
    """End the worker if the plan's process is killed; the next plan starts its own workers."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


# -- results ----------------------------------------------------------------------------------------------------------


def _missing(runs: Sequence[Run], results: Path, origin: Mapping[str, Any], retry: bool, again: bool) -> list[Run]:
    """The runs that are still to be done."""
    known = {path: read_file(path) for path in dict.fromkeys(run.file(results) for run in runs)}

    def missing(run: Run) -> bool:
        entry = known[run.file(results)].get(run)
        if entry is None or (retry and entry["error"] is not None):
            return True
        return again and (entry["modified"] or origin["modified"] or entry["commit"] != origin["commit"])

    return [run for run in runs if missing(run)]


def _in_words(entry: Mapping[str, Any]) -> str:
    if entry["error"]:
        return f"failed: {entry['error']}"
    return f"F1 {100 * entry['scores']['f1']:.1f} in {entry['seconds']['wall']:.1f} s"
