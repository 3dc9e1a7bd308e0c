"""GeoGAE: fit / encode / decode / evaluate / save / load, with scikit-learn's conventions.

It picks an autoencoder by name and knows none from inside; graphs of any supported kind come in here.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from geogae import autoencoders, presets, pretrained
from geogae.autoencoders import Autoencoder, Decoding, Session, State
from geogae.autoencoders.base import as_vectors
from geogae.errors import GeoGAEError
from geogae.formats import as_graphs, is_graph, to_molecules
from geogae.graph import Graph
from geogae.latent.space import LatentSpace
from geogae.model_folder import CONFIG, load_folder, save_folder
from geogae.training.distributed import Processes

if TYPE_CHECKING:
    from rdkit.Chem import Mol

log = logging.getLogger("geogae")

SHARED = ("latent_dim", "attributes", "device", "seed")  # parameters of every autoencoder


class GeoGAE(LatentSpace, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A graph autoencoder: whole graphs to vectors of ``latent_dim`` numbers and back.

    Parameters:
        architecture: ``"refined"`` (ours), ``"sequential"`` (the paper's), ``"linear"`` (PCA), or a registered one.
        latent_dim: size m of z.
        attributes: of nodes and edges: ``"ignored"``, ``"encoded"`` into z, or ``"decoded"`` from it as well.
        device: ``"auto"``, ``"cpu"``, ``"cuda"``, …
        seed: of everything that is drawn.
        parameters: those of the architecture; ``GeoGAE.defaults("refined")`` lists them, docs/parameters.md explains.
    """

    def __init__(
        self,
        architecture: str = "refined",
        *,
        latent_dim: int = 192,
        attributes: Literal["ignored", "encoded", "decoded"] = "ignored",
        device: str = "auto",
        seed: int = 0,
        **parameters: Any,
    ) -> None:
        defaults = autoencoders.defaults(architecture)
        _check_names(parameters, architecture, defaults)
        self.architecture = architecture
        self.latent_dim, self.attributes, self.device, self.seed = latent_dim, attributes, device, seed
        for name, default in defaults.items():
            if name not in SHARED:
                setattr(self, name, parameters.get(name, default))

    # -- parameters ---------------------------------------------------------------------------------------------------

    @classmethod
    def from_preset(cls, name: str | os.PathLike[str], **changes: Any) -> Self:
        """A preset by name, or a TOML file, with changes: ``GeoGAE.from_preset("mutag", seed=1)``."""
        values = {**presets.read(name), **changes}
        values.pop("dataset", None)
        model = cls(**values)
        model.check_params()
        return model

    @classmethod
    def defaults(cls, architecture: str = "refined") -> dict[str, Any]:
        """Every parameter of an architecture and its default."""
        return {"architecture": architecture, **autoencoders.defaults(architecture)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Every parameter of the architecture and its value."""
        return {name: getattr(self, name) for name in self.defaults(self.architecture)}

    def set_params(self, **values: Any) -> Self:
        """Change parameters by name; with another architecture, its other parameters are set to their defaults."""
        if (architecture := values.get("architecture", self.architecture)) != self.architecture:
            kept = {name: value for name, value in self.get_params().items() if name in SHARED}
            self.__init__(**{**kept, **values, "architecture": architecture})  # type: ignore[misc]
            return self
        _check_names(values, architecture, self.defaults(architecture))
        for name, value in values.items():
            setattr(self, name, value)
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """With the parameters that are not at their defaults; scikit-learn's own lists all of an architecture's."""
        defaults = {**self.defaults(self.architecture), "architecture": "refined"}
        changed = (f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name])
        return f"GeoGAE({', '.join(changed)})"

    def check_params(self) -> None:
        """Every parameter within its limits, or one line that says which is not."""
        self._built()

    def _built(self) -> Autoencoder[Any]:
        parameters = self.get_params()
        return autoencoders.find(parameters.pop("architecture"))(**parameters)

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
        """Learn from graphs; what there is to choose is chosen on ``validation``.

        Without ``validation`` a tenth of the graphs is held out where there is a choice to make. ``run`` is a folder
        for the model, its metrics and checkpoints; with ``resume`` training goes on from the last. ``y`` is not used.
        """
        autoencoder = self._built()
        graphs = as_graphs(graphs)
        held_out = None if validation is None else as_graphs(validation)
        if not graphs or (held_out is not None and not held_out):
            given = "" if held_out is None else f" and {len(held_out)} to validate on"
            raise GeoGAEError(f"{len(graphs)} graphs to train on{given}; give at least one")
        folder = Path(run) if run is not None else None

        def keep() -> None:
            if folder is not None:
                self._save(autoencoder, folder)

        session = Session(folder, resume, progress, peers or Processes(), keep)
        self.prior_ = self.rules_ = None  # of an earlier fit
        self.history_ = autoencoder.fit(graphs, held_out, session)
        self.autoencoder_ = autoencoder
        if session.peers.writes:
            keep()
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "autoencoder_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # graphs are no table
        tags.target_tags.required = False
        return tags

    def _fitted(self) -> Autoencoder[Any]:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this GeoGAE is not fitted yet; call fit, or GeoGAE.load a saved model")
        return self.autoencoder_

    # -- use ----------------------------------------------------------------------------------------------------------

    def encode(
        self, graphs: Any, *, show_progress: bool = False, batch_size: int | None = None, n_jobs: int = 1
    ) -> NDArray[np.float32]:
        """Vectors z: (latent_dim,) for one graph, (count, latent_dim) for several; any supported kind of graph."""
        autoencoder, given = self._fitted(), as_graphs(graphs)
        for index, graph in enumerate(given):  # before anything is fitted
            if reason := autoencoder.why_not(graph):
                raise GeoGAEError(f"{_name(graph, index)} cannot be encoded: {reason}")
        readings = autoencoder.read(given, n_jobs=n_jobs, progress=show_progress)
        if lossy := [(i, reason) for i, reading in enumerate(readings) if (reason := autoencoder.lossy(reading))]:
            index, reason = lossy[0]
            log.warning("%d of %d graphs may not come back whole; %s: %s",
                        len(lossy), len(given), _name(given[index], index), reason)  # fmt: skip
        z = autoencoder.encode(readings, batch_size=batch_size, n_jobs=n_jobs)
        return z[0] if is_graph(graphs) else z

    @overload
    def decode(self, z: ArrayLike) -> list[Graph] | Graph: ...
    @overload
    def decode(self, z: ArrayLike, *, details: Literal[True]) -> list[Decoding] | Decoding: ...
    @overload
    def decode(self, z: ArrayLike, *, molecules: Literal[True]) -> list[Mol | None] | Mol | None: ...
    def decode(self, z: ArrayLike, *, details: bool = False, molecules: bool = False) -> Any:
        """Graphs from vectors, nodes in the model's order; one graph for a 1-D z.

        With ``molecules`` they are RDKit molecules, None where one is not valid: for models of graphs that came from
        RDKit or SMILES, with ``attributes="decoded"``. With ``details`` each is a :class:`Decoding`: the graph, its
        cloud, the stop probabilities and whether it was cut at the limit of nodes.
        """
        if details and molecules:
            raise GeoGAEError("details=True and molecules=True exclude each other; a Decoding's graph has to_rdkit()")
        vectors = as_vectors(z)
        decodings = self._decode(np.atleast_2d(vectors))
        result: Sequence[Any] = decodings
        if not details:
            graphs = [decoding.graph for decoding in decodings]
            result = to_molecules(graphs) if molecules else graphs
        return result[0] if vectors.ndim == 1 else result

    def transform(self, graphs: Any) -> NDArray[np.float32]:
        return np.atleast_2d(self.encode(graphs))

    def inverse_transform(self, z: ArrayLike) -> list[Graph]:
        return [decoding.graph for decoding in self._decode(np.atleast_2d(as_vectors(z)))]

    def _decode(self, z: NDArray[np.float32]) -> list[Decoding]:
        decodings = self._fitted().decode(z)
        if cut := sum(decoding.truncated for decoding in decodings):
            log.warning("%d of %d graphs are cut at the model's limit of nodes", cut, len(decodings))
        return decodings

    def score(self, graphs: Any, y: Any = None) -> float:
        """The paper's F1."""
        return self.evaluate(graphs)["f1"]

    def evaluate(self, graphs: Any, *, n_jobs: int = 1) -> dict[str, float]:
        """How well graphs come back through z: see :func:`geogae.metrics.evaluate`.

        ``not_encoded`` counts graphs that cannot be encoded, which score as lost, and ``lossy`` those that the model
        says may not come back whole.
        """
        autoencoder, given = self._fitted(), as_graphs(graphs)
        return autoencoders.evaluate(autoencoder, given, n_jobs=n_jobs)

    def reconstruct(self, graphs: Any) -> list[tuple[Graph, Graph | None]]:
        """Each graph in the model's node order beside what comes back from its z; None if it cannot be encoded."""
        pairs = autoencoders.reconstruct(self._fitted(), as_graphs(graphs))
        return [(true, decoding and decoding.graph) for true, decoding in pairs]

    def why_not(self, graph: Any) -> str | None:
        """Why a graph cannot be encoded, or None if it can."""
        autoencoder, [given] = self._fitted(), as_graphs(graph)
        return autoencoder.why_not(given)

    # -- files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """A folder with config.json and safetensors; an older model in it is replaced as a whole."""
        self._save(self._fitted(), path)

    def _save(self, autoencoder: Autoencoder[Any], path: str | os.PathLike[str]) -> None:
        state, prior = autoencoder.state(), self._prior_state()
        config = {"params": self.get_params(), "facts": dict(state.facts), **prior.facts}
        save_folder(path, config, {**state.tensors, **prior.tensors})

    @classmethod
    def pretrained(cls, name: str | None = None, *, device: str = "auto") -> Any:
        """A model that comes with the package, or ``hf:user/name`` from the hub; without a name, what there is."""
        return pretrained.summaries() if name is None else cls.load(pretrained.path(name), device=device)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, device: str = "auto") -> Self:
        """A model that :meth:`save` or a training run left in a folder."""
        config, tensors = load_folder(path)
        try:
            model = cls(**{**config["params"], "device": device})
            parameters = model.get_params()
            architecture = autoencoders.find(parameters.pop("architecture"))
            own = {name: tensor for name, tensor in tensors.items() if not name.startswith("prior.")}
            model.autoencoder_ = architecture.from_state(State(own, config["facts"]), **parameters)
            model._restore_prior(State(tensors, config))
        except (RuntimeError, KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise GeoGAEError(f"{Path(path) / CONFIG} does not fit its weights ({reason}); train again") from None
        return model


def _check_names(given: Iterable[str], architecture: str, valid: Collection[str]) -> None:
    if unknown := [name for name in given if name not in valid]:
        raise GeoGAEError(f"{unknown[0]!r} is no parameter of {architecture}; valid are {', '.join(valid)}")


def _name(graph: Graph, index: int) -> str:
    return f"graph {graph.name!r}" if graph.name else f"graph {index} of {graph.n} nodes"
