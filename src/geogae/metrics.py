"""Scores of decoded graphs: the paper's F1, exact rate, size error, and those of attributes and molecules.

Graphs are compared node by node, in the order of their nodes. Only ``exact``, ``whole`` and ``same_smiles`` do not
depend on the order. Wherever graphs are taken, anything that :func:`geogae.formats.as_graph` reads is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geogae.errors import GeoGAEError
from geogae.formats import as_graph, as_graphs, is_graph, to_smiles_list
from geogae.graph import Graph
from geogae.labelling.labelling import canonical_form

SCORES = ("f1", "exact", "size_error")  # of each graph


class EdgeScore(NamedTuple):
    """How well the edges of one graph were decoded."""

    precision: float
    recall: float
    f1: float


def edge_score(true: Any, decoded: Any) -> EdgeScore:
    """Precision, recall and F1 of the ordered adjacency matrix; the smaller matrix is padded with zeros.

    With E the true and Ê the decoded edges: precision = |E ∩ Ê| / |Ê|, recall = |E ∩ Ê| / |E|,
    F1 = 2 |E ∩ Ê| / (|E| + |Ê|). For two graphs without edges all three are 1. If only one of the graphs has edges, all
    three are 0.
    """
    true, decoded = as_graph(true), as_graph(decoded)
    width = max(true.n, decoded.n)
    found, wanted = decoded.edges @ (width, 1), true.edges @ (width, 1)  # an edge as one number
    if not len(found) and not len(wanted):
        return EdgeScore(1.0, 1.0, 1.0)
    hits = len(np.intersect1d(found, wanted, assume_unique=True))
    return EdgeScore(hits / max(len(found), 1), hits / max(len(wanted), 1), 2 * hits / (len(found) + len(wanted)))


def edge_f1(true: Any, decoded: Any) -> float:
    """F1 of the ordered adjacency matrix; see :func:`edge_score`."""
    return edge_score(true, decoded).f1


def same_topology(true: Any, decoded: Any) -> bool:
    """Whether the graphs are isomorphic, attributes aside."""
    true, decoded = as_graph(true), as_graph(decoded)
    if true.n != decoded.n or len(true.edges) != len(decoded.edges):
        return False
    if np.array_equal(true.edges, decoded.edges):
        return True
    if not np.array_equal(np.sort(true.degrees), np.sort(decoded.degrees)):
        return False
    return canonical_form(true.topology()) == canonical_form(decoded.topology())


def scores(true: Iterable[Any], decoded: Iterable[Any]) -> dict[str, NDArray[np.float64]]:
    """Scores of each graph: ``f1``, ``exact`` (0 or 1) and ``size_error`` (decoded minus true number of nodes).

    ``decoded`` holds None for a graph that was not decoded: its F1 is 0 and all its nodes are missing.
    """
    return {score: values for score, values in _scores(_pairs(true, decoded)).items() if score in SCORES}


def evaluate(true: Iterable[Any], decoded: Iterable[Any]) -> dict[str, float]:
    """Averages over the graphs, as fractions; n is the true number of nodes of each graph.

    - ``f1``: Σ n F1 / Σ n, the vertex-weighted F1 of the paper as we read it.
    - ``f1_pooled``: the other reading, the harmonic mean of Σ n precision / Σ n and Σ n recall / Σ n.
    - ``f1_unweighted``: the plain mean of F1.
    - ``exact``: the share of graphs that are isomorphic to the true ones.
    - ``size_error``: the mean absolute error of the number of nodes.
    - ``size_error_relative``: the same, divided by the mean of n.
    """
    pairs = _pairs(true, decoded)
    each = _scores(pairs)
    nodes = np.array([graph.n for graph, _ in pairs], dtype=float)
    precision, recall, f1 = (float(np.average(each[s], weights=nodes)) for s in ("precision", "recall", "f1"))
    size_error = np.abs(each["size_error"]).mean()
    return {
        "f1": f1,
        "f1_pooled": 2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        "f1_unweighted": float(each["f1"].mean()),
        "exact": float(each["exact"].mean()),
        "size_error": float(size_error),
        "size_error_relative": float(size_error / nodes.mean()),
    }


def attributes(true: Iterable[Any], decoded: Iterable[Any]) -> dict[str, float]:
    """Scores of attributes, for those that the true graphs have.

    - ``node_f1``, ``edge_f1``: F1 of categorical columns, averaged over the columns and, weighted by the true number of
      nodes, over the graphs. A hit is a node (or edge) that both graphs have, with the same category;
      F1 = 2 hits / (true + decoded). A missing node lowers it, and so does an extra one. The F1 of edge categories is
      at most the F1 of the topology. It is 1 for two graphs without edges.
    - ``node_rmse``, ``edge_rmse``: root mean square error over all true nodes (or edges) and all continuous columns, in
      the units of the columns. A node or edge that was not decoded is compared with the column's mean over the true
      graphs; extra ones are not compared. Graphs that have another number of columns than most are left out.
    - ``whole``: the share of graphs that are isomorphic with all categories equal.
    """
    pairs = _pairs(true, decoded)
    nodes = np.array([graph.n for graph, _ in pairs], dtype=float)
    measured = {}
    for kind in ("node", "edge"):
        if any(_rows(t, f"{kind}_categorical") is not None for t, _ in pairs):
            each = [0.0 if d is None else category_f1(t, d, kind) for t, d in pairs]
            measured[f"{kind}_f1"] = float(np.average(each, weights=nodes))
        if any(_rows(t, f"{kind}_continuous") is not None for t, _ in pairs):
            measured[f"{kind}_rmse"] = _rmse(pairs, kind)
    measured["whole"] = float(np.mean([d is not None and same_categories(t, d) for t, d in pairs]))
    return measured


def molecules(true: Iterable[Any], decoded: Iterable[Any]) -> dict[str, float]:
    """Scores of molecules.

    - ``valid``: the share of decoded graphs that are valid molecules, see :func:`geogae.formats.to_molecules`.
    - ``same_smiles``: the share with the canonical SMILES of the true graph, over the true graphs that are valid
      molecules. If none of them is, that is an error.
    """
    pairs = _pairs(true, decoded)
    wanted, found = to_smiles_list(t for t, _ in pairs), to_smiles_list(d for _, d in pairs)
    known = [(smiles, back) for smiles, back in zip(wanted, found, strict=True) if smiles is not None]
    if not known:
        raise GeoGAEError(
            f"none of the {len(pairs)} true graphs is a valid molecule; give graphs whose categories are atomic "
            "numbers and RDKit's bond types, such as those of geogae.formats.from_smiles"
        )
    return {
        "valid": sum(smiles is not None for smiles in found) / len(found),
        "same_smiles": sum(smiles == back for smiles, back in known) / len(known),
    }


def category_f1(true: Any, decoded: Any, kind: str) -> float:
    """F1 of the categories of nodes or edges (``kind``), in the graphs' order; see :func:`attributes`."""
    true, decoded = as_graph(true), as_graph(decoded)
    true_ids, wanted = _keyed(true, f"{kind}_categorical", true, decoded)
    decoded_ids, found = _keyed(decoded, f"{kind}_categorical", true, decoded)
    total = len(true_ids) + len(decoded_ids)
    if not total:
        return 1.0
    if wanted.shape[1] != found.shape[1]:
        return 0.0
    shared, i, j = np.intersect1d(true_ids, decoded_ids, assume_unique=True, return_indices=True)
    if not wanted.shape[1]:
        return 2 * len(shared) / total  # no columns: a shared node or edge is a hit
    hits = (wanted[i] == found[j]).sum(0)  # (columns,)
    return float((2 * hits / total).mean())


