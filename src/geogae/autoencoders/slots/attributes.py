"""Attributes in slots: the context ranks of a node's categories and of its edges to earlier nodes, and their numbers.

The attributes of an edge are written at its later end: a slot has a place for the edge to the first, the second, … of
the earlier neighbours. A continuous attribute is written as its difference from the average of its category; where
little is left of that, not at all; and where it runs smoothly through the graph, as graph coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from geogae.autoencoders.base import State
from geogae.autoencoders.schema import Block, Columns, Schema
from geogae.autoencoders.slots.base import FREE, Floats, Ints, SlotFeature, SlotValues, state_array
from geogae.autoencoders.slots.context_ranks import ContextRanks
from geogae.autoencoders.slots.graph_coefficients import FUNCTIONS, coefficients, functions, smooth_and_rough
from geogae.graph import Graph

RANK, NUMBER = 1.5, 0.3  # units of ranks and numbers in a slot, against those of the balls
RANK_WEIGHT, NUMBER_WEIGHT = 30.0, 1.0  # of a rank, or a number, that is off, against a pair of nodes
SHRINK = 2.0  # sightings that the overall average counts for beside a category's own
COEFFICIENTS = 0.25  # of z at most are graph coefficients


class Attributes(SlotFeature):
    """The places of a slot, in their order: for its node and then for each edge, ranks and numbers.

    ``edges`` is the number of earlier neighbours that a slot has places for. ``smooth`` are the continuous node columns
    that are written as graph coefficients, ``rough`` those in the slots. With ``decoded=False`` z is made of the
    attributes, but they need not come back.
    """

    name = "attributes"
    schema: Schema
    random_share = 0.3  # a rank above 0 may come anywhere …
    random_share_without_contexts = 0.1  # … while categories as they are come where training graphs have them

    def __init__(
        self, schema: Schema, edges: int, smooth: Sequence[int], rough: Sequence[int], decoded: bool = True
    ) -> None:
        self.schema, self.edges, self.decoded = schema, edges, decoded
        self.node, self.edge = schema.node, schema.edge
        self.smooth, self.rough = list(smooth), list(rough)
        self.ranks = ContextRanks([len(c) for c in self.node.categories], [len(c) for c in self.edge.categories])
        self.averages = [np.zeros((_kinds(block), len(block.mean))) for block in (self.node, self.edge)]
        own, each = self._widths
        self.width, self.gaps = own + self.edges * each, self.edges > 0
        self.coefficients = len(self.smooth) * FUNCTIONS

    @classmethod
    def of(
        cls,
        schema: Schema,
        train: Sequence[tuple[Graph, Ints]],
        rest: Sequence[Graph],
        latent_dim: int,
        decoded: bool = True,
        contexts: bool = True,
    ) -> Self:
        """Expectations of training cores and their counts, and places for the ``rest``, too; all in node order.

        Without ``contexts`` the rank of a category is its number: what a slot says does not depend on other slots.
        """
        cores, counts = [core for core, _ in train], [own for _, own in train]
        nodes, edges = ([block.columns(core) for core in cores] for block in (schema.node, schema.edge))
        averages = [_averages(schema.node, nodes), _averages(schema.edge, edges)]
        left = [part.numbers - averages[0][_kind(schema.node, part.codes)] for part in nodes]
        smooth, rough = smooth_and_rough(cores, left)
        if len(smooth) * FUNCTIONS > COEFFICIENTS * latent_dim:
            smooth, rough = [], sorted([*smooth, *rough])
        most = max(map(earlier_neighbours, [*cores, *rest])) if schema.edge.width else 0
        feature = cls(schema, most, smooth, rough, decoded)
        feature.averages = averages
        if not contexts:
            feature.random_share = cls.random_share_without_contexts
        else:
            feature.ranks.fit(cores, [part.codes for part in nodes], [part.codes for part in edges], counts)
        return feature

    def lossy(self, core: Graph) -> str | None:
        if unlike := self.schema.lossy(core):
            return unlike
        if self.edge.width and (most := earlier_neighbours(core)) > self.edges:
            return f"a node has edges to {most} earlier ones; the model has places for the attributes of {self.edges}"
        return None

    def write(self, core: Graph, counts: Ints) -> SlotValues:
        node, edge = self.node.columns(core), self.edge.columns(core)
        ranks = self.ranks.ranks(core, node.codes, edge.codes, counts)
        numbers = [part.numbers - self._expected(at, part.codes) for at, part in enumerate((node, edge))]
        smooth = coefficients(core, numbers[0][:, self.smooth]).ravel()
        numbers[0] = numbers[0][:, self.rough]
        values, present = (np.zeros((core.n, self.width), kind) for kind in (np.float32, bool))
        low, high = np.full_like(values, -FREE), np.full_like(values, FREE)
        blocks = (self.node, self.edge)
        for (slots, places), rank, number, block in zip(self._places(core), ranks, numbers, blocks, strict=True):
            if block is self.edge and not self.edges:
                continue  # there are no places for edges
            c = rank.shape[1]
            # a number above the last rank is read as the last rank
            last = rank == [len(known) - 1 for known in block.categories]
            values[slots, places] = np.concatenate([RANK * bits(rank), NUMBER * number], axis=1)
            present[slots, places] = True
            low[slots, places[:, :c]] = np.where(rank > 0, RANK * bits(rank - 0.5), -FREE)
            high[slots, places[:, :c]] = np.where(last, FREE, RANK * bits(rank + 0.5))
            low[slots, places[:, c:]] = high[slots, places[:, c:]] = NUMBER * number
        written = SlotValues(values, present, low, high, self._weights(), smooth.astype(np.float32))
        return written if self.decoded else written.unbounded()

    def read(self, values: Floats, coefficients: Floats, core: Graph, counts: Ints) -> Graph:
        if not self.decoded:
            return core
        codes, numbers = self._read(core, values, counts)
        node, edge = (self._expected(at, codes[at]) for at in (0, 1))
        node[:, self.rough] += numbers[0] / NUMBER
        edge += numbers[1] / NUMBER
        if self.smooth:
            node[:, self.smooth] += functions(core) @ coefficients.reshape(FUNCTIONS, -1)
        return self.schema.with_attributes(
            core, Columns(codes[0], node.astype(np.float32)), Columns(codes[1], edge.astype(np.float32))
        )

    def coefficients_beside(self, true: Graph, core: Graph, values: Floats, counts: Ints) -> Floats:
        """See the base class.

        The functions that coefficients multiply are those of the decoded core: one wrong edge makes others of them.
        """
        codes, _ = self._read(core, values, counts)
        left = self.node.columns(true).numbers - self._expected(0, codes[0])
        return coefficients(core, left[:, self.smooth]).ravel().astype(np.float32)

    def state(self) -> State:
        arrays: dict[str, NDArray[Any]] = {
            "contexts": self.ranks.contexts,
            "codes": self.ranks.codes,
            "counts": self.ranks.counts,
        }
        arrays |= {"node_averages": self.averages[0], "edge_averages": self.averages[1]}
        facts: dict[str, Any] = {"schema": self.schema.to_json(), "edges": self.edges, "decoded": self.decoded}
        facts |= {"smooth": self.smooth, "rough": self.rough}
        return State({name: torch.from_numpy(array) for name, array in arrays.items()}, facts)

    @classmethod
    def from_state(cls, state: State) -> Self:
        facts = state.facts
        schema = Schema.from_json(facts["schema"])
        feature = cls(schema, int(facts["edges"]), facts["smooth"], facts["rough"], bool(facts["decoded"]))
        ranks = feature.ranks
        ranks.contexts, ranks.codes, ranks.counts = (
            state_array(state, name) for name in ("contexts", "codes", "counts")
        )
        known = max([*ranks.node_sizes, *ranks.edge_sizes], default=0)
        if len({len(ranks.contexts), len(ranks.codes), len(ranks.counts)}) > 1 or (
            len(ranks.codes) and not 0 <= ranks.codes.min() <= ranks.codes.max() < known
        ):
            raise ValueError("the tables of context ranks do not belong together")
        found = [state_array(state, "node_averages"), state_array(state, "edge_averages")]
        if any(one.shape != other.shape for one, other in zip(found, feature.averages, strict=True)):
            raise ValueError("the averages do not fit the schema")
        feature.averages = found
        return feature

    def _read(self, core: Graph, values: Floats, counts: Ints) -> tuple[tuple[Ints, Ints], tuple[Floats, Floats]]:
        """Codes of nodes and edges, and their numbers, out of what the slots of a core hold."""
        node, edge = (values[slots, places] for slots, places in self._places(core))
        c, e = len(self.node.categories), len(self.edge.categories)
        if not self.edges:  # no training core had an edge: what is expected comes back
            edge = np.zeros((len(core.edges), e + len(self.edge.mean)), np.float32)
        codes = self.ranks.read(core, rank_of(node[:, :c] / RANK), rank_of(edge[:, :e] / RANK), counts)
        return codes, (node[:, c:], edge[:, e:])

    def _expected(self, at: int, codes: Ints) -> NDArray[np.float64]:
        """Continuous attributes as their category has them on average; ``at`` 0 for nodes, 1 for edges."""
        return self.averages[at][_kind((self.node, self.edge)[at], codes)]

    @property
    def _widths(self) -> tuple[int, int]:
        """Numbers for a node and for an edge."""
        edge = len(self.edge.categories) + len(self.edge.mean) if self.edges else 0
        return len(self.node.categories) + len(self.rough), edge

    def _places(self, core: Graph) -> list[tuple[Ints, Ints]]:
        """Slots (rows, 1) and places (rows, columns) of nodes and of edges; edges beyond the places share the last."""
        own, each = self._widths
        i, j = core.edges.T
        order = np.lexsort((i, j))
        number = np.empty(len(j), np.int64)  # of the edge among those to earlier nodes
        number[order] = np.arange(len(j)) - np.searchsorted(j[order], j[order])
        begin = own + each * number.clip(max=max(0, self.edges - 1))
        slot = np.arange(core.n)[:, None]
        return [(slot, np.arange(own) + 0 * slot), (j[:, None], begin[:, None] + np.arange(each))]

    def _weights(self) -> Floats:
        """Of each place of a slot, (e,)."""
        node = np.repeat([RANK_WEIGHT, NUMBER_WEIGHT], [len(self.node.categories), len(self.rough)])
        edge = np.repeat([RANK_WEIGHT, NUMBER_WEIGHT], [len(self.edge.categories), len(self.edge.mean)])
        return np.concatenate([node, np.tile(edge, self.edges)]).astype(np.float32)


def bits(rank: NDArray[np.floating] | Ints) -> NDArray[np.float64]:
    """Where a rank stands on its scale: 0, 1, 1.6, 2, …, so that rare categories do not dominate distances."""
    return np.log2(1 + rank)


def rank_of(written: Floats) -> Ints:
    """The rank between whose bounds, half a rank below and above, a number is."""
    return np.rint(np.exp2(np.nan_to_num(written.astype(np.float64)).clip(0, 40)) - 1).astype(np.int64)


def earlier_neighbours(graph: Graph) -> int:
    """The most that a node has."""
    return int(np.bincount(graph.edges[:, 1], minlength=1).max())


def _kinds(block: Block) -> int:
    return len(block.categories[0]) if block.categories else 1


def _kind(block: Block, codes: Ints) -> Ints:
    """What a row's continuous attributes are expected by: its first category, the first one where it is unknown."""
    return codes[:, 0].clip(min=0) if block.categories else np.zeros(len(codes), np.int64)


def _averages(block: Block, found: Sequence[Columns]) -> NDArray[np.float64]:
    numbers = np.concatenate([part.numbers for part in found]).astype(np.float64)
    kinds = np.concatenate([_kind(block, part.codes) for part in found])
    totals = np.zeros((_kinds(block), numbers.shape[1]))
    np.add.at(totals, kinds, numbers)
    return totals / (np.bincount(kinds, minlength=_kinds(block)) + SHRINK)[:, None]
