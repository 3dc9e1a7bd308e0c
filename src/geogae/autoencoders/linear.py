"""``linear``: PCA of the ordered clouds. z is the size and the likeliest components of the linear decoder."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import torch
from joblib import Parallel, delayed
from numpy.typing import NDArray
from torch import Tensor

from geogae.autoencoders.base import (
    DEFAULT_SESSION,
    MAX_LATENT,
    Autoencoder,
    Decoding,
    DecodingRules,
    Session,
    State,
    check_attributes,
    check_device,
    check_latent,
    hold_out,
    torch_device,
)
from geogae.autoencoders.clouds import CloudReader, whole_order
from geogae.autoencoders.descriptor import Descriptor
from geogae.autoencoders.linear_decoder import NOISE, LinearDecoder, Parts
from geogae.autoencoders.schema import Schema, validation_choice
from geogae.autoencoders.slots import FEATURES, FOLDS, Attributes, SlotFeatures, SlotValues
from geogae.autoencoders.slots.base import without_columns
from geogae.autoencoders.slots.candidates import TRIED, TRIED_ON, drawn, foldings
from geogae.checks import check_choice, check_number
from geogae.errors import GeoGAEError
from geogae.formats.limits import limit
from geogae.geometry.cloud import HyperballCloud, graphs_of_balls, margins
from geogae.graph import Graph
from geogae.training.batches import by_size
from geogae.training.checkpoint import parts_of, prefixed

BATCH, FEW = 256, 64  # graphs at a time; of so few z, sorting by size costs more than it saves
DESCRIBED, LEAST_DESCRIBED = 16, 128  # numbers of a descriptor, and of z that has one unless asked otherwise
# a graph of so many times the largest of the fit can be encoded, and one of ROOM nodes: there are no axes beyond the
# slots of the fit, so what is larger comes back worse and worse, while what decoding may cost grows with the square
HEADROOM, ROOM = 4, 1000


class CloudReading(NamedTuple):
    """A graph as slots: its core's cloud, and its slot features."""

    ordered: Graph  # the whole graph in the node order of the decoder
    core: Graph  # without the nodes that are folded away, in node order, with its count columns
    balls: NDArray[np.float32]  # (n, d), of the core in node order


