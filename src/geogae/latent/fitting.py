"""Fitting the network of a prior: Adam within a budget of core-minutes, averaged weights, checkpoints, early stop."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from geogae.errors import GeoGAEError
from geogae.progress import Meter
from geogae.training.checkpoint import load_checkpoint, save_checkpoint
from geogae.training.precision import bfloat16_pays

BATCH = 512
WARM = 100  # steps until Adam's full step is reached
SMOOTH = 0.998  # weights are averaged over about 1 / (1 - SMOOTH) steps
HELD_OUT, LEAST_HELD_OUT = 0.05, 8  # rows that choose when to stop
MOST_HELD_OUT = 4096
VALIDATIONS = 20
OPEN = 0.3  # share of training rows whose conditions are left open, each

Loss = Callable[[Any, list[Tensor], torch.Generator], Tensor]


def fit_network(
    network: nn.Module,
    data: list[Tensor],
    loss: Loss,
    *,
    core_minutes: float,
    rate: float,
    decay: float,
    seed: int,
    checkpoint: Path | None,
    resume: bool,
    progress: bool,
) -> list[dict[str, float]]:
    """Leave the weights that describe held-out rows best in the network; the history of their losses.

    ``loss`` takes the network, a batch of rows of all ``data`` and a source of random numbers.
    """
    trainer = Trainer(network, data, loss, core_minutes * 60, rate, decay, seed)
    if resume and checkpoint is not None and checkpoint.exists():
        trainer.restore(*load_checkpoint(checkpoint))
    return trainer.run(checkpoint, progress)


def opened(given: Tensor, generator: torch.Generator) -> Tensor:
    """Conditions (N, c) of which some are left open at random, as :func:`with_openness` writes them."""
    open_ = torch.rand(given.shape, generator=generator) < OPEN
    return with_openness(given, open_ | (torch.rand(len(given), 1, generator=generator) < OPEN))


def with_openness(values: Tensor, open_: Tensor) -> Tensor:
    """Conditions (N, c), zero where left open, and whether each is given; (N, 2c)."""
    return torch.cat([values.masked_fill(open_, 0), (~open_).float()], dim=1)


class Trainer:
    """All that decides the next step is in :meth:`held`."""

    def __init__(
        self, network: nn.Module, data: list[Tensor], loss: Loss, seconds: float, rate: float, decay: float, seed: int
    ) -> None:
        self.network, self.loss, self.seconds, self.rate, self.seed = network, loss, seconds, rate, seed
        self.settings = {"data": _digest(data), "rate": rate, "decay": decay, "seed": seed}
        self.average = copy.deepcopy(network)
        self.best = copy.deepcopy(network)
        self.best_loss = math.inf
        self.adam = torch.optim.AdamW(network.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=decay, fused=True)
        order = torch.randperm(len(data[0]), generator=torch.Generator().manual_seed(seed))
        count = min(round(HELD_OUT * len(order)), MOST_HELD_OUT)
        self.held_out = [part[order[:count]] for part in data] if count >= LEAST_HELD_OUT else data
        self.data = [part[order[count:]] for part in data] if count >= LEAST_HELD_OUT else data
        self.autocast = bfloat16_pays(torch.device("cpu"), BATCH)
        self.step, self.spent, self.history = 0, 0.0, list[dict[str, float]]()

    def run(self, checkpoint: Path | None, progress: bool) -> list[dict[str, float]]:
        begin, before = time.process_time(), self.spent
        validated = math.floor(before / self.seconds * VALIDATIONS)
        with Meter("prior", progress) as meter:
            while self.spent < self.seconds:
                loss = self._advance(self.spent / self.seconds)
                self.spent = before + time.process_time() - begin
                meter.show(min(1.0, self.spent / self.seconds), loss=loss)
                if (due := math.floor(self.spent / self.seconds * VALIDATIONS)) > validated or self.step == 1:
                    validated = due
                    self._validate()
                    if checkpoint is not None:
                        save_checkpoint(checkpoint, *self.held())
                    if self._overfits():
                        break
        self._validate()
        self.network.load_state_dict(self.best.state_dict())
        return self.history

    def _advance(self, done: float) -> float:
        """One step; what it depends on beside the weights is the number of the step."""
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.step)
        rows = torch.randint(len(self.data[0]), (min(BATCH, len(self.data[0])),), generator=generator)
        falling = 1.0 if done < 0.3 else 0.5 * (1 + math.cos(math.pi * min(1.0, (done - 0.3) / 0.7)))
        for group in self.adam.param_groups:
            group["lr"] = self.rate * min(1.0, (self.step + 1) / WARM) * falling
        with torch.autocast("cpu", torch.bfloat16, enabled=self.autocast):
            loss = self.loss(self.network, [part[rows] for part in self.data], generator)
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 5.0)
        self.adam.step()
        self.step += 1
        keep = min(SMOOTH, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            for average, current in zip(self.average.parameters(), self.network.parameters(), strict=True):
                average.lerp_(current, 1 - keep)
        return loss.item()

    @torch.inference_mode()
    def _validate(self) -> None:
        """With the same random numbers each time."""
        loss = float(self.loss(self.average, self.held_out, torch.Generator().manual_seed(self.seed)))
        self.history.append({"step": float(self.step), "seconds": round(self.spent, 1), "loss": loss})
        if loss < self.best_loss:
            self.best_loss = loss
            self.best.load_state_dict(self.average.state_dict())

    def _overfits(self) -> bool:
        """Whether held-out rows have been described worse than before for a quarter of the validations."""
        since = [row["loss"] > self.best_loss for row in self.history[-VALIDATIONS // 4 :]]
        return len(since) >= VALIDATIONS // 4 and all(since)

    def held(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors: dict[str, Tensor] = {}
        for name, part in (("network", self.network), ("average", self.average), ("best", self.best)):
            tensors |= {f"{name}.{key}": value.clone() for key, value in part.state_dict().items()}
        for number, moments in self.adam.state_dict()["state"].items():
            tensors |= {f"adam.{number}.{key}": torch.as_tensor(value) for key, value in moments.items()}
        facts = {"step": self.step, "spent": self.spent, "history": self.history, "best_loss": self.best_loss}
        return tensors, {**facts, "settings": self.settings}

    def restore(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        before = facts.get("settings")
        if differs := [k for k, v in self.settings.items() if not isinstance(before, dict) or before.get(k) != v]:
            raise GeoGAEError(
                f"the checkpoint is of a prior with other {', '.join(differs)}; resume with the same, or fit anew"
            )
        try:
            for name, part in (("network", self.network), ("average", self.average), ("best", self.best)):
                part.load_state_dict(
                    {k.removeprefix(f"{name}."): v for k, v in tensors.items() if k.startswith(f"{name}.")}
                )
            state: dict[int, dict[str, Tensor]] = {}
            for key, value in tensors.items():
                if key.startswith("adam."):
                    _, number, what = key.split(".")
                    state.setdefault(int(number), {})[what] = value
            self.adam.load_state_dict({**self.adam.state_dict(), "state": state})
            self.step, self.spent = int(facts["step"]), float(facts["spent"])
            self.history, self.best_loss = list(facts["history"]), float(facts["best_loss"])
        except (KeyError, RuntimeError, ValueError) as error:
            line = str(error).splitlines()[0]
            raise GeoGAEError(f"the checkpoint belongs to another prior ({line}); fit without resume") from None


def _digest(data: list[Tensor]) -> str:
    """Equal for equal numbers."""
    digest = blake2b(digest_size=16)
    for part in data:
        digest.update(str(tuple(part.shape)).encode() + part.contiguous().numpy().tobytes())
    return digest.hexdigest()
