"""Parsed data sets kept in the cache folder, so that the second read is fast."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path

from geogae.errors import GeoGAEError
from geogae.files import cache_folder
from geogae.formats.packed import Packed

VERSION = 2  # raise it when the readers read anything differently

log = logging.getLogger("geogae")


def state_of(files: list[Path]) -> list[tuple[str, int, int]]:
    """What changes when the files do: their places, sizes and times."""
    return [(str(file.absolute()), (stat := file.stat()).st_size, stat.st_mtime_ns) for file in files if file.exists()]


def cached(name: str, key: object, build: Callable[[], Packed]) -> Packed:
    """The result of ``build``, from the cache if it was built for the same key; a damaged entry is built again."""
    digest = hashlib.sha256(repr((VERSION, key)).encode()).hexdigest()[:16]
    path = cache_folder() / "parsed" / f"{name}-{digest}.npz"
    if path.exists():
        try:
            return Packed.load(path)
        except GeoGAEError as error:
            log.info("reading %s again: %s", name, error)
    packed = build()
    try:
        packed.save(path)
    except GeoGAEError as error:
        log.info("%s is not kept for the next time: %s", name, error)
    return packed
