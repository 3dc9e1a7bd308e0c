"""How raw pairs of nodes are read as a simple graph; every reader uses this policy.

Input that is not undirected, unweighted and simple is an error unless an argument says how to read it:

- ``self_loops``: ``"error"`` or ``"drop"``
- ``duplicates``: ``"error"`` or ``"merge"`` (repeats become one edge; their attributes must agree)
- ``directed``: ``"error"``, ``"either"`` (an arc makes an edge) or ``"both"`` (only an arc and its reverse do)
- ``weights``: ``"error"`` or ``"drop"`` (weights other than 1 are ignored, the edge stays)

``**SIMPLIFY`` asks for all of it; on the command line that is ``--simplify``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geogae.errors import GeoGAEError
from geogae.graph import Graph, checked_pairs, checked_size

SelfLoops = Literal["error", "drop"]
Duplicates = Literal["error", "merge"]
Directed = Literal["error", "either", "both"]
Weights = Literal["error", "drop"]

Block = NDArray[Any]
Integers = NDArray[np.int64]


class Policy(TypedDict, total=False):
    """The keyword arguments that say how to read what is not a simple graph."""

    self_loops: SelfLoops
    duplicates: Duplicates
    directed: Directed
    weights: Weights


SIMPLIFY: Policy = {"self_loops": "drop", "duplicates": "merge", "directed": "either", "weights": "drop"}
_OR = " (or --simplify)"


@dataclass(frozen=True)
class Origin:
    """How an error names what it found: where a row was read, and a node's id in the source."""

    row: Callable[[int], str] = lambda row: ""
    node: Callable[[int], Any] = lambda node: node

    def pair(self, pair: NDArray[Any]) -> str:
        return f"({self.node(int(pair[0]))!r}, {self.node(int(pair[1]))!r})"


@dataclass(frozen=True)
class SimpleEdges:
    """The edges of a simple graph, sorted pairs i < j, and their attributes; ``report`` says what was changed."""

    edges: Integers  # (E, 2)
    attributes: dict[str, Block | None]  # each (E, columns)
    report: str


def simplify(
    n: int,
    pairs: Any,
    *,
    arcs: bool = False,
    weight: Block | None = None,
    attributes: Mapping[str, ArrayLike | None] | None = None,
    origin: Origin | None = None,
    self_loops: SelfLoops = "error",
    duplicates: Duplicates = "error",
    directed: Directed = "error",
    weights: Weights = "error",
) -> SimpleEdges:
    """Raw rows (i, j), one weight and one row of each attribute block for each, as the edges of a simple graph.

    Without ``arcs`` a row is an edge, and (j, i) repeats (i, j). With ``arcs`` a row is one direction of an
    edge, and an arc without its reverse makes the graph directed.
    """
    _check_policy("self_loops", self_loops, SelfLoops)
    _check_policy("duplicates", duplicates, Duplicates)
    _check_policy("directed", directed, Directed)
    _check_policy("weights", weights, Weights)
    origin = origin or Origin()
    n = checked_size(n)
    pairs = checked_pairs(n, pairs)
    blocks = {name: _rows(name, block, len(pairs)) for name, block in (attributes or {}).items()}
    weight = _rows("weight", weight, len(pairs))
    report = []

    if weight is not None and weights == "error":
        heavy = np.flatnonzero(weight != 1)
        if len(heavy):
            row = int(heavy[0])
            raise GeoGAEError(
                f"{origin.row(row)}edge {origin.pair(pairs[row])} has weight {weight[row]} "
                f"({len(heavy):,} weights are not 1); ignore them with weights='drop'{_OR}"
            )

    loops = pairs[:, 0] == pairs[:, 1]
    if count := int(np.count_nonzero(loops)):
        if self_loops == "error":
            row = int(np.argmax(loops))
            raise GeoGAEError(
                f"{origin.row(row)}self-loop at node {origin.node(int(pairs[row, 0]))!r} ({count:,} in all); "
                f"drop them with self_loops='drop'{_OR}"
            )
        report.append(f"{count:,} self-loops dropped")

    # An edge's key is i * n + j with i < j: sorting keys sorts edges. Each direction is made distinct by itself.
    keys = np.minimum(pairs[:, 0], pairs[:, 1]) * n + np.maximum(pairs[:, 0], pairs[:, 1])
    rising = pairs[:, 0] < pairs[:, 1]
    directions = [rising, ~(rising | loops)] if arcs else [~loops]
    distinct, first, second = [], [], []
    for chosen in directions:
        rows = np.flatnonzero(chosen)
        rows = rows[np.argsort(keys[rows], kind="stable")]
        again = np.zeros(len(rows), dtype=bool)
        again[1:] = keys[rows[1:]] == keys[rows[:-1]]
        distinct.append(rows[~again])
        first.append(rows[:-1][again[1:]])
        second.append(rows[again])
    repeats = np.concatenate(second)
    if len(repeats):
        if duplicates == "error":
            row = int(repeats.min())
            raise GeoGAEError(
                f"{origin.row(row)}edge {origin.pair(pairs[row])} is given again ({len(repeats):,} repeats in all); "
                f"merge them with duplicates='merge'{_OR}"
            )
        _check_agreement(pairs, blocks, np.concatenate(first), repeats, origin)
        report.append(f"{len(repeats):,} repeated {'arcs' if arcs else 'edges'} merged")

    rows = distinct[0]
    if arcs:
        rows, lone = _joined(pairs, keys, blocks, distinct[0], distinct[1], directed, origin)
        if lone:
            report.append(f"{lone:,} one-way arcs " + ("read as edges" if directed == "either" else "dropped"))

    edges = np.stack(np.divmod(keys[rows], n), axis=1)
    return SimpleEdges(edges, {k: None if b is None else b[rows] for k, b in blocks.items()}, ", ".join(report))


