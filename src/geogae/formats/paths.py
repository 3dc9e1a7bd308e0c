"""Files of graphs, their format told by the suffix."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from geogae.errors import GeoGAEError
from geogae.formats.chem import read_smiles, write_smiles
from geogae.formats.graph6 import read_graph6, write_graph6
from geogae.formats.jsonl import read_jsonl, write_jsonl
from geogae.formats.packed import read_npz, write_npz
from geogae.formats.simplify import SIMPLIFY
from geogae.formats.tu import read_tu, write_tu
from geogae.graph import Graph

FORMATS: dict[str, tuple[Callable[..., list[Graph]], Callable[..., None]]] = {
    ".jsonl": (read_jsonl, write_jsonl),
    ".g6": (read_graph6, write_graph6),
    ".s6": (read_graph6, write_graph6),
    ".smi": (read_smiles, write_smiles),
    ".npz": (read_npz, write_npz),
    ".zip": (read_tu, write_tu),
    "": (read_tu, write_tu),
}
SIMPLE = (".smi", ".npz")  # hold nothing that would have to be simplified
_SUFFIXES = f"{', '.join(filter(None, FORMATS))}, or a folder in TU format"


def read(path: str | os.PathLike[str], *, simplify: bool = False, **how: Any) -> list[Graph]:
    """The graphs of a file, or of a folder in TU format; ``how`` goes to the reader of that format.

    ``simplify`` reads what is not undirected, unweighted and simple as if it were.
    """
    source = Path(path)
    try:
        source.stat()
    except FileNotFoundError:
        raise GeoGAEError(f"{source} does not exist") from None
    except OSError as error:
        raise GeoGAEError(f"cannot read {source}: {error.strerror}") from None
    suffix = "" if source.is_dir() else source.suffix.lower()
    if suffix not in FORMATS or (not suffix and not source.is_dir()):
        raise GeoGAEError(f"{source} has no suffix that is known; read {_SUFFIXES}")
    policy = SIMPLIFY if simplify and suffix not in SIMPLE else {}
    return FORMATS[suffix][0](source, **policy, **how)


def write(graphs: Iterable[Graph], path: str | os.PathLike[str]) -> None:
    """Write graphs to a file, or without a suffix to a new folder in TU format."""
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in FORMATS:
        raise GeoGAEError(f"{target} has no suffix that is known; write {_SUFFIXES}")
    FORMATS[suffix][1](graphs, target)
