"""Surprises by their properties: ranks and codes are one another's inverse, what is always so is rank 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from geogae.attributes import Schema
from geogae.model.surprises import Surprises
from hypothesis import given, settings
from hypothesis import strategies as st

from geogae import datasets
from geogae.graph import Graph
from strategies import pair_lists

NODE, EDGE = (3, 5), (4, 2)  # categories of each column
Told = tuple[Graph, np.ndarray, np.ndarray]


@st.composite
def told_graphs(draw: st.DrawFn, node: tuple[int, ...] = NODE, edge: tuple[int, ...] = EDGE) -> Told:
    """A graph and codes of its nodes and edges."""
    n = draw(st.integers(1, 9))
    graph = Graph(n, draw(pair_lists(n)))
    random = np.random.default_rng(draw(st.integers(0, 2**16)))
    return graph, codes(random, n, node), codes(random, len(graph.edges), edge)


def codes(random: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    columns = [random.integers(0, size, rows) for size in sizes]
    return np.column_stack(columns) if columns else np.zeros((rows, 0), np.int64)


def fitted(train: list[Told], node: tuple[int, ...] = NODE, edge: tuple[int, ...] = EDGE) -> Surprises:
    surprises = Surprises(node, edge)
    surprises.fit(*(list(part) for part in zip(*train, strict=True)) if train else ([], [], []))
    return surprises


def star(leaves: int) -> Graph:
    return Graph(leaves + 1, [(0, leaf) for leaf in range(1, leaves + 1)])


def of(*values: int) -> np.ndarray:
    """One column."""
    return np.array(values, dtype=np.int64)[:, None]


NONE = np.zeros((0, 1), np.int64)


# -- there and back ---


@settings(max_examples=60)
@given(st.lists(told_graphs(), max_size=4), told_graphs())
def test_codes_come_back_from_their_ranks(train: list[Told], own: Told) -> None:
    """Also of graphs and contexts that were never seen, and of tables that saw nothing at all."""
    surprises = fitted(train)
    for graph, *wanted in [*train, own]:
        ranks = surprises.ranks(graph, *wanted)
        for found, rank, true, sizes in zip(surprises.read(graph, *ranks), ranks, wanted, (NODE, EDGE), strict=True):
            assert np.array_equal(found, true)
            assert rank.shape == true.shape and (rank >= 0).all() and (rank < sizes).all()


@settings(max_examples=30)
@given(st.lists(told_graphs(), min_size=1, max_size=3), told_graphs())
def test_ranks_come_back_from_their_codes(train: list[Told], own: Told) -> None:
    """Every rank stands for a category of its own."""
    surprises, (graph, *ranks) = fitted(train), own
    found = surprises.ranks(graph, *surprises.read(graph, *ranks))
    assert all(np.array_equal(*pair) for pair in zip(found, ranks, strict=True))


@pytest.mark.parametrize(("node", "edge"), [((), ()), ((3,), ()), ((), (2,)), ((1,), (1, 1)), ((2, 3, 4), (3,))])
@settings(max_examples=10)
@given(st.data())
def test_any_number_of_columns(node: tuple[int, ...], edge: tuple[int, ...], data: st.DataObject) -> None:
    train = data.draw(st.lists(told_graphs(node, edge), max_size=2))
    graph, *wanted = data.draw(told_graphs(node, edge))
    surprises = fitted(train, node, edge)
    ranks = surprises.ranks(graph, *wanted)
    assert ranks[0].shape == (graph.n, len(node)) and ranks[1].shape == (len(graph.edges), len(edge))
    assert all(np.array_equal(*pair) for pair in zip(surprises.read(graph, *ranks), wanted, strict=True))


@settings(max_examples=30)
@given(told_graphs(), told_graphs())
def test_a_rank_beyond_all_is_the_highest_and_one_below_the_lowest(seen: Told, own: Told) -> None:
    surprises, (graph, *ranks) = fitted([seen]), own
    wild = [np.where(rank == 0, -7, np.where(rank == np.array(sizes) - 1, 10**9, rank))
            for rank, sizes in zip(ranks, (NODE, EDGE), strict=True)]  # fmt: skip
    found, expected = surprises.read(graph, *wild), surprises.read(graph, *ranks)
    assert all(np.array_equal(*pair) for pair in zip(found, expected, strict=True))


# -- what is expected ---


def test_the_more_often_the_lower_by_hand() -> None:
    """Nodes without edges are all in one context; of categories as frequent as each other the first comes first."""
    surprises = fitted([(Graph(7), of(2, 2, 2, 1, 3, 3, 1), NONE)], (5,), (1,))
    ranks, _ = surprises.ranks(Graph(5), of(0, 1, 2, 3, 4), NONE)
    assert ranks.ravel().tolist() == [3, 1, 0, 2, 4]
    untaught, _ = fitted([], (5,), (1,)).ranks(Graph(5), of(4, 1, 2, 3, 0), NONE)
    assert untaught.ravel().tolist() == [4, 1, 2, 3, 0]


def test_a_single_sighting_is_outweighed_by_many_in_a_coarser_context_by_hand() -> None:
    """In BLEND sightings a finer context is as good as what is expected without it.

    20 lone nodes have category 0. A pair has 1 and 0. Of degree 1 one node in two is then 1, and so on for each level.
    """
    lone = [(Graph(1), of(0), NONE)] * 20
    pair = (Graph(2, [(0, 1)]), of(1, 0), of(0))
    surprises = fitted([*lone, pair], (2,), (1,))
    assert surprises.ranks(Graph(1), of(0), NONE)[0].tolist() == [[0]]
    # levels 0 … 7 of the first node: 21:1 of 22, then 1:1 of 2 at degree 1, then six in which it is alone, always 1
    share = 1 / 2 * 2 / 24 + 1 / 24
    share = share * 2 / 4 + 1 / 4
    for _ in range(6):
        share = share * 2 / 3 + 1 / 3
    assert share > 1 / 2
    assert surprises.ranks(pair[0], of(1, 0), of(0))[0].ravel().tolist() == [0, 0]
    assert surprises.ranks(pair[0], of(0, 0), of(0))[0].ravel().tolist() == [1, 0]  # the second falls back on degree


@settings(max_examples=40)
@given(told_graphs((), ()))
def test_what_structure_always_says_is_no_surprise(own: Told) -> None:
    """Categories that follow from degrees, in nodes and in edges."""
    graph = own[0]
    degrees = graph.degrees
    node, edge = of(*(degrees % 3)), of(*(degrees[graph.edges].sum(1) % 4))
    surprises = fitted([(graph, node, edge)] * 30, (3,), (4,))
    ranks = surprises.ranks(graph, node, edge)
    assert not ranks[0].any() and not ranks[1].any()
    back = surprises.read(graph, np.zeros_like(node), np.zeros_like(edge))  # a graph that needs no word
    assert np.array_equal(back[0], node) and np.array_equal(back[1], edge)


def test_a_graph_never_seen_is_read_by_its_coarser_contexts() -> None:
    """Stars of 2 to 5 leaves: the middle is 2, leaves are 1, edges 1; so it is in a star of 9, but for its middle."""
    surprises = fitted([(star(k), of(2, *[1] * k), of(*[1] * k)) for k in (2, 3, 4, 5)] * 5, (3,), (2,))
    nodes, edges = surprises.ranks(star(9), of(2, *[1] * 9), of(*[1] * 9))
    assert nodes.ravel().tolist() == [1] + [0] * 9  # a degree of 9 is new, and 1 is the most frequent
    assert not edges.any()


def test_a_column_is_expected_by_those_before_it() -> None:
    random = np.random.default_rng(0)
    first = random.integers(0, 3, 60)
    surprises = fitted([(Graph(60), np.column_stack([first, (first + 1) % 3]), np.zeros((0, 0), np.int64))], (3, 3), ())
    none = np.zeros((0, 0), np.int64)
    ranks, _ = surprises.ranks(Graph(3), np.array([[0, 1], [1, 2], [2, 0]]), none)
    assert not ranks[:, 1].any() and sorted(ranks[:, 0]) == [0, 1, 2]
    read, _ = surprises.read(Graph(3), np.array([[0, 0], [1, 0], [2, 0]]), none)
    assert np.array_equal(read[:, 1], (read[:, 0] + 1) % 3) and sorted(read[:, 0]) == [0, 1, 2]


def test_an_edge_is_expected_by_its_ends_and_by_the_edges_that_they_have() -> None:
    """Three nodes in a row of category 0: the edges are 1 and then 0, or, where the middle is 1, 0 and then 1."""
    row = Graph(3, [(0, 1), (1, 2)])
    seen = [(row, of(0, 0, 0), of(1, 0)), (row, of(0, 1, 0), of(0, 1))] * 10
    surprises = fitted(seen, (2,), (2,))
    for _, nodes, edges in seen[:2]:
        assert not surprises.ranks(row, nodes, edges)[1].any()
    assert surprises.ranks(row, of(0, 0, 0), of(0, 1))[1].any()


@settings(max_examples=30)
@given(told_graphs(), told_graphs(), st.data())
def test_what_comes_later_says_nothing_of_what_is_before(seen: Told, own: Told, data: st.DataObject) -> None:
    surprises, (graph, nodes, edges) = fitted([seen, own]), own
    before = surprises.ranks(graph, nodes, edges)
    changed = data.draw(st.integers(0, graph.n - 1))
    other = nodes.copy()
    other[changed, 1] = (other[changed, 1] + 1) % NODE[1]
    after = surprises.ranks(graph, other, edges)
    assert np.array_equal(after[0][:changed], before[0][:changed])
    assert after[0][changed, 0] == before[0][changed, 0] and after[0][changed, 1] != before[0][changed, 1]
    if len(edges):
        order = np.lexsort((graph.edges[:, 0], graph.edges[:, 1]))  # by the later end
        at = data.draw(st.integers(0, len(edges) - 1))
        other = edges.copy()
        other[order[at], 0] = (other[order[at], 0] + 1) % EDGE[0]
        after = surprises.ranks(graph, nodes, other)
        assert np.array_equal(after[0], before[0])
        assert np.array_equal(after[1][order[:at]], before[1][order[:at]])
        assert after[1][order[at], 0] != before[1][order[at], 0]


# -- what does not matter ---


@settings(max_examples=30)
@given(st.lists(told_graphs(), min_size=1, max_size=4), told_graphs(), st.randoms(use_true_random=False))
def test_neither_the_order_of_training_graphs_nor_a_numbering_left_behind_matters(train, own, random) -> None:
    shuffled = random.sample(train, len(train))
    graph, nodes, edges = own
    dressed = Graph(graph.n, graph.edges, node_categorical=nodes, edge_categorical=edges)
    order = np.array(random.sample(range(graph.n), graph.n))
    back = dressed.relabel(order).relabel(np.argsort(order))  # through another numbering to the same order
    blocks = back.node_categorical, back.edge_categorical
    there = [np.zeros_like(given) if block is None else block for block, given in zip(blocks, own[1:], strict=True)]
    one, other = fitted(train).ranks(*own), fitted(shuffled).ranks(back, *there)
    assert all(np.array_equal(*pair) for pair in zip(one, other, strict=True))


def test_the_layout_of_codes_does_not_matter() -> None:
    graph = Graph(6, [(0, 1), (1, 2), (3, 4), (0, 5)])
    random = np.random.default_rng(0)
    nodes, edges = codes(random, 6, NODE), codes(random, 4, EDGE)
    given: Any = np.asfortranarray(nodes).astype(np.int32), np.repeat(edges, 2, axis=1)[:, ::2]
    given[1].flags.writeable = False
    surprises = fitted([(graph, *given)])
    expected = fitted([(graph, nodes, edges)])
    assert np.array_equal(surprises.contexts, expected.contexts) and np.array_equal(surprises.counts, expected.counts)
    for one, other in zip(surprises.ranks(graph, *given), expected.ranks(graph, nodes, edges), strict=True):
        assert np.array_equal(one, other)


def test_tables_are_sorted_sums() -> None:
    """What is kept: one row for each category met in a context, and each met once at each level."""
    graph, nodes, edges = star(4), of(0, 1, 1, 2, 1), of(0, 0, 1, 0)
    once, twice = (fitted([(graph, nodes, edges)] * times, (3,), (2,)) for times in (1, 2))
    assert once.counts.sum() == 8 * (5 + 4) and np.array_equal(twice.counts, 2 * once.counts)
    assert np.array_equal(twice.contexts, once.contexts) and np.array_equal(twice.codes, once.codes)
    assert (np.diff(once.contexts) >= 0).all()
    assert len(np.unique(np.column_stack([once.contexts, once.codes]), axis=0)) == len(once.counts)


# -- molecules ---


def test_most_of_a_molecule_follows() -> None:
    """Without the tables a third of the nodes and most edges of MUTAG would have to be told."""
    graphs = datasets.load("MUTAG")
    schema = Schema.of(graphs)
    told = [(graph, schema.node.columns(graph).codes, schema.edge.columns(graph).codes) for graph in graphs]
    surprises = fitted(told[:150], tuple(map(len, schema.node.categories)), tuple(map(len, schema.edge.categories)))
    ranks = [surprises.ranks(*one) for one in told[150:]]
    surprising = [np.concatenate([rank[kind] for rank in ranks]).astype(bool).mean() for kind in (0, 1)]
    plain = [np.concatenate([one[1 + kind] for one in told[150:]]) for kind in (0, 1)]
    commonest = [np.bincount(column.ravel()).max() / column.size for column in plain]
    assert surprising[0] < 0.06 and surprising[1] < 0.06
    assert all(4 * share < 1 - most for share, most in zip(surprising, commonest, strict=True))
