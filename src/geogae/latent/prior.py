"""A prior: an invertible map between z and N(0, I), fitted to the z of training graphs.

``from_normal`` turns standard normal vectors u into z, ``to_normal`` is its inverse, and ``log_prob`` is the density
that follows. What lies between two u is as likely as its ends, which a straight line between two z is not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from geogae.autoencoders.base import State
from geogae.checks import check_number
from geogae.errors import GeoGAEError

PRIORS: dict[str, str] = {  # where each is
    "flow": "geogae.latent.flow:FlowPrior",
    "gaussian": "geogae.latent.prior:GaussianPrior",
    "mixture": "geogae.latent.mixture:MixturePrior",
}
RIDGE = 1e-6  # added to variances, relative to their mean

Given = Mapping[str, ArrayLike]


class Prior(ABC):
    """Numbers (N, m) in, numbers (N, m) out. ``conditions`` are the names of what a draw may be conditioned on."""

    name: str
    conditions: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[float, float]] = MappingProxyType({})  # of the conditions, in the fit

    @abstractmethod
    def fit(self, z: NDArray[np.floating], properties: Mapping[str, ArrayLike] | None = None, **how: Any) -> Self: ...

    @abstractmethod
    def to_normal(self, z: NDArray[np.floating], given: Given | None = None) -> NDArray[np.float64]: ...

    @abstractmethod
    def from_normal(
        self, u: NDArray[np.floating], given: Given | None = None, guidance: float = 1.0
    ) -> NDArray[np.float32]: ...

    @abstractmethod
    def log_prob(self, z: NDArray[np.floating], given: Given | None = None) -> NDArray[np.float64]: ...

    @abstractmethod
    def state(self) -> State: ...

    @classmethod
    @abstractmethod
    def from_state(cls, state: State) -> Self: ...

    @property
    @abstractmethod
    def m(self) -> int: ...

    def sample(
        self, n: int, seed: int = 0, given: Given | None = None, guidance: float = 1.0, temperature: float = 1.0
    ) -> NDArray[np.float32]:
        """n draws of z, denoised; their normal vectors have the deviation ``temperature``."""
        check_number("temperature", temperature, float, 0, 10)
        u = temperature * np.random.default_rng(seed).standard_normal((n, self.m))
        return self.denoised(self.from_normal(u, given, guidance), given)

    def denoised(self, z: NDArray[np.float32], given: Given | None = None) -> NDArray[np.float32]:
        """z (N, m) with its noise removed, where a prior can do that; by default z is returned as it is."""
        return z

    def changed(self, z: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
        """Random changes of z (N, m) that are as likely as z: some or all numbers of its normal vector are turned."""
        u = self.to_normal(z)
        angle = rng.choice([0.15, 0.3, 0.6, np.pi / 2], (len(u), 1))
        turned = np.cos(angle) * u + np.sin(angle) * rng.standard_normal(u.shape)
        some = rng.random(u.shape) < rng.choice([2 / self.m, 0.1, 0.3, 1.0], (len(u), 1))
        return self.denoised(self.from_normal(np.where(some, turned, u)))

    def between(
        self, one: NDArray[np.floating], other: NDArray[np.floating], at: Sequence[float]
    ) -> NDArray[np.float32]:
        """Paths (N, len(at), m) of z from one (N, m) to the other (N, m): on great circles between normal vectors."""
        points = [slerp(*ends, at) for ends in zip(self.to_normal(one), self.to_normal(other), strict=True)]
        return self.from_normal(np.concatenate(points)).reshape(len(one), len(at), self.m)

    def facts(self) -> dict[str, Any]:
        """The conditions and their ranges, as JSON can hold them."""
        return {"conditions": list(self.conditions), "ranges": dict(self.ranges)}

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> Self:
        """A prior of these conditions that is not fitted yet."""
        prior = cls()
        prior.conditions = tuple(facts["conditions"])
        prior.ranges = {name: (low, high) for name, (low, high) in facts.get("ranges", {}).items()}
        return prior

    def far(self, given: Given | None) -> list[str]:
        """A line for each condition that is outside of what the prior was fitted with."""
        lines = []
        for name, values in _by_name("given", given).items():
            low, high = self.ranges.get(name, (-np.inf, np.inf))
            numbers = _numbers(values)
            if (beyond := numbers[(numbers < low) | (numbers > high)]).size:
                lines.append(f"given[{name!r}]={beyond[0]:g} is outside of the fitted range, {low:g} to {high:g}")
        return lines

    def check_no_guidance(self, guidance: float) -> None:
        if guidance != 1:
            raise GeoGAEError(f"guidance={guidance} needs prior='flow'; the prior {self.name!r} takes guidance=1")

    def given_columns(self, given: Given | None, count: int) -> NDArray[np.float64]:
        """Conditions (count, c) in the prior's own order, NaN where one is left open."""
        given = _by_name("given", given)
        if unknown := [name for name in given if name not in self.conditions]:
            known = f"was fitted with {', '.join(self.conditions)}" if self.conditions else "was fitted without any"
            raise GeoGAEError(
                f"given={unknown[0]!r} is no condition of this prior, which {known}; fit_prior takes properties={{…}}"
            )
        columns = np.full((count, len(self.conditions)), np.nan)
        for at, name in enumerate(self.conditions):
            if name in given:
                values = _numbers(given[name])
                if values.shape not in ((), (count,)) or not np.isfinite(values).all():
                    raise GeoGAEError(f"given[{name!r}] must be one finite number, or {count} of them")
                columns[:, at] = values
        return columns


def find(name: str) -> type[Prior]:
    if name not in PRIORS:
        raise GeoGAEError(f"prior={name!r} is not known; valid are {', '.join(PRIORS)}")
    module, _, cls = PRIORS[name].partition(":")
    return getattr(import_module(module), cls)


