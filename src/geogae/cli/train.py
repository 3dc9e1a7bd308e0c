"""``geogae train``: a preset, or a TOML file of one's own, into a run folder."""

from __future__ import annotations

import json
import logging
import tomllib
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from geogae.cli.data import DATA, STDIN, Simplify, print_facts, print_json, read_graphs
from geogae.errors import GeoGAEError

if TYPE_CHECKING:
    from geogae.graph import Graph

log = logging.getLogger("geogae")

ABOUT = "run.json"  # in the run folder: which data, split how


def train(
    preset: Annotated[str, Argument(metavar="PRESET", help="A preset's name (see geogae presets) or a .toml file.")],
    data: Annotated[str | None, Option(help=f"The preset's data set if not given. {DATA}")] = None,
    out: Annotated[Path | None, Option(help="The run folder; runs/PRESET or runs/PRESET-DATA if not given.")] = None,
    change: Annotated[list[str] | None, Option("--set", metavar="NAME=VALUE", help="Change a parameter.")] = None,
    minutes: Annotated[float | None, Option(help="End after so many minutes.")] = None,
    core_minutes: Annotated[float | None, Option(help="End after so many minutes of processor time.")] = None,
    epochs: Annotated[int | None, Option(help="End after so many epochs.")] = None,
    seed: Annotated[int | None, Option(help="Seed of split, weights and batches; 0 if not given.")] = None,
    disjoint: Annotated[bool, Option("--disjoint", help="Keep isomorphic graphs on one side of the split.")] = False,
    threads: Annotated[int | None, Option(min=1, help="Threads of torch; all cores if not given.")] = None,
    simplify: Simplify = False,
    resume: Annotated[bool, Option("--resume", help="Go on from the last checkpoint in the run folder.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print the validation scores as JSON.")] = False,
) -> None:
    """Train on 70 % of the graphs, choose the weights on 15 %, and leave 15 % for `geogae evaluate`.

    The run folder holds the model (config.json and safetensors). A `sequential` model (presets paper/… and
    sequential/…) also leaves metrics.jsonl, curves.png and a checkpoint that --resume continues from; it can be trained
    by several processes: torchrun --nproc-per-node 2 -m geogae train …

    \b
    Examples:
      geogae train mutag
      geogae train paper/mutag --minutes 5
      geogae train aids --set latent_dim=96 --set dim=5 --seed 1 --out runs/aids-96
      geogae train default --data graphs.jsonl
      geogae train attributes/qm9 --data molecules.smi --out runs/molecules
      geogae train paper/aids --minutes 60 --out runs/paper-aids --resume
    """
    from geogae import autoencoders, datasets, presets
    from geogae.estimator import GeoGAE
    from geogae.training.distributed import processes
    from geogae.training.loop import STATE

    values = presets.read(preset)
    dataset = data or values.get("dataset")
    if not dataset:
        raise GeoGAEError(f"preset {preset} names no dataset; say --data NAME or a file of graphs")
    if dataset == STDIN:
        raise GeoGAEError("a run reads its graphs again later; write them to a file and give that instead of -")
    changes = parse_changes(change or [])
    ends = {"minutes": minutes, "core_minutes": core_minutes, "epochs": epochs}
    if given := {name: value for name, value in (ends | {"seed": seed}).items() if value is not None}:
        changes = (ends if given.keys() & ends else {}) | changes | given
    architecture = changes.get("architecture", values.get("architecture", "refined"))
    if foreign := sorted(given.keys() & ends.keys() - autoencoders.defaults(architecture).keys()):
        option = "--" + foreign[0].replace("_", "-")
        raise GeoGAEError(f"{option}: {architecture} is not trained step by step; leave it out, or take sequential/…")
    model = GeoGAE.from_preset(preset, **changes)
    folder = out or _folder(preset, data)
    if threads:
        import torch

        torch.set_num_threads(threads)
    graphs = read_graphs(dataset, simplify=simplify)
    about = {
        "preset": preset,
        "data": str(Path(dataset).resolve()) if datasets.is_path(dataset) else dataset,
        "digest": digest(graphs),
        "simplify": simplify,
        "seed": model.seed,
        "disjoint": disjoint,
        "params": model.get_params(),
    }
    training, validation, test = datasets.split(graphs, model.seed, disjoint=disjoint)
    if not validation:
        raise GeoGAEError(f"{dataset} has {len(training)} graphs to train on and none to choose by; give more graphs")
    with processes() as peers:
        if peers.writes:
            _claim(folder, about, resume)
        else:
            log.setLevel(logging.ERROR)  # one process talks
        log.info("%d graphs to train on, %d to choose by; the run is in %s", len(training), len(validation), folder)
        if resume and not (folder / STATE).exists():
            log.info("%s holds no checkpoint: starting from the beginning", folder)
            resume = False
        try:
            model.fit(training, validation=validation, run=folder, resume=resume, progress=peers.writes, peers=peers)
        except GeoGAEError:
            if peers.writes and not resume and not (folder / STATE).exists():
                (folder / ABOUT).unlink(missing_ok=True)  # nothing began: the folder is free for another try
                if not any(folder.iterdir()):
                    folder.rmdir()
            raise
        if not peers.writes:
            return
    if any(row.get("step") for row in model.history_):  # others are not trained step by step
        from geogae.plots import plot_curves

        plot_curves(model.history_, folder / "curves.png")
    scores = _validation_scores(model.history_) or model.evaluate(validation)
    part = "test" if test else "validation"
    if as_json:
        print_json({"run": str(folder), "validation": scores, "seconds": model.history_[-1].get("seconds")})
    else:
        print_facts({"run": str(folder), **in_words(scores), "next": f"geogae evaluate {folder} --split {part}"})


