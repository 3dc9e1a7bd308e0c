"""The explorer: a page with a map of graphs, on which z is moved and decoded in the browser."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geogae.errors import GeoGAEError
from geogae.estimator import GeoGAE
from geogae.files import atomic_path
from geogae.formats import as_graphs
from geogae.formats.chem import to_molecules, to_smiles_list
from geogae.graph import Graph
from geogae.pages.decoder import browser_decoder
from geogae.pages.document import document
from geogae.pages.molecules import Chemistry, chemistry_of, coordinates, properties
from geogae.pages.packing import Packed, pack, pack_ragged
from geogae.pages.projection import principal_axes, project
from geogae.pages.seen import Seen, see
from geogae.progress import progress_bar

MOST = 20_000  # graphs of a page
AXES = 8  # sliders of a group
CATEGORIES = 9  # different whole numbers up to which a label is a category
FINE = 256  # places on paper are kept to this part of a bond

STYLES = ("explore.css",)
SCRIPTS = (
    "decoder.js",
    "folds.js",
    "contexts.js",
    "store.js",
    "map.js",
    "live.js",
    "film.js",
    "search.js",
    "explore.js",
)


def explore(
    model: GeoGAE,
    graphs: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    projection: str = "pca",
    title: str = "GeoGAE explorer",
    values: Mapping[str, ArrayLike] | None = None,
    elements: Sequence[str] | None = None,
    bonds: Sequence[int] | None = None,
    seed: int = 0,
    progress: bool = False,
) -> str:
    """The page as HTML, also written to ``path`` if that is given: one file that needs nothing else.

    ``projection`` is ``"pca"`` or ``"umap"``; ``values`` are further numbers to colour by, one for each graph.
    ``elements`` and ``bonds`` say which atoms and bonds the categories 0, 1, … stand for, if graphs are molecules whose
    categories are not atomic numbers and RDKit's bond types.
    """
    graphs = as_graphs(graphs)
    if not graphs:
        raise GeoGAEError("there are no graphs to explore; give at least one")
    if len(graphs) > MOST:
        raise GeoGAEError(
            f"{len(graphs):,} graphs are more than the {MOST:,} that a page holds; "
            f"take some of them: --sample {MOST}, or geogae.datasets.sample(graphs, {MOST})"
        )
    given = {name: _checked(name, numbers, len(graphs)) for name, numbers in (values or {}).items()}
    seen = see(model, graphs, progress=progress)
    chemistry = chemistry_of(seen.graphs, elements, bonds)
    decoder = browser_decoder(model)
    drawn = [chemistry.molecule_graph(graph) for graph in seen.graphs] if chemistry else None
    smiles = None if drawn is None else to_smiles_list(drawn)
    columns = _columns(seen, {name: numbers[seen.places] for name, numbers in given.items()})
    if drawn is not None:
        columns += [
            {"name": name, "values": pack(numbers)} for name, numbers in properties(to_molecules(drawn)).items()
        ]
    what, vectors = ("descriptors", seen.descriptor) if seen.descriptor is not None else ("z", seen.z)
    page = document(
        title,
        "explore.html",
        STYLES,
        SCRIPTS,
        {
            "map": _map(
                model, seen, title, columns, project(_comparable(vectors, what), projection, seed), what, projection
            )
        },
        {
            "graphs": _graphs(seen, drawn, smiles, chemistry, decoder is None, progress),
            "latent": _latent(seen),
            **({"decoder": decoder} if decoder else {}),
        },
    )
    if path is not None:
        with atomic_path(path) as temporary:
            temporary.write_text(page, encoding="utf-8", newline="\n")
    return page


def _checked(name: str, numbers: ArrayLike, count: int) -> NDArray[np.float64]:
    try:
        array = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        raise GeoGAEError(f"values {name!r} must be numbers, one for each graph") from None
    if array.shape != (count,):
        raise GeoGAEError(f"values {name!r} have shape {array.shape}; give one number for each of the {count} graphs")
    return array


def _comparable(vectors: NDArray[np.float32], what: str) -> NDArray[np.float64]:
    """Descriptors in units of their deviations; z as it is."""
    vectors = vectors.astype(np.float64)
    spread = vectors.std(0)
    return vectors / np.where(spread > 0, spread, 1) if what == "descriptors" else vectors


def _map(
    model: GeoGAE,
    seen: Seen,
    title: str,
    columns: list[Packed],
    points: NDArray[np.float32],
    what: str,
    projection: str,
) -> Packed:
    count, m = seen.z.shape
    method = {"pca": "first two principal axes", "umap": "UMAP"}[projection]
    return {
        "title": title,
        "subtitle": f"{count:,} graphs · {model.architecture} model, z of {m} numbers · {method} of the {what}",
        "xy": pack(points, np.float32),
        "columns": columns,
        "first": int(np.argmin(np.abs(points - np.median(points, axis=0)).sum(1))),
        "likeness": f"By the distance of their {what}.",
        "no_decoder": f"The {model.architecture} model cannot be decoded in the browser: use geogae interpolate.",
        "notes": [seen.left_out] if seen.left_out else [],
    }


def _columns(seen: Seen, given: Mapping[str, NDArray[np.float64]]) -> list[Packed]:
    """What the map can be coloured by: categories, or numbers with NaN for what is not known."""
    labels = [graph.label for graph in seen.graphs]
    columns = []
    width = max((len(label) if isinstance(label, tuple) else 1 for label in labels if label is not None), default=0)
    for at in range(width):
        numbers = np.array([_number(label, at) for label in labels])
        columns.append(_column("label" if width == 1 else f"label {at + 1}", numbers, may_be_category=True))
    for name, numbers in given.items():
        columns.append(_column(name, numbers, may_be_category=True))
    columns.append(_column("nodes", np.array([graph.n for graph in seen.graphs], dtype=float)))
    columns.append(_column("edges", np.array([len(graph.edges) for graph in seen.graphs], dtype=float)))
    columns.append(_column("reconstruction error", seen.error))
    return columns


def _number(label: Any, at: int) -> float:
    values = label if isinstance(label, tuple) else (label,)
    return float("nan") if label is None or at >= len(values) else float(values[at])


def _column(name: str, numbers: NDArray[np.float64], may_be_category: bool = False) -> Packed:
    known = np.unique(numbers[np.isfinite(numbers)])
    if may_be_category and 0 < len(known) <= CATEGORIES and (known == np.rint(known)).all():
        codes = np.where(np.isfinite(numbers), np.searchsorted(known, numbers), -1)
        return {"name": name, "categories": [f"{value:g}" for value in known], "values": pack(codes)}
    return {"name": name, "values": pack(numbers, np.float32)}


def _graphs(
    seen: Seen, drawn: list[Graph] | None, smiles: list[str | None] | None, chemistry: Chemistry | None,
    with_back: bool, progress: bool,
) -> Packed:  # fmt: skip
    first = [graph.node_categorical[:, 0] for graph in seen.graphs if graph.node_categorical is not None]
    kinds = np.unique(np.concatenate(first)).tolist() if first else []
    names = [graph.name or "" for graph in seen.graphs]
    if smiles is not None:
        names = [name or written or "" for name, written in zip(names, smiles, strict=True)]
    dim = 0 if not seen.balls else seen.balls[0].shape[1]
    return {
        "names": names,
        "smiles": smiles,
        "dim": dim,
        "table": {"kinds": kinds, **_table(chemistry)},
        "true": _packed_graphs(seen.graphs, seen.balls, _places(drawn, progress)),
        "back": _packed_graphs(seen.back, seen.back_balls, None) if with_back else None,
    }


def _table(chemistry: Chemistry | None) -> Packed:
    """What categories stand for, for ``static/store.js``."""
    if chemistry is None:
        return {"elements": None, "bonds": None}
    named = {str(kind): number for kind, number in (chemistry.elements or {}).items()}
    types = {str(kind): number for kind, number in (chemistry.bonds or {}).items()}
    return {"elements": named or "numbers", "bonds": types or None}


def _places(drawn: list[Graph] | None, progress: bool) -> list[NDArray[np.int16]] | None:
    if drawn is None:
        return None
    with progress_bar("drawing molecules", len(drawn), progress) as advance:
        return [(FINE * coordinates(graph)).clip(-32768, 32767).astype(np.int16) for graph in drawn if advance()]


def _packed_graphs(
    graphs: Sequence[Graph], balls: Sequence[NDArray[np.float32]] | None, places: list[NDArray[np.int16]] | None
) -> Packed:
    return {
        "n": pack([graph.n for graph in graphs]),
        "edges": pack_ragged([graph.edges for graph in graphs]),
        "node": _table_of(graphs, "node_categorical"),
        "edge": _table_of(graphs, "edge_categorical"),
        "balls": None if balls is None else pack_ragged(balls, np.float32),
        "places": None if places is None else pack_ragged(places, np.int16),
    }


def _table_of(graphs: Sequence[Graph], field: str) -> Packed | None:
    """The categories of all graphs; None unless all graphs with rows have the same columns."""
    tables = [getattr(graph, field) for graph in graphs]
    rows = [graph.n if field.startswith("node") else len(graph.edges) for graph in graphs]
    widths = {0 if table is None else table.shape[1] for table, n in zip(tables, rows, strict=True) if n}
    if len(widths) != 1 or 0 in widths:
        return None
    (width,) = widths
    empty = np.zeros((0, width), np.int64)
    return pack_ragged([empty if not n else table for table, n in zip(tables, rows, strict=True)])


def _latent(seen: Seen) -> Packed:
    axes = principal_axes(seen.z, AXES)
    return {
        "z": pack(seen.z, np.float32),
        "descriptor": None if seen.descriptor is None else pack(seen.descriptor, np.float32),
        "axes": [
            {
                "group": "Principal axes of z, in deviations",
                "name": f"axis {k + 1} ({100 * share:.0f} %)",
                "span": float(deviation),
                "direction": pack(direction, np.float32),
            }
            for k, (direction, deviation, share) in enumerate(zip(*axes, strict=True))
        ],
    }
