"""What a model makes of graphs: everything that a page shows of them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geogae import metrics
from geogae.errors import GeoGAEError
from geogae.estimator import GeoGAE
from geogae.graph import Graph

log = logging.getLogger("geogae")


class Seen(NamedTuple):
    """Graphs that the model can encode, in the order of its nodes, beside what comes back from z."""

    places: NDArray[np.int64]  # (N,), of these graphs among those that were given
    graphs: list[Graph]
    balls: list[NDArray[np.float32]] | None  # (n, d) each, of the nodes that have a ball
    z: NDArray[np.float32]  # (N, m)
    back: list[Graph]
    back_balls: list[NDArray[np.float32]] | None
    descriptor: NDArray[np.float32] | None  # (N, k)
    left_out: str  # how many graphs cannot be encoded and why, in a sentence; empty if all can

    @property
    def error(self) -> NDArray[np.float64]:
        """1 - F1 of each graph."""
        return 1 - np.array([metrics.edge_f1(true, back) for true, back in zip(self.graphs, self.back, strict=True)])


def see(model: GeoGAE, graphs: Sequence[Graph], *, progress: bool = False) -> Seen:
    """Encode and decode; graphs that cannot be encoded are left out, and counted."""
    autoencoder = model.autoencoder_
    reasons = [autoencoder.why_not(graph) for graph in graphs]
    places = np.flatnonzero([reason is None for reason in reasons])
    lost = [reason for reason in reasons if reason is not None]
    left_out = ""
    if lost:
        left_out = f"{len(lost)} of {len(graphs)} graphs cannot be encoded and are not shown; the first: {lost[0]}"
        log.warning("%s", left_out)
    if not len(places):
        raise GeoGAEError(f"the model can encode none of the {len(graphs)} graphs; the first: {lost[0]}")
    chosen = [graphs[i] for i in places.tolist()]
    readings = autoencoder.read(chosen, progress=progress)
    z = autoencoder.encode(readings)
    decodings = autoencoder.decode(z)
    return Seen(
        places=places,
        graphs=[reading.ordered for reading in readings],
        balls=_balls(readings),
        z=z,
        back=[decoding.graph for decoding in decodings],
        back_balls=_balls(decodings),
        descriptor=describe(model, chosen),
        left_out=left_out,
    )


def _balls(parts: Sequence[Any]) -> list[NDArray[np.float32]] | None:
    """The balls of readings or decodings; None where an autoencoder has no geometry."""
    found = []
    for part in parts:
        balls = part.balls if hasattr(part, "balls") else part.cloud.balls if hasattr(part, "cloud") else None
        if balls is None:
            return None
        found.append(balls)
    return found


def describe(model: GeoGAE, graphs: Sequence[Graph]) -> NDArray[np.float32] | None:
    """The descriptors of the graphs; None from a model that has none."""
    return None if model.autoencoder_.descriptor is None else model.describe(list(graphs))
