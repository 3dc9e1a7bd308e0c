"""Many graphs as flat arrays (their disjoint union), and these arrays as an ``.npz`` file: small and fast.

The file holds a checksum over all arrays and their names, so that a damaged file is an error and never other graphs.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geogae.errors import GeoGAEError
from geogae.files import atomic_path
from geogae.formats import archive, npy
from geogae.formats.detect import iter_graphs
from geogae.formats.limits import check
from geogae.formats.registry import FileFormat
from geogae.graph import ATTRIBUTES, Graph

FORMAT = "geogae graphs 2"
_ARRAYS = ("sizes", "edge_counts", "edges", *ATTRIBUTES, "labels", "names")
_NEEDED = {"sizes", "edge_counts", "edges", "report"}
_KINDS = {  # what the arrays hold
    **dict.fromkeys(("sizes", "edge_counts", "edges", "node_categorical", "edge_categorical"), "whole numbers"),
    **dict.fromkeys(("node_continuous", "edge_continuous"), "32-bit floats"),
    "labels": "numbers",
    "names": "text",
}


@dataclass(frozen=True, eq=False)
class Packed:
    """The arrays of G graphs one after another, N nodes and E edges in all; checked when made.

    Attributes and labels belong to all graphs, with the same columns, or to none.
    """

    sizes: NDArray[np.int64]  # (G,) nodes of each graph
    edge_counts: NDArray[np.int64]  # (G,) edges of each graph
    edges: NDArray[np.int64]  # (E, 2), numbered from 0 in each graph, i < j, sorted within each graph
    node_categorical: NDArray[np.int64] | None = None  # (N, columns)
    node_continuous: NDArray[np.float32] | None = None  # (N, columns)
    edge_categorical: NDArray[np.int64] | None = None  # (E, columns)
    edge_continuous: NDArray[np.float32] | None = None  # (E, columns)
    labels: NDArray[Any] | None = None  # (G,) or (G, columns), int64 or float64
    names: NDArray[np.str_] | None = None  # (G,)
    report: str = ""  # what was changed when the graphs were read

    def __post_init__(self) -> None:
        for field, kind in _KINDS.items():
            if (array := getattr(self, field)) is not None and not _is(array.dtype, kind):
                raise GeoGAEError(f"packed graphs are damaged: {field} holds {array.dtype}, not {kind}")
        if self.sizes.ndim != 1 or self.edge_counts.ndim != 1 or self.edges.ndim != 2 or self.edges.shape[1] != 2:
            raise GeoGAEError("packed graphs are damaged: sizes, edge_counts or edges has another shape")
        if (self.sizes < 1).any() or (self.edge_counts < 0).any() or (self.edge_counts > len(self.edges)).any():
            raise GeoGAEError("packed graphs are damaged: a number of nodes or edges is out of range")
        rows = {"node": int(self.sizes.sum()), "edge": int(self.edge_counts.sum()), "graph": len(self.sizes)}
        expected = dict.fromkeys(("edge_counts", "labels", "names"), rows["graph"]) | {"edges": rows["edge"]}
        expected |= {field: rows[field[:4]] for field in ATTRIBUTES}
        for field, count in expected.items():
            array = getattr(self, field)
            if array is None:
                continue
            axes = {"labels": (1, 2), "names": (1,), "edge_counts": (1,)}.get(field, (2,))
            if len(array) != count or array.ndim not in axes:
                raise GeoGAEError(f"packed graphs are damaged: {field} has shape {array.shape}, not {count} rows")
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise GeoGAEError(f"packed graphs are damaged: {field} has values that are not finite")
        if self.names is not None and not _is_text(self.names):
            raise GeoGAEError("packed graphs are damaged: a name holds values that are no characters")
        i, j = self.edges.T
        size = np.repeat(self.sizes, self.edge_counts)  # (E,) nodes of each edge's graph
        key = np.repeat(np.cumsum(self.sizes) - self.sizes, self.edge_counts) + i  # (E,) i in the union
        rises = (key[1:] > key[:-1]) | ((key[1:] == key[:-1]) & (j[1:] > j[:-1]))
        if (i < 0).any() or (i >= j).any() or (j >= size).any() or not rises.all():
            raise GeoGAEError("packed graphs are damaged: an edge is out of range or out of order")

    def __len__(self) -> int:
        return len(self.sizes)

    @classmethod
    def of(cls, graphs: Iterable[Graph], report: str = "") -> Packed:
        """The arrays of graphs that have the same attribute columns."""
        graphs = list(iter_graphs(graphs))
        if not graphs:
            raise GeoGAEError("there are no graphs to write; give at least one")
        labels = _together(
            [g.label for g in graphs], "label", [len(g.label) if isinstance(g.label, tuple) else 1 for g in graphs]
        )
        return cls(
            sizes=np.array([g.n for g in graphs], dtype=np.int64),
            edge_counts=np.array([len(g.edges) for g in graphs], dtype=np.int64),
            edges=np.concatenate([g.edges for g in graphs]),
            **{field: _stacked(graphs, field) for field in ATTRIBUTES},
            labels=None if labels is None else np.array(labels),
            names=np.array([g.name or "" for g in graphs]) if any(g.name for g in graphs) else None,
            report=report,
        )

    def graphs(self) -> list[Graph]:
        """The graphs; their arrays are views of the packed ones."""
        node_ends, edge_ends = np.cumsum(self.sizes).tolist(), np.cumsum(self.edge_counts).tolist()
        blocks = {field: array for field in ("edges", *ATTRIBUTES) if (array := getattr(self, field)) is not None}
        for array in blocks.values():
            array.flags.writeable = False
        absent: dict[str, Any] = dict.fromkeys(ATTRIBUTES)
        labels = [None] * len(self) if self.labels is None else self.labels.tolist()
        names = [None] * len(self) if self.names is None else self.names.tolist()
        graphs = []
        start = {"node": 0, "edge": 0}
        for node_end, edge_end, label, name in zip(node_ends, edge_ends, labels, names, strict=True):
            end = {"node": node_end, "edge": edge_end}
            slices = {field: array[start[field[:4]] : end[field[:4]]] for field, array in blocks.items()}
            label = tuple(label) if isinstance(label, list) else label
            n = node_end - start["node"]
            graphs.append(Graph._trusted(n=n, **absent | slices, label=label, name=name or None))
            start = end
        return graphs

    def save(self, path: str | os.PathLike[str], *, compress: bool = False) -> None:
        """Write the arrays, integers as narrow as they fit, to an ``.npz`` file."""
        arrays: dict[str, Any] = {
            field: _narrow(array) for field in _ARRAYS if (array := getattr(self, field)) is not None
        }
        arrays["report"] = np.array(self.report)
        write = np.savez_compressed if compress else np.savez
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            write(file, format=np.array(FORMAT), checksum=np.array(checksum(arrays)), **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Packed:
        """The arrays of a file that :meth:`save` wrote; sizes are checked against the limits first."""
        arrays = read_arrays(path, ("format", "checksum", "report", *_ARRAYS))
        if (format := _text(arrays.pop("format", None))) != FORMAT:
            raise GeoGAEError(f"{path} holds {format[:40]!r}, not {FORMAT!r}; write it again")
        if _text(arrays.pop("checksum", None)) != checksum(arrays) or not arrays.keys() >= _NEEDED:
            raise GeoGAEError(f"{path} is damaged: its checksum does not agree; write it again")
        report = _text(arrays.pop("report"))
        if arrays["sizes"].dtype.kind not in "iu":
            raise GeoGAEError(f"{path} is damaged: sizes holds {arrays['sizes'].dtype}, not whole numbers")
        try:
            check("nodes", int(arrays["sizes"].max(initial=0)))
            return cls(**{field: _wide(array) for field, array in arrays.items()}, report=report)
        except GeoGAEError as error:
            raise GeoGAEError(f"{path}: {error}") from None


def read_arrays(path: str | os.PathLike[str], fields: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Those of the arrays of an ``.npz`` file that are there; nothing is unpickled, sizes are checked first."""
    names = {f"{field}.npy": field for field in fields}
    arrays = {}
    with archive.opened(path, "a file of packed graphs") as file:
        for name, info in archive.members(file, names.__contains__).items():
            with file.open(info) as member:
                try:
                    arrays[names[name]] = npy.read_array(member, info.file_size)
                except GeoGAEError as error:
                    raise GeoGAEError(f"{path} is damaged: {name}: {error}; write it again") from None
            check("numbers", arrays[names[name]].size, f"{path}: {name}")
    return arrays


