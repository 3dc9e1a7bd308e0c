"""A progress bar for reading and downloading: on stderr, and only for a person watching."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import Progress


def progress() -> Progress:
    return Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
