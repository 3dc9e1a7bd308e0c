"""``sequential``: the paper's autoencoder (Sections 3.4 to 3.7), trained by gradient descent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray

from geogae.autoencoders.base import (
    DEFAULT_SESSION,
    Autoencoder,
    Decoding,
    Session,
    State,
    check_latent,
    hold_out,
    reconstruction_scores,
    torch_device,
)
from geogae.autoencoders.clouds import CloudReader, whole_order
from geogae.autoencoders.schema import Schema, validation_choice
from geogae.autoencoders.slots import FEATURES, FOLDS, SlotFeatures
from geogae.autoencoders.transformer.decoder import Decoded
from geogae.autoencoders.transformer.losses import BETA_EPOCHS, BETA_TARGET, FEATURE_WEIGHT, RHO
from geogae.autoencoders.transformer.network import SequentialNetwork
from geogae.autoencoders.transformer.objective import sequential_objective
from geogae.autoencoders.transformer.parameters import check_parameters
from geogae.autoencoders.transformer.refinement import refine
from geogae.autoencoders.transformer.sequences import Batch, Sequences, counts_of, edited_sequences
from geogae.checks import check_number
from geogae.geometry.cloud import HyperballCloud, graphs_of_balls
from geogae.graph import Graph
from geogae.metrics import edge_f1
from geogae.training.batches import by_size
from geogae.training.checkpoint import parts_of, prefixed
from geogae.training.edits import Editor
from geogae.training.loop import Trainer, deterministic
from geogae.training.precision import in_bfloat16
from geogae.training.stream import EditedGraphs

BATCH = 256  # graphs at a time in encoding and decoding
HEADROOM = 2  # decoding stops at this many times the largest graph of the fit
MAX_READ = 20_000  # nodes that can be encoded
NO_COEFFICIENTS = np.empty(0, np.float32)
VALIDATED_AT_ONCE = 64  # graphs at a time in validation
VALIDATED = 20_000  # nodes of the validation graphs that are decoded during training, at most


class SequenceReading(NamedTuple):
    """A graph as a sequence of balls."""

    ordered: Graph  # the whole graph in the node order of the decoder
    cloud: HyperballCloud  # of its core, which is the whole graph where no node is folded away


class SequentialAutoencoder(Autoencoder[SequenceReading]):
    """The paper's Transformer autoencoder.

    Parameters:
        latent_dim: size m of z (emb), a multiple of token_dim: each CLS token is one part.
        attributes: of nodes and edges: ``"ignored"``, ``"encoded"`` into z, or ``"decoded"`` from it as well.
        dim: geometry dimension d, d-1 coordinates and a radius; ``"auto"`` for the smallest that is exact.
        order: node order, ``"greedy"`` (Algorithm 1) or ``"axis"`` (first principal axis), or a registered one.
        margin: by which the intersection rule is right in a fitted cloud.
        consensus: whether nodes are ordered by matching to the consensus of the training graphs, all of one size.
        leaves: ``"kept"`` as balls of their own, or ``"folded"`` into a count beside the ball of their neighbour.
        twins: the same for adjacent twins, which share a ball.
        token_dim: width of a token (the paper's tok-d).
        bundle: nodes b in a token.
        encoder_hidden: width of the encoder's feed-forward layers.
        encoder_layers: their number.
        encoder_heads: attention heads; token_dim / heads must be even, for the rotary positions.
        decoder_hidden: width of the decoder's feed-forward layers.
        decoder_layers: their number.
        decoder_heads: attention heads.
        passes: stacked decoder passes K of multi-layer teacher forcing.
        variational: VAE: z is drawn in training.
        kl_weight: target of β(t), the weight of L_KL.
        kl_epochs: epochs in which β(t) climbs to it.
        rho: weight ρ of L_geo.
        feature_weight: weight λ_feat of L_nfeat and L_efeat.
        optimizer: ``"adamw"``, or ``"muon"``: orthogonalised steps of weight matrices, AdamW for all else.
        lr: the optimizer's step at its largest; warm-up before, half a cosine after.
        weight_decay: the optimizer's.
        batch_size: graphs in a batch, over all processes.
        epochs: training ends after so many, or …
        minutes: … after so many by the clock, or …
        core_minutes: … after so many of processor time, over all threads, whichever comes first.
        patience: … or when so many validations in a row bring no better F1.
        validations: how often validation graphs are decoded during training.
        precision: ``"bfloat16"`` autocast, ``"float32"``, or ``"auto"``: bfloat16 where it is the faster one.
        device: ``"auto"``, ``"cpu"``, ``"cuda"``, …
        edits: trains on copies of the graphs with 0 to so many random edits; 0 for the graphs themselves.
        edit_kinds: of leaves, edges, paths, parts, twins, rewire (see training/edits.py), joined by ``+``.
        edit_repeats: epochs in a row that an edited copy is used in.
        edit_ramp: number of edited copies over which the draw of training graphs moves from uniform to proportional to
            their nodes; 0 for uniform throughout.
        stop_rule: where a graph ends: ``"first"`` at the first node whose stop probability is above 1/2 (the paper's),
            ``"likeliest"`` at the most probable size under all stop probabilities.
        final_norm: whether a LayerNorm stands between the decoder's last layer and its head.
        absolute_positions: whether the decoder's inputs have sinusoidal positions beside the rotary ones.
        refine_steps: steps of descent through the decoder that z takes in encoding.
        seed: of weights, batches, edits and, without given validation graphs, of the ones held out.
    """

    trained = True

    def __init__(
        self,
        *,
        latent_dim: int = 192,
        attributes: Literal["ignored", "encoded", "decoded"] = "ignored",
        dim: int | Literal["auto"] = "auto",
        order: str = "greedy",
        margin: float = 0.2,
        consensus: bool = False,
        leaves: Literal["folded", "kept"] = "kept",
        twins: Literal["folded", "kept"] = "kept",
        token_dim: int = 64,
        bundle: int = 1,
        encoder_hidden: int = 1024,
        encoder_layers: int = 4,
        encoder_heads: int = 8,
        decoder_hidden: int = 512,
        decoder_layers: int = 2,
        decoder_heads: int = 1,
        passes: int = 3,
        variational: bool = False,
        kl_weight: float = BETA_TARGET,
        kl_epochs: float = BETA_EPOCHS,
        rho: float = RHO,
        feature_weight: float = FEATURE_WEIGHT,
        optimizer: Literal["adamw", "muon"] = "adamw",
        lr: float = 1e-3,
        weight_decay: float = 0.0,
        batch_size: int = 32,
        epochs: int | None = 200,
        minutes: float | None = None,
        core_minutes: float | None = None,
        patience: int | None = None,
        validations: int = 20,
        precision: Literal["auto", "float32", "bfloat16"] = "auto",
        edits: int = 0,
        edit_kinds: str = "leaves+edges+paths",
        edit_repeats: int = 2,
        edit_ramp: int = 0,
        stop_rule: Literal["first", "likeliest"] = "first",
        final_norm: bool = False,
        absolute_positions: bool = False,
        refine_steps: int = 0,
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        check_parameters(dict(locals()))
        self.latent_dim, self.attributes, self.device, self.seed = latent_dim, attributes, device, seed
        self.reader = CloudReader(dim, order, margin, consensus)
        self.architecture: dict[str, Any] = {  # of the network
            "token_dim": token_dim, "latent_tokens": latent_dim // token_dim, "bundle": bundle,
            "encoder_layers": encoder_layers, "encoder_hidden": encoder_hidden, "encoder_heads": encoder_heads,
            "decoder_layers": decoder_layers, "decoder_hidden": decoder_hidden, "decoder_heads": decoder_heads,
            "passes": passes, "variational": variational, "likeliest_stop": stop_rule == "likeliest",
            "final_norm": final_norm, "absolute_positions": absolute_positions,
        }  # fmt: skip
        self.loss_weights: dict[str, Any] = {
            "kl_weight": kl_weight, "kl_epochs": kl_epochs, "rho": rho, "feature_weight": feature_weight,
        }  # fmt: skip
        self.training: dict[str, Any] = {
            "optimizer": optimizer, "lr": lr, "weight_decay": weight_decay, "batch_size": batch_size, "epochs": epochs,
            "minutes": minutes, "core_minutes": core_minutes, "patience": patience, "validations": validations,
        }  # fmt: skip
        self.editing: dict[str, Any] = {"edits": edits, "kinds": edit_kinds.split("+"), "ramp": edit_ramp}
        self.edit_repeats, self.refine_steps, self.precision = edit_repeats, refine_steps, precision
        self.folds = {"leaves": leaves, "twins": twins}
        self.features = SlotFeatures()
        self.schema: Schema | None = None
        self.max_nodes = self.max_slots = 0
        self.network: SequentialNetwork

    # -- fit ----------------------------------------------------------------------------------------------------------

    def fit(
        self, graphs: Sequence[Graph], validation: Sequence[Graph] | None = None, session: Session = DEFAULT_SESSION
    ) -> list[dict[str, Any]]:
        """Fit clouds, then train; the weights with the best validation score are kept."""
        graphs, validation = hold_out(graphs, validation, self.seed)
        self.schema = Schema.of([*graphs, *validation]) if self.attributes != "ignored" else None
        kinds = [FOLDS[name] for name, fold in self.folds.items() if fold == "folded"]
        self.features, cores = SlotFeatures.folding(kinds, [self._stripped(graph) for graph in graphs])
        clouds = self.reader.fit(cores, progress=session.progress)
        held_out = self.read(_spread(validation, VALIDATED), progress=session.progress)
        self.max_nodes = HEADROOM * max(graph.n for graph in [*graphs, *validation])
        cores += [self.features.fold(self._stripped(graph))[0] for graph in validation]
        self.max_slots = HEADROOM * max(core.n for core in cores)
        self.network = self._built()
        nodes = float(np.mean([cloud.n for cloud in clouds]))
        tokens = self.training["batch_size"] * nodes / self.architecture["bundle"]  # of a batch
        edited = self.editing["edits"] > 0
        plain = nullcontext(Sequences(clouds, self.schema, self.features))
        with self.stream(self.ordered(graphs, clouds), validation) if edited else plain as data:
            trainer = Trainer(
                self.network,
                data,
                self._objective(),
                lambda: self._validated(held_out),
                **self.training,
                autocast=in_bfloat16(self.precision, torch_device(self.device), tokens),
                seed=self.seed,
                run=session.folder,
                keep_best=session.keep,
                peers=session.peers,
                progress=session.progress,
            )
            history = trainer.run(session.resume).history
        self.network.eval()
        return history

    def ordered(self, graphs: Sequence[Graph], clouds: Sequence[HyperballCloud]) -> list[Graph]:
        """Whole graphs in node order, given the clouds of their cores; with no more attributes than the model reads."""
        stripped = [self._stripped(graph) for graph in graphs]
        return [
            graph.relabel(whole_order(cloud, self.features.fold(graph)[1]))
            for graph, cloud in zip(stripped, clouds, strict=True)
        ]

    def stream(self, graphs: Sequence[Graph], validation: Sequence[Graph], *, background: bool = True) -> EditedGraphs:
        """The edited copies that training on ``graphs``, in node order, sees.

        Graphs that are one graph with edges rewired are edits of their consensus. Edits of the graphs themselves would
        keep what each has of its own, and the model would overfit to that.
        """
        if self.reader.consensus is not None and self.schema is None:
            graphs = [self.reader.consensus.graph]
        return EditedGraphs(
            Editor(graphs, **self.editing, excluded=validation, seed=self.seed),
            partial(edited_sequences, reader=self.reader, schema=self.schema, features=self.features),
            repeats=self.edit_repeats,
            background=background,
        )

    def _stripped(self, graph: Graph) -> Graph:
        """The graph with no more attributes than the model reads; warnings name it."""
        return graph if self.schema else graph.topology().with_attributes(name=graph.name)

    def _built(self) -> SequentialNetwork:
        with deterministic(self.seed):
            network = self._network()
        return network.to(torch_device(self.device)).eval()

    def _network(self) -> SequentialNetwork:
        features = self.schema
        return SequentialNetwork(
            int(self.reader.dim) + self.features.width,
            **self.architecture,
            node_features=features.node.width if features else 0,
            edge_features=features.edge.width if features else 0,
            decodes_features=self.attributes == "decoded",
        )

    def _check_shapes(self, weights: Mapping[str, torch.Tensor]) -> None:
        """A ValueError if these are not the weights of the network, before memory is taken for it."""
        with torch.device("meta"):
            wanted = {name: tuple(tensor.shape) for name, tensor in self._network().state_dict().items()}
        given = {name: tuple(tensor.shape) for name, tensor in weights.items()}
        if wanted != given:
            name, shape = min(wanted.items() ^ given.items())
            raise ValueError(f"{name} of shape {shape} is in one of them alone")

    def _objective(self) -> partial[dict[str, torch.Tensor]]:
        return partial(sequential_objective, dim=int(self.reader.dim), **(self.loss_weights | self._categories()))

    def _categories(self) -> dict[str, list[int]]:
        """The widths of the categorical columns of nodes and of edges, as the losses take them."""
        blocks = (self.schema.node, self.schema.edge) if self.schema else ()
        return {f"{block.kind}_categories": [len(known) for known in block.categories] for block in blocks}

    def _validated(self, held_out: Sequence[SequenceReading]) -> dict[str, float]:
        """Graphs of like size are decoded together, up to HEADROOM times their largest: early on no stop is learned."""
        z, true, decoded = self._codes(held_out), list[Graph](), list[Decoding]()
        for chosen in by_size([reading.cloud.n for reading in held_out], VALIDATED_AT_ONCE):
            true += [held_out[i].ordered for i in chosen]
            decoded += self._decoded(z[chosen], HEADROOM * max(held_out[i].cloud.n for i in chosen))
        scores = reconstruction_scores(true, decoded, self.attributes)
        if self.schema is not None and self.attributes == "decoded":
            scores["choice"] = validation_choice(scores, self.schema)
        return scores

    # -- read, encode, decode -----------------------------------------------------------------------------------------

    def why_not(self, graph: Graph) -> str | None:
        if graph.n > MAX_READ:
            return f"it has {graph.n} nodes; at most {MAX_READ} are read: leave it out"
        return (self.schema and self.schema.why_not(graph)) or self.reader.why_not(graph)

    def lossy(self, reading: SequenceReading) -> str | None:
        if (n := reading.cloud.n) > (largest := self.max_slots // HEADROOM):
            what = "nodes that are not folded" if self.features else "nodes"
            stops = f", and decoding stops at {self.max_slots}" if n > self.max_slots else ""
            return f"it has {n} {what}; the largest graph of the fit has {largest}{stops}"
        if reading.ordered.n > self.max_nodes:
            return f"it has {reading.ordered.n} nodes, and decoding stops at {self.max_nodes}"
        return self.schema.lossy(reading.ordered) if self.schema else None

    def inexact(self, reading: SequenceReading) -> bool:
        return not reading.cloud.exact

    def read(self, graphs: Sequence[Graph], *, n_jobs: int = 1, progress: bool = False) -> list[SequenceReading]:
        folded = [self.features.fold(self._stripped(graph)) for graph in graphs]
        cores = [core for core, _ in folded]
        clouds = self.reader.read(cores, n_jobs=n_jobs, progress=progress) if graphs else []
        return [
            SequenceReading(graph.relabel(whole_order(cloud, steps)), cloud)
            for graph, (_, steps), cloud in zip(graphs, folded, clouds, strict=True)
        ]

    def encode(
        self, readings: Sequence[SequenceReading], *, batch_size: int | None = None, n_jobs: int = 1
    ) -> NDArray[np.float32]:
        return self._codes(readings, batch_size or BATCH, self.refine_steps)

    @torch.no_grad()
    def _codes(
        self, readings: Sequence[SequenceReading], batch_size: int = BATCH, refine_steps: int = 0
    ) -> NDArray[np.float32]:
        z = np.empty((len(readings), self.latent_dim), dtype=np.float32)
        sequences = Sequences([reading.cloud for reading in readings], self.schema, self.features)
        for chosen in by_size(sequences.sizes, batch_size, sequences.pairs):
            batch = sequences[chosen].to(torch_device(self.device))
            codes = self.network.encode(batch.balls, batch.sizes, batch.attributes).float()
            if refine_steps:
                codes = self._refined(codes, batch, [readings[i].ordered for i in chosen], refine_steps)
            z[chosen] = codes.cpu().numpy()
        return z

    def _refined(self, codes: torch.Tensor, batch: Batch, graphs: Sequence[Graph], steps: int) -> torch.Tensor:
        """z after descent, where more of the graph comes back from it than from the encoder's."""
        changed = refine(self.network, codes, batch, steps, **self._categories(), dim=int(self.reader.dim))
        before, after = ([decoding.graph for decoding in self.decode(z.cpu().numpy())] for z in (codes, changed))
        gains = [edge_f1(true, two) > edge_f1(true, one) for true, one, two in zip(graphs, before, after, strict=True)]
        return torch.where(torch.tensor(gains, device=codes.device)[:, None], changed, codes)

    def decode(self, z: NDArray[np.float32]) -> list[Decoding]:
        check_latent(z, self.latent_dim)
        return self._decoded(z, self.max_slots)

    @torch.inference_mode()
    def _decoded(self, z: NDArray[np.float32], max_slots: int) -> list[Decoding]:
        decodings, d = [], int(self.reader.dim)
        for begin in range(0, len(z), BATCH):
            rows = torch.from_numpy(z[begin : begin + BATCH]).to(torch_device(self.device))
            decoded = self.network.decode(rows, max_slots)
            parts = (decoded.balls.float(), decoded.sizes, decoded.stop_probability, decoded.truncated)
            slots, sizes, stop, truncated = (part.cpu().numpy() for part in parts)
            graphs = graphs_of_balls(slots[..., :d], sizes)
            if self.schema is not None and self.attributes == "decoded":
                graphs = self._with_attributes(decoded, graphs, self.schema)
            for row, core in enumerate(graphs):
                own = slots[row, : core.n]
                graph, cut = self.features.read(counts_of(own[:, d:]), NO_COEFFICIENTS, core, self.max_nodes)
                decodings.append(Decoding(graph, own[:, :d], stop[row, : core.n], bool(truncated[row]) or cut))
        return decodings

    def _with_attributes(self, decoded: Decoded, graphs: list[Graph], schema: Schema) -> list[Graph]:
        """Graphs with the attributes that the heads read off the decoder's tokens."""
        counts = [len(graph.edges) for graph in graphs]
        nodes = np.zeros((len(graphs), decoded.balls.shape[1], 0), np.float32)
        edges = np.zeros((sum(counts), 0), np.float32)
        if decoded.node_features is not None:
            nodes = decoded.node_features.float().cpu().numpy()
        if decoded.vectors is not None:
            pairs = np.concatenate([np.empty((0, 2), np.int64), *(graph.edges for graph in graphs)])
            joined = np.column_stack([np.repeat(np.arange(len(graphs)), counts), pairs])  # (M, 3)
            given = self.network.edge_features(decoded.vectors, torch.from_numpy(joined).to(decoded.balls.device))
            edges = given.float().cpu().numpy()
        each = np.split(edges, np.cumsum(counts)[:-1])
        return [
            schema.with_attributes(graph, schema.node.read(nodes[row, : graph.n]), schema.edge.read(own))
            for row, (graph, own) in enumerate(zip(graphs, each, strict=True))
        ]

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> State:
        reader = self.reader.state()
        features = self.features.state()
        facts = {"max_nodes": self.max_nodes, "max_slots": self.max_slots, "reader": dict(reader.facts)}
        facts |= {"features": dict(features.facts)} | ({"schema": self.schema.to_json()} if self.schema else {})
        tensors = prefixed("network", self.network.state_dict(), ".") | prefixed("features", features.tensors, ".")
        return State(tensors | prefixed("reader", reader.tensors, "."), facts)

    @classmethod
    def from_state(cls, state: State, **parameters: Any) -> Self:
        model = cls(**parameters)
        facts = {"max_slots": state.facts["max_nodes"], **state.facts}  # models without folding had one limit
        for name in ("max_nodes", "max_slots"):
            check_number(name, facts[name], int, 1, HEADROOM * MAX_READ)
        folded = State(parts_of(state.tensors, "features."), facts.get("features", {}))
        model.features = SlotFeatures.from_state(folded, FEATURES)
        model.reader.restored(State(parts_of(state.tensors, "reader."), facts["reader"]))
        model.schema = Schema.from_json(facts["schema"]) if "schema" in facts else None
        model.max_nodes, model.max_slots = int(facts["max_nodes"]), int(facts["max_slots"])
        weights = parts_of(state.tensors, "network.")
        model._check_shapes(weights)
        model.network = model._built()
        model.network.load_state_dict(weights)
        return model


def _spread(graphs: Sequence[Graph], nodes: int) -> list[Graph]:
    """Graphs with at most so many nodes in all, spread over the sizes that there are: validation must not take long."""
    ascending = sorted(range(len(graphs)), key=lambda i: graphs[i].n)
    every = max(1, min(len(graphs), -(-sum(graph.n for graph in graphs) // nodes)))
    return [graphs[i] for i in sorted(ascending[every // 2 :: every])]
