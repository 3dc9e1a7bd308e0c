"""PyTorch Geometric ``Data``, in and out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from geogae.errors import GeoGAEError
from geogae.formats.detect import as_graph
from geogae.formats.optional import require
from geogae.formats.registry import ObjectKind, instance_of
from geogae.formats.simplify import Policy, simple_graph
from geogae.graph import ATTRIBUTES, Graph

_STANDARD = {"node": "x", "edge": "edge_attr"}


def from_pyg(
    data: Any,
    *,
    node_categorical: Sequence[str] | None = None,
    node_continuous: Sequence[str] | None = None,
    edge_categorical: Sequence[str] | None = None,
    edge_continuous: Sequence[str] | None = None,
    **policy: Unpack[Policy],
) -> Graph:
    """The graph of a ``Data`` whose ``edge_index`` lists both directions of every edge, as is the convention.

    ``node_categorical=["z"], node_continuous=["x", "pos"]`` names the fields that become columns. By
    default the fields that :func:`to_pyg` writes are read. Without them ``x`` and ``edge_attr`` are read, as
    categorical columns if they hold integers and as continuous ones if not. ``y`` is the label and ``name``
    the name. An arc without its reverse and an ``edge_weight`` other than 1 are errors unless the policy says
    otherwise, see :mod:`geogae.formats.simplify`.
    """
    if not hasattr(data, "edge_index"):  # a HeteroData
        raise GeoGAEError(f"{type(data).__name__} has nodes and edges of several types; give data.to_homogeneous()")
    if "ptr" in data:
        raise GeoGAEError("a Batch holds many graphs; read it with geogae.formats.as_graphs")
    if data.get("edge_index") is None:
        raise GeoGAEError("the Data has no edge_index; set it, with shape (2, 0) for a graph without edges")
    asked = dict(zip(ATTRIBUTES, (node_categorical, node_continuous, edge_categorical, edge_continuous), strict=True))
    weight = data.get("edge_weight")
    label = data.get("y")
    name = data.get("name")
    return simple_graph(
        _size(data),
        _array(data["edge_index"]).T,
        arcs=True,
        weight=None if weight is None else _array(weight).ravel(),
        **{field: _block(data, field, keys) for field, keys in asked.items()},
        label=label if label is None or not hasattr(label, "tolist") else np.ravel(label.tolist()),
        name=name if isinstance(name, str) else None,
        **policy,
    )


def to_pyg(graph: Graph) -> Any:
    """A ``Data`` with both directions of every edge, the fields of ``graph`` that are not None, and ``y``.

    ``y`` has shape (1,) or (1, columns), in 64 bits, so that a batch stacks it and reading it back is exact.
    """
    graph = as_graph(graph)
    torch = require("torch", "pyg")
    data = require("torch_geometric.data", "pyg").Data(num_nodes=graph.n)
    arcs = np.concatenate([graph.edges, graph.edges[:, ::-1]])  # (2E, 2)
    data.edge_index = torch.from_numpy(np.ascontiguousarray(arcs.T))
    for field in ATTRIBUTES:
        block = getattr(graph, field)
        if block is not None:
            data[field] = torch.from_numpy(np.concatenate([block, block]) if field.startswith("edge") else block.copy())
    if graph.label is not None:
        data.y = torch.from_numpy(np.array([graph.label]))
    if graph.name is not None:
        data.name = graph.name
    return data


def _is_data(obj: Any) -> bool:
    """Also of several types of nodes, which :func:`from_pyg` refuses in one line."""
    return any(instance_of(obj, "torch_geometric.data", name) for name in ("Data", "HeteroData"))


PYG = ObjectKind("a torch_geometric Data", _is_data, from_pyg)


def _array(tensor: Any) -> NDArray[Any]:
    tensor = tensor.detach().cpu()
    array: NDArray[Any] = (tensor.float() if tensor.is_floating_point() else tensor).numpy()
    return array


def _size(data: Any) -> int:
    """The number of nodes as stated or as the node fields have it, never guessed from the edges."""
    if (count := data._store.get("num_nodes")) is not None:
        return int(count)
    for field in ("x", "node_categorical", "node_continuous", "pos", "z"):
        if data.get(field) is not None:
            return len(data[field])
    raise GeoGAEError("the Data does not say how many nodes it has; set data.num_nodes")


def _block(data: Any, field: str, keys: Sequence[str] | None) -> Any:
    """The columns of one attribute block, from the fields asked for, or else from the usual ones."""
    if isinstance(keys, str):
        raise GeoGAEError(f"name the fields in a list: [{keys!r}], not {keys!r}")
    if keys is None:
        ours = [name for name in ATTRIBUTES if name.startswith(field[:4]) and data.get(name) is not None]
        standard = data.get(_STANDARD[field[:4]])
        if ours:
            keys = [field] if field in ours else []
        elif standard is None or standard.is_floating_point() != field.endswith("continuous"):
            keys = []
        else:
            keys = [_STANDARD[field[:4]]]
    missing = [key for key in keys if data.get(key) is None]
    if missing:
        raise GeoGAEError(f"the Data has no field {missing[0]!r}; it has {', '.join(map(repr, data.keys()))}")
    arrays = [_array(data[key]) for key in keys]
    if not arrays:
        return None
    try:
        return np.concatenate([a[:, None] if a.ndim == 1 else a for a in arrays], axis=1)
    except (ValueError, IndexError):
        shapes = ", ".join(f"{key} {a.shape}" for key, a in zip(keys, arrays, strict=True))
        raise GeoGAEError(f"{field}: these fields cannot stand side by side: {shapes}") from None
