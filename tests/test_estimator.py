"""GeoGAE as its users meet it: scikit-learn's conventions, encode and decode, what is flagged, what cannot be."""

from __future__ import annotations

import logging
import pickle
import time
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks as checks

from geogae import GeoGAE, GeoGAEError, Graph, autoencoders, datasets, formats, metrics
from geogae.autoencoders import Decoding, clouds
from geogae.autoencoders.linear import ROOM
from geogae.plots import plot_reconstructions

SCORES = {"f1", "f1_pooled", "f1_unweighted", "exact", "size_error", "size_error_relative", "truncated"}
KEYS = SCORES | {"not_encoded", "lossy", "inexact_clouds"}
SMALL: dict[str, Any] = {"dim": 3, "order": "axis", "latent_dim": 48, "steps": 200}


@pytest.fixture(scope="module")
def graphs() -> list[Graph]:
    return datasets.load("MUTAG")[:24]


@pytest.fixture(scope="module")
def model(graphs: list[Graph]) -> GeoGAE:
    return GeoGAE(**SMALL).fit(graphs[:16], validation=graphs[16:])


# -- parameters ---


def test_the_default_is_refined() -> None:
    assert GeoGAE().architecture == GeoGAE.from_preset("mutag").architecture == "refined"


@pytest.mark.parametrize("architecture", autoencoders.AUTOENCODERS)
def test_parameters_are_those_of_the_architecture(architecture: str) -> None:
    model = GeoGAE(architecture)
    params = model.get_params()
    assert params == GeoGAE.defaults(architecture)
    assert params == {"architecture": architecture, **autoencoders.defaults(architecture)}
    assert GeoGAE(**params).get_params() == clone(model).get_params() == params
    assert model.set_params(latent_dim=64, seed=3) is model and (model.latent_dim, model.seed) == (64, 3)
    said = f"'depth' is no parameter of {architecture}; valid are "
    with pytest.raises(GeoGAEError, match=said):
        model.set_params(latent_dim=5, depth=3)
    with pytest.raises(GeoGAEError, match=said):
        GeoGAE(architecture, depth=3)
    assert model.latent_dim == 64  # as it was


def test_another_architecture_keeps_what_all_have() -> None:
    model = GeoGAE(latent_dim=128, seed=7, steps=5)
    model.set_params(architecture="sequential", lr=0.5)
    assert (model.latent_dim, model.seed, model.lr) == (128, 7, 0.5) and "steps" not in model.get_params()
    for wrong in ({"architecture": "flow"}, {"architecture": "linear", "lr": 1}):
        before = model.get_params()
        with pytest.raises(GeoGAEError):
            model.set_params(**wrong)
        assert model.get_params() == before


def test_repr_names_what_differs_from_the_defaults() -> None:
    assert repr(GeoGAE()) == "GeoGAE()"
    assert set(repr(GeoGAE(dim=4, seed=3))[7:-1].split(", ")) == {"dim=4", "seed=3"}
    assert repr(GeoGAE("linear", attributes="encoded")) == "GeoGAE(architecture='linear', attributes='encoded')"


# -- scikit-learn's own checks ---

APPLICABLE = [
    checks.check_estimator_cloneable,
    checks.check_estimator_repr,
    checks.check_estimator_tags_renamed,
    checks.check_estimators_unfitted,
    checks.check_get_params_invariance,
    checks.check_mixin_order,
    checks.check_parameters_default_constructible,
    checks.check_set_params,
    checks.check_valid_tag_types,
]
"""The others do not apply. Nearly all call fit with a random table of numbers, which is no collection of graphs.
``check_no_attributes_set_in_init`` and ``check_do_not_raise_errors_in_init_or_set_params`` want every parameter in the
signature and any value accepted; here the architecture decides which parameters there are, so it must be a known one.
"""


@pytest.mark.filterwarnings("ignore:.*occurred during set_params.*")
@pytest.mark.parametrize("check", APPLICABLE, ids=lambda check: check.__name__)
@pytest.mark.parametrize("architecture", autoencoders.AUTOENCODERS)
def test_checks_of_scikit_learn(check: Any, architecture: str) -> None:
    check("GeoGAE", GeoGAE(architecture))


USES = ["encode", "decode", "evaluate", "transform", "inverse_transform", "score", "reconstruct", "save", "why_not"]


@pytest.mark.parametrize("use", USES)
def test_unfitted(use: str, tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match=r"this GeoGAE is not fitted yet; call fit, or GeoGAE\.load a saved model"):
        getattr(GeoGAE(), use)(tmp_path / "x" if use == "save" else [])
    assert not list(tmp_path.iterdir())


