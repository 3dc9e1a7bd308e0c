"""ReGAE: an adjacency matrix as a triangle of blocks, folded into z by one recurrent cell and unfolded by another.

    graph → breadth-first order → lower triangle in B×B blocks → encoder, main diagonal to corner → z
    z → decoder, corner to main diagonal → blocks of edges and of a mask that says where the graph ends

Blocks are counted from the bottom left corner of the matrix, which holds the edges between the last and first nodes.
Block diagonal t (0 in the corner) has t + 1 blocks. A cell that lies u rows above the last one, in column c, stands for
the pair of nodes (n - 1 - u, c); it lies on sub-diagonal u + c, which is valid up to n - 2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from math import ceil
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from geogae.autoencoders.base import Decoding, Reading
from geogae.benchmark.baselines.trained import TrainedAutoencoder
from geogae.checks import check_number
from geogae.errors import GeoGAEError
from geogae.graph import Graph

MASK_WEIGHT = 0.5
BORDER = 256  # hidden width of the two nets that make what lies beyond the ends of a diagonal


# -- graphs and blocks ------------------------------------------------------------------------------------------------


def breadth_first(graph: Graph) -> NDArray[np.int64]:
    """Nodes by degree, highest first, ties as they come; then breadth first from the first node not yet reached."""
    by_degree = np.argsort(-graph.degrees, kind="stable")
    rank = np.argsort(by_degree)
    neighbours: list[list[int]] = [[] for _ in range(graph.n)]
    for i, j in graph.edges.tolist():
        neighbours[i].append(j)
        neighbours[j].append(i)
    order: list[int] = []
    reached = np.zeros(graph.n, dtype=bool)
    for root in by_degree.tolist():
        if reached[root]:
            continue
        reached[root] = True
        queue = deque([root])
        while queue:
            order.append(node := queue.popleft())
            for other in sorted(neighbours[node], key=rank.__getitem__):
                if not reached[other]:
                    reached[other] = True
                    queue.append(other)
    return np.array(order, dtype=np.int64)


@lru_cache(maxsize=512)
def places(t: int, block: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows above the last one, and columns, of the cells of block diagonal t: (t + 1, B·B) each."""
    k = np.arange(t + 1)[:, None]
    row, column = np.divmod(np.arange(block * block), block)
    return (t - k) * block + (block - 1 - row), k * block + column


def to_blocks(graph: Graph, block: int) -> list[NDArray[np.int8]]:
    """Block diagonals from the corner, (t + 1, B·B) each: 1 edge, 0 none, -1 where there is no pair of nodes."""
    adjacency = graph.adjacency()
    diagonals = []
    for t in range(max(1, ceil((graph.n - 1) / block))):  # a single node has one block, all of it invalid
        above, column = places(t, block)
        valid = above + column <= graph.n - 2
        cells = np.full(above.shape, -1, dtype=np.int8)
        cells[valid] = adjacency[graph.n - 1 - above[valid], column[valid]]
        diagonals.append(cells)
    return diagonals


def from_blocks(diagonals: Sequence[NDArray[np.bool_]], n: int, block: int) -> Graph:
    """The graph of n nodes whose edges are the cells that are set: the way back from :func:`to_blocks`."""
    pairs = [np.zeros((0, 2), dtype=np.int64)]
    for t, cells in enumerate(diagonals):
        above, column = places(t, block)
        edge = cells & (above + column <= n - 2)
        pairs.append(np.column_stack([n - 1 - above[edge], column[edge]]))
    return Graph(n, np.concatenate(pairs))


class Blocks(NamedTuple):
    """B graphs, those with more block diagonals first."""

    diagonals: tuple[Tensor, ...]  # t → (graphs that reach t, t + 1, B·B), int8
    sizes: Tensor  # (b,)
    buckets: Tensor  # (b,), the number of block diagonals of each graph, as its place among the batch's
    depths: tuple[int, ...]  # the batch's numbers of block diagonals
    length: int  # block diagonals that the decoder writes: enough to hold the first invalid sub-diagonal
    rows: tuple[int, ...]  # of the readings, in the batch's order

    def to(self, device: torch.device) -> Blocks:
        moved = tuple(diagonal.to(device) for diagonal in self.diagonals)
        return self._replace(diagonals=moved, sizes=self.sizes.to(device), buckets=self.buckets.to(device))


