"""Eight writers on one cache, a full disk, and a worker that is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from faults.jobs import CACHED, DIMS, WRITE, end, go, start
from geogae import GeoGAE, datasets, fit_clouds
from geogae.benchmark.results import read_results
from geogae.geometry.cache import CloudCache

WRITERS = 8


def writers(count: int) -> dict[str, Any]:
    """All begin at once, and each writes every cloud by and by."""
    with tempfile.TemporaryDirectory() as place:
        folder, graphs, failures = Path(place) / "shared", datasets.load("MUTAG"), []
        processes = [start(WRITE, folder) for _ in range(WRITERS)]
        for process in processes:
            go(process)
        codes = [end(process) for process in processes]
        if any(codes):
            failures.append(f"exit codes {codes}")
        if said := folder.with_suffix(".log").read_text(errors="replace").strip():
            failures.append(f"a writer said: {said.splitlines()[-1]}")
        path = folder / "clouds.sqlite"
        entries = CloudCache(path).facts()["entries"]
        for dim in DIMS:
            expected, found = (fit_clouds(graphs, dim, cache=cache, **CACHED) for cache in (False, path))
            if any(a.balls.tobytes() != b.balls.tobytes() for a, b in zip(expected, found, strict=True)):
                failures.append(f"other clouds than without a cache, d={dim}")
        if not 0 < entries == CloudCache(path).facts()["entries"]:
            failures.append(f"{entries} clouds in the cache, some were missing")
        if left := [path.name for path in folder.iterdir() if path.name != "clouds.sqlite"]:
            failures.append(f"left behind: {left}")
    return {"writers": WRITERS, "entries": entries, "failures": failures}


# -- a full disk ---

FULL = """
import contextlib, io, json, os, resource, signal
from geogae import formats
from geogae.errors import GeoGAEError
formats.write(graphs[:40], "graphs.jsonl")
model = GeoGAE(dim=3, latent_dim=64, steps=20).fit(graphs[:40])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))
found = {}
try:
    model.save("model")
    found["save"] = "no error"
except GeoGAEError as error:
    found["save"] = str(error)
for name, arguments in {
    "encode": ["encode", "model", "graphs.jsonl", "-o", "z.npy"],
    "decode": ["decode", "model", "whole.npy", "-o", "back.jsonl"],
    "train": ["train", "mutag", "--data", "graphs.jsonl", "--out", "run"],
    "benchmark": ["benchmark", "run", "--methods", "path", "--seeds", "0", "--results", "results", "--threads", "1"],
}.items():
    err = io.StringIO()
    with contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as done:
            found[name] = [done.code, err.getvalue()]
os.environ["GEOGAE_CACHE"] = "fresh"
found["cache"] = len(fit_clouds(graphs[:40], 4, **cached))  # a warning: the work is not lost
try:
    fit_clouds(graphs[:40], 4, cache="clouds.sqlite", **cached)
    found["named cache"] = "no error"
except GeoGAEError as error:
    found["named cache"] = str(error)