def test_a_clone_is_not_fitted(model: GeoGAE) -> None:
    copy = clone(model)
    assert copy is not model and copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copy.encode(Graph(1))


def test_transform(model: GeoGAE, graphs: list[Graph]) -> None:
    assert np.array_equal(model.transform(graphs[0]), model.encode(graphs[:1]))
    z = model.encode(graphs[:3])
    assert model.inverse_transform(z) == model.decode(z)
    assert model.inverse_transform(z[0]) == [model.decode(z[0])]
    assert model.score(graphs[:5]) == model.evaluate(graphs[:5])["f1"]
    assert np.array_equal(GeoGAE(**SMALL).fit_transform(iter(graphs)), GeoGAE(**SMALL).fit(graphs).encode(graphs))


def test_columns_have_names(graphs: list[Graph]) -> None:
    model = GeoGAE(**SMALL).set_output(transform="pandas")
    table = model.fit_transform(graphs[:5])
    assert list(table.columns) == list(model.get_feature_names_out()) == [f"geogae{i}" for i in range(48)]
    assert np.array_equal(table.to_numpy(), model.encode(graphs[:5]))
    with pytest.raises(NotFittedError):
        GeoGAE().get_feature_names_out()


def test_a_fitted_model_can_be_pickled(model: GeoGAE, graphs: list[Graph]) -> None:
    """As joblib's processes do with the models of a search; files have :meth:`GeoGAE.save`."""
    again = pickle.loads(pickle.dumps(model))
    assert again.get_params() == model.get_params() and np.array_equal(again.encode(graphs), model.encode(graphs))


def test_before_a_classifier(graphs: list[Graph]) -> None:
    labels = [graph.label for graph in graphs]
    pipeline = make_pipeline(GeoGAE(**SMALL), StandardScaler(), LogisticRegression())
    assert pipeline.fit(graphs, labels).score(graphs, labels) > 0.8
    assert np.array_equal(pipeline[:1].transform(graphs), pipeline[0].encode(graphs))
    pipeline.set_params(geogae__latent_dim=20)
    assert pipeline.fit(graphs, labels)[0].encode(graphs[0]).shape == (20,)


# -- cross-validation on real collections ---


def by_size(graphs: list[Graph]) -> list[Graph]:
    return sorted(graphs, key=lambda graph: graph.n)


def test_cross_validation_with_larger_graphs_in_a_fold(caplog: pytest.LogCaptureFixture) -> None:
    """Sorted by size, the last fold has graphs larger than all others: they are encoded, flagged and scored."""
    graphs = by_size(datasets.load("MUTAG")[:60])
    model = GeoGAE(**{**SMALL, "latent_dim": 32, "steps": 50})
    scores = cross_val_score(model, graphs, cv=KFold(4), error_score="raise")
    assert len(scores) == 4 and scores.min() > 0.5 and scores.max() <= 1
    last = model.fit(graphs[:45]).evaluate(graphs[45:])
    larger = sum(graph.n > graphs[44].n for graph in graphs[45:])
    assert last["lossy"] == larger > 5 and last["not_encoded"] == 0 and last["f1"] == pytest.approx(scores[3])


def test_grid_search_with_categories_that_a_fold_never_saw() -> None:
    """The rarest atoms come last, in one fold."""
    graphs = datasets.load("MUTAG")[:150]
    kinds = np.concatenate([graph.node_categorical for graph in graphs if graph.node_categorical is not None])
    counts = np.bincount(kinds.ravel())
    rarest = sorted(graphs, key=lambda graph: -counts[graph.node_categorical].min())[-40:]  # type: ignore[arg-type]
    model = GeoGAE(**{**SMALL, "steps": 20}, attributes="decoded")
    search = GridSearchCV(model, {"latent_dim": [16, 32]}, cv=KFold(4), error_score="raise").fit(rarest)
    assert search.best_params_["latent_dim"] == 32 and 0.5 < search.best_score_ < 1
    assert search.best_estimator_.evaluate(rarest)["lossy"] == 0
    folds = [model.fit([rarest[i] for i in train]).evaluate([rarest[i] for i in test])
             for train, test in KFold(4).split(rarest)]  # fmt: skip
    assert any(fold["lossy"] for fold in folds) and not any(fold["not_encoded"] for fold in folds)


# -- fit ---


