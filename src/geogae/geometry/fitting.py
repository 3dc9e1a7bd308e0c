"""Graphs to clouds: minimise L_sphere (eq. 1-3) until the intersection rule gives back every graph exactly.

A graph is first put into its canonical numbering, so that its cloud depends on nothing but its structure; isomorphic
graphs are fitted once. Adjacent twins (equal closed neighbourhoods) share one ball, which is always exact and leaves
fewer balls to fit. Graphs that stay inexact get further tries; what is inexact in the end is in the result and the log.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import astuple, dataclass
from hashlib import blake2b
from itertools import islice
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from geogae.errors import GeoGAEError
from geogae.files import cache_folder
from geogae.formats import as_graphs
from geogae.geometry.cache import CloudCache, Fit
from geogae.geometry.cloud import HyperballCloud, intersection_rule
from geogae.geometry.kernel import descend
from geogae.geometry.labelling import canonical_labelling
from geogae.geometry.ordering import ORDERS
from geogae.geometry.pose import canonical_pose
from geogae.geometry.starts import START_RAW, mds_start, planar_start
from geogae.graph import Graph
from geogae.progress import progress_bar

log = logging.getLogger("geogae")

ALGORITHM = 1  # part of every cache key: raise it whenever the same recipe gives other clouds
MIN_DIM, MAX_DIM = 2, 64
NOISE = 0.1  # standard deviation added to an MDS start: without it twins coincide and never separate
RATE, LIFTED_RATE = 0.2, 1.0  # Adam's step
WIDEN = 300  # further steps for the margin once a cloud is exact
HOT, COLD = 2.0, 0.1  # a lifted try cools from here to there
STUCK = 0.9  # the last lifted try leaves more than this share of its forerunner's wrong pairs, and more than FEW
FEW = 20
PLANAR_TRY = 4  # the try that starts from a drawing, for discs (d = 3)
SAVE_EVERY = 5.0  # seconds: a killed job loses no more than this
_BATCH_PAIRS = 4_000_000  # padded pairs in one batch of the torch engine


@dataclass(frozen=True)
class Recipe:
    """All that decides a fit beside the graph and the dimension."""

    start: Literal["mds", "random"] = "mds"
    margin: float = 0.2  # the rule should be right by at least this much
    alpha: float = 0.5  # weight of edges against non-edges, eq. 3
    gamma: float = 2.0  # focus on pairs that are still wrong, eq. 3
    temperature: float = 0.4  # T, eq. 2
    steps: int = 1000  # of the first try
    tries: int = 24
    budget: float = 2e10  # pairs of nodes times steps that one graph may cost, about a minute
    seed: int = 0

    def __post_init__(self) -> None:
        if self.start not in ("mds", "random"):
            raise GeoGAEError(f"start={self.start!r} is not known; valid are 'mds' and 'random'")
        limits = {
            "margin": (0, 1e6, "from 0 to 1e6", float),
            "alpha": (1e-6, 1 - 1e-6, "between 0 and 1", float),
            "gamma": (0, 10, "from 0 to 10", float),
            "temperature": (1e-6, 1e6, "from 1e-6 to 1e6", float),
            "steps": (1, np.inf, "at least 1", int),
            "tries": (1, np.inf, "at least 1", int),
            "budget": (1, np.inf, "at least 1", float),
            "seed": (0, np.inf, "at least 0", int),
        }
        for name, (least, most, limit, kind) in limits.items():
            value = getattr(self, name)
            number = isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
            if not number or not least <= value <= most:
                raise GeoGAEError(f"{name}={value!r} must be {'a whole number, ' * (kind is int)}{limit}")
            object.__setattr__(self, name, kind(value))  # gamma=2 and gamma=2.0 are one recipe, and one cache entry


def fit_clouds(
    graphs: Any,
    dim: int | Literal["auto"] = "auto",
    *,
    order: Literal["greedy", "axis"] = "greedy",
    strict: bool = False,
    device: str = "cpu",
    threads: int | None = None,
    cache: bool | str | os.PathLike[str] = True,
    progress: bool = False,
    **recipe: Any,
) -> list[HyperballCloud]:
    """One posed and ordered :class:`HyperballCloud` for each graph, in the graphs' own numbering.

    ``dim`` is the paper's d (d-1 coordinates and a radius), or ``"auto"`` for the smallest in which all graphs are
    exact. Anything that :func:`geogae.formats.as_graph` takes is a graph. With ``strict`` an inexact cloud is an
    error, otherwise a line in the log. ``recipe`` are the fields of :class:`Recipe`. Fits are kept in the cache
    folder, or in the file ``cache``, or not at all with ``cache=False``.

    Each graph is fitted by itself, so the batch around it changes nothing. On another device than the CPU a first try
    is made there, in batches of like size; what stays inexact is finished on the CPU.
    """
    graphs = as_graphs(graphs)
    valid = Recipe.__dataclass_fields__
    for name in recipe:
        if name not in valid:
            raise GeoGAEError(f"{name!r} is no parameter of a fit; valid are {', '.join(valid)}")
    chosen = Recipe(**recipe)
    if order not in list(ORDERS):
        raise GeoGAEError(f"order={order!r} is not known; valid are {', '.join(ORDERS)}")
    if dim != "auto":
        dim = check_dim(dim)
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, Integral) or threads < 1):
        raise GeoGAEError(f"threads={threads!r} must be a whole number, at least 1, or None for all cores")
    check_device(device)
    with progress_bar("labelling", len(graphs), progress) as advance:
        forms = [canonicalise(graph) for graph in graphs if advance()]
    topologies = {form.key: form.topology for form in forms}
    fitter = _Fitter(chosen, _open_cache(cache), device, threads or os.cpu_count() or 1, progress)
    fits = fitter.smallest_dim(topologies) if dim == "auto" else fitter.fit(topologies, dim)
    clouds = [_in_own_numbering(graph, form, fits[form.key], order) for graph, form in zip(graphs, forms, strict=True)]
    _report_inexact(clouds, chosen, strict)
    return clouds


def check_dim(dim: Any) -> int:
    if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)) or not MIN_DIM <= dim <= MAX_DIM:
        raise GeoGAEError(
            f"dim={dim!r} must be a whole number from {MIN_DIM} to {MAX_DIM}, or 'auto': d-1 coordinates and a radius"
        )
    return int(dim)


def check_device(device: Any) -> None:
    if device == "cpu":
        return
    import torch

    try:
        torch.empty(0, device=device)
    except Exception as error:  # torch has many kinds for this
        reason = str(error).splitlines()[0]
        raise GeoGAEError(f"device={device!r} cannot be used: {reason}; try device='cpu'") from None


# -- one graph --------------------------------------------------------------------------------------------------


class Canonical(NamedTuple):
    """A graph's structure in canonical numbering."""

    topology: Graph
    order: NDArray[np.int64]  # (n,), canonical node i is the graph's node order[i]
    key: bytes  # equal exactly for equal topologies
    complete: bool


