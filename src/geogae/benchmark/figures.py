"""Results as pictures: F1 by method and data set, F1 against m, time against F1."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from geogae.benchmark.paper import paper
from geogae.benchmark.plan import SPLITS
from geogae.benchmark.summary import Row, method_place
from geogae.benchmark.tables import ENOUGH, sweeps
from geogae.plots import INK, LINE, PALETTE, literal, save_figure

MARKERS = "osD^vP*Xhp"
HOLLOW = "hollow: with side information"


def save_figures(rows: Sequence[Row], folder: str | os.PathLike[str]) -> list[Path]:
    """The three pictures as PNG files in a folder."""
    rows = [row for row in rows if not row.attributed]
    figures = {"f1": plot_f1(rows), "sizes": plot_sizes(rows), "time": plot_time(rows)}
    paths = [Path(folder) / f"{name}.png" for name in figures]
    for path, figure in zip(paths, figures.values(), strict=True):
        save_figure(figure, path, dpi=110)
    return paths


def plot_f1(rows: Sequence[Row]) -> Figure:
    """F1 of every method, a panel for each split; methods with side information are hollow."""
    rows = [row for row in rows if row.f1 and not row.swept]
    splits = [split for split in SPLITS if any(row.split == split for row in rows)] or SPLITS[:1]
    data = {row.data: row.dataset for row in rows}
    methods = _methods(rows)
    figure = Figure(figsize=(3 + 1.3 * len(data), 0.8 + 3 * len(splits)), layout="constrained")
    panels = figure.subplots(len(splits), 1, sharex=True, squeeze=False)[:, 0]
    for axes, split in zip(panels, splits, strict=True):
        for name, style in methods.items():
            shift = 0.75 * ((list(methods).index(name) + 0.5) / len(methods) - 0.5)
            for row in rows:
                if (row.split, row.name) == (split, name) and row.f1:
                    x, error = list(data).index(row.data) + shift, 100 * (row.f1.deviation or 0)
                    axes.errorbar(x, 100 * row.f1.mean, error, **style, elinewidth=1)
        for x, dataset in enumerate(data.values()):
            if (printed := paper().geogae(dataset).mean) is not None:
                axes.hlines(printed, x - 0.42, x + 0.42, color=INK, lw=1, ls="--")
        _finish(axes, f"{split} split", ylabel="F1 [%]", ylim=(0, 103))
    panels[-1].set_xticks(range(len(data)), [literal(name).replace(" (", "\n(") for name in data], fontsize=8)
    handles = [Line2D([], [], **style, label=literal(name)) for name, style in methods.items()]
    handles.append(Line2D([], [], color=INK, lw=1, ls="--", label="paper's GeoGAE"))
    _explain(figure, handles, HOLLOW)
    return figure


def plot_sizes(rows: Sequence[Row]) -> Figure:
    """F1 against m, a line for each data set and method; a colour is a data set, a marker is a method."""
    swept = sweeps(rows)
    figure = Figure(figsize=(7.5, 4), layout="constrained")
    axes = figure.subplots()
    axes.axhline(100 * ENOUGH, color=INK, lw=1, ls="--")
    colours = _by_turns((sweep[0].data for sweep in swept), PALETTE)
    markers = _by_turns((sweep[0].name for sweep in swept), MARKERS)
    for sweep in swept:
        one = sweep[0]
        axes.plot(
            [row.m or 0 for row in sweep if row.f1],
            [100 * row.f1.mean for row in sweep if row.f1],
            color=colours[one.data],
            marker=markers[one.name],
            ls="-" if one.split == SPLITS[0] else ":",
            ms=4,
            label=literal(f"{one.data}, {one.name}{f', {one.split}' * (one.split != SPLITS[0])}"),
        )
    ticks = sorted({row.m or 0 for sweep in swept for row in sweep})
    axes.set_xscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(ticks, [str(m) for m in ticks])
    title = f"F1 against the size of z; dashed: {100 * ENOUGH:g} %" if swept else "no results for other sizes of z yet"
    _finish(axes, title, xlabel="m", ylabel="F1 [%]")
    _explain(figure, axes.get_lines()[1:])
    return figure


def plot_time(rows: Sequence[Row]) -> Figure:
    """F1 against the CPU time of a run, on the paper's split if there is one, coloured by data set."""
    rows = [row for row in rows if row.f1 and not row.swept]
    split = next((split for split in SPLITS if any(row.split == split for row in rows)), SPLITS[0])
    rows = [row for row in rows if row.split == split]
    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    axes = figure.subplots()
    methods, colours = _methods(rows), _by_turns((row.data for row in rows), PALETTE)
    for row in rows:
        if row.f1 and row.cpu_seconds:
            style = {**methods[row.name], "color": colours[row.data]}
            axes.plot(row.cpu_seconds, 100 * row.f1.mean, **style)
    axes.set_xscale("log")
    _finish(axes, f"F1 against time, {split} split", xlabel="CPU seconds of a run", ylabel="F1 [%]", ylim=(0, 103))
    handles = [Line2D([], [], color=colour, lw=4, label=literal(data)) for data, colour in colours.items()]
    handles += [Line2D([], [], **{**style, "color": LINE}, label=literal(name)) for name, style in methods.items()]
    _explain(figure, handles, HOLLOW)
    return figure


# -- style ------------------------------------------------------------------------------------------------------------


def _methods(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """How each method is marked, in the order of the tables."""
    names = [row.name for row in sorted(rows, key=method_place)]
    colours, markers = _by_turns(names, PALETTE), _by_turns(names, MARKERS)
    faces = {row.name: "white" if row.side_information else None for row in rows}
    return {
        name: {"marker": markers[name], "color": colours[name], "markerfacecolor": faces[name], "ls": "", "ms": 5}
        for name in colours
    }


def _by_turns(names: Iterable[str], choices: Sequence[str]) -> dict[str, str]:
    return {name: choices[i % len(choices)] for i, name in enumerate(dict.fromkeys(names))}


def _finish(axes: Axes, title: str, **labels: Any) -> None:
    axes.set(**labels)
    axes.set_title(title, fontsize=9, color=INK)
    axes.grid(alpha=0.3)


def _explain(figure: Figure, handles: Sequence[Line2D], title: str | None = None) -> None:
    if handles:
        figure.legend(
            handles=handles, loc="outside right upper", frameon=False, fontsize=8, title=title, title_fontsize=8
        )
