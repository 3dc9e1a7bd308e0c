"""Proposition 1: every graph has an exact cloud, of equal balls, in n² dimensions (paper, Appendix A).

Far too wide to be of use, but exact by construction: an oracle for the intersection rule.
"""

from __future__ import annotations

import numpy as np

from geogae.geometry.cloud import RADIUS_SCALE, HyperballCloud
from geogae.graph import Graph


def proposition_cloud(graph: Graph) -> HyperballCloud:
    """Centres of n ones each; two nodes share one of them if they are joined, otherwise none: (n, n²).

    Centres of joined nodes are √(2n-2) apart, others √(2n); the sum of two radii, √(2n-1), lies between.
    """
    n = graph.n
    joined = graph.adjacency()
    centers = np.zeros((n, n, n), dtype=np.float32)  # node, and its n² coordinates in n blocks: one for each node
    shared = np.zeros(n, dtype=np.int64)  # how many ones of its own block a node shares
    for i in range(n):
        earlier = np.flatnonzero(joined[i, :i])
        centers[i, earlier, shared[earlier]] = 1  # the lowest one that the neighbour shares with nobody yet
        shared[earlier] += 1
        centers[i, i, : n - len(earlier)] = 1
    radius = 0.5 * np.sqrt(2 * n - 1) / RADIUS_SCALE
    raw = np.full(n, np.log(np.expm1(radius)) if radius < 20 else radius, dtype=np.float32)  # the inverse of softplus
    return HyperballCloud(centers.reshape(n, n * n), raw, np.arange(n), graph)
