"""RDKit molecules and SMILES, in and out.

An atom is a node with the categorical columns atomic number, formal charge and, unless all hydrogens are nodes, the
number of its hydrogens that are not (-1: as many as its valence implies). A bond is an edge with RDKit's bond type: 1
single, 2 double, 3 triple, 4 quadruple, 12 aromatic. Stereochemistry, isotopes and atom maps are not part of the graph.

RDKit crashes on molecules that are very large or have very many rings, so these are refused: see ``MAX_RINGS``, and
``GEOGAE_MAX_ATOMS`` in :mod:`geogae.formats.limits`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from geogae.errors import GeoGAEError
from geogae.files import atomic_path
from geogae.formats.detect import as_graph, graph_name, iter_graphs
from geogae.formats.limits import check, limit
from geogae.formats.optional import require
from geogae.formats.registry import FileFormat, ObjectKind, instance_of
from geogae.formats.text import Source, numbered_lines
from geogae.graph import Graph

ATOM_COLUMNS = ("atomic number", "formal charge", "hydrogens that are not nodes")
BOND_TYPES = (1, 2, 3, 4, 12)
_LONGEST_ATOM = 20  # characters of a SMILES for each atom, at most: an isotope, charge, atom map and ring numbers
_QUOTED = 80  # characters of a SMILES in a message
MAX_RINGS = 400  # independent rings; RDKit takes minutes beyond that, or crashes (C720 fullerene: 361)
_AROMATIC = 12
IMPLIED = -1  # in the column of hydrogens: as many as the valences of the atom leave open
Hydrogens = bool | Literal["implied"]


class InvalidMoleculeError(GeoGAEError):
    """A graph whose atoms and bonds are no valid molecule; RDKit's ``reason``, and the ``nodes`` that it names."""

    def __init__(self, what: str, reason: str, nodes: Sequence[int] = ()) -> None:
        super().__init__(what, reason, nodes)  # as given, so that the error can be pickled
        self.reason, self.nodes = reason, tuple(nodes)

    def __str__(self) -> str:
        return f"{self.args[0]} is not a valid molecule: {self.reason}"


def from_rdkit(molecule: Any, *, hydrogens: Hydrogens = False, label: Any = None, name: str | None = None) -> Graph:
    """The graph of a molecule. With ``hydrogens`` every hydrogen becomes a node, else the atoms are kept as they are.

    With ``hydrogens="implied"`` heavy atoms are nodes, bonds are kekulised, and hydrogens follow from the valences: the
    fewest numbers that determine a molecule. A molecule that its valences do not determine (a radical) is an error.

    Unless given, the name is the molecule's property ``_Name``, and the label is its property ``label`` if that is a
    number or a list of numbers.
    """
    chem = require("rdkit.Chem", "chem")
    if molecule.NeedsUpdatePropertyCache():  # not sanitised: RDKit has not counted the hydrogens yet
        molecule = chem.Mol(molecule)
        molecule.UpdatePropertyCache(strict=False)
    check("atoms", molecule.GetNumAtoms())
    if hydrogens == "implied":
        molecule = _kekulised(molecule)
    elif hydrogens:
        molecule = chem.AddHs(molecule)
    if not molecule.GetNumAtoms():
        raise GeoGAEError("the molecule has no atoms; a graph needs at least one node")
    atoms = [
        (a.GetAtomicNum(), a.GetFormalCharge(), IMPLIED if hydrogens == "implied" else a.GetTotalNumHs())
        for a in molecule.GetAtoms()
    ]
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
        node_categorical=np.array(atoms)[:, : 2 if hydrogens is True else 3],
        edge_categorical=bond_table[:, 2:],
        label=_label_property(molecule) if label is None else label,
        name=name,
    )


RDKIT = ObjectKind("an RDKit Mol", lambda obj: instance_of(obj, "rdkit.Chem", "Mol"), from_rdkit)


def with_implied_hydrogens(graph: Graph) -> Graph:
    """The same molecule as ``from_rdkit(…, hydrogens="implied")`` has it; label and name are kept."""
    return from_rdkit(to_rdkit(graph), hydrogens="implied", label=graph.label, name=graph.name)


