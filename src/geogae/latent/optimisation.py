"""Better graphs by a score: black-box search in the space of a prior, whose vectors the decoder turns into graphs.

Each round asks CMA-ES for some normal vectors, and the prior for changes of the z of the best graphs so far, which stay
as likely as what they change (:meth:`geogae.latent.prior.Prior.changed`). All of them are decoded, which costs no
call of the score. A surrogate of the score decides which of the new graphs are scored, and CMA-ES gets its guess for
the others. A graph is scored once, however often it is met. All that a search does follows from its seed and from the
scores, so that one that was interrupted goes on from the scores that its file holds.
"""

from __future__ import annotations

import logging
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geogae.errors import GeoGAEError
from geogae.formats.optional import require
from geogae.graph import Graph
from geogae.json_lines import append, read_lines
from geogae.latent.prior import Prior
from geogae.latent.surrogate import Surrogate
from geogae.progress import Meter

log = logging.getLogger("geogae")

ROUND = 32  # vectors by CMA-ES
CHANGED = 32, 480  # changes of the best, without and with a surrogate
CALLS = 48  # graphs that are scored in a round, of those that the surrogate expects most of
LEAST = 50  # scored graphs that a surrogate is learned from
ELITE = 50  # graphs that are changed
SPREAD = 0.5  # CMA-ES's first step
STALE = 40  # rounds without a better top, after which CMA-ES starts anew
FRUITLESS = 200  # rounds in a row without a new graph, after which a search ends
TOP = 10


class Found(NamedTuple):
    graph: Graph
    score: float
    z: NDArray[np.float32]


@dataclass
class Search:
    """What a search has found, best first, and how it went."""

    best: list[Found] = field(default_factory=list)
    history: list[dict[str, float]] = field(default_factory=list)  # after each round: calls, best, top
    calls: int = 0
    failed: int = 0  # calls that raised or gave no number
    reason: str | None = None  # of the first of these

    @property
    def top(self) -> float:
        """Mean score of the ten best."""
        scores = [found.score for found in self.best[:TOP]]
        return float(np.mean(scores)) if scores else -math.inf


class Scores:
    """A score that is asked once for each graph, within a budget; what it says is kept in a file if there is one."""

    def __init__(
        self, score: Callable[[Any], float], budget: int, file: Path | None, resume: bool, name: str = "score"
    ) -> None:
        self.score, self.budget, self.file = score, budget, file
        self.known: dict[str, float] = {}
        self.kept: dict[str, float] = {}  # by earlier sessions; where the score failed, it is asked again
        self.failed = 0
        self.reason: str | None = None
        if file is None:
            return
        if file.is_dir():
            raise GeoGAEError(f"{file} is a folder; give a file for the scores")
        if not file.exists() or not file.stat().st_size:
            append(file, {"scores": name})
        elif resume:
            self.kept = _kept(file, name)
        else:
            raise GeoGAEError(f"{file} holds a search already; resume it, or choose another file")

    @property
    def left(self) -> int:
        return self.budget - len(self.known)

    def check_some_worked(self) -> None:
        if self.failed and self.failed == len(self.known):
            raise GeoGAEError(f"the score has no number for any of the {self.failed} first graphs: {self.reason}")

    def ask(self, key: str, what: Any) -> float:
        """The score of a graph that was not asked before; -inf if it has none."""
        value: float | None = self.kept.get(key)
        if value is None:
            value, problem = self._asked(what)
            if self.file is not None:
                append(self.file, {"key": key, "score": value})
            if value is None:
                self.failed += 1
                self.reason = self.reason or problem
        self.known[key] = -math.inf if value is None else value
        return self.known[key]

    def _asked(self, what: Any) -> tuple[float | None, str]:
        """The score, or None and why there is none."""
        try:
            value = float(self.score(what))
        except (Exception, SystemExit) as error:  # whatever a score of the user's raises
            return None, f"it raised {type(error).__name__}: {error}"
        return (value, "") if math.isfinite(value) else (None, f"it returned {value}")


def _kept(file: Path, name: str) -> dict[str, float]:
    """The scores that a file holds of this score; a line that a kill cut short is left out."""
    try:
        header, *rows = [line for _, line in read_lines(file)]
        held = header["scores"]
        kept = {str(row["key"]): float(row["score"]) for row in rows if row["score"] is not None}
    except (ValueError, KeyError, TypeError):
        raise GeoGAEError(f"{file} is no file of scores; choose another one") from None
    if held != name:
        raise GeoGAEError(f"{file} holds scores of {held}, not of {name}; choose another file, or that score")
    return kept


