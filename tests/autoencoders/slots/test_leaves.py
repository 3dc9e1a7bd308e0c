"""Leaves, folded and unfolded: nothing is lost, and the numbering changes nothing."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from geogae.geometry.folding import fold, folded_clouds, unfold
from hypothesis import given, settings
from hypothesis import strategies as st

from geogae import formats
from geogae.graph import Graph
from geogae.metrics import same_topology
from strategies import graphs


def leaves_of(core: Graph) -> list[int]:
    assert core.node_categorical is not None
    return core.node_categorical[:, 0].tolist()


def test_by_example() -> None:
    core, nodes, leaves, hubs = fold(Graph(7, [(0, 1), (1, 2), (1, 3), (3, 4), (3, 5)], name="two hubs and a loner"))
    assert core.topology() == Graph(3, [(0, 1)]) and core.name == "two hubs and a loner"
    assert nodes.tolist() == [1, 3, 6] and leaves_of(core) == [2, 2, 0]
    assert leaves.tolist() == [0, 2, 4, 5] and hubs.tolist() == [0, 0, 1, 1]
    assert unfold(core, np.array([2, 2, 0]), 99) == Graph(7, [(0, 1), (0, 3), (0, 4), (1, 5), (1, 6)])


@pytest.mark.parametrize(
    ("graph", "nodes", "leaves"),
    [
        (Graph(1), 1, [0]),
        (Graph(3), 3, [0, 0, 0]),
        (Graph(2, [(0, 1)]), 1, [1]),  # of two that have only each other, one hangs on the other
        (formats.as_graph(nx.star_graph(9)), 1, [9]),
        (formats.as_graph(nx.path_graph(4)), 2, [1, 1]),  # once: the core's own leaves stay
        (formats.as_graph(nx.cycle_graph(5)), 5, [0] * 5),
    ],
)
def test_what_is_left(graph: Graph, nodes: int, leaves: list[int]) -> None:
    core = fold(graph).core
    assert core.n == nodes and leaves_of(core) == leaves


@given(graphs(attributed=False))
def test_there_and_back(graph: Graph) -> None:
    core = fold(graph).core
    back = unfold(core, np.array(leaves_of(core)), graph.n)
    assert back.n == graph.n and same_topology(graph, back)


@given(graphs(attributed=False), st.lists(st.integers(0, 2**40), min_size=9, max_size=9), st.integers(0, 30))
def test_what_is_too_much_is_cut(core: Graph, counts: list[int], room: int) -> None:
    back = unfold(core, np.array(counts[: core.n]), core.n + room)
    assert back.n == core.n + min(room, sum(counts[: core.n]))
    assert np.array_equal(back.edges[(back.edges < core.n).all(1)], core.edges)


@settings(max_examples=40, deadline=None)
@given(graphs(), st.integers(0, 2**32))
def test_clouds_of_cores(graph: Graph, seed: int) -> None:
    """In node order the whole graph is its core unfolded, whatever the numbering; attributes go with their nodes."""
    other = graph.relabel(np.random.default_rng(seed).permutation(graph.n))
    (a,), (b,) = (folded_clouds([g], 4, cache=False, tries=2) for g in (graph, other))
    np.testing.assert_allclose(a.balls, b.balls, atol=1e-5)
    assert a.ordered_graph.topology() == b.ordered_graph.topology()
    assert a.graph is not None
    core = a.graph.relabel(a.order)
    assert unfold(core, np.array(leaves_of(core)), graph.n) == a.ordered_graph.topology()
    alone = a.ordered()  # the core has no leaves to tell of
    assert np.array_equal(alone.balls, a.balls) and alone.ordered_graph == core
    if graph.node_categorical is not None:
        assert a.ordered_graph.node_categorical is not None
        rows = [sorted(map(tuple, g.node_categorical.tolist())) for g in (graph, a.ordered_graph)]  # type: ignore[union-attr]
        assert rows[0] == rows[1]
