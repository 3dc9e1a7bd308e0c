"""Results by hand, as `geogae benchmark run` writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from geogae.benchmark.results import run_of

FLOORS = ("path", "complete", "star", "mean")


def entry(method: str = "linear", f1: float = 0.9, seed: int = 0, **fields: Any) -> dict[str, Any]:
    """A result whose other fields are plain, or as given."""
    config = {"dim": 4, "order": "greedy", "latent_dim": fields.get("changes", {}).get("latent_dim", 128)}
    if method in (*FLOORS, "nearest"):
        del config["latent_dim"]
    return {
        "format": 1, "method": method, "changes": {}, "dataset": "MUTAG", "sample": None, "split": "paper",
        "seed": seed, "error": None, "config": config, "told": "size" if method in FLOORS else "", "too_large": 0,
        "graphs": {"train": 132, "validation": 28, "test": 28},
        "scores": {"f1": f1, "exact": 0.5, "size_error": 0.25},
        "seconds": {"fit": 2.0, "encode": 0.03, "decode": 0.04, "wall": 3.0, "cpu": 2.5},
        "peak_gib": 0.5, "threads": 1, "commit": "abc1234", "modified": False, "command": "geogae benchmark run",
    } | fields  # fmt: skip


def failure(method: str = "linear", seed: int = 0, **fields: Any) -> dict[str, Any]:
    """What a worker that died leaves."""
    whole = entry(method, seed=seed, **{"error": "the process ended\nwith SIGKILL", "seconds": {"wall": 9.0}, **fields})
    return {name: value for name, value in whole.items() if name not in ("config", "told", "graphs", "scores")}


def write(folder: Path, *entries: dict[str, Any]) -> None:
    for one in entries:
        path = run_of(one).path(folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(one))


def cells(markdown: str) -> list[dict[str, str]]:
    """The lines of a Markdown table by its header."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [dict(zip(header, row, strict=True)) for row in rows]
