"""The training loop: AdamW or Muon, warm-up and cosine, clipping, validation by real decoding, checkpoints."""

from __future__ import annotations

import json
import logging
import math
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import torch
from torch import Tensor, nn

from geogae.errors import GeoGAEError
from geogae.files import atomic_path
from geogae.progress import Meter
from geogae.training.batches import Source, Stream, epoch_batches
from geogae.training.checkpoint import load_checkpoint, parts_of, prefixed, save_checkpoint
from geogae.training.distributed import Processes
from geogae.training.optimizer import Muon

log = logging.getLogger("geogae")

WARMUP = 0.02  # share of the budget in which the step grows to its full size
FLOOR = 0.02  # share of the step that is left at the end
BETAS = (0.9, 0.99)
RECOVERIES = 3  # returns to the last good state, each with half the step, without a new best score between them
DIVERGED = 100.0  # a loss this many times its own recent average counts as divergence
CHECKPOINT_SECONDS = 60.0  # between checkpoints, unless $GEOGAE_CHECKPOINT_SECONDS says otherwise

OPTIMIZERS: dict[str, type[torch.optim.AdamW]] = {"adamw": torch.optim.AdamW, "muon": Muon}

STATE, METRICS = "state.safetensors", "metrics.jsonl"  # in the run folder


@dataclass
class Progress:
    """Where training stands: all of it that is not a tensor."""

    step: int = 0
    epoch: int = 0
    cursor: int = 0  # batches done of this epoch
    seconds: float = 0.0  # by the clock
    core_seconds: float = 0.0  # of processor time, over all threads
    best: float = -math.inf
    stale: int = 0  # validations since the best one
    step_factor: float = 1.0  # halved by each recovery
    recoveries: int = 0
    in_vain: int = 0  # recoveries since the best validation
    average: float = math.nan  # of the loss, recent
    finished: bool = False
    history: list[dict[str, Any]] = field(default_factory=list)


Average = Callable[[Tensor], Tensor]
Loss = Callable[[nn.Module, Any, float, torch.Generator, Average], dict[str, Tensor]]  # of a batch: "total", its parts


