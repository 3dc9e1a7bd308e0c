"""The loop, watched on a toy: budgets, early stopping, the best weights, recovery, full disks, resuming."""

from __future__ import annotations

import itertools
import json
import logging
import math
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from test_checkpoint import full_disk
from toys import files, noisy, same, score, strange, timeless, toy

from geogae import GeoGAEError
from geogae.training import loop
from geogae.training.checkpoint import load_checkpoint, save_checkpoint
from geogae.training.loop import FLOOR, METRICS, RECOVERIES, STATE, WARMUP, deterministic, schedule

NAN = math.nan


def rows(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / METRICS).read_text().splitlines()]


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint after every step."""
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", -1.0)


# -- budgets and the best ---


def test_schedule() -> None:
    assert schedule(0) == pytest.approx(1 / 101)
    assert schedule(WARMUP / 2) == pytest.approx(51 / 101)
    assert schedule(WARMUP) == 1
    assert schedule((1 + WARMUP) / 2) == pytest.approx((1 + FLOOR) / 2)
    assert schedule(1) == pytest.approx(FLOOR)


def test_epochs_end_training() -> None:
    trainer = toy()
    at = trainer.run()
    assert (at.finished, at.epoch, at.cursor, at.step) == (True, 5, 0, 25)
    assert [row["step"] for row in at.history] == [5, 10, 15, 20, 25]
    assert [row["epoch"] for row in at.history] == [1, 2, 3, 4, 5]
    assert at.history[-1]["loss_half"] == pytest.approx(at.history[-1]["loss_total"] / 2)
    assert at.history[-1]["loss_total"] < at.history[0]["loss_total"]


@pytest.mark.parametrize("validations", [1, 3, 7, 25, 100])
def test_validations_are_spread_over_the_budget(validations: int) -> None:
    steps = [row["step"] for row in toy(validations=validations).run().history]
    assert steps == sorted({math.ceil(25 * k / validations) for k in range(1, validations + 1)})


def test_minutes_end_training(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10**6))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    at = toy(epochs=None, minutes=1.0).run()
    assert at.finished and at.seconds == at.step == 60
    assert [row["seconds"] for row in at.history] == [12, 24, 36, 48, 60]


def test_long_validations_do_not_eat_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def tick(seconds: float) -> float:
        now[0] += seconds
        return now[0]

    monkeypatch.setattr(time, "monotonic", lambda: tick(1))
    trainer = toy(epochs=None, minutes=1.0, validations=60)  # one a second, but each takes ten
    trainer.validate = lambda: {"f1": tick(10)}
    at = trainer.run()
    assert at.finished and at.seconds < 75


def work(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Processors that are asked how long they have worked say so many seconds more each time."""
    worked = itertools.count(100.0, seconds)
    monkeypatch.setattr(time, "process_time", lambda: next(worked))


def test_core_minutes_end_training(monkeypatch: pytest.MonkeyPatch) -> None:
    work(monkeypatch, 2)
    at = toy(epochs=None, core_minutes=1.0).run()
    assert at.finished and at.core_seconds == 2 * at.step == 60 and at.seconds < 30
    assert [row["core_seconds"] for row in at.history] == [12, 24, 36, 48, 60]
    assert [row["step"] for row in at.history] == [6, 12, 18, 24, 30]


