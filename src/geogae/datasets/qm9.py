"""QM9 from the package qm9pack: the SMILES with all hydrogens, read by RDKit, and the computed properties.

Nodes have atomic number and formal charge, edges RDKit's bond type, and the label is the tuple of
``PROPERTIES``. The coordinates are left out: for about 450 molecules the atoms there do not follow the SMILES.
"""

from __future__ import annotations

import csv
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from geogae.datasets import collection
from geogae.datasets.registry import DataSet, Root
from geogae.datasets.store import cached, state_of
from geogae.errors import GeoGAEError
from geogae.formats.chem import from_smiles
from geogae.formats.optional import require
from geogae.formats.packed import Packed
from geogae.formats.simplify import Policy
from geogae.graph import Graph
from geogae.progress import progress_bar

PROPERTIES = (
    "RotA_GHz",
    "RotB_GHz",
    "RotC_GHz",
    "Dipole_debye",
    "Polarizability_bohr3",
    "HOMO_au",
    "LUMO_au",
    "HOMO_LUMO_gap_au",
    "R2_bohr2",
    "ZPVE_au",
    "InternalEnergy_0K_au",
    "InternalEnergy_298K_au",
    "Enthalphy_298K_au",  # spelt so in the files
    "GibbsFreeEnergy_298K_au",
    "Heatcapacity_Cv_cal_mol_K",
)

_ORDERS = {1: 1.0, 2: 2.0, 3: 3.0, 12: 1.5}  # of RDKit's bond types


def load(name: str, root: Root, policy: Policy) -> Packed:
    """The molecules of qm9pack, parsed once and kept in the cache folder; with ``root`` a TU set of that name."""
    if root is not None:
        return collection.load(name, root, policy)
    parts = find()
    return cached(name, state_of(parts), lambda: read(parts))


def load_numbers(name: str, root: Root, policy: Policy) -> Packed:
    """QM9 with its categories as continuous attributes, as the paper has them."""
    molecules = load(name.removesuffix("-numbers"), root, policy)
    return Packed.of(map(as_numbers, molecules.graphs()), report=molecules.report)


def is_here(name: str, root: Root) -> bool:
    """Whether qm9pack is installed."""
    return bool(find()) if root is None else collection.is_here(name.removesuffix("-numbers"), root)


QM9, QM9_NUMBERS = DataSet(load, is_here), DataSet(load_numbers, is_here)


def as_numbers(graph: Graph) -> Graph:
    """The molecule with its categories as continuous attributes: atomic number, formal charge, bond order."""
    kinds = [] if graph.edge_categorical is None else graph.edge_categorical[:, 0].tolist()
    orders = np.array([_ORDERS[kind] for kind in kinds]).reshape(-1, 1)
    return Graph(graph.n, graph.edges, node_continuous=graph.node_categorical, edge_continuous=orders,
                 label=graph.label, name=graph.name)  # fmt: skip


def find() -> list[Path]:
    """The files of qm9pack that hold the molecules; the package is found, not imported (it needs pandas)."""
    spec = find_spec("qm9pack")
    folders = [] if spec is None else spec.submodule_search_locations or []
    return sorted(file for folder in folders for file in Path(folder).glob("data/qm9_part*.csv"))


def read(files: list[Path]) -> Packed:
    """All molecules, named QM9/0, QM9/1, …; those that RDKit refuses are counted in the report."""
    if not files:
        raise GeoGAEError("QM9 comes with the package qm9pack: pip install 'geogae[chem]'")
    require("rdkit.Chem", "chem")
    graphs: list[Graph] = []
    refused: list[str] = []
    with progress_bar("reading QM9 (once)", sum(file.stat().st_size for file in files), size=True) as advance:
        for file in files:
            with file.open(encoding="utf-8", newline="") as text:
                for row in csv.DictReader(text):
                    label = [float(row[key]) for key in PROPERTIES]
                    try:
                        graphs.append(
                            from_smiles(row["SMILES"], hydrogens=True, label=label, name=f"QM9/{len(graphs)}")
                        )
                    except GeoGAEError:
                        refused.append(row["SMILES"])
                    advance(sum(map(len, row.values())))
    report = f"{len(refused):,} molecules that RDKit refuses left out, the first {refused[0]!r}" if refused else ""
    return Packed.of(graphs, report=report)
