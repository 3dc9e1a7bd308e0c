"""PIGVAE: a permutation-invariant autoencoder whose encoder also puts the nodes in order, by a learned score.

    pairs of nodes → attention over messages → a virtual node's state → z
                                             → node states → scores → soft permutation P
    z, P · positions → attention over messages → edges, attributes;   z → size

A state belongs to a pair (i, j) and is called a message; the message (i, i) is the state of node i.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from geogae.autoencoders.base import Decoding, Reading, torch_device
from geogae.autoencoders.transformer.attention import dot_product_attention
from geogae.benchmark.baselines.features import (
    categories,
    edge_features,
    feature_loss,
    hops,
    node_features,
    padded,
    with_attributes,
)
from geogae.benchmark.baselines.trained import TrainedAutoencoder
from geogae.checks import check_number
from geogae.graph import Graph

HOPS = 5  # longer paths, and none at all, count as this many
KEY = 64  # numbers of a query, key or value in each head
POSITION = 64  # numbers of a position
NOISE = 0.05  # on node states in training, before they are scored
TEMPERATURE = 1.0
SIZE_HIDDEN = 256
SIZE_WEIGHT = 0.1
HEADROOM = 2  # a graph has at most this many times the nodes of the largest one seen in training
FORBIDDEN, PADDING = -(2.0**15), -(2.0**16)  # finite: where nothing is allowed, what is real counts alike


class Pairs(NamedTuple):
    """b graphs, padded to N nodes."""

    nodes: Tensor  # (b, N, F)
    hops: Tensor  # (b, N, N), 0 … HOPS, whole numbers as floats
    edges: Tensor  # (b, N, N, w), attributes
    sizes: Tensor  # (b,)

    def to(self, device: torch.device) -> Pairs:
        return Pairs(*(part.to(device) for part in self))


class Written(NamedTuple):
    """What the decoder writes for b graphs of N nodes."""

    edges: Tensor  # (b, N, N), logits
    node_features: Tensor  # (b, N, F)
    edge_features: Tensor  # (b, N, N, w)


# -- the network ------------------------------------------------------------------------------------------------------


class Attention(nn.Module):
    """The message (i, j) attends to the messages (k, i), for k other than i and j; post-norm."""

    def __init__(self, width: int, heads: int, feedforward: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.drop = heads, nn.Dropout(dropout)
        self.qkv = nn.Linear(width, 3 * heads * KEY, bias=False)
        self.out = nn.Linear(heads * KEY, width, bias=False)
        self.norm, self.last_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feedforward = nn.Sequential(nn.Linear(width, feedforward), nn.ReLU(), nn.Linear(feedforward, width))

    def forward(self, x: Tensor, penalty: Tensor) -> Tensor:
        """x (b, N, N, d), penalty (b·N, 1, N, N) for each i, j, k."""
        b, n = x.shape[:2]
        q, k, v = self.qkv(x).view(b, n, n, 3, self.heads, KEY).unbind(3)  # (b, N, N, heads, KEY)
        q = q.transpose(2, 3).reshape(b * n, self.heads, n, KEY)  # of (i, j): [b·i, head, j]
        k, v = (part.permute(0, 2, 3, 1, 4).reshape(b * n, self.heads, n, KEY) for part in (k, v))  # of (k, i)
        out = dot_product_attention(q, k, v, penalty)  # scaled by 1 / √KEY
        out = out.view(b, n, self.heads, n, KEY).transpose(2, 3).flatten(3)  # (b, N, N, heads·KEY)
        x = self.norm(x + self.drop(self.out(out)))
        return self.last_norm(x + self.drop(self.feedforward(x)))


def penalties(real: Tensor) -> Tensor:
    """What is added to the scores of (i, j, k): (b·N, 1, N, N), from the mask of real nodes (b, N)."""
    n = real.shape[1]
    same = torch.eye(n, dtype=torch.bool, device=real.device)
    forbidden = same[:, None, :] | same[None, :, :] | ~real[:, None, :, None]  # k = i, k = j, j is padding
    penalty = torch.where(forbidden, FORBIDDEN, 0.0)
    penalty = torch.where(real[:, None, None, :], penalty, PADDING)  # (b, N, N, N)
    return penalty.flatten(0, 1)[:, None]


class Stack(nn.Module):
    def __init__(self, width: int, layers: int, heads: int, feedforward: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.drop = nn.LayerNorm(width), nn.Dropout(dropout)
        self.layers = nn.ModuleList(Attention(width, heads, feedforward, dropout) for _ in range(layers))

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        x, penalty = self.norm(self.drop(x)), penalties(real)
        for layer in self.layers:
            x = layer(x, penalty)
        return x


class Network(nn.Module):
    def __init__(
        self,
        latent_dim: int,
        hidden: int,
        layers: int,
        heads: int,
        feedforward: int,
        dropout: float,
        variational: bool,
        node_width: int,
        edge_width: int,
    ) -> None:
        super().__init__()
        self.variational = variational
        # a linear map of the concatenation [pair, node i, node j] is the sum of three
        self.of_pair = nn.Linear(HOPS + 2 + edge_width, hidden)  # hops one-hot, virtual, attributes
        self.of_i, self.of_j = (nn.Linear(node_width, hidden, bias=False) for _ in range(2))
        self.encoder = Stack(hidden, layers, heads, feedforward, dropout)
        self.latent = nn.Linear(hidden, (1 + variational) * latent_dim)
        self.score = nn.Linear(hidden, 1)
        self.from_z = nn.Linear(latent_dim, hidden)
        self.of_z = nn.Linear(hidden, hidden)
        self.of_position_i, self.of_position_j = (nn.Linear(POSITION, hidden, bias=False) for _ in range(2))
        self.decoder = Stack(hidden, layers, heads, feedforward, dropout)
        self.edge = nn.Linear(hidden, 1 + edge_width)
        self.node = nn.Linear(hidden, node_width)
        widths = (latent_dim, SIZE_HIDDEN, SIZE_HIDDEN)
        hidden_layers = [
            part
            for before, after in pairwise(widths)
            for part in (nn.Linear(before, after), nn.ReLU(), nn.Dropout(dropout), nn.LayerNorm(after))
        ]
        self.size = nn.Sequential(*hidden_layers, nn.Linear(SIZE_HIDDEN, 1))

    def encode(self, batch: Pairs) -> tuple[Tensor, Tensor | None, Tensor]:
        """μ and log σ² (None if not variational) of z, (b, latent_dim), and the node states (b, N, d)."""
        n = batch.nodes.shape[1]
        one_hot = batch.hops[..., None] == torch.arange(HOPS + 1, device=batch.hops.device)  # (b, N, N, HOPS + 1)
        pairs = torch.cat([one_hot.float(), torch.zeros_like(batch.hops)[..., None], batch.edges], -1)
        pairs = F.pad(pairs, (0, 0, 1, 0, 1, 0))  # the virtual node comes first, (b, N + 1, N + 1, …)
        virtual = F.pad(torch.zeros_like(batch.hops), (1, 0, 1, 0), value=1.0)
        pairs[..., HOPS + 1] = virtual
        nodes = F.pad(batch.nodes, (0, 0, 1, 0))  # (b, N + 1, F)
        x = self.of_pair(pairs) + self.of_i(nodes)[:, :, None] + self.of_j(nodes)[:, None]
        x = self.encoder(x, F.pad(is_real(batch.sizes, n), (1, 0), value=True))  # (b, N + 1, N + 1, d)
        latent = self.latent(x[:, 0, 0].relu()).float()
        mu, log_var = latent.chunk(2, -1) if self.variational else (latent, None)
        return mu, log_var, x.diagonal(dim1=1, dim2=2).transpose(1, 2)[:, 1:]

    def scores(self, states: Tensor, real: Tensor) -> Tensor:
        """Of nodes, (b, N); padding comes after all of them."""
        scores = self.score(states)[..., 0]
        return torch.where(real, scores, scores.masked_fill(~real, math.inf).min() - 1)

    def decode(self, z: Tensor, positions: Tensor, real: Tensor) -> Written:
        """Of z (b, latent_dim) and the positions of nodes (b, N, POSITION)."""
        x = self.of_z(self.from_z(z))[:, None, None]
        x = x + self.of_position_i(positions)[:, :, None] + self.of_position_j(positions)[:, None]
        x = self.decoder(x, real)  # (b, N, N, d)
        pairs = self.edge(x).float()
        pairs = (pairs + pairs.transpose(1, 2)) / 2
        off_diagonal = 1 - torch.eye(pairs.shape[1], device=pairs.device)
        nodes = self.node(x.diagonal(dim1=1, dim2=2).transpose(1, 2)).float()
        return Written(pairs[..., 0] * off_diagonal, nodes, pairs[..., 1:])

    def forward(self, batch: Pairs, ordered: bool) -> tuple[Written, Tensor | None, Tensor, Tensor, Tensor | None]:
        """A training step: what is written, P (None if nodes are taken as they come), the size, μ and log σ²."""
        n, real = batch.nodes.shape[1], is_real(batch.sizes, batch.nodes.shape[1])
        mu, log_var, states = self.encode(batch)
        z = mu if log_var is None else mu + (log_var / 2).exp() * torch.randn_like(mu)
        table, permutation = positions(n, z.device).expand(len(z), -1, -1), None
        if ordered:
            with torch.autocast(z.device.type, enabled=False):  # near scores have one value in bfloat16
                states = states.float()
                scores = self.scores(states + NOISE * torch.randn_like(states), real)
                permutation = soft_permutation(scores, real)
                table = permutation @ table
        return self.decode(z, table, real), permutation, self.size(z)[:, 0].float(), mu, log_var


def is_real(sizes: Tensor, n: int) -> Tensor:
    return torch.arange(n, device=sizes.device) < sizes[:, None]  # (b, N)


def positions(n: int, device: torch.device) -> Tensor:
    """Sinusoidal, (n, POSITION)."""
    frequency = 10000 ** (-torch.arange(0, POSITION, 2, device=device) / POSITION)
    angle = torch.arange(n, device=device)[:, None] * frequency
    return torch.cat([angle.sin(), angle.cos()], -1)


def soft_permutation(scores: Tensor, real: Tensor) -> Tensor:
    """P (b, node, position): how much each node is at each position when scores (b, N) are sorted, highest first."""
    in_order = scores.sort(-1, descending=True).values
    at = (-(in_order[:, :, None] - scores[:, None]).abs() / TEMPERATURE).softmax(-1)  # (b, position, node)
    own = torch.eye(scores.shape[1], device=scores.device)
    return torch.where(real[:, :, None], at.transpose(1, 2), own)


def entropies(permutation: Tensor, real: Tensor) -> Tensor:
    """Mean entropy of the columns plus that of the rows, over real nodes and positions; 0 for a hard permutation."""
    permutation = permutation + 1e-7
    total = permutation.new_zeros(())
    for axis in (1, 2):
        p = permutation / permutation.sum(axis, keepdim=True)
        entropy = -(p * p.log()).sum(axis)  # (b, N)
        total = total + (entropy * real).sum() / real.sum()
    return total


# -- the autoencoder --------------------------------------------------------------------------------------------------


class PIGVAE(TrainedAutoencoder[Pairs]):
    """Permutation-invariant graph variational autoencoder.

    Parameters:
        hidden, layers, heads, feedforward: of the encoder and of the decoder.
        variational: whether z is drawn in training.
        kl_weight, permutation_weight: of the KL term and of the entropies of P.
        ordered: whether nodes are put in order by a learned score; if not, they are taken as they come.
    """

    side_information = ("size",)

    def __init__(
        self,
        *,
        latent_dim: int = 64,
        hidden: int = 128,
        layers: int = 4,
        heads: int = 4,
        feedforward: int = 512,
        dropout: float = 0.1,
        variational: bool = True,
        kl_weight: float = 1e-3,
        permutation_weight: float = 0.5,
        ordered: bool = True,
        attributes: str = "ignored",
        lr: float = 1e-4,
        weight_decay: float = 0.0,
        clip: float = 0.1,
        batch_size: int = 32,
        epochs: int | None = None,
        minutes: float | None = None,
        core_minutes: float | None = 20.0,
        patience: int | None = None,
        validations: int = 10,
        memory_gib: float | None = None,
        precision: str = "auto",
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        super().__init__(
            latent_dim=latent_dim, attributes=attributes, lr=lr, weight_decay=weight_decay, clip=clip,
            batch_size=batch_size, epochs=epochs, minutes=minutes, core_minutes=core_minutes, patience=patience,
            validations=validations, memory_gib=memory_gib, precision=precision, device=device, seed=seed,
        )  # fmt: skip
        for name, value in (("hidden", hidden), ("layers", layers), ("heads", heads), ("feedforward", feedforward)):
            check_number(name, value, int, 1)
        check_number("dropout", dropout, float, 0, 0.99)
        check_number("kl_weight", kl_weight, float, 0)
        check_number("permutation_weight", permutation_weight, float, 0)
        self.hidden, self.layers, self.heads, self.feedforward = hidden, layers, heads, feedforward
        self.dropout, self.variational, self.ordered = dropout, bool(variational), bool(ordered)
        self.kl_weight, self.permutation_weight = kl_weight, permutation_weight

    def learn(self, graphs: Sequence[Graph]) -> dict[str, Any]:
        sizes = np.array([graph.n for graph in graphs], dtype=float)
        return {"size_mean": float(sizes.mean()), "size_scale": float(sizes.std()) or 1.0}

    def build(self, nodes: int | None = None) -> Network:
        node = self.schema.node.width if self.schema else 0
        edge = self.schema.edge.width if self.schema else 0
        return Network(
            self.latent_dim, self.hidden, self.layers, self.heads, self.feedforward, self.dropout, self.variational,
            node or 1, edge,
        )  # fmt: skip

    def collate(self, readings: Sequence[Reading]) -> Pairs:
        graphs = [reading.ordered for reading in readings]
        n = max(graph.n for graph in graphs)
        return Pairs(
            padded([node_features(graph, self.schema) for graph in graphs], n, 1),
            padded([hops(graph).clip(max=HOPS) for graph in graphs], n, 2, HOPS),
            padded([edge_features(graph, self.schema) for graph in graphs], n, 2),
            torch.tensor([graph.n for graph in graphs]),
        )

    def blank(self, n: int, batch_size: int) -> Pairs:
        node = self.schema.node.width if self.schema else 0
        edge = self.schema.edge.width if self.schema else 0
        shapes = ((batch_size, n, node or 1), (batch_size, n, n), (batch_size, n, n, edge), (batch_size,))
        return Pairs(*(torch.empty(shape) for shape in shapes))

    def loss(self, network: nn.Module, batch: Pairs) -> dict[str, Tensor]:
        written, permutation, size, mu, log_var = network(batch, self.ordered)
        real = is_real(batch.sizes, batch.nodes.shape[1])
        pairs = real[:, :, None] & real[:, None]  # (b, N, N)
        truth = (batch.hops == 1).to(written.edges.dtype) * pairs
        cross_entropy = F.softplus(written.edges) - written.edges * truth
        wanted = (batch.sizes - self.facts["size_mean"]) / self.facts["size_scale"]
        parts = {"edges": (cross_entropy * pairs).sum() / pairs.sum(), "size": (size - wanted).square().mean()}
        total = parts["edges"] + SIZE_WEIGHT * parts["size"]
        if permutation is not None:
            parts["permutation"] = entropies(permutation, real)
            total = total + self.permutation_weight * parts["permutation"]
        if log_var is not None:
            parts["kl"] = 0.5 * (mu.square() + log_var.exp() - 1 - log_var).sum(-1).mean()
            total = total + self.kl_weight * parts["kl"]
        if self.schema is not None and self.schema.node.width:
            nodes = feature_loss(written.node_features, batch.nodes, categories(self.schema.node))
            parts["nodes"] = (nodes * real).sum() / real.sum()
            total = total + parts["nodes"]
        if self.schema is not None and self.schema.edge.width:
            edges = feature_loss(written.edge_features, batch.edges, categories(self.schema.edge))
            parts["edge_features"] = (edges * truth).sum() / truth.sum().clamp(min=1)
            total = total + parts["edge_features"]
        return {"total": total} | {name: part.detach() for name, part in parts.items()}

    @torch.inference_mode()
    def read(self, graphs: Sequence[Graph], *, n_jobs: int = 1, progress: bool = False) -> list[Reading]:
        """Nodes by their scores, highest first; equal scores as they come, where training lets noise decide."""
        given = graphs if self.schema is not None else [graph.topology() for graph in graphs]
        if not self.ordered:
            return [Reading(graph) for graph in given]
        readings = []
        for graph in given:
            batch = self.collate([Reading(graph)]).to(torch_device(self.device))
            _, _, states = self.network.encode(batch)  # type: ignore[operator]
            scores = self.network.score(states)[0, :, 0].cpu().numpy()  # type: ignore[operator]
            readings.append(Reading(graph.relabel(np.argsort(-scores, kind="stable"))))
        return readings

    def codes(self, batch: Pairs) -> Tensor:
        mu: Tensor = self.network.encode(batch)[0]  # type: ignore[operator]
        return mu

    def write(self, z: Tensor, readings: Sequence[Reading] | None, side_information: str | None) -> list[Decoding]:
        """One z; nodes in the order of their positions, as many as the size head says, or the true number."""
        limit = HEADROOM * self.facts["largest"]
        if readings is None:
            said = self.facts["size_mean"] + self.facts["size_scale"] * float(self.network.size(z))  # type: ignore[operator]
            n = int(np.clip(np.rint(said), 1, limit))
        else:
            n = readings[0].ordered.n
        real = torch.ones(1, n, dtype=torch.bool, device=z.device)
        written: Written = self.network.decode(z, positions(n, z.device)[None], real)  # type: ignore[operator]
        edges = np.argwhere(np.triu(written.edges[0].cpu().numpy() > 0, 1))
        features = (written.node_features[0].cpu().numpy(), written.edge_features[0].cpu().numpy())
        return [
            Decoding(
                with_attributes(Graph(n, edges), self.schema, *features), truncated=readings is None and n == limit
            )
        ]
