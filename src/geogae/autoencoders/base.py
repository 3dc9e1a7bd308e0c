"""The contract of an autoencoder: graphs to vectors z and back.

    graphs → read → readings → encode → z → decode → decodings

A reading is a graph as the autoencoder sees it: its nodes in the autoencoder's own order, and all else that the encoder
needs (a cloud, for ours). An autoencoder implements every step. Its parameters are the keyword arguments of its
constructor.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import torch
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from geogae import metrics
from geogae.checks import check_choice
from geogae.datasets.splits import split
from geogae.errors import GeoGAEError
from geogae.geometry import fitting
from geogae.geometry.cloud import HyperballCloud
from geogae.graph import Graph
from geogae.training.distributed import Processes

if TYPE_CHECKING:
    from geogae.autoencoders.descriptor import Descriptor
    from geogae.autoencoders.schema import Schema

log = logging.getLogger("geogae")

MAX_LATENT = 2**16  # numbers of z: more than any graph has use for, few enough for memory
SHARE = 512  # graphs that a worker in another process reads and encodes at a time
HELD_OUT = 0.1  # share of the graphs that is held out where a model has choices to make and no validation graphs


class Reading(NamedTuple):
    """A graph as an autoencoder reads it; another type of readings needs ``ordered`` alone."""

    ordered: Graph  # the graph in the node order in which the decoder writes it


class HasOrdered(Protocol):
    @property
    def ordered(self) -> Graph: ...


R = TypeVar("R", bound=HasOrdered)  # the autoencoder's own reading


class Decoding(NamedTuple):
    """What one z decodes to."""

    graph: Graph
    balls: NDArray[np.float32] | None = None  # (n, d), of the nodes that have a ball; None without a geometry
    stop: NDArray[np.float32] | None = None  # (n,), the probability of each of these nodes to be the last
    truncated: bool = False  # the size in z is beyond the decoder's limit, and the graph is cut there

    @property
    def cloud(self) -> HyperballCloud | None:
        if self.balls is None:
            return None
        return HyperballCloud(self.balls[:, :-1].copy(), self.balls[:, -1].copy(), np.arange(len(self.balls)))


class DecodingRules(Protocol):
    """What every training graph obeys, for a decoder that keeps to it."""

    def edges(self, support: NDArray[np.float64]) -> NDArray[np.int64]:
        """Edges (E, 2) out of the support (n, n) of each pair, which is above 0 where the plain decoder joins."""

    def attributes(self, graph: Graph) -> Graph:
        """The graph with attributes that its edges allow."""


@dataclass(frozen=True)
class State:
    """All that a fitted autoencoder has learned: tensors, and facts that JSON can hold."""

    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Session:
    """How a fit is run, apart from what is learned: the folder, whether it is resumed, which processes take part."""

    folder: Path | None = None  # for checkpoints and metrics
    resume: bool = False
    progress: bool = False
    peers: Processes = field(default_factory=Processes)
    keep: Callable[[], None] = lambda: None  # called when :meth:`Autoencoder.state` is the best so far


DEFAULT_SESSION = Session()  # in memory, from the beginning, by this process


class Autoencoder(ABC, Generic[R]):
    """Graphs to vectors of ``latent_dim`` numbers and back.

    The constructor takes keyword arguments with defaults, checks them and does nothing else. ``latent_dim``,
    ``attributes``, ``device`` and ``seed`` are parameters of every autoencoder.
    """

    trained: ClassVar[bool] = False  # whether it is trained step by step, so that a fit can be resumed
    latent_dim: int
    attributes: str  # "ignored", "encoded" or "decoded"
    descriptor: Descriptor | None = None  # of the first numbers of z, where they are one
    schema: Schema | None = None  # of the attributes that are read, where any are

    @abstractmethod
    def fit(
        self, graphs: Sequence[Graph], validation: Sequence[Graph] | None = None, session: Session = DEFAULT_SESSION
    ) -> list[dict[str, Any]]:
        """Learn from ``graphs``; what there is to choose is chosen on ``validation``. Returns the history of scores."""

    @abstractmethod
    def why_not(self, graph: Graph) -> str | None:
        """Why this graph cannot be encoded, or None if it can; answered without fitting anything."""

    @abstractmethod
    def read(self, graphs: Sequence[Graph], *, n_jobs: int = 1, progress: bool = False) -> list[R]:
        """Readings of graphs that can be encoded; each has ``ordered``."""

    @abstractmethod
    def encode(self, readings: Sequence[R], *, batch_size: int | None = None, n_jobs: int = 1) -> NDArray[np.float32]:
        """z of each reading, (count, latent_dim); other graphs of the batch and ``n_jobs`` change no bit of it."""

    @abstractmethod
    def decode(self, z: NDArray[np.float32]) -> list[Decoding]:
        """Graphs of z (count, latent_dim) alone."""

    def decode_by_rules(self, z: NDArray[np.float32], rules: DecodingRules) -> list[Decoding]:
        """The best supported graphs among those that keep to ``rules``; not every decoder can."""
        raise GeoGAEError(f"the decoder of {type(self).__name__} keeps no rules; take keep_rules=False")

    @abstractmethod
    def state(self) -> State:
        """What :meth:`from_state` needs in addition to the parameters."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: State, **parameters: Any) -> Self:
        """The fitted autoencoder again; a state that does not fit the parameters is a ValueError or KeyError."""

    def basis(self) -> NDArray[np.float64]:
        """An invertible map (m, m) of z to numbers in like units: those that a prior models."""
        return np.eye(self.latent_dim)

    def lossy(self, reading: R) -> str | None:
        """Why a graph may not come back whole, or None; one reason is that it is larger than all in training."""
        return None

    def inexact(self, reading: R) -> bool:
        """Whether the graph was lost before z already: its cloud does not give it back."""
        return False

    def scores(self, readings: Sequence[R]) -> dict[str, float]:
        """How well graphs come back from their z alone: see :func:`geogae.metrics.evaluate`."""
        true = [reading.ordered for reading in readings]
        return reconstruction_scores(true, self.decode(self.encode(readings)), self.attributes)


