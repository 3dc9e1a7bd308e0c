"""File formats by suffix and kinds of graph objects by name: one file and one line each.

An entry is the format or kind itself, or the place where it is found ("module:NAME"), which is imported on first use.
A new one can be added from outside of the package::

    from geogae.formats import FILES, FileFormat
    FILES[".csv"] = FileFormat(read=read_csv, write=write_csv)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from geogae.graph import Graph


@dataclass(frozen=True)
class FileFormat:
    """How files with one suffix are read and written.

    ``read(source, **how)`` gives the graphs: a generator if it reads in bounded memory, else a list.
    ``write(graphs, path)`` gets an iterator of :class:`Graph`.
    """

    read: Callable[..., Iterable[Graph]]
    write: Callable[[Iterable[Graph], Any], None]
    policy: bool = False  # whether ``read`` takes the arguments of geogae.formats.simplify
    text: bool = False  # one graph a line: ``read`` also takes an open binary file, such as stdin


@dataclass(frozen=True)
class ObjectKind:
    """A kind of object that is read as one graph."""

    what: str  # for messages: "a networkx.Graph"
    matches: Callable[[Any], bool]
    read: Callable[[Any], Graph]


FILES: dict[str, FileFormat | str] = {
    ".jsonl": "geogae.formats.jsonl:JSONL",
    ".g6": "geogae.formats.graph6:GRAPH6",
    ".s6": "geogae.formats.graph6:GRAPH6",
    ".smi": "geogae.formats.chem:SMILES_FILE",
    ".parquet": "geogae.formats.parquet:PARQUET",
    ".npz": "geogae.formats.packed:NPZ",
    ".zip": "geogae.formats.tu:TU",
    "": "geogae.formats.tu:TU",  # a folder
}

OBJECTS: dict[str, ObjectKind | str] = {
    "networkx": "geogae.formats.nx:NETWORKX",
    "pyg": "geogae.formats.pyg:PYG",
    "rdkit": "geogae.formats.chem:RDKIT",
    "smiles": "geogae.formats.chem:SMILES",
    "adjacency": "geogae.formats.arrays:ADJACENCY",
}


def suffixes() -> str:
    """The known suffixes, for messages."""
    return f"{', '.join(filter(None, FILES))}, or a folder in TU format"


def instance_of(obj: Any, module: str, name: str) -> bool:
    """Whether ``obj`` is of a class of a library; a library that is not imported yet cannot have made it."""
    return module in sys.modules and isinstance(obj, getattr(sys.modules[module], name, ()))
