import numpy as np
import pytest

from geogae import metrics
from geogae.errors import GeoGAEError
from geogae.graph import Graph

TRIANGLE = Graph(3, [(0, 1), (0, 2), (1, 2)])
PATH = Graph(3, [(0, 1), (1, 2)])


def test_f1_by_hand():
    assert metrics.edge_f1(TRIANGLE, PATH) == pytest.approx(2 * 2 / (3 + 2))  # precision 1, recall 2/3
    assert metrics.edge_f1(PATH, PATH) == 1.0


def test_f1_compares_nodes_in_order():
    assert metrics.edge_f1(PATH, Graph(3, [(0, 1), (0, 2)])) == pytest.approx(0.5)  # the same path, numbered otherwise


def test_f1_pads_the_smaller_graph_with_zeros():
    longer = Graph(5, [(0, 1), (1, 2), (2, 3), (3, 4)])
    assert metrics.edge_f1(PATH, longer) == pytest.approx(2 * 2 / (2 + 4))
    assert metrics.edge_f1(longer, PATH) == pytest.approx(2 * 2 / (4 + 2))
    # as in the dense picture
    dense, padded = longer.adjacency(), np.zeros((5, 5), bool)
    padded[:3, :3] = PATH.adjacency()
    both, either = (dense & padded).sum(), dense.sum() + padded.sum()
    assert metrics.edge_f1(PATH, longer) == pytest.approx(2 * both / either)


def test_f1_does_not_confuse_edges_of_different_sizes():
    """(0, 3) of four nodes and (1, 0) of three would share a number if each graph used its own width."""
    assert metrics.edge_f1(Graph(4, [(0, 3)]), Graph(5, [(0, 3)])) == 1.0
    assert metrics.edge_f1(Graph(7, [(0, 6)]), Graph(4, [(1, 2)])) == 0.0


def test_f1_of_graphs_without_edges():
    empty = Graph(3)
    assert metrics.edge_f1(empty, empty) == 1.0
    assert metrics.edge_f1(empty, Graph(5)) == 1.0  # no edge is wrong; the size error and exact count that
    assert metrics.edge_f1(empty, PATH) == 0.0
    assert metrics.edge_f1(PATH, empty) == 0.0


def test_exact_means_isomorphic_whatever_the_attributes():
    assert metrics.same_topology(PATH, Graph(3, [(0, 1), (0, 2)]))
    assert metrics.same_topology(Graph(2, [(0, 1)], node_categorical=[0, 1]), Graph(2, [(0, 1)]))
    assert not metrics.same_topology(PATH, TRIANGLE)
    assert not metrics.same_topology(Graph(3), Graph(4))
    hexagon = Graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)])
    triangles = Graph(6, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)])
    assert not metrics.same_topology(hexagon, triangles)  # equal degrees, no isomorphism
    assert metrics.same_topology(hexagon, hexagon.relabel([3, 0, 5, 1, 4, 2]))


def test_evaluate_by_hand():
    pair, star = Graph(2, [(0, 1)]), Graph(4, [(0, 1), (0, 2), (0, 3)])
    true = [pair, PATH, star]
    decoded = [pair, TRIANGLE, Graph(6, [(0, 1), (2, 3), (4, 5)])]
    f1 = [1.0, 4 / 5, 2 * 1 / 6]
    precision = (2 * 1 + 3 * 2 / 3 + 4 * 1 / 3) / 9  # hits 1, 2, 1 of 1, 3, 3 decoded edges
    recall = (2 * 1 + 3 * 1 + 4 * 1 / 3) / 9  # of 1, 2, 3 true edges
    assert metrics.scores(true, decoded)["f1"].tolist() == pytest.approx(f1)
    assert metrics.scores(true, decoded)["exact"].tolist() == [1, 0, 0]
    assert metrics.scores(true, decoded)["size_error"].tolist() == [0, 0, 2]
    assert metrics.evaluate(true, decoded) == pytest.approx(
        {
            "f1": (2 * f1[0] + 3 * f1[1] + 4 * f1[2]) / 9,
            "f1_pooled": 2 * precision * recall / (precision + recall),
            "f1_unweighted": sum(f1) / 3,
            "exact": 1 / 3,
            "size_error": 2 / 3,
            "size_error_relative": (2 / 3) / 3,
        }
    )


