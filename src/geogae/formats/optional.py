"""Libraries of the extras, which may be missing."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from geogae.errors import GeoGAEError


def available(library: str) -> bool:
    """Whether a library is installed; it is not imported."""
    try:
        return find_spec(library) is not None
    except ValueError:  # its import was forbidden
        return False


def require(module: str, extra: str) -> Any:
    """The module, or one line that says which extra of geogae brings it."""
    try:
        return import_module(module)
    except ImportError:
        raise GeoGAEError(f"this needs {module.partition('.')[0]}: pip install 'geogae[{extra}]'") from None
