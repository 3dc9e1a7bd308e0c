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
from geogae.pages.graphs import category_table, pack_graphs
from geogae.pages.molecules import Chemistry, chemistry_of, properties
from geogae.pages.packing import Packed, pack
from geogae.pages.projection import principal_axes, project
from geogae.pages.seen import Seen, see

MOST = 20_000  # graphs of a page
AXES = 6  # sliders of a group
CATEGORIES = 9  # different whole numbers up to which a label is a category

STYLES = ("explore.css",)
SCRIPTS = (
    "graphs.js",
    "decoder.js",
    "folds.js",
    "contexts.js",
    "store.js",
    "points.js",
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
        measured = properties(to_molecules(drawn))
        columns += [_column(name, numbers) for name, numbers in measured.items() if np.isfinite(numbers).any()]
    what, vectors = ("descriptors", seen.descriptor) if seen.descriptor is not None else ("z", seen.z)
    page = document(
        title,
        "explore.html",
        STYLES,
        SCRIPTS,
        {"map": _map(model, seen, title, columns, project(vectors, projection, seed), what, projection)},
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
    names = [graph.name or "" for graph in seen.graphs]
    if smiles is not None:
        names = [name or written or "" for name, written in zip(names, smiles, strict=True)]
    return {
        "names": names,
        "smiles": smiles,
        "dim": 0 if not seen.balls else seen.balls[0].shape[1],
        "table": category_table(seen.graphs, chemistry),
        "true": pack_graphs(seen.graphs, seen.balls, drawn, progress=progress),
        "back": pack_graphs(seen.back, seen.back_balls) if with_back else None,
    }


def _latent(seen: Seen) -> Packed:
    described = 0 if seen.descriptor is None else seen.descriptor.shape[1]
    return {
        "z": pack(seen.z, np.float32),
        "descriptor": None if seen.descriptor is None else pack(seen.descriptor, np.float32),
        "axes": [*_descriptor_axes(seen.z, described), *_principal_axes(seen.z, described)],
    }


def _descriptor_axes(z: NDArray[np.float32], described: int) -> list[Packed]:
    """The first numbers of the descriptor, which begins z; they are its principal components."""
    directions, deviations = np.eye(z.shape[1]), z.std(0, dtype=np.float64)
    return [
        _axis("Descriptor, in deviations", f"number {k + 1}", deviations[k], directions[k])
        for k in range(min(described, AXES))
        if deviations[k] > 0
    ]


def _principal_axes(z: NDArray[np.float32], described: int) -> list[Packed]:
    """Of the code, or of all of z if it has no descriptor."""
    group = "Principal axes of the code, in deviations" if described else "Principal axes of z, in deviations"
    found = principal_axes(z[:, described:], AXES)
    padded = np.pad(found.directions, ((0, 0), (described, 0)))
    return [
        _axis(group, f"axis {k + 1} ({100 * share:.0f} %)", deviation, direction)
        for k, (direction, deviation, share) in enumerate(zip(padded, found.deviations, found.shares, strict=True))
    ]


def _axis(group: str, name: str, span: float, direction: NDArray[np.float64]) -> Packed:
    return {"group": group, "name": name, "span": float(span), "direction": pack(direction, np.float32)}
