"""A fitted model as a folder: config.json and the weights that it names, with checksums. Nothing in it can run code.

The weights have their checksum in their name, and config.json is replaced last: at this moment the new model
takes the place of the old one. A kill before it leaves the old model, a kill after it the new one, never a mixture.
What a killed save left is removed by the next one. Only one process at a time saves into a folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

import geogae
from geogae.errors import GeoGAEError
from geogae.files import atomic_path, locked, remove_leftovers

FORMAT = 3  # of a saved model
CONFIG = "config.json"
WEIGHTS = "model*.safetensors"  # all that may be called so: the old and the new


def save_folder(path: str | os.PathLike[str], config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Replace the model in a folder as a whole; other files in it stay."""
    if not os.fspath(path):
        raise GeoGAEError("the path '' names no folder; give one, such as 'model.geogae'")
    folder = Path(path)
    weights = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
    name = f"model-{_digest(weights)}.safetensors"
    record = _plain({"format": FORMAT, "geogae": geogae.__version__, "weights": name, **config})
    record["checksum"] = _digest(_canonical(record))
    with suppress(OSError):  # atomic_path says it better
        folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):  # else one would remove the weights that another has written and not yet named
        remove_leftovers(folder, WEIGHTS)  # of any weights: their names differ
        with atomic_path(folder / name) as temporary, temporary.open("wb") as file:
            file.write(weights)
            file.flush()
            os.fsync(file.fileno())
        with atomic_path(folder / CONFIG) as temporary, temporary.open("w", encoding="utf-8") as text:
            text.write(json.dumps(record, indent=1) + "\n")
            text.flush()
            os.fsync(text.fileno())
        for old in folder.glob(WEIGHTS):
            if old.name != name:
                with suppress(OSError):
                    old.unlink()


def load_folder(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What :func:`save_folder` left; one clear line for anything else."""
    folder = Path(path)
    if not folder.is_dir():
        raise GeoGAEError(f"{folder} is no folder; a saved model is a folder with {CONFIG} and its weights")
    try:
        config, content = _read(folder)
    except OSError:  # another process has just replaced the model, or the weights are lost: wait for it and see
        try:
            with locked(folder):
                config, content = _read(folder)
        except OSError as error:
            raise GeoGAEError(f"cannot read {error.filename}: {error.strerror}; save the model again") from None
    weights = folder / config["weights"]
    if weights.name != f"model-{_digest(content)}.safetensors":
        raise GeoGAEError(f"{weights} is damaged: its checksum is not that of its name; restore it or train again")
    try:
        tensors = load(content)
    except (SafetensorError, ValueError, KeyError) as error:
        raise GeoGAEError(f"{weights} is no whole safetensors file ({_line(error)}); save the model again") from None
    for name, tensor in tensors.items():  # a checksum says that they are as they were saved, not that they are sound
        if wrong := int((~tensor.isfinite()).sum()):
            raise GeoGAEError(f"{weights} holds {wrong} numbers in {name!r} that are not finite; train again")
    return config, tensors


def _read(folder: Path) -> tuple[dict[str, Any], bytes]:
    """The config, and the content of the weights that it names."""
    config = _read_config(folder / CONFIG)
    return config, (folder / config["weights"]).read_bytes()


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        version = config["format"]
        if version != FORMAT:
            raise GeoGAEError(
                f"{path} has format {version}, written by geogae {config.get('geogae')}; this geogae "
                f"{geogae.__version__} reads format {FORMAT}: use that version, or train again"
            )
        checksum = config.pop("checksum")
        if checksum != _digest(_canonical(config)):
            raise GeoGAEError(
                f"{path} was changed since it was saved (its checksum is wrong); restore it or train again"
            )
        if not isinstance(config["weights"], str) or Path(config["weights"]).name != config["weights"]:
            raise GeoGAEError(f"{path} names no weights beside it; restore it or train again")
        return config
    except GeoGAEError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise GeoGAEError(f"{path} is missing or damaged ({_line(error)}); train or save again") from None


def _plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON gives it back; numbers of NumPy, such as those of a grid search, become Python's."""
    return json.loads(json.dumps(record, default=lambda value: value.item()))


def _canonical(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True, separators=(",", ":")).encode()


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=8).hexdigest()


def _line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
