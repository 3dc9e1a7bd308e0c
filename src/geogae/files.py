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
from typing import IO
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
def exclusive(file: IO[bytes] | int, *, wait: bool = True) -> Iterator[bool]:
    """A lock on an open file, or on a folder's descriptor, for the block; says whether it is held.

    It is False only if another process has it and ``wait`` is False. Where a system or a file system has no such locks,
    nothing is waited for. The lock is released, not left to closing: a process forked meanwhile has the file open, too.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield True
        return
    held = True
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        held = False
    except OSError:  # a file system without locks
        pass
    try:
        yield held
    finally:
        if held:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_UN)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One process at a time is in this block; the lock is on the folder itself and ends with its process."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        yield
        return
    try:
        with exclusive(descriptor):
            yield
    finally:
        os.close(descriptor)


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