def canonicalise(graph: Graph) -> Canonical:
    """Attributes settle which of several symmetric nodes is which; the structure alone settles the topology's form."""
    labelling = canonical_labelling(graph)
    order, complete = labelling.order, labelling.complete
    topology = graph.topology().relabel(order)
    if graph.attributed:
        plain = canonical_labelling(topology)
        order, complete = order[plain.order], complete and plain.complete
        topology = topology.relabel(plain.order)
    digest = blake2b(topology.n.to_bytes(8, "little") + topology.edges.tobytes(), digest_size=16)
    return Canonical(topology, order, digest.digest(), complete)


class Try(NamedTuple):
    """How one descent goes; a lifted one starts hot, in a further dimension that closes on the way."""

    steps: int
    rate: float
    noise: float
    lifted: int
    gamma: float
    hot: float
    cold: float


def tries(recipe: Recipe) -> Iterator[Try]:
    """The first try is the paper's loss as it stands; the others alternate small and large noise and take longer."""
    yield Try(recipe.steps, RATE, NOISE, 0, recipe.gamma, recipe.temperature, recipe.temperature)
    for k in range(1, recipe.tries):
        if recipe.start == "random":
            yield Try(recipe.steps, RATE, NOISE, 0, recipe.gamma, recipe.temperature, recipe.temperature)
        else:
            steps = recipe.steps * 2 ** min(k, 5)
            yield Try(steps, LIFTED_RATE, NOISE if k % 2 else 5 * NOISE, 1, 0.0, HOT, COLD)


