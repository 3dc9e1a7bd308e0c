"""Pictures show what the rows say."""

from __future__ import annotations

from pathlib import Path

import pytest
from entries import entry, failure

from geogae.benchmark.figures import plot_f1, plot_sizes, plot_time, save_figures
from geogae.benchmark.summary import summarise

ROWS = summarise(
    [entry("path", 0.7), entry("linear", 0.8), entry("linear", 0.9, 1), entry("linear", 0.6, split="disjoint")]
    + [entry("linear", f1, changes={"latent_dim": m}) for m, f1 in ((8, 0.3), (32, 0.5))]
    + [entry("linear", 0.95, dataset="AIDS"), failure("sequential")]
)


def test_f1_by_method_and_data_set() -> None:
    paper, disjoint = plot_f1(ROWS).axes
    assert [axes.get_title() for axes in (paper, disjoint)] == ["paper split", "disjoint split"]
    dots = {
        round(float(line.get_ydata()[0]), 6): line for line in paper.lines if line.get_marker() not in ("None", "_")
    }
    assert sorted(dots) == [70, 85, 95]
    assert dots[70].get_markerfacecolor() == "white" != dots[85].get_markerfacecolor()  # with side information
    dashed = [lines.get_segments()[0][0, 1] for lines in disjoint.collections if lines.get_linestyle()[0][1]]
    assert dashed == pytest.approx([61.3, 84.1])  # the paper's
    assert [label.get_text() for label in disjoint.get_xticklabels()] == ["MUTAG", "AIDS"]
    (legend,) = paper.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["path", "linear", "paper's GeoGAE"]


def test_f1_against_m() -> None:
    (axes,) = plot_sizes(ROWS).axes
    limit, line = axes.get_lines()
    assert limit.get_ydata()[0] == 99
    assert line.get_label() == "MUTAG, linear" and axes.get_xscale() == "log"
    assert list(line.get_xdata()) == [8, 32, 128] and line.get_ydata() == pytest.approx([30, 50, 85])


def test_time_against_f1() -> None:
    (axes,) = plot_time(ROWS).axes
    assert sorted((line.get_xdata()[0], round(line.get_ydata()[0], 6)) for line in axes.get_lines()) == [
        (2.5, 70), (2.5, 85), (2.5, 95)
    ]  # fmt: skip
    assert axes.get_xscale() == "log"


@pytest.mark.parametrize("rows", [ROWS, ROWS[:1], summarise([failure()])], ids=["many", "one", "none that is scored"])
def test_files(rows: list, tmp_path: Path) -> None:
    paths = save_figures(rows, tmp_path / "new")
    assert [path.name for path in paths] == ["f1.png", "sizes.png", "time.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
