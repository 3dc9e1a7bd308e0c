"""More than one process: torch's own DistributedDataParallel, started by torchrun, behind a small interface."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel


@dataclass(frozen=True)
class Processes:
    """This process among its peers; alone unless torchrun started several."""

    rank: int = 0
    count: int = 1

    @property
    def writes(self) -> bool:
        """Only one process touches the run folder."""
        return self.rank == 0

    def share(self, batch: list[int]) -> list[int]:
        """This process's part of a global batch; never empty, so that every process takes every step."""
        return batch[self.rank :: self.count] or batch[:1]

    def weight(self, batch: list[int]) -> float:
        """What makes the mean over processes of weighted means the mean over the global batch."""
        return len(batch[self.rank :: self.count]) * self.count / len(batch)

    def wrap(self, model: nn.Module) -> nn.Module:
        return DistributedDataParallel(model) if self.count > 1 else model

    def mean(self, values: Tensor) -> Tensor:
        """The mean over processes."""
        if self.count > 1:
            values = values.clone()
            dist.all_reduce(values)
            values /= self.count
        return values

    def any(self, value: bool) -> bool:
        """Whether it holds in some process, known to all."""
        return self.mean(torch.tensor([float(value)])).item() > 0

    def agreed(self, value: float) -> float:
        """The first process's value, for decisions that all must take alike."""
        if self.count == 1:
            return value
        shared = torch.tensor([value], dtype=torch.float64)
        dist.broadcast(shared, 0)
        return shared.item()


@contextmanager
def processes() -> Iterator[Processes]:
    """Join the group that torchrun made, for the length of the block."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Processes()
        return
    if torch.cuda.is_available():  # "cuda" is this process's own device from here on
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield Processes(dist.get_rank(), count)
    finally:
        dist.destroy_process_group()
