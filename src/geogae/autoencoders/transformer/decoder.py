"""The decoder: a causal transformer unrolls z into balls, bundle by bundle (Section 3.5, Figure 3).

A stop logit belongs to a node and asks whether the graph ends with it: counting slots from 1, the target is 1 where
the slot "meets or exceeds" n (Appendix B.4). The graph ends at the first slot that says so, wherever in its bundle
that is; the slots behind it are never read, in training or decoding, so every n ≥ 1 is exact. With ``likeliest_stop``
the graph ends where it is likeliest to: stop probabilities h_1, h_2, … make P(n) = h_n ∏_(i<n) (1 - h_i).
"""

from __future__ import annotations

from itertools import zip_longest
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from geogae.autoencoders.transformer.attention import DecoderLayer, KeyValue, head_dim, rope
from geogae.autoencoders.transformer.bundles import BundleToToken, TokenToNodes
from geogae.autoencoders.transformer.features import EdgeFeatures, NodeFeatures


class Decoded(NamedTuple):
    """Graphs read off z, padded with zeros to the largest."""

    balls: Tensor  # (B, n, d)
    sizes: Tensor  # (B,)
    stop_probability: Tensor  # (B, n), of each node to be the last
    truncated: Tensor  # (B,), True where max_nodes came before a stop
    node_features: Tensor | None = None  # (B, n, w_node), where the model decodes them
    vectors: Tensor | None = None  # (B, n, D), of nodes: two of them give the features of an edge


class AbsolutePositions(nn.Module):
    """Sinusoidal positions, added to the decoder's inputs by a linear map.

    With rotary positions alone a token has to find out its number before it can read its part of z.
    """

    def __init__(self, token_dim: int) -> None:
        super().__init__()
        self.map = nn.Linear(token_dim, token_dim, bias=False)

    def forward(self, length: int) -> Tensor:
        """Of the positions 0 … length - 1, (length, D)."""
        cosines, signed_sines = rope(length, self.map.in_features, self.map.weight.device)
        half = self.map.in_features // 2  # rope gives each frequency twice
        return self.map(torch.cat((cosines[:, :half], signed_sines[:, half:]), dim=-1))


