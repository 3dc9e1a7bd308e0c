"""Named data sets, where they come from, and splits."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import NamedTuple, Unpack

import numpy as np

from geogae import formats
from geogae.datasets import qm9, sources
from geogae.datasets.catalogue import PAPER, Published, names
from geogae.datasets.splits import split
from geogae.datasets.store import cached
from geogae.formats.packed import Packed
from geogae.formats.simplify import SIMPLIFY, Policy
from geogae.formats.tu import read_tu_packed
from geogae.graph import Graph

__all__ = ["NUMBERS", "Row", "is_path", "load", "names", "read", "sample", "split", "table"]

log = logging.getLogger("geogae")

NUMBERS = "-numbers"  # after the name of a molecules' data set: categories as continuous attributes
WORTH_CACHING = 1 << 24  # bytes of source; anything smaller is parsed within a second


class Row(NamedTuple):
    """A line of the table of data sets; None for a set that is not on this machine."""

    name: str
    graphs: int | None
    nodes: float | None  # mean
    edges: float | None  # mean
    paper: Published


def load(name: str, *, root: str | os.PathLike[str] | None = None, **policy: Unpack[Policy]) -> list[Graph]:
    """The graphs of a data set, named NAME/0, NAME/1, … in their order, with labels and attributes.

    MUTAG comes with the package and QM9 out of qm9pack; other names are looked for as NAME.zip or folder NAME
    in TU format in ``$GEOGAE_DATA``, then in the cache folder, then downloaded from the TU collection. With
    ``root`` they are taken from that folder only. Self-loops are dropped and repeated arcs merged unless the
    policy says otherwise (see :mod:`geogae.formats.simplify`), and the log says how many. ``QM9-numbers`` is QM9 with
    atomic number, charge and bond order as continuous attributes, as the paper has them.
    """
    if name.lower() == f"qm9{NUMBERS}":
        return [qm9.as_numbers(graph) for graph in load("QM9", root=root, **policy)]
    name = {known.lower(): known for known in names()}.get(name.lower(), name)
    packed = _load(name, root, policy)
    if packed.report:
        log.warning("%s: %s", name, packed.report)
    return packed.graphs()


def is_path(data: str) -> bool:
    """Whether a file or folder is meant: no set of the paper, but what exists, has a suffix or a separator."""
    if data.lower() in map(str.lower, names()):
        return False
    return bool(Path(data).suffix) or os.sep in data or Path(data).exists()


def read(data: str, *, simplify: bool = False) -> list[Graph]:
    """The graphs of a data set or of a file; for ``simplify`` see :func:`geogae.formats.read`."""
    if is_path(data):
        return formats.read(data, simplify=simplify)
    return load(data, **SIMPLIFY) if simplify else load(data)


def sample(graphs: Sequence[Graph], count: int, seed: int) -> list[Graph]:
    """So many of the graphs, drawn without their order."""
    chosen = np.random.default_rng(seed).choice(len(graphs), count, replace=False)
    return [graphs[i] for i in sorted(chosen)]


def table(root: str | os.PathLike[str] | None = None) -> list[Row]:
    """The sets of the paper as found on this machine (nothing is downloaded), beside the paper's figures."""
    rows = []
    for name, paper in PAPER.items():
        here = name == "MUTAG" or (qm9.find() if name == "QM9" else sources.find(name, root))
        if here:
            packed = _load(name, None if name in ("MUTAG", "QM9") else root, {})
            count = len(packed)
            rows.append(Row(name, count, float(packed.sizes.mean()), len(packed.edges) / count, paper))
        else:
            rows.append(Row(name, None, None, None, paper))
    return rows


def _load(name: str, root: str | os.PathLike[str] | None, policy: Policy) -> Packed:
    if name == "MUTAG" and root is None:
        with as_file(files(__package__) / "mutag.npz") as path:
            return Packed.load(path)
    if name == "QM9" and root is None:
        parts = qm9.find()
        return cached(name, _state(parts), lambda: qm9.read(parts))
    how: Policy = {"self_loops": "drop", "duplicates": "merge", **policy}
    source = sources.fetch(name, root)
    parts = sorted(source.iterdir()) if source.is_dir() else [source]
    if sum(part.stat().st_size for part in parts) < WORTH_CACHING:
        return read_tu_packed(source, **how)
    return cached(name, (_state(parts), sorted(how.items())), lambda: read_tu_packed(source, **how))


def _state(parts: list[Path]) -> list[tuple[str, int, int]]:
    """What changes when the files do."""
    return [(str(part.absolute()), (stat := part.stat()).st_size, stat.st_mtime_ns) for part in parts]
