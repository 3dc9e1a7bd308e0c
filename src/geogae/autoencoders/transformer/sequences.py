"""Ordered clouds as padded batches of like size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from geogae.autoencoders.clouds import CloudReader
from geogae.autoencoders.schema import Schema
from geogae.autoencoders.slots import SlotFeatures
from geogae.autoencoders.transformer.features import Features
from geogae.errors import GeoGAEError
from geogae.geometry.cloud import HyperballCloud
from geogae.graph import Graph
from geogae.training.batches import PAIRS

NOTHING_FOLDED = SlotFeatures()
_ATTRIBUTED_PAIRS = 1 << 22  # PAIRS where edge attributes need the scores of each head: 128 MiB for eight


class Batch(NamedTuple):
    """B graphs in node order, padded to n nodes."""

    balls: Tensor  # (B, n, d + e), balls and roots of counts, the last one repeated where a graph has ended
    sizes: Tensor  # (B,)
    adjacency: Tensor  # (B, n, n), bool
    attributes: Features | None = None

    def to(self, device: torch.device) -> Batch:
        balls, sizes, adjacency = (part.to(device, non_blocking=True) for part in self[:3])
        return Batch(balls, sizes, adjacency, self.attributes and self.attributes.to(device))


class Sequences:
    """Clouds of one dimension, read in node order; indexing with a list of numbers gives a batch.

    With a ``schema`` batches have the attributes of the clouds' graphs. With ``features`` that fold, a ball is followed
    by the square roots of its counts, which are told apart about equally well whether they are small or large.
    """

    def __init__(
        self, clouds: Sequence[HyperballCloud], schema: Schema | None = None, features: SlotFeatures = NOTHING_FOLDED
    ) -> None:
        self.balls = [_with_counts(cloud, features) for cloud in clouds]  # (n, d + e) each
        self.sizes = np.array([cloud.n for cloud in clouds])
        self.edges = [_ordered_edges(cloud) for cloud in clouds]  # (E, 2) each, i < j
        self.features = [_ordered_features(cloud, schema) for cloud in clouds] if schema else None
        self.pairs = _ATTRIBUTED_PAIRS if schema and schema.edge.width else PAIRS

    def __len__(self) -> int:
        return len(self.balls)

    def __getitem__(self, chosen: Sequence[int]) -> Batch:
        sizes = self.sizes[chosen]
        count, n, d = len(chosen), int(sizes.max()), self.balls[0].shape[1]
        balls = np.empty((count, n, d), dtype=np.float32)
        adjacency = np.zeros((count, n, n), dtype=bool)
        for row, (graph, size) in enumerate(zip(chosen, sizes, strict=True)):
            balls[row, :size] = self.balls[graph]
            balls[row, size:] = self.balls[graph][-1]
            i, j = self.edges[graph].T
            adjacency[row, i, j] = adjacency[row, j, i] = True
        padded, edges = torch.from_numpy(balls), torch.from_numpy(adjacency)
        return Batch(padded, torch.from_numpy(sizes), edges, self._attributes(chosen, n))

    def _attributes(self, chosen: Sequence[int], n: int) -> Features | None:
        if self.features is None:
            return None
        nodes = np.empty((len(chosen), n, self.features[0][0].shape[1]), dtype=np.float32)
        for row, graph in enumerate(chosen):
            own = self.features[graph][0]
            nodes[row, : len(own)] = own
            nodes[row, len(own) :] = own[-1]
        edges = np.concatenate([self.edges[graph] for graph in chosen])  # (M, 2)
        rows = np.repeat(np.arange(len(chosen)), [len(self.edges[graph]) for graph in chosen])  # (M,)
        edge_features = np.concatenate([self.features[graph][1] for graph in chosen])
        places = np.column_stack((rows, edges))  # (M, 3)
        return Features(*(torch.from_numpy(part) for part in (nodes, places, edge_features)))


def edited_sequences(
    graphs: Sequence[Graph], reader: CloudReader, schema: Schema | None, features: SlotFeatures
) -> Sequences:
    """Of edited copies of the graphs that ``reader`` was fitted on."""
    return Sequences(reader.read_edited([features.fold(graph)[0] for graph in graphs]), schema, features)


def counts_of(roots: NDArray[np.float32]) -> NDArray[np.float32]:
    """Counts, not rounded, from the numbers (n, e) that follow the balls."""
    return np.square(roots.clip(min=0))


def _with_counts(cloud: HyperballCloud, features: SlotFeatures) -> NDArray[np.float32]:
    """(n, d + e)."""
    if not features:
        return cloud.balls
    return np.concatenate([cloud.balls, np.sqrt(features.write(cloud.ordered_graph).values)], axis=1)


def _ordered_edges(cloud: HyperballCloud) -> NDArray[np.int64]:
    edges = cloud.to_graph().edges if cloud.graph is None else cloud.graph.edges
    position = np.empty(cloud.n, dtype=np.int64)
    position[cloud.order] = np.arange(cloud.n)
    return np.sort(position[edges], axis=1)


def _ordered_features(cloud: HyperballCloud, schema: Schema) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Of the nodes, (n, w_node), in node order; of the edges, (E, w_edge), as they come."""
    if cloud.graph is None:
        raise GeoGAEError("this cloud was decoded, not fitted: it has no graph with attributes to read")
    node, edge = (block.features(block.columns(cloud.graph)) for block in (schema.node, schema.edge))
    return node[cloud.order], edge
