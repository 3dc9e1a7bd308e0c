"""Which foldings are tried: those asked for, and with ``"auto"`` those that may pay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from geogae.autoencoders.slots import FOLDS
from geogae.graph import Graph

TRY_FOLDING_BELOW = 0.7  # share of nodes left, below which validation graphs decide whether nodes are folded
# share left, below which folding is tried first and wins ties; leaves are then folded without a trial, as the clouds of
# the whole graphs cost too much
FOLD_FIRST_BELOW = 0.5
TRIED, TRIED_ON = 700, 150  # training and validation graphs that a trial takes at most: those of 1,000 graphs


def foldings(graphs: Sequence[Graph], wanted: Mapping[str, str]) -> list[tuple[bool, bool]]:
    """Candidates (leaves folded, twins folded), the first of equals being preferred.

    ``wanted`` is ``"folded"``, ``"kept"`` or ``"auto"`` for each.
    """
    choices: list[tuple[bool, ...]] = []
    for name, kind in FOLDS.items():
        if wanted[name] != "auto":
            choices.append((wanted[name] == "folded",))
            continue
        feature = kind.of(graphs)
        left = sum(feature.left(graph) for graph in graphs) / sum(graph.n for graph in graphs)
        if left < FOLD_FIRST_BELOW:
            choices.append((True,) if name == "leaves" else (True, False))
        else:
            choices.append((False, True) if left < TRY_FOLDING_BELOW else (False,))
    return [(leaves, twins) for leaves, twins in product(*choices)]


def drawn(count: int, most: int, seed: int) -> list[int]:
    """Which of some graphs take part in a trial: at most ``most``, drawn at random, in their order."""
    if count <= most:
        return list(range(count))
    return sorted(np.random.default_rng(seed).choice(count, most, replace=False).tolist())
