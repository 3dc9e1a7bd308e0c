"""Edited copies: near the training graphs, within their sizes and categories, never a graph that is held back."""

from __future__ import annotations

from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geogae import GeoGAEError, Graph, datasets
from geogae.geometry.fitting import canonicalise
from geogae.graph import ATTRIBUTES
from geogae.training import drafts, edits
from geogae.training.drafts import Draft, Places
from geogae.training.edits import EDITS, Editor
from strategies import graphs as any_graphs

ALL = list(EDITS)
PATH, RING, STAR = (
    Graph(4, [(0, 1), (1, 2), (2, 3)]),
    Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)]),
    Graph(4, [(0, 1), (0, 2), (0, 3)]),
)
COMPLETE = Graph(4, [(i, j) for j in range(4) for i in range(j)])


def key(graph: Graph) -> bytes:
    return canonicalise(graph.topology()).key


def results(edit: edits.Edit, graph: Graph, most: int = 9, tries: int = 60) -> set[bytes]:
    """Which graphs one edit can make, up to isomorphism."""
    places, found = Places([graph]), set()
    for seed in range(tries):
        draft = Draft.of(places, 0, most)
        edit(draft, places, Random(seed))
        found.add(key(draft.graph(places)))
    return found


def forms(*graphs: Graph) -> set[bytes]:
    return {key(graph) for graph in graphs}


def path(n: int) -> Graph:
    return Graph(n, [(i, i + 1) for i in range(n - 1)])


def test_leaves() -> None:
    assert results(edits.add_leaf, path(3)) == forms(path(4), STAR)
    assert results(edits.add_leaf, path(3), most=3) == forms(path(3))
    assert results(edits.remove_leaf, STAR) == forms(path(3))
    assert results(edits.remove_leaf, path(2)) == forms(path(2))  # something must be left
    assert results(edits.move_leaf, path(4)) == forms(path(4), STAR)
    assert results(edits.move_leaf, RING) == forms(RING)  # none to move


def test_edges() -> None:
    diamond = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)])
    paw = Graph(4, [(0, 1), (1, 2), (0, 2), (2, 3)])
    assert results(edits.add_edge, path(4)) == forms(path(4), RING, paw)
    assert results(edits.add_edge, COMPLETE) == forms(COMPLETE)
    assert results(edits.remove_edge, RING) == forms(path(4))
    assert results(edits.remove_edge, path(4)) == forms(path(4))  # bridges stay
    assert results(edits.move_edge, path(3)) == forms(path(3))
    assert results(edits.move_edge, RING) == forms(paw)
    assert results(edits.remove_edge, COMPLETE) == forms(diamond)


def test_new_edges_close_rings_as_training_graphs_have_them() -> None:
    hexagon = Graph(7, [*((i, (i + 1) % 6) for i in range(6)), (0, 6)])
    assert set(Places([hexagon]).rings) == {5} and set(Places([COMPLETE]).rings) == {2}
    assert set(Places([path(4)]).rings) == set(range(2, drafts.NEAR + 1))  # no ring to learn from
    places = Places([hexagon, path(9)])
    draft = Draft.of(places, 1, 9)
    edits.add_edge(draft, places, Random(0))
    [ring] = nx.cycle_basis(draft.graph(places).to_networkx())
    assert len(ring) == 6


def test_paths() -> None:
    triangle = Graph(3, [(0, 1), (1, 2), (0, 2)])
    assert results(edits.subdivide, triangle) == forms(RING)
    assert results(edits.contract, RING) == forms(triangle)
    assert results(edits.contract, triangle) == forms(triangle)  # its neighbours are joined already


def test_twins() -> None:
    assert results(edits.split_twin, COMPLETE) == forms(Graph(5, [(i, j) for j in range(5) for i in range(j)]))
    assert forms(Graph(5, [(0, i) for i in range(1, 5)])) <= results(edits.split_twin, STAR)
    assert results(edits.merge_twins, STAR) == forms(STAR, path(3))
    assert results(edits.merge_twins, path(5)) == forms(path(5))


def test_rewiring_keeps_nodes_and_edges() -> None:
    places = Places([RING])
    for seed in range(30):
        draft = Draft.of(places, 0, 4)
        edits.rewire(draft, places, Random(seed))
        graph = draft.graph(places)
        assert (graph.n, len(graph.edges)) == (4, 4)


def test_parts_of_two_graphs_are_connected() -> None:
    places = Places([path(5), COMPLETE])
    for seed in range(60):
        draft = Draft.of(places, 0, 6)
        edits.join_parts(draft, places, Random(seed))
        graph = draft.graph(places)
        assert graph.n <= 6 and nx.is_connected(graph.to_networkx())


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(*[st.integers(0, 2)] * 4).flatmap(
        lambda schema: st.lists(any_graphs(schema=schema), min_size=1, max_size=4)
    )
)
def test_copies_stay_within_sizes_and_categories(graphs: list[Graph]) -> None:
    editor = Editor(graphs, edits=8, kinds=ALL, seed=1)
    largest = max(graph.n for graph in graphs)
    for number in range(10):
        copy = editor.copy(number)
        assert 1 <= copy.n <= largest
        assert Graph(copy.n, copy.edges).edges.tolist() == copy.edges.tolist()  # simple and sorted
        for field in ATTRIBUTES:
            own = getattr(copy, field)
            rows = [getattr(graph, field) for graph in graphs if getattr(graph, field) is not None]
            known = {row.tobytes() for block in rows for row in block}
            if not known:
                assert own is None or not own.size
            else:
                expected = copy.n if field.startswith("node") else len(copy.edges)
                assert len(own) == expected and {row.tobytes() for row in own} <= known


