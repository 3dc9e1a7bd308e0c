"""Compile the kernels once, before test processes would each compile them at the same time.

``make test`` runs the two parts side by side, with the linters. What is compiled already is loaded within seconds.
"""

from __future__ import annotations

import logging
import os
import sys
from tempfile import TemporaryDirectory

import networkx as nx
import numpy as np

from geogae import Graph, datasets, fit_clouds
from geogae.autoencoders.refined import RefinedAutoencoder
from geogae.autoencoders.refinement import refine
from geogae.autoencoders.slots import SlotFeatures
from geogae.geometry.quick import fit_all_quickly
from geogae.geometry.recipe import Recipe
from geogae.labelling.canonical import canonicalise_all

PATH = Graph(3, [(0, 1), (1, 2)])


def labels() -> None:
    """Canonical numbering, with and without a search; then clouds of large graphs, which need it."""
    canonicalise_all([PATH, Graph.from_networkx(nx.petersen_graph())])
    fit_clouds([nx.path_graph(1100)], 2, steps=3, tries=1)


def models() -> None:
    """What needs no numbering; then the rest: slot features, refinement, clouds of several tries."""
    fit_all_quickly({b"": PATH}, 3, Recipe(), threads=1)
    starts, means, loadings = (np.zeros(shape, np.float32) for shape in ((1, 4), (3, 3), (4, 3, 3)))
    refine(starts, means, loadings, [PATH.adjacency()], [SlotFeatures().write(PATH)], 1)
    graphs = datasets.load("MUTAG")[:12]
    for attributes in ("ignored", "decoded"):
        model = RefinedAutoencoder(latent_dim=24, dim=3, steps=3, descriptor=4, attributes=attributes)  # type: ignore[arg-type]
        model.fit(graphs)
        model.decode(model.encode(model.read(graphs)))
    fit_clouds([nx.cycle_graph(6)], 2, steps=3, tries=2)


if __name__ == "__main__":
    logging.disable()
    with TemporaryDirectory() as folder:
        os.environ["GEOGAE_CACHE"] = folder
        {"labels": labels, "models": models}[sys.argv[1]]()
