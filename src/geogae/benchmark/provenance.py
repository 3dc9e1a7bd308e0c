"""Where a result comes from: commit, versions, machine."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from geogae import __version__

LIBRARIES = ("torch", "numpy", "scipy", "numba", "networkx", "scikit-learn")


def provenance() -> dict[str, Any]:
    """Call this at the start: a long run uses the code that was loaded then, even if something is committed later."""
    ours = bool(_git("ls-files", "--error-unmatch", "--", Path(__file__).name))  # not another repository around us
    return {
        "commit": (ours and _git("rev-parse", "--short", "HEAD")) or None,
        "modified": ours and bool(_git("status", "--porcelain", "--", ":/src", ":/benchmarks/*.py")),
        "versions": {"python": platform.python_version(), "geogae": __version__, **_versions()},
        "machine": {"processor": _processor(), "cores": cores(), "system": platform.system()},
        "when": now(),
    }


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _git(*arguments: str) -> str:
    """Empty where this is no clone, or where there is no git."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, cwd=Path(__file__).parent)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = None
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
