"""Symmetric graphs, which tempt a numbering to differ, and what "the same cloud" means."""

from __future__ import annotations

import networkx as nx
import numpy as np

from geogae.geometry.cloud import HyperballCloud
from geogae.graph import Graph


def plain(graph: nx.Graph) -> Graph:
    graph = nx.convert_node_labels_to_integers(graph)
    return Graph(len(graph), list(graph.edges))


def copies(graph: nx.Graph, times: int) -> nx.Graph:
    return nx.disjoint_union_all([graph] * times)


FAMILIES: dict[str, tuple[Graph, int]] = {  # name → graph and a dimension in which it is exact
    "single node": (Graph(1), 2),
    "two nodes": (Graph(2), 2),
    "edge": (Graph(2, [(0, 1)]), 2),
    "star of 2,000 leaves": (plain(nx.star_graph(2000)), 4),
    "3-regular": (plain(nx.random_regular_graph(3, 30, seed=1)), 5),
    "6-regular": (plain(nx.random_regular_graph(6, 100, seed=1)), 9),
    "grid": (plain(nx.grid_2d_graph(6, 6)), 3),
    "grid of three dimensions": (plain(nx.grid_graph((4, 4, 4))), 4),
    "square": (plain(nx.cycle_graph(4)), 3),
    "cycle": (plain(nx.cycle_graph(100)), 3),
    "complete": (plain(nx.complete_graph(60)), 2),
    "empty": (Graph(60), 3),
    "edges apart": (plain(copies(nx.path_graph(2), 20)), 3),
    "triangles apart": (plain(copies(nx.complete_graph(3), 20)), 3),
    "cycles apart": (plain(copies(nx.cycle_graph(6), 10)), 4),
    "complete bipartite": (plain(nx.complete_bipartite_graph(5, 5)), 7),
    "octahedron": (plain(nx.octahedral_graph()), 3),
    "hypercube": (plain(nx.hypercube_graph(5)), 6),
    "Petersen": (plain(nx.petersen_graph()), 4),
    "Paley": (plain(nx.paley_graph(13).to_undirected()), 5),
    "path": (plain(nx.path_graph(500)), 2),
}


def shuffled(graph: Graph, seed: int) -> Graph:
    return graph.relabel(np.random.default_rng(seed).permutation(graph.n))


def random_graph(n: int, density: float, seed: int) -> Graph:
    return Graph(n, np.argwhere(np.triu(np.random.default_rng(seed).random((n, n)) < density, 1)))


def assert_same(a: HyperballCloud, b: HyperballCloud) -> None:
    """Identical ordered adjacency, attributes included, and clouds equal within 1e-5."""
    assert a.canonical and b.canonical
    assert a.ordered().graph == b.ordered().graph
    np.testing.assert_allclose(a.balls, b.balls, atol=1e-5, rtol=0)
