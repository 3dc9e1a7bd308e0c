"""RDKit molecules and SMILES, in and out.

An atom is a node with the categorical columns atomic number, formal charge and, unless all hydrogens are
nodes, the number of its hydrogens that are not; a bond is an edge with RDKit's bond type (1 single, 2 double,
3 triple, 4 quadruple, 12 aromatic). Stereochemistry, isotopes and atom maps are not part of the graph.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from geogae.errors import GeoGAEError
from geogae.files import atomic_path
from geogae.formats.optional import require
from geogae.formats.text import numbered_lines
from geogae.graph import Graph

ATOM_COLUMNS = ("atomic number", "formal charge", "hydrogens that are not nodes")
BOND_TYPES = (1, 2, 3, 4, 12)
_AROMATIC = 12


class InvalidMoleculeError(GeoGAEError):
    """A graph has atoms and bonds, but no molecule has them so; RDKit's ``reason`` and the ``nodes`` it blames."""

    def __init__(self, what: str, reason: str, nodes: Sequence[int] = ()) -> None:
        super().__init__(what, reason, nodes)  # as given, so that the error can be pickled
        self.reason, self.nodes = reason, tuple(nodes)

    def __str__(self) -> str:
        return f"{self.args[0]} is not a valid molecule: {self.reason}"


def from_rdkit(molecule: Any, *, hydrogens: bool = False, label: Any = None, name: str | None = None) -> Graph:
    """The graph of a molecule: with ``hydrogens`` every hydrogen becomes a node, without the atoms are as they are.

    The name is the molecule's ``_Name``, the label its property ``label`` if that is a number or a list of
    numbers, unless given.
    """
    chem = require("rdkit.Chem", "chem")
    if molecule.NeedsUpdatePropertyCache():  # not sanitised: RDKit has not counted the hydrogens yet
        molecule = chem.Mol(molecule)
        molecule.UpdatePropertyCache(strict=False)
    molecule = chem.AddHs(molecule) if hydrogens else molecule
    if not molecule.GetNumAtoms():
        raise GeoGAEError("the molecule has no atoms; a graph needs at least one node")
    atoms = [(a.GetAtomicNum(), a.GetFormalCharge(), a.GetTotalNumHs()) for a in molecule.GetAtoms()]
    bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx(), int(b.GetBondType())) for b in molecule.GetBonds()]
    for i, j, kind in bonds:
        if kind not in BOND_TYPES:
            raise GeoGAEError(f"bond ({i}, {j}) has RDKit's type {kind}; the types that can be kept are {BOND_TYPES}")
    bond_table = np.array(bonds, dtype=np.int64).reshape(-1, 3)
    if name is None and molecule.HasProp("_Name"):
        name = molecule.GetProp("_Name") or None
    return Graph(
        len(atoms),
        bond_table[:, :2],
        node_categorical=np.array(atoms)[:, : 2 if hydrogens else 3],
        edge_categorical=bond_table[:, 2:],
        label=_label_property(molecule) if label is None else label,
        name=name,
    )


def to_rdkit(graph: Graph) -> Any:
    """The sanitised molecule; columns that are missing (charges, hydrogens) are read as 0."""
    molecule = unsanitised(graph)
    try:
        with _quiet():
            require("rdkit.Chem", "chem").SanitizeMol(molecule)
    except (ValueError, RuntimeError) as error:
        raise InvalidMoleculeError(_what(graph), _first_line(error), _blamed(error)) from None
    return molecule


def unsanitised(graph: Graph) -> Any:
    """The molecule as the graph has it, its valences and aromatic rings not checked yet."""
    chem = require("rdkit.Chem", "chem")
    what = _what(graph)
    columns = 0 if graph.node_categorical is None else graph.node_categorical.shape[1]
    if graph.node_categorical is None or columns > len(ATOM_COLUMNS):
        raise GeoGAEError(
            f"{what} has {columns} node_categorical columns; a molecule needs 1 to 3: {', '.join(ATOM_COLUMNS)}"
        )
    if len(graph.edges) and (graph.edge_categorical is None or graph.edge_categorical.shape[1] != 1):
        raise GeoGAEError(f"{what} needs one edge_categorical column to be a molecule: RDKit's bond type")
    types = [] if graph.edge_categorical is None else graph.edge_categorical[:, 0].tolist()
    molecule = chem.RWMol()
    try:
        for atomic_number, *rest in graph.node_categorical.tolist():
            atom = chem.Atom(atomic_number)
            charge, hydrogens = (*rest, 0, 0)[:2]
            atom.SetFormalCharge(charge)
            atom.SetNumExplicitHs(hydrogens)
            atom.SetNoImplicit(True)
            molecule.AddAtom(atom)
        for (i, j), kind in zip(graph.edges.tolist(), types, strict=True):
            if kind not in BOND_TYPES:
                reason = f"edge ({i}, {j}) has bond type {kind}; valid types are {BOND_TYPES}"
                raise InvalidMoleculeError(what, reason)
            molecule.AddBond(i, j, chem.BondType.values[kind])
            if kind == _AROMATIC:
                molecule.GetBondBetweenAtoms(i, j).SetIsAromatic(True)
                for end in (i, j):
                    molecule.GetAtomWithIdx(end).SetIsAromatic(True)
    except GeoGAEError:
        raise
    except (ValueError, RuntimeError, OverflowError) as error:
        raise InvalidMoleculeError(what, _first_line(error)) from None
    result = molecule.GetMol()
    if graph.name is not None:
        result.SetProp("_Name", graph.name)
    if graph.label is not None:
        result.SetProp("label", json.dumps(graph.label))
    return result


