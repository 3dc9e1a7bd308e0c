"""Graphs for a page: edges, categories, balls and places on paper, packed; ``static/graphs.js`` reads them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geogae.graph import Graph
from geogae.pages.molecules import Chemistry, coordinates
from geogae.pages.packing import Packed, pack, pack_ragged
from geogae.progress import progress_bar

FINE = 256  # places on paper are kept to this part of a bond


def pack_graphs(
    graphs: Sequence[Graph],
    balls: Sequence[NDArray[np.float32]] | None = None,
    drawn: Sequence[Graph] | None = None,
    *,
    progress: bool = False,
) -> Packed:
    """``balls`` (n, d) of each graph; ``drawn`` are the same graphs as molecules, which RDKit lays out."""
    return {
        "n": pack([graph.n for graph in graphs]),
        "edges": pack_ragged([graph.edges for graph in graphs]),
        "node": _categories(graphs, "node_categorical"),
        "edge": _categories(graphs, "edge_categorical"),
        "balls": None if balls is None else pack_ragged(balls, np.float32),
        "places": None if drawn is None else pack_ragged(_places(drawn, progress), np.int16),
    }


def category_table(graphs: Sequence[Graph], chemistry: Chemistry | None) -> Packed:
    """What categories stand for: kinds of nodes by their first column, elements and bonds of molecules."""
    first = [graph.node_categorical[:, 0] for graph in graphs if graph.node_categorical is not None]
    table: Packed = {
        "kinds": np.unique(np.concatenate(first)).tolist() if first else [],
        "elements": None,
        "bonds": None,
    }
    if chemistry is not None:
        elements = {str(kind): number for kind, number in (chemistry.elements or {}).items()}
        bonds = {str(kind): number for kind, number in (chemistry.bonds or {}).items()}
        table |= {"elements": elements or "numbers", "bonds": bonds or None}
    return table


def _places(drawn: Sequence[Graph], progress: bool) -> list[NDArray[np.int16]]:
    with progress_bar("drawing molecules", len(drawn), progress) as advance:
        return [(FINE * coordinates(graph)).clip(-32768, 32767).astype(np.int16) for graph in drawn if advance()]


def _categories(graphs: Sequence[Graph], field: str) -> Packed | None:
    """The categories of all graphs; None unless all graphs with rows have the same columns."""
    tables = [getattr(graph, field) for graph in graphs]
    rows = [graph.n if field.startswith("node") else len(graph.edges) for graph in graphs]
    widths = {0 if table is None else table.shape[1] for table, n in zip(tables, rows, strict=True) if n}
    if len(widths) != 1 or 0 in widths:
        return None
    empty = np.zeros((0, widths.pop()), np.int64)
    return pack_ragged([empty if not n else table for table, n in zip(tables, rows, strict=True)])
