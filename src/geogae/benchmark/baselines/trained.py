"""What the three compared methods share: a network, the common training loop, a memory check, states and scores.

graphs → read → readings → encode → z → decode               z alone
                                      └→ decode_with         what the authors' protocol gives the decoder as well
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from geogae.autoencoders.base import (
    DEFAULT_SESSION,
    MAX_LATENT,
    Autoencoder,
    Decoding,
    Reading,
    Session,
    State,
    check_device,
    check_latent,
    hold_out,
    torch_device,
)
from geogae.autoencoders.schema import Schema
from geogae.benchmark.baselines.memory import OutOfMemory, memory_limit, shapes_only, training_bytes
from geogae.checks import check_choice, check_number
from geogae.errors import GeoGAEError
from geogae.graph import Graph
from geogae.metrics import evaluate
from geogae.training.batches import by_size
from geogae.training.loop import Trainer, deterministic
from geogae.training.precision import PRECISIONS, in_bfloat16

VALIDATED = 256  # validation graphs that are decoded each time, at most …
VALIDATED_PAIRS = 1 << 19  # … and pairs of their nodes, padding included, lest validation takes the time of training


class Batch(Protocol):
    def to(self, device: torch.device) -> Self: ...


B = TypeVar("B", bound=Batch)


class Items(Generic[B]):
    """Readings of training graphs; indexing with a list of numbers gives a batch."""

    def __init__(self, readings: Sequence[Reading], collate: Callable[[Sequence[Reading]], B]) -> None:
        self.readings, self.collate = readings, collate
        self.sizes = np.array([reading.ordered.n for reading in readings])

    def __len__(self) -> int:
        return len(self.readings)

    def __getitem__(self, chosen: Sequence[int]) -> B:
        return self.collate([self.readings[number] for number in chosen])


class TrainedAutoencoder(Autoencoder[Reading], Generic[B]):
    """An autoencoder that is a network, trained by the common loop.

    A method gives ``build``, ``collate``, ``blank``, ``loss``, ``codes`` and ``write``; ``facts`` holds what they need
    to know of the training graphs.
    """

    trained = True
    side_information: ClassVar[tuple[str, ...]] = ()  # what decode_with knows; the authors' protocol comes first
    attributed: ClassVar[bool] = True  # whether it reads and writes attributes
    network: nn.Module

    def __init__(
        self,
        *,
        latent_dim: int,
        attributes: str,
        lr: float,
        weight_decay: float,
        clip: float,
        batch_size: int,
        epochs: int | None,
        minutes: float | None,
        core_minutes: float | None,
        patience: int | None,
        validations: int,
        memory_gib: float | None,
        precision: str,
        device: str,
        seed: int,
    ) -> None:
        check_number("latent_dim", latent_dim, int, 1, MAX_LATENT)
        check_choice("attributes", attributes, ("ignored", "decoded") if self.attributed else ("ignored",))
        check_number("lr", lr, float, 0)
        check_number("weight_decay", weight_decay, float, 0)
        check_number("clip", clip, float, 1e-9)
        check_number("batch_size", batch_size, int, 1)
        check_number("epochs", epochs, int, 1, optional=True)
        check_number("minutes", minutes, float, 0, optional=True)
        check_number("core_minutes", core_minutes, float, 0, optional=True)
        check_number("patience", patience, int, 1, optional=True)
        check_number("validations", validations, int, 1)
        check_number("memory_gib", memory_gib, float, 0, optional=True)
        check_number("seed", seed, int, 0)
        check_choice("precision", precision, PRECISIONS)
        check_device(device)
        self.latent_dim, self.attributes = latent_dim, attributes
        self.lr, self.weight_decay, self.clip, self.batch_size = lr, weight_decay, clip, batch_size
        self.epochs, self.minutes, self.core_minutes, self.patience = epochs, minutes, core_minutes, patience
        self.validations, self.memory_gib, self.precision = validations, memory_gib, precision
        self.device, self.seed = device, seed
        self.facts: dict[str, Any] = {}
        self.schema: Schema | None = None

    # -- what a method is ---------------------------------------------------------------------------------------------

    @abstractmethod
    def build(self, nodes: int | None = None) -> nn.Module:
        """A network with fresh weights, from the parameters, ``facts`` and ``schema``.

        ``nodes`` stands for the size to which graphs are padded, where weights depend on it.
        """

    @abstractmethod
    def collate(self, readings: Sequence[Reading]) -> B:
        """Readings as one batch."""

    @abstractmethod
    def blank(self, n: int, batch_size: int) -> B:
        """A batch of graphs of n nodes; what its tensors hold does not matter."""

    @abstractmethod
    def loss(self, network: nn.Module, batch: B) -> dict[str, Tensor]:
        """``"total"`` and its parts; random numbers are drawn from torch's own generator.

        The network may compute in bfloat16; what it gives is compared with the truth in float32.
        """

    @abstractmethod
    def codes(self, batch: B) -> Tensor:
        """z of the graphs of a batch, (count, latent_dim)."""

    @abstractmethod
    def write(self, z: Tensor, readings: Sequence[Reading] | None, side_information: str | None) -> list[Decoding]:
        """Graphs of z; ``readings`` are looked at for the side information alone."""

    def learn(self, graphs: Sequence[Graph]) -> dict[str, Any]:
        """Facts of the graphs that JSON can hold, beside the largest size."""
        return {}

    # -- fit ----------------------------------------------------------------------------------------------------------

    def fit(
        self, graphs: Sequence[Graph], validation: Sequence[Graph] | None = None, session: Session = DEFAULT_SESSION
    ) -> list[dict[str, Any]]:
        training, held_out = hold_out(graphs, validation, self.seed)
        if not training or not held_out:
            raise GeoGAEError(f"{len(training)} graphs to train on and {len(held_out)} to validate on; give some")
        self.prepare([*training, *held_out], lambda: self._check_memory(training))
        data = Items(self.training_readings(training), self.collate)
        pairs = np.cumsum([(self.facts.get("nodes") or graph.n) ** 2 for graph in held_out[:VALIDATED]])
        held_out = held_out[: max(1, int((pairs <= VALIDATED_PAIRS).sum()))]
        trainer = Trainer(
            self.network,
            data,
            self._seeded_loss,
            lambda: self._validated(held_out),
            lr=self.lr,
            batch_size=self.batch_size,
            epochs=self.epochs,
            minutes=self.minutes,
            core_minutes=self.core_minutes,
            validations=self.validations,
            patience=self.patience,
            weight_decay=self.weight_decay,
            clip=self.clip,
            autocast=self._autocast(np.mean(data.sizes)),
            seed=self.seed,
            run=session.folder,
            keep_best=session.keep,
            peers=session.peers,
            progress=session.progress,
        )
        history = trainer.run(session.resume).history
        self.network.eval()
        return history

    def prepare(self, graphs: Sequence[Graph], check: Callable[[], None] = lambda: None) -> None:
        """What is known of the graphs, and a fresh network; ``check`` runs before the network takes memory."""
        self.schema = None if self.attributes == "ignored" else Schema.of(graphs)
        self.facts = {"largest": max(graph.n for graph in graphs), **self.learn(graphs)}
        check()
        with deterministic(self.seed):
            self.network = self.build().to(torch_device(self.device)).eval()

    def training_readings(self, graphs: Sequence[Graph]) -> list[Reading]:
        return [Reading(graph) for graph in graphs]

    def _seeded_loss(
        self,
        network: nn.Module,
        batch: B,
        epoch: float,
        generator: torch.Generator,
        average: Callable[[Tensor], Tensor],
    ) -> dict[str, Tensor]:
        """Dropout and noise follow the loop's generator, so that a resumed run is the uninterrupted one."""
        seed = int(torch.randint(2**31, (), generator=generator, device=generator.device))
        with deterministic(seed):
            return self.loss(network, batch)

    def _validated(self, graphs: Sequence[Graph]) -> dict[str, float]:
        """Scores of z alone; the weights are chosen by the authors' protocol, where the two differ."""
        readings = self.read([graph for graph in graphs if self.why_not(graph) is None])
        true = [reading.ordered for reading in readings]
        z = self.encode(readings, batch_size=self.batch_size)
        measured = evaluate(true, [decoding.graph for decoding in self.decode(z)])
        if self.side_information:
            helped = self.decode_with(z, readings, self.side_information[0])
            measured["choice"] = evaluate(true, [decoding.graph for decoding in helped])["f1"]
        return measured

    def _autocast(self, nodes: float) -> bool:
        """Whether training on graphs of so many nodes is in bfloat16."""
        return in_bfloat16(self.precision, torch_device(self.device), self.batch_size * nodes)

    # -- memory -------------------------------------------------------------------------------------------------------

    def predicted_bytes(self, n: int, batch_size: int) -> int:
        """The peak of a training step on graphs of n nodes; see :func:`training_bytes`."""
        device = torch_device(self.device)
        with shapes_only(), device, torch.autocast(device.type, torch.bfloat16, enabled=self._autocast(n)):
            network, batch = self.build(n).train(), self.blank(n, batch_size)
            return training_bytes(network, lambda: self.loss(network, batch)["total"])

    def _check_memory(self, graphs: Sequence[Graph]) -> None:
        n = self.facts.get("nodes") or max(graph.n for graph in graphs)  # "nodes" where all are padded to one size
        count = min(self.batch_size, len(graphs))
        needed, limit = self.predicted_bytes(n, count), memory_limit(torch_device(self.device), self.memory_gib)
        if needed > limit:
            raise OutOfMemory(needed, limit, f"a batch of {count} graphs of {n} nodes")

    # -- z and back ---------------------------------------------------------------------------------------------------

    def read(self, graphs: Sequence[Graph], *, n_jobs: int = 1, progress: bool = False) -> list[Reading]:
        return [Reading(graph) for graph in graphs]

    def why_not(self, graph: Graph) -> str | None:
        return None if self.schema is None else self.schema.why_not(graph)

    def lossy(self, reading: Reading) -> str | None:
        return None if self.schema is None else self.schema.lossy(reading.ordered)

    @torch.inference_mode()
    def encode(
        self, readings: Sequence[Reading], *, batch_size: int | None = None, n_jobs: int = 1
    ) -> NDArray[np.float32]:
        """One graph at a time, unless a ``batch_size`` is given, which is faster and changes the last bits."""
        z = np.zeros((len(readings), self.latent_dim), dtype=np.float32)
        for chosen in by_size([reading.ordered.n for reading in readings], batch_size or 1, pairs=np.inf):
            batch = self.collate([readings[number] for number in chosen]).to(torch_device(self.device))
            z[chosen] = self.codes(batch).cpu().numpy()
        return z

    @torch.inference_mode()
    def decode(self, z: NDArray[np.float32]) -> list[Decoding]:
        return self._written(z, None, None)

    @torch.inference_mode()
    def decode_with(self, z: NDArray[np.float32], readings: Sequence[Reading], side_information: str) -> list[Decoding]:
        """The authors' protocol: beside z the decoder gets what ``side_information`` names of each true graph."""
        check_choice("side_information", side_information, self.side_information)
        return self._written(z, readings, side_information)

    def _written(
        self, z: NDArray[np.float32], readings: Sequence[Reading] | None, side_information: str | None
    ) -> list[Decoding]:
        check_latent(z, self.latent_dim)
        rows = torch.from_numpy(z).to(torch_device(self.device))  # (count, latent_dim)
        decodings: list[Decoding] = []
        for number in range(len(rows)):
            given = None if readings is None else readings[number : number + 1]
            decodings += self.write(rows[number : number + 1], given, side_information)
        return decodings

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> State:
        schema = None if self.schema is None else self.schema.to_json()
        return State(self.network.state_dict(), {**self.facts, "schema": schema})

    @classmethod
    def from_state(cls, state: State, **parameters: Any) -> Self:
        model = cls(**parameters)
        model.facts = {name: value for name, value in state.facts.items() if name != "schema"}
        schema = state.facts["schema"]
        model.schema = None if schema is None else Schema.from_json(schema)
        model.network = model.build().to(torch_device(model.device)).eval()
        try:
            model.network.load_state_dict(dict(state.tensors))
        except RuntimeError as error:
            raise ValueError(" ".join(str(error).split())) from None
        return model
