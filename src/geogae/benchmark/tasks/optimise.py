"""Better molecules within a budget of scores: the search against five times as many random draws from the prior."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from geogae.benchmark.tasks import molecules as qm9
from geogae.estimator import GeoGAE
from geogae.latent import scores
from geogae.latent.optimisation import TOP

CALLS, RANDOM_CALLS, STARTS = 2000, 10_000, 200
SEARCHES: dict[str, dict[str, Any]] = {
    "search": {},
    "CMA-ES alone": {"changes": False, "surrogate": False},
}


def run(
    model: GeoGAE, seed: int, names: Sequence[str] = ("qed", "plogp"), searches: Sequence[str] = tuple(SEARCHES)
) -> Iterator[dict[str, Any]]:
    graphs, _ = qm9.qm9()
    train, _, _ = qm9.parts(len(graphs))
    start = [graphs[i] for i in np.random.default_rng(seed).choice(train, STARTS, replace=False)]
    drawn = model.sample(RANDOM_CALLS, seed=seed, only_valid=True, keep_rules=True)
    for name in names:
        yield _result(name, "start", seed, STARTS, _scored(name, start))
        yield _result(name, "random draws", seed, RANDOM_CALLS, _scored(name, drawn))
        for search in searches:
            found = model.optimise(name, CALLS, start, seed=seed, keep_rules=True, **SEARCHES[search])
            yield _result(name, search, seed, found.calls, [one.score for one in found.best])


def _scored(name: str, graphs: list[Any]) -> list[float]:
    from rdkit import Chem

    from geogae.formats import to_molecules

    function, _ = scores.find(name)
    different = {Chem.MolToSmiles(molecule): molecule for molecule in to_molecules(graphs) if molecule is not None}
    return sorted((function(molecule) for molecule in different.values()), reverse=True)


def _result(name: str, method: str, seed: int, calls: int, best: list[float]) -> dict[str, Any]:
    return {"task": "optimise", "dataset": "QM9", "score": name, "method": method, "seed": seed, "calls": calls,
            "best": round(best[0], 4), "top_10": round(float(np.mean(best[:TOP])), 4)}  # fmt: skip
