"""Our autoencoder: all nodes decoded at once by the linear decoder, and an encoder that fits z as clouds are fitted.

The linear z is where encoding starts. If what it decodes to is not yet the graph, z itself descends on L_sphere:
margins leave a cloud so much room that z reaches an exact one in far fewer dimensions than the cloud has numbers. Where
many nodes are adjacent twins, which share a ball, a slot is a ball and the number of further nodes on it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from geogae.geometry.family import Bounds, fit_in_family
from geogae.model.decoder import Decoded
from geogae.model.linear import LinearAutoencoder


class ParallelAutoencoder(LinearAutoencoder):
    """``descent`` is the number of steps that a z may take; if ``shared``, equal balls stand together in a slot."""

    def __init__(
        self, d: int, *, slots: int, latent_dim: int, descent: int, shared: bool = False, riders: int = 0,
        spare: float = 0.0, variational: bool = False, kl_weight: float = 0.0,
    ) -> None:  # fmt: skip
        shape = {"slots": slots, "latent_dim": latent_dim, "riders": riders}
        super().__init__(d + shared, **shape, spare=spare, variational=variational)
        self.descent, self.shared, self.kl_weight = descent, shared, kl_weight if variational else 0.0

    def fit(self, clouds: Sequence[NDArray[np.float32]], riders: NDArray[np.float32] | None = None) -> None:
        super().fit([shared_balls(balls)[0] for balls in clouds] if self.shared else clouds, riders)

    def encode(
        self,
        balls: Tensor,
        sizes: Tensor,
        noise: Tensor | None = None,
        riders: Tensor | None = None,
        adjacency: Tensor | None = None,
        bounds: Sequence[Bounds] | None = None,
    ) -> Tensor:
        """z, (B, m); with ``adjacency`` (B, n, n) it descends to the graph, and into the ``bounds`` of its slots."""
        graphs = [] if adjacency is None else list(adjacency.cpu().numpy())
        if self.shared:
            clouds = [cloud[:n].numpy() for cloud, n in zip(balls.cpu(), sizes.tolist(), strict=True)]
            slots, firsts = zip(*map(shared_balls, clouds), strict=True)
            padded = nn.utils.rnn.pad_sequence([torch.from_numpy(own) for own in slots], batch_first=True)
            balls = padded.to(balls.device)  # (B, s, d + 1)
            sizes = torch.tensor([len(own) for own in slots], device=balls.device)
            graphs = [joined[np.ix_(first, first)] for joined, first in zip(graphs, firsts, strict=False)]
            bounds = [Bounds.of_counts(own[:, -1:]) for own in slots]
        z = super().encode(balls, sizes, noise, riders)
        if not graphs or not self.descent:
            return z
        return self._settled(z, [joined[:n, :n] for joined, n in zip(graphs, sizes.tolist(), strict=True)], bounds)

    def _settled(self, z: Tensor, graphs: list[NDArray[np.bool_]], bounds: Sequence[Bounds] | None) -> Tensor:
        """The z nearby that decode to the graphs and what their slots carry, or come closest; done on the CPU."""
        n = max(map(len, graphs))  # slots beyond the largest of these graphs play no part
        mean = self.mean.unflatten(0, (self.slots, self.d))[:n].cpu().numpy()
        loadings = (self.axes[:, : n * self.d] * self.deviations[:, None]).unflatten(1, (n, self.d)).cpu().numpy()
        deviations = self.deviations.clamp(min=torch.finfo(torch.float32).tiny)  # an idle axis has none
        sizes, components, riders = self.parts(z)
        starts = (components / deviations).cpu().numpy().astype(np.float32)
        points = fit_in_family(
            starts, mean, loadings, graphs, self.descent, torch.get_num_threads(), bounds, self.kl_weight
        )
        settled = self.assembled(sizes, torch.from_numpy(points).to(z.device) * self.deviations, riders)
        moved = torch.from_numpy((points != starts).any(1)).to(z.device)
        return torch.where(moved[:, None], settled, z)  # what was right stays to the last bit

    def decode(self, z: Tensor, max_nodes: int) -> Decoded:
        """Balls and sizes from z (B, m) alone; beyond the slots, or ``max_nodes`` nodes, a graph is cut and flagged."""
        if not self.shared:
            return super().decode(z, max_nodes)
        slots = super().decode(z, self.slots)
        more = slots.balls[..., -1].nan_to_num().round().clamp(0, max_nodes).long()  # (B, s)
        present = torch.arange(more.shape[1], device=z.device) < slots.sizes[:, None]
        nodes = (more + 1) * present
        asked = nodes.sum(1)
        sizes = asked.clamp(max=max_nodes)
        n = int(sizes.max()) if len(z) else 0
        place = torch.arange(n, device=z.device)
        slot = torch.searchsorted(
            nodes.cumsum(1), place.expand(len(z), n).contiguous(), right=True
        )  # (B, n), of a node
        slot = slot.clamp(max=max(0, more.shape[1] - 1))
        balls = slots.balls[..., :-1].gather(1, slot[..., None].expand(-1, -1, self.d - 1))
        here, last = place < sizes[:, None], place + 1 == asked[:, None]
        return Decoded(balls.where(here[..., None], 0), sizes, last.float(), slots.truncated | (asked > max_nodes))


def shared_balls(balls: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Each ball of (n, d) once with the number of further nodes on it, (s, d + 1), and the first node of each, (s,)."""
    first = np.flatnonzero(np.append(True, (balls[1:] != balls[:-1]).any(1)))
    more = np.diff(np.append(first, len(balls))) - 1
    return np.column_stack([balls[first], more]).astype(np.float32), first
