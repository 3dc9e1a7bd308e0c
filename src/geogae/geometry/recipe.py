"""What decides a fit: the parameters, and the tries that follow from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np

from geogae.checks import check_choice
from geogae.errors import GeoGAEError

ALGORITHM = 5  # part of every cache key: raise it whenever the same recipe gives other clouds
MIN_DIM, MAX_DIM = 2, 64
MAX_FIT = 200_000  # nodes
NOISE = 0.1  # standard deviation added to an MDS start: without it twins coincide and never separate
RATE, LIFTED_RATE = 0.2, 1.0  # Adam's step
HOT, COLD = 2.0, 0.1  # a lifted try cools from here to there
DRAWING_TRY = 4  # the try that starts from a drawing, for discs (d = 3)


@dataclass(frozen=True)
class Recipe:
    """All that decides a fit beside the graph and the dimension."""

    start: Literal["mds", "random"] = "mds"  # centres from distances in the graph, or from noise as in the paper
    margin: float = 0.2  # the rule should be right by at least this much
    alpha: float = 0.5  # weight of edges against non-edges, eq. 3
    gamma: float = 2.0  # focus on pairs that are still wrong, eq. 3
    temperature: float = 0.4  # T, eq. 2
    steps: int = 1000  # of the first try
    tries: int = 24  # for a graph that stays inexact
    budget: float = 2e10  # pairs of nodes times steps that one graph may cost, about a minute
    seed: int = 0  # of the noise

    def __post_init__(self) -> None:
        check_choice("start", self.start, ("mds", "random"))
        limits = {
            "margin": (0, 1e6, "from 0 to 1e6", float),
            "alpha": (1e-6, 1 - 1e-6, "between 0 and 1", float),
            "gamma": (0, 10, "from 0 to 10", float),
            "temperature": (1e-6, 1e6, "from 1e-6 to 1e6", float),
            "steps": (1, np.inf, "at least 1", int),
            "tries": (1, np.inf, "at least 1", int),
            "budget": (1, np.inf, "at least 1", float),
            "seed": (0, np.inf, "at least 0", int),
        }
        for name, (least, most, limit, kind) in limits.items():
            value = getattr(self, name)
            number = isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
            if not number or not least <= value <= most:
                raise GeoGAEError(f"{name}={value!r} must be {'a whole number, ' * (kind is int)}{limit}")
            object.__setattr__(self, name, kind(value))  # gamma=2 and gamma=2.0 are one recipe, and one cache entry


class Try(NamedTuple):
    """How one descent goes; a lifted one cools, in a further dimension that closes on the way."""

    start: Literal["mds", "random", "drawing"]
    steps: int
    gamma: float
    hot: float  # the temperature falls from here …
    cold: float  # … to there
    rate: float = RATE
    noise: float = NOISE
    lifted: int = 0


def tries(recipe: Recipe, dim: int, large: bool = False) -> Iterator[Try]:
    """The first try is the paper's loss as it stands; the others alternate small and large noise and take longer.

    Those of a large graph begin at a lower temperature, as at a high one all pairs have gradients; none is a drawing,
    which takes long.
    """
    plain = Try(recipe.start, recipe.steps, recipe.gamma, recipe.temperature, recipe.temperature)
    yield plain
    for k in range(1, recipe.tries):
        steps = recipe.steps * 2 ** min(k, 5)
        if recipe.start == "random":
            yield plain
        elif k == DRAWING_TRY and dim == 3 and not large:
            yield plain._replace(start="drawing", steps=steps)
        else:
            noise = NOISE if k % 2 else 5 * NOISE
            gamma, hot = (1.0, HOT / 2) if large else (0.0, HOT)
            yield Try("mds", steps, gamma, hot, COLD, LIFTED_RATE, noise, lifted=1)


def check_dim(dim: Any) -> int:
    if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)) or not MIN_DIM <= dim <= MAX_DIM:
        raise GeoGAEError(
            f"dim={dim!r} must be a whole number from {MIN_DIM} to {MAX_DIM}, or 'auto': d-1 coordinates and a radius"
        )
    return int(dim)
