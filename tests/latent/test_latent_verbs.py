"""The latent verbs as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from geogae import GeoGAE
from shell import Run

pytest.importorskip("rdkit")

PNG = b"\x89PNG\r\n\x1a\n"
SMILES = ["CCO", "CCN", "CCC", "CC(C)O", "CC=O", "C1CCC1", "CCOC", "NCC=O", "CCCO", "CNC", "COC", "OCCO"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from geogae.formats.chem import from_smiles

    torch.set_num_threads(1)
    graphs = [from_smiles(s, hydrogens="implied") for s in SMILES]
    made = GeoGAE(latent_dim=40, dim=4, attributes="decoded", contexts=False, descriptor=6, leaves="kept", twins="kept")
    folder = tmp_path_factory.mktemp("model") / "m"
    made.fit(graphs).save(folder)
    return folder


@pytest.fixture(scope="module")
def with_prior(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = GeoGAE.load(model)
    folder = tmp_path_factory.mktemp("prior") / "m"
    made.fit_prior(SMILES, prior="gaussian").save(folder)
    return folder


@pytest.fixture
def library(tmp_path: Path) -> Path:
    path = tmp_path / "library.smi"
    path.write_text("".join(f"{s} m{i}\n" for i, s in enumerate(SMILES)))
    return path


def test_describe_and_neighbours(run: Run, model: Path, library: Path) -> None:
    assert run("describe", model, library, "-o", "d.npy").code == 0
    assert np.load("d.npy").shape == (len(SMILES), 6)
    printed = run("describe", model, library)
    np.testing.assert_allclose(json.loads(printed.out), np.load("d.npy"), rtol=1e-6)
    found = run("neighbours", model, "CCO", "--among", library, "-k", "2", "--plot", "n.png")
    assert found.code == 0 and found.out.splitlines()[0].split("\t") == ["0", "0", "m0"]
    assert Path("n.png").read_bytes().startswith(PNG)
    rows = json.loads(run("neighbours", model, library, "--among", library, "-k", "1", "--json").out)
    assert [row[0]["index"] for row in rows] == list(range(len(SMILES)))


def test_sample_interpolate_optimise(run: Run, with_prior: Path, library: Path) -> None:
    drawn = run("sample", with_prior, "-n", "6", "-o", "new.jsonl", "--plot", "grid.png", "--json")
    assert drawn.code == 0 and json.loads(drawn.out)["drawn"] == 6
    assert len(Path("new.jsonl").read_text().splitlines()) == 6 and Path("grid.png").read_bytes().startswith(PNG)
    way = run("interpolate", with_prior, "CCO", "CCN", "--steps", "2")
    assert [line.split()[0] for line in way.out.splitlines()] == ["CCO", "CCN"]
    best = run(
        "optimise", with_prior, "--score", "logp", "--budget", "20", "--start", library, "--top", "3", "-o", "b.smi"
    )
    assert best.code == 0, best.err
    assert 1 <= len(Path("b.smi").read_text().splitlines()) <= 3


def test_prior_is_saved(run: Run, model: Path, library: Path) -> None:
    assert run("prior", model, library, "--kind", "gaussian", "--property", "logp").code == 0
    assert GeoGAE.load(model).prior_.conditions == ("logp",)
    assert run("sample", model, "-n", "2", "--given", "logp=1.5").code == 0
    refused = run("sample", model, "-n", "2", "--given", "qed=1.5")
    assert refused.code == 2 and "fitted with logp" in refused.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sample", "MODEL", "--given", "logp"], "a name and a number"),
        (["interpolate", "MODEL", "CCO", "nonsense("], "neither a file, a data set nor a SMILES"),
        (["optimise", "MODEL", "--score", "beauty"], "valid are qed"),
        (["optimise", "MODEL", "--score", "nowhere:score"], "cannot be imported"),
        (["sample", "MODEL", "--json"], "need -o"),
        (["sample", "MODEL", "-o", "x.txt"], "suffix must be"),
    ],
)
def test_wrong_use_is_one_line(run: Run, with_prior: Path, arguments: list[str], words: str) -> None:
    result = run(*[str(with_prior) if argument == "MODEL" else argument for argument in arguments])
    assert result.code == 2 and words in result.err
    assert "Traceback" not in result.err
