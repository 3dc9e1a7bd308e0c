"""Parsed data sets kept in the cache folder, so that the second read is fast."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable

from geogae.errors import GeoGAEError
from geogae.files import cache_folder
from geogae.formats.packed import Packed

VERSION = 1  # raise it when the readers read anything differently

log = logging.getLogger("geogae")


def cached(name: str, key: object, build: Callable[[], Packed]) -> Packed:
    """What ``build`` gives, from the cache if it was built for the same key; a cache that fails is only a miss."""
    digest = hashlib.sha256(repr((VERSION, key)).encode()).hexdigest()[:16]
    path = cache_folder() / "parsed" / f"{name}-{digest}.npz"
    if path.exists():
        try:
            return Packed.load(path)
        except GeoGAEError as error:
            log.info("reading %s anew: %s", name, error)
    packed = build()
    try:
        packed.save(path)
    except GeoGAEError as error:
        log.info("%s is not kept for the next time: %s", name, error)
    return packed
