"""Adjacency matrices, dense or sparse, and lists of edges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from geogae.errors import GeoGAEError
from geogae.formats.registry import ObjectKind
from geogae.formats.simplify import Policy, simple_graph
from geogae.graph import Graph


def from_adjacency(matrix: Any, **how: Any) -> Graph:
    """The graph of a square matrix of 0 and 1 (NumPy, nested lists or SciPy sparse).

    Other entries are weights, an unsymmetric matrix is directed, and an entry on the diagonal is a self-loop; these
    are errors unless an argument says otherwise, see :mod:`geogae.formats.simplify`. ``node_categorical``,
    ``node_continuous``, ``label`` and ``name`` become those of the graph.
    """
    sparse = hasattr(matrix, "tocoo")
    try:
        array: Any = matrix.tocsr() if sparse else np.asarray(matrix)
    except ValueError:
        raise GeoGAEError("an adjacency matrix needs rows of equal length") from None
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise GeoGAEError(f"an adjacency matrix is square, not of shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise GeoGAEError(f"an adjacency matrix holds 0 and 1, not {array.dtype}")
    if sparse:
        entries = array.tocoo()  # repeated entries were summed by tocsr
        rows, columns, values = entries.row, entries.col, entries.data
    else:
        rows, columns = np.nonzero(array)
        values = array[rows, columns]
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        i, j = rows[bad[0]], columns[bad[0]]
        raise GeoGAEError(f"entry ({i}, {j}) of the adjacency matrix is {values[bad[0]]}; use 0 or 1")
    set_ = values != 0
    pairs = np.stack([rows[set_], columns[set_]], axis=1)
    return simple_graph(array.shape[0], pairs, arcs=True, weight=values[set_], **how)


def _is_matrix(obj: Any) -> bool:
    return (isinstance(obj, np.ndarray) and obj.ndim == 2) or (hasattr(obj, "tocsr") and hasattr(obj, "tocoo"))


ADJACENCY = ObjectKind("a square adjacency matrix (NumPy or SciPy sparse)", _is_matrix, from_adjacency)


def from_edges(
    edges: ArrayLike | Iterable[Sequence[int]],
    n: int | None = None,
    *,
    arcs: bool = False,
    node_categorical: ArrayLike | None = None,
    node_continuous: ArrayLike | None = None,
    edge_categorical: ArrayLike | None = None,
    edge_continuous: ArrayLike | None = None,
    label: int | float | Sequence[float] | None = None,
    name: str | None = None,
    **policy: Unpack[Policy],
) -> Graph:
    """The graph of pairs (i, j). Without ``n`` the number of nodes is the largest node number plus one.

    Each pair is an edge. With ``arcs`` it is one direction of an edge, and its reverse must be there too.
    """
    if n is None:
        try:
            edges = np.asarray(edges if isinstance(edges, np.ndarray) else list(edges))  # type: ignore[arg-type]
            n = int(edges.max()) + 1
        except (TypeError, ValueError):
            raise GeoGAEError(
                "without edges that are pairs of numbers the number of nodes is unknown; give n"
            ) from None
    return simple_graph(
        n,
        edges,
        arcs=arcs,
        node_categorical=node_categorical,
        node_continuous=node_continuous,
        edge_categorical=edge_categorical,
        edge_continuous=edge_continuous,
        label=label,
        name=name,
        **policy,
    )
