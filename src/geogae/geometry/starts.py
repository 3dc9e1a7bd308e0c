"""Where the descent begins: centres from distances in the graph, from noise, or from a drawing in the plane."""

from __future__ import annotations

import networkx as nx
import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh

from geogae.geometry.cloud import RADIUS_SCALE
from geogae.graph import Graph

START_RAW = 0.5  # 2 · 0.75 · softplus(0.5) = 1.46: balls at distance 1 intersect, balls at distance 2 do not
APART = 2  # nodes without a path count as this much farther than the farthest with one
_DENSE = 400  # up to here all eigenvectors cost less than Lanczos does
_DRAWN_EDGE = 4.0  # median edge length of a planar drawing: room for small balls between large ones


def mds_start(graph: Graph, dimensions: int) -> NDArray[np.float64]:
    """Classical multidimensional scaling of the shortest-path distances, (dimensions, n)."""
    gram = gram_of(path_distances(graph))
    if graph.n <= _DENSE:
        return principal(gram, dimensions)
    k = min(dimensions, graph.n)
    values, vectors = eigsh(gram, k=k, which="LA", v0=np.linspace(1, 2, graph.n), tol=1e-6)  # ascending
    points = np.zeros((dimensions, graph.n))
    points[:k] = (vectors * np.sqrt(np.maximum(values, 0))).T[::-1]
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
    arcs = np.concatenate([graph.edges, graph.edges[:, ::-1]])
    arcs = arcs[np.argsort(arcs[:, 0], kind="stable")]
    first = np.searchsorted(arcs[:, 0], np.arange(graph.n + 1))
    return breadth_first(first, np.ascontiguousarray(arcs[:, 1]))


@njit(cache=True, nogil=True)
def breadth_first(first, neighbour):
    """The distances of :func:`path_distances`; the neighbours of node v are ``neighbour[first[v]:first[v + 1]]``."""
    n = len(first) - 1
    distances = np.full((n, n), -1, np.int32)
    queue = np.empty(n, np.int64)
    for source in range(n):
        row = distances[source]
        row[source] = 0
        queue[0] = source
        head, tail = 0, 1
        while head < tail:
            node = queue[head]
            head += 1
            for a in range(first[node], first[node + 1]):
                other = neighbour[a]
                if row[other] < 0:
                    row[other] = row[node] + 1
                    queue[tail] = other
                    tail += 1
    apart = distances.max() + APART
    for source in range(n):
        for node in range(n):
            if distances[source, node] < 0:
                distances[source, node] = apart
    return distances
