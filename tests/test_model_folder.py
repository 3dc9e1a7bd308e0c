"""Saved models: the same model again, replaced as a whole, checksums, and one line for anything that is none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from geogae import GeoGAE, GeoGAEError, Graph, datasets, formats
from geogae.files import atomic_path
from geogae.model_folder import CONFIG, FORMAT, _canonical, _digest, load_folder, save_folder
from shell import Run

SMALL: dict[str, Any] = {"dim": 3, "order": "axis", "latent_dim": 12, "steps": 50}


@pytest.fixture(scope="module")
def graphs() -> list[Graph]:
    return datasets.load("MUTAG")[:12]


@pytest.fixture(scope="module")
def model(graphs: list[Graph]) -> GeoGAE:
    return GeoGAE(**SMALL).fit(graphs)


@pytest.fixture
def saved(model: GeoGAE, tmp_path: Path) -> Path:
    model.save(tmp_path / "model")
    return tmp_path / "model"


def weights(folder: Path) -> Path:
    [path] = folder.glob("model-*.safetensors")
    return path


def rewrite(folder: Path, *, signed: bool = True, **changes: Any) -> None:
    """A config with other values; without ``signed``, its checksum is left as it was."""
    record = json.loads((folder / CONFIG).read_text()) | changes
    record = {name: value for name, value in record.items() if value is not None}
    if signed:
        record.pop("checksum", None)
        record["checksum"] = _digest(_canonical(record))
    (folder / CONFIG).write_text(json.dumps(record))


def opened(folder: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """What a model was saved from."""
    config, tensors = load_folder(folder)
    return {name: value for name, value in config.items() if name not in ("format", "geogae", "weights")}, tensors


def fails(folder: Path, said: str) -> None:
    with pytest.raises(GeoGAEError, match=said) as error:
        GeoGAE.load(folder)
    assert "\n" not in str(error.value)


# -- the same model again ---


def test_save_and_load(model: GeoGAE, saved: Path, graphs: list[Graph]) -> None:
    assert sorted(path.name for path in saved.iterdir()) == [CONFIG, weights(saved).name]
    loaded = GeoGAE.load(saved)
    assert loaded.get_params() == model.get_params()
    z = loaded.encode(graphs)
    assert np.array_equal(z, model.encode(graphs)) and loaded.decode(z) == model.decode(z)
    assert loaded.evaluate(graphs) == model.evaluate(graphs)
    state, again = model.autoencoder_.state(), loaded.autoencoder_.state()
    assert again.facts == state.facts and again.tensors.keys() == state.tensors.keys()
    assert all(torch.equal(tensor, state.tensors[name]) for name, tensor in again.tensors.items())
    loaded.save(saved.parent / "again")
    assert (saved.parent / "again" / CONFIG).read_text() == (saved / CONFIG).read_text()


def test_another_process_decodes_the_same_from_z(model: GeoGAE, saved: Path, graphs: list[Graph]) -> None:
    """It never saw a graph, and has no clouds."""
    z = model.encode(graphs)
    np.save(saved.parent / "z.npy", z)
    program = (
        "import sys, numpy as np; from geogae import GeoGAE, formats\n"
        "model, z, back = sys.argv[1:]\n"
        "formats.write(GeoGAE.load(model).decode(np.load(z)), back)"
    )
    paths = [str(path) for path in (saved, saved.parent / "z.npy", saved.parent / "b.jsonl")]
    alone = os.environ | {"GEOGAE_CACHE": str(saved.parent / "none")}
    subprocess.run([sys.executable, "-c", program, *paths], check=True, env=alone)
    assert formats.read(saved.parent / "b.jsonl") == model.decode(z)


def test_saving_over_a_model_replaces_it_and_nothing_else(model: GeoGAE, saved: Path, graphs: list[Graph]) -> None:
    (saved / "notes.txt").write_text("mine")
    (saved / "model.safetensors").write_bytes(b"of an older layout")
    before = weights(saved).name
    other = GeoGAE(**{**SMALL, "latent_dim": 9}).fit(graphs)
    other.save(saved)
    assert sorted(path.name for path in saved.iterdir()) == [CONFIG, weights(saved).name, "notes.txt"]
    assert weights(saved).name != before and np.array_equal(GeoGAE.load(saved).encode(graphs), other.encode(graphs))


def test_parameters_may_be_numbers_of_numpy(graphs: list[Graph], tmp_path: Path) -> None:
    """Those of a grid search often are."""
    given = {**SMALL, "latent_dim": np.int64(9), "margin": np.float32(0.25)}
    model = GeoGAE(**given).fit(graphs)
    model.save(tmp_path)
    loaded = GeoGAE.load(tmp_path)
    assert loaded.get_params() == model.get_params() and type(loaded.latent_dim) is int
    assert np.array_equal(loaded.encode(graphs), model.encode(graphs))


def test_a_run_is_a_saved_model(graphs: list[Graph], tmp_path: Path) -> None:
    model = GeoGAE(**SMALL).fit(graphs[:9], validation=graphs[9:], run=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [CONFIG, weights(tmp_path).name]
    assert np.array_equal(GeoGAE.load(tmp_path).encode(graphs), model.encode(graphs))


# -- killed while it saves ---


def two_models() -> list[tuple[dict[str, Any], dict[str, torch.Tensor]]]:
    return [({"params": {"name": name}}, {name: torch.full((2000,), float(at))}) for at, name in enumerate("ab")]


def saver(folder: Path) -> int:
    """A process that saves two models in turn until it is killed; its first save is done."""
    done, said = os.pipe()
    child = os.fork()
    if not child:
        try:
            for number in count():
                save_folder(folder, *two_models()[number % 2])
                if not number:
                    os.write(said, b"!")
        finally:
            os._exit(1)
    os.close(said)
    assert os.read(done, 1) == b"!"
    os.close(done)
    return child


def test_a_kill_leaves_one_whole_model(tmp_path: Path) -> None:
    """Two models are saved in turn by a process that is killed after some milliseconds, again and again."""
    folder, random, found = tmp_path / "model", np.random.default_rng(0), set()
    for round in range(400):  # on a machine with much other work, some children hardly run
        child = saver(folder)
        time.sleep(float(random.uniform(0.0, 0.02)))
        os.kill(child, signal.SIGKILL)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
        config, tensors = load_folder(folder)
        [(name, tensor)] = tensors.items()
        assert config["params"] == {"name": name} and tensor.eq("ab".index(name)).all() and len(tensor) == 2000
        found.add(name)
        if round >= 40 and len(found) == 2:
            break
    assert found == {"a", "b"}
    save_folder(folder, *two_models()[1])
    assert load_folder(folder)[0]["params"] == {"name": "b"}
    assert len(list(folder.glob("*.safetensors"))) == 1


def test_a_reader_beside_a_writer_sees_a_whole_model(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    child = saver(folder)
    try:
        for _ in range(200):
            config, tensors = load_folder(folder)
            assert [config["params"]["name"]] == list(tensors)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_what_a_killed_save_left_is_removed_by_the_next(tmp_path: Path) -> None:
    """Weights have another name each time; what a living process writes, or another machine, is left alone."""
    folder = tmp_path / "model"
    save_folder(folder, *two_models()[0])
    child = os.fork()
    if not child:
        with atomic_path(folder / "model-0123.safetensors") as temporary:
            temporary.write_bytes(b"half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    [left] = folder.glob(".*.tmp")
    foreign = folder / ".model-0123.safetensors.abcdef-1-00000000.tmp"
    foreign.touch()
    with atomic_path(folder / "model-4567.safetensors") as living:
        living.write_bytes(b"half")
        save_folder(folder, *two_models()[1])
        assert living.exists() and foreign.exists() and not left.exists()
    assert load_folder(folder)[0]["params"] == {"name": "b"}


def test_two_savers_and_a_reader(tmp_path: Path) -> None:
    """One does not remove the weights that the other is about to name."""
    folder = tmp_path / "model"
    children = [saver(folder), saver(folder)]
    time.sleep(1)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        config, tensors = load_folder(folder)
        assert [config["params"]["name"]] == list(tensors)


# -- damage ---


def flips(content: bytes) -> Iterator[bytes]:
    for at in range(len(content)):
        for bit in range(8):
            yield content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]


@pytest.mark.parametrize("part", [CONFIG, "weights"])
def test_every_flipped_bit_is_detected(tmp_path: Path, part: str) -> None:
    config = {"params": {"latent_dim": 3, "margin": 0.25, "dim": "auto"}, "facts": {"slots": [1, 20, None, True]}}
    save_folder(tmp_path, config, {"axes": torch.arange(12.0).reshape(3, 4)})
    path = tmp_path / part if part == CONFIG else weights(tmp_path)
    whole = path.read_bytes()
    tried = 0
    for changed in flips(whole):
        tried += 1
        path.write_bytes(changed)
        with pytest.raises(GeoGAEError) as error:
            load_folder(tmp_path)
        assert "\n" not in str(error.value)
    assert tried == 8 * len(whole) > 800
    path.write_bytes(whole)
    assert load_folder(tmp_path)[0]["facts"] == config["facts"]


def test_damaged_or_missing_weights(saved: Path) -> None:
    path, whole = weights(saved), weights(saved).read_bytes()
    path.write_bytes(whole[:-100])
    fails(saved, r"model-\w+\.safetensors is damaged: its checksum is not that of its name; restore it or train again")
    path.unlink()
    fails(saved, r"cannot read .*model-\w+\.safetensors: No such file or directory; save the model again")
    fails(saved / "nope", "is no folder; a saved model is a folder with")
    other = saved / f"model-{_digest(b'no tensors')}.safetensors"
    other.write_bytes(b"no tensors")
    rewrite(saved, weights=other.name)
    fails(saved, r"is no whole safetensors file")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite(saved: Path, value: float) -> None:
    """With the checksum that they have: they were saved so."""
    config, tensors = opened(saved)
    tensors["decoder.axes"].flatten()[3] = value
    save_folder(saved, config, tensors)
    fails(saved, r"model-\w+\.safetensors holds 1 numbers in 'decoder\.axes' that are not finite; train again")


@pytest.mark.parametrize("name", ["decoder.axes", "decoder.deviations", "decoder.mean"])
@pytest.mark.parametrize("value", [3e38, -1e30, 1e-40, 0.0])
def test_weights_of_any_size_give_finite_z_or_one_line(
    saved: Path, graphs: list[Graph], name: str, value: float
) -> None:
    config, tensors = opened(saved)
    save_folder(saved, config, tensors | {name: torch.full_like(tensors[name], value)})
    try:
        z = GeoGAE.load(saved).encode(graphs)
    except GeoGAEError as error:
        assert "these weights give" in str(error) and "\n" not in str(error)
    else:
        assert np.isfinite(z).all()


@pytest.mark.parametrize("unit", [0.0, -1.0])
def test_a_code_without_a_unit(saved: Path, unit: float) -> None:
    config, tensors = opened(saved)
    save_folder(saved, config, tensors | {"decoder.unit": torch.tensor(unit)})
    fails(saved, rf"config\.json does not fit its weights \(the unit of the code is {unit}\); train again")


def test_z_that_is_not_finite_is_not_written(saved: Path, run: Run) -> None:
    config, tensors = opened(saved)
    save_folder(saved, config, tensors | {"decoder.mean": torch.full_like(tensors["decoder.mean"], 3e38)})
    formats.write(datasets.load("MUTAG")[:3], "graphs.jsonl")
    code, out, err = run("encode", saved, "graphs.jsonl", "-o", "z.npy")
    assert (code, out) == (2, "") and "error: these weights give" in err and not Path("z.npy").exists()


@pytest.mark.parametrize("content", [None, b"", b'{"format": 1', b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_a_config_that_is_none(saved: Path, content: bytes | None) -> None:
    (saved / CONFIG).unlink() if content is None else (saved / CONFIG).write_bytes(content)
    fails(saved, r"config\.json is missing or damaged")


def test_a_changed_config(saved: Path, model: GeoGAE) -> None:
    rewrite(saved, signed=False, params={**model.get_params(), "steps": 3})
    fails(saved, r"config\.json was changed since it was saved \(its checksum is wrong\); restore it or train again")


@pytest.mark.parametrize("name", ["../elsewhere.safetensors", "/etc/passwd", 3])
def test_weights_are_beside_their_config(saved: Path, name: Any) -> None:
    rewrite(saved, weights=name)
    fails(saved, r"config\.json names no weights beside it")


CHANGES: dict[str, Any] = {
    "latent_dim": 13,
    "consensus": True,
    "architecture": "sequential",
    "colour": "red",
    "leaves": "fallen",
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_config_that_does_not_fit_its_weights(saved: Path, model: GeoGAE, name: str) -> None:
    """One that was written by hand, checksum and all."""
    rewrite(saved, params={**model.get_params(), name: CHANGES[name]})
    fails(saved, ".")


FACTS: dict[str, Any] = {
    "slots": [0, -1, 10**6, 2**31 - 1, 2**40, 10**30, float("inf"), "x", None],
    "max_nodes": [0, -1, 2**31 - 1, 2**40, 10**30, float("inf"), float("nan"), "x", None],
    "reader": [{}, {"dim": 1}, {"dim": 4}, [], None],
    "features": [{"wings": {}}, {"leaves": {}}, 3, None],
}


@pytest.mark.parametrize("name", FACTS)
def test_facts_that_do_not_fit_the_weights(saved: Path, name: str) -> None:
    facts = json.loads((saved / CONFIG).read_text())["facts"]
    for value in FACTS[name]:
        rewrite(saved, facts={**facts, name: value})
        fails(saved, ".")
    rewrite(saved, facts={key: value for key, value in facts.items() if key != name})
    fails(saved, r"config\.json does not fit its weights")


# -- other versions ---


def test_a_model_of_the_layout_before(tmp_path: Path) -> None:
    """Format 2: config.json and model.safetensors, without checksums."""
    params = {"architecture": "parallel", "latent_dim": 48, "dim": 3, "order": "axis", "descent": 1000}
    record = {"format": 2, "geogae": "0.1.0", "params": params, "fitted": {"dim": 3, "max_nodes": 28, "slots": 28}}
    (tmp_path / CONFIG).write_text(json.dumps(record, indent=1))
    save_file({"mean": torch.zeros(84)}, tmp_path / "model.safetensors")
    fails(tmp_path, rf"has format 2, written by geogae 0\.1\.0; this geogae .* reads format {FORMAT}: use that version")


def test_a_model_of_a_later_version(saved: Path) -> None:
    rewrite(saved, format=99, geogae="7.0", params=None)
    fails(saved, rf"has format 99, written by geogae 7\.0; .* reads format {FORMAT}: use that version, or train again")
