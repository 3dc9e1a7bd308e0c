"""Molecules with hydrogens as nodes: leaves folded and attributes decoded in one model, through z and back."""

from __future__ import annotations

import numpy as np
import pytest

from geogae import GeoGAE, Graph, isomorphic

pytest.importorskip("rdkit.Chem", reason="rdkit is not installed")

TAILS = ("O", "N", "F", "C#N", "C(=O)O", "C=C", "S", "C(C)C", "c1ccccc1", "Cl")
SMILES = [f"{'C' * n}{tail}" for n in range(1, 6) for tail in TAILS]


@pytest.fixture(scope="module")
def molecules() -> list[Graph]:
    return [Graph.from_smiles(smiles, hydrogens=True) for smiles in SMILES]


@pytest.fixture(scope="module")
def model(molecules: list[Graph]) -> GeoGAE:
    parts = molecules[::2], molecules[1::4]
    return GeoGAE(dim=3, latent_dim=96, leaves="folded", attributes="decoded").fit(parts[0], validation=parts[1])


def test_whole_molecules_come_back(model: GeoGAE, molecules: list[Graph]) -> None:
    unseen = molecules[3::4]
    scores = model.evaluate(unseen)
    assert [scores[name] for name in ("f1", "exact", "node_f1", "edge_f1", "whole")] == [1] * 5
    assert scores["lossy"] == scores["not_encoded"] == 0
    back = model.decode(model.encode(unseen))
    assert all(isomorphic(one, two) for one, two in zip(back, unseen, strict=True))
    assert [one.to_smiles() for one in back] == [Graph.from_smiles(smiles).to_smiles() for smiles in SMILES[3::4]]


def test_hydrogens_have_no_ball(model: GeoGAE, molecules: list[Graph]) -> None:
    autoencoder = model.autoencoder_
    assert [feature.name for feature in autoencoder.features.features] == ["leaves", "attributes"]
    assert autoencoder.features.features[0].kinds[0].tolist() == [1, 0, 1]  # hydrogen, no charge, a single bond
    assert autoencoder.decoder.slots < max(graph.n for graph in molecules) / 2
    [decoding] = model.decode(model.encode(molecules[:1]), details=True)
    assert decoding.graph.n == 6 and len(decoding.balls) < 3  # methanol


def test_numberings_batches_and_files_change_no_bit(model: GeoGAE, molecules: list[Graph], tmp_path) -> None:
    z, random = model.encode(molecules), np.random.default_rng(0)
    assert np.array_equal(model.encode([graph.relabel(random.permutation(graph.n)) for graph in molecules]), z)
    assert np.array_equal(np.stack([model.encode(graph) for graph in molecules[:6]]), z[:6])
    model.save(tmp_path)
    loaded = GeoGAE.load(tmp_path)
    assert np.array_equal(loaded.encode(molecules), z) and loaded.decode(z) == model.decode(z)


def test_all_three_features_together(molecules: list[Graph]) -> None:
    model = GeoGAE(dim=3, latent_dim=96, leaves="folded", twins="folded", attributes="decoded").fit(molecules)
    assert [feature.name for feature in model.autoencoder_.features.features] == ["leaves", "twins", "attributes"]
    assert model.evaluate(molecules)["whole"] == 1


def test_encoded_attributes_do_not_come_back(molecules: list[Graph]) -> None:
    model = GeoGAE(dim=3, latent_dim=64, leaves="folded", attributes="encoded").fit(molecules)
    z = model.encode(molecules)
    assert not any(graph.attributed for graph in model.decode(z)) and model.evaluate(molecules)["exact"] == 1
    pair = [Graph.from_smiles(smiles, hydrogens=True) for smiles in ("CCCO", "CCCS")]  # one topology
    one, other = model.encode(pair)
    assert np.abs(one - other).max() > 1e-3
