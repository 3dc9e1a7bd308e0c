"""Named data sets: what they hold, where they are looked for, and what is said when they are not there."""

from __future__ import annotations

import hashlib
import http.server
import logging
import os
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from geogae import datasets
from geogae.datasets import qm9, sources, store
from geogae.errors import GeoGAEError
from geogae.formats import write_tu
from geogae.formats.packed import Packed
from geogae.graph import Graph

SMALL = [Graph(3, [(0, 1), (1, 2)], label=1), Graph(2, [(0, 1)], label=0)]
DATA = os.environ.get("GEOGAE_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="GEOGAE_DATA does not name a folder of TU zips")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GEOGAE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GEOGAE_DATA", raising=False)
    monkeypatch.setenv("GEOGAE_TU_URL", "http://127.0.0.1:9/none")
    return tmp_path / "cache"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("GEOGAE_TU_URL", f"http://127.0.0.1:{running.server_address[1]}")
        yield folder
        running.shutdown()


# -- what is in them ---


def test_mutag_comes_with_the_package() -> None:
    graphs = datasets.load("mutag")
    assert len(graphs) == 188
    assert np.mean([g.n for g in graphs]) == pytest.approx(17.93, abs=0.005)
    assert np.mean([len(g.edges) for g in graphs]) == pytest.approx(19.79, abs=0.005)
    assert graphs[17].name == "MUTAG/17"
    assert sorted({g.label for g in graphs}) == [-1, 1]
    assert sum(g.label == 1 for g in graphs) == 125
    assert {int(c) for g in graphs for c in g.node_categorical.ravel()} == set(range(7))
    assert {int(c) for g in graphs for c in g.edge_categorical.ravel()} == set(range(4))


@needs_data
def test_embedded_mutag_is_that_of_the_collection() -> None:
    assert datasets.load("MUTAG") == datasets.load("MUTAG", root=DATA)


@needs_data
@pytest.mark.parametrize(
    "name", ["AIDS", "IMDB-BINARY", "SYNTHETICnew", "REDDIT-BINARY", pytest.param("COLLAB", marks=pytest.mark.slow)]
)
def test_the_table_of_the_paper(name: str, caplog: pytest.LogCaptureFixture) -> None:
    graphs = datasets.load(name, root=DATA)
    paper = datasets.catalogue.PAPER[name]
    self_loops = 2837 if name == "COLLAB" else 0  # which the paper counts as edges
    assert len(graphs) == paper.graphs
    assert sum(g.n for g in graphs) / len(graphs) == pytest.approx(paper.nodes, abs=0.006)
    assert (sum(len(g.edges) for g in graphs) + self_loops) / len(graphs) == pytest.approx(paper.edges, abs=0.006)
    said = {"COLLAB": "COLLAB: 2,837 self-loops dropped", "IMDB-BINARY": "IMDB-BINARY: 193,062 repeated arcs merged"}
    assert caplog.messages == ([said[name]] if name in said else [])
    for graph in graphs[::97]:
        assert Graph(graph.n, graph.edges).edges.tolist() == graph.edges.tolist()
    if name == "COLLAB":  # the second read comes from the cache
        assert datasets.load(name, root=DATA) == graphs
        assert caplog.messages == [said[name]] * 2


def test_table_without_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qm9, "find", list)
    rows = {row.name: row for row in datasets.table()}
    assert list(rows) == datasets.names()
    assert rows["MUTAG"].graphs == 188
    assert rows["COLLAB"][1:4] == rows["QM9"][1:4] == (None, None, None)
    assert rows["COLLAB"].paper.edges == 2457.78


# -- QM9 ---


def qm9_part(path: Path, smiles: list[str]) -> Path:
    header = ["XYZ_file", "SMILES", *qm9.PROPERTIES]
    rows = [["x", s, *map(str, range(len(qm9.PROPERTIES)))] for s in smiles]
    path.write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n")
    return path


def test_qm9_is_read_once_and_says_what_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("rdkit", reason="rdkit is not installed")
    part = qm9_part(tmp_path / "qm9_part1.csv", ["C", "C1", "c1ccccc1"])
    monkeypatch.setattr(qm9, "find", lambda: [part])
    graphs = datasets.load("qm9")
    assert [g.n for g in graphs] == [5, 12]
    assert graphs[1].name == "QM9/1"
    assert graphs[0].label == tuple(range(15))
    assert graphs[0].node_categorical.tolist() == [[6, 0]] + [[1, 0]] * 4
    assert sorted(graphs[1].edge_categorical.ravel().tolist()) == [1] * 6 + [12] * 6
    monkeypatch.setattr(qm9, "read", lambda parts: pytest.fail("it was read again"))
    assert datasets.load("QM9") == graphs
    assert caplog.messages == ["QM9: 1 molecules that RDKit refuses left out, the first 'C1'"] * 2


def test_qm9_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qm9, "find", list)
    with pytest.raises(GeoGAEError, match=r"qm9pack: pip install 'geogae\[chem\]'"):
        datasets.load("QM9")


def test_qm9_as_packaged() -> None:
    pytest.importorskip("rdkit", reason="rdkit is not installed")
    parts = qm9.find()
    if not parts:
        pytest.skip("qm9pack is not installed")
    assert sum(part.read_bytes().count(b"\n") - 1 for part in parts) == 130_831


