"""Molecules by heavy atoms alone: hydrogens follow from valences."""

from __future__ import annotations

import numpy as np
import pytest

from geogae.errors import GeoGAEError

pytest.importorskip("rdkit")

from geogae.formats.chem import from_smiles, to_smiles, with_implied_hydrogens

MOLECULES = [
    "CCO",
    "c1ccccc1",
    "c1cc[nH]c1",
    "C[N+](C)(C)CC(=O)[O-]",
    "N#CC=O",
    "[NH3+]CC([O-])=O",
    "O=c1cc[nH]cn1",
    "C",
]


@pytest.mark.parametrize("smiles", MOLECULES)
def test_molecules_come_back(smiles: str) -> None:
    graph = from_smiles(smiles, hydrogens="implied")
    assert set(graph.node_categorical[:, 2]) == {-1}
    assert graph.edge_categorical is None or graph.edge_categorical.max(initial=1) <= 3
    assert to_smiles(graph) == to_smiles(from_smiles(smiles))


def test_other_forms_are_turned_into_this_one() -> None:
    for hydrogens in (False, True):
        graph = with_implied_hydrogens(from_smiles("c1ccccc1O", hydrogens=hydrogens))
        assert graph.n == 7
        assert to_smiles(graph) == "Oc1ccccc1"


def test_a_radical_is_an_error() -> None:
    with pytest.raises(GeoGAEError, match="its valence implies"):
        from_smiles("[CH2]C", hydrogens="implied")


def test_valences_are_checked() -> None:
    graph = from_smiles("CC(C)(C)C", hydrogens="implied")
    from geogae.graph import Graph

    wrong = Graph(6, [*graph.edges.tolist(), [1, 5]], node_categorical=np.vstack([graph.node_categorical, [6, 0, -1]]),
                  edge_categorical=np.ones((5, 1), int))  # fmt: skip
    with pytest.raises(GeoGAEError, match="not a valid molecule"):
        to_smiles(wrong)
