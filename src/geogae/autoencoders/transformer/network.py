"""The paper's network: ordered balls → z → ordered balls, and the stacked passes that train it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from geogae.autoencoders.transformer.bundles import bundle_up
from geogae.autoencoders.transformer.decoder import Decoded, Decoder
from geogae.autoencoders.transformer.encoder import Encoder
from geogae.autoencoders.transformer.features import Features
from geogae.autoencoders.transformer.posterior import Posterior, sample
from geogae.errors import GeoGAEError


class Passes(NamedTuple):
    """What the K decoder passes gave for a batch, cut to the batch's n; rows beyond a graph's size mean nothing."""

    balls: Tensor  # (K, B, n, d)
    stop_logits: Tensor  # (K, B, n)
    z: Tensor  # (B, m)
    mu: Tensor | None = None  # (B, m), with a variational latent
    log_var: Tensor | None = None  # (B, m)
    node_features: Tensor | None = None  # (K, B, n, w_node), where the model decodes them
    edge_features: Tensor | None = None  # (M, w_edge), of the true edges, by the last pass


class SequentialNetwork(nn.Module):
    """Sections 3.5 to 3.7. Balls come ordered and padded, (B, n, d), with ``sizes`` (B,); padding must be finite.

    With ``node_features`` numbers a node or ``edge_features`` numbers an edge, z also encodes the attributes, and
    batches must bring them; with ``decodes_features`` they are also read off z.
    """

    def __init__(
        self,
        d: int,
        *,
        token_dim: int = 64,
        latent_tokens: int = 3,
        bundle: int = 1,
        encoder_layers: int = 4,
        encoder_hidden: int = 1024,
        encoder_heads: int = 8,
        decoder_layers: int = 2,
        decoder_hidden: int = 512,
        decoder_heads: int = 1,
        passes: int = 3,
        variational: bool = False,
        node_features: int = 0,
        edge_features: int = 0,
        decodes_features: bool = False,
        likeliest_stop: bool = False,
        final_norm: bool = False,
        absolute_positions: bool = False,
    ) -> None:
        super().__init__()
        _at_least(2, d=d)
        _at_least(1, token_dim=token_dim, latent_tokens=latent_tokens, bundle=bundle, passes=passes)
        _at_least(1, encoder_layers=encoder_layers, encoder_hidden=encoder_hidden)
        _at_least(1, decoder_layers=decoder_layers, decoder_hidden=decoder_hidden)
        _at_least(0, node_features=node_features, edge_features=edge_features)
        if edge_features and encoder_layers < 2:
            raise GeoGAEError(
                "encoder_layers=1 leaves no layer in which nodes see their edges; edge attributes need at least 2"
            )
        self.d, self.bundle, self.passes = d, bundle, passes
        self.latent_tokens = latent_tokens  # C
        self.widths = node_features, edge_features
        self.encoder = Encoder(
            d + node_features,
            token_dim=token_dim,
            latent_tokens=latent_tokens,
            bundle=bundle,
            layers=encoder_layers,
            hidden=encoder_hidden,
            heads=encoder_heads,
            edge_width=edge_features,
        )
        self.posterior = Posterior(token_dim) if variational else None
        self.decoder = Decoder(
            d,
            token_dim=token_dim,
            bundle=bundle,
            layers=decoder_layers,
            hidden=decoder_hidden,
            heads=decoder_heads,
            node_width=node_features if decodes_features else 0,
            edge_width=edge_features if decodes_features else 0,
            likeliest_stop=likeliest_stop,
            final_norm=final_norm,
            absolute_positions=absolute_positions,
        )

    def encode(self, balls: Tensor, sizes: Tensor, attributes: Features | None = None) -> Tensor:
        """z, (B, m); μ if the latent is variational."""
        return self._latent(balls, sizes, attributes)[0]

    def decode(self, z: Tensor, max_nodes: int) -> Decoded:
        """Balls, sizes and stop probabilities from z (B, m) alone; a graph cut at ``max_nodes`` is flagged."""
        _at_least(1, max_nodes=max_nodes)
        return self.decoder.generate(self._tokens(z), max_nodes)

    def edge_features(self, vectors: Tensor, edges: Tensor) -> Tensor:
        """The features (M, w_edge) of decoded edges (M, 3), rows (graph, i, j), from decoded vectors (B, n, D)."""
        if self.decoder.edge_features is None:
            raise GeoGAEError("this model decodes no edge features; build it with edge_features and decodes_features")
        return self.decoder.edge_features(vectors, edges)

    def forward(
        self,
        balls: Tensor,
        sizes: Tensor,
        generator: torch.Generator | None = None,
        attributes: Features | None = None,
    ) -> Passes:
        """Multi-layer teacher forcing (Section 3.6): K passes of one decoder, stacked like layers.

        The first pass sees the truth, each next one what the pass below it gave, both shifted right. As in any stack,
        gradients run through all of it. In training mode a variational z is drawn with ``generator``; else it is μ.
        Decoded node attributes are read from the output tokens of every pass, edge attributes from those of the last.
        """
        z, mu, log_var = self._latent(balls, sizes, attributes)
        if mu is not None and log_var is not None and self.training:
            z = sample(mu, log_var, generator)
        return self.unrolled(z, balls, sizes, attributes)._replace(mu=mu, log_var=log_var)

    def unrolled(self, z: Tensor, balls: Tensor, sizes: Tensor, attributes: Features | None = None) -> Passes:
        """The K passes from a given z (B, m)."""
        memory = self.decoder.read(self._tokens(z))
        bundles = bundle_up(balls, sizes, self.bundle)  # (B, T, b·d)
        outputs, all_tokens = [], []
        for _ in range(self.passes):
            tokens = self.decoder.tokens(bundles, memory)  # (B, T, D)
            predicted, stop_logits = self.decoder.head(tokens)  # (B, T·b, d), (B, T·b)
            outputs.append((predicted, stop_logits))
            all_tokens.append(tokens)
            bundles = predicted.unflatten(1, (-1, self.bundle)).flatten(2)
        n = balls.shape[1]
        stacked_balls, stacked_logits = (torch.stack(part) for part in zip(*outputs, strict=True))
        node_features = edge_features = None
        if self.decoder.node_features is not None:
            node_features = self.decoder.node_features(torch.stack(all_tokens))[:, :, :n]  # (K, B, n, w_node)
        if attributes is not None and self.decoder.edge_features is not None:
            vectors = self.decoder.edge_features.vectors(all_tokens[-1])
            edge_features = self.edge_features(vectors, attributes.edges)  # (M, w_edge)
        balls, stop_logits = stacked_balls[:, :, :n], stacked_logits[:, :, :n]
        return Passes(balls, stop_logits, z, node_features=node_features, edge_features=edge_features)

    def _latent(
        self, balls: Tensor, sizes: Tensor, attributes: Features | None
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        found = (0, 0) if attributes is None else (attributes.nodes.shape[-1], attributes.edge_features.shape[-1])
        if found != self.widths:
            has, reads = (f"{nodes} numbers a node and {edges} an edge" for nodes, edges in (found, self.widths))
            raise GeoGAEError(f"the batch has attributes of {has}; this model reads {reads}")
        tokens = self.encoder(balls, sizes, attributes)  # (B, C, D)
        if self.posterior is None:
            return tokens.flatten(1), None, None  # (B, m)
        mu, log_var = self.posterior(tokens)
        return mu, mu, log_var

    def _tokens(self, z: Tensor) -> Tensor:
        return z.unflatten(1, (self.latent_tokens, -1))  # (B, C, D)


def _at_least(least: int, **values: int) -> None:
    for name, value in values.items():
        if value < least:
            raise GeoGAEError(f"{name}={value} is too small; it must be at least {least}")
