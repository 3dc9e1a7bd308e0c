"""Command lines with random words: every verb, every argument and every option, read off the command line itself."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import torch
import typer

from faults.fuzz import HANG, Hang, empty_stdin, limited_time
from geogae import GeoGAE, datasets, formats
from geogae.cli import app, main

NUMBERS = ("", "-1", "0", "1", "2", "3", "0.5", "1e999", "nan", "99999999999999999999", "x", "1-3", "0x10")
WORDS = (
    "", "MUTAG", "mutag", "no such", "graphs.jsonl", "graphs.smi", "z.npy", "model", "preset.toml", "CCO", "-", "..",
    "/", "\x00x", "🦜", "\udcff", "x" * 300, "--help", "pca", "gaussian", "validation", "nodes", "greedy",
)  # fmt: skip
OUTPUTS = (  # where something may be written: below the folder, or nowhere
    "", "out.npy", "out.jsonl", "out.npz", "out.smi", "out.g6", "out.png", "out.md", "out.html", "out.toml", "out.x",
    "new", "new/out.jsonl", "model", "graphs.jsonl", "graphs.jsonl/out.npy", "/proc/none/out.npy", "x" * 300 + ".npy",
    "\x00.npy", "\udcff.npy",
)  # fmt: skip
WRITTEN = {"out", "output", "plot", "plots", "results", "work", "into", "scores", "path"}  # names of such parameters
BASE = {  # what keeps a valid command short; later options replace these
    "benchmark run": ["--methods", "path", "--datasets", "MUTAG", "--seeds", "0", "--threads", "1", "--jobs", "1"],
    "prior": ["--kind", "gaussian", "--core-minutes", "0.01"],
    "optimise": ["--score", "nodes", "--budget", "3"],
    "neighbours": ["--among", "graphs.jsonl"],
    "sample": ["-n", "3"],
    "cloud": ["--first", "2"],
    "train": ["--data", "graphs.jsonl", "--out", "new"],
}
LEFT_OUT = {("benchmark run", "methods"), ("benchmark run", "jobs"), ("optimise", "budget"), ("prior", "kind")}  # long
LONG = {"demo", "datasets"}  # minutes: called with a word too many
TRAINED = ("default", "mutag", "linear/mutag", "preset.toml", "no such", "", "MUTAG", "\x00", "graphs.jsonl", "..")


def verbs() -> dict[str, Any]:
    """Every command by the words that call it."""
    found: dict[str, Any] = {}

    def walk(command: Any, words: list[str]) -> None:
        if words and (not hasattr(command, "commands") or command.params):
            found[" ".join(words)] = command
        for name, below in getattr(command, "commands", {}).items():
            walk(below, [*words, name])

    walk(typer.main.get_command(app), [])
    return found


def command_line(name: str, command: Any, random: np.random.Generator) -> list[str]:
    """Its arguments, mostly as many as it takes, and up to three of its options."""

    def one_of(words: tuple[str, ...]) -> str:
        return words[int(random.integers(len(words)))]

    def word(parameter: Any) -> str:
        if parameter.name in WRITTEN:
            return one_of(OUTPUTS)
        if parameter.name == "preset":
            return one_of(TRAINED)
        if parameter.name in ("change", "given"):
            return f"{one_of(tuple(GeoGAE.defaults()))}={one_of(NUMBERS)}"
        kind = str(getattr(parameter, "type_descriptor", None) or parameter.type)  # by the version of typer
        numeric = re.search(r"'(int|float)'|INT|FLOAT", kind) is not None
        if parameter.name == "run" and random.random() < 0.7:
            return "model"
        return one_of(NUMBERS) if numeric and random.random() < 0.9 else one_of(WORDS)

    line = [*name.split(), *BASE.get(name, [])]
    options = [p for p in command.params if p.param_type_name == "option" and (name, p.name) not in LEFT_OUT]
    for index in random.permutation(len(options))[: int(random.integers(4))]:
        option = options[index]
        flag = option.opts[int(random.integers(len(option.opts)))]
        line += [flag] if option.is_flag else [flag, word(option)]
    for argument in (p for p in command.params if p.param_type_name == "argument"):
        if random.random() < 0.95:
            line.append(word(argument))
    return [*line, one_of(WORDS)] if name in LONG or random.random() < 0.05 else line


def here(arguments: list[str]) -> tuple[int | str, str]:
    """In this process, with an empty stdin: the exit code, or what came through; and stderr."""
    out, err, stdin = io.StringIO(), io.StringIO(), sys.stdin
    sys.stdin = empty_stdin()
    try:
        with redirect_stdout(out), redirect_stderr(err), limited_time():
            main(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1, err.getvalue()
    except Hang:
        return "hang", err.getvalue()
    except BaseException as error:
        return f"traceback: {type(error).__name__}: {str(error)[:80]}", err.getvalue()
    finally:
        sys.stdin = stdin
        torch.set_num_threads(1)
    return 0, err.getvalue()


def elsewhere(arguments: list[str]) -> tuple[int | str, str]:
    """In a process of its own, with bytes that need not be UTF-8."""
    given = [os.fsencode(argument) for argument in arguments if "\x00" not in argument]  # no shell can give these
    try:
        done = subprocess.run(
            [sys.executable, "-m", "geogae", *given], stdin=subprocess.DEVNULL, capture_output=True, timeout=HANG
        )
    except subprocess.TimeoutExpired:
        return "hang", ""
    return done.returncode, done.stderr.decode(errors="replace")


def prepare(folder: Path) -> None:
    """What the words name."""
    folder.mkdir()
    graphs = datasets.load("MUTAG")[:12]
    formats.write(graphs, folder / "graphs.jsonl")
    (folder / "graphs.smi").write_text("CCO ethanol\nc1ccccc1O phenol\n")
    (folder / "preset.toml").write_text("dim = 3\nlatent_dim = 16\nsteps = 5\n")
    model = GeoGAE(dim=3, latent_dim=24, steps=20, descriptor=4).fit(graphs)
    model.fit_prior(graphs, prior="gaussian").save(folder / "model")
    np.save(folder / "z.npy", model.encode(graphs))


def command_lines(folder: Path, count: int, seed: int, *, processes: bool) -> tuple[dict[str, int], list[str]]:
    random, known = np.random.default_rng(seed), verbs()
    counts: Counter[str] = Counter()
    failures: list[str] = []
    names = list(known)
    prepare(folder / "whole")
    for number in range(count):
        os.chdir(folder)
        shutil.rmtree("here", ignore_errors=True)
        shutil.copytree("whole", "here")
        os.chdir("here")
        name = names[(number + seed) % len(names)]
        line = command_line(name, known[name], random)
        code, err = elsewhere(line) if processes else here(line)
        outcome = _outcome(code, err)
        counts[outcome] += 1
        if outcome not in ("valid", "error"):
            last = (err.strip().splitlines() or [""])[-1]
            failures.append(f"command line {line}: {code}: {last[:120]}")
    os.chdir(folder)
    return dict(counts), failures


def _outcome(code: int | str, err: str) -> str:
    if "Traceback" in err:
        return "traceback"
    if isinstance(code, str):
        return code.partition(":")[0]
    if code == 0:
        return "valid"
    said = err.strip().splitlines()
    one_line = code in (1, 2) and bool(said) and sum(line.startswith("error: ") for line in said) == 1
    return "error" if one_line else f"exit code {code} without one line"
