"""The linear decoder: slots = mean + components · axes, with the principal axes of the padded, ordered training slots.

Encoding asks for the likeliest components given the nodes that are there (ridge regression, the posterior mean of
probabilistic PCA); the slots beyond them may decode to anything. A graph of at most as many numbers as there are axes
comes back as it was, as long as the axes reach its slots. Larger graphs use what training graphs have in common.

A slot is w numbers: the ball (d), then the numbers of the slot features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from geogae.autoencoders.axes import LEAST, completed, principal_components, random_axes, regressed

NOISE = 1e-3  # standard deviation of the observation noise of PPCA, in units of the balls; far below the margins
BLOCK = 16  # slots that are read at a time
CODE = 0.02  # variance of the code in z, against that of the descriptor


class Parts(NamedTuple):
    """The named parts of z: the descriptor, and the code, which is all else."""

    descriptors: Tensor  # (B, h)
    sizes: Tensor  # (B,), numbers of slots, as real numbers
    components: Tensor  # (B, k), along the axes
    coefficients: Tensor  # (B, q), of the whole graph, in no slot


class LinearDecoder(nn.Module):
    """z (B, m) is h numbers of a descriptor, the size, k components and q graph coefficients.

    Nothing here is trained by gradients. The descriptor gives the expected slots, the components the rest.

    ``slots`` is the size of the largest training graph. Slots beyond it have random loadings (:meth:`extended`): a
    larger graph has numbers of z to be written with, and no number of a graph that fits changes.
    """

    def __init__(
        self, width: int, *, slots: int, latent_dim: int, coefficients: int = 0, descriptor_dim: int = 0
    ) -> None:
        super().__init__()
        self.width, self.slots, self.latent_dim = width, slots, latent_dim
        self.descriptor_dim = descriptor_dim  # h
        self.count = latent_dim - 1 - coefficients - descriptor_dim  # k
        self.mean: Tensor
        self.axes: Tensor
        self.deviations: Tensor
        self.spread: Tensor
        self.slopes: Tensor
        self.unit: Tensor
        self.register_buffer("mean", torch.zeros(slots * width))
        self.register_buffer("slopes", torch.zeros(descriptor_dim, slots * width))  # of the slots on the descriptor
        self.register_buffer("unit", torch.ones(()))  # the code in z is the code times this
        self.register_buffer("axes", torch.zeros(self.count, slots * width))  # orthonormal rows; 0 beyond the rank
        self.register_buffer("deviations", torch.zeros(self.count))  # of the training graphs along each axis
        self.register_buffer("spread", torch.zeros(2, width))  # mean and deviation of each place, over all slots

    def fit(
        self,
        slots: Sequence[NDArray[np.float32]],
        random_share: float = 0.0,
        descriptors: NDArray[np.float32] | None = None,
    ) -> None:
        """Principal axes of slots (n, w) of many graphs, empty ones being zero; ``random_share`` of them at random.

        With ``descriptors`` (G, h) slots are regressed on them first, and the axes are those of what is left. The code
        is then written so small that the descriptor decides the distances between z.
        """
        padded = np.zeros((len(slots), self.slots, self.width))
        for row, own in enumerate(slots):
            padded[row, : len(own)] = own
        if descriptors is not None and self.descriptor_dim:
            flat = padded.reshape(len(slots), -1)
            slopes = regressed(flat - flat.mean(0), descriptors.astype(np.float64))
            self.slopes.copy_(torch.from_numpy(slopes))
            padded = (flat - descriptors.astype(np.float64) @ slopes).reshape(padded.shape)
        drawn = min(round(random_share * self.count), self.count - 1)
        mean, axes, deviations = principal_components(padded.reshape(len(slots), -1), self.count - drawn)
        axes = completed(axes, self.count - drawn)
        deviations = np.pad(deviations, (0, len(axes) - len(deviations)))
        if drawn:
            more, their_deviations = random_axes(axes, padded, np.array([len(own) for own in slots]), drawn)
            axes, deviations = np.concatenate([axes, more]), np.concatenate([deviations, their_deviations])
        if self.descriptor_dim:
            sizes = np.array([len(own) for own in slots])
            self.unit.fill_(np.sqrt(CODE * self.descriptor_dim / max(sizes.var() + (deviations**2).sum(), LEAST)))
        every = np.concatenate(slots).astype(np.float64)  # (all nodes, w)
        self.mean.copy_(torch.from_numpy(mean))
        self.axes[: len(axes)] = torch.from_numpy(axes)
        self.deviations.fill_(1)  # beyond the rank: these axes move further slots alone
        self.deviations[: len(axes)] = torch.from_numpy(deviations.clip(LEAST))
        self.spread.copy_(torch.from_numpy(np.stack([every.mean(0), every.std(0)])))

    def extended(self, n: int) -> tuple[Tensor, Tensor]:
        """Mean (s·w,) and axes (k, s·w) of at least n slots; s is ``slots`` unless n is larger.

        The loadings of a further slot are Gaussian, as wide as its places are spread in training, and depend on its
        number alone.
        """
        if n <= self.slots:
            return self.mean, self.axes
        further = range(self.slots, n)
        drawn = [np.random.default_rng([1, slot]).standard_normal((self.count, self.width)) for slot in further]
        loadings = torch.from_numpy(np.stack(drawn, axis=1)).to(self.axes) * self.spread[1] / self.count**0.5
        axes = loadings.flatten(1) / self.deviations[:, None]
        mean = self.spread[0].repeat(len(further))
        return torch.cat([self.mean, mean]), torch.cat([self.axes, axes], dim=1)

    def assembled(self, parts: Parts) -> Tensor:
        """z of its parts."""
        code = torch.cat([parts.sizes[:, None].float(), parts.components.float(), parts.coefficients.float()], dim=1)
        return torch.cat([parts.descriptors.float(), code * self.unit], dim=1)

    def parts(self, z: Tensor) -> Parts:
        h, end = self.descriptor_dim, self.descriptor_dim + 1 + self.count
        return Parts(z[:, :h], z[:, h] / self.unit, z[:, h + 1 : end] / self.unit, self.coefficients(z))

    def coefficients(self, z: Tensor) -> Tensor:
        return z[:, self.descriptor_dim + 1 + self.count :] / self.unit  # (B, q)

    def expected(self, descriptors: Tensor, n: int) -> Tensor:
        """What descriptors (B, h) add to the mean of n slots, (B, n, w).

        It is added up number by number, so that the batch changes no bit.
        """
        end = min(n, self.slots) * self.width
        offset = self.slopes.new_zeros(len(descriptors), n * self.width)
        known = offset[:, :end]
        for number, slope in zip(descriptors[..., None].unbind(1), self.slopes[:, :end].unbind(), strict=True):
            known += number * slope  # (B, 1) · (n·w,)
        return offset.unflatten(1, (n, self.width))

    def sizes(self, z: Tensor, limit: int) -> tuple[Tensor, Tensor]:
        """Numbers of slots (B,), and as they were before a cut at ``limit``."""
        asked = (z[:, self.descriptor_dim] / self.unit.to(z.device)).round().clamp(1, 2**31).long()
        return asked.clamp(max=limit), asked

    def decode(self, z: Tensor, limit: int) -> tuple[Tensor, Tensor, Tensor]:
        """Slots (B, n, w), zero beyond a graph's size, sizes (B,), and sizes as they were before a cut at ``limit``."""
        descriptors, _, components, _ = self.parts(z)
        sizes, asked = self.sizes(z, limit)
        n = int(sizes.max()) if len(z) else 0
        mean, axes = self.extended(n)
        end = n * self.width
        # sums of float64, rounded once: neither the batch nor the machine, be it a browser, changes what is decoded
        offsets = torch.addmm(mean[:end].double(), components.double(), axes[:, :end].double())  # (B, n·w)
        known = min(n, self.slots) * self.width
        if self.descriptor_dim:
            offsets[:, :known] += descriptors.double() @ self.slopes[:, :known].double()
        slots = offsets.float().unflatten(1, (n, self.width))  # (B, n, w)
        present = torch.arange(n, device=z.device) < sizes[:, None]
        return slots.masked_fill_(~present[..., None], 0), sizes, asked

    def principal_basis(self) -> NDArray[np.float64]:
        """An invertible map (m, m) of z: z · basis is the descriptor, then the code in units of the balls.

        Components are taken together with what the descriptor adds along the axes, so that they do not depend on it.
        """
        h, end = self.descriptor_dim, self.descriptor_dim + 1 + self.count
        basis = np.eye(self.latent_dim)
        basis[h:, h:] /= float(self.unit)
        basis[:h, h + 1 : end] = (self.slopes @ self.axes.T).cpu().double().numpy()
        return basis

    # -- the likeliest components -----------------------------------------------------------------------------------

    def components(self, slots: Tensor, sizes: Tensor, noise: Tensor | None = None) -> Tensor:
        """Components (B, k) that give slots (B, n, w) of ``sizes`` (B,), less what descriptors add (``expected``).

        ``noise`` (B, n, w) is the deviation to which each number is to be met, NOISE if not given; infinite where
        there is nothing to be met.
        """
        mean, axes = self.extended(slots.shape[1])
        if noise is None:
            return self._equal_noise(mean, axes, slots, sizes) * self.deviations
        rows = zip(slots.double(), noise.double(), sizes.tolist(), strict=True)
        likeliest = [self._likeliest(mean, axes, own[:n], met[:n]) for own, met, n in rows]
        return torch.stack(likeliest) * self.deviations

    def _likeliest(self, mean: Tensor, axes: Tensor, slots: Tensor, noise: Tensor) -> Tensor:
        """Components (k,) in units of their deviations, of one graph's slots (n, w), each met to its own ``noise``."""
        there = noise.flatten().isfinite()
        unit = noise.flatten()[there]
        end = slots.numel()
        loadings = (axes[:, :end][:, there] * self.deviations[:, None]).double() / unit  # (k, p)
        offset = (slots.flatten() - mean[:end].double())[there] / unit  # (p,)
        k, p = loadings.shape
        dual = p < k  # two forms of the same: whichever system is smaller
        gram = loadings.T @ loadings if dual else loadings @ loadings.T
        factor = torch.linalg.cholesky(gram + torch.eye(len(gram), dtype=gram.dtype, device=gram.device))
        if dual:
            return loadings @ torch.cholesky_solve(offset[:, None], factor)[:, 0]
        return torch.cholesky_solve((loadings @ offset)[:, None], factor)[:, 0]

    def _equal_noise(self, mean: Tensor, axes: Tensor, slots: Tensor, sizes: Tensor) -> Tensor:
        """Components (B, k) in units of their deviations, every number met alike.

        Graphs of one size share a factor, and each is solved by itself: the batch around a graph changes no bit of its
        z. Of the two forms of the same system, the smaller one is solved.
        """
        offsets = slots.double().flatten(1) - mean[: slots.shape[1] * self.width].double()  # (B, n·w)
        rows_of: dict[int, list[int]] = {}
        for row, size in enumerate(sizes.tolist()):
            rows_of.setdefault(size * self.width, []).append(row)
        components = offsets.new_zeros(len(slots), self.count)
        small = {end: rows for end, rows in rows_of.items() if end < self.count}
        for end, rows in small.items():
            loadings = (axes[:, :end] * self.deviations[:, None]).double()  # (k, n·w)
            factor = _factor(loadings.T @ loadings)
            for row in rows:
                components[row] = loadings @ torch.cholesky_solve(offsets[row, :end, None].clone(), factor)[:, 0]
        large = {end: rows for end, rows in rows_of.items() if end not in small}
        self._equal_noise_in_blocks(axes, offsets, large, components)
        return components

    def _equal_noise_in_blocks(
        self, axes: Tensor, offsets: Tensor, rows_of: dict[int, list[int]], components: Tensor
    ) -> None:
        """Fill in the components of graphs of many slots; what graphs of different sizes share is added up once."""
        width, last = self.width, max(rows_of, default=0)
        gram = offsets.new_zeros(self.count, self.count)
        for begin in range(0, last, BLOCK * width):
            end = begin + BLOCK * width
            loadings = (axes[:, begin:end] * self.deviations[:, None]).double()  # (k, b·w)
            for own_end, rows in rows_of.items():
                if begin < own_end <= end:
                    own = loadings[:, : own_end - begin].contiguous()
                    factor = _factor(gram + own @ own.T)
                    for row in rows:
                        total = components[row] + own @ offsets[row, begin:own_end].clone()
                        components[row] = torch.cholesky_solve(total[:, None], factor)[:, 0]
                elif own_end > end:
                    for row in rows:
                        components[row] += loadings @ offsets[row, begin:end].clone()
            if end < last:
                gram += loadings @ loadings.T


def _factor(gram: Tensor) -> Tensor:
    return torch.linalg.cholesky(gram + NOISE**2 * torch.eye(len(gram), dtype=gram.dtype, device=gram.device))
