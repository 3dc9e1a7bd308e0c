"""Whether descriptors are near where graphs are: random edits, exact edit distances, molecules by fingerprint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from geogae.autoencoders.descriptor import Descriptor
from geogae.benchmark.tasks import simple_vectors
from geogae.benchmark.tasks.edit_distance import edit_distance as exact_distance
from geogae.formats.optional import require
from geogae.graph import Graph
from geogae.latent.neighbours import nearest

EDITS = 10
GRAPHS = 100  # that are edited
SMALL = 9  # nodes of graphs with exact edit distances
QUERIES, SEARCHED = 40, 100


def edits(name: str, graphs: Sequence[Graph], seed: int, k: int = 16) -> Iterator[dict[str, Any]]:
    """Mean Kendall τ, for each graph, between the number of random edits (1 to 10) and the distance that they make."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(graphs))
    graphs = [Graph(graph.n, graph.edges, node_categorical=graph.node_categorical) for graph in graphs]
    descriptor = Descriptor(k).fit([graphs[i] for i in order[GRAPHS:]])
    chosen = [graphs[i] for i in order[:GRAPHS] if graphs[i].n > 3]
    edited = [copy for graph in chosen for copy in (graph, *_edited(graph, rng))]
    vectors: dict[str, NDArray[Any]] = {
        "descriptor": descriptor.describe(edited),
        "counts": simple_vectors.counts(edited),
    }
    vectors["degrees"] = simple_vectors.degree_histogram(edited)
    for what, rows in vectors.items():
        each = rows.reshape(len(chosen), EDITS + 1, -1)
        far = np.linalg.norm(each[:, 1:] - each[:, :1], axis=2)
        tau = [_tau(np.arange(1, EDITS + 1), own) for own in far]
        yield {"task": "distance", "measure": "edits", "dataset": name, "seed": seed, "vectors": what,
               "numbers": rows.shape[1], "graphs": len(chosen), "tau": round(float(np.mean(tau)), 4)}  # fmt: skip


def edit_distance(name: str, graphs: Sequence[Graph], seed: int, k: int = 16) -> Iterator[dict[str, Any]]:
    """Mean Kendall τ, for each query, between descriptor distance and exact edit distance to small graphs."""
    small = [graph for graph in graphs if graph.n <= SMALL]
    rest = [graph for graph in graphs if graph.n > SMALL]
    rng = np.random.default_rng(seed)
    chosen = [small[i] for i in rng.permutation(len(small))[: QUERIES + SEARCHED]]
    queries, searched = chosen[:QUERIES], chosen[QUERIES:]
    others = [graph for graph in small if not any(graph is one for one in chosen)]
    plain = [_labelled(graph) for graph in (*queries, *searched)]
    exact = np.array([[exact_distance(q, s) for s in searched] for q in queries])
    descriptor = Descriptor(k).fit([_labelled(graph) for graph in (others or rest)])
    vectors: dict[str, NDArray[Any]] = {
        "descriptor": descriptor.describe(plain),
        "counts": simple_vectors.counts(plain),
    }
    vectors["degrees"] = simple_vectors.degree_histogram(plain)
    for what, rows in vectors.items():
        far = np.linalg.norm(rows[:QUERIES, None] - rows[None, QUERIES:], axis=2)
        tau = [_tau(own, true) for own, true in zip(far, exact, strict=True)]
        yield {"task": "distance", "measure": "exact edit distance", "dataset": name, "seed": seed, "vectors": what,
               "numbers": rows.shape[1], "pairs": exact.size, "tau": round(float(np.mean(tau)), 4)}  # fmt: skip


def neighbours(graphs: Sequence[Graph], smiles: Sequence[str], seed: int, k: int = 16) -> Iterator[dict[str, Any]]:
    """Tanimoto similarity of each molecule to its nearest by descriptor, against the best there is and a random one."""
    similarity = require("rdkit.DataStructs", "chem").BulkTanimotoSimilarity
    bits = simple_vectors.fingerprints(smiles)
    rng = np.random.default_rng(seed)
    queries = rng.choice(len(graphs), min(500, len(graphs)), replace=False)
    best, every = [], []
    for i in queries:
        own = np.array(similarity(bits[i], bits))
        own[i] = -1
        best.append(own.max())
        every.append(own)
    for numbers in (k, 2 * k, 4 * k):
        described = Descriptor(numbers).fit(graphs).describe(graphs)
        yield _neighbours("descriptor", numbers, described, queries, every, best, seed, len(graphs))
    counts = simple_vectors.counts(graphs)
    yield _neighbours("counts", 2, counts, queries, every, best, seed, len(graphs))
    drawn = float(np.mean([own[rng.integers(len(own))] for own in every]))
    yield {"task": "distance", "measure": "neighbours", "dataset": "QM9", "molecules": len(graphs), "seed": seed,
           "vectors": "random", "tanimoto": round(drawn, 4),
           "share_of_best": round(drawn / float(np.mean(best)), 4)}  # fmt: skip


def _neighbours(
    what: str, numbers: int, rows: NDArray[Any], queries: Any, every: Any, best: Any, seed: int, count: int
) -> dict[str, Any]:
    found = nearest(rows[queries], rows, 1, leave_out=queries)
    reached = float(np.mean([own[one[0].index] for own, one in zip(every, found, strict=True)]))
    return {"task": "distance", "measure": "neighbours", "dataset": "QM9", "molecules": count, "seed": seed,
            "vectors": what, "numbers": numbers, "tanimoto": round(reached, 4),
            "share_of_best": round(reached / float(np.mean(best)), 4)}  # fmt: skip


def _tau(one: Any, other: Any) -> float:
    value = float(kendalltau(one, other).statistic)
    return 0.0 if np.isnan(value) else value


def _labelled(graph: Graph) -> Graph:
    """With its first node label and nothing else: what the edit distance sees."""
    labels = None if graph.node_categorical is None else graph.node_categorical[:, :1]
    return Graph(graph.n, graph.edges, node_categorical=labels)


def _edited(graph: Graph, rng: np.random.Generator) -> list[Graph]:
    """The graph after 1, 2, … edits, each an edge removed or added at random; no edge is edited twice."""
    joined = graph.adjacency()
    touched = np.eye(graph.n, dtype=bool)
    copies = []
    labels = graph.node_categorical
    for _ in range(EDITS):
        wanted = bool(rng.random() < 0.5)
        candidates = np.argwhere(np.triu((joined == wanted) & ~touched))
        if not len(candidates):
            candidates = np.argwhere(np.triu(~touched))
        if len(candidates):
            i, j = candidates[rng.integers(len(candidates))]
            joined[i, j] = joined[j, i] = not joined[i, j]
            touched[i, j] = touched[j, i] = True
        copies.append(Graph(graph.n, np.argwhere(np.triu(joined)), node_categorical=labels))
    return copies
