"""The tables of README.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from geogae.benchmark.blocks import NOT_MEASURED
from geogae.benchmark.blocks import markdown_table as table
from geogae.benchmark.paper import paper
from geogae.benchmark.summary import Row
from geogae.benchmark.tables import OLDER, in_words, is_older
from geogae.datasets import NUMBERS

BUDGET = 20  # core-minutes of the paper's plain model and of the compared methods
EDITS_BUDGETS = (30, 60)  # of the paper's model with edited copies; the larger for the larger sets
SAMPLED = "†"  # marks what was measured on a sample of a data set that others were measured on in full
COMPARED = {"PIGVAE": "pigvae", "ReGAE": "regae", "GRALE": "grale"}


def headline(rows: Sequence[Row]) -> str:
    """The paper's four methods as printed and as measured, PCA, trivial baselines and ours: a column for each set."""
    rows = [row for row in rows if row.split == "paper" and not row.swept and not row.changes and not row.attributed]
    edits = _by_set(row for row in rows if row.method == "sequential-edits" and row.core_minutes in EDITS_BUDGETS)
    rows = [row for row in rows if row.core_minutes in (None, BUDGET)]
    ours = _by_set(row for row in rows if row.method == "refined" and row.f1)
    if not ours:
        return NOT_MEASURED
    trivial = {data: _best(row for row in rows if row.trivial and row.dataset == data) for data in ours}

    def of_method(method: str) -> dict[str, Row]:
        return _by_set(row for row in rows if row.method == method)

    marked = dict[str, None]()  # commits of the cells with a mark

    def f1(row: Row | None) -> str:
        if row and row.f1 and is_older(row):
            marked.update(dict.fromkeys(row.commits))
        return _f1(row) + SAMPLED * bool(row and row.sample and not ours[row.dataset].sample)

    def line(title: str, side_information: str, cell: Callable[[str], Any]) -> list[Any]:
        return [title, side_information, *map(cell, ours)]

    def known(found: Sequence[Row | None]) -> str:
        return " or ".join(dict.fromkeys(in_words(row.side_information) for row in found if row))

    pca = of_method("linear")
    measured = {name: of_method(method) for name, method in {**COMPARED, "GeoGAE": "sequential"}.items()}
    lines = [
        line("size m of z of GeoGAE", "", lambda data: ours[data].m),
        line("best trivial baseline", known(list(trivial.values())), lambda data: f1(trivial[data])),
        line("PCA of the clouds (`linear`)", "none", lambda data: f1(pca.get(data))),
    ]
    for name, here in measured.items():
        side_information = in_words(paper().side_information[name])
        lines.append(line(f"{name}, as printed", side_information, lambda data, name=name: _printed(name, ours[data])))
        if here:
            title = f"{name}, here, {BUDGET} core-min"
            lines.append(line(title, known(list(here.values())), lambda data, here=here: f1(here.get(data))))
    if edits:
        title = f"… with edited copies, {' or '.join(map(str, EDITS_BUDGETS))} core-min"
        lines.append(line(title, "none", lambda data: f1(edits.get(data))))
    lines += [
        line("**`refined`, the default**", "none", lambda data: f"**{f1(ours[data])}**"),
        line("… graphs without any error [%]", "none", lambda data: _percent(ours[data].exact)),
        line("… CPU time, fit and test", "", lambda data: _seconds(ours[data].cpu_seconds)),
        line("… clouds in this time", "", lambda data: ours[data].clouds or "not known"),
    ]
    text = table(["F1 [%] of test graphs", "side information", *(row.data for row in ours.values())], lines)
    compiled = all(row.compile_seconds is not None for row in ours.values())
    notes = [
        f"Mean over {_seeds(rows)} seeds, the paper's random split.",
        "Side information is what a decoder gets in addition to z.",
        f"Compilation is {'not ' * compiled}in the times.",
    ]
    notes += [f"{SAMPLED} Measured on a sample of 20,000 graphs."] if SAMPLED in text else []
    notes += [f"{OLDER} Measured with an older version, at {', '.join(marked)}."] if OLDER in text else []
    return f"{text}\n{' '.join(notes)}\n"


def _by_set(rows: Iterable[Row]) -> dict[str, Row]:
    """Rows by data set, in their order; of a whole set rather than of a sample."""
    found: dict[str, Row] = {}
    for row in rows:
        if row.dataset not in found or row.sample is None:
            found[row.dataset] = row
    return found


def attribute_headline(rows: Sequence[Row]) -> str:
    """Ours with attributes decoded, each score with the paper's in brackets."""
    lines = []
    for row in rows:
        if row.method != "refined-attributes" or row.split != "paper" or row.swept or row.changes or not row.f1:
            continue
        theirs = paper().attributes["GeoGAE"].get(row.dataset.removesuffix(NUMBERS), {})
        cells = [f"{100 * row.f1.mean:.1f} ({theirs['topology_f1'].mean})"]
        for name in ("node_f1", "node_rmse", "edge_f1", "edge_rmse"):
            spread, printed = row.attributes.get(name), theirs.get(name)
            value = "–" if spread is None else f"{spread.mean:.2f}" if "rmse" in name else f"{100 * spread.mean:.1f}"
            cells.append(value if printed is None or spread is None else f"{value} ({printed.mean})")
        whole = row.attributes["whole"].mean
        known = in_words(row.side_information)
        lines.append([row.data, known, *cells, f"{100 * whole:.1f} %", f"{row.cpu_seconds:.0f} s"])
        lines[-1] += [row.clouds or "not known", len(row.seeds)]
    header = ["data set", "side information", "F1", "node F1", "node RMSE", "edge F1", "edge RMSE", "whole graph"]
    return table([*header, "CPU time, fit and test", "clouds", "seeds"], lines)


def _best(rows: Any) -> Row | None:
    return max((row for row in rows if row.f1), key=lambda row: row.f1.mean, default=None)


def _printed(method: str, row: Row) -> Any:
    score = paper().f1.get(row.dataset, {}).get(method)
    return "–" if score is None else score.word or score.mean


def _f1(row: Row | None) -> str:
    if row is None:
        return "–"
    if row.f1 is None:
        return "OOM" if any(failure.error.startswith("OOM") for failure in row.failed) else "failed"
    return f"{100 * row.f1.mean:.1f}{OLDER * is_older(row)}"


def _percent(spread: Any) -> str:
    return "–" if spread is None else f"{100 * spread.mean:.1f}"


def _seconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def _seeds(rows: Sequence[Row]) -> str:
    counts = sorted({len(row.seeds) for row in rows if row.f1 and not row.trivial})
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


TABLES_OF_RUNS = {"headline": headline, "attribute-headline": attribute_headline}
