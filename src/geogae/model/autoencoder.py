"""The paper's autoencoder: ordered balls → z → ordered balls, and the stacked passes that train it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from geogae.errors import GeoGAEError
from geogae.model.bundles import bundle_up
from geogae.model.decoder import Decoded, Decoder
from geogae.model.encoder import Encoder
from geogae.model.latent import Posterior, check_latent, sample


class Passes(NamedTuple):
    """What the K decoder passes gave for a batch, cut to the batch's n; rows beyond a graph's size mean nothing."""

    balls: Tensor  # (K, B, n, d)
    stop_logits: Tensor  # (K, B, n)
    z: Tensor  # (B, m)
    mu: Tensor | None  # (B, m), with a variational latent
    log_var: Tensor | None  # (B, m)


class SequentialAutoencoder(nn.Module):
    """Section 3.5 and 3.6. Balls come ordered and padded, (B, n, d), with ``sizes`` (B,); padding must be finite."""

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
    ) -> None:
        super().__init__()
        _at_least(2, d=d)
        _at_least(1, token_dim=token_dim, latent_tokens=latent_tokens, bundle=bundle, passes=passes)
        _at_least(1, encoder_layers=encoder_layers, encoder_hidden=encoder_hidden)
        _at_least(1, decoder_layers=decoder_layers, decoder_hidden=decoder_hidden)
        self.d, self.bundle, self.passes = d, bundle, passes
        self.latent_tokens, self.latent_dim = latent_tokens, latent_tokens * token_dim  # C, m
        self.encoder = Encoder(
            d,
            token_dim=token_dim,
            latent_tokens=latent_tokens,
            bundle=bundle,
            layers=encoder_layers,
            hidden=encoder_hidden,
            heads=encoder_heads,
        )
        self.posterior = Posterior(token_dim) if variational else None
        self.decoder = Decoder(
            d,
            token_dim=token_dim,
            bundle=bundle,
            layers=decoder_layers,
            hidden=decoder_hidden,
            heads=decoder_heads,
        )

    def encode(self, balls: Tensor, sizes: Tensor) -> Tensor:
        """z, (B, m); μ if the latent is variational."""
        return self._latent(balls, sizes)[0]

    def decode(self, z: Tensor, max_nodes: int) -> Decoded:
        """Balls, sizes and stop probabilities from z (B, m) alone; a graph cut at ``max_nodes`` is flagged."""
        _at_least(1, max_nodes=max_nodes)
        check_latent(z, self.latent_dim)
        return self.decoder.generate(self._tokens(z), max_nodes)

    def forward(self, balls: Tensor, sizes: Tensor, generator: torch.Generator | None = None) -> Passes:
        """Multi-layer teacher forcing (Section 3.6): K passes of one decoder, stacked like layers.

        The first pass sees the truth, each next one what the pass below it gave, both shifted right. As in any stack,
        gradients run through all of it. In training mode a variational z is drawn with ``generator``; else it is μ.
        """
        z, mu, log_var = self._latent(balls, sizes)
        if mu is not None and log_var is not None and self.training:
            z = sample(mu, log_var, generator)
        memory = self.decoder.read(self._tokens(z))
        bundles = bundle_up(balls, sizes, self.bundle)  # (B, T, b·d)
        outputs = []
        for _ in range(self.passes):
            predicted, stop_logits = self.decoder(bundles, memory)  # (B, T·b, d), (B, T·b)
            outputs.append((predicted, stop_logits))
            bundles = predicted.unflatten(1, (-1, self.bundle)).flatten(2)
        n = balls.shape[1]
        stacked_balls, stacked_logits = (torch.stack(part) for part in zip(*outputs, strict=True))
        return Passes(stacked_balls[:, :, :n], stacked_logits[:, :, :n], z, mu, log_var)

    def _latent(self, balls: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        tokens = self.encoder(balls, sizes)  # (B, C, D)
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
