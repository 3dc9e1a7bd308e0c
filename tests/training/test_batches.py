"""Batches: every graph once an epoch, alike in size, padded with the last ball."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from toys import toy_clouds

from geogae import Graph, datasets, fit_clouds
from geogae.autoencoders.schema import Schema
from geogae.autoencoders.transformer.sequences import Sequences
from geogae.errors import GeoGAEError
from geogae.training.batches import by_size, epoch_batches
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


def test_a_batch_has_the_attributes_in_node_order() -> None:
    graphs = datasets.load("MUTAG")[:6]
    clouds, schema, chosen = fit_clouds(graphs, 4), Schema.of(graphs), [4, 0, 5]
    batch = Sequences(clouds, schema)[chosen]
    assert batch.attributes is not None
    nodes, edges, edge_features = batch.attributes
    assert nodes.dtype == edge_features.dtype == torch.float32 and edges.dtype == torch.int64
    assert nodes.shape[-1] == schema.node.width and edge_features.shape[-1] == schema.edge.width
    for row, graph in enumerate(chosen):
        n, ordered = clouds[graph].n, graphs[graph].relabel(clouds[graph].order)
        assert np.array_equal(nodes[row, :n], schema.node.features(schema.node.columns(ordered)))
        assert (nodes[row, n:] == nodes[row, n - 1]).all()
        own = edges[:, 0] == row
        sort = np.lexsort(edges[own][:, [2, 1]].T.numpy())
        assert np.array_equal(edges[own][sort, 1:], ordered.edges)  # i < j
        assert np.array_equal(edge_features[own][sort], schema.edge.features(schema.edge.columns(ordered)))


def test_attributes_leave_the_rest_of_a_batch_as_it_is_and_go_where_it_goes() -> None:
    graphs = datasets.load("MUTAG")[:6]
    clouds = fit_clouds(graphs, 4)
    plain, dressed = (Sequences(clouds, schema)[[3, 1]].to(torch.device("cpu")) for schema in (None, Schema.of(graphs)))
    assert plain.attributes is None and dressed.attributes is not None
    assert all(torch.equal(one, other) for one, other in zip(plain[:3], dressed[:3], strict=True))  # type: ignore[arg-type]
    elsewhere = dressed.to(torch.device("meta"))
    assert elsewhere.balls.is_meta and elsewhere.attributes is not None and all(t.is_meta for t in elsewhere.attributes)


def test_graphs_without_edges_and_blocks_without_columns_are_batches_too() -> None:
    bare = Graph(2, node_continuous=[[1.0], [3.0]])
    schema = Schema.of([bare])
    batch = Sequences(fit_clouds([bare], 3), schema)[[0, 0]]
    assert batch.attributes is not None
    assert batch.attributes.nodes[0, :, 0].sort().values.tolist() == [-1, 1]  # standardised
    assert batch.attributes.edges.shape == (0, 3) and batch.attributes.edge_features.shape == (0, 0)


def test_a_cloud_without_a_graph_has_no_attributes() -> None:
    schema = Schema.of([Graph(1, node_continuous=[[1.0]])])
    with pytest.raises(GeoGAEError, match="decoded, not fitted"):
        Sequences(toy_clouds(1), schema)


def test_by_size_has_every_graph_once_in_order_of_size() -> None:
    sequences = Sequences(toy_clouds(30))
    order = [graph for batch in by_size(sequences.sizes, 7, sequences.pairs) for graph in batch]
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
