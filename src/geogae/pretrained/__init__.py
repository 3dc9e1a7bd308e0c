"""Models that come with the package: a folder each, with its card in README.md. They load offline.

``benchmarks/pretrained.py`` makes them, with their cards, by one command.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from geogae.errors import GeoGAEError
from geogae.model_folder import CONFIG
from geogae.pretrained.hub import PREFIX, hub_path, push_to_hub

__all__ = ["CARD", "card", "hub_path", "names", "path", "push_to_hub", "summaries"]

CARD = "README.md"  # as the Hugging Face hub names it


def names() -> list[str]:
    """The models that are here."""
    return sorted(folder.name for folder in _root().iterdir() if (folder / CONFIG).is_file())


def path(name: str) -> Path:
    """The folder of a model: by its name, or from the hub for ``hf:user/name``."""
    if name.startswith(PREFIX):
        return hub_path(name)
    if name not in names():
        valid = ", ".join(names()) or "none in this installation"
        raise GeoGAEError(
            f"there is no pretrained model {name!r}; valid are {valid}, or {PREFIX}user/name from the hub"
        )
    return _root() / name


def card(name: str) -> str:
    """What a model was trained on, its licence, scores and limits, as Markdown."""
    try:
        return _body((path(name) / CARD).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise GeoGAEError(f"the model {name!r} has no card ({CARD})") from None


def summaries() -> dict[str, str]:
    """Every model and the first sentence of its card."""
    return {
        name: _first_sentence(card(name) if (path(name) / CARD).is_file() else "It has no card.") for name in names()
    }


def _root() -> Path:
    return Path(str(files(__package__)))


def _body(text: str) -> str:
    """A card without the lines between --- and --- that the hub reads."""
    if not text.startswith("---\n"):
        return text
    return text[4:].partition("\n---\n")[2].lstrip("\n")


def _first_sentence(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return lines[0].partition(". ")[0].rstrip(".") + "." if lines else ""
