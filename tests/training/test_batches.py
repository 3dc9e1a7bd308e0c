"""Batches: every graph once an epoch, alike in size, padded with the last ball."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from toys import toy_clouds

from geogae import Graph, datasets, fit_clouds
from geogae.training.batches import Sequences, epoch_batches
from geogae.training.distributed import Processes

SIZES = np.random.default_rng(0).integers(1, 40, 1003)


@pytest.mark.parametrize("batch_size", [1, 7, 32, 2000])
def test_an_epoch_has_every_graph_once(batch_size: int) -> None:
    batches = epoch_batches(SIZES, batch_size, seed=3, epoch=2)
    assert sorted(graph for batch in batches for graph in batch) == list(range(len(SIZES)))
    assert len(batches) == -(-len(SIZES) // batch_size)
    assert sorted(map(len, batches))[1:] == [batch_size] * (len(batches) - 1)  # one may be smaller


def test_batches_depend_on_seed_and_epoch_alone() -> None:
    def batches(seed: int, epoch: int) -> list[list[int]]:
        return epoch_batches(SIZES, 32, seed, epoch)

    assert batches(0, 1) == batches(0, 1)
    assert len({str(batches(seed, epoch)) for seed in (0, 1) for epoch in (0, 1)}) == 4


def test_batches_are_alike_in_size() -> None:
    def spread(batches: list[list[int]]) -> float:
        return float(np.mean([np.ptp(SIZES[batch]) for batch in batches]))

    plain = np.random.default_rng(0).permutation(len(SIZES)).tolist()
    assert spread(epoch_batches(SIZES, 8, 0, 0)) < spread([plain[b : b + 8] for b in range(0, len(plain), 8)]) / 5


def test_company_changes_from_epoch_to_epoch() -> None:
    first, second = ({frozenset(batch) for batch in epoch_batches(SIZES, 8, 0, epoch)} for epoch in (0, 1))
    assert not first & second


def test_a_batch_is_the_clouds_in_their_order() -> None:
    clouds = fit_clouds(datasets.load("MUTAG")[:6], 4)
    chosen = [4, 0, 5]
    batch = Sequences(clouds)[chosen]
    assert batch.sizes.tolist() == [clouds[graph].n for graph in chosen]
    for row, graph in enumerate(chosen):
        cloud = clouds[graph]
        n, ordered = cloud.n, cloud.graph.relabel(cloud.order)  # type: ignore[union-attr]
        assert np.array_equal(batch.balls[row, :n, :-1], cloud.centers[cloud.order])
        assert np.array_equal(batch.balls[row, :n, -1], cloud.radii_raw[cloud.order])
        assert (batch.balls[row, n:] == batch.balls[row, n - 1]).all()
        assert np.array_equal(batch.adjacency[row, :n, :n], ordered.adjacency())
        assert not batch.adjacency[row, n:].any() and not batch.adjacency[row, :, n:].any()


def test_a_batch_of_clouds_without_graphs_has_the_graphs_they_read_as() -> None:
    cloud = toy_clouds(3)[2]
    batch = Sequences([cloud])[[0]]
    assert np.array_equal(batch.adjacency[0], cloud.to_graph().relabel(cloud.order).adjacency())


def test_attributes_change_no_ball() -> None:
    path = Graph(3, [(0, 1), (1, 2)])
    coloured = Graph(3, [(0, 1), (1, 2)], node_categorical=[[1], [2], [3]])
    plain, other = (Sequences(fit_clouds([graph], 3))[[0]] for graph in (path, coloured))
    assert torch.equal(plain.balls.sort(1).values, other.balls.sort(1).values)
    assert torch.equal(plain.adjacency.sum(), other.adjacency.sum())


def test_by_size_has_every_graph_once_in_order_of_size() -> None:
    sequences = Sequences(toy_clouds(30))
    order = [graph for batch in sequences.by_size(7) for graph in batch]
    assert sorted(order) == list(range(30))
    assert (np.diff(sequences.sizes[order]) >= 0).all()


# -- parts of a batch for several processes ---


@pytest.mark.parametrize("size", [1, 2, 3, 8, 9])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_the_mean_over_processes_is_the_mean_over_the_batch(size: int, count: int) -> None:
    values = np.random.default_rng(size).normal(size=100)
    batch = list(range(10, 10 + size))
    peers = [Processes(rank, count) for rank in range(count)]
    shares = [peer.share(batch) for peer in peers]
    assert all(shares)
    means = [values[share].mean() * peer.weight(batch) for peer, share in zip(peers, shares, strict=True)]
    assert np.mean(means) == pytest.approx(values[batch].mean())
    kept = [graph for peer, share in zip(peers, shares, strict=True) if peer.weight(batch) for graph in share]
    assert sorted(kept) == batch


def test_a_process_alone() -> None:
    alone = Processes()
    assert alone.writes and alone.share([3, 1]) == [3, 1] and alone.weight([3, 1]) == 1
    assert alone.agreed(0.25) == 0.25 and alone.any(True) and not alone.any(False)
    assert torch.equal(alone.mean(torch.arange(3.0)), torch.arange(3.0))