def _validation_scores(history: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Those of the weights that were kept; none where the history has none."""
    scored = [row for row in history if "validation_f1_unweighted" in row]
    best = max(scored, key=lambda row: row.get("validation_choice", row["validation_f1"]), default={})
    scores = {name.removeprefix("validation_"): value for name, value in best.items() if name.startswith("validation_")}
    scores.pop("choice", None)
    return scores


def parse_changes(pairs: list[str]) -> dict[str, Any]:
    """``name=value`` with the value in TOML, ``none``, or plain text."""
    changes = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise GeoGAEError(f"--set {pair!r} must be NAME=VALUE, such as --set lr=5e-4")
        try:
            changes[name] = None if value.lower() == "none" else tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            changes[name] = value
    return changes


def in_words(scores: dict[str, float]) -> dict[str, str]:
    words = {
        "F1": f"{100 * scores['f1']:.2f} % ({100 * scores['f1_unweighted']:.2f} % unweighted)",
        "exact": f"{100 * scores['exact']:.2f} %",
        "size error": f"{scores['size_error']:.3f} nodes ({100 * scores['size_error_relative']:.2f} % of the mean)",
    }
    for kind in ("node", "edge"):
        parts = [f"F1 {100 * scores[f'{kind}_f1']:.2f} %"] if f"{kind}_f1" in scores else []
        parts += [f"RMSE {scores[f'{kind}_rmse']:.4g}"] if f"{kind}_rmse" in scores else []
        words |= {f"{kind} attributes": ", ".join(parts)} if parts else {}
    counts = {"not encoded": "not_encoded", "lossy": "lossy", "inexact clouds": "inexact_clouds"}
    words |= {title: f"{scores[name]:.0f} graphs" for title, name in counts.items() if scores.get(name)}
    return words | ({"whole": f"{100 * scores['whole']:.2f} % with all categories"} if "whole" in scores else {})


def _folder(preset: str, data: str | None) -> Path:
    """The default folder of a run, named after the preset and the data."""
    name = Path(preset).stem if preset.endswith(".toml") else preset.lower()
    return Path("runs") / (name if data is None else f"{name}-{Path(data).stem}")


def digest(graphs: Sequence[Graph]) -> str:
    """By which a run knows its graphs again: their structure, in their order."""
    parts = blake2b(digest_size=16)
    for graph in graphs:
        parts.update(graph.n.to_bytes(8, "little") + len(graph.edges).to_bytes(8, "little") + graph.edges.tobytes())
    return parts.hexdigest()


def _claim(folder: Path, about: dict[str, Any], resume: bool) -> None:
    """Start or continue a run, never mix two."""
    from geogae.estimator import GeoGAE
    from geogae.files import atomic_path
    from geogae.model_folder import CONFIG
    from geogae.training import ENDS
    from geogae.training.loop import STATE

    known = folder / ABOUT
    if not resume or not folder.exists():
        if known.exists() and ((folder / STATE).exists() or (folder / CONFIG).exists()):
            further = "continue with --resume, or " if (folder / STATE).exists() else ""
            raise GeoGAEError(f"{folder} holds a run already; {further}choose another --out")
        if known.exists():
            log.info("%s holds a run that was ended before it had a model or a checkpoint: starting again", folder)
        with atomic_path(known) as temporary:
            temporary.write_text(json.dumps(about, indent=1) + "\n")
        return
    before = read_about(folder)
    same_graphs = before["digest"] == about["digest"] if before["digest"] else before["data"] == about["data"]
    differs = ["data"] * (not same_graphs) + [key for key in ("seed", "disjoint") if before[key] != about[key]]
    params = about["params"]
    started = {**GeoGAE.defaults(params["architecture"]), **before["params"]}  # a younger parameter had its default
    differs += [k for k, v in params.items() if k not in ENDS and started[k] != v]
    if differs:
        raise GeoGAEError(f"{folder} was started with other {', '.join(differs)}; resume with the same, or start again")


def parts_of_run(folder: Path) -> tuple[list[Graph], list[Graph], list[Graph]]:
    """Training, validation and test graphs of a run."""
    from geogae import datasets

    about = read_about(folder)
    graphs = read_graphs(about["data"], simplify=about["simplify"])
    if about["digest"] and digest(graphs) != about["digest"]:
        raise GeoGAEError(
            f"{about['data']} has changed since {folder} was trained, so its parts are not known; restore it, or give "
            "the graphs to evaluate as DATA"
        )
    return datasets.split(graphs, about["seed"], disjoint=about["disjoint"])


def read_about(folder: Path) -> dict[str, Any]:
    """Which data a run was trained on, and how it was split."""
    try:
        about = json.loads((folder / ABOUT).read_text())
        required = {key: about[key] for key in ("preset", "data", "seed", "disjoint", "params")}
        return {**required, "digest": about.get("digest"), "simplify": bool(about.get("simplify"))}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GeoGAEError(
            f"{folder / ABOUT} is missing or damaged ({error}); is {folder} a run of geogae train?"
        ) from None