# -- where they come from ---


def test_a_folder_or_zip_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tu(SMALL, tmp_path / "data" / "MINE")
    write_tu(SMALL[:1], tmp_path / "data" / "OURS.zip")
    monkeypatch.setenv("GEOGAE_DATA", str(tmp_path / "data"))
    assert datasets.load("MINE") == SMALL
    assert [g.name for g in datasets.load("OURS")] == ["OURS/0"]
    assert datasets.load("MINE", root=tmp_path / "data") == SMALL
    with pytest.raises(GeoGAEError, match=r"there is no AIDS\.zip and no folder AIDS in .*/data"):
        datasets.load("AIDS", root=tmp_path / "data")


def test_a_download_is_kept(server: Path, cache: Path) -> None:
    write_tu(SMALL, server / "TINY.zip")
    assert datasets.load("TINY") == SMALL
    assert [file.name for file in (cache / "tu").iterdir()] == ["TINY.zip"]
    (server / "TINY.zip").unlink()
    assert datasets.load("TINY") == SMALL


@pytest.mark.parametrize("content", [None, b"<html>not here</html>"])
def test_a_download_that_fails(server: Path, cache: Path, content: bytes | None) -> None:
    if content:
        (server / "TINY.zip").write_bytes(content)
    reason = "did not send a whole zip file" if content else "File not found"
    with pytest.raises(
        GeoGAEError,
        match=rf"'TINY' is not in \$GEOGAE_DATA \(not set\), not in the cache \(.*\), and the download failed "
        rf"\(http://127.*{reason}.*\); put TINY\.zip in one of these folders, .*known: MUTAG, AIDS",
    ) as caught:
        datasets.load("TINY")
    assert "\n" not in str(caught.value)
    assert not list(cache.glob("tu/*"))


def test_a_download_with_another_checksum(server: Path, cache: Path) -> None:
    """The zips of the paper's sets are known; another file of that name is refused, and not kept."""
    write_tu(SMALL, server / "AIDS.zip")
    with pytest.raises(
        GeoGAEError, match=r"the download failed \(http://127.*AIDS\.zip.*hash.*does not match"
    ) as caught:
        datasets.load("AIDS")
    assert "\n" not in str(caught.value)
    assert not list(cache.glob("tu/*"))


@needs_data
def test_checksums_are_those_of_the_files() -> None:
    for name, expected in sources.SHA256.items():
        file = Path(DATA or "", f"{name}.zip")
        if file.stat().st_size < 1 << 23:  # the larger ones take a while
            assert hashlib.sha256(file.read_bytes()).hexdigest() == expected
    assert sources.SHA256.keys() | {"QM9"} == set(datasets.names())


def test_no_network() -> None:
    with pytest.raises(GeoGAEError, match=r"the download failed \(http://127\.0\.0\.1:9/none/aids2\.zip: "):
        datasets.load("aids2")


def test_a_cache_that_cannot_be_written(server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tu(SMALL, server / "TINY.zip")
    (tmp_path / "file").touch()
    monkeypatch.setenv("GEOGAE_CACHE", str(tmp_path / "file"))
    with pytest.raises(GeoGAEError, match=r"the download failed \(cannot write .*choose another place\)"):
        datasets.load("TINY")


@pytest.mark.parametrize("name", ["../secret", "", "a/b", ".hidden"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(
        GeoGAEError, match="is not the name of a data set; known names: MUTAG, AIDS, IMDB-BINARY, QM9, QM9-numbers"
    ):
        datasets.load(name)


@pytest.mark.parametrize("name", ["x" * 5000, "\0", "-", " "])
def test_arguments_that_are_neither_names_nor_paths(name: str) -> None:
    with pytest.raises(GeoGAEError) as caught:
        datasets.read(name)
    assert "\n" not in str(caught.value)


def test_the_policy_is_passed_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "LOOP"
    folder.mkdir()
    (folder / "LOOP_A.txt").write_text("1, 1\n1, 2\n2, 1\n")
    (folder / "LOOP_graph_indicator.txt").write_text("1\n1\n")
    assert datasets.load("LOOP", root=tmp_path) == [Graph(2, [(0, 1)])]
    assert caplog.messages == ["LOOP: 1 self-loops dropped"]
    with pytest.raises(GeoGAEError, match=r"LOOP_A\.txt line 1: self-loop at node 1"):
        datasets.load("LOOP", root=tmp_path, self_loops="error")


# -- the store ---


def test_the_store(cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    builds = []

    def build() -> Packed:
        builds.append(1)
        return Packed.of(SMALL)

    for key in ("a", "a", "b"):
        assert store.cached("X", key, build).graphs() == SMALL
    assert len(builds) == 2
    for file in cache.glob("parsed/*"):
        file.write_bytes(b"rubbish")
    assert store.cached("X", "a", build).graphs() == SMALL
    assert "reading X again" in caplog.text
    assert len(builds) == 3
    blocked = cache.parent / "blocked"
    blocked.touch()
    monkeypatch.setenv("GEOGAE_CACHE", str(blocked))
    assert store.cached("X", "a", build).graphs() == SMALL
    assert "X is not kept for the next time: cannot write" in caplog.text
