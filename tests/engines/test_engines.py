"""Work on another engine: joblib's backends change where it is done, and no bit of the result."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config

import geogae
from geogae import GeoGAE, Graph

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def graphs() -> list[Graph]:
    """Trees that are too large to be fitted in the calling process alone."""
    random = np.random.default_rng(0)
    trees = []
    for n in random.integers(70, 120, 24).tolist():
        trees.append(Graph(n, [(int(random.integers(max(0, i - 3), i)), i) for i in range(1, n)]))
    return trees


@pytest.fixture(scope="module")
def model(graphs: list[Graph]) -> GeoGAE:
    return GeoGAE(dim=4, latent_dim=64, steps=100, leaves="kept").fit(graphs[:12])


@pytest.fixture(scope="module")
def expected(graphs: list[Graph], model: GeoGAE) -> tuple[list[np.ndarray], np.ndarray]:
    clouds = geogae.fit_clouds(graphs, 4, n_jobs=1, cache=False)
    return [cloud.balls for cloud in clouds], model.encode(graphs, batch_size=4)


@pytest.fixture(autouse=True)
def small_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geogae.autoencoders.base.SHARE", 7)  # so that several workers have graphs to encode


def check(graphs: list[Graph], model: GeoGAE, expected: tuple[list[np.ndarray], np.ndarray]) -> None:
    clouds = geogae.fit_clouds(graphs, 4, n_jobs=2, cache=False)
    assert all(np.array_equal(cloud.balls, balls) for cloud, balls in zip(clouds, expected[0], strict=True))
    assert np.array_equal(model.encode(graphs, batch_size=4, n_jobs=2), expected[1])


def test_processes(graphs, model, expected) -> None:
    with parallel_config(backend="loky", n_jobs=2):
        check(graphs, model, expected)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[object]:
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path)
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_dask_cluster_that_loses_a_worker(graphs, model, expected, cluster) -> None:
    with parallel_config(backend="dask"):
        check(graphs, model, expected)
        workers = cluster.run(os.getpid)
        os.kill(next(iter(workers.values())), signal.SIGKILL)  # the cluster starts another, and work is done again
        check(graphs, model, expected)


def test_ray(graphs, model, expected) -> None:
    ray = pytest.importorskip("ray", reason="the extra ray is not installed")
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
    try:
        register_ray()
        with parallel_config(backend="ray"):
            check(graphs, model, expected)
    finally:
        ray.shutdown()
