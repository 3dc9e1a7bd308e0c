"""Measure one run: fit, encode, decode and compare, with the seconds and the memory that it took."""

from __future__ import annotations

import json
import logging
import math
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import compress
from pathlib import Path
from typing import Any

from geogae.benchmark.folds import development, held_out, unseen
from geogae.benchmark.methods import METHODS
from geogae.benchmark.plan import Run
from geogae.benchmark.results import FORMAT
from geogae.errors import GeoGAEError
from geogae.graph import Graph

HISTORY = ("seconds", "core_seconds", "step", "validation_f1")  # of a validation, what a result keeps


def measure(run: Run, results: Path, work: Path) -> dict[str, Any]:
    """Fit, encode and decode, and compare; what goes wrong is the result's ``error``.

    If the graphs are not on this machine there is no result, and ``unavailable`` says why.
    """
    entry = {"format": FORMAT, **identity(run), "error": None}
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
    steps = entry.get("seconds", {})
    compiling = {"wall": steps.get("compile", 0.0), "cpu": steps.pop("compile_cpu", 0.0)}
    entry["seconds"] = {name: round(max(value - compiling[name], 0.0), 3) for name, value in seconds.items()} | steps
    entry["peak_gib"] = _peak_gib()
    return entry


def _measured(run: Run, train: list[Graph], validation: list[Graph], results: Path, work: Path) -> dict[str, Any]:
    method = METHODS[run.method].make(run.dataset, {"seed": run.seed, **dict(run.changes)})
    with _Clock() as clock, _counted_clouds() as clouds:
        facts = dict(method.fit(train, validation, work))
        clock.stop("fit")
        test = held_out(run, results)  # everything is chosen by now
        fits = [method.why_not(graph) is None for graph in test]
        readings = method.read(list(compress(test, fits)))
        clock.stop("read")
        codes = method.encode(readings)
        clock.stop("encode")
        decoded = method.decode(codes)
        clock.stop("decode")
    true = list(test)
    for index, reading in zip(compress(range(len(test)), fits), readings, strict=True):
        true[index] = reading.ordered
    new = unseen(run)
    scores = _scores(true, _in_place(decoded, fits, run.method), new)
    scores_with = {
        given: _scores(true, _in_place(method.decode_with(codes, readings, given), fits, run.method), new)  # type: ignore[attr-defined]
        for given in getattr(method, "optional_side_information", ())
    }
    history = facts.pop("history", [])
    sizes = {"train": len(train), "validation": len(validation), "test": len(test), "unseen": sum(new)}
    return {
        "config": facts,
        "side_information": list(method.side_information),
        "graphs": sizes,
        "not_encoded": fits.count(False),
        "scores": scores,
        **({"scores_with": scores_with} if scores_with else {}),
        "history": [{name: row[name] for name in HISTORY if name in row} for row in history],
        "seconds": clock.seconds,
        "clouds": clouds,
    }


def _in_place(decoded: Sequence[Graph], fits: Sequence[bool], method: str) -> list[Graph | None]:
    """The decoded graphs, and None where a graph could not be encoded."""
    if len(decoded) != sum(fits):
        raise GeoGAEError(f"{method} gave back {len(decoded)} graphs for {sum(fits)}")
    rest = iter(decoded)
    return [next(rest) if one else None for one in fits]


def _scores(true: list[Graph], back: list[Graph | None], new: Sequence[bool]) -> dict[str, float]:
    from geogae import metrics

    scores = dict(metrics.evaluate(true, back))
    if any(new):
        over = metrics.evaluate(list(compress(true, new)), list(compress(back, new)))
        scores |= {f"{name}_unseen": over[name] for name in ("f1", "exact", "size_error")}
    if any(graph is not None and graph.attributed for graph in back):
        scores |= metrics.attributes(true, back)
    if not all(math.isfinite(score) for score in scores.values()):
        raise GeoGAEError(f"scores are not finite: {scores}")
    return scores


def identity(run: Run) -> dict[str, Any]:
    """What a result says of which run it is."""
    return {**run._asdict(), "changes": dict(run.changes)}


class _Clock:
    """Seconds of one step after the other; what numba spends on compiling is counted apart, not in the step."""

    def __enter__(self) -> _Clock:
        from numba.core import event

        self.seconds = {"compile": 0.0}
        self._compiling = _compiling()
        event.register("numba:compile", self._compiling)
        self._last = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        from numba.core import event

        event.unregister("numba:compile", self._compiling)

    def stop(self, step: str) -> None:
        now = time.perf_counter()
        newly = self._compiling.wall - self.seconds["compile"]
        self.seconds |= {step: round(max(now - self._last - newly, 0.0), 3)}
        self.seconds |= {"compile": round(self._compiling.wall, 3), "compile_cpu": round(self._compiling.cpu, 3)}
        self._last = now


def _compiling() -> Any:
    """A listener that counts numba's time of compiling, by the clock (``wall``) and of the processor (``cpu``)."""
    from numba.core import event

    class Compiling(event.Listener):
        wall = cpu = 0.0
        depth = 0  # of functions that are compiled for others

        def on_start(self, event: Any) -> None:
            if not self.depth:
                self.began = time.perf_counter(), time.process_time()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if not self.depth:
                self.wall += time.perf_counter() - self.began[0]
                self.cpu += time.process_time() - self.began[1]

    return Compiling()


@contextmanager
def _counted_clouds() -> Iterator[dict[str, int]]:
    """How many clouds are small, which are never kept, come from the cache, or are fitted; ``fit_clouds`` logs it."""
    counts = {"small": 0, "cached": 0, "fitted": 0}

    class Counter(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            for name, count in zip(counts, record.args or (), strict=False):
                counts[name] += int(count)  # type: ignore[call-overload]

    logger, counter = logging.getLogger("geogae.clouds"), Counter()
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.addHandler(counter)
    try:
        yield counts
    finally:
        logger.removeHandler(counter)
        logger.propagate = True
        logger.setLevel(logging.NOTSET)


def _forget_peak() -> None:
    """Reset the peak of memory, where the system allows it (Linux)."""
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
