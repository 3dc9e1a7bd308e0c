"""Graph: the one validated exchange type. Undirected, unweighted, no self-loops (paper, Section 3.1)."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geogae.errors import GeoGAEError

if TYPE_CHECKING:
    import networkx

ATTRIBUTES = ("node_categorical", "node_continuous", "edge_categorical", "edge_continuous")

MAX_NODES = 2**31 - 1  # so that i * n + j fits 64 bits


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """An immutable graph on the nodes 0 … n-1, with optional attributes; equal when all but the name is equal.

    Edges are kept as sorted pairs ``i < j``; rows of the edge attributes follow the edges as given and are
    sorted with them. Categorical attributes are integer columns, continuous ones float32 columns; a block
    without columns is no block, and a block without rows (a graph without edges) has no say in equality.
    A label of one value is a plain number, of several values a tuple.
    """

    n: int
    edges: NDArray[np.int64]  # (E, 2), i < j, lexicographically sorted
    node_categorical: NDArray[np.int64] | None = None  # (n, columns)
    node_continuous: NDArray[np.float32] | None = None  # (n, columns)
    edge_categorical: NDArray[np.int64] | None = None  # (E, columns)
    edge_continuous: NDArray[np.float32] | None = None  # (E, columns)
    label: int | float | tuple[float, ...] | None = None
    name: str | None = None

    def __init__(
        self,
        n: int,
        edges: ArrayLike | Iterable[Sequence[int]] = (),
        *,
        node_categorical: ArrayLike | None = None,
        node_continuous: ArrayLike | None = None,
        edge_categorical: ArrayLike | None = None,
        edge_continuous: ArrayLike | None = None,
        label: int | float | Sequence[float] | None = None,
        name: str | None = None,
    ) -> None:
        n = checked_size(n)
        pairs, order = _sorted_edges(n, edges)
        blocks = {
            "node_categorical": _categorical(node_categorical, n, "node_categorical"),
            "node_continuous": _continuous(node_continuous, n, "node_continuous"),
            "edge_categorical": _categorical(edge_categorical, len(pairs), "edge_categorical", order),
            "edge_continuous": _continuous(edge_continuous, len(pairs), "edge_continuous", order),
        }
        if not isinstance(name, str | None) or (name is not None and not _is_text(name)):
            raise GeoGAEError(f"a graph's name is text, not {name!r}")
        self.__dict__.update(n=n, edges=_readonly(pairs), **blocks, label=_label(label), name=name)

    @classmethod
    def _trusted(cls, **fields: Any) -> Graph:
        """A graph from fields that already are what ``__init__`` would make of them (see ``formats.packed``)."""
        graph = object.__new__(cls)
        graph.__dict__.update(fields)
        return graph

    @classmethod
    def from_sorted_edges(cls, n: int, edges: NDArray[np.int64]) -> Graph:
        """Without a check: distinct edges (E, 2) of nodes below ``n``, i < j, in ascending order, and no attributes."""
        graph = object.__new__(cls)
        graph.__dict__.update(_PLAIN, n=n, edges=_readonly(edges))
        return graph

    @classmethod
    def from_edges_once(
        cls,
        n: int,
        edges: NDArray[np.int64],
        node_categorical: NDArray[np.int64] | None = None,
        edge_categorical: NDArray[np.int64] | None = None,
    ) -> Graph:
        """Without a check: distinct edges (E, 2) of nodes below ``n``, i < j, in any order, and categories."""
        order = np.argsort(edges[:, 0] * n + edges[:, 1])
        fields = {**_PLAIN, "n": n, "edges": _readonly(edges[order]), "node_categorical": node_categorical}
        fields["edge_categorical"] = None if edge_categorical is None else _readonly(edge_categorical[order])
        return cls._trusted(**fields)

    # -- value semantics ------------------------------------------------------------------------------------------

    def _value(self) -> tuple[Any, ...]:
        blocks = (
            None if a is None or not a.size else (a.shape, a.tobytes()) for a in (getattr(self, f) for f in ATTRIBUTES)
        )
        return (self.n, self.edges.tobytes(), *blocks, self.label)

    def __eq__(self, other: object) -> bool:
        return self._value() == other._value() if isinstance(other, Graph) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._value())

    def __repr__(self) -> str:
        blocks = "".join(f", {f}×{a.shape[1]}" for f in ATTRIBUTES if (a := getattr(self, f)) is not None)
        name = f"{self.name!r}, " if self.name else ""
        label = f", label×{len(self.label)}" if isinstance(self.label, tuple) else f", label={self.label}"
        label = "" if self.label is None else label
        return f"Graph({name}n={self.n}, edges={len(self.edges)}{blocks}{label})"

    def __len__(self) -> int:
        return self.n

    # -- views ----------------------------------------------------------------------------------------------------

    @property
    def attributed(self) -> bool:
        """Whether any node or edge attributes are present."""
        own = self.__dict__  # asked for every graph of a collection, so each name stands here
        nodes = own["node_categorical"] is not None or own["node_continuous"] is not None
        return nodes or own["edge_categorical"] is not None or own["edge_continuous"] is not None

    @property
    def degrees(self) -> NDArray[np.int64]:
        return np.bincount(self.edges.ravel(), minlength=self.n)

    def adjacency(self) -> NDArray[np.bool_]:
        """The dense symmetric adjacency matrix, (n, n)."""
        matrix = np.zeros((self.n, self.n), dtype=bool)
        i, j = self.edges.T
        matrix[i, j] = matrix[j, i] = True
        return matrix

    def topology(self) -> Graph:
        """The same nodes and edges without attributes, label or name."""
        if self.label is None and self.name is None and not self.attributed:
            return self
        return Graph.from_sorted_edges(self.n, self.edges)

    def relabel(self, order: ArrayLike) -> Graph:
        """The graph whose node ``i`` is this graph's node ``order[i]``; attributes follow their nodes and edges."""
        permutation = np.asarray(order)
        position = np.full(self.n, -1, dtype=np.int64)
        numbers = permutation.shape == (self.n,) and permutation.dtype.kind in "iu"
        if numbers and permutation.min() >= 0 and permutation.max() < self.n:
            position[permutation] = np.arange(self.n)
        if position.min() < 0:
            raise GeoGAEError(f"an order of {self.n} nodes must hold each of 0 … {self.n - 1} once")
        from geogae.renumbering import renumbered  # numba takes a moment to import

        edges, rows = renumbered(self.edges, position)
        return self._with_rows(self.n, edges, permutation, rows)

    def with_attributes(self, **blocks: Any) -> Graph:
        """The same graph with some blocks of attributes replaced, by checked arrays of as many rows, or by None."""
        return Graph._trusted(**(self.__dict__ | blocks))

    def subgraph(self, nodes: NDArray[np.int64]) -> Graph:
        """The induced graph of some nodes, given in ascending order; attributes follow their nodes and edges."""
        place = np.full(self.n, -1, dtype=np.int64)
        place[nodes] = np.arange(len(nodes))
        from geogae.renumbering import renumbered

        edges, rows = renumbered(self.edges, place)
        return self._with_rows(len(nodes), edges, nodes, rows)

    def _with_rows(self, n: int, edges: NDArray[np.int64], nodes: NDArray[np.int64], rows: NDArray[np.int64]) -> Graph:
        """A graph of these edges with the attributes of this graph's ``nodes`` and of the ``rows`` of its edges."""
        fields = {**self.__dict__, "n": n, "edges": _readonly(edges)}
        for field in ATTRIBUTES:
            if (block := fields[field]) is not None:
                fields[field] = _readonly(block[nodes if field.startswith("node") else rows])
        return Graph._trusted(**fields)

    # -- doors to other libraries (the work is done in geogae.formats) -----------------------------------------------

    @classmethod
    def from_networkx(cls, graph: networkx.Graph, **how: Any) -> Graph:
        """See :func:`geogae.formats.from_networkx`."""
        from geogae.formats import from_networkx

        return from_networkx(graph, **how)

    @classmethod
    def from_pyg(cls, data: Any, **how: Any) -> Graph:
        """See :func:`geogae.formats.from_pyg`."""
        from geogae.formats import from_pyg

        return from_pyg(data, **how)

    @classmethod
    def from_rdkit(cls, molecule: Any, **how: Any) -> Graph:
        """See :func:`geogae.formats.from_rdkit`."""
        from geogae.formats import from_rdkit

        return from_rdkit(molecule, **how)

    @classmethod
    def from_smiles(cls, smiles: str, **how: Any) -> Graph:
        """See :func:`geogae.formats.from_smiles`."""
        from geogae.formats import from_smiles

        return from_smiles(smiles, **how)

    @classmethod
    def from_adjacency(cls, matrix: ArrayLike, **how: Any) -> Graph:
        """See :func:`geogae.formats.from_adjacency`."""
        from geogae.formats import from_adjacency

        return from_adjacency(matrix, **how)

    @classmethod
    def from_edges(cls, edges: Iterable[Sequence[int]], **how: Any) -> Graph:
        """See :func:`geogae.formats.from_edges`."""
        from geogae.formats import from_edges

        return from_edges(edges, **how)

    def to_networkx(self) -> networkx.Graph:
        """See :func:`geogae.formats.to_networkx`."""
        from geogae.formats import to_networkx

        return to_networkx(self)

    def to_pyg(self) -> Any:
        """See :func:`geogae.formats.to_pyg`."""
        from geogae.formats import to_pyg

        return to_pyg(self)

    def to_rdkit(self) -> Any:
        """See :func:`geogae.formats.to_rdkit`."""
        from geogae.formats import to_rdkit

        return to_rdkit(self)

    def to_smiles(self) -> str:
        """See :func:`geogae.formats.to_smiles`."""
        from geogae.formats import to_smiles

        return to_smiles(self)


