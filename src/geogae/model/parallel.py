"""Our autoencoder: all nodes decoded at once by the linear decoder, and an encoder that fits z as clouds are fitted.

The linear z is where it starts. If what it decodes to is not yet the graph, z itself descends on L_sphere: margins
leave a cloud so much room that z reaches an exact one in far fewer dimensions than the cloud has numbers.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from geogae.geometry.family import fit_in_family
from geogae.model.linear import LinearAutoencoder


class ParallelAutoencoder(LinearAutoencoder):
    """``descent`` is the number of steps that a z may take."""

    def __init__(self, d: int, *, slots: int, latent_dim: int, descent: int) -> None:
        super().__init__(d, slots=slots, latent_dim=latent_dim)
        self.descent = descent

    def settle(self, z: Tensor, sizes: Tensor, adjacency: Tensor) -> Tensor:
        """The z (B, m) nearby that decode to ``adjacency`` (B, n, n), or come closest; computed on the CPU."""
        mean = self.mean.unflatten(0, (self.slots, self.d)).cpu().numpy()
        loadings = (self.axes * self.deviations[:, None]).unflatten(1, (self.slots, self.d)).cpu().numpy()
        graphs = [joined[:n, :n] for joined, n in zip(adjacency.cpu().numpy(), sizes.tolist(), strict=True)]
        deviations = self.deviations.clamp(min=torch.finfo(torch.float32).tiny)  # an idle axis has none
        starts = (z[:, 1:] / deviations).cpu().numpy()
        points = fit_in_family(starts.astype(np.float32), mean, loadings, graphs, self.descent)
        return torch.cat([z[:, :1], torch.from_numpy(points).to(z.device) * self.deviations], dim=1)
