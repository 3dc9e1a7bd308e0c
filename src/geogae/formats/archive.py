"""Untrusted zip files: sizes are checked before members are unpacked, and a name belongs to one member only."""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import IO

from geogae.errors import GeoGAEError
from geogae.formats.limits import check

CHUNK = 1 << 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the others of Python unpack without a bound on memory
_DAMAGE = (
    OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError, KeyError,
    IndexError, TypeError, OverflowError, struct.error,
)  # fmt: skip


@contextmanager
def opened(path: str | os.PathLike[str], what: str) -> Iterator[zipfile.ZipFile]:
    """The zip file; an error in it is a :class:`GeoGAEError`, which names ``what`` the file should be."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except GeoGAEError:
        raise
    except FileNotFoundError:
        raise GeoGAEError(f"{path} does not exist; give {what}") from None
    except _DAMAGE as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise GeoGAEError(
            f"{path} is not {what} that can be read ({reason}); it may be damaged, get it again"
        ) from None


def members(archive: zipfile.ZipFile, wanted: Callable[[str], bool]) -> dict[str, zipfile.ZipInfo]:
    """The members whose file names (without folders) are wanted, by these names; their sizes are within the limit."""
    found: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = PurePosixPath(info.filename).name
        if info.is_dir() or not wanted(name):
            continue
        if name in found:
            raise GeoGAEError(f"{archive.filename} holds two files named {name}; remove one of them")
        if info.compress_type not in _METHODS:
            raise GeoGAEError(f"{archive.filename}: {name} is not compressed by deflate; pack it again with zip")
        found[name] = info
    check("unpacked", sum(info.file_size for info in found.values()), str(archive.filename))
    return found


def chunks(file: IO[bytes]) -> Iterator[bytes]:
    """The content of a member, piece by piece; the last piece also checks the member's CRC."""
    while piece := file.read(CHUNK):
        yield piece
