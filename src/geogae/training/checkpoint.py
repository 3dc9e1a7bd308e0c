"""Tensors and facts in one file: safetensors with JSON in its header. Never pickle; whole or not there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from geogae.errors import GeoGAEError
from geogae.files import atomic_path

_KEY, _CHECKSUM = "geogae", "checksum"

V = TypeVar("V")


def prefixed(prefix: str, values: Mapping[str, V], separator: str = "_") -> dict[str, V]:
    """The values under longer names, so that several of them fit into one mapping."""
    return {f"{prefix}{separator}{name}": value for name, value in values.items()}


def parts_of(values: Mapping[str, V], prefix: str) -> dict[str, V]:
    """Those whose name begins with ``prefix``, without it."""
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}


def save_checkpoint(path: str | os.PathLike[str], tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write to a temporary name, flush to the disk, then move: a kill or a full disk leaves the old file as it was."""
    held, text = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, json.dumps(facts)
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        file.write(save(held, metadata={_KEY: text, _CHECKSUM: _digest(held, text)}))
        file.flush()
        os.fsync(file.fileno())


def load_checkpoint(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors on the CPU and facts; a missing, cut, changed or foreign file is one clear line."""
    if not Path(path).is_file():
        raise GeoGAEError(f"{path} is missing: the folder holds no whole model; train again or choose another folder")
    try:
        content = Path(path).read_bytes()  # safetensors itself opens no path that is not UTF-8
        tensors = load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
        if header.keys() != {_KEY} and header.get(_CHECKSUM) != _digest(tensors, header[_KEY]):  # older ones had none
            raise ValueError("its checksum is wrong")
        facts = json.loads(header[_KEY])
        if not isinstance(facts, dict):
            raise ValueError("its facts are no object")
        return tensors, facts
    except (SafetensorError, OSError, KeyError, ValueError, RecursionError) as error:
        line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise GeoGAEError(f"{path} is not a whole geogae checkpoint ({line}); restore it or train again") from None


def _digest(tensors: Mapping[str, Tensor], facts: str) -> str:
    found = blake2b(facts.encode(), digest_size=8)
    for name, tensor in sorted(tensors.items()):
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        found.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()