def test_attributes_come_from_such_places() -> None:
    """Oxygens (1) are leaves on carbon (0) by a double bond (2), ring bonds are single (1): so are new ones."""
    rows = [*range(6), 0, 2]
    edges = [*((i, (i + 1) % 6) for i in range(6)), (0, 6), (2, 7)]
    graph = Graph(8, edges, node_categorical=[[0]] * 6 + [[1]] * 2, edge_categorical=[[1]] * 6 + [[2]] * 2)
    places = Places([graph])
    assert len(rows) == graph.n
    for seed in range(40):
        draft = Draft.of(places, 0, 20)
        random = Random(seed)
        edits.add_leaf(draft, places, random)
        edits.subdivide(draft, places, random)
        copy = draft.graph(places)
        if copy.n < 10:
            continue
        node, edge = copy.node_categorical, copy.edge_categorical
        assert node is not None and edge is not None
        assert node[9, 0] == 0  # what stands between two nodes is carbon
        for (i, j), bond in zip(copy.edges.tolist(), edge[:, 0].tolist(), strict=True):
            pair = {node[i, 0], node[j, 0]}
            assert bond == {frozenset({0}): 1, frozenset({0, 1}): 2}.get(frozenset(pair), bond)


def test_copies_depend_on_seed_and_number_alone() -> None:
    graphs = datasets.load("MUTAG")[:20]
    one, other = Editor(graphs, edits=6, kinds=ALL, seed=3), Editor(graphs, edits=6, kinds=ALL, seed=3)
    assert [one.copy(k) for k in range(20)] == [other.copy(k) for k in reversed(range(20))][::-1]
    assert one.copy(5) != Editor(graphs, edits=6, kinds=ALL, seed=4).copy(5)


def test_large_graphs_are_drawn_more_often_later() -> None:
    editor = Editor([path(3), path(12)], edits=1, kinds=["edges"], ramp=1000, seed=0)  # edits of edges keep sizes
    early, late = ([editor.copy(first + k).n == 12 for k in range(400)] for first in (0, 1000))
    assert 0.4 < np.mean(early) < 0.7  # alike at first, then more and more
    assert abs(np.mean(late) - 12 / 15) < 0.06  # in proportion to the nodes
    plain = Editor([path(3), path(12)], edits=1, kinds=["edges"], seed=0)
    assert abs(np.mean([plain.copy(1000 + k).n == 12 for k in range(400)]) - 0.5) < 0.08


def test_no_copy_is_held_back_and_training_graphs_stay() -> None:
    editor = Editor([path(4)], edits=1, kinds=["leaves", "edges"], excluded=[RING.relabel([2, 0, 1, 3]), STAR])
    made = {key(editor.copy(k)) for k in range(200)}
    assert not made & forms(RING, STAR) and made > forms(path(4), path(3))
    assert {key(Editor([path(4)], edits=1, excluded=[path(4)]).copy(k)) for k in range(50)} > forms(path(4))


def test_too_little_room_to_edit_says_why() -> None:
    editor = Editor([path(2), path(2)], edits=1, kinds=["leaves"], excluded=[])
    assert {editor.copy(k).n for k in range(20)} == {2}
    forced = Editor([path(3)], edits=1, kinds=["edges"], excluded=[COMPLETE])
    forced.excluded = forms(path(3))
    forced.suspects = {edits._invariant(path(3))}
    with pytest.raises(GeoGAEError, match=r"edits=0"):
        [forced.copy(k) for k in range(5000)]


@pytest.mark.parametrize("graphs", [[Graph(1)], [Graph(1)] * 3, [COMPLETE], [PATH], [Graph(3)]])
def test_sets_without_much_to_edit(graphs: list[Graph]) -> None:
    editor = Editor(graphs, edits=4, kinds=ALL)
    assert all(editor.copy(k).n <= graphs[0].n for k in range(30))


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"kinds": ["leafs"]}, "edit kind 'leafs' is not known; valid are leaves, edges"),
        ({"kinds": []}, "at least 1 edit of 1 kind"),
        ({"edits": 0}, "at least 1 edit of 1 kind"),
        ({"graphs": []}, "at least one"),
    ],
)
def test_wrong_parameters(wrong: dict, line: str) -> None:
    given_ = {"graphs": [PATH], "edits": 3, "kinds": ["leaves"], **wrong}
    with pytest.raises(GeoGAEError, match=line):
        Editor(given_.pop("graphs"), **given_)


def test_thousands_a_second() -> None:
    import time

    editor = Editor(datasets.load("MUTAG"), edits=8)
    begin = time.process_time()
    for k in range(1000):
        editor.copy(k)
    assert 1000 / (time.process_time() - begin) > 1000
    assert np.mean([editor.copy(k).n for k in range(200)]) > 10
