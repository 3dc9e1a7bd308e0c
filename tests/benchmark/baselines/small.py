"""Graphs and models that are small enough for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from geogae import Graph
from geogae.benchmark.baselines import TrainedAutoencoder, find

SMALL: dict[str, dict[str, Any]] = {
    "pigvae": {"latent_dim": 12, "hidden": 16, "layers": 1, "heads": 2, "feedforward": 16},
    "regae": {"latent_dim": 12, "encoder_hidden": (24,), "decoder_hidden": (24,), "block": 3, "permutations": 2},
    "grale": {
        "latent_dim": 12,
        "latent_tokens": 3,
        "layers": 2,
        "heads": 2,
        "node_hidden": 8,
        "node_dim": 8,
        "edge_hidden": 8,
        "edge_dim": 8,
    },
}
METHODS = tuple(SMALL)


def random_graph(n: int, seed: int, density: float = 0.5) -> Graph:
    random = np.random.default_rng([n, seed])
    return Graph(n, np.argwhere(np.triu(random.random((n, n)) < density, 1)))


def attributed(graph: Graph, seed: int = 0) -> Graph:
    """Two categorical columns and a continuous one for nodes, one of each for edges."""
    random = np.random.default_rng(seed)
    return Graph(
        graph.n,
        graph.edges,
        node_categorical=random.integers(0, 3, (graph.n, 2)),
        node_continuous=random.normal(2, 3, (graph.n, 1)),
        edge_categorical=random.integers(5, 8, (len(graph.edges), 1)),
        edge_continuous=random.normal(0, 2, (len(graph.edges), 1)),
    )


def graphs(count: int = 8, least: int = 4, most: int = 8) -> list[Graph]:
    """Random graphs, with as many nodes as edges or more so that no two attributes are a mere constant."""
    sizes = np.random.default_rng(0).integers(least, most + 1, count).tolist()
    return [random_graph(n, seed) for seed, n in enumerate(sizes)]


def prepared(method: str, examples: list[Graph], **changes: Any) -> TrainedAutoencoder[Any]:
    """Untrained, with random weights."""
    model = find(method)(**{"epochs": 1, "core_minutes": None, **SMALL[method], **changes})
    model.prepare(examples)
    return model
