"""Graphs laid on their consensus: each node is matched to a slot of one base graph that all resemble.

Principal axes say nothing where a few rewired edges turn the whole cloud. Matching finds the base again, and the cloud
of each graph is fitted from that of the consensus: what graphs share stays in place, only the changes move.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import quadratic_assignment

from geogae.errors import GeoGAEError
from geogae.geometry.cloud import HyperballCloud
from geogae.geometry.fitting import canonicalise, fit_clouds
from geogae.geometry.kernel import descend, f32
from geogae.geometry.recipe import MAX_DIM
from geogae.graph import Graph
from geogae.progress import progress_bar

log = logging.getLogger("geogae")

ROUNDS = 3  # of matching all graphs and taking their consensus; the first is against one of the graphs
HEAT = (0.1, 0.3, 1.0, 3.0)  # times of the heat kernel
WALKS = 6  # lengths of the walks that are counted
SPREAD = 0.4  # how unlike two nodes may be to be matched at first
TEMPERATURE, RATE, STEPS, MARGIN = 0.1, 0.03, 300, 0.1  # of the descent from the consensus's cloud


class Consensus(NamedTuple):
    """A graph that others resemble, and its cloud; slot i is its node i."""

    graph: Graph
    balls: NDArray[np.float32]  # (n, d)


def make_consensus(graphs: Sequence[Graph], dim: int | Literal["auto"], *, progress: bool = False) -> Consensus:
    """The edges that most graphs have after matching, and a cloud of that graph.

    ``dim="auto"`` is the smallest in which all graphs, fitted from that cloud, are exact.
    """
    sizes = {graph.n for graph in graphs}
    if len(sizes) != 1:
        raise GeoGAEError(
            f"consensus=True needs graphs of one size, not of {min(sizes)} to {max(sizes)} nodes; use consensus=False"
        )
    topologies = [canonicalise(graph).topology for graph in graphs]
    adjacencies = [topology.adjacency().astype(float) for topology in topologies]
    base, matched = adjacencies[0], adjacencies if dim == "auto" else []
    with progress_bar("matching", ROUNDS * len(graphs) + len(matched), progress) as advance:
        for _ in range(ROUNDS):
            joined = np.zeros_like(base)
            for adjacency in adjacencies:
                slots = match(base, adjacency)
                joined += adjacency[np.ix_(slots, slots)]
                advance()
            base = (joined > len(graphs) / 2).astype(float)
        laid = []
        for adjacency in matched:
            laid.append(match(base, adjacency))
            advance()
    common = Graph(len(base), np.argwhere(np.triu(base, 1) > 0))
    [cloud] = fit_clouds([common], dim)
    while dim == "auto" and cloud.dim < MAX_DIM:
        balls = _balls(cloud)  # what most graphs have may need a smaller d than the graphs do
        if all(_fit_near(topology, slots, balls).exact for topology, slots in zip(topologies, laid, strict=True)):
            break
        [cloud] = fit_clouds([common], cloud.dim + 1)
    return Consensus(common, _balls(cloud))


def _balls(cloud: HyperballCloud) -> NDArray[np.float32]:
    """(n, d), in the graph's own numbering."""
    return np.column_stack([cloud.centers, cloud.radii_raw])


def consensus_clouds(graphs: Sequence[Graph], consensus: Consensus, *, progress: bool = False) -> list[HyperballCloud]:
    """A cloud for each graph, fitted from that of the consensus; the node order are the consensus's slots."""
    for graph in graphs:
        if graph.n != consensus.graph.n:
            raise GeoGAEError(
                f"{graph!r} cannot be laid on the consensus of {consensus.graph.n} nodes; its graphs are all of that "
                f"size: leave it out, or train with consensus=False"
            )
    base = consensus.graph.adjacency().astype(float)
    clouds = []
    with progress_bar("matching", len(graphs), progress) as advance:
        for graph in graphs:
            form = canonicalise(graph)  # so that the match depends on nothing but the structure
            slots = form.order[match(base, form.topology.adjacency().astype(float))]  # (n,), slot i is node slots[i]
            clouds.append(replace(_fit_near(graph, slots, consensus.balls), canonical=form.complete))
            advance()
    _report(clouds)
    return clouds


