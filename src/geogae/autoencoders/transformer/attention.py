"""The layers of both transformers: pre-norm, rotary positions (RoPE) on queries and keys, GELU feed-forward.

Shapes: B graphs, L tokens of width D = token_dim, H heads of width h = D / H.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from geogae.autoencoders.transformer.features import TokenPairs
from geogae.errors import GeoGAEError

ROPE_BASE = 10_000.0  # wavelengths run from 2π to 2π · ROPE_BASE tokens, as in the RoPE paper
SHORT, LONG = 40**2, 500**2  # pairs of query and key up to which plain products are faster, in float32 and bfloat16


class KeyValue(NamedTuple):
    """What attention reads from: of the memory z, or of the tokens decoded so far."""

    key: Tensor  # (B, H, L, h)
    value: Tensor  # (B, H, L, h)

    def append(self, other: KeyValue) -> KeyValue:
        return KeyValue(torch.cat((self.key, other.key), dim=2), torch.cat((self.value, other.value), dim=2))

    def of(self, graphs: Tensor) -> KeyValue:
        return KeyValue(self.key[graphs], self.value[graphs])


def rope(length: int, head_dim: int, device: torch.device) -> Tensor:
    """The cosines and signed sines of positions 0 … length-1, for :func:`rotate`."""
    frequency = ROPE_BASE ** (-torch.arange(0, head_dim, 2, device=device) / head_dim)  # (h/2,)
    angle = torch.arange(length, device=device)[:, None] * frequency  # (L, h/2)
    cos, sin = angle.cos(), angle.sin()
    return torch.stack((torch.cat((cos, cos), dim=-1), torch.cat((-sin, sin), dim=-1)))  # (2, L, h)


def rotate(x: Tensor, turn: Tensor) -> Tensor:
    """Turn coordinate i against coordinate i + h/2 by the token's angle: q·k then depends on relative position only."""
    cos, sin = turn
    return x * cos + x.roll(x.shape[-1] // 2, dims=-1) * sin  # (…, L, h)


def attend(query: Tensor, memory: KeyValue, mask: Tensor | None = None, causal: bool = False) -> Tensor:
    """softmax(q kᵀ / √h) v, heads side by side; ``mask`` is True where a row attends to a column."""
    key, value = memory
    with torch.autocast(query.device.type, enabled=False):
        if query.is_cpu and query.shape[2] * key.shape[2] <= SHORT:  # faster there in float32 than in bfloat16
            query, key, value = query.float(), key.float(), value.float()
        y = dot_product_attention(query, key, value.to(query.dtype), mask, causal)  # (B, H, L, h)
    return y.transpose(1, 2).flatten(2)  # (B, L, D)


def dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, causal: bool = False
) -> Tensor:
    """softmax(q kᵀ / √h + mask) v, (B, H, L, h); a mask of truth values forbids where it is false.

    torch's fused attention is made for long sequences. On a processor two plain products are 1.3 to 4 times as fast for
    short ones, and in bfloat16 up to about 500 tokens.
    """
    queries, keys = query.shape[-2], key.shape[-2]
    plain = queries * keys <= (SHORT if query.dtype == torch.float32 else LONG)
    if not query.is_cpu or not plain:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=causal)
    scores = (query * query.shape[-1] ** -0.5) @ key.mT  # (B, H, L, S)
    if causal:
        mask = torch.ones(queries, keys, dtype=torch.bool, device=query.device).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    return scores.softmax(-1).to(value.dtype) @ value