def test_the_two_readings_of_weighted_f1_by_hand():
    """One graph decoded with too many edges, one with too few: F1 of the averages is above the average of F1."""
    full, pair = Graph(4, [(i, j) for j in range(4) for i in range(j)]), Graph(4, [(0, 1)])
    true, decoded = [pair, full], [full, pair]
    assert metrics.edge_score(pair, full) == pytest.approx((1 / 6, 1, 2 / 7))
    assert metrics.edge_score(full, pair) == pytest.approx((1, 1 / 6, 2 / 7))
    scores = metrics.evaluate(true, decoded)
    assert scores["f1"] == pytest.approx(2 / 7)
    assert scores["f1_pooled"] == pytest.approx(7 / 12)  # precision and recall are both (1/6 + 1) / 2
    nothing = metrics.evaluate([pair, full], [Graph(4), None])
    assert nothing["f1"] == nothing["f1_pooled"] == 0
    assert metrics.evaluate([Graph(2)], [Graph(2)])["f1_pooled"] == 1
    assert metrics.evaluate([Graph(2), pair], [Graph(2, [(0, 1)]), pair])["f1_pooled"] == pytest.approx(2 / 3)


def test_size_errors_of_both_signs_do_not_cancel():
    true, decoded = [Graph(3), Graph(3)], [Graph(2), Graph(4)]
    assert metrics.scores(true, decoded)["size_error"].tolist() == [-1, 1]
    assert metrics.evaluate(true, decoded)["size_error"] == 1.0


def test_a_graph_that_did_not_come_back():
    """All its nodes and edges are missing; even a graph without edges has not come back."""
    true, decoded = [PATH, Graph(5), PATH], [None, None, PATH]
    each = metrics.scores(true, decoded)
    assert each["f1"].tolist() == [0, 0, 1] and each["exact"].tolist() == [0, 0, 1]
    assert each["size_error"].tolist() == [-3, -5, 0]
    assert metrics.evaluate(true, decoded) == pytest.approx(
        {
            "f1": 3 / 11,
            "f1_pooled": 3 / 11,
            "f1_unweighted": 1 / 3,
            "exact": 1 / 3,
            "size_error": 8 / 3,
            "size_error_relative": 8 / 11,
        }
    )


@pytest.mark.parametrize(("true", "decoded"), [([], []), ([PATH], [PATH, PATH]), ([PATH], [])])
def test_lists_must_match(true, decoded):
    with pytest.raises(GeoGAEError, match=f"{len(true)} true and {len(decoded)} decoded"):
        metrics.evaluate(true, decoded)


def test_molecules_by_hand():
    pytest.importorskip("rdkit.Chem", reason="rdkit is not installed")
    ethanol, acid, benzene = map(Graph.from_smiles, ("CCO", "CC(=O)[O-]", "c1ccccc1"))
    five = Graph(6, [(0, i) for i in range(1, 6)], node_categorical=[6] + [9] * 5, edge_categorical=[1] * 5)
    true = [ethanol, acid, benzene, ethanol, acid]
    decoded = [ethanol.relabel([2, 0, 1]), benzene, None, five, acid]
    assert metrics.molecules(true, decoded) == pytest.approx({"valid": 3 / 5, "same_smiles": 2 / 5})
    assert metrics.molecules(true, true) == {"valid": 1, "same_smiles": 1}
    kekule = Graph(6, benzene.edges, node_categorical=benzene.node_categorical, edge_categorical=[1, 2, 2, 1, 2, 1])
    assert metrics.molecules([benzene], [kekule]) == {"valid": 1, "same_smiles": 1}


def test_true_graphs_that_are_no_molecules():
    """They have no SMILES that could come back: left out there, but not where decoded graphs are counted."""
    pytest.importorskip("rdkit.Chem", reason="rdkit is not installed")
    carbon, wrong = Graph.from_smiles("C"), Graph(1, node_categorical=[500])
    assert metrics.molecules([wrong, carbon, wrong], [wrong, carbon, carbon]) == {"valid": 2 / 3, "same_smiles": 1}
    with pytest.raises(GeoGAEError, match="none of the 2 true graphs is a valid molecule; give graphs whose"):
        metrics.molecules([wrong, wrong], [carbon, carbon])
    with pytest.raises(GeoGAEError, match="0 node_categorical columns"):
        metrics.molecules([carbon], [PATH])
    with pytest.raises(GeoGAEError, match="1 true and 2 decoded"):
        metrics.molecules([carbon], [carbon, None])


