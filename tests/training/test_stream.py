"""The stream: the same epochs again, made ahead, by this process or another."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from toys import same

from geogae import Graph, datasets
from geogae.training import loop
from geogae.training.edits import Editor
from geogae.training.loop import Trainer, deterministic
from geogae.training.stream import EditedGraphs


class Degrees:
    """A source for tests: of each graph the number of its nodes and edges."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self.sizes = np.array([graph.n for graph in graphs])
        self.numbers = torch.tensor([[graph.n, len(graph.edges)] for graph in graphs], dtype=torch.float32)
        self.maker = os.getpid()

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, chosen: Sequence[int]) -> Tensor:
        return self.numbers[list(chosen)]


def stream(**how: object) -> EditedGraphs:
    editor = Editor(datasets.load("MUTAG")[:30], edits=5, seed=2)
    return EditedGraphs(editor, Degrees, **{"count": 12, "background": False, **how})  # type: ignore[arg-type]


def numbers(source: object) -> list[list[float]]:
    return source.numbers.tolist()  # type: ignore[attr-defined]


def test_epochs_are_the_same_again_and_differ_from_each_other() -> None:
    one, other = stream(), stream()
    forwards = [numbers(one.epoch(e)) for e in range(4)]
    backwards = [numbers(other.epoch(e)) for e in reversed(range(4))]
    assert forwards == backwards[::-1]
    assert len({str(epoch) for epoch in forwards}) == 4
    assert len(one) == 12 and len(one.sizes) == 30


def test_repeats() -> None:
    epochs = [numbers(stream(repeats=3).epoch(e)) for e in range(6)]
    assert epochs[0] == epochs[1] == epochs[2] != epochs[3] == epochs[4] == epochs[5]


def test_graphs_are_those_that_training_had() -> None:
    one = stream(repeats=2)
    had = [one.editor.copy(k) for k in range(2 * one.count)]  # two blocks
    assert [graph.n for graph in had] == [*one.epoch(0).sizes, *one.epoch(2).sizes]


def test_the_background_makes_the_same() -> None:
    with stream(background=True) as ahead:
        made = [ahead.epoch(e) for e in range(3)]
        assert [numbers(m) for m in made] == [numbers(stream().epoch(e)) for e in range(3)]
        assert made[0].maker != os.getpid() and ahead.core_seconds > 0  # type: ignore[attr-defined]
        assert list(ahead.ahead) == [3]  # one ahead, no more: memory is bounded
        assert numbers(ahead.epoch(0)) == numbers(made[0])  # after a recovery


@pytest.mark.slow
def test_a_dead_background_is_replaced(caplog: pytest.LogCaptureFixture) -> None:
    with stream(background=True) as ahead:
        ahead.epoch(0)
        assert ahead.pool is not None
        for process in ahead.pool._processes.values():  # type: ignore[attr-defined]
            os.kill(process.pid, signal.SIGKILL)
        ahead.ahead = {}
        assert [numbers(ahead.epoch(e)) for e in (1, 2)] == [numbers(stream().epoch(e)) for e in (1, 2)]
    assert "training makes them itself" in caplog.text


def trainer(run: Path | None = None, stops_at: int = -1) -> Trainer:
    """With ``stops_at`` somebody pulls the plug at that step."""
    with deterministic(0):
        model = nn.Linear(2, 2)
    steps = count(1)

    def loss(model: nn.Module, batch: Tensor, *_: object) -> dict[str, Tensor]:
        if next(steps) == stops_at:
            raise RuntimeError("no power")
        return {"total": (model(batch) / 20 - 1).square().mean()}

    return Trainer(
        model, stream(repeats=2), loss, lambda: {"f1": 0.5}, lr=0.01, batch_size=5, epochs=6, minutes=None,
        validations=2, run=run,
    )  # fmt: skip


def test_a_trainer_takes_a_stream_and_resumes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", -1.0)  # after every step
    whole = trainer()
    assert whole.run().step == 6 * 3
    with pytest.raises(RuntimeError, match="no power"):
        trainer(tmp_path, stops_at=11).run()  # within the second block, which the resumed run has to make again
    again = trainer(tmp_path)
    at = again.run(resume=True)
    assert (at.step, at.epoch) == (18, 6)
    assert same(again._snapshot()[0], whole._snapshot()[0])
