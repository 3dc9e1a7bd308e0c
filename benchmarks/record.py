"""Results as JSON that can be traced: what was run, from which commit, with which versions, on what, for how long."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from geogae.files import atomic_path

RESULTS = Path(__file__).parent / "results"


def record(name: str, config: dict[str, Any], result: Any, seconds: float) -> Path:
    """Write ``results/<name>.json``."""
    libraries = ("geogae", "torch", "numpy", "scipy", "numba", "networkx")
    entry = {
        "name": name,
        "command": "python " + " ".join(sys.argv),
        "config": config,
        "result": result,
        "seconds": round(seconds, 2),
        "commit": _COMMIT,
        "modified": _MODIFIED,
        "versions": {"python": platform.python_version(), **{library: version(library) for library in libraries}},
        "machine": {"processor": _processor(), "cores": _cores(), "system": platform.system()},
        "when": time.strftime("%Y-%m-%d"),
    }
    path = RESULTS / f"{name}.json"
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(entry, indent=1) + "\n")
    print(f"-> {path.relative_to(RESULTS.parent.parent)}", file=sys.stderr)
    return path


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, cwd=RESULTS.parent, check=False)
    return done.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Read when the program starts: a long run is of the code that it loaded, whatever is committed meanwhile.
_COMMIT = _git("rev-parse", "--short", "HEAD")
_MODIFIED = bool(_git("status", "--porcelain", "--", "src", "benchmarks/*.py"))
