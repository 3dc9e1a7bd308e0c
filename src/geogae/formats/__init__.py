"""Graphs in and out: other libraries' objects and files.

What is not undirected, unweighted and simple is read as :mod:`geogae.formats.simplify` says.
"""

from geogae.formats.arrays import from_adjacency, from_edges
from geogae.formats.chem import (
    InvalidMoleculeError,
    from_rdkit,
    from_smiles,
    read_smiles,
    to_molecules,
    to_rdkit,
    to_smiles,
    to_smiles_list,
    write_smiles,
)
from geogae.formats.detect import as_graph, as_graphs, is_graph
from geogae.formats.graph6 import read_graph6, write_graph6
from geogae.formats.jsonl import iter_jsonl, read_jsonl, write_jsonl
from geogae.formats.nx import from_networkx, to_networkx
from geogae.formats.packed import read_npz, write_npz
from geogae.formats.paths import read, write
from geogae.formats.pyg import from_pyg, to_pyg
from geogae.formats.tu import read_tu, write_tu

__all__ = [
    "InvalidMoleculeError",
    "as_graph",
    "as_graphs",
    "from_adjacency",
    "from_edges",
    "from_networkx",
    "from_pyg",
    "from_rdkit",
    "from_smiles",
    "is_graph",
    "iter_jsonl",
    "read",
    "read_graph6",
    "read_jsonl",
    "read_npz",
    "read_smiles",
    "read_tu",
    "to_molecules",
    "to_networkx",
    "to_pyg",
    "to_rdkit",
    "to_smiles",
    "to_smiles_list",
    "write",
    "write_graph6",
    "write_jsonl",
    "write_npz",
    "write_smiles",
    "write_tu",
]
