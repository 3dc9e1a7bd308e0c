"""ReGAE: blocks and matrices, the node order, the stop rule, the loss, overfitting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from small import graphs, prepared, random_graph
from torch import Tensor, nn

from geogae import Graph, datasets
from geogae.autoencoders.base import Reading
from geogae.benchmark.baselines.regae import ReGAE, breadth_first, from_blocks, places, to_blocks


@pytest.mark.parametrize("block", [1, 2, 4, 7])
@pytest.mark.parametrize("n", [1, 2, 4, 5, 8, 9, 13])
def test_blocks_and_back(n: int, block: int) -> None:
    graph = random_graph(n, seed=block)
    blocks = to_blocks(graph, block)
    assert len(blocks) == max(1, -(-(n - 1) // block))
    assert from_blocks([cells == 1 for cells in blocks], n, block) == graph
    assert sum((cells >= 0).sum() for cells in blocks) == n * (n - 1) // 2  # every pair of nodes once


def test_blocks_by_hand() -> None:
    """Four nodes, B = 2: rows 1 to 3 of the lower triangle, padded on top and on the right."""
    blocks = to_blocks(Graph(4, [(0, 1), (1, 2), (0, 3)]), 2)
    #        c0  c1  c2  c3
    # pad    -1  -1  -1  -1
    # row 1   1  -1  -1  -1
    # row 2   0   1  -1  -1
    # row 3   1   0   0  -1
    assert blocks[0].tolist() == [[0, 1, 1, 0]]  # the corner
    assert blocks[1].tolist() == [[-1, -1, 1, -1], [-1, -1, 0, -1]]


def test_breadth_first_order() -> None:
    graph = Graph(7, [(4, 1), (4, 2), (4, 3), (1, 0), (5, 6)])  # node 4 has the highest degree; 5-6 is apart
    assert breadth_first(graph).tolist() == [4, 1, 2, 3, 0, 5, 6]
    for seed in range(5):
        graph = random_graph(12, seed, density=0.3)
        order = breadth_first(graph)
        assert sorted(order) == list(range(12))
        depth = nx.single_source_shortest_path_length(graph.to_networkx(), int(order[0]))
        along = [depth[node] for node in order if node in depth]
        assert along == sorted(along)


class Oracle(nn.Module):
    """A network whose decoder writes a given graph without doubt."""

    def __init__(self, graph: Graph, block: int) -> None:
        super().__init__()
        self.graph, self.block, self.weight = graph, block, nn.Parameter(torch.zeros(1))

    def decode(self, z: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        known, t = to_blocks(self.graph, self.block), 0
        while True:
            edges = known[t] == 1 if t < len(known) else np.zeros((t + 1, self.block**2), dtype=bool)
            mask = sum(places(t, self.block)) <= self.graph.n - 2
            logits = torch.from_numpy(np.stack([mask, edges], -1)).float() * 40 - 20  # (t + 1, B·B, 2)
            yield logits[None].expand(len(z), -1, -1, -1), torch.zeros(len(z), t + 1, 2)
            t += 1

    def forward(self, batch: Any) -> tuple[list[Tensor], Tensor]:
        diagonals = self.decode(torch.zeros(len(batch.sizes), 1))
        return [next(diagonals)[0] for _ in range(batch.length)], torch.zeros(1)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 10])  # with B = 3 the graph ends within a block, and with it
def test_the_stop_rule_finds_the_size(n: int) -> None:
    graph = random_graph(n, seed=1)
    model = prepared("regae", [*graphs(), random_graph(10, seed=0)])
    model.network = Oracle(graph, model.block)  # type: ignore[attr-defined]
    z = np.zeros((1, model.latent_dim), dtype=np.float32)
    decoding = model.decode(z)[0]
    assert decoding.graph == graph and not decoding.truncated
    batch = model.collate([Reading(graph)])
    assert model.loss(model.network, batch)["total"].item() < 1e-5


def test_the_true_size_ends_the_decoding() -> None:
    model = prepared("regae", graphs())
    readings = model.read(graphs())
    sizes = [decoding.graph.n for decoding in model.decode_with(model.encode(readings), readings, "size")]
    assert sizes == [graph.n for graph in graphs()]


def test_a_mask_that_never_ends_is_cut_and_says_so() -> None:
    model = prepared("regae", graphs(most=6))
    model.network = Oracle(random_graph(40, seed=0), model.block)  # type: ignore[attr-defined]
    decoding = model.decode(np.zeros((1, model.latent_dim), dtype=np.float32))[0]
    assert decoding.truncated and decoding.graph.n == model.facts["largest"] == 6


def test_z_depends_on_the_numbering_only_through_ties() -> None:
    """The leaves of a star are alike. Nodes of equal degree that are not alike keep the order in which they come."""
    star = Graph(6, [(0, leaf) for leaf in range(1, 6)])
    model = prepared("regae", graphs())
    one, other = model.read([star, star.relabel([3, 5, 0, 1, 4, 2])])
    assert one.ordered == other.ordered and np.array_equal(*model.encode([one, other]))
    uneven = Graph(5, [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (0, 4), (0, 2)])
    orders = {model.read([uneven.relabel(np.random.default_rng(seed).permutation(5))])[0].ordered for seed in range(20)}
    assert len(orders) > 1


@pytest.mark.slow
def test_eight_graphs_are_learned_by_heart() -> None:
    examples = [graph.topology() for graph in datasets.load("MUTAG")[:8]]
    model = ReGAE(
        latent_dim=160, block=8, encoder_hidden=(512,), decoder_hidden=(512,), lr=2e-3, permutations=1, batch_size=8,
        epochs=1000, core_minutes=None, validations=5,
    )  # fmt: skip
    history = model.fit(examples, examples)
    assert history[-1]["validation_f1"] > 0.93 and history[-1]["validation_size_error"] == 0
