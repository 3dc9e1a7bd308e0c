"""The margin and the focal loss in torch: what fitting on a device and training a model both descend on."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from geogae.geometry.cloud import RADIUS_SCALE


def margins(balls: Tensor) -> Tensor:
    """How deep each pair of balls (…, n, d) overlaps, (…, n, n); positive where they intersect (def. m^(k))."""
    centers, radii = balls[..., :-1], F.softplus(balls[..., -1])  # (…, n, d-1), (…, n)
    # cdist's direct kernel: no (n, n, d) in between, and a zero gradient, not NaN, where centres coincide
    dist = torch.cdist(centers, centers, compute_mode="donot_use_mm_for_euclid_dist")  # (…, n, n)
    return RADIUS_SCALE * (radii[..., :, None] + radii[..., None, :]) - dist


def focal(logits: Tensor, target: Tensor, weight: float, gamma: float) -> Tensor:
    """-α_t (1 - p̂)^γ log p̂ with p̂ = σ(±logit), elementwise; α_t is ``weight`` where ``target`` holds, else 1 - it."""
    x = torch.where(target, logits, -logits)
    log_p = F.logsigmoid(x)
    log_1_minus_p = log_p - x  # log σ(-x)
    return -torch.where(target, weight, 1 - weight) * (gamma * log_1_minus_p).exp() * log_p