def checksum(arrays: Mapping[str, NDArray[Any]]) -> str:
    """A SHA-256 over the names, types, shapes and values of arrays."""
    total = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        total.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def read_npz(path: str | os.PathLike[str]) -> list[Graph]:
    """The graphs of a file written by :func:`write_npz`."""
    return Packed.load(path).graphs()


def write_npz(graphs: Iterable[Graph], path: str | os.PathLike[str]) -> None:
    """Write graphs as compressed flat arrays; attributes and labels must belong to all graphs or to none."""
    Packed.of(graphs).save(Path(path), compress=True)


NPZ = FileFormat(read=read_npz, write=write_npz)


def _is_text(array: NDArray[np.str_]) -> bool:
    try:
        "".join(array.ravel().tolist()).encode()
    except ValueError:  # beyond Unicode, or half of a surrogate pair
        return False
    return True


def _text(array: NDArray[Any] | None) -> str:
    """The text of an array of one string; none if it is anything else."""
    return str(array) if array is not None and array.dtype.kind == "U" and not array.ndim and _is_text(array) else ""


def _is(dtype: np.dtype[Any], kind: str) -> bool:
    if kind == "whole numbers":
        return dtype.kind == "i"
    if kind == "32-bit floats":
        return dtype == np.float32
    return dtype.kind in "if" if kind == "numbers" else dtype.kind == "U"


def _together(values: list[Any], field: str, widths: list[int]) -> list[Any] | None:
    """The values if every graph has one, of one width; None if no graph has one; else an error."""
    if all(value is None for value in values):
        return None
    for index, (value, width) in enumerate(zip(values, widths, strict=True)):
        if value is None or width != widths[0]:
            has = "none" if value is None else f"{width} columns"
            first = "none" if values[0] is None else f"{widths[0]} columns"
            raise GeoGAEError(
                f"{field}: graph {index} has {has}, graph 0 has {first}; this format needs the same for all graphs, "
                "write .jsonl instead"
            )
    return values


def _stacked(graphs: list[Graph], field: str) -> Any:
    """One block of all graphs; a graph without edges needs no edge attributes."""
    blocks = [getattr(g, field) for g in graphs if field.startswith("node") or len(g.edges)]
    together = _together(blocks, field, [0 if b is None else b.shape[1] for b in blocks])
    return None if together is None else np.concatenate(together)


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind != "i" or not array.size:
        return array
    for dtype in (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32):
        if np.iinfo(dtype).min <= array.min() and array.max() <= np.iinfo(dtype).max:
            return array.astype(dtype)
    return array


def _wide(array: NDArray[Any]) -> NDArray[Any]:
    whole = array.dtype.kind == "i" or (array.dtype.kind == "u" and array.dtype.itemsize < 8)
    return array.astype(np.int64) if whole else array.astype(array.dtype.newbyteorder("="), copy=False)
