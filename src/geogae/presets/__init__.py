"""Hyperparameters by name: one TOML file each, holding only what differs from the estimator's defaults."""

from __future__ import annotations

import os
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from geogae.errors import GeoGAEError

_FOLDER = files(__package__)
DATASETS = ("mutag", "aids", "imdb-binary", "qm9", "syntheticnew", "collab", "reddit-binary")
DEFAULT = "default"  # GeoGAE's defaults, for no data set in particular
ATTRIBUTED = ("mutag", "aids", "qm9")  # data sets with attributes of nodes and edges
RECIPES = {
    "paper": DATASETS,
    "sequential": DATASETS,
    "linear": DATASETS,
    "attributes": ATTRIBUTED,
    "paper-attributes": ATTRIBUTED,
}


def names() -> list[str]:
    """Every preset: what suits any graphs, plain names, recipes."""
    return [DEFAULT, *DATASETS, *(f"{recipe}/{name}" for recipe, datasets in RECIPES.items() for name in datasets)]


def text(name: str | os.PathLike[str]) -> str:
    """The TOML of a preset, or of a file ending in .toml."""
    name = os.fspath(name)
    path: Any = Path(name) if name.endswith(".toml") else None
    if path is None:
        known = {known.lower(): known for known in names()}.get(name.lower())
        if known is None:
            raise GeoGAEError(f"there is no preset {name!r}; valid are {', '.join(names())}, or a file ending in .toml")
        path = _FOLDER / f"{known}.toml"
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise GeoGAEError(f"cannot read preset {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise GeoGAEError(f"preset {path} is not UTF-8 ({error}); save it as such") from None


def read(name: str | os.PathLike[str]) -> dict[str, Any]:
    """The values of a preset; ``dataset`` says what it was made for."""
    try:
        values = tomllib.loads(text(name))
    except tomllib.TOMLDecodeError as error:
        raise GeoGAEError(f"preset {name} is not TOML: {error}") from None
    if not isinstance(dataset := values.get("dataset", ""), str):
        raise GeoGAEError(f"dataset = {dataset!r} in preset {name} must be text: a data set's name or a file of graphs")
    return values
