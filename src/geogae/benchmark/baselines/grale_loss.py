"""GRALE's loss: what the decoder writes against the truth, under the matcher's soft permutation T (slot, input)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

WEIGHTS = {  # of the parts of the loss
    "exists": 1.0,
    "nodes": 1.0,
    "neighbours": 0.1,
    "edges": 0.2,
    "edge_labels": 0.2,
    "paths": 0.1,
    "marginals": 1.0,
}


class Padded(NamedTuple):
    """b graphs of N nodes, the real ones first."""

    real: Tensor  # (b, N), 1 or 0
    nodes: Tensor  # (b, N, F), one-hot labels and numbers
    spectrum: Tensor  # (b, N, SPECTRUM), eigenvectors of the Laplacian
    adjacency: Tensor  # (b, N, N)
    hops: Tensor  # (b, N, N), N where there is no path
    edges: Tensor  # (b, N, N, w), one-hot labels with "none" first, and numbers

    def to(self, device: torch.device) -> Padded:
        return Padded(*(part.to(device) for part in self))


class Slots(NamedTuple):
    """What the decoder writes for b graphs, slot by slot."""

    exists: Tensor  # (b, N), logits
    nodes: Tensor  # (b, N, F)
    neighbours: Tensor  # (b, N, F), the mean of a node's neighbours' features
    edges: Tensor  # (b, N, N), logits
    edge_labels: Tensor  # (b, N, N, w)
    paths: Tensor  # (b, N, N), hops / N
    embeddings: Tensor  # (b, N, d), for the matcher


def matched_loss(
    slots: Slots, batch: Padded, plan: Tensor, node_widths: Sequence[int], edge_widths: Sequence[int]
) -> dict[str, Tensor]:
    """Means over graphs of the parts of the loss, under the plan T (b, slot, input).

    With l(slot, input) = f(slot) - <g(slot), y(input)>, Σ T l is two sums over slots, where T y stands for the truth. A
    loss of pairs has the same form, with T Y Tᵀ.
    """
    real, n = batch.real, batch.real.sum(1)  # (b, N), (b,)
    pairs = real[:, :, None] * real[:, None]  # (b, N, N)
    weight = (plan @ real[..., None])[..., 0]  # (b, slot): how much of a real node a slot is
    both = weight[:, :, None] * weight[:, None]  # (b, slot, slot)
    node_mass, mass = real * plan.sum(1), plan.sum(2)  # (b, input), (b, slot)
    degree = batch.adjacency.sum(2, keepdim=True).clamp(min=1)
    neighbours = batch.adjacency @ batch.nodes / degree  # (b, N, F)

    def at_slots(values: Tensor) -> Tensor:
        return plan @ (values * real[..., None])  # (b, slot, …)

    def at_pairs(values: Tensor) -> Tensor:  # (b, N, N, w) → (b, slot, slot, w)
        moved = torch.einsum("bik,bklc->bilc", plan, values * pairs[..., None])
        return torch.einsum("bjl,bilc->bijc", plan, moved)

    def squared(predicted: Tensor, truth: Tensor) -> Tensor:  # Σ T (p - y)², (b,)
        own = (predicted.square() * weight[..., None] - 2 * predicted * at_slots(truth)).sum((1, 2))
        return own + (truth.square() * node_mass[..., None]).sum((1, 2))

    def squared_pairs(predicted: Tensor, truth: Tensor) -> Tensor:
        own = (predicted.square() * both[..., None] - 2 * predicted * at_pairs(truth)).sum((1, 2, 3))
        return own + torch.einsum("bklc,bk,bl->b", truth.square() * pairs[..., None], node_mass, node_mass)

    exists = (F.softplus(slots.exists) * mass - slots.exists * weight).sum(1) / real.shape[1]
    *labels, numbers = slots.nodes.split([*node_widths, slots.nodes.shape[-1] - sum(node_widths)], -1)
    *hot, values = batch.nodes.split([*node_widths, batch.nodes.shape[-1] - sum(node_widths)], -1)
    nodes = squared(numbers, values) / n
    for column, category in zip(labels, hot, strict=True):
        nodes = nodes - (column.log_softmax(-1) * at_slots(category)).sum((1, 2)) / n
    edges = (F.softplus(slots.edges) * both - slots.edges * at_pairs(batch.adjacency[..., None])[..., 0]).sum((1, 2))
    *labels, numbers = slots.edge_labels.split([*edge_widths, slots.edge_labels.shape[-1] - sum(edge_widths)], -1)
    *hot, values = batch.edges.split([*edge_widths, batch.edges.shape[-1] - sum(edge_widths)], -1)
    edge_labels = squared_pairs(numbers, values)
    for column, category in zip(labels, hot, strict=True):
        edge_labels = edge_labels - (column.log_softmax(-1) * at_pairs(category)).sum((1, 2, 3))
    sums = torch.cat([plan.sum(1), plan.sum(2)], 1).clamp(min=1e-6)  # a vanished sum has no logarithm
    parts = {
        "exists": exists,
        "nodes": nodes,
        "neighbours": squared(slots.neighbours, neighbours) / n,
        "edges": edges / n**2,
        "edge_labels": edge_labels / n**2,
        "paths": squared_pairs(slots.paths[..., None], batch.hops[..., None] / real.shape[1]) / n**2,
        "marginals": (sums - 1 - sums.log()).sum(1),
    }
    return {name: part.mean() for name, part in parts.items()}
