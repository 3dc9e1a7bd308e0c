"""Objects of other libraries: round trips, and the ways in which they are not simple graphs."""

from __future__ import annotations

import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings

from geogae.errors import GeoGAEError
from geogae.formats import as_graph, as_graphs, from_adjacency, from_edges, from_networkx, from_pyg, optional, to_pyg
from geogae.graph import Graph
from strategies import graphs

PATH = Graph(3, [(0, 1), (1, 2)])


class TestNetworkX:
    @given(graphs())
    def test_round_trip(self, graph: Graph) -> None:
        back = Graph.from_networkx(graph.to_networkx())
        assert back == graph
        assert back.name == graph.name

    def test_any_ids_in_the_order_of_the_nodes(self) -> None:
        g = nx.Graph([("c", (1, 2)), ((1, 2), 7)])
        assert from_networkx(g) == PATH

    def test_attributes_by_key(self) -> None:
        g = nx.Graph(name="water", label=4)
        g.add_node("O", z=8, charge=0, at=(0.0, 0.5))
        g.add_node("H", z=1, charge=1, at=np.array([1.0, 2.0]))
        g.add_edge("H", "O", weight=0.5)
        graph = from_networkx(g, node_categorical=["z", "charge"], node_continuous=["at"], edge_continuous=["weight"])
        expected = Graph(
            2,
            [(0, 1)],
            node_categorical=[[8, 0], [1, 1]],
            node_continuous=[[0, 0.5], [1, 2]],
            edge_continuous=[0.5],
            label=4,
        )
        assert graph == expected
        assert graph.name == "water"
        assert from_networkx(nx.Graph(nx.path_graph(2), label="text"), label=None) == Graph(2, [(0, 1)])

    def test_the_policy(self) -> None:
        arcs = nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")])
        assert from_networkx(arcs, directed="either") == PATH
        assert from_networkx(arcs, directed="both") == Graph(3, [(0, 1)])
        assert from_networkx(nx.MultiGraph([(0, 1), (0, 1), (1, 2)]), duplicates="merge") == PATH
        assert from_networkx(nx.MultiGraph([(0, 1), (1, 2)])) == PATH
        assert from_networkx(nx.Graph([(0, 1), (1, 1), (1, 2)]), self_loops="drop") == PATH
        heavy = nx.Graph()
        heavy.add_weighted_edges_from([(0, 1, 2.0), (1, 2, 1)])
        assert from_networkx(heavy, weights="drop") == PATH

    @pytest.mark.parametrize(
        ("build", "how", "message"),
        [
            (lambda: nx.Graph(), {}, "at least 1, not n=0"),
            (lambda: nx.DiGraph([("a", "b")]), {}, r"arc \('a', 'b'\) has no reverse .*directed='either'"),
            (lambda: nx.MultiGraph([("a", "b"), ("b", "a")]), {}, r"edge \('a', 'b'\) is given again"),
            (lambda: nx.Graph([("a", "a")]), {}, "self-loop at node 'a'"),
            (lambda: nx.Graph([("a", "b", {"weight": 3})]), {}, r"edge \('a', 'b'\) has weight 3 .*weights='drop'"),
            (lambda: nx.path_graph(2), {"node_categorical": ["z"]}, "node 0 has no attribute 'z'"),
            (lambda: nx.path_graph(2), {"edge_continuous": ["d"]}, r"edge \(0, 1\) has no attribute 'd'; every edge"),
            (lambda: nx.path_graph(2), {"node_categorical": "z"}, r"name the attributes in a list: \['z'\]"),
            (lambda: nx.Graph(nx.path_graph(2), label="x"), {}, "a label is a finite number"),
        ],
    )
    def test_bad_input(self, build, how: dict, message: str) -> None:
        with pytest.raises(GeoGAEError, match=message):
            from_networkx(build(), **how)

    def test_nan_and_text_attributes(self) -> None:
        g = nx.path_graph(2)
        nx.set_node_attributes(g, {0: 1.0, 1: float("nan")}, "x")
        nx.set_node_attributes(g, {0: "C", 1: "O"}, "z")
        with pytest.raises(GeoGAEError, match=r"node_continuous\[1, 0\] is nan"):
            from_networkx(g, node_continuous=["x"])
        with pytest.raises(GeoGAEError, match="number the categories first"):
            from_networkx(g, node_categorical=["z"])


