"""How well graphs came back: the paper's F1, exact rate, size error. Graphs are compared in the order of their nodes.

Only ``exact`` looks beyond the order: it asks for isomorphism. Attributes take no part.
"""

from __future__ import annotations

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