def named(graph: Graph, index: int) -> str:
    """A graph as errors and warnings call it."""
    return f"graph {graph.name!r}" if graph.name else f"graph {index} of {graph.n} nodes"


class Encoded(NamedTuple):
    z: NDArray[np.float32]  # (count, m)
    lossy: list[tuple[int, str]]  # which graphs may not come back whole, and why


def encode(
    autoencoder: Autoencoder[Any],
    graphs: Sequence[Graph],
    *,
    batch_size: int | None = None,
    n_jobs: int = 1,
    progress: bool = False,
) -> Encoded:
    """z of graphs that can all be encoded.

    Threads share the steps of one reading and encoding. Workers in processes of their own, as those of loky, Dask and
    Ray, get whole graphs instead: each reads and encodes its share.
    """
    in_threads = getattr(get_active_backend(prefer="threads")[0], "supports_sharedmem", False)
    if n_jobs == 1 or in_threads or len(graphs) <= SHARE:
        readings = autoencoder.read(graphs, n_jobs=n_jobs, progress=progress)
        lossy = [(i, reason) for i, reading in enumerate(readings) if (reason := autoencoder.lossy(reading))]
        return Encoded(autoencoder.encode(readings, batch_size=batch_size, n_jobs=n_jobs), lossy)
    shares = range(0, len(graphs), SHARE)
    work = (delayed(encode)(autoencoder, graphs[first : first + SHARE], batch_size=batch_size) for first in shares)
    done: list[Encoded] = Parallel(n_jobs=n_jobs, prefer="threads")(work)
    lossy = [(first + i, reason) for first, part in zip(shares, done, strict=True) for i, reason in part.lossy]
    return Encoded(np.concatenate([part.z for part in done]), lossy)


def reconstruct(
    autoencoder: Autoencoder[Any], graphs: Sequence[Graph], *, n_jobs: int = 1
) -> list[tuple[Graph, Decoding | None]]:
    """Pairs: each graph in the autoencoder's node order, and what its z decodes to; None if it cannot be encoded."""
    return _reconstruct(autoencoder, graphs, n_jobs)[0]


