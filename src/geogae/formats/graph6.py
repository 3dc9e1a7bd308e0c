"""graph6 and sparse6, the line formats of nauty: topology only, one graph a line, with or without a header."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Unpack

from geogae.errors import GeoGAEError
from geogae.files import atomic_path
from geogae.formats.nx import from_networkx
from geogae.formats.simplify import Policy
from geogae.formats.text import numbered_lines
from geogae.graph import Graph

MAX_SPARSE6_NODES = 10_000_000  # a short line can state any number, and each node takes memory


def read_graph6(path: str | os.PathLike[str], **policy: Unpack[Policy]) -> list[Graph]:
    """The graphs of a file of graph6 and sparse6 lines; sparse6 may hold self-loops and repeated edges."""
    graphs = []
    for where, line in numbered_lines(path):
        try:
            graphs.append(_graph(line.strip().removeprefix(">>graph6<<").removeprefix(">>sparse6<<"), policy))
        except GeoGAEError as error:
            raise GeoGAEError(f"{where}: {error}") from None
    return graphs


def write_graph6(graphs: Iterable[Graph], path: str | os.PathLike[str], *, sparse: bool | None = None) -> None:
    """Write topologies as sparse6 (by default if ``path`` ends in ``.s6``) or graph6; names are not kept."""
    import networkx

    sparse = Path(path).suffix.lower() == ".s6" if sparse is None else sparse
    encode = networkx.to_sparse6_bytes if sparse else networkx.to_graph6_bytes
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        for index, graph in enumerate(graphs):
            if graph.attributed or graph.label is not None:
                raise GeoGAEError(
                    f"graph {index} has attributes or a label, and graph6 keeps only the topology; "
                    "write [g.topology() for g in graphs], or .jsonl"
                )
            file.write(encode(graph.to_networkx(), header=False))


def _graph(code: str, policy: Policy) -> Graph:
    import networkx

    if code.startswith("&"):
        raise GeoGAEError("this is digraph6, a directed graph; give graph6 or sparse6")
    if code.startswith(";"):
        raise GeoGAEError("this is incremental sparse6, which depends on the line before; give graph6 or sparse6")
    kind, decode = (
        ("sparse6", networkx.from_sparse6_bytes) if code[:1] == ":" else ("graph6", networkx.from_graph6_bytes)
    )
    wrong = next((c for c in code.removeprefix(":") if not "?" <= c <= "~"), None)
    if wrong is not None:
        raise GeoGAEError(f"{wrong!r} does not occur in {kind}, whose characters go from '?' to '~'")
    if code.startswith(":~~") and (nodes := _large_size(code[3:9])) > MAX_SPARSE6_NODES:
        raise GeoGAEError(f"this sparse6 states {nodes:,} nodes; more than {MAX_SPARSE6_NODES:,} are not read")
    try:
        graph = decode(code.encode())
    except (networkx.NetworkXError, ValueError, IndexError, OverflowError, MemoryError):
        raise GeoGAEError(f"{code[:20]!r} is not {kind}; the line may be cut off or have extra characters") from None
    return from_networkx(graph, **policy)


def _large_size(code: str) -> int:
    """The number that six characters of six bits state."""
    return sum((ord(c) - 63) << shift for c, shift in zip(code, (30, 24, 18, 12, 6, 0), strict=False))
