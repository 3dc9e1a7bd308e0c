"""n_jobs: joblib's workers fit what the process itself would, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import networkx as nx
import numpy as np
import pytest
from joblib import parallel_config

from families import plain, random_graph
from geogae.geometry.fitting import fit_clouds

GRAPHS = [random_graph(n, 0.08, seed=n) for n in (90, 100, 110, 120)] + [plain(nx.cycle_graph(5))]


@contextmanager
def dask() -> Iterator[None]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        parallel_config(backend="dask"),
    ):
        yield


@contextmanager
def loky() -> Iterator[None]:
    with parallel_config(backend="loky"):
        yield


@contextmanager
def ray() -> Iterator[None]:
    engine = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    engine.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    register_ray()
    try:
        with parallel_config(backend="ray"):
            yield
    finally:
        engine.shutdown()


def balls(n_jobs: int) -> list[np.ndarray]:
    return [cloud.balls for cloud in fit_clouds(GRAPHS, 9, cache=False, n_jobs=n_jobs)]


def test_threads_change_no_bit() -> None:
    assert all(map(np.array_equal, balls(1), balls(2)))


@pytest.mark.slow
@pytest.mark.parametrize("engine", [loky, dask, ray])
def test_other_processes_change_no_bit(engine) -> None:  # type: ignore[no-untyped-def]
    alone = balls(1)
    with engine():
        assert all(map(np.array_equal, balls(2), alone))
