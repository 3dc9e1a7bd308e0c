"""The report: a run, or the scores of a benchmark, as a page. This file writes it; others say what is in it.

A report is a list of sections, a section a list of blocks: tables, charts, graphs. ``static/report.js`` draws them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from geogae.files import atomic_path
from geogae.graph import Graph
from geogae.pages.document import document
from geogae.pages.graphs import category_table, pack_graphs
from geogae.pages.molecules import Chemistry
from geogae.pages.packing import Packed

Block = dict[str, Any]

STYLES = ("report.css",)
SCRIPTS = ("graphs.js", "charts.js", "report.js")


class Section(NamedTuple):
    title: str
    blocks: Sequence[Block]
    text: str = ""


class Drawn(NamedTuple):
    """The graphs that pairs and grids show, by their number."""

    graphs: Sequence[Graph]
    chemistry: Chemistry | None = None


def write_report(
    title: str,
    subtitle: str,
    sections: Sequence[Section],
    path: str | os.PathLike[str] | None = None,
    drawn: Drawn | None = None,
) -> str:
    """The page as HTML, also written to ``path`` if that is given."""
    content = {
        "title": title,
        "subtitle": subtitle,
        "sections": [section._asdict() for section in sections if section.blocks or section.text],
    }
    page = document(title, "report.html", STYLES, SCRIPTS, {"report": content, "graphs": _graphs(drawn)}, {})
    if path is not None:
        with atomic_path(path) as temporary:
            temporary.write_text(page, encoding="utf-8", newline="\n")
    return page


def _graphs(drawn: Drawn | None) -> Packed | None:
    if drawn is None or not drawn.graphs:
        return None
    as_molecules = None
    if drawn.chemistry is not None:
        as_molecules = [drawn.chemistry.molecule_graph(graph) for graph in drawn.graphs]
    return {
        "table": category_table(drawn.graphs, drawn.chemistry),
        "graphs": pack_graphs(drawn.graphs, drawn=as_molecules),
    }


# -- blocks -----------------------------------------------------------------------------------------------------------


def tiles(*named: tuple[str, str, str]) -> Block:
    """Large numbers: name, value, remark."""
    return {"type": "tiles", "tiles": [dict(zip(("name", "value", "remark"), tile, strict=True)) for tile in named]}


def table(caption: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Block:
    """Cells are text or numbers, or {"text": …, "tone": "best" | "bad"} for one that is coloured."""
    return {"type": "table", "caption": caption, "head": list(head), "rows": [list(row) for row in rows]}


def facts(caption: str, values: Mapping[str, Any]) -> Block:
    return {"type": "facts", "caption": caption, "rows": [[name, _plain(value)] for name, value in values.items()]}


def bars(caption: str, found: Sequence[Mapping[str, Any]], unit: str = "%", low: float = 0, high: float = 100) -> Block:
    """Each has name, value, deviation or None, kind ("ours", "baseline" or "paper") and a remark."""
    return {
        "type": "bars",
        "caption": caption,
        "unit": unit,
        "low": low,
        "high": high,
        "bars": [dict(bar) for bar in found],
    }


def lines(
    caption: str,
    x: str,
    y: str,
    series: Sequence[tuple[str, Sequence[tuple[float, float]]]],
    *,
    log: Sequence[str] = (),
) -> Block:
    """Named series of points; ``log`` names the axes that are logarithmic."""
    drawn = [{"name": name, "points": [list(point) for point in points]} for name, points in series if points]
    return {"type": "lines", "caption": caption, "x": x, "y": y, "log": list(log), "series": drawn}


def scatter(caption: str, x: str, y: str, points: Sequence[tuple[float, float, str]]) -> Block:
    return {"type": "scatter", "caption": caption, "x": x, "y": y, "points": [list(point) for point in points]}


def histogram(caption: str, x: str, bins: Sequence[tuple[str, int]]) -> Block:
    return {"type": "histogram", "caption": caption, "x": x, "bins": [list(each) for each in bins]}


def pairs(caption: str, found: Sequence[tuple[int, int | None, str, str]]) -> Block:
    """Numbers of a graph and of what came back (None for nothing), the name, and what is wrong."""
    return {"type": "pairs", "caption": caption, "pairs": [list(pair) for pair in found]}


def grid(caption: str, found: Sequence[tuple[int, str]]) -> Block:
    """Numbers of graphs, and a line below each."""
    return {"type": "grid", "caption": caption, "graphs": [list(each) for each in found]}


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else "–" if value is None else str(value)
