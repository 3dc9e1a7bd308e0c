"""QM9 in full through one model, by joblib's engines. A line in benchmarks/studies/engines.jsonl.

python benchmarks/engines.py                 # one process; two workers of loky and Ray; one and two of Dask
python benchmarks/engines.py --count 5000    # a trial; not recorded

Every engine starts before the clock does and has encoded a few graphs by then, so that imports and compiled kernels are
not in the times. Graphs come in blocks, as from a file; clouds are not cached.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from joblib import parallel_config

from geogae import GeoGAE, datasets
from geogae.streaming import encode_blocks
from record import record

FITTED = 20_000  # molecules that the model is fitted on
BLOCK = 8192  # graphs in memory at a time


@contextmanager
def one_process(workers: int) -> Iterator[None]:
    with parallel_config(backend="sequential"):
        yield


@contextmanager
def loky(workers: int) -> Iterator[None]:
    with parallel_config(backend="loky", n_jobs=workers, inner_max_num_threads=1):
        yield


@contextmanager
def dask(workers: int) -> Iterator[None]:
    from distributed import Client, LocalCluster

    with (
        tempfile.TemporaryDirectory() as scratch,
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, local_directory=scratch) as local,
        Client(local),
        parallel_config(backend="dask", n_jobs=workers),
    ):
        yield


@contextmanager
def ray(workers: int) -> Iterator[None]:
    import ray as engine
    from ray.util.joblib import register_ray

    engine.init(num_cpus=workers, include_dashboard=False, logging_level="error", log_to_driver=False)
    register_ray()
    try:
        with parallel_config(backend="ray", n_jobs=workers):
            yield
    finally:
        engine.shutdown()


RUNS: list[tuple[str, Callable[[int], AbstractContextManager[None]], int]] = [
    ("one process", one_process, 1), ("loky", loky, 2), ("Dask", dask, 1), ("Dask", dask, 2), ("Ray", ray, 2),
]  # fmt: skip


def peak_gib() -> float:
    """Largest memory of this process and its descendants, each at its own peak."""
    parents, peaks = {}, {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            facts = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:  # it has ended
            continue
        pid = int(facts["Pid"])
        parents[pid], peaks[pid] = int(facts["PPid"]), int(facts.get("VmHWM", "0 kB").split()[0])
    own = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in own} - own:
        own |= more
    return sum(peaks[pid] for pid in own) / 2**20


def measure(count: int | None) -> list[dict[str, Any]]:
    graphs = datasets.load("QM9")[:count]
    model = GeoGAE.from_preset("qm9", seed=0).fit(datasets.sample(graphs, min(FITTED, len(graphs)), seed=0))
    rows: list[dict[str, Any]] = []
    expected = None
    for name, engine, workers in RUNS:
        with engine(workers):
            model.encode(graphs[:2048], n_jobs=2)  # shares go to the engine's workers, however many it has
            begin = time.perf_counter()
            z = np.concatenate(list(encode_blocks(model, graphs, block=BLOCK, n_jobs=2)))
            seconds, memory = time.perf_counter() - begin, peak_gib()
        expected = z if expected is None else expected
        row = {"engine": name, "workers": workers, "graphs": len(z), "seconds": round(seconds, 1)}
        row |= {"peak_gib": round(memory, 2), "same": bool(np.array_equal(z, expected))}
        rows.append(row)
        print(row, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, help="a trial with so many molecules; not recorded")
    count = parser.parse_args().count
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    begin = time.perf_counter()
    rows = measure(count)
    if count is None:
        record("engines", "qm9", {"fitted": FITTED, "block": BLOCK}, rows, time.perf_counter() - begin)


if __name__ == "__main__":
    main()
