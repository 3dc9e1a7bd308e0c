"""Processes that work in a folder of their own: code in text, which begins when it is asked to."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

# From other starts small graphs are fitted faster than they are read, and not kept in the cache.
CACHED: dict[str, Any] = {"start": "random", "tries": 1, "steps": 300, "n_jobs": 1}
DIMS = (4, 5, 6)
BEGIN = f"""
import logging, sys, geogae
from pathlib import Path
from geogae import GeoGAE, datasets, fit_clouds
from geogae.cli import main
logging.getLogger("geogae").setLevel(logging.ERROR)
graphs, cached = datasets.load("MUTAG"), {CACHED!r}
fit_clouds(graphs[:1], 4, cache=False, **cached)
"""
READY = """
print("ready", flush=True)
sys.stdin.readline()
"""
WRITE = f"""
for dim in {DIMS}:
    for k in range(0, len(graphs), 4):
        fit_clouds(graphs[k : k + 4], dim, cache='clouds.sqlite', **cached)
"""


def environment(place: Path) -> dict[str, str]:
    """One thread, a cache of clouds in ``place``, and a checkpoint every quarter of a second."""
    own = {"OMP_NUM_THREADS": "1", "GEOGAE_CACHE": str(place / "cache"), "GEOGAE_CHECKPOINT_SECONDS": "0.25"}
    return {**os.environ, **own}


def start(code: str, folder: Path, prelude: str = "") -> subprocess.Popen[bytes]:
    """A process that waits for a line on its stdin; what it says goes to ``log`` beside its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-c", "\n".join((BEGIN, prelude, READY, code))],
            cwd=folder,
            env=environment(folder.parent),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )


def go(process: subprocess.Popen[bytes]) -> float:
    """Let a process begin; the time at which it did."""
    assert process.stdin and process.stdout and process.stdout.readline() == b"ready\n", "it did not start"
    process.stdin.write(b"\n")
    process.stdin.flush()
    return time.monotonic()


def end(process: subprocess.Popen[bytes]) -> int:
    """Read what it still says, so that it does not wait; its exit code."""
    process.communicate()
    return process.returncode
