"""A surrogate of a score: a Gaussian process on what graphs are like, learned from those that were scored."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from geogae.autoencoders.descriptor import Descriptor
from geogae.graph import Graph

NUMBERS = 64  # of a graph's descriptor
LEARN_FROM = 1500  # scored graphs, at most: the best half of them, and others at random
TUNE_ON = 300  # graphs that length scale and noise are chosen on, by marginal likelihood
BOLD = 1.0  # deviations that are added to the expected score: what is not known yet is tried


class Surrogate:
    """Predicts scores of new graphs from those scored so far."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.descriptor = Descriptor(NUMBERS)
        self.process: Any = None

    def fit(self, graphs: Sequence[Graph], scores: NDArray[np.float64]) -> Self:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

        chosen = self._chosen(scores)
        graphs, scores = [graphs[i] for i in chosen], scores[chosen]
        numbers = self.descriptor.fit(graphs).describe(graphs).astype(np.float64)
        kernel = ConstantKernel(1.0) * RBF(np.sqrt(NUMBERS), (1.0, 1e3)) + WhiteKernel(0.1, (1e-3, 1.0))
        few = self.rng.choice(len(graphs), min(TUNE_ON, len(graphs)), replace=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a value at its bound will do
            tuned = GaussianProcessRegressor(kernel, normalize_y=True).fit(numbers[few], scores[few])
        self.process = GaussianProcessRegressor(tuned.kernel_, optimizer=None, normalize_y=True).fit(numbers, scores)
        return self

    def optimistic(self, graphs: Sequence[Graph]) -> NDArray[np.float64]:
        """The expected score of each graph, plus BOLD deviations; (len(graphs),)."""
        mean, deviation = self.process.predict(self.descriptor.describe(graphs).astype(np.float64), return_std=True)
        bound: NDArray[np.float64] = mean + BOLD * deviation
        return bound

    def _chosen(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        order = np.argsort(-scores, kind="stable")
        best, rest = order[: LEARN_FROM // 2], order[LEARN_FROM // 2 :]
        if len(order) > LEARN_FROM:
            rest = self.rng.choice(rest, LEARN_FROM - len(best), replace=False)
        return np.sort(np.concatenate([best, rest]))
