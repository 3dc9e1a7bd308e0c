"""Graphs in and out: files, and the objects of other libraries.

Formats and kinds of objects are in :mod:`geogae.formats.registry`. Input that is not undirected, unweighted and simple
is read as :mod:`geogae.formats.simplify` says. What a file may ask for is limited by :mod:`geogae.formats.limits`.
"""

from geogae.formats.arrays import from_adjacency, from_edges
from geogae.formats.chem import (
    InvalidMoleculeError,
    from_rdkit,
    from_smiles,
    iter_smiles,
    read_smiles,
    to_molecules,
    to_rdkit,
    to_smiles,
    to_smiles_list,
    write_smiles,
)
from geogae.formats.detect import as_graph, as_graphs, graph_name, is_graph, iter_graphs
from geogae.formats.graph6 import iter_graph6, read_graph6, write_graph6
from geogae.formats.jsonl import iter_jsonl, read_jsonl, write_jsonl
from geogae.formats.nx import from_networkx, to_networkx
from geogae.formats.packed import read_npz, write_npz
from geogae.formats.parquet import iter_parquet, read_parquet, write_parquet
from geogae.formats.paths import iter_read, read, write
from geogae.formats.pyg import from_pyg, to_pyg
from geogae.formats.registry import FILES, OBJECTS, FileFormat, ObjectKind
from geogae.formats.tu import read_tu, write_tu
from geogae.formats.vectors import iter_vectors, read_vectors, write_vectors

__all__ = [
    "FILES",
    "OBJECTS",
    "FileFormat",
    "InvalidMoleculeError",
    "ObjectKind",
    "as_graph",
    "as_graphs",
    "from_adjacency",
    "from_edges",
    "from_networkx",
    "from_pyg",
    "from_rdkit",
    "from_smiles",
    "graph_name",
    "is_graph",
    "iter_graph6",
    "iter_graphs",
    "iter_jsonl",
    "iter_parquet",
    "iter_read",
    "iter_smiles",
    "iter_vectors",
    "read",
    "read_graph6",
    "read_jsonl",
    "read_npz",
    "read_parquet",
    "read_smiles",
    "read_tu",
    "read_vectors",
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
    "write_parquet",
    "write_smiles",
    "write_tu",
    "write_vectors",
]
