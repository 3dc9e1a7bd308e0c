"""Graphs and vectors one at a time: bounded memory, streams without a suffix, Parquet."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geogae.errors import GeoGAEError
from geogae.formats import iter_read, iter_vectors, read, read_graph6, read_vectors, write, write_vectors
from geogae.graph import Graph
from shell import Run
from strategies import graph_lists, graphs

PATH, PAIR = Graph(3, [(0, 1), (1, 2)]), Graph(2, [(0, 1)])


# -- files ---


@pytest.mark.parametrize("name", ["a.jsonl", "a.g6", "a.s6", "a.parquet", "a.npz", "a.zip", "DS"])
def test_iter_read_gives_what_read_gives(name: str, tmp_path: Path) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    write([PATH, PAIR, Graph(1)], tmp_path / name)
    assert list(iter_read(tmp_path / name)) == read(tmp_path / name) == [PATH, PAIR, Graph(1)]


@pytest.mark.parametrize("suffix", [".jsonl", ".smi", ".g6"])
def test_a_later_fault_comes_later(suffix: str, tmp_path: Path) -> None:
    if suffix == ".smi":
        pytest.importorskip("rdkit.Chem", reason="rdkit is not installed")
    line = {".jsonl": '{"n":1,"edges":[]}', ".smi": "C", ".g6": "@"}[suffix]
    (tmp_path / f"a{suffix}").write_text(f"{line}\n\n{line}\n)nonsense(\n")
    found = iter_read(tmp_path / f"a{suffix}")
    assert [g.n for g in islice(found, 2)] == [1, 1]
    with pytest.raises(GeoGAEError, match="line 4: "):
        next(found)


@pytest.mark.parametrize("suffix", [".jsonl", ".s6"])
def test_memory_is_bounded(suffix: str, tmp_path: Path) -> None:
    """Writing takes an iterator and reading gives one: 3,000 graphs, 17 MiB in a list, need no more than one."""
    program = """
import resource, sys
from geogae import formats
from geogae.graph import Graph
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
path, count = sys.argv[1], 3000
big = Graph(300, [(i, i + 1) for i in range(299)])
formats.write((big for _ in range(50)), path)
next(formats.iter_read(path))
before = peak()
formats.write((big for _ in range(count)), path)
assert sum(1 for _ in formats.iter_read(path)) == count
print(peak() - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / f"a{suffix}")], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 5  # MiB


def test_parquet_is_read_and_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    monkeypatch.setattr("geogae.formats.parquet.ROWS", 4)
    write(([PATH, PAIR][i % 2] for i in range(10)), tmp_path / "a.parquet")
    groups = parquet.ParquetFile(tmp_path / "a.parquet").metadata
    assert [groups.row_group(i).num_rows for i in range(groups.num_row_groups)] == [4, 4, 2]
    assert list(iter_read(tmp_path / "a.parquet")) == [PATH, PAIR] * 5


def test_a_file_with_another_suffix(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Bg\n")
    assert (
        read(tmp_path / "a.txt", format="g6")
        == read(tmp_path / "a.txt", format=".G6")
        == read_graph6(tmp_path / "a.txt")
    )
    with pytest.raises(GeoGAEError, match=r"a\.txt has no suffix that is known"):
        read(tmp_path / "a.txt")
    with pytest.raises(GeoGAEError, match=r"a\.txt has no suffix that is known; read \.jsonl"):
        read(tmp_path / "a.txt", format="xyz")


# -- streams ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"n": 2, "edges": [[0, 1]]}\n', [PAIR]),
        (b"\n\xef\xbb\xbf\n", None),
        (b"", []),
        (b">>graph6<<A_\n", [PAIR]),
        (b":An\n", [PAIR]),
        (b"A_\nB?\n", [PAIR, Graph(3)]),  # '?' and '_' are in no SMILES
    ],
)
def test_the_format_of_a_stream_is_guessed(text: bytes, expected: list[Graph] | None) -> None:
    if expected is None:
        with pytest.raises(GeoGAEError):
            read(io.BytesIO(text))
    else:
        assert read(io.BytesIO(text)) == expected


