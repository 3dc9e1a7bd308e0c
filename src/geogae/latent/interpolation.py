"""Graphs between two graphs: paths of z that the prior gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geogae.latent.prior import Prior


def paths(prior: Prior, one: NDArray[np.float32], other: NDArray[np.float32], steps: int) -> NDArray[np.float32]:
    """z (N, steps, m) from one (N, m) to the other (N, m); the ends are as given."""
    ways = [one[:, None], other[:, None]]
    if steps > 2:
        ways.insert(1, prior.between(one, other, np.linspace(0, 1, steps)[1:-1].tolist()))
    return np.concatenate(ways, axis=1).astype(np.float32)
