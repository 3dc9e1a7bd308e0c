"""The paper's numbers are those that it prints, and all of them are there."""

from __future__ import annotations

import pytest

from geogae import presets
from geogae.benchmark.paper import Score, paper


@pytest.mark.parametrize(
    ("dataset", "method", "score"),
    [
        ("AIDS", "GeoGAE", Score(84.1, 1.7)),
        ("MUTAG", "PIGVAE", Score(43.5, 14.9)),
        ("QM9", "ReGAE", Score(99.9, 0.0)),
        ("SYNTHETICnew", "GRALE", Score(7.3, 0.7)),
        ("COLLAB", "ReGAE", Score(78.0, 2.4, "nan-2")),
        ("REDDIT-BINARY", "ReGAE", Score(53.0, 2.0, "original")),
        ("REDDIT-BINARY", "PIGVAE", Score(None, word="OOM")),
    ],
)
def test_f1(dataset: str, method: str, score: Score) -> None:
    assert paper().f1[dataset][method] == score


def test_every_data_set_has_every_method() -> None:
    methods = ["PIGVAE", "ReGAE", "GRALE", "GeoGAE"]
    assert list(paper().f1) == list(paper().datasets) == list(paper().m) == list(paper().d) == list(paper().minutes)
    assert all(list(scores) == methods for scores in paper().f1.values())
    assert list(paper().side_information) == methods and not paper().side_information["GeoGAE"]
    assert paper().side_information["PIGVAE"] == ("size", "alignment")
    assert set(paper().size_error) == set(paper().datasets)


def test_other_tables() -> None:
    assert paper().size_error["REDDIT-BINARY"] == Score(16.25, 1.5)
    assert paper().attributes["GRALE"]["QM9"]["node_rmse"] == Score(5.4, 0.0, "nan-1")
    assert "node_f1" not in paper().attributes["PIGVAE"]["QM9"]
    assert paper().minutes["QM9"] == {"topology": 29 * 60 + 16, "attributes": 38 * 60 + 16}
    assert paper().minutes["COLLAB"] == {"topology": 23 * 60 + 37}
    assert paper().ablations["K = 1"]["MUTAG"] == {"f1": Score(51.72, 2.91), "size_error": Score(4.76, 1.69)}
    assert paper().ablations["K = 5"]["AIDS"]["size_error"] == Score(0.2040, 0.0726)
    assert paper().ablations["b = 8"]["AIDS"]["f1"] == Score(79.46, 2.26)


def test_footnotes_are_there() -> None:
    tables = [*paper().f1.values(), paper().size_error]
    tables += [scores for method in paper().attributes.values() for scores in method.values()]
    notes = {score.note for scores in tables for score in scores.values() if score.note}
    assert notes == set(paper().notes)


@pytest.mark.parametrize("dataset", paper().datasets)
def test_presets_agree(dataset: str) -> None:
    preset = presets.read(f"paper/{dataset.lower()}")
    assert (preset["dataset"], preset["dim"], preset.get("latent_dim", 192)) == (
        dataset, paper().d[dataset], paper().latent(dataset)
    )  # fmt: skip


def test_other_data_sets_are_not_in_it() -> None:
    assert paper().geogae("graphs.jsonl") == Score(None) and paper().latent("graphs.jsonl") is None
