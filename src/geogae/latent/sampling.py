"""New graphs from a prior: draws of z, decoded; what breaks a rule is counted and, if asked for, drawn again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geogae.errors import GeoGAEError
from geogae.graph import Graph
from geogae.latent.prior import Given, Prior
from geogae.latent.rules import counted

HOPELESS = 50  # draws for each graph that is wanted, after which only_valid gives up
BATCH = 4096


class Draws(NamedTuple):
    """Graphs and their z; how many were drawn, and how many of these broke which rule."""

    graphs: list[Graph]
    z: NDArray[np.float32]  # (len(graphs), m)
    drawn: int
    broken: dict[str, int]

    @property
    def valid(self) -> float:
        """Share of all draws that break no rule."""
        return 1 - sum(self.broken.values()) / max(1, self.drawn)


def draw(
    prior: Prior,
    decode: Callable[[NDArray[np.float32]], Sequence[Graph]],
    n: int,
    broken: Callable[[Graph], str | None],
    *,
    seed: int = 0,
    given: Given | None = None,
    guidance: float = 1.0,
    temperature: float = 1.0,
    only_valid: bool = False,
) -> Draws:
    """n graphs; with ``only_valid`` n that break no rule, drawn until there are so many."""
    if only_valid and given and any(np.ndim(values) for values in given.values()):
        raise GeoGAEError("only_valid draws again and again, so that given must be one number for each condition")
    graphs: list[Graph] = []
    vectors = [np.empty((0, prior.m), np.float32)]
    reasons: list[str | None] = []
    attempt = 0
    while len(graphs) < n:
        count = min(BATCH, n) if only_valid else n
        z = prior.sample(count, seed if attempt == 0 else hash_seed(seed, attempt), given, guidance, temperature)
        decoded = list(decode(z))
        found = [broken(graph) for graph in decoded]
        reasons += found
        kept = [i for i, reason in enumerate(found) if reason is None or not only_valid]
        graphs += [decoded[i] for i in kept]
        vectors.append(z[kept])
        attempt += 1
        if len(reasons) > HOPELESS * n and len(graphs) < n:
            raise GeoGAEError(
                f"only {len(graphs)} of {len(reasons)} draws are valid ({counted(reasons)}); fit the prior for longer, "
                f"or take only_valid=False"
            )
    return Draws(graphs[:n], np.concatenate(vectors)[:n], len(reasons), counted(reasons))


def hash_seed(seed: int, attempt: int) -> int:
    """A seed of its own for each further attempt."""
    return int(np.random.SeedSequence([seed, attempt]).generate_state(1)[0])
