"""A plan as it is run: what is measured and written, what fails, what a restart does, and workers that die."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from spies import InProcess, Spy, blocked, dead, entry, one, serve

from geogae import Graph, datasets, metrics
from geogae.benchmark import runner
from geogae.benchmark.folds import TEST_READS, unseen
from geogae.benchmark.measurement import measure
from geogae.benchmark.methods import METHODS
from geogae.benchmark.plan import Run
from geogae.benchmark.results import check, read_file, run_of
from geogae.benchmark.runner import run_plan
from geogae.errors import GeoGAEError
from geogae.training.loop import STATE, Trainer

TINY = {"token_dim": 16, "latent_dim": 32, "encoder_hidden": 32, "encoder_layers": 1, "encoder_heads": 2}
TINY |= {"decoder_hidden": 32, "decoder_layers": 1, "passes": 1, "batch_size": 16, "validations": 2, "epochs": 2}


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A method that becomes known as ``spy``."""

    def put(method: Any) -> Run:
        monkeypatch.setitem(METHODS, "spy", entry(method))
        return one("spy")

    return put


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """Runs are measured in this process, and remembered."""
    done: list[Run] = []

    class Remembering(InProcess):
        def measure(self, run: Run, *rest: Any) -> dict[str, Any]:
            done.append(run)
            return super().measure(run, *rest)

    monkeypatch.setattr(runner, "Worker", Remembering)
    return done


def go(runs: list[Run], folder: Path, **options: Any) -> dict[str, int]:
    return run_plan(runs, folder / "results", folder / "work", **{"threads": 1, **options})


def result_of(run: Run, folder: Path) -> dict[str, Any]:
    return read_file(run.file(folder / "results"))[run]