def simple_graph(
    n: int,
    pairs: Any,
    *,
    arcs: bool = False,
    weight: Block | None = None,
    origin: Origin | None = None,
    node_categorical: ArrayLike | None = None,
    node_continuous: ArrayLike | None = None,
    edge_categorical: ArrayLike | None = None,
    edge_continuous: ArrayLike | None = None,
    label: Any = None,
    name: str | None = None,
    **policy: Unpack[Policy],
) -> Graph:
    """The :class:`Graph` of raw rows; see :func:`simplify`."""
    attributes = {"edge_categorical": edge_categorical, "edge_continuous": edge_continuous}
    simple = simplify(n, pairs, arcs=arcs, weight=weight, attributes=attributes, origin=origin, **policy)
    nodes = {"node_categorical": node_categorical, "node_continuous": node_continuous}
    return Graph(n, simple.edges, **nodes, **simple.attributes, label=label, name=name)


def _check_policy(argument: str, value: object, options: Any) -> None:
    if value not in get_args(options):
        raise GeoGAEError(f"{argument}={value!r} is not known; choose one of {', '.join(map(repr, get_args(options)))}")


def _rows(name: str, block: ArrayLike | None, rows: int) -> Block | None:
    if block is None:
        return None
    try:
        array = np.asarray(block)
    except ValueError:
        raise GeoGAEError(f"{name} must be a table: one row of equally many numbers for each edge") from None
    if array.ndim == 0 or len(array) != rows:
        raise GeoGAEError(f"{name} has shape {array.shape}; it needs one row for each of the {rows} edges as given")
    return array


def _joined(
    pairs: Integers,
    keys: Integers,
    blocks: Mapping[str, Block | None],
    forward: Integers,
    backward: Integers,
    directed: Directed,
    origin: Origin,
) -> tuple[Integers, int]:
    """One row for each edge out of the rows of its two arcs, and how many arcs had no reverse."""
    if np.array_equal(keys[forward], keys[backward]):  # the usual case, and a fast one
        _check_agreement(pairs, blocks, forward, backward, origin)
        return forward, 0
    _, f, b = np.intersect1d(keys[forward], keys[backward], assume_unique=True, return_indices=True)
    lone = np.concatenate([np.delete(forward, f), np.delete(backward, b)])
    if directed == "error":
        row = int(lone.min())
        raise GeoGAEError(
            f"{origin.row(row)}arc {origin.pair(pairs[row])} has no reverse ({len(lone):,} such arcs), so the graph is "
            f"directed; read an arc as an edge with directed='either'{_OR}, or only reciprocated arcs with "
            "directed='both'"
        )
    _check_agreement(pairs, blocks, forward[f], backward[b], origin)
    rows = forward[f] if directed == "both" else np.concatenate([forward[f], lone])
    return rows[np.argsort(keys[rows], kind="stable")], len(lone)


def _check_agreement(
    pairs: Integers, blocks: Mapping[str, Block | None], first: Integers, second: Integers, origin: Origin
) -> None:
    """Rows that become one edge must have the same attributes; NaN in both is left to the check of the values."""
    for name, block in blocks.items():
        if block is None or not len(first):
            continue
        a, b = block[first], block[second]
        differ = ((a != b) & ((a == a) | (b == b))).reshape(len(first), -1).any(axis=1)
        if differ.any():
            one, two = int(first[differ][0]), int(second[differ][0])
            raise GeoGAEError(
                f"{origin.row(two)}edge {origin.pair(pairs[two])} has {name} {block[two].tolist()}, but it was given "
                f"with {block[one].tolist()} before ({np.count_nonzero(differ):,} such edges); make them agree"
            )
