"""Where training and decoding compute in bfloat16."""

from __future__ import annotations

import torch

PRECISIONS = ("auto", "float32", "bfloat16")
CPU_BFLOAT16_TOKENS = 256  # smaller batches spend more on conversions than they save


def in_bfloat16(precision: str, device: torch.device, tokens: float) -> bool:
    """Whether to train in bfloat16: as ``precision`` says, or with ``"auto"`` where batches of so many tokens gain."""
    return precision == "bfloat16" or (precision == "auto" and bfloat16_pays(device, tokens))


def bfloat16_pays(device: torch.device, tokens: float) -> bool:
    """Whether the device computes in bfloat16, and a batch of so many tokens is worth the conversions there."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    native = any(getattr(torch.cpu, ask, bool)() for ask in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))
    return device.type == "cpu" and native and tokens >= CPU_BFLOAT16_TOKENS