def to_molecules(graphs: Iterable[Graph | None]) -> list[Any]:
    """The sanitised molecule of each graph; None where it is no valid one, or where there is no graph.

    Valid is what RDKit can sanitise: fragments and radicals are. Graphs without columns of atoms and bonds are not
    invalid but of another kind, and an error.
    """
    return _where_valid(to_rdkit, graphs)


def from_smiles(smiles: str, *, hydrogens: bool = False, label: Any = None, name: str | None = None) -> Graph:
    """The graph of a SMILES; see :func:`from_rdkit`. Hydrogens written in the SMILES count as any other."""
    return from_rdkit(_molecule(smiles), hydrogens=hydrogens, label=label, name=name)


def to_smiles(graph: Graph) -> str:
    """RDKit's canonical SMILES, without the hydrogens that need not be written."""
    chem = require("rdkit.Chem", "chem")
    molecule = to_rdkit(graph)
    try:
        with _quiet():
            return chem.MolToSmiles(chem.RemoveHs(molecule))
    except (ValueError, RuntimeError) as error:  # what is left is sanitised once more
        raise InvalidMoleculeError(_what(graph), _first_line(error)) from None


def to_smiles_list(graphs: Iterable[Graph | None]) -> list[str | None]:
    """The canonical SMILES of each graph; None as in :func:`to_molecules`."""
    return _where_valid(to_smiles, graphs)


def read_smiles(path: str | os.PathLike[str], *, hydrogens: bool = False) -> list[Graph]:
    """The molecules of a ``.smi`` file: a line holds a SMILES and, after white space, an optional name."""
    graphs = []
    for where, line in numbered_lines(path):
        smiles, _, name = line.strip().partition(" " if "\t" not in line else "\t")
        try:
            graphs.append(from_smiles(smiles, hydrogens=hydrogens, name=name.strip() or None))
        except GeoGAEError as error:
            raise GeoGAEError(f"{where}: {error}") from None
    return graphs


def write_smiles(graphs: Iterable[Graph], path: str | os.PathLike[str]) -> None:
    """Write molecules to a ``.smi`` file, one SMILES and name a line; labels are not kept."""
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for graph in graphs:
            name = " ".join((graph.name or "").split())
            file.write(f"{to_smiles(graph)} {name}".rstrip() + "\n")


def _molecule(smiles: str) -> Any:
    chem = require("rdkit.Chem", "chem")
    with _quiet():
        molecule = chem.MolFromSmiles(smiles, sanitize=False)
        if molecule is None:
            raise GeoGAEError(f"SMILES {smiles!r} cannot be read; check brackets, ring numbers and element symbols")
        try:
            molecule = chem.RemoveHs(molecule)
        except (ValueError, RuntimeError) as error:
            raise GeoGAEError(f"SMILES {smiles!r} is not a valid molecule: {_first_line(error)}") from None
    if not molecule.GetNumAtoms():
        raise GeoGAEError(f"SMILES {smiles!r} has no atoms; a graph needs at least one node")
    return molecule


def _where_valid(read: Callable[[Graph], Any], graphs: Iterable[Graph | None]) -> list[Any]:
    results: list[Any] = []
    for graph in graphs:
        try:
            results.append(None if graph is None else read(graph))
        except InvalidMoleculeError:
            results.append(None)
    return results


def _quiet() -> Any:
    """RDKit's own lines on stderr are held back: what it has to say is in the error."""
    return require("rdkit.rdBase", "chem").BlockLogs()


def _what(graph: Graph) -> str:
    return f"graph {graph.name!r}" if graph.name else "the graph"


def _first_line(error: Exception) -> str:
    """The first line that says something: RDKit heads what it says with the kind of error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if not line.endswith(" Violation")), type(error).__name__)


def _blamed(error: Exception) -> list[int]:
    """The atoms that RDKit names in what it raises."""
    cause: Any = getattr(error, "cause", None)
    if hasattr(cause, "GetAtomIndices"):
        return list(cause.GetAtomIndices())
    return [cause.GetAtomIdx()] if hasattr(cause, "GetAtomIdx") else []


def _label_property(molecule: Any) -> Any:
    """The property ``label``, if it is a number or a list of numbers."""
    if not molecule.HasProp("label"):
        return None
    try:
        label = json.loads(molecule.GetProp("label"))
    except ValueError:
        return None
    numbers = label if isinstance(label, list) and label else [label]
    return label if all(isinstance(value, int | float) for value in numbers) else None
