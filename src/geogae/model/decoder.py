"""The decoder: a causal transformer unrolls z into balls, bundle by bundle (Section 3.5, Figure 3).

A stop logit belongs to a node and asks whether the graph ends with it: counting slots from 1, the target is 1 where
the slot "meets or exceeds" n (Appendix B.4). The graph ends at the first slot that says so, wherever in its bundle
that is; the slots behind it are never read, in training or decoding, so every n ≥ 1 is exact.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import NamedTuple

import torch
from torch import Tensor, nn

from geogae.model.attention import DecoderLayer, KeyValue, head_dim, rope
from geogae.model.bundles import BundleToToken, TokenToNodes


class Decoded(NamedTuple):
    """Graphs read off z, padded with zeros to the largest."""

    balls: Tensor  # (B, n, d)
    sizes: Tensor  # (B,)
    stop_probability: Tensor  # (B, n), of each node to be the last
    truncated: Tensor  # (B,), True where max_nodes came before a stop


class Decoder(nn.Module):
    def __init__(self, d: int, *, token_dim: int, bundle: int, layers: int, hidden: int, heads: int) -> None:
        super().__init__()
        self.bundle = bundle
        self.head_dim = head_dim(token_dim, heads)
        self.start = nn.Parameter(torch.randn(token_dim))
        self.embed = BundleToToken(d, token_dim, bundle)
        self.layers = nn.ModuleList(DecoderLayer(token_dim, hidden, heads) for _ in range(layers))
        self.head = TokenToNodes(d, token_dim, bundle)

    def read(self, z: Tensor) -> list[KeyValue]:
        """Each layer's keys and values of z (B, C, D), the memory that all passes and steps share."""
        return [layer.cross_attention.read(z) for layer in self.layers]  # type: ignore[union-attr, operator]

    def forward(self, bundles: Tensor, memory: list[KeyValue]) -> tuple[Tensor, Tensor]:
        """Teacher forcing: from bundles (B, T, b·d), shifted right, to balls (B, T·b, d) and stop logits (B, T·b)."""
        batch, length, _ = bundles.shape
        start = self.start.expand(batch, 1, -1)
        x = torch.cat((start, self.embed(bundles[:, :-1])), dim=1)  # (B, T, D)
        turn = rope(length, self.head_dim, x.device)
        for layer, read in zip(self.layers, memory, strict=True):
            x, _ = layer(x, turn, read)
        return self.head(x)

    @torch.no_grad()
    def generate(self, z: Tensor, max_nodes: int) -> Decoded:
        """From z (B, C, D), each bundle from the ones before, until all have said stop; who has leaves the batch."""
        batch, device = len(z), z.device
        memory = self.read(z)
        turn = rope(-(-max_nodes // self.bundle), self.head_dim, device)  # (2, T, h)
        sizes = torch.full((batch,), max_nodes, device=device)
        truncated = torch.ones(batch, dtype=torch.bool, device=device)
        steps: list[tuple[Tensor, Tensor, Tensor]] = []  # who was decoded, balls, stop logits

        alive = torch.arange(batch, device=device)  # (A,)
        past: list[KeyValue] = []
        x = self.start.expand(batch, 1, -1)  # (A, 1, D)
        for first in range(0, max_nodes, self.bundle):
            here = turn[:, first // self.bundle, None]  # (2, 1, h)
            present = []
            for layer, read, before in zip_longest(self.layers, memory, past):  # the first step has no past
                x, tokens = layer(x, here, read, before)
                present.append(tokens)
            balls, logits = self.head(x)  # (A, b, d), (A, b)
            steps.append((alive, balls, logits))

            stop = logits[:, : max_nodes - first] > 0
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

        return _gather(steps, sizes, truncated)


def _gather(steps: list[tuple[Tensor, Tensor, Tensor]], sizes: Tensor, truncated: Tensor) -> Decoded:
    """The steps' bundles side by side, cut to each graph's size."""
    _, balls, logits = steps[0]
    batch, bundle, d = balls.shape
    all_balls = balls.new_zeros(batch, len(steps) * bundle, d)
    all_logits = logits.new_zeros(batch, len(steps) * bundle)
    for t, (alive, balls, logits) in enumerate(steps):
        all_balls[alive, t * bundle : (t + 1) * bundle] = balls
        all_logits[alive, t * bundle : (t + 1) * bundle] = logits
    n = max(sizes.tolist(), default=0)
    present = torch.arange(n, device=sizes.device) < sizes[:, None]  # (B, n)
    return Decoded(
        all_balls[:, :n].where(present[..., None], 0), sizes, all_logits[:, :n].sigmoid().where(present, 0), truncated
    )
