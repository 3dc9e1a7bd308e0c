"""Results as Markdown: F1 beside the paper's, every detail, F1 against m, and where each row comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby

from geogae import __version__
from geogae.benchmark.blocks import NOT_MEASURED, Tables, markdown_table
from geogae.benchmark.paper import Score, paper
from geogae.benchmark.plan import SPLITS
from geogae.benchmark.summary import ATTRIBUTES, Row, Spread, method_place
from geogae.datasets import NUMBERS

SEEDS = 5  # the paper's; another number is stated
ENOUGH = 0.99  # the F1 that a z should reach, however small
OLDER = "°"
NOTES = "¹²³⁴⁵⁶⁷⁸⁹"
NONE = "–"

TITLES = {
    **{f"f1-{split}": f"F1, {split} split" for split in SPLITS},
    "unseen": "F1 of test graphs that are not in training",
    "attributes": "Topology and attributes together",
    "sizes": "F1 against the size m of z",
    "detail": "Every method in detail",
    "origin": "Where the rows come from",
}


def tables(rows: Sequence[Row]) -> Tables:
    """Every table by the name of its block."""
    made = {f"f1-{split}": partial(f1, rows, split) for split in SPLITS}
    others = {"unseen": unseen, "attributes": attributes, "sizes": sizes, "detail": detail, "origin": origin}
    return made | {name: partial(make, rows) for name, make in others.items()}


def document(rows: Sequence[Row]) -> str:
    """All tables that have something to show, each under its title."""
    made = {name: make() for name, make in tables(rows).items()}
    shown = [f"## {TITLES[name]}\n\n{text}" for name, text in made.items() if text != NOT_MEASURED]
    return "\n".join(["# Benchmark\n", *shown])


def f1(rows: Sequence[Row], split: str) -> str:
    """Our methods and the paper's, a line for each method and a column for each data set."""
    rows = [row for row in rows if row.split == split and not row.swept and not row.attributed]
    if not rows:
        return NOT_MEASURED
    data = {row.data: row.dataset for row in rows}
    cells = {(row.name, row.data): row for row in rows}
    best = {name: _best(row for row in rows if row.data == name) for name in data}
    notes: dict[str, str] = {}
    lines = []
    for name, row in {row.name: row for row in sorted(rows, key=method_place)}.items():
        shown = [_score(cells.get((name, one)), best[one]) for one in data]
        lines.append([name, in_words(row.side_information), *shown])
        for given in dict.fromkeys(kind for one in rows if one.name == name for kind in one.f1_with):
            found = (cells.get((name, one)) for one in data)
            lines.append([name, given, *(_spread(one.f1_with.get(given)) if one else NONE for one in found)])
    for method, known in paper().side_information.items():
        printed = [_printed(paper().f1.get(dataset, {}).get(method, Score(None)), notes) for dataset in data.values()]
        lines.append([f"{method} (paper)", in_words(known), *printed])
    gaps = []
    for name, dataset in data.items():
        ours, theirs = best[name], paper().geogae(dataset).mean
        gaps.append(_percent(None if ours is None or theirs is None else ours - theirs / 100, "+"))
    lines.append(["best without side information, minus GeoGAE (paper)", "none", *gaps])
    text = markdown_table(["method", "side information", *data], lines)
    return text + _legend(split, text, notes)


def unseen(rows: Sequence[Row]) -> str:
    """Scores of the test graphs that are isomorphic to no training graph, beside those of all, on the paper's split."""
    lines = [
        [row.data, row.name, in_words(row.side_information), _spread(row.f1), _spread(row.f1_unseen),
         _percent(row.exact), _percent(row.exact_unseen), len(row.seeds)]
        for row in rows
        if row.split == "paper" and row.f1_unseen and not row.swept and not row.attributed
    ]  # fmt: skip
    header = ["data set", "method", "side information", "F1 [%]", "F1, unseen [%]", "exact [%]", "exact, unseen [%]"]
    return markdown_table([*header, "seeds"], lines)


