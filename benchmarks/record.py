"""Results of studies that can be traced: what was run, from which commit, with which versions, on what, for how long.

``benchmarks/studies/<study>.jsonl`` has one line for each part of a study; a newer line of a part replaces the older.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from geogae.benchmark.paper import paper
from geogae.benchmark.provenance import provenance
from geogae.json_lines import append, read_lines

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"  # of geogae benchmark run
STUDIES = ROOT / "benchmarks" / "studies"
PICTURES = ROOT / "docs" / "pictures"
_ORIGIN = provenance()  # of the code that was loaded, whatever is committed meanwhile


def record(study: str, part: str, config: dict[str, Any], result: Any, seconds: float) -> None:
    """Append the result of one part of a study."""
    command = "python " + " ".join(sys.argv)
    entry = {"part": part, "command": command, "config": config, "result": result, "seconds": round(seconds, 2)}
    append(STUDIES / f"{study}.jsonl", entry | _ORIGIN)
    print(f"-> benchmarks/studies/{study}.jsonl, {part}", file=sys.stderr)


def recorded(study: str) -> dict[str, dict[str, Any]]:
    """The newest result of every part of a study, in the order in which they were first recorded."""
    found: dict[str, dict[str, Any]] = {}
    for _, line in read_lines(STUDIES / f"{study}.jsonl"):
        if line["part"] not in found or line["when"] >= found[line["part"]]["when"]:
            found[line["part"]] = line
    return found


def result(study: str, part: str) -> dict[str, Any]:
    """The newest result of one part; without one a FileNotFoundError, for which the table says "not measured"."""
    found = recorded(study)
    if part not in found:
        raise FileNotFoundError(2, "not measured", f"{study}, {part}")
    return found[part]


def measured(study: str, part: str) -> list[str]:
    """The paper's data sets that have a result of this kind."""
    return [name for name in paper().datasets if f"{part}-{name}" in recorded(study)]
