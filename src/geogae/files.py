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


def remove_leftovers(folder: Path, name: str) -> None:
    """Remove the temporary files of ``name``, a glob pattern, that ended processes of this machine left in a folder.

    They were killed while they wrote. What a living process writes, or one of another machine, is left alone.
    """
    for path in folder.glob(f".{name}.{_HOST}-*.tmp"):
        process = path.name.rpartition(f".{_HOST}-")[2].partition("-")[0]
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
def locked(folder: Path) -> Iterator[None]:
    """One process at a time is in this block; the lock is on the folder itself and ends with its process.

    Where a system or a file system has no such locks, nothing is waited for.
    """
    held = None
    with suppress(ImportError, OSError):
        import fcntl  # not on Windows

        held = os.open(folder, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if held is not None:
            os.close(held)


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
        remove_leftovers(target.parent, glob.escape(target.name))
        yield temporary
        temporary.replace(target)
    except OSError as error:
        raise GeoGAEError(f"cannot write {target}: {error.strerror or error}; choose another place") from None
    finally:
        _remove(temporary)
