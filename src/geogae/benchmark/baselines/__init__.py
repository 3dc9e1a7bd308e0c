"""The methods that the paper compares with, behind the contract of our autoencoders; one line of the registry each."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

from geogae.benchmark.baselines.memory import OutOfMemory
from geogae.benchmark.baselines.trained import TrainedAutoencoder
from geogae.errors import GeoGAEError
from geogae.registry import entry

__all__ = ["BASELINES", "OutOfMemory", "TrainedAutoencoder", "find", "preset"]

BASELINES: dict[str, str | type[TrainedAutoencoder[Any]]] = {  # name → a class, or where it is
    "pigvae": "geogae.benchmark.baselines.pigvae:PIGVAE",
    "regae": "geogae.benchmark.baselines.regae:ReGAE",
    "grale": "geogae.benchmark.baselines.grale:GRALE",
}


def find(name: str) -> type[TrainedAutoencoder[Any]]:
    """The class of a method; an unknown name is an error that lists the valid ones."""
    if name not in BASELINES:
        raise GeoGAEError(f"method={name!r} is not known; valid are {', '.join(BASELINES)}")
    return entry(BASELINES, name)


def preset(name: str, dataset: str) -> dict[str, Any]:
    """The paper's hyperparameters of a method for a data set of the paper."""
    find(name)
    path = files(__package__) / "presets" / name / f"{dataset.lower()}.toml"
    if not path.is_file():
        raise GeoGAEError(f"{name} has no preset for {dataset!r}; give a data set of the paper")
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    values.pop("dataset")
    return values
