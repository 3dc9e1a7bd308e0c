"""Presets: the paper's table, checked values, names that exist."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from geogae import GeoGAE, GeoGAEError, datasets, fit_clouds, presets

# Section 4.1: tok-d / emb / geom-d / encoder / decoder / lr / encoder heads / decoder heads / batch
TABLE = {
    "MUTAG": "64/128/4/1024x4/256x2/1e-3/8/1/2",
    "AIDS": "64/192/6/1024x4/512x2/1e-3/8/1/32",
    "IMDB-BINARY": "64/192/6/512x8/1024x6/1e-3/2/1/32",
    "QM9": "64/192/4/1024x6/1024x4/1e-3/4/4/256",
    "SYNTHETICnew": "64/192/6/2048x8/1024x2/5e-4/8/4/8",
    "COLLAB": "96/576/9/256x8/2048x4/1e-3/4/1/32",
    "REDDIT-BINARY": "144/1728/9/512x4/1024x4/1e-3/6/4/16",
}


@pytest.mark.parametrize("dataset", TABLE)
def test_the_papers_table(dataset: str) -> None:
    model = GeoGAE.from_preset(f"paper/{dataset.lower()}")
    m = model
    shown = (
        f"{m.token_dim}/{m.latent_dim}/{m.dim}/{m.encoder_hidden}x{m.encoder_layers}/{m.decoder_hidden}x"
        f"{m.decoder_layers}/{m.lr:.0e}/{m.encoder_heads}/{m.decoder_heads}/{m.batch_size}"
    )
    assert shown.replace("e-0", "e-") == TABLE[dataset]
    assert model.bundle == (4 if dataset == "REDDIT-BINARY" else 1)
    assert (model.architecture, model.passes, model.variational) == ("sequential", 3, False)
    assert presets.read(f"paper/{dataset.lower()}")["dataset"] == dataset


def test_every_preset_is_valid_and_has_its_data_set() -> None:
    assert len(set(presets.names())) == len(presets.names()) == 1 + 4 * len(TABLE) + 2 * len(("mutag", "aids", "qm9"))
    for name in presets.names():
        GeoGAE.from_preset(name).check_params()
        assert presets.read(name).get("dataset") in (datasets.names() if name != presets.DEFAULT else [None])
        assert GeoGAE.from_preset(name.upper()).get_params() == GeoGAE.from_preset(name).get_params()


@pytest.mark.parametrize("dataset", TABLE)
def test_linear_presets_have_the_papers_size_of_z(dataset: str) -> None:
    name = f"linear/{dataset.lower()}"
    values, model = presets.read(name), GeoGAE.from_preset(name)
    assert name in presets.names() and values["dataset"] == dataset
    assert (model.architecture, model.order) == ("linear", "axis")
    assert model.latent_dim == GeoGAE.from_preset(f"paper/{dataset.lower()}").latent_dim
    assert values.keys() == {"dataset", "architecture", "dim", "order", "latent_dim"}


@pytest.mark.parametrize("dataset", TABLE)
def test_plain_presets_are_ours_with_the_papers_size_of_z(dataset: str) -> None:
    values, model = presets.read(dataset.lower()), GeoGAE.from_preset(dataset.lower())
    assert values["dataset"] == dataset and model.architecture == "refined"
    assert model.latent_dim == GeoGAE.from_preset(f"paper/{dataset.lower()}").latent_dim
    assert values.keys() - {"leaves", "consensus", "descriptor"} == {"dataset", "dim", "order", "latent_dim"}


@pytest.mark.parametrize("name", ("mutag", "aids", "qm9"))
def test_presets_with_attributes(name: str) -> None:
    """The paper's own ones with attributes decoded, and ours with the same size of z."""
    paper, ours = presets.read(f"paper-attributes/{name}"), presets.read(f"attributes/{name}")
    assert paper == presets.read(f"paper/{name}") | {"attributes": "decoded"}
    assert (
        ours.keys() - {"descriptor"} == {"dataset", "dim", "order", "latent_dim", "attributes"}
        and ours["attributes"] == "decoded"
    )
    assert (ours["dataset"], ours["latent_dim"]) == (paper["dataset"], paper["latent_dim"])


def studies(name: str, part: str) -> list[dict[str, Any]]:
    path = Path(__file__).parent.parent / "benchmarks" / "studies" / f"{name}.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    newest = {record["part"]: record for record in records}
    return [record for name, record in newest.items() if name.startswith(part)]


def dataset_of(record: dict[str, Any]) -> str:
    return record["config"]["dataset"]


@pytest.mark.parametrize("record", studies("refined", "choose-"), ids=dataset_of)
def test_a_plain_preset_is_what_validated_best(record: dict[str, Any]) -> None:
    """At the paper's m, to a twentieth of a point."""
    values = presets.read(dataset_of(record).lower())
    f1 = {
        (row["dim"], row["order"]): sum(seed["f1"] for seed in row["validation"]) / len(row["validation"])
        for row in record["result"]
        if row["m"] == values["latent_dim"]
    }
    order = "consensus" if values.get("consensus") else values["order"]  # as the study names it
    assert f1[values["dim"], order] >= max(f1.values()) - 5e-4


