"""Canonical labelling: however a graph is numbered, the canonical graph is the same, and only then."""

from __future__ import annotations

import inspect
import itertools
import operator
import os
import sys
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geogae.errors import GeoGAEError
from geogae.formats import read_tu
from geogae.graph import Graph
from geogae.labelling.labelling import canonical_form, canonical_labelling, isomorphic

DATA = os.environ.get("GEOGAE_DATA")


def plain(graph: nx.Graph) -> Graph:
    graph = nx.convert_node_labels_to_integers(graph)
    return Graph(len(graph), list(graph.edges))


def shuffled(graph: Graph, seed: int) -> Graph:
    return graph.relabel(np.random.default_rng(seed).permutation(graph.n))


def canonical(graph: Graph) -> Graph:
    labelling = canonical_labelling(graph)
    assert labelling.complete
    return graph.relabel(labelling.order)


def copies(graph: nx.Graph, times: int) -> nx.Graph:
    return nx.disjoint_union_all([graph] * times)


def caterpillar(spine: int, legs: int) -> nx.Graph:
    return nx.corona_product(nx.path_graph(spine), nx.empty_graph(legs))


def thread(nodes: int, seed: int) -> nx.Graph:
    """Like the threads of REDDIT-BINARY: a few hubs with most of the answers, a tree but for a few edges."""
    rng = np.random.default_rng(seed)
    tree = nx.Graph((v, int(v * rng.random() ** 6)) for v in range(1, nodes))
    tree.add_edges_from(rng.integers(0, nodes, size=(20, 2)).tolist())
    tree.remove_edges_from(list(nx.selfloop_edges(tree)))
    return tree


def circulant(n: int, jumps: set[int]) -> nx.Graph:
    return nx.circulant_graph(n, list(jumps))


def paley(q: int) -> nx.Graph:
    return circulant(q, {x * x % q for x in range(1, q)})


def rook(side: int) -> nx.Graph:
    return nx.cartesian_product(nx.complete_graph(side), nx.complete_graph(side))


def shrikhande() -> nx.Graph:
    steps = ((0, 1), (1, 0), (1, 1))
    squares = itertools.product(range(4), repeat=2)
    return nx.Graph(((i, j), ((i + a) % 4, (j + b) % 4)) for i, j in squares for a, b in steps)


def cograph(depth: int) -> nx.Graph:
    return nx.complement(copies(cograph(depth - 1), 2 + depth % 2)) if depth else nx.empty_graph(1)


def projective_plane(q: int) -> nx.Graph:
    points = [(1, a, b) for a in range(q) for b in range(q)] + [(0, 1, a) for a in range(q)] + [(0, 0, 1)]
    flags = np.argwhere(np.array(points) @ np.array(points).T % q == 0)
    return nx.Graph((("point", i), ("line", j)) for i, j in flags.tolist())


def cfi(base: nx.Graph, *, twisted: bool) -> nx.Graph:
    """Cai, Fürer and Immerman: twisted and untwisted look alike to colour refinement, but are not isomorphic."""
    graph = nx.Graph()
    for v in base:
        ends = [frozenset((v, u)) for u in base[v]]
        for bits in itertools.product((0, 1), repeat=len(ends)):
            if sum(bits) % 2 == (twisted and v == 0):
                graph.add_edges_from(((v, bits), end) for end in zip(ends, bits, strict=True))
    return graph


