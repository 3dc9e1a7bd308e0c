"""Tables of benchmarks/latent.py: what z is good for, beside trivial baselines."""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean, stdev
from typing import Any

from geogae.benchmark.blocks import markdown_table as table
from geogae.json_lines import read_lines
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


def _mean(lines: list[dict[str, Any]], name: str, form: str = ".1f", unit: float = 1.0) -> str:
    """Mean, deviation and number of seeds."""
    values = [unit * line[name] for line in lines if line.get(name) is not None]
    deviation = f" ± {stdev(values):{form}}" if len(values) > 1 else ""
    return f"{mean(values):{form}}{deviation} ({len(values)})" if values else "–"


def _alike(lines: list[dict[str, Any]], *names: str) -> list[list[dict[str, Any]]]:
    """Lines of one measurement with different seeds, together."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for line in lines:
        found.setdefault(tuple(line.get(name) for name in names), []).append(line)
    return list(found.values())


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
    for lines in _alike(_lines("distance"), "measure", "dataset", "vectors", "numbers"):
        line = lines[0]
        value = _mean(lines, "tau" if "tau" in line else "share_of_best", ".3f")
        what = {"edits": "τ, 1 to 10 random edits", "exact edit distance": "τ, exact edit distance"}
        rows.append([what.get(line["measure"], "Tanimoto of the nearest, share of the best"), line["dataset"],
                     f"{line['vectors']} ({line['numbers']})" if line.get("numbers") else line["vectors"],
                     value])  # fmt: skip
    return table(["measure", "data set", "vectors", "value"], rows)


def sample_molecules() -> str:
    rows = []
    for lines in _alike([line for line in _lines("sample", dataset="QM9") if "valid_connected" in line], "what"):
        cells = [_mean(lines, name, unit=100) for name in ("valid_connected", "unique", "new")]
        cells += [_mean(lines, "fcd", ".3f"), _mean(lines, "descriptor_r2", ".2f")]
        rows.append([lines[0]["what"], lines[0]["draws"], *cells])
    header = ["QM9", "draws", "valid and connected [%]", "unique [%]", "new [%]", "FCD", "R² of descriptors"]
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
        [lines[0]["what"], lines[0]["pairs"], _mean(lines, "midpoints_valid_connected", unit=100),
         _mean(lines, "tau", ".2f")]
        for lines in _alike([line for line in _lines("sample", dataset="QM9") if "tau" in line], "what")
    ]  # fmt: skip
    return table(["QM9", "pairs", "midpoints valid and connected [%]", "mean Kendall τ"], rows)


def sample_graphs() -> str:
    rows = [
        [lines[0]["dataset"], lines[0]["what"], _mean(lines, "connected", ".0f", unit=100),
         *(_mean(lines, f"{kind}_mmd", ".4f") for kind in ("degree", "clustering", "spectral"))]
        for lines in _alike([line for line in _lines("sample") if "degree_mmd" in line], "dataset", "what")
    ]  # fmt: skip
    return table(["data set", "graphs", "connected [%]", "degree MMD", "clustering MMD", "spectral MMD"], rows)


def optimise() -> str:
    rows = [
        [lines[0]["score"], lines[0]["method"], lines[0]["calls"], _mean(lines, "best", ".3f"),
         _mean(lines, "top_10", ".3f")]
        for lines in _alike(_lines("optimise"), "score", "method")
    ]  # fmt: skip
    return table(["score", "method", "calls", "best", "mean of the ten best"], rows)


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
