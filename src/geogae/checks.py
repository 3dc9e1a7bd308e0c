"""Checks of parameters: an error names the parameter, its value and what is valid."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from geogae.errors import GeoGAEError


def check_choice(name: str, value: Any, valid: Iterable[Any]) -> None:
    valid = list(valid)
    if not any(value is one or (isinstance(value, type(one)) and value == one) for one in valid):
        raise GeoGAEError(f"{name}={value!r} is not known; valid are {', '.join(map(str, valid))}")


def check_number(
    name: str, value: Any, kind: type, least: float, most: float = np.inf, *, optional: bool = False
) -> None:
    """A whole number (``kind`` int) or any number (float), from ``least`` to ``most``; None if ``optional``."""
    if value is None and optional:
        return
    fits = isinstance(value, (int, np.integer) if kind is int else (int, float, np.number))
    if not fits or isinstance(value, bool) or not least <= value <= most or not value < np.inf:
        what = "a whole number" if kind is int else "a number"
        limit = f"at least {least}" if most == np.inf else f"from {least} to {most}"
        raise GeoGAEError(f"{name}={value!r} must be {what}, {limit}{', or None' if optional else ''}")


def check_jobs(n_jobs: Any) -> None:
    """As joblib counts workers: 1, 2, …, or -1 for all cores."""
    if n_jobs != -1:
        check_number("n_jobs", n_jobs, int, 1)
