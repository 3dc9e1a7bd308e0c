"""The tables of docs/baselines.md: PIGVAE, ReGAE and GRALE as measured here, beside the paper's scores of them."""

from __future__ import annotations

from typing import Any

from geogae.benchmark.baselines import BASELINES
from geogae.benchmark.blocks import NOT_MEASURED
from geogae.benchmark.blocks import markdown_table as table
from geogae.benchmark.paper import Score, paper
from geogae.benchmark.results import read_results
from geogae.benchmark.tables import out_of_memory
from geogae.datasets import NUMBERS
from record import RESULTS, result

OURS = ("linear", "refined")
TITLES = {"pigvae": "PIGVAE", "regae": "ReGAE", "grale": "GRALE"}
ATTRIBUTES = ("node_f1", "node_rmse", "edge_f1", "edge_rmse")


def _entries(attributed: bool) -> list[dict[str, Any]]:
    names = [f"{name}-attributes" if attributed else name for name in BASELINES]
    found = [entry for entry in read_results(RESULTS) if entry["method"] in names] if RESULTS.is_dir() else []
    order = list(paper().datasets)
    place = {name: number for number, name in enumerate(names)}
    return sorted(found, key=lambda e: (order.index(_plain(e)), e["split"], place[e["method"]], str(e["changes"])))


def _plain(entry: dict[str, Any]) -> str:
    return entry["dataset"].removesuffix(NUMBERS)


def _what(entry: dict[str, Any]) -> list[str]:
    """Data set, split, method with its changes, and budget."""
    sample = f" ({entry['sample']:,} sampled)" if entry["sample"] else ""
    changes = [f"{name}={value}" for name, value in entry["changes"].items() if name not in ("core_minutes", "minutes")]
    method = TITLES[entry["method"].removesuffix("-attributes")]
    return [entry["dataset"] + sample, entry["split"], ", ".join([method, *changes]), _budget(entry)]


def _budget(entry: dict[str, Any]) -> str:
    """Core-minutes and steps."""
    history = entry.get("history") or [{}]
    minutes = entry["changes"].get("core_minutes", "–")
    return f"{minutes} ({history[-1]['step']:,})" if "step" in history[-1] else str(minutes)


def _sides(entry: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {"none": entry["scores"], **entry.get("scores_with", {})}


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _printed(score: Score | None) -> str:
    if score is None or score.mean is None:
        return (score.word if score else "") or "–"
    return f"{score.mean:.1f}" + (f" ± {score.deviation:.1f}" if score.deviation is not None else "")


def _failure(entry: dict[str, Any]) -> str:
    return out_of_memory(entry["error"]) or f"failed: {entry['error'].split(';')[0][:60]}"


def f1() -> str:
    """A line for each run and each kind of side information."""
    lines = []
    for entry in _entries(attributed=False):
        printed = _printed(paper().f1.get(_plain(entry), {}).get(TITLES[entry["method"]]))
        if entry["error"] is not None:
            lines.append([*_what(entry), "", _failure(entry), "", "", "", printed])
            continue
        for given, scores in _sides(entry).items():
            shown = [_percent(scores["f1"]), _percent(scores.get("f1_pooled")), _percent(scores["exact"])]
            lines.append([*_what(entry), given, *shown, f"{scores['size_error']:.2f}", printed])
    header = ["data set", "split", "method", "core-min (steps)", "side information", "F1 [%]", "F1, pooled [%]"]
    return table([*header, "exact [%]", "size error", "paper's F1 [%]"], lines)


def attributes() -> str:
    lines = []
    for entry in _entries(attributed=True):
        method = TITLES[entry["method"].removesuffix("-attributes")]
        known = paper().attributes[method].get(_plain(entry), {})
        if entry["error"] is not None:
            lines.append([*_what(entry), "", _failure(entry), *[""] * len(ATTRIBUTES)])
            continue
        for given, scores in _sides(entry).items():
            shown = [_percent(scores["f1"])]
            shown += [f"{scores[name]:.2f}" if name.endswith("rmse") and name in scores else _percent(scores.get(name))
                      for name in ATTRIBUTES]  # fmt: skip
            lines.append([*_what(entry), given, *shown])
        printed = [_printed(known.get(name)) for name in ("topology_f1", *ATTRIBUTES)]
        lines.append([entry["dataset"], "paper", f"{method} (paper)", "", "", *printed])
    header = ["data set", "split", "method", "core-min (steps)", "side information", "topology F1 [%]", "node F1 [%]"]
    return table([*header, "node RMSE", "edge F1 [%]", "edge RMSE"], lines)


def memory() -> str:
    """Of a training step with the paper's hyperparameters, on the largest graph of each data set."""
    rows = result("baselines", "memory")["result"]
    cells = {(row["method"], row["dataset"]): row for row in rows}
    lines = []
    for dataset in paper().datasets:
        found = [cells[name, dataset] for name in BASELINES]
        shown = [f"{row['gib']:,.1f} (batch {row['batch_size']})" for row in found]
        lines.append([dataset, found[0]["n"], *shown])
    return table(["data set", "largest n", *(f"{TITLES[name]} [GiB]" for name in BASELINES)], lines)


def scaling() -> str:
    """Seconds and GiB of a training graph by n."""
    names, cells, sizes = [], dict[tuple[str, int], str](), set[int]()
    for name in (*BASELINES, *OURS):
        try:
            rows = result("baselines", f"scaling-{name}")["result"]
        except FileNotFoundError:
            continue
        names.append(name)
        for row in rows:
            seconds = (
                f"{row['seconds']:.3f} s" if name in OURS else f"{row['seconds']:.2f} s" if "seconds" in row else ""
            )
            memory = "" if name in OURS else f"{row['gib']:.2f} GiB"  # ours is lost among what the process has loaded
            cells[name, row["n"]] = ", ".join(filter(None, (seconds, memory)))
            sizes.add(row["n"])
    if not names:
        return NOT_MEASURED
    lines = [[n, *(cells.get((name, n), "–") for name in names)] for n in sorted(sizes)]
    return table(["n", *(TITLES.get(name, f"`{name}`") for name in names)], lines)


TABLES = {
    "baselines-f1": f1,
    "baselines-attributes": attributes,
    "baselines-memory": memory,
    "baselines-scaling": scaling,
}
