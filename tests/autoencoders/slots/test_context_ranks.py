"""Context ranks by their properties: ranks and codes are one another's inverse, what is always so is rank 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geogae import datasets
from geogae.autoencoders.schema import Schema
from geogae.autoencoders.slots.context_ranks import ContextRanks
from geogae.graph import Graph
from strategies import pair_lists

NODE, EDGE = (3, 5), (4, 2)  # categories of each column
Coded = tuple[Graph, np.ndarray, np.ndarray]


@st.composite
def coded_graphs(draw: st.DrawFn, node: tuple[int, ...] = NODE, edge: tuple[int, ...] = EDGE) -> Coded:
    """A graph and codes of its nodes and edges."""
    n = draw(st.integers(1, 9))
    graph = Graph(n, draw(pair_lists(n)))
    random = np.random.default_rng(draw(st.integers(0, 2**16)))
    return graph, codes(random, n, node), codes(random, len(graph.edges), edge)


def codes(random: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    columns = [random.integers(0, size, rows) for size in sizes]
    return np.column_stack(columns) if columns else np.zeros((rows, 0), np.int64)


class Unmarked:
    """Context ranks of graphs in which nothing is known of a node before its categories."""

    def __init__(self, ranks: ContextRanks) -> None:
        self.tables = ranks

    def ranks(self, graph: Graph, nodes: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.tables.ranks(graph, nodes, edges, unmarked(graph))

    def read(self, graph: Graph, nodes: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.tables.read(graph, nodes, edges, unmarked(graph))


def unmarked(graph: Graph) -> np.ndarray:
    return np.zeros((graph.n, 0), np.int64)


def fitted(train: list[Coded], node: tuple[int, ...] = NODE, edge: tuple[int, ...] = EDGE) -> Unmarked:
    ranks = ContextRanks(node, edge)
    graphs, nodes, edges = ([one[part] for one in train] for part in range(3))
    ranks.fit(graphs, nodes, edges, [unmarked(graph) for graph in graphs])
    return Unmarked(ranks)


def star(leaves: int) -> Graph:
    return Graph(leaves + 1, [(0, leaf) for leaf in range(1, leaves + 1)])


def of(*values: int) -> np.ndarray:
    """One column."""
    return np.array(values, dtype=np.int64)[:, None]


NONE = np.zeros((0, 1), np.int64)


# -- there and back ---


@settings(max_examples=60)
@given(st.lists(coded_graphs(), max_size=4), coded_graphs())
def test_codes_come_back_from_their_ranks(train: list[Coded], own: Coded) -> None:
    """Also of graphs and contexts that were never seen, and of tables that saw nothing at all."""
    tables = fitted(train)
    for graph, *wanted in [*train, own]:
        ranks = tables.ranks(graph, *wanted)
        for found, rank, true, sizes in zip(tables.read(graph, *ranks), ranks, wanted, (NODE, EDGE), strict=True):
            assert np.array_equal(found, true)
            assert rank.shape == true.shape and (rank >= 0).all() and (rank < sizes).all()


@settings(max_examples=30)
@given(st.lists(coded_graphs(), min_size=1, max_size=3), coded_graphs())
def test_ranks_come_back_from_their_codes(train: list[Coded], own: Coded) -> None:
    """Every rank stands for a category of its own."""
    tables, (graph, *ranks) = fitted(train), own
    found = tables.ranks(graph, *tables.read(graph, *ranks))
    assert all(np.array_equal(*pair) for pair in zip(found, ranks, strict=True))


@pytest.mark.parametrize(("node", "edge"), [((), ()), ((3,), ()), ((), (2,)), ((1,), (1, 1)), ((2, 3, 4), (3,))])
@settings(max_examples=10)
@given(st.data())
def test_any_number_of_columns(node: tuple[int, ...], edge: tuple[int, ...], data: st.DataObject) -> None:
    train = data.draw(st.lists(coded_graphs(node, edge), max_size=2))
    graph, *wanted = data.draw(coded_graphs(node, edge))
    tables = fitted(train, node, edge)
    ranks = tables.ranks(graph, *wanted)
    assert ranks[0].shape == (graph.n, len(node)) and ranks[1].shape == (len(graph.edges), len(edge))
    assert all(np.array_equal(*pair) for pair in zip(tables.read(graph, *ranks), wanted, strict=True))


@settings(max_examples=30)
@given(coded_graphs(), coded_graphs())
def test_a_rank_beyond_all_is_the_highest_and_one_below_the_lowest(seen: Coded, own: Coded) -> None:
    tables, (graph, *ranks) = fitted([seen]), own
    wild = [np.where(rank == 0, -7, np.where(rank == np.array(sizes) - 1, 10**9, rank))
            for rank, sizes in zip(ranks, (NODE, EDGE), strict=True)]  # fmt: skip
    found, expected = tables.read(graph, *wild), tables.read(graph, *ranks)
    assert all(np.array_equal(*pair) for pair in zip(found, expected, strict=True))


# -- what is expected ---


def test_the_more_often_the_lower_by_hand() -> None:
    """Nodes without edges are all in one context; of categories as frequent as each other the first comes first."""
    tables = fitted([(Graph(7), of(2, 2, 2, 1, 3, 3, 1), NONE)], (5,), (1,))
    ranks, _ = tables.ranks(Graph(5), of(0, 1, 2, 3, 4), NONE)
    assert ranks.ravel().tolist() == [3, 1, 0, 2, 4]
    untaught, _ = fitted([], (5,), (1,)).ranks(Graph(5), of(4, 1, 2, 3, 0), NONE)
    assert untaught.ravel().tolist() == [4, 1, 2, 3, 0]


def test_a_single_sighting_is_outweighed_by_many_in_a_coarser_context_by_hand() -> None:
    """In BLEND sightings a finer context is as good as what is expected without it.

    20 lone nodes have category 0. A pair has 1 and 0. Of degree 1 one node in two is then 1, and so on for each level.
    """
    lone = [(Graph(1), of(0), NONE)] * 20
    pair = (Graph(2, [(0, 1)]), of(1, 0), of(0))
    tables = fitted([*lone, pair], (2,), (1,))
    assert tables.ranks(Graph(1), of(0), NONE)[0].tolist() == [[0]]
    # levels 0 … 7 of the first node: 21:1 of 22, then 1:1 of 2 at degree 1, then six in which it is alone, always 1
    share = 1 / 2 * 2 / 24 + 1 / 24
    share = share * 2 / 4 + 1 / 4
    for _ in range(6):
        share = share * 2 / 3 + 1 / 3
    assert share > 1 / 2
    assert tables.ranks(pair[0], of(1, 0), of(0))[0].ravel().tolist() == [0, 0]
    assert tables.ranks(pair[0], of(0, 0), of(0))[0].ravel().tolist() == [1, 0]  # the second falls back on degree


@settings(max_examples=40)
@given(coded_graphs((), ()))
def test_what_follows_from_structure_has_rank_0(own: Coded) -> None:
    """Categories that follow from degrees, in nodes and in edges."""
    graph = own[0]
    degrees = graph.degrees
    node, edge = of(*(degrees % 3)), of(*(degrees[graph.edges].sum(1) % 4))
    tables = fitted([(graph, node, edge)] * 30, (3,), (4,))
    ranks = tables.ranks(graph, node, edge)
    assert not ranks[0].any() and not ranks[1].any()
    back = tables.read(graph, np.zeros_like(node), np.zeros_like(edge))  # a graph of which nothing is written
    assert np.array_equal(back[0], node) and np.array_equal(back[1], edge)


def test_a_graph_never_seen_is_read_by_its_coarser_contexts() -> None:
    """Stars of 2 to 5 leaves: the middle is 2, leaves are 1, edges 1; so it is in a star of 9, but for its middle."""
    tables = fitted([(star(k), of(2, *[1] * k), of(*[1] * k)) for k in (2, 3, 4, 5)] * 5, (3,), (2,))
    nodes, edges = tables.ranks(star(9), of(2, *[1] * 9), of(*[1] * 9))
    assert nodes.ravel().tolist() == [1] + [0] * 9  # a degree of 9 is new, and 1 is the most frequent
    assert not edges.any()


def test_a_column_is_expected_by_those_before_it() -> None:
    random = np.random.default_rng(0)
    first = random.integers(0, 3, 60)
    tables = fitted([(Graph(60), np.column_stack([first, (first + 1) % 3]), np.zeros((0, 0), np.int64))], (3, 3), ())
    none = np.zeros((0, 0), np.int64)
    ranks, _ = tables.ranks(Graph(3), np.array([[0, 1], [1, 2], [2, 0]]), none)
    assert not ranks[:, 1].any() and sorted(ranks[:, 0]) == [0, 1, 2]
    read, _ = tables.read(Graph(3), np.array([[0, 0], [1, 0], [2, 0]]), none)
    assert np.array_equal(read[:, 1], (read[:, 0] + 1) % 3) and sorted(read[:, 0]) == [0, 1, 2]


def test_an_edge_is_expected_by_its_ends_and_by_the_edges_that_they_have() -> None:
    """Three nodes in a row of category 0: the edges are 1 and then 0, or, where the middle is 1, 0 and then 1."""
    row = Graph(3, [(0, 1), (1, 2)])
    seen = [(row, of(0, 0, 0), of(1, 0)), (row, of(0, 1, 0), of(0, 1))] * 10
    tables = fitted(seen, (2,), (2,))
    for _, nodes, edges in seen[:2]:
        assert not tables.ranks(row, nodes, edges)[1].any()
    assert tables.ranks(row, of(0, 0, 0), of(0, 1))[1].any()


@settings(max_examples=30)
@given(coded_graphs(), coded_graphs(), st.data())
def test_what_comes_later_says_nothing_of_what_is_before(seen: Coded, own: Coded, data: st.DataObject) -> None:
    tables, (graph, nodes, edges) = fitted([seen, own]), own
    before = tables.ranks(graph, nodes, edges)
    changed = data.draw(st.integers(0, graph.n - 1))
    other = nodes.copy()
    other[changed, 1] = (other[changed, 1] + 1) % NODE[1]
    after = tables.ranks(graph, other, edges)
    assert np.array_equal(after[0][:changed], before[0][:changed])
    assert after[0][changed, 0] == before[0][changed, 0] and after[0][changed, 1] != before[0][changed, 1]
    if len(edges):
        order = np.lexsort((graph.edges[:, 0], graph.edges[:, 1]))  # by the later end
        at = data.draw(st.integers(0, len(edges) - 1))
        other = edges.copy()
        other[order[at], 0] = (other[order[at], 0] + 1) % EDGE[0]
        after = tables.ranks(graph, nodes, other)
        assert np.array_equal(after[0], before[0])
        assert np.array_equal(after[1][order[:at]], before[1][order[:at]])
        assert after[1][order[at], 0] != before[1][order[at], 0]


# -- marks and unknown codes ---


def test_marks_are_context() -> None:
    """Of nodes without edges, those that are marked have category 1; the coarsest context alone would say 0."""
    marks = np.array([[0], [0], [0], [2]] * 10)
    nodes = of(*[0, 0, 0, 1] * 10)
    ranks = ContextRanks((2,), ())
    none = np.zeros((0, 0), np.int64)
    ranks.fit([Graph(40)], [nodes], [none], [marks])
    assert not ranks.ranks(Graph(2), of(1, 0), none, np.array([[2], [0]]))[0].any()
    assert ranks.ranks(Graph(2), of(1, 0), none, np.array([[0], [2]]))[0].ravel().tolist() == [1, 1]


@settings(max_examples=30)
@given(st.lists(coded_graphs(), min_size=1, max_size=3), coded_graphs(), st.data())
def test_an_unknown_code_is_read_as_the_likeliest_and_the_others_come_back(train, own, data) -> None:
    tables, (graph, nodes, edges) = fitted(train), own
    at = data.draw(st.integers(0, graph.n - 1))
    given = nodes.copy()
    given[at, 0] = -1
    ranks = tables.ranks(graph, given, edges)
    assert ranks[0][at, 0] == 0
    back = tables.read(graph, *ranks)
    assert np.array_equal(np.delete(back[0], at, 0), np.delete(nodes, at, 0)) and back[0][at, 1] == nodes[at, 1]
    assert np.array_equal(back[1], edges)


# -- what does not matter ---


@settings(max_examples=30)
@given(st.lists(coded_graphs(), min_size=1, max_size=4), coded_graphs(), st.randoms(use_true_random=False))
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
    found, expected = fitted([(graph, *given)]), fitted([(graph, nodes, edges)])
    assert np.array_equal(found.tables.contexts, expected.tables.contexts)
    assert np.array_equal(found.tables.counts, expected.tables.counts)
    for one, other in zip(found.ranks(graph, *given), expected.ranks(graph, nodes, edges), strict=True):
        assert np.array_equal(one, other)


def test_tables_are_sorted_sums() -> None:
    """What is kept: one row for each category met in a context, and each met once at each level."""
    graph, nodes, edges = star(4), of(0, 1, 1, 2, 1), of(0, 0, 1, 0)
    once, twice = (fitted([(graph, nodes, edges)] * times, (3,), (2,)).tables for times in (1, 2))
    assert once.counts.sum() == 8 * (5 + 4) and np.array_equal(twice.counts, 2 * once.counts)
    assert np.array_equal(twice.contexts, once.contexts) and np.array_equal(twice.codes, once.codes)
    assert (np.diff(once.contexts) >= 0).all()
    assert len(np.unique(np.column_stack([once.contexts, once.codes]), axis=0)) == len(once.counts)


# -- molecules ---


def test_most_of_a_molecule_follows() -> None:
    """Without the tables a third of the nodes and most edges of MUTAG would have a rank above 0."""
    graphs = datasets.load("MUTAG")
    schema = Schema.of(graphs)
    coded = [(graph, schema.node.columns(graph).codes, schema.edge.columns(graph).codes) for graph in graphs]
    tables = fitted(coded[:150], tuple(map(len, schema.node.categories)), tuple(map(len, schema.edge.categories)))
    ranks = [tables.ranks(*one) for one in coded[150:]]
    above = [np.concatenate([rank[kind] for rank in ranks]).astype(bool).mean() for kind in (0, 1)]
    plain = [np.concatenate([one[1 + kind] for one in coded[150:]]) for kind in (0, 1)]
    commonest = [np.bincount(column.ravel()).max() / column.size for column in plain]
    assert above[0] < 0.06 and above[1] < 0.06
    assert all(4 * share < 1 - most for share, most in zip(above, commonest, strict=True))
