"""Properties of QM9's molecules from frozen vectors: kernel ridge regression, chosen on validation molecules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

from geogae.autoencoders.descriptor import Descriptor
from geogae.benchmark.tasks import simple_vectors
from geogae.datasets.qm9 import PROPERTIES
from geogae.formats.optional import require
from geogae.graph import Graph
from geogae.latent import scores

COMPUTED = {"gap": "HOMO_LUMO_gap_au", "dipole": "Dipole_debye", "polarisability": "Polarizability_bohr3",
            "heat capacity": "Heatcapacity_Cv_cal_mol_K", "energy per atom": "InternalEnergy_0K_au"}  # fmt: skip
WIDTHS = (0.5, 1.0, 2.0, 4.0)  # of the kernel, in units of the median distance
RIDGES = (1e-5, 1e-3, 1e-1)


def targets(graphs: Sequence[Graph], smiles: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Nine properties, (G,) each."""
    chem = require("rdkit.Chem", "chem")
    molecules = [chem.MolFromSmiles(one) for one in smiles]
    labels = np.array([graph.label for graph in graphs], dtype=np.float64)
    found = {name: labels[:, PROPERTIES.index(column)] for name, column in COMPUTED.items()}
    atoms = np.array([chem.AddHs(molecule).GetNumAtoms() for molecule in molecules])
    found["energy per atom"] = found["energy per atom"] / atoms
    for name, score in (("logP", scores.logp), ("QED", scores.qed), ("TPSA", scores.tpsa)):
        found[name] = np.array([score(molecule) for molecule in molecules])
    found["rings"] = np.array([float(molecule.GetRingInfo().NumRings()) for molecule in molecules])
    return found


def run(graphs: Sequence[Graph], smiles: Sequence[str], seed: int, k: int = 16) -> Iterator[dict[str, Any]]:
    """R² on test molecules: half of the graphs train, a sixth validates, the rest tests."""
    order = np.random.default_rng(seed).permutation(len(graphs))
    train, validation, test = np.split(order, [len(order) // 2, 2 * len(order) // 3])
    values = targets(graphs, smiles)
    descriptor = Descriptor(k).fit([graphs[i] for i in train])
    kinds: dict[str, NDArray[Any]] = {
        "descriptor": descriptor.describe(graphs),
        "counts": _standard(simple_vectors.counts(graphs), train),
    }
    kinds["Morgan fingerprint"] = simple_vectors.morgan_bits(smiles)
    wanted = np.column_stack(list(values.values()))
    for what, rows in kinds.items():
        explained = _kernel_ridge(np.asarray(rows, dtype=np.float64), wanted, train, validation, test)
        for name, r2 in zip(values, explained, strict=True):
            yield {"task": "regress", "dataset": "QM9", "molecules": len(graphs), "seed": seed, "vectors": what,
                   "numbers": rows.shape[1], "property": name, "r2": round(float(r2), 4)}  # fmt: skip


def _standard(rows: NDArray[np.float64], train: NDArray[np.int64]) -> NDArray[np.float64]:
    return (rows - rows[train].mean(0)) / rows[train].std(0).clip(1e-9)


def _kernel_ridge(rows: Any, wanted: Any, train: Any, validation: Any, test: Any) -> NDArray[np.float64]:
    """R² (targets,); width and ridge are chosen for each target."""
    mean, scale = wanted[train].mean(0), wanted[train].std(0)
    y = (wanted - mean) / scale
    distances = cdist(rows[train], rows[train])
    median = float(np.median(distances)) or 1.0
    to_validation, to_test = cdist(rows[validation], rows[train]), cdist(rows[test], rows[train])
    best, result = np.full(y.shape[1], -np.inf), np.full(y.shape[1], np.nan)
    for width in WIDTHS:
        kernel, valid, final = (np.exp(-((d / (width * median)) ** 2)) for d in (distances, to_validation, to_test))
        for ridge in RIDGES:
            weights = cho_solve(cho_factor(kernel + ridge * np.eye(len(kernel))), y[train])
            chosen = _r2(y[validation], valid @ weights)
            better = chosen > best
            result[better] = _r2(y[test], final @ weights)[better]
            best = np.maximum(best, chosen)
    return result


def _r2(true: NDArray[np.float64], guessed: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 - ((true - guessed) ** 2).sum(0) / ((true - true.mean(0)) ** 2).sum(0)
