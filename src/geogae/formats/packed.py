"""Many graphs as one set of flat arrays (their disjoint union), and that as an ``.npz`` file: small and fast."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geogae.errors import GeoGAEError
from geogae.files import atomic_path
from geogae.graph import ATTRIBUTES, Graph

FORMAT = "geogae graphs 1"
_ARRAYS = ("sizes", "edge_counts", "edges", *ATTRIBUTES, "labels", "names")


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
        rows = {"node": int(self.sizes.sum()), "edge": int(self.edge_counts.sum()), "graph": len(self.sizes)}
        expected = dict.fromkeys(("edge_counts", "labels", "names"), rows["graph"]) | {"edges": rows["edge"]}
        expected |= {field: rows[field[:4]] for field in ATTRIBUTES}
        for field, count in expected.items():
            array = getattr(self, field)
            if array is None:
                continue
            if len(array) != count or (field in ATTRIBUTES and array.ndim != 2):
                raise GeoGAEError(f"packed graphs are damaged: {field} has shape {array.shape}, not {count} rows")
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise GeoGAEError(f"packed graphs are damaged: {field} has values that are not finite")
        i, j = self.edges.T
        size = np.repeat(self.sizes, self.edge_counts)  # (E,) nodes of each edge's graph
        key = np.repeat(np.cumsum(self.sizes) - self.sizes, self.edge_counts) + i  # (E,) i in the union
        rises = (key[1:] > key[:-1]) | ((key[1:] == key[:-1]) & (j[1:] > j[:-1]))
        if (self.sizes < 1).any() or (i < 0).any() or (i >= j).any() or (j >= size).any() or not rises.all():
            raise GeoGAEError("packed graphs are damaged: an edge is out of range or out of order")

    def __len__(self) -> int:
        return len(self.sizes)

    @classmethod
    def of(cls, graphs: Iterable[Graph], report: str = "") -> Packed:
        graphs = list(graphs)
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
        """The graphs; their arrays are views of these."""
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
        write = np.savez_compressed if compress else np.savez
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            write(file, format=np.array(FORMAT), report=np.array(self.report), **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Packed:
        try:
            with np.load(path, allow_pickle=False) as stored:
                if str(stored["format"]) != FORMAT:
                    raise GeoGAEError(f"{path} holds {str(stored['format'])!r}, not {FORMAT!r}; write it anew")
                arrays = {field: _wide(stored[field]) for field in _ARRAYS if field in stored}
                return cls(**arrays, report=str(stored["report"]))
        except GeoGAEError as error:
            raise GeoGAEError(f"{path}: {error}") from None
        except FileNotFoundError:
            raise GeoGAEError(f"{path} does not exist") from None
        except (OSError, ValueError, KeyError, IndexError, TypeError, EOFError, AttributeError, zipfile.BadZipFile):
            raise GeoGAEError(f"{path} is not a file of packed graphs, or it is damaged; write it anew") from None


def read_npz(path: str | os.PathLike[str]) -> list[Graph]:
    """The graphs of a file written by :func:`write_npz`."""
    return Packed.load(path).graphs()


def write_npz(graphs: Iterable[Graph], path: str | os.PathLike[str]) -> None:
    """Write graphs as compressed flat arrays; attributes and labels must belong to all graphs or to none."""
    Packed.of(graphs).save(Path(path), compress=True)


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
    return array.astype(np.int64) if array.dtype.kind in "iu" else array