FAMILIES: dict[str, Callable[[], nx.Graph]] = {
    "one node": lambda: nx.empty_graph(1),
    "empty": lambda: nx.empty_graph(5000),
    "complete": lambda: nx.complete_graph(1000),
    "star": lambda: nx.star_graph(5000),
    "path": lambda: nx.path_graph(4000),
    "random tree": lambda: nx.random_labeled_tree(4000, seed=0),
    "preferential tree": lambda: nx.barabasi_albert_graph(4000, 1, seed=0),
    "binary tree": lambda: nx.balanced_tree(2, 10),
    "wide tree": lambda: nx.balanced_tree(15, 3),
    "caterpillar": lambda: caterpillar(400, 9),
    "thread": lambda: thread(3782, seed=0),
    "triangles": lambda: copies(nx.cycle_graph(3), 200),
    "hexagons": lambda: copies(nx.cycle_graph(6), 50),
    "hexagons and pairs of triangles": lambda: nx.disjoint_union(
        copies(nx.cycle_graph(6), 20), copies(nx.cycle_graph(3), 40)
    ),
    "cliques": lambda: nx.disjoint_union_all([nx.complete_graph(k) for k in [30] * 5 + [7] * 10 + [1] * 9]),
    "cycle": lambda: nx.cycle_graph(2000),
    "cycle with leaves": lambda: nx.corona_product(nx.cycle_graph(300), nx.empty_graph(3)),
    "grid": lambda: nx.grid_2d_graph(40, 40),
    "torus": lambda: nx.grid_2d_graph(40, 40, periodic=True),
    "oblong torus": lambda: nx.grid_2d_graph(30, 20, periodic=True),
    "hypercube": lambda: nx.hypercube_graph(9),
    "complete multipartite": lambda: nx.complete_multipartite_graph(1, 2, *[3] * 30, *[20] * 5, 100),
    "cocktail party": lambda: nx.complete_multipartite_graph(*[2] * 200),
    "cograph": lambda: cograph(7),
    "3-regular": lambda: nx.random_regular_graph(3, 3000, seed=0),
    "dense regular": lambda: nx.random_regular_graph(50, 200, seed=0),
    "random": lambda: nx.gnp_random_graph(200, 0.3, seed=0),
    "Petersen": nx.petersen_graph,
    "Petersens": lambda: copies(nx.petersen_graph(), 20),
    "dodecahedron": nx.dodecahedral_graph,
    "Paley": lambda: paley(101),
    "rook's": lambda: rook(8),
    "rook's 4×4": lambda: rook(4),
    "Shrikhande": shrikhande,
    "line graph": lambda: nx.line_graph(nx.complete_graph(10)),
    "Kneser": lambda: nx.kneser_graph(8, 3),
    "projective plane": lambda: projective_plane(5),
    "CFI": lambda: cfi(nx.random_regular_graph(3, 16, seed=1), twisted=False),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_relabelled_graph_has_the_same_canonical_graph(family: str) -> None:
    graph = plain(FAMILIES[family]())
    expected = canonical(graph)
    assert all(canonical(shuffled(graph, seed)) == expected for seed in range(3))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (rook(4), shrikhande()),
        (nx.cycle_graph(6), copies(nx.cycle_graph(3), 2)),
        (nx.dodecahedral_graph(), nx.desargues_graph()),
        (cfi(nx.complete_graph(4), twisted=False), cfi(nx.complete_graph(4), twisted=True)),
        (cfi(nx.petersen_graph(), twisted=False), cfi(nx.petersen_graph(), twisted=True)),
        (circulant(30, {1, 2}), circulant(30, {1, 3})),
    ],
)
def test_graphs_that_colours_alone_cannot_tell_apart(a: nx.Graph, b: nx.Graph) -> None:
    assert sorted(dict(a.degree).values()) == sorted(dict(b.degree).values())
    assert not isomorphic(plain(a), plain(b))
    assert isomorphic(plain(a), shuffled(plain(a), seed=0))


def test_every_graph_with_up_to_seven_nodes_has_a_form_of_its_own() -> None:
    atlas = [plain(graph) for graph in nx.graph_atlas_g()[1:]]
    forms = [canonical_form(graph) for graph in atlas]
    assert len(set(forms)) == len(atlas) == 1252
    for seed in range(2):
        assert [canonical_form(shuffled(graph, seed)) for graph in atlas] == forms


def test_every_numbering_of_every_graph_with_up_to_five_nodes() -> None:
    for graph in map(plain, nx.graph_atlas_g()[1:53]):
        assert len({canonical(graph.relabel(order)) for order in itertools.permutations(range(graph.n))}) == 1


# -- attributes ------------------------------------------------------------------------------------------------------

few = st.integers(0, 1)


@st.composite
def attributed_graphs(draw: st.DrawFn, max_nodes: int = 9) -> Graph:
    n = draw(st.integers(1, max_nodes))
    edges = [pair for pair in itertools.combinations(range(n), 2) if draw(st.booleans())]

    def rows(count: int, values: st.SearchStrategy[float]) -> list[float] | None:
        return draw(st.none() | st.lists(values, min_size=count, max_size=count))

    return Graph(
        n,
        edges,
        node_categorical=rows(n, few),
        node_continuous=rows(n, st.sampled_from([-0.5, 2.25])),
        edge_categorical=rows(len(edges), few),
        edge_continuous=rows(len(edges), st.sampled_from([-1e-9, 1e9])),
        label=draw(few),
    )


@settings(max_examples=300, deadline=None)
@given(attributed_graphs(), st.randoms(use_true_random=False))
def test_attributes_follow_their_nodes_and_edges(graph: Graph, random) -> None:  # type: ignore[no-untyped-def]
    order = list(range(graph.n))
    random.shuffle(order)
    assert canonical(graph.relabel(order)) == canonical(graph)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_isomorphic_agrees_with_networkx(data: st.DataObject) -> None:
    graph = data.draw(attributed_graphs(max_nodes=5))
    column = data.draw(st.sampled_from(["node_categorical", "node_continuous", "edge_categorical", "edge_continuous"]))
    blocks = {f: getattr(graph, f) for f in Graph.__dataclass_fields__ if f.endswith(("categorical", "continuous"))}
    if blocks[column] is not None:  # the same values elsewhere: sometimes isomorphic, often not
        blocks[column] = blocks[column][data.draw(st.permutations(range(len(blocks[column]))))]
    other = shuffled(Graph(graph.n, graph.edges, **blocks), seed=data.draw(st.integers(0, 9)))
    vf2 = nx.is_isomorphic(graph.to_networkx(), other.to_networkx(), node_match=operator.eq, edge_match=operator.eq)
    assert isomorphic(graph, other) == vf2


