"""Attributes as numbers: which columns and categories the graphs of a model have, and a graph's own in those terms.

A schema is learned from the graphs that a model is fitted on and kept with it. Its features are what the paper's model
reads and writes: categories one-hot, column by column, then continuous columns standardised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from geogae.errors import GeoGAEError
from geogae.graph import Graph

_LISTED = 40  # categories that an error lists
FAR = 1000.0  # deviations from the mean of training beyond which a number may not come back, nor those beside it
_LARGEST = float(np.finfo(np.float32).max)  # the largest number that an extreme z decodes to


class Columns(NamedTuple):
    """Attributes of the nodes or of the edges of one graph, or of many, concatenated."""

    codes: NDArray[np.int64]  # (rows, categorical columns), the place of each value among its column's categories
    numbers: NDArray[np.float32]  # (rows, continuous columns), standardised


@dataclass(frozen=True)
class Block:
    """What is known of the attributes of nodes, or of edges."""

    kind: str  # "node" or "edge"
    categories: tuple[tuple[int, ...], ...] = ()  # of each categorical column, ascending
    mean: tuple[float, ...] = ()  # of each continuous column …
    scale: tuple[float, ...] = ()  # … and its deviation, 1 for a column that does not vary

    @classmethod
    def of(cls, kind: str, graphs: Sequence[Graph]) -> Self:
        """From the graphs' own values; all of them need the same columns."""
        categorical = [getattr(graph, f"{kind}_categorical") for graph in graphs]
        continuous = [getattr(graph, f"{kind}_continuous") for graph in graphs]
        stacked = [_stacked(graphs, part, kind, name) for part, name in
                   ((categorical, "categorical"), (continuous, "continuous"))]  # fmt: skip
        values, numbers = stacked[0], stacked[1].astype(np.float64)
        deviation = numbers.std(0) if len(numbers) else np.ones(numbers.shape[1])
        return cls(
            kind,
            tuple(tuple(np.unique(values[:, column]).tolist()) for column in range(values.shape[1])),
            tuple(numbers.mean(0).tolist() if len(numbers) else np.zeros(numbers.shape[1]).tolist()),
            tuple(np.where(deviation > 1e-9 * np.abs(numbers).max(0, initial=0), deviation, 1.0).tolist()),
        )

    @property
    def width(self) -> int:
        """Numbers that :meth:`features` has for a row."""
        return sum(map(len, self.categories)) + len(self.mean)

    def columns(self, graph: Graph) -> Columns:
        """A graph's attributes; a category that no training graph had has the code -1."""
        rows = graph.n if self.kind == "node" else len(graph.edges)
        values = self._table(graph, "categorical", len(self.categories), rows)
        codes = np.zeros((rows, len(self.categories)), dtype=np.int64)
        for column, known in enumerate(self.categories):
            if known:
                place = np.searchsorted(known, values[:, column]).clip(max=len(known) - 1)
                codes[:, column] = np.where(np.array(known)[place] == values[:, column], place, -1)
            else:
                codes[:, column] = -1
        numbers = self._table(graph, "continuous", len(self.mean), rows)
        return Columns(codes, ((numbers - np.array(self.mean)) / np.array(self.scale)).astype(np.float32))

    def why_not(self, graph: Graph) -> str | None:
        """Why the columns of a graph do not fit, or None."""
        rows = graph.n if self.kind == "node" else len(graph.edges)
        for name, width in (("categorical", len(self.categories)), ("continuous", len(self.mean))):
            table = getattr(graph, f"{self.kind}_{name}")
            found = 0 if table is None else table.shape[1]
            if found != width and rows:
                return (
                    f"it has {found} {self.kind}_{name} columns; the model was fitted on graphs with {width}: give "
                    f"graphs of the same kind, or fit with attributes='ignored'"
                )
        return None

    def unknown(self, graph: Graph) -> str | None:
        """Which category of a graph no training graph had, or None."""
        for column, codes in enumerate(self.columns(graph).codes.T):
            if (codes < 0).any():
                value = getattr(graph, f"{self.kind}_categorical")[codes < 0, column][0]
                known = self.categories[column]
                listed = ", ".join(map(str, known[:_LISTED])) + ", …" * (len(known) > _LISTED)
                return f"{self.kind}_categorical column {column} holds {value}; the model knows {listed or 'none'}"
        return None

    def far(self, graph: Graph) -> str | None:
        """Which number of a graph is far from all of training, or None."""
        for column, numbers in enumerate(self.columns(graph).numbers.T):
            if (beyond := np.abs(numbers) > FAR).any():
                value = getattr(graph, f"{self.kind}_continuous")[beyond, column][0]
                trained = f"{self.mean[column]:.3g} ± {self.scale[column]:.3g}"
                return f"{self.kind}_continuous column {column} holds {value:.3g}; in training it was {trained}"
        return None

    def features(self, columns: Columns) -> NDArray[np.float32]:
        """One-hot codes, then numbers, (rows, width); an unknown category is a row of zeros."""
        hot = [
            np.eye(len(known) + 1, len(known), dtype=np.float32)[columns.codes[:, c]]  # code -1 is the last row
            for c, known in enumerate(self.categories)
        ]
        return np.concatenate([*hot, columns.numbers], axis=1).astype(np.float32)

    def read(self, features: NDArray[np.floating]) -> Columns:
        """The likeliest categories and the numbers of (rows, width): the way back from :meth:`features`."""
        codes, begin = np.zeros((len(features), len(self.categories)), dtype=np.int64), 0
        for column, known in enumerate(self.categories):
            codes[:, column] = features[:, begin : begin + len(known)].argmax(1) if len(features) else 0
            begin += len(known)
        return Columns(codes, np.asarray(features[:, begin:], dtype=np.float32))

    def fields(self, columns: Columns) -> dict[str, Any]:
        """The graph's own values, as :class:`Graph` takes them."""
        values = [np.array(known)[columns.codes[:, c]] for c, known in enumerate(self.categories)]
        numbers = columns.numbers.astype(np.float64) * np.array(self.scale) + np.array(self.mean)
        return {
            f"{self.kind}_categorical": np.column_stack(values).astype(np.int64) if values else None,
            f"{self.kind}_continuous": np.nan_to_num(numbers).clip(-_LARGEST, _LARGEST) if self.mean else None,
        }

    def _table(self, graph: Graph, name: str, width: int, rows: int) -> NDArray[Any]:
        table = getattr(graph, f"{self.kind}_{name}")
        if rows and (reason := self.why_not(graph)):
            raise GeoGAEError(f"{_name(graph)}: {reason}")
        return np.zeros((rows, width)) if table is None or table.shape[1] != width else table


