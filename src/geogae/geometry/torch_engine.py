"""The same descent in batched torch, for CUDA, and as the paper's plain reading to measure against."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from geogae.geometry.differentiable import focal, margins
from geogae.geometry.kernel import BETA1, BETA2


def descend_batch(
    starts: Sequence[NDArray[np.float32]],  # balls (n_g, d)
    adjacencies: Sequence[NDArray[np.bool_]],  # (n_g, n_g); True on the diagonal: a ball that twins share
    *,
    alpha: float,
    gamma: float,
    temperature: float,
    margin: float,
    rate: float,
    steps: int,
    widen: int,
    device: str | torch.device,
) -> list[tuple[NDArray[np.float32], int]]:
    """Adam on L_sphere for a batch of graphs; each one stops by itself. Returns balls (n_g, d) and steps, by graph.

    Graphs of a batch should be alike in size: all are padded to the largest. Finished graphs leave the batch.
    """
    n_max, d = max(map(len, starts)), starts[0].shape[1]
    count = len(starts)
    start = torch.zeros(count, n_max, d)
    sign = torch.zeros(count, n_max, n_max)  # +1 edge, -1 none, 0 no such pair
    for g, (balls_g, joined) in enumerate(zip(starts, adjacencies, strict=True)):
        n = len(balls_g)
        start[g, :n] = torch.from_numpy(balls_g)
        sign[g, :n, :n] = torch.from_numpy(np.triu(np.where(joined, 1.0, -1.0), 1) + np.diag(np.diag(joined)))
    balls, sign = start.to(device), sign.to(device)
    first, second = torch.zeros_like(balls), torch.zeros_like(balls)
    best = balls.clone()
    best_wrong = torch.full((count,), torch.inf, device=device)
    best_narrow = best_wrong.clone()
    deadline = torch.full((count,), steps, device=device)
    taken = torch.zeros(count, dtype=torch.long, device=device)
    active = torch.arange(count, device=device)  # which graph each row of the batch is
    for step in range(steps + 1):
        balls.requires_grad_(True)
        pair = sign != 0
        margin_now = margins(balls)
        loss = focal(margin_now / temperature, sign > 0, alpha, gamma) * pair  # eq. 3
        (gradient,) = torch.autograd.grad(loss.sum(), balls)
        with torch.no_grad():
            balls, signed = balls.detach(), margin_now * sign  # positive where the rule is right
            wrong = ((signed <= 0) & pair).sum((1, 2))
            narrow = ((signed <= margin) & pair).sum((1, 2))
            better = (wrong < best_wrong[active]) | ((wrong == best_wrong[active]) & (narrow < best_narrow[active]))
            exact_now = better & (wrong == 0) & (best_wrong[active] > 0)
            deadline[active[exact_now]] = min(steps, step + widen)
            best[active[better]] = balls[better]
            best_wrong[active[better]] = wrong[better].float()
            best_narrow[active[better]] = narrow[better].float()
            taken[active] = step
            keep = (narrow > 0) & (step < deadline[active])
            if not keep.any():
                break
            if not keep.all():
                balls, sign, first, second, gradient, active = (
                    t[keep] for t in (balls, sign, first, second, gradient, active)
                )
            first.mul_(BETA1).add_(gradient, alpha=1 - BETA1)
            second.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
            scale = (second / (1 - BETA2 ** (step + 1))).sqrt_().add_(1e-8)
            balls = balls - rate / (1 - BETA1 ** (step + 1)) * first / scale
    fitted = best.cpu().numpy()
    return [(fitted[g, : len(balls_g)], int(taken[g])) for g, balls_g in enumerate(starts)]
