"""SIGKILL at random times: what is on the disk stays whole, and a resumed job gives what an uninterrupted one gives.

A job is a process of its own. It is forked from one that has imported everything, so that a kill costs no imports.
Nothing in it is patched: trainings write checkpoints every quarter of a second because ``GEOGAE_CHECKPOINT_SECONDS``
says so.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import geogae
from faults.jobs import BEGIN, CACHED, DIMS, WRITE, environment
from geogae import GeoGAE, datasets
from geogae.benchmark.results import read_results
from geogae.geometry.cache import CloudCache

FORK = """
import os, traceback
print("ready", flush=True)
for folder in sys.stdin:  # one job for each line: its process id, and its exit code when it has ended
    if not (job := os.fork()):
        os.chdir(folder.strip())
        os.dup2(2, 1)  # what a job says goes to the log
        try:
            exec(code, globals())
        except SystemExit as end:
            os._exit(int(end.code or 0))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    print(job, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(job, 0)[1]), flush=True)
"""
FIT = f"for dim in {DIMS}: fit_clouds(graphs, dim, cache='clouds.sqlite', **cached)"
MODELS = "models = [GeoGAE(dim=3, latent_dim=m, steps=20).fit(graphs[:30]) for m in (12, 16)]"
SAVE = """
while True:
    for model in models:
        model.save('model')
"""
TRAIN = """
done = ['--resume'] if Path('run/run.json').exists() else []
small = ['latent_dim=32', 'token_dim=16', 'encoder_hidden=32', 'decoder_hidden=32', 'validations=6']
main(['train', 'paper/mutag', '--epochs', '6', '--out', 'run', '--threads', '1', *(f'--set={s}' for s in small), *done])
"""
BENCHMARK = """
main(['benchmark', 'run', '--methods', 'path,linear', '--datasets', 'MUTAG', '--seeds', '0', '--threads', '1',
      '--results', 'results'])
"""


@dataclass(frozen=True)
class Job:
    """A job's code and share of the kills, what must hold after a kill, and what it leaves when it is done."""

    code: str
    share: float
    check: Callable[[Path, Any], Any]  # (folder, what the last check gave) → for the next check; raises if damaged
    outcome: Callable[[Path], Any]
    prelude: str = ""  # what is done before the job begins
    endless: bool = False


# -- what must hold ---


def _clouds(folder: Path, before: Any) -> int:
    """No entry is lost; those that are there are the right clouds (the outcome compares them)."""
    entries = CloudCache(folder / "clouds.sqlite").facts()["entries"]
    assert entries >= (before or 0), f"{before} entries were there, {entries} are left"
    assert not list(folder.glob("*.broken")), "the cache was set aside"
    return entries


def _fitted(folder: Path) -> Any:
    """Every cloud comes from the cache, bit for bit."""
    path, graphs = folder / "clouds.sqlite", datasets.load("MUTAG")
    entries = CloudCache(path).facts()["entries"]
    found = [c.balls.tobytes() for dim in DIMS for c in geogae.fit_clouds(graphs, dim, cache=path, **CACHED)]
    assert CloudCache(path).facts()["entries"] == entries > 0, "clouds were missing in the cache"
    return found


def _model(folder: Path, before: Any) -> None:
    """Nothing before the first save, then always one of the two."""
    if before is None and not (folder / "model" / "config.json").exists():
        return None
    model = GeoGAE.load(folder / "model")
    assert model.encode(datasets.load("MUTAG")[:3]).shape == (3, model.latent_dim)
    return True


def _saved(folder: Path) -> Any:
    model = GeoGAE.load(folder / "model")
    model.save(folder / "model")
    names = [path.name for path in (folder / "model").iterdir()]
    return len(names), sorted(name for name in names if name.endswith(".tmp"))


def _run(folder: Path, before: Any) -> Any:
    """The steps of the checkpoint never go back; a model that is there loads."""
    from geogae.training.checkpoint import load_checkpoint

    if (folder / "run" / "config.json").exists():
        GeoGAE.load(folder / "run")
    if not (folder / "run" / "state.safetensors").exists():
        assert before is None, "the checkpoint is gone"
        return None
    step = load_checkpoint(folder / "run" / "state.safetensors")[1]["step"]
    assert step >= (before or 0), f"the checkpoint went back from step {before} to {step}"
    return step


def _trained(folder: Path) -> Any:
    rows = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
    scores = [{key: value for key, value in row.items() if "seconds" not in key} for row in rows]
    left = [path.name for path in (folder / "run").iterdir() if path.name.endswith(".tmp")]
    return GeoGAE.load(folder / "run").encode(datasets.load("MUTAG")[:20]).tobytes(), scores, left


def _lines(folder: Path, before: Any) -> bytes:
    """What was written stays, to the byte."""
    path = folder / "results" / "MUTAG.jsonl"
    content = path.read_bytes() if path.exists() else b""
    assert content.startswith(before or b""), "lines of results have changed"
    if content:
        read_results(folder / "results")
    return content


