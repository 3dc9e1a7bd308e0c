"""Renumbered graphs get the same z, bit for bit: all data sets, families of symmetric graphs, all architectures."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np

import geogae
from geogae import GeoGAE, Graph, datasets

SETS = ("MUTAG", "AIDS", "IMDB-BINARY", "SYNTHETICnew", "COLLAB", "REDDIT-BINARY", "QM9")
LARGEST, SAMPLE = 150, 120  # nodes, and graphs of a set
SAME_BATCH = ("sequential",)  # batches of other sizes change its last bits: torch sums in another order
TINY: dict[str, Any] = {  # a network that is hardly trained numbers nodes as a trained one does
    "token_dim": 16, "latent_dim": 32, "encoder_hidden": 32, "encoder_heads": 2, "decoder_hidden": 32, "epochs": 1,
    "validations": 1,
}  # fmt: skip


def relabel(count: int) -> dict[str, Any]:
    random = np.random.default_rng(0)
    kinds = list(models())
    counts: dict[str, dict[str, int]] = {}
    failures: list[str] = []
    for name, graphs, model in kinds:
        each = -(-count // len(kinds))
        model.fit(graphs)
        chosen = random.integers(0, len(graphs), each)
        if model.architecture in SAME_BATCH:
            z = model.encode([graphs[i] for i in chosen])
        else:
            z = model.encode(graphs, n_jobs=2)[chosen]
        again = model.encode([graphs[i].relabel(random.permutation(graphs[i].n)) for i in chosen], n_jobs=2)
        changed = np.flatnonzero((again != z).any(1))
        counts[name] = {"graphs": len(graphs), "relabelled": each, "changed": len(changed)}
        failures += [f"{name}, graph {chosen[row]}: another z" for row in changed[:10]]
    total = {key: sum(one[key] for one in counts.values()) for key in ("relabelled", "changed")}
    return {**total, "kinds": counts, "failures": failures}


def models() -> Iterator[tuple[str, list[Graph], GeoGAE]]:
    """A name, graphs and a model that is to be fitted on them."""
    for name in SETS:
        try:
            graphs = [graph for graph in datasets.load(name) if graph.n <= LARGEST]
        except geogae.GeoGAEError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        graphs = datasets.sample(graphs, min(len(graphs), SAMPLE), 0)
        yield name, graphs, GeoGAE(latent_dim=128, dim=6, steps=200)
        if name in ("MUTAG", "AIDS"):
            decoded = GeoGAE(latent_dim=192, dim=6, steps=200, attributes="decoded")
            yield f"{name}, attributes", graphs, decoded
    mutag = datasets.load("MUTAG")[:SAMPLE]
    yield "MUTAG, linear", mutag, GeoGAE("linear", latent_dim=64, dim=4)
    yield "MUTAG, sequential", mutag, GeoGAE("sequential", dim=4, **TINY)
    for name, family in families().items():
        plain = [Graph.from_networkx(nx.convert_node_labels_to_integers(graph)) for graph in family]
        yield name, plain, GeoGAE(latent_dim=128, dim=6, steps=200)


def families() -> dict[str, list[nx.Graph]]:
    regular = [nx.circulant_graph(n, [1, 2]) for n in range(8, 30)] + [nx.hypercube_graph(k) for k in (3, 4, 5)]
    regular += [nx.random_regular_graph(3, n, seed=n) for n in range(10, 60, 2)]
    strong = [nx.paley_graph(q).to_undirected() for q in (5, 13, 17, 29)] + [nx.petersen_graph(), rook(4), shrikhande()]
    strong += [nx.line_graph(nx.complete_graph(n)) for n in (5, 6, 7, 8)] + [plane(2), plane(3), nx.desargues_graph()]
    trees = [nx.balanced_tree(2, 4), nx.star_graph(40), nx.path_graph(60)]
    trees += [nx.random_labeled_tree(n, seed=n) for n in range(5, 120, 3)]
    apart = [nx.disjoint_union_all([part] * k) for part in (nx.cycle_graph(5), nx.path_graph(3)) for k in (2, 4, 8)]
    apart += [nx.empty_graph(n) for n in (1, 2, 30)] + [nx.complete_graph(n) for n in (2, 5, 40)]
    return {
        "regular graphs": regular,
        "strongly regular graphs and planes": strong,
        "Cai, Fürer and Immerman": [cfi(nx.complete_graph(k), twist) for k in (4, 5) for twist in (False, True)],
        "trees": trees,
        "grids": [nx.grid_2d_graph(a, b) for a in range(2, 8) for b in range(a, 9)],
        "preferential attachment": [nx.barabasi_albert_graph(n, 2, seed=n) for n in range(10, 120, 5)],
        "copies, empty and complete graphs": apart,
    }


def rook(n: int) -> nx.Graph:
    return nx.line_graph(nx.complete_bipartite_graph(n, n))


def shrikhande() -> nx.Graph:
    """With the parameters of the 4 × 4 rook's graph, to which it is not isomorphic."""
    graph = nx.Graph()
    for a in range(4):
        for b in range(4):
            for x, y in ((0, 1), (1, 0), (1, 1)):
                graph.add_edge((a, b), ((a + x) % 4, (b + y) % 4))
    return graph


def plane(q: int) -> nx.Graph:
    """Points and lines of the projective plane over the field of q elements, q a prime."""
    points = [(1, a, b) for a in range(q) for b in range(q)] + [(0, 1, a) for a in range(q)] + [(0, 0, 1)]
    graph = nx.Graph()
    for point in points:
        for line in points:
            if sum(x * y for x, y in zip(point, line, strict=True)) % q == 0:
                graph.add_edge(("point", point), ("line", line))
    return graph


def cfi(base: nx.Graph, twist: bool) -> nx.Graph:
    """The gadget graph over ``base``: colour refinement does not tell the twisted one from the other."""
    graph = nx.Graph()
    for node in base:
        around = [frozenset((node, other)) for other in base[node]]
        for size in range(0, len(around) + 1, 2):
            for chosen in combinations(around, size):
                middle = (node, frozenset(chosen))
                graph.add_edges_from((middle, (node, edge, edge in chosen)) for edge in around)
    for number, (u, v) in enumerate(base.edges):
        edge, crossed = frozenset((u, v)), twist and number == 0
        graph.add_edges_from(((u, edge, bit), (v, edge, bit != crossed)) for bit in (False, True))
    return graph
