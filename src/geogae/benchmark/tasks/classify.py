"""Classes of graphs from frozen vectors, 10-fold: SVM and logistic regression, their C chosen inside each fold."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from geogae.autoencoders.descriptor import Descriptor
from geogae.benchmark.tasks import simple_vectors
from geogae.graph import Graph

FOLDS = 10
C = (0.1, 1.0, 10.0, 100.0, 1000.0)


def run(
    name: str, graphs: Sequence[Graph], seed: int, k: int = 16, z: NDArray[np.floating] | None = None, m: int = 0
) -> Iterator[dict[str, Any]]:
    """One result for each kind of vector; ``z`` are whole vectors of a model that was fitted without labels."""
    labels = np.array([graph.label for graph in graphs])
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(labels, labels))
    fixed: dict[str, NDArray[Any]] = {
        "counts": simple_vectors.counts(graphs),
        "degrees": simple_vectors.degree_histogram(graphs),
    }
    if z is not None:
        fixed["z"] = z
    for what in ("descriptor", *fixed):
        scores: dict[str, list[float]] = {"svm": [], "logistic": []}
        for train, test in folds:
            if what == "descriptor":  # learned from the training folds alone
                made = Descriptor(k).fit([graphs[i] for i in train])
                rows: NDArray[Any] = made.describe(graphs)
            else:
                rows = fixed[what]
            scaled = what not in ("descriptor", "z")  # these have their scale
            scores["svm"].append(_svm(rows, labels, train, test, scaled, seed))
            scores["logistic"].append(_logistic(rows, labels, train, test, scaled, seed))
        size = {"descriptor": k, "z": m}.get(what, rows.shape[1])
        for classifier, values in scores.items():
            yield _result(name, seed, what, classifier, size, values)
    kernel = simple_vectors.wl_kernel(graphs)
    values = [
        _best(lambda c: SVC(C=c, kernel="precomputed"), kernel, labels, train, test, seed, True)
        for train, test in folds
    ]
    yield _result(name, seed, "WL kernel", "svm", None, values)


def _result(name: str, seed: int, what: str, classifier: str, size: int | None, values: list[float]) -> dict[str, Any]:
    accuracy, deviation = round(100 * float(np.mean(values)), 2), round(100 * float(np.std(values)), 2)
    return {"task": "classify", "dataset": name, "seed": seed, "vectors": what, "numbers": size,
            "classifier": classifier, "accuracy": accuracy, "fold_deviation": deviation}  # fmt: skip


def _svm(rows: Any, labels: Any, train: Any, test: Any, scaled: bool, seed: int) -> float:
    return _best(lambda c: _pipeline(SVC(C=c), scaled), rows, labels, train, test, seed)


def _logistic(rows: Any, labels: Any, train: Any, test: Any, scaled: bool, seed: int) -> float:
    return _best(lambda c: _pipeline(LogisticRegression(C=c, max_iter=500), scaled), rows, labels, train, test, seed)


def _pipeline(estimator: Any, scaled: bool) -> Any:
    return make_pipeline(StandardScaler(), estimator) if scaled else estimator


def _best(make: Any, rows: Any, labels: Any, train: Any, test: Any, seed: int, kernel: bool = False) -> float:
    """Accuracy on the test fold, with the C that is best on a fifth of the training folds."""

    def part(at: Any, against: Any) -> Any:
        return rows[np.ix_(at, against)] if kernel else rows[at]

    [(fit, choose)] = StratifiedShuffleSplit(1, test_size=0.2, random_state=seed).split(train, labels[train])
    fit, choose = train[fit], train[choose]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a logistic regression that stops early is still one
        chosen = max(C, key=lambda c: make(c).fit(part(fit, fit), labels[fit]).score(part(choose, fit), labels[choose]))
        return float(make(chosen).fit(part(train, train), labels[train]).score(part(test, train), labels[test]))
