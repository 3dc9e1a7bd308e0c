"""How well graphs came back: the paper's F1, exact rate, size error. Graphs are compared in the order of their nodes.

Only ``exact`` and ``whole`` look beyond the order: they ask for isomorphism.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geogae.errors import GeoGAEError
from geogae.geometry.labelling import canonical_form
from geogae.graph import Graph


def edge_f1(true: Graph, decoded: Graph) -> float:
    """F1 of the ordered adjacency; the smaller matrix is padded with zeros.

    F1 = 2 |E ∩ Ê| / (|E| + |Ê|), so two graphs without edges agree (1), and one with against one without does not (0).
    """
    width = max(true.n, decoded.n)
    found, wanted = decoded.edges @ (width, 1), true.edges @ (width, 1)  # an edge as one number
    both = len(found) + len(wanted)
    return 2 * len(np.intersect1d(found, wanted, assume_unique=True)) / both if both else 1.0


def same_topology(true: Graph, decoded: Graph) -> bool:
    """Whether the graphs are isomorphic, attributes aside."""
    if true.n != decoded.n or len(true.edges) != len(decoded.edges):
        return False
    if np.array_equal(true.edges, decoded.edges):
        return True
    if not np.array_equal(np.sort(true.degrees), np.sort(decoded.degrees)):
        return False
    return canonical_form(true.topology()) == canonical_form(decoded.topology())


def scores(true: Sequence[Graph], decoded: Sequence[Graph | None]) -> dict[str, NDArray[np.float64]]:
    """Graph by graph: ``f1``, ``exact`` (0 or 1) and ``size_error`` (nodes too many, or too few if negative).

    A decoded graph is None where a model cannot carry the true one: nothing came back, all its nodes are missing.
    """
    if len(true) != len(decoded) or not len(true):
        raise GeoGAEError(f"{len(true)} true and {len(decoded)} decoded graphs; give equally many, at least one")
    pairs = list(zip(true, decoded, strict=True))
    return {
        "f1": np.array([0.0 if d is None else edge_f1(t, d) for t, d in pairs]),
        "exact": np.array([d is not None and same_topology(t, d) for t, d in pairs], dtype=float),
        "size_error": np.array([(0 if d is None else d.n) - t.n for t, d in pairs], dtype=float),
    }


def evaluate(true: Sequence[Graph], decoded: Sequence[Graph | None]) -> dict[str, float]:
    """Averages over the graphs, as fractions:

    ``f1`` weighted by the true number of nodes (the paper's), ``f1_unweighted``, ``exact`` (the rate of isomorphic
    graphs), ``size_error`` (mean absolute, in nodes) and ``size_error_relative`` (the same over the mean true size).
    """
    each = scores(true, decoded)
    nodes = np.array([graph.n for graph in true], dtype=float)
    size_error = np.abs(each["size_error"]).mean()
    return {
        "f1": float(np.average(each["f1"], weights=nodes)),
        "f1_unweighted": float(each["f1"].mean()),
        "exact": float(each["exact"].mean()),
        "size_error": float(size_error),
        "size_error_relative": float(size_error / nodes.mean()),
    }


def attributes(true: Sequence[Graph], decoded: Sequence[Graph | None]) -> dict[str, float]:
    """How well attributes came back, for those that the true graphs have:

    ``node_f1``, ``edge_f1``: of categorical columns, averaged over columns and, weighted by the true number of nodes as
    the paper's F1 is, over graphs. A hit is a node, or an edge, that is there on both sides with the same category;
    F1 = 2 hits / (true + decoded), so what is missing and what is too many counts as wrong, and edge F1 is at most the
    F1 of the topology. Graphs without edges on both sides agree.
    ``node_rmse``, ``edge_rmse``: over all true nodes, or edges, and all continuous columns, in the columns' own units.
    Graphs with other columns than most have are left out.
    A node or edge that did not come back counts as if the column's average over the true graphs had; what is too many
    is not compared.
    ``whole``: the rate of graphs that are isomorphic with all categories equal.
    """
    if len(true) != len(decoded) or not len(true):
        raise GeoGAEError(f"{len(true)} true and {len(decoded)} decoded graphs; give equally many, at least one")
    nodes = np.array([graph.n for graph in true], dtype=float)
    pairs = list(zip(true, decoded, strict=True))
    measured = {}
    for kind in ("node", "edge"):
        if any(_rows(t, f"{kind}_categorical") is not None for t in true):
            each = [0.0 if d is None else category_f1(t, d, kind) for t, d in pairs]
            measured[f"{kind}_f1"] = float(np.average(each, weights=nodes))
        if any(_rows(t, f"{kind}_continuous") is not None for t in true):
            measured[f"{kind}_rmse"] = _rmse(pairs, kind)
    measured["whole"] = float(np.mean([d is not None and same_categories(t, d) for t, d in pairs]))
    return measured


def category_f1(true: Graph, decoded: Graph, kind: str) -> float:
    """F1 of the categories of nodes or edges, in the graphs' order; see :func:`attributes`."""
    (there, wanted), (here, found) = (_placed(graph, f"{kind}_categorical", true, decoded) for graph in (true, decoded))
    both = len(there) + len(here)
    if not both:
        return 1.0
    if wanted.shape[1] != found.shape[1]:
        return 0.0
    if not wanted.shape[1]:
        return 2 * len(np.intersect1d(there, here, assume_unique=True)) / both  # no columns: what is there counts
    _, one, other = np.intersect1d(there, here, assume_unique=True, return_indices=True)
    hits = (wanted[one] == found[other]).sum(0)  # (columns,)
    return float((2 * hits / both).mean())


