"""What mypy says of the public API: ``make lint`` checks this file; nothing in it is run."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from geogae import GeoGAE, Graph
from geogae.autoencoders import Decoding

Vector = np.ndarray[tuple[int], np.dtype[np.float32]]
Vectors = np.ndarray[tuple[int, int], np.dtype[np.float32]]


def depth_of_z(model: GeoGAE, graph: Graph, graphs: list[Graph], smiles: str) -> None:
    assert_type(model.encode(graph), Vector)
    assert_type(model.encode(smiles), Vector)
    assert_type(model.encode(graphs, n_jobs=2), Vectors)
    assert_type(model.transform(graphs), Vectors)
    assert_type(model.fit(graphs).encode(iter(graphs)), Any)


def kind_of_decoding(model: GeoGAE, one: Vector, several: Vectors, unknown: NDArray[np.float32]) -> None:
    assert_type(model.decode(one), Graph)
    assert_type(model.decode(several), list[Graph])
    assert_type(model.decode(one, details=True), Decoding)
    assert_type(model.decode(several, details=True), list[Decoding])
    assert_type(model.decode(unknown), list[Graph])  # a part of several, such as z[:5]; z[0] is Any
    assert_type(model.decode([[0.5, 1.0]]), Any)
    assert_type(model.inverse_transform(several), list[Graph])
