"""Where a set of the TU collection is found: ``$GEOGAE_DATA``, the cache folder, or the collection's web site."""

from __future__ import annotations

import http.client
import os
import re
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from geogae.datasets.catalogue import names
from geogae.errors import GeoGAEError
from geogae.files import atomic_path, cache_folder
from geogae.progress import progress_bar

TU_URL = "https://www.chrsmrrs.com/graphkerneldatasets"  # $GEOGAE_TU_URL names a mirror
TIMEOUT = 30.0  # seconds without a byte
_CHUNK = 1 << 16


def find(name: str, root: str | os.PathLike[str] | None = None) -> Path | None:
    """NAME.zip or the folder NAME in ``root``, or without it in ``$GEOGAE_DATA`` or the cache folder."""
    for folder in folders() if root is None else [Path(root)]:
        for place in (folder / f"{name}.zip", folder / name):
            if place.exists():
                return place
    return None


def fetch(name: str, root: str | os.PathLike[str] | None = None) -> Path:
    """As :func:`find`; what is not there is downloaded into the cache folder, unless a ``root`` was given."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.+-]*", name):
        raise GeoGAEError(f"{name!r} is not the name of a data set; known names: {', '.join(names())}")
    if place := find(name, root):
        return place
    if root is not None:
        raise GeoGAEError(f"there is no {name}.zip and no folder {name} in {root}; put it there, or leave root out")
    url = f"{os.environ.get('GEOGAE_TU_URL', TU_URL).rstrip('/')}/{name}.zip"
    target = _downloads() / f"{name}.zip"
    try:
        _download(url, target)
    except GeoGAEError as error:
        data = os.environ.get("GEOGAE_DATA")
        raise GeoGAEError(
            f"data set {name!r} is not in $GEOGAE_DATA ({data or 'not set'}), not in the cache ({_downloads()}), and "
            f"the download failed ({error}); put {name}.zip in one of these folders, or check the name "
            f"(known: {', '.join(names())})"
        ) from None
    return target


def _downloads() -> Path:
    return cache_folder() / "tu"


def folders() -> list[Path]:
    """Where data sets are looked for, in this order."""
    data = os.environ.get("GEOGAE_DATA")
    return [*([Path(data).expanduser()] if data else []), _downloads()]


def _download(url: str, target: Path) -> None:
    with _network(url):
        response = urllib.request.urlopen(url, timeout=TIMEOUT)
    with response, atomic_path(target) as temporary:
        header = response.headers.get("Content-Length")
        length = int(header) if header else None
        with temporary.open("wb") as file, progress_bar(f"downloading {target.name}", length, size=True) as advance:
            while piece := _piece(response, url):
                file.write(piece)
                advance(len(piece))
        if not zipfile.is_zipfile(temporary) or (length and temporary.stat().st_size != length):
            raise GeoGAEError(f"{url} did not send a whole zip file")


def _piece(response: IO[bytes], url: str) -> bytes:
    with _network(url):
        return response.read(_CHUNK)


@contextmanager
def _network(url: str) -> Iterator[None]:
    """What goes wrong between here and there, in one line."""
    try:
        yield
    except (OSError, ValueError, http.client.HTTPException) as error:  # ValueError: not a URL
        raise GeoGAEError(f"{url}: {getattr(error, 'reason', None) or error}") from None
