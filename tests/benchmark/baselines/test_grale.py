"""GRALE: the loss under a plan, the matcher and its epsilon, invariance, alignment, overfitting."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from small import attributed, graphs, prepared, random_graph
from torch import Tensor
from torch.nn import functional as F

from geogae import Graph
from geogae.autoencoders.base import Reading
from geogae.benchmark.baselines.grale import GRALE, laplacian_eigenvectors, sinkhorn
from geogae.benchmark.baselines.grale_loss import Padded, Slots, matched_loss


def case(n: int, sizes: Sequence[int]) -> tuple[Slots, Padded]:
    """Random slots, and a batch with two categories and one number for nodes, three and one for edges."""
    torch.manual_seed(0)
    b = len(sizes)
    real = (torch.arange(n) < torch.tensor(sizes)[:, None]).float()
    label, edge_label = F.one_hot(torch.randint(2, (b, n)), 2), F.one_hot(torch.randint(3, (b, n, n)), 3)
    nodes = torch.cat([label.float(), torch.randn(b, n, 1)], -1)
    edges = torch.cat([edge_label.float(), torch.randn(b, n, n, 1)], -1)
    adjacency = (torch.rand(b, n, n) < 0.5).float()
    batch = Padded(real, nodes, torch.randn(b, n, 16), adjacency, torch.randint(5, (b, n, n)).float(), edges)
    shapes = ((n,), (n, 3), (n, 3), (n, n), (n, n, 4), (n, n), (n, 8))
    return Slots(*(torch.randn(b, *shape) for shape in shapes)), batch


def by_definition(slots: Slots, batch: Padded, plan: Tensor) -> dict[str, float]:
    """The same loss by loops over slots i, j and inputs k, l."""
    sums: dict[str, float] = dict.fromkeys(("exists", "nodes", "neighbours", "edges", "edge_labels", "paths"), 0.0)
    b, n = batch.real.shape
    degree = batch.adjacency.sum(2, keepdim=True).clamp(min=1)
    neighbours = batch.adjacency @ batch.nodes / degree
    for g in range(b):
        size, t = batch.real[g].sum().item(), plan[g]
        for i in range(n):
            for k in range(n):
                h = batch.real[g, k]
                exists = F.binary_cross_entropy_with_logits(slots.exists[g, i], h)
                label = -(slots.nodes[g, i, :2].log_softmax(-1) * batch.nodes[g, k, :2]).sum()
                node = label + (slots.nodes[g, i, 2] - batch.nodes[g, k, 2]).square()
                around = (slots.neighbours[g, i] - neighbours[g, k]).square().sum()
                sums["exists"] += float(t[i, k] * exists) / n / b
                sums["nodes"] += float(t[i, k] * h * node) / size / b
                sums["neighbours"] += float(t[i, k] * h * around) / size / b
                for j in range(n):
                    for l in range(n):  # noqa: E741
                        w = float(t[i, k] * t[j, l] * h * batch.real[g, l]) / size**2 / b
                        edge = F.binary_cross_entropy_with_logits(slots.edges[g, i, j], batch.adjacency[g, k, l])
                        kind = -(slots.edge_labels[g, i, j, :3].log_softmax(-1) * batch.edges[g, k, l, :3]).sum()
                        kind = kind + (slots.edge_labels[g, i, j, 3] - batch.edges[g, k, l, 3]).square()
                        path = (slots.paths[g, i, j] - batch.hops[g, k, l] / n).square()
                        sums["edges"] += w * float(edge)
                        sums["edge_labels"] += w * float(kind)
                        sums["paths"] += w * float(path)
    return sums


@pytest.mark.parametrize("kind", ["soft", "permutation"])
def test_the_factorised_loss_is_the_sum_over_all_pairs(kind: str) -> None:
    slots, batch = case(4, (2, 4))
    plan = torch.rand(2, 4, 4)
    if kind == "permutation":
        plan = torch.eye(4)[torch.stack([torch.randperm(4) for _ in range(2)])]
    found = matched_loss(slots, batch, plan, [2], [3])
    for name, value in by_definition(slots, batch, plan).items():
        assert found[name].item() == pytest.approx(value, rel=1e-4), name
    if kind == "permutation":
        assert found["marginals"].item() == pytest.approx(0, abs=1e-6)


def test_the_loss_under_a_permutation_is_the_loss_of_aligned_graphs() -> None:
    slots, batch = case(6, (4, 6))
    order = torch.randperm(6)  # slot i is input order[i]
    plan = torch.eye(6)[order].expand(2, 6, 6)
    aligned = Padded(*(
        part[:, order][:, :, order] if part.ndim >= 3 and part.shape[2] == 6 else part[:, order] for part in batch
    ))  # fmt: skip
    one, other = matched_loss(slots, batch, plan, [2], [3]), matched_loss(
        slots, aligned, torch.eye(6).expand(2, 6, 6), [2], [3]
    )  # fmt: skip
    for name, value in one.items():
        assert torch.isclose(value, other[name], atol=1e-6), name


def test_sinkhorn_has_sums_of_one() -> None:
    torch.manual_seed(0)
    plan = sinkhorn(torch.randn(2, 7, 7))
    assert torch.allclose(plan.sum(1), torch.ones(2, 7), atol=1e-5)
    assert torch.allclose(plan.sum(2), torch.ones(2, 7), atol=1e-5)


@pytest.mark.parametrize(("n", "sharpness"), [(29, 1.0), (48, 0.62), (64, 0.15), (100, 0.03)])
def test_the_authors_epsilon_is_blunt_for_large_graphs(n: int, sharpness: float) -> None:
    """Nodes at equal distances: the mass on the right slot, as computed on paper; scaled to N it stays sharp."""
    costs = (1 - torch.eye(n))[None] / (n * (n - 1))
    official = prepared("grale", [random_graph(n, 0)]).plan(costs)[0, 0, 0].item()  # type: ignore[attr-defined]
    scaled = prepared("grale", [random_graph(n, 0)], epsilon_scaled=True).plan(costs)[0, 0, 0].item()  # type: ignore[attr-defined]
    assert official == pytest.approx(1 / (1 + (n - 1) * math.exp(-1 / (n * (n - 1) * 1e-4))), rel=1e-3)
    assert official == pytest.approx(sharpness, abs=0.03)
    assert scaled > 0.99


@pytest.mark.parametrize("matcher", ["sinkhorn", "softsort"])
def test_z_is_invariant_and_alignment_undoes_the_numbering(matcher: str) -> None:
    """With a spectrum that has no ties, so that eigenvectors are unique but for their sign, which is fixed."""
    graph = Graph(7, [(0, 1), (1, 2), (2, 3), (3, 4), (1, 5), (4, 6), (2, 5)])
    order = np.random.default_rng(3).permutation(7)
    model = prepared("grale", [graph, *graphs()], eigenvectors="own", matcher=matcher)
    readings = model.read([graph, graph.relabel(order)])
    z = model.encode(readings)
    assert np.abs(z[0] - z[1]).max() < 1e-4
    for given in ("alignment", "mask"):
        one, other = (decoding.graph for decoding in model.decode_with(z, readings, given))
        if given == "mask":  # all true nodes and only these
            assert one.n == other.n == 7 and one.relabel(order) == other
        assert len(one.edges) == len(other.edges)


def test_padded_eigenvectors_vanish_on_a_small_graph() -> None:
    """What goes wrong in AIDS: eleven nodes of 95."""
    graph = random_graph(11, 0)
    assert np.abs(laplacian_eigenvectors(graph, 95)).max() < 1e-6
    own = laplacian_eigenvectors(graph, 11)
    laplacian = np.diag(graph.degrees) - graph.adjacency()
    for vector in own.T[:10]:
        value = vector @ laplacian @ vector
        assert np.allclose(laplacian @ vector, value * vector, atol=1e-4)


def test_a_vanished_sum_has_a_finite_loss_and_gradient() -> None:
    slots, batch = case(5, (5, 3))
    plan = torch.zeros(2, 5, 5, requires_grad=True)
    loss = torch.stack(list(matched_loss(slots, batch, plan, [2], [3]).values())).sum()
    loss.backward()
    assert loss.isfinite() and plan.grad is not None and plan.grad.isfinite().all()


def test_edge_labels_have_none_first_and_come_back_without_it() -> None:
    graph = attributed(random_graph(6, 1))
    model = prepared("grale", [graph], attributes="decoded")
    batch = model.collate([Reading(graph)])
    labels = batch.edges[0]
    joined = batch.adjacency[0]
    assert torch.equal(labels[..., 0], 1 - joined)
    assert torch.equal(labels[..., 1:4].sum(-1), joined)
    features = model._without_none(labels)  # type: ignore[attr-defined]
    i, j = graph.edges.T
    assert model.schema is not None
    assert np.array_equal(features[i, j], model.schema.edge.features(model.schema.edge.columns(graph)))


def test_larger_graphs_are_refused() -> None:
    model = prepared("grale", graphs(most=8), max_nodes=9)
    assert model.why_not(random_graph(9, 0)) is None
    assert model.why_not(random_graph(10, 0)) == "the graph has 10 nodes; this GRALE is built for at most 9 (max_nodes)"


@pytest.mark.slow
def test_eight_graphs_are_learned_by_heart() -> None:
    examples = graphs(8, 6, 8)
    model = GRALE(latent_dim=64, layers=3, heads=4, lr=1e-3, batch_size=8, epochs=600, core_minutes=None, validations=6)
    history = model.fit(examples, examples)
    assert max(row["validation_choice"] for row in history) > 0.95
    assert history[-1]["validation_exact"] > 0.8