class Trainer:
    """Trains a model to the end of its budget; :meth:`run` leaves the weights with the best validation score in it.

    The model and its batches can be of any kind: a batch of ``data`` goes to ``loss``, the loop follows the gradient.
    """

    def __init__(
        self,
        model: nn.Module,
        data: Source | Stream,
        loss: Loss,
        validate: Callable[[], Mapping[str, float]],
        *,
        lr: float,
        batch_size: int,
        optimizer: str = "adamw",
        epochs: int | None,
        minutes: float | None,
        core_minutes: float | None = None,
        validations: int = 20,
        patience: int | None = None,
        weight_decay: float = 0.0,
        clip: float = 1.0,
        autocast: bool = False,
        seed: int = 0,
        run: Path | None = None,
        keep_best: Callable[[], None] = lambda: None,
        peers: Processes | None = None,
        progress: bool = False,
    ) -> None:
        if epochs is None and minutes is None and core_minutes is None:
            raise GeoGAEError("training needs an end: give epochs, minutes or core_minutes")
        self.model, self.data, self.loss, self.validate = model, data, loss, validate
        self.lr, self.batch_size = lr, batch_size
        self.epochs, self.minutes, self.core_minutes = epochs, minutes, core_minutes
        self.validations, self.patience, self.clip, self.autocast = validations, patience, clip, autocast
        self.seed, self.run_folder, self.keep_best, self.show = seed, run, keep_best, progress
        self.peers = peers or Processes()
        self.settings: dict[str, Any] = {"lr": lr, "batch_size": batch_size, "weight_decay": weight_decay, "seed": seed}
        self.settings |= {"optimizer": optimizer}
        self.settings |= {"graphs": len(data), "nodes": int(data.sizes.sum())}
        self.device = next(model.parameters()).device
        self.wrapped = self.peers.wrap(model)
        self.optimizer = OPTIMIZERS[optimizer](
            model.parameters(), lr=lr, betas=BETAS, weight_decay=weight_decay, fused=True
        )
        self.generator = torch.Generator(self.device).manual_seed(seed + self.peers.rank)
        self.at = Progress()
        self.best_weights: dict[str, Tensor] = _copy(model.state_dict())
        self.epoch_of: Callable[[int], Source] = data.epoch if isinstance(data, Stream) else lambda epoch: data
        self.source: Source | None = None  # of this epoch
        self.batches: list[list[int]] = []
        self.batches_of = -1  # the epoch that they are of
        self.steps_per_epoch = math.ceil(len(data) / batch_size)

    # -- the loop ---------------------------------------------------------------------------------------------------

    def run(self, resume: bool = False) -> Progress:
        """Train to the end, or from the last checkpoint on; Ctrl-C loses nothing, a kill at most a minute."""
        every = _checkpoint_seconds()
        if resume:
            self._resume()
        elif self.run_folder and self.peers.writes:  # of an earlier run
            (self.run_folder / METRICS).unlink(missing_ok=True)
            (self.run_folder / STATE).unlink(missing_ok=True)
        began, core_began = time.monotonic() - self.at.seconds, self._core_time() - self.at.core_seconds
        saved, good = self.at.seconds, self._snapshot()
        next_validation = self._next_validation()
        try:
            with Meter("training", self.show and self.peers.writes) as meter, _interrupts() as interrupted:
                while not self.at.finished:
                    at = self.at
                    parts = self._step()
                    at.seconds = self.peers.agreed(time.monotonic() - began)  # all decide by the same clock
                    at.core_seconds = self.peers.agreed(self._core_time() - core_began)
                    if parts is None:
                        good = self._recover(good)
                        next_validation = self._next_validation()
                        continue
                    done = self._done()
                    meter.show(done, epoch=at.epoch, best=at.best, **parts)
                    if done >= next_validation or done >= 1:
                        self._validate(parts)
                        next_validation = self._next_validation()
                        at.finished = done >= 1 or self._stale()
                    stop = not at.finished and self.peers.any(interrupted())
                    if at.finished or stop or at.seconds - saved > every:
                        good, saved = self._snapshot(), at.seconds
                        self._write(partial(self._save, *good), last=at.finished or stop)
                    if stop:
                        log.info("stopped at step %d; resume continues from there", at.step)
                        raise KeyboardInterrupt
        finally:
            self.model.load_state_dict(self.best_weights)
        return self.at

    def _step(self) -> dict[str, float] | None:
        """One batch; None if the loss or the gradient is not finite, or the loss diverges."""
        at = self.at
        if self.source is None or self.batches_of != at.epoch:
            self.source = self.epoch_of(at.epoch)
            self.batches = epoch_batches(self.source.sizes, self.batch_size, self.seed, at.epoch)
            self.batches_of = at.epoch
        chosen = self.batches[at.cursor]
        batch = self.source[self.peers.share(chosen)].to(self.device)
        for group in self.optimizer.param_groups:
            group["lr"] = self.lr * at.step_factor * schedule(self._done())
        weight = self.peers.weight(chosen)
        self.wrapped.train()
        with torch.autocast(self.device.type, torch.bfloat16) if self.autocast else nullcontext():
            parts = self.loss(
                self.wrapped,
                batch,
                at.epoch + at.cursor / len(self.batches),
                self.generator,
                lambda part: self.peers.mean(part * weight),
            )
        self.optimizer.zero_grad(set_to_none=True)
        (parts["total"] * weight).backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)  # of the mean gradient: alike everywhere
        losses = self.peers.mean(torch.stack([part.detach().float() for part in parts.values()]) * weight)
        named = dict(zip(parts, losses.tolist(), strict=True))
        if not math.isfinite(norm.item()) or not math.isfinite(named["total"]):
            return None
        if named["total"] > DIVERGED * at.average:  # False while the average is nan
            return None
        self.optimizer.step()
        at.average = named["total"] if math.isnan(at.average) else 0.98 * at.average + 0.02 * named["total"]
        at.step += 1
        at.cursor += 1
        if at.cursor == len(self.batches):
            at.epoch, at.cursor = at.epoch + 1, 0
        return named

    def _core_time(self) -> float:
        """Processor seconds of this process, and of those that make its data."""
        return time.process_time() + getattr(self.data, "core_seconds", 0.0)

    def _done(self) -> float:
        """The share of the budget that is used, 0 to 1; epochs, minutes or core minutes, whichever ends first."""
        by_epochs = self.at.step / (self.epochs * self.steps_per_epoch) if self.epochs else 0.0
        by_minutes = self.at.seconds / (60 * self.minutes) if self.minutes else 0.0
        by_core_minutes = self.at.core_seconds / (60 * self.core_minutes) if self.core_minutes else 0.0
        return min(1.0, max(by_epochs, by_minutes, by_core_minutes))

    def _next_validation(self) -> float:
        return (math.floor(self._done() * self.validations + 1e-9) + 1) / self.validations

    # -- validation ---------------------------------------------------------------------------------------------------

    def _validate(self, parts: Mapping[str, float]) -> None:
        at = self.at
        self.model.eval()
        measured = dict(self.validate()) if self.peers.writes else {}
        score = self.peers.agreed(measured.get("choice", measured.get("f1", math.nan)))
        at.stale += 1
        if score > at.best:
            at.best, at.stale, at.in_vain = score, 0, 0
            self.best_weights = _copy(self.model.state_dict())
            self._write(self.keep_best)
        row = {"seconds": round(at.seconds, 2), "core_seconds": round(at.core_seconds, 2)}
        row |= {"step": at.step, "epoch": at.epoch, **prefixed("loss", parts), **prefixed("validation", measured)}
        at.history.append(row)
        self._write(self._save_metrics)

    def _stale(self) -> bool:
        return self.patience is not None and self.at.stale >= self.patience

    # -- states -------------------------------------------------------------------------------------------------------

    def _snapshot(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        tensors |= {f"best.{name}": value for name, value in self.best_weights.items()}
        for number, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{name}": value for name, value in state.items()}
        tensors["generator"] = self.generator.get_state()
        return _copy(tensors), asdict(self.at)

    def _restore(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        self.model.load_state_dict(parts_of(tensors, "model."))
        self.best_weights = parts_of(tensors, "best.")
        states: dict[int, dict[str, Tensor]] = {}
        for name, value in parts_of(tensors, "optimizer.").items():
            number, field_name = name.split(".", 1)
            states.setdefault(int(number), {})[field_name] = value.clone()
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": states, "param_groups": groups})
        self.generator.set_state(tensors["generator"].cpu())
        self.at = _progress(facts)

    def _save(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        if self.run_folder:
            save_checkpoint(self.run_folder / STATE, tensors, {**facts, "settings": self.settings})

    def _save_metrics(self) -> None:
        if self.run_folder:
            with atomic_path(self.run_folder / METRICS) as temporary:
                temporary.write_text("".join(json.dumps(row) + "\n" for row in self.at.history))

    def _write(self, save: Callable[[], None], last: bool = False) -> None:
        """One process writes; until the last time a full disk costs a warning, and the old file stays."""
        if not self.peers.writes:
            return
        try:
            save()
        except GeoGAEError as error:
            if last:
                raise
            log.warning("%s; training continues, older files stay", error)

    def _resume(self) -> None:
        if not self.run_folder or not (self.run_folder / STATE).exists():
            raise GeoGAEError(f"nothing to resume in {self.run_folder}: no {STATE}; start without resume")
        tensors, facts = load_checkpoint(self.run_folder / STATE)
        before = facts.pop("settings", self.settings)
        if not isinstance(before, dict):
            raise GeoGAEError(f"{self.run_folder / STATE} has no settings; restore it or train again")
        if differs := [name for name, value in self.settings.items() if before.get(name) != value]:
            raise GeoGAEError(
                f"{self.run_folder} was started with other {', '.join(differs)}; resume with the same, or start again"
            )
        try:
            self._restore(tensors, facts)
        except (RuntimeError, TypeError, KeyError, ValueError) as error:
            line = (str(error).splitlines() or [type(error).__name__])[0]
            raise GeoGAEError(f"{self.run_folder / STATE} is of another model ({line}); train again") from None
        if self.peers.rank:  # the checkpoint is the first process's; the others draw noise of their own
            self.generator.manual_seed(self.seed + self.peers.rank + self.at.step)
        self.at.finished = self.at.finished and (self._done() >= 1 or self._stale())  # the budget may be larger now
        self._write(self._save_metrics)  # rows of validations after the checkpoint will come again

    def _recover(self, good: tuple[dict[str, Tensor], dict[str, Any]]) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Back to the last good state with half the step; what was measured stays. It gives up after RECOVERIES."""
        bad, tried, best_weights = self.at, self.at.in_vain, self.best_weights
        if tried >= RECOVERIES:
            raise GeoGAEError(
                f"training diverged at step {bad.step} for the {tried + 1}th time; lower lr={self.lr:g} "
                f"(the best weights so far are kept)"
            )
        self._restore(*good)
        self.best_weights, self.at.best, self.at.stale = best_weights, bad.best, bad.stale
        self.at.history, self.at.seconds, self.at.core_seconds = bad.history, bad.seconds, bad.core_seconds
        self.at.recoveries, self.at.in_vain, self.at.step_factor = bad.recoveries + 1, tried + 1, bad.step_factor / 2
        log.warning(
            "the loss diverged at step %d: back to step %d with %g of the step size (%d of %d recoveries)",
            bad.step, self.at.step, self.at.step_factor, tried + 1, RECOVERIES,
        )  # fmt: skip
        return self._snapshot()


def _progress(facts: Mapping[str, Any]) -> Progress:
    """Facts of a checkpoint with the types and signs that they must have, or a ValueError that names one."""
    known = Progress()
    for name, value in facts.items():
        kind = type(getattr(known, name, None))
        fits = isinstance(value, (int, float) if kind is float else kind) and isinstance(value, bool) == (kind is bool)
        if not fits or (kind is int and value < 0):
            raise ValueError(f"{name}={str(value)[:40]!r}")
    at = Progress(**facts)
    if not all(isinstance(row, dict) and {"seconds", "step"} <= row.keys() for row in at.history):
        raise ValueError("history is no list of rows")
    return at


def _checkpoint_seconds() -> float:
    given = os.environ.get("GEOGAE_CHECKPOINT_SECONDS")
    if not given:
        return CHECKPOINT_SECONDS
    try:
        if 0 <= (seconds := float(given)) < math.inf:
            return seconds
    except ValueError:
        pass
    raise GeoGAEError(f"GEOGAE_CHECKPOINT_SECONDS={given!r} must be a number of seconds, at least 0")


def schedule(done: float) -> float:
    """The step's factor when ``done`` of the budget is used: linear warm-up, then half a cosine to FLOOR."""
    if done < WARMUP:
        return (done + WARMUP / 100) / (WARMUP * 1.01)
    falling = (done - WARMUP) / (1 - WARMUP)
    return FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * falling))


@contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Ctrl-C is kept until it is asked for, between steps, where the state is whole."""
    heard: list[int] = []
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler or current_thread() is not main_thread():
        yield lambda: False  # somebody else's to handle
        return
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        yield lambda: bool(heard)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def deterministic(seed: int) -> Iterator[None]:
    """Fresh weights that depend on the seed alone, and leave the caller's generators as they were."""
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


def _copy(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}
