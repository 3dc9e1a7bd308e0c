"""Whatever a caller holds, as a :class:`Graph`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from geogae.errors import GeoGAEError
from geogae.formats.arrays import from_adjacency
from geogae.formats.chem import from_rdkit, from_smiles
from geogae.formats.nx import from_networkx
from geogae.formats.pyg import from_pyg
from geogae.graph import Graph

VALID = (
    "a geogae.Graph, a networkx.Graph, a torch_geometric Data, an RDKit Mol, a SMILES string, "
    "or a square adjacency matrix (NumPy or SciPy sparse)"
)


def is_graph(obj: Any) -> bool:
    """Whether ``obj`` is one thing that :func:`as_graph` takes, and not several."""
    return _reader(obj) is not None and not _is(obj, "torch_geometric.data", "Batch")


def as_graph(obj: Any) -> Graph:
    """The graph that ``obj`` stands for; libraries that the caller has not imported are not imported here."""
    reader = _reader(obj)
    if reader is None:
        raise GeoGAEError(f"{type(obj).__name__} cannot be read as a graph; give {VALID}")
    return reader(obj)


def as_graphs(objs: Any) -> list[Graph]:
    """The graphs of an iterable (or a PyG ``Batch``) of whatever :func:`as_graph` takes, or of one such thing."""
    if _is(objs, "torch_geometric.data", "Batch"):
        objs = objs.to_data_list()
    if is_graph(objs):
        return [as_graph(objs)]
    if not isinstance(objs, Iterable) or isinstance(objs, bytes | dict):
        raise GeoGAEError(f"{type(objs).__name__} cannot be read as graphs; give {VALID}, or an iterable of them")
    graphs = []
    for index, obj in enumerate(objs):
        try:
            graphs.append(as_graph(obj))
        except GeoGAEError as error:
            raise GeoGAEError(f"graph {index}: {error}") from None
    return graphs


def _reader(obj: Any) -> Callable[[Any], Graph] | None:
    if isinstance(obj, Graph):
        return lambda graph: graph
    if isinstance(obj, str):
        return from_smiles
    if _is(obj, "networkx", "Graph"):
        return from_networkx
    if _is(obj, "torch_geometric.data", "Data"):
        return from_pyg
    if _is(obj, "rdkit.Chem", "Mol"):
        return from_rdkit
    if (isinstance(obj, np.ndarray) and obj.ndim == 2) or (hasattr(obj, "tocsr") and hasattr(obj, "tocoo")):
        return from_adjacency
    return None


def _is(obj: Any, module: str, name: str) -> bool:
    """Whether ``obj`` is of a class of a library that is already imported."""
    return module in sys.modules and isinstance(obj, getattr(sys.modules[module], name, ()))
