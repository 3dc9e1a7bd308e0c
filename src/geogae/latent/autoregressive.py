"""The autoregressive prior: each number of z given those before it, as a histogram that a masked network predicts.

The distribution function of a number, and the inverse of the normal one, map it to a standard normal number (an
autoregressive flow), so the map is exact in both directions and so is the density. Histograms are good for few numbers
with sharp rules. Where numbers follow from each other smoothly, as those of clouds do, the flow learns sooner.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri
from torch import Tensor, nn

from geogae.autoencoders.base import State, check_number
from geogae.errors import GeoGAEError
from geogae.latent.bins import Bins
from geogae.latent.fitting import fit_network, opened, with_openness
from geogae.latent.masked import MaskedNetwork, Stepper
from geogae.latent.prior import Given, Prior, check_rows, property_columns, tensors_of

BINS = 64
WIDTH, MOST = 768, 32  # hidden units, about, and for each number of z at most
BLOCKS = 3
RATE, DECAY = 2e-3, 0.02  # Adam's step, and the decay of weights
FLOOR = 1e-5  # probability that is shared by all bins, so that no number is impossible
AT_ONCE = 4096  # vectors
EDGE = 1e-15  # a distribution function stays so far from 0 and 1


class AutoregressivePrior(Prior):
    """``temperature`` below 1 sharpens every histogram: draws are likelier and differ less."""

    name = "autoregressive"

    def __init__(self, temperature: float = 1.0) -> None:
        check_number("temperature", temperature, float, 1e-3, 10)
        self.temperature = float(temperature)
        self.basis = np.empty((0, 0))  # (m, m): numbers are z · basis
        self.history: list[dict[str, float]] = []

    @property
    def m(self) -> int:
        return len(self.basis)

    # -- fit ----------------------------------------------------------------------------------------------------------

    def fit(
        self,
        z: NDArray[np.floating],
        properties: Mapping[str, ArrayLike] | None = None,
        *,
        core_minutes: float = 10.0,
        basis: NDArray[np.floating] | None = None,
        seed: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        progress: bool = False,
        **_: Any,
    ) -> Self:
        """Fit for a budget of core-minutes; the weights that describe held-out rows best are kept.

        ``basis`` (m, m) is an invertible map of z in whose columns numbers are modelled, one after the other. With a
        ``checkpoint`` file a fit that was interrupted goes on if ``resume``.
        """
        check_number("core_minutes", core_minutes, float, 1e-3, 1e6)
        rows = check_rows(z)
        if len(rows) < 2:
            raise GeoGAEError(f"a prior is fitted to the z of at least 2 graphs, not {len(rows)}")
        self.conditions, values = property_columns(properties, len(rows))
        self.basis = np.eye(rows.shape[1]) if basis is None else np.asarray(basis, dtype=np.float64)
        numbers = rows @ self.basis
        self.bins = Bins.of(numbers, BINS)
        self.center, self.scale = numbers.mean(0), numbers.std(0) + 1e-9
        self.given_center, self.given_scale = values.mean(0), values.std(0) + 1e-9
        places, _shares = self.bins.place(numbers)
        data = [torch.from_numpy(places), torch.from_numpy((numbers - self.center) / self.scale).float()]
        data.append(torch.from_numpy((values - self.given_center) / self.given_scale).float())
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.network = self._built()
        self.history = fit_network(
            self.network, data, _nats, core_minutes=core_minutes, rate=RATE, decay=DECAY, seed=seed,
            checkpoint=None if checkpoint is None else Path(checkpoint), resume=resume, progress=progress,
        )  # fmt: skip
        self.network.eval()
        return self

    def _built(self) -> MaskedNetwork:
        units = min(max(2, round(WIDTH / self.m)), MOST)
        return MaskedNetwork(self.m, BINS, 2 * len(self.conditions), units=units, blocks=BLOCKS)

    # -- the map ------------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def to_normal(self, z: NDArray[np.floating], given: Given | None = None) -> NDArray[np.float64]:
        return self._through(z, given)[0]

    @torch.inference_mode()
    def log_prob(self, z: NDArray[np.floating], given: Given | None = None) -> NDArray[np.float64]:
        return self._through(z, given)[1]

    def _through(self, z: NDArray[np.floating], given: Given | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Normal numbers (N, m) and log densities (N,)."""
        numbers = check_rows(z, self.m) @ self.basis
        conditions = self._condition_inputs(given, len(numbers))
        normal, density = np.empty_like(numbers), np.empty(len(numbers))
        volume = np.linalg.slogdet(self.basis)[1]
        for begin in range(0, len(numbers), AT_ONCE):
            part = slice(begin, begin + AT_ONCE)
            places, shares = self.bins.place(numbers[part])
            inputs = torch.from_numpy((numbers[part] - self.center) / self.scale).float()
            own = None if conditions is None else conditions[part]
            logits = self.network(torch.from_numpy(places), inputs, own)  # (N, m, B)
            chances = self._chances(logits)
            at = places[..., None]
            chance = np.take_along_axis(chances, at, 2)[..., 0]
            below = np.take_along_axis(chances.cumsum(2), at, 2)[..., 0] - chance
            normal[part] = ndtri((below + shares * chance).clip(EDGE, 1 - EDGE))
            density[part] = (np.log(chance) + self.bins.log_density(places, shares)).sum(1) + volume
        return normal, density

    @torch.inference_mode()
    def from_normal(
        self, u: NDArray[np.floating], given: Given | None = None, guidance: float = 1.0
    ) -> NDArray[np.float32]:
        """z of normal vectors; ``guidance`` above 1 stresses what is given."""
        check_number("guidance", guidance, float, 0, 100)
        u = check_rows(u, self.m)
        conditions = self._condition_inputs(given, len(u))
        parts = []
        for begin in range(0, len(u), AT_ONCE):
            part = slice(begin, begin + AT_ONCE)
            parts.append(self._drawn(u[part], None if conditions is None else conditions[part], guidance))
        numbers = np.concatenate([np.empty((0, self.m)), *parts])
        return np.linalg.solve(self.basis.T, numbers.T).T.astype(np.float32)

    def _drawn(self, u: NDArray[np.float64], conditions: Tensor | None, guidance: float) -> NDArray[np.float64]:
        numbers = np.empty_like(u)
        steppers = [Stepper(self.network, len(u), conditions)]
        if conditions is not None and guidance != 1 and bool(conditions.any()):
            steppers.append(Stepper(self.network, len(u), torch.zeros_like(conditions)))
        levels = ndtr(u)
        for i in range(self.m):
            logits = [stepper.logits() for stepper in steppers]
            mixed = logits[0] if len(logits) == 1 else logits[1] + guidance * (logits[0] - logits[1])
            chances = self._chances(mixed)  # (N, B)
            upto = chances.cumsum(1)
            place = (upto < levels[:, i : i + 1]).sum(1).clip(max=BINS - 1)
            chance = np.take_along_axis(chances, place[:, None], 1)[:, 0]
            below = np.take_along_axis(upto, place[:, None], 1)[:, 0] - chance
            numbers[:, i] = self.bins.number(i, place, (levels[:, i] - below) / chance)
            value = torch.from_numpy((numbers[:, i] - self.center[i]) / self.scale[i]).float()
            for stepper in steppers:
                stepper.append(torch.from_numpy(place), value)
        return numbers

    def _chances(self, logits: Tensor) -> NDArray[np.float64]:
        soft = (logits.double() / self.temperature).softmax(-1).numpy()
        return (1 - FLOOR) * soft + FLOOR / BINS

    def _condition_inputs(self, given: Given | None, count: int) -> Tensor | None:
        """Conditions and which of them are given, (count, 2c)."""
        if not self.conditions:
            self.given_columns(given, count)  # an error if there are any
            return None
        columns = (self.given_columns(given, count) - self.given_center) / self.given_scale
        return with_openness(torch.from_numpy(columns).float(), torch.from_numpy(np.isnan(columns)))

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> State:
        arrays = {"basis": self.basis, "edges": self.bins.edges, "tails": self.bins.tails, "center": self.center,
                  "scale": self.scale, "given_center": self.given_center, "given_scale": self.given_scale}  # fmt: skip
        network = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        return State(
            tensors_of(arrays) | network, {"conditions": list(self.conditions), "temperature": self.temperature}
        )

    @classmethod
    def from_state(cls, state: State) -> Self:
        prior = cls(state.facts["temperature"])
        prior.conditions = tuple(state.facts["conditions"])
        names = ("basis", "center", "scale", "given_center", "given_scale", "edges", "tails")
        *own, edges, tails = (state.tensors[name].numpy() for name in names)
        prior.basis, prior.center, prior.scale, prior.given_center, prior.given_scale = own
        prior.bins = Bins(edges, tails)
        prior.network = prior._built()
        prior.network.load_state_dict(
            {name.removeprefix("network."): t for name, t in state.tensors.items() if name.startswith("network.")}
        )
        prior.network.eval()
        return prior


def _nats(network: MaskedNetwork, batch: list[Tensor], generator: torch.Generator) -> Tensor:
    """Mean cross-entropy of a row."""
    bins, numbers, given = batch
    logits = network(bins, numbers, opened(given, generator) if given.shape[1] else None)
    return nn.functional.cross_entropy(logits.flatten(0, 1), bins.flatten()) * bins.shape[1]
