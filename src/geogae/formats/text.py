"""Text files with one graph a line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from geogae.errors import GeoGAEError


def numbered_lines(path: str | os.PathLike[str]) -> Iterator[tuple[str, str]]:
    """Each line that is not blank, with its place ("graphs.jsonl line 7") for error messages."""
    number = 0
    try:
        with Path(path).open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield f"{path} line {number}", line.rstrip("\r\n")
    except UnicodeDecodeError:
        raise GeoGAEError(f"{path} line {number + 1} or after: this is not UTF-8 text") from None
    except FileNotFoundError:
        raise GeoGAEError(f"{path} does not exist") from None
    except OSError as error:
        raise GeoGAEError(f"{path} cannot be read: {error.strerror or error}") from None