print(json.dumps(found), flush=True)
"""


def disk(count: int) -> dict[str, Any]:
    """A limit on the size of files stands for a full disk; stdout goes to /dev/full, which is one."""
    with tempfile.TemporaryDirectory() as place:
        folder, failures = Path(place) / "full", []
        folder.mkdir()
        graphs = datasets.load("MUTAG")[:40]
        model = GeoGAE(dim=3, latent_dim=16, steps=20).fit(graphs)
        model.save(folder / "model")
        (folder / "results").mkdir()
        stored = Path(__file__).parents[1] / "results" / "MUTAG.jsonl"
        (folder / "results" / "MUTAG.jsonl").write_bytes(b"\n".join(stored.read_bytes().splitlines()[:4]) + b"\n")
        z = model.encode(graphs)
        np.save(folder / "whole.npy", z)
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        process = start(FULL, folder)
        go(process)
        out, _ = process.communicate()
        lines = [line for line in out.decode().splitlines() if line.startswith("{")]
        if process.returncode or not lines:
            said = folder.with_suffix(".log").read_text(errors="replace").splitlines()[-1:]
            return {"checks": 0, "failures": [f"the process ended with {process.returncode}: {said}"]}
        found = json.loads(lines[-1])
        for name in ("encode", "decode", "train", "benchmark"):
            code, err = found[name]
            if code != 2 or "Traceback" in err or sum(line.startswith("error: ") for line in err.splitlines()) != 1:
                failures.append(f"{name}: exit code {code}, {err[-200:]!r}")
        if not found["save"].startswith("cannot write"):
            failures.append(f"save: {found['save']}")
        if found["cache"] != 40:
            failures.append(f"cache: {found['cache']} of 40 clouds")
        if not found["named cache"].startswith("cannot use the cloud cache"):
            failures.append(f"named cache: {found['named cache']}")
        failures += [f"{path.name} has changed" for path, content in before.items() if path.read_bytes() != content]
        if not np.array_equal(GeoGAE.load(folder / "model").encode(graphs), z):
            failures.append("the old model gives another z")
        made = {path for path in folder.rglob("*") if path.is_file()} - before.keys()
        partial = [path.name for path in made if path.name in ("z.npy", "back.jsonl") or path.suffix == ".tmp"]
        failures += [f"left behind: {name}" for name in partial]
        failures += _stdout(folder)
    return {"checks": 8, "failures": failures}


def _stdout(folder: Path) -> list[str]:
    if not Path("/dev/full").exists():
        return []
    with Path("/dev/full").open("wb") as full:
        arguments = ["encode", "model", "graphs.jsonl"]
        done = subprocess.run(
            [sys.executable, "-m", "geogae", *arguments], cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True
        )
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    one_line = done.returncode == 2 and len(errors) == 1 and "Traceback" not in done.stderr
    return [] if one_line else [f"stdout: exit code {done.returncode}, {done.stderr[-200:]!r}"]


# -- a killed worker ---

PLAN = [
    "benchmark", "run", "--methods", "path,linear,refined", "--datasets", "MUTAG", "--seeds", "0-1", "--threads", "1",
    "--jobs", "2", "--results", "results",
]  # fmt: skip


def worker(count: int) -> dict[str, Any]:
    """Workers of a benchmark are killed while they measure: each is a failed run, which --retry runs again."""
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "plan"
        process = start(f"main({PLAN!r})", folder)
        go(process)
        killed = _kill_children(process, 2)
        code = end(process)
        found = read_results(folder / "results")
        failed = [entry for entry in found if entry["error"]]
        if code not in (0, 1) or len(found) != 6:
            failures.append(f"the plan ended with {code} and {len(found)} of 6 results")
        if any("SIGKILL" not in entry["error"] for entry in failed):
            failures.append(f"errors: {[entry['error'] for entry in failed]}")
        again = start(f"main({[*PLAN, '--retry']!r})", folder)
        go(again)
        end(again)
        scores = _scores(folder)
        reference = Path(place) / "reference"
        process = start(f"main({PLAN!r})", reference)
        go(process)
        end(process)
        if scores != _scores(reference) or len(scores) != 6:
            failures.append("after --retry the scores are not those of an undisturbed plan")
    return {"killed": killed, "failed_runs": len(failed), "runs": len(found), "failures": failures}


def _scores(folder: Path) -> list[Any]:
    found = read_results(folder / "results")
    return sorted((entry["method"], entry["seed"], entry["scores"]["f1"]) for entry in found if not entry["error"])


def _kill_children(process: subprocess.Popen[bytes], most: int) -> int:
    """SIGKILL to workers, each some seconds after it began, as they are found below /proc."""
    killed: set[int] = set()
    while process.poll() is None and len(killed) < most:
        for task in Path(f"/proc/{process.pid}/task").glob("*/children"):
            try:
                children = [int(child) for child in task.read_text().split()]
                workers = [c for c in children if b"spawn_main" in Path(f"/proc/{c}/cmdline").read_bytes()]
            except OSError:
                continue
            for child in sorted(set(workers) - killed)[: most - len(killed)]:
                time.sleep(1.5)
                try:
                    os.kill(child, signal.SIGKILL)
                    killed.add(child)
                except ProcessLookupError:
                    pass
        time.sleep(0.05)
    return len(killed)
