"""Node and edge attributes as features (Section 3.7): what the encoder reads, and the MLPs that give them back.

Features are those of :class:`geogae.autoencoders.schema.Schema`, in node order: w_node numbers a node,
w_edge numbers an edge.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from geogae.autoencoders.transformer.bundles import mlp


class Features(NamedTuple):
    """The features of B graphs of up to n nodes, with M edges between them all."""

    nodes: Tensor  # (B, n, w_node), the last node's repeated where a graph has ended
    edges: Tensor  # (M, 3), int64: graph, i, j with i < j, places in the sequence
    edge_features: Tensor  # (M, w_edge)

    def to(self, device: torch.device) -> Features:
        return Features(*(part.to(device, non_blocking=True) for part in self))


class TokenPairs(NamedTuple):
    """Who sees whom along an edge, both ways: P = 2M pairs of tokens, each once."""

    places: Tensor  # (P, 3): graph, the token that sees (query), the token that is seen (key)
    features: Tensor  # (P, w_edge)


def token_pairs(edges: Tensor, features: Tensor, bundle: int, first: int) -> TokenPairs:
    """Edges (M, 3) with features (M, w) as pairs of tokens, where the first bundle's token stands at ``first``.

    Between two bundles there may be many edges: the pair gets the mean of their features. An edge inside a bundle is a
    pair of its token with itself. With b = 1 every edge is a pair of its own.
    """
    back = edges
    if bundle > 1:
        edges = torch.cat((edges[:, :1], edges[:, 1:] // bundle), dim=1)
        edges, pair = edges.unique(dim=0, return_inverse=True)
        number = features.new_zeros(len(edges)).index_add(0, pair, features.new_ones(len(pair)))
        features = features.new_zeros(len(edges), features.shape[1]).index_add(0, pair, features) / number[:, None]
        apart = edges[:, 1] != edges[:, 2]
        back, returned = edges[apart], features[apart]
    else:
        returned = features
    places = torch.cat((edges, back[:, [0, 2, 1]]))
    return TokenPairs(places + places.new_tensor([0, first, first]), torch.cat((features, returned)))


class NodeFeatures(nn.Module):
    """A separate MLP from output tokens to the features of their b nodes: logits of categories, then numbers."""

    def __init__(self, width: int, token_dim: int, bundle: int) -> None:
        super().__init__()
        self.bundle = bundle
        self.mlp = mlp(token_dim, bundle * width, token_dim)

    def forward(self, tokens: Tensor) -> Tensor:
        with torch.autocast(tokens.device.type, enabled=False):
            nodes = self.mlp(tokens.float())  # (…, T, b·w)
        return nodes.unflatten(-1, (self.bundle, -1)).flatten(-3, -2)  # (…, T·b, w)


class EdgeFeatures(nn.Module):
    """A separate MLP from the sum and the absolute difference of two nodes' vectors to the features of their edge.

    A node's vector is its output token; of a bundle of several, a linear layer cuts the token into one for each node.
    """

    def __init__(self, width: int, token_dim: int, bundle: int) -> None:
        super().__init__()
        self.bundle = bundle
        self.cut = nn.Linear(token_dim, bundle * token_dim) if bundle > 1 else None
        self.mlp = mlp(2 * token_dim, width, token_dim)

    def vectors(self, tokens: Tensor) -> Tensor:
        """Tokens (B, T, D) as vectors of nodes (B, T·b, D)."""
        if self.cut is None:
            return tokens
        return self.cut(tokens).unflatten(-1, (self.bundle, -1)).flatten(1, 2)

    def forward(self, vectors: Tensor, edges: Tensor) -> Tensor:
        """The features (M, w) of edges (M, 3) between nodes with vectors (B, n, D)."""
        graph, i, j = edges.unbind(1)
        first = graph * vectors.shape[1]
        one, other = (vectors.flatten(0, 1).index_select(0, first + node) for node in (i, j))  # (M, D)
        with torch.autocast(vectors.device.type, enabled=False):
            one, other = one.float(), other.float()
            return self.mlp(torch.cat((one + other, (one - other).abs()), dim=1))
