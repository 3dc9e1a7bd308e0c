"""Results by hand, as `geogae benchmark run` writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from geogae import __version__
from geogae.benchmark.results import run_of
from geogae.json_lines import append

TRIVIAL = ("path", "complete", "star", "mean")  # with the true size as side information


def entry(method: str = "linear", f1: float = 0.9, seed: int = 0, **fields: Any) -> dict[str, Any]:
    """A result whose other fields are plain, or as given."""
    config = {"dim": 4, "order": "greedy", "latent_dim": fields.get("changes", {}).get("latent_dim", 128)}
    if method in (*TRIVIAL, "nearest"):
        del config["latent_dim"]
    return {
        "format": 2, "method": method, "changes": {}, "dataset": "MUTAG", "sample": None, "split": "paper",
        "seed": seed, "error": None, "config": config, "side_information": ["size"] if method in TRIVIAL else [],
        "not_encoded": 0,
        "graphs": {"train": 132, "validation": 28, "test": 28},
        "scores": {"f1": f1, "exact": 0.5, "size_error": 0.25},
        "seconds": {"compile": 0.5, "fit": 2.0, "encode": 0.03, "decode": 0.04, "wall": 3.0, "cpu": 2.5},
        "clouds": {"cached": 0, "fitted": 188}, "history": [], "when": "2026-11-16T12:00:00Z",
        "versions": {"python": "3.11.7", "geogae": __version__},
        "peak_gib": 0.5, "threads": 1, "commit": "abc1234", "modified": False, "command": "geogae benchmark run",
    } | fields  # fmt: skip


def failure(method: str = "linear", seed: int = 0, **fields: Any) -> dict[str, Any]:
    """What a worker that died leaves."""
    whole = entry(method, seed=seed, **{"error": "the process ended\nwith SIGKILL", "seconds": {"wall": 9.0}, **fields})
    return {
        name: value for name, value in whole.items() if name not in ("config", "side_information", "graphs", "scores")
    }


def write(folder: Path, *entries: dict[str, Any]) -> None:
    for one in entries:
        append(run_of(one).file(folder), one)


def cells(markdown: str) -> list[dict[str, str]]:
    """The lines of a Markdown table by its header."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [dict(zip(header, row, strict=True)) for row in rows]