def same_categories(true: Any, decoded: Any) -> bool:
    """Whether the graphs are isomorphic with all categorical attributes equal."""
    true, decoded = as_graph(true), as_graph(decoded)
    if true.n != decoded.n or len(true.edges) != len(decoded.edges):
        return False
    one, other = (
        Graph(g.n, g.edges, node_categorical=g.node_categorical, edge_categorical=_rows(g, "edge_categorical"))
        for g in (true, decoded)
    )
    return one == other or canonical_form(one) == canonical_form(other)


def _pairs(true: Any, decoded: Any) -> list[tuple[Graph, Graph | None]]:
    """True and decoded graphs side by side; a single graph is a list of one."""
    true = as_graphs(true)
    if decoded is None or is_graph(decoded):
        decoded = [decoded]
    back = []
    for index, graph in enumerate(decoded):
        try:
            back.append(None if graph is None else as_graph(graph))
        except GeoGAEError as error:
            raise GeoGAEError(f"decoded graph {index}: {error}") from None
    if len(true) != len(back) or not true:
        raise GeoGAEError(f"{len(true)} true and {len(back)} decoded graphs; give equally many, at least one")
    return list(zip(true, back, strict=True))


def _scores(pairs: list[tuple[Graph, Graph | None]]) -> dict[str, NDArray[np.float64]]:
    precision, recall, f1 = np.array([(0.0,) * 3 if d is None else edge_score(t, d) for t, d in pairs]).T
    return {
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "exact": np.array([d is not None and same_topology(t, d) for t, d in pairs], dtype=float),
        "size_error": np.array([(0 if d is None else d.n) - t.n for t, d in pairs], dtype=float),
    }


def _keyed(graph: Graph, field: str, *both: Graph) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Nodes or edges as numbers (rows,) that mean the same in both graphs, and their attributes (rows, columns)."""
    keys = graph.edges @ (max(g.n for g in both), 1) if field.startswith("edge") else np.arange(graph.n)
    table = getattr(graph, field)
    return keys, np.zeros((len(keys), 0), np.int64) if table is None else table


def _rows(graph: Graph, field: str) -> NDArray[np.generic] | None:
    table: NDArray[np.generic] | None = getattr(graph, field)
    return table if table is not None and len(table) else None


def _rmse(pairs: list[tuple[Graph, Graph | None]], kind: str) -> float:
    field = f"{kind}_continuous"
    widths = Counter(0 if (rows := _rows(t, field)) is None else rows.shape[1] for t, _ in pairs)
    usual = max((width for width in widths if width), key=lambda width: (widths[width], width))
    pairs = [(t, d) for t, d in pairs if getattr(t, field) is not None and getattr(t, field).shape[1] == usual]
    tables = [rows for t, _ in pairs if (rows := _rows(t, field)) is not None]
    mean = np.concatenate(tables).mean(0, dtype=np.float64)
    squares, count = 0.0, 0
    for true, decoded in pairs:
        true_ids, wanted = _keyed(true, field, true, decoded or true)
        estimate = np.broadcast_to(mean, (len(true_ids), len(mean))).astype(np.float64)
        rows = None if decoded is None else _rows(decoded, field)
        if decoded is not None and rows is not None and rows.shape[1] == usual:
            decoded_ids, found = _keyed(decoded, field, true, decoded)
            _, i, j = np.intersect1d(true_ids, decoded_ids, assume_unique=True, return_indices=True)
            estimate[i] = found[j]
        squares += float(((estimate - wanted) ** 2).sum()) if len(true_ids) else 0.0
        count += estimate.size
    return float(np.sqrt(squares / count))
