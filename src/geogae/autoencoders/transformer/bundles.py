"""Bundles of b nodes in a row, and the two MLPs between bundles and tokens (Section 3.4, Appendix B.2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

MLP_WIDENING = 4  # hidden width of φ, ψ and the MLPs of attributes over token_dim; the paper leaves it open


def bundle_up(nodes: Tensor, sizes: Tensor, bundle: int) -> Tensor:
    """Nodes (B, n, w) as bundles (B, T, b·w), T = ⌈n/b⌉; slots beyond a graph's size repeat its last node."""
    batch, n, _ = nodes.shape
    slots = -(-n // bundle) * bundle
    slot = torch.arange(slots, device=nodes.device).minimum(sizes[:, None] - 1)  # (B, T·b)
    rows = torch.arange(batch, device=nodes.device)[:, None]
    return nodes[rows, slot].unflatten(1, (-1, bundle)).flatten(2)  # (B, T, b·w)


class BundleToToken(nn.Module):
    """φ: ℝ^(b·w) → ℝ^token_dim."""

    def __init__(self, node_width: int, token_dim: int, bundle: int) -> None:
        super().__init__()
        self.mlp = mlp(bundle * node_width, token_dim, token_dim)

    def forward(self, bundles: Tensor) -> Tensor:
        with torch.autocast(bundles.device.type, enabled=False):  # coordinates need more precision than bfloat16 has
            return self.mlp(bundles.float())  # (B, T, D)


class TokenToNodes(nn.Module):
    """ψ: ℝ^token_dim → ℝ^(b·d) × ℝ^b, the balls and the stop logits of a bundle."""

    def __init__(self, d: int, token_dim: int, bundle: int) -> None:
        super().__init__()
        self.bundle = bundle
        self.mlp = mlp(token_dim, bundle * (d + 1), token_dim)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        with torch.autocast(tokens.device.type, enabled=False):
            nodes = self.mlp(tokens.float())  # (B, T, b·(d+1))
        nodes = nodes.unflatten(-1, (self.bundle, -1)).flatten(1, 2)  # (B, T·b, d+1)
        return nodes[..., :-1], nodes[..., -1]  # (B, T·b, d), (B, T·b)


def mlp(inputs: int, outputs: int, token_dim: int) -> nn.Sequential:
    hidden = MLP_WIDENING * token_dim
    return nn.Sequential(nn.Linear(inputs, hidden), nn.GELU(), nn.Linear(hidden, outputs))