def test_core_minutes_do_not_look_at_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work beside it, or a machine that sleeps, takes nothing from the budget."""
    clock = itertools.count(0.0, 3600.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    work(monkeypatch, 1)
    at = toy(epochs=None, core_minutes=0.5).run()
    assert (at.finished, at.core_seconds, at.step, at.seconds) == (True, 30, 30, 30 * 3600)


def test_core_minutes_set_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    work(monkeypatch, 30)
    trainer, seen = toy(epochs=None, core_minutes=2.0), list[float]()
    inner = trainer.loss
    trainer.loss = lambda *given: seen.append(trainer.optimizer.param_groups[0]["lr"]) or inner(*given)
    trainer.run()
    assert seen == pytest.approx([0.01 * loop.schedule(done) for done in (0, 0.25, 0.5, 0.75)])


def test_whichever_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    assert toy(epochs=1, minutes=60, core_minutes=60).run().step == 5
    assert toy(epochs=10**6, minutes=0.002, core_minutes=60).run().finished
    work(monkeypatch, 1)
    assert toy(epochs=10**6, minutes=60, core_minutes=0.1).run().step == 6


def test_no_end_is_an_error() -> None:
    with pytest.raises(GeoGAEError, match="training needs an end: give epochs, minutes or core_minutes"):
        toy(epochs=None, minutes=None)


def test_patience() -> None:
    at = toy(scores=[0.1, 0.5, 0.4, 0.5, 0.3], patience=2, validations=10, epochs=10).run()
    assert (at.finished, at.best, at.stale, len(at.history)) == (True, 0.5, 2, 4)


def test_the_best_weights_are_kept() -> None:
    trainer = toy(scores=[0.1, 0.7, 0.2, 0.7, 0.3])
    weights: list[dict[str, torch.Tensor]] = []
    validate = trainer.validate

    def remember() -> Any:
        weights.append({name: value.clone() for name, value in trainer.model.state_dict().items()})
        return validate()

    trainer.validate = remember
    at = trainer.run()
    assert at.best == 0.7 and same(dict(trainer.model.state_dict()), weights[1])  # the first of equals


def test_weights_are_kept_by_the_choice_if_there_is_one() -> None:
    calls: list[int] = []
    trainer = toy(keep_best=lambda: calls.append(trainer.at.step), patience=3)
    scores = iter([(0.9, 0.1), (0.1, 0.6), (0.8, 0.3), (1.0, 0.6), (0.2, 0.7)])
    trainer.validate = lambda: dict(zip(("f1", "choice"), next(scores), strict=True))
    at = trainer.run()
    assert calls == [5, 10, 25] and (at.best, at.stale) == (0.7, 0)
    assert [row["validation_f1"] for row in at.history] == [0.9, 0.1, 0.8, 1.0, 0.2]
    assert [row["validation_choice"] for row in at.history] == [0.1, 0.6, 0.3, 0.6, 0.7]


def test_keep_best_is_called_for_each_better_score(tmp_path: Path) -> None:
    calls: list[int] = []
    trainer = toy(tmp_path, scores=[0.2, 0.1, 0.3, 0.3, 0.4], keep_best=lambda: calls.append(trainer.at.step))
    trainer.run()
    assert calls == [5, 15, 25]
    assert rows(tmp_path) == trainer.at.history


def test_training_depends_on_the_seed_alone() -> None:
    def weights(seed: int) -> dict[str, torch.Tensor]:
        torch.rand(3)
        trainer = toy(seed=seed, loss=noisy)
        trainer.run()
        return dict(trainer.model.state_dict())

    assert same(weights(1), weights(1)) and not same(weights(1), weights(2))


def test_fresh_weights_leave_the_callers_generator() -> None:
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    with deterministic(0):
        torch.rand(9)
    assert torch.equal(torch.rand(2), expected)


# -- divergence ---


@pytest.mark.parametrize("value", [NAN, math.inf, 1e6])
def test_a_spike_is_answered_by_going_back(tmp_path: Path, caplog: pytest.LogCaptureFixture, value: float) -> None:
    trainer = toy(tmp_path, loss=strange({8: value}))
    at = trainer.run()
    assert (at.finished, at.recoveries, at.step_factor, at.step) == (True, 1, 0.5, 25)
    said = "the loss diverged at step 7: back to step 0 with 0.5 of the step size (1 of 3 recoveries)"
    assert [record.getMessage() for record in caplog.records] == [said]
    assert rows(tmp_path) == at.history == trainer.at.history
    assert [row["step"] for row in at.history] == [5, 5, 10, 15, 20, 25]  # what was measured stays
    everything = trainer.data[list(range(len(trainer.data)))]
    assert score(trainer.model, everything) == pytest.approx(at.best) == max(r["validation_f1"] for r in at.history)
    assert load_checkpoint(tmp_path / STATE)[1]["finished"]


def test_back_to_the_last_checkpoint(always: None, caplog: pytest.LogCaptureFixture) -> None:
    trainer = toy(loss=strange({8: NAN, 13: NAN}))
    at = trainer.run()
    assert (at.recoveries, at.step_factor, at.step) == (2, 0.25, 25)
    assert "at step 7: back to step 7 with 0.5 of" in caplog.text and "at step 11: back to step 11 with" in caplog.text


def test_the_clock_goes_on_after_a_recovery(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10**6))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    at = toy(epochs=None, minutes=0.5, loss=strange({20: NAN})).run()
    assert at.finished and at.seconds == 30 and at.step == 10
    assert [row["seconds"] for row in at.history] == [6, 12, 18, 24, 30]


def test_a_better_score_survives_a_recovery() -> None:
    trainer = toy(loss=strange({8: NAN}), scores=[0.9, 0.1, 0.2, 0.3, 0.4, 0.5])
    at = trainer.run()
    assert at.best == 0.9 == at.history[0]["validation_f1"] and at.stale == 5


def test_divergence_gives_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept: list[dict[str, torch.Tensor]] = []
    trainer = toy(tmp_path, loss=strange(dict.fromkeys(range(8, 100), NAN)))
    trainer.keep_best = lambda: kept.append({k: v.clone() for k, v in trainer.model.state_dict().items()})
    with pytest.raises(GeoGAEError, match=r"diverged at step 0 for the 4th time; lower lr=0.01 \(the best weights"):
        trainer.run()
    assert len(caplog.records) == RECOVERIES
    assert len(kept) == 1 and same(dict(trainer.model.state_dict()), kept[0])
    assert len(rows(tmp_path)) == 1


def test_it_does_not_give_up_while_scores_rise(always: None) -> None:
    spikes = dict.fromkeys((3, 9, 15, 21, 27), NAN)  # a validation every five steps
    at = toy(loss=strange(spikes), scores=[0.1, 0.2, 0.3, 0.4, 0.5]).run()
    assert (at.finished, at.recoveries, at.in_vain, at.step_factor, at.step) == (True, 5, 0, 2**-5, 25)
    with pytest.raises(GeoGAEError, match="for the 4th time"):
        toy(loss=strange(spikes), scores=[0.1, 0.1, 0.1, 0.1, 0.1]).run()


def test_a_loss_that_was_never_good() -> None:
    with pytest.raises(GeoGAEError, match="diverged at step 0 for the 4th time"):
        toy(loss=strange(dict.fromkeys(range(100), NAN))).run()


# -- full disks ---


def test_training_outlives_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, always: None
) -> None:
    trainer, fsync = toy(tmp_path), os.fsync
    steps: list[int] = []

    def sometimes_full(file: int) -> None:
        steps.append(trainer.at.step)
        full_disk() if 3 <= trainer.at.step < 20 else fsync(file)

    monkeypatch.setattr(os, "fsync", sometimes_full)
    trainer.run()
    assert steps == list(range(1, 26))
    assert [r.levelno for r in caplog.records] == [logging.WARNING] * 17
    assert "No space left on device" in caplog.text and "training continues, older files stay" in caplog.text
    assert load_checkpoint(tmp_path / STATE)[1]["step"] == 25
    assert files(tmp_path) == [METRICS, STATE]


def test_a_model_that_cannot_be_kept_costs_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def keep_best() -> None:
        raise GeoGAEError("cannot write model: No space left on device")

    assert toy(tmp_path, scores=[0.5] * 5, keep_best=keep_best).run().finished
    assert len(caplog.records) == 1 and "cannot write model" in caplog.text


def test_the_last_checkpoint_must_succeed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(os, "fsync", full_disk)
    trainer = toy(tmp_path, scores=[0.5, 0.1, 0.1, 0.1, 0.1])
    with pytest.raises(GeoGAEError, match=f"cannot write .*{STATE}: No space left on device"):
        trainer.run()
    assert same(dict(trainer.model.state_dict()), trainer.best_weights)  # nothing is lost for who holds the trainer
    assert files(tmp_path) == [METRICS]


# -- resuming ---


def stopped(run: Path, calls: int, **options: Any) -> loop.Trainer:
    """A trainer that a SIGINT hit in the middle of a step."""
    trainer = toy(run, **options)
    inner, seen = trainer.loss, iter(range(1, 1000))

    def interrupt(*arguments: Any) -> Any:
        if next(seen) == calls:
            os.kill(os.getpid(), signal.SIGINT)
        return inner(*arguments)

    trainer.loss = interrupt
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    return trainer


@pytest.mark.parametrize("calls", [1, 5, 7, 10, 24])
def test_an_interrupted_step_is_finished_and_resumed(
    tmp_path: Path, calls: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    stopped(tmp_path / "b", calls, loss=noisy)
    assert caplog.messages == [f"stopped at step {calls}; resume continues from there"]
    assert load_checkpoint(tmp_path / "b" / STATE)[1]["step"] == calls
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    whole, resumed = toy(tmp_path / "a", loss=noisy), toy(tmp_path / "b", loss=noisy)
    a, b = whole.run(), resumed.run(resume=True)
    assert same(dict(whole.model.state_dict()), dict(resumed.model.state_dict()))
    states = [load_checkpoint(tmp_path / name / STATE) for name in "ab"]
    assert same(states[0][0], states[1][0])
    assert timeless(a.history) == timeless(b.history)
    assert rows(tmp_path / "b") == b.history


def test_training_in_a_thread_leaves_signals_alone() -> None:
    trainer = toy()
    thread = threading.Thread(target=trainer.run)
    thread.start()
    thread.join()
    assert trainer.at.finished


def test_rows_after_the_checkpoint_come_again(tmp_path: Path) -> None:
    stopped(tmp_path, 12)
    with (tmp_path / METRICS).open("a") as file:
        file.write('{"step": 15}\n{"half a ro')
    trainer = toy(tmp_path)
    trainer.run(resume=True)
    assert [row["step"] for row in rows(tmp_path)] == [5, 10, 15, 20, 25]


def test_the_clock_goes_on_after_a_resume(tmp_path: Path) -> None:
    before = stopped(tmp_path, 12).at.seconds
    trainer = toy(tmp_path)
    trainer._resume()
    assert trainer.at.seconds == before > 0


def test_core_minutes_go_on_after_a_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    budget: dict[str, Any] = {"epochs": None, "core_minutes": 1.0}
    work(monkeypatch, 4)
    assert stopped(tmp_path, 5, **budget).at.core_seconds == 20
    assert load_checkpoint(tmp_path / STATE)[1]["core_seconds"] == 20
    work(monkeypatch, 2)  # another process, which counts from zero
    at = toy(tmp_path, **budget).run(resume=True)
    assert (at.finished, at.core_seconds, at.step) == (True, 60, 5 + 20)
    assert (
        [row["core_seconds"] for row in at.history]
        == [12, 24, 36, 48, 60]
        == [row["core_seconds"] for row in rows(tmp_path)]
    )
    assert toy(tmp_path, **budget).run(resume=True).step == 25  # it is used up …
    assert toy(tmp_path, epochs=None, core_minutes=2.0).run(resume=True).core_seconds == 120  # … until there is more


def test_a_recovery_gives_no_core_minutes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    work(monkeypatch, 3)
    at = toy(epochs=None, core_minutes=1.0, loss=strange({4: NAN})).run()
    assert (at.recoveries, at.core_seconds, at.step) == (1, 60, 16)  # 4 of 20 batches for nothing


def test_recoveries_are_remembered(tmp_path: Path) -> None:
    stopped(tmp_path, 15, loss=strange({3: NAN, 6: NAN}))
    at = toy(tmp_path, loss=strange({2: NAN})).run(resume=True)
    assert (at.recoveries, at.step_factor) == (3, 0.125)


def test_a_finished_run_stays_finished(tmp_path: Path) -> None:
    first = toy(tmp_path)
    first.run()
    again = toy(tmp_path, loss=strange(dict.fromkeys(range(100), NAN)))  # would not survive a step
    at = again.run(resume=True)
    assert at.history == first.at.history == rows(tmp_path)
    assert same(dict(first.model.state_dict()), dict(again.model.state_dict()))


def test_a_finished_run_goes_on_with_a_larger_budget(tmp_path: Path) -> None:
    toy(tmp_path).run()
    at = toy(tmp_path, epochs=10).run(resume=True)
    assert at.finished and at.step == 50
    assert [row["step"] for row in at.history] == [5, 10, 15, 20, 25, 30, 40, 50]


def test_a_stopped_run_with_a_smaller_budget_is_still_validated(tmp_path: Path) -> None:
    stopped(tmp_path, 12, validations=1)
    at = toy(tmp_path, epochs=1, validations=1).run(resume=True)
    assert at.finished and len(at.history) == 1


@pytest.mark.parametrize("change", [{"lr": 0.02}, {"batch_size": 2}, {"weight_decay": 0.1}, {"seed": 1}])
def test_other_parameters_do_not_resume(tmp_path: Path, change: dict[str, Any]) -> None:
    toy(tmp_path).run()
    with pytest.raises(GeoGAEError, match=f"was started with other {next(iter(change))}; resume with the same"):
        toy(tmp_path, **change).run(resume=True)


def test_another_model_does_not_resume(tmp_path: Path) -> None:
    toy(tmp_path).run()
    other = toy(tmp_path)
    other.model = torch.nn.Linear(3, 2)
    with pytest.raises(GeoGAEError, match="is of another model") as error:
        other.run(resume=True)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "change",
    [{"step": "x"}, {"step": -1}, {"epoch": None}, {"finished": 2}, {"seconds": []}, {"history": 3},
     {"history": [{}]}, {"history": [4]}, {"best": "high"}, {"wings": 2}, {"settings": 5}],
)  # fmt: skip
def test_facts_that_are_none(tmp_path: Path, change: dict[str, Any]) -> None:
    toy(tmp_path).run()
    tensors, facts = load_checkpoint(tmp_path / STATE)
    save_checkpoint(tmp_path / STATE, tensors, facts | change)
    with pytest.raises(GeoGAEError, match=r"is of another model|has no settings") as error:
        toy(tmp_path).run(resume=True)
    assert "\n" not in str(error.value)


def test_seconds_between_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEOGAE_CHECKPOINT_SECONDS", "0")
    written = []
    monkeypatch.setattr(loop, "save_checkpoint", lambda *_: written.append(0))
    steps = toy(tmp_path).run().step
    assert len(written) == steps > 3
    for wrong in ("x", "-1", "nan", "inf"):
        monkeypatch.setenv("GEOGAE_CHECKPOINT_SECONDS", wrong)
        with pytest.raises(GeoGAEError, match=f"GEOGAE_CHECKPOINT_SECONDS='{wrong}' must be a number of seconds"):
            toy(tmp_path).run()


def test_nothing_to_resume(tmp_path: Path) -> None:
    with pytest.raises(GeoGAEError, match=f"nothing to resume in .*: no {STATE}; start without resume"):
        toy(tmp_path).run(resume=True)
    (tmp_path / STATE).write_bytes(b"cut")
    with pytest.raises(GeoGAEError, match="is not a whole geogae checkpoint"):
        toy(tmp_path).run(resume=True)


def test_a_fresh_start_forgets_the_run_before(tmp_path: Path) -> None:
    toy(tmp_path).run()
    with pytest.raises(ZeroDivisionError):
        toy(tmp_path, loss=lambda *_: 1 / 0).run()
    assert files(tmp_path) == []
