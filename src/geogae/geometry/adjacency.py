"""What is read off the rows of a graph, compiled: twins, distances, landmarks.

The neighbours of node v are ``neighbour[start[v]:start[v + 1]]``, ascending. SciPy's ``shortest_path`` finds the same
distances, but cannot be called from compiled code, and its Dijkstra takes about thirty times as long.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from geogae.labelling.colour_refinement import mix

APART = 2  # nodes without a path count as this much farther than the farthest with one
_FAR = 2**30


@njit(cache=True, nogil=True)
def rows_of(n, edges):
    """``start, neighbour`` of a graph with sorted edges, (E, 2)."""
    start = np.zeros(n + 1, np.int64)
    for i, j in edges:
        start[i + 1] += 1
        start[j + 1] += 1
    start = np.cumsum(start)
    neighbour = np.empty(2 * len(edges), np.int64)
    fill = start[:-1].copy()
    for i, j in edges:  # sorted by i: smaller neighbours come first, then the larger ones
        neighbour[fill[j]] = i
        fill[j] += 1
    for i, j in edges:
        neighbour[fill[i]] = j
        fill[i] += 1
    return start, neighbour


@njit(cache=True, nogil=True)
def closed_twins(start, neighbour):
    """The class of each node by its closed neighbourhood, numbered by its smallest member, and these members."""
    n = len(start) - 1
    sums = np.empty(n, np.int64)  # equal for twins
    for v in range(n):
        sums[v] = mix(np.int64(v))
        for u in neighbour[start[v] : start[v + 1]]:
            sums[v] += mix(u)
    twins = np.full(n, -1, np.int64)
    first = np.empty(n, np.int64)
    count = 0
    for v in range(n):
        for u in neighbour[start[v] : start[v + 1]]:  # twins are adjacent
            if u > v:
                break
            if sums[u] == sums[v] and first[twins[u]] == u and _are_twins(start, neighbour, u, v):
                twins[v] = twins[u]
                break
        if twins[v] < 0:
            twins[v] = count
            first[count] = v
            count += 1
    return twins, first[:count]


@njit(cache=True, nogil=True)
def _are_twins(start, neighbour, u, v):
    """Whether two adjacent nodes have the same other neighbours."""
    if start[u + 1] - start[u] != start[v + 1] - start[v]:
        return False
    b = start[v]
    for a in range(start[u], start[u + 1]):
        if neighbour[a] == v:
            continue
        if neighbour[b] == u:
            b += 1
        if neighbour[a] != neighbour[b]:
            return False
        b += 1
    return True


@njit(cache=True, nogil=True)
def without_twins(start, neighbour, twins, first):
    """The rows of the graph with one node for each class."""
    count = len(first)
    new_start, new_neighbour = np.zeros(count + 1, np.int64), np.empty_like(neighbour)
    fill = 0
    for c in range(count):
        for u in neighbour[start[first[c]] : start[first[c] + 1]]:
            if first[twins[u]] == u and twins[u] != c:
                new_neighbour[fill] = twins[u]
                fill += 1
        new_start[c + 1] = fill
    return new_start, new_neighbour[:fill]


@njit(cache=True, nogil=True)
def _distances_from(source, start, neighbour, row, queue):
    """Lengths of shortest paths from a node, written to ``row``; -1 where there is none."""
    row[:] = -1
    row[source] = 0
    queue[0] = source
    head, tail = 0, 1
    while head < tail:
        node = queue[head]
        head += 1
        for a in range(start[node], start[node + 1]):
            other = neighbour[a]
            if row[other] < 0:
                row[other] = row[node] + 1
                queue[tail] = other
                tail += 1


@njit(cache=True, nogil=True)
def _join(distances):
    """Nodes without a path are a little farther apart than all others."""
    apart = distances.max() + APART
    for row in distances:
        for node in range(len(row)):
            if row[node] < 0:
                row[node] = apart


@njit(cache=True, nogil=True)
def all_distances(start, neighbour):
    """Lengths of shortest paths between all nodes, (n, n)."""
    n = len(start) - 1
    distances, queue = np.empty((n, n), np.int32), np.empty(n, np.int64)
    for source in range(n):
        _distances_from(source, start, neighbour, distances[source], queue)
    _join(distances)
    return distances


@njit(cache=True, nogil=True)
def landmark_distances(start, neighbour, landmarks):
    """The same from some nodes alone, (landmarks, n): the first node, then always the farthest from all before."""
    n = len(start) - 1
    distances, queue = np.empty((landmarks, n), np.int32), np.empty(n, np.int64)
    nearest = np.full(n, _FAR, np.int32)
    source = 0
    for landmark in range(landmarks):
        row = distances[landmark]
        _distances_from(source, start, neighbour, row, queue)
        for node in range(n):
            if 0 <= row[node] < nearest[node]:
                nearest[node] = row[node]
        source = int(np.argmax(nearest))
    _join(distances)
    return distances
