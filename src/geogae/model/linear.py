"""The linear autoencoder: the size and the first m - 1 principal components of the padded, ordered balls.

Decoding is linear: z says how far to go along each principal axis from the mean cloud. Encoding asks for the z whose
decoding is nearest on the nodes that are there; the slots beyond them may come out as they like. A graph of
n·d ≤ m - 1 numbers so comes back as it was, as long as the axes reach its slots (those that never move in training
have one only if there is room left), and larger ones share what the training clouds have in common.

A slot may carry more than its ball (see payload.py): "nodes" below are balls with what rides along.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import eigh, qr
from torch import Tensor, nn

from geogae.model.decoder import Decoded
from geogae.model.latent import check_latent

NOISE = 1e-3  # standard deviation, in the units of the balls, to which a cloud is met; margins are wider by far
BLOCK = 16  # slots that are read at a time
LEAST = 0.1  # deviation that any axis is given: training clouds that do not move along it prove little


class LinearAutoencoder(nn.Module):
    """Nodes come ordered and padded, (B, n, d), with ``sizes`` (B,), n at most ``slots``. Nothing here is trained.

    z is the size, the components, and ``riders`` numbers of the whole graph that are no part of the balls.
    With ``variational`` every number of z is standardised: training graphs are spread as N(0, 1), the prior of a VAE,
    and draws from it are graphs of their kind. (The linear VAE has this solution in closed form.)
    """

    def __init__(
        self, d: int, *, slots: int, latent_dim: int, riders: int = 0, spare: float = 0.0, variational: bool = False
    ) -> None:
        super().__init__()
        self.d, self.slots, self.latent_dim, self.variational = d, slots, latent_dim, variational
        self.components, self.spare = latent_dim - 1 - riders, spare
        self.center: Tensor
        self.scale: Tensor
        self.register_buffer("center", torch.zeros(latent_dim))  # of what z stands for …
        self.register_buffer("scale", torch.ones(latent_dim))  # … in units of this
        self.mean: Tensor
        self.axes: Tensor
        self.deviations: Tensor
        self.register_buffer("mean", torch.zeros(slots * d))
        self.register_buffer("axes", torch.zeros(self.components, slots * d))  # orthonormal rows; 0 beyond the rank
        self.register_buffer("deviations", torch.zeros(self.components))  # of the training clouds along each axis

    def fit(self, clouds: Sequence[NDArray[np.float32]], riders: NDArray[np.float32] | None = None) -> None:
        """Principal components of clouds (n, d), their empty slots filled with zeros; ``riders`` (clouds, riders)."""
        padded = np.zeros((len(clouds), self.slots, self.d))
        for row, balls in enumerate(clouds):
            padded[row, : len(balls)] = balls
        spare = min(round(self.spare * self.components), self.components - 1)
        mean, axes, deviations = principal_components(padded.reshape(len(clouds), -1), self.components - spare)
        axes = completed(axes, self.components - spare)
        deviations = np.pad(deviations, (0, len(axes) - len(deviations)))
        if spare:
            more, their_deviations = spare_axes(axes, padded, np.array([len(balls) for balls in clouds]), spare)
            axes, deviations = np.concatenate([axes, more]), np.concatenate([deviations, their_deviations])
        deviations = deviations.clip(LEAST)
        self.mean.copy_(torch.from_numpy(mean))
        self.axes[: len(axes)] = torch.from_numpy(axes)
        self.deviations[: len(axes)] = torch.from_numpy(deviations)
        if self.variational:
            sizes = torch.tensor([float(len(balls)) for balls in clouds])
            self.center[0], self.scale[0] = sizes.mean(), sizes.std(correction=0).clamp(min=LEAST)
            own = 1 + self.components
            self.scale[1:own] = self.deviations.where(self.deviations > 0, 1)
            if riders is not None and riders.shape[1]:
                given = torch.from_numpy(riders).double()
                self.center[own:] = given.mean(0)
                self.scale[own:] = given.std(0, correction=0).clamp(min=LEAST)

    def encode(self, balls: Tensor, sizes: Tensor, noise: Tensor | None = None, riders: Tensor | None = None) -> Tensor:
        """z, (B, m): the size, the likeliest components given the nodes that are there, and the riders (B, riders).

        ``noise`` (B, n, d) is the deviation to which each number is to be met, NOISE if not given; infinite where
        there is nothing to be met.
        """
        if noise is None:
            components = self._components(balls, sizes)
        else:
            rows = zip(balls.double(), noise.double(), sizes.tolist(), strict=True)
            components = torch.stack([self._likeliest(own[:n], met[:n]) for own, met, n in rows])
        if riders is None:
            riders = balls.new_zeros(len(balls), self.latent_dim - 1 - self.components)
        return self.assembled(sizes, components * self.deviations, riders)

    def assembled(self, sizes: Tensor, components: Tensor, riders: Tensor) -> Tensor:
        """z of its parts: sizes (B,), components (B, k) along the axes, riders (B, q)."""
        numbers = torch.cat([sizes[:, None].double(), components.double(), riders.double()], dim=1)
        return ((numbers - self.center) / self.scale).float()

    def parts(self, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Sizes as they are told (B,), components (B, k) and riders (B, q)."""
        numbers = z * self.scale + self.center
        return numbers[:, 0], numbers[:, 1 : 1 + self.components], numbers[:, 1 + self.components :]

    def _likeliest(self, nodes: Tensor, noise: Tensor) -> Tensor:
        """Components (k,) in units of their deviations, of one graph's nodes (n, d), each met to its own ``noise``."""
        there = noise.flatten().isfinite()
        unit = noise.flatten()[there]
        end = nodes.numel()
        loadings = (self.axes[:, :end][:, there] * self.deviations[:, None]).double() / unit  # (k, p)
        offset = (nodes.flatten() - self.mean[:end].double())[there] / unit  # (p,)
        k, p = loadings.shape
        dual = p < k  # two forms of the same: whichever system is smaller
        gram = loadings.T @ loadings if dual else loadings @ loadings.T
        factor = torch.linalg.cholesky(gram + torch.eye(len(gram), dtype=gram.dtype, device=gram.device))
        if dual:
            return loadings @ torch.cholesky_solve(offset[:, None], factor)[:, 0]
        return torch.cholesky_solve((loadings @ offset)[:, None], factor)[:, 0]

    def _components(self, balls: Tensor, sizes: Tensor) -> Tensor:
        """Components (B, k) in units of their deviations, every number met alike.

        Slots are read block by block and graph by graph: the batch around a graph changes no bit of its z.
        """
        offsets = balls.double().flatten(1) - self.mean[: balls.shape[1] * self.d].double()  # (B, n·d)
        ends = (sizes * self.d).tolist()
        components = offsets.new_zeros(len(balls), self.components)  # of a graph that goes on, what it said so far
        gram = NOISE**2 * torch.eye(self.components, dtype=offsets.dtype, device=offsets.device)
        for begin in range(0, max(ends, default=0), BLOCK * self.d):
            end = begin + BLOCK * self.d
            loadings = (self.axes[:, begin:end] * self.deviations[:, None]).double()  # (m-1, b·d)
            for last in sorted({n for n in ends if begin < n <= end}):
                own = loadings[:, : last - begin].contiguous()
                factor = torch.linalg.cholesky(gram + own @ own.T)
                for row in (row for row, n in enumerate(ends) if n == last):
                    said = components[row] + own @ offsets[row, begin:last].clone()
                    components[row] = torch.cholesky_solve(said[:, None], factor)[:, 0]
            gram += loadings @ loadings.T
            for row in (row for row, n in enumerate(ends) if n > end):
                components[row] += loadings @ offsets[row, begin:end].clone()
        return components

    def decode(self, z: Tensor, max_nodes: int) -> Decoded:
        """Balls and sizes from z (B, m) alone; a size beyond the slots is cut and flagged."""
        check_latent(z, self.latent_dim)
        told, components, _ = self.parts(z)
        limit = min(max_nodes, self.slots)
        asked = told.round().clamp(1, 2**31).long()
        sizes = asked.clamp(max=limit)
        n = int(sizes.max()) if len(z) else 0
        balls = (self.mean + components @ self.axes).unflatten(1, (self.slots, self.d))[:, :n]  # (B, n, d)
        slot = torch.arange(1, n + 1, device=z.device)
        present, last = slot <= sizes[:, None], slot == asked[:, None]  # of those that are cut, no node is the last
        return Decoded(balls.where(present[..., None], 0), sizes, last.float(), asked > limit)


