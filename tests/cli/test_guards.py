"""What a user types or interrupts ends in one line, never in a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import geogae.cli
from geogae import datasets, formats
from shell import Run

HUGE = "99999999999999999999"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("train", "mutag", "--threads", HUGE), f"--threads {HUGE} is too large; at most 4096 is possible"),
        (("train", "mutag", "--threads", "5000"), "--threads 5000 is too large; at most 4096 is possible"),
        (("train", "mutag", "--seed", HUGE), f"--seed {HUGE} is too large; at most {2**63 - 1} is possible"),
        (("train", "mutag", "--set", f"steps={HUGE}"), f"steps={HUGE}"),
        (("train", "mutag", "--set", f"latent_dim={HUGE}"), f"latent_dim={HUGE}"),
        (("benchmark", "run", "--seeds", "0-99999999999"), "--seeds '0-99999999999' must be at most 10,000 numbers"),
        (("benchmark", "run", "--seeds", HUGE * 3), f"--seeds '{HUGE * 3}' must be numbers such as"),
        (("benchmark", "run", "--jobs", HUGE), "Invalid value for '--jobs'"),
        (("benchmark", "run", "--methods", "linear", "--set", f"latent_dim={HUGE}"), f"latent_dim={HUGE}"),
        (("cloud", "MUTAG", "--dim", HUGE), HUGE),
        (("cloud", "MUTAG", "--first", HUGE), HUGE),
    ],
)
def test_huge_numbers(run: Run, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "") and err.count("\n") == 1 and err.startswith("error: ") and said in err


@pytest.mark.parametrize("error", [OverflowError("int too big to convert"), MemoryError()])
def test_what_no_check_foresaw(run: Run, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(geogae.cli, "app", fail)
    code, out, err = run("train", "mutag", "--set", f"steps={HUGE}")
    assert (code, out) == (2, "")
    assert err == f"error: steps={HUGE} holds a number that is too large; give a smaller one\n"
    assert run("train", "mutag").err.startswith("error: a number is too large" if str(error) else "error: there is not")


def test_memory_that_torch_does_not_get(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: you tried")

    monkeypatch.setattr(geogae.cli, "app", fail)
    code, out, err = run("train", "paper/mutag")
    assert (code, out) == (2, "") and err.startswith("error: there is not enough memory for this")


@pytest.mark.parametrize("module", ["geogae.cli", "typer", "geogae.errors", "geogae.datasets", "numpy"])
def test_ctrl_c_during_imports(module: str, tmp_path: Path) -> None:
    script = f"""
import importlib.abc, os, runpy, signal, sys

class Interrupting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a shell it is ignored
sys.meta_path.insert(0, Interrupting())
sys.argv = ["geogae", "cloud", "none.jsonl"]
runpy.run_module("geogae", run_name="__main__", alter_sys=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_importing_geogae_is_light() -> None:
    """So that Ctrl-C meets the command line's own handling soon."""
    script = "import sys, geogae.__main__; print(*sorted({'numpy', 'torch', 'typer', 'numba'} & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.stdout, done.stderr) == ("\n", "")


NOT_UTF8 = """
import os, sys
from geogae.cli import main
run = os.fsdecode(b"run\\xff")
train = ["train", "paper/mutag", "--data", "graphs.jsonl", "--epochs", "1", "--threads", "1", "--out", run]
small = [f"--set={name}" for name in ("latent_dim=32", "token_dim=16", "encoder_hidden=16", "decoder_hidden=16")]
more = [*train, *small, "--epochs", "2", "--resume"]
for arguments in ([*train, *small], more, ["evaluate", run], ["encode", run, "graphs.jsonl"]):
    try:
        main(arguments)
    except SystemExit as end:
        assert end.code == 0, arguments
"""


def test_folders_need_not_be_utf8(tmp_path: Path) -> None:
    """Trained, resumed, evaluated and used; the name goes to stdout as it came."""
    formats.write(datasets.load("MUTAG")[:24], tmp_path / "graphs.jsonl")
    done = subprocess.run(
        [sys.executable, "-c", NOT_UTF8],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONIOENCODING": "utf-8:strict"},
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr.decode(errors="replace")
    assert b"run\xff" in done.stdout
