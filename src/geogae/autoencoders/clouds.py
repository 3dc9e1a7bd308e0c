"""Graphs to ordered clouds, as a fitted model reads them: in its dimension, node order and margin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray

from geogae.autoencoders.base import State
from geogae.autoencoders.consensus import Consensus, clouds_in_slots, consensus_clouds, make_consensus
from geogae.autoencoders.slots import Folded
from geogae.checks import check_choice, check_number
from geogae.geometry.cloud import HyperballCloud
from geogae.geometry.fitting import fit_clouds
from geogae.geometry.ordering import ORDERS
from geogae.geometry.recipe import check_dim
from geogae.graph import Graph

MAX_MARGIN = 1e3


class CloudReader:
    """``dim``, ``order`` and ``margin`` as in :func:`fit_clouds`; with ``consensus`` the order is found by matching."""

    def __init__(self, dim: int | Literal["auto"], order: str, margin: float, consensus: bool) -> None:
        if dim != "auto":
            check_dim(dim)
        check_choice("order", order, ORDERS)
        check_number("margin", margin, float, 0, MAX_MARGIN)
        check_choice("consensus", consensus, (False, True))
        self.dim, self.order, self.margin, self.uses_consensus = dim, order, margin, consensus
        self.consensus: Consensus | None = None

    def fit(self, graphs: Sequence[Graph], *, progress: bool = False) -> list[HyperballCloud]:
        """Clouds of training graphs, which give the dimension and the consensus."""
        if self.uses_consensus:
            self.consensus = make_consensus(graphs, self.dim, progress=progress)
        clouds = self.read(graphs, progress=progress)
        self.dim = clouds[0].dim
        return clouds

    def read(self, graphs: Sequence[Graph], *, n_jobs: int = 1, progress: bool = False) -> list[HyperballCloud]:
        if self.consensus is not None:
            return consensus_clouds(graphs, self.consensus, progress=progress)
        jobs = max(n_jobs, torch.get_num_threads())
        return fit_clouds(graphs, self.dim, order=self.order, margin=self.margin, n_jobs=jobs, progress=progress)

    def read_edited(self, graphs: Sequence[Graph]) -> list[HyperballCloud]:
        """Clouds for training, by one try and not kept in the cache; graphs come numbered by the consensus, if any."""
        if self.consensus is not None:
            return clouds_in_slots(graphs, self.consensus)
        return fit_clouds(graphs, self.dim, order=self.order, margin=self.margin, tries=1, n_jobs=1, cache=False)

    def why_not(self, graph: Graph) -> str | None:
        if self.consensus is not None and graph.n != self.consensus.graph.n:
            return (
                f"it has {graph.n} nodes; graphs are laid on a consensus of {self.consensus.graph.n}: leave it out, or "
                f"train with consensus=False"
            )
        return None

    def state(self) -> State:
        if self.consensus is None:
            return State(facts={"dim": self.dim})
        edges = torch.from_numpy(self.consensus.graph.edges.copy())
        return State({"edges": edges, "balls": torch.from_numpy(self.consensus.balls)}, {"dim": self.dim})

    def restored(self, state: State) -> Self:
        """This reader with what it had learned."""
        self.dim = check_dim(state.facts["dim"])
        if self.uses_consensus:
            edges, balls = (state.tensors[name].numpy() for name in ("edges", "balls"))
            self.consensus = Consensus(Graph(len(balls), edges), balls)
        return self


def whole_order(cloud: HyperballCloud, steps: Sequence[Folded]) -> NDArray[np.int64]:
    """The nodes (n,) of a graph in the order in which a decoder writes them, from the cloud of its core."""
    order = cloud.order
    for step in reversed(steps):
        order = step.order(order)
    return order
