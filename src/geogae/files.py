"""Where files go and how they get there whole."""

from __future__ import annotations

import glob
import os
import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import platformdirs

from geogae.errors import GeoGAEError

_HOST = sha256(platform.node().encode()).hexdigest()[:6]  # a folder may be shared between machines


def cache_folder() -> Path:
    """``$GEOGAE_CACHE``, or ``geogae`` in the folder that the system has for caches (``~/.cache`` on Linux)."""
    if chosen := os.environ.get("GEOGAE_CACHE"):
        return Path(chosen).expanduser()
    return platformdirs.user_cache_path("geogae", appauthor=False)


def _remove_leftovers(target: Path) -> None:
    """What processes of this machine that are no more left beside ``target``: they were killed while they wrote."""
    prefix = f".{target.name}.{_HOST}-"
    for path in target.parent.glob(f"{glob.escape(prefix)}*.tmp"):
        process = path.name.removeprefix(prefix).partition("-")[0]
        if process.isdecimal() and not _alive(int(process)):
            _remove(path)


def _alive(process: int) -> bool:
    if os.name == "nt":  # there, signal 0 would end it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it is somebody else's
        return True
    return True


def _remove(path: Path) -> None:
    with suppress(OSError):  # nothing there, or a place out of reach
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path``, for a file or a folder, that is moved to ``path`` when the block succeeds.

    Readers see the old content or the new, never a part. Missing parent folders are made; what a failed
    block leaves behind is removed; a place that cannot be written is a :class:`GeoGAEError`.
    """
    target = Path(path)
    if not target.name:
        raise GeoGAEError(f"cannot write {str(path)!r}: it names no file")
    temporary = target.with_name(f".{target.name}.{_HOST}-{os.getpid()}-{uuid4().hex[:8]}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(target)
        yield temporary
        temporary.replace(target)
    except OSError as error:
        raise GeoGAEError(f"cannot write {target}: {error.strerror or error}; choose another place") from None
    finally:
        _remove(temporary)
