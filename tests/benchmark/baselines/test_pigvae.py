"""PIGVAE: invariance, the attention by its definition, the soft permutation, overfitting."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small import attributed, graphs, prepared, random_graph

from geogae import Graph
from geogae.autoencoders.base import Reading
from geogae.benchmark.baselines import pigvae
from geogae.benchmark.baselines.pigvae import (
    PIGVAE,
    Attention,
    entropies,
    is_real,
    penalties,
    soft_permutation,
)


@pytest.mark.parametrize("attributes", ["ignored", "decoded"])
def test_z_is_invariant_and_node_states_are_equivariant(attributes: str) -> None:
    examples = [attributed(graph) for graph in graphs()]
    model = prepared("pigvae", examples, attributes=attributes, layers=2)
    graph, order = examples[0], np.random.default_rng(1).permutation(examples[0].n)
    with torch.inference_mode():
        one, other = (
            model.network.encode(model.collate([Reading(g)]))  # type: ignore[operator]
            for g in (graph, graph.relabel(order))
        )
    assert (one[0] - other[0]).abs().max() < 1e-5
    assert (one[2][0, order] - other[2][0]).abs().max() < 1e-5


def test_decoding_is_equivariant_to_positions() -> None:
    """What the authors do (P at test time) and what we do (the graph in its own order) is the same."""
    model = prepared("pigvae", graphs())
    n, order = 6, np.random.default_rng(2).permutation(6)
    table, real = pigvae.positions(n, torch.device("cpu")), torch.ones(1, n, dtype=torch.bool)
    z = torch.randn(1, model.latent_dim)
    with torch.inference_mode():
        own = model.network.decode(z, table[None], real).edges[0]  # type: ignore[operator]
        moved = model.network.decode(z, table[order][None], real).edges[0]  # type: ignore[operator]
    assert (own[order][:, order] - moved).abs().max() < 1e-5


@pytest.mark.parametrize("least", [1, 2, 5])
def test_padding_changes_nothing(least: int) -> None:
    model = prepared("pigvae", graphs())
    readings = [Reading(random_graph(n, 3)) for n in (least, 9)]
    with torch.inference_mode():
        together = model.codes(model.collate(readings))[0]
        alone = model.codes(model.collate(readings[:1]))[0]
    assert (together - alone).abs().max() < 1e-5


def test_attention_is_what_its_definition_says() -> None:
    torch.manual_seed(0)
    layer, n, width = Attention(8, 2, 16, 0.0).eval(), 4, 8
    x, real = torch.randn(1, n, n, width), torch.tensor([[True, True, True, False]])
    q, k, v = layer.qkv(x)[0].view(n, n, 3, 2, pigvae.KEY).unbind(2)  # (N, N, heads, KEY)
    expected = torch.zeros(n, n, 2, pigvae.KEY)
    for i in range(3):
        for j in range(3):
            allowed = [other for other in range(3) if other not in (i, j)] or [0, 1, 2]
            for head in range(2):
                scores = torch.stack([q[i, j, head] @ k[one, i, head] / 8 for one in allowed])
                values = torch.stack([v[one, i, head] for one in allowed])
                expected[i, j, head] = scores.softmax(0) @ values
    y = layer.norm(x[0] + layer.out(expected.flatten(2)))
    y = layer.last_norm(y + layer.feedforward(y))
    assert torch.allclose(layer(x, penalties(real))[0, :3, :3], y[:3, :3], atol=1e-5)


def test_soft_permutation() -> None:
    scores = torch.tensor([[100.0, 300.0, 200.0, -1.0]])
    real = is_real(torch.tensor([3]), 4)
    permutation = soft_permutation(scores, real)
    expected = torch.tensor([[0.0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]])  # (node, position)
    assert torch.allclose(permutation[0], expected)
    assert entropies(permutation, real) < 1e-4
    uniform = torch.full((1, 4, 4), 0.25)
    assert torch.isclose(entropies(uniform, is_real(torch.tensor([4]), 4)), torch.tensor(2 * np.log(4.0)).float())


def test_the_zero_diagonal_is_all_that_is_left_of_a_perfect_loss() -> None:
    """ln 2 · Σ n / Σ n², for logits without doubt."""
    model = prepared("pigvae", graphs(), variational=False, ordered=False, dropout=0.0)
    examples = [random_graph(5, 1), random_graph(7, 2)]
    batch = model.collate([Reading(graph) for graph in examples])
    written = pigvae.Written(
        torch.where(batch.hops == 1, 50.0, -50.0) * (1 - torch.eye(7)), torch.zeros(2, 7, 1), torch.zeros(2, 7, 7, 0)
    )
    size = (batch.sizes - model.facts["size_mean"]) / model.facts["size_scale"]
    loss = model.loss(lambda batch, ordered: (written, None, size, size, None), batch)["total"]  # type: ignore[arg-type]
    assert torch.isclose(loss, torch.tensor(np.log(2) * (5 + 7) / (25 + 49)).float(), atol=1e-5)


def test_paths_longer_than_five_and_none_at_all_are_one_class() -> None:
    model = prepared("pigvae", graphs())
    path = Graph(9, [(i, i + 1) for i in range(7)])  # node 8 is apart
    assert model.collate([Reading(path)]).hops[0, 0].tolist() == [0, 1, 2, 3, 4, 5, 5, 5, 5]


def overfit(ordered: bool, epochs: int, monkeypatch: pytest.MonkeyPatch) -> float:
    monkeypatch.setattr(pigvae, "KEY", 16)
    examples = graphs(8, 6, 8)
    model = PIGVAE(
        latent_dim=32, hidden=64, layers=2, heads=4, feedforward=128, dropout=0.0, variational=False, lr=1e-3,
        ordered=ordered, batch_size=8, epochs=epochs, core_minutes=None, validations=8,
    )  # fmt: skip
    return max(row["validation_choice"] for row in model.fit(examples, examples))


@pytest.mark.slow
def test_eight_graphs_are_learned_by_heart(monkeypatch: pytest.MonkeyPatch) -> None:
    assert overfit(False, 500, monkeypatch) > 0.95


@pytest.mark.slow
def test_eight_graphs_are_learned_with_an_order_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert overfit(True, 900, monkeypatch) > 0.8
