"""The contract of an autoencoder: graphs to vectors z and back.

    graphs → read → readings → encode → z → decode → decodings

A reading is a graph as the autoencoder sees it: its nodes in the autoencoder's own order, with whatever the encoder
needs beside it (a cloud, for ours). An autoencoder owns its whole walk and its own parameters, which are the keyword
arguments of its constructor.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from geogae.datasets.splits import split
from geogae.errors import GeoGAEError
from geogae.geometry.cloud import HyperballCloud
from geogae.graph import Graph
from geogae.training.distributed import Processes

MAX_LATENT = 2**16  # numbers of z: more than any graph has use for, few enough for memory
HELD_OUT = 0.1  # share of the graphs that is held out where a model has choices to make and no validation graphs


class Reading(NamedTuple):
    """A graph as an autoencoder reads it; a type of one's own needs ``ordered`` alone."""

    ordered: Graph  # the graph in the node order in which the decoder writes it


R = TypeVar("R")  # the autoencoder's own reading


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


@dataclass(frozen=True)
class State:
    """All that a fitted autoencoder has learned: tensors, and facts that JSON can hold."""

    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Session:
    """How a fit is run, apart from what is learned: where it is kept, whether it goes on, who takes part."""

    folder: Path | None = None  # for checkpoints and metrics
    resume: bool = False
    progress: bool = False
    peers: Processes = Processes()


class Autoencoder(ABC, Generic[R]):
    """Graphs to vectors of ``latent_dim`` numbers and back.

    The constructor takes keyword arguments with defaults, checks them and does nothing else. ``latent_dim``,
    ``attributes``, ``device`` and ``seed`` are parameters of every autoencoder.
    """

    latent_dim: int

    @abstractmethod
    def fit(
        self, graphs: Sequence[Graph], validation: Sequence[Graph] | None = None, session: Session = Session()
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
        """z of each reading, (count, latent_dim); the graphs beside it and ``n_jobs`` change no bit of it."""

    @abstractmethod
    def decode(self, z: NDArray[np.float32]) -> list[Decoding]:
        """Graphs of z (count, latent_dim) alone."""

    @abstractmethod
    def state(self) -> State:
        """What :meth:`from_state` needs beside the parameters."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: State, **parameters: Any) -> Self:
        """The fitted autoencoder again; a state that does not fit the parameters is a ValueError or KeyError."""

    def lossy(self, graph: Graph) -> str | None:
        """Why a graph that can be encoded may not come back whole, or None: larger than all in training, say."""
        return None


def hold_out(
    graphs: Sequence[Graph], validation: Sequence[Graph] | None, seed: int
) -> tuple[list[Graph], list[Graph]]:
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


# -- checks of parameters ---------------------------------------------------------------------------------------------


def check_choice(name: str, value: Any, valid: Iterable[Any]) -> None:
    valid = list(valid)
    if not any(value is one or (type(value) is type(one) and value == one) for one in valid):
        raise GeoGAEError(f"{name}={value!r} is not known; valid are {', '.join(map(str, valid))}")


def check_number(
    name: str, value: Any, kind: type, least: float, most: float = np.inf, *, optional: bool = False
) -> None:
    """A whole number (``kind`` int) or any number (float), from ``least`` to ``most``; None if ``optional``."""
    if value is None and optional:
        return
    fits = isinstance(value, (int, np.integer) if kind is int else (int, float, np.number))
    if not fits or isinstance(value, bool) or not least <= value <= most or not value < np.inf:
        what = "a whole number" if kind is int else "a number"
        limit = f"at least {least}" if most == np.inf else f"from {least} to {most}"
        raise GeoGAEError(f"{name}={value!r} must be {what}, {limit}{', or None' if optional else ''}")
