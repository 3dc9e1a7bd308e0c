"""The surrogate of a score, and searches that ask it before they ask the score."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm, spearmanr

from geogae import Graph, datasets
from geogae.errors import GeoGAEError
from geogae.latent.optimisation import CALLS, CHANGED, ROUND, optimise
from geogae.latent.prior import GaussianPrior
from geogae.latent.surrogate import Surrogate


def leaves(graph: Graph) -> float:
    return float((graph.degrees == 1).sum())


def test_it_ranks_graphs_that_it_has_not_seen() -> None:
    graphs = datasets.load("MUTAG")
    scores = np.array([leaves(graph) + 0.1 * graph.n for graph in graphs])
    learned = Surrogate().fit(graphs[:120], scores[:120])
    assert spearmanr(learned.optimistic(graphs[120:]), scores[120:]).statistic > 0.9
    again = Surrogate().fit(graphs[:120], scores[:120])
    np.testing.assert_array_equal(again.optimistic(graphs[120:]), learned.optimistic(graphs[120:]))


NODES = 14
STARTS = np.random.default_rng(0).standard_normal((60, NODES)).astype(np.float32)
PRIOR = GaussianPrior().fit(STARTS)


def trees(z: NDArray[np.float32]) -> list[tuple[Graph, str, Any] | None]:
    """Node i of a tree is joined to one of those before it, which one z decides."""
    found: list[tuple[Graph, str, Any] | None] = []
    for row in z:
        joined = [(int(i * norm.cdf(row[i])), i) for i in range(1, NODES)]
        graph = Graph(NODES, joined)
        found.append((graph, repr(joined), graph))
    return found


@pytest.mark.parametrize("surrogate", [True, False])
def test_a_round_scores_the_most_promising(surrogate: bool) -> None:
    found = optimise(leaves, trees, PRIOR, STARTS, budget=60 + 2 * CALLS, seed=1, surrogate=surrogate)
    calls = [row["calls"] for row in found.history]
    assert calls[-1] == 60 + 2 * CALLS
    assert calls[0] == 60 + CALLS if surrogate else 60 + CALLS < calls[0] <= 60 + ROUND + CHANGED[0]


def test_a_search_without_any_valid_graph_is_an_error() -> None:
    with pytest.raises(GeoGAEError, match="none of the points that were tried is a valid graph; fit the prior"):
        optimise(leaves, lambda z: [None] * len(z), PRIOR, STARTS, budget=3)


def test_it_saves_calls() -> None:
    tops = {
        surrogate: np.mean([
            optimise(leaves, trees, PRIOR, STARTS, budget=300, seed=seed, surrogate=surrogate).top for seed in range(3)
        ])
        for surrogate in (True, False)
    }  # fmt: skip
    assert tops[True] > tops[False]


def test_a_search_with_a_surrogate_resumes(tmp_path: Any) -> None:
    whole = optimise(leaves, trees, PRIOR, STARTS, budget=200, seed=2, file=tmp_path / "whole.jsonl")
    header, *lines = (tmp_path / "whole.jsonl").read_text().splitlines()
    (tmp_path / "part.jsonl").write_text("\n".join([header, *lines[:130]]) + "\n")
    asked: list[Graph] = []

    def counted(graph: Graph) -> float:
        asked.append(graph)
        return leaves(graph)

    resumed = optimise(counted, trees, PRIOR, STARTS, budget=200, seed=2, file=tmp_path / "part.jsonl", resume=True)
    assert len(asked) == whole.calls - 130 and resumed.history == whole.history
