"""Fault tests: `make torture` (about four minutes on two idle cores), recorded in benchmarks/studies/torture.jsonl.

    python benchmarks/torture.py [PART …] [--count N]

    relabel   10,000 renumbered graphs of all sets, families and architectures get the same z, bit for bit
    fuzz      10,000 damaged files of every format, presets, models, z files and command lines end in one line
    kill      100 kills (SIGKILL) during fits, cache writes, saves, trainings and benchmark runs lose nothing
    writers   eight processes write to one cache
    disk      a full disk
    worker    workers of a benchmark are killed

Ends with 1 if anything went wrong. With --count it is a trial of so many inputs, which is not recorded.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections.abc import Callable
from typing import Any

from faults.fuzz import fuzz
from faults.kill import kill
from faults.places import disk, worker, writers
from faults.relabel import relabel
from record import record

PARTS: dict[str, tuple[Callable[[int], dict[str, Any]], int]] = {  # and how many inputs
    "relabel": (relabel, 10_000),
    "fuzz": (fuzz, 10_000),
    "kill": (kill, 100),
    "writers": (writers, 1),
    "disk": (disk, 1),
    "worker": (worker, 1),
}
SHOWN = 50  # failures that are recorded


def main() -> int:
    parser = argparse.ArgumentParser(usage="python benchmarks/torture.py [PART …] [--count N]")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--count", type=int, help="a trial of so many inputs; not recorded")
    given = parser.parse_args()
    if unknown := set(given.parts) - PARTS.keys():
        parser.error(f"there is no part {', '.join(sorted(unknown))}; valid are {', '.join(PARTS)}")
    logging.getLogger("geogae").setLevel(logging.ERROR)
    wrong = 0
    for name in given.parts or PARTS:
        part, whole = PARTS[name]
        count, begun = given.count or whole, time.perf_counter()
        found = part(count)
        failures = found.pop("failures")
        wrong += len(failures)
        result = {**found, "wrong": len(failures), "failures": failures[:SHOWN]}
        seconds = time.perf_counter() - begun
        if given.count is None:
            record("torture", name, {"count": count}, result, seconds)
        print(json.dumps({name: result, "seconds": round(seconds, 1)}, indent=1), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
