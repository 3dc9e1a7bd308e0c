"""What a user types or interrupts ends in one line, never in a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import geogae.cli
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
