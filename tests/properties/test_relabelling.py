"""However a graph is numbered: the same ordered graph, attributes included, the same balls and the same z."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from families import random_graph
from geogae.autoencoders.refined import RefinedAutoencoder
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


@cache
def model(folds: str) -> RefinedAutoencoder:
    """Of small graphs with two categories of nodes and of edges."""
    some = [coloured(random_graph(int(n), 0.4, seed), seed) for seed, n in enumerate([1, 2, 3, 4, 5, 6, 7, 8, 9] * 2)]
    autoencoder = RefinedAutoencoder(
        dim=4, latent_dim=24, steps=30, attributes="decoded", leaves=folds, twins=folds  # type: ignore[arg-type]
    )  # fmt: skip
    autoencoder.fit(some)
    return autoencoder


def coloured(graph: Graph, seed: int) -> Graph:
    random = np.random.default_rng(seed)
    kinds = random.integers(0, 2, (graph.n, 1)), random.integers(0, 2, (len(graph.edges), 1))
    return Graph(graph.n, graph.edges, node_categorical=kinds[0], edge_categorical=kinds[1])


@pytest.mark.parametrize("folds", ["kept", "folded"])
@settings(max_examples=25, deadline=None)
@given(graphs(attributed=False), st.integers(0, 2**32))
def test_relabelling_changes_no_bit_of_z(folds: str, plain: Graph, seed: int) -> None:
    """Whatever is folded, and for attributes, too; nor does it change what comes back."""
    graph = coloured(plain, seed)
    other = graph.relabel(np.random.default_rng(seed).permutation(graph.n))
    one, two = model(folds).read([graph, other])
    assert one.ordered == two.ordered
    z = model(folds).encode([one, two])
    assert np.array_equal(z[0], z[1]) and model(folds).decode(z)[0].graph == model(folds).decode(z)[1].graph
