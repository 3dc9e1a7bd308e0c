"""Hyperparameters by name: one TOML file each, holding only what differs from the estimator's defaults.

A file of this folder is a preset without a further line: ``paper/mutag.toml`` is ``paper/mutag``.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from geogae.errors import GeoGAEError

_FOLDER = files(__package__)
DATASETS = ("mutag", "aids", "imdb-binary", "qm9", "syntheticnew", "collab", "reddit-binary")
DEFAULT = "default"  # GeoGAE's defaults, for no data set in particular
RECIPES = ("", "paper", "sequential", "linear", "attributes", "paper-attributes")  # those that are listed first


def names() -> list[str]:
    """Every preset: what suits any graphs, plain names, recipes; the paper's data sets in the paper's order."""
    folders = {"": _FOLDER} | {entry.name: entry for entry in _FOLDER.iterdir() if entry.is_dir()}
    found = [
        (folder, entry.name.removesuffix(".toml"))
        for folder, place in folders.items()
        for entry in place.iterdir()
        if entry.name.endswith(".toml")
    ]
    known = (DEFAULT, *DATASETS)
    found.sort(key=lambda name: (*_place(name[0], RECIPES), *_place(name[1], known)))
    return [f"{folder}/{name}" if folder else name for folder, name in found]


def _place(name: str, known: Sequence[str]) -> tuple[int, str]:
    """By which names are sorted: known ones in their order, then others by the alphabet."""
    return known.index(name) if name in known else len(known), name


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
