"""Tables of benchmarks/sequential.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geogae.benchmark.blocks import NOT_MEASURED
from geogae.benchmark.blocks import markdown_table as table
from geogae.benchmark.paper import paper
from geogae.benchmark.plan import Run
from geogae.benchmark.results import read_file
from geogae.benchmark.summary import Row
from record import RESULTS, measured, result


def sequential(rows: Sequence[Row]) -> str:
    """The quality runs, beside the trivial baseline that joins node i to node i + 1."""
    paths = {row.data: row for row in rows if row.method == "path" and row.split == "paper" and row.f1}
    lines = []
    for name in measured("sequential", "quality"):
        found = result("sequential", f"quality-{name}")
        test, config = found["result"]["test"], found["config"]
        f1, path = 100 * test["f1"], paths.get(name)
        printed = paper().geogae(name).mean
        lines.append(
            [name, _percent(path.f1.mean) if path and path.f1 else "–", f"{f1:.1f}", printed, f"{f1 - printed:+.1f}",
             f"{100 * test['exact']:.1f} %", f"{test['size_error']:.2f}", paper().size_error[name].mean,
             f"{_core_minutes(config):g}", found["result"]["curve"][-1]["step"]]
        )  # fmt: skip
    header = ["data set", "path, given the true size", "F1", "paper", "difference", "exact", "size error", "paper"]
    return table([*header, "core-minutes", "steps"], lines)


def _core_minutes(config: dict[str, Any]) -> float:
    """Of processor time; earlier runs were ended by the clock."""
    return config["params"].get("core_minutes") or config["minutes"] * config["threads"]


def analysis() -> str:
    rows = []
    for name in measured("sequential", "quality"):
        found = result("sequential", f"quality-{name}")["result"]
        seen, forced = found["analysis"], found["analysis"]["teacher_forced_f1_by_pass"]
        small, large = seen["f1_of_small_and_large_half"]
        cells = [found["test"]["f1"], seen["train_f1"], forced[0], forced[-1], small, large]
        rows.append([name, *(f"{100 * cell:.1f}" for cell in cells), f"{100 * seen['share_of_wrong_sizes']:.0f} %"])
    header = ["data set", "F1", "train", "teacher-forced", "last pass", "smaller half", "larger half", "wrong sizes"]
    return table(header, rows)


def memory() -> str:
    """Test graphs that training had, up to isomorphism, and those that it had not."""
    rows = []
    for name in measured("sequential", "quality"):
        kinds = result("sequential", f"quality-{name}")["result"]["memory"]
        cells: list[Any] = [name]
        for found in kinds.values():
            known = found["graphs"] > 0
            cells += [found["graphs"], *(f"{100 * found[key]:.1f}" if known else "–" for key in ("f1", "exact"))]
            cells.append(f"{found['size_error']:.2f}" if known else "–")
        rows.append(cells)
    header = [f"{kind}: {what}" for kind in ("seen", "unseen") for what in ("graphs", "F1", "exact [%]", "size error")]
    return table(["data set", *header], rows)


def ablations() -> str:
    found = result("sequential", "ablations")
    rows = [
        [row["name"], f"{100 * row['test']['f1']:.1f}", row["paper_f1"] or "–", f"{row['test']['size_error']:.2f}",
         row["paper_size"] if row["paper_size"] is not None else "–", row["steps"]]
        for row in found["result"]
    ]  # fmt: skip
    return table(["MUTAG", "F1", "paper's F1", "size error", "paper's", "steps"], rows)


def model_speed() -> str:
    rows = [
        [row["what"], row["ours"], row["other"], f"{row['ratio']:.1f}×"]
        for row in result("sequential", "speed")["result"]
    ]
    return table(["what", "geogae", "straightforward", "ratio"], rows)


def longer(rows: Sequence[Row]) -> str:
    """Whether time alone brings the sequential model to the paper's score."""
    run = Run("sequential", (("core_minutes", 120),), "AIDS", None, "paper", 0)
    found = read_file(run.file(RESULTS)).get(run)
    if found is None or not found.get("history"):
        return NOT_MEASURED
    curve = [(row["core_seconds"] / 60, 100 * row["validation_f1"]) for row in found["history"]]
    marks = (6, 12, 24, 48, 90, 120)
    best = [f"{max(f1 for when, f1 in curve if when <= minutes + 0.1):.1f}" for minutes in marks]
    header = ["AIDS, best validation F1 after", *(f"{minutes} core-min" for minutes in marks)]
    test, printed = f"{100 * found['scores']['f1']:.1f}", paper().geogae("AIDS").mean
    return table([*header, "test F1", "paper's test F1"], [["sequential", *best, test, printed]])


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f}"


TABLES = {"analysis": analysis, "memory": memory, "ablations": ablations, "model-speed": model_speed}
TABLES_OF_RUNS = {"sequential": sequential, "longer": longer}
