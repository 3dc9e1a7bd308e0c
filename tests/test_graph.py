"""Graph: values, checks and views."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geogae.errors import GeoGAEError
from geogae.graph import Graph
from strategies import graphs


def test_edges_are_sorted_and_their_attributes_follow() -> None:
    graph = Graph(4, [(3, 2), (1, 0), (0, 2)], edge_categorical=[7, 8, 9], edge_continuous=[[0.5], [1.5], [2.5]])
    assert graph.edges.tolist() == [[0, 1], [0, 2], [2, 3]]
    assert graph.edge_categorical.tolist() == [[8], [9], [7]]
    assert graph.edge_continuous.tolist() == [[1.5], [2.5], [0.5]]
    assert graph.degrees.tolist() == [2, 1, 2, 1]
    assert graph.adjacency().astype(int).tolist() == [[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]]


def test_equality_is_by_value_and_leaves_the_name_out() -> None:
    one = Graph(3, [(0, 1)], node_categorical=[1, 2, 3], label=1, name="a")
    two = Graph(3, np.array([[1, 0]]), node_categorical=[[1], [2], [3]], label=1, name="b")
    assert one == two
    assert hash(one) == hash(two)
    assert one != Graph(3, [(0, 1)], node_categorical=[1, 2, 4], label=1)
    assert one != Graph(3, [(0, 1)], node_continuous=[1, 2, 3], label=1)
    assert one != Graph(3, [(0, 1)], node_categorical=[1, 2, 3], label=2)
    assert one != Graph(4, [(0, 1)])
    assert one != "graph"
    assert Graph(1, node_continuous=[-0.0]) == Graph(1, node_continuous=[0.0])


def test_blocks_without_columns_or_rows() -> None:
    assert Graph(2, node_categorical=np.zeros((2, 0), int)).node_categorical is None
    assert Graph(2, edge_categorical=np.zeros((0, 3), int)) == Graph(2)


def test_it_cannot_be_changed() -> None:
    given_edges = np.array([[0, 1]])
    graph = Graph(2, given_edges, node_continuous=[0.0, 1.0])
    given_edges[0, 1] = 0
    assert graph.edges.tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="read-only"):
        graph.edges[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        graph.node_continuous[0] = 1
    with pytest.raises(AttributeError):
        graph.n = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("label", "kept"), [(3, 3), (True, 1), (np.float32(0.5), 0.5), ([2], 2), ([1, 2.5], (1.0, 2.5)), (None, None)]
)
def test_labels(label: object, kept: object) -> None:
    graph = Graph(1, label=label)  # type: ignore[arg-type]
    assert graph.label == kept
    assert type(graph.label) is type(kept)


@given(graphs(), st.randoms(use_true_random=False))
def test_relabelling_there_and_back(graph: Graph, random: object) -> None:
    order = list(range(graph.n))
    random.shuffle(order)  # type: ignore[attr-defined]
    moved = graph.relabel(order)
    assert moved.relabel(np.argsort(order)) == graph
    assert moved.degrees.tolist() == graph.degrees[order].tolist()
    assert (moved.adjacency() == graph.adjacency()[np.ix_(order, order)]).all()


@given(graphs())
def test_copies_are_equal(graph: Graph) -> None:
    assert pickle.loads(pickle.dumps(graph)) == copy.deepcopy(graph) == graph
    assert graph.topology() == Graph(graph.n, graph.edges)
    assert not graph.topology().attributed


def test_repr() -> None:
    graph = Graph(2, [(0, 1)], node_categorical=[1, 2], label=[1, 2], name="a")
    assert repr(graph) == "Graph('a', n=2, edges=1, node_categorical×1, label×2)"
    assert repr(Graph(1, label=0)) == "Graph(n=1, edges=0, label=0)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "at least 1, not n=0"),
        ({"n": -3}, "not n=-3"),
        ({"n": 2.0}, "not n=2.0"),
        ({"n": True}, "not n=True"),
        ({"n": "two"}, "not n='two'"),
        ({"n": 2, "edges": [(0, 2)]}, r"edge \(0, 2\) is out of range: with n=2 the nodes are 0 … 1"),
        ({"n": 2, "edges": [(-1, 0)]}, r"edge \(-1, 0\) is out of range"),
        ({"n": 2, "edges": [(1, 1)]}, "self-loop at node 1 .* self_loops='drop'"),
        ({"n": 2, "edges": [(0, 1), (1, 0)]}, r"edge \(0, 1\) is given twice .* duplicates='merge'"),
        ({"n": 2, "edges": [(0, 1), (1,)]}, "pairs of node numbers"),
        ({"n": 2, "edges": [(0, 1, 1)]}, r"not shape \(1, 3\)"),
        ({"n": 2, "edges": 5}, "pairs of node numbers"),
        ({"n": 2, "edges": [("a", "b")]}, "whole node numbers"),
        ({"n": 2, "edges": [(0.0, 1.0)]}, "whole node numbers, not float64"),
        ({"n": 2, "node_continuous": [1.0, float("nan")]}, r"node_continuous\[1, 0\] is nan"),
        ({"n": 1, "node_continuous": [1e300]}, r"node_continuous\[0, 0\] is inf"),
        ({"n": 1, "node_continuous": ["1"]}, "node_continuous must be numbers"),
        ({"n": 1, "node_continuous": [1j]}, "node_continuous must be numbers"),
        ({"n": 2, "node_continuous": [1.0]}, r"node_continuous has shape \(1, 1\); .* each of the 2 nodes"),
        ({"n": 2, "node_categorical": [[1], [1, 2]]}, "node_categorical must be a table"),
        ({"n": 1, "node_categorical": [0.5]}, "node_categorical must be integers, not float64"),
        ({"n": 1, "node_categorical": np.array([2**64 - 1], np.uint64)}, "holds 18446744073709551615, .* too large"),
        ({"n": 1, "node_categorical": ["C"]}, "number the categories first"),
        ({"n": 2, "edges": [(0, 1)], "edge_categorical": [1, 2]}, "each of the 1 edges"),
        ({"n": 1, "label": "mutagenic"}, "a label is a finite number .* not 'mutagenic'"),
        ({"n": 1, "label": float("nan")}, "not nan"),
        ({"n": 1, "label": []}, r"not \[\]"),
        ({"n": 1, "name": 5}, "name is text, not 5"),
    ],
)
def test_bad_input_is_one_clear_line(arguments: dict, message: str) -> None:
    with pytest.raises(GeoGAEError, match=message) as caught:
        Graph(**arguments)
    assert "\n" not in str(caught.value)


def test_an_order_must_be_a_permutation() -> None:
    with pytest.raises(GeoGAEError, match="must hold each of 0 … 1 once"):
        Graph(2).relabel([0, 0])
