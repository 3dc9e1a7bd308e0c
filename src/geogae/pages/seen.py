"""What a model makes of graphs: everything that a page shows of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geogae import metrics
from geogae.errors import GeoGAEError
from geogae.estimator import GeoGAE
from geogae.graph import Graph


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


def see(model: GeoGAE, graphs: Sequence[Graph]) -> Seen:
    """Encode and decode; graphs that cannot be encoded are left out, and counted."""
    readable = np.flatnonzero(model.reads(graphs))
    if not len(readable):
        raise GeoGAEError(f"the model can encode none of the {len(graphs)} graphs; {_reason(model, graphs[0])}")
    chosen = [graphs[i] for i in readable]
    z = model.encode(chosen)
    clouds = model._own_clouds(chosen)
    decodings = model.decode(z, details=True)
    lost = len(graphs) - len(chosen)
    first = next((graph for i, graph in enumerate(graphs) if i not in set(readable.tolist())), None)
    return Seen(
        places=readable,
        graphs=[cloud.ordered_graph for cloud in clouds],
        balls=[cloud.balls for cloud in clouds],
        z=z,
        back=[decoding.graph for decoding in decodings],
        back_balls=[decoding.balls for decoding in decodings],
        descriptor=describe(model, chosen),
        left_out=f"{lost} of {len(graphs)} graphs cannot be encoded and are not shown; {_reason(model, first)}"
        if first is not None
        else "",
    )


def describe(model: GeoGAE, graphs: Sequence[Graph]) -> NDArray[np.float32] | None:
    """The descriptors of the graphs; None from a model that has none."""
    describe = getattr(model, "describe", None)
    try:
        return None if describe is None else np.asarray(describe(graphs), dtype=np.float32)
    except GeoGAEError:
        return None


def _reason(model: GeoGAE, graph: Graph) -> str:
    try:
        model.encode([graph])
    except GeoGAEError as error:
        return f"the first: {error}"
    return ""
