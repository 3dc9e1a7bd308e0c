"""Our autoencoder: how its presets were chosen, what each ingredient is worth, how fast it is.

GEOGAE_DATA=… python benchmarks/parallel.py choose       # geometry dimension and node order, on validation graphs only
GEOGAE_DATA=… python benchmarks/parallel.py ablations    # each ingredient taken away, on AIDS
GEOGAE_DATA=… python benchmarks/parallel.py speed        # decoding against the sequential model's
"""

from __future__ import annotations

import argparse
import logging
import time
from typing import Any

import numpy as np
import torch

from geogae import GeoGAE
from geogae.benchmark.folds import development
from geogae.benchmark.plan import Run
from record import RESULTS, record

SEEDS = (0, 1, 2)
CHOICES: dict[str, tuple[int | None, tuple[int, ...], list[tuple[int, str]]]] = {  # sample, sizes m, (d, order)
    "MUTAG": (None, (128, 48), [(3, "axis"), (3, "greedy"), (4, "axis"), (5, "axis")]),
    "AIDS": (
        None,
        (192, 96),
        [(3, "axis"), (3, "greedy"), (4, "axis"), (4, "greedy"), (5, "axis"), (5, "greedy"), (6, "axis")],
    ),
    "IMDB-BINARY": (
        None,
        (192, 64),
        [(4, "axis"), (4, "greedy"), (5, "axis"), (5, "greedy"), (6, "axis"), (6, "greedy")],
    ),
    "SYNTHETICnew": (None, (192,), [(9, "axis"), (9, "template"), (12, "template"), (16, "template")]),
    "QM9": (20_000, (192, 48), [(4, "axis"), (4, "greedy"), (5, "axis")]),
    "COLLAB": (2_000, (576,), [(7, "axis"), (9, "axis"), (9, "greedy"), (11, "axis"), (11, "greedy")]),
}


def choose(names: list[str]) -> None:
    """Validation F1 of every candidate; the test graphs stay closed."""
    for name in names or CHOICES:
        begin, (sample, sizes, candidates) = time.perf_counter(), CHOICES[name]
        rows = []
        for dim, order in candidates:
            for m in sizes:
                measured, seconds = [], []
                for seed in SEEDS[:1] if order == "template" else SEEDS:  # matching takes its time
                    train, validation = development(Run("parallel", (), name, sample, "paper", seed))
                    start = time.perf_counter()
                    model = GeoGAE(dim=dim, order=order, latent_dim=m).fit(train, validation=validation)
                    seconds.append(round(time.perf_counter() - start, 2))
                    measured.append({key: model.history_[0][f"validation_{key}"] for key in ("f1", "exact")})
                rows.append({"dim": dim, "order": order, "m": m, "validation": measured, "seconds": seconds})
                f1 = [round(100 * row["f1"], 2) for row in measured]
                print(name, dim, order, m, f1, np.mean(f1).round(2), seconds, flush=True)
        config = {"dataset": name, "sample": sample, "threads": torch.get_num_threads()}
        record(f"parallel-choose-{name}", config, rows, time.perf_counter() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("choose",))
    parser.add_argument("names", nargs="*")
    chosen: Any = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    torch.set_num_threads(1)
    RESULTS.mkdir(exist_ok=True)
    choose(chosen.names)


if __name__ == "__main__":
    main()
