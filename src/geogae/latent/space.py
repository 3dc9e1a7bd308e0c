"""What people do with z, as methods of the estimator: describe, sample, interpolate, neighbours, optimise."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geogae.autoencoders.base import Autoencoder, State
from geogae.checks import check_number
from geogae.errors import GeoGAEError
from geogae.formats import as_graphs, is_graph
from geogae.graph import Graph
from geogae.latent import prior as priors
from geogae.latent import scores
from geogae.latent.interpolation import paths
from geogae.latent.neighbours import Neighbour, nearest
from geogae.latent.optimisation import Search, optimise
from geogae.latent.prior import Given, Prior, check_rows
from geogae.latent.rules import REFUSED, Rules, is_connected
from geogae.latent.sampling import Draws, draw
from geogae.training.checkpoint import parts_of, prefixed

log = logging.getLogger("geogae")

STARTS = 100  # draws that a search starts from, without graphs to start from


class LatentSpace:
    """A mixin: ``encode``, ``decode`` and ``_fitted`` are the estimator's."""

    encode: Callable[..., NDArray[np.float32]]
    decode: Callable[..., Any]
    _fitted: Callable[[], Autoencoder[Any]]
    prior_: Prior | None = None
    rules_: Rules | None = None

    # -- the descriptor -----------------------------------------------------------------------------------------------

    def describe(self, graphs: Any) -> NDArray[np.float32]:
        """The descriptor part of z: (k,) for one graph, (count, k) for several; no cloud is fitted for it."""
        descriptor = self._fitted().descriptor
        if descriptor is None:
            raise GeoGAEError("this model has no descriptor; fit one with descriptor=16, say: 16 numbers of z")
        schema, given = self._fitted().schema, self._own(graphs)
        for index, graph in enumerate(given):
            if schema is not None and (reason := schema.why_not(graph)):
                raise GeoGAEError(f"graph {index} cannot be described: {reason}")
        described = descriptor.describe([self._read(graph) for graph in given])
        return described[0] if is_graph(graphs) else described

    def neighbours(self, graphs: Any, among: Any, k: int = 5) -> Any:
        """The k graphs of ``among`` nearest by descriptor: ``[(index, distance), …]``, for several graphs a list each.

        ``among`` are graphs, or their descriptors as :meth:`describe` gives them.
        """
        check_number("k", k, int, 1)
        queries = np.atleast_2d(self.describe(graphs))
        searched = among if isinstance(among, np.ndarray) else np.atleast_2d(self.describe(among))
        if searched.ndim != 2 or searched.shape[1] != queries.shape[1]:
            raise GeoGAEError(f"among has shape {searched.shape}; descriptors are (count, {queries.shape[1]})")
        found: list[list[Neighbour]] = nearest(queries, searched, k)
        return found[0] if is_graph(graphs) else found

    # -- the prior ----------------------------------------------------------------------------------------------------

    def fit_prior(
        self,
        graphs: Any,
        properties: Mapping[str, ArrayLike] | None = None,
        *,
        prior: str = "flow",
        core_minutes: float = 10.0,
        seed: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        progress: bool = False,
        n_jobs: int = 1,
    ) -> Self:
        """Fit an invertible map between z and N(0, I); the model is saved with it.

        ``graphs`` are training graphs, or their z. ``properties`` are numbers of each graph that draws may be
        conditioned on. What all of these graphs obey (connectedness, the largest total of a node's edges) is learned,
        too, and says which draws are valid. A fit that was interrupted goes on from its ``checkpoint`` if ``resume``.
        """
        autoencoder, kind = self._fitted(), priors.find(prior)
        if isinstance(graphs, np.ndarray):
            z = check_rows(graphs, autoencoder.latent_dim)
            known = [decoding.graph for decoding in autoencoder.decode(z.astype(np.float32))]
        else:
            known = self._own(graphs)
            z = np.atleast_2d(self.encode(known, n_jobs=n_jobs)).astype(np.float64)
            known = [self._read(graph) for graph in known]
        how = {"core_minutes": core_minutes, "basis": autoencoder.basis(), "seed": seed, "progress": progress}
        if len(z) < 2:
            raise GeoGAEError(f"a prior is fitted to at least 2 graphs, not {len(z)}")
        fitted = kind().fit(z, properties, checkpoint=checkpoint, resume=resume, **how)
        self.prior_, self.rules_ = fitted, Rules.of(known)
        return self

    def sample(
        self,
        n: int,
        *,
        seed: int = 0,
        given: Given | None = None,
        guidance: float = 1.0,
        temperature: float = 1.0,
        only_valid: bool = False,
        keep_rules: bool = False,
        molecules: bool = False,
        details: bool = False,
    ) -> Any:
        """n new graphs drawn from the prior, conditioned on ``given`` properties; ``guidance`` above 1 stresses them.

        ``temperature`` is the deviation of the normal vectors that are drawn: with less than 1 draws are likelier and
        more alike, with more than 1 they are more diverse and more often not valid.

        With ``only_valid`` graphs are drawn until n obey what all training graphs obey and, if they are molecules, are
        valid ones. Nothing is repaired, unless ``keep_rules``: then the decoder keeps to what all training graphs obey
        (:class:`geogae.latent.rules.Rules`). With ``molecules`` they are RDKit molecules, None where one is not valid;
        with ``details`` :class:`Draws`, which counts what was drawn and what was broken.
        """
        check_number("n", n, int, 1)
        check_number("seed", seed, int, 0)
        if details and molecules:
            raise GeoGAEError("details=True gives graphs and their z; take molecules=False, or details=False")
        how: dict[str, Any] = {"seed": seed, "given": given, "guidance": guidance, "only_valid": only_valid}
        how["temperature"] = temperature
        for warning in self._prior().far(given):
            log.warning("%s", warning)
        draws: Draws = draw(self._prior(), self._decoder(keep_rules), n, self._broken, **how)
        if details:
            return draws
        return _molecules(draws.graphs) if molecules else draws.graphs

    def log_prob(self, graphs: Any, given: Given | None = None) -> NDArray[np.float64]:
        """Logarithm of the prior's density at the z of each graph; ``graphs`` may be z."""
        prior = self._prior()
        z = graphs if isinstance(graphs, np.ndarray) else self.encode(self._own(graphs))
        return prior.log_prob(np.atleast_2d(z), given)

    def interpolate(
        self, one: Any, other: Any, steps: int = 9, *, keep_rules: bool = False, molecules: bool = False
    ) -> list[Any]:
        """Graphs on the way from one graph to another, the ends among them; see :mod:`geogae.latent.interpolation`.

        ``keep_rules`` and ``molecules`` are those of :meth:`sample`.
        """
        check_number("steps", steps, int, 2, 100_000)
        prior = self._prior()
        ends = self.encode([*self._own(one), *self._own(other)])
        if len(ends) != 2:
            raise GeoGAEError(f"a path goes from one graph to one other; {len(ends)} were given")
        graphs = self._decoder(keep_rules)(paths(prior, ends[:1], ends[1:], steps)[0])
        return _molecules(graphs) if molecules else list(graphs)

    def optimise(
        self,
        score: str | Callable[[Any], float],
        budget: int = 1000,
        start: Any = None,
        *,
        keep_rules: bool = False,
        molecules: bool = False,
        seed: int = 0,
        file: str | os.PathLike[str] | None = None,
        resume: bool = False,
        progress: bool = False,
        changes: bool = True,
        surrogate: bool = True,
    ) -> Search:
        """Better graphs by ``score``, higher is better, within ``budget`` calls of it; see :class:`Search`.

        ``score`` is a name (``"qed"``, ``"logp"``, ``"plogp"``, …), ``"module:function"`` or a function of a graph, or
        of an RDKit molecule with ``molecules``. ``start`` are graphs to start from, draws of the prior if not given.
        ``file`` keeps the scores, so that a search that was interrupted goes on with ``resume``. ``keep_rules`` is that
        of :meth:`sample`: fewer candidates are lost for breaking a rule. ``changes`` and ``surrogate`` are parts of the
        search that can be left out, see :func:`geogae.latent.optimisation.optimise`.
        """
        check_number("budget", budget, int, 1)
        check_number("seed", seed, int, 0)
        prior, function, name = self._prior(), score, score if isinstance(score, str) else _name(score)
        if isinstance(function, str):
            function, molecules = scores.find(function)
        if not callable(function):
            raise GeoGAEError(f"score={score!r} is no function; give a name, module:function, or a function")
        if file is not None and "<lambda>" in name:
            raise GeoGAEError("a lambda has no name by which its file of scores is known again; define a function")
        if start is None:
            starts = prior.sample(min(STARTS, budget), seed)
        else:
            if not (graphs := self._own(start)):
                raise GeoGAEError("start has no graphs; give at least one, or None to start from draws")
            starts = np.atleast_2d(self.encode(graphs))

        graphs_of = self._decoder(keep_rules)

        def decode(z: NDArray[np.float32]) -> list[tuple[Graph, str, Any] | None]:
            return [self._candidate(graph, molecules) for graph in graphs_of(z)]

        how: dict[str, Any] = {"name": name, "file": file, "resume": resume, "progress": progress}
        how |= {"changes": changes, "surrogate": surrogate}
        return optimise(function, decode, prior, starts, budget=budget, seed=seed, **how)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _prior(self) -> Prior:
        self._fitted()
        if self.prior_ is None:
            raise GeoGAEError(
                "this model has no prior yet; call fit_prior with training graphs (geogae prior RUN DATA)"
            )
        return self.prior_

    def _graphs(self, z: NDArray[np.float32]) -> list[Graph]:
        return [decoding.graph for decoding in self._fitted().decode(z)]

    def _decoder(self, keep_rules: bool) -> Callable[[NDArray[np.float32]], list[Graph]]:
        rules = self.rules_
        if not keep_rules or rules is None:
            return self._graphs
        return lambda z: [decoding.graph for decoding in self._fitted().decode_by_rules(z, rules)]

    def _own(self, graphs: Any) -> list[Graph]:
        """Graphs as the model was fitted on them: molecules with implied hydrogens where it reads such."""
        from geogae.formats.chem import IMPLIED, with_implied_hydrogens

        given = as_graphs(graphs)
        if not _reads_molecules(self._fitted()):
            return given
        return [
            with_implied_hydrogens(graph)
            if graph.node_categorical is not None and (graph.node_categorical[:, 2:] != IMPLIED).any()
            else graph
            for graph in given
        ]

    def _read(self, graph: Graph) -> Graph:
        """A graph with no more than the model reads of it."""
        return graph.topology() if self._fitted().attributes == "ignored" else graph

    def _broken(self, graph: Graph) -> str | None:
        """Why a draw is not valid, or None."""
        assert self.rules_ is not None
        if reason := self.rules_.broken(graph):
            return reason
        return REFUSED if _reads_molecules(self._fitted()) and _molecules([graph])[0] is None else None

    def _candidate(self, graph: Graph, molecules: bool) -> tuple[Graph, str, Any] | None:
        """A valid graph, a key that equal graphs share, and what a score sees of it."""
        assert self.rules_ is not None
        if molecules:
            [molecule] = _molecules([graph])
            if molecule is None or (self.rules_.connected and not is_connected(graph)):
                return None
            from rdkit import Chem

            return graph, Chem.MolToSmiles(molecule), molecule
        if self._broken(graph):
            return None
        from geogae.labelling.labelling import canonical_labelling

        same = graph.relabel(canonical_labelling(graph).order)
        return graph, repr(same._value()), graph

    # -- files --------------------------------------------------------------------------------------------------------

    def _prior_state(self) -> State:
        """What a saved model holds of the prior; nothing if there is none."""
        if self.prior_ is None or self.rules_ is None:
            return State()
        state = self.prior_.state()
        facts = {"name": self.prior_.name, "facts": dict(state.facts), "rules": self.rules_.to_json()}
        return State(prefixed("prior", state.tensors, "."), {"prior": facts})

    def _restore_prior(self, state: State) -> None:
        if (facts := state.facts.get("prior")) is None:
            return
        kind = priors.find(facts["name"])
        self.prior_ = kind.from_state(State(parts_of(state.tensors, "prior."), facts["facts"]))
        self.rules_ = Rules.from_json(facts["rules"])


def _reads_molecules(autoencoder: Autoencoder[Any]) -> bool:
    """Whether what is decoded has the columns of atoms and bonds with hydrogens implied."""
    from geogae.formats.chem import IMPLIED

    schema = autoencoder.schema
    return schema is not None and len(schema.node.categories) == 3 and schema.node.categories[2] == (IMPLIED,)


def _name(score: Callable[[Any], float]) -> str:
    """A function's own name; of another callable, that of its class."""
    return str(getattr(score, "__qualname__", type(score).__qualname__))


def _molecules(graphs: Sequence[Graph]) -> list[Any]:
    from geogae.formats import to_molecules

    return to_molecules(graphs)
