"""One graph a line as JSON.

``{"n": 3, "edges": [[0, 1], [1, 2]], "node_categorical": [[6, 0], [6, 0], [8, 0]], "label": 1, "name": "a"}``:
the fields of :class:`geogae.Graph`, those that are None left out. NetworkX's node-link JSON is read as well.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, Unpack

from geogae.errors import GeoGAEError
from geogae.files import atomic_path
from geogae.formats.detect import iter_graphs
from geogae.formats.limits import check
from geogae.formats.nx import from_networkx
from geogae.formats.registry import FileFormat
from geogae.formats.simplify import Policy, simple_graph
from geogae.formats.text import Source, numbered_lines
from geogae.graph import ATTRIBUTES, Graph

FIELDS = ("n", "edges", *ATTRIBUTES, "label", "name")


def read_jsonl(source: Source, **policy: Unpack[Policy]) -> list[Graph]:
    """All graphs of a file or stream; for the policy see :mod:`geogae.formats.simplify`."""
    return list(iter_jsonl(source, **policy))


def iter_jsonl(source: Source, **policy: Unpack[Policy]) -> Iterator[Graph]:
    """The graphs of a file or stream, read one at a time."""
    for where, line in numbered_lines(source):
        try:
            yield from_record(parsed(line), policy)
        except GeoGAEError as error:
            raise GeoGAEError(f"{where}: {error}") from None


def write_jsonl(graphs: Iterable[Graph], path: str | os.PathLike[str]) -> None:
    """Write graphs, taken from the iterable one at a time."""
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for graph in iter_graphs(graphs):
            file.write(json.dumps(to_record(graph), separators=(",", ":"), ensure_ascii=False) + "\n")


JSONL = FileFormat(read=iter_jsonl, write=write_jsonl, policy=True, text=True)


def to_record(graph: Graph) -> dict[str, Any]:
    """The JSON object of a graph."""
    blocks = {
        field: block.tolist() for field in ATTRIBUTES if (block := getattr(graph, field)) is not None and block.size
    }
    rest = {"label": graph.label, "name": graph.name}
    return {"n": graph.n, "edges": graph.edges.tolist(), **blocks} | {k: v for k, v in rest.items() if v is not None}


def parsed(line: str) -> dict[str, Any]:
    """The JSON object of a line."""
    try:
        record = json.loads(line)
    except ValueError as error:
        raise GeoGAEError(f"this is not JSON ({error})") from None
    except RecursionError:
        raise GeoGAEError("this JSON is nested too deeply") from None
    if not isinstance(record, dict):
        raise GeoGAEError(f'a line must be a JSON object {{"n": …, "edges": …}}, not {type(record).__name__}')
    return record


def from_record(record: dict[str, Any], policy: Policy) -> Graph:
    """The graph of a JSON object, ours or NetworkX's."""
    if "nodes" in record:
        return _from_node_link(record, policy)
    unknown = [key for key in record if key not in FIELDS]
    if unknown:
        raise GeoGAEError(f"unknown key {unknown[0]!r}; the keys are {', '.join(FIELDS)}")
    for field in ("n", "edges"):
        if field not in record:
            raise GeoGAEError(f'the key "{field}" is missing')
    if isinstance(record["n"], int):
        check("nodes", record["n"])
    return simple_graph(record.pop("n"), record.pop("edges"), **record, **policy)


def _from_node_link(record: dict[str, Any], policy: Policy) -> Graph:
    import networkx

    edges = "edges" if "edges" in record else "links"
    try:
        graph = networkx.node_link_graph(record, edges=edges)
        nodes = len(record["nodes"])
    except (KeyError, TypeError, ValueError, AttributeError, networkx.NetworkXException) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise GeoGAEError(f"this is not NetworkX's node-link JSON: {reason}") from None
    if len(graph) != nodes:
        raise GeoGAEError(
            f"node ids must be distinct and edges may name only them: {nodes} nodes listed, {len(graph)} named"
        )
    return from_networkx(graph, **policy)
