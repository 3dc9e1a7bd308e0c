"""Result files, read back. A file that is cut short or foreign is named and skipped, never a wrong number."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from geogae.benchmark.plan import Run
from geogae.errors import GeoGAEError

log = logging.getLogger("geogae")

FORMAT = 1
_FIELDS: dict[str, Any] = {
    "method": str, "changes": dict, "dataset": str, "sample": int | None, "split": str, "seed": int,
    "error": str | None, "seconds.wall": int | float, "peak_gib": int | float | None, "threads": int,
    "commit": str | None, "modified": bool, "command": str,
}  # fmt: skip
_SCORED: dict[str, Any] = {  # also in what did not fail
    "config": dict, "told": str, "graphs.test": int, "too_large": int,
    **{f"scores.{name}": int | float for name in ("f1", "exact", "size_error")},
    **{f"seconds.{name}": int | float for name in ("fit", "encode", "decode", "cpu")},
}  # fmt: skip


def read_results(folder: Path) -> list[dict[str, Any]]:
    """All results in a folder, in the order of their files' names."""
    if not folder.is_dir():
        raise GeoGAEError(f"{folder} is no folder of results; run geogae benchmark run first, or say --results")
    found = []
    for path in sorted(folder.rglob("*.json")):
        try:
            found.append(read_result(path))
        except GeoGAEError as error:
            log.warning("%s: skipped", error)
    return found


def read_result(path: Path) -> dict[str, Any]:
    """One result, or a :class:`GeoGAEError` that says why it is none."""
    try:
        entry = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except (OSError, ValueError) as error:
        raise GeoGAEError(f"{path} is not a whole JSON file ({error})") from None
    if not isinstance(entry, dict) or entry.get("format") != FORMAT:
        raise GeoGAEError(f"{path} is no result of geogae benchmark (format {FORMAT})")
    fields = _FIELDS | _SCORED if entry.get("error") is None else _FIELDS
    wrong = [name for name, kind in fields.items() if not isinstance(_at(entry, name), kind)]
    if wrong:
        raise GeoGAEError(f"{path} is no whole result: {', '.join(wrong)} missing or of another kind")
    return entry


def run_of(entry: Mapping[str, Any]) -> Run:
    """What a result is of."""
    changes = tuple(sorted(entry["changes"].items()))
    return Run(entry["method"], changes, entry["dataset"], entry["sample"], entry["split"], entry["seed"])


def _at(entry: Any, name: str) -> Any:
    """The value under a dotted name; one of no kind where there is none."""
    for part in name.split("."):
        entry = entry.get(part, _NOTHING) if isinstance(entry, Mapping) else _NOTHING
    return entry


def _no_number(constant: str) -> Any:
    raise ValueError(f"{constant} is no number")


_NOTHING = object()
