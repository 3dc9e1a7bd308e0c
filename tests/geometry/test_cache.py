"""The cache: what was fitted comes back; what is stale, damaged or out of reach is a miss, and said so."""

from __future__ import annotations

import multiprocessing
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from families import plain, random_graph, shuffled
from geogae.errors import GeoGAEError
from geogae.geometry import cache as cache_module
from geogae.geometry import fitting
from geogae.geometry.cache import CloudCache, Fit
from geogae.geometry.cloud import HyperballCloud
from geogae.geometry.fitting import fit_clouds

GRAPHS = [random_graph(n, 0.4, seed=n) for n in (3, 6, 9)]


@pytest.fixture
def fitted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the graphs that were fitted and did not come from the cache."""
    sizes: list[int] = []
    real = fitting.fit_topology
    monkeypatch.setattr(fitting, "fit_topology", lambda graph, *rest: sizes.append(graph.n) or real(graph, *rest))
    return sizes


@pytest.fixture(autouse=True)
def nothing_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small graphs are not kept, as they are fitted faster than they are read; here they stand for large ones."""
    monkeypatch.setattr(fitting, "fit_all_quickly", lambda *_: {})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "clouds.sqlite"


def fit_of(size: int, seed: int = 0) -> Fit:
    return Fit(np.random.default_rng(seed).normal(size=(size, 3)).astype(np.float32), size * 7, 2)


def assert_equal(a: Fit, b: Fit) -> None:
    np.testing.assert_array_equal(a.balls, b.balls)
    assert a[1:] == b[1:] and a.balls.dtype == np.float32


def change(path: Path, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(statement, values)


# -- entries ----------------------------------------------------------------------------------------------------


@given(st.integers(0, 20), st.integers(0, 2**32))
def test_an_entry_comes_back(size: int, seed: int) -> None:
    fit = fit_of(size, seed)
    back = Fit.from_bytes(fit.to_bytes())
    assert back is not None
    assert_equal(back, fit)


@given(st.integers(1, 5), st.data())
def test_a_damaged_entry_is_none(size: int, data: st.DataObject) -> None:
    entry = fit_of(size).to_bytes()
    position = data.draw(st.integers(0, len(entry) - 1))
    flipped = bytearray(entry)
    flipped[position] ^= data.draw(st.integers(1, 255))
    for damaged in (bytes(flipped), entry[:position], entry + b"x"):
        assert Fit.from_bytes(damaged) is None


def test_table_round_trip(path: Path) -> None:
    fits = {bytes([k]): fit_of(k) for k in range(1, 30)}
    CloudCache(path).write(fits)
    back = CloudCache(path).read([*fits, b"unknown"])
    assert back.keys() == fits.keys()
    for key in fits:
        assert_equal(back[key], fits[key])


# -- fits -------------------------------------------------------------------------------------------------------


def test_a_fit_comes_back(path: Path, fitted: list[int]) -> None:
    first = fit_clouds(GRAPHS, 4, cache=path)
    again = fit_clouds([shuffled(g, 1) for g in GRAPHS], 4, cache=path)
    assert sorted(fitted) == [3, 6, 9]
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a.balls, b.balls)
        assert (a.steps, a.tries, a.exact) == (b.steps, b.tries, b.exact)


def test_the_default_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fitted: list[int]) -> None:
    monkeypatch.setenv("GEOGAE_CACHE", str(tmp_path / "here"))
    fit_clouds(GRAPHS, 4)
    fit_clouds(GRAPHS, 4)
    assert sorted(fitted) == [3, 6, 9] and (tmp_path / "here" / "clouds.sqlite").is_file()
    fit_clouds(GRAPHS, 4, cache=False)
    assert len(fitted) == 6


@pytest.mark.parametrize("other", [{"dim": 5}, {"seed": 1}, {"margin": 0.3}, {"start": "random"}, {"device": "cpu:0"}])
def test_whatever_decides_a_fit_is_in_the_key(path: Path, fitted: list[int], other: dict[str, Any]) -> None:
    fit_clouds(GRAPHS, 4, cache=path)
    fit_clouds(GRAPHS, **{"dim": 4, "cache": path} | other)
    assert len(fitted) == 6


def test_what_does_not_decide_a_fit_is_not(path: Path, fitted: list[int]) -> None:
    fit_clouds(GRAPHS, 4, cache=path)
    fit_clouds(GRAPHS, 4, cache=path, order="axis", n_jobs=1, strict=True)
    assert len(fitted) == 3


