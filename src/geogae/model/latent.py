"""z: the optional variational head, z = μ + σ ⊙ ε (Section 3.5), and what every decoder asks of a z."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from geogae.errors import GeoGAEError


class Posterior(nn.Module):
    """μ and log σ² of the latent from the CLS tokens, by one linear map that the tokens share."""

    def __init__(self, token_dim: int) -> None:
        super().__init__()
        self.linear = nn.Linear(token_dim, 2 * token_dim)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        mu, log_var = self.linear(tokens).chunk(2, dim=-1)  # (B, C, D) each
        return mu.flatten(1), log_var.flatten(1)  # (B, m) each


def sample(mu: Tensor, log_var: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Reparameterisation: a draw that gradients pass through, (B, m)."""
    noise = torch.randn(mu.shape, generator=generator, device=mu.device, dtype=mu.dtype)
    return mu + (0.5 * log_var).exp() * noise


def check_latent(z: Tensor, latent_dim: int) -> None:
    """Rows of ``latent_dim`` finite numbers, or one line that says what they are instead."""
    if z.ndim != 2 or z.shape[1] != latent_dim:
        raise GeoGAEError(f"z has shape {tuple(z.shape)}; this model decodes rows of {latent_dim} numbers")
    if not z.isfinite().all():
        raise GeoGAEError(f"z has {int((~z.isfinite()).sum())} values that are not finite; encode the graphs again")
