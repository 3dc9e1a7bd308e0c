"""GeoGAE: fit / encode / decode / evaluate / save / load, with scikit-learn's conventions."""

from __future__ import annotations

import inspect
import logging
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from geogae import metrics, presets
from geogae.attributes import Schema
from geogae.coding import Decoding, decode_sequences, decode_slots, encode_sequences, encode_slots, fit_slots
from geogae.coding import ordered as ordered_graphs
from geogae.datasets.splits import split
from geogae.errors import GeoGAEError
from geogae.formats import as_graphs, is_graph, to_molecules
from geogae.geometry.cloud import HyperballCloud
from geogae.geometry.fitting import fit_clouds
from geogae.geometry.folding import fold, folded_clouds
from geogae.geometry.template import make_template, template_clouds
from geogae.graph import Graph
from geogae.losses import FEATURE_WEIGHT
from geogae.model.autoencoder import SequentialAutoencoder
from geogae.model.linear import LinearAutoencoder
from geogae.model.parallel import ParallelAutoencoder
from geogae.model.payload import Leaves, Payload
from geogae.parameters import check_parameters
from geogae.saved import load_model, save_model
from geogae.training.batches import Sequences
from geogae.training.distributed import Processes
from geogae.training.loop import Loss, Trainer, bfloat16_pays, deterministic
from geogae.training.objective import sequential_objective

log = logging.getLogger("geogae")

FOLDED = 0.5  # nodes that are no leaves for each node, below which leaves are folded
SHARED = 0.8  # balls for each node, below which nodes that share a ball share a slot
HEADROOM = 2  # decoding stops at this many times the largest graph seen in training


