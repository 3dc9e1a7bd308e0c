"""What graphs are described by without a model: counts, degree histograms, WL kernels, Morgan fingerprints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from geogae.autoencoders.structure import colours, packed_chunks
from geogae.formats.optional import require
from geogae.graph import Graph

WL_ROUNDS = 3
DEGREES = 50  # places of a degree histogram; larger degrees count in the last


def counts(graphs: Sequence[Graph]) -> NDArray[np.float64]:
    """Nodes and edges, (G, 2)."""
    return np.array([[graph.n, len(graph.edges)] for graph in graphs], dtype=np.float64)


def degree_histogram(graphs: Sequence[Graph]) -> NDArray[np.float64]:
    """How many nodes have each degree, (G, DEGREES)."""
    return np.array([np.bincount(graph.degrees.clip(max=DEGREES - 1), minlength=DEGREES) for graph in graphs], float)


def wl_kernel(graphs: Sequence[Graph]) -> NDArray[np.float64]:
    """The normalised kernel of Weisfeiler and Leman's subtree counts, (G, G); attributes take part."""
    rows, kinds, first = [], [], 0
    for packed in packed_chunks(graphs):
        for colour in colours(packed, WL_ROUNDS):
            rows.append(packed.graph_of + first)
            kinds.append(colour)
        first += len(packed.first) - 1
    _, place = np.unique(np.concatenate(kinds), return_inverse=True)
    where = (np.concatenate(rows), place)
    features = csr_array((np.ones(len(place)), where), (len(graphs), int(place.max()) + 1))
    kernel = (features @ features.T).toarray()
    length = np.sqrt(np.diag(kernel))
    return kernel / np.outer(length, length)


def morgan(size: int) -> Any:
    """RDKit's generator of Morgan fingerprints of radius 2 with ``size`` bits."""
    return require("rdkit.Chem.rdFingerprintGenerator", "chem").GetMorganGenerator(radius=2, fpSize=size)


def fingerprints(smiles: Sequence[str]) -> list[object]:
    """Morgan fingerprints of radius 2 with 2,048 bits, as RDKit has them."""
    chem = require("rdkit.Chem", "chem")
    generator = morgan(2048)
    return [generator.GetFingerprint(chem.MolFromSmiles(one)) for one in smiles]


def morgan_bits(smiles: Sequence[str], size: int = 512) -> NDArray[np.float64]:
    """Morgan fingerprints of radius 2, (G, size)."""
    chem = require("rdkit.Chem", "chem")
    generator = morgan(size)
    return np.array([generator.GetFingerprintAsNumPy(chem.MolFromSmiles(one)) for one in smiles], dtype=np.float64)
