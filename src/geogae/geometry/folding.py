"""Leaves, folded: a node with one neighbour hangs on it and is counted there, instead of having a ball of its own.

Discussions are mostly leaves: a post and its answers. What is left without them, the core, has a third of the nodes of
REDDIT-BINARY, and a cloud that is fitted far sooner. The rule gives back the core, the counts its leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geogae.geometry.cloud import HyperballCloud
from geogae.geometry.fitting import fit_clouds
from geogae.graph import Graph


class Folded(NamedTuple):
    """A graph in two parts."""

    core: Graph  # without the leaves; its one category is the number of leaves that hang on a node
    nodes: NDArray[np.int64]  # (core.n,), core node i is the graph's node nodes[i]
    leaves: NDArray[np.int64]  # (n - core.n,), the graph's other nodes …
    hubs: NDArray[np.int64]  # … and the core node that each hangs on


def fold(graph: Graph) -> Folded:
    """Once: what becomes a leaf by it stays. Of two nodes that have only each other, one hangs on the other."""
    single = graph.degrees == 1
    hub = np.full(graph.n, -1)
    for node, other in (graph.edges.T, graph.edges.T[::-1]):
        hangs = single[node] & (hub[other] < 0)
        hub[node[hangs]] = other[hangs]
    nodes, leaves = np.flatnonzero(hub < 0), np.flatnonzero(hub >= 0)
    place = np.full(graph.n, -1)
    place[nodes] = np.arange(len(nodes))
    hubs = place[hub[leaves]]
    counts = np.bincount(hubs, minlength=len(nodes))
    edges = place[graph.edges]
    core = Graph(len(nodes), edges[(edges >= 0).all(1)], node_categorical=counts[:, None], name=graph.name)
    return Folded(core, nodes, leaves, hubs)


def unfold(core: Graph, counts: NDArray[np.int64], limit: int) -> Graph:
    """The core's nodes, then their leaves in the same order, cut at ``limit`` nodes: the inverse of :func:`fold`."""
    counts = np.diff(np.minimum(np.cumsum(counts), limit - core.n), prepend=0)
    hubs = np.repeat(np.arange(core.n), counts)
    n = core.n + len(hubs)
    return Graph(n, np.concatenate([core.edges, np.column_stack([hubs, np.arange(core.n, n)])]))


@dataclass(frozen=True, eq=False, kw_only=True)
class FoldedCloud(HyperballCloud):
    """The cloud of a core, which is its ``graph``; what is to come back is the ``whole``."""

    whole: Graph
    folded: Folded

    @property
    def whole_size(self) -> int:
        return self.whole.n

    @property
    def ordered_graph(self) -> Graph:
        """The core's nodes in their order, then the leaves, in the order of what they hang on."""
        _, nodes, leaves, hubs = self.folded
        place = np.argsort(self.order)  # of each core node
        order = np.concatenate([nodes[self.order], leaves[np.argsort(place[hubs], kind="stable")]])
        return self.whole.relabel(order)

    def ordered(self) -> HyperballCloud:
        """The cloud of the core alone, renumbered by the node order."""
        return HyperballCloud(**_fields(self)).ordered()


def folded_clouds(graphs: Sequence[Graph], dim: int | Literal["auto"], **how: Any) -> list[FoldedCloud]:
    """:func:`fit_clouds` of the cores; how many leaves a node has settles its place among those that look alike."""
    folded = [fold(graph) for graph in graphs]
    clouds = fit_clouds([parts.core for parts in folded], dim, **how)
    return [
        FoldedCloud(**_fields(cloud), whole=graph, folded=parts)
        for cloud, graph, parts in zip(clouds, graphs, folded, strict=True)
    ]


def _fields(cloud: HyperballCloud) -> dict[str, Any]:
    """What a cloud was made of; not what it has worked out since."""
    return {field.name: getattr(cloud, field.name) for field in fields(HyperballCloud)}
