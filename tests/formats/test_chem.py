"""Molecules: exact round trips, and clear words for what is none."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from geogae.errors import GeoGAEError
from geogae.formats import (
    InvalidMoleculeError,
    as_graph,
    from_rdkit,
    from_smiles,
    read_smiles,
    to_molecules,
    to_rdkit,
    to_smiles,
    to_smiles_list,
    write_smiles,
)
from geogae.graph import Graph

Chem = pytest.importorskip("rdkit.Chem", reason="rdkit is not installed")

MOLECULES = [
    "C", "O", "[H][H]", "CCO", "C=C", "C#N", "c1ccccc1", "c1ccncc1", "c1cc[nH]c1", "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
    "CC(=O)[O-]", "[NH4+]", "[NH3+]CC([O-])=O", "C[N+](C)(C)C", "O=[N+]([O-])c1ccccc1", "[Na+].[Cl-]", "[CH3]", "[CH2]",
    "FC(F)(F)Cl", "BrI", "CS(=O)(=O)N", "OP(=O)(O)O", "[Pt]", "[Se]", "C1CC2CC1C2", "[O-][n+]1ccccc1", "c1ccc2ccccc2c1",
    "O=c1cc[nH]cc1", "C[Si](C)(C)C", "[C-]#[O+]", "N#[N+][N-]C", "c1ccsc1", "OO", "B(O)O",
]  # fmt: skip


@pytest.mark.parametrize("smiles", MOLECULES)
@pytest.mark.parametrize("hydrogens", [True, False])
def test_round_trips(smiles: str, hydrogens: bool) -> None:
    graph = from_smiles(smiles, hydrogens=hydrogens, label=[1.5, 2], name="it")
    assert to_smiles(graph) == Chem.CanonSmiles(smiles)
    back = from_rdkit(to_rdkit(graph), hydrogens=hydrogens)
    assert back == graph
    assert back.name == "it"
    order = np.random.default_rng(0).permutation(graph.n)
    assert to_smiles(graph.relabel(order)) == Chem.CanonSmiles(smiles)


def test_columns() -> None:
    assert from_smiles("C=O") == Graph(2, [(0, 1)], node_categorical=[[6, 0, 2], [8, 0, 0]], edge_categorical=[2])
    assert from_smiles("[OH-]", hydrogens=True) == Graph(
        2, [(0, 1)], node_categorical=[[8, -1], [1, 0]], edge_categorical=[1]
    )
    assert from_smiles("c1ccccc1").edge_categorical.ravel().tolist() == [12] * 6
    assert from_smiles("[H]C([H])([H])[H]") == from_smiles("C") == as_graph("C") == as_graph(Chem.MolFromSmiles("C"))
    assert to_smiles(Graph(2, [(0, 1)], node_categorical=[9, 9], edge_categorical=[1])) == "FF"


@pytest.mark.parametrize(
    ("marked", "plain"),
    [("[2H]C([2H])([2H])c1ccccc1", "Cc1ccccc1"), ("[H]/N=C/C", "N=CC"), ("[13CH3]C", "CC"), ("F/C=C/[2H]", "FC=C"),
     ("N[C@@H](C)C(=O)O", "NC(C)C(=O)O"), ("[2H][2H]", "[H][H]")],
)  # fmt: skip
def test_stereochemistry_and_isotopes_leave_nothing_behind(marked: str, plain: str) -> None:
    """No hydrogen is a node because of a mark that the graph does not keep."""
    assert to_smiles(from_smiles(marked)) == Chem.CanonSmiles(plain)
    assert from_smiles(marked).n == from_smiles(plain).n


def test_a_molecule_that_was_not_sanitised() -> None:
    assert from_rdkit(Chem.MolFromSmiles("CO", sanitize=False)) == from_smiles("CO")
    whole = from_rdkit(Chem.MolFromSmiles("CO", sanitize=False), hydrogens=True)
    assert whole == from_smiles("CO", hydrogens=True)


@pytest.mark.parametrize(
    ("smiles", "message"),
    [
        ("", "SMILES '' has no atoms"),
        ("C1CC", "SMILES 'C1CC' cannot be read"),
        ("Xx", "SMILES 'Xx' cannot be read"),
        ("C(C)(C)(C)(C)C", "is not a valid molecule: Explicit valence for atom # 0 C"),
        ("c1cccc1", "is not a valid molecule: .*[Kk]ekulize"),
        ("N->[Pt]", r"bond \(0, 1\) has RDKit's type 17"),
    ],
)
def test_bad_smiles(smiles: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(GeoGAEError, match=message) as caught:
        from_smiles(smiles)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (Graph(1), "the graph has 0 node_categorical columns"),
        (Graph(1, node_categorical=[[1, 2, 3, 4]], name="a"), "graph 'a' has 4 node_categorical columns"),
        (Graph(2, [(0, 1)], node_categorical=[6, 6]), "needs one edge_categorical column"),
        (Graph(2, [(0, 1)], node_categorical=[6, 6], edge_categorical=[9]), r"edge \(0, 1\) has bond type 9; v"),
        (Graph(1, node_categorical=[-5]), "not a valid molecule"),
        (Graph(1, node_categorical=[500]), "not a valid molecule"),
        (Graph(2, [(0, 1)], node_categorical=[9, 9], edge_categorical=[2]), "not a valid molecule: Explicit valence"),
        (Graph(1, node_categorical=[[6, 0, -2]]), "not a valid molecule"),  # -1: as many as valences leave open
    ],
)
def test_graphs_that_are_no_molecules(graph: Graph, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(GeoGAEError, match=message) as caught:
        to_rdkit(graph)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


FIVE_BONDS = Graph(6, [(0, i) for i in range(1, 6)], node_categorical=[6] + [9] * 5, edge_categorical=[1] * 5)
INVALID = [
    FIVE_BONDS,
    Graph(2, [(0, 1)], node_categorical=[6, 6], edge_categorical=[9]),
    Graph(2, [(0, 1)], node_categorical=[6, 6], edge_categorical=[12]),  # aromatic, but no ring
    Graph(1, node_categorical=[500]),
    Graph(1, node_categorical=[[6, 2**40]]),
    Graph(1, node_categorical=[[6, 0, -2]]),
]


def test_what_is_valid_and_what_is_not(capfd: pytest.CaptureFixture[str]) -> None:
    """One molecule for each graph that is one, and not a word or an exception for the others."""
    graphs = [*map(from_smiles, MOLECULES), *INVALID, None]
    molecules, smiles = to_molecules(graphs), to_smiles_list(graphs)
    assert smiles == [*map(Chem.CanonSmiles, MOLECULES), *[None] * (len(INVALID) + 1)]
    assert [m if m is None else from_rdkit(m) for m in molecules] == [
        *graphs[: len(MOLECULES)],
        *[None] * (len(INVALID) + 1),
    ]
    assert to_molecules([]) == to_smiles_list(iter(())) == []
    assert capfd.readouterr() == ("", "")


def test_another_kind_of_graph_is_not_an_invalid_molecule() -> None:
    for read in (to_molecules, to_smiles_list):
        with pytest.raises(GeoGAEError, match="graph 1 has 0 node_categorical columns; a molecule needs 1 to 3"):
            read([from_smiles("C"), Graph(1)])


def test_the_reason_is_kept() -> None:
    with pytest.raises(InvalidMoleculeError) as caught:
        to_rdkit(FIVE_BONDS)
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert error.reason == "Explicit valence for atom # 0 C, 5, is greater than permitted"
        assert error.nodes == (0,)
        assert str(error) == f"the graph is not a valid molecule: {error.reason}"


def test_a_ring_that_cannot_be_aromatic() -> None:
    ring = Graph(6, [(i, (i + 1) % 5) for i in range(5)], node_categorical=[[6, 0, 1]] * 6, edge_categorical=[12] * 5)
    with pytest.raises(InvalidMoleculeError, match="Can't kekulize mol") as caught:
        to_rdkit(ring)
    assert caught.value.nodes == (0, 1, 2, 3, 4)


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "a.smi"
    file.write_text("CCO ethanol 95 %\n\nc1ccccc1\tbenzene\nO\n")
    graphs = read_smiles(file)
    assert [g.name for g in graphs] == ["ethanol 95 %", "benzene", None]
    assert [to_smiles(g) for g in graphs] == ["CCO", "c1ccccc1", "O"]
    write_smiles(graphs, tmp_path / "b.smi")
    assert (tmp_path / "b.smi").read_text() == "CCO ethanol 95 %\nc1ccccc1 benzene\nO\n"
    file.write_text("C\nC1\n")
    with pytest.raises(GeoGAEError, match=r"a\.smi line 2: SMILES 'C1' cannot be read"):
        read_smiles(file)