def check_rows(z: Any, m: int | None = None) -> NDArray[np.float64]:
    """Finite numbers (N, m), or one clear line."""
    rows = np.asarray(z, dtype=np.float64)
    if rows.ndim != 2 or (m is not None and rows.shape[1] != m):
        raise GeoGAEError(f"z has shape {rows.shape}; a prior takes (count, {m or 'm'})")
    if not np.isfinite(rows).all():
        raise GeoGAEError("z holds numbers that are not finite; a prior takes z of graphs that could be encoded")
    return rows


def property_columns(properties: Mapping[str, ArrayLike] | None, count: int) -> tuple[tuple[str, ...], Any]:
    """Names, and values (count, c)."""
    properties = _by_name("properties", properties)
    columns = [_numbers(values) for values in properties.values()]
    for name, column in zip(properties, columns, strict=True):
        if column.shape != (count,) or not np.isfinite(column).all():
            raise GeoGAEError(f"properties[{name!r}] must be {count} finite numbers, one for each graph")
    return tuple(properties), np.column_stack(columns) if columns else np.empty((count, 0))


def ranges_of(names: Sequence[str], values: NDArray[np.float64]) -> dict[str, tuple[float, float]]:
    return {name: (float(column.min()), float(column.max())) for name, column in zip(names, values.T, strict=True)}


def _by_name(argument: str, values: Mapping[str, ArrayLike] | None) -> dict[str, ArrayLike]:
    if values is not None and not isinstance(values, Mapping):
        raise GeoGAEError(f"{argument}={values!r} must be numbers by name, as in {{'logP': 2.5}}")
    return dict(values or {})


def _numbers(values: ArrayLike) -> NDArray[np.float64]:
    """NaN, which is refused, where there is no number."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.array(np.nan)


class GaussianPrior(Prior):
    """One normal distribution, the baseline; conditions make it a regression of z on them."""

    name = "gaussian"

    def __init__(self) -> None:
        self.mean, self.root = np.empty(0), np.empty((0, 0))  # z = mean + u · root
        self.slope, self.center = np.empty((0, 0)), np.empty(0)

    @property
    def m(self) -> int:
        return len(self.mean)

    def fit(self, z: NDArray[np.floating], properties: Mapping[str, ArrayLike] | None = None, **how: Any) -> Self:
        rows = check_rows(z)
        self.conditions, values = property_columns(properties, len(rows))
        self.ranges = ranges_of(self.conditions, values)
        self.mean, self.center = rows.mean(0), values.mean(0)
        centred = values - self.center
        self.slope = (
            np.linalg.lstsq(centred, rows - self.mean, rcond=None)[0] if values.shape[1] else np.zeros((0, self.m))
        )
        rest = rows - self.mean - centred @ self.slope
        covariance = rest.T @ rest / max(1, len(rows))
        covariance += RIDGE * max(float(np.trace(covariance)) / self.m, 1e-12) * np.eye(self.m)
        self.root = np.linalg.cholesky(covariance).T
        return self

    def _middle(self, given: Given | None, count: int) -> NDArray[np.float64]:
        columns = self.given_columns(given, count)
        return self.mean + np.where(np.isnan(columns), 0, columns - self.center) @ self.slope

    def to_normal(self, z: NDArray[np.floating], given: Given | None = None) -> NDArray[np.float64]:
        rows = check_rows(z, self.m)
        return np.linalg.solve(self.root.T, (rows - self._middle(given, len(rows))).T).T.astype(np.float64)

    def from_normal(
        self, u: NDArray[np.floating], given: Given | None = None, guidance: float = 1.0
    ) -> NDArray[np.float32]:
        self.check_no_guidance(guidance)
        u = check_rows(u, self.m)
        return (self._middle(given, len(u)) + u @ self.root).astype(np.float32)

    def log_prob(self, z: NDArray[np.floating], given: Given | None = None) -> NDArray[np.float64]:
        u = self.to_normal(z, given)
        return normal_log_density(u) - np.log(np.diag(self.root)).sum()

    def state(self) -> State:
        arrays = {"mean": self.mean, "root": self.root, "slope": self.slope, "center": self.center}
        return State(tensors_of(arrays), self.facts())

    @classmethod
    def from_state(cls, state: State) -> Self:
        prior = cls.of_facts(state.facts)
        prior.mean, prior.root, prior.slope, prior.center = (
            state.tensors[name].numpy() for name in ("mean", "root", "slope", "center")
        )
        return prior


def normal_log_density(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of rows (N, m) under N(0, I)."""
    return -0.5 * (u**2).sum(1) - 0.5 * u.shape[1] * np.log(2 * np.pi)


def tensors_of(arrays: Mapping[str, NDArray[Any]]) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(np.array(array, order="C")) for name, array in arrays.items()}


def slerp(one: NDArray[np.float64], other: NDArray[np.float64], at: Sequence[float]) -> NDArray[np.float64]:
    """Points (len(at), m) on the great circle between two normal vectors; lengths go from one's to the other's."""
    lengths = float(np.linalg.norm(one)), float(np.linalg.norm(other))
    cosine = np.clip(one @ other / max(lengths[0] * lengths[1], 1e-12), -1, 1)
    angle = np.arccos(cosine)
    sine, points = np.sin(angle), []
    for t in at:
        if sine < 1e-6:
            points.append((1 - t) * one + t * other)
            continue
        direction = (np.sin((1 - t) * angle) * one / lengths[0] + np.sin(t * angle) * other / lengths[1]) / sine
        points.append(direction * ((1 - t) * lengths[0] + t * lengths[1]))
    return np.array(points)
