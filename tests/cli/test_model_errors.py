"""Bad input to train, encode, decode and evaluate: one line, exit code 2, and nothing is written."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geogae import GeoGAE, datasets, formats
from shell import Run


@pytest.fixture(autouse=True)
def graphs(run: Run) -> None:
    """24 graphs lie in the folder."""
    formats.write(datasets.load("MUTAG")[:24], "graphs.jsonl")


def files() -> list[str]:
    return sorted(map(str, Path().rglob("*")))


# -- what cannot be ---

TRAIN = ("train", "paper/mutag", "--data", "graphs.jsonl", "--out", "new")
BAD: dict[str, tuple[tuple[Any, ...], str]] = {
    "unknown preset": (("train", "nope"), "there is no preset 'nope'; valid are default, mutag, aids,"),
    "missing preset file": (("train", "nope.toml"), "cannot read preset nope.toml: No such file or directory"),
    "preset without data": (("train", "bare.toml"), "preset bare.toml names no dataset; say --data NAME"),
    "no data set": (
        ("train", "paper/mutag", "--data", "NOPE", "--out", "new"),
        "data set 'NOPE' is not in $GEOGAE_DATA",
    ),
    "no data file": (("train", "paper/mutag", "--data", "no.jsonl", "--out", "new"), "no.jsonl does not exist"),
    "too few graphs": (
        ("train", "paper/mutag", "--data", "one.jsonl", "--out", "new"),
        "one.jsonl has 1 graphs to train on and none",
    ),
    "unknown parameter": ((*TRAIN, "--set", "colour=red"), "'colour' is no parameter of sequential; valid are"),
    "bad value": ((*TRAIN, "--set", "lr=fast"), "lr='fast' must be a number, at least 1e-12"),
    "no pair": ((*TRAIN, "--set", "lr"), "--set 'lr' must be NAME=VALUE, such as --set lr=5e-4"),
    "no end": ((*TRAIN, "--set", "epochs=none"), "training needs an end: set one of epochs, minutes, core_minutes"),
    "no time": ((*TRAIN, "--minutes", 0), "minutes=0.0 must be a number, at least 0.001"),
    "no processor time": ((*TRAIN, "--core-minutes", 0), "core_minutes=0.0 must be a number, at least 0.001"),
    "endless processor time": ((*TRAIN, "--core-minutes", "inf"), "core_minutes=inf must be a number, at least"),
    "unknown use of attributes": (
        (*TRAIN, "--set", "attributes=kept"),
        "attributes='kept' is not known; valid are ignored, encoded, decoded",
    ),
    "heads": ((*TRAIN, "--set", "encoder_heads=5"), "heads=5 does not cut token_dim=64"),
    "device": ((*TRAIN, "--set", "device=warp"), "device='warp' cannot be used"),
    "run folder in use": (
        ("train", "paper/mutag", "--data", "graphs.jsonl", "--out", "taken"),
        "taken holds a run already; choose another --out",
    ),
    "resume of another folder": ((*TRAIN[:-1], "other", "--resume"), "other/run.json is missing or damaged"),
    "long name": (("encode", "nope", "x" * 300), "nope is no folder"),
    "no such file": (("cloud", "x" * 300 + ".jsonl"), "cannot read xxx"),
    "size of z": (
        (*TRAIN, "--set", "latent_dim=100000000"),
        "latent_dim=100000000 must be a whole number, from 2 to 65536",
    ),
    "missing run": (("evaluate", "nope"), "nope is no folder; a saved model is a folder with config.json"),
    "neither folder nor name": (
        ("encode", "nope", "graphs.jsonl"),
        "nope is no folder; a saved model is a folder with config.json and its weights, and the pretrained models are "
        "graphs, molecules, mutag, or hf:user/name from the hub",
    ),
    "run without a model": (("encode", "taken", "graphs.jsonl"), "taken/config.json is missing or damaged"),
    "split beside data": (("evaluate", "nope", "MUTAG", "--split", "test"), "--split test is of the run's own data"),
    "epochs of what is not trained": (
        ("train", "mutag", "--epochs", 3),
        "--epochs: refined is not trained step by step",
    ),
    "unknown split": (("evaluate", "nope", "--split", "all"), "--split 'all' is not known; valid are train, valid"),
    "suffix of vectors": (("encode", "nope", "graphs.jsonl", "-o", "z.csv"), "cannot write z.csv: its suffix must"),
    "suffix of graphs": (("decode", "nope", "z.npy", "-o", "back.txt"), "cannot write back.txt: its suffix must be"),
    "unknown preset to copy": (("presets", "copy", "nope", "x.toml"), "there is no preset 'nope'"),
    "copy over a file": (("presets", "copy", "mutag", "bare.toml"), "bare.toml exists already; choose another name"),
    "copy to another kind": (("presets", "copy", "mutag", "x.json"), "cannot write x.json: its suffix must be .toml"),
}


@pytest.mark.parametrize(("arguments", "said"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line(run: Run, arguments: tuple[Any, ...], said: str) -> None:
    Path("bare.toml").write_text("dim = 3\n")
    formats.write(datasets.load("MUTAG")[:1], "one.jsonl")
    Path("taken").mkdir()
    Path("other").mkdir()
    for name in ("run.json", "config.json"):
        Path(f"taken/{name}").write_text("{}")
    before = files()
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith(f"error: {said}") and err.count("error") == 1
    assert files() == before


def test_vectors_that_are_none(run: Run) -> None:
    GeoGAE("linear", dim=3, latent_dim=32).fit(datasets.load("MUTAG")[:9]).save("run")
    np.save("wide.npy", np.zeros((2, 33), dtype=np.float32))
    np.save("nan.npy", np.full((2, 32), np.nan))
    np.save("text.npy", np.array([["a"] * 32]))
    np.save("object.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save("whole.npy", np.zeros((2, 32), dtype=np.float32))
    np.savez("many.npz", z=np.zeros((2, 32)))
    Path("cut.npy").write_bytes(Path("whole.npy").read_bytes()[:-50])
    Path("cut.npz").write_bytes(Path("many.npz").read_bytes()[:-50])
    Path("empty.npy").touch()
    Path("pickled.npy").write_bytes(pickle.dumps([1, 2]))
    Path("text.jsonl").write_text("{}")
    np.save("complex.npy", np.zeros((2, 32), dtype=complex))
    np.save("large.npy", np.full((2, 32), 1e300))
    Path("rows.json").write_text("[[1, 2], [3]]")
    before = files()
    cannot = "; it must be an .npy file of numbers"
    for name, said in {
        "wide.npy": "z has shape (2, 33); this model decodes rows of 32 numbers",
        "nan.npy": "z has 64 values that are not finite",
        "text.npy": "z must be real numbers",
        "complex.npy": "z must be real numbers",
        "large.npy": "z has 64 values that are not finite",
        "rows.json": "its rows are not lists of equally many numbers; it must be an .npy file of numbers, or JSON",
        **dict.fromkeys(
            ("object.npy", "cut.npy", "many.npz", "cut.npz", "empty.npy", "pickled.npy", "text.jsonl", "no.npy"), cannot
        ),
    }.items():
        code, out, err = run("decode", "run", name, "-o", "back.jsonl")
        assert (code, out) == (2, "") and err.startswith("error: ") and err.count("\n") == 1, name
        assert said in err, name
    assert files() == before
