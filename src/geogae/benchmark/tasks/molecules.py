"""QM9 by heavy atoms, for the tasks: hydrogens implied, bonds kekulised; and its three parts."""

from __future__ import annotations

import csv
from collections.abc import Iterator

import numpy as np

from geogae.datasets import qm9 as source
from geogae.errors import GeoGAEError
from geogae.formats.chem import from_smiles, to_smiles
from geogae.graph import Graph

HELD_OUT = 10_000  # molecules each that validate and test


def parts(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of training, validation and test molecules; the same for every seed."""
    order = np.random.default_rng(0).permutation(count)
    held_out = min(HELD_OUT, count // 5)
    return order[: -2 * held_out], order[-2 * held_out : -held_out], order[-held_out:]


def qm9(count: int | None = None, seed: int = 0) -> tuple[list[Graph], list[str]]:
    """All molecules of QM9, or ``count`` at random, and their SMILES; labels are the computed properties."""
    rows = list(_rows())
    chosen = range(len(rows)) if count is None else np.random.default_rng(seed).choice(len(rows), count, replace=False)
    graphs = [from_smiles(rows[i][0], hydrogens="implied", label=rows[i][1], name=f"QM9/{i}") for i in chosen]
    return graphs, [to_smiles(graph) for graph in graphs]


def _rows() -> Iterator[tuple[str, list[float]]]:
    files = source.find()
    if not files:
        raise GeoGAEError("QM9 comes with the package qm9pack: pip install 'geogae[chem]'")
    for file in files:
        with file.open(encoding="utf-8", newline="") as text:
            for row in csv.DictReader(text):
                yield row["SMILES"], [float(row[key]) for key in source.PROPERTIES]