# of a graph of nodes and edges alone
_PLAIN: dict[str, Any] = {**dict.fromkeys(ATTRIBUTES), "label": None, "name": None}


def _is_text(name: str) -> bool:
    """Whether UTF-8 can hold it: half of a surrogate pair, which JSON can state, is no character."""
    return not any("\ud800" <= character <= "\udfff" for character in name)


def _readonly(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def checked_size(n: Any) -> int:
    """The number of nodes, once it is known to be one."""
    try:
        size = 0 if isinstance(n, bool) else operator.index(n)
    except TypeError:
        size = 0
    if size < 1:
        raise GeoGAEError(f"a graph needs a whole number of nodes, at least 1, not n={n!r}")
    if size > MAX_NODES:
        raise GeoGAEError(f"a graph has at most {MAX_NODES} nodes, not n={n}")
    return size


def checked_pairs(n: int, edges: Any) -> NDArray[np.int64]:
    """The rows as given, (E, 2), once they are known to be pairs of node numbers below n."""
    try:
        pairs = np.asarray(edges if isinstance(edges, np.ndarray) else list(edges))
    except (TypeError, ValueError):
        raise GeoGAEError("edges must be pairs of node numbers: an (E, 2) array or a list of (i, j)") from None
    if pairs.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise GeoGAEError(f"edges must be pairs of node numbers, an (E, 2) array, not shape {pairs.shape}")
    if not np.issubdtype(pairs.dtype, np.integer):
        raise GeoGAEError(f"edges must hold whole node numbers, not {pairs.dtype}; map node ids to 0 … {n - 1} first")
    if pairs.min() < 0 or pairs.max() >= n:
        i, j = pairs[((pairs < 0) | (pairs >= n)).any(axis=1)][0]
        raise GeoGAEError(f"edge ({i}, {j}) is out of range: with n={n} the nodes are 0 … {n - 1}")
    return pairs.astype(np.int64, copy=False)


def _sorted_edges(n: int, edges: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Checked pairs i < j in lexicographic order, (E, 2), and the order that sorts the rows as given, (E,)."""
    pairs = checked_pairs(n, edges)
    loops = pairs[:, 0] == pairs[:, 1]
    if loops.any():
        node = pairs[loops][0, 0]
        raise GeoGAEError(
            f"self-loop at node {node} ({loops.sum()} in all); Graph.from_edges(…, self_loops='drop') drops them"
        )
    pairs = np.sort(pairs, axis=1)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    pairs = pairs[order]
    twice = (pairs[1:] == pairs[:-1]).all(axis=1)
    if twice.any():
        i, j = pairs[1:][twice][0]
        raise GeoGAEError(
            f"edge ({i}, {j}) is given twice ({twice.sum()} repeats); Graph.from_edges(…, duplicates='merge') merges"
        )
    return pairs, order


def _columns(values: ArrayLike | None, rows: int, field: str) -> NDArray[Any] | None:
    if values is None:
        return None
    try:
        array = np.asarray(values)
    except ValueError:
        raise GeoGAEError(f"{field} must be a table: one row of equally many numbers for each {field[:4]}") from None
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or len(array) != rows:
        raise GeoGAEError(f"{field} has shape {array.shape}; it needs one row for each of the {rows} {field[:4]}s")
    return array if array.shape[1] else None


def _categorical(
    values: ArrayLike | None, rows: int, field: str, order: NDArray[np.int64] | None = None
) -> NDArray[np.int64] | None:
    array = _columns(values, rows, field)
    if array is None:
        return None
    if array.size and array.dtype.kind not in "iub":
        raise GeoGAEError(f"{field} must be integers, not {array.dtype}; number the categories first")
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise GeoGAEError(f"{field} holds {array.max()}, which is too large for 64 bits; number the categories first")
    array = array.astype(np.int64)  # a copy: the caller's array stays the caller's
    return _readonly(array if order is None else array[order])


def _continuous(
    values: ArrayLike | None, rows: int, field: str, order: NDArray[np.int64] | None = None
) -> NDArray[np.float32] | None:
    array = _columns(values, rows, field)
    if array is None:
        return None
    if array.dtype.kind not in "iufb":
        raise GeoGAEError(f"{field} must be numbers, not {array.dtype}")
    with np.errstate(over="ignore"):  # beyond float32 is inf, reported below
        array = array.astype(np.float32)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        row, column = bad[0]
        raise GeoGAEError(
            f"{field}[{row}, {column}] is {array[row, column]} ({len(bad)} such values); every value must be finite"
        )
    array += 0.0  # -0.0 becomes 0.0, so that equal values are equal bytes
    return _readonly(array if order is None else array[order])


def _label(label: Any) -> int | float | tuple[float, ...] | None:
    if label is None:
        return None
    try:
        values = np.asarray(label)
    except ValueError:
        values = np.empty(0)
    if values.dtype.kind not in "iufb" or values.ndim > 1 or not values.size or not np.isfinite(values).all():
        raise GeoGAEError(f"a label is a finite number or a sequence of them, not {label!r}")
    if values.dtype == bool:
        values = values.astype(np.int64)
    return values.item() if values.size == 1 else tuple(values.tolist())