class LinearAutoencoder(Autoencoder[CloudReading]):
    """PCA of the ordered clouds; the size is the first number of z.

    Parameters:
        latent_dim: size m of z.
        attributes: of nodes and edges: ``"ignored"``, ``"encoded"`` into z, or ``"decoded"`` from it as well.
        dim: geometry dimension d, d-1 coordinates and a radius; ``"auto"`` for the smallest that is exact.
        order: node order, ``"greedy"`` (Algorithm 1) or ``"axis"`` (first principal axis), or a registered one.
        margin: by which the intersection rule is right in a fitted cloud.
        consensus: whether nodes are ordered by matching to the consensus of the training graphs, all of one size.
        leaves: ``"kept"`` as slots, ``"folded"`` into counts, or ``"auto"``: as validation graphs come back better.
        twins: the same for adjacent twins.
        contexts: whether categories are written as ranks among what is expected in their context (fewest numbers of z),
            or as they are (a z that is easier to draw from).
        descriptor: numbers of z that say what the graph is like, before the code that says which one it is; ``"auto"``
            for 16 if z has at least 128 numbers, else none.
        device: ``"auto"``, ``"cpu"``, ``"cuda"``, …
        seed: of the graphs that are held out if there is a choice to make and no validation graphs.
    """

    def __init__(
        self,
        *,
        latent_dim: int = 192,
        attributes: Literal["ignored", "encoded", "decoded"] = "ignored",
        dim: int | Literal["auto"] = "auto",
        order: str = "greedy",
        margin: float = 0.2,
        consensus: bool = False,
        leaves: Literal["auto", "folded", "kept"] = "kept",
        twins: Literal["auto", "folded", "kept"] = "kept",
        contexts: bool = True,
        descriptor: int | Literal["auto"] = 0,
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        check_number("latent_dim", latent_dim, int, 2, MAX_LATENT)
        check_attributes(attributes)
        for name, fold in (("leaves", leaves), ("twins", twins)):
            check_choice(name, fold, ("auto", "folded", "kept"))
            if fold == "folded" and consensus:
                raise GeoGAEError(f"{name}='folded' leaves graphs of many sizes; consensus=True needs one: keep {name}")
        check_choice("contexts", contexts, (True, False))
        if descriptor == "auto":
            descriptor = DESCRIBED if latent_dim >= LEAST_DESCRIBED else 0
        check_number("descriptor", descriptor, int, 0, latent_dim - 2)
        check_device(device)
        check_number("seed", seed, int, 0)
        self.latent_dim, self.attributes, self.device, self.seed = latent_dim, attributes, device, seed
        self.leaves, self.twins, self.contexts = leaves, twins, contexts
        self.descriptor = Descriptor(descriptor) if descriptor else None
        self.cloud_parameters = {"dim": dim, "order": order, "margin": margin, "consensus": consensus}
        self.reader = CloudReader(**self.cloud_parameters)  # type: ignore[arg-type]
        self.schema: Schema | None = None
        self.features = SlotFeatures()
        self.decoder = LinearDecoder(1, slots=0, latent_dim=latent_dim)
        self.max_nodes = 0

    # -- fit ----------------------------------------------------------------------------------------------------------

    def fit(
        self, graphs: Sequence[Graph], validation: Sequence[Graph] | None = None, session: Session = DEFAULT_SESSION
    ) -> list[dict[str, Any]]:
        """Fit clouds, slot features and the decoder; where folding may or may not pay, validation graphs choose."""
        self.schema = Schema.of([*graphs, *(validation or ())]) if self.attributes != "ignored" else None
        graphs = [self._stripped(graph) for graph in graphs]
        candidates = self._foldings(graphs)
        if len(candidates) > 1:
            graphs, validation = hold_out(graphs, validation, self.seed)
        validation = validation or ()
        if self.descriptor is not None:
            self.descriptor.fit(graphs)
        descriptors = self._described(graphs)
        self.max_nodes = max(ROOM, HEADROOM * max(graph.n for graph in [*graphs, *validation]))
        if len(candidates) > 1 and (len(graphs) > TRIED or len(validation) > TRIED_ON):
            rows, others = drawn(len(graphs), TRIED, self.seed), drawn(len(validation), TRIED_ON, self.seed)
            some, few = [graphs[i] for i in rows], [validation[i] for i in others]
            candidates = [self._fit_best(candidates, some, descriptors[rows], few, session.progress)[0]]
        return self._fit_best(candidates, graphs, descriptors, validation, session.progress)[1]

    def _fit_best(
        self,
        candidates: Sequence[tuple[bool, bool]],
        graphs: Sequence[Graph],
        descriptors: NDArray[np.float32],
        validation: Sequence[Graph],
        progress: bool,
    ) -> tuple[tuple[bool, bool], list[dict[str, Any]]]:
        """Fit with the folds of each candidate and keep the best on validation graphs: its folds, and all rows."""
        begin, history = time.monotonic(), list[dict[str, Any]]()
        best, chosen, kept = -np.inf, candidates[0], None
        for folds in candidates:
            readings = self._fit(graphs, descriptors, validation, folds, progress)
            row: dict[str, Any] = {"seconds": round(time.monotonic() - begin, 2), "step": 0, "epoch": 0}
            if validation:
                scores = self.scores(readings)
                if self.schema is not None and self.attributes == "decoded":
                    scores["choice"] = validation_choice(scores, self.schema)
                row |= prefixed("validation", scores) | {"seconds": round(time.monotonic() - begin, 2)}
                if (score := scores.get("choice", scores["f1"])) > best:
                    best, chosen, kept = score, folds, (self.reader, self.features, self.decoder)
            history.append(row)
            if best == 1:  # nothing can be better
                break
        if kept is not None:
            self.reader, self.features, self.decoder = kept
        return chosen, history

    def _foldings(self, graphs: Sequence[Graph]) -> list[tuple[bool, bool]]:
        """Candidates (leaves folded, twins folded), the first of equals being preferred."""
        wanted: dict[str, str] = {"leaves": self.leaves, "twins": self.twins}
        if self.schema is not None and self.schema.continuous:
            for name, how in wanted.items():
                if how == "folded":
                    raise GeoGAEError(f"{name}='folded' would lose continuous attributes; take {name}='kept' or 'auto'")
            wanted = dict.fromkeys(wanted, "kept")
        if self.cloud_parameters["consensus"]:  # needs graphs of one size
            wanted = dict.fromkeys(wanted, "kept")
        return foldings(graphs, wanted)

    def _fit(
        self,
        graphs: Sequence[Graph],
        descriptors: NDArray[np.float32],
        validation: Sequence[Graph],
        folds: tuple[bool, bool],
        progress: bool,
    ) -> list[CloudReading]:
        """Fit with some folds on graphs that are stripped and described; the readings of the validation graphs."""
        kinds = [kind for kind, chosen in zip(FOLDS.values(), folds, strict=True) if chosen]
        self.features, cores = SlotFeatures.folding(kinds, graphs)
        self.reader = CloudReader(**self.cloud_parameters)  # type: ignore[arg-type]
        clouds = self.reader.fit(cores, progress=progress)
        cores = [cloud.ordered_graph for cloud in clouds]
        held_out = self.read(validation, progress=progress)
        if self.schema is not None:
            count = self.features.columns
            train = [without_columns(core, count) for core in cores]
            rest = [without_columns(reading.core, count)[0] for reading in held_out]
            own = Attributes.of(self.schema, train, rest, self.latent_dim, self.attributes == "decoded", self.contexts)
            self.features = SlotFeatures([*self.features.features, own])
        largest = max(core.n for core in [*cores, *(reading.core for reading in held_out)])
        self.decoder = self._built(self.reader.dim, largest)
        slots = [
            np.concatenate([cloud.balls, self.features.write(core).values], axis=1)  # (n, w)
            for cloud, core in zip(clouds, cores, strict=True)
        ]
        self.decoder.fit(slots, self.features.random_share, descriptors)
        return held_out

    def _built(self, dim: int | str, slots: int) -> LinearDecoder:
        coefficients = self.features.coefficients
        descriptor_dim = 0 if self.descriptor is None else self.descriptor.k
        if coefficients + descriptor_dim > self.latent_dim - 2:
            least = coefficients + descriptor_dim + 2
            raise GeoGAEError(f"latent_dim={self.latent_dim} leaves no number for the cloud; take {least}")
        decoder = LinearDecoder(
            int(dim) + self.features.width,
            slots=slots,
            latent_dim=self.latent_dim,
            coefficients=coefficients,
            descriptor_dim=descriptor_dim,
        )
        return decoder.to(torch_device(self.device)).eval()

    # -- read ---------------------------------------------------------------------------------------------------------

    def why_not(self, graph: Graph) -> str | None:
        if graph.n > self.max_nodes:
            most = f"the model encodes up to {self.max_nodes}"
            return f"it has {graph.n} nodes; {most}: leave it out, or fit with graphs as large"
        return (self.schema and self.schema.why_not(graph)) or self.reader.why_not(graph)

    def read(self, graphs: Sequence[Graph], *, n_jobs: int = 1, progress: bool = False) -> list[CloudReading]:
        folded = [self.features.fold(self._stripped(graph)) for graph in graphs]
        cores = [core for core, _ in folded]
        clouds = self.reader.read(cores, n_jobs=n_jobs, progress=progress) if graphs else []
        return [
            CloudReading(graph.relabel(whole_order(cloud, steps)), cloud.ordered_graph, cloud.balls)
            for graph, (_, steps), cloud in zip(graphs, folded, clouds, strict=True)
        ]

    def lossy(self, reading: CloudReading) -> str | None:
        if (n := reading.core.n) > self.decoder.slots:
            what = "nodes" if not self.features.columns else "nodes that are not folded"
            return f"it has {n} {what}; the largest graph of the fit has {self.decoder.slots}"
        return self.features.lossy(reading.core)

    def inexact(self, reading: CloudReading) -> bool:
        centers, radii_raw = reading.balls[:, :-1], reading.balls[:, -1]
        return not HyperballCloud(centers, radii_raw, np.arange(reading.core.n), reading.core).exact

    def _stripped(self, graph: Graph) -> Graph:
        """The graph with no more attributes than the model reads."""
        return graph.topology() if self.attributes == "ignored" else graph

    # -- encode -------------------------------------------------------------------------------------------------------

    def encode(
        self, readings: Sequence[CloudReading], *, batch_size: int | None = None, n_jobs: int = 1
    ) -> NDArray[np.float32]:
        z = np.empty((len(readings), self.latent_dim), dtype=np.float32)
        batches = list(by_size([reading.core.n for reading in readings], batch_size or BATCH))
        parts = [[readings[i] for i in batch] for batch in batches]
        if len(parts) == 1 or n_jobs == 1:
            found = map(self.encode_batch, parts)
        else:
            found = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(self.encode_batch)(part) for part in parts)
        for batch, codes in zip(batches, found, strict=True):
            z[batch] = codes
        return z

    @torch.inference_mode()
    def encode_batch(self, readings: Sequence[CloudReading]) -> NDArray[np.float32]:
        """z of readings of like size, (B, m)."""
        written = [self.features.write(reading.core) for reading in readings]
        slots, sizes, noise = self._padded(readings, written)
        descriptors = torch.from_numpy(self.describe(readings)).to(slots.device)
        expected = self.decoder.expected(descriptors, slots.shape[1])
        components = self.decoder.components(slots - expected, sizes, noise)
        components = self.refined(components, readings, written, expected)
        coefficients = torch.from_numpy(np.stack([own.coefficients for own in written])).to(components)
        z = self.decoder.assembled(Parts(descriptors, sizes, components, coefficients))
        if self.features.coefficients:
            z = self._with_decoded_coefficients(z, readings)
        return z.cpu().numpy()

    def describe(self, readings: Sequence[CloudReading]) -> NDArray[np.float32]:
        """The descriptors that z holds, (B, h)."""
        return self._described([self._stripped(reading.ordered) for reading in readings])

    def _described(self, graphs: Sequence[Graph]) -> NDArray[np.float32]:
        """Of graphs in any numbering, with no more attributes than the model reads."""
        if self.descriptor is None:
            return np.empty((len(graphs), 0), np.float32)
        return self.descriptor.describe(graphs)

    def refined(
        self,
        components: Tensor,
        readings: Sequence[CloudReading],
        written: Sequence[SlotValues],
        expected: Tensor,
    ) -> Tensor:
        """Components (B, k) that decode better, given what descriptors add (B, n, w); here they stay as they are."""
        return components

    def _padded(
        self, readings: Sequence[CloudReading], written: Sequence[SlotValues]
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Slots (B, n, w), sizes (B,) and, where places may be empty, the noise to which each number is met."""
        n = max(reading.core.n for reading in readings)
        slots = np.zeros((len(readings), n, self.decoder.width), np.float32)
        noise = np.full(slots.shape, np.inf, np.float32) if self.features.gaps else None
        for row, (reading, own) in enumerate(zip(readings, written, strict=True)):
            size, d = reading.balls.shape
            slots[row, :size, :d], slots[row, :size, d:] = reading.balls, own.values
            if noise is not None:
                noise[row, :size, :d] = NOISE
                noise[row, :size, d:][own.present] = NOISE
        device = self.decoder.mean.device
        sizes = torch.tensor([reading.core.n for reading in readings], device=device)
        return torch.from_numpy(slots).to(device), sizes, None if noise is None else torch.from_numpy(noise).to(device)

    def _with_decoded_coefficients(self, z: Tensor, readings: Sequence[CloudReading]) -> Tensor:
        """The same z with the graph coefficients for what its slots decode to, even if they decode to another graph."""
        slots, sizes, _ = self.decoder.decode(z, self.max_nodes)
        nodes, d = slots.cpu().numpy(), int(self.reader.dim)
        cores = graphs_of_balls(nodes[..., :d], sizes.cpu().numpy())
        found = [
            self.features.coefficients_beside(reading.core, core, nodes[row, : core.n, d:])
            for row, (reading, core) in enumerate(zip(readings, cores, strict=True))
        ]
        parts = self.decoder.parts(z)
        return self.decoder.assembled(parts._replace(coefficients=torch.from_numpy(np.stack(found)).to(z)))

    def basis(self) -> NDArray[np.float64]:
        return self.decoder.principal_basis()

    # -- decode -------------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def decode(self, z: NDArray[np.float32]) -> list[Decoding]:
        check_latent(z, self.latent_dim)
        return self._decode_all(z)

    @torch.inference_mode()
    def decode_by_rules(self, z: NDArray[np.float32], rules: DecodingRules) -> list[Decoding]:
        """Rules of edges hold for the core; attributes follow them where no node is folded away."""
        check_latent(z, self.latent_dim)
        return self._decode_all(z, rules)

    def _decode_all(self, z: NDArray[np.float32], rules: DecodingRules | None = None) -> list[Decoding]:
        """In batches of like size, so that small graphs do not cost what large ones do; each is decoded by itself."""
        if len(z) <= FEW:
            return list(self._decode(z, rules))
        sizes, _ = self.decoder.sizes(torch.from_numpy(z), self.max_nodes)
        found: dict[int, Decoding] = {}
        for batch in by_size(sizes.numpy(), BATCH):
            found.update(zip(batch, self._decode(z[batch], rules), strict=True))
        return [found[row] for row in range(len(z))]

    def _decode(self, z: NDArray[np.float32], rules: DecodingRules | None = None) -> Iterator[Decoding]:
        rows = torch.from_numpy(z).to(self.decoder.mean.device)
        nodes, sizes, asked = (part.cpu().numpy() for part in self.decoder.decode(rows, self.max_nodes))
        coefficients, d = self.decoder.coefficients(rows).cpu().numpy(), int(self.reader.dim)
        cuts = asked > sizes  # of a graph that is cut, no node is the last
        stops = ((np.arange(nodes.shape[1]) == sizes[:, None] - 1) & ~cuts[:, None]).astype(np.float32)  # (B, n)
        if rules is None:
            cores = graphs_of_balls(nodes[..., :d], sizes)
        else:
            balls = [nodes[row, :n, :d] for row, n in enumerate(sizes.tolist())]
            cores = [Graph(len(own), rules.edges(margins(own[:, :-1], own[:, -1]))) for own in balls]
        with_features, rules_of_attributes = bool(self.features), None if self.features.columns else rules
        for row, (core, cut) in enumerate(zip(cores, cuts.tolist(), strict=True)):
            own, graph, too_large = nodes[row, : core.n], core, False
            if with_features:
                graph, too_large = self.features.read(own[:, d:], coefficients[row], core, self.max_nodes)
            if rules_of_attributes is not None:
                graph = rules_of_attributes.attributes(graph)
            yield Decoding(graph, own[:, :d], stops[row, : core.n], cut or too_large)

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> State:
        reader, features = self.reader.state(), self.features.state()
        tensors = prefixed("decoder", self.decoder.state_dict(), ".") | prefixed("features", features.tensors, ".")
        facts = {"slots": self.decoder.slots, "max_nodes": self.max_nodes, "reader": dict(reader.facts)}
        facts["features"] = dict(features.facts)
        if self.descriptor is not None:
            tensors |= prefixed("descriptor", self.descriptor.state().tensors, ".")
        return State(tensors | prefixed("reader", reader.tensors, "."), facts)

    @classmethod
    def from_state(cls, state: State, **parameters: Any) -> Self:
        model = cls(**parameters)
        facts, tensors = state.facts, state.tensors
        model.reader.restored(State(parts_of(tensors, "reader."), facts["reader"]))
        model.features = SlotFeatures.from_state(State(parts_of(tensors, "features."), facts["features"]), FEATURES)
        model.schema = model.features.schema
        if model.descriptor is not None:
            described = State(parts_of(tensors, "descriptor."), {"k": model.descriptor.k})
            model.descriptor = Descriptor.from_state(described)
        model.max_nodes = max(ROOM, _size("max_nodes", facts))  # models of before had less room
        slots, width = _size("slots", facts), int(model.reader.dim) + model.features.width
        if tensors["decoder.mean"].numel() != slots * width:  # before memory is taken for them
            raise ValueError(f"slots={slots} of {width} numbers, and the mean has {tensors['decoder.mean'].numel()}")
        model.decoder = model._built(model.reader.dim, slots)
        model.decoder.load_state_dict(dict(parts_of(tensors, "decoder.")))
        if not model.decoder.unit > 0:  # z is divided by it
            raise ValueError(f"the unit of the code is {float(model.decoder.unit)}")
        return model


def _size(name: str, facts: Mapping[str, Any]) -> int:
    check_number(name, facts[name], int, 1, max(ROOM, HEADROOM * limit("nodes")))
    return int(facts[name])