def test_graphs_of_other_libraries():
    """Whatever as_graph takes is scored as the Graph that it stands for."""
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    path, cycle = networkx.path_graph(3), networkx.cycle_graph(3)
    assert metrics.evaluate([path, cycle], [cycle, None]) == metrics.evaluate([PATH, TRIANGLE], [TRIANGLE, None])
    assert metrics.scores(path, PATH.adjacency())["exact"].tolist() == [1]
    assert metrics.attributes(iter([path]), iter([PATH])) == {"whole": 1}
    assert metrics.edge_f1(path, cycle) == metrics.edge_f1(PATH, TRIANGLE)
    with pytest.raises(GeoGAEError, match="decoded graph 1: int cannot be read as a graph"):
        metrics.evaluate([path, path], [path, 5])


def test_molecules_as_smiles_and_rdkit():
    chem = pytest.importorskip("rdkit.Chem", reason="rdkit is not installed")
    assert metrics.molecules(["CCO", "C"], [chem.MolFromSmiles("OCC"), None]) == {"valid": 0.5, "same_smiles": 0.5}
    assert metrics.evaluate(["CCO"], ["CCN"])["exact"] == 1
    assert metrics.attributes(["CCO"], ["CCN"])["whole"] == 0
    nameless = Graph(2, [(0, 1)])
    with pytest.raises(GeoGAEError, match="graph 1 has 0 node_categorical columns"):
        metrics.molecules(["C", nameless], ["C", "C"])


# -- attributes ---


def path(nodes, edges=(1, 2), **more):
    return Graph(3, [(0, 1), (1, 2)], node_categorical=nodes, edge_categorical=list(edges), **more)


def test_category_f1_by_hand():
    true = path([6, 7, 8])
    assert metrics.category_f1(true, true, "node") == metrics.category_f1(true, true, "edge") == 1
    assert metrics.category_f1(true, path([6, 7, 9]), "node") == pytest.approx(2 * 2 / (3 + 3))
    assert metrics.category_f1(true, path([6, 7, 9]), "edge") == 1
    fewer = Graph(2, [(0, 1)], node_categorical=[6, 7], edge_categorical=[1])
    assert metrics.category_f1(true, fewer, "node") == pytest.approx(2 * 2 / (3 + 2))
    assert metrics.category_f1(true, fewer, "edge") == pytest.approx(2 * 1 / (2 + 1))
    more = Graph(5, [(0, 1), (1, 2), (0, 4)], node_categorical=[6, 7, 8, 8, 8], edge_categorical=[1, 2, 3])
    assert metrics.category_f1(true, more, "node") == pytest.approx(2 * 3 / (3 + 5))
    # edges sorted: (0, 1) of 1, (0, 4) of 3, (1, 2) of 2
    assert metrics.category_f1(true, more, "edge") == pytest.approx(2 * 2 / (2 + 3))
    assert metrics.category_f1(more, true, "edge") == pytest.approx(2 * 2 / (2 + 3))


def test_category_f1_of_edges_is_at_most_that_of_the_topology():
    true, moved = path([6, 7, 8]), Graph(3, [(0, 1), (0, 2)], node_categorical=[6, 7, 8], edge_categorical=[1, 2])
    assert metrics.edge_f1(true, moved) == 0.5
    assert metrics.category_f1(true, moved, "edge") == 0.5
    moved = Graph(3, [(0, 1), (0, 2)], node_categorical=[6, 7, 8], edge_categorical=[3, 2])
    assert metrics.category_f1(true, moved, "edge") == 0  # there, but of another category
    # an edge is known by its nodes, not by its number among the nodes of its own graph
    far = Graph(5, [(0, 4)], edge_categorical=[1])
    assert metrics.category_f1(far, Graph(4, [(1, 0)], edge_categorical=[1]), "edge") == 0


