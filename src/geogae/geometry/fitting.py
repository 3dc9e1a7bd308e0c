"""Graphs to clouds: every graph exactly, fitted once however often and however numbered it comes.

A graph is first put into its canonical numbering, so that its cloud depends on nothing but its structure. What is
inexact in the end is in the result and in the log.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import networkx as nx
import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from geogae.checks import check_choice
from geogae.errors import GeoGAEError
from geogae.formats import as_graphs
from geogae.geometry.blas import one_blas_thread
from geogae.geometry.cache import CloudCache, Fit, default_path
from geogae.geometry.cloud import LARGE, HyperballCloud
from geogae.geometry.compiling import compile_kernels
from geogae.geometry.descent import WIDEN, core_of, fit_topology, pose_balls, start_of, wrong_pairs
from geogae.geometry.ordering import ORDERS
from geogae.geometry.quick import fit_all_quickly
from geogae.geometry.recipe import ALGORITHM, MAX_DIM, MAX_FIT, MIN_DIM, Recipe, check_dim, tries
from geogae.graph import Graph
from geogae.labelling.canonical import Canonical, canonicalise, canonicalise_all
from geogae.progress import progress_bar

__all__ = ["Canonical", "canonicalise", "check_dim", "fit_clouds"]

log = logging.getLogger("geogae")
cloud_log = logging.getLogger("geogae.clouds")  # the benchmark counts by it

SAVE_EVERY = 5.0  # seconds: a killed job loses no more than this
SMALL = 20_000  # pairs of nodes over all graphs: handing less to other workers costs more than fitting it
_BATCH_PAIRS = 4_000_000  # padded pairs in one batch of the torch engine


def fit_clouds(
    graphs: Any,
    dim: int | Literal["auto"] = "auto",
    *,
    order: str = "greedy",
    strict: bool = False,
    device: str = "cpu",
    n_jobs: int = -1,
    cache: bool | str | os.PathLike[str] = True,
    progress: bool = False,
    **recipe: Any,
) -> list[HyperballCloud]:
    """One posed and ordered :class:`HyperballCloud` for each graph, in the graphs' own numbering.

    ``dim`` is the paper's d (d-1 coordinates and a radius), or ``"auto"`` for the smallest in which all graphs are
    exact. Anything that :func:`geogae.formats.as_graph` takes is a graph. ``order`` is a name in
    :data:`geogae.geometry.ordering.ORDERS`. With ``strict`` an inexact cloud is an error, otherwise a line in the log.
    ``recipe`` are the fields of :class:`Recipe`. Fits that take longer than to read them are kept in the cache folder,
    or in the file ``cache``, or not at all with ``cache=False``.

    ``n_jobs`` is joblib's: workers, -1 for all cores. They are threads of this process unless
    ``joblib.parallel_config(backend=…)`` says otherwise. Each graph is fitted by itself, so neither the batch around it
    nor the workers change its cloud. On another device than the CPU a first try is made there, in batches of like size;
    what stays inexact is finished on the CPU.
    """
    graphs = as_graphs(graphs)
    valid = Recipe.__dataclass_fields__
    for name in recipe:
        if name not in valid:
            raise GeoGAEError(f"{name!r} is no parameter of a fit; valid are {', '.join(valid)}")
    chosen = Recipe(**recipe)
    check_choice("order", order, ORDERS)
    if dim != "auto":
        dim = check_dim(dim)
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise GeoGAEError(f"n_jobs={n_jobs!r} must be a whole number of workers, or -1 for all cores")
    check_device(device)
    for i, graph in enumerate(graphs):
        if graph.n > MAX_FIT:
            raise GeoGAEError(
                f"graph {graph.name or f'#{i}'} has {graph.n} nodes; at most {MAX_FIT} can be fitted: leave it out"
            )
    compile_kernels()
    cores = os.cpu_count() or 1
    threads = min(n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs), cores)  # -1 is all, as joblib counts
    fitter = _Fitter(chosen, _open_cache(cache), device, n_jobs, threads, progress)
    with one_blas_thread():  # small LAPACK calls are slower in many threads, and would round otherwise
        with progress_bar("labelling", len(graphs), progress) as advance:
            forms = canonicalise_all(graphs, threads, advance)
        topologies = {form.key: form.topology for form in forms}
        fits = fitter.smallest_dim(topologies) if dim == "auto" else dict(fitter.fit(topologies, dim))
    orders = {key: ORDERS[order](fit.balls[:, :-1], fit.balls[:, -1]) for key, fit in fits.items()}
    _report(graphs, forms, fits, chosen, strict)
    return [
        _in_own_numbering(graph, form, fits[form.key], orders[form.key])
        for graph, form in zip(graphs, forms, strict=True)
    ]


def check_device(device: Any) -> None:
    if device == "cpu":
        return
    import torch

    try:
        torch.empty(0, device=device)
    except Exception as error:  # torch has many kinds for this
        reason = str(error).splitlines()[0]
        raise GeoGAEError(f"device={device!r} cannot be used: {reason}; try device='cpu'") from None


@dataclass(frozen=True)
class _Fitter:
    recipe: Recipe
    cache: CloudCache | None
    device: str
    n_jobs: int  # joblib's workers
    threads: int  # of this process
    progress: bool

    def fit(self, topologies: Mapping[bytes, Graph], dim: int) -> Generator[tuple[bytes, Fit], None, None]:
        """Fits by key as they come; closing the iterator ends the work on the others.

        What is small is fitted at once, which takes less than to read it. The others come from the cache, or from
        workers.
        """
        quick = fit_all_quickly(topologies, dim, self.recipe, self.threads) if self.device == "cpu" else {}
        yield from quick.items()
        left = sorted(topologies.keys() - quick.keys(), key=lambda key: (-topologies[key].n, key))
        decisive = repr((dim, ALGORITHM, "cpu" if self.device == "cpu" else "torch", self.recipe)).encode()
        keys = {key: blake2b(key + decisive, digest_size=16).digest() for key in left}  # of the cache's entries
        stored = self.cache.read(keys.values()) if self.cache and left else {}
        missing = []
        for key in left:
            if keys[key] in stored:
                yield key, stored[keys[key]]
            else:
                missing.append(key)
        cloud_log.debug("%d small, %d cached, %d to fit", len(quick), len(left) - len(missing), len(missing))
        if not missing:
            return
        firsts = self._first_tries(topologies, missing, dim) if self.device != "cpu" else {}
        halt = np.zeros(1, dtype=bool)
        unsaved: dict[bytes, Fit] = {}
        saved = time.monotonic()
        coming = self._work([(key, topologies[key], firsts.get(key)) for key in missing], dim, halt)
        with progress_bar(f"fitting d={dim}", len(missing), self.progress) as advance:
            try:
                for key, fit in coming:
                    unsaved[keys[key]] = fit
                    advance()
                    yield key, fit
                    if self.cache and time.monotonic() > saved + SAVE_EVERY:
                        self.cache.write(unsaved)
                        saved, unsaved = time.monotonic(), {}
            finally:
                coming.close()
                if self.cache:
                    self.cache.write(unsaved)

    def _work(
        self, tasks: Sequence[tuple[bytes, Graph, Fit | None]], dim: int, halt: NDArray[np.bool_]
    ) -> Generator[tuple[bytes, Fit], None, None]:
        """Fits as they come: made here where there is little to do, else in threads or by workers of another engine.

        Ctrl-C is heard by this thread, and ends the descents of the others.
        """
        jobs = [(key, graph, dim, self.recipe, first, halt, os.getpid()) for key, graph, first in tasks]
        backend, _ = get_active_backend(prefer="threads")
        if sum(graph.n**2 for _, graph, _ in tasks) < SMALL:
            for job in jobs:
                yield _fit(*job)
        elif self.n_jobs == 1 or getattr(backend, "supports_sharedmem", False):  # joblib looks for results every 10 ms
            with ThreadPoolExecutor(self.threads) as pool, _halting(halt):
                try:
                    for done in as_completed([pool.submit(_fit, *job) for job in jobs]):
                        yield done.result()
                finally:
                    pool.shutdown(wait=False, cancel_futures=True)
        elif not backend.supports_return_generator:  # Ray's
            yield from Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(_fit)(*job) for job in jobs)
        else:
            parallel = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator_unordered")
            with closing(parallel(delayed(_fit)(*job) for job in jobs)) as coming, _halting(halt):
                yield from coming

    def smallest_dim(self, topologies: Mapping[bytes, Graph]) -> dict[bytes, Fit]:
        """Fits in the smallest dimension in which all are exact, found from below; each failure settles a dimension."""
        hardest: list[bytes] = []  # what failed in a lower dimension is tried first in the next
        for dim in range(_lowest_dim(topologies.values()), MAX_DIM + 1):
            failed, fits = self._fit_until_one_fails({key: topologies[key] for key in hardest}, dim)
            if failed is None:
                rest = {key: graph for key, graph in topologies.items() if key not in fits}
                failed, others = self._fit_until_one_fails(rest, dim)
                fits |= others
            if failed is None:
                return fits
            hardest = list(dict.fromkeys([failed, *hardest]))
            log.info("dim=%d leaves a graph of %d nodes inexact", dim, topologies[failed].n)
        raise GeoGAEError(f"no dim up to {MAX_DIM} makes all {len(topologies)} graphs exact; raise tries or budget")

    def _fit_until_one_fails(
        self, topologies: Mapping[bytes, Graph], dim: int
    ) -> tuple[bytes | None, dict[bytes, Fit]]:
        fits: dict[bytes, Fit] = {}
        with closing(self.fit(topologies, dim)) as coming:
            for key, fit in coming:
                if not fit.checked and wrong_pairs(fit.balls, topologies[key]):
                    return key, fits
                fits[key] = fit
        return None, fits

    def _first_tries(self, topologies: Mapping[bytes, Graph], missing: Sequence[bytes], dim: int) -> dict[bytes, Fit]:
        """The first try of every graph that is not large, in batches of like size on the device."""
        from geogae.geometry.torch_engine import descend_batch

        recipe, how = self.recipe, next(tries(self.recipe, dim))
        cores = {key: core_of(topologies[key], recipe) for key in missing if topologies[key].n <= LARGE}
        batches: list[list[bytes]] = []
        for key in sorted(cores, key=lambda key: -cores[key][0].n):
            if not batches or (len(batches[-1]) + 1) * cores[batches[-1][0]][0].n ** 2 > _BATCH_PAIRS:
                batches.append([])
            batches[-1].append(key)
        fits = {}
        for batch in batches:
            starts = []
            for key in batch:
                points, raw = start_of(how, cores[key][0], dim, recipe.seed, 0)
                starts.append(np.vstack([points, raw]).T)
            results = descend_batch(
                starts, [cores[key][1] > 0 for key in batch], alpha=recipe.alpha, gamma=recipe.gamma,
                temperature=recipe.temperature, margin=recipe.margin, rate=how.rate, steps=how.steps, widen=WIDEN,
                device=self.device,
            )  # fmt: skip
            for key, (balls, steps) in zip(batch, results, strict=True):
                own = balls[cores[key][2]]  # each node's ball
                fits[key] = Fit(pose_balls(own[:, :-1], own[:, -1]), steps, 1)
        return fits


@contextmanager
def _halting(halt: NDArray[np.bool_]) -> Iterator[None]:
    """Tell running descents to end when the block is left: done, closed, interrupted or failed."""
    try:
        yield
    finally:
        halt[0] = True


def _fit(
    key: bytes, topology: Graph, dim: int, recipe: Recipe, first: Fit | None, halt: NDArray[np.bool_], origin: int
) -> tuple[bytes, Fit]:
    """One task; ``halt`` reaches the threads of the process ``origin``, whose BLAS is limited already."""
    if os.getpid() == origin:
        return key, fit_topology(topology, dim, recipe, first, halt)
    with one_blas_thread():
        return key, fit_topology(topology, dim, recipe, first)


def _lowest_dim(topologies: Iterable[Graph]) -> int:
    """Balls on a line (d = 2) are intervals, and graphs of intervals are chordal: no other need be tried there."""
    return MIN_DIM if all(nx.is_chordal(graph.to_networkx()) for graph in topologies) else MIN_DIM + 1


def _in_own_numbering(graph: Graph, form: Canonical, fit: Fit, sequence: NDArray[np.int64]) -> HyperballCloud:
    balls = np.empty_like(fit.balls)
    balls[form.order] = fit.balls
    return HyperballCloud(
        centers=np.ascontiguousarray(balls[:, :-1]),
        radii_raw=balls[:, -1].copy(),
        order=form.order[sequence],
        graph=graph,
        steps=fit.steps,
        tries=fit.tries,
        canonical=form.complete,
    )


def _open_cache(cache: bool | str | os.PathLike[str]) -> CloudCache | None:
    if isinstance(cache, bool):
        return CloudCache(default_path()) if cache else None
    if not isinstance(cache, str | os.PathLike):
        raise GeoGAEError(f"cache={cache!r} must be True, False or the path of a file")
    return CloudCache(Path(cache), required=True)


def _report(
    graphs: Sequence[Graph], forms: Sequence[Canonical], fits: Mapping[bytes, Fit], recipe: Recipe, strict: bool
) -> None:
    """Say which clouds are inexact, and how many graphs have no canonical numbering; an error if that is asked for.

    Only the error, which the caller of :func:`fit_clouds` asked for, names its parameters: to those who encode graphs
    with a model they mean nothing.
    """
    topologies = {form.key: form.topology for form in forms}
    wrong = {
        key for key, topology in topologies.items() if not fits[key].checked and wrong_pairs(fits[key].balls, topology)
    }
    if wrong:
        inexact = [i for i, form in enumerate(forms) if form.key in wrong]
        names = ", ".join(graphs[i].name or f"#{i}" for i in inexact[:5]) + (", …" if len(inexact) > 5 else "")
        dim = fits[forms[0].key].balls.shape[1]
        line = f"dim={dim} leaves {len(inexact)} of {len(graphs)} graphs inexact: {names}"
        if strict:
            raise GeoGAEError(
                f"{line}; try dim={dim + 1}, or more than tries={recipe.tries} and budget={recipe.budget:.0e}"
            )
        log.warning("%s", line)
    unfinished = sum(not form.complete for form in forms)
    if unfinished:
        log.warning("%d graphs are too symmetric for the labelling's budget: renumbered, they may differ", unfinished)
