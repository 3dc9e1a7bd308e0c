"""The report of a benchmark: the scores of every data set beside the paper's, F1 against m, size errors, origin."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from geogae.autoencoders import AUTOENCODERS
from geogae.benchmark.summary import Row, Spread, summarise
from geogae.errors import GeoGAEError
from geogae.pages.report import Block, Section, bars, lines, table, write_report
from geogae.pages.run_report import with_paper


def scores_report(
    entries: Sequence[Mapping[str, Any]], path: str | os.PathLike[str] | None = None, *, name: str = "Benchmark"
) -> str:
    """The results of ``geogae benchmark run`` as a page."""
    rows = summarise(entries)
    if not rows:
        raise GeoGAEError("there are no scores to report; run geogae benchmark run first")
    sections = []
    for (data, split), group in groupby(rows, key=lambda row: (row.data, row.split)):
        found = list(group)
        graphs = (found[0].dataset, found[0].sample, split)
        own = [entry for entry in entries if (entry["dataset"], entry["sample"], entry["split"]) == graphs]
        sections.append(Section(f"{data}, {split} split", _data_set(found, own)))
    commits = dict.fromkeys(commit for row in rows for commit in row.commits)
    commands = list(dict.fromkeys(command for row in rows for command in row.commands))
    sections.append(Section("Origin", [table("Commands", ["command"], [[command] for command in commands])]))
    runs = sum(len(row.seeds) + len(row.failed) for row in rows)
    subtitle = f"{runs:,} runs of {len({row.method for row in rows})} methods · commits {_few(list(commits))}"
    return write_report(name, subtitle, sections, path)


def _data_set(rows: list[Row], entries: Sequence[Mapping[str, Any]]) -> list[Block]:
    plain = [row for row in rows if not row.swept and row.f1 is not None]
    shown: list[dict[str, Any]] = [
        {
            "name": row.name,
            "value": 100 * row.f1.mean,
            "deviation": _percent(row.f1.deviation),
            "kind": _kind(row.method),
            "remark": f"{len(row.seeds)} seed{'s' * (len(row.seeds) != 1)}, m = {row.m or '–'}",
        }
        for row in plain
        if row.f1 is not None and not row.attributed
    ]
    blocks = with_paper(shown, rows[0].dataset if rows[0].split == "paper" else "")
    blocks += _sweeps(rows)
    blocks += _curves(entries)
    compared = [row for row in plain if not row.side_information and not row.attributed]
    most = max((row.f1.mean for row in compared if row.f1), default=0.0)
    best = [row for row in compared if row.f1 and row.f1.mean == most]
    head = ["method", "m", "F1 [%]", "exact [%]", "size error, nodes", "CPU time", "seeds", "failed", "commit"]
    lines_ = [
        [row.name, row.m, {"text": _spread(row.f1, 100), "tone": "best" if row in best else ""},
         _spread(row.exact, 100), _spread(row.size_error), _time(row.cpu_seconds), len(row.seeds),
         {"text": len(row.failed), "tone": "bad" if row.failed else ""}, _few(row.commits)]
        for row in rows if not row.swept
    ]  # fmt: skip
    blocks.append(table("Every method", head, lines_))
    return [*blocks, *_size_errors(plain)]


def _sweeps(rows: Sequence[Row]) -> list[Block]:
    """F1 against the size of z, for methods that were run at several."""
    series: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row.m is not None and row.f1 is not None:
            series.setdefault(row.name, []).append((float(row.m), 100 * row.f1.mean))
    swept = [(name, sorted(points)) for name, points in series.items() if len(points) > 2]
    return [lines("F1 against the size m of z", "m", "F1, %", swept, log=["x"])] if swept else []


def _curves(entries: Sequence[Mapping[str, Any]]) -> list[Block]:
    """Validation F1 against time, of runs that were validated more than once."""
    series = []
    for entry in entries:
        history = entry.get("history") or []
        points = [(row["seconds"] / 60, 100 * row["validation_f1"]) for row in history if "validation_f1" in row]
        if len(points) > 2 and not entry["method"].endswith("-attributes"):
            series.append((f"{entry['method']}, seed {entry['seed']}", points))
    return [lines("Validation F1 while training", "minutes", "F1, %", series[:8])] if series else []


def _size_errors(rows: Sequence[Row]) -> list[Block]:
    """How many nodes each method is off by, on average; trivial baselines know the size."""
    found: list[dict[str, Any]] = [
        {
            "name": row.name,
            "value": row.size_error.mean,
            "deviation": row.size_error.deviation,
            "kind": _kind(row.method),
        }
        for row in rows
        if row.size_error is not None and row.m is not None
    ]
    high = max((bar["value"] + (bar["deviation"] or 0) for bar in found), default=0.0)
    return [bars("Size error: nodes too many or too few, on average", found, "nodes", 0, high)] if high else []


def _kind(method: str) -> str:
    name = method.partition(",")[0].partition("-")[0]  # without changes, budget and recipe
    return "ours" if name in AUTOENCODERS and name != "linear" else "baseline"


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _spread(spread: Spread | None, scale: float = 1.0) -> str:
    if spread is None:
        return "–"
    return f"{scale * spread.mean:.2f}" + ("" if spread.deviation is None else f" ± {scale * spread.deviation:.2f}")


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.1f} min"


def _few(values: Sequence[str], most: int = 3) -> str:
    return ", ".join(values[:most]) + (f" and {len(values) - most} more" if len(values) > most else "")
