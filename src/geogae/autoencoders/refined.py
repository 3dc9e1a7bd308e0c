"""``refined``, the default: the linear decoder, and z refined at encoding time until it decodes to the graph.

In the field's words: a PCA decoder with test-time latent optimisation, as in auto-decoders. The linear z is the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from geogae.autoencoders.linear import CloudReading, LinearAutoencoder
from geogae.autoencoders.refinement import refine
from geogae.autoencoders.slots import SlotValues
from geogae.checks import check_number


class RefinedAutoencoder(LinearAutoencoder):
    """A linear decoder whose z is refined at encoding time.

    Parameters, in addition to those of ``linear``:
        steps: of refinement that a z may take, in up to two attempts, to give back what the linear z does not.
        pull: weight of ½‖components‖² in the refinement: z stays nearer to the mean.
    """

    def __init__(
        self,
        *,
        latent_dim: int = 192,
        attributes: Literal["ignored", "encoded", "decoded"] = "ignored",
        dim: int | Literal["auto"] = "auto",
        order: str = "greedy",
        margin: float = 0.2,
        consensus: bool = False,
        leaves: Literal["auto", "folded", "kept"] = "auto",
        twins: Literal["auto", "folded", "kept"] = "auto",
        contexts: bool = True,
        descriptor: int | Literal["auto"] = "auto",
        steps: int = 1000,
        pull: float = 0.0,
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        shared: dict[str, Any] = {"latent_dim": latent_dim, "attributes": attributes, "device": device, "seed": seed}
        cloud: dict[str, Any] = {"dim": dim, "order": order, "margin": margin, "consensus": consensus}
        super().__init__(**shared, **cloud, leaves=leaves, twins=twins, contexts=contexts, descriptor=descriptor)
        check_number("steps", steps, int, 0, 10**9)
        check_number("pull", pull, float, 0, 1e6)
        self.steps, self.pull = steps, pull

    def refined(
        self,
        components: Tensor,
        readings: Sequence[CloudReading],
        written: Sequence[SlotValues],
        expected: Tensor,
    ) -> Tensor:
        """The components nearby that decode to the graphs and their slot features, or come closest; on the CPU."""
        if not self.steps:
            return components
        decoder, n = self.decoder, max(reading.core.n for reading in readings)
        mean, axes = (part.cpu() for part in decoder.extended(n))  # further slots play no part
        deviations = decoder.deviations.cpu()
        end, shape = n * decoder.width, (n, decoder.width)
        loadings = (axes[:, :end] * deviations[:, None]).unflatten(1, shape).numpy()
        starts = (components.cpu() / deviations).float().numpy()
        adjacencies = [reading.core.adjacency() for reading in readings]
        means = mean[:end].unflatten(0, shape) + expected.cpu()  # (B, n, w)
        found = refine(starts, means.numpy(), loadings, adjacencies, written, self.steps, self.pull)
        moved = torch.from_numpy((found != starts).any(1)).to(components.device)
        refined = (torch.from_numpy(found) * deviations).to(components)
        return torch.where(moved[:, None], refined, components)  # what was right stays to the last bit