def clouds_in_slots(graphs: Sequence[Graph], consensus: Consensus) -> list[HyperballCloud]:
    """Clouds of graphs whose node i is slot i already."""
    slots = np.arange(consensus.graph.n)
    return [_fit_near(graph, slots, consensus.balls) for graph in graphs]


def _report(clouds: Sequence[HyperballCloud]) -> None:
    """Say which clouds are inexact, and how many graphs have no canonical numbering."""
    inexact = [cloud.graph.name or f"#{i}" for i, cloud in enumerate(clouds) if cloud.graph and not cloud.exact]
    if inexact:
        names, dim = ", ".join(inexact[:5]) + (", …" if len(inexact) > 5 else ""), clouds[0].dim
        log.warning(
            "dim=%d leaves %d of %d graphs inexact when fitted from the consensus (%s); a fit with dim=%d may not",
            dim, len(inexact), len(clouds), names, dim + 1,
        )  # fmt: skip
    if unfinished := sum(not cloud.canonical for cloud in clouds):
        log.warning("%d graphs are too symmetric for the labelling's budget: renumbered, they may differ", unfinished)


def match(base: NDArray[np.float64], adjacency: NDArray[np.float64]) -> NDArray[np.int64]:
    """Which node lies on each node of ``base``, (n,), so that many edges coincide: FAQ from alike surroundings."""
    ours, theirs = _surroundings(base), _surroundings(adjacency)  # (n, f)
    scale = ours.std(0) + 1e-9
    unlike = (((ours[:, None] - theirs[None]) / scale) ** 2).mean(-1)  # (n, n)
    start = _doubly_stochastic(np.exp(-unlike / SPREAD) + 1e-4)
    how = {"maximize": True, "P0": start, "tol": 1e-4, "maxiter": 60, "rng": np.random.default_rng(0)}  # none is drawn
    return quadratic_assignment(base, adjacency, options=how).col_ind


def _surroundings(adjacency: NDArray[np.float64]) -> NDArray[np.float64]:
    """Features of nodes: degree, diagonals of heat kernels, numbers of walks and of closed walks, (n, f)."""
    degree = adjacency.sum(1)
    values, vectors = np.linalg.eigh(np.diag(degree) - adjacency)
    columns = [degree, *((vectors**2 * np.exp(-time * values)).sum(1) for time in HEAT)]
    walks = adjacency
    for _ in range(2, WALKS + 1):
        walks = walks @ adjacency
        columns += [np.log1p(np.diag(walks)), np.log1p(walks.sum(1))]
    return np.column_stack(columns)


def _doubly_stochastic(weights: NDArray[np.float64], rounds: int = 3000) -> NDArray[np.float64]:
    """Sinkhorn: factors for the rows and the columns in turn, until all sum to one; what is missing then is spread."""
    columns = np.ones(len(weights))
    for _ in range(rounds):
        rows = 1 / (weights @ columns)
        columns, before = 1 / (rows @ weights), columns
        if np.abs(columns / before - 1).max() < 1e-7:
            break
    shares = rows[:, None] * weights * columns
    shares /= np.maximum(shares.sum(1, keepdims=True), 1)
    shares /= np.maximum(shares.sum(0), 1)
    missing, short = (np.maximum(1 - shares.sum(axis), 0) for axis in (1, 0))  # of one sum
    return shares + np.outer(missing, short) / max(short.sum(), np.finfo(float).tiny)


def _fit_near(graph: Graph, slots: NDArray[np.int64], balls: NDArray[np.float32]) -> HyperballCloud:
    joined = graph.relabel(slots).adjacency()
    centers = np.ascontiguousarray(balls[:, :-1].T, dtype=np.float32)  # (d-1, n)
    raw = balls[:, -1].astype(np.float32).copy()
    sign = np.where(joined, np.int8(1), np.int8(-1))
    np.fill_diagonal(sign, -1)
    steps, _, _ = descend(
        centers, raw, sign, 0, f32(0.5), f32(0), TEMPERATURE, TEMPERATURE, f32(MARGIN), RATE, STEPS, STEPS,
        np.zeros(1, dtype=bool),
    )  # fmt: skip
    own_centers, own_raw = np.empty((graph.n, len(centers)), np.float32), np.empty(graph.n, np.float32)
    own_centers[slots], own_raw[slots] = centers.T, raw
    return HyperballCloud(own_centers, own_raw, slots, graph, steps=steps, tries=1)
