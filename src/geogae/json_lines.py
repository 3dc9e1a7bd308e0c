"""JSON Lines files that are only appended to: each line as a whole and under a lock.

Neither a kill nor a second writer damages a line that is there. A line that is cut short is reported and left out.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from geogae.errors import GeoGAEError
from geogae.files import exclusive

log = logging.getLogger("geogae")


def read_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """The number and the value of each line; a line that is not JSON is reported and left out."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    except OSError as error:
        raise GeoGAEError(f"cannot read {path}: {error.strerror}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            cut = " (cut short?)" if number == len(lines) else ""
            log.warning("%s, line %d: not a whole JSON line%s: %s; ignored", path, number, cut, error)


def append(path: Path, entry: Mapping[str, Any]) -> None:
    """Add one line. Writers wait for each other; a disk that is full leaves the file as it was."""
    line = json.dumps(entry, allow_nan=False).encode() + b"\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b", buffering=0) as file, exclusive(file):
            end = file.seek(0, os.SEEK_END)
            file.seek(max(end - 1, 0))
            if file.read(1) not in (b"", b"\n"):  # a writer was killed: its line ends here
                line = b"\n" + line
            try:
                if file.write(line) != len(line):
                    raise OSError("the disk is full")
            except OSError:
                file.truncate(end)
                raise
            os.fsync(file.fileno())
    except OSError as error:
        raise GeoGAEError(f"cannot write {path}: {error.strerror or error}; choose another folder") from None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number")