def attributes(rows: Sequence[Row]) -> str:
    """The paper's second table: methods that decode attributes, and the paper's scores of them below."""
    rows = [row for row in rows if row.attributed and not row.swept]
    lines, notes = [], dict[str, str]()
    for data, found in _by_data(rows):
        for row in found:
            scores = [_measure(row.attributes.get(name), name) for name in ATTRIBUTES]
            known, lost = in_words(row.side_information), _number(row.not_encoded, ".3g")
            last = [lost, _time(row.cpu_seconds), row.clouds or "not known", len(row.seeds), len(row.failed)]
            lines.append([data, row.name, known, row.split, _spread(row.f1), *scores, *last])
        dataset = found[0].dataset.removesuffix(NUMBERS)
        printed = {method: theirs[dataset] for method, theirs in paper().attributes.items() if dataset in theirs}
        if (encoded := paper().geogae(dataset, "encoded")).mean is not None:
            printed["GeoGAE, attributes=encoded"] = {"topology_f1": encoded}
        for method, theirs in printed.items():
            scores = [_printed(theirs.get(name, Score(None)), notes) for name in ("topology_f1", *ATTRIBUTES)]
            known = in_words(paper().side_information.get(method.partition(",")[0], ()))
            lines.append([data, f"{method} (paper)", known, "paper", *scores, NONE, NONE, NONE, SEEDS, NONE])
    header = ["data set", "method", "side information", "split", "F1 [%]", "node F1 [%]", "node RMSE", "edge F1 [%]"]
    header += ["edge RMSE", "whole [%]", "graphs not encoded", "CPU time", "clouds", "seeds", "failed"]
    legend = "<br>\n".join(f"{mark} {paper().notes[note]}" for note, mark in notes.items())
    return markdown_table(header, lines) + (f"\n{legend}\n" if legend else "")


def detail(rows: Sequence[Row]) -> str:
    """A line for each data set, method and split, and one for each run that failed."""
    lines = [
        [row.data, row.name, in_words(row.side_information), row.split, _spread(row.f1), _printed(row.printed),
         _percent(row.difference, "+"), _percent(row.exact), _number(row.size_error, ".2f"),
         _number(row.not_encoded, ".3g"), _number(row.m), _chosen(row), _time(row.fit_seconds),
         row.clouds or "not known", _compiled(row), _rate(row.graphs_per_second), _time(row.cpu_seconds),
         _number(row.peak_gib, ".2f", " GiB"), len(row.seeds), len(row.failed),
         ", ".join(row.commits), ", ".join(map(str, row.threads))]
        for row in rows
        if not row.swept
    ]  # fmt: skip
    header = ["data set", "method", "side information", "split", "F1 [%]", "paper's GeoGAE", "difference", "exact [%]"]
    header += ["size error, nodes", "graphs not encoded", "m", "d, order", "fit", "clouds", "compile time"]
    header += ["graphs/s, encoded and decoded", "CPU time", "peak memory", "seeds", "failed", "commit", "threads"]
    failures = [
        f"- {row.data}, {row.name}{f', m = {row.m}' if row.swept else ''}, {row.split} split, seed {failure.seed} "
        f"failed: {' '.join(failure.error.split())}\n"
        for row in rows
        for failure in row.failed
    ]
    return markdown_table(header, lines) + "".join(["\n", *failures] if failures else [])


def sweeps(rows: Sequence[Row]) -> list[list[Row]]:
    """The methods that were run at several m, each with its rows by m."""
    sized = (row for row in rows if row.m is not None)
    groups = (list(found) for _, found in groupby(sized, key=lambda row: (row.data, row.split, row.name)))
    return [sweep for sweep in groups if any(row.swept for row in sweep)]


def sizes(rows: Sequence[Row]) -> str:
    """F1 by m, and the smallest m that is enough."""
    swept = sweeps(rows)
    every = sorted({row.m or 0 for sweep in swept for row in sweep})
    lines = []
    for sweep in swept:
        cells, one = {row.m: row for row in sweep}, sweep[0]
        enough = [row.m for row in sweep if row.f1 and row.f1.mean >= ENOUGH]
        scores = [_score(cells.get(m)) for m in every]
        known = in_words(one.side_information)
        lines.append([one.data, one.name, known, one.split, *scores, enough[0] if enough else NONE])
    header = ["data set", "method", "side information", "split", *(f"m = {m}" for m in every)]
    text = markdown_table([*header, f"smallest m for {100 * ENOUGH:g} %"], lines)
    return text + "".join(f"\n{line}\n" for line in _older(text))


