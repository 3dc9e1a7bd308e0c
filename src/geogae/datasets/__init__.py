"""Named data sets, where they come from, and splits."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np

from geogae import formats
from geogae.datasets.catalogue import PAPER, Published, names
from geogae.datasets.registry import COLLECTION, DATASETS, DataSet, Root
from geogae.datasets.splits import split
from geogae.formats.packed import Packed
from geogae.formats.simplify import SIMPLIFY, Policy
from geogae.graph import Graph
from geogae.registry import entry

__all__ = [
    "DATASETS",
    "NUMBERS",
    "DataSet",
    "Row",
    "is_path",
    "iter_read",
    "load",
    "names",
    "read",
    "sample",
    "split",
    "table",
]

log = logging.getLogger("geogae")

NUMBERS = "-numbers"  # after the name of a molecules' data set: categories as continuous attributes


class Row(NamedTuple):
    """A line of the table of data sets; None for a set that is not on this machine."""

    name: str
    graphs: int | None
    nodes: float | None  # mean
    edges: float | None  # mean
    paper: Published


def load(name: str, *, root: str | os.PathLike[str] | None = None, **policy: Unpack[Policy]) -> list[Graph]:
    """The graphs of a data set, named NAME/0, NAME/1, … in their order, with labels and attributes.

    MUTAG comes with the package and QM9 from qm9pack. Other names are looked for as NAME.zip or folder NAME in TU
    format in ``$GEOGAE_DATA``, then in the cache folder, then downloaded from the TU collection. With ``root`` they are
    taken from that folder only. Self-loops are dropped and repeated arcs merged unless the policy says otherwise (see
    :mod:`geogae.formats.simplify`), and the log says how many. ``QM9-numbers`` is QM9 with atomic number, charge and
    bond order as continuous attributes, as the paper has them.
    """
    loaded = _load(name, root, policy)
    if not isinstance(loaded, Packed):
        return formats.as_graphs(loaded)
    if loaded.report:
        log.warning("%s: %s", _known(name), loaded.report)
    return loaded.graphs()


def is_path(data: str) -> bool:
    """Whether a file or folder is meant: not a registered name, and it exists, has a suffix or has a separator."""
    if _known(data) in DATASETS:
        return False
    try:
        return bool(Path(data).suffix) or os.sep in data or Path(data).exists()
    except OSError:  # too long for a path
        return True


def read(data: str, *, simplify: bool = False, format: str | None = None) -> list[Graph]:
    """The graphs of a data set or of a file; for ``simplify`` and ``format`` see :func:`geogae.formats.read`."""
    if format is not None or is_path(data):
        return formats.read(data, simplify=simplify, format=format)
    return load(data, **SIMPLIFY) if simplify else load(data)


def iter_read(data: str, *, simplify: bool = False, format: str | None = None) -> Iterator[Graph]:
    """As :func:`read`, one graph at a time; files are read in bounded memory where their format allows."""
    if format is not None or is_path(data):
        return formats.iter_read(data, simplify=simplify, format=format)
    return iter(read(data, simplify=simplify))


def sample(graphs: Sequence[Graph], count: int, seed: int) -> list[Graph]:
    """A random choice of ``count`` graphs, in their order."""
    chosen = np.random.default_rng(seed).choice(len(graphs), count, replace=False)
    return [graphs[i] for i in sorted(chosen)]


def table(root: str | os.PathLike[str] | None = None) -> list[Row]:
    """The sets of the paper as found on this machine (nothing is downloaded), beside the paper's figures."""
    rows = []
    for name, paper in PAPER.items():
        place = None if name in ("MUTAG", "QM9") else root
        if not _data_set(name).is_here(name, place):
            rows.append(Row(name, None, None, None, paper))
            continue
        packed = _load(name, place, {})
        count = len(packed)
        rows.append(Row(name, count, float(packed.sizes.mean()), len(packed.edges) / count, paper))
    return rows


def _load(name: str, root: Root, policy: Policy) -> Any:
    return _data_set(name).load(_known(name), root, policy)


def _data_set(name: str) -> DataSet:
    known = _known(name)
    registry: dict[str, DataSet | str] = DATASETS if known in DATASETS else {known: COLLECTION}
    return entry(registry, known)


def _known(name: str) -> str:
    """The name as the registry spells it, or as given."""
    return {known.lower(): known for known in DATASETS}.get(name.lower(), name)
