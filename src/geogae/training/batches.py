"""What the loop trains on: sources of batches, and which graphs go into which batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

PAIRS = 1 << 26  # of nodes in a batch at most, where it need not be of a given size: 64 MiB of adjacency
_POOL = 32  # batches cut from one sorted pool: graphs of a batch are alike in size, and batches differ between epochs


class Source(Protocol):
    """What batches are cut from; indexing with a list of numbers gives a batch, which has ``to(device)``."""

    sizes: NDArray[np.int64]  # of each graph: batches are of like size

    def __len__(self) -> int: ...

    def __getitem__(self, chosen: Sequence[int]) -> Any: ...


@runtime_checkable
class Stream(Protocol):
    """Other graphs every epoch; epoch e is always the same."""

    sizes: NDArray[np.int64]  # of the graphs that it begins with, to know it again when a run is resumed

    def __len__(self) -> int:
        """Graphs in an epoch."""

    def epoch(self, number: int) -> Source: ...


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


def by_size(sizes: Sequence[int] | NDArray[np.int64], batch_size: int, pairs: float = PAIRS) -> Iterator[list[int]]:
    """All numbers in batches of like size, for work whose order does not matter; large graphs in smaller batches."""
    order = np.argsort(sizes, kind="stable")
    squares = np.asarray(sizes)[order].astype(np.float64) ** 2  # ascending
    begin = 0
    while begin < len(order):
        candidates = squares[begin : begin + batch_size]
        fitting = np.count_nonzero(np.arange(1, len(candidates) + 1) * candidates <= pairs)
        end = begin + max(1, int(fitting))
        yield order[begin:end].tolist()
        begin = end