class SelfAttention(nn.Module):
    def __init__(self, token_dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(token_dim, 3 * token_dim)
        self.out = nn.Linear(token_dim, token_dim)

    def project(self, x: Tensor, turn: Tensor) -> tuple[Tensor, KeyValue]:
        """Queries (B, H, L, h) and keys and values of the tokens (B, L, D) at the positions of ``turn``."""
        qkv = self.split(x)
        query, key = rotate(qkv[:2], turn)
        return query, KeyValue(key, qkv[2])

    def split(self, x: Tensor) -> Tensor:
        """Queries, keys and values, not turned yet."""
        return self.query_key_value(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)  # (3, B, H, L, h)


class EdgeAttention(SelfAttention):
    """Self-attention with edge features (Section 3.7).

    Where token i sees token j along an edge, one linear projection of [key_j ; e_ij] gives (Δk, Δv), which correct the
    key and the value of j for i alone. It begins at zero, as attention that knows no edges. Keys are corrected before
    they are turned: what an edge adds to a score depends on relative position, as the score does.
    """

    def __init__(self, token_dim: int, heads: int, edge_width: int) -> None:
        super().__init__(token_dim, heads)
        # Draws no random numbers: all other weights are those of a model without edges.
        self.correction = nn.utils.skip_init(nn.Linear, token_dim + edge_width, 2 * token_dim)
        nn.init.zeros_(self.correction.weight)
        nn.init.zeros_(self.correction.bias)

    def correct(self, key: Tensor, seen: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        """Δk and Δv, (P, H, h) each, of the rows ``seen`` (P,) of keys (B·L, D) along edges with features (P, w)."""
        of_key, of_edge = self.correction.weight.tensor_split((key.shape[1],), dim=1)  # (2D, D), (2D, w)
        tokens = F.linear(key, of_key, self.correction.bias)  # (B·L, 2D), once for all the pairs that a token is in
        both = tokens.index_select(0, seen) + F.linear(features, of_edge)  # (P, 2D), W [key_j ; e_ij]
        delta_key, delta_value = both.unflatten(-1, (2, self.heads, -1)).unbind(1)
        return delta_key, delta_value

    def forward(self, x: Tensor, turn: Tensor, mask: Tensor, pairs: TokenPairs) -> Tensor:
        """softmax(q (k + Δk)ᵀ / √h) (v + Δv), heads side by side, (B, L, D); corrections cost what their P pairs do."""
        batch, length, _ = x.shape
        graph, i, j = pairs.places.unbind(1)
        sees, seen = graph * length + i, graph * length + j  # (P,), rows of B·L
        head = torch.arange(self.heads, device=x.device)
        cell = (((graph[:, None] * self.heads + head) * length + i[:, None]) * length + j[:, None]).flatten()  # (P·H,)

        qkv = self.split(x)
        with torch.autocast(x.device.type, enabled=False):
            qkv = qkv.float()
            query, key = rotate(qkv[:2], turn)
            query = query * query.shape[-1] ** -0.5
            delta_key, delta_value = self.correct(_rows(qkv[1]).flatten(1), seen, pairs.features.float())  # (P, H, h)
            delta_key = rotate(delta_key, turn[:, j, None])
            change = (_rows(query).index_select(0, sees) * delta_key).sum(-1)  # (P, H), q_i Δk / √h
            scores = query @ key.mT  # (B, H, L, L)
            scores = scores.flatten().index_add(0, cell, change.flatten()).view_as(scores)
            weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
            along = weights.flatten().index_select(0, cell).unflatten(0, (-1, self.heads, 1))  # (P, H, 1)
            y = _rows(weights @ qkv[2]).index_add(0, sees, along * delta_value)  # (B·L, H, h)
        return y.unflatten(0, (batch, length)).flatten(2)


def _rows(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(0, 1)  # (B, H, L, h) to (B·L, H, h)


class CrossAttention(nn.Module):
    """Attention to the memory z: a set of C tokens, without positions."""

    def __init__(self, token_dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(token_dim, token_dim)
        self.key_value = nn.Linear(token_dim, 2 * token_dim)
        self.out = nn.Linear(token_dim, token_dim)

    def read(self, memory: Tensor) -> KeyValue:
        """Keys and values of the memory (B, C, D): once for all decoder passes and steps."""
        return KeyValue(*self.key_value(memory).unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4))

    def forward(self, x: Tensor, memory: KeyValue) -> Tensor:
        query = self.query(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (B, H, L, h)
        return self.out(attend(query, memory))  # (B, L, D)


class EncoderLayer(nn.Module):
    """With an ``edge_width`` the layer can read edge attributes."""

    def __init__(self, token_dim: int, hidden: int, heads: int, edge_width: int = 0) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(token_dim)
        self.attention = EdgeAttention(token_dim, heads, edge_width) if edge_width else SelfAttention(token_dim, heads)
        self.norm_feed_forward = nn.LayerNorm(token_dim)
        self.feed_forward = feed_forward(token_dim, hidden)

    def forward(
        self, x: Tensor, turn: Tensor, mask: Tensor, rows: int | None = None, pairs: TokenPairs | None = None
    ) -> Tensor:
        """The tokens (B, L, D), or the first ``rows`` of them, having looked where ``mask`` (B, 1, L, L) allows."""
        if pairs is not None:
            y = self.attention(self.norm_attention(x), turn, mask, pairs)[:, :rows]
        else:
            query, tokens = self.attention.project(self.norm_attention(x), turn)
            y = attend(query[:, :, :rows], tokens, mask[:, :, :rows])
        x = x[:, :rows] + self.attention.out(y)
        return x + self.feed_forward(self.norm_feed_forward(x))


class DecoderLayer(nn.Module):
    def __init__(self, token_dim: int, hidden: int, heads: int) -> None:
        super().__init__()
        self.norm_self = nn.LayerNorm(token_dim)
        self.self_attention = SelfAttention(token_dim, heads)
        self.norm_cross = nn.LayerNorm(token_dim)
        self.cross_attention = CrossAttention(token_dim, heads)
        self.norm_feed_forward = nn.LayerNorm(token_dim)
        self.feed_forward = feed_forward(token_dim, hidden)

    def forward(
        self, x: Tensor, turn: Tensor, memory: KeyValue, past: KeyValue | None = None
    ) -> tuple[Tensor, KeyValue]:
        """The tokens (B, L, D) and their keys and values. With a ``past``, x is the one token that comes next."""
        query, tokens = self.self_attention.project(self.norm_self(x), turn)
        if past is not None:
            tokens = past.append(tokens)
        x = x + self.self_attention.out(attend(query, tokens, causal=past is None))
        x = x + self.cross_attention(self.norm_cross(x), memory)
        return x + self.feed_forward(self.norm_feed_forward(x)), tokens


def feed_forward(token_dim: int, hidden: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(token_dim, hidden), nn.GELU(), nn.Linear(hidden, token_dim))


def head_dim(token_dim: int, heads: int) -> int:
    """The width of one head, which RoPE needs to be even."""
    if heads < 1 or token_dim % (2 * heads):
        valid = [h for h in range(1, token_dim + 1) if token_dim % (2 * h) == 0]
        remedy = f"try one of {valid}" if valid else "choose an even token_dim"
        raise GeoGAEError(f"heads={heads} does not cut token_dim={token_dim} into equal heads of even width; {remedy}")
    return token_dim // heads
