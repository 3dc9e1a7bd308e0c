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
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "method": str, "changes": dict, "dataset": str, "sample": (int, type(None)), "split": str, "seed": int,
    "error": (str, type(None)), "seconds": dict,
}  # fmt: skip
_SCORES = ("f1", "exact", "size_error")


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
        entry = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise GeoGAEError(f"{path} is not a whole JSON file ({error})") from None
    if not isinstance(entry, dict) or entry.get("format") != FORMAT:
        raise GeoGAEError(f"{path} is no result of geogae benchmark (format {FORMAT})")
    wrong = [name for name, kind in _FIELDS.items() if not isinstance(entry.get(name, wrong_value), kind)]
    if not wrong and entry["error"] is None:
        scores = entry.get("scores")
        wrong = [n for n in _SCORES if not isinstance(scores, Mapping) or not isinstance(scores.get(n), int | float)]
    if wrong:
        raise GeoGAEError(f"{path} is no whole result: {', '.join(wrong)} missing or of another kind")
    return entry


def run_of(entry: Mapping[str, Any]) -> Run:
    """What a result is of."""
    changes = tuple(sorted(entry["changes"].items()))
    return Run(entry["method"], changes, entry["dataset"], entry["sample"], entry["split"], entry["seed"])


wrong_value = object()  # is of no kind