class Decoder(nn.Module):
    """Reads and writes balls; with a ``node_width`` or ``edge_width`` it has MLPs for these features beside ψ."""

    def __init__(
        self,
        d: int,
        *,
        token_dim: int,
        bundle: int,
        layers: int,
        hidden: int,
        heads: int,
        node_width: int = 0,
        edge_width: int = 0,
        likeliest_stop: bool = False,
        final_norm: bool = False,
        absolute_positions: bool = False,
    ) -> None:
        super().__init__()
        self.bundle, self.likeliest_stop = bundle, likeliest_stop
        self.head_dim = head_dim(token_dim, heads)
        self.start = nn.Parameter(torch.randn(token_dim))
        self.embed = BundleToToken(d, token_dim, bundle)
        self.positions = AbsolutePositions(token_dim) if absolute_positions else None
        self.layers = nn.ModuleList(DecoderLayer(token_dim, hidden, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(token_dim) if final_norm else nn.Identity()
        self.head = TokenToNodes(d, token_dim, bundle)
        self.node_features = NodeFeatures(node_width, token_dim, bundle) if node_width else None
        self.edge_features = EdgeFeatures(edge_width, token_dim, bundle) if edge_width else None

    def read(self, z: Tensor) -> list[KeyValue]:
        """Each layer's keys and values of z (B, C, D), the memory that all passes and steps share."""
        return [layer.cross_attention.read(z) for layer in self.layers]  # type: ignore[union-attr, operator]

    def forward(self, bundles: Tensor, memory: list[KeyValue]) -> tuple[Tensor, Tensor]:
        """Teacher forcing: from bundles (B, T, b·d), shifted right, to balls (B, T·b, d) and stop logits (B, T·b)."""
        return self.head(self.tokens(bundles, memory))

    def tokens(self, bundles: Tensor, memory: list[KeyValue]) -> Tensor:
        """The output tokens (B, T, D) of teacher forcing."""
        batch, length, _ = bundles.shape
        start = self.start.expand(batch, 1, -1)
        x = torch.cat((start, self.embed(bundles[:, :-1])), dim=1)  # (B, T, D)
        if self.positions is not None:
            x = x + self.positions(length)
        turn = rope(length, self.head_dim, x.device)
        for layer, read in zip(self.layers, memory, strict=True):
            x, _ = layer(x, turn, read)
        return self.norm(x)

    @torch.no_grad()
    def generate(self, z: Tensor, max_nodes: int) -> Decoded:
        """From z (B, C, D), each bundle from the ones before, until every graph has stopped.

        A graph that has stopped leaves the batch.
        """
        batch, device = len(z), z.device
        memory = self.read(z)
        length = -(-max_nodes // self.bundle)  # T
        turn = rope(length, self.head_dim, device)  # (2, T, h)
        places = None if self.positions is None else self.positions(length)  # (T, D)
        sizes = torch.full((batch,), max_nodes, device=device)
        truncated = torch.ones(batch, dtype=torch.bool, device=device)
        best = torch.full((batch,), -torch.inf, device=device)  # log P of the likeliest size so far
        going = torch.zeros(batch, device=device)  # log ∏ (1 - h) of all slots so far
        featured = self.node_features is not None or self.edge_features is not None
        steps: list[tuple[Tensor, ...]] = []  # who was decoded, balls, stop logits, and for features the output tokens

        alive = torch.arange(batch, device=device)  # (A,)
        past: list[KeyValue] = []
        x = self.start.expand(batch, 1, -1)  # (A, 1, D)
        for first in range(0, max_nodes, self.bundle):
            here = turn[:, first // self.bundle, None]  # (2, 1, h)
            if places is not None:
                x = x + places[first // self.bundle]
            present = []
            for layer, read, before in zip_longest(self.layers, memory, past):  # the first step has no past
                x, tokens = layer(x, here, read, before)
                present.append(tokens)
            x = self.norm(x)
            balls, logits = self.head(x)  # (A, b, d), (A, b)
            steps.append((alive, balls, logits, x) if featured else (alive, balls, logits))

            within = logits[:, : max_nodes - first]  # (A, b), or fewer at the limit
            if self.likeliest_stop:
                not_before = going[alive, None] + F.logsigmoid(-within).cumsum(1)  # (A, b), log P(n > slot)
                value, slot = (not_before + within).max(dim=1)  # log P(n = slot), as log h - log (1 - h) is the logit
                better = value > best[alive]
                best[alive[better]], sizes[alive[better]] = value[better], first + 1 + slot[better]
                going[alive] = not_before[:, -1]
                done = going[alive] < best[alive]  # no later slot can be likelier
            else:
                stop = within > 0
                done = stop.any(dim=1)  # (A,)
                sizes[alive[done]] = first + 1 + stop[done].int().argmax(dim=1)
            truncated[alive[done]] = False
            if done.any():
                alive, balls = alive[~done], balls[~done]
                memory, present = [kv.of(~done) for kv in memory], [kv.of(~done) for kv in present]
            if not len(alive):
                break
            past = present
            x = self.embed(balls.flatten(1)[:, None])  # (A, 1, D)

        n = max(sizes.tolist(), default=0)
        slots = torch.arange(n, device=device) < sizes[:, None]  # (B, n)

        def cut(nodes: Tensor) -> Tensor:
            return nodes[:, :n].where(slots[..., None], 0)  # (B, n, w)

        all_balls, all_logits, *tokens_out = (_gather(steps, part) for part in range(1, len(steps[0])))
        node_features = cut(self.node_features(*tokens_out)) if self.node_features is not None else None
        vectors = cut(self.edge_features.vectors(*tokens_out)) if self.edge_features is not None else None
        stop_probability = all_logits[:, :n].sigmoid().where(slots, 0)
        return Decoded(cut(all_balls), sizes, stop_probability, truncated, node_features, vectors)


def _gather(steps: list[tuple[Tensor, ...]], part: int) -> Tensor:
    """One part of the steps side by side, (B, T·b, …) or (B, T, D); zeros where a graph had left the batch."""
    first = steps[0][part]
    batch, width = first.shape[:2]
    gathered = first.new_zeros(batch, len(steps) * width, *first.shape[2:])
    for t, step in enumerate(steps):
        gathered[step[0], t * width : (t + 1) * width] = step[part]
    return gathered
