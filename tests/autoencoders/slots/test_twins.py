"""Adjacent twins, folded and unfolded: which nodes are interchangeable, and that nothing is lost."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from families import plain, random_graph, shuffled
from geogae import isomorphic
from geogae.autoencoders.slots import Twins
from geogae.autoencoders.slots.base import with_columns
from geogae.autoencoders.slots.twins import twin_classes
from geogae.graph import Graph
from strategies import graphs

NONE = np.empty(0, np.int64)
PLAIN = Twins(NONE)


def closed(graph: Graph, node: int) -> frozenset[int]:
    return frozenset(np.flatnonzero(graph.adjacency()[node]).tolist()) | {node}


def clique(n: int, **kinds: object) -> Graph:
    return Graph(n, list(combinations(range(n), 2)), **kinds)  # type: ignore[arg-type]


@given(st.integers(1, 14), st.floats(0, 1), st.integers(0, 2**16))
def test_twins_are_the_nodes_of_one_closed_neighbourhood(n: int, density: float, seed: int) -> None:
    graph = random_graph(n, density, seed)
    classes = twin_classes(graph, NONE)
    first = {}
    for node in range(n):
        assert classes[node] == first.setdefault(closed(graph, node), node)


def test_cliques_that_share_a_node() -> None:
    graph = plain(nx.windmill_graph(4, 5))  # four cliques of five
    folded = PLAIN.fold(shuffled(graph, 1))
    assert isomorphic(folded.core.topology(), plain(nx.star_graph(4)))
    counts = folded.core.node_categorical
    assert counts is not None and sorted(counts.ravel().tolist()) == [0, 3, 3, 3, 3]
    assert isomorphic(PLAIN.unfold(folded.core, 99), graph)
    assert PLAIN.fold(clique(7)).core.n == 1 and PLAIN.fold(plain(nx.cycle_graph(5))).core.n == 5


@settings(max_examples=60)
@given(st.lists(graphs(schema=(1, 0, 1, 0)), min_size=1, max_size=3), st.integers(0, 2**32))
def test_there_and_back_with_categories(some: list[Graph], seed: int) -> None:
    twins = Twins.of(some)
    for graph in some:
        folded = twins.fold(graph)
        assert twins.left(graph) == folded.core.n
        order = np.random.default_rng(seed).permutation(folded.core.n)
        bare = graph.with_attributes()
        back = twins.unfold(folded.core.relabel(order), graph.n)
        assert back == Graph(bare.n, bare.edges, node_categorical=bare.node_categorical,
                             edge_categorical=bare.edge_categorical).relabel(folded.order(order))  # fmt: skip
        other = graph.relabel(np.random.default_rng(seed).permutation(graph.n))
        assert isomorphic(twins.fold(other).core, folded.core)


def test_only_what_is_interchangeable_is_folded() -> None:
    """The same category, the same categories of edges to all others, and the commonest among themselves."""
    twins = Twins(np.array([7]))
    alike = clique(4, node_categorical=[1, 1, 1, 2], edge_categorical=[7, 7, 3, 7, 3, 3])
    folded = twins.fold(alike)
    assert folded.core.n == 2 and folded.core.node_categorical.tolist() == [[1, 2], [2, 0]]  # type: ignore[union-attr]
    assert folded.core.edge_categorical.tolist() == [[3]]  # type: ignore[union-attr]
    assert twins.unfold(folded.core, 9).relabel([0, 2, 3, 1]) == alike
    assert twins.fold(clique(3, edge_categorical=[7, 7, 3])).core.n == 3
    assert twins.fold(clique(3, edge_categorical=[3, 3, 3])).core.n == 3
    assert twins.fold(clique(3, edge_categorical=[7, 7, 7])).core.n == 1
    towards = clique(3, edge_categorical=[7, 3, 7])  # node 1 is at 7 from both, these at 3 from each other
    assert twins.fold(towards).core.n == 3
    assert PLAIN.fold(clique(3, node_categorical=[5, 6, 5])).core.n == 2


@given(graphs(attributed=False), st.lists(st.integers(0, 2**40), min_size=9, max_size=9), st.integers(0, 12))
def test_what_is_too_much_is_cut(core: Graph, asked: list[int], room: int) -> None:
    back = PLAIN.unfold(with_columns(core, np.array(asked[: core.n])[:, None]), core.n + room)
    assert back.n == core.n + min(room, sum(asked[: core.n]))
    assert np.array_equal(back.edges[(back.edges < core.n).all(1)], core.edges)


def test_state() -> None:
    twins = Twins.of([clique(3, edge_categorical=[4, 4, 9])])
    assert twins.edge.tolist() == [4] and Twins.from_state(twins.state()).edge.tolist() == [4]
    assert Twins.from_state(PLAIN.state()).edge.tolist() == []
