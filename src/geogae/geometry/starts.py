"""Where the descent begins: centres from distances in the graph, from noise, or from a drawing in the plane."""

from __future__ import annotations

import networkx as nx
import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh

from geogae.geometry.adjacency import all_distances, landmark_distances, rows_of
from geogae.geometry.cloud import LARGE, RADIUS_SCALE
from geogae.graph import Graph

START_RAW = 0.5  # 2 · 0.75 · softplus(0.5) = 1.46: balls at distance 1 intersect, balls at distance 2 do not
LANDMARKS = 100
_DENSE = 400  # up to here all eigenvectors cost less than Lanczos does
_DRAWN_EDGE = 4.0  # median edge length of a planar drawing: room for small balls between large ones


def mds_start(graph: Graph, dimensions: int) -> NDArray[np.float64]:
    """Classical multidimensional scaling of the shortest-path distances, (dimensions, n); large graphs by landmarks."""
    if graph.n > LARGE:
        return _pivot_mds(graph, dimensions)
    gram = gram_of(path_distances(graph))
    if graph.n <= _DENSE:
        return principal(gram, dimensions)
    k = min(dimensions, graph.n)
    values, vectors = eigsh(gram, k=k, which="LA", v0=np.linspace(1, 2, graph.n), tol=1e-6)  # ascending
    points = np.zeros((dimensions, graph.n))
    points[:k] = (vectors * np.sqrt(np.maximum(values, 0))).T[::-1]
    return points


def _pivot_mds(graph: Graph, dimensions: int) -> NDArray[np.float64]:
    """Pivot MDS (Brandes and Pich, 2007): all distances to some landmarks, which lie far apart, (dimensions, n)."""
    landmarks = min(LANDMARKS, graph.n)
    start, neighbour = rows_of(graph.n, graph.edges)
    distances = landmark_distances(start, neighbour, landmarks)
    products = -0.5 * distances.astype(np.float64) ** 2  # (landmarks, n)
    products += products.mean() - products.mean(axis=0) - products.mean(axis=1)[:, None]
    values, vectors = np.linalg.eigh(products @ products.T)  # ascending
    k = min(dimensions, landmarks)
    singular = np.sqrt(np.maximum(values[::-1][:k], 1e-12))
    points = np.zeros((dimensions, graph.n))
    points[:k] = (vectors[:, ::-1][:, :k].T @ products) / singular[:, None]  # unit rows
    points[:k] *= np.sqrt(singular * np.sqrt(graph.n / landmarks))[:, None]  # as long as those of all distances
    return points


@njit(cache=True, nogil=True)
def gram_of(distances):
    """-d²/2, doubly centred, (n, n)."""
    n = len(distances)
    gram = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            gram[i, j] = -0.5 * distances[i, j] * distances[i, j]
    means = gram.sum(axis=1) / n
    mean = means.sum() / n
    for i in range(n):
        for j in range(n):
            gram[i, j] += mean - means[i] - means[j]
    return gram


@njit(cache=True, nogil=True)
def principal(gram, dimensions):
    """Points whose scalar products are nearest to ``gram``, (dimensions, n), largest extent first."""
    n = len(gram)
    values, vectors = np.linalg.eigh(gram)  # ascending
    points = np.zeros((dimensions, n))
    for k in range(min(dimensions, n)):
        points[k] = vectors[:, n - 1 - k] * np.sqrt(max(values[n - 1 - k], 0.0))
    return points


def planar_start(graph: Graph) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """A drawing without crossings and raw radii to go with it, (2, n) and (n,); None if the graph is not planar.

    By Koebe's theorem every planar graph has an exact cloud of discs (d = 3), and it has the topology of a drawing.
    """
    if not len(graph.edges):
        return None
    drawn = nx.Graph()
    drawn.add_nodes_from(range(graph.n))
    drawn.add_edges_from(graph.edges.tolist())
    planar, _ = nx.check_planarity(drawn)
    if not planar:
        return None
    layout = nx.planar_layout(drawn)
    points = np.array([layout[i] for i in range(graph.n)]).T
    i, j = graph.edges.T
    lengths = np.linalg.norm(points[:, i] - points[:, j], axis=0)
    scale = _DRAWN_EDGE / np.median(lengths)
    shortest = np.full(graph.n, _DRAWN_EDGE)
    for ends in (i, j):
        np.minimum.at(shortest, ends, lengths * scale)
    radii = np.maximum(shortest / 2 / RADIUS_SCALE, 1e-3)
    return points * scale, np.log(np.expm1(radii))  # the inverse of softplus


def path_distances(graph: Graph) -> NDArray[np.int32]:
    """Lengths of shortest paths between all nodes, (n, n); diameter + 2 where there is none."""
    distances: NDArray[np.int32] = all_distances(*rows_of(graph.n, graph.edges))
    return distances
