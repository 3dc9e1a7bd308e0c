"""geogae cache: where clouds are kept, how many, and how to be rid of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from geogae.geometry.cache import CloudCache, Fit, default_path
from shell import Run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GEOGAE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GEOGAE_CACHE_LIMIT", "50")
    return tmp_path / "cache"


def fill() -> None:
    import numpy as np

    CloudCache(default_path()).write({bytes([k]): Fit(np.ones((5, 3), np.float32), 1, 1) for k in range(7)})


def test_an_empty_cache(run: Run, folder: Path) -> None:
    code, out, err = run("cache", "--json")
    assert (code, err) == (0, "") and not folder.exists()
    assert json.loads(out) == {
        "path": str(folder / "clouds.sqlite"),
        "entries": 0,
        "bytes": 0,
        "limit": 50_000_000,
    }


def test_a_filled_cache_is_shown_and_cleared(run: Run, folder: Path) -> None:
    fill()
    (folder / "clouds.sqlite.broken").write_text("set aside")
    (folder / "tu").mkdir()
    code, out, _ = run("cache")
    assert code == 0 and str(folder) in out and "7" in out and "of 50 MB" in out
    code, out, err = run("cache", "clear")
    assert (code, out) == (0, "") and err.startswith("removed") and [p.name for p in folder.iterdir()] == ["tu"]


def test_a_foreign_file_is_an_error_of_one_line(run: Run, folder: Path) -> None:
    folder.mkdir()
    (folder / "clouds.sqlite").write_text("not a database" * 100)
    code, out, err = run("cache")
    assert (code, out) == (2, "") and err.startswith("error: cannot read the cloud cache") and err.count("\n") == 1
