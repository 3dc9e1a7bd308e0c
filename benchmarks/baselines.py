"""How PIGVAE, ReGAE and GRALE scale with the number of nodes, beside our autoencoders.

python benchmarks/baselines.py scaling                    # seconds and memory of a training graph → studies, picture
python benchmarks/baselines.py memory                     # of a step with the paper's hyperparameters, all data sets
python benchmarks/baselines.py plot                       # the picture alone, from what was measured

Their scores come from the benchmark itself: GEOGAE_DATA=… geogae benchmark run --methods regae --core-minutes 20
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np
import torch
from matplotlib.figure import Figure

from geogae import GeoGAE, Graph
from geogae.benchmark.baselines import BASELINES, find, preset
from geogae.benchmark.paper import paper
from geogae.plots import PALETTE, save_figure
from record import PICTURES, record, result

SIZES = (8, 16, 32, 64, 128, 256)  # measured, up to the limits of seconds and memory
LARGER = (512, 1024, 3782)  # of compared methods predicted alone; 3782 is the largest of REDDIT-BINARY
DEGREE = 2.2  # mean, as in molecules
LIMIT_SECONDS = 30.0  # of one training graph; larger ones are not measured
LIMIT_GIB = 3.0
LEAST_GIB = 0.02  # less than this is lost among what the process has loaded
DIM = 6  # of clouds; these graphs are exact in it
OURS = ("linear", "refined")


def sparse_graph(n: int, seed: int) -> Graph:
    """A random tree and a few more edges."""
    random = np.random.default_rng([n, seed])
    tree = {(int(random.integers(node)), node) for node in range(1, n)}
    while len(tree) < DEGREE * n / 2:
        i, j = sorted(random.choice(n, 2, replace=False).tolist())
        tree.add((i, j))
    return Graph(n, sorted(tree))


def step_of(method: str, n: int) -> dict[str, float]:
    """One training step on one graph, with the paper's hyperparameters for MUTAG: seconds of processor time."""
    values = {**preset(method, "MUTAG"), "batch_size": 1}
    values |= {"max_nodes": n} if method == "grale" else {}
    model = find(method)(**values)
    graph = sparse_graph(n, 0)
    predicted = predicted_of(method, n)
    if predicted["gib"] > LIMIT_GIB:
        return predicted
    model.prepare([graph])
    model.network.train()
    batch = model.collate(model.read([graph]))
    used = time.process_time()
    model.loss(model.network, batch)["total"].backward()
    return {**predicted, "seconds": round(time.process_time() - used, 4)}


def predicted_of(method: str, n: int) -> dict[str, float]:
    """Memory of that step, from shapes alone."""
    model = find(method)(**{**preset(method, "MUTAG"), "batch_size": 1})
    model.facts = {"largest": n, "nodes": n, "size_mean": 0.0, "size_scale": 1.0}
    return {"n": n, "gib": round(model.predicted_bytes(n, 1) / 2**30, 4)}


def fit_of(name: str, n: int) -> dict[str, float]:
    """Clouds and a fit of ours on four graphs: seconds of processor time and memory, for each graph."""
    graphs = [sparse_graph(n, seed) for seed in range(4)]
    with TemporaryDirectory() as empty, mock.patch.dict(os.environ, {"GEOGAE_CACHE": empty}):  # no cloud is cached
        before = peak()
        used = time.process_time()
        GeoGAE(architecture=name, latent_dim=64, dim=DIM, device="cpu").fit(graphs, validation=graphs[:1])
        spent = time.process_time() - used
    return {"n": n, "seconds": round(spent / 4, 4), "gib": round((peak() - before) / 4, 4)}


def memory(arguments: argparse.Namespace) -> None:
    """What a step of each preset takes on the largest graph of its data set: from shapes alone, so within seconds."""
    begin, rows = time.monotonic(), []
    for dataset in paper().datasets:
        n = preset("grale", dataset)["max_nodes"]
        for method in BASELINES:
            model = find(method)(**preset(method, dataset))
            model.facts = {"largest": n, "nodes": n, "size_mean": 0.0, "size_scale": 1.0}
            gib = model.predicted_bytes(n, model.batch_size) / 2**30
            rows.append({"method": method, "dataset": dataset, "n": n, "batch_size": model.batch_size, "gib": gib})
            print(rows[-1], flush=True)
    record("baselines", "memory", {}, rows, time.monotonic() - begin)


def peak() -> float:
    """GiB at the peak since the last call, where the system can say so (Linux)."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        Path("/proc/self/clear_refs").write_text("5")
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 2**20
    return float("nan")


def scaling(arguments: argparse.Namespace) -> None:
    for name in arguments.methods or [*BASELINES, *OURS]:
        begin, rows = time.monotonic(), list[dict[str, float]]()
        measure, sizes = (step_of, SIZES) if name in BASELINES else (fit_of, (*SIZES, *LARGER))
        for n in sizes:
            if n == sizes[0] or name in OURS:
                measure(name, n)  # the first call loads and compiles, other kernels for larger graphs
            rows.append(measure(name, n))
            print(name, rows[-1], flush=True)
            if 6 * rows[-1].get("seconds", LIMIT_SECONDS) > LIMIT_SECONDS:  # more nodes, several times the work
                break
        if name in BASELINES:
            rows += [predicted_of(name, n) for n in (*SIZES, *LARGER) if n > rows[-1]["n"]]
        record("baselines", f"scaling-{name}", {"sizes": sizes, "degree": DEGREE}, rows, time.monotonic() - begin)
    plot(arguments)


def plot(arguments: argparse.Namespace) -> None:
    figure = Figure(figsize=(8.5, 3.6), layout="constrained")
    panels = figure.subplots(1, 2)
    for number, name in enumerate([*BASELINES, *OURS]):
        try:
            rows: Sequence[dict[str, Any]] = sorted(
                result("baselines", f"scaling-{name}")["result"], key=lambda r: r["n"]
            )
        except FileNotFoundError:
            continue
        for axes, field in zip(panels, ("seconds", "gib"), strict=True):
            points = [
                (row["n"], row[field]) for row in rows if row.get(field, 0) > (LEAST_GIB if field == "gib" else 0)
            ]
            if points:
                axes.plot(*zip(*points, strict=True), "o-", ms=3, color=PALETTE[number % len(PALETTE)], label=name)
    for axes, label in zip(panels, ("processor time [s]", "memory [GiB]"), strict=True):
        axes.set(xscale="log", yscale="log", xlabel="nodes", ylabel=label)
        axes.grid(alpha=0.3)
    panels[1].axhline(16, ls="--", lw=1, color="gray")
    panels[0].legend(frameon=False, fontsize=8)
    figure.suptitle(
        "A training graph: one step of the compared methods, a whole fit of ours "
        f"(memory below {LEAST_GIB} GiB); dashed: 16 GiB",
        fontsize=9,
    )
    save_figure(figure, PICTURES / "baselines-scaling.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=("scaling", "memory", "plot"))
    parser.add_argument("--methods", nargs="*", choices=[*BASELINES, *OURS])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    {"scaling": scaling, "memory": memory, "plot": plot}[arguments.do](arguments)


if __name__ == "__main__":
    main()
