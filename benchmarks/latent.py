"""What z is good for: runs the tasks of geogae.benchmark.tasks and appends results to benchmarks/results/latent.

python benchmarks/latent.py classify MUTAG --seeds 0,1,2 [--z]
python benchmarks/latent.py regress
python benchmarks/latent.py distance
python benchmarks/latent.py sample MUTAG
python benchmarks/latent.py fit QM9 --model runs/qm9 --core-minutes 30     # a model of training molecules, and a prior
python benchmarks/latent.py sample QM9 --model runs/qm9
python benchmarks/latent.py choose --count 40000 --core-minutes 4          # settings side by side, validation molecules
python benchmarks/latent.py optimise --model runs/qm9 --seeds 0,1,2 [--scores qed --searches search]
python benchmarks/latent.py pictures --model runs/qm9                      # those of docs/latent.md
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from geogae import GeoGAE, datasets
from geogae.benchmark.provenance import provenance
from geogae.json_lines import append
from record import record

RESULTS = Path(__file__).parent / "results" / "latent"
PRESETS = {
    "MUTAG": "mutag",
    "AIDS": "aids",
    "IMDB-BINARY": "imdb-binary",
    "COLLAB": "collab",
    "REDDIT-BINARY": "reddit-binary",
}

QM9: dict[str, Any] = {"latent_dim": 128, "descriptor": 16, "dim": 5, "margin": 0.8, "attributes": "decoded",
                       "leaves": "kept", "twins": "kept"}  # fmt: skip
CHOICES: dict[str, dict[str, Any]] = {"128 numbers": {}, "80 numbers": {"latent_dim": 80}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=tuple(TASKS))
    parser.add_argument("dataset", nargs="?", default="MUTAG")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--z", action="store_true", help="classify from the whole z of the preset's model, too")
    parser.add_argument("--model", type=Path, help="a saved model with a prior")
    parser.add_argument("--count", type=int, help="graphs or draws, if not all")
    parser.add_argument("--scores", default="qed,plogp", help="that are optimised")
    parser.add_argument("--searches", default="search,CMA-ES alone", help="that are compared with random draws")
    parser.add_argument("--core-minutes", type=float, default=30.0, help="budget of the prior")
    options = parser.parse_args()
    where = provenance()
    for seed in map(int, options.seeds.split(",")):
        begin = time.process_time()
        write(options.task, TASKS[options.task](options, seed), where, begin)


def write(task: str, results: Iterable[dict[str, Any]], where: dict[str, Any], begin: float) -> None:
    for result in results:
        result["core_minutes"] = round((time.process_time() - begin) / 60, 3)
        print(result, file=sys.stderr, flush=True)
        append(RESULTS / f"{task}.jsonl", {**result, **where})


def classify(options: argparse.Namespace, seed: int) -> Iterable[dict[str, Any]]:
    from geogae.benchmark.tasks import classify

    graphs = datasets.load(options.dataset)
    z, m = None, 0
    if options.z:
        model = GeoGAE.from_preset(PRESETS[options.dataset], descriptor=16, seed=seed).fit(graphs)
        z, m = model.encode(graphs), model.latent_dim
    return classify.run(options.dataset, graphs, seed, z=z, m=m)


def regress(options: argparse.Namespace, seed: int) -> Iterable[dict[str, Any]]:
    from geogae.benchmark.tasks import molecules, regress

    graphs, smiles = molecules.qm9(options.count or 6000, seed)
    return regress.run(graphs, smiles, seed)


def distance(options: argparse.Namespace, seed: int) -> Iterable[dict[str, Any]]:
    from geogae.benchmark.tasks import distance, molecules

    for name in ("MUTAG", "AIDS", "IMDB-BINARY"):
        yield from distance.edits(name, datasets.load(name), seed)
    yield from distance.edit_distance("AIDS", datasets.load("AIDS"), seed)
    yield from distance.neighbours(*molecules.qm9(options.count or 5000, seed), seed)


def fit(options: argparse.Namespace, seed: int) -> Iterable[dict[str, Any]]:
    """The model that sample and optimise take, by heavy atoms; only training molecules are read.

    An interrupted fit continues: the model is saved before its prior is fitted, and the prior has a checkpoint.
    """
    from geogae.benchmark.tasks import molecules

    begin = time.process_time()
    graphs, _ = molecules.qm9(options.count)
    train, validation, _ = ([graphs[i] for i in part] for part in molecules.parts(len(graphs)))
    if options.model.exists():
        model = GeoGAE.load(options.model)
    else:
        model = GeoGAE(**QM9, seed=seed).fit(train)
        model.save(options.model)
    fitted = round((time.process_time() - begin) / 60, 2)
    checkpoint = options.model.with_suffix(".prior")
    model.fit_prior(
        train, core_minutes=options.core_minutes, seed=seed, checkpoint=checkpoint, resume=True, progress=True
    )
    model.save(options.model)
    scores = model.evaluate(validation[:1000])
    yield {"task": "fit", "dataset": "QM9", "seed": seed, "molecules": len(train), "fit_core_minutes": fitted,
           "prior_core_minutes": options.core_minutes, "validation_exact": scores["exact"],
           "validation_whole": scores["whole"], "history": model.prior_.history}  # fmt: skip


def choose(options: argparse.Namespace, seed: int) -> Iterable[dict[str, Any]]:
    """What makes z easy to draw from: settings with the same budget; paths go between validation molecules."""
    from geogae.benchmark.tasks import molecules, sample

    graphs, smiles = molecules.qm9()
    numbers, validation, _ = molecules.parts(len(graphs))
    train, held_out = [graphs[i] for i in numbers[: options.count]], [graphs[i] for i in validation[:200]]
    known = {smiles[i] for i in numbers}
    for what, changes in CHOICES.items():
        begin = time.process_time()
        model = GeoGAE(**{**QM9, **changes}, seed=seed).fit(train)
        result = sample.choose(model, train, held_out, known, options.core_minutes)
        config = {"dataset": "QM9", "molecules": len(train), "prior_core_minutes": options.core_minutes, "seed": seed}
        record("latent", what, config, result, time.process_time() - begin)
    return ()


def sample(options: argparse.Namespace, seed: int) -> Iterable[dict[str, Any]]:
    from geogae.benchmark.tasks import sample

    if options.dataset == "QM9":
        return sample.molecules(GeoGAE.load(options.model), seed, options.count or 10_000)
    return sample.graphs(options.dataset, datasets.load(options.dataset), seed)


def optimise(options: argparse.Namespace, seed: int) -> Iterable[dict[str, Any]]:
    from geogae.benchmark.tasks import optimise

    return optimise.run(GeoGAE.load(options.model), seed, options.scores.split(","), options.searches.split(","))


def pictures(options: argparse.Namespace, seed: int) -> Iterable[dict[str, Any]]:
    """Draws, a path, nearest neighbours and what a search found, of molecules."""
    from geogae.benchmark.tasks import molecules
    from geogae.cli.grid import plot_grid

    model = GeoGAE.load(options.model)
    graphs, smiles = molecules.qm9(2000, seed)
    folder = Path(__file__).parent.parent / "docs" / "pictures"
    plot_grid(model.sample(15, seed=seed), folder / "draws.png")
    one, other = "CC(=O)NCCO", "c1ccncc1C"
    plot_grid(model.interpolate(one, other, steps=9, keep_rules=True), folder / "path.png", [str(i) for i in range(9)])
    found = model.neighbours(graphs[0], among=graphs, k=5)
    titles = [f"{smiles[index]}, {distance:.2f}" for index, distance in found]
    plot_grid([graphs[index] for index, _ in found], folder / "neighbours.png", titles)
    best = model.optimise("qed", 500, graphs[:100], seed=seed, keep_rules=True).best[:5]
    plot_grid([one.graph for one in best], folder / "optimised.png", [f"QED {one.score:.3f}" for one in best])
    return ()


TASKS = {
    "pictures": pictures,
    "fit": fit,
    "choose": choose,
    "classify": classify,
    "regress": regress,
    "distance": distance,
    "sample": sample,
    "optimise": optimise,
}

if __name__ == "__main__":
    main()
