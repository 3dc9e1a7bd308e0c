"""Vectors to points of a map, and the axes along which they differ most."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd

from geogae.errors import GeoGAEError
from geogae.formats.optional import require

Projection = Literal["pca", "umap"]
PROJECTIONS: tuple[str, ...] = get_args(Projection)


class Axes(NamedTuple):
    """Principal axes of vectors, those of the largest variance first."""

    directions: NDArray[np.float64]  # (k, m), orthonormal
    deviations: NDArray[np.float64]  # (k,)
    shares: NDArray[np.float64]  # (k,), of the whole variance


def principal_axes(vectors: NDArray[np.floating], count: int) -> Axes:
    """At most ``count`` axes; those along which nothing differs are left out."""
    centred = vectors.astype(np.float64) - vectors.mean(0, dtype=np.float64)
    _, values, directions = svd(centred, full_matrices=False)
    kept = values[:count] > 1e-6 * max(float(values.max(initial=0.0)), 1e-12)
    directions = directions[:count][kept]
    signs = np.where(directions[np.arange(len(directions)), np.abs(directions).argmax(1)] < 0, -1, 1)
    total = float((values**2).sum()) or 1.0
    deviations = values[:count][kept] / np.sqrt(len(vectors))
    return Axes(directions * signs[:, None], deviations, values[:count][kept] ** 2 / total)


def project(vectors: NDArray[np.floating], projection: str = "pca", seed: int = 0) -> NDArray[np.float32]:
    """Points of the plane, (N, 2)."""
    if projection not in PROJECTIONS:
        raise GeoGAEError(f"--projection {projection!r} is not known; valid are {', '.join(PROJECTIONS)}")
    if projection == "umap":
        return _umap(vectors, seed)
    axes = principal_axes(vectors, 2)
    points = (vectors - vectors.mean(0)) @ axes.directions.T
    return np.pad(points, ((0, 0), (0, 2 - points.shape[1]))).astype(np.float32)


def _umap(vectors: NDArray[np.floating], seed: int) -> NDArray[np.float32]:
    umap = require("umap", "umap")
    if len(vectors) < 4:
        raise GeoGAEError(f"UMAP needs at least 4 graphs, not {len(vectors)}; use --projection pca")
    spread = vectors.std(0)
    scaled = (vectors - vectors.mean(0)) / np.where(spread > 0, spread, 1)
    reducer = umap.UMAP(n_neighbors=min(15, len(vectors) - 1), random_state=seed, n_jobs=1)
    return np.asarray(reducer.fit_transform(scaled), dtype=np.float32)
