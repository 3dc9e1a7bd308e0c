"""The latent space of fitted models, on real graphs: methods do what they say, and say what they cannot do."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.base import clone

from geogae import GeoGAE, datasets
from geogae.errors import GeoGAEError
from geogae.graph import Graph
from geogae.latent.rules import Rules, is_connected

SMILES = ["CCO", "CCN", "CCC", "CC(C)O", "c1ccccc1", "CC=O", "C1CCCC1", "C#CC", "CCOC", "NCC=O", "C1CC1O",
          "CC(=O)N", "CCCO", "CCCN", "FC(F)C", "N#CC", "c1ccoc1", "c1cc[nH]c1", "CC(C)C", "OCCO", "COC"]  # fmt: skip


@pytest.fixture(scope="module")
def model() -> GeoGAE:
    torch.set_num_threads(1)
    graphs = datasets.load("MUTAG")
    return GeoGAE(latent_dim=128, dim=3, order="axis", descriptor=16).fit(graphs[:120], validation=graphs[120:140])


@pytest.fixture(scope="module")
def molecules() -> GeoGAE:
    pytest.importorskip("rdkit")
    from geogae.formats.chem import from_smiles

    graphs = [from_smiles(s, hydrogens="implied") for s in SMILES]
    made = GeoGAE(latent_dim=48, dim=4, attributes="decoded", contexts=False, descriptor=8, leaves="kept", twins="kept")
    made.fit(graphs)
    return made.fit_prior(graphs, {"atoms": [float(g.n) for g in graphs]}, core_minutes=0.15)


@pytest.fixture(scope="module")
def gaussian(molecules: GeoGAE) -> GeoGAE:
    """The same molecules with the prior that is fastest, and the same on every machine: no clock ends its fit."""
    from geogae.formats.chem import from_smiles

    graphs = [from_smiles(smiles, hydrogens="implied") for smiles in SMILES]
    return clone(molecules).fit(graphs).fit_prior(graphs, prior="gaussian")


def test_the_descriptor_is_the_first_part_of_z(model: GeoGAE) -> None:
    graphs = datasets.load("MUTAG")[140:160]
    z = model.encode(graphs)
    np.testing.assert_array_equal(z[:, :16], model.describe(graphs))
    np.testing.assert_array_equal(model.describe(graphs[0]), z[0, :16])
    relabelled = graphs[0].relabel(np.random.default_rng(0).permutation(graphs[0].n))
    np.testing.assert_array_equal(model.encode(relabelled), z[0])


def test_reconstruction_keeps_up_with_a_descriptor(model: GeoGAE) -> None:
    assert model.evaluate(datasets.load("MUTAG")[140:])["exact"] > 0.95


def test_the_descriptor_decides_distances(model: GeoGAE) -> None:
    z = model.encode(datasets.load("MUTAG")[:60])
    variance = z.var(0)
    assert variance[16:].sum() < 0.1 * variance[:16].sum()


def test_nearest_graphs_are_found(model: GeoGAE) -> None:
    graphs = datasets.load("MUTAG")[:50]
    found = model.neighbours(graphs[7], among=graphs, k=3)
    assert found[0].distance == 0.0 and 7 in [index for index, d in found if d == 0.0]
    distances = np.linalg.norm(model.describe(graphs) - model.describe(graphs[7]), axis=1)
    assert found[2].distance == pytest.approx(np.sort(distances)[2], rel=1e-5)
    assert len(model.neighbours(graphs[:4], among=model.describe(graphs), k=2)) == 4


def test_drawn_molecules(molecules: GeoGAE) -> None:
    draws = molecules.sample(40, seed=1, details=True)
    assert draws.drawn == 40 and len(draws.graphs) == 40
    again = molecules.sample(40, seed=1, details=True)
    np.testing.assert_array_equal(draws.z, again.z)
    valid = molecules.sample(10, seed=1, only_valid=True, details=True)
    assert len(valid.graphs) == 10 and all(molecules._broken(graph) is None for graph in valid.graphs)
    assert valid.drawn >= 10 and sum(valid.broken.values()) <= valid.drawn
    assert all(m is not None for m in molecules.sample(5, only_valid=True, molecules=True))
    assert (molecules.log_prob(draws.z) > molecules.log_prob(draws.z + 5)).mean() > 0.9


def test_given_properties_shift_draws(molecules: GeoGAE) -> None:
    small, large = (np.mean([g.n for g in molecules.sample(60, given={"atoms": n}, guidance=2.0)]) for n in (3.0, 5.0))
    assert small < large


def test_paths_have_their_ends(molecules: GeoGAE) -> None:
    from geogae.formats.chem import to_smiles

    way = molecules.interpolate("CCO", "c1ccccc1", steps=5)
    assert len(way) == 5
    assert (to_smiles(way[0]), to_smiles(way[-1])) == ("CCO", "c1ccccc1")


def test_optimising_finds_better_and_resumes(gaussian: GeoGAE, tmp_path) -> None:
    asked: list[str] = []

    def score(graph: Graph) -> float:
        asked.append(repr(graph))
        return float(graph.n)

    whole = gaussian.optimise(score, budget=60, start=["CC=O", "CCO"], seed=3, file=tmp_path / "whole.jsonl")
    assert whole.calls <= 60 and len(asked) == whole.calls
    assert whole.best[0].score > 3
    assert [row["best"] for row in whole.history] == sorted(row["best"] for row in whole.history)
    lines = (tmp_path / "whole.jsonl").read_text().splitlines()
    (tmp_path / "part.jsonl").write_text("\n".join(lines[: len(lines) // 2]) + "\n" + '{"key": "cut')
    asked.clear()
    resumed = gaussian.optimise(score, 60, ["CC=O", "CCO"], seed=3, file=tmp_path / "part.jsonl", resume=True)
    assert len(asked) == whole.calls - (len(lines) // 2 - 1)  # the first line names the score
    assert [f.score for f in resumed.best] == [f.score for f in whole.best]
    asked.clear()
    again = gaussian.optimise(score, 60, ["CC=O", "CCO"], seed=3, file=tmp_path / "part.jsonl", resume=True)
    assert not asked and again.history == whole.history  # the line that was cut does no harm
    with pytest.raises(GeoGAEError, match="holds a search already"):
        gaussian.optimise(score, 60, file=tmp_path / "part.jsonl")
    with pytest.raises(GeoGAEError, match=r"holds scores of .*score, not of nodes"):
        gaussian.optimise("nodes", 60, file=tmp_path / "part.jsonl", resume=True)
    (tmp_path / "text.jsonl").write_text("no scores\n")
    with pytest.raises(GeoGAEError, match=r"text.jsonl is no file of scores"):
        gaussian.optimise(score, 60, file=tmp_path / "text.jsonl", resume=True)
    with pytest.raises(GeoGAEError, match=r"cannot write .*no-folder"):
        (tmp_path / "no-folder").write_text("")
        gaussian.optimise(score, 60, ["CCO"], file=tmp_path / "no-folder" / "scores.jsonl")


def test_what_failed_is_asked_again_after_a_resume(gaussian: GeoGAE, tmp_path) -> None:
    asked: list[int] = []

    def even(graph: Graph) -> float:
        asked.append(graph.n)
        return graph.n if graph.n % 2 == 0 else float("nan")

    whole = gaussian.optimise(even, 40, ["CC=O", "CC"], seed=1, file=tmp_path / "scores.jsonl")
    asked.clear()
    resumed = gaussian.optimise(even, 40, ["CC=O", "CC"], seed=1, file=tmp_path / "scores.jsonl", resume=True)
    assert 0 < whole.failed == resumed.failed == len(asked)
    assert resumed.history == whole.history


def test_scores_that_fail_are_reported(gaussian: GeoGAE, caplog) -> None:
    def sometimes(graph: Graph) -> float:
        if graph.n % 2:
            raise ZeroDivisionError("odd")
        return float("nan") if graph.n == 4 else graph.n

    found = gaussian.optimise(sometimes, budget=30, start=SMILES[:12])
    assert found.failed > 0 and ("odd" in found.reason or "nan" in found.reason)
    assert all(np.isfinite(one.score) for one in found.best)
    with pytest.raises(GeoGAEError, match="no number for any"):
        gaussian.optimise(lambda graph: float("nan"), budget=10)

    def leaves_the_program(graph: Graph) -> float:
        raise SystemExit(3)

    with pytest.raises(GeoGAEError, match=r"no number for any .* SystemExit: 3"):
        gaussian.optimise(leaves_the_program, budget=10)


def test_a_model_comes_back_with_its_prior(molecules: GeoGAE, tmp_path) -> None:
    molecules.save(tmp_path / "m")
    again = GeoGAE.load(tmp_path / "m")
    np.testing.assert_array_equal(again.sample(5, details=True).z, molecules.sample(5, details=True).z)
    np.testing.assert_array_equal(again.describe("CCO"), molecules.describe("CCO"))
    assert again.rules_.to_json() == molecules.rules_.to_json()


def test_what_a_model_cannot_do_is_said(model: GeoGAE) -> None:
    with pytest.raises(GeoGAEError, match="no prior yet; call fit_prior"):
        model.sample(3)
    with pytest.raises(GeoGAEError, match="no prior yet"):
        model.interpolate(Graph(2, [[0, 1]]), Graph(2, [[0, 1]]))
    with pytest.raises(GeoGAEError, match="n=0 must be"):
        model.sample(0)
    plain = GeoGAE(latent_dim=32, dim=3).fit(datasets.load("MUTAG")[:20])
    with pytest.raises(GeoGAEError, match="descriptor=16"):
        plain.describe(datasets.load("MUTAG")[0])


def test_unknown_conditions_and_scores(molecules: GeoGAE) -> None:
    with pytest.raises(GeoGAEError, match="fitted with atoms"):
        molecules.sample(3, given={"logP": 1.0})
    with pytest.raises(GeoGAEError, match="valid are qed"):
        molecules.optimise("beauty")
    with pytest.raises(GeoGAEError, match="cannot be imported"):
        molecules.optimise("nowhere:nothing")
    with pytest.raises(GeoGAEError, match="score=5 is no function"):
        molecules.optimise(5)  # type: ignore[arg-type]
    with pytest.raises(GeoGAEError, match="start has no graphs"):
        molecules.optimise("qed", start=[])
    with pytest.raises(GeoGAEError, match="a lambda has no name"):
        molecules.optimise(lambda graph: graph.n, file="scores.jsonl")
    for given in ("atoms=3", 3):
        with pytest.raises(GeoGAEError, match=r"given=.* must be numbers by name, as in \{'logP': 2.5\}"):
            molecules.sample(3, given=given)  # type: ignore[arg-type]
    with pytest.raises(GeoGAEError, match="must be one finite number"):
        molecules.sample(3, given={"atoms": "many"})


def test_conditions_far_from_the_fit_are_said(molecules: GeoGAE, caplog) -> None:
    molecules.sample(2, given={"atoms": 4.0})
    assert "outside" not in caplog.text
    molecules.sample(2, given={"atoms": 1e4})
    assert "given['atoms']=10000 is outside of the fitted range" in caplog.text


@pytest.mark.parametrize("prior", ["flow", "gaussian", "mixture"])
def test_a_prior_that_cannot_be_fitted_leaves_the_old_one(gaussian: GeoGAE, prior: str) -> None:
    before = gaussian.prior_
    for graphs in ([], ["CCO"]):
        with pytest.raises(GeoGAEError, match=f"at least 2 graphs, not {len(graphs)}"):
            gaussian.fit_prior(graphs, prior=prior)
    if prior != "mixture":
        with pytest.raises(GeoGAEError, match=r"properties\['a'\] must be 2 finite numbers"):
            gaussian.fit_prior(["CCO", "CC"], {"a": ["x", "y"]}, prior=prior)
    assert gaussian.prior_ is before


def test_a_model_of_molecules_describes_no_other_graphs(molecules: GeoGAE) -> None:
    with pytest.raises(GeoGAEError, match="graph 0 cannot be described: it has 0 node_categorical columns"):
        molecules.describe(Graph(2, [[0, 1]]))
    with pytest.raises(GeoGAEError, match="cannot be described"):
        molecules.neighbours("CCO", among=[Graph(2, [[0, 1]])])


def test_smiles_are_read_as_the_model_was_fitted(molecules: GeoGAE) -> None:
    from geogae.formats.chem import from_smiles

    np.testing.assert_array_equal(molecules.encode("CCO"), molecules.encode(from_smiles("CCO", hydrogens="implied")))
    assert molecules.evaluate(["CCO"])["lossy"] == 0 and molecules.why_not("CCO") is None


def test_rules_are_learned() -> None:
    path = Graph(3, [[0, 1], [1, 2]], node_categorical=[[6], [8], [6]], edge_categorical=[[2], [1]])
    rules = Rules.of([path])
    assert rules.connected and rules.largest == {(6,): 2, (8,): 3}
    assert rules.broken(path) is None
    assert rules.broken(Graph(2, [], node_categorical=[[6], [6]])) == "disconnected"
    assert rules.broken(Graph(1, [], node_categorical=[[7]])) == "unknown node"
    triple = Graph(2, [[0, 1]], node_categorical=[[6], [8]], edge_categorical=[[3]])
    assert rules.broken(triple) == "too many or too strong edges"
    assert Rules.from_json(rules.to_json()).largest == rules.largest
    assert not Rules.of([path, Graph(2, [])]).connected
    assert is_connected(Graph(1, [])) and not is_connected(Graph(4, [[0, 1], [1, 2], [0, 2]]))


def test_a_decoder_keeps_rules(gaussian: GeoGAE) -> None:
    plain = gaussian.sample(200, seed=2, details=True)
    kept = gaussian.sample(200, seed=2, keep_rules=True, details=True)
    np.testing.assert_array_equal(kept.z, plain.z)
    assert gaussian.rules_ is not None and plain.broken and not kept.broken
    for one, other in zip(plain.graphs, kept.graphs, strict=True):
        if gaussian.rules_.broken(one) is None:  # a draw that obeys them already is left alone
            assert one == other
    way = gaussian.interpolate("CCO", "c1ccccc1", steps=5, keep_rules=True)
    assert all(gaussian.rules_.broken(graph) is None for graph in way)


def test_rules_choose_the_best_supported_graph() -> None:
    star = Graph(4, [[0, 1], [0, 2], [0, 3]], node_categorical=[[6], [1], [1], [1]], edge_categorical=[[1], [1], [1]])
    double = Graph(2, [[0, 1]], node_categorical=[[6], [6]], edge_categorical=[[2]])
    rules = Rules.of([star, double])
    support = np.full((5, 5), -1.0)
    for i, j, value in ((0, 1, 0.9), (0, 2, 0.8), (0, 3, 0.7), (0, 4, 0.1), (3, 4, -0.2)):
        support[i, j] = support[j, i] = value
    assert rules.edges(support).tolist() == [[0, 1], [0, 2], [0, 3], [3, 4]]  # three edges at most, and connected
    crowded = Graph(3, [[0, 1], [0, 2]], node_categorical=[[6], [6], [1]], edge_categorical=[[2], [2]])
    mended = rules.attributes(crowded)
    assert rules.broken(mended) is None
    assert mended.edge_categorical is not None and mended.edge_categorical[:, 0].tolist() == [1, 1]
    assert rules.attributes(star) is star


def test_some_decoders_keep_no_rules() -> None:
    graphs = datasets.load("MUTAG")[:12]
    model = GeoGAE(architecture="sequential", latent_dim=64, dim=3, epochs=1).fit(graphs)
    model.fit_prior(graphs, prior="gaussian")
    with pytest.raises(GeoGAEError, match="keeps no rules"):
        model.sample(3, keep_rules=True)
