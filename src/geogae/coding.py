"""From clouds to z and from z to graphs, in batches: what the estimator does with a fitted network.

Slots hold one node each (parallel, linear); what rides beside the balls is a payload. Sequences are read and written
token by token (sequential); attributes are features of nodes and edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from geogae.attributes import Schema
from geogae.geometry.cloud import HyperballCloud, graphs_of_balls
from geogae.geometry.family import FREE, Bounds
from geogae.geometry.folding import unfold
from geogae.graph import Graph
from geogae.model.autoencoder import SequentialAutoencoder
from geogae.model.decoder import Decoded
from geogae.model.linear import NOISE, LinearAutoencoder
from geogae.model.parallel import ParallelAutoencoder
from geogae.model.payload import Leaves, Load, Payload
from geogae.training.batches import Batch, Sequences

BATCH = 256  # graphs at a time


class Decoding(NamedTuple):
    """What came out of one z."""

    graph: Graph
    balls: NDArray[np.float32]  # (n, d), of the nodes that have one: not of leaves that were folded
    stop: NDArray[np.float32]  # (n,), the probability of each of these to be the last
    truncated: bool  # generation hit its limit before the model stopped

    @property
    def cloud(self) -> HyperballCloud:
        """Of all nodes, or of those that are left where leaves are folded."""
        return HyperballCloud(self.balls[:, :-1].copy(), self.balls[:, -1].copy(), np.arange(len(self.balls)))


def ordered(clouds: Sequence[HyperballCloud]) -> list[Graph]:
    """The clouds' graphs in node order."""
    return [cloud.ordered_graph for cloud in clouds]


# -- sequences --------------------------------------------------------------------------------------------------------


def encode_sequences(
    model: SequentialAutoencoder, clouds: Sequence[HyperballCloud], schema: Schema | None, device: torch.device
) -> NDArray[np.float32]:
    z = np.empty((len(clouds), model.latent_dim), dtype=np.float32)
    sequences = Sequences(clouds, schema)
    for chosen in sequences.by_size(BATCH):
        batch = sequences[chosen].to(device)
        z[chosen] = model.encode(batch.balls, batch.sizes, batch.attributes).float().cpu().numpy()
    return z


def decode_sequences(
    model: SequentialAutoencoder, z: NDArray[np.float32], max_nodes: int, schema: Schema | None, device: torch.device
) -> list[Decoding]:
    """``schema`` if attributes are to be read."""
    decodings = []
    for rows in _batches(z, device):
        decoded = model.decode(rows, max_nodes)
        graphs = graphs_of_balls(decoded.balls.cpu().numpy(), decoded.sizes.cpu().numpy())
        decodings += _decodings(decoded, graphs if schema is None else _dressed(model, decoded, graphs, schema))
    return decodings


def _dressed(model: SequentialAutoencoder, decoded: Decoded, graphs: list[Graph], schema: Schema) -> list[Graph]:
    """Graphs with the attributes that the heads read off the decoder's tokens."""
    counts = [len(graph.edges) for graph in graphs]
    nodes = np.zeros((len(graphs), decoded.balls.shape[1], 0), np.float32)
    edges = np.zeros((sum(counts), 0), np.float32)
    if decoded.node_features is not None:
        nodes = decoded.node_features.float().cpu().numpy()
    if decoded.vectors is not None:
        pairs = np.concatenate([np.empty((0, 2), np.int64), *(graph.edges for graph in graphs)])
        joined = np.column_stack([np.repeat(np.arange(len(graphs)), counts), pairs])  # (M, 3)
        told = model.edge_features(decoded.vectors, torch.from_numpy(joined).to(decoded.balls.device))
        edges = told.float().cpu().numpy()
    each = np.split(edges, np.cumsum(counts)[:-1])
    return [
        schema.dress(graph, schema.node.read(nodes[row, : graph.n]), schema.edge.read(own))
        for row, (graph, own) in enumerate(zip(graphs, each, strict=True))
    ]


# -- slots ------------------------------------------------------------------------------------------------------------


def fit_slots(model: LinearAutoencoder, clouds: Sequence[HyperballCloud], payload: Payload | Leaves | None) -> None:
    """Fit the linear decoder to training clouds and what they carry."""
    if payload is None:
        model.fit([cloud.balls for cloud in clouds])
        return
    loads = _loads(payload, clouds)
    nodes = [np.concatenate([cloud.balls, load.values], axis=1) for cloud, load in zip(clouds, loads, strict=True)]
    model.fit(nodes, np.stack([load.riders for load in loads]))