def fit_topology(
    topology: Graph, dim: int, recipe: Recipe, first: Fit | None = None, halt: NDArray[np.bool_] | None = None
) -> Fit:
    """Tries until one is exact, or the budget is used up: then the one with the fewest wrong pairs. Posed.

    ``first`` is a first try that was made elsewhere. ``halt[0]``, set by another thread, ends the fit as it stands.
    """
    halt = np.zeros(1, dtype=bool) if halt is None else halt
    core, sign, twins = _core(topology, recipe)
    pairs = max(1, core.n * (core.n - 1) // 2)
    best, fewest, before, taken, done = first, np.inf, np.inf, 0, 0
    if first is not None:
        fewest, taken, done = _wrong_pairs(first.balls, topology), first.steps, 1
    for attempt, how in islice(enumerate(tries(recipe)), done, None):
        steps = int(min(how.steps, recipe.budget // pairs - taken))
        if done and (fewest == 0 or halt[0] or steps < how.steps // 4):
            break
        points, raw, how = _start(core, dim, recipe, attempt, how)
        step, _, _ = descend(
            points, raw, sign, how.lifted, np.float32(recipe.alpha), np.float32(how.gamma),
            np.float32(how.hot), np.float32(how.cold), np.float32(recipe.margin), how.rate, max(1, steps), WIDEN, halt,
        )  # fmt: skip
        taken += step
        done += 1
        balls = pose_balls(np.vstack([points[: dim - 1], raw]).T[twins])
        wrong = _wrong_pairs(balls, topology)
        if best is None or wrong < fewest:
            best, fewest = Fit(balls, taken, done), wrong
        if how.lifted and wrong > max(FEW, STUCK * before):
            break
        before = wrong if how.lifted else before
    assert best is not None
    return best._replace(steps=taken, tries=done)


def _core(topology: Graph, recipe: Recipe) -> tuple[Graph, NDArray[np.int8], NDArray[np.int64]]:
    """What is fitted: the graph of the balls, the sign of each pair, (k, k), and the ball of each node, (n,).

    A sign is +1 for an edge and -1 for none; +1 on the diagonal is a ball that twins share: it must intersect itself.
    """
    core, twins = merge_adjacent_twins(topology) if recipe.start == "mds" else (topology, np.arange(topology.n))
    sign = np.where(core.adjacency(), np.int8(1), np.int8(-1))
    sign[np.diag_indices(core.n)] = np.where(np.bincount(twins) > 1, 1, -1)
    return core, sign, twins


def merge_adjacent_twins(graph: Graph) -> tuple[Graph, NDArray[np.int64]]:
    """The graph with one node for each class of equal closed neighbourhoods, and each node's class, (n,)."""
    closed = graph.adjacency()
    np.fill_diagonal(closed, True)
    _, members, twins = np.unique(np.packbits(closed, axis=1), axis=0, return_index=True, return_inverse=True)
    by_number = np.argsort(members)  # classes by their smallest node, whatever the bytes were
    rank = np.empty_like(by_number)
    rank[by_number] = np.arange(len(members))
    kept = members[by_number]
    return Graph(len(kept), np.argwhere(np.triu(closed[np.ix_(kept, kept)], 1))), rank[twins.ravel()]


def pose_balls(balls: NDArray[np.floating]) -> NDArray[np.float32]:
    """Balls (n, d) in canonical pose."""
    return np.column_stack([canonical_pose(balls[:, :-1]), balls[:, -1]]).astype(np.float32)


def _start(
    core: Graph, dim: int, recipe: Recipe, attempt: int, how: Try
) -> tuple[NDArray[np.float32], NDArray[np.float32], Try]:
    """Centres (d - 1 + lifted, n), raw radii (n,) and how to go on from them."""
    random = np.random.default_rng([recipe.seed, attempt])
    raw = np.full(core.n, START_RAW)
    rows = dim - 1 + how.lifted
    if recipe.start == "random":
        points = random.standard_normal((rows, core.n))
    elif attempt == PLANAR_TRY and dim == 3 and (drawing := planar_start(core)):
        points, raw = drawing  # a drawing is flat and must not be shaken
        how = how._replace(lifted=0, rate=RATE, gamma=recipe.gamma, hot=recipe.temperature, cold=recipe.temperature)
    else:
        points = mds_start(core, rows) + how.noise * random.standard_normal((rows, core.n))
    return np.ascontiguousarray(points, dtype=np.float32), raw.astype(np.float32), how


def _wrong_pairs(balls: NDArray[np.float32], topology: Graph) -> int:
    n = topology.n
    ruled = intersection_rule(balls[:, :-1], balls[:, -1])
    return len(np.setxor1d(ruled[:, 0] * n + ruled[:, 1], topology.edges[:, 0] * n + topology.edges[:, 1]))


# -- many graphs ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Fitter:
    recipe: Recipe
    cache: CloudCache | None
    device: str
    threads: int
    progress: bool

    def fit(
        self, topologies: dict[bytes, Graph], dim: int, give_up: Callable[[bytes, Fit], bool] = lambda key, fit: False
    ) -> dict[bytes, Fit]:
        """Fits by key, from the cache or anew; ends early, with what there is, when ``give_up`` says so."""
        keys = {key: self._cache_key(key, dim) for key in topologies}
        stored = self.cache.read(keys.values()) if self.cache else {}
        fits = {key: stored[keys[key]] for key in topologies if keys[key] in stored}
        if any(give_up(key, fit) for key, fit in fits.items()):
            return fits
        missing = sorted((key for key in topologies if key not in fits), key=lambda key: -topologies[key].n)
        firsts = self._first_tries(topologies, missing, dim) if self.device != "cpu" else {}
        unsaved: dict[bytes, Fit] = {}
        saved, halt = time.monotonic(), np.zeros(1, dtype=bool)
        with (
            threadpool_limits(1),  # small LAPACK calls are slower in many threads
            ThreadPoolExecutor(self.threads) as pool,
            progress_bar(f"fitting d={dim}", len(missing), self.progress) as advance,
        ):
            running: dict[Future[Fit], bytes] = {
                pool.submit(fit_topology, topologies[key], dim, self.recipe, firsts.get(key), halt): key
                for key in missing
            }
            try:
                for done in as_completed(running):
                    key = running[done]
                    fits[key] = unsaved[keys[key]] = done.result()
                    advance()
                    if give_up(key, fits[key]):
                        break
                    if self.cache and time.monotonic() > saved + SAVE_EVERY:
                        self.cache.write(unsaved)
                        saved, unsaved = time.monotonic(), {}
            finally:
                halt[0] = True  # after Ctrl-C, or a failure: the others need not go on
                pool.shutdown(wait=True, cancel_futures=True)
                if self.cache:
                    self.cache.write(unsaved)
        return fits

    def smallest_dim(self, topologies: dict[bytes, Graph]) -> dict[bytes, Fit]:
        """Fits in the smallest dimension in which all are exact, found from below; each failure settles a dimension."""
        hardest: dict[bytes, Graph] = {}  # what failed in a lower dimension is tried first in the next
        for dim in range(MIN_DIM, MAX_DIM + 1):
            failed: list[bytes] = []

            def inexact(key: bytes, fit: Fit, failed: list[bytes] = failed) -> bool:
                if _wrong_pairs(fit.balls, topologies[key]):
                    failed.append(key)
                return bool(failed)

            fits = self.fit(hardest, dim, inexact)
            if not failed:
                fits |= self.fit({key: g for key, g in topologies.items() if key not in fits}, dim, inexact)
            if not failed:
                return fits
            hardest |= {key: topologies[key] for key in failed}
            if self.progress:
                log.info("dim=%d leaves a graph of %d nodes inexact", dim, topologies[failed[0]].n)
        raise GeoGAEError(f"no dim up to {MAX_DIM} makes all {len(topologies)} graphs exact; raise tries or budget")

    def _first_tries(self, topologies: dict[bytes, Graph], missing: Sequence[bytes], dim: int) -> dict[bytes, Fit]:
        """The first try of every graph, in batches of like size on the device."""
        from geogae.geometry.torch_engine import descend_batch

        recipe, how = self.recipe, next(tries(self.recipe))
        cores = {key: _core(topologies[key], recipe) for key in missing}
        batches: list[list[bytes]] = []
        for key in sorted(missing, key=lambda key: -cores[key][0].n):
            if not batches or (len(batches[-1]) + 1) * cores[batches[-1][0]][0].n ** 2 > _BATCH_PAIRS:
                batches.append([])
            batches[-1].append(key)
        fits = {}
        for batch in batches:
            starts = []
            for key in batch:
                points, raw, _ = _start(cores[key][0], dim, recipe, 0, how)
                starts.append(np.vstack([points, raw]).T)
            results = descend_batch(
                starts, [cores[key][1] > 0 for key in batch], alpha=recipe.alpha, gamma=recipe.gamma,
                temperature=recipe.temperature, margin=recipe.margin, rate=how.rate, steps=how.steps, widen=WIDEN,
                device=self.device,
            )  # fmt: skip
            for key, (balls, steps) in zip(batch, results, strict=True):
                fits[key] = Fit(pose_balls(balls[cores[key][2]]), steps, 1)
        return fits

    def _cache_key(self, key: bytes, dim: int) -> bytes:
        parts = (key.hex(), dim, ALGORITHM, "cpu" if self.device == "cpu" else "torch", *astuple(self.recipe))
        return blake2b(repr(parts).encode(), digest_size=16).digest()


def _in_own_numbering(graph: Graph, form: Canonical, fit: Fit, order: str) -> HyperballCloud:
    balls = np.empty_like(fit.balls)
    balls[form.order] = fit.balls
    sequence = ORDERS[order](fit.balls[:, :-1], fit.balls[:, -1])
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
        return CloudCache(cache_folder() / "clouds.sqlite") if cache else None
    if not isinstance(cache, str | os.PathLike):
        raise GeoGAEError(f"cache={cache!r} must be True, False or the path of a file")
    return CloudCache(Path(cache), required=True)


def _report_inexact(clouds: Sequence[HyperballCloud], recipe: Recipe, strict: bool) -> None:
    inexact = [cloud.graph.name or f"#{i}" for i, cloud in enumerate(clouds) if not cloud.exact and cloud.graph]
    if inexact:
        names = ", ".join(inexact[:5]) + (", …" if len(inexact) > 5 else "")
        dim = clouds[0].dim
        line = (
            f"dim={dim} leaves {len(inexact)} of {len(clouds)} graphs inexact ({names}); "
            f"try dim={dim + 1}, or more than tries={recipe.tries} and budget={recipe.budget:.0e}"
        )
        if strict:
            raise GeoGAEError(line)
        log.warning(line)
    unfinished = sum(not cloud.canonical for cloud in clouds)
    if unfinished:
        log.warning("%d graphs are too symmetric for the labelling's budget: renumbered, they may differ", unfinished)