def principal_components(
    rows: NDArray[np.float64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Mean (p,), at most ``count`` principal axes (k, p) and the deviations along them (k,) of rows (N, p).

    From the eigenvectors of whichever of the two Gram matrices is smaller.
    """
    mean = rows.mean(0)
    centred = rows - mean
    wide = centred.shape[0] < centred.shape[1]
    gram = centred @ centred.T if wide else centred.T @ centred
    size = len(gram)
    values, vectors = eigh(gram, subset_by_index=(max(0, size - count), size - 1))
    values, vectors = values[::-1], vectors[:, ::-1]  # largest first
    kept = values > 1e-10 * max(values[0], 1.0)  # else rounding, not variance
    values, vectors = values[kept], vectors[:, kept]
    axes = (centred.T @ vectors / np.sqrt(values)).T if wide else vectors.T
    axes = axes * np.where(axes[np.arange(len(axes)), np.abs(axes).argmax(1)] < 0, -1, 1)[:, None]  # a sign of its own
    return mean, axes, np.sqrt(values / len(rows))


def completed(axes: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Orthonormal rows (k, p) with more of them, up to ``count``, along the first coordinates that they miss.

    With fewer training clouds than z has room for, no number of z is left idle; the first slots are those that most
    graphs have.
    """
    k, p = axes.shape
    if k >= min(count, p):
        return axes
    missed = 1 - (axes**2).sum(0)  # (p,), of each coordinate's unit vector
    chosen = np.flatnonzero(missed > 1e-6)[: min(count, p) - k]  # never none: what is missed adds up to p - k
    rest = _units(chosen, p) - axes[:, chosen].T @ axes  # what is left of these unit vectors
    rest, triangle, _ = qr(rest.T, mode="economic", pivoting=True)
    rest = rest.T[np.abs(np.diag(triangle)) > 1e-6]  # some of the chosen may say the same
    rest -= rest @ axes.T @ axes  # once more, against rounding
    more = np.concatenate([axes, rest / np.linalg.norm(rest, axis=1, keepdims=True)])
    return completed(more, count)


def spare_axes(
    axes: NDArray[np.float64], padded: NDArray[np.float64], sizes: NDArray[np.int64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Random axes (c, p) across those that there are, at most ``count``, and the deviations along them (c,).

    Where slots (N, slots, d) carry what may come anywhere, as a surprise may, few training graphs show it where it
    comes next. Along random axes every number of every slot can be moved. Each is drawn as widely as the numbers of
    its place are spread over all slots, times how many graphs reach its slot.
    """
    offsets = (padded - padded.mean(0)).reshape(len(padded), -1)
    spread = (padded**2).sum((0, 1)) / sizes.sum()  # (d,), of a place, over all slots
    spread = spread.clip(LEAST**2 * spread.mean())  # what training graphs never use may still come
    reach = (np.arange(padded.shape[1])[:, None] < sizes).sum(1) + 0.5  # (slots,), graphs; none is out of reach
    scale = np.sqrt(np.outer(reach / len(padded), spread)).ravel()  # (p,)
    count = min(count, axes.shape[1] - len(axes))
    drawn = np.random.default_rng(0).normal(size=(count, axes.shape[1])) * scale
    drawn -= drawn @ axes.T @ axes
    drawn = np.linalg.qr(drawn.T)[0].T
    drawn -= drawn @ axes.T @ axes  # once more, against rounding
    return drawn, (offsets @ drawn.T).std(0)


def _units(chosen: NDArray[np.int64], p: int) -> NDArray[np.float64]:
    units = np.zeros((len(chosen), p))
    units[np.arange(len(chosen)), chosen] = 1
    return units
