"""GRALE's layers: states of nodes X (b, N, node_dim) and of pairs E (b, N, N, edge_dim) that learn from each other.

All of them are residual, with the norm before.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from geogae.autoencoders.transformer.attention import dot_product_attention

SPECTRUM = 16  # eigenvectors of the Laplacian that the encoder reads
PATHS = 16  # sines and cosines of a path's length
OUTER = 32  # numbers of a node that enter an outer product


def mlp(before: int, hidden: int, after: int) -> nn.Sequential:
    """One hidden layer; without one, a linear map and a ReLU."""
    if not hidden:
        return nn.Sequential(nn.Linear(before, after), nn.ReLU())
    return nn.Sequential(nn.Linear(before, hidden), nn.ReLU(), nn.Linear(hidden, after))


class Attention(nn.Module):
    """Of queries (b, Q, width) over a context (b, C, context)."""

    def __init__(self, width: int, context: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(context, width), nn.Linear(context, width)
        self.out = nn.Linear(width, width)

    def forward(self, queries: Tensor, context: Tensor, bias: Tensor | None = None) -> Tensor:
        """``bias`` (b, heads or 1, Q or 1, C) is added to the scores."""
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (b, heads, Q or C, width / heads)
            for part in (self.q(queries), self.k(context), self.v(context))
        )
        return self.out(dot_product_attention(q, k, v, bias).transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.mlp, self.drop = nn.LayerNorm(width), mlp(width, hidden, width), nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.drop(self.mlp(self.norm(x)))


class BiasedAttention(nn.Module):
    """Nodes attend to nodes; pairs add to the scores."""

    def __init__(self, node_dim: int, edge_dim: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(node_dim), Attention(node_dim, node_dim, heads)
        self.bias, self.drop = nn.Linear(edge_dim, heads), nn.Dropout(dropout)

    def forward(self, x: Tensor, pairs: Tensor, real: Tensor | None) -> Tensor:
        bias = self.bias(pairs).permute(0, 3, 1, 2)  # (b, heads, N, N)
        if real is not None:
            bias = bias.masked_fill(real[:, None, None] == 0, -torch.inf)
        normed = self.norm(x)
        return x + self.drop(self.attention(normed, normed, bias))


class OuterProduct(nn.Module):
    """Pairs learn from their two nodes: Σ_kl a_ik b_jl W_klu."""

    def __init__(self, node_dim: int, edge_dim: int) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(node_dim, OUTER), nn.Linear(node_dim, OUTER)
        self.weight, self.bias = nn.Parameter(torch.empty(OUTER, OUTER, edge_dim)), nn.Parameter(torch.zeros(edge_dim))
        self.norm = nn.LayerNorm(edge_dim)
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x: Tensor, pairs: Tensor) -> Tensor:
        right = torch.einsum("bjl,klu->bjku", self.b(x), self.weight)  # (b, N, OUTER, edge_dim)
        return self.norm(pairs) + torch.einsum("bik,bjku->biju", self.a(x), right) + self.bias


class Triangle(nn.Module):
    """The pair (i, j) learns from the pairs (k, i) and (k, j)."""

    def __init__(self, edge_dim: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.inner_norm = nn.LayerNorm(edge_dim), nn.LayerNorm(edge_dim // 2)
        self.value, self.gate = nn.Linear(edge_dim, edge_dim), nn.Linear(edge_dim, edge_dim)
        self.out, self.out_gate = nn.Linear(edge_dim // 2, edge_dim), nn.Linear(edge_dim, edge_dim)
        self.drop = nn.Dropout(dropout)

    def forward(self, pairs: Tensor, real: Tensor | None) -> Tensor:
        normed = self.norm(pairs)
        y = self.value(normed) * self.gate(normed).sigmoid()
        if real is not None:
            y = y * (real[:, :, None] * real[:, None])[..., None]
        a, b = y.permute(0, 3, 1, 2).chunk(2, 1)  # (b, edge_dim / 2, k, i) and (…, k, j)
        met = (a.transpose(2, 3) @ b).permute(0, 2, 3, 1)  # (b, i, j, edge_dim / 2)
        return pairs + self.drop(self.out_gate(normed).sigmoid() * self.out(self.inner_norm(met)))


class CrossAttention(nn.Module):
    def __init__(self, width: int, context: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(width), Attention(width, context, heads)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor, context: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        """Attends to itself without a context."""
        normed = self.norm(x)
        return x + self.drop(self.attention(normed, normed if context is None else context, bias))


class EncoderLayer(nn.Module):
    def __init__(self, heads: int, node_hidden: int, node_dim: int, edge_hidden: int, edge_dim: int, dropout: float):
        super().__init__()
        self.attention = BiasedAttention(node_dim, edge_dim, heads, dropout)
        self.nodes = FeedForward(node_dim, node_hidden, dropout)
        self.outer, self.triangle = OuterProduct(node_dim, edge_dim), Triangle(edge_dim, dropout)
        self.pairs = FeedForward(edge_dim, edge_hidden, dropout)

    def forward(self, x: Tensor, pairs: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        x = self.nodes(self.attention(x, pairs, real))
        return x, self.pairs(self.triangle(self.outer(x, pairs), real))


class PoolingLayer(nn.Module):
    """Tokens that look at each other, if they have looked at the pairs before, and then at the pairs."""

    def __init__(self, heads: int, edge_dim: int, token_dim: int, dropout: float, first: bool) -> None:
        super().__init__()
        self.own = nn.Identity() if first else CrossAttention(token_dim, token_dim, heads, dropout)
        self.read = CrossAttention(token_dim, edge_dim, heads, dropout)
        self.feedforward = FeedForward(token_dim, token_dim, dropout)

    def forward(self, tokens: Tensor, keys: Tensor, bias: Tensor) -> Tensor:
        return self.feedforward(self.read(self.own(tokens), keys, bias))


class Encoder(nn.Module):
    """Layers on X and E, then tokens that read the pairs."""

    def __init__(
        self,
        layers: int,
        heads: int,
        node_hidden: int,
        node_dim: int,
        edge_hidden: int,
        edge_dim: int,
        token_dim: int,
        dropout: float,
        tokens: int,
    ) -> None:
        super().__init__()
        sizes = (heads, node_hidden, node_dim, edge_hidden, edge_dim, dropout)
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(layers))
        self.node_norm, self.pair_norm = nn.LayerNorm(node_dim), nn.LayerNorm(edge_dim)
        self.queries = nn.ParameterList(torch.zeros(tokens, token_dim) for _ in range(layers))
        self.pooling = nn.ModuleList(
            PoolingLayer(heads, edge_dim, token_dim, dropout, first=number == 0) for number in range(layers)
        )
        self.last_norm = nn.LayerNorm(token_dim)

    def forward(self, x: Tensor, pairs: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """X (b, N, node_dim) and the tokens (b, K, token_dim)."""
        for layer in self.layers:
            x, pairs = layer(x, pairs, real)
        x, pairs = self.node_norm(x), self.pair_norm(pairs)
        i, j = torch.triu_indices(x.shape[1], x.shape[1], device=x.device)
        keys = (pairs + pairs.transpose(1, 2))[:, i, j]  # (b, N (N + 1) / 2, edge_dim)
        bias = torch.where(real[:, i] * real[:, j] > 0, 0.0, -torch.inf)[:, None, None]
        tokens = x.new_zeros(len(x), *self.queries[0].shape)
        for query, layer in zip(self.queries, self.pooling, strict=True):
            tokens = layer(tokens + query, keys, bias)
        return x, self.last_norm(tokens)


class DecoderLayer(nn.Module):
    """Slots that look at each other, if they have looked at z before, and then at z."""

    def __init__(
        self,
        heads: int,
        node_hidden: int,
        node_dim: int,
        edge_hidden: int,
        edge_dim: int,
        token_dim: int,
        dropout: float,
        first: bool,
    ) -> None:
        super().__init__()
        self.attention = None if first else BiasedAttention(node_dim, edge_dim, heads, dropout)
        self.nodes_read = CrossAttention(node_dim, token_dim, heads, dropout)
        self.nodes = FeedForward(node_dim, node_hidden, dropout)
        self.outer, self.triangle = OuterProduct(node_dim, edge_dim), Triangle(edge_dim, dropout)
        self.pairs_read = CrossAttention(edge_dim, token_dim, heads, dropout)
        self.pairs = FeedForward(edge_dim, edge_hidden, dropout)

    def forward(self, x: Tensor, pairs: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        if self.attention is not None:
            x = self.attention(x, pairs, None)
        x = self.nodes(self.nodes_read(x, tokens))
        pairs = self.triangle(self.outer(x, pairs), None)
        read = self.pairs_read(pairs.flatten(1, 2), tokens)  # (b, N·N, edge_dim)
        return x, self.pairs(read.view_as(pairs))


class Decoder(nn.Module):
    """Slots and their pairs, from learned queries and the tokens of z."""

    def __init__(
        self,
        layers: int,
        heads: int,
        node_hidden: int,
        node_dim: int,
        edge_hidden: int,
        edge_dim: int,
        token_dim: int,
        dropout: float,
        nodes: int,
    ) -> None:
        super().__init__()
        self.token_dim = token_dim
        self.node_queries = nn.ParameterList(torch.zeros(nodes, node_dim) for _ in range(layers))
        self.pair_queries = nn.ParameterList(torch.zeros(nodes, nodes, edge_dim) for _ in range(layers))
        sizes = (heads, node_hidden, node_dim, edge_hidden, edge_dim, token_dim, dropout)
        self.layers = nn.ModuleList(DecoderLayer(*sizes, first=number == 0) for number in range(layers))

    def forward(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """X (b, N, node_dim) and E (b, N, N, edge_dim) of z (b, K · token_dim)."""
        tokens = z.unflatten(-1, (-1, self.token_dim))
        x, pairs = z.new_zeros(len(z), *self.node_queries[0].shape), z.new_zeros(len(z), *self.pair_queries[0].shape)
        for node_query, pair_query, layer in zip(self.node_queries, self.pair_queries, self.layers, strict=True):
            x, pairs = layer(x + node_query, pairs + pair_query, tokens)
        return x, pairs