def test_another_version_is_a_miss(path: Path, fitted: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    fit_clouds(GRAPHS, 4, cache=path)
    monkeypatch.setattr(fitting, "ALGORITHM", fitting.ALGORITHM + 1)
    fit_clouds(GRAPHS, 4, cache=path)
    assert len(fitted) == 6


@pytest.mark.parametrize("entry", [b"", b"nonsense", "text", None, 7])
def test_a_foreign_entry_is_a_miss_and_is_replaced(path: Path, fitted: list[int], entry: Any) -> None:
    first = fit_clouds(GRAPHS, 4, cache=path)
    change(path, "UPDATE fits SET entry = ?", entry)
    again = fit_clouds(GRAPHS, 4, cache=path)
    assert len(fitted) == 6
    fit_clouds(GRAPHS, 4, cache=path)
    assert len(fitted) == 6
    assert all(np.array_equal(a.balls, b.balls) for a, b in zip(first, again, strict=True))


def test_a_flipped_byte_is_a_miss(path: Path, fitted: list[int]) -> None:
    fit_clouds(GRAPHS[2], 4, cache=path)
    whole = path.read_bytes()
    with closing(sqlite3.connect(path)) as database:
        (entry,) = database.execute("SELECT entry FROM fits").fetchone()
    where = whole.index(entry) + len(entry) // 2
    path.write_bytes(whole[:where] + bytes([whole[where] ^ 1]) + whole[where + 1 :])
    assert fit_clouds(GRAPHS[2], 4, cache=path)[0].exact and fitted == [9, 9]


# -- files ------------------------------------------------------------------------------------------------------


def many(count: int = 2000) -> dict[bytes, Fit]:
    return {k.to_bytes(16, "big"): fit_of(20, k) for k in range(count)}


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9])
def test_a_truncated_file_is_set_aside(path: Path, caplog: pytest.LogCaptureFixture, keep: float) -> None:
    cache = CloudCache(path)
    cache.write(many())
    whole = path.read_bytes()
    path.write_bytes(whole[: int(keep * len(whole))])
    cache = CloudCache(path)
    found = cache.read(many())
    cache.write(many())
    assert CloudCache(path).read(many()).keys() == many().keys()
    assert path.with_name("clouds.sqlite.broken").exists() and "set aside as clouds.sqlite.broken" in caplog.text
    for key, fit in found.items():
        assert_equal(fit, many()[key])


def test_a_foreign_file_in_our_folder_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fitted: list[int]
) -> None:
    monkeypatch.setenv("GEOGAE_CACHE", str(tmp_path))
    (tmp_path / "clouds.sqlite").write_text("not a database at all" * 100)
    for _ in range(2):
        assert fit_clouds(GRAPHS[0], 4)[0].exact
    assert fitted == [3] and len(caplog.messages) == 1 and "set aside as clouds.sqlite.broken" in caplog.text
    assert (tmp_path / "clouds.sqlite.broken").read_text().startswith("not a database")


def test_a_file_of_the_user_is_left_alone(tmp_path: Path) -> None:
    notes = tmp_path / "thesis.txt"
    notes.write_text("years of work\n" * 1000)
    with pytest.raises(
        GeoGAEError, match=r"cannot use the cloud cache .*thesis.txt: .*; choose another place"
    ) as caught:
        fit_clouds(GRAPHS, 4, cache=notes)
    assert "\n" not in str(caught.value)
    assert notes.read_text() == "years of work\n" * 1000 and list(tmp_path.iterdir()) == [notes]


def test_a_default_place_out_of_reach_costs_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("GEOGAE_CACHE", str(tmp_path / "file" / "below"))
    assert all(cloud.exact for cloud in fit_clouds(GRAPHS, 4))
    (line,) = caplog.messages
    assert line.startswith(f"cannot use the cloud cache {tmp_path}/file/below/clouds.sqlite") and "GEOGAE_CACHE" in line


@pytest.mark.parametrize("place", ["file/below", "folder"])
def test_a_named_place_out_of_reach_is_an_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(GeoGAEError, match=r"^cannot use the cloud cache .*; choose another place, or cache=False$"):
        fit_clouds(GRAPHS, 4, cache=tmp_path / place)