def _kekulised(molecule: Any) -> Any:
    """Heavy atoms with single, double and triple bonds; an error if their valences do not determine the hydrogens."""
    chem = require("rdkit.Chem", "chem")
    try:
        with _quiet():
            heavy = chem.RemoveHs(molecule)
            chem.Kekulize(heavy, clearAromaticFlags=True)
    except (ValueError, RuntimeError) as error:
        raise GeoGAEError(f"the molecule has no Kekulé form: {_first_line(error)}") from None
    bare = chem.RWMol(heavy)
    for atom in bare.GetAtoms():
        atom.SetNoImplicit(False)
        atom.SetNumExplicitHs(0)
        atom.SetNumRadicalElectrons(0)
    bare.UpdatePropertyCache(strict=False)
    for atom, own in zip(bare.GetAtoms(), heavy.GetAtoms(), strict=True):
        if atom.GetTotalNumHs() != own.GetTotalNumHs():
            raise GeoGAEError(
                f"atom {own.GetIdx()} ({own.GetSymbol()}) has {own.GetTotalNumHs()} hydrogens, but its valence implies "
                f"{atom.GetTotalNumHs()}; take hydrogens=False, which counts them"
            )
    return heavy


def to_rdkit(graph: Graph, *, what: str | None = None) -> Any:
    """The sanitised molecule; columns that are missing (charges, hydrogens) are read as 0.

    ``what`` is how an error names the graph, such as "graph 17"; by default it is the graph's name.
    """
    graph = as_graph(graph)
    what = what or _what(graph)
    molecule = unsanitised(graph, what=what)
    if _rings(molecule) > MAX_RINGS:
        raise InvalidMoleculeError(what, f"it has {_rings(molecule):,} rings, more than {MAX_RINGS}")
    try:
        with _quiet():
            require("rdkit.Chem", "chem").SanitizeMol(molecule)
    except (ValueError, RuntimeError) as error:
        raise InvalidMoleculeError(what, _first_line(error), _blamed(error)) from None
    return molecule


def unsanitised(graph: Graph, *, what: str | None = None) -> Any:
    """The molecule of the graph; valences and aromatic rings are not checked yet. For ``what`` see :func:`to_rdkit`."""
    chem = require("rdkit.Chem", "chem")
    what = what or _what(graph)
    if graph.n > limit("atoms"):
        raise InvalidMoleculeError(what, f"it has {graph.n:,} atoms, more than GEOGAE_MAX_ATOMS={limit('atoms')}")
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
            if hydrogens != IMPLIED:
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
    """The sanitised molecule of each graph; None for a graph that is no valid molecule, and for None.

    A molecule is valid if RDKit can sanitise it; fragments and radicals are valid. A graph without columns of atoms and
    bonds is an error.
    """
    return _where_valid(to_rdkit, graphs)


def from_smiles(smiles: str, *, hydrogens: Hydrogens = False, label: Any = None, name: str | None = None) -> Graph:
    """The graph of a SMILES; see :func:`from_rdkit`. Hydrogens written in the SMILES count as any other."""
    return from_rdkit(_molecule(smiles), hydrogens=hydrogens, label=label, name=name)


SMILES = ObjectKind("a SMILES string", lambda obj: isinstance(obj, str), from_smiles)


def to_smiles(graph: Graph, *, what: str | None = None) -> str:
    """RDKit's canonical SMILES, without the hydrogens that need not be written. For ``what`` see :func:`to_rdkit`."""
    chem = require("rdkit.Chem", "chem")
    graph = as_graph(graph)
    molecule = to_rdkit(graph, what=what)
    try:
        with _quiet():
            return str(chem.MolToSmiles(chem.RemoveHs(molecule)))
    except (ValueError, RuntimeError) as error:  # what is left is sanitised once more
        raise InvalidMoleculeError(what or _what(graph), _first_line(error)) from None


