"""GeoGAE: fit / encode / decode / evaluate / save / load, with scikit-learn's conventions.

It picks an autoencoder by name and knows none from inside; graphs of any supported kind come in here.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from torch.linalg import LinAlgError  # type: ignore[attr-defined]  # torch's manual has it here

from geogae import autoencoders
from geogae.autoencoders import Autoencoder, Decoding, Session, State
from geogae.autoencoders.base import as_vectors, named
from geogae.checks import check_jobs, check_number
from geogae.errors import GeoGAEError
from geogae.formats import as_graphs, is_graph, to_molecules
from geogae.graph import Graph
from geogae.latent.space import LatentSpace
from geogae.model_folder import CONFIG, load_folder, save_folder
from geogae.parameters import ArchitectureParameters
from geogae.sharing import SharedModels
from geogae.training.distributed import Processes

if TYPE_CHECKING:
    from rdkit.Chem import Mol

    Vector = np.ndarray[tuple[int], np.dtype[np.float32]]
    Vectors = np.ndarray[tuple[int, int], np.dtype[np.float32]]

log = logging.getLogger("geogae")


class GeoGAE(
    LatentSpace,
    SharedModels,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]  # scikit-learn has no types
    TransformerMixin,  # type: ignore[misc]
    ArchitectureParameters,
):
    """A graph autoencoder: whole graphs to vectors of ``latent_dim`` numbers and back.

    Parameters:
        architecture: ``"refined"`` (ours), ``"sequential"`` (the paper's), ``"linear"`` (PCA), or a registered one.
        latent_dim: size m of z.
        attributes: of nodes and edges: ``"ignored"``, ``"encoded"`` into z, or ``"decoded"`` from it as well.
        device: ``"auto"``, ``"cpu"``, ``"cuda"``, …
        seed: of everything that is drawn.
        parameters: those of the architecture; ``GeoGAE.defaults("refined")`` lists them, docs/parameters.md explains.
    """

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
        for the model, its metrics and checkpoints; with ``resume`` training continues from the last. ``y`` is not used.
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

    @property
    def _n_features_out(self) -> int:  # for get_feature_names_out and set_output
        return self._fitted().latent_dim

    def _fitted(self) -> Autoencoder[Any]:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this GeoGAE is not fitted yet; call fit, or GeoGAE.load a saved model")
        return self.autoencoder_

    # -- use ----------------------------------------------------------------------------------------------------------

    @overload
    def encode(
        self, graphs: Graph | str, *, show_progress: bool = ..., batch_size: int | None = ..., n_jobs: int = ...
    ) -> Vector: ...
    @overload
    def encode(
        self, graphs: list[Any], *, show_progress: bool = ..., batch_size: int | None = ..., n_jobs: int = ...
    ) -> Vectors: ...
    @overload
    def encode(
        self, graphs: Any, *, show_progress: bool = ..., batch_size: int | None = ..., n_jobs: int = ...
    ) -> Any: ...  # one vector or several
    def encode(
        self, graphs: Any, *, show_progress: bool = False, batch_size: int | None = None, n_jobs: int = 1
    ) -> NDArray[np.float32]:
        """Vectors z: (latent_dim,) for one graph, (count, latent_dim) for several; any supported kind of graph."""
        check_number("batch_size", batch_size, int, 1, optional=True)
        check_jobs(n_jobs)
        autoencoder, given = self._fitted(), self._own(graphs)
        for index, graph in enumerate(given):  # before anything is fitted
            if reason := autoencoder.why_not(graph):
                raise GeoGAEError(f"{named(graph, index)} cannot be encoded: {reason}")
        how: dict[str, Any] = {"batch_size": batch_size, "n_jobs": n_jobs, "progress": show_progress}
        try:
            z, lossy = autoencoders.encode(autoencoder, given, **how)
        except LinAlgError as error:
            raise GeoGAEError(f"these weights give no z ({str(error).splitlines()[0]}); train again") from None
        if lossy:
            index, reason = lossy[0]
            log.warning("%d of %d graphs may not come back whole; %s: %s",
                        len(lossy), len(given), named(given[index], index), reason)  # fmt: skip
        if len(lost := np.flatnonzero(~np.isfinite(z).all(1))):
            index = int(lost[0])
            raise GeoGAEError(
                f"these weights give {len(lost)} of {len(z)} graphs a z that is not finite, the first being "
                f"{named(given[index], index)}; train again"
            )
        return z[0] if is_graph(graphs) else z

    @overload
    def decode(self, z: Vectors) -> list[Graph]: ...
    @overload
    def decode(self, z: Vectors, *, details: Literal[True]) -> list[Decoding]: ...
    @overload
    def decode(self, z: Vectors, *, molecules: Literal[True]) -> list[Mol | None]: ...
    @overload
    def decode(self, z: Vector) -> Graph: ...
    @overload
    def decode(self, z: Vector, *, details: Literal[True]) -> Decoding: ...
    @overload
    def decode(self, z: Vector, *, molecules: Literal[True]) -> Mol | None: ...
    @overload
    def decode(self, z: ArrayLike, *, details: bool = ..., molecules: bool = ...) -> Any: ...
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
        graphs = [decoding.graph for decoding in decodings]
        result: Sequence[Any] = decodings if details else to_molecules(graphs) if molecules else graphs
        return result[0] if vectors.ndim == 1 else result

    def transform(self, graphs: Any) -> Vectors:
        return np.atleast_2d(self.encode(graphs))

    def fit_transform(self, graphs: Any, y: Any = None, **how: Any) -> Vectors:
        """:meth:`fit` and :meth:`transform`; the graphs may come from a generator, which is read once."""
        given = as_graphs(graphs)
        return self.fit(given, y, **how).transform(given)

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

        ``not_encoded`` counts graphs that cannot be encoded, which score as lost, ``lossy`` those that the model says
        may not come back whole, and ``inexact_clouds`` those whose cloud has wrong edges before it is encoded.
        """
        check_jobs(n_jobs)
        if not (given := self._own(graphs)):
            raise GeoGAEError("there are no graphs to evaluate; give at least one")
        return autoencoders.evaluate(self._fitted(), given, n_jobs=n_jobs)

    def reconstruct(self, graphs: Any) -> list[tuple[Graph, Graph | None]]:
        """Pairs: each graph in the model's node order, and what its z decodes to; None if it cannot be encoded."""
        pairs = autoencoders.reconstruct(self._fitted(), self._own(graphs))
        return [(true, decoding and decoding.graph) for true, decoding in pairs]

    def why_not(self, graph: Any) -> str | None:
        """Why a graph cannot be encoded, or None if it can."""
        given = self._own(graph)
        if len(given) != 1:
            raise GeoGAEError(f"why_not takes one graph; {len(given)} were given")
        return self._fitted().why_not(given[0])

    # -- files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """A folder with config.json and safetensors; an older model in it is replaced as a whole."""
        self._save(self._fitted(), path)

    def _save(self, autoencoder: Autoencoder[Any], path: str | os.PathLike[str]) -> None:
        state, prior = autoencoder.state(), self._prior_state()
        config = {"params": self.get_params(), "facts": dict(state.facts), **prior.facts}
        save_folder(path, config, {**state.tensors, **prior.tensors})

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
