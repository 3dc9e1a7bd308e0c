"""Slot features, what a slot holds in addition to its ball: one protocol, whose parts combine.

A slot feature may *fold* nodes away (leaves, twins): the rest of the graph, its core, keeps their number as a column.
It *writes* numbers into the slots of an ordered core, with the bounds between which the decoder reads the same, and
*reads* them back. :class:`SlotFeatures` chains any of them: fold, fold, …, write; read, …, unfold, unfold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from geogae.autoencoders.base import State
from geogae.autoencoders.schema import Schema
from geogae.graph import Graph
from geogae.training.checkpoint import parts_of, prefixed

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

FREE = 2e9  # stands for no bound
COUNT_WEIGHT = 300.0  # of a count that rounds wrongly, against a pair of nodes: it shifts all nodes behind it


class SlotValues(NamedTuple):
    """What one graph writes into its n slots."""

    values: Floats  # (n, e)
    present: NDArray[np.bool_]  # (n, e), False where the graph has nothing to write
    low: Floats  # (n, e), the decoder reads the same between low …
    high: Floats  # (n, e), … and high; low = high asks for the value itself, but softly
    weight: Floats  # (e,), of a number beyond its bounds, against a pair of nodes
    coefficients: Floats  # (q,), graph coefficients: numbers of the whole graph, in no slot

    def unbounded(self) -> SlotValues:
        """The same values, which need not come back."""
        low, high = np.full_like(self.low, -FREE), np.full_like(self.high, FREE)
        return self._replace(low=low, high=high, weight=np.zeros_like(self.weight))


class Folded(NamedTuple):
    """A graph in two parts."""

    core: Graph  # what is left; its last node_categorical columns count what was folded into each node
    nodes: Ints  # (core.n,), core node i is the graph's node nodes[i]
    rest: Ints  # (n - core.n,), the graph's other nodes, those of one slot in the order of unfolding …
    slots: Ints  # (n - core.n,), … and the core node that each was folded into

    def order(self, core_order: Ints) -> Ints:
        """The graph's nodes in the order in which a core in ``core_order`` unfolds."""
        place = np.argsort(core_order)  # of each core node
        return np.concatenate([self.nodes[core_order], self.rest[np.argsort(place[self.slots], kind="stable")]])


class SlotFeature(ABC):
    """One kind of numbers in a slot."""

    name: ClassVar[str]
    width: int = 0  # numbers e in a slot
    columns: int = 0  # that folding appends to the core's node_categorical
    coefficients: int = 0  # graph coefficients q
    gaps: bool = False  # whether a graph may leave places of a slot empty
    random_share: float = 0.0  # share of the decoder's axes to draw at random: what may come anywhere needs them
    schema: Schema | None = None  # of the attributes that it writes

    def fold(self, graph: Graph) -> Folded | None:
        """The graph in two parts; None if this feature folds nothing away."""
        return None

    def unfold(self, core: Graph, limit: int) -> Graph:
        """The inverse of :meth:`fold`, cut at ``limit`` nodes."""
        return core

    @abstractmethod
    def write(self, core: Graph, counts: Ints) -> SlotValues:
        """Of an ordered core without its count columns, which are ``counts`` (n, columns of all features)."""

    def read(self, values: Floats, coefficients: Floats, core: Graph, counts: Ints) -> Graph:
        """The inverse of :meth:`write`: the core with what this feature wrote; ``counts`` are those of all folds."""
        return core

    def coefficients_beside(self, true: Graph, core: Graph, values: Floats, counts: Ints) -> Floats:
        """The graph coefficients (q,) of a true core, if ``core`` and ``values`` (n, e) are what its z decodes to."""
        return np.empty(0, np.float32)

    def read_counts(self, values: Floats) -> Ints:
        """Of a feature that folds: its count columns (n, columns)."""
        return read_counts(values)

    @abstractmethod
    def state(self) -> State: ...

    @classmethod
    @abstractmethod
    def from_state(cls, state: State) -> Self: ...

    def lossy(self, core: Graph) -> str | None:
        """Why an ordered core may not come back whole, or None."""
        return None


class FoldingFeature(SlotFeature):
    """A slot feature that folds nodes away."""

    @classmethod
    @abstractmethod
    def of(cls, graphs: Sequence[Graph]) -> Self:
        """Learned from training graphs."""

    @abstractmethod
    def fold(self, graph: Graph) -> Folded: ...

    @abstractmethod
    def left(self, graph: Graph) -> int:
        """How many nodes :meth:`fold` leaves."""


