"""NetworkX graphs, in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from geogae.errors import GeoGAEError
from geogae.formats.detect import as_graph
from geogae.formats.registry import ObjectKind, instance_of
from geogae.formats.simplify import Origin, Policy, simple_graph
from geogae.graph import Graph

if TYPE_CHECKING:
    import networkx


def from_networkx(
    graph: networkx.Graph,
    *,
    node_categorical: Sequence[str] | None = None,
    node_continuous: Sequence[str] | None = None,
    edge_categorical: Sequence[str] | None = None,
    edge_continuous: Sequence[str] | None = None,
    label: str | None = "label",
    **policy: Unpack[Policy],
) -> Graph:
    """The graph, its nodes numbered in the order of ``graph.nodes``; the ids themselves are not kept.

    ``node_categorical=["element", "charge"]`` names the node attributes that become columns; a value is a
    number, or a sequence of numbers that becomes several columns. By default the keys that
    :func:`to_networkx` writes are read where present: ``"categorical"`` and ``"continuous"`` of nodes and
    edges, ``"label"`` and ``"name"`` of the graph. Other attributes are left out. Directed graphs, multigraphs
    with repeated edges, self-loops and an edge attribute ``weight`` other than 1 (unless it is asked for as a
    column) are errors unless the policy says otherwise, see :mod:`geogae.formats.simplify`.
    """
    ids = list(graph.nodes)
    position = {node: index for index, node in enumerate(ids)}
    records = list(graph.edges(data=True))
    pairs = np.array([(position[u], position[v]) for u, v, _ in records], dtype=np.int64).reshape(-1, 2)
    nodes = [(f"node {node!r}", data) for node, data in graph.nodes(data=True)]
    edges = [(f"edge ({u!r}, {v!r})", data) for u, v, data in records]
    weighted = "weight" not in (*(edge_categorical or ()), *(edge_continuous or ()))
    name = graph.graph.get("name")
    return simple_graph(
        len(ids),
        pairs,
        arcs=graph.is_directed(),
        weight=_objects([data.get("weight", 1) for _, data in edges]) if weighted else None,
        origin=Origin(node=ids.__getitem__),
        node_categorical=_columns(nodes, node_categorical, "categorical"),
        node_continuous=_columns(nodes, node_continuous, "continuous"),
        edge_categorical=_columns(edges, edge_categorical, "categorical"),
        edge_continuous=_columns(edges, edge_continuous, "continuous"),
        label=None if label is None else graph.graph.get(label),
        name=str(name) if name else None,
        **policy,
    )


def to_networkx(graph: Graph) -> networkx.Graph:
    """The nodes 0 … n-1 and the edges, with the keys that :func:`from_networkx` reads by default."""
    import networkx

    graph = as_graph(graph)
    result = networkx.Graph()
    result.graph.update({k: v for k, v in (("label", graph.label), ("name", graph.name)) if v is not None})
    nodes = _records(graph.n, categorical=graph.node_categorical, continuous=graph.node_continuous)
    edges = _records(len(graph.edges), categorical=graph.edge_categorical, continuous=graph.edge_continuous)
    result.add_nodes_from(enumerate(nodes))
    result.add_edges_from((i, j, data) for (i, j), data in zip(graph.edges.tolist(), edges, strict=True))
    return result


NETWORKX = ObjectKind("a networkx.Graph", lambda obj: instance_of(obj, "networkx", "Graph"), from_networkx)


def _columns(
    records: list[tuple[str, Mapping[str, Any]]], keys: Sequence[str] | None, default: str
) -> list[list[Any]] | None:
    """One row for each record: the values of the keys, side by side."""
    if keys is None:
        keys = [default] if any(default in data for _, data in records) else []
    if isinstance(keys, str):
        raise GeoGAEError(f"name the attributes in a list: [{keys!r}], not {keys!r}")
    if not keys or not records:
        return None
    rows = []
    for who, data in records:
        row: list[Any] = []
        for key in keys:
            if key not in data:
                raise GeoGAEError(f"{who} has no attribute {key!r}; every {who.split()[0]} needs it")
            value = data[key]
            row.extend(value) if isinstance(value, Sequence | np.ndarray) and not isinstance(
                value, str
            ) else row.append(value)
        rows.append(row)
    return rows


def _objects(values: list[Any]) -> NDArray[np.object_]:
    return np.fromiter(values, dtype=object, count=len(values))


def _records(count: int, **blocks: NDArray[Any] | None) -> list[dict[str, list[Any]]]:
    rows = {key: block.tolist() for key, block in blocks.items() if block is not None}
    return [{key: values[index] for key, values in rows.items()} for index in range(count)]