def test_category_f1_without_edges():
    lone, none = Graph(2, node_categorical=[1, 1]), Graph(2, node_categorical=[1, 1], edge_categorical=[])
    joined = Graph(2, [(0, 1)], node_categorical=[1, 1], edge_categorical=[1])
    for empty in (lone, none):
        assert metrics.category_f1(empty, lone, "edge") == metrics.category_f1(lone, empty, "edge") == 1
        assert metrics.category_f1(empty, joined, "edge") == metrics.category_f1(joined, empty, "edge") == 0


def test_several_columns_are_averaged():
    true = path([[6, 1], [7, 1], [8, 2]], [[1, 0], [2, 0]])
    back = path([[6, 1], [7, 2], [6, 1]], [[1, 0], [1, 0]])
    assert metrics.category_f1(true, back, "node") == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert metrics.category_f1(true, back, "edge") == pytest.approx((1 / 2 + 1) / 2)
    assert metrics.category_f1(true, path([6, 7, 8]), "node") == 0  # a column is missing


def test_attributes_by_hand():
    big = Graph(5, [(0, 1), (1, 2), (2, 3), (3, 4)], node_categorical=[1] * 5, edge_categorical=[1, 1, 2, 2])
    true = [path([6, 7, 8]), path([6, 7, 8]), big]
    wrong = Graph(5, [(0, 1), (1, 2), (2, 4)], node_categorical=[1, 1, 1, 2, 2], edge_categorical=[1, 2, 2])
    measured = metrics.attributes(true, [path([6, 7, 9]), None, wrong])
    node, edge = [2 / 3, 0, 3 / 5], [1, 0, 2 * 1 / (4 + 3)]
    assert measured == pytest.approx(
        {
            "node_f1": (3 * node[0] + 3 * node[1] + 5 * node[2]) / 11,
            "edge_f1": (3 * edge[0] + 3 * edge[1] + 5 * edge[2]) / 11,
            "whole": 0,
        }
    )
    assert metrics.attributes(true, true) == {"node_f1": 1, "edge_f1": 1, "whole": 1}


def test_only_what_true_graphs_have_is_measured():
    bonds = Graph(2, [(0, 1)], edge_categorical=[1])
    assert metrics.attributes([bonds], [bonds]) == {"edge_f1": 1, "whole": 1}
    numbers = Graph(2, [(0, 1)], node_continuous=[1.0, 2.0])
    assert metrics.attributes([numbers], [numbers]) == {"node_rmse": 0, "whole": 1}
    assert metrics.attributes([PATH], [PATH]) == {"whole": 1}
    assert metrics.attributes([Graph(1, node_categorical=[1], edge_categorical=[])], [None]) == {
        "node_f1": 0,
        "whole": 0,
    }


def test_rmse_of_other_columns_is_that_of_nothing_decoded():
    true = Graph(2, [(0, 1)], node_continuous=[[1.0, 2.0], [3.0, 4.0]])
    lost = metrics.attributes([true], [None])["node_rmse"]
    for wide in (1, 3):
        other = Graph(2, [(0, 1)], node_continuous=np.ones((2, wide)))
        assert metrics.attributes([true], [other])["node_rmse"] == pytest.approx(lost)


def test_rmse_by_hand():
    """Columns are as they are; a node that did not come back is as wrong as the average over all true ones."""
    one = Graph(2, node_continuous=[[0.0, 10.0], [2.0, 10.0]])
    two = Graph(3, node_continuous=[[4.0, 20.0], [6.0, 20.0], [8.0, 30.0]])
    assert metrics.attributes([one, two], [one, two])["node_rmse"] == 0
    off = Graph(2, node_continuous=[[1.0, 10.0], [2.0, 13.0]])
    assert metrics.attributes([one, two], [off, two])["node_rmse"] == pytest.approx(((1 + 9) / 10) ** 0.5)
    shorter = Graph(2, node_continuous=[[4.0, 20.0], [6.0, 20.0]])
    average = np.array([4.0, 18.0])
    missing = ((np.array([8, 30]) - average) ** 2).sum()
    assert metrics.attributes([one, two], [one, shorter])["node_rmse"] == pytest.approx((missing / 10) ** 0.5)
    gone = sum(((np.array(row) - average) ** 2).sum() for row in ([0, 10], [2, 10]))
    assert metrics.attributes([one, two], [None, two])["node_rmse"] == pytest.approx((gone / 10) ** 0.5)
    bare = metrics.attributes([one, two], [Graph(2), two])["node_rmse"]  # its nodes came back, their numbers did not
    assert bare == pytest.approx((gone / 10) ** 0.5)
    longer = Graph(4, node_continuous=[[0.0, 10.0], [2.0, 10.0], [99.0, 99.0], [99.0, 99.0]])
    assert metrics.attributes([one, two], [longer, two])["node_rmse"] == 0  # the size error counts that