@pytest.mark.parametrize("record", studies("geometry", "exact-"), ids=dataset_of)
def test_the_dimension_of_a_linear_preset_was_measured(record: dict[str, Any]) -> None:
    """``auto`` found it to be the smallest in which all graphs are exact."""
    [found] = [row for row in record["result"] if row["asked"] == "auto"]
    assert found["exact"] == found["graphs"]
    assert presets.read(f"linear/{dataset_of(record).lower()}")["dim"] == found["dim"]


def test_the_dimension_of_mutag_is_the_smallest() -> None:
    graphs, dim = datasets.load("MUTAG"), presets.read("linear/mutag")["dim"]
    assert all(cloud.exact for cloud in fit_clouds(graphs, dim))
    assert fit_clouds(graphs, "auto")[0].dim == dim


def test_changes() -> None:
    model = GeoGAE.from_preset("paper/mutag", seed=3, lr=0.1)
    assert (model.seed, model.lr, model.latent_dim) == (3, 0.1, 128)


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(presets.text("paper/mutag").replace("lr = 1e-3", "lr = 2e-3"))
    assert GeoGAE.from_preset(str(path)).lr == 2e-3
    path.write_text("lr = = 1")
    with pytest.raises(GeoGAEError, match=r"preset .*my.toml is not TOML: "):
        GeoGAE.from_preset(str(path))
    with pytest.raises(GeoGAEError, match=r"cannot read preset .*no.toml: No such file"):
        GeoGAE.from_preset(str(tmp_path / "no.toml"))


def test_an_unknown_preset_or_parameter_is_answered_with_the_valid_ones() -> None:
    with pytest.raises(
        GeoGAEError,
        match=r"there is no preset 'nope'; valid are default, mutag, aids, .*paper/mutag.*linear/aids.*\.toml",
    ):
        GeoGAE.from_preset("nope")
    with pytest.raises(GeoGAEError, match=r"'colour' is no parameter of refined; valid are latent_dim, .*seed"):
        GeoGAE.from_preset("mutag", colour="red")


BAD = {
    "lr": (-1, "lr=-1 must be a number, at least 1e-12"),
    "batch_size": (2.5, "batch_size=2.5 must be a whole number, from 1 to"),
    "epochs": (0, "epochs=0 must be a whole number, at least 1, or None"),
    "minutes": (float("nan"), "minutes=nan must be a number"),
    "core_minutes": (0, "core_minutes=0 must be a number, at least 0.001, or None"),
    "attributes": ("kept", "attributes='kept' is not known; valid are ignored, encoded, decoded"),
    "feature_weight": (-0.5, "feature_weight=-0.5 must be a number, at least 0"),
    "rho": (float("inf"), "rho=inf must be a number"),
    "seed": (True, "seed=True must be a whole number, from 0 to"),
    "passes": ("3", "passes='3' must be a whole number"),
    "bundle": (None, "bundle=None must be a whole number, from 1 to"),
    "dim": (1, "dim=1 must be a whole number from 2 to 64, or 'auto'"),
    "order": ("random", "order='random' is not known; valid are greedy, axis"),
    "precision": ("float16", "precision='float16' is not known; valid are auto, float32, bfloat16"),
    "architecture": ("flow", "architecture='flow' is not known; valid are refined, sequential, linear"),
    "variational": ("yes", "variational='yes' is not known; valid are False, True"),
    "latent_dim": (100, "latent_dim=100 must be a multiple of token_dim=64; try latent_dim=128"),
    "encoder_heads": (3, "heads=3 does not cut token_dim=64 into equal heads of even width; try one of"),
    "device": ("warp", "device='warp' cannot be used"),
}


@pytest.mark.parametrize(("name", "value", "said"), [(name, *rest) for name, rest in BAD.items()], ids=BAD)
def test_values_that_cannot_be(name: str, value: object, said: str) -> None:
    with pytest.raises(GeoGAEError) as error:
        GeoGAE.from_preset("paper/mutag", **{name: value})
    assert str(error.value).startswith(said) and "\n" not in str(error.value)


def test_no_end() -> None:
    with pytest.raises(GeoGAEError, match="training needs an end: set one of epochs, minutes, core_minutes"):
        GeoGAE("sequential", epochs=None, minutes=None).check_params()
    for end in ("epochs", "minutes", "core_minutes"):
        GeoGAE("sequential", **{"epochs": None, end: 1}).check_params()


def test_the_default_preset_is_what_geogae_has_by_default() -> None:
    assert GeoGAE.from_preset("default").get_params() == GeoGAE().get_params()


def test_a_file_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('dataset = "MUTAG"\nlatent_dim = 9\n')
    assert GeoGAE.from_preset(tmp_path / "mine.toml").latent_dim == 9


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"# h\xf6her\nlatent_dim = 9\n", r"mine\.toml is not UTF-8 .*; save it as such"),
        (b"dataset = 5\n", r"dataset = 5 in preset .*mine\.toml must be text"),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "mine.toml").write_bytes(content)
    with pytest.raises(GeoGAEError, match=said):
        GeoGAE.from_preset(tmp_path / "mine.toml")
