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
    assert metrics.edge_f1(empty, Graph(5)) == 1.0  # no edge is wrong; the size error and exact tell
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
    assert metrics.scores(true, decoded)["f1"].tolist() == pytest.approx(f1)
    assert metrics.scores(true, decoded)["exact"].tolist() == [1, 0, 0]
    assert metrics.scores(true, decoded)["size_error"].tolist() == [0, 0, 2]
    assert metrics.evaluate(true, decoded) == pytest.approx(
        {
            "f1": (2 * f1[0] + 3 * f1[1] + 4 * f1[2]) / 9,
            "f1_unweighted": sum(f1) / 3,
            "exact": 1 / 3,
            "size_error": 2 / 3,
            "size_error_relative": (2 / 3) / 3,
        }
    )


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
