"""Objects of other libraries as :class:`Graph`. The kinds of objects are in :mod:`geogae.formats.registry`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from geogae.errors import GeoGAEError
from geogae.formats.registry import OBJECTS, ObjectKind, instance_of
from geogae.graph import Graph
from geogae.registry import entry


def is_graph(obj: Any) -> bool:
    """Whether ``obj`` is one object that :func:`as_graph` takes, and not several."""
    return isinstance(obj, Graph) or (_kind(obj) is not None and not _is_batch(obj))


def as_graph(obj: Any) -> Graph:
    """The graph that ``obj`` stands for; libraries that the caller has not imported are not imported here."""
    if isinstance(obj, Graph):
        return obj
    kind = _kind(obj)
    if kind is None:
        raise GeoGAEError(f"{type(obj).__name__} cannot be read as a graph; give {_valid()}")
    return kind.read(obj)


def as_graphs(objs: Any) -> list[Graph]:
    """The graphs of an iterable (or a PyG ``Batch``) of objects that :func:`as_graph` takes, or of one such object."""
    return list(iter_graphs(objs))


def iter_graphs(objs: Any) -> Iterator[Graph]:
    """As :func:`as_graphs`, one graph at a time."""
    if _is_batch(objs):
        objs = objs.to_data_list()
    if is_graph(objs):
        yield as_graph(objs)
        return
    if not isinstance(objs, Iterable) or isinstance(objs, bytes | dict):
        raise GeoGAEError(f"{type(objs).__name__} cannot be read as graphs; give {_valid()}, or an iterable of them")
    for index, obj in enumerate(objs):
        try:
            graph = as_graph(obj)
        except GeoGAEError as error:
            raise GeoGAEError(f"graph {index}: {error}") from None
        yield graph


def graph_name(graph: Graph, index: int) -> str:
    """How a message names a graph of a list: by its name, or by its position if it has none."""
    return f"graph {graph.name!r}" if graph.name else f"graph {index}"


def _kind(obj: Any) -> ObjectKind | None:
    for name in OBJECTS:
        kind = entry(OBJECTS, name)
        if kind.matches(obj):
            return kind
    return None


def _is_batch(obj: Any) -> bool:
    return instance_of(obj, "torch_geometric.data", "Batch")


def _valid() -> str:
    kinds = [entry(OBJECTS, name).what for name in OBJECTS]
    return f"a geogae.Graph, {', '.join(kinds[:-1])} or {kinds[-1]}"