def optimise(
    score: Callable[[Any], float],
    decode: Callable[[NDArray[np.float32]], Sequence[tuple[Graph, str, Any] | None]],
    prior: Prior,
    starts: NDArray[np.float32],
    *,
    budget: int,
    seed: int = 0,
    name: str = "score",
    file: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool = False,
    changes: bool = True,
    surrogate: bool = True,
) -> Search:
    """Search for at most ``budget`` calls of ``score``, from the z ``starts`` (count, m).

    ``file`` keeps the scores under the ``name`` of the score; with ``resume`` those that it holds are not asked again.

    ``decode`` gives for each z a graph, a key that equal graphs share and what the score is to see, or None where z is
    no valid graph. Without ``changes`` CMA-ES alone makes vectors, without a ``surrogate`` all are scored.
    """
    if budget < 1:
        raise GeoGAEError(f"budget={budget} must be at least 1, the number of calls of the score")
    require("cma", "optimise")  # before the first call of the score
    scores = Scores(score, budget, None if file is None else Path(file), resume, name)
    search = Search()
    rng = np.random.default_rng(seed)
    _score(search, scores, starts[:budget], decode(starts[:budget]))
    scores.check_some_worked()
    evolution, since, fruitless = _evolution(search, prior, starts, seed), 0, 0
    with Meter("optimising", progress) as meter:
        while scores.left > 0 and fruitless < FRUITLESS:
            before, asked = search.top, len(scores.known)
            asked_for = np.array(evolution.ask())
            points = prior.denoised(prior.from_normal(asked_for))
            if changes and search.best:
                parents = (min(ELITE, len(search.best)) * rng.random(CHANGED[surrogate]) ** 2).astype(int)
                elite = np.array([search.best[i].z for i in parents])  # the better, the likelier
                points = np.concatenate([points, prior.changed(elite, rng)])
            decoded = decode(points)
            guesses = _guesses(search, scores, decoded, seed) if surrogate else {}
            values = _score(search, scores, points, decoded, guesses)[:ROUND]
            scores.check_some_worked()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                evolution.tell(asked_for.tolist(), values.tolist())
            since = 0 if search.top > before else since + 1
            fruitless = 0 if len(scores.known) > asked else fruitless + 1
            if since >= STALE or evolution.stop():
                evolution, since = _evolution(search, prior, starts, seed + len(scores.known), rng), 0
            best = search.best[0].score if search.best else -math.inf
            search.history.append({"calls": float(len(scores.known)), "best": best, "top": search.top})
            meter.show(1 - scores.left / budget, best=best, top=search.top)
    if not search.best:
        raise GeoGAEError(
            "none of the points that were tried is a valid graph; fit the prior for longer, or a model of more graphs"
        )
    search.calls, search.failed, search.reason = len(scores.known), scores.failed, scores.reason
    if scores.failed:
        log.warning("the score had no number for %d of %d graphs; the first time %s",
                    scores.failed, search.calls, scores.reason)  # fmt: skip
    if fruitless >= FRUITLESS:
        log.warning("the search met no new graph for %d rounds and ends after %d calls", FRUITLESS, search.calls)
    return search


def _guesses(
    search: Search, scores: Scores, decoded: Sequence[tuple[Graph, str, Any] | None], seed: int
) -> dict[str, float]:
    """What the surrogate expects of the new graphs that are not to be scored, by their keys."""
    if len(search.best) < LEAST:
        return {}
    new = {one[1]: one[0] for one in decoded if one is not None and one[1] not in scores.known}
    if len(new) <= CALLS:
        return {}
    learned = Surrogate(seed).fit([f.graph for f in search.best], np.array([f.score for f in search.best]))
    expected = dict(zip(new, learned.optimistic(list(new.values())).tolist(), strict=True))
    return dict(sorted(expected.items(), key=lambda item: -item[1])[CALLS:])


def _score(
    search: Search,
    scores: Scores,
    points: NDArray[np.float32],
    decoded: Sequence[tuple[Graph, str, Any] | None],
    guesses: Mapping[str, float] = MappingProxyType({}),
) -> NDArray[np.float64]:
    """Losses (count,) for CMA-ES; new graphs are scored and join the best, unless there is a guess of their score."""
    losses = np.full(len(points), np.inf)
    for at, (z, one) in enumerate(zip(points, decoded, strict=True)):
        if one is None:
            continue
        graph, key, what = one
        if key in guesses:
            losses[at] = -guesses[key]
            continue
        if key not in scores.known:
            if scores.left <= 0:
                continue
            if (value := scores.ask(key, what)) > -math.inf:
                search.best.append(Found(graph, value, z))
        losses[at] = -scores.known[key]
    search.best.sort(key=lambda found: -found.score)
    finite = losses[np.isfinite(losses)]
    return np.where(np.isfinite(losses), losses, (finite.max() if len(finite) else 0.0) + 1.0)


def _evolution(
    search: Search, prior: Prior, starts: NDArray[np.float32], seed: int, rng: np.random.Generator | None = None
) -> Any:
    """CMA-ES from the normal vector of the best graph so far, or, when it starts anew, of one of the best."""
    import cma

    elite = [found.z for found in search.best[:ELITE]] or list(starts[:1])
    [center] = prior.to_normal(elite[0 if rng is None else rng.integers(len(elite))][None])
    options = {"seed": seed % 2**31 + 1, "popsize": ROUND, "verbose": -9, "CMA_diagonal": True}
    return cma.CMAEvolutionStrategy(center.tolist(), SPREAD, options)
