"""graph6 and sparse6, the line formats of nauty: topology only, one graph a line, with or without a header.

Both are read and written here and not by NetworkX, which builds an object for every node that a line states: a sparse6
line of ten characters can state ten million.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from geogae.errors import GeoGAEError
from geogae.files import atomic_path
from geogae.formats.detect import graph_name, iter_graphs
from geogae.formats.limits import check
from geogae.formats.registry import FileFormat
from geogae.formats.simplify import Policy, simple_graph
from geogae.formats.text import Source, numbered_lines
from geogae.graph import Graph

_FOREIGN = re.compile(r"[^?-~]")


def read_graph6(source: Source, **policy: Unpack[Policy]) -> list[Graph]:
    """The graphs of a file or stream of graph6 and sparse6 lines; see :func:`iter_graph6`."""
    return list(iter_graph6(source, **policy))


def iter_graph6(source: Source, **policy: Unpack[Policy]) -> Iterator[Graph]:
    """The graphs, read one at a time; sparse6 may hold self-loops and repeated edges, which the policy is for."""
    for where, line in numbered_lines(source):
        try:
            yield _graph(line.strip().removeprefix(">>graph6<<").removeprefix(">>sparse6<<"), policy)
        except GeoGAEError as error:
            raise GeoGAEError(f"{where}: {error}") from None


def write_graph6(graphs: Iterable[Graph], path: str | os.PathLike[str], *, sparse: bool | None = None) -> None:
    """Write topologies as sparse6 (by default if ``path`` ends in ``.s6``) or graph6; names are not kept."""
    sparse = Path(path).suffix.lower() == ".s6" if sparse is None else sparse
    with atomic_path(path) as temporary, temporary.open("w", encoding="ascii", newline="\n") as file:
        for index, graph in enumerate(iter_graphs(graphs)):
            if graph.attributed or graph.label is not None:
                raise GeoGAEError(
                    f"{graph_name(graph, index)} has attributes or a label, and graph6 keeps only the topology; "
                    "write [g.topology() for g in graphs], or .jsonl"
                )
            if not sparse:
                check("line", graph.n * graph.n // 12, f"{graph_name(graph, index)} as graph6 (use .s6)")
            file.write((_sparse6(graph) if sparse else _graph6(graph)) + "\n")


GRAPH6 = FileFormat(read=iter_graph6, write=write_graph6, policy=True, text=True)


def stated_size(code: str) -> tuple[int, int]:
    """The number of nodes that a graph6 line (or sparse6 without its colon) states, and where its edges begin."""
    if wrong := _FOREIGN.search(code):
        raise GeoGAEError(f"{wrong[0]!r} does not occur in graph6 and sparse6, whose characters go from '?' to '~'")
    start, stop = (2, 8) if code.startswith("~~") else (1, 4) if code.startswith("~") else (0, 1)
    if len(code) < stop:
        raise _damaged(code)
    size = 0
    for character in code[start:stop]:
        size = size << 6 | ord(character) - 63
    return size, stop


def _graph(code: str, policy: Policy) -> Graph:
    if code.startswith("&"):
        raise GeoGAEError("this is digraph6, a directed graph; give graph6 or sparse6")
    if code.startswith(";"):
        raise GeoGAEError("this is incremental sparse6, which depends on the line before; give graph6 or sparse6")
    sparse = code.startswith(":")
    code = code.removeprefix(":")
    n, start = stated_size(code)
    check("nodes", n)
    edges = _sparse_edges(n, code[start:]) if sparse else _dense_edges(n, code, start)
    return simple_graph(n, edges, **policy)


def _dense_edges(n: int, code: str, start: int) -> NDArray[np.int64]:
    """The bits of graph6 are the columns of the upper triangle: (0, 1), (0, 2), (1, 2), (0, 3) and so on."""
    pairs = n * (n - 1) // 2
    if len(code) - start != (pairs + 5) // 6:
        raise _damaged(code)
    bits = _bits(code[start:])[:pairs]
    check("numbers", 2 * int(np.count_nonzero(bits)))
    place = np.flatnonzero(bits)
    column = ((1 + np.sqrt(1 + 8 * place)) / 2).astype(np.int64)  # the column j begins at place j (j - 1) / 2
    column -= column * (column - 1) // 2 > place
    column += column * (column + 1) // 2 <= place
    return np.stack([place - column * (column - 1) // 2, column], axis=1)


def _sparse_edges(n: int, code: str) -> NDArray[np.int64]:
    """The edges of sparse6, which is a walk over the nodes: a step is one bit b and a node x.

    The current node v becomes v + b; if x > v, then v becomes x, else (x, v) is an edge. So v is max(v + b, x),
    which is a running maximum of x - cumsum(b).
    """
    width = max(n - 1, 0).bit_length()
    bits = _bits(code)
    steps = len(bits) // (width + 1)
    check("numbers", 2 * steps)
    table = bits[: steps * (width + 1)].reshape(steps, width + 1)
    x = table[:, 1:].astype(np.int64) @ (1 << np.arange(width, dtype=np.int64)[::-1])  # (steps,)
    advance = np.cumsum(table[:, 0], dtype=np.int64)
    highest = np.maximum.accumulate(np.append(0, x - advance))
    v = highest[:-1] + advance  # after the bit, before a jump
    padding = (x >= n) | (v >= n)  # ends the line
    used = int(np.argmax(padding)) if padding.any() else steps
    joins = np.flatnonzero(x[:used] <= v[:used])
    return np.stack([x[joins], v[joins]], axis=1)


def _graph6(graph: Graph) -> str:
    bits = np.zeros(graph.n * (graph.n - 1) // 2, dtype=np.uint8)
    i, j = graph.edges.T
    bits[j * (j - 1) // 2 + i] = 1
    return _size(graph.n) + _characters(bits, 0)


def _sparse6(graph: Graph) -> str:
    n, width = graph.n, max(graph.n - 1, 0).bit_length()
    steps: list[tuple[int, int]] = []
    v = 0
    for x, j in sorted(graph.edges.tolist(), key=lambda edge: edge[::-1]):  # edges x < j, by their later node
        if j > v + 1:
            steps += [(1, j), (0, x)]
        else:
            steps.append((j - v, x))
        v = j
    table = np.array(steps, dtype=np.int64).reshape(-1, 2)
    bits = np.zeros((len(table), width + 1), dtype=np.uint8)
    bits[:, 0] = table[:, 0]
    bits[:, 1:] = table[:, 1:] >> np.arange(width)[::-1] & 1
    flat = bits.ravel()
    # Padding of ones could be read as an edge (n-1, n-1) where n is a power of two: a zero before it prevents that.
    if -len(flat) % 6 > width and n == 1 << width and v == n - 2:
        flat = np.append(flat, np.uint8(0))
    return ":" + _size(n) + _characters(flat, 1)


def _bits(code: str) -> NDArray[np.uint8]:
    """Six bits for each character."""
    sixes = np.frombuffer(code.encode("ascii"), dtype=np.uint8) - 63
    return np.unpackbits(sixes[:, None], axis=1)[:, 2:].ravel()


def _characters(bits: NDArray[np.uint8], padding: int) -> str:
    padded = np.append(bits, np.full(-len(bits) % 6, padding, dtype=np.uint8)).reshape(-1, 6)
    return bytes(padded @ np.array([32, 16, 8, 4, 2, 1], dtype=np.uint8) + 63).decode("ascii")


def _size(n: int) -> str:
    if n < 63:
        return chr(n + 63)
    prefix, shifts = ("~", (12, 6, 0)) if n <= 258_047 else ("~~", (30, 24, 18, 12, 6, 0))
    return prefix + "".join(chr((n >> shift & 63) + 63) for shift in shifts)


def _damaged(code: str) -> GeoGAEError:
    return GeoGAEError(f"{code[:20]!r} is not graph6 or sparse6; the line may be cut off or have extra characters")
