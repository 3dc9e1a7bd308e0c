"""Where files go and how they get there whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import platformdirs

from geogae.errors import GeoGAEError


def cache_folder() -> Path:
    """``$GEOGAE_CACHE``, or ``geogae`` in the folder that the system has for caches (``~/.cache`` on Linux)."""
    if chosen := os.environ.get("GEOGAE_CACHE"):
        return Path(chosen).expanduser()
    return platformdirs.user_cache_path("geogae", appauthor=False)


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path``, for a file or a folder, that is moved to ``path`` when the block succeeds.

    Readers see the old content or the new, never a part. Missing parent folders are made; what a failed
    block leaves behind is removed; a place that cannot be written is a :class:`GeoGAEError`.
    """
    target = Path(path)
    if not target.name:
        raise GeoGAEError(f"cannot write {str(path)!r}: it names no file")
    temporary = target.with_name(f".{target.name}.{uuid4().hex[:8]}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(target)
    except OSError as error:
        raise GeoGAEError(f"cannot write {target}: {error.strerror or error}; choose another place") from None
    finally:
        with suppress(OSError):  # nothing there, or a place out of reach
            shutil.rmtree(temporary) if temporary.is_dir() else temporary.unlink()
