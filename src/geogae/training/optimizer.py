"""Muon (Jordan et al. 2024) for the weight matrices of a network, AdamW for all other parameters.

A matrix moves along its momentum with all singular values made about 1, so that rare directions learn as fast as
common ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

MOMENTUM = 0.95
LEAST_SIDE = 32  # smaller matrices (embeddings of a few numbers, the last layer of a head) are left to AdamW
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)  # coefficients of the quintic iteration, as published
ITERATIONS = 5
ADAMW_RMS = 0.2  # root mean square of an AdamW step in units of lr: the same lr suits both kinds of parameters


class Muon(torch.optim.AdamW):
    """AdamW whose matrices take orthogonalised steps; one ``lr`` for both."""

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float, **adamw: Any) -> None:
        every = list(parameters)
        super().__init__(every, lr=lr, **adamw)
        self.matrices = [p for p in every if p.ndim == 2 and min(p.shape) >= LEAST_SIDE]

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        [group] = self.param_groups
        alike: dict[torch.Size, list[nn.Parameter]] = {}
        for p in self.matrices:
            if p.grad is not None:
                alike.setdefault(p.shape, []).append(p)
        for shape, same in alike.items():
            updates = orthogonalised(torch.stack([self._momentum(p) for p in same]))  # (P, rows, columns)
            for p, update in zip(same, updates, strict=True):
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.sub_(update, alpha=group["lr"] * ADAMW_RMS * max(shape) ** 0.5)
                p.grad = None  # AdamW passes it over
        super().step()

    def _momentum(self, p: nn.Parameter) -> Tensor:
        """Nesterov's momentum of a matrix after its new gradient."""
        state = self.state[p]
        if not state:
            state["step"], state["momentum"] = torch.zeros(()), torch.zeros_like(p)
        state["step"] += 1  # AdamW looks for it in every state that is loaded
        assert p.grad is not None
        momentum = state["momentum"].mul_(MOMENTUM).add_(p.grad)
        return p.grad.add(momentum, alpha=MOMENTUM)


def orthogonalised(matrices: Tensor) -> Tensor:
    """Matrices (…, rows, columns) with their singular values near 1, by Newton's and Schulz's iteration.

    The iteration multiplies X by polynomials of its Gram matrix, so it is done on the Gram matrix of the shorter side
    alone: two products with the whole matrix instead of two in each iteration. Matrices of one shape go together.
    """
    a, b, c = NEWTON_SCHULZ
    x = matrices.float() / (torch.linalg.matrix_norm(matrices.float(), keepdim=True) + 1e-7)
    wide = x if x.shape[-2] <= x.shape[-1] else x.mT  # (…, r, s), r ≤ s
    gram = wide @ wide.mT  # (…, r, r)
    unit = torch.eye(gram.shape[-1], device=gram.device)
    product = unit
    for _ in range(ITERATIONS):
        polynomial = a * unit + b * gram + c * gram @ gram
        product = polynomial @ product
        gram = polynomial @ gram @ polynomial
    return (product @ wide if wide is x else (product @ wide).mT).to(matrices.dtype)
