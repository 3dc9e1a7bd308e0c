"""Leaves, folded and unfolded: nothing is lost, and the numbering changes nothing."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geogae import formats, isomorphic
from geogae.autoencoders.slots import Leaves
from geogae.autoencoders.slots.base import FREE, with_columns
from geogae.graph import Graph
from geogae.metrics import same_topology
from strategies import graphs

PLAIN = Leaves.of([Graph(2, [(0, 1)])])


def counts(core: Graph) -> list[int]:
    assert core.node_categorical is not None
    return core.node_categorical[:, 0].tolist()


def test_by_example() -> None:
    graph = Graph(7, [(0, 1), (1, 2), (1, 3), (3, 4), (3, 5)], name="two hubs and a loner")
    core, nodes, rest, slots = PLAIN.fold(graph)
    assert core.topology() == Graph(3, [(0, 1)]) and core.name == "two hubs and a loner"
    assert nodes.tolist() == [1, 3, 6] and counts(core) == [2, 2, 0]
    assert rest.tolist() == [0, 2, 4, 5] and slots.tolist() == [0, 0, 1, 1]
    assert PLAIN.unfold(core, 99) == Graph(7, [(0, 1), (0, 3), (0, 4), (1, 5), (1, 6)])


@pytest.mark.parametrize(
    ("graph", "nodes", "leaves"),
    [
        (Graph(1), 1, [0]),
        (Graph(3), 3, [0, 0, 0]),
        (Graph(2, [(0, 1)]), 1, [1]),  # of two that have only each other, one is folded
        (formats.as_graph(nx.star_graph(9)), 1, [9]),
        (formats.as_graph(nx.path_graph(4)), 2, [1, 1]),  # once: the core's own leaves stay
        (formats.as_graph(nx.cycle_graph(5)), 5, [0] * 5),
    ],
)
def test_what_is_left(graph: Graph, nodes: int, leaves: list[int]) -> None:
    core = PLAIN.fold(graph).core
    assert core.n == PLAIN.left(graph) == nodes and counts(core) == leaves


@given(graphs(attributed=False))
def test_there_and_back(graph: Graph) -> None:
    back = PLAIN.unfold(PLAIN.fold(graph).core, graph.n)
    assert back.n == graph.n and same_topology(graph, back)


@given(graphs(attributed=False), st.lists(st.integers(0, 2**40), min_size=9, max_size=9), st.integers(0, 30))
def test_what_is_too_much_is_cut(core: Graph, asked: list[int], room: int) -> None:
    back = PLAIN.unfold(with_columns(core, np.array(asked[: core.n])[:, None]), core.n + room)
    assert back.n == core.n + min(room, sum(asked[: core.n]))
    assert np.array_equal(back.edges[(back.edges < core.n).all(1)], core.edges)


# -- kinds ---


def molecule(hydrogens: int = 4, chlorines: int = 1) -> Graph:
    """Two carbons with a double bond, hydrogens on both, chlorines on the second by another kind of bond."""
    carbons = [(0, 1)]
    leaves = [(i % 2, 2 + i) for i in range(hydrogens)] + [(1, 2 + hydrogens + i) for i in range(chlorines)]
    return Graph(
        2 + hydrogens + chlorines,
        carbons + leaves,
        node_categorical=[6, 6] + [1] * hydrogens + [17] * chlorines,
        edge_categorical=[2] + [1] * hydrogens + [3] * chlorines,
    )


def test_each_common_kind_of_leaf_has_its_count() -> None:
    leaves = Leaves.of([molecule()] * 5)
    assert leaves.kinds.tolist() == [[1, 1], [17, 3]] and leaves.node_columns == 1 and leaves.width == 2
    core = leaves.fold(molecule(3, 2)).core
    assert core.node_categorical is not None and core.edge_categorical is not None
    assert core.node_categorical.tolist() == [[6, 2, 0], [6, 1, 2]] and core.edge_categorical.tolist() == [[2]]
    assert isomorphic(leaves.unfold(core, 99), molecule(3, 2))


def test_leaves_of_a_rare_or_unknown_kind_stay() -> None:
    many = [molecule(20, 0)] * 10
    leaves = Leaves.of([*many, molecule(0, 1)])  # 1 of 223 nodes
    assert leaves.kinds.tolist() == [[1, 1]]
    assert leaves.fold(molecule(4, 3)).core.n == 2 + 3
    strange = molecule(2, 0)
    other_bond = Graph(4, strange.edges, node_categorical=strange.node_categorical, edge_categorical=[2, 1, 9])
    assert leaves.fold(other_bond).core.n == 3
    assert leaves.fold(strange.topology()).core.n == 4  # it has no categories to be known by


def test_of_a_pair_the_commoner_kind_is_folded() -> None:
    """Hydrogen chloride, in either numbering."""
    leaves = Leaves.of([molecule()] * 5)
    for kinds in ([1, 17], [17, 1]):
        pair = Graph(2, [(0, 1)], node_categorical=kinds, edge_categorical=[1])
        core = leaves.fold(pair).core
        assert core.n == 1 and core.node_categorical.tolist() == [[17, 1, 0]]  # type: ignore[union-attr]


@given(st.lists(graphs(schema=(1, 0, 1, 0)), min_size=1, max_size=3), st.integers(0, 2**32))
def test_the_numbering_changes_nothing(some: list[Graph], seed: int) -> None:
    leaves = Leaves.of(some)
    for graph in some:
        other = graph.relabel(np.random.default_rng(seed).permutation(graph.n))
        one, two = (leaves.fold(given) for given in (graph, other))
        assert isomorphic(one.core, two.core)
        order = one.order(np.random.default_rng(seed).permutation(one.core.n))
        assert sorted(order) == list(range(graph.n))


# -- numbers in slots ---


def test_counts_are_written_with_the_bounds_of_rounding() -> None:
    written = PLAIN.write(Graph(3), np.array([[0], [2], [7]]))
    assert written.values.ravel().tolist() == [0, 2, 7] and written.present.all()
    assert written.low.ravel().tolist() == [-FREE, 1.5, 6.5]  # less than none is none
    assert written.high.ravel().tolist() == [0.5, 2.5, 7.5]
    values = np.array([[-1e30], [1.6], [np.nan]], np.float32)
    assert PLAIN.read_counts(values).ravel().tolist() == [0, 2, 0]


def test_state() -> None:
    leaves = Leaves.of([molecule()] * 5)
    again = Leaves.from_state(leaves.state())
    assert np.array_equal(again.kinds, leaves.kinds) and again.node_columns == leaves.node_columns
    assert again.fold(molecule(3, 2)).core == leaves.fold(molecule(3, 2)).core
