"""Training as processes: killed, interrupted, resumed, and more than one of them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from toys import files, same, timeless

from geogae import datasets, formats
from geogae.cli import main
from geogae.training.checkpoint import load_checkpoint
from geogae.training.loop import METRICS, STATE

TINY = {"dim": 4, "token_dim": 16, "latent_dim": 32, "encoder_hidden": 32, "encoder_layers": 1, "encoder_heads": 2}
TINY |= {"decoder_hidden": 32, "decoder_layers": 1, "passes": 2, "batch_size": 5, "validations": 4}
EPOCHS = 6

SLOW = """  # a step takes its time, a checkpoint is never far
import sys, time
from geogae.cli import main
from geogae.training import loop
loop.CHECKPOINT_SECONDS, step = 0.15, loop.Trainer._step
loop.Trainer._step = lambda trainer: time.sleep(0.04) or step(trainer)
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path, threads = tmp_path_factory.mktemp("runs"), torch.get_num_threads()
    formats.write(datasets.load("MUTAG")[:24], path / "graphs.jsonl")  # 17 to train on: a last batch of two
    settings = {"architecture": '"sequential"', "precision": '"float32"', "variational": "true", **TINY}
    (path / "tiny.toml").write_text("".join(f"{name} = {value}\n" for name, value in settings.items()))
    with chdir(path):
        yield path
    torch.set_num_threads(threads)


def arguments(run: str, *options: str) -> list[str]:
    data = ("--data", "graphs.jsonl", "--epochs", str(EPOCHS), "--threads", "1")
    return ["train", "tiny.toml", *data, "--out", run, *options]


def train(run: str, *options: str) -> tuple[str, str]:
    """In this process, to the end."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err, pytest.raises(SystemExit) as exit:
        main(arguments(run, *options))
    assert exit.value.code == 0, err.getvalue()
    return out.getvalue(), err.getvalue()


def begin(run: str, *options: str, program: tuple[str, ...]) -> subprocess.Popen[str]:
    """In a process of its own."""
    return subprocess.Popen(
        [sys.executable, *program, *arguments(run, *options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # a shell may have turned it off
    )


def wait(process: subprocess.Popen[str], until: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not until():
        assert process.poll() is None and time.monotonic() < end, process.communicate()
        time.sleep(0.01)


def rows(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / METRICS).read_text().splitlines()]


@pytest.fixture(scope="module")
def whole(folder: Path) -> Path:
    """A run from beginning to end."""
    out, err = train("whole", "--json")
    shown = json.loads(out)
    assert shown["run"] == "whole" and shown["validation"]["f1"] == max(
        r["validation_f1"] for r in rows(folder / "whole")
    )
    assert err == "note: 17 graphs to train on, 3 to choose by; the run is in whole\n"
    return folder / "whole"


def weights(run: Path) -> dict:
    [path] = run.glob("model-*.safetensors")
    return load_file(path)


def assert_alike(run: Path, whole: Path) -> None:
    assert same(weights(run), weights(whole))
    (tensors, facts), (expected, expected_facts) = load_checkpoint(run / STATE), load_checkpoint(whole / STATE)
    assert same(tensors, expected) and facts["step"] == expected_facts["step"] == 4 * EPOCHS
    assert timeless(rows(run)) == timeless(rows(whole))
    assert files(run) == files(whole)


def test_killed_and_resumed_is_uninterrupted(folder: Path, whole: Path) -> None:
    run = folder / "killed"
    process = begin("killed", program=("-c", SLOW))
    wait(process, lambda: (run / METRICS).exists() and (run / STATE).exists())
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert 0 < load_checkpoint(run / STATE)[1]["step"] < 4 * EPOCHS
    for leftover in run.glob(".*.tmp"):  # a kill in the middle of a write
        leftover.unlink()
    train("killed", "--resume")
    assert_alike(run, whole)


def test_interrupted_and_resumed_is_uninterrupted(folder: Path, whole: Path) -> None:
    run = folder / "interrupted"
    process = begin("interrupted", program=("-c", SLOW))
    wait(process, (run / METRICS).exists)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    step = load_checkpoint(run / STATE)[1]["step"]
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[1:] == [f"note: stopped at step {step}; resume continues from there", "interrupted"]
    assert 0 < step < 4 * EPOCHS
    train("interrupted", "--resume")
    assert_alike(run, whole)


# -- several ---

TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "geogae")


@pytest.fixture(scope="module")
def alone(folder: Path) -> Path:
    train("alone", "--set", "variational=false")
    return folder / "alone"


def kinds(folder: Path) -> list[str]:
    return [name.partition("-")[0] for name in files(folder)]


@pytest.mark.slow  # starts several Python processes
def test_two_processes_are_one_with_the_same_batch(folder: Path, alone: Path) -> None:
    process = begin("both", "--set", "variational=false", program=TORCHRUN)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    both = folder / "both"
    assert err.count("17 graphs to train on, 3 to choose by") == 1
    assert len(rows(both)) == len(rows(alone)) == 4  # one writer
    for ours, expected in zip(rows(both), rows(alone), strict=True):
        assert ours.keys() == expected.keys() and ours["step"] == expected["step"]
        losses = {name: value for name, value in expected.items() if name.startswith("loss_")}
        assert {name: ours[name] for name in losses} == pytest.approx(losses, rel=1e-4)
        assert ours["validation_f1"] == pytest.approx(expected["validation_f1"], abs=0.02)
    (tensors, _), (expected_tensors, _) = load_checkpoint(both / STATE), load_checkpoint(alone / STATE)
    for name, tensor in expected_tensors.items():
        if name.startswith("model."):
            assert tensors[name].numpy() == pytest.approx(tensor.numpy(), abs=1e-4), name
    assert kinds(both) == kinds(alone)  # weights have their checksum in their name


@pytest.mark.slow  # starts several Python processes
def test_an_error_of_the_writer_ends_all(folder: Path, whole: Path) -> None:
    before = time.monotonic()
    process = begin("whole", program=TORCHRUN)
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0 and "error: whole holds a run already; continue with --resume" in err
    assert time.monotonic() - before < 45
