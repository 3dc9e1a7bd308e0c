"""Tables of benchmarks/refined.py."""

from __future__ import annotations

from itertools import pairwise
from statistics import mean
from typing import Any

from geogae.benchmark.blocks import markdown_table as table
from record import measured, recorded, result


def choices() -> str:
    """Validation F1 by geometry dimension and node order."""
    rows = []
    for name in measured("refined", "choose"):
        found = result("refined", f"choose-{name}")
        for row in found["result"]:
            f1, exact = ([100 * seed[key] for seed in row["validation"]] for key in ("f1", "exact"))
            cells = [f"{mean(f1):.2f}", f"{mean(exact):.1f}", len(f1)]
            order = row["order"] + ", leaves folded" * row.get("folds", False)
            rows.append([name, row["m"], row["dim"], order, *cells])
    return table(["data set", "m", "d", "order", "validation F1", "exact [%]", "seeds"], rows)


def refined_ablations() -> str:
    rows = [
        [row["what"], *(f"{100 * mean(row[key][m]):.2f}" for m in row["f1"] for key in ("f1", "exact"))]
        for row in result("refined", "ablations")["result"]
    ]
    sizes = result("refined", "ablations")["result"][0]["f1"]
    return table(["AIDS", *(f"{what}, m = {m}" for m in sizes for what in ("F1", "exact [%]"))], rows)


def attempts() -> str:
    """Validation F1 and processor time by how the steps of the refinement are shared."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in result("refined", "attempts")["result"]:
        shares = " + ".join(f"{share:g} from T = {hot:g}" for share, hot in row["attempts"])
        groups.setdefault((row["dataset"], shares), []).append(row)
    lines = []
    for (dataset, shares), rows in groups.items():
        f1, exact, milliseconds = (mean(row[key] for row in rows) for key in ("f1", "exact", "milliseconds"))
        scores = [f"{100 * f1:.2f}", f"{100 * exact:.1f}", f"{milliseconds:.3g} ms"]
        lines.append([dataset, shares, *scores, len(rows)])
    return table(["data set", "attempts", "validation F1", "exact [%]", "encode and decode a graph", "seeds"], lines)


def robustness() -> str:
    found = result("refined", "robustness")["result"]
    rows = [[row["dataset"], *(f"{100 * f1:.2f}" for f1 in row["f1"].values())] for row in found]
    return table(["data set", *found[0]["f1"]], rows)


MIXED_SIZES = (10, 101, 201, 301)


def mixed() -> str:
    """Exact graphs of the mixed collection, by kind and number of nodes."""
    found = result("refined", "mixed")["result"]
    bounds = list(pairwise(MIXED_SIZES))
    lines = []
    for kind in [*dict.fromkeys(row["kind"] for row in found), "all"]:
        own = [row for row in found if kind in (row["kind"], "all")]
        parts = [[row for row in own if low <= row["n"] < high] for low, high in bounds]
        cells = [f"{100 * mean(row['exact'] for row in part):.0f} ({len(part)})" for part in [*parts, own]]
        lines.append([kind, *cells, f"{100 * mean(row['f1'] for row in own):.1f}"])
    sizes = [f"exact [%], {low} to {high - 1} nodes (graphs)" for low, high in bounds]
    return table(["graphs", *sizes, "exact [%], all", "F1, unweighted"], lines)


def refined_speed() -> str:
    rows = [
        [row["what"], f"{row['refined']:,.0f} graphs/s", f"{row['sequential']:,.0f} graphs/s", f"{row['ratio']:.1f}×"]
        for row in result("refined", "speed")["result"]
    ]
    return table(["AIDS", "refined", "sequential", "ratio"], rows)


def side_by_side() -> str:
    """Milliseconds a graph of two versions, and how many times faster the newer one is."""
    found = [recorded("speed")[part] for part in recorded("speed")]
    if not found:
        raise FileNotFoundError(2, "not measured", "speed")
    rows = []
    for one in found:
        config, commits = one["config"], f"{one['config']['before']} → {one['commit'][:7]}"
        for work, row in one["result"].items():
            times = [f"{row[side]:.{2 if row[side] >= 0.1 else 3}f} ms" for side in ("before_ms", "now_ms")]
            rows.append([config["dataset"], WORK.get(work, work), *times, f"{row['ratio']:.1f}×", commits])
    return table(["data set", "processor time a graph", "before", "now", "ratio", "commits"], rows)


WORK = {"one": "encode graphs one by one"}

TABLES = {
    "choices": choices, "refined-ablations": refined_ablations, "attempts": attempts, "robustness": robustness,
    "mixed": mixed, "refined-speed": refined_speed, "side-by-side": side_by_side,
}  # fmt: skip
