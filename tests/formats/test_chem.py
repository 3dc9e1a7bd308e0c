"""Molecules: exact round trips, and clear words for what is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from geogae.errors import GeoGAEError
from geogae.formats import as_graph, from_rdkit, from_smiles, read_smiles, to_rdkit, to_smiles, write_smiles
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
        (Graph(2, [(0, 1)], node_categorical=[6, 6], edge_categorical=[9]), r"edge \(0, 1\) has bond type 9"),
        (Graph(1, node_categorical=[-5]), "not a valid molecule"),
        (Graph(1, node_categorical=[500]), "not a valid molecule"),
        (Graph(2, [(0, 1)], node_categorical=[9, 9], edge_categorical=[2]), "not a valid molecule: Explicit valence"),
        (Graph(1, node_categorical=[[6, 0, -1]]), "not a valid molecule"),
    ],
)
def test_graphs_that_are_no_molecules(graph: Graph, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(GeoGAEError, match=message) as caught:
        to_rdkit(graph)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


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