class TestPyG:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pyg = pytest.importorskip("torch_geometric.data", reason="torch_geometric is not installed")

    @given(graphs())
    @settings(max_examples=40)
    def test_round_trip(self, graph: Graph) -> None:
        back = from_pyg(to_pyg(graph))
        assert back == graph
        assert back.name == graph.name

    def test_standard_fields(self) -> None:
        t = self.torch.tensor
        arcs = t([[0, 1, 1, 2], [1, 0, 2, 1]])
        real = self.pyg.Data(x=t([[0.5], [1.5], [2.5]]), edge_index=arcs, edge_attr=t([7, 7, 8, 8]), y=t([1]))
        assert from_pyg(real) == Graph(3, PATH.edges, node_continuous=[0.5, 1.5, 2.5], edge_categorical=[7, 8], label=1)
        whole = self.pyg.Data(x=t([[1], [2], [3]]), edge_index=arcs, y=t([[0.5, 1.5]]))
        assert from_pyg(whole) == Graph(3, PATH.edges, node_categorical=[1, 2, 3], label=(0.5, 1.5))
        named = self.pyg.Data(z=t([6, 6, 8]), pos=self.torch.zeros(3, 3), edge_index=arcs)
        assert from_pyg(named, node_categorical=["z"], node_continuous=["pos"]) == Graph(
            3, PATH.edges, node_categorical=[6, 6, 8], node_continuous=np.zeros((3, 3))
        )

    def test_a_batch_is_many_graphs(self) -> None:
        batch = self.pyg.Batch.from_data_list([PATH.to_pyg(), Graph(1).to_pyg()])
        assert as_graphs(batch) == [PATH, Graph(1)]
        with pytest.raises(GeoGAEError, match=r"HeteroData has nodes and edges of several types; .*to_homogeneous"):
            as_graphs(self.pyg.HeteroData())
        with pytest.raises(GeoGAEError, match="a Batch holds many graphs"):
            as_graph(batch)

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"num_nodes": 2}, "no edge_index"),
            ({"edge_index": [[0, 1], [1, 0]]}, "set data.num_nodes"),
            ({"num_nodes": 2, "edge_index": [[0], [1]]}, r"arc \(0, 1\) has no reverse"),
            ({"num_nodes": 2, "edge_index": [[0], [0]]}, "self-loop at node 0"),
            ({"num_nodes": 2, "edge_index": [[0, 2], [2, 0]]}, "out of range"),
            ({"num_nodes": 2, "edge_index": [[0, 1], [1, 0]], "edge_weight": [2.0, 2.0]}, "has weight 2.0"),
            ({"num_nodes": 2, "edge_index": [[0, 1], [1, 0]], "edge_weight": [2.0]}, r"weight has shape \(1,\)"),
            ({"x": [[1.0], [float("nan")]], "edge_index": [[0, 1], [1, 0]]}, r"node_continuous\[1, 0\] is nan"),
            ({"x": [[1.0]], "edge_index": [[0, 1], [1, 0]]}, "out of range: with n=1"),
        ],
    )
    def test_bad_input(self, fields: dict, message: str) -> None:
        data = self.pyg.Data(**{k: v if isinstance(v, int) else self.torch.tensor(v) for k, v in fields.items()})
        with pytest.raises(GeoGAEError, match=message):
            from_pyg(data)

    def test_missing_fields(self) -> None:
        with pytest.raises(GeoGAEError, match=r"no field 'z'; it has .*'edge_index'"):
            from_pyg(PATH.to_pyg(), node_categorical=["z"])
        with pytest.raises(GeoGAEError, match=r"name the fields in a list: \['z'\]"):
            from_pyg(PATH.to_pyg(), node_categorical="z")