def test_smiles_from_a_stream() -> None:
    pytest.importorskip("rdkit.Chem", reason="rdkit is not installed")
    assert [(g.n, g.name) for g in read(io.BytesIO(b"CCO ethanol\nC\n"))] == [(3, "ethanol"), (1, None)]
    assert [g.n for g in read(io.BytesIO(b"CC\n"), format="smi")] == [2]
    assert [g.n for g in read(io.BytesIO(b"CC\n"), format="g6")] == [4]
    with pytest.raises(GeoGAEError, match=r"'CC' could be graph6 or SMILES; say which with format='g6' or 'smi'"):
        read(io.BytesIO(b"CC\n"))
    with pytest.raises(GeoGAEError, match=r"\.npz cannot be read from a stream; give a file, or \.jsonl"):
        read(io.BytesIO(b"PK"), format="npz")


def test_a_stream_is_read_as_it_comes() -> None:
    """The first graph is there before the second is written."""

    class Slow(io.RawIOBase):
        served = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
            line = b'{"n": %d, "edges": []}\n' % (self.served + 1)
            buffer[: len(line)] = line
            self.served += 1
            return len(line)

    slow = Slow()
    found = iter_read(io.BufferedReader(slow))
    assert [g.n for g in islice(found, 3)] == [1, 2, 3]
    assert slow.served <= 4


def test_the_command_line_reads_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    from geogae.cli.data import iter_graphs, read_graphs

    def stdin(text: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))

    stdin(b'{"n": 2, "edges": [[0, 1]]}\n' * 3)
    assert read_graphs("-") == [PAIR] * 3
    stdin(b'{"n": 2, "edges": [[0, 1]]}\n' * 3)
    assert read_graphs("-", first=2) == [PAIR] * 2
    stdin(b'{"n": 2, "edges": [[0, 1], [1, 0]]}\n')
    assert list(iter_graphs("-", simplify=True)) == [PAIR]
    stdin(b"CC\n")
    assert [g.n for g in iter_graphs("-", format="g6")] == [4]
    stdin(b"")
    with pytest.raises(GeoGAEError, match="- holds no graphs"):
        read_graphs("-")
    stdin(b"{\n")
    with pytest.raises(GeoGAEError, match="line 1: this is not JSON"):
        read_graphs("-")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(GeoGAEError, match="there is no stdin"):
        read_graphs("-")


def test_verbs_take_stdin_and_a_format(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"CC\n")))
    code, out, err = run("cloud", "-")
    assert (code, out) == (2, "") and err.startswith("error: 'CC' could be graph6 or SMILES; say which with")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"CC\n")))
    code, _, err = run("cloud", "-", "--format", "jsonl")
    assert code == 2 and "line 1: this is not JSON" in err
    assert run("train", "mutag", "--data", "-").err.startswith("error: a run reads its graphs again later; write them")


# -- graph6 is that of NetworkX ---


@given(graphs(attributed=False))
@settings(max_examples=60)
def test_graph6_and_sparse6_are_those_of_networkx(graph: Graph) -> None:
    own = nx.Graph(graph.to_networkx())
    for suffix, theirs in ((".g6", nx.to_graph6_bytes), (".s6", nx.to_sparse6_bytes)):
        file = io.BytesIO(theirs(own, header=False))
        assert read_graph6(file) == [graph], suffix


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 62, 63, 64, 65, 300])
def test_what_is_written_is_read_by_networkx(n: int, tmp_path: Path) -> None:
    """Sizes around the powers of two, where sparse6 pads otherwise, and around 63, where the size takes four bytes."""
    rng = np.random.default_rng(n)
    pairs = np.argwhere(np.triu(rng.random((n, n)) < min(1, 3 / n), 1))
    for edges in (pairs, pairs[pairs[:, 1] < n - 1], [(n - 3, n - 2)] if n > 2 else []):
        graph = Graph(n, edges)
        for name, reader in (("a.g6", nx.from_graph6_bytes), ("a.s6", nx.from_sparse6_bytes)):
            write([graph], tmp_path / name)
            assert Graph.from_networkx(reader((tmp_path / name).read_bytes().strip())) == graph
            assert read(tmp_path / name) == [graph]


# -- Parquet ---


@given(graph_lists())
@settings(max_examples=25)
def test_parquet_round_trip(tmp_path_factory: pytest.TempPathFactory, graphs: list[Graph]) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    file = tmp_path_factory.mktemp("parquet") / "a.parquet"
    write(graphs, file)
    back = read(file)
    assert back == graphs
    assert [g.name for g in back] == [g.name for g in graphs]