def evaluate(autoencoder: Autoencoder[Any], graphs: Sequence[Graph], *, n_jobs: int = 1) -> dict[str, float]:
    """Scores of graphs through z; those that cannot be encoded are counted, and score as lost."""
    pairs, lossy, inexact = _reconstruct(autoencoder, graphs, n_jobs)
    true, decodings = [graph for graph, _ in pairs], [decoding for _, decoding in pairs]
    scores = reconstruction_scores(true, decodings, autoencoder.attributes)
    lost = sum(decoding is None for decoding in decodings)
    return {**scores, "not_encoded": float(lost), "lossy": float(lossy), "inexact_clouds": float(inexact)}


def reconstruction_scores(
    true: Sequence[Graph], decodings: Sequence[Decoding | None], attributes: str
) -> dict[str, float]:
    back = [decoding and decoding.graph for decoding in decodings]
    scores = metrics.evaluate(true, back)
    if attributes == "decoded":
        scores |= metrics.attributes(true, back)
    return {**scores, "truncated": float(np.mean([bool(d and d.truncated) for d in decodings]))}


def _reconstruct(
    autoencoder: Autoencoder[Any], graphs: Sequence[Graph], n_jobs: int
) -> tuple[list[tuple[Graph, Decoding | None]], int, int]:
    """Pairs of true and decoded graphs, how many may not come back whole, and how many clouds are inexact."""
    reasons = [autoencoder.why_not(graph) for graph in graphs]
    if lost := [reason for reason in reasons if reason]:
        log.warning("%d of %d graphs cannot be encoded; the first: %s", len(lost), len(graphs), lost[0])
    fits = [reason is None for reason in reasons]
    readings = autoencoder.read([graph for graph, fit in zip(graphs, fits, strict=True) if fit], n_jobs=n_jobs)
    coming = iter(zip(readings, autoencoder.decode(autoencoder.encode(readings, n_jobs=n_jobs)), strict=True))
    pairs: list[tuple[Graph, Decoding | None]] = []
    for graph, fit in zip(graphs, fits, strict=True):
        if fit:
            reading, decoding = next(coming)
            pairs.append((reading.ordered, decoding))
        else:
            pairs.append((graph, None))
    lossy = sum(autoencoder.lossy(reading) is not None for reading in readings)
    return pairs, lossy, sum(autoencoder.inexact(reading) for reading in readings)


def hold_out(graphs: Sequence[Graph], validation: Sequence[Graph] | None, seed: int) -> tuple[list[Graph], list[Graph]]:
    """Training and validation graphs; without ``validation`` a tenth is held out, of ten graphs or more."""
    graphs = list(graphs)
    if validation is not None:
        return graphs, list(validation)
    if len(graphs) < 1 / HELD_OUT:
        return graphs, graphs
    training, held_out, _ = split(graphs, seed, fractions=(1 - HELD_OUT, HELD_OUT, 0.0))
    return training, held_out


def torch_device(name: str) -> torch.device:
    """``"auto"`` is CUDA where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def as_vectors(z: ArrayLike) -> NDArray[np.float32]:
    """One vector or rows of vectors, as float32."""
    try:
        given = np.asarray(z)
        if given.dtype.kind not in "biuf":
            raise TypeError
        with np.errstate(over="ignore"):  # what is too large is infinite then, which is an error of its own
            return given.astype(np.float32)
    except (TypeError, ValueError, RuntimeError):  # torch has the last for what needs a gradient
        raise GeoGAEError("z must be real numbers: one vector or a (count, latent_dim) array") from None


def check_latent(z: NDArray[np.float32], latent_dim: int) -> None:
    """Rows of ``latent_dim`` finite numbers, or one line that says what they are instead."""
    if z.ndim != 2 or z.shape[1] != latent_dim:
        raise GeoGAEError(f"z has shape {z.shape}; this model decodes rows of {latent_dim} numbers")
    if not np.isfinite(z).all():
        raise GeoGAEError(f"z has {int((~np.isfinite(z)).sum())} values that are not finite; encode the graphs again")


# -- checks of parameters ---------------------------------------------------------------------------------------------


def check_attributes(value: Any) -> None:
    check_choice("attributes", value, ("ignored", "encoded", "decoded"))


def check_device(device: Any) -> None:
    if device != "auto":
        fitting.check_device(device)