def strictly(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# -- what is measured ---


def test_fitting_never_sees_test_graphs(tmp_path: Path, spy: Any) -> None:
    seen: list[tuple[str, set[str | None], int]] = []

    def watch(step: str, graphs: list[Graph]) -> None:
        read = (tmp_path / TEST_READS).read_text().count("\n") if (tmp_path / TEST_READS).exists() else 0
        seen.append((step, {graph.name for graph in graphs}, read))

    result = measure(spy(Spy(watch)), tmp_path, tmp_path)
    train, validation, test = ({g.name for g in part} for part in datasets.split(datasets.load("MUTAG"), 0))
    assert seen == [("fit", train | validation, 0), *((step, test, 1) for step in ("read", "encode", "decode"))]
    assert not (train | validation) & test and result["graphs"]["test"] == 28


def test_scores_by_hand(tmp_path: Path) -> None:
    """All graphs complete: 2 E / (E + n(n-1)/2)."""
    result = measure(one("complete", seed=3), tmp_path, tmp_path)
    test = datasets.split(datasets.load("MUTAG"), 3)[2]
    f1 = [2 * len(g.edges) / (len(g.edges) + g.n * (g.n - 1) / 2) for g in test]
    assert result["scores"]["exact"] == result["scores"]["size_error"] == 0
    assert result["scores"]["f1"] == pytest.approx(np.average(f1, weights=[g.n for g in test]))
    new = np.array(unseen(one(seed=3)))
    expected = np.average(np.array(f1)[new], weights=np.array([g.n for g in test])[new])
    assert result["scores"]["f1_unseen"] == pytest.approx(expected) and result["graphs"]["unseen"] == new.sum() > 0
    facts = [result[name] for name in ("side_information", "not_encoded", "error", "config")]
    assert facts == [["size"], 0, None, {}]


OWN_TESTS = ("sequential-edits", "pigvae", "regae", "grale")  # trained methods that are measured in files of their own


@pytest.mark.parametrize("name", [name for name in METHODS if not name.startswith(OWN_TESTS)])
def test_every_method(name: str, tmp_path: Path) -> None:
    changes = {"sequential": TINY, "sequential-attributes": TINY | {"encoder_layers": 2}}.get(name, {})
    run = one(name, sample=40, changes=changes)
    result = measure(run, tmp_path / "results", tmp_path / "work")
    assert result["error"] is None and run_of(result) == run
    dressed = name == "nearest" or name.endswith("-attributes")  # give back graphs with attributes
    of_attributes = {"node_f1", "edge_f1", "whole"} if dressed else set()  # MUTAG has no numbers
    of_unseen = {"f1_unseen", "exact_unseen", "size_error_unseen"}
    assert result["scores"].keys() == metrics.evaluate([Graph(1)], [Graph(1)]).keys() | of_attributes | of_unseen
    assert 0 <= result["scores"]["f1"] <= 1 and result["graphs"]["test"] == 6
    assert result["seconds"].keys() == {"compile", "fit", "read", "encode", "decode", "wall", "cpu"}
    assert 0 <= result["seconds"]["fit"] <= result["seconds"]["wall"] and result["peak_gib"] > 0.01
    trained = {"sequential": [2, 4], "refined": [0]}
    steps = trained.get(name.removesuffix("-attributes"), [0] * name.count("linear"))
    assert [row["step"] for row in result["history"]] == steps
    assert strictly(json.dumps(result)) == result


def test_graphs_that_a_method_cannot_carry_are_lost(tmp_path: Path, spy: Any) -> None:
    method = Spy()
    method.max_nodes = 17
    encoded: list[int] = []
    method.watch = lambda step, graphs: encoded.extend(graph.n for graph in graphs if step == "encode")
    result = measure(spy(method), tmp_path, tmp_path)
    nodes = np.array([graph.n for graph in datasets.split(datasets.load("MUTAG"), 0)[2]])
    lost = nodes > 17
    assert result["not_encoded"] == lost.sum() > 0 and max(encoded) <= 17 and len(encoded) == (~lost).sum()
    assert result["scores"]["exact"] == (~lost).mean() and result["scores"]["size_error"] == (nodes * lost).mean()
    assert result["scores"]["f1"] == pytest.approx(nodes[~lost].sum() / nodes.sum())
    method.max_nodes = 1
    assert measure(one("spy"), tmp_path, tmp_path)["scores"]["f1"] == 0


# -- what fails ---


@pytest.mark.parametrize("step", ["fit", "read", "encode", "decode"])
def test_an_exception_is_a_result(step: str, tmp_path: Path, spy: Any, capfd: pytest.CaptureFixture[str]) -> None:
    def fail(now: str, graphs: list[Graph]) -> None:
        if now == step:
            raise ValueError("boom\nand more")

    result = measure(spy(Spy(fail)), tmp_path, tmp_path)
    assert result["error"] == "ValueError: boom\nand more" and "scores" not in result and run_of(result) == one("spy")
    assert result["seconds"].keys() == {"wall", "cpu"} and result["peak_gib"] > 0
    assert "in fail" in capfd.readouterr().err  # where it happened


@pytest.mark.parametrize("memory", [MemoryError(), RecursionError("deep"), StopIteration()])
def test_any_exception(memory: Exception, tmp_path: Path, spy: Any) -> None:
    def fail(*_: Any) -> None:
        raise memory

    assert measure(spy(Spy(fail)), tmp_path, tmp_path)["error"] == f"{type(memory).__name__}: {memory}"


def test_graphs_that_are_not_there_are_no_result(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    line = "MUTAG:200 asks for more than its 188 graphs; ask for fewer"
    assert measure(one(sample=200), tmp_path, tmp_path) == {"unavailable": line}
    assert capfd.readouterr().err == ""


def test_ctrl_c_is_no_result(tmp_path: Path, spy: Any) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(spy(Spy(interrupt)), tmp_path, tmp_path)


def test_nan_is_a_failure(tmp_path: Path, spy: Any, monkeypatch: pytest.MonkeyPatch, measured: list[Run]) -> None:
    """In the scores or anywhere else; what no file can hold is one, too."""
    run = spy(Spy(lost=float("nan")))
    assert go([run], tmp_path) == {"done": 0, "failed": 1, "skipped": 0}
    result = strictly(run.file(tmp_path / "results").read_text())
    assert result["error"].startswith("ValueError: Out of range float values") and "scores" not in result
    assert measure(spy(Spy(model=object())), tmp_path, tmp_path)["error"].startswith("TypeError: Object of type object")
    evaluate = metrics.evaluate
    monkeypatch.setattr(metrics, "evaluate", lambda *graphs: {**evaluate(*graphs), "f1": float("nan")})
    assert measure(spy(Spy()), tmp_path, tmp_path)["error"].startswith("scores are not finite: {'f1': nan")


@pytest.mark.parametrize("count", [0, 27, 29])
def test_as_many_graphs_come_back_as_went_in(count: int, tmp_path: Path, spy: Any) -> None:
    method = Spy()
    method.decode = lambda codes: [Graph(1)] * count  # type: ignore[method-assign]
    assert measure(spy(method), tmp_path, tmp_path)["error"] == f"spy gave back {count} graphs for 28"


# -- the plan ---


def test_one_line_for_each_run(tmp_path: Path, measured: list[Run]) -> None:
    runs = [one(method, seed, split=split) for method in ("complete", "star") for seed in (0, 1)
            for split in ("paper", "disjoint")]  # fmt: skip
    assert go(runs, tmp_path, jobs=3) == {"done": 8, "failed": 0, "skipped": 0}
    assert files(tmp_path / "results") == ["MUTAG.jsonl", TEST_READS]
    assert len((tmp_path / "results" / TEST_READS).read_text().splitlines()) == 8
    lines = [strictly(line) for line in (tmp_path / "results" / "MUTAG.jsonl").read_text().splitlines()]
    assert {run_of(line) for line in lines} == set(runs) and len(lines) == 8
    for result in lines:
        check(result)
        assert {"config", "scores", "commit", "modified", "when", "command", "peak_gib"} < result.keys()
        assert {"python", "geogae", "torch", "numpy"} < result["versions"].keys() and result["threads"] == 1
        assert result["machine"].keys() == {"processor", "cores", "system"} and result["machine"]["cores"] >= 1


def test_a_restart_skips_what_is_done(
    tmp_path: Path, measured: list[Run], caplog: pytest.LogCaptureFixture, spy: Any
) -> None:
    caplog.set_level("INFO")
    runs = [one("complete"), spy(Spy(lost=float("nan"))), one("star")]
    assert go(runs[:2], tmp_path) == {"done": 1, "failed": 1, "skipped": 0}
    before = {run: result_of(run, tmp_path) for run in runs[:2]}
    assert go(runs, tmp_path) == {"done": 1, "failed": 0, "skipped": 2}
    assert measured == [runs[0], runs[1], runs[2]]
    assert {run: result_of(run, tmp_path) for run in runs[:2]} == before
    assert "2 of 3 runs have their result already" in caplog.messages
    assert any(line.startswith("3 of 3: MUTAG star paper 0: F1 ") for line in caplog.messages)
    assert go(runs, tmp_path) == {"done": 0, "failed": 0, "skipped": 3} and len(measured) == 3


def test_retry_runs_again_what_failed(tmp_path: Path, measured: list[Run], spy: Any) -> None:
    runs = [one("complete"), spy(Spy(lost=float("nan")))]
    assert go(runs, tmp_path)["failed"] == 1
    assert go(runs, tmp_path, retry=True) == {"done": 0, "failed": 1, "skipped": 1}
    spy(Spy())
    assert go(runs, tmp_path, retry=True) == {"done": 1, "failed": 0, "skipped": 1}
    assert go(runs, tmp_path, retry=True)["skipped"] == 2 and measured == [*runs, runs[1], runs[1]]
    assert result_of(runs[1], tmp_path)["scores"]["exact"] == 1


def test_again_runs_what_is_of_another_commit(
    tmp_path: Path, measured: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = {"commit": "aaa1111", "modified": False, "when": "2026-01-01T00:00:00Z", "versions": {}}
    monkeypatch.setattr(runner, "provenance", lambda: dict(origin))
    runs = [one("complete"), one("star")]
    assert go(runs[:1], tmp_path)["done"] == 1
    origin["commit"] = "bbb2222"
    assert go(runs, tmp_path, again=True) == {"done": 2, "failed": 0, "skipped": 0}
    assert go(runs, tmp_path, again=True)["skipped"] == 2 and go(runs, tmp_path)["skipped"] == 2
    assert [result_of(run, tmp_path)["commit"] for run in runs] == ["bbb2222"] * 2
    assert len((tmp_path / "results" / "MUTAG.jsonl").read_text().splitlines()) == 3
    origin["modified"] = True
    assert go(runs, tmp_path, again=True)["done"] == 2


def test_times_say_what_was_cached_and_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spy: Any) -> None:
    monkeypatch.setenv("GEOGAE_CACHE", str(tmp_path / "cache"))
    first, second = (measure(one("path", sample=40), tmp_path, tmp_path) for _ in range(2))
    assert first["clouds"]["small"] + first["clouds"]["fitted"] > 0 == second["clouds"]["fitted"]

    def compiles(step: str, graphs: list[Graph]) -> None:
        if step == "fit":
            numba.njit(lambda x: np.sort(x) + 1)(np.ones(3))

    result = measure(spy(Spy(compiles)), tmp_path, tmp_path)
    assert result["seconds"]["compile"] > 10 * result["seconds"]["fit"] and set(result["clouds"].values()) == {0}
    assert not logging.getLogger("geogae.clouds").isEnabledFor(logging.DEBUG)


FOREIGN = {
    "half": '{"format": 2, "method": "comp',
    "another kind": "[1, 2]",
    "another program's": '{"name": "package", "version": "1.0"}',
    "another format": '{"format": 1}',
    "without scores": '{"format": 2, "method": "complete", "changes": {}, "dataset": "MUTAG", "error": null}',
}


@pytest.mark.parametrize("retry", [False, True])
@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_a_line_that_is_no_result_is_named_and_the_run_is_done(
    content: str, retry: bool, tmp_path: Path, measured: list[Run], caplog: pytest.LogCaptureFixture
) -> None:
    path = one().file(tmp_path / "results")
    path.parent.mkdir(parents=True)
    path.write_text(content)
    assert go([one()], tmp_path, retry=retry) == {"done": 1, "failed": 0, "skipped": 0}
    [said] = caplog.messages
    assert said.startswith(f"{path}, line 1: ") and said.endswith("; ignored") and "\n" not in said
    assert result_of(one(), tmp_path)["error"] is None and path.read_text().startswith(content + "\n")


def test_a_place_that_cannot_be_written(tmp_path: Path, measured: list[Run]) -> None:
    (tmp_path / "results").touch()
    with pytest.raises(GeoGAEError, match=r"cannot (read|write) "):
        go([one()], tmp_path)


def test_an_interrupted_training_goes_on(tmp_path: Path, measured: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    run, step = one("sequential", changes=TINY, sample=60), Trainer._step
    steps: list[int] = []

    def interrupted(trainer: Trainer) -> Any:
        steps.append(trainer.at.step)
        if len(steps) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return step(trainer)

    monkeypatch.setattr(Trainer, "_step", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            measure(run, tmp_path / "results", tmp_path / "work" / "MUTAG-60" / run.label / "paper-0")
    finally:
        signal.signal(signal.SIGINT, before)
    assert not (tmp_path / "results").exists() and [path.name for path in tmp_path.rglob(STATE)] == [STATE]
    assert go([run], tmp_path)["done"] == 1
    assert steps == list(range(6))  # none twice
    whole = measure(run, tmp_path / "other", tmp_path / "afresh")
    assert result_of(run, tmp_path)["scores"] == whole["scores"] and len(steps) == 12


# -- workers ---


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that need not import everything first."""
    monkeypatch.setattr(runner, "START", "fork")


@pytest.fixture
def ignoring() -> Iterator[None]:
    """As in the background of a shell script."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_worker_that_is_killed_is_a_result_and_the_next_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ignoring: None, forked: None
) -> None:
    monkeypatch.setattr(runner, "_serve", serve)
    monkeypatch.setattr(runner, "SAVING", 600.0)
    runs, began = [one("killed"), one("complete"), one("star")], time.monotonic()
    assert go(runs, tmp_path) == {"done": 2, "failed": 1, "skipped": 0}
    assert time.monotonic() - began < runner.SAVING  # a worker that has nothing to do is not waited for
    killed, complete, _ = (result_of(run, tmp_path) for run in runs)
    assert killed["error"] == "the process ended with SIGKILL" and run_of(killed) == runs[0]
    assert killed["seconds"]["wall"] > 0 and killed["threads"] == 1 and "scores" not in killed
    here = measure(runs[1], tmp_path, tmp_path)
    assert complete["scores"] == here["scores"]


def test_a_worker_that_dies_before_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forked: None) -> None:
    monkeypatch.setattr(runner, "_serve", dead)
    assert go([one()], tmp_path) == {"done": 0, "failed": 1, "skipped": 0}
    assert result_of(one(), tmp_path)["error"] == "the process ended with exit code 3"


def test_ctrl_c_does_not_hit_the_imports_of_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_serve", blocked)
    assert runner.Worker().measure(one(), tmp_path, tmp_path, 1) == {"blocked": True}
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_an_idle_worker_ignores_ctrl_c_and_a_busy_one_ends_quietly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], forked: None
) -> None:
    monkeypatch.setattr(runner, "_serve", serve)
    worker = runner.Worker()
    assert worker.measure(one(), tmp_path, tmp_path, 1)["error"] is None
    assert worker.process and worker.process.pid
    first = worker.process
    os.kill(worker.process.pid, signal.SIGINT)
    with ThreadPoolExecutor(1) as pool:
        asleep = pool.submit(worker.measure, one("asleep"), tmp_path, tmp_path, 1)
        out = ""
        while "asleep" not in out:
            time.sleep(0.05)
            out += capfd.readouterr().out
        assert worker.process is first  # it lives
        worker.stop(interrupt=True)
        assert asleep.result()["error"] == "the process ended with exit code 0"
    assert capfd.readouterr().err == ""


def test_a_plan_that_is_done_interrupts_nobody(tmp_path: Path) -> None:
    """Two workers end by themselves, without a word."""
    command = [sys.executable, "-m", "geogae", "benchmark", "run", "--methods", "complete", "--seeds", "0-1"]
    done = subprocess.run(
        [*command, "--jobs", "2", "--threads", "1"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0 and all(line.startswith("note: ") for line in done.stderr.splitlines()), done.stderr


DEFAULT_SESSION = """
from pathlib import Path
from geogae.benchmark import runner
from spies import one, serve
runner._serve = serve
runner.Worker().measure(one("asleep"), Path("results"), Path("work"), 1)
"""


def test_a_worker_does_not_outlive_a_killed_plan(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", DEFAULT_SESSION],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
    )
    assert process.stdout and process.stdout.readline() == "asleep\n"  # the worker's, which holds the pipe open
    process.kill()
    process.communicate(timeout=30)
