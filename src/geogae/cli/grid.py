"""A picture of some graphs in a grid: molecules as molecules, others as drawings of nodes and edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from geogae.errors import GeoGAEError
from geogae.files import atomic_path
from geogae.graph import Graph

MOST = 60  # graphs in a picture
SIZE = 220  # pixels of a molecule


def plot_grid(graphs: Sequence[Graph], path: Path, titles: Sequence[str] = ()) -> None:
    """Write a .png with the first MOST graphs; the cell of a molecule that is not valid stays empty and says so."""
    graphs = list(graphs)[:MOST]
    titles = [*titles, *[""] * len(graphs)][: len(graphs)]
    if graphs and all(graph.node_categorical is not None and graph.edge_categorical is not None for graph in graphs):
        try:
            _plot_molecules(graphs, path, titles)
            return
        except (ImportError, GeoGAEError):  # no RDKit, or categories that are not those of atoms and bonds
            pass
    _plot_graphs(graphs, path, titles)


def _plot_molecules(graphs: Sequence[Graph], path: Path, titles: Sequence[str]) -> None:
    from rdkit import Chem
    from rdkit.Chem.Draw import rdMolDraw2D

    from geogae.formats import to_molecules

    molecules = [Chem.Mol() if one is None else Chem.RemoveHs(one) for one in to_molecules(graphs)]
    legends = [
        title if one.GetNumAtoms() else f"{title} (not valid)" for title, one in zip(titles, molecules, strict=True)
    ]
    columns = _columns(len(molecules))
    rows = math.ceil(len(molecules) / columns)
    drawing = rdMolDraw2D.MolDraw2DCairo(columns * SIZE, rows * SIZE, SIZE, SIZE)
    drawing.DrawMolecules(molecules, legends=legends)
    drawing.FinishDrawing()
    with atomic_path(path) as temporary:
        temporary.write_bytes(drawing.GetDrawingText())


def _plot_graphs(graphs: Sequence[Graph], path: Path, titles: Sequence[str]) -> None:
    from matplotlib.figure import Figure

    from geogae.plots import layout, literal, save_figure

    columns = _columns(len(graphs))
    rows = math.ceil(len(graphs) / columns)
    figure = Figure(figsize=(2.2 * columns, 2.2 * rows), layout="constrained")
    for at, (graph, title) in enumerate(zip(graphs, titles, strict=True)):
        axes = figure.add_subplot(rows, columns, at + 1)
        places = layout(graph)
        for i, j in graph.edges.tolist():
            axes.plot(*places[[i, j]].T, color="0.6", linewidth=0.8, zorder=1)
        categories = graph.node_categorical
        coloured: dict[str, Any] = {} if categories is None else {"c": categories[:, 0], "cmap": "tab10"}
        axes.scatter(places[:, 0], places[:, 1], s=16, zorder=2, **coloured)
        axes.set_title(literal(title), fontsize=8)
        axes.set_axis_off()
        axes.set_aspect("equal")
    save_figure(figure, path)


def _columns(count: int) -> int:
    return count if count == 9 else min(count, 5)  # 9: a path of interpolate in one row