@dataclass(frozen=True)
class Schema:
    """The attributes that a model reads."""

    node: Block
    edge: Block

    @classmethod
    def of(cls, graphs: Sequence[Graph]) -> Self:
        schema = cls(Block.of("node", graphs), Block.of("edge", graphs))
        if not schema.node.width and not schema.edge.width:
            raise GeoGAEError("the graphs have no attributes; give graphs that have some, or attributes='ignored'")
        return schema

    def why_not(self, graph: Graph) -> str | None:
        """Why the columns of a graph do not fit, or None."""
        return self.node.why_not(graph) or self.edge.why_not(graph)

    def unknown(self, graph: Graph) -> str | None:
        """Which category of a graph no training graph had, or None."""
        return self.node.unknown(graph) or self.edge.unknown(graph)

    def lossy(self, graph: Graph) -> str | None:
        """Which attribute of a graph may not come back, being unknown or far from those of training; or None."""
        return self.unknown(graph) or self.node.far(graph) or self.edge.far(graph)

    @property
    def continuous(self) -> bool:
        return bool(self.node.mean or self.edge.mean)

    def with_attributes(self, graph: Graph, node: Columns, edge: Columns) -> Graph:
        """A graph with attributes; rows of ``edge`` follow ``graph.edges``."""
        return Graph(graph.n, graph.edges, **self.node.fields(node), **self.edge.fields(edge))

    def to_json(self) -> dict[str, Any]:
        return {"node": asdict(self.node), "edge": asdict(self.edge)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        return cls(*(_block(record[kind]) for kind in ("node", "edge")))


def _block(record: Mapping[str, Any]) -> Block:
    categories = tuple(tuple(map(int, known)) for known in record["categories"])
    return Block(record["kind"], categories, tuple(map(float, record["mean"])), tuple(map(float, record["scale"])))


def _stacked(graphs: Sequence[Graph], tables: Sequence[NDArray[Any] | None], kind: str, name: str) -> NDArray[Any]:
    """The tables, concatenated; a graph without edges need not have one."""
    rows = [graph.n if kind == "node" else len(graph.edges) for graph in graphs]
    widths = {0 if table is None else table.shape[1] for table, n in zip(tables, rows, strict=True) if n}
    if len(widths) > 1:
        fewest = min(widths)
        has = [None if not n else 0 if table is None else table.shape[1] for table, n in zip(tables, rows, strict=True)]
        odd = graphs[has.index(fewest)]
        raise GeoGAEError(
            f"graphs have {' or '.join(map(str, sorted(widths)))} {kind}_{name} columns ({_name(odd)} has {fewest}); "
            f"all need the same; leave some out, or fit with attributes='ignored'"
        )
    width = max(widths, default=0)
    found = [table for table, n in zip(tables, rows, strict=True) if n and table is not None]
    return np.concatenate(found) if found else np.zeros((0, width))


def _name(graph: Graph) -> str:
    return f"graph {graph.name!r}" if graph.name else f"a graph of {graph.n} nodes"


def validation_choice(scores: Mapping[str, float], schema: Schema) -> float:
    """By which weights are kept if attributes are decoded: the mean of all F1, and of 1 - RMSE / deviation."""
    parts = [scores[name] for name in ("f1", "node_f1", "edge_f1") if name in scores]
    for block in (schema.node, schema.edge):
        if f"{block.kind}_rmse" in scores:
            deviation = float(np.sqrt(np.mean(np.square(block.scale))))
            parts.append(max(0.0, 1 - scores[f"{block.kind}_rmse"] / deviation))
    return float(np.mean(parts))
