"""A trainer so small that its every step can be watched: a linear map learns to give balls back as they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from geogae import HyperballCloud
from geogae.autoencoders.transformer.sequences import Batch, Sequences
from geogae.training.loop import Trainer, deterministic

TOY: dict[str, Any] = {"lr": 0.01, "batch_size": 4, "epochs": 5, "minutes": None, "validations": 5}


def toy_clouds(number: int = 18, seed: int = 0) -> list[HyperballCloud]:
    random = np.random.default_rng(seed)
    return [
        HyperballCloud(
            random.normal(size=(n, 2)).astype(np.float32),
            random.normal(size=n).astype(np.float32),
            random.permutation(n),
        )
        for n in random.integers(1, 9, number)
    ]


def mean_square(model: nn.Module, batch: Batch, *_: object) -> dict[str, Tensor]:
    loss = (model(batch.balls) - batch.balls).square().mean((1, 2)).mean()
    return {"total": loss, "half": loss.detach() / 2}


def noisy(model: nn.Module, batch: Batch, epoch: float, generator: torch.Generator, *_: object) -> dict[str, Tensor]:
    """As a variational model: what it learns depends on the generator, too."""
    noise = torch.randn(batch.balls.shape, generator=generator)
    return {"total": (model(batch.balls + 0.1 * noise) - batch.balls).square().mean()}


def strange(values: dict[int, float], loss: Callable[..., dict[str, Tensor]] = mean_square) -> Any:
    """A loss that is multiplied by ``values`` at some of its calls, counted from 1."""
    calls = count(1)

    def wrapped(*arguments: Any) -> dict[str, Tensor]:
        factor = values.get(next(calls), 1.0)
        return {name: part * factor for name, part in loss(*arguments).items()}

    return wrapped


def toy(
    run: Path | None = None, *, seed: int = 0, loss: Any = mean_square, scores: Any = None, **options: Any
) -> Trainer:
    """``scores`` are what the validations give; if there are none, better fits score higher."""
    with deterministic(seed):
        model = nn.Linear(3, 3)
    data = Sequences(toy_clouds())
    everything = data[list(range(len(data)))]
    given = iter(scores) if scores is not None else None

    def validate() -> dict[str, float]:
        return {"f1": next(given) if given else score(model, everything)}

    return Trainer(model, data, loss, validate, seed=seed, run=run, **{**TOY, **options})


@torch.no_grad()
def score(model: nn.Module, batch: Batch) -> float:
    return math.exp(-mean_square(model, batch)["total"].item())


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    """Bit for bit."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def timeless(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A history without what each run takes of its own: time."""
    return [{name: value for name, value in row.items() if name not in ("seconds", "core_seconds")} for row in rows]


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
