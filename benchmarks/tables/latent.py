"""Tables of benchmarks/latent.py: what z is good for, beside trivial baselines."""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean
from typing import Any

from geogae.benchmark.blocks import markdown_table as table
from geogae.benchmark.results import read_lines
from record import RESULTS, recorded

DATASETS = ("MUTAG", "AIDS", "IMDB-BINARY", "COLLAB", "REDDIT-BINARY")
PUBLISHED = {"MUTAG": 89.0, "IMDB-BINARY": 73.0, "COLLAB": 70.7, "REDDIT-BINARY": 82.5}  # InfoGraph (Sun et al. 2020)


def _lines(task: str, **wanted: Any) -> list[dict[str, Any]]:
    """The newest line of each measurement."""
    found = {}
    for _, line in read_lines(RESULTS / "latent" / f"{task}.jsonl"):
        if all(line.get(name) == value for name, value in wanted.items()):
            key = tuple(
                (name, str(value))
                for name, value in line.items()
                if name
                in (
                    "dataset",
                    "seed",
                    "vectors",
                    "classifier",
                    "property",
                    "measure",
                    "numbers",
                    "what",
                    "method",
                    "score",
                )
            )
            found[key] = line
    return list(found.values())


def _mean(lines: list[dict[str, Any]], name: str, form: str = ".1f") -> str:
    values = [line[name] for line in lines if line.get(name) is not None]
    return f"{mean(values):{form}} ({len(values)})" if values else "–"


def classify() -> str:
    rows = []
    kinds = [("descriptor", "svm"), ("descriptor", "logistic"), ("z", "svm"), ("z", "logistic"), ("counts", "svm")]
    kinds += [("degrees", "svm"), ("degrees", "logistic"), ("WL kernel", "svm")]
    for vectors, classifier in kinds:
        lines = _lines("classify", vectors=vectors, classifier=classifier)
        cells = [_mean([line for line in lines if line["dataset"] == name], "accuracy") for name in DATASETS]
        if any(cell != "–" for cell in cells):
            rows.append([vectors, classifier, *cells])
    if rows:
        rows.append(["InfoGraph, as published", "svm", *(PUBLISHED.get(name, "–") for name in DATASETS)])
    return table(["vectors", "classifier", *DATASETS], rows)


def regress() -> str:
    lines = _lines("regress")
    kinds = ("descriptor", "counts", "Morgan fingerprint")
    rows = []
    for name in dict.fromkeys(line["property"] for line in lines):
        own = [[line for line in lines if (line["property"], line["vectors"]) == (name, kind)] for kind in kinds]
        rows.append([name, *(_mean(part, "r2", ".3f") for part in own)])
    return table(["property of QM9", "descriptor (16)", "counts (2)", "Morgan fingerprint (512)"], rows)


def distance() -> str:
    rows = []
    for line in _lines("distance"):
        value = line.get("tau", line.get("share_of_best"))
        what = {"edits": "τ, 1 to 10 random edits", "exact edit distance": "τ, exact edit distance"}
        rows.append([what.get(line["measure"], "Tanimoto of the nearest, share of the best"), line["dataset"],
                     f"{line['vectors']} ({line['numbers']})" if line.get("numbers") else line["vectors"],
                     f"{value:.3f}"])  # fmt: skip
    return table(["measure", "data set", "vectors", "value"], rows)


def sample_molecules() -> str:
    rows = []
    for line in _lines("sample", dataset="QM9"):
        if "valid_connected" in line:
            cells = [f"{100 * line[name]:.1f}" for name in ("valid_connected", "unique", "new")]
            agreement = line.get("descriptor_r2")
            cells += [str(line["fcd"]), "–" if agreement is None else f"{agreement:.2f}"]
            rows.append([line["what"], line["seed"], line["draws"], *cells])
    header = ["QM9", "seed", "draws", "valid and connected [%]", "unique [%]", "new [%]", "FCD", "R² of descriptors"]
    return table(header, rows)


def choose() -> str:
    rows = []
    for what, line in recorded("latent").items():
        result = line["result"]
        plain, best = result["plain"], max(result["paths"], key=lambda path: path["tau"])
        cells = [result["not_denoised"]["valid_connected"], plain["valid_connected"], plain["unique"],
                 result["noisy_valid"], best["midpoints_valid_connected"]]  # fmt: skip
        budget = [line["config"]["molecules"], line["config"]["prior_core_minutes"]]
        rows.append([what, *budget, *(f"{100 * cell:.1f}" for cell in cells), best["tau"], best["meet"]])
    header = ["setting", "molecules", "core-minutes", "valid, not denoised [%]", "valid [%]", "unique [%]",
              "valid after noise [%]", "midpoints valid [%]", "mean Kendall τ", "ends joined at time"]  # fmt: skip
    return table(header, rows)


def paths() -> str:
    rows = [
        [line["what"], line["seed"], line["pairs"], f"{100 * line['midpoints_valid_connected']:.1f}", line["tau"]]
        for line in _lines("sample", dataset="QM9")
        if "tau" in line
    ]
    return table(["QM9", "seed", "pairs", "midpoints valid and connected [%]", "mean Kendall τ"], rows)


def sample_graphs() -> str:
    rows = [
        [line["dataset"], line["what"], line["seed"], f"{100 * line['connected']:.0f}",
         *(f"{line[f'{kind}_mmd']:.4f}" for kind in ("degree", "clustering", "spectral"))]
        for line in _lines("sample")
        if "degree_mmd" in line
    ]  # fmt: skip
    return table(["data set", "graphs", "seed", "connected [%]", "degree MMD", "clustering MMD", "spectral MMD"], rows)


def optimise() -> str:
    rows = [
        [line["score"], line["method"], line["calls"], line["seed"], line["best"], line["top_10"]]
        for line in _lines("optimise")
    ]
    return table(["score", "method", "calls", "seed", "best", "mean of the ten best"], rows)


TABLES: dict[str, Callable[[], str]] = {
    "latent-classify": classify,
    "latent-regress": regress,
    "latent-distance": distance,
    "latent-choose": choose,
    "latent-molecules": sample_molecules,
    "latent-paths": paths,
    "latent-graphs": sample_graphs,
    "latent-optimise": optimise,
}
