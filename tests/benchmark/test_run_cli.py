"""`geogae benchmark run` as a user meets it, with nothing but the embedded MUTAG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from spies import InProcess

from geogae.benchmark import runner
from geogae.benchmark.methods import METHODS
from geogae.benchmark.results import read_results
from shell import Run

RESULTS = Path("benchmarks/results")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process."""
    monkeypatch.setattr(runner, "Worker", InProcess)


def files(folder: Path = Path()) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def facts(out: str) -> dict[str, str]:
    return dict(line.split(maxsplit=1) for line in out.splitlines())


def test_run_and_again(run: Run, here: None) -> None:
    asked = ("benchmark", "run", "--methods", "complete, star", "--seeds", "0,2", "--split", "both")
    code, out, err = run(*asked)
    assert code == 0
    assert facts(out) == {"done": "8", "failed": "0", "skipped": "0", "next": "geogae benchmark report"}
    notes = err.splitlines()
    assert len(notes) == 8 and notes[0].startswith("note: 1 of 8: MUTAG complete paper 0: F1 ")
    assert files(RESULTS) == ["MUTAG.jsonl", "test_reads.log"]
    before = (RESULTS / "MUTAG.jsonl").read_bytes()
    assert before.count(b"\n") == 8
    code, out, err = run(*asked)
    assert (code, facts(out)["skipped"], err) == (0, "8", "note: 8 of 8 runs have their result already\n")
    assert (RESULTS / "MUTAG.jsonl").read_bytes() == before
    assert run("benchmark", "report").code == 0


def test_all_that_are_not_trained_if_not_given(run: Run, here: None) -> None:
    code, out, _ = run("benchmark", "run", "--seeds", 1)
    untrained = {name for name, entry in METHODS.items() if not entry.trained}
    assert (code, facts(out)["done"]) == (0, str(len(untrained))) and "sequential" not in untrained
    assert {entry["method"] for entry in read_results(RESULTS)} == untrained


def test_sizes_changes_and_folders(run: Run, here: None) -> None:
    options = (
        "--sizes",
        "8,16",
        "--set",
        "order=axis",
        "--set",
        "dim=3",
        "--minutes",
        5,
        "--core-minutes",
        3,
        "--seeds",
        0,
    )
    code, *_ = run("benchmark", "run", "--methods", "linear", "--datasets", "mutag:40", *options, "--results", "mine")
    assert code == 0
    assert files(Path("mine")) == ["MUTAG-40.jsonl", "test_reads.log"]
    results = read_results(Path("mine"))
    assert [result["config"]["latent_dim"] for result in results] == [8, 16]
    assert results[1]["changes"] == {"dim": 3, "latent_dim": 16, "order": "axis"} and results[0]["sample"] == 40
    assert results[1]["scores"]["f1"] > results[0]["scores"]["f1"]


def test_data_that_is_not_there_ends_the_plan(run: Run, here: None) -> None:
    asked = ("benchmark", "run", "--methods", "complete", "--datasets", "AIDS,MUTAG", "--seeds", 0)
    code, _, err = run(*asked)
    assert code == 2 and "error: data set 'AIDS' is not in $GEOGAE_DATA" in err
    assert not (RESULTS / "AIDS.jsonl").exists()


def test_in_a_process_of_its_own(run: Run) -> None:
    code, out, _ = run("benchmark", "run", "--methods", "path", "--seeds", 0, "--threads", 1)
    assert (code, facts(out)["done"]) == (0, "1")
    [result] = read_results(RESULTS)
    assert result["error"] is None and result["threads"] == 1 and result["scores"]["f1"] > 0.5


BAD: dict[str, tuple[tuple[Any, ...], str]] = {
    "method": (("--methods", "path,nope"), f"method 'nope' is not known; valid are {', '.join(METHODS)}"),
    "split": (("--split", "random"), "--split 'random' is not known; valid are paper, disjoint, both"),
    "seeds": (("--seeds", "0..4"), "--seeds '0..4' must be numbers such as 0-4 or 0,2,5"),
    "no seeds": (("--seeds", ""), "--seeds '' must be numbers such as 0-4 or 0,2,5"),
    "sizes": (("--sizes", "8-"), "--sizes '8-' must be numbers such as 0-4 or 0,2,5"),
    "no data": (("--datasets", " , "), "--datasets names none; give names such as MUTAG,AIDS"),
    "sample": (("--datasets", "MUTAG:few"), "the sample in 'MUTAG:few' must be a whole number of graphs"),
    "parameter": (("--methods", "linear", "--set", "colour=red"), "'colour' is no parameter of linear; valid are"),
    "parameter of a baseline": (
        ("--methods", "path", "--set", "lr=1"),
        "a trivial baseline has no parameter lr; valid are dim, order",
    ),
    "too many seeds": (("--seeds", "0-99999999999"), "--seeds '0-99999999999' must be at most 10,000 numbers"),
    "no pair": (("--set", "dim"), "--set 'dim' must be NAME=VALUE"),
    "minutes": (("--methods", "sequential", "--minutes", 0), "minutes=0 must be a number, at least 0.001"),
    "endless": (("--methods", "sequential", "--minutes", "inf"), "minutes=inf must be a number, at least 0.001"),
    "core minutes": (
        ("--methods", "sequential", "--core-minutes", 0),
        "core_minutes=0 must be a number, at least 0.001, or None",
    ),
    "endless core minutes": (("--methods", "sequential", "--core-minutes", "inf"), "core_minutes=inf must be a number"),
    "jobs": (("--jobs", 0), "Invalid value for '--jobs'"),
    "threads": (("--threads", "all"), "Invalid value for '--threads'"),
}


@pytest.mark.parametrize(("options", "said"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line(run: Run, options: tuple[Any, ...], said: str) -> None:
    code, out, err = run("benchmark", "run", *options)
    assert (code, out) == (2, "") and err.startswith(f"error: {said}") and err.count("\n") == 1
    assert files() == []


def test_help_has_examples(run: Run) -> None:
    code, out, err = run("benchmark", "run", "--help")
    assert (code, err) == (0, "") and "Examples:\n    geogae benchmark run" in out
    assert "run" in run("benchmark", "--help").out