def test_nothing_to_train_on(graphs: list[Graph]) -> None:
    with pytest.raises(GeoGAEError, match="0 graphs to train on; give at least one"):
        GeoGAE(**SMALL).fit([])
    with pytest.raises(GeoGAEError, match="2 graphs to train on and 0 to validate on; give at least one"):
        GeoGAE(**SMALL).fit(graphs[:2], validation=[])


def test_a_value_that_cannot_be_is_said_before_any_work(graphs: list[Graph], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clouds, "fit_clouds", lambda *given, **how: pytest.fail("fitted in vain"))
    for wrong in ({"latent_dim": 1}, {"steps": -1}, {"order": "random"}):
        with pytest.raises(GeoGAEError, match=next(iter(wrong))):
            GeoGAE(**{**SMALL, **wrong}).fit(graphs)


def test_fitting_again_forgets(graphs: list[Graph]) -> None:
    model = GeoGAE(**SMALL).fit(graphs[:5])
    again = model.fit(graphs[5:9])
    assert again is model and np.array_equal(model.encode(graphs), GeoGAE(**SMALL).fit(graphs[5:9]).encode(graphs))


# -- encode ---


def test_one_vector_or_many(model: GeoGAE, graphs: list[Graph]) -> None:
    one, many = model.encode(graphs[0]), model.encode(graphs)
    assert one.shape == (48,) and many.shape == (24, 48) and one.dtype == many.dtype == np.float32
    assert model.encode(graphs[:1]).shape == (1, 48) and model.encode([]).shape == (0, 48)
    assert np.array_equal(model.encode(graph for graph in graphs), many)
    assert np.array_equal(model.encode(tuple(graphs)), many)


def test_progress_batches_and_workers_change_no_bit(
    model: GeoGAE, graphs: list[Graph], capsys: pytest.CaptureFixture[str]
) -> None:
    z = model.encode(graphs)
    assert np.array_equal(model.encode(graphs, show_progress=True), z)
    assert not capsys.readouterr().out
    for how in ({"batch_size": 1}, {"batch_size": 5}, {"n_jobs": 2}, {"n_jobs": 2, "batch_size": 3}):
        assert np.array_equal(model.encode(graphs, **how), z)  # type: ignore[arg-type]


@pytest.mark.parametrize("how", [{"batch_size": 0}, {"batch_size": 2.5}, {"n_jobs": 0}, {"n_jobs": "all"}])
def test_batches_and_workers_that_cannot_be(model: GeoGAE, graphs: list[Graph], how: dict[str, Any]) -> None:
    [name] = how
    with pytest.raises(GeoGAEError, match=f"^{name}={how[name]!r} must be a whole number, at least 1"):
        model.encode(graphs, **how)
    if name == "n_jobs":
        with pytest.raises(GeoGAEError, match="n_jobs"):
            model.evaluate(graphs, **how)
    assert np.array_equal(model.encode(graphs, n_jobs=-1), model.encode(graphs))


def test_one_node_or_none(model: GeoGAE) -> None:
    assert model.decode(model.encode(nx.empty_graph(1))) == Graph(1)
    with pytest.raises(GeoGAEError, match="a graph needs a whole number of nodes, at least 1, not n=0"):
        model.encode(nx.Graph())
    alone = GeoGAE(latent_dim=8).fit([nx.empty_graph(1)])
    assert alone.evaluate(nx.empty_graph(1))["exact"] == 1


def test_other_kinds_of_graphs(model: GeoGAE, graphs: list[Graph]) -> None:
    plain = [graph.topology() for graph in graphs[:4]]
    z = model.encode(plain)
    assert np.array_equal(model.encode([formats.to_networkx(graph) for graph in plain]), z)
    assert np.array_equal(model.encode(formats.to_networkx(plain[0])), z[0])
    assert np.array_equal(model.encode(plain[0].adjacency()), z[0])
    assert model.why_not(nx.cycle_graph(5)) is None and model.evaluate([nx.cycle_graph(5)])["size_error"] == 0
    [(true, back)] = model.reconstruct(nx.cycle_graph(5))
    assert back is not None and metrics.same_topology(true, Graph(5, list(nx.cycle_graph(5).edges)))


@pytest.mark.parametrize("what", [3.5, [None], [Graph(1), "no molecule ("]])
def test_what_is_no_graph(model: GeoGAE, what: Any) -> None:
    with pytest.raises(GeoGAEError):
        model.encode(what)


# -- what is flagged, and what cannot be encoded ---


def path(n: int, name: str | None = None) -> Graph:
    return Graph(n, [(i, i + 1) for i in range(n - 1)], name=name)