def test_parquet_of_molecules(tmp_path: Path) -> None:
    pytest.importorskip("rdkit.Chem", reason="rdkit is not installed")
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "a.parquet"
    parquet.write_table(
        arrow.table({"id": [7, 8], "Smiles": ["CCO", "C"], "label": [0.5, None], "other": [1, 2]}), file
    )
    assert [(g.n, g.name, g.label) for g in read(file)] == [(3, "7", 0.5), (1, "8", None)]
    assert [g.n for g in read(file, hydrogens=True)] == [9, 5]
    parquet.write_table(arrow.table({"mol": ["CCO", None]}), file)
    with pytest.raises(GeoGAEError, match=r"neither a column smiles nor n and edges; its columns are mol"):
        read(file)
    with pytest.raises(GeoGAEError, match=r"a\.parquet row 1: the column 'mol' holds NoneType, not text"):
        read(file, smiles="mol")
    with pytest.raises(GeoGAEError, match=r"has no column 'drug'; its columns are mol"):
        read(file, smiles="drug")


def test_what_a_parquet_file_cannot_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    monkeypatch.setattr("geogae.formats.parquet.ROWS", 2)
    file = tmp_path / "a.parquet"
    with pytest.raises(GeoGAEError, match=r"graph 3 has label, which none of the first 2 graphs has; write \.jsonl"):
        write([PATH, PATH, PATH, Graph(1, label=1)], file)
    with pytest.raises(GeoGAEError, match=r"graphs 2 to 2 do not fit the columns of the first 2 \(.*\); write \.jsonl"):
        write([Graph(1, label=1), Graph(1, label=2), Graph(1, label=(0.5, 1))], file)
    with pytest.raises(GeoGAEError, match="no graphs to write"):
        write([], file)
    assert list(tmp_path.iterdir()) == []
    file.write_bytes(b"PAR1 is not enough PAR1")
    with pytest.raises(GeoGAEError, match=r"a\.parquet is not a Parquet file that can be read"):
        read(file)


# -- vectors ---


@given(st.lists(st.integers(0, 5), min_size=1, max_size=5), st.integers(1, 4))
@settings(max_examples=30)
def test_vectors_are_written_and_read_in_blocks(
    tmp_path_factory: pytest.TempPathFactory, blocks: list[int], rows: int
) -> None:
    file = tmp_path_factory.mktemp("vectors") / "z.npy"
    z = np.random.default_rng(0).normal(size=(sum(blocks), 3)).astype(np.float32)
    assert write_vectors(np.split(z, np.cumsum(blocks)[:-1]), file) == z.shape
    assert np.array_equal(np.load(file, allow_pickle=False), z)
    assert np.array_equal(read_vectors(file), z)
    parts = list(iter_vectors(file, rows))
    assert all(len(part) == rows for part in parts[:-1])
    assert np.array_equal(np.concatenate([np.zeros((0, 3)), *parts]), z)


def test_vectors_in_other_orders(tmp_path: Path) -> None:
    z = np.arange(15.0).reshape(5, 3)
    for array in (np.asfortranarray(z), z.astype(">f4")):
        np.save(tmp_path / "z.npy", array)
        assert np.array_equal(np.concatenate(list(iter_vectors(tmp_path / "z.npy", 2))), z)
    np.save(tmp_path / "z.npy", z[0])
    assert [block.tolist() for block in iter_vectors(tmp_path / "z.npy")] == [[z[0].tolist()]]
    (tmp_path / "z.json").write_text("[[1, 2], [3, 4], [5, 6]]")
    assert [len(block) for block in iter_vectors(tmp_path / "z.json", 2)] == [2, 1]


def test_blocks_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(GeoGAEError, match=r"a block of vectors has shape \(1, 2\); it must be \(rows, 3\)"):
        write_vectors([np.zeros((1, 3)), np.zeros((1, 2))], tmp_path / "z.npy")
    with pytest.raises(GeoGAEError, match="no vectors to write"):
        write_vectors(iter([]), tmp_path / "z.npy")
    assert list(tmp_path.iterdir()) == []


def test_a_stream_of_vectors_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    def blocks() -> Iterator[np.ndarray]:
        yield np.zeros((2, 3), np.float32)
        raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError):
        write_vectors(blocks(), tmp_path / "z.npy")
    assert list(tmp_path.iterdir()) == []