# -- the network ------------------------------------------------------------------------------------------------------


def mlp(*widths: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.ELU()]
    return nn.Sequential(*layers[:-1])


class Network(nn.Module):
    """E numbers for each block, on the way in and on the way out."""

    def __init__(self, latent_dim: int, block: int, encoder_hidden: Sequence[int], decoder_hidden: Sequence[int]):
        super().__init__()
        self.latent_dim, self.block = latent_dim, block
        self.cell = mlp(2 * latent_dim + block * block, *encoder_hidden, 3 * latent_dim)
        self.uncell = mlp(latent_dim, *decoder_hidden, 2 * block * block + 2 * latent_dim)
        self.left, self.right = mlp(latent_dim, BORDER, latent_dim), mlp(latent_dim, BORDER, latent_dim)

    def forward(self, batch: Blocks) -> tuple[list[Tensor], Tensor]:
        """Logits of all block diagonals, (b, t + 1, B·B, 2) each, and the last one's embeddings (b, length, E)."""
        diagonals = list(islice(self.decode(self.encode(batch)), batch.length))
        return [logits.float() for logits, _ in diagonals], diagonals[-1][1].float()

    def encode(self, batch: Blocks) -> Tensor:
        """z, (b, E), from the main diagonal to the corner; smaller graphs join where their own begins."""
        size = self.latent_dim
        h = batch.sizes.new_zeros(0, len(batch.diagonals) + 1, size, dtype=torch.float32)
        for t in reversed(range(len(batch.diagonals))):
            cells = batch.diagonals[t].to(h.dtype)  # (a, t + 1, B·B), a graphs reach t
            h = torch.cat([h, h.new_zeros(len(cells) - len(h), t + 2, size)])  # (a, t + 2, E)
            above, right = h[:, :-1], h[:, 1:]
            e, m, q = self.cell(torch.cat([above, right, cells], -1)).chunk(3, -1)
            m, q = m.sigmoid(), q.sigmoid()
            h = m * (q * above + (1 - q) * right) + (1 - m) * e  # (a, t + 1, E)
        return h[:, 0]

    def decode(self, z: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Block diagonals from the corner on, without an end: mask and edge logits (b, t + 1, B·B, 2), embeddings."""
        l, r = z[:, None].chunk(2, -1)  # noqa: E741 (of the left and of the right neighbour), (b, t + 1, E/2)
        cells = self.block * self.block
        while True:
            lr = torch.cat([l, r], -1)
            out = self.uncell(lr)  # (b, t + 1, 2·B·B + 2·E)
            c, w = out[..., 2 * cells :].chunk(2, -1)
            new = w.sigmoid() * c + (1 - w.sigmoid()) * lr  # (b, t + 1, E)
            yield out[..., : 2 * cells].unflatten(-1, (cells, 2)), new
            below, beside = new.chunk(2, -1)
            l = torch.cat([below, border(self.left, below[:, :1], beside[:, :1])], 1)  # noqa: E741
            r = torch.cat([border(self.right, beside[:, -1:], below[:, -1:]), beside], 1)


def border(net: nn.Module, outer: Tensor, inner: Tensor) -> Tensor:
    """What stands for the neighbour that the block at the end of a diagonal does not have, (b, 1, E/2)."""
    v, g = net(torch.cat([outer, inner], -1)).chunk(2, -1)
    return g.sigmoid() * v + (1 - g.sigmoid()) * outer


# -- the autoencoder --------------------------------------------------------------------------------------------------


class ReGAE(TrainedAutoencoder[Blocks]):
    """Recursive graph autoencoder over blocks of the adjacency matrix.

    Parameters:
        latent_dim: E, the size of z and of every block's embedding; even.
        encoder_hidden, decoder_hidden: widths of the hidden layers of the two cells.
        block: B.
        edge_weight: p, the weight of pairs that are edges; pairs that are none have 1 - p.
        norm_weight: of the norm of the last embeddings in the loss. Where a graph is one block, they hold z itself.
        permutations: random numberings in which each training graph is shown; ties in
            the node order depend on them; 1 shows it as it is given.
    """

    side_information = ("size",)
    attributed = False

    def __init__(
        self,
        *,
        latent_dim: int = 160,
        encoder_hidden: Sequence[int] = (2048,),
        decoder_hidden: Sequence[int] = (2048,),
        block: int = 4,
        edge_weight: float = 0.5,
        norm_weight: float = 0.2,
        permutations: int = 10,
        attributes: str = "ignored",
        lr: float = 3e-4,
        weight_decay: float = 1e-3,
        clip: float = 1.0,
        batch_size: int = 64,
        epochs: int | None = None,
        minutes: float | None = None,
        core_minutes: float | None = 20.0,
        patience: int | None = None,
        validations: int = 20,
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
        if latent_dim % 2:
            raise GeoGAEError(f"latent_dim={latent_dim} must be even: the decoder splits z in two")
        for name, widths in (("encoder_hidden", encoder_hidden), ("decoder_hidden", decoder_hidden)):
            for width in widths:
                check_number(name, width, int, 1)
        check_number("block", block, int, 1)
        check_number("edge_weight", edge_weight, float, 0, 1)
        check_number("norm_weight", norm_weight, float, 0)
        check_number("permutations", permutations, int, 1)
        self.encoder_hidden, self.decoder_hidden = tuple(encoder_hidden), tuple(decoder_hidden)
        self.block, self.permutations = block, permutations
        self.edge_weight, self.norm_weight = edge_weight, norm_weight

    def build(self, nodes: int | None = None) -> Network:
        return Network(self.latent_dim, self.block, self.encoder_hidden, self.decoder_hidden)

    def read(self, graphs: Sequence[Graph], *, n_jobs: int = 1, progress: bool = False) -> list[Reading]:
        return [Reading(graph.topology().relabel(breadth_first(graph))) for graph in graphs]

    def training_readings(self, graphs: Sequence[Graph]) -> list[Reading]:
        if self.permutations == 1:
            return self.read(graphs)
        random = np.random.default_rng(self.seed)
        return self.read(
            [graph.relabel(random.permutation(graph.n)) for graph in graphs for _ in range(self.permutations)]
        )

    def collate(self, readings: Sequence[Reading]) -> Blocks:
        blocks = [to_blocks(reading.ordered, self.block) for reading in readings]
        rows = sorted(range(len(readings)), key=lambda row: -len(blocks[row]))
        reaching = [[blocks[row][t] for row in rows if len(blocks[row]) > t] for t in range(len(blocks[rows[0]]))]
        depths, buckets = np.unique([len(blocks[row]) for row in rows], return_inverse=True)
        sizes = [readings[row].ordered.n for row in rows]
        return Blocks(
            tuple(torch.from_numpy(np.stack(cells)) for cells in reaching),
            torch.tensor(sizes),
            torch.from_numpy(buckets),
            tuple(depths.tolist()),
            ceil(max(sizes) / self.block),
            tuple(rows),
        )

    def blank(self, n: int, batch_size: int) -> Blocks:
        depth = max(1, ceil((n - 1) / self.block))
        cells = [torch.empty(batch_size, t + 1, self.block**2, dtype=torch.int8) for t in range(depth)]
        whole = torch.empty(batch_size, dtype=torch.long)
        return Blocks(tuple(cells), whole, whole, (depth,), ceil(n / self.block), tuple(range(batch_size)))

    def loss(self, network: nn.Module, batch: Blocks) -> dict[str, Tensor]:
        """Cross-entropies, averaged over graphs of one depth and weighted by width; cells beyond the end are 0."""
        logits, last = network(batch)
        graphs = len(batch.sizes)
        sums = last.new_zeros(5, graphs)  # on edges, their number, on pairs without, their number, of the mask
        for t, written in enumerate(logits):
            mask, edge = written[..., 0], written[..., 1]  # (b, t + 1, B·B)
            truth = torch.zeros_like(edge)
            if t < len(batch.diagonals):
                truth[: len(batch.diagonals[t])] = (batch.diagonals[t] == 1).to(edge.dtype)
            sub_diagonal = torch.from_numpy(sum(places(t, self.block))).to(edge.device)  # (t + 1, B·B)
            valid = (sub_diagonal <= batch.sizes[:, None, None] - 2).to(edge.dtype)
            error = F.softplus(edge) - edge * truth
            of_mask = F.softplus(mask) - mask * valid
            of_cells = (error * truth, truth, error * (1 - truth), 1 - truth, of_mask)
            sums = sums + torch.stack([part.sum((1, 2)) for part in of_cells])
        per_depth = sums.new_zeros(5, len(batch.depths)).index_add(1, batch.buckets, sums)  # (5, depths)
        ones, n_ones, zeros, n_zeros, masks = per_depth
        cells = n_ones + n_zeros
        counts = sums.new_zeros(len(batch.depths)).index_add(0, batch.buckets, torch.ones_like(sums[0]))
        w = torch.tensor(batch.depths, dtype=sums.dtype, device=sums.device) * self.block * counts
        f = n_ones / cells
        on_edges = _average(w * f, ones / n_ones.clamp(min=1))
        elsewhere = _average(w * (1 - f), zeros / n_zeros.clamp(min=1))
        of_mask = _average(w, masks / cells)
        norm = (last.square().sum() + 1e-12).sqrt()
        total = self.edge_weight * on_edges + (1 - self.edge_weight) * elsewhere
        total = total + MASK_WEIGHT * of_mask + self.norm_weight * norm
        parts = {"edges": on_edges, "rest": elsewhere, "mask": of_mask, "norm": norm}
        return {"total": total} | {name: part.detach() for name, part in parts.items()}

    def lossy(self, reading: Reading) -> str | None:
        n, largest = reading.ordered.n, self.facts["largest"]
        return f"it has {n} nodes; without the true size, decoding ends at {largest}" if n > largest else None

    def codes(self, batch: Blocks) -> Tensor:
        z = self.network.encode(batch)  # type: ignore[operator]
        return torch.empty_like(z).index_copy(0, torch.tensor(batch.rows, device=z.device), z)

    def write(self, z: Tensor, readings: Sequence[Reading] | None, side_information: str | None) -> list[Decoding]:
        """One z; the graph ends where a sub-diagonal of the mask is half empty, or at the true size.

        Without the true size it ends at the largest size seen in training at the latest.
        """
        limit = self.facts["largest"] if readings is None else readings[0].ordered.n
        length = max(1, ceil(limit / self.block))
        mask = np.zeros(self.block * (length + 1))  # by sub-diagonal
        edges: list[NDArray[np.bool_]] = []
        n, stopped = limit, False
        for t, (logits, _) in enumerate(islice(self.network.decode(z), length)):  # type: ignore[operator]
            edges.append((logits[0, ..., 1] > 0).cpu().numpy())
            np.add.at(mask, sum(places(t, self.block)), logits[0, ..., 0].sigmoid().double().cpu().numpy())
            whole = self.block * (t + 1)  # sub-diagonals that no later block adds to
            ended = mask[:whole] / np.arange(1, whole + 1) <= 0.5
            if readings is None and ended.any():
                n, stopped = min(limit, 1 + int(ended.argmax())), True
                break
        return [Decoding(from_blocks(edges, n, self.block), truncated=readings is None and not stopped)]


def _average(weights: Tensor, values: Tensor) -> Tensor:
    return (weights * values).sum() / weights.sum().clamp(min=1e-12)
