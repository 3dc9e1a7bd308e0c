"""Small models that pages are made of, one for each kind of slot."""

from __future__ import annotations

import numpy as np

from geogae import GeoGAE, Graph, datasets

ELEMENTS = ["C", "N", "O", "F", "I", "Cl", "Br"]  # of MUTAG's categories
BONDS = [12, 1, 2, 3]


def circles(count: int = 60) -> list[Graph]:
    """Social graphs: a few circles of friends around one person, who are adjacent twins."""
    rng, graphs = np.random.default_rng(0), []
    for number in range(count):
        edges, n = [], 1
        for size in rng.integers(1, 6, rng.integers(1, 4)):
            members = [0, *range(n, n + size)]
            edges += [(i, j) for at, i in enumerate(members) for j in members[at + 1 :]]
            n += int(size)
        graphs.append(Graph(n, edges, label=float(rng.normal()), name=f"circles/{number}"))
    return graphs


def molecules() -> GeoGAE:
    """Leaves, twins and attributes in the slots, all at once."""
    model = GeoGAE(latent_dim=128, attributes="decoded", leaves="folded", twins="folded")  # with a descriptor
    return model.fit(datasets.load("MUTAG"))


def social() -> GeoGAE:
    return GeoGAE(latent_dim=24, twins="folded").fit(circles())


def plain() -> GeoGAE:
    return GeoGAE("linear", latent_dim=40).fit(datasets.load("MUTAG"))
