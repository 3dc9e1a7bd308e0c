"""Models that come with the package: one folder each, with a card that says what it was trained on and how it scores.

They are made by ``python benchmarks/pretrained.py``.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from geogae.errors import GeoGAEError
from geogae.model_folder import CONFIG

CARD = "card.json"


def names() -> list[str]:
    """Every pretrained model."""
    return sorted(folder.name for folder in _folder().iterdir() if (folder / CONFIG).is_file())


def path(name: str) -> Path:
    """The folder of a pretrained model; an unknown name is an error that lists the valid ones."""
    if name not in names():
        raise GeoGAEError(f"there is no pretrained model {name!r}; valid are {', '.join(names()) or 'none'}")
    return _folder() / name


def card(name: str) -> dict[str, Any]:
    """What is known of a pretrained model: purpose, data, licence, scores, limits."""
    content: dict[str, Any] = json.loads((path(name) / CARD).read_text(encoding="utf-8"))
    return content


def _folder() -> Path:
    return Path(str(files(__package__)))
