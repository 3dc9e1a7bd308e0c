"""Where a set of the TU collection is found: ``$GEOGAE_DATA``, the cache folder, or the collection's web site."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from geogae.datasets.registry import DATASETS
from geogae.errors import GeoGAEError
from geogae.files import cache_folder
from geogae.progress import progress_bar

TU_URL = "https://www.chrsmrrs.com/graphkerneldatasets"  # $GEOGAE_TU_URL names a mirror
TIMEOUT = 30.0  # seconds without a byte
SHA256 = {  # of the zips of the paper's sets; other sets are downloaded without this check
    "AIDS": "760720923c1c0be43687f565722fc29a1f450c3a8dda3a218b798bbd1e90cf81",
    "COLLAB": "f4398512cbe5efdf1605279d7a4c6494bfe56f0e6933a0015966d4faafa1ba61",
    "IMDB-BINARY": "2a4abb6431ec1ab025a6fbcd3b546607191f79a1e0aef0f42cd8bd4ec1546116",
    "MUTAG": "20f52db82d6d85d5f67d2fa42c3fb705d05934be44329314ab17b05d0c012f7e",
    "REDDIT-BINARY": "4b69656a5ec57f845ca1d660f831f596c44f39d80e3a73de8d38b08e50ee7005",
    "SYNTHETICnew": "bc5edf918f06422a7c5d32b8626a4a3be5b4aa6a64edc23d06f9b96c4734ee1e",
}


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
        raise GeoGAEError(f"{name!r} is not the name of a data set; known names: {', '.join(DATASETS)}")
    if place := find(name, root):
        return place
    if root is not None:
        raise GeoGAEError(f"there is no {name}.zip and no folder {name} in {root}; put it there, or leave root out")
    url = f"{os.environ.get('GEOGAE_TU_URL', TU_URL).rstrip('/')}/{name}.zip"
    target = _downloads() / f"{name}.zip"
    try:
        _download(url, target, SHA256.get(name))
    except GeoGAEError as error:
        data = os.environ.get("GEOGAE_DATA")
        raise GeoGAEError(
            f"data set {name!r} is not in $GEOGAE_DATA ({data or 'not set'}), not in the cache ({_downloads()}), and "
            f"the download failed ({error}); put {name}.zip in one of these folders, or check the name "
            f"(known: {', '.join(DATASETS)})"
        ) from None
    return target


def _downloads() -> Path:
    return cache_folder() / "tu"


def folders() -> list[Path]:
    """Where data sets are looked for, in this order."""
    data = os.environ.get("GEOGAE_DATA")
    return [*([Path(data).expanduser()] if data else []), _downloads()]


def _download(url: str, target: Path, sha256: str | None) -> None:
    """The zip at ``url`` as the file ``target``: whole, with the checksum if it is known, or an error."""
    import pooch
    import requests

    def fetch_zip(url: str, output: Any, pooch_: Any) -> None:
        with ExitStack() as stack:
            bar = _Bar(f"downloading {target.name}", stack)
            pooch.HTTPDownloader(progressbar=bar, timeout=TIMEOUT)(url, output, pooch_)
        if not zipfile.is_zipfile(output):
            raise GeoGAEError(f"{url} did not send a whole zip file")

    pooch.get_logger().setLevel("WARNING")
    try:
        pooch.retrieve(url, sha256, fname=target.name, path=target.parent, downloader=fetch_zip)
    except GeoGAEError:
        raise
    except requests.exceptions.RequestException as error:
        raise GeoGAEError(f"{url}: {error}") from None
    except OSError as error:
        raise GeoGAEError(f"cannot write {target}: {error.strerror or error}; choose another place") from None
    except ValueError as error:  # another checksum, or not a URL
        raise GeoGAEError(f"{url}: {' '.join(str(error).split())}") from None


class _Bar:
    """Our progress bar behind the four names that pooch asks for."""

    def __init__(self, title: str, stack: ExitStack) -> None:
        self.title, self.stack = title, stack
        self.advance: Callable[..., bool] = lambda steps=1: True

    @property
    def total(self) -> int:
        return 0

    @total.setter
    def total(self, size: int) -> None:
        self.advance = self.stack.enter_context(progress_bar(self.title, size or None, size=True))

    def update(self, steps: int) -> None:
        self.advance(steps)

    def reset(self) -> None:
        self.advance = lambda steps=1: True

    def close(self) -> None:
        pass
