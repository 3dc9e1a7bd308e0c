"""However a graph is numbered: the same ordered graph, attributes included, and the same balls."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from geogae.geometry.fitting import fit_clouds
from geogae.graph import Graph
from strategies import graphs


@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(0, 2**32), st.sampled_from(["greedy", "axis"]), st.integers(2, 7))
def test_relabelling_changes_nothing(graph: Graph, seed: int, order: str, dim: int) -> None:
    other = graph.relabel(np.random.default_rng(seed).permutation(graph.n))
    (a,), (b,) = (fit_clouds([g], dim, order=order, cache=False, tries=2) for g in (graph, other))  # type: ignore[arg-type]
    assert a.ordered().graph == b.ordered().graph
    np.testing.assert_allclose(a.balls, b.balls, atol=1e-5)
    assert (a.exact, a.steps, a.tries) == (b.exact, b.steps, b.tries)


@settings(max_examples=60, deadline=None)
@given(graphs(attributed=False), st.integers(2, 7))
def test_a_cloud_is_what_it_says(graph: Graph, dim: int) -> None:
    """Exact exactly if the rule gives the graph back; in its pose; with finite balls."""
    (cloud,) = fit_clouds([graph], dim, cache=False, tries=2)
    assert cloud.exact == (cloud.to_graph() == graph) == (cloud.margin > 0)
    assert cloud.dim == dim and np.isfinite(cloud.balls).all()
    moments = (cloud.centers.astype(float) ** 3).sum(axis=0)
    assert (moments >= -1e-4 * (np.abs(cloud.centers.astype(float)) ** 3).sum(axis=0) - 1e-9).all()