def same_categories(true: Graph, decoded: Graph) -> bool:
    """Whether the graphs are isomorphic with all categorical attributes equal."""
    if true.n != decoded.n or len(true.edges) != len(decoded.edges):
        return False
    one, other = (
        Graph(g.n, g.edges, node_categorical=g.node_categorical, edge_categorical=_rows(g, "edge_categorical"))
        for g in (true, decoded)
    )
    return one == other or canonical_form(one) == canonical_form(other)


def _placed(graph: Graph, field: str, *both: Graph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Nodes or edges as single numbers (rows,) that mean the same in both graphs, and their attributes."""
    edges = field.startswith("edge")
    places = graph.edges @ (max(g.n for g in both), 1) if edges else np.arange(graph.n)
    table = getattr(graph, field)
    return places, np.zeros((len(places), 0), np.int64) if table is None else table


def _rows(graph: Graph, field: str) -> NDArray[np.generic] | None:
    table = getattr(graph, field)
    return table if table is not None and len(table) else None


def _rmse(pairs: Sequence[tuple[Graph, Graph | None]], kind: str) -> float:
    field = f"{kind}_continuous"
    widths = Counter(0 if (rows := _rows(t, field)) is None else rows.shape[1] for t, _ in pairs)
    usual = max((width for width in widths if width), key=lambda width: (widths[width], width))
    pairs = [(t, d) for t, d in pairs if getattr(t, field) is not None and getattr(t, field).shape[1] == usual]
    average = np.concatenate([rows for t, _ in pairs if (rows := _rows(t, field)) is not None]).mean(
        0, dtype=np.float64
    )
    squares, count = 0.0, 0
    for true, decoded in pairs:
        there, wanted = _placed(true, field, true, decoded or true)
        told = np.broadcast_to(average, (len(there), len(average))).astype(np.float64)
        if decoded is not None and _rows(decoded, field) is not None:
            here, found = _placed(decoded, field, true, decoded)
            _, one, other = np.intersect1d(there, here, assume_unique=True, return_indices=True)
            told[one] = found[other]
        squares += float(((told - wanted) ** 2).sum()) if len(there) else 0.0
        count += told.size
    return float(np.sqrt(squares / count))


def molecules(true: Sequence[Graph], decoded: Sequence[Graph | None]) -> dict[str, float]:
    """Rates of what chemists ask for: ``valid`` of all decoded graphs (see :func:`geogae.formats.to_molecules`; None is
    not valid), and ``same_smiles``: equal canonical SMILES, over the true graphs that are valid molecules themselves.

    A true graph that is none has no SMILES to come back, so it is left out of ``same_smiles``; if all are, that is an
    error.
    """
    from geogae.formats import to_smiles_list

    if len(true) != len(decoded) or not len(true):
        raise GeoGAEError(f"{len(true)} true and {len(decoded)} decoded graphs; give equally many, at least one")
    wanted, found = to_smiles_list(true), to_smiles_list(decoded)
    pairs = [(smiles, back) for smiles, back in zip(wanted, found, strict=True) if smiles is not None]
    if not pairs:
        raise GeoGAEError(
            f"none of the {len(true)} true graphs is a valid molecule; give graphs whose categories are atomic numbers "
            "and RDKit's bond types, such as those of geogae.formats.from_smiles"
        )
    return {
        "valid": sum(smiles is not None for smiles in found) / len(found),
        "same_smiles": sum(smiles == back for smiles, back in pairs) / len(pairs),
    }
