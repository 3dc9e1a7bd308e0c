"""Attributes through z: how the presets were chosen, what each ingredient is worth, what it costs, molecules.

GEOGAE_DATA=… python benchmarks/attributes.py choose       # geometry dimension and node order, on validation graphs
GEOGAE_DATA=… python benchmarks/attributes.py ablations    # each ingredient taken away, on AIDS
GEOGAE_DATA=… python benchmarks/attributes.py speed        # training the paper's model with and without them
GEOGAE_DATA=… python benchmarks/attributes.py molecules    # SMILES → z → SMILES on QM9, and a picture
"""

from __future__ import annotations

import argparse
import logging
import time
from contextlib import nullcontext
from typing import Any
from unittest import mock

import numpy as np
import torch

from geogae import GeoGAE, metrics, presets
from geogae.autoencoders.schema import Schema
from geogae.autoencoders.slots import Attributes
from geogae.autoencoders.slots import attributes as slot_attributes
from geogae.autoencoders.transformer.sequences import Sequences
from geogae.autoencoders.transformer.sequential import SequentialAutoencoder
from geogae.benchmark.folds import development
from geogae.benchmark.plan import Run
from geogae.geometry.fitting import fit_clouds
from geogae.molecule_plots import plot_molecules
from geogae.training.batches import epoch_batches
from geogae.training.loop import Trainer
from record import PICTURES, record

SEEDS = (0, 1, 2)
SAMPLES = {"QM9": 20_000}
CHOICES: dict[str, list[tuple[int, str]]] = {
    "MUTAG": [(3, "axis"), (3, "greedy"), (4, "axis")],
    "AIDS": [(4, "axis"), (4, "greedy"), (5, "axis"), (5, "greedy")],
}
SCORES = ("f1", "exact", "node_f1", "node_rmse", "edge_f1", "whole")


def validated(name: str, seed: int, **params: Any) -> dict[str, Any]:
    train, validation = development(Run("refined-attributes", (), name, SAMPLES.get(name), "paper", seed))
    begin = time.perf_counter()
    model = GeoGAE.from_preset(f"attributes/{name.lower()}", **params).fit(train, validation=validation)
    best = model.history_[-1]
    scores = {score: best[f"validation_{score}"] for score in SCORES if f"validation_{score}" in best}
    return {**scores, "seconds": round(time.perf_counter() - begin, 2)}


def choose() -> None:
    """Validation scores of every candidate; the test graphs stay closed."""
    for name, candidates in CHOICES.items():
        begin, rows = time.perf_counter(), []
        for dim, order in candidates:
            measured = [validated(name, seed, dim=dim, order=order) for seed in SEEDS]
            rows.append({"dim": dim, "order": order, "validation": measured})
            print(name, dim, order, _means(measured), flush=True)
        config = {"dataset": name, "threads": torch.get_num_threads()}
        record("attributes", f"choose-{name}", config, rows, time.perf_counter() - begin)


def ablations(name: str = "AIDS") -> None:
    """Each ingredient taken away, on validation graphs, three seeds."""
    begin, rows = time.perf_counter(), []
    changes: dict[str, tuple[dict[str, Any], tuple[Any, str, Any] | None]] = {
        "all of it": ({}, None),
        "categories as they are, not their ranks in context": ({"contexts": False}, None),
        "without random axes": ({}, (Attributes, "random_share", 0.0)),
        "without refinement": ({"steps": 0}, None),
        "numbers in the slots, no graph coefficients": ({}, (slot_attributes, "COEFFICIENTS", 0.0)),
        "attributes encoded, not decoded": ({"attributes": "encoded"}, None),
        "attributes ignored": ({"attributes": "ignored"}, None),
    }
    for what, (params, patch) in changes.items():
        with mock.patch.object(*patch) if patch else nullcontext():
            measured = [validated(name, seed, **params) for seed in SEEDS]
        rows.append({"name": what, "validation": measured})
        print(what, _means(measured), flush=True)
    config = {"dataset": name, "threads": torch.get_num_threads(), "seeds": SEEDS}
    record("attributes", "ablations", config, rows, time.perf_counter() - begin)


def _means(measured: list[dict[str, float]]) -> dict[str, float]:
    return {name: round(float(np.mean([row[name] for row in measured])), 4) for name in measured[0]}


def speed(batches: int = 40) -> None:
    """Steps of training on AIDS, one thread, in turns, by processor time: other work here must not count."""
    begin = time.perf_counter()
    torch.set_num_threads(1)
    train, _ = development(Run("sequential-attributes", (), "AIDS", None, "paper", 0))
    clouds, schema = fit_clouds(train, 6), Schema.of(train)
    trainers = {}
    for mode in ("ignored", "encoded", "decoded"):
        values = presets.read("paper-attributes/aids") | {"attributes": mode}
        model = SequentialAutoencoder(**{k: v for k, v in values.items() if k not in ("dataset", "architecture")})
        model.reader.dim, model.schema = 6, None if mode == "ignored" else schema
        data = Sequences(clouds, model.schema)
        ends = {"epochs": 10**6, "minutes": None}
        trainers[mode] = Trainer(model._built(), data, model._objective(), dict, lr=1e-3, batch_size=32, **ends)
    speeds: dict[str, list[float]] = {mode: [] for mode in trainers}
    graphs = len(epoch_batches(np.ones(len(clouds)), 32, 0, 0)[0])
    for _ in range(3):
        for mode, trainer in trainers.items():
            start = time.process_time()
            for _ in range(batches):
                trainer._step()
            speeds[mode].append(graphs * batches / (time.process_time() - start))
    middle = {mode: float(np.median(values)) for mode, values in speeds.items()}
    ratios = {mode: middle[mode] / middle["ignored"] for mode in middle}
    config = {"dataset": "AIDS", "preset": "paper-attributes/aids", "threads": 1}
    record(
        "attributes", "speed", config, {"graphs_per_cpu_second": middle, "ratio": ratios}, time.perf_counter() - begin
    )
    print(middle, ratios)


def molecules(shown: int = 8) -> None:
    """Molecules from z: valid and unchanged SMILES of validation molecules at several m, and a picture of some."""
    begin, rows = time.perf_counter(), []
    train, validation = development(Run("refined-attributes", (), "QM9", SAMPLES["QM9"], "paper", 0))
    for m in (192, 96, 64, 48):
        model = GeoGAE.from_preset("attributes/qm9", latent_dim=m).fit(train, validation=validation)
        pairs = model.reconstruct(validation)
        true, back = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        rows.append({"m": m, **metrics.molecules(true, back), **metrics.attributes(true, back)})
        print(rows[-1], flush=True)
        if m == presets.read("attributes/qm9")["latent_dim"]:
            plot_molecules(pairs[:: len(pairs) // shown][:shown], PICTURES / "molecules.png")
    config = {"dataset": "QM9", "sample": SAMPLES["QM9"], "seed": 0, "threads": torch.get_num_threads()}
    record("attributes", "molecules", config, rows, time.perf_counter() - begin)


PARTS = {"choose": choose, "ablations": ablations, "speed": speed, "molecules": molecules}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    chosen = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    PARTS[chosen.part]()


if __name__ == "__main__":
    main()
