"""Speed of two versions of geogae in one run, in turns: a noisy machine slows both.

git worktree add ../before 98a00fc
GEOGAE_DATA=… python benchmarks/side_by_side.py ../before --datasets MUTAG,AIDS --rounds 3

Each round starts one process for each version and data set, with an empty cache of clouds. Times are processor times of
one thread, after a warm-up that compiles the kernels. Medians and ratios go to benchmarks/studies/speed.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from record import ROOT, record

PRESETS = {"MUTAG": "mutag", "AIDS": "aids", "IMDB-BINARY": "imdb-binary", "QM9": "qm9",
           "SYNTHETICnew": "syntheticnew", "COLLAB": "collab", "REDDIT-BINARY": "reddit-binary"}  # fmt: skip

# The other version may be old, so this uses only what every version has: presets, fit, encode and decode.
MEASURE = """
import json, os, sys, tempfile, time
import numpy as np
from geogae import GeoGAE, datasets

name, preset = sys.argv[1:]
train, validation, test = datasets.split(datasets.load(name), seed=0)
train = train[:5000]

def size(graph):  # of all nodes and of those that are no leaves: older versions refuse more than the fit had
    return np.array([graph.n, (graph.degrees > 1).sum()])

largest = np.max([size(graph) for graph in train], axis=0)
test = [graph for graph in test if (size(graph) <= largest).all()][:1000]
ones = test[:50]
graphs = {"fit": len(train), "encode": len(test), "decode": len(test), "one": len(ones)}

def cold():  # an empty cache of clouds
    os.environ["GEOGAE_CACHE"] = tempfile.mkdtemp(dir=os.environ["SCRATCH"])

def timed(work):
    begin = time.process_time()
    result = work()
    return result, time.process_time() - begin

def fit():
    return GeoGAE.from_preset(preset, seed=0).fit(train, validation=validation)

cold()
small = GeoGAE.from_preset(preset, seed=0).fit(train[:60], validation=validation[:10])
small.decode(small.encode(train[:20]))
for graph in train[:3]:
    small.encode([graph])
seconds = {}
cold()
model, seconds["fit"] = timed(fit)
model, seconds["fit, clouds at hand"] = timed(fit)
cold()
z, seconds["encode"] = timed(lambda: model.encode(test))
z, seconds["encode, clouds at hand"] = timed(lambda: model.encode(test))
_, seconds["decode"] = timed(lambda: model.decode(z))
cold()
_, seconds["one"] = timed(lambda: [model.encode([graph]) for graph in ones])
print(json.dumps({what: 1e3 * value / graphs[what.split(",")[0]] for what, value in seconds.items()}))
"""


def measure(source: Path, dataset: str) -> dict[str, float]:
    """Milliseconds of processor time a graph, by kind of work."""
    with tempfile.TemporaryDirectory() as scratch:
        environment = os.environ | {"PYTHONPATH": str(source / "src"), "SCRATCH": scratch, "OMP_NUM_THREADS": "1",
                                    "NUMBA_NUM_THREADS": "1"}  # fmt: skip
        command = [sys.executable, "-c", MEASURE, dataset, PRESETS[dataset]]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=scratch)
    if done.returncode:
        sys.exit(f"{source.name}, {dataset}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="a checkout of the other version")
    parser.add_argument("--datasets", default="MUTAG,AIDS")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    other = options.other.resolve()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=other, capture_output=True, text=True).stdout
    for dataset in options.datasets.split(","):
        begin = time.perf_counter()
        rounds: dict[str, list[dict[str, float]]] = {"before": [], "now": []}
        for number in range(options.rounds):
            rounds["before"].append(measure(other, dataset))
            rounds["now"].append(measure(ROOT, dataset))
            print(dataset, number, rounds["before"][-1], rounds["now"][-1], file=sys.stderr, flush=True)
        rows: dict[str, Any] = {}
        for work in rounds["now"][0]:
            before, now = (statistics.median(one[work] for one in rounds[side]) for side in ("before", "now"))
            rows[work] = {"before_ms": round(before, 3), "now_ms": round(now, 3), "ratio": round(before / now, 2)}
        config = {"dataset": dataset, "before": commit.strip(), "rounds": options.rounds, "threads": 1}
        record("speed", f"{commit.strip()}-{dataset}", config, rows, time.perf_counter() - begin)


if __name__ == "__main__":
    main()