def to_smiles_list(graphs: Iterable[Graph | None]) -> list[str | None]:
    """The canonical SMILES of each graph; None as in :func:`to_molecules`."""
    return _where_valid(to_smiles, graphs)


def read_smiles(source: Source, *, hydrogens: Hydrogens = False) -> list[Graph]:
    """The molecules of a ``.smi`` file or stream; see :func:`iter_smiles`."""
    return list(iter_smiles(source, hydrogens=hydrogens))


def iter_smiles(source: Source, *, hydrogens: Hydrogens = False) -> Iterator[Graph]:
    """The molecules, read one at a time: a line holds a SMILES and, after white space, an optional name."""
    for where, line in numbered_lines(source):
        smiles, *name = line.split(maxsplit=1)
        try:
            yield from_smiles(smiles, hydrogens=hydrogens, name=name[0].strip() if name else None)
        except GeoGAEError as error:
            raise GeoGAEError(f"{where}: {error}") from None


def write_smiles(graphs: Iterable[Graph], path: str | os.PathLike[str]) -> None:
    """Write molecules to a ``.smi`` file, one SMILES and name a line; labels are not kept."""
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for index, graph in enumerate(iter_graphs(graphs)):
            name = " ".join((graph.name or "").split())
            file.write(f"{to_smiles(graph, what=graph_name(graph, index))} {name}".rstrip() + "\n")


SMILES_FILE = FileFormat(read=iter_smiles, write=write_smiles, text=True)


def _molecule(smiles: str) -> Any:
    chem = require("rdkit.Chem", "chem")
    what = f"SMILES {smiles if len(smiles) <= _QUOTED else smiles[:_QUOTED] + '…'!r}"
    check("atoms", len(smiles) // _LONGEST_ATOM, what)  # before RDKit takes memory for them
    with _quiet():
        try:
            molecule = chem.MolFromSmiles(smiles, sanitize=False)
        except (ValueError, RuntimeError):  # characters that are no text
            molecule = None
        if molecule is None:
            raise GeoGAEError(f"{what} cannot be read; check brackets, ring numbers and element symbols")
        check("atoms", molecule.GetNumAtoms(), what)
        if _rings(molecule) > MAX_RINGS:
            raise GeoGAEError(f"{what} has {_rings(molecule):,} rings; RDKit can handle {MAX_RINGS}")
        try:
            chem.RemoveStereochemistry(molecule)  # not kept, nor are isotopes: no hydrogen is a node for their sake
            for atom in molecule.GetAtoms():
                atom.SetIsotope(0)
            molecule = chem.RemoveHs(molecule)
        except (ValueError, RuntimeError) as error:
            raise GeoGAEError(f"{what} is not a valid molecule: {_first_line(error)}") from None
    if not molecule.GetNumAtoms():
        raise GeoGAEError(f"{what} has no atoms; a graph needs at least one node")
    return molecule


def _rings(molecule: Any) -> int:
    """The number of independent rings: bonds - atoms + connected parts."""
    parts = len(require("rdkit.Chem", "chem").GetMolFrags(molecule))
    return int(molecule.GetNumBonds() - molecule.GetNumAtoms() + parts)


def _where_valid(write: Callable[..., Any], graphs: Iterable[Graph | None]) -> list[Any]:
    results: list[Any] = []
    for index, graph in enumerate(graphs):
        try:
            if graph is not None:
                graph = as_graph(graph)
                results.append(write(graph, what=graph_name(graph, index)))
            else:
                results.append(None)
        except InvalidMoleculeError:
            results.append(None)
    return results


def _quiet() -> Any:
    """RDKit's own lines on stderr are held back; its reason is in our error."""
    return require("rdkit.rdBase", "chem").BlockLogs()


def _what(graph: Graph) -> str:
    return f"graph {graph.name!r}" if graph.name else "the graph"


def _first_line(error: Exception) -> str:
    """The first line of RDKit's message that is not the mere kind of error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if not line.endswith(" Violation")), type(error).__name__)


def _blamed(error: Exception) -> list[int]:
    """The atoms that RDKit's exception names."""
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
