"""How much memory a training step takes, known before the first one: shapes are computed, numbers are not."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from geogae.errors import GeoGAEError

# of the weights: themselves, gradients, AdamW's two moments, and the loop's last good state and best weights
COPIES = 8
TRANSIENT = 3  # tensors as large as the largest one kept that a backward step holds for a moment
SHARE = 0.8  # of the memory that is free now which a run may take


class OutOfMemory(GeoGAEError):
    """Training would need more memory than it may take; ``needed`` and ``limit`` are in bytes."""

    def __init__(self, needed: int, limit: int, what: str) -> None:
        self.needed, self.limit = needed, limit
        super().__init__(
            f"OOM: training needs about {needed / 2**30:.1f} GiB for {what}, and may take {limit / 2**30:.1f} GiB; "
            "lower batch_size, leave large graphs out, or give more with memory_gib"
        )


def shapes_only() -> AbstractContextManager[Any]:
    """Tensors that are made within have shapes and no memory; operations choose the kernels that they would choose."""
    return FakeTensorMode(allow_non_fake_inputs=True)


def training_bytes(network: nn.Module, loss: Callable[[], Tensor]) -> int:
    """Peak of a training step: weights with all their copies, what is kept for the backward pass, and transients.

    To be called within :func:`shapes_only`, where ``network`` and what ``loss`` reads were made: nothing is allocated.
    """
    weights = sum(parameter.nbytes for parameter in network.parameters())
    kept = {parameter.untyped_storage()._cdata: 0 for parameter in network.parameters()}  # counted above
    holds: list[Tensor] = []  # so that no storage is freed and its address counted for another

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept.setdefault(storage._cdata, storage.nbytes())
        holds.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        held = loss()  # the graph of the step is alive while it is counted
    del held
    return COPIES * weights + sum(kept.values()) + TRANSIENT * max(kept.values())


def memory_limit(device: torch.device, gib: float | None) -> int:
    """Bytes that a run may take: ``gib`` if it is given, else a share of what is free."""
    if gib is not None:
        return int(gib * 2**30)
    if device.type == "cuda":
        return int(SHARE * torch.cuda.mem_get_info(device)[0])
    return int(SHARE * _available())


def _available() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        kib = next(line.split()[1] for line in lines if line.startswith("MemAvailable"))
        return int(kib) * 1024
    except (OSError, StopIteration):
        import os

        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
