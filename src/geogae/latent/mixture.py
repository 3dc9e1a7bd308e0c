"""A mixture of normal distributions, a baseline: draws and densities, but no invertible map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn.mixture import GaussianMixture

from geogae.autoencoders.base import State
from geogae.checks import check_number
from geogae.errors import GeoGAEError
from geogae.latent.prior import Given, Prior, check_rows, normal_log_density, tensors_of

COMPONENTS = 30


class MixturePrior(Prior):
    """At most COMPONENTS full normal distributions; it takes no conditions."""

    name = "mixture"

    def __init__(self) -> None:
        self.weights, self.means, self.roots = np.empty(0), np.empty((0, 0)), np.empty((0, 0, 0))

    @property
    def m(self) -> int:
        return self.means.shape[1]

    def fit(self, z: NDArray[np.floating], properties: Mapping[str, ArrayLike] | None = None, **how: Any) -> Self:
        if properties:
            raise GeoGAEError("the mixture takes no properties; use prior='flow' or 'gaussian'")
        rows = check_rows(z)
        count = max(1, min(COMPONENTS, len(rows) // 10))
        scale = 1e-4 * max(float(rows.var(0).mean()), 1e-9)
        found = GaussianMixture(count, reg_covar=scale, max_iter=50, random_state=int(how.get("seed", 0))).fit(rows)
        self.weights, self.means = found.weights_, found.means_
        self.roots = np.linalg.cholesky(found.covariances_)  # (K, m, m), lower
        return self

    def sample(
        self, n: int, seed: int = 0, given: Given | None = None, guidance: float = 1.0, temperature: float = 1.0
    ) -> NDArray[np.float32]:
        check_number("temperature", temperature, float, 0, 10)
        self.check_no_guidance(guidance)
        self.given_columns(given, n)
        rng = np.random.default_rng(seed)
        chosen = rng.choice(len(self.weights), n, p=self.weights / self.weights.sum())
        u = temperature * rng.standard_normal((n, self.m))
        return (self.means[chosen] + np.einsum("nij,nj->ni", self.roots[chosen], u)).astype(np.float32)

    def log_prob(self, z: NDArray[np.floating], given: Given | None = None) -> NDArray[np.float64]:
        rows = check_rows(z, self.m)
        self.given_columns(given, len(rows))
        parts = []
        for weight, mean, root in zip(self.weights, self.means, self.roots, strict=True):
            u = np.linalg.solve(root, (rows - mean).T).T.astype(np.float64)
            parts.append(np.log(weight) + normal_log_density(u) - np.log(np.diag(root)).sum())
        return logsumexp(parts, axis=0)

    def to_normal(self, z: NDArray[np.floating], given: Given | None = None) -> NDArray[np.float64]:
        raise GeoGAEError("the mixture is no invertible map; fit prior='flow' or 'gaussian' instead")

    def from_normal(
        self, u: NDArray[np.floating], given: Given | None = None, guidance: float = 1.0
    ) -> NDArray[np.float32]:
        raise GeoGAEError("the mixture is no invertible map; fit prior='flow' or 'gaussian' instead")

    def state(self) -> State:
        return State(tensors_of({"weights": self.weights, "means": self.means, "roots": self.roots}), {})

    @classmethod
    def from_state(cls, state: State) -> Self:
        prior = cls()
        prior.weights, prior.means, prior.roots = (
            state.tensors[name].numpy() for name in ("weights", "means", "roots")
        )
        return prior
