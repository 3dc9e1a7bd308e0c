"""Collections of graphs for tests of autoencoders: cliques that share nodes, discussions, copies of one base."""

from __future__ import annotations

import networkx as nx
import numpy as np

from geogae import formats
from geogae.graph import Graph


def circles(seed: int) -> Graph:
    """Cliques that share one node: in each, all others are twins."""
    n, edges = 1, []
    for more in np.random.default_rng(seed).integers(1, 8, 1 + seed % 5).tolist():
        members = [0, *range(n, n + more)]
        n += more
        edges += [(i, j) for i in members for j in members if i < j]
    return Graph(n, edges)


def discussion(seed: int) -> Graph:
    """Posts with some answers each, of which few are answered."""
    random = np.random.default_rng(seed)
    tree = nx.random_labeled_tree(int(random.integers(2, 9)), seed=seed)
    for post in list(tree):
        tree.add_edges_from((post, f"{post}.{answer}") for answer in range(random.integers(1, 12)))
    return formats.as_graph(nx.convert_node_labels_to_integers(tree))


def copies(count: int = 16) -> list[Graph]:
    """One base of 30 nodes, each copy with two edges changed and in a numbering of its own."""
    base, made = nx.gnm_random_graph(30, 90, seed=1), []
    for seed in range(count):
        random = np.random.default_rng(seed)
        changed = base.copy()
        changed.remove_edges_from([list(base.edges)[i] for i in random.choice(90, 2, replace=False)])
        changed.add_edges_from(random.choice(list(nx.non_edges(base)), 2, replace=False).tolist())
        made.append(formats.as_graph(changed).relabel(random.permutation(30)))
    return made
