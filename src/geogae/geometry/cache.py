"""Fitted clouds on disk, in one SQLite file that several processes may write to.

An entry is keyed by everything that decides it, and has a checksum: what is stale, cut short or foreign is a miss,
never a wrong cloud. A cache that cannot be used costs time, not the result: one line in the log says so.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geogae.errors import GeoGAEError
from geogae.files import cache_folder
from geogae.geometry.recipe import ALGORITHM

log = logging.getLogger("geogae")

DEFAULT_LIMIT = 1_000_000_000  # bytes
_WAIT = 30.0  # seconds for another writer to finish
_HEADER = np.dtype([("n", "<u4"), ("d", "<u4"), ("steps", "<u4"), ("tries", "<u4")])


class Fit(NamedTuple):
    """A fitted cloud in the canonical numbering of its graph."""

    balls: NDArray[np.float32]  # (n, d), posed
    steps: int
    tries: int
    checked: bool = False  # whether the fit itself has found that no pair is wrong

    def to_bytes(self) -> bytes:
        header = np.array([(*self.balls.shape, self.steps, self.tries)], dtype=_HEADER).tobytes()
        body = header + self.balls.astype("<f4").tobytes()
        return zlib.crc32(body).to_bytes(4, "little") + body

    @classmethod
    def from_bytes(cls, entry: bytes) -> Fit | None:
        """The fit, or None for anything but a whole entry."""
        body = entry[4:]
        if len(body) < _HEADER.itemsize or zlib.crc32(body) != int.from_bytes(entry[:4], "little"):
            return None
        header = np.frombuffer(body, _HEADER, 1)[0]
        n, d = int(header["n"]), int(header["d"])
        if len(body) != _HEADER.itemsize + 4 * n * d:
            return None
        balls = np.frombuffer(body, "<f4", offset=_HEADER.itemsize).reshape(n, d)
        return cls(balls.astype(np.float32), int(header["steps"]), int(header["tries"]))


def default_path() -> Path:
    """The file in the cache folder."""
    return cache_folder() / "clouds.sqlite"


def cache_limit() -> int:
    """Bytes that the cache may take: ``$GEOGAE_CACHE_LIMIT`` in megabytes, 1,000 of them if it is not set."""
    chosen = os.environ.get("GEOGAE_CACHE_LIMIT")
    if not chosen:
        return DEFAULT_LIMIT
    try:
        megabytes = float(chosen)
    except ValueError:
        megabytes = -1.0
    if not 0 <= megabytes < 1e9:
        raise GeoGAEError(f"GEOGAE_CACHE_LIMIT={chosen!r} must be a number of megabytes, at least 0")
    return int(1e6 * megabytes)


class CloudCache:
    """A table of fits by key; ``required`` makes a place that cannot be used an error instead of a log line.

    The file holds the fits of one version of the algorithm; those of an earlier one are dropped. Beyond its limit the
    oldest are dropped. A file that can only be read is read.
    """

    def __init__(self, path: Path, *, required: bool = False) -> None:
        self.path = path
        self.usable = self.writable = True
        self.limit = cache_limit()
        if required:  # fails now, not after the work
            try:
                self._connect_to_write().close()
            except (OSError, sqlite3.Error) as error:
                if not self._is_ours():
                    self._failed(error, required)
                self.writable = False

    def read(self, keys: Iterable[bytes]) -> dict[bytes, Fit]:
        """The fits that are there and whole."""
        found: dict[bytes, Fit] = {}
        if not self.usable or not self.path.exists():
            return found
        try:
            with closing(self._connect_to_read()) as database:
                if not _has_fits(database):
                    return found
                for key in keys:
                    row = database.execute("SELECT entry FROM fits WHERE key = ?", (key,)).fetchone()
                    fit = Fit.from_bytes(row[0]) if row and isinstance(row[0], bytes) else None
                    if fit is not None:
                        found[key] = fit
        except (OSError, sqlite3.Error) as error:
            self._failed(error)
        return found

    def write(self, fits: Mapping[bytes, Fit]) -> None:
        """All of them or none, as one transaction; then the oldest go, if there are too many."""
        if not self.usable or not self.writable or not fits:
            return
        rows = [(key, fit.to_bytes()) for key, fit in fits.items()]
        for attempt in range(2):
            try:
                with closing(self._connect_to_write()) as database:
                    with database:
                        database.executemany("INSERT OR REPLACE INTO fits VALUES (NULL, ?, ?)", rows)
                    self._shrink(database)
                return
            except (OSError, sqlite3.Error) as error:
                if self._is_ours():
                    self.writable = False
                    log.warning("cannot add to the cloud cache %s: %s; it is only read", self.path, error)
                    return
                self._failed(error)
                if not self.usable or attempt:
                    return

    def facts(self) -> dict[str, int]:
        """How many fits there are, how many bytes they take, and how many they may."""
        entries = size = 0
        try:
            if self.path.exists():
                size = self.path.stat().st_size
                with closing(self._connect_to_read()) as database:
                    if _has_fits(database):
                        (entries,) = database.execute("SELECT COUNT(*) FROM fits").fetchone()
        except (OSError, sqlite3.Error) as error:
            raise GeoGAEError(f"cannot read the cloud cache {self.path}: {error}; remove it") from None
        return {"entries": entries, "bytes": size, "limit": self.limit}

    def _connect_to_read(self) -> sqlite3.Connection:
        """To roll back what a killed process left half written, which its journal shows, the file must be writable."""
        journal = self.path.with_name(f"{self.path.name}-journal")
        mode = "rw" if journal.exists() and os.access(self.path, os.W_OK) else "ro"
        return sqlite3.connect(f"{self.path.absolute().as_uri()}?mode={mode}", timeout=_WAIT, uri=True)

    def _connect_to_write(self) -> sqlite3.Connection:
        """With a table for this version of the algorithm."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(self.path, timeout=_WAIT)
        try:
            if not _has_fits(database):
                database.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a new file
                with database:
                    database.execute("BEGIN IMMEDIATE")
                    if not _has_fits(database):  # no other process was faster
                        database.execute("DROP TABLE IF EXISTS clouds")  # of the first versions
                        database.execute("DROP TABLE IF EXISTS fits")
                        database.execute("CREATE TABLE fits (age INTEGER PRIMARY KEY, key BLOB UNIQUE, entry BLOB)")
                        database.execute(f"PRAGMA user_version = {ALGORITHM}")
        except sqlite3.Error:
            database.close()
            raise
        return database

    def _shrink(self, database: sqlite3.Connection) -> None:
        """Drop the oldest fits until a tenth of the limit is free."""
        (page,), (pages,), (free,) = (
            database.execute(f"PRAGMA {name}").fetchone() for name in ("page_size", "page_count", "freelist_count")
        )
        if (pages - free) * page <= self.limit:
            return
        (total,) = database.execute("SELECT COALESCE(SUM(LENGTH(entry)), 0) FROM fits").fetchone()
        excess, last = total - 0.9 * self.limit * total / ((pages - free) * page), 0
        for age, size in database.execute("SELECT age, LENGTH(entry) FROM fits ORDER BY age"):
            if excess <= 0:
                break
            excess, last = excess - size, age
        with database:
            database.execute("DELETE FROM fits WHERE age <= ?", (last,))
        database.execute("PRAGMA incremental_vacuum").fetchall()

    def _is_ours(self) -> bool:
        """Whether the file is a cache that can be read."""
        try:
            with closing(self._connect_to_read()) as database:
                return _has_fits(database)
        except (OSError, sqlite3.Error):
            return False

    def _failed(self, error: Exception, required: bool = False) -> None:
        """A damaged cache is set aside and begun again; without one that can be used, fits go on.

        A file that is no database at all is set aside only in our own folder: one that the user named may be theirs.
        """
        damaged = getattr(error, "sqlite_errorcode", None)
        if damaged == sqlite3.SQLITE_CORRUPT or (damaged == sqlite3.SQLITE_NOTADB and not required):
            log.warning("%s is not a cloud cache (%s): it is set aside as %s.broken", self.path, error, self.path.name)
            try:
                self.path.replace(self.path.with_name(self.path.name + ".broken"))
                return
            except OSError as another:
                error = another
        line = f"cannot use the cloud cache {self.path}: {error}"
        if required:
            raise GeoGAEError(f"{line}; choose another place, or cache=False") from None
        log.warning("%s; clouds are fitted again (set GEOGAE_CACHE to a folder that can be written)", line)
        self.usable = False


def _has_fits(database: sqlite3.Connection) -> bool:
    """Whether the file holds fits of this version of the algorithm."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'fits'").fetchone()
    return bool(version == ALGORITHM and tables)