def test_a_full_disk_costs_a_line(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(self: CloudCache) -> sqlite3.Connection:
        raise sqlite3.OperationalError("database or disk is full")

    cache = CloudCache(path)
    cache.write(many(2))
    monkeypatch.setattr(CloudCache, "_connect_to_write", full)
    cache.write(many(3))
    cache.write(many(4))
    assert cache.read(many(4)).keys() == many(2).keys()  # what is there is still read
    assert caplog.messages == [f"cannot add to the cloud cache {path}: database or disk is full; it is only read"]


def test_a_file_that_can_only_be_read_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fitted: list[int]
) -> None:
    """As on a read-only mount, named by the user or not."""
    fit_clouds(GRAPHS[:2], 4, cache=path)

    def forbidden(self: CloudCache) -> sqlite3.Connection:
        raise sqlite3.OperationalError("attempt to write a readonly database")

    monkeypatch.setattr(CloudCache, "_connect_to_write", forbidden)
    assert CloudCache(path).read(many(1)) == {}
    fit_clouds(GRAPHS, 4, cache=path)
    assert sorted(fitted) == [3, 6, 9] and not caplog.messages
    fit_clouds(GRAPHS, 4, cache=path)
    assert sorted(fitted) == [3, 6, 9, 9]


def test_reading_writes_nothing(path: Path) -> None:
    assert CloudCache(path).read(many(3)) == {} and not path.exists()
    CloudCache(path).write(many(3))
    path.chmod(0o444)
    before = path.read_bytes()
    assert len(CloudCache(path).read(many(3))) == 3 and path.read_bytes() == before


# -- size and age -----------------------------------------------------------------------------------------------


HALF_WRITTEN = """
import os, signal, sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("PRAGMA cache_size = 1")  # pages go to the file before the transaction ends
for k in range(200):
    database.execute("INSERT INTO fits VALUES (NULL, ?, ?)", (bytes([k]), bytes(4000)))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_half_written_is_rolled_back(path: Path) -> None:
    CloudCache(path).write({b"key": fit_of(5)})
    killed = subprocess.run([sys.executable, "-c", HALF_WRITTEN, str(path)])
    assert killed.returncode == -signal.SIGKILL and path.with_name(f"{path.name}-journal").exists()
    assert CloudCache(path).facts()["entries"] == 1
    assert_equal(CloudCache(path).read([b"key"])[b"key"], fit_of(5))


def test_the_oldest_go_when_there_are_too_many(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEOGAE_CACHE_LIMIT", "0.2")
    cache, fits = CloudCache(path), many(3000)
    for k in range(0, 3000, 100):
        cache.write(dict(list(fits.items())[k : k + 100]))
    facts = cache.facts()
    assert facts["limit"] == 200_000 and 100_000 < facts["bytes"] <= 220_000
    found = cache.read(fits)
    kept = [key for key in fits if key in found]
    assert kept == list(fits)[-len(kept) :] and len(kept) == facts["entries"] > 100


@pytest.mark.parametrize("limit", ["much", "-1", "nan", "inf"])
def test_a_limit_that_is_none(path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setenv("GEOGAE_CACHE_LIMIT", limit)
    with pytest.raises(GeoGAEError, match=rf"^GEOGAE_CACHE_LIMIT='{limit}' must be a number of megabytes, at least 0$"):
        CloudCache(path)


def test_fits_of_an_earlier_algorithm_are_dropped(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    CloudCache(path).write(many(500))
    change(path, "CREATE TABLE clouds (key BLOB PRIMARY KEY, entry BLOB)")  # as the first versions had it
    monkeypatch.setattr(cache_module, "ALGORITHM", cache_module.ALGORITHM + 1)
    cache = CloudCache(path)
    assert cache.read(many(500)) == {} and cache.facts()["entries"] == 0
    cache.write(many(2))
    assert cache.facts()["entries"] == 2
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall() == [("fits",)]


# -- processes --------------------------------------------------------------------------------------------------


def write_some(path: Path, first: int, start: Any) -> None:
    start.wait()
    for k in range(first, first + 30):
        CloudCache(path, required=True).write({k.to_bytes(16, "big"): fit_of(20, k), b"both": fit_of(5)})


def test_two_processes_write_at_once(path: Path) -> None:
    fork = multiprocessing.get_context("fork")  # a new process would first import everything
    start = fork.Barrier(2)
    writers = [fork.Process(target=write_some, args=(path, first, start)) for first in (0, 1000)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]
    keys = [k.to_bytes(16, "big") for k in (*range(30), *range(1000, 1030))]
    found = CloudCache(path).read([*keys, b"both"])
    assert found.keys() == {*keys, b"both"}
    for k in (0, 29, 1000, 1029):
        assert_equal(found[k.to_bytes(16, "big")], fit_of(20, k))


def test_a_cached_cloud_may_be_written_to(path: Path) -> None:
    for _ in range(2):
        cloud: HyperballCloud = fit_clouds(plain(nx.path_graph(4)), 3, cache=path)[0]
        cloud.centers[0] += 0
        cloud.radii_raw[0] += 0