def encode_slots(
    model: LinearAutoencoder,
    clouds: Sequence[HyperballCloud],
    payload: Payload | Leaves | None,
    bound: bool,
    device: torch.device,
) -> NDArray[np.float32]:
    """z of each cloud; it descends for the attributes' sake only if they are ``bound`` to come back."""
    z = np.empty((len(clouds), model.latent_dim), dtype=np.float32)
    sequences = Sequences(clouds)
    for chosen in sequences.by_size(BATCH):
        batch = sequences[chosen].to(device)
        nodes, given = batch.balls, dict[str, Any]()
        if payload is not None:
            loads = _loads(payload, [clouds[graph] for graph in chosen])
            nodes, given = _loaded(batch, loads, payload, bound)
        if isinstance(model, ParallelAutoencoder):
            given |= {"adjacency": batch.adjacency}
        else:
            given.pop("bounds", None)  # nothing descends to them
        codes = model.encode(nodes, batch.sizes, **given)
        if isinstance(payload, Payload) and payload.riders:
            codes = _ridden(model, codes, payload, ordered([clouds[graph] for graph in chosen]))
        z[chosen] = codes.float().cpu().numpy()
    return z


def decode_slots(
    model: LinearAutoencoder,
    z: NDArray[np.float32],
    max_nodes: int,
    d: int,
    payload: Payload | Leaves | None,
    device: torch.device,
) -> list[Decoding]:
    """``payload`` if attributes are to be read; d is the dimension of a ball."""
    decodings = []
    for rows in _batches(z, device):
        decoded = model.decode(rows, max_nodes)
        nodes, riders = decoded.balls.cpu().numpy(), model.parts(rows)[2].cpu().numpy()
        decoded = decoded._replace(balls=decoded.balls[..., :d])
        graphs = graphs_of_balls(nodes[..., :d], decoded.sizes.cpu().numpy())
        if isinstance(payload, Payload):
            graphs = [payload.unload(graph, nodes[row, : graph.n, d:], riders[row]) for row, graph in enumerate(graphs)]
        elif payload is not None:
            counts = [payload.counts(nodes[row, : core.n, d:], max_nodes) for row, core in enumerate(graphs)]
            asked = decoded.sizes + torch.tensor([own.sum() for own in counts], device=device)
            decoded = decoded._replace(truncated=decoded.truncated | (asked > max_nodes))
            graphs = [unfold(core, own, max_nodes) for core, own in zip(graphs, counts, strict=True)]
        decodings += _decodings(decoded, graphs)
    return decodings


def _loads(payload: Payload | Leaves, clouds: Sequence[HyperballCloud]) -> list[Load]:
    return [payload.load(cloud.graph.relabel(cloud.order)) for cloud in clouds if cloud.graph is not None]


def _loaded(batch: Batch, loads: list[Load], payload: Payload | Leaves, bound: bool) -> tuple[Tensor, dict[str, Any]]:
    """Nodes (B, n, d + e) of balls and what they carry, and what else :meth:`LinearAutoencoder.encode` is given."""
    count, n, d = batch.balls.shape
    values = np.zeros((count, n, payload.width), np.float32)
    noise = np.full((count, n, d + payload.width), np.inf, np.float32)
    for row, load in enumerate(loads):
        size = len(load.values)
        values[row, :size], noise[row, :size, :d] = load.values, NOISE
        noise[row, :size, d:][load.present] = NOISE
    device = batch.balls.device
    nodes = torch.cat([batch.balls, torch.from_numpy(values).to(device)], dim=2)
    riders = torch.from_numpy(np.stack([load.riders for load in loads])).to(device)
    bounds = [load.bounds if bound else _unbound(load.bounds) for load in loads]
    gaps = {"noise": torch.from_numpy(noise).to(device)} if payload.gaps else {}
    return nodes, {**gaps, "riders": riders, "bounds": bounds}


def _unbound(bounds: Bounds) -> Bounds:
    return Bounds(np.full_like(bounds.low, -FREE), np.full_like(bounds.high, FREE), np.zeros_like(bounds.weight))


def _ridden(model: LinearAutoencoder, z: Tensor, payload: Payload, true: Sequence[Graph]) -> Tensor:
    """The same z with the riders of what its slots decode to, be it the graph or not quite."""
    decoded = model.decode(z, model.slots)
    nodes, d = decoded.balls.cpu().numpy(), model.d - payload.width
    graphs = graphs_of_balls(nodes[..., :d], decoded.sizes.cpu().numpy())
    sizes, components, _ = model.parts(z)
    riders = [
        payload.riders_beside(graph, back, nodes[row, : back.n, d:])
        for row, (graph, back) in enumerate(zip(true, graphs, strict=True))
    ]
    return model.assembled(sizes, components, torch.from_numpy(np.stack(riders)).to(z.device))


# -- both -------------------------------------------------------------------------------------------------------------


def _batches(z: NDArray[np.float32], device: torch.device) -> list[Tensor]:
    return [torch.from_numpy(z[begin : begin + BATCH]).to(device) for begin in range(0, len(z), BATCH)]


def _decodings(decoded: Decoded, graphs: list[Graph]) -> list[Decoding]:
    parts = (decoded.balls, decoded.sizes, decoded.stop_probability, decoded.truncated)
    balls, sizes, stop, truncated = (part.cpu().numpy() for part in parts)
    return [
        Decoding(graph, balls[row, : sizes[row]], stop[row, : sizes[row]], bool(truncated[row]))
        for row, graph in enumerate(graphs)
    ]
