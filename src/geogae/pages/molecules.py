"""Graphs that are molecules: what their categories stand for, their SMILES, their places on paper, their properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geogae.errors import GeoGAEError
from geogae.formats.chem import BOND_TYPES, to_molecules, unsanitised
from geogae.formats.optional import available, require
from geogae.graph import Graph

BOND_LENGTH = 1.5  # RDKit's, on paper
_TRIED, _VALID, _CARBON = 200, 0.9, 6  # graphs that are looked at, and the share of them that must be molecules


class Chemistry(NamedTuple):
    """What categories of nodes and edges stand for; None where they are atomic numbers and RDKit's bond types."""

    elements: Mapping[int, int] | None = None
    bonds: Mapping[int, int] | None = None

    def molecule_graph(self, graph: Graph) -> Graph:
        """The graph with atomic numbers and bond types."""
        if self.elements is None or graph.node_categorical is None:
            return graph
        atoms = [self.elements.get(kind, 0) for kind in graph.node_categorical[:, 0].tolist()]
        kinds = [1] * len(graph.edges) if graph.edge_categorical is None else graph.edge_categorical[:, 0].tolist()
        types = [(self.bonds or {}).get(kind, kind) for kind in kinds]
        types = [kind if kind in BOND_TYPES else 1 for kind in types]
        return Graph(graph.n, graph.edges, node_categorical=atoms, edge_categorical=types, name=graph.name)


def chemistry_of(
    graphs: Sequence[Graph], elements: Sequence[str] | None = None, bonds: Sequence[int] | None = None
) -> Chemistry | None:
    """None for graphs that are not molecules.

    ``elements`` are the symbols that the categories 0, 1, … of nodes stand for, ``bonds`` RDKit's types for those of
    edges. Without them the categories must be atomic numbers and bond types already.
    """
    if bonds is not None and elements is None:
        raise GeoGAEError("bonds are given without elements; give both")
    if elements is not None:
        table = require("rdkit.Chem", "chem").GetPeriodicTable()
        try:
            numbers = {kind: table.GetAtomicNumber(symbol) for kind, symbol in enumerate(elements)}
        except RuntimeError:
            raise GeoGAEError(f"{', '.join(elements)}: not all of them are symbols of elements") from None
        return Chemistry(numbers, None if bonds is None else dict(enumerate(bonds)))
    if not available("rdkit"):
        return None
    tried = graphs[:: max(1, len(graphs) // _TRIED)]
    try:
        valid = sum(molecule is not None for molecule in to_molecules(tried))
    except GeoGAEError:  # no columns of atoms and bonds
        return None
    organic = sum(graph.node_categorical is not None and bool((graph.node_categorical[:, 0] == _CARBON).any())
                  for graph in tried)  # fmt: skip
    return Chemistry() if min(valid, organic) >= _VALID * len(tried) else None


def coordinates(graph: Graph) -> NDArray[np.float64]:
    """Places of the atoms on paper, (n, 2), a bond 1 long, y downwards; no rows where RDKit cannot draw the graph."""
    chem, depict = require("rdkit.Chem", "chem"), require("rdkit.Chem.rdDepictor", "chem")
    try:
        molecule = unsanitised(graph)
        molecule.UpdatePropertyCache(strict=False)
        chem.FastFindRings(molecule)
        depict.Compute2DCoords(molecule, canonOrient=True)
    except (GeoGAEError, ValueError, RuntimeError):
        return np.zeros((0, 2))
    return molecule.GetConformer().GetPositions()[:, :2] * (1 / BOND_LENGTH, -1 / BOND_LENGTH)


def properties(molecules: Sequence[Any]) -> dict[str, NDArray[np.float64]]:
    """Numbers that chemists colour by, NaN where there is no valid molecule."""
    descriptors, crippen = require("rdkit.Chem.rdMolDescriptors", "chem"), require("rdkit.Chem.Crippen", "chem")
    measured = {
        "molecular weight": descriptors.CalcExactMolWt,
        "logP": crippen.MolLogP,
        "rings": descriptors.CalcNumRings,
    }
    return {
        name: np.array([np.nan if molecule is None else float(measure(molecule)) for molecule in molecules])
        for name, measure in measured.items()
    }
