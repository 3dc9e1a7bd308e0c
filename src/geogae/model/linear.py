"""The linear autoencoder: the size and the first m - 1 principal components of the padded, ordered balls.

Decoding is linear: z says how far to go along each principal axis from the mean cloud. Encoding asks for the z whose
decoding is nearest on the nodes that are there; the slots beyond them may come out as they like. A graph of
n·d ≤ m - 1 numbers so comes back as it was, as long as the axes reach its slots (those that never move in training
have one only if there is room left), and larger ones share what the training clouds have in common.
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
    """Balls come ordered and padded, (B, n, d), with ``sizes`` (B,), n at most ``slots``. Nothing here is trained.

    With ``variational`` every number of z is standardised: training graphs are spread as N(0, 1), the prior of a VAE,
    and draws from it are graphs of their kind. (The linear VAE has this solution in closed form.)
    """

    def __init__(self, d: int, *, slots: int, latent_dim: int, variational: bool = False) -> None:
        super().__init__()
        self.d, self.slots, self.latent_dim, self.variational = d, slots, latent_dim, variational
        self.center: Tensor
        self.scale: Tensor
        self.register_buffer("center", torch.zeros(latent_dim))  # of what z stands for …
        self.register_buffer("scale", torch.ones(latent_dim))  # … in units of this
        self.mean: Tensor
        self.axes: Tensor
        self.deviations: Tensor
        self.register_buffer("mean", torch.zeros(slots * d))
        self.register_buffer("axes", torch.zeros(latent_dim - 1, slots * d))  # orthonormal rows; 0 beyond the rank
        self.register_buffer("deviations", torch.zeros(latent_dim - 1))  # of the training clouds along each axis

    def fit(self, clouds: Sequence[NDArray[np.float32]]) -> None:
        """Principal components of clouds (n, d), their empty slots filled with zeros."""
        padded = np.zeros((len(clouds), self.slots, self.d))
        for row, balls in enumerate(clouds):
            padded[row, : len(balls)] = balls
        mean, axes, deviations = principal_components(padded.reshape(len(clouds), -1), self.latent_dim - 1)
        axes = completed(axes, self.latent_dim - 1)
        deviations = np.pad(deviations, (0, len(axes) - len(deviations))).clip(LEAST)
        self.mean.copy_(torch.from_numpy(mean))
        self.axes[: len(axes)] = torch.from_numpy(axes)
        self.deviations[: len(axes)] = torch.from_numpy(deviations)
        if self.variational:
            sizes = torch.tensor([float(len(balls)) for balls in clouds])
            self.center[0], self.scale[0] = sizes.mean(), sizes.std(correction=0).clamp(min=LEAST)
            self.scale[1:] = self.deviations.where(self.deviations > 0, 1)

    def encode(self, balls: Tensor, sizes: Tensor) -> Tensor:
        """z, (B, m): the size, then the likeliest components given the nodes that are there.

        Slots are read block by block and graph by graph: the batch around a graph changes no bit of its z.
        """
        offsets = balls.double().flatten(1) - self.mean[: balls.shape[1] * self.d].double()  # (B, n·d)
        ends = (sizes * self.d).tolist()
        components = offsets.new_zeros(len(balls), self.latent_dim - 1)  # of a graph that goes on, what it said so far
        gram = NOISE**2 * torch.eye(self.latent_dim - 1, dtype=offsets.dtype, device=offsets.device)
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
        numbers = torch.cat([sizes[:, None].double(), components * self.deviations], dim=1)
        return ((numbers - self.center) / self.scale).float()

    def decode(self, z: Tensor, max_nodes: int) -> Decoded:
        """Balls and sizes from z (B, m) alone; a size beyond the slots is cut and flagged."""
        check_latent(z, self.latent_dim)
        z = z * self.scale + self.center
        limit = min(max_nodes, self.slots)
        asked = z[:, 0].round().clamp(1, 2**31).long()
        sizes = asked.clamp(max=limit)
        n = int(sizes.max()) if len(z) else 0
        balls = (self.mean + z[:, 1:] @ self.axes).unflatten(1, (self.slots, self.d))[:, :n]  # (B, n, d)
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


def _units(chosen: NDArray[np.int64], p: int) -> NDArray[np.float64]:
    units = np.zeros((len(chosen), p))
    units[np.arange(len(chosen)), chosen] = 1
    return units