@pytest.mark.parametrize("odd", [Graph(3), Graph(3, node_continuous=np.ones((3, 5)))])
@pytest.mark.parametrize("columns", [1, 2])
def test_rmse_leaves_out_graphs_with_other_columns(odd: Graph, columns: int):
    some = [Graph(2, node_continuous=np.full((2, columns), value)) for value in (1.0, 3.0, 5.0)]
    off = Graph(2, node_continuous=np.full((2, columns), 2.0))
    wanted = metrics.attributes(some, [off, *some[1:]])["node_rmse"]
    assert wanted == pytest.approx((1 / 3) ** 0.5)
    for back in (None, odd):
        assert metrics.attributes([*some, odd], [off, *some[1:], back])["node_rmse"] == wanted


def test_rmse_of_edges_by_hand():
    true = Graph(3, [(0, 1), (1, 2)], edge_continuous=[[1.0], [5.0]])
    moved = Graph(3, [(0, 1), (0, 2)], edge_continuous=[[3.0], [5.0]])
    assert metrics.attributes([true], [moved])["edge_rmse"] == pytest.approx(((4 + (5 - 3) ** 2) / 2) ** 0.5)
    lone = Graph(4)
    assert metrics.attributes([true, lone], [true, true])["edge_rmse"] == 0
    assert metrics.attributes([true, lone], [lone, lone])["edge_rmse"] == pytest.approx(2)
    wider = Graph(9, [(0, 1), (1, 2), (0, 8)], edge_continuous=[[1.0], [5.0], [7.0]])
    assert metrics.attributes([true], [wider])["edge_rmse"] == 0


def test_the_average_of_many_is_precise():
    many = Graph(400_000, node_continuous=np.full((400_000, 1), 16777.1))
    assert metrics.attributes([many], [None])["node_rmse"] < 1e-2


def test_whole_by_hand():
    true = path([6, 7, 8])
    assert metrics.same_categories(true, true)
    assert metrics.same_categories(true, true.relabel([2, 0, 1]))
    assert metrics.same_categories(true, path([8, 7, 6], [2, 1]))  # read from the other end
    assert not metrics.same_categories(true, path([8, 7, 6]))  # its edges are swapped
    assert not metrics.same_categories(true, path([7, 6, 8]))  # two categories are
    assert not metrics.same_categories(true, path([6, 7, 8], [1, 1]))
    assert not metrics.same_categories(true, Graph(3, [(0, 1), (1, 2)], node_categorical=[6, 7, 8]))
    assert not metrics.same_categories(true, Graph(4, [(0, 1), (1, 2)], node_categorical=[6, 7, 8, 8]))
    assert metrics.same_topology(true, path([7, 6, 8]))  # which is another question
    assert metrics.same_categories(path([6, 7, 8], node_continuous=[1.0, 2, 3]), true)  # as numbers are
    ring = Graph(6, [(i, (i + 1) % 6) for i in range(6)], node_categorical=[1, 2, 1, 2, 1, 2])
    assert metrics.same_categories(ring, ring.relabel([3, 4, 5, 0, 1, 2]))
    assert not metrics.same_categories(ring, Graph(6, ring.edges, node_categorical=[1, 1, 2, 2, 1, 2]))
    assert metrics.attributes([true] * 3, [true.relabel([2, 0, 1]), None, true])["whole"] == pytest.approx(2 / 3)


def test_whole_without_edges():
    """A block without rows has no say."""
    true = Graph(3, node_categorical=[1, 2, 2])
    back = Graph(3, node_categorical=[2, 1, 2], edge_categorical=np.zeros((0, 1), int))
    assert metrics.same_categories(true, back) and metrics.same_categories(back, true)
    assert not metrics.same_categories(true, Graph(3, node_categorical=[1, 1, 2]))