class SlotFeatures:
    """Features that fold, in their order of folding, then those that do not."""

    def __init__(self, features: Sequence[SlotFeature] = ()) -> None:
        self.features = list(features)
        self.width = sum(feature.width for feature in self.features)
        self.columns = sum(feature.columns for feature in self.features)
        self.coefficients = sum(feature.coefficients for feature in self.features)
        self.gaps = any(feature.gaps for feature in self.features)
        self.random_share = max((feature.random_share for feature in self.features), default=0.0)
        self.schema = next((feature.schema for feature in self.features if feature.schema is not None), None)

    def __bool__(self) -> bool:
        return bool(self.features)

    @classmethod
    def folding(cls, kinds: Iterable[type[FoldingFeature]], graphs: Sequence[Graph]) -> tuple[Self, list[Graph]]:
        """Features of these kinds, learned from graphs, and the cores that they leave of them."""
        features: list[SlotFeature] = []
        cores = list(graphs)
        for kind in kinds:
            features.append(feature := kind.of(cores))
            cores = [feature.fold(core).core for core in cores]
        return cls(features), cores

    def fold(self, graph: Graph) -> tuple[Graph, list[Folded]]:
        """The core of all folds, and what each did."""
        steps = []
        for feature in self.features:
            if (folded := feature.fold(graph)) is not None:
                steps.append(folded)
                graph = folded.core
        return graph, steps

    def write(self, core: Graph) -> SlotValues:
        """Of an ordered core with its count columns."""
        plain, counts = without_columns(core, self.columns)
        parts = [feature.write(plain, counts) for feature in self.features] or [_nothing(core.n)]
        return SlotValues(*(np.concatenate(part, axis=-1) for part in zip(*parts, strict=True)))

    def read(self, values: Floats, coefficients: Floats, core: Graph, limit: int) -> tuple[Graph, bool]:
        """The graph of a decoded core and what its slots (n, e) and the graph coefficients (q,) hold.

        Also whether it is cut at ``limit`` nodes. Counts are read first: attributes may be expected from them.
        """
        core = self.read_core(values, coefficients, core)
        for feature in reversed(self.features):
            core = feature.unfold(core, limit + 1)
        return (core, False) if core.n <= limit else (first_nodes(core, limit), True)

    def read_core(self, values: Floats, coefficients: Floats, core: Graph) -> Graph:
        """The core with attributes and count columns."""
        plain, begin = core, 0
        counts: Ints | None = None
        for feature in self.features:
            own = values[:, begin : begin + feature.width]
            begin += feature.width
            if feature.columns:
                read = feature.read_counts(own)
                counts = read if counts is None else np.concatenate([counts, read], axis=1)
            else:
                known = np.zeros((core.n, 0), np.int64) if counts is None else counts
                plain = feature.read(own, coefficients, plain, known)
        return plain if counts is None else with_columns(plain, counts)

    def coefficients_beside(self, true: Graph, core: Graph, values: Floats) -> Floats:
        """The graph coefficients (q,) of a true core, if ``core`` and ``values`` (n, e) are what its z decodes to."""
        plain, counts = without_columns(true, self.columns)
        ends = np.cumsum([feature.width for feature in self.features])
        parts = np.split(values, ends[:-1], axis=1)
        own = [f.coefficients_beside(plain, core, part, counts) for f, part in zip(self.features, parts, strict=True)]
        return np.concatenate(own)

    def lossy(self, core: Graph) -> str | None:
        """Why an ordered core may not come back whole, or None."""
        plain, _ = without_columns(core, self.columns)
        return next((reason for feature in self.features if (reason := feature.lossy(plain))), None)

    def state(self) -> State:
        states = {feature.name: feature.state() for feature in self.features}
        tensors: dict[str, Tensor] = {}
        for name, state in states.items():
            tensors |= prefixed(name, state.tensors, ".")
        return State(tensors, {name: dict(state.facts) for name, state in states.items()})

    @classmethod
    def from_state(cls, state: State, kinds: Mapping[str, type[SlotFeature]]) -> Self:
        own = {name: State(parts_of(state.tensors, f"{name}."), facts) for name, facts in state.facts.items()}
        return cls([kinds[name].from_state(part) for name, part in own.items()])


# -- columns of a core ------------------------------------------------------------------------------------------------


def with_columns(graph: Graph, columns: Ints) -> Graph:
    """The graph with further node_categorical columns (n, c)."""
    if not columns.shape[1]:
        return graph
    own = graph.node_categorical
    return graph.with_attributes(node_categorical=columns if own is None else np.concatenate([own, columns], axis=1))


def without_columns(graph: Graph, count: int) -> tuple[Graph, Ints]:
    """The graph without its last ``count`` node_categorical columns, and these, (n, count)."""
    if not count or graph.node_categorical is None:
        return graph, np.zeros((graph.n, 0), np.int64)
    kept = graph.node_categorical.shape[1] - count
    plain = graph.with_attributes(node_categorical=graph.node_categorical[:, :kept] if kept else None)
    return plain, graph.node_categorical[:, kept:]


def first_nodes(graph: Graph, count: int) -> Graph:
    """The graph of the first ``count`` nodes."""
    return graph.subgraph(np.arange(min(count, graph.n)))


def written_counts(counts: Ints) -> SlotValues:
    """Counts (n, c) as numbers that round to them; what is below zero rounds to none."""
    values = counts.astype(np.float32)
    low = np.where(counts > 0, values - np.float32(0.5), np.float32(-FREE))
    high = values + np.float32(0.5)
    weight = np.full(counts.shape[1], COUNT_WEIGHT, np.float32)
    return SlotValues(values, np.ones(values.shape, bool), low, high, weight, np.empty(0, np.float32))


def within_limit(counts: Ints, limit: int) -> Ints:
    """Counts (n,) that add up to ``limit`` at most; the last ones are cut."""
    total = counts.cumsum()
    if not len(counts) or total[-1] <= limit:
        return counts
    return np.diff(np.minimum(total, max(0, limit)), prepend=0)


def read_counts(values: Floats, limit: int = 2**31 - 1) -> Ints:
    """The counts (n, c) that numbers round to."""
    return _rounded(values, limit)


@njit(cache=True)
def _rounded(values: Any, limit: int) -> Any:
    counts = np.empty(values.shape, np.int64)
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            value = values[i, j]
            counts[i, j] = np.int64(np.rint(min(np.float64(value), np.float64(limit)))) if value > 0 else 0  # NaN is 0
    return counts


def _nothing(n: int) -> SlotValues:
    empty = np.empty((n, 0), np.float32)
    return SlotValues(empty, np.empty((n, 0), bool), empty, empty, np.empty(0, np.float32), np.empty(0, np.float32))


def state_array(state: State, name: str) -> NDArray[Any]:
    return state.tensors[name].numpy()
