"""Graphs between two graphs: a great circle on the prior's side, where every point is as likely as the ends."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geogae.latent.prior import Prior, slerp


def path(prior: Prior, one: NDArray[np.float32], other: NDArray[np.float32], steps: int) -> NDArray[np.float32]:
    """z (steps, m) from one to the other; the ends are as given."""
    u = prior.to_normal(np.stack([one, other]))
    between = slerp(u[0], u[1], np.linspace(0, 1, steps)[1:-1].tolist())
    inner = prior.from_normal(between) if len(between) else np.empty((0, prior.m), np.float32)
    return np.concatenate([one[None], inner, other[None]]).astype(np.float32)