class TestAdjacencyAndEdges:
    @given(graphs(attributed=False))
    def test_round_trip(self, graph: Graph) -> None:
        dense = graph.adjacency()
        assert from_adjacency(dense) == from_adjacency(dense.astype(float)) == from_adjacency(dense.tolist()) == graph
        assert from_adjacency(scipy.sparse.coo_array(dense.astype(int))) == graph
        assert from_edges(graph.edges, graph.n) == graph

    def test_the_policy(self) -> None:
        arcs = np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0]])
        assert from_adjacency(arcs, directed="either") == PATH
        assert from_adjacency(arcs, directed="both") == Graph(3, [(0, 1)])
        assert from_adjacency(PATH.adjacency() * 0.5, weights="drop") == PATH
        assert from_adjacency(PATH.adjacency() + np.eye(3), self_loops="drop") == PATH
        assert from_edges([(0, 1), (1, 0), (1, 2)], duplicates="merge") == PATH
        assert from_edges([(0, 1), (1, 0), (1, 2)], arcs=True, directed="either") == PATH
        assert from_edges([(0, 1)], 3, edge_categorical=[4], label=1) == Graph(
            3, [(0, 1)], edge_categorical=[4], label=1
        )
        assert from_edges([], 2) == Graph(2)

    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            ([[0, 1]], r"square, not of shape \(1, 2\)"),
            ([[0, 1], [1]], "rows of equal length"),
            ([[0, 1], [0, 0]], r"arc \(0, 1\) has no reverse"),
            ([[1, 1], [1, 0]], "self-loop at node 0"),
            ([[0, 2], [2, 0]], r"has weight 2 \(2 weights are not 1\)"),
            ([[0, float("nan")], [0, 0]], r"entry \(0, 1\) of the adjacency matrix is nan"),
            ([["a", "b"], ["c", "d"]], "holds 0 and 1"),
            (np.zeros((0, 0)), "at least 1, not n=0"),
        ],
    )
    def test_bad_matrices(self, matrix, message: str) -> None:
        with pytest.raises(GeoGAEError, match=message):
            from_adjacency(matrix)

    def test_edges_without_n(self) -> None:
        with pytest.raises(GeoGAEError, match="give n"):
            from_edges([])
        with pytest.raises(GeoGAEError, match="give n"):
            from_edges([("a", "b")])


class TestAnything:
    def test_what_is_accepted(self) -> None:
        things = [PATH, PATH.to_networkx(), PATH.to_pyg(), PATH.adjacency(), scipy.sparse.csr_array(PATH.adjacency())]
        assert as_graphs(things) == as_graphs(iter(things)) == [PATH] * 5
        assert [as_graphs(thing) for thing in things] == [[PATH]] * 5
        assert as_graphs([]) == []

    @pytest.mark.parametrize("thing", [5, None, {"a": 1}, b"C", np.zeros(3)])
    def test_what_is_not(self, thing) -> None:
        with pytest.raises(GeoGAEError, match=r"cannot be read as a graph; give a geogae\.Graph, a networkx\.Graph"):
            as_graph(thing)

    def test_the_position_is_named(self) -> None:
        with pytest.raises(GeoGAEError, match="graph 1: int cannot be read as a graph"):
            as_graphs([PATH, 5])
        with pytest.raises(GeoGAEError, match="int cannot be read as graphs"):
            as_graphs(5)

    def test_importing_is_light(self) -> None:
        code = "import sys, geogae.formats as f, numpy; f.as_graph(numpy.eye(2)[::-1]); print(*sys.modules)"
        loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        assert not {"torch", "networkx", "rdkit", "torch_geometric", "numba"} & set(loaded)

    def test_a_missing_library_names_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "rdkit.Chem", None)
        with pytest.raises(GeoGAEError, match=r"this needs rdkit: pip install 'geogae\[chem\]'"):
            as_graph("CCO")
        with pytest.raises(GeoGAEError, match=r"this needs nowhere: pip install 'geogae\[pyg\]'"):
            optional.require("nowhere.data", "pyg")
