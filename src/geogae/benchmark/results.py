"""Results on disk: one JSON Lines file for each data set, one line for each run.

Of several lines of one run the newest counts. A line that is cut short or changed is reported and ignored.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from geogae.benchmark.plan import SPLITS, Run
from geogae.errors import GeoGAEError
from geogae.files import atomic_path
from geogae.json_lines import read_lines

log = logging.getLogger("geogae")

FORMAT = 2
SUFFIX = ".jsonl"


def read_results(folder: Path) -> list[dict[str, Any]]:
    """The newest result of every run, file by file, in the order in which the runs were first written."""
    if not folder.is_dir():
        raise GeoGAEError(f"{folder} is no folder of results; run geogae benchmark run first, or give --results")
    return [entry for path in sorted(folder.glob(f"*{SUFFIX}")) for entry in read_file(path).values()]


def read_file(path: Path) -> dict[Run, dict[str, Any]]:
    """The newest result of every run in one file; what is no result is reported and left out."""
    found: dict[Run, dict[str, Any]] = {}
    for number, line in read_lines(path):
        try:
            check(line)
        except GeoGAEError as error:
            log.warning("%s, line %d: %s; ignored", path, number, error)
            continue
        run = run_of(line)
        if run not in found or line["when"] >= found[run]["when"]:
            found[run] = line
    return found


def compact(path: Path) -> int:
    """Drop lines that a newer one of the same run replaces, and those that are no results; how many.

    Not while a benchmark runs.
    """
    kept, lines = read_file(path).values(), sum(1 for line in path.read_bytes().split(b"\n") if line.strip())
    with atomic_path(path) as temporary:
        temporary.write_text("".join(json.dumps(entry) + "\n" for entry in kept), encoding="utf-8")
    return lines - len(kept)


def run_of(entry: Mapping[str, Any]) -> Run:
    """What a result is of."""
    changes = tuple(sorted(entry["changes"].items()))
    return Run(entry["method"], changes, entry["dataset"], entry["sample"], entry["split"], entry["seed"])


# -- what a result must hold ------------------------------------------------------------------------------------------


def check(entry: Any) -> None:
    """A :class:`GeoGAEError` that names every field which is missing or of another kind."""
    if not isinstance(entry, dict) or entry.get("format") != FORMAT:
        raise GeoGAEError(f"no result of geogae benchmark (format {FORMAT})")
    fields = _FIELDS | _SCORED if entry.get("error") is None else _FIELDS
    wrong = [name for name, fits in fields.items() if not fits(_at(entry, name))]
    if wrong:
        raise GeoGAEError(f"{', '.join(wrong)} missing or of another kind")
    if entry["error"] is None and entry["not_encoded"] > entry["graphs"]["test"]:
        raise GeoGAEError("not_encoded is more than graphs.test")


def _at(entry: Any, name: str) -> Any:
    """The value under a dotted name; one of no kind where there is none."""
    for part in name.split("."):
        entry = entry.get(part, _NOTHING) if isinstance(entry, dict) else _NOTHING
    return entry


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) < 10_000 and not any("\ud800" <= c <= "\udfff" for c in value)


def _name(value: Any) -> bool:
    return _text(value) and value.isprintable() and bool(value.strip())


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15 and math.isfinite(value)


def _positive(value: Any) -> bool:
    return _number(value) and value >= 0


def _count(value: Any) -> bool:
    return isinstance(value, int) and _positive(value)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _optional(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


def _absent(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is _NOTHING or fits(value)


def _table(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(_name(key) and fits(one) for key, one in value.items())


def _list(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def _scalar(value: Any) -> bool:
    return value is None or isinstance(value, bool) or _number(value) or _text(value)


_NOTHING = object()
_FIELDS: dict[str, Callable[[Any], bool]] = {
    "method": _name, "changes": _table(_scalar), "changes.latent_dim": _absent(_count),
    "changes.minutes": _absent(_optional(_positive)), "changes.core_minutes": _absent(_optional(_positive)),
    "dataset": _name, "sample": _optional(_count), "split": SPLITS.__contains__, "seed": _count,
    "error": _optional(_text), "seconds": _table(_positive), "seconds.wall": _positive,
    "peak_gib": _optional(_positive), "threads": _count,
    "commit": _optional(_name), "modified": _flag, "command": _text, "when": _name,
    "versions": _table(_optional(_name)), "clouds": _absent(_optional(_table(_count))),
}  # fmt: skip
_SCORED: dict[str, Callable[[Any], bool]] = {  # also in what did not fail
    "config": lambda value: isinstance(value, dict), "config.latent_dim": _absent(_optional(_count)),
    "config.dim": _absent(_optional(_scalar)), "config.order": _absent(_optional(_text)),
    "side_information": _list(_name), "not_encoded": _count, "graphs": _table(_count), "graphs.test": _count,
    "scores": _table(_number), **{f"scores.{name}": _number for name in ("f1", "exact", "size_error")},
    **{f"seconds.{name}": _positive for name in ("fit", "encode", "decode", "cpu")},
    "scores_with": _absent(_table(lambda scores: _table(_number)(scores) and "f1" in scores)),  # by side information
    "history": _absent(_list(_table(_number))),
}  # fmt: skip
