"""PIGVAE, ReGAE and GRALE on this machine: one line of results/baselines.jsonl for each run.

GEOGAE_DATA=… python benchmarks/baselines.py run regae MUTAG                        # 20 core-minutes, seed 0
GEOGAE_DATA=… python benchmarks/baselines.py run grale AIDS --split disjoint
GEOGAE_DATA=… python benchmarks/baselines.py run grale MUTAG --set epsilon_scaled=true
GEOGAE_DATA=… python benchmarks/baselines.py run pigvae MUTAG --attributes
GEOGAE_DATA=… python benchmarks/baselines.py run pigvae QM9:20000
python benchmarks/baselines.py scaling                                              # time and memory against n
python benchmarks/baselines.py tables                                               # of docs/baselines.md

A run that is killed goes on from its checkpoint when the same command is given again.
"""

from __future__ import annotations

import argparse
import json
import logging
import resource
import shutil
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import torch
from geogae.benchmark.baselines.protocol import score

from geogae import datasets
from geogae.autoencoders.base import Session
from geogae.benchmark.baselines import BASELINES, OutOfMemory, find, preset
from geogae.benchmark.provenance import provenance
from geogae.errors import GeoGAEError
from geogae.training.loop import STATE
from record import RESULTS

ORIGIN = provenance()  # of the code that was loaded, whatever is committed meanwhile
LINES = RESULTS / "baselines.jsonl"
KEPT = ("seconds", "core_seconds", "step", "epoch", "loss_total", "validation_f1", "validation_choice")  # of a history


def run(arguments: argparse.Namespace) -> None:
    name, _, sample = arguments.dataset.partition(":")
    changes: dict[str, Any] = {}
    for change in arguments.set:
        changes |= tomllib.loads(change)
    if arguments.attributes:
        changes["attributes"] = "decoded"
    parameters = {
        **preset(arguments.method, name.removesuffix(datasets.NUMBERS)),
        "core_minutes": arguments.core_minutes,
    }
    parameters |= {"seed": arguments.seed, "memory_gib": arguments.memory_gib, **changes}
    graphs = datasets.load(name)
    if sample:
        graphs = datasets.sample(graphs, int(sample), seed=0)
    if not arguments.attributes:
        graphs = [graph.topology() for graph in graphs]
    parts = datasets.split(graphs, arguments.seed, disjoint=arguments.split == "disjoint")
    train, validation, test = parts
    line: dict[str, Any] = {"method": arguments.method, "dataset": name, "sample": int(sample) if sample else None}
    line |= {"split": arguments.split, "seed": arguments.seed, "changes": changes, "config": parameters}
    line |= {"graphs": [len(part) for part in parts], "command": "python " + " ".join(sys.argv)}
    key = "-".join([arguments.method, arguments.dataset, arguments.split, str(arguments.seed), *arguments.set])
    folder = (
        Path("runs") / "baselines" / (key + "-attributes" * arguments.attributes).replace(":", "-").replace("/", "-")
    )
    folder.mkdir(parents=True, exist_ok=True)
    model = find(arguments.method)(**parameters)
    begin = time.monotonic()
    try:
        history = model.fit(
            train, validation, Session(folder, resume=(folder / STATE).exists(), progress=sys.stderr.isatty())
        )
        line["fit_seconds"] = round(time.monotonic() - begin, 1)
        line["history"] = [{name: row[name] for name in KEPT if name in row} for row in history]
        line |= score(model, test, arguments.seed)
        line["error"] = None
    except OutOfMemory as error:
        line |= {"error": "OOM", "needed_gib": round(error.needed / 2**30, 2), "limit_gib": error.limit / 2**30}
    except GeoGAEError as error:
        line["error"] = str(error)
    line["peak_gib"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 3)
    line |= {"threads": torch.get_num_threads(), **ORIGIN}
    with LINES.open("a") as file:
        file.write(json.dumps(line) + "\n")
    shutil.rmtree(folder)
    print(json.dumps({name: line.get(name) for name in ("method", "dataset", "error", "scores")}))


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    one = verbs.add_parser("run")
    one.set_defaults(do=run)
    one.add_argument("method", choices=BASELINES)
    one.add_argument("dataset", help="a name, or NAME:COUNT for a sample")
    one.add_argument("--split", choices=("paper", "disjoint"), default="paper")
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--core-minutes", type=float, default=20.0)
    one.add_argument("--memory-gib", type=float, default=16.0)
    one.add_argument("--attributes", action="store_true")
    one.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter, as TOML")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.do(arguments)


if __name__ == "__main__":
    main()