class GeoGAE:
    """A graph autoencoder: whole graphs to vectors of ``latent_dim`` numbers and back.

    Presets hold values for the paper's seven data sets: ``mutag`` for ours, ``paper/mutag`` for the paper's.

    Parameters:
        architecture: ``"parallel"`` is ours, ``"sequential"`` the paper's, ``"linear"`` PCA of the ordered clouds.
        dim: geometry dimension d, d-1 coordinates and a radius; ``"auto"`` for the smallest that is exact.
        order: ``"greedy"`` is Algorithm 1, ``"axis"`` the first principal axis, ``"template"`` a base that all share.
        attributes: of nodes and edges: ``"ignored"``, ``"encoded"`` into z, or ``"decoded"`` from it as well.
        leaves: ``"kept"`` as balls, ``"folded"`` into numbers where they hang; ``"auto"`` folds if most nodes are such.
        descent: steps that z may take, if parallel, to give back what the linear z does not.
        token_dim: width of a token (the paper's tok-d).
        latent_dim: size m of z (emb); if sequential a multiple of token_dim, each CLS token being one part.
        bundle: nodes b in a token.
        encoder_hidden: width of the encoder's feed-forward layers.
        encoder_layers: their number.
        encoder_heads: attention heads; token_dim / heads must be even, for the rotary positions.
        decoder_hidden: width of the decoder's feed-forward layers.
        decoder_layers: their number.
        decoder_heads: attention heads.
        passes: stacked decoder passes K of multi-layer teacher forcing.
        variational: VAE: if sequential z is drawn in training; if not, z is standardised, so that N(0, 1) draws decode.
        kl_weight: target of β(t), the weight of L_KL; if parallel, the pull of a descending z towards the mean.
        kl_epochs: epochs in which β(t) climbs to it.
        rho: weight ρ of L_geo.
        feature_weight: weight λ_feat of L_nfeat and L_efeat.
        lr: AdamW's step at its largest; warm-up before, half a cosine after.
        weight_decay: AdamW's.
        batch_size: graphs in a batch, over all processes.
        epochs: training ends after so many, or …
        minutes: … after so many by the clock, or …
        core_minutes: … after so many of processor time, over all threads, whichever comes first.
        patience: … or when so many validations in a row bring no better F1.
        validations: how often validation graphs are decoded during training.
        precision: ``"bfloat16"`` autocast, ``"float32"``, or ``"auto"``: bfloat16 where it is the faster one.
        device: ``"auto"``, ``"cpu"``, ``"cuda"``, …
        seed: of weights, batches and, without given validation graphs, of the ones held out.
    """

    def __init__(
        self,
        architecture: Literal["parallel", "sequential", "linear"] = "parallel",
        *,
        dim: int | Literal["auto"] = "auto",
        order: Literal["greedy", "axis", "template"] = "greedy",
        attributes: Literal["ignored", "encoded", "decoded"] = "ignored",
        leaves: Literal["auto", "folded", "kept"] = "auto",
        descent: int = 1000,
        token_dim: int = 64,
        latent_dim: int = 192,
        bundle: int = 1,
        encoder_hidden: int = 1024,
        encoder_layers: int = 4,
        encoder_heads: int = 8,
        decoder_hidden: int = 512,
        decoder_layers: int = 2,
        decoder_heads: int = 1,
        passes: int = 3,
        variational: bool = False,
        kl_weight: float = 1e-3,
        kl_epochs: float = 10.0,
        rho: float = 1.0,
        feature_weight: float = FEATURE_WEIGHT,
        lr: float = 1e-3,
        weight_decay: float = 0.0,
        batch_size: int = 32,
        epochs: int | None = 200,
        minutes: float | None = None,
        core_minutes: float | None = None,
        patience: int | None = None,
        validations: int = 20,
        precision: Literal["auto", "float32", "bfloat16"] = "auto",
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        self.architecture = architecture
        self.dim = dim
        self.order = order
        self.attributes = attributes
        self.leaves = leaves
        self.descent = descent
        self.token_dim = token_dim
        self.latent_dim = latent_dim
        self.bundle = bundle
        self.encoder_hidden = encoder_hidden
        self.encoder_layers = encoder_layers
        self.encoder_heads = encoder_heads
        self.decoder_hidden = decoder_hidden
        self.decoder_layers = decoder_layers
        self.decoder_heads = decoder_heads
        self.passes = passes
        self.variational = variational
        self.kl_weight = kl_weight
        self.kl_epochs = kl_epochs
        self.rho = rho
        self.feature_weight = feature_weight
        self.lr = lr
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.epochs = epochs
        self.minutes = minutes
        self.core_minutes = core_minutes
        self.patience = patience
        self.validations = validations
        self.precision = precision
        self.device = device
        self.seed = seed

    # -- parameters ---------------------------------------------------------------------------------------------------

    @classmethod
    def from_preset(cls, name: str | os.PathLike[str], **changes: Any) -> Self:
        """A preset by name, or a TOML file, with changes: ``GeoGAE.from_preset("mutag", seed=1)``."""
        values = presets.read(name)
        values.pop("dataset", None)
        return cls().set_params(**{**values, **changes})

    @classmethod
    def parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.parameter_names()}

    def set_params(self, **values: Any) -> Self:
        """Change parameters by name; unknown names and values that cannot be are errors."""
        names = self.parameter_names()
        for name, value in values.items():
            if name not in names:
                raise GeoGAEError(f"{name!r} is no parameter of GeoGAE; valid are {', '.join(names)}")
            setattr(self, name, value)
        self.check_params()
        return self

    def check_params(self) -> None:
        """Every parameter within its limits, or one line that says which is not."""
        check_parameters(self.get_params())

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator: this one transforms, and its input is no table."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(None, TargetTags(required=False), TransformerTags(), input_tags=InputTags(two_d_array=False))

    def __repr__(self) -> str:
        defaults = {name: p.default for name, p in inspect.signature(type(self).__init__).parameters.items()}
        changed = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name])
        return f"GeoGAE({changed})"

    # -- fit ----------------------------------------------------------------------------------------------------------

    def fit(
        self,
        graphs: Any,
        y: Any = None,
        *,
        validation: Any = None,
        run: str | os.PathLike[str] | None = None,
        resume: bool = False,
        progress: bool = False,
        peers: Processes | None = None,
    ) -> Self:
        """Fit clouds, then train; the weights with the best F1 on ``validation`` are kept.

        Without ``validation`` a tenth of the graphs is held out for it. ``run`` is a folder for the model, its
        metrics and checkpoints; with ``resume`` training goes on from the last of these. ``y`` is not used.
        """
        self.check_params()
        graphs = as_graphs(graphs)
        if validation is None:
            graphs, held_out, _ = (
                split(graphs, self.seed, fractions=(0.9, 0.1, 0.0)) if len(graphs) > 9 else (graphs,) * 3
            )
        else:
            held_out = as_graphs(validation)
        if not graphs or not held_out:
            raise GeoGAEError(
                f"{len(graphs)} graphs to train on and {len(held_out)} to validate on; give at least one of each"
            )
        folder = Path(run) if run is not None else None
        self.schema_ = Schema.of([*graphs, *held_out]) if self.attributes != "ignored" else None
        self.folds_ = self._folds(graphs)
        self.payload_: Payload | Leaves | None = Leaves() if self.folds_ else None
        self.template_ = make_template(graphs, self.dim, progress=progress) if self.order == "template" else None
        clouds = self._fit_clouds(graphs, self.dim, progress)
        self.dim_ = clouds[0].dim
        held_out_clouds = self._fit_clouds(held_out, self.dim_, progress)
        largest = max(graph.n for graph in [*graphs, *held_out])
        self.max_nodes_ = HEADROOM * largest
        if self._has_slots:
            self.history_ = self._fit_slots(clouds, held_out_clouds)
        else:
            self.shares_, self.slots_ = False, largest
            self.model_ = self._build()
            self.history_ = self._train(clouds, held_out_clouds, folder, resume, progress, peers)
        self.model_.eval()
        if folder and (peers is None or peers.writes):
            self.save(folder)
        return self

    def _fit_slots(self, clouds: list[HyperballCloud], held_out: list[HyperballCloud]) -> list[dict[str, Any]]:
        """Fit the decoder's axes; where twins are many, with shared slots and without; the better one stays."""
        begin, best, history = time.monotonic(), -1.0, []
        if self.schema_ is not None:
            graphs = (ordered_graphs(clouds), ordered_graphs(held_out))
            self.payload_ = Payload.of(self.schema_, *graphs, self.latent_dim)
        alike = self.architecture == "parallel" and self.order != "template" and self.payload_ is None
        twins = alike and _twins_pay(clouds)  # with attributes, twins are not alike
        for shares in (True, False) if twins else (False,):
            self.shares_ = shares
            parts = [[cloud.grouped() for cloud in part] if shares else part for part in (clouds, held_out)]
            self.slots_ = max(self._slots_of(cloud) for part in parts for cloud in part)
            self.model_ = self._build_slots()
            fit_slots(self.model_, parts[0], self.payload_)
            measured = self._evaluate_clouds(parts[1])
            row = {f"validation_{name}": value for name, value in measured.items()}
            history.append({"seconds": round(time.monotonic() - begin, 2), "step": 0, "epoch": 0, **row})
            if measured["f1"] > best:
                best, kept = measured["f1"], (self.model_, self.slots_, self.shares_)
        self.model_, self.slots_, self.shares_ = kept
        self.max_nodes_ = self.max_nodes_ if self.shares_ or self.folds_ else self.slots_
        return history

    def _folds(self, graphs: list[Graph]) -> bool:
        """Whether leaves are counted where they hang, instead of having slots of their own."""
        if self.leaves != "auto":
            return self.leaves == "folded"
        plain = self.architecture == "parallel" and self.order != "template" and self.attributes == "ignored"
        return plain and sum(fold(graph).core.n for graph in graphs) < FOLDED * sum(graph.n for graph in graphs)

    def _train(
        self,
        clouds: list[HyperballCloud],
        held_out: list[HyperballCloud],
        folder: Path | None,
        resume: bool,
        progress: bool,
        peers: Processes | None,
    ) -> list[dict[str, Any]]:
        """Take the network to the end of its budget; the history of its validations."""
        sequences = Sequences(clouds, self.schema_)
        trainer = Trainer(
            self.model_,
            sequences,
            self._objective(),
            lambda: self._validated(held_out),
            lr=self.lr,
            batch_size=self.batch_size,
            epochs=self.epochs,
            minutes=self.minutes,
            core_minutes=self.core_minutes,
            validations=self.validations,
            patience=self.patience,
            weight_decay=self.weight_decay,
            autocast=self._autocast(self.batch_size * float(sequences.sizes.mean()) / self.bundle),
            seed=self.seed,
            run=folder,
            keep_best=(lambda: self.save(folder)) if folder else (lambda: None),
            peers=peers,
            progress=progress,
        )
        return trainer.run(resume).history

    def _objective(self) -> Loss:
        node, edge = (self.schema_.node, self.schema_.edge) if self.schema_ else (None, None)
        return partial(
            sequential_objective,
            kl_weight=self.kl_weight,
            kl_epochs=self.kl_epochs,
            rho=self.rho,
            feature_weight=self.feature_weight,
            node_categories=[len(known) for known in node.categories] if node else (),
            edge_categories=[len(known) for known in edge.categories] if edge else (),
        )

    def fit_transform(self, graphs: Any, y: Any = None) -> NDArray[np.float32]:
        graphs = as_graphs(graphs)  # once, should it be a generator
        return self.fit(graphs, y).transform(graphs)

    @property
    def _has_slots(self) -> bool:
        """Whether there is a place for each node, and so a largest graph that fits."""
        return self.architecture != "sequential"

    def _build(self) -> LinearAutoencoder | SequentialAutoencoder:
        return self._build_slots() if self._has_slots else self._build_sequential()

    def _build_slots(self) -> LinearAutoencoder:
        shape: dict[str, Any] = {
            "slots": self.slots_,
            "latent_dim": self.latent_dim,
            "variational": self.variational,
        }
        width = self.dim_
        if self.payload_ is not None:
            width += self.payload_.width
            shape |= {"riders": self.payload_.riders, "spare": self.payload_.spare}
        if self.architecture == "linear":
            return LinearAutoencoder(width, **shape).to(self._device())
        descent: dict[str, Any] = {"descent": self.descent, "shared": self.shares_, "kl_weight": self.kl_weight}
        return ParallelAutoencoder(width, **shape, **descent).to(self._device())

    def _build_sequential(self) -> SequentialAutoencoder:
        with deterministic(self.seed):
            model = SequentialAutoencoder(
                self.dim_,
                token_dim=self.token_dim,
                latent_tokens=self.latent_dim // self.token_dim,
                bundle=self.bundle,
                encoder_layers=self.encoder_layers,
                encoder_hidden=self.encoder_hidden,
                encoder_heads=self.encoder_heads,
                decoder_layers=self.decoder_layers,
                decoder_hidden=self.decoder_hidden,
                decoder_heads=self.decoder_heads,
                passes=self.passes,
                variational=self.variational,
                node_features=self.schema_.node.width if self.schema_ else 0,
                edge_features=self.schema_.edge.width if self.schema_ else 0,
                decodes_features=self.attributes == "decoded",
            )
        return model.to(self._device()).eval()

    def _device(self) -> torch.device:
        if self.device != "auto":
            return torch.device(self.device)
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def _autocast(self, tokens: float) -> bool:
        """Whether to train in bfloat16, by the tokens of a batch."""
        return self.precision == "bfloat16" or (self.precision == "auto" and bfloat16_pays(self._device(), tokens))

    # -- use ----------------------------------------------------------------------------------------------------------

    def encode(self, graphs: Any) -> NDArray[np.float32]:
        """Vectors z: (latent_dim,) for one graph, (count, latent_dim) for several; any supported kind of graph."""
        z = self._encode_clouds(self._clouds(graphs, whole=True))
        return z[0] if is_graph(graphs) else z

    def decode(self, z: ArrayLike, *, details: bool = False, molecules: bool = False) -> Any:
        """Graphs from vectors, nodes in the model's order; one graph for a 1-D z.

        With ``molecules`` they are RDKit molecules, None where one is not valid: for models of graphs that came from
        RDKit or SMILES, with ``attributes="decoded"``.
        With ``details`` each is a :class:`Decoding`: the graph, its cloud, the stop probabilities and whether it hit
        the limit of ``max_nodes_`` nodes.
        """
        self._check_fitted()
        try:
            given = np.asarray(z)
            if given.dtype.kind not in "biuf":
                raise TypeError
            with np.errstate(over="ignore"):  # what is too large is infinite then, and told
                vectors = given.astype(np.float32)
        except (TypeError, ValueError, RuntimeError):  # torch has the last for what needs a gradient
            raise GeoGAEError("z must be real numbers: one vector or a (count, latent_dim) array") from None
        single = vectors.ndim == 1
        decodings = self._decode(np.atleast_2d(vectors))
        if cut := sum(decoding.truncated for decoding in decodings):
            log.warning(
                "%d of %d graphs hit the limit of %d nodes and are cut there", cut, len(decodings), self.max_nodes_
            )
        result: list[Any] = decodings if details else [decoding.graph for decoding in decodings]
        if molecules:
            result = to_molecules([decoding.graph for decoding in decodings])
        return result[0] if single else result

    def evaluate(self, graphs: Any) -> dict[str, float]:
        """How well unseen graphs come back through z: see :func:`geogae.metrics.evaluate`."""
        clouds = self._clouds(graphs)
        inexact = sum(not cloud.exact for cloud in clouds)
        large = sum(not self._has_room(cloud) for cloud in clouds)
        counts = {"inexact_clouds": float(inexact), "too_large": float(large)}
        if self.schema_ is not None:
            counts["unknown_attributes"] = float(sum(self._problem(cloud) is not None for cloud in clouds))
        return {**self._evaluate_clouds(clouds), **counts}

    def transform(self, graphs: Any) -> NDArray[np.float32]:
        return np.atleast_2d(self.encode(graphs))

    def inverse_transform(self, z: ArrayLike) -> list[Graph]:
        return self.decode(np.atleast_2d(np.asarray(z)))

    def score(self, graphs: Any, y: Any = None) -> float:
        """The paper's F1."""
        return self.evaluate(graphs)["f1"]

    def reconstruct(self, graphs: Any) -> list[tuple[Graph, Graph | None]]:
        """Each graph in the model's node order beside what comes back from its z; None if it is too large for one."""
        clouds = self._clouds(graphs)
        return [
            (true, decoding and decoding.graph)
            for true, decoding in zip(ordered_graphs(clouds), self._through_z(clouds), strict=True)
        ]

    def ordered(self, graphs: Any) -> list[Graph]:
        """Each graph with its nodes in the order in which the model reads and writes them."""
        self._check_fitted()
        return ordered_graphs(self._own_clouds(as_graphs(graphs)))

    def _clouds(self, graphs: Any, whole: bool = False) -> list[HyperballCloud]:
        """The clouds of graphs; those that the model cannot carry ``whole`` are an error, or else told."""
        self._check_fitted()
        graphs = as_graphs(graphs)
        clouds = self._own_clouds(graphs)
        if problems := [problem for cloud in clouds if (problem := self._problem(cloud))]:
            if whole:
                raise problems[0]
            log.warning("%d of %d graphs are lost, the first: %s", len(problems), len(graphs), problems[0])
        large = [cloud for cloud in clouds if not self._has_room(cloud)]
        if not large:
            return clouds
        counted = " (adjacent twins count once)" if self.shares_ else " (leaves do not count)" if self.folds_ else ""
        limit, most = (self.slots_ if self._has_slots else self.max_nodes_), max(map(self._slots_of, large))
        if most <= limit:  # but with what shares their slots, they are too large
            limit, most, counted = self.max_nodes_, max(cloud.whole_size for cloud in large), ""
        if whole and self._has_slots:
            names = ", ".join((cloud.graph and cloud.graph.name) or "a graph without name" for cloud in large[:3])
            raise GeoGAEError(
                f"{len(large)} of {len(graphs)} graphs ({names}{', …' * (len(large) > 3)}; up to {most} nodes) have "
                f"more than the {limit} nodes that this model carries{counted}; leave them out, train with graphs as "
                f"large, or use architecture='sequential'"
            )
        lost = "are lost" if self._has_slots else "come back cut"
        log.warning("%d of %d graphs have more than the %d nodes that this model carries%s (up to %d): they %s",
                    len(large), len(graphs), limit, counted, most, lost)  # fmt: skip
        return clouds

    def _own_clouds(self, graphs: list[Graph]) -> list[HyperballCloud]:
        """Clouds as the fitted model reads them."""
        clouds = self._fit_clouds(graphs, self.dim_)
        return [cloud.grouped() for cloud in clouds] if self.shares_ else clouds

    def _fit_clouds(
        self, graphs: list[Graph], dim: int | Literal["auto"], progress: bool = False
    ) -> list[HyperballCloud]:
        if self.order == "template":
            assert self.template_ is not None
            return template_clouds(graphs, self.template_, progress=progress)
        fit: Callable[..., Sequence[HyperballCloud]] = folded_clouds if self.folds_ else fit_clouds
        return list(fit(graphs, dim, order=self.order, n_jobs=torch.get_num_threads(), progress=progress))

    @torch.inference_mode()
    def _encode_clouds(self, clouds: Sequence[HyperballCloud]) -> NDArray[np.float32]:
        self.model_.eval()
        if isinstance(self.model_, LinearAutoencoder):
            return encode_slots(self.model_, clouds, self.payload_, self._reads_payload, self._device())
        return encode_sequences(self.model_, clouds, self.schema_, self._device())

    @torch.inference_mode()
    def _decode(self, z: NDArray[np.float32]) -> list[Decoding]:
        self.model_.eval()
        device = self._device()
        if isinstance(self.model_, LinearAutoencoder):
            payload = self.payload_ if self._reads_payload else None
            return decode_slots(self.model_, z, self.max_nodes_, self.dim_, payload, device)
        schema = self.schema_ if self.attributes == "decoded" else None
        return decode_sequences(self.model_, z, self.max_nodes_, schema, device)

    @property
    def _reads_payload(self) -> bool:
        """Whether what slots carry beside the balls is to come back."""
        return self.folds_ or self.attributes == "decoded"

    def _evaluate_clouds(self, clouds: Sequence[HyperballCloud]) -> dict[str, float]:
        decodings = self._through_z(clouds)
        true, back = ordered_graphs(clouds), [decoding and decoding.graph for decoding in decodings]
        measured = metrics.evaluate(true, back)
        if self.attributes == "decoded":
            measured |= metrics.attributes(true, back)
        return {**measured, "truncated": float(np.mean([bool(d and d.truncated) for d in decodings]))}

    def _validated(self, clouds: Sequence[HyperballCloud]) -> dict[str, float]:
        """Scores, and the ``choice`` by which weights are kept if attributes are decoded, too: the mean of all F1, and
        of 1 - RMSE / deviation where there are numbers; else it is the F1 alone.
        """
        measured = self._evaluate_clouds(clouds)
        if self.schema_ is None or self.attributes != "decoded":
            return measured
        parts = [measured[name] for name in ("f1", "node_f1", "edge_f1") if name in measured]
        for block in (self.schema_.node, self.schema_.edge):
            if f"{block.kind}_rmse" in measured:
                deviation = float(np.sqrt(np.mean(np.square(block.scale))))
                parts.append(max(0.0, 1 - measured[f"{block.kind}_rmse"] / deviation))
        return {**measured, "choice": float(np.mean(parts))}

    def _through_z(self, clouds: Sequence[HyperballCloud]) -> list[Decoding | None]:
        """What comes back of each cloud from its z alone; None where the model has no room for it."""
        carried = [self._reads(cloud) for cloud in clouds]
        decodings = iter(
            self._decode(self._encode_clouds([c for c, fits in zip(clouds, carried, strict=True) if fits]))
        )
        return [next(decodings) if fits else None for fits in carried]

    def carries(self, graphs: Any) -> list[bool]:
        """Which graphs the model has room for; the others cannot be encoded, or come back cut if it is sequential."""
        self._check_fitted()
        return [self._carries(cloud) for cloud in self._own_clouds(as_graphs(graphs))]

    def reads(self, graphs: Any) -> list[bool]:
        """Which graphs can be encoded."""
        self._check_fitted()
        return [self._reads(cloud) for cloud in self._own_clouds(as_graphs(graphs))]

    def _carries(self, cloud: HyperballCloud) -> bool:
        return self._has_room(cloud) and self._problem(cloud) is None

    def _reads(self, cloud: HyperballCloud) -> bool:
        return self._problem(cloud) is None and (not self._has_slots or self._has_room(cloud))

    def _has_room(self, cloud: HyperballCloud) -> bool:
        return cloud.whole_size <= self.max_nodes_ and (not self._has_slots or self._slots_of(cloud) <= self.slots_)

    def _problem(self, cloud: HyperballCloud) -> GeoGAEError | None:
        """Why the attributes of a cloud's graph cannot be encoded, if they cannot."""
        reader = self.payload_ or self.schema_
        if reader is None or cloud.graph is None:
            return None
        try:
            reader.check(cloud.graph.relabel(cloud.order))
        except GeoGAEError as error:
            return error
        return None

    def _slots_of(self, cloud: HyperballCloud) -> int:
        return cloud.different_balls if self.shares_ else cloud.n

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise GeoGAEError("this GeoGAE is not fitted yet; call fit, or GeoGAE.load a saved model")

    # -- files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """A folder with config.json and model.safetensors; each is replaced as a whole."""
        self._check_fitted()
        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, device: str = "auto") -> Self:
        """A model that :meth:`save` or a training run left in a folder."""
        return load_model(cls, path, device)


def _twins_pay(clouds: Sequence[HyperballCloud]) -> bool:
    """Whether so many nodes share a ball that a slot for each ball, with a number beside it, carries less."""
    return sum(cloud.different_balls for cloud in clouds) < SHARED * sum(cloud.n for cloud in clouds)
