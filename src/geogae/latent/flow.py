"""The flow prior: flow matching (Lipman et al. 2023) with a residual network, an ordinary differential equation.

A point starts as a standard normal vector x0 at time 0 and ends as a z, x1, with noise of deviation BLUR, at time 1. On
a straight line between them it is x = (1 - (1 - BLUR) t) x0 + t x1. The network predicts x1 from x and t; the velocity
of x follows from the prediction. The equation is solved in steps, forwards to draw a z and backwards to find the normal
vector of a z.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from geogae.autoencoders.base import State
from geogae.checks import check_number
from geogae.errors import GeoGAEError
from geogae.latent.fitting import fit_network, opened, with_openness
from geogae.latent.prior import (
    Given,
    Prior,
    check_rows,
    normal_log_density,
    property_columns,
    ranges_of,
    slerp,
    tensors_of,
)
from geogae.training.checkpoint import parts_of
from geogae.training.loop import deterministic
from geogae.training.precision import bfloat16_pays

BLUR = 0.03  # deviation around each z, in units of the deviation of each number
DENOISE = 0.2  # deviation of the noise that draws are freed from, in the same units
NARROW, WIDE, MANY = 512, 1024, 20_000  # hidden units at most, for few z and for many
EACH, BLOCKS = 8, 4  # hidden units for each number of z beside 64
TIMES = 32  # frequencies that a time is written with
EVEN = 0.2  # power of its deviation that each number is divided by: with 1 all would be alike
BACK = 2  # corrections of a step backwards
RATE, DECAY = 1e-3, 0.01  # Adam's step, and the decay of weights
STEPS = 60  # of the equation
HEAVIEST = 20.0  # weight of a guess late on the way, at most
PROBES = 8  # random directions that estimate a divergence
AT_ONCE = 4096  # vectors
RESTARTS = (0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93)  # times to which draws go back with fresh noise
CHANGES = (0.3, 0.45, 0.6, 0.7)  # times to which a change goes back
RESTART_STEPS = 12  # of the equation from time 0 on, in a restart: fresh noise hides the errors of long steps
MEET = 0.6  # time at which the ends of a path are joined: 0 is the normal distribution, 1 is z

Steps = Sequence[tuple[float, float]]  # of time


class FlowNetwork(nn.Module):
    """Predicts x1 (B, m) from x (B, m), the time (B,) and conditions (B, c)."""

    def __init__(self, m: int, width: int, given: int = 0) -> None:
        super().__init__()
        self.frequencies: Tensor
        self.register_buffer("frequencies", torch.exp(torch.linspace(0, math.log(1000), TIMES)), persistent=False)
        self.when = nn.Sequential(nn.Linear(2 * TIMES + given, width // 4), nn.SiLU())
        self.first = nn.Linear(m, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(BLOCKS))
        self.shifts = nn.ModuleList(nn.Linear(width // 4, width) for _ in range(BLOCKS))
        self.inner = nn.ModuleList(nn.Linear(width, width) for _ in range(BLOCKS))
        self.outer = nn.ModuleList(nn.Linear(width, width) for _ in range(BLOCKS))
        self.last = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, m))

    def forward(self, x: Tensor, t: Tensor, given: Tensor | None = None) -> Tensor:
        """Under autocast the blocks compute in bfloat16; x and what is predicted keep all their digits."""
        angles = t[:, None] * self.frequencies  # (B, TIMES)
        when = self.when(torch.cat([angles.sin(), angles.cos(), *([] if given is None else [given])], dim=1))
        with torch.autocast(x.device.type, enabled=False):
            hidden = self.first(x)  # (B, width)
        for norm, shift, inner, outer in zip(self.norms, self.shifts, self.inner, self.outer, strict=True):
            hidden = hidden + outer(nn.functional.silu(inner(norm(hidden)) + shift(when)))
        with torch.autocast(x.device.type, enabled=False):
            return self.last(hidden.float())


class FlowPrior(Prior):
    """See the module; ``log_prob`` is an estimate with PROBES random directions, the same ones each time."""

    name = "flow"

    def __init__(self) -> None:
        self.basis = np.empty((0, 0))  # (m, m): numbers are z · basis, centred and scaled
        self.history: list[dict[str, float]] = []

    @property
    def m(self) -> int:
        return len(self.basis)

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

        ``basis`` (m, m) is an invertible map of z after which numbers are in like units. With a ``checkpoint`` file a
        fit that was interrupted continues if ``resume``.
        """
        check_number("core_minutes", core_minutes, float, 1e-3, 1e6)
        rows = check_rows(z)
        if len(rows) < 2:
            raise GeoGAEError(f"a prior is fitted to the z of at least 2 graphs, not {len(rows)}")
        self.conditions, values = property_columns(properties, len(rows))
        self.ranges = ranges_of(self.conditions, values)
        self.basis = np.eye(rows.shape[1]) if basis is None else np.asarray(basis, dtype=np.float64)
        numbers = rows @ self.basis
        self.center, self.scale = numbers.mean(0), _scales(numbers)
        self.given_center, self.given_scale = values.mean(0), values.std(0) + 1e-9
        data = [torch.from_numpy((numbers - self.center) / self.scale).float()]
        data.append(torch.from_numpy((values - self.given_center) / self.given_scale).float())
        with deterministic(seed):
            width = WIDE if len(rows) >= MANY else NARROW
            self.network = FlowNetwork(self.m, min(width, 64 + EACH * self.m), 2 * len(self.conditions))
        self.history = fit_network(
            self.network, data, _error, core_minutes=core_minutes, rate=RATE, decay=DECAY, seed=seed,
            checkpoint=None if checkpoint is None else Path(checkpoint), resume=resume, progress=progress,
        )  # fmt: skip
        self.network.eval()
        return self

    # -- the map ------------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def from_normal(
        self, u: NDArray[np.floating], given: Given | None = None, guidance: float = 1.0
    ) -> NDArray[np.float32]:
        check_number("guidance", guidance, float, 0, 100)
        return self._forwards(u, _times(), given, guidance)

    @torch.inference_mode()
    def to_normal(self, z: NDArray[np.floating], given: Given | None = None) -> NDArray[np.float64]:
        return self._backwards(z, _times(), given)

    def sample(
        self,
        n: int,
        seed: int = 0,
        given: Given | None = None,
        guidance: float = 1.0,
        temperature: float = 1.0,
        restarts: Sequence[float] | None = None,
    ) -> NDArray[np.float32]:
        """n draws, see :meth:`Prior.sample`; ``restarts`` are the times of :meth:`restarted`, RESTARTS if not given."""
        check_number("temperature", temperature, float, 0, 10)
        rng = np.random.default_rng(seed)
        with _quick(n):
            z = self.from_normal(temperature * rng.standard_normal((n, self.m)), given, guidance)
        z = self.restarted(z, RESTARTS if restarts is None else restarts, rng, given, guidance, temperature)
        return self.denoised(z, given)

    @torch.inference_mode()
    def restarted(
        self,
        z: NDArray[np.floating],
        times: Sequence[float],
        rng: np.random.Generator,
        given: Given | None = None,
        guidance: float = 1.0,
        temperature: float = 1.0,
    ) -> NDArray[np.float32]:
        """z (N, m) that go back to each of some times with fresh noise, and forwards again (Xu et al. 2023).

        This corrects part of the earlier error of the integration. ``temperature`` scales the noise, as it scales the
        normal vectors of the draws.
        """
        found = np.asarray(z, np.float32)
        for time in times:
            left = 1 - (1 - BLUR) * time  # deviation of the noise at this time; t · BLUR of it is there already
            fresh = temperature * math.sqrt(left**2 - (time * BLUR) ** 2)
            points = time * self._numbers(found) + fresh * rng.standard_normal(found.shape)
            with _quick(len(points)):
                found = self._forwards(points, _times(RESTART_STEPS, time), given, guidance)
        return found

    def changed(self, z: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
        """Restarts of z (N, m), each from one of CHANGES: the earlier the time, the larger the change."""
        found, times = np.array(z, np.float32), rng.choice(CHANGES, len(z))
        for time in CHANGES:
            found[times == time] = self.restarted(found[times == time], (time, RESTARTS[-1]), rng)
        return self.denoised(found)

    @torch.inference_mode()
    def denoised(self, z: NDArray[np.float32], given: Given | None = None) -> NDArray[np.float32]:
        """The network's prediction of x1 for z (N, m), as if z had noise of deviation DENOISE.

        A draw between several likely z moves towards one of them.
        """
        numbers = self._numbers(z)
        conditions = self._condition_inputs(given, len(numbers))
        t = (1 - DENOISE) / (1 - BLUR)
        parts = [np.empty((0, self.m))]
        for begin in range(0, len(numbers), AT_ONCE):
            x, own = self._part(numbers, conditions, begin)
            parts.append(self.network(t * x, torch.full((len(x),), t), own).double().numpy())
        return self._z(np.concatenate(parts))

    @torch.inference_mode()
    def between(
        self, one: NDArray[np.floating], other: NDArray[np.floating], at: Sequence[float], meet: float | None = None
    ) -> NDArray[np.float32]:
        """Ends are joined at the time ``meet``, MEET if not given: the later, the more do points keep of both ends."""
        late = [step for step in _times() if step[0] >= (MEET if meet is None else meet)]
        ends = zip(self._backwards(one, late), self._backwards(other, late), strict=True)
        points = np.concatenate([slerp(begin, end, at) for begin, end in ends])
        return self.denoised(self._forwards(points, late)).reshape(len(one), len(at), self.m)

    def blurred(self, z: NDArray[np.floating], noise: float, seed: int = 0) -> NDArray[np.float32]:
        """z (N, m) with normal noise of this deviation in the numbers that the network sees."""
        numbers = self._numbers(z)
        return self._z(numbers + noise * np.random.default_rng(seed).standard_normal(numbers.shape))

    def _forwards(
        self, x: NDArray[np.floating], times: Steps, given: Given | None = None, guidance: float = 1.0
    ) -> NDArray[np.float32]:
        """z of points (N, m) at the first of some times."""
        points = check_rows(x, self.m)
        conditions = self._condition_inputs(given, len(points))
        parts = [np.empty((0, self.m))]
        for begin in range(0, len(points), AT_ONCE):
            part, own = self._part(points, conditions, begin)
            for t, following in times:
                part = self._stepped(part, t, following, own, guidance)
            parts.append(part.double().numpy())
        return self._z(np.concatenate(parts))

    def _numbers(self, z: NDArray[np.floating]) -> NDArray[np.float64]:
        """The numbers (N, m) that the network sees of z (N, m)."""
        scaled: NDArray[np.float64] = (check_rows(z, self.m) @ self.basis - self.center) / self.scale
        return scaled

    def _z(self, numbers: NDArray[np.float64]) -> NDArray[np.float32]:
        """z (N, m) of the numbers that the network sees."""
        return np.linalg.solve(self.basis.T, (numbers * self.scale + self.center).T).T.astype(np.float32)

    def _backwards(self, z: NDArray[np.floating], times: Steps, given: Given | None = None) -> NDArray[np.float64]:
        """Where z (N, m) were at the first of some times."""
        numbers = self._numbers(z)
        conditions = self._condition_inputs(given, len(numbers))
        parts = [np.empty((0, self.m))]
        for begin in range(0, len(numbers), AT_ONCE):
            part, own = self._part(numbers, conditions, begin)
            for t, following in reversed(times):
                part = self._back(part, t, following, own)
            parts.append(part.double().numpy())
        return np.concatenate(parts)

    def log_prob(self, z: NDArray[np.floating], given: Given | None = None) -> NDArray[np.float64]:
        """Of the normal vector, less the integral of the divergence on the way."""
        numbers = self._numbers(z)
        conditions = self._condition_inputs(given, len(numbers))
        volume = np.linalg.slogdet(self.basis)[1] - np.log(self.scale).sum()
        generator = torch.Generator().manual_seed(0)
        probes = torch.randint(0, 2, (PROBES, self.m), generator=generator).float() * 2 - 1
        densities = [np.empty(0)]
        for begin in range(0, len(numbers), AT_ONCE):
            x, own = self._part(numbers, conditions, begin)
            divergence = torch.zeros(len(x), dtype=torch.float64)
            for t, following in reversed(_times()):
                with torch.inference_mode():
                    before = self._back(x, t, following, own)
                middle = ((before + x) / 2).clone()
                divergence += (following - t) * self._divergence(middle, (t + following) / 2, own, probes)
                x = before.clone()
            densities.append(normal_log_density(x.double().numpy()) - divergence.numpy() + volume)
        return np.concatenate(densities)

    def _part(self, rows: NDArray[np.float64], conditions: Tensor | None, begin: int) -> tuple[Tensor, Tensor | None]:
        part = slice(begin, begin + AT_ONCE)
        return torch.from_numpy(rows[part]).float(), None if conditions is None else conditions[part]

    def _velocity(self, x: Tensor, t: float, conditions: Tensor | None, guidance: float = 1.0) -> Tensor:
        when = torch.full((len(x),), t)
        guess = self.network(x, when, conditions)
        if conditions is not None and guidance != 1:
            free = self.network(x, when, torch.zeros_like(conditions))
            guess = free + guidance * (guess - free)
        return (guess - (1 - BLUR) * x) / (1 - (1 - BLUR) * t)

    def _stepped(self, x: Tensor, t: float, following: float, conditions: Tensor | None, guidance: float) -> Tensor:
        """Heun's step."""
        first = self._velocity(x, t, conditions, guidance)
        second = self._velocity(x + (following - t) * first, following, conditions, guidance)
        return x + (following - t) * (first + second) / 2

    def _back(self, x: Tensor, t: float, following: float, conditions: Tensor | None) -> Tensor:
        """The inverse of a step, by iteration: where a step leads to x."""
        before = self._stepped(x, following, t, conditions, 1.0)
        for _ in range(BACK):
            before = before + x - self._stepped(before, t, following, conditions, 1.0)
        return before

    def _divergence(self, x: Tensor, t: float, conditions: Tensor | None, probes: Tensor) -> Tensor:
        """The trace of the velocity's Jacobian (B,), as random directions estimate it."""
        x = x.requires_grad_(True)
        velocity = self._velocity(x, t, conditions)
        found = torch.zeros(len(x), dtype=torch.float64)
        for number, probe in enumerate(probes):
            again = number + 1 < len(probes)
            [slope] = torch.autograd.grad(velocity, x, probe.expand_as(x), retain_graph=again)
            found += (slope * probe).sum(1).double() / len(probes)
        return found.detach()

    def _condition_inputs(self, given: Given | None, count: int) -> Tensor | None:
        """Conditions and which of them are given, (count, 2c)."""
        if not self.conditions:
            self.given_columns(given, count)  # an error if there are any
            return None
        columns = (self.given_columns(given, count) - self.given_center) / self.given_scale
        return with_openness(torch.from_numpy(columns).float(), torch.from_numpy(np.isnan(columns)))

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> State:
        arrays = {"basis": self.basis, "center": self.center, "scale": self.scale,
                  "given_center": self.given_center, "given_scale": self.given_scale}  # fmt: skip
        network = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        return State(tensors_of(arrays) | network, self.facts())

    @classmethod
    def from_state(cls, state: State) -> Self:
        prior = cls.of_facts(state.facts)
        names = ("basis", "center", "scale", "given_center", "given_scale")
        own = [state.tensors[name].numpy() for name in names]
        prior.basis, prior.center, prior.scale, prior.given_center, prior.given_scale = own
        width = len(state.tensors["network.first.weight"])
        prior.network = FlowNetwork(prior.m, width, 2 * len(prior.conditions))
        prior.network.load_state_dict(dict(parts_of(state.tensors, "network.")))
        prior.network.eval()
        return prior


def _quick(count: int) -> torch.autocast:
    """In bfloat16 where that is faster for so many vectors: enough for draws, not for the inverse of a z."""
    return torch.autocast("cpu", torch.bfloat16, enabled=bfloat16_pays(torch.device("cpu"), count))


def _scales(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """What numbers (N, m) are divided by, (m,); their mean square is about 1 then, and larger ones stay larger."""
    deviations = numbers.std(0)
    typical = max(float(np.sqrt((deviations**2).mean())), 1e-9)
    return typical * (deviations / typical).clip(1e-3) ** EVEN


def _times(steps: int = STEPS, begin: float = 0.0) -> list[tuple[float, float]]:
    """Begin and end of each step from a time on, so many of them from time 0 on.

    The noise that is left falls by about the same factor in each step.
    """
    first = math.log(1 - (1 - BLUR) * begin) / math.log(BLUR)  # 0 at time 0, 1 at time 1
    left = BLUR ** np.linspace(first, 1, max(1, round(steps * (1 - first))) + 1)
    times = ((1 - left) / (1 - BLUR)).clip(0, 1).tolist()
    return list(pairwise(times))


def _error(network: FlowNetwork, batch: list[Tensor], generator: torch.Generator) -> Tensor:
    """Mean squared error of the velocity, the last of the way weighted no more than HEAVIEST."""
    x1, given = batch
    x0 = torch.randn(x1.shape, generator=generator)
    t = torch.sigmoid(torch.randn(len(x1), generator=generator))  # times near 1/2 are drawn most often
    left = (1 - (1 - BLUR) * t)[:, None]
    guess = network(left * x0 + t[:, None] * x1, t, opened(given, generator) if given.shape[1] else None)
    return ((guess - x1).square() / left.square().clamp(min=1 / HEAVIEST)).mean()
