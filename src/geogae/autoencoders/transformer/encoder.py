"""The encoder: C learned CLS tokens read the ordered balls (Section 3.5, Figure 2; mask: Appendix B.3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from geogae.autoencoders.transformer.attention import EncoderLayer, head_dim, rope
from geogae.autoencoders.transformer.bundles import BundleToToken, bundle_up
from geogae.autoencoders.transformer.features import Features, token_pairs


class Encoder(nn.Module):
    """Nodes of width ``node_width`` (the ball, d numbers, then attributes if any) to C tokens.

    Positions count along the sequence as it stands, CLS tokens first: 0 … C-1, then the bundles. Padding comes last,
    so it moves nothing. Edges of width ``edge_width`` enter the self-attention of every layer but the last. The last
    layer computes the CLS tokens only. No edge ends at a CLS token, so that layer has no edge projection.
    """

    def __init__(
        self,
        node_width: int,
        *,
        token_dim: int,
        latent_tokens: int,
        bundle: int,
        layers: int,
        hidden: int,
        heads: int,
        edge_width: int = 0,
    ) -> None:
        super().__init__()
        self.bundle, self.edge_width = bundle, edge_width
        self.head_dim = head_dim(token_dim, heads)
        self.embed = BundleToToken(node_width, token_dim, bundle)
        self.cls = nn.Parameter(torch.randn(latent_tokens, token_dim))
        widths = [edge_width] * (layers - 1) + [0]
        self.layers = nn.ModuleList(EncoderLayer(token_dim, hidden, heads, width) for width in widths)
        self.norm = nn.LayerNorm(token_dim)

    def forward(self, nodes: Tensor, sizes: Tensor, attributes: Features | None = None) -> Tensor:
        """Ordered, padded nodes (B, n, d) of graphs with ``sizes`` (B,) nodes to CLS tokens (B, C, D)."""
        if attributes is not None:
            nodes = torch.cat((nodes, attributes.nodes), dim=-1)  # (B, n, w)
        tokens = self.embed(bundle_up(nodes, sizes, self.bundle))  # (B, T, D)
        batch, length, _ = tokens.shape
        classes = len(self.cls)
        x = torch.cat((self.cls.expand(batch, -1, -1), tokens), dim=1)  # (B, C+T, D)
        turn = rope(classes + length, self.head_dim, x.device)
        mask = attention_mask(classes, length, -(-sizes // self.bundle))
        pairs = None
        if attributes is not None and self.edge_width:
            pairs = token_pairs(attributes.edges, attributes.edge_features, self.bundle, classes)
        *layers, last = self.layers
        for layer in layers:
            x = layer(x, turn, mask, pairs=pairs)
        return self.norm(last(x, turn, mask, rows=classes))  # only the CLS tokens of the last layer are used


def attention_mask(classes: int, length: int, lengths: Tensor) -> Tensor:
    """Attention mask (B, 1, C+T, C+T): True where a row attends to a column.

    All pairs are True, except a CLS token to another CLS token, and any token to padding.
    """
    position = torch.arange(classes + length, device=lengths.device)
    is_cls = position < classes
    other_cls = is_cls[:, None] & is_cls & (position[:, None] != position)  # (C+T, C+T)
    present = position < classes + lengths[:, None]  # (B, C+T)
    return (present[:, None] & ~other_cls)[:, None]
