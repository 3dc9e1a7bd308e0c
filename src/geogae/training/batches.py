"""Ordered clouds as padded batches of like size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from geogae.geometry.cloud import HyperballCloud

_PAIRS = 1 << 26  # of nodes that a batch may hold, where it need not be of a given size: 64 MiB of adjacency
_POOL = 32  # batches that are cut from one sorted pool: like sizes together, yet other company every epoch


class Batch(NamedTuple):
    """B graphs in node order, padded to n nodes."""

    balls: Tensor  # (B, n, d), the last ball repeated where a graph has ended
    sizes: Tensor  # (B,)
    adjacency: Tensor  # (B, n, n), bool

    def to(self, device: torch.device) -> Batch:
        return Batch(*(part.to(device, non_blocking=True) for part in self))


class Sequences:
    """Clouds of one dimension, read in node order; indexing with a list of numbers gives a batch."""

    def __init__(self, clouds: Sequence[HyperballCloud]) -> None:
        self.balls = [torch.from_numpy(cloud.balls) for cloud in clouds]  # (n, d) each
        self.sizes = np.array([cloud.n for cloud in clouds])
        self.edges = [_ordered_edges(cloud) for cloud in clouds]  # (E, 2) each

    def __len__(self) -> int:
        return len(self.balls)

    def __getitem__(self, chosen: Sequence[int]) -> Batch:
        sizes = self.sizes[chosen]
        count, n, d = len(chosen), int(sizes.max()), self.balls[0].shape[1]
        balls = torch.empty(count, n, d)
        adjacency = np.zeros((count, n, n), dtype=bool)
        for row, (graph, size) in enumerate(zip(chosen, sizes, strict=True)):
            balls[row, :size] = self.balls[graph]
            balls[row, size:] = self.balls[graph][-1]
            i, j = self.edges[graph].T
            adjacency[row, i, j] = adjacency[row, j, i] = True
        return Batch(balls, torch.from_numpy(sizes), torch.from_numpy(adjacency))

    def by_size(self, batch_size: int) -> Iterator[list[int]]:
        """All numbers in batches of like size, for work whose order does not matter; large graphs in smaller ones."""
        batch: list[int] = []
        for graph in np.argsort(self.sizes, kind="stable").tolist():
            if batch and (len(batch) == batch_size or (len(batch) + 1) * self.sizes[graph] ** 2 > _PAIRS):
                yield batch
                batch = []
            batch.append(graph)
        if batch:
            yield batch


def epoch_batches(sizes: NDArray[np.int64], batch_size: int, seed: int, epoch: int) -> list[list[int]]:
    """The batches of an epoch, a function of seed and epoch alone: shuffled, alike in size within a batch."""
    random = np.random.default_rng([seed, epoch])
    shuffled = random.permutation(len(sizes))
    batches = []
    for begin in range(0, len(shuffled), _POOL * batch_size):
        pool = shuffled[begin : begin + _POOL * batch_size]
        pool = pool[np.argsort(sizes[pool], kind="stable")]
        batches += [pool[b : b + batch_size].tolist() for b in range(0, len(pool), batch_size)]
    return [batches[b] for b in random.permutation(len(batches))]


def _ordered_edges(cloud: HyperballCloud) -> NDArray[np.int64]:
    edges = cloud.to_graph().edges if cloud.graph is None else cloud.graph.edges
    position = np.empty(cloud.n, dtype=np.int64)
    position[cloud.order] = np.arange(cloud.n)
    return position[edges]
