"""The paper's model on edited training graphs. Each part is a line in benchmarks/studies/edits.jsonl.

GEOGAE_DATA=… python benchmarks/edits.py memory AIDS --run runs/benchmark/AIDS/…  # what a trained model had seen
GEOGAE_DATA=… python benchmarks/edits.py speed MUTAG --threads 1        # training with and without edits; editing alone
GEOGAE_DATA=… python benchmarks/edits.py sizes AIDS --run runs/benchmark/AIDS/…  # where a trained model loses edges
GEOGAE_DATA=… python benchmarks/edits.py refined MUTAG --seed 2 --run runs/benchmark/MUTAG/…  # test graphs, z refined
GEOGAE_DATA=… python benchmarks/edits.py choose MUTAG --core-minutes 4  # variants of a preset, on validation graphs
GEOGAE_DATA=… python benchmarks/edits.py choose QM9:20000 --only "preset,batch 64"
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from geogae import GeoGAE, Graph, datasets, metrics
from geogae.autoencoders.transformer.sequences import Sequences
from geogae.autoencoders.transformer.sequential import SequentialAutoencoder
from geogae.benchmark.folds import development, held_out
from geogae.benchmark.methods.autoencoder import preset
from geogae.benchmark.plan import Run, plan
from geogae.geometry.fitting import canonicalise
from geogae.training.stream import EPOCH, EditedGraphs, make
from record import RESULTS, record

METHOD = "sequential-edits"
SIZES = (0, 15, 25, 40, 10_000)  # bounds of the groups of validation graphs
REFINED = 200  # steps of descent of z in encoding
VARIANTS: dict[str, dict[str, Any]] = {
    "preset": {}, "no edits": {"edits": 0}, "2 edits": {"edits": 2}, "16 edits": {"edits": 16},
    "with parts": {"edit_kinds": "leaves+edges+paths+parts"}, "final norm": {"final_norm": True},
    "likeliest stop": {"stop_rule": "likeliest"}, "batch 16": {"batch_size": 16}, "axis order": {"order": "axis"},
    "AdamW": {"optimizer": "adamw", "lr": 1e-3}, "lr 1.5e-3": {"lr": 1.5e-3}, "lr 6e-3": {"lr": 6e-3},
    "margin 0.8": {"margin": 0.8}, "batch 32": {"batch_size": 32}, "batch 64": {"batch_size": 64},
    "rho 4": {"rho": 4.0}, "drawn by size later": {"edit_ramp": 100_000},
    "margin 0.8 and batch 32": {"margin": 0.8, "batch_size": 32},
    "margin 0.8 and batch 64": {"margin": 0.8, "batch_size": 64},
    "margin 1.6 and batch 64": {"margin": 1.6, "batch_size": 64},
    "margin 1.6 and batch 32": {"margin": 1.6, "batch_size": 32},
    "margin 3 and batch 64": {"margin": 3.0, "batch_size": 64},
    "margin 0.8 and batch 8": {"margin": 0.8, "batch_size": 8},
    "margin 0.8 and batch 16": {"margin": 0.8, "batch_size": 16},
    "rotary positions alone": {"absolute_positions": False}, "absolute positions": {"absolute_positions": True},
    "leaves folded": {"leaves": "folded"},
}  # fmt: skip


# -- which test graphs the stream happened to hold -------------------------------------------------------------------


def memory(name: str, seed: int, folder: Path) -> None:
    """Test graphs that training had, that the stream of edited copies held, and the others; scored apart."""
    begin, run, model = time.perf_counter(), _run(name, seed), _trained(name, seed, folder)
    train, validation = development(run)
    test, config = held_out(run, RESULTS), model.get_params()
    editor = _stream(model.autoencoder_, train, validation).editor
    steps = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])["step"]
    copies = -(-steps * config["batch_size"] // (EPOCH * config["edit_repeats"])) * EPOCH
    had = np.array(_classes(train, test))
    met = np.array(_classes((editor.copy(k) for k in range(copies)), test))
    each = _each(model, test)
    parts = {"training": had, "stream": met & ~had, "neither": ~met & ~had}
    result = {"copies": copies, **{kind: _scores(each, part) for kind, part in parts.items()}}
    budget = {"core_minutes": config["core_minutes"]}
    record("edits", f"memory-{run}", {"run": str(run), **budget}, result, time.perf_counter() - begin)
    print(result)


def _stream(model: SequentialAutoencoder, train: list[Graph], validation: list[Graph]) -> EditedGraphs:
    """The copies that training of a fitted model saw."""
    clouds = [reading.cloud for reading in model.read(train)]
    return model.stream(model.ordered(train, clouds), validation, background=False)


def _each(model: GeoGAE, graphs: list[Graph]) -> dict[str, NDArray[np.float64]]:
    """Scores of each graph through z, and its nodes."""
    true, decoded = (list(side) for side in zip(*model.reconstruct(graphs), strict=True))
    scores = {score: np.array(values, float) for score, values in metrics.scores(true, decoded).items()}
    return scores | {"nodes": np.array([graph.n for graph in graphs], float)}


def _classes(graphs: Iterator[Graph] | list[Graph], test: list[Graph]) -> list[bool]:
    """Which test graphs are isomorphic to one of ``graphs``; canonical forms are made where the degrees agree."""
    forms = [canonicalise(graph.topology()).key for graph in test]
    degrees = {np.sort(graph.degrees).tobytes() for graph in test}
    found = {canonicalise(graph.topology()).key for graph in graphs if np.sort(graph.degrees).tobytes() in degrees}
    return [form in found for form in forms]


def _scores(each: dict[str, NDArray[np.float64]], part: NDArray[np.bool_]) -> dict[str, float | int | None]:
    count = int(part.sum())
    if not count:
        return {"graphs": 0, "f1": None, "exact": None, "size_error": None}
    f1, exact, size, nodes = (each[name][part] for name in ("f1", "exact", "size_error", "nodes"))
    return {
        "graphs": count,
        "f1": round(float(np.average(f1, weights=nodes)), 4),
        "exact": round(float(exact.mean()), 4),
        "size_error": round(float(np.abs(size).mean()), 4),
    }


# -- speed ------------------------------------------------------------------------------------------------------------


def speed(name: str, steps: int = 40) -> None:
    """Editing and fitting alone, and training steps with fixed and with edited graphs, in processor time."""
    begin = time.perf_counter()
    train, validation, _ = datasets.split(datasets.load(name), seed=0)
    values = preset("sequential", name)
    values.pop("architecture")
    model = SequentialAutoencoder(**{**values, "edits": values.get("edits") or 8})
    clouds = model.reader.fit(train)
    stream = model.stream(model.ordered(train, clouds), validation, background=False)
    start = time.process_time()
    for k in range(EPOCH):
        stream.editor.copy(k)
    edited = EPOCH / (time.process_time() - start)
    source, seconds = make(stream.editor, stream.read, 0, EPOCH)
    model.network = model._built().train()
    plain, copies = (_training(model, data, steps) for data in (Sequences(clouds), source))
    batch = model.training["batch_size"]
    share = batch / copies / (batch / copies + batch / (EPOCH / seconds) / model.edit_repeats)
    rows = {
        "edited": edited, "edited_and_fitted": EPOCH / seconds, "training_plain": plain, "training_edited": copies,
        "share_of_core_time_for_steps": share, "repeats": model.edit_repeats,
    }  # fmt: skip
    config = {"dataset": name, "threads": torch.get_num_threads()}
    record("edits", f"speed-{name}", config, rows, time.perf_counter() - begin)
    print(rows)


def _training(model: SequentialAutoencoder, data: Any, steps: int) -> float:
    """Graphs a second and core, in training steps alone."""
    from geogae.training.batches import epoch_batches

    objective, generator = model._objective(), torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(model.network.parameters(), 1e-4, fused=True)
    chosen = [
        batch for epoch in range(steps) for batch in epoch_batches(data.sizes, model.training["batch_size"], 0, epoch)
    ][:steps]
    start = time.process_time()
    for numbers in chosen:
        loss = objective(model.network, data[numbers], 0.0, generator, torch.Tensor.abs)["total"]
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.network.parameters(), 1.0)
        optimizer.step()
    return sum(map(len, chosen)) / (time.process_time() - start)


# -- where edges are lost ---------------------------------------------------------------------------------------------


def sizes(name: str, seed: int, run: Path) -> None:
    """Validation graphs by their number of nodes, through a model that a run left; also with z refined in encoding."""
    begin = time.perf_counter()
    _, validation = development(_run(name, seed))
    model = _trained(name, seed, run)
    nodes = np.array([graph.n for graph in validation])
    rows: list[dict[str, Any]] = []
    for steps in (0, REFINED):
        model.autoencoder_.refine_steps = steps
        each = _each(model, validation)
        for low, high in pairwise(SIZES):
            part = (nodes > low) & (nodes <= high)
            share = round(float(nodes[part].sum() / nodes.sum()), 4)
            bounds = {"refine_steps": steps, "from": low + 1, "to": high, "share_of_nodes": share}
            rows.append({**bounds, **_scores(each, part)})
            print(rows[-1], flush=True)
    config = {"dataset": name, "seed": seed, "core_minutes": model.get_params()["core_minutes"]}
    record("edits", f"sizes-{name}{_suffix(seed)}", config, rows, time.perf_counter() - begin)


def refined(name: str, seed: int, folder: Path) -> None:
    """Test graphs through a model that a run left, z as the encoder gives it and refined by descent."""
    begin, run, model = time.perf_counter(), _run(name, seed), _trained(name, seed, folder)
    test = held_out(run, RESULTS)
    every, result = np.ones(len(test), bool), {}
    model.encode(test)  # clouds are fitted, and kernels compiled, before the clock starts
    for steps in (0, REFINED):
        model.autoencoder_.refine_steps = steps
        start = time.process_time()
        result[str(steps)] = {**_scores(_each(model, test), every), "core_seconds": time.process_time() - start}
    config = {"run": str(run), "dataset": name, "seed": seed, "core_minutes": model.get_params()["core_minutes"]}
    record("edits", f"refined-{run}", config, result, time.perf_counter() - begin)
    print(result)


def _trained(name: str, seed: int, folder: Path) -> GeoGAE:
    """The model that the run with this seed left: with another seed its training graphs would be test graphs."""
    model = GeoGAE.load(folder)
    if (own := model.get_params()["seed"]) != seed or name.replace(":", "-") not in folder.resolve().parts:
        data = folder.resolve().parts[-3]
        raise SystemExit(f"{folder} is a run of {data} with seed {own}; give its data set and seed")
    return model


def _suffix(seed: int) -> str:
    return f"-seed{seed}" if seed else ""


def _run(name: str, seed: int) -> Run:
    [run] = plan([METHOD], [name], [seed], ("paper",), (None,), ())
    return run


# -- choices ----------------------------------------------------------------------------------------------------------


def choose(name: str, core_minutes: float, only: list[str], seed: int) -> None:
    """Variants of the preset at a small budget; test graphs are not looked at."""
    run = _run(name, seed)
    train, validation = development(run)
    for variant in only or VARIANTS:
        changes = VARIANTS[variant]
        begin = time.perf_counter()
        settings = {"epochs": None, "core_minutes": core_minutes, "validations": 4, "seed": seed, **changes}
        model = GeoGAE.from_preset(f"sequential/{run.dataset.lower()}", **settings).fit(train, validation=validation)
        last = model.history_[-1]
        kept = {key: last[key] for key in ("step", "core_seconds", "validation_f1", "validation_size_error")}
        best = max(row["validation_f1"] for row in model.history_)
        config = {"dataset": name, "core_minutes": core_minutes, "seed": seed, "changes": changes}
        part = f"choose-{name}-{variant}{_suffix(seed)}"
        record("edits", part, config, kept | {"best": best}, time.perf_counter() - begin)
        print(name, variant, kept, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("memory", "speed", "sizes", "refined", "choose"))
    parser.add_argument("dataset", nargs="?", default="MUTAG")
    parser.add_argument("--core-minutes", type=float, default=4.0, help="processor time of each variant")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--run", type=Path, help="the folder of a trained model, for memory, sizes and refined")
    parser.add_argument("--only", default="", help=f"variants, by comma: {', '.join(VARIANTS)}")
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    torch.set_num_threads(chosen.threads)
    if chosen.part == "speed":
        speed(chosen.dataset)
    elif chosen.part == "choose":
        only = [one for one in chosen.only.split(",") if one]
        choose(chosen.dataset, chosen.core_minutes, only, chosen.seed)
    elif chosen.run is None:
        parser.error(f"{chosen.part} needs --run, the folder of a trained model")
    else:
        {"memory": memory, "sizes": sizes, "refined": refined}[chosen.part](chosen.dataset, chosen.seed, chosen.run)


if __name__ == "__main__":
    main()