def test_a_larger_graph_is_flagged(model: GeoGAE, graphs: list[Graph], caplog: pytest.LogCaptureFixture) -> None:
    largest = max(graph.n for graph in graphs)
    z = model.encode([*graphs, path(largest)])
    assert not caplog.records
    both = model.encode([*graphs, path(largest), path(largest + 2, "long"), path(largest + 1)])
    assert np.array_equal(both[:-2], z)
    why = f"it has {largest + 2} nodes; the largest graph of the fit has {largest}"
    assert caplog.messages == [f"2 of 27 graphs may not come back whole; graph 'long': {why}"]
    caplog.clear()
    scores = model.evaluate([*graphs, path(largest + 1)])
    assert (scores["lossy"], scores["not_encoded"], scores["size_error"]) == (1, 0, 0)


def test_what_cannot_be_encoded_is_said_before_anything_is_fitted(
    model: GeoGAE, graphs: list[Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tree of 2,000 nodes against a model of 28; the limit of a tenth of a second is for machines with other work."""
    tree = formats.as_graph(nx.random_labeled_tree(2000, seed=1))
    monkeypatch.setattr(clouds, "fit_clouds", lambda *given, **how: pytest.fail("fitted in vain"))
    begin = time.process_time()
    reason = model.why_not(tree)
    assert time.process_time() - begin < 0.1
    assert reason is not None and f"2000 nodes; the model encodes up to {ROOM}" in reason
    begin = time.process_time()
    with pytest.raises(GeoGAEError) as error:
        model.encode([path(3), tree])
    assert time.process_time() - begin < 0.5
    assert str(error.value) == f"graph 1 of 2000 nodes cannot be encoded: {reason}"
    with pytest.raises(GeoGAEError, match=r"^graph 'oak' cannot be encoded: it has 2000 nodes"):
        model.transform(Graph(2000, tree.edges, name="oak"))


@pytest.mark.parametrize("architecture", ["refined", "sequential"])
def test_inexact_clouds_are_counted(architecture: str) -> None:
    """A ring of six is no graph of intervals, so its cloud at d = 2 is wrong somewhere; paths are intervals."""
    own: dict[str, Any] = {"steps": 20} if architecture == "refined" else {"epochs": 1, "token_dim": 16}
    ring = Graph(6, [(i, (i + 1) % 6) for i in range(6)])
    paths = [path(n) for n in range(2, 12)]
    model = GeoGAE(architecture, dim=2, latent_dim=32, **own).fit(paths)
    assert model.evaluate(paths[:3])["inexact_clouds"] == 0
    assert model.evaluate([ring, paths[0], ring])["inexact_clouds"] == 2


def test_graphs_that_cannot_be_encoded_score_as_lost(
    model: GeoGAE, graphs: list[Graph], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    large = path(ROOM + 1)
    alone, scores = model.evaluate(graphs[:2]), model.evaluate([graphs[0], large, graphs[1]])
    nodes = graphs[0].n + graphs[1].n
    assert scores.keys() == KEYS and scores["not_encoded"] == 1
    assert scores["f1"] == pytest.approx(alone["f1"] * nodes / (nodes + large.n))
    assert caplog.messages == [f"1 of 3 graphs cannot be encoded; the first: {model.why_not(large)}"]
    nothing = model.evaluate(large)
    assert (nothing["f1"], nothing["exact"], nothing["not_encoded"]) == (0, 0, 1)
    pairs = model.reconstruct([graphs[0], large])
    assert pairs[1] == (large, None)
    figure = plot_reconstructions(pairs, tmp_path / "back.png")
    assert "from z" in figure.axes[3].get_title() and (tmp_path / "back.png").stat().st_size > 1000


# -- decode ---


def test_decode(model: GeoGAE, graphs: list[Graph]) -> None:
    z = model.encode(graphs)
    back = model.decode(z)
    assert len(back) == 24 and all(isinstance(graph, Graph) for graph in back)
    assert model.decode(z[3]) == back[3] and model.decode(z.tolist()) == back and model.decode(z[:0]) == []
    details = model.decode(z, details=True)
    assert all(isinstance(decoding, Decoding) for decoding in details)
    assert [decoding.graph for decoding in details] == back and isinstance(model.decode(z[0], details=True), Decoding)


def test_details_and_molecules_exclude_each_other(model: GeoGAE) -> None:
    with pytest.raises(GeoGAEError, match="details=True and molecules=True exclude each other; a Decoding's graph has"):
        model.decode(np.zeros(48), details=True, molecules=True)  # type: ignore[call-overload]


def test_molecules() -> None:
    chem = pytest.importorskip("rdkit.Chem", reason="rdkit is not installed")
    smiles = ["CCO", "CC(=O)O", "c1ccccc1", "CCN", "CC#N", "OCCO"]
    model = GeoGAE(dim=3, latent_dim=64, attributes="decoded").fit(smiles)
    back = model.decode(model.encode(smiles), molecules=True)
    assert [chem.MolToSmiles(one) for one in back] == [chem.CanonSmiles(one) for one in smiles]
    assert chem.MolToSmiles(model.decode(model.encode("CCO"), molecules=True)) == "CCO"


def test_graphs_that_are_cut_are_flagged(model: GeoGAE, graphs: list[Graph], caplog: pytest.LogCaptureFixture) -> None:
    z = np.zeros((2, 48))
    z[:, 0] = 5, 1e9
    whole, cut = model.decode(z, details=True)
    limit = ROOM
    assert (whole.graph.n, whole.truncated, cut.graph.n, cut.truncated) == (5, False, limit, True)
    assert caplog.messages == ["1 of 2 graphs are cut at the model's limit of nodes"]


WRONG = {
    "width": (np.zeros((2, 47)), r"z has shape \(2, 47\); this model decodes rows of 48 numbers"),
    "one vector's width": (np.zeros(5), r"z has shape \(1, 5\); this model decodes rows of 48 numbers"),
    "depth": (np.zeros((1, 2, 48)), r"z has shape \(1, 2, 48\); this model decodes rows of 48"),
    "number": (1.0, r"z has shape \(1, 1\)"),
    "nan": (np.full((2, 48), np.nan), "z has 96 values that are not finite; encode the graphs again"),
    "infinity": (np.array([np.inf] + [0] * 47), "z has 1 values that are not finite"),
    "beyond float32": (np.full(48, 1e300), "z has 48 values that are not finite"),
    "text": ("z", "z must be real numbers: one vector or a"),
    "texts": ([["a"] * 48], "z must be real numbers"),
    "ragged": ([[1.0], [1.0, 2.0]], "z must be real numbers"),
    "complex": (np.zeros((2, 48), complex), "z must be real numbers"),
    "nothing": (None, "z "),
}


@pytest.mark.parametrize(("z", "said"), WRONG.values(), ids=WRONG)
def test_what_is_no_vector(model: GeoGAE, z: Any, said: str) -> None:
    with pytest.raises(GeoGAEError, match=said):
        model.decode(z)


def test_none_or_several_where_one_is_asked_for(model: GeoGAE, graphs: list[Graph]) -> None:
    with pytest.raises(GeoGAEError, match="no graphs to evaluate"):
        model.evaluate([])
    for several in ([], graphs[:2]):
        with pytest.raises(GeoGAEError, match=f"why_not takes one graph; {len(several)} were given"):
            model.why_not(several)
    with pytest.raises(GeoGAEError, match="names no folder"):
        model.save("")


def test_evaluate(model: GeoGAE, graphs: list[Graph]) -> None:
    scores = model.evaluate(graphs[16:])
    assert scores.keys() == KEYS and all(isinstance(value, float) for value in scores.values())
    assert scores["lossy"] == scores["not_encoded"] == 0 < scores["f1"] <= 1
    assert model.evaluate(iter(graphs[16:])) == scores == model.evaluate(graphs[16:], n_jobs=2)
    assert {f"validation_{key}" for key in SCORES} < model.history_[-1].keys()
    pairs = model.reconstruct(graphs[16:])
    assert [truth.n for truth, _ in pairs] == [graph.n for graph in graphs[16:]]
    assert metrics.evaluate(*zip(*pairs, strict=True))["f1"] == scores["f1"]
    with pytest.raises(GeoGAEError, match="at least one"):
        model.evaluate([])


# -- real data ---


@pytest.mark.slow
def test_aids_within_seconds(caplog: pytest.LogCaptureFixture) -> None:
    try:
        molecules = datasets.load("AIDS")
    except GeoGAEError as error:
        pytest.skip(str(error))
    caplog.set_level(logging.WARNING)
    train, validation, _ = datasets.split(molecules, seed=0)
    begin = time.process_time()
    [row] = GeoGAE.from_preset("aids").fit(train, validation=validation).history_
    assert row["validation_f1"] >= 0.99 and row["validation_exact"] >= 0.98 and row["validation_size_error"] == 0
    assert time.process_time() - begin < 120
