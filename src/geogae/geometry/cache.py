"""Fitted clouds on disk, in one SQLite file that several processes may write to.

An entry is keyed by everything that decides it, and carries a checksum: what is stale, cut short or foreign is a miss,
never a wrong cloud. A cache that cannot be used costs time, not the result: one line in the log says so.
"""

from __future__ import annotations

import logging
import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geogae.errors import GeoGAEError

log = logging.getLogger("geogae")

_WAIT = 30.0  # seconds for another writer to finish
_HEADER = np.dtype([("n", "<u4"), ("d", "<u4"), ("steps", "<u4"), ("tries", "<u4")])


class Fit(NamedTuple):
    """A fitted cloud in the canonical numbering of its graph."""

    balls: NDArray[np.float32]  # (n, d), posed
    steps: int
    tries: int

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


class CloudCache:
    """A table of fits by key; ``required`` makes a place that cannot be written an error instead of a log line."""

    def __init__(self, path: Path, *, required: bool = False) -> None:
        self.path = path
        self.usable = True
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._create()
        except (OSError, sqlite3.Error) as error:
            self._failed(error, required)

    def read(self, keys: Iterable[bytes]) -> dict[bytes, Fit]:
        """The fits that are there and whole."""
        found: dict[bytes, Fit] = {}
        if not self.usable:
            return found
        try:
            with closing(self._connect()) as database:
                for key in keys:
                    row = database.execute("SELECT entry FROM clouds WHERE key = ?", (key,)).fetchone()
                    fit = Fit.from_bytes(row[0]) if row and isinstance(row[0], bytes) else None
                    if fit is not None:
                        found[key] = fit
        except sqlite3.Error as error:
            self._failed(error)
        return found

    def write(self, fits: Mapping[bytes, Fit]) -> None:
        """All of them or none, as one transaction."""
        if not self.usable or not fits:
            return
        try:
            with closing(self._connect()) as database, database:
                rows = [(key, fit.to_bytes()) for key, fit in fits.items()]
                database.executemany("INSERT OR REPLACE INTO clouds VALUES (?, ?)", rows)
        except sqlite3.Error as error:
            self._failed(error)

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=_WAIT)

    def _create(self) -> None:
        with closing(self._connect()) as database, database:
            database.execute("CREATE TABLE IF NOT EXISTS clouds (key BLOB PRIMARY KEY, entry BLOB) WITHOUT ROWID")
            database.execute("DELETE FROM clouds WHERE key = x''")  # fails now, not later, where writing is forbidden

    def _failed(self, error: Exception, required: bool = False) -> None:
        """A damaged cache is set aside and begun anew; one that cannot be used is done without.

        A file that is no database at all is set aside only in our own folder: one that the user named may be theirs.
        """
        damaged = getattr(error, "sqlite_errorcode", None)
        if damaged == sqlite3.SQLITE_CORRUPT or (damaged == sqlite3.SQLITE_NOTADB and not required):
            log.warning("%s is not a cloud cache (%s): it is set aside as %s.broken", self.path, error, self.path.name)
            try:
                self.path.replace(self.path.with_name(self.path.name + ".broken"))
                self._create()
                return
            except (OSError, sqlite3.Error) as another:
                error = another
        self._give_up(error, required)

    def _give_up(self, error: Exception, required: bool) -> None:
        line = f"cannot use the cloud cache {self.path}: {error}"
        if required:
            raise GeoGAEError(f"{line}; choose another place, or cache=False") from None
        log.warning("%s; clouds are fitted anew (set GEOGAE_CACHE to a folder that can be written)", line)
        self.usable = False
