"""GRALE: an autoencoder whose decoder writes unordered slots, which a learned matcher aligns with the input's nodes.

    nodes X, pairs E → layers of attention, outer products and triangles → pooled over pairs → z
    learned slots → layers that also look at z → which slots exist, edges, attributes
    input nodes, slots → matcher → T (slot, input), a soft permutation under which the loss is computed

Every graph is padded to N nodes, the largest size that the network is built for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn

from geogae.autoencoders.base import Decoding, Reading, torch_device
from geogae.benchmark.baselines.features import categories, edge_features, hops, node_features, padded, with_attributes
from geogae.benchmark.baselines.grale_layers import PATHS, SPECTRUM, Decoder, Encoder, mlp
from geogae.benchmark.baselines.grale_loss import WEIGHTS, Padded, Slots, matched_loss
from geogae.benchmark.baselines.trained import TrainedAutoencoder
from geogae.checks import check_choice, check_number
from geogae.errors import GeoGAEError
from geogae.graph import Graph

MATCHING = 32  # numbers in which the matcher compares nodes
ITERATIONS = 50  # of Sinkhorn
SHARP_AT = 29  # the N up to which the authors' ε lets T be sharp (baselines, Sinkhorn with equidistant nodes)


# -- the network ------------------------------------------------------------------------------------------------------


class Network(nn.Module):
    def __init__(
        self,
        nodes: int,
        latent_dim: int,
        latent_tokens: int,
        layers: int,
        heads: int,
        node_hidden: int,
        node_dim: int,
        edge_hidden: int,
        edge_dim: int,
        dropout: float,
        matcher: str,
        node_width: int,
        edge_width: int,
    ) -> None:
        super().__init__()
        token = latent_dim // latent_tokens
        sizes = (layers, heads, node_hidden or node_dim, node_dim, edge_hidden or edge_dim, edge_dim, token, dropout)
        self.node_in = mlp(node_width + SPECTRUM, node_hidden, node_dim)
        self.pair_in = mlp(2 * (node_width + SPECTRUM) + edge_width + PATHS, edge_hidden, edge_dim)
        self.encoder = Encoder(*sizes, latent_tokens)
        self.decoder = Decoder(*sizes, nodes)
        for stack in (self.encoder, self.decoder):
            for parameter in stack.parameters():
                if parameter.ndim >= 2:
                    nn.init.xavier_uniform_(parameter)
        self.exists, self.nodes = nn.Linear(node_dim, 1), nn.Linear(node_dim, node_width)
        self.edges, self.edge_labels = nn.Linear(edge_dim, 1), nn.Linear(edge_dim, edge_width)
        self.neighbours = mlp(node_dim, node_hidden or node_dim, node_width)
        self.paths = mlp(edge_dim, edge_hidden or edge_dim, 1)
        self.embeddings = mlp(node_dim, node_hidden or node_dim, node_dim)
        self.padding = nn.Parameter(torch.randn(node_dim))  # stands for the inputs that are none
        if matcher == "sinkhorn":
            self.slots = nn.Parameter(torch.randn(nodes, node_dim))
            self.of_slot, self.of_input = nn.Linear(node_dim, MATCHING), nn.Linear(node_dim, MATCHING)
        else:
            self.score = nn.Linear(node_dim, 1)

    def forward(self, batch: Padded) -> tuple[Slots, Tensor]:
        """Slots, and the matcher's costs (b, slot, input)."""
        z, states = self.encode(batch)
        slots = self.decode(z)
        return slots, self.costs(slots, states)

    def encode(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """z, (b, tokens · d_g), and the inputs' states (b, N, node_dim), padding replaced."""
        x = torch.cat([batch.nodes, batch.spectrum], -1)  # (b, N, F + SPECTRUM)
        n = x.shape[1]
        frequency = 10000 ** (-torch.arange(PATHS // 2, device=x.device) / (PATHS // 2))
        angle = batch.hops[..., None] * frequency
        i, j = x[:, :, None].expand(-1, -1, n, -1), x[:, None].expand(-1, n, -1, -1)
        pairs = self.pair_in(torch.cat([j, i, batch.edges, angle.sin(), angle.cos()], -1))  # (b, N, N, edge_dim)
        x, z = self.encoder(self.node_in(x), pairs, batch.real)
        return z.flatten(1), torch.where(batch.real[..., None] > 0, x, self.padding)

    def decode(self, z: Tensor) -> Slots:
        x, pairs = self.decoder(z)  # (b, N, node_dim), (b, N, N, edge_dim)
        written = Slots(
            self.exists(x)[..., 0],
            self.nodes(x),
            self.neighbours(x),
            self.edges(pairs)[..., 0],
            self.edge_labels(pairs),
            self.paths(pairs)[..., 0],
            self.embeddings(x),
        )
        return Slots(*(part.float() for part in written))

    def costs(self, slots: Slots, states: Tensor) -> Tensor:
        """C (b, slot, input), which sums to 1 for each graph."""
        with torch.autocast(states.device.type, enabled=False):  # ε is smaller than the steps of bfloat16
            if hasattr(self, "score"):
                scores = self.score(states.float())[..., 0]  # (b, N), of the inputs
                costs = (scores.sort(-1, descending=True).values[:, :, None] - scores[:, None]).abs()
            else:
                of_slot, of_input = self.of_slot(slots.embeddings + self.slots), self.of_input(states.float())
                costs = torch.cdist(of_slot, of_input, p=1) / MATCHING**0.5
        return costs / costs.sum((1, 2), keepdim=True).clamp(min=1e-12)


def sinkhorn(log_kernel: Tensor) -> Tensor:
    """T with all sums near 1, from log K (b, slot, input)."""
    for _ in range(ITERATIONS):
        log_kernel = log_kernel - log_kernel.logsumexp(2, keepdim=True)
        log_kernel = log_kernel - log_kernel.logsumexp(1, keepdim=True)
    return log_kernel.exp()


# -- the autoencoder --------------------------------------------------------------------------------------------------


class GRALE(TrainedAutoencoder[Padded]):
    """Graph-level autoencoder with a learned matching.

    Parameters:
        latent_dim: size of z, ``latent_tokens`` vectors of d_g numbers.
        layers, heads: of encoder, pooling and decoder.
        node_dim, edge_dim: widths of the states of nodes and of pairs, node_hidden and edge_hidden those of their
            feed-forward layers; 0 for an input map without a hidden layer.
        matcher: ``"sinkhorn"`` or ``"softsort"``.
        epsilon: the matcher's ε; ``epsilon_scaled`` multiplies it by (29 / N)², so that T can be sharp for any N.
        eigenvectors: of the Laplacian of the ``"padded"`` graph, as the authors do, or of its ``"own"`` nodes.
        max_nodes: N; None for the largest graph of training and validation.
    """

    side_information = ("alignment", "mask")

    def __init__(
        self,
        *,
        latent_dim: int = 128,
        latent_tokens: int = 1,
        layers: int = 3,
        heads: int = 8,
        node_hidden: int = 64,
        node_dim: int = 64,
        edge_hidden: int = 32,
        edge_dim: int = 32,
        matcher: str = "sinkhorn",
        epsilon: float = 1e-4,
        epsilon_scaled: bool = False,
        eigenvectors: str = "padded",
        dropout: float = 0.0,
        max_nodes: int | None = None,
        attributes: str = "ignored",
        lr: float = 1e-4,
        weight_decay: float = 0.01,
        clip: float = 1.0,
        batch_size: int = 64,
        epochs: int | None = None,
        minutes: float | None = None,
        core_minutes: float | None = 20.0,
        patience: int | None = None,
        validations: int = 10,
        memory_gib: float | None = None,
        precision: str = "auto",
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        super().__init__(
            latent_dim=latent_dim, attributes=attributes, lr=lr, weight_decay=weight_decay, clip=clip,
            batch_size=batch_size, epochs=epochs, minutes=minutes, core_minutes=core_minutes, patience=patience,
            validations=validations, memory_gib=memory_gib, precision=precision, device=device, seed=seed,
        )  # fmt: skip
        for name, value in (("latent_tokens", latent_tokens), ("layers", layers), ("heads", heads)):
            check_number(name, value, int, 1)
        for name, value in (("node_hidden", node_hidden), ("edge_hidden", edge_hidden)):
            check_number(name, value, int, 0)
        if latent_dim % latent_tokens:
            raise GeoGAEError(f"latent_dim={latent_dim} must be a multiple of latent_tokens={latent_tokens}")
        for name, value in (("node_dim", node_dim), ("edge_dim", edge_dim), ("d_g", latent_dim // latent_tokens)):
            check_number(name, value, int, 2)
            if value % heads or value % 2:
                raise GeoGAEError(f"{name}={value} must be even and a multiple of heads={heads}")
        check_choice("matcher", matcher, ("sinkhorn", "softsort"))
        check_choice("eigenvectors", eigenvectors, ("padded", "own"))
        check_number("epsilon", epsilon, float, 1e-12)
        check_number("dropout", dropout, float, 0, 0.99)
        check_number("max_nodes", max_nodes, int, 1, optional=True)
        self.latent_tokens, self.layers, self.heads = latent_tokens, layers, heads
        self.node_hidden, self.node_dim, self.edge_hidden, self.edge_dim = node_hidden, node_dim, edge_hidden, edge_dim
        self.matcher, self.epsilon, self.epsilon_scaled = matcher, epsilon, bool(epsilon_scaled)
        self.eigenvectors, self.dropout, self.max_nodes = eigenvectors, dropout, max_nodes

    def learn(self, graphs: Sequence[Graph]) -> dict[str, Any]:
        return {"nodes": max(self.max_nodes or 1, *(graph.n for graph in graphs))}

    def build(self, nodes: int | None = None) -> Network:
        return Network(
            nodes or self.facts["nodes"], self.latent_dim, self.latent_tokens, self.layers, self.heads,
            self.node_hidden, self.node_dim, self.edge_hidden, self.edge_dim, self.dropout, self.matcher,
            self._node_width, self._edge_width,
        )  # fmt: skip

    @property
    def _node_width(self) -> int:
        return (self.schema.node.width if self.schema else 0) or 1

    @property
    def _edge_widths(self) -> list[int]:
        """Of the edges' labels, "none" among them; one that says no more than "edge" if there are none."""
        known = categories(self.schema.edge) if self.schema else []
        return [1 + width for width in known] or [2]

    @property
    def _edge_width(self) -> int:
        return sum(self._edge_widths) + (len(self.schema.edge.mean) if self.schema else 0)

    def why_not(self, graph: Graph) -> str | None:
        if graph.n > self.facts["nodes"]:
            return f"the graph has {graph.n} nodes; this GRALE is built for at most {self.facts['nodes']} (max_nodes)"
        return super().why_not(graph)

    # -- batches ------------------------------------------------------------------------------------------------------

    def collate(self, readings: Sequence[Reading]) -> Padded:
        graphs, n = [reading.ordered for reading in readings], self.facts["nodes"]
        adjacency = [graph.adjacency().astype(np.float32) for graph in graphs]
        spectra = [laplacian_eigenvectors(graph, n if self.eigenvectors == "padded" else graph.n) for graph in graphs]
        return Padded(
            padded([np.ones(graph.n, dtype=np.float32) for graph in graphs], n, 1),
            padded([node_features(graph, self.schema) for graph in graphs], n, 1),
            padded(spectra, n, 1),
            padded(adjacency, n, 2),
            padded([np.where(np.isfinite(paths := hops(graph)), paths, n) for graph in graphs], n, 2, n),
            padded([self._edge_labels(graph) for graph in graphs], n, 2),
        )

    def _edge_labels(self, graph: Graph) -> NDArray[np.float32]:
        """(n, n, w): of each categorical column "none" and its categories, then the numbers."""
        joined = graph.adjacency().astype(np.float32)[..., None]
        known = edge_features(graph, self.schema)  # (n, n, w), 0 without an edge
        columns, begin = [], 0
        for width in categories(self.schema.edge) if self.schema else []:
            columns += [1 - joined, known[..., begin : begin + width]]
            begin += width
        return np.concatenate([*(columns or [1 - joined, joined]), known[..., begin:]], -1)

    def blank(self, n: int, batch_size: int) -> Padded:
        shapes = ((n,), (n, self._node_width), (n, SPECTRUM), (n, n), (n, n), (n, n, self._edge_width))
        return Padded(*(torch.empty(batch_size, *shape) for shape in shapes))

    # -- training -----------------------------------------------------------------------------------------------------

    def plan(self, costs: Tensor) -> Tensor:
        """T (b, slot, input) of the matcher's costs."""
        epsilon = self.epsilon * (SHARP_AT / costs.shape[1]) ** 2 if self.epsilon_scaled else self.epsilon
        return sinkhorn(-costs / epsilon) if self.matcher == "sinkhorn" else (-costs / epsilon).softmax(1)

    def loss(self, network: nn.Module, batch: Padded) -> dict[str, Tensor]:
        slots, costs = network(batch)
        node_widths = categories(self.schema.node) if self.schema and self.schema.node.width else [1]
        with torch.autocast(costs.device.type, enabled=False):
            parts = matched_loss(slots, batch, self.plan(costs), node_widths, self._edge_widths)
        total = torch.stack([WEIGHTS[name] * part for name, part in parts.items()]).sum()
        return {"total": total} | {name: part.detach() for name, part in parts.items()}

    # -- z and back ---------------------------------------------------------------------------------------------------

    def codes(self, batch: Padded) -> Tensor:
        z: Tensor = self.network.encode(batch)[0]  # type: ignore[operator]
        return z

    def write(self, z: Tensor, readings: Sequence[Reading] | None, side_information: str | None) -> list[Decoding]:
        """One z; the slots that exist, in their own order or in that of the true nodes that they are matched with.

        A true node whose slot does not exist keeps its number, as a node without edges.
        """
        slots: Slots = self.network.decode(z)  # type: ignore[operator]
        exists = slots.exists[0].cpu().numpy() > 0  # (N,)
        if not exists.any():
            exists[int(slots.exists[0].argmax())] = True
        if readings is None:
            chosen = np.flatnonzero(exists)
        else:
            batch = self.collate(readings[:1]).to(torch_device(self.device))
            _, states = self.network.encode(batch)  # type: ignore[operator]
            slot_of = self._assignment(self.network.costs(slots, states)[0], states)  # type: ignore[operator]
            n = readings[0].ordered.n
            if side_information == "mask":
                exists = np.zeros_like(exists)
                exists[slot_of[:n]] = True
            chosen = slot_of[: 1 + np.flatnonzero(exists[slot_of]).max()]
        logits = slots.edges[0].cpu().numpy()
        joined = (logits + logits.T > 0) & exists[:, None] & exists
        edges = np.argwhere(np.triu(joined[np.ix_(chosen, chosen)], 1))
        nodes, labels = slots.nodes[0].cpu().numpy()[chosen], self._without_none(slots.edge_labels[0])
        labels = labels[np.ix_(chosen, chosen)]
        return [Decoding(with_attributes(Graph(len(chosen), edges), self.schema, nodes, labels))]

    def _assignment(self, costs: Tensor, states: Tensor) -> NDArray[np.int64]:
        """The slot of each input, (N,)."""
        if self.matcher == "softsort":  # the rank of its score
            scores = self.network.score(states)[0, :, 0].cpu().numpy()  # type: ignore[operator]
            return np.argsort(np.argsort(-scores, kind="stable"), kind="stable")
        slot, node = linear_sum_assignment(costs.cpu().numpy())
        return slot[np.argsort(node)]

    def _without_none(self, labels: Tensor) -> NDArray[np.float32]:
        """Edge features (N, N, w) as the schema has them, averaged over both directions."""
        values = ((labels + labels.transpose(0, 1)) / 2).cpu().numpy()
        begin, columns = 0, [values[..., :0]]
        for width in self._edge_widths:
            columns.append(values[..., begin + 1 : begin + width])
            begin += width
        return np.concatenate([*columns, values[..., begin:]], -1)


def laplacian_eigenvectors(graph: Graph, n: int) -> NDArray[np.float32]:
    """Eigenvectors 2 … SPECTRUM + 1 of the Laplacian of the graph with n nodes, on its own nodes, (graph.n, SPECTRUM).

    The largest entry of each is positive.
    """
    laplacian = np.zeros((n, n))
    laplacian[: graph.n, : graph.n] = np.diag(graph.degrees) - graph.adjacency()
    vectors = np.linalg.eigh(laplacian)[1][:, 1 : SPECTRUM + 1]  # (n, up to SPECTRUM)
    if vectors.shape[1]:
        vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(0), np.arange(vectors.shape[1])])
    whole = np.zeros((graph.n, SPECTRUM), dtype=np.float32)
    whole[:, : vectors.shape[1]] = vectors[: graph.n]
    return whole