def origin(rows: Sequence[Row]) -> str:
    """The commands behind each data set and method, and how long its runs took one after another."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.data, row.name), []).append(row)
    commands = list(dict.fromkeys(command for row in rows for command in row.commands))
    lines = []
    for (data, name), found in groups.items():
        numbers = sorted({1 + commands.index(command) for row in found for command in row.commands})
        runs = sum(len(row.seeds) + len(row.failed) for row in found)
        total = _time(sum(row.total_seconds for row in found))
        versions = ", ".join(dict.fromkeys(version for row in found for version in row.versions))
        lines.append([data, name, runs, total, versions, ", ".join(map(str, numbers))])
    text = markdown_table(["data set", "method", "runs", "total time", "geogae", "command"], lines)
    listed = [f"{number}. `{' '.join(command.split())}`\n" for number, command in enumerate(commands, 1)]
    return text + "".join(["\n", *listed] if listed else [])


# -- cells ------------------------------------------------------------------------------------------------------------


def in_words(side_information: Iterable[str]) -> str:
    return ", ".join(side_information) or "none"


def out_of_memory(error: str) -> str | None:
    """``OOM`` with the memory that was predicted, of a run that was refused for it; None of any other failure."""
    if not error.startswith("OOM"):
        return None
    predicted = re.search(r"about ([\d.]+ GiB)", error)
    return f"OOM ({predicted[1]})" if predicted else "OOM"


def is_older(row: Row) -> bool:
    """Whether any of its runs is of another version of geogae than this."""
    return any(version != __version__ for version in row.versions)


def _by_data(rows: Sequence[Row]) -> Iterable[tuple[str, list[Row]]]:
    return ((data, list(found)) for data, found in groupby(rows, key=lambda row: row.data))


def _best(rows: Iterable[Row]) -> float | None:
    return max((row.f1.mean for row in rows if row.f1 and not row.side_information), default=None)


def _score(row: Row | None, best: float | None = None) -> str:
    """Mean ± deviation in percent, bold where it is the best, and the seeds where they are not all there.

    ``OOM`` where every run was refused for memory.
    """
    if row is None:
        return NONE
    refused = [out_of_memory(failure.error) for failure in row.failed]
    if row.f1 is None and refused and refused[0] is not None and None not in refused:
        return refused[0]
    score = _spread(row.f1)
    if row.f1 and not row.side_information and best is not None and _percent(row.f1.mean) == _percent(best):
        score = f"**{score}**"
    score += OLDER * (row.f1 is not None and is_older(row))
    count = len(row.seeds)
    remarks = [f"{count} seed{'s' * (count != 1)}"] if count and count != SEEDS else []
    remarks += [f"{len(row.failed)} failed"] if row.failed else []
    return f"{score} ({', '.join(remarks)})" if remarks else score


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return NONE
    deviation = "" if spread.deviation is None else f" ± {_percent(spread.deviation)}"
    return _percent(spread.mean) + deviation


def _measure(spread: Spread | None, name: str) -> str:
    """F1 and rates in percent, RMSE in the attributes' own units."""
    if spread is None or not name.endswith("rmse"):
        return _spread(spread)
    return f"{spread.mean:.3f}" + ("" if spread.deviation is None else f" ± {spread.deviation:.3f}")


def _printed(score: Score, notes: dict[str, str] | None = None) -> str:
    """The paper's score; its footnote gets the next mark of ``notes``."""
    if score.mean is None:
        return score.word or NONE
    mark = notes.setdefault(score.note, NOTES[len(notes)]) if score.note and notes is not None else ""
    return f"{score.mean:.1f} ± {score.deviation:.1f}{mark}"


def _legend(split: str, text: str, notes: dict[str, str]) -> str:
    lines = [
        f"F1 in %, mean ± deviation over {SEEDS} seeds where no other number is given. **Bold**: the best of ours "
        "without side information. Side information is what a decoder gets beside z: the true size, or the alignment "
        "of its nodes with the true ones."
    ]
    lines += ["OOM (GiB): refused before training, by the predicted memory of a training step."] * ("OOM (" in text)
    lines += _older(text)
    lines += [f"{mark} {paper().notes[note]}" for note, mark in notes.items()]
    if split != "paper":
        lines.append("The paper's figures are of its own split, where a test graph may be one of the training graphs.")
    return "\n" + "<br>\n".join(lines) + "\n"


def _older(text: str) -> list[str]:
    return [f"{OLDER} Measured with an older version of geogae; the commit is in the details."] if OLDER in text else []


def _percent(fraction: float | Spread | None, sign: str = "") -> str:
    return _number(fraction, f"{sign}.1f", scale=100)


def _number(value: float | Spread | None, form: str = "", unit: str = "", *, scale: int = 1) -> str:
    value = value.mean if isinstance(value, Spread) else value
    return NONE if value is None else f"{scale * value:{form}}{unit}"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return NONE
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    size, unit = (3600, "h") if seconds >= 3600 else (60, "min") if seconds >= 60 else (1, "s")
    return f"{seconds / size:.1f} {unit}"


def _compiled(row: Row) -> str:
    """The time numba took to compile, which is in no other column; older results have it in ``fit``."""
    return "in fit" if row.compile_seconds is None and row.f1 else _time(row.compile_seconds)


def _rate(rate: float | None) -> str:
    """Two digits: clocks are read to the millisecond."""
    return NONE if rate is None else f"{float(f'{rate:.2g}'):,.0f}"


def _chosen(row: Row) -> str:
    """What all seeds chose, or each choice with its seeds."""
    if len(row.chosen) < 2:
        return "".join(row.chosen) or NONE
    return "; ".join(f"{choice} ({count}×)" for choice, count in row.chosen.items())
