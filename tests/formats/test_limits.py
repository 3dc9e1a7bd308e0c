"""Files from strangers: what they may ask for is limited before memory is taken, and damage is never silent."""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from geogae.errors import GeoGAEError
from geogae.formats import limits, read, read_tu, read_vectors, write
from geogae.formats.limits import LIMITS, limit
from geogae.graph import Graph

PATH = Graph(3, [(0, 1), (1, 2)])
RICH = [
    Graph(3, [(0, 1)], node_categorical=[6, 7, 8], edge_continuous=[0.5], label=label, name=f"g{label}")
    for label in range(3)
]


def peak_of_reading(path: Path) -> tuple[str, int]:
    """What reading a file in a process of its own says, and how many MiB it took above an empty process."""
    program = (
        "import sys, resource\nfrom geogae.formats import read, as_graph\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10\nbefore = peak()\n"
        "try: said = f'{len(read(sys.argv[1]))} graphs'\nexcept ValueError as error: said = str(error)\n"
        "print(said, peak() - before, sep='|')"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    said, _, size = done.stdout.rpartition("|")
    return said, int(size)


def tu_zip(path: Path, **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for stem, text in files.items():
            archive.writestr(f"DS/DS_{stem}.txt", text)
    return path


# -- the limits themselves ---


def test_limits_are_stated_and_adjustable(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, (default, _) in LIMITS.items():
        assert f"GEOGAE_MAX_{name.upper()}" in (limits.__doc__ or "") and f"{default:,}" in (limits.__doc__ or "")
        assert limit(name) == default
    monkeypatch.setenv("GEOGAE_MAX_NODES", "5")
    assert limit("nodes") == 5
    for wrong in ("0", "-1", "many", "1e9"):
        monkeypatch.setenv("GEOGAE_MAX_NODES", wrong)
        with pytest.raises(GeoGAEError, match=f"GEOGAE_MAX_NODES='{wrong}' must be a whole number, at least 1"):
            limit("nodes")


@pytest.mark.parametrize("name", ["a.jsonl", "a.g6", "a.s6", "a.npz", "a.zip", "DS"])
def test_nodes_of_a_graph(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write([PATH, Graph(9)], tmp_path / name)
    monkeypatch.setenv("GEOGAE_MAX_NODES", "8")
    with pytest.raises(GeoGAEError, match=r"9 nodes in one graph, and the limit is 8; .*GEOGAE_MAX_NODES=9"):
        read(tmp_path / name)
    monkeypatch.setenv("GEOGAE_MAX_NODES", "9")
    assert read(tmp_path / name) == [PATH, Graph(9)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.g6", "a.npz", "a.zip"])
def test_graphs_in_memory(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write([PATH] * 4, tmp_path / name)
    monkeypatch.setenv("GEOGAE_MAX_GRAPHS", "3")
    with pytest.raises(
        GeoGAEError, match=r"(4|more than 3) graphs in memory, and the limit is 3; .*GEOGAE_MAX_GRAPHS="
    ):
        read(tmp_path / name)


def test_bytes_of_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write([PATH, Graph(99, [(i, i + 1) for i in range(98)])], tmp_path / "a.jsonl")
    monkeypatch.setenv("GEOGAE_MAX_LINE", "100")
    with pytest.raises(GeoGAEError, match=r"a\.jsonl line 2: more than 100 bytes in one line, and the limit is 100"):
        read(tmp_path / "a.jsonl")
    with pytest.raises(GeoGAEError, match=r"graph 1 as graph6 \(use \.s6\): 816 bytes in one line"):
        write([PATH, Graph(99)], tmp_path / "a.g6")


# -- bombs ---


def test_zip_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Archives of below 2 MB took 9.9 and 14 GB: one graph of 4e8 nodes, and 2e8 arcs. Here at a twentieth."""
    monkeypatch.setenv("GEOGAE_MAX_NUMBERS", "5000000")
    nodes = tu_zip(tmp_path / "nodes.zip", A=b"1, 2\n2, 1\n", graph_indicator=b"1\n" * 20_000_000)
    arcs = tu_zip(tmp_path / "arcs.zip", A=b"1, 2\n2, 1\n" * 10_000_000, graph_indicator=b"1\n1\n")
    for file in (nodes, arcs):
        assert file.stat().st_size < 500_000
        said, peak = peak_of_reading(file)
        assert "more than 5,000,000 numbers in one table, and the limit is 5,000,000" in said and peak < 100


def test_archives_larger_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEOGAE_MAX_UNPACKED", "2000")
    bomb = tu_zip(tmp_path / "a.zip", A=b"1, 2\n2, 1\n", graph_indicator=b"1\n1\n", node_labels=b"1\n" * 1000)
    write(RICH * 100, tmp_path / "a.npz")
    for file in (bomb, tmp_path / "a.npz"):
        with pytest.raises(GeoGAEError, match=r"bytes when unpacked, and the limit is 2,000; .*GEOGAE_MAX_UNPACKED"):
            read(file)
    folder = tmp_path / "DS"
    with zipfile.ZipFile(bomb) as archive:
        archive.extractall(tmp_path)
    assert (folder / "DS_A.txt").exists()
    monkeypatch.setenv("GEOGAE_MAX_UNPACKED", "1000")
    with pytest.raises(GeoGAEError, match=r"DS_node_labels\.txt: 2,000 bytes when unpacked"):
        read(folder)


def test_an_archive_that_lies_about_its_size(tmp_path: Path) -> None:
    """The size in the directory of a zip is what is unpacked at most; the rest does not agree with the CRC."""
    file = tu_zip(tmp_path / "a.zip", A=b"1, 2\n2, 1\n", graph_indicator=b"1\n1\n" + b" " * 10_000)
    content = file.read_bytes()
    assert content.count((10_004).to_bytes(4, "little")) == 2
    file.write_bytes(content.replace((10_004).to_bytes(4, "little"), (4).to_bytes(4, "little")))
    with pytest.raises(GeoGAEError, match="that can be read"):
        read(file)


def test_compression_that_unpacks_without_bound(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("DS_A.txt", "1, 2\n2, 1\n")
    with pytest.raises(GeoGAEError, match=r"DS_A\.txt is not compressed by deflate"):
        read(tmp_path / "a.zip")


def test_a_short_line_that_states_many_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """sparse6 of 9,999,999 nodes took 4.7 GB and a minute; a graph of nodes alone takes no memory here."""
    line = ":~~" + "".join(chr((9_999_999 >> shift & 63) + 63) for shift in (30, 24, 18, 12, 6, 0))
    (tmp_path / "a.s6").write_text(line + "\n")
    with pytest.raises(GeoGAEError, match=r"a\.s6 line 1: 9,999,999 nodes in one graph, and the limit is 1,000,000"):
        read(tmp_path / "a.s6")
    monkeypatch.setenv("GEOGAE_MAX_NODES", "9999999")
    said, peak = peak_of_reading(tmp_path / "a.s6")
    assert said == "1 graphs" and peak < 50


def test_an_npz_of_an_array_that_is_not_there(tmp_path: Path) -> None:
    """A header of 1e12 rows, in a member of a few bytes."""
    write(RICH, tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "a.npz") as old, zipfile.ZipFile(tmp_path / "b.npz", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "sizes.npy":
                content = content.replace(b"(3,), }             ", b"(1000000000000,), } ")
                assert b"1000000000000" in content
            new.writestr(name, content)
    with pytest.raises(GeoGAEError, match=r"sizes\.npy: its header states an array of shape \(1000000000000,\)"):
        read(tmp_path / "b.npz")


def test_molecules_that_rdkit_would_crash_on() -> None:
    from geogae.formats import from_smiles, to_smiles_list

    pytest.importorskip("rdkit.Chem", reason="rdkit is not installed")
    with pytest.raises(GeoGAEError, match=r"SMILES 'C{80}…': 30,000 atoms in one molecule, and the limit is 5,000"):
        from_smiles("C" * 30_000)
    with pytest.raises(GeoGAEError, match="atoms in one molecule"):
        from_smiles("C" * 10_000_000)
    chain = Graph(
        20_000, [(i, i + 1) for i in range(19_999)], node_categorical=[6] * 20_000, edge_categorical=[1] * 19_999
    )
    pairs = [(i, j) for j in range(80) for i in range(j)]  # 3,081 rings, and many parts beside them
    full = Graph(4_000, pairs, node_categorical=[78] * 4_000, edge_categorical=[1] * len(pairs))
    assert to_smiles_list([chain, full]) == [None, None]


# -- damage ---


def test_no_flipped_bit_of_an_npz_changes_its_graphs(tmp_path: Path) -> None:
    """Of 1,051 changed bytes 294 were zlib.error, 11 NotImplementedError, and 21 lost attributes without a word."""
    file = tmp_path / "a.npz"
    write(RICH, file)
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for place in rng.choice(len(whole), 400, replace=False):
        content = bytearray(whole)
        content[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(content)
        try:
            assert read(file) == RICH
        except GeoGAEError as error:
            assert "\n" not in str(error)
            refused += 1
    assert refused > 200


def test_no_flipped_bit_of_a_file_of_clouds_changes_them(tmp_path: Path) -> None:
    from geogae.geometry.cloud import HyperballCloud
    from geogae.geometry.storage import load_clouds, save_clouds

    file = tmp_path / "clouds.npz"
    centers = np.arange(6, dtype=np.float32).reshape(3, 2)
    save_clouds([HyperballCloud(centers, np.ones(3, np.float32), np.arange(3), graph=graph) for graph in RICH], file)
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.choice(len(whole), 200, replace=False):
        content = bytearray(whole)
        content[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(content)
        try:
            clouds = load_clouds(file)
            assert [cloud.graph for cloud in clouds] == RICH
            assert all(np.array_equal(cloud.centers, centers) for cloud in clouds)
        except GeoGAEError as error:
            assert "\n" not in str(error)


def test_a_lost_block_is_an_error(tmp_path: Path) -> None:
    write(RICH, tmp_path / "a.npz")
    for lost in ("node_categorical", "labels", "names", "report", "checksum"):
        with zipfile.ZipFile(tmp_path / "a.npz") as old, zipfile.ZipFile(tmp_path / "b.npz", "w") as new:
            for name in old.namelist():
                new.writestr("other.npy" if name == f"{lost}.npy" else name, old.read(name))
        with pytest.raises(GeoGAEError, match="is damaged: its checksum does not agree"):
            read(tmp_path / "b.npz")


@pytest.mark.parametrize("suffix", [".jsonl", ".smi", ".g6"])
def test_a_byte_order_mark(suffix: str, tmp_path: Path) -> None:
    if suffix == ".smi":
        pytest.importorskip("rdkit.Chem", reason="rdkit is not installed")
    text = {".jsonl": '{"n":1,"edges":[]}\n', ".smi": "C\n", ".g6": "@\n"}[suffix].encode()
    (tmp_path / f"a{suffix}").write_bytes(b"\xef\xbb\xbf" + text + text)
    assert [g.n for g in read(tmp_path / f"a{suffix}")] == [1, 1]
    assert [g.n for g in read(io.BytesIO(b"\xef\xbb\xbf" + text), format=suffix)] == [1]


def test_half_of_a_surrogate_pair_is_no_name(tmp_path: Path) -> None:
    """It could be read from JSON, but written to no file."""
    (tmp_path / "a.jsonl").write_text('{"n": 1, "edges": [], "name": "\\ud800"}\n')
    with pytest.raises(GeoGAEError, match="line 1: a graph's name is text"):
        read(tmp_path / "a.jsonl")


# -- links and doubles ---


def test_links_out_of_a_tu_folder_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("password 123\n")
    folder = tmp_path / "DS"
    write([PATH], folder)
    (folder / "DS_node_labels.txt").symlink_to(secret)
    with pytest.raises(GeoGAEError, match=r"DS_node_labels\.txt is a link to a place outside of its folder") as caught:
        read(folder)
    assert "password" not in str(caught.value)
    (folder / "DS_node_labels.txt").unlink()
    (folder / "DS_A.txt").rename(folder / "arcs")
    (folder / "DS_A.txt").symlink_to("arcs")  # inside of it
    (tmp_path / "linked").symlink_to(folder)  # the folder is the user's own choice
    assert read(tmp_path / "linked") == [PATH]
    (folder / "DS_A.txt").unlink()
    (folder / "DS_A.txt").symlink_to("DS_A.txt")
    with pytest.raises(GeoGAEError, match=r"DS_A\.txt cannot be read"):
        read(folder)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_in_a_tu_folder_is_not_waited_for(tmp_path: Path) -> None:
    write([PATH], tmp_path / "DS")
    os.mkfifo(tmp_path / "DS" / "DS_node_labels.txt")
    with pytest.raises(GeoGAEError, match=r"DS_node_labels\.txt is not a file"):
        read(tmp_path / "DS")


def test_two_members_of_one_name(tmp_path: Path) -> None:
    file = tu_zip(tmp_path / "a.zip", A=b"1, 2\n2, 1\n", graph_indicator=b"1\n1\n")
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("__MACOSX/DS/._DS_A.txt", b"\0")  # which macOS adds
    assert read_tu(file) == [Graph(2, [(0, 1)])]
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("other/DS_A.txt", "")
    with pytest.raises(GeoGAEError, match=r"a\.zip holds two files named DS_A\.txt; remove one of them"):
        read_tu(file)


# -- vectors ---


def test_vectors_as_written(tmp_path: Path) -> None:
    z = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    for array in (z, z[0], np.asfortranarray(z), z.astype(">f8"), np.zeros((0, 3), np.float32)):
        np.save(tmp_path / "z.npy", array)
        assert np.array_equal(read_vectors(tmp_path / "z.npy"), array)
    (tmp_path / "z.json").write_text("\ufeff[[1, 2.5], [3, 4]]")
    assert read_vectors(tmp_path / "z.json").tolist() == [[1, 2.5], [3, 4]]


def test_vectors_that_are_not_there(tmp_path: Path) -> None:
    """A header of 1e9 rows was a MemoryError, one without its last bracket a TokenError."""
    file = tmp_path / "z.npy"
    np.save(file, np.zeros((5, 3), np.float32))
    whole = file.read_bytes()
    for old, new, reason in [
        (b"(5, 3), }         ", b"(1000000000, 3), }", r"header states an array of shape \(1000000000, 3\)"),
        (b"(5, 3)", b"(5, 3 ", "the header of its array is damaged"),
        (b"(5, 3)", b"(-5,3)", "the header of its array is damaged"),
        (b"'<f4'", b"'|O4'", "holds no vectors"),
        (b"'<f4'", b"'<M8'", "holds no vectors"),
        (b"NUMPY\x01", b"NUMPY\x09", "the header of its array is damaged"),
        (b"\x93NUMPY", b"PK\x03\x04XX", "does not begin as an .npy array does"),
    ]:
        assert old in whole
        file.write_bytes(whole.replace(old, new))
        with pytest.raises(GeoGAEError, match=rf"z\.npy holds no vectors.*{reason}|{reason}.*it must be an \.npy"):
            read_vectors(file)
    file.write_bytes(whole[:-1])
    with pytest.raises(GeoGAEError, match="60 bytes, but 59 follow"):
        read_vectors(file)
    with pytest.raises(GeoGAEError, match=r"cannot read .*none\.npy: No such file"):
        read_vectors(tmp_path / "none.npy")


@pytest.mark.parametrize(
    "text", ["[[1], [2, 3]]", '[["a"]]', "[[1]", "[" * 100_000, "[[[1]]]", "7", "{}", "[[1e999]]x"]
)
def test_json_that_holds_no_vectors(text: str, tmp_path: Path) -> None:
    (tmp_path / "z.json").write_text(text)
    with pytest.raises(GeoGAEError, match=r"z\.json holds no vectors") as caught:
        read_vectors(tmp_path / "z.json")
    assert "\n" not in str(caught.value)


def test_vectors_larger_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "z.npy", np.zeros((100, 3), np.float32))
    (tmp_path / "z.json").write_text("[[1, 2]]" + " " * 200)
    monkeypatch.setenv("GEOGAE_MAX_UNPACKED", "1000")
    monkeypatch.setenv("GEOGAE_MAX_LINE", "100")
    with pytest.raises(GeoGAEError, match="1,328 bytes when unpacked, and the limit is 1,000"):
        read_vectors(tmp_path / "z.npy")
    with pytest.raises(GeoGAEError, match="208 bytes in one line, and the limit is 100"):
        read_vectors(tmp_path / "z.json")


def test_this_process_stays_small() -> None:
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 20 < 3  # GiB