def test_many_kinds_of_edges() -> None:
    rng = np.random.default_rng(0)
    base = plain(nx.complete_graph(40))
    graph = Graph(40, base.edges, edge_continuous=rng.integers(0, 7, size=len(base.edges)))
    assert canonical(shuffled(graph, 1)) == canonical(graph)
    ring = Graph(12, plain(nx.cycle_graph(12)).edges, edge_categorical=[1] * 6 + [2] * 6)
    assert canonical(shuffled(ring, 1)) == canonical(ring)


def test_presence_of_attributes_counts_and_label_and_name_do_not() -> None:
    graph = Graph(3, [(0, 1), (1, 2)])
    assert canonical_form(graph) == canonical_form(Graph(3, [(0, 2), (1, 2)], label=7, name="path"))
    assert canonical_form(graph) != canonical_form(Graph(3, [(0, 1), (1, 2)], node_categorical=[0, 0, 0]))
    assert canonical_form(graph) != canonical_form(Graph(3, [(0, 1), (1, 2)], edge_continuous=[0.0, 0.0]))
    assert not isomorphic(graph, Graph(4, [(0, 1), (1, 2)]))
    assert len(canonical_form(graph)) == 32


# -- the budget ------------------------------------------------------------------------------------------------------


def test_a_search_without_budget_says_so_and_is_still_a_numbering(caplog: pytest.LogCaptureFixture) -> None:
    graph = plain(cfi(nx.random_regular_graph(3, 10, seed=0), twisted=False))
    labelling = canonical_labelling(graph, budget=1)
    assert not labelling.complete
    assert sorted(labelling.order) == list(range(graph.n))
    canonical_form(graph, budget=1)
    assert "no canonical form within budget=1" in caplog.text
    twisted = plain(cfi(nx.random_regular_graph(3, 10, seed=0), twisted=True))
    with pytest.raises(GeoGAEError, match="budget=1 does not suffice"):
        isomorphic(graph, twisted, budget=1)
    assert not isomorphic(graph, twisted)


@pytest.mark.parametrize("family", ["complete", "star", "random tree", "binary tree", "caterpillar", "cliques"])
def test_trees_twins_and_cliques_need_no_search(family: str) -> None:
    assert canonical_labelling(plain(FAMILIES[family]()), budget=1).complete


def test_deep_searches_do_not_lean_on_recursion() -> None:
    graph = plain(rook(30))  # some 30 choices, one inside the other, two frames each
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 40)
    try:
        labelling = canonical_labelling(graph, budget=1)
    finally:
        sys.setrecursionlimit(limit)
    assert sorted(labelling.order) == list(range(graph.n))


# -- real data ---------------------------------------------------------------------------------------------------------


def real(name: str) -> list[Graph]:
    if not DATA or not (Path(DATA) / f"{name}.zip").exists():
        pytest.skip(f"{name}.zip is not in $GEOGAE_DATA")
    return read_tu(Path(DATA) / f"{name}.zip", self_loops="drop", duplicates="merge")


@pytest.mark.parametrize("name", ["MUTAG", "AIDS", "IMDB-BINARY"])
def test_real_graphs_relabelled(name: str) -> None:
    for seed, graph in enumerate(real(name)[::2]):
        for version in (graph, graph.topology()):
            assert canonical(shuffled(version, seed)) == canonical(version)


@pytest.mark.parametrize(
    ("name", "share"), [("MUTAG", 0.35), ("AIDS", 0.525), ("IMDB-BINARY", 0.535), ("SYNTHETICnew", 0.0)]
)
def test_share_of_test_graphs_isomorphic_to_a_training_graph(name: str, share: float) -> None:
    """Under 70:15:15 splits, without attributes; the mean of many splits."""
    forms = np.array([canonical_form(graph.topology()) for graph in real(name)])
    _, form = np.unique(forms, return_inverse=True)
    train, held_out = round(0.7 * len(form)), round(0.85 * len(form))
    rng = np.random.default_rng(0)
    splits = (rng.permutation(form) for _ in range(300))
    assert np.mean([np.isin(s[held_out:], s[:train]).mean() for s in splits]) == pytest.approx(share, abs=0.015)


# -- whatever stands for a graph ---------------------------------------------------------------------------------------


def test_other_libraries_graphs_are_compared() -> None:
    path = Graph(3, [(0, 1), (1, 2)])
    assert isomorphic(nx.path_graph(3), path) and not isomorphic(nx.path_graph(3), nx.cycle_graph(3))
    assert isomorphic(np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]]), nx.path_graph(3))
    assert canonical_form(nx.path_graph(3)) == canonical_form(path)
    with pytest.raises(GeoGAEError, match=r"^float cannot be read as a graph; give a geogae.Graph, a networkx.Graph"):
        isomorphic(path, 1.5)


def test_molecules_are_compared() -> None:
    chem = pytest.importorskip("rdkit.Chem")
    assert isomorphic("OCC", chem.MolFromSmiles("CCO")) and not isomorphic("CCO", "CCN")
    assert isomorphic("CCO", "CCN", attributes=False)
    assert canonical_form("OCC") == canonical_form("CCO")