def _results(folder: Path) -> Any:
    found = read_results(folder / "results")
    return sorted((entry["method"], entry["seed"], entry["error"] or entry["scores"]["f1"]) for entry in found)


JOBS = {
    "fit": Job(FIT, 0.15, _clouds, _fitted),
    "cache": Job(WRITE, 0.2, _clouds, _fitted),
    "save": Job(SAVE, 0.25, _model, _saved, MODELS, endless=True),
    "train": Job(TRAIN, 0.2, _run, _trained),
    "benchmark": Job(BENCHMARK, 0.2, _lines, _results),
}


# -- the kills ---


class Nursery:
    """A process that has imported everything and forks a job for each folder; what jobs say goes to its log."""

    def __init__(self, job: Job, place: Path) -> None:
        self.log = place / "log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", "\n".join((BEGIN, job.prelude, f"code = {job.code!r}", FORK))],
                cwd=place, env=environment(place), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, bufsize=0,
            )  # fmt: skip
        assert self._said() == "ready", "it did not start"

    def start(self, folder: Path) -> int:
        """Begin the job in a folder; its process id."""
        folder.mkdir(parents=True, exist_ok=True)
        assert self.process.stdin
        self.process.stdin.write(f"{folder}\n".encode())
        return int(self._said())

    def end(self) -> int:
        """Wait for the job; its exit code."""
        return int(self._said())

    def ended(self, seconds: float) -> bool:
        """Whether the job ends within so many seconds."""
        return bool(select.select([self.process.stdout], [], [], seconds)[0])

    def _said(self) -> str:
        """The next line; not buffered, so that what is not read yet can be waited for."""
        assert self.process.stdout
        if not (line := self.process.stdout.readline()):
            raise RuntimeError(f"the process that forks jobs has ended: {self.last_words()}")
        return line.decode().strip()

    def last_words(self) -> list[str]:
        return self.log.read_text(errors="replace").splitlines()[-1:]

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def torn(name: str, job: Job, kills: int, seed: int) -> dict[str, Any]:
    """One job, killed again and again."""
    random, failures = np.random.default_rng(seed), []
    done = {"kills": 0, "completed": 0, "resumed": 0}
    with tempfile.TemporaryDirectory() as place:
        nursery = Nursery(job, Path(place))
        first, folder = Path(place) / "uninterrupted", Path(place) / "killed"
        began, running = time.monotonic(), nursery.start(first)
        if job.endless:
            time.sleep(4)
            os.kill(running, signal.SIGKILL)
        code, length = nursery.end(), time.monotonic() - began
        if code != 0 and not job.endless:
            return {**done, "failures": [f"{name} without a kill ended with {code}: {nursery.last_words()}"]}
        expected, last = job.outcome(first), None
        while done["kills"] < kills:
            running = nursery.start(folder)
            if not nursery.ended(float(random.uniform(0.0, 1.0)) * length):
                with suppress(ProcessLookupError):  # it ended just now
                    os.kill(running, signal.SIGKILL)
            if (code := nursery.end()) != -signal.SIGKILL:
                failures += _completed(name, job, folder, code, nursery.last_words(), expected, done)
                shutil.rmtree(folder)
                last = None
                continue
            done["kills"] += 1
            try:
                last = job.check(folder, last)
            except Exception as error:
                failures.append(f"{name}, kill {done['kills']}: {type(error).__name__}: {error}")
        if not job.endless:
            nursery.start(folder)
            failures += _completed(name, job, folder, nursery.end(), nursery.last_words(), expected, done)
        else:
            done["resumed"] += (found := _outcome(job, folder)) == expected
            done["completed"] += 1
            failures += [] if found == expected else [f"{name}: what kills left is not what one save leaves: {found}"]
        nursery.close()
    return {**done, "failures": failures}


def _completed(
    name: str, job: Job, folder: Path, code: int, said: list[str], expected: Any, done: dict[str, int]
) -> list[str]:
    """A job that was killed, perhaps many times, came to its end."""
    done["completed"] += 1
    if code != 0:
        return [f"{name} ended with {code} after {done['kills']} kills: {said}"]
    if (found := _outcome(job, folder)) != expected:
        why = found if isinstance(found, str) else "something else"
        return [f"{name} gave {why} after {done['kills']} kills"]
    done["resumed"] += 1
    return []


def _outcome(job: Job, folder: Path) -> Any:
    try:
        return job.outcome(folder)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def kill(count: int) -> dict[str, Any]:
    """Two jobs at a time."""
    shares = {name: max(1, round(count * job.share)) for name, job in JOBS.items()}
    longest_first = sorted(JOBS, key=["benchmark", "train", "save", "cache", "fit"].index)
    with ThreadPoolExecutor(2) as pool:
        futures = {
            name: pool.submit(torn, name, JOBS[name], shares[name], seed) for seed, name in enumerate(longest_first)
        }
    jobs = {name: futures[name].result() for name in JOBS}
    failures = [failure for job in jobs.values() for failure in job.pop("failures")]
    total = {key: sum(job[key] for job in jobs.values()) for key in ("kills", "completed", "resumed")}
    return {**total, "jobs": jobs, "failures": failures}
