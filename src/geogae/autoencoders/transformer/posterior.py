"""The optional variational head: z = μ + σ ⊙ ε (Section 3.5)."""

from __future__ import annotations

import torch
from torch import Tensor, nn


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
