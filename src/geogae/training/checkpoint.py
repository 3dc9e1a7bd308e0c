"""Tensors and facts in one file: safetensors with JSON in its header. Never pickle; whole or not there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from geogae.errors import GeoGAEError
from geogae.files import atomic_path

_KEY = "geogae"


def save_checkpoint(path: str | os.PathLike[str], tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write to a temporary name, flush to the disk, then move: a kill or a full disk leaves the old file as it was."""
    held = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        file.write(save(held, metadata={_KEY: json.dumps(facts)}))
        file.flush()
        os.fsync(file.fileno())


def load_checkpoint(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors on the CPU and facts; a missing, cut or foreign file is one clear line."""
    if not Path(path).is_file():
        raise GeoGAEError(f"{path} is missing: the folder holds no whole model; train again or choose another folder")
    try:
        with safe_open(path, framework="pt") as file:
            facts = json.loads((file.metadata() or {})[_KEY])
            return {name: file.get_tensor(name) for name in file.keys()}, facts  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise GeoGAEError(f"{path} is not a whole geogae checkpoint ({line}); restore it or train again") from None
