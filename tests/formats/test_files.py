"""Files: round trips of random graphs through every format, and malformed files by their line."""

from __future__ import annotations

import json
import tempfile
import zipfile
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geogae import datasets
from geogae.errors import GeoGAEError
from geogae.files import atomic_path, cache_folder
from geogae.formats import iter_jsonl, read, read_graph6, read_jsonl, read_tu, write, write_graph6, write_tu
from geogae.formats.packed import checksum
from geogae.graph import Graph
from strategies import graph_lists, graphs

PATH = Graph(3, [(0, 1), (1, 2)])


def through(graphs: list[Graph], name: str) -> list[Graph]:
    with tempfile.TemporaryDirectory() as folder:
        write(graphs, Path(folder) / name)
        assert [file.name for file in Path(folder).iterdir()] == [name]
        return read(Path(folder) / name)


@given(st.lists(graphs(), min_size=1, max_size=4))
def test_jsonl_round_trip(graphs: list[Graph]) -> None:
    back = through(graphs, "a.jsonl")
    assert back == graphs
    assert [g.name for g in back] == [g.name for g in graphs]


@given(graph_lists())
@settings(max_examples=50)
@pytest.mark.parametrize("name", ["DS", "DS.zip", "a.npz"])
def test_one_table_for_all_graphs_round_trip(name: str, graphs: list[Graph]) -> None:
    back = through(graphs, name)
    assert back == graphs
    assert all(not block.flags.writeable for g in back for block in (g.edges, g.node_categorical) if block is not None)
    names = [g.name for g in graphs] if name == "a.npz" else [f"DS/{i}" for i in range(len(graphs))]
    assert [g.name for g in back] == names


@given(st.lists(graphs(attributed=False), min_size=1, max_size=4))
@settings(max_examples=50)
@pytest.mark.parametrize("name", ["a.g6", "a.s6"])
def test_graph6_round_trip(name: str, graphs: list[Graph]) -> None:
    assert through(graphs, name) == graphs


def test_large_graphs_in_graph6(tmp_path: Path) -> None:
    large = Graph(100, [(0, i) for i in range(1, 100)])
    for name in ("a.g6", "a.s6"):
        write([large, Graph(1)], tmp_path / name)
        assert read(tmp_path / name) == [large, Graph(1)]


# -- JSONL ---


def test_node_link_json(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    named = nx.relabel_nodes(PATH.to_networkx(), {0: "a", 1: "b", 2: "c"})
    lines = [nx.node_link_data(named, edges=edges) for edges in ("links", "edges")]
    file.write_text("\n".join(map(json.dumps, lines)))
    assert read_jsonl(file) == [PATH, PATH]
    file.write_text(json.dumps(nx.node_link_data(nx.DiGraph([(0, 1)]), edges="links")))
    assert read_jsonl(file, directed="either") == [Graph(2, [(0, 1)])]


def test_jsonl_is_read_one_line_at_a_time(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"n":1,"edges":[]}\nnonsense\n')
    assert next(iter_jsonl(file)) == Graph(1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"line 2: this is not JSON"),
        ("[1]", "line 2: a line must be a JSON object"),
        ("[" * 100_000, "line 2: this (is not JSON|JSON is nested)"),
        ('{"edges": []}', 'line 2: the key "n" is missing'),
        ('{"n": 1}', 'line 2: the key "edges" is missing'),
        ('{"n": 1, "edges": [], "colour": 1}', "line 2: unknown key 'colour'; the keys are n, edges"),
        ('{"n": 0, "edges": []}', "line 2: .*at least 1, not n=0"),
        (
            '{"n": 2000000, "edges": []}',
            "line 2: 2,000,000 nodes in one graph, and the limit is 1,000,000; .* GEOGAE_MAX_NODES=2000000",
        ),
        ('{"n": "two", "edges": [[0, 1]]}', "line 2: .*at least 1, not n='two'"),
        ('{"n": 2, "edges": [[0, 5]]}', r"line 2: edge \(0, 5\) is out of range"),
        ('{"n": 2, "edges": [[0, 0]]}', "line 2: self-loop at node 0"),
        ('{"n": 2, "edges": [[0, 1], [1, 0]]}', r"line 2: edge \(1, 0\) is given again"),
        ('{"n": 2, "edges": "ab"}', "line 2: edges must be pairs"),
        ('{"n": 2, "edges": 3}', "line 2: edges must be pairs"),
        ('{"n": 2, "edges": [[0, "b"]]}', "line 2: edges must hold whole node numbers"),
        ('{"n": 1, "edges": [], "node_continuous": [NaN]}', r"line 2: node_continuous\[0, 0\] is nan"),
        ('{"n": 1, "edges": [], "node_continuous": {"a": 1}}', "line 2: node_continuous has shape"),
        ('{"n": 1, "edges": [], "name": 7}', "line 2: a graph's name is text"),
        ('{"nodes": [{"id": 1}], "links": [{"source": 1}]}', "line 2: this is not NetworkX's node-link JSON"),
        ('{"nodes": [{"id": 1}]}', "line 2: this is not NetworkX's node-link JSON: 'links' is missing"),
        ('{"nodes": 5, "links": []}', "line 2: this is not NetworkX's node-link JSON"),
        ('{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}', "line 2: node ids must be distinct"),
        ('{"directed": true, "nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2}]}', "no reverse"),
    ],
)
def test_malformed_jsonl(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"n":1,"edges":[]}\n' + line + "\n")
    with pytest.raises(GeoGAEError, match=rf"a\.jsonl {message}" if message.startswith("line") else message) as caught:
        read_jsonl(file)
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=60))
@pytest.mark.parametrize("suffix", [".jsonl", ".g6", ".npz", ".zip"])
def test_noise_is_graphs_or_a_clear_error(suffix: str, noise: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"a{suffix}"
        file.write_bytes(noise)
        try:
            assert all(isinstance(g, Graph) for g in read(file))
        except GeoGAEError as error:
            assert "\n" not in str(error)


# -- graph6 ---


def test_headers_and_mixed_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.g6"
    file.write_text(">>graph6<<Bg\n\n>>sparse6<<:Bc\nBg\r\n")
    assert read_graph6(file)[0] == Graph.from_networkx(nx.from_graph6_bytes(b"Bg"))
    assert len(read_graph6(file)) == 3
    loops = nx.MultiGraph([(0, 1), (0, 1), (1, 1), (1, 2)])
    file.write_bytes(nx.to_sparse6_bytes(loops))
    assert read_graph6(file, self_loops="drop", duplicates="merge") == [PATH]
    with pytest.raises(GeoGAEError, match="line 1: self-loop at node 1"):
        read_graph6(file)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("D", "'D' is not graph6 or sparse6; the line may be cut off"),
        ("Bgg", "'Bgg' is not graph6"),
        ("~", "'~' is not graph6"),
        ("B g", "' ' does not occur in graph6"),
        ("?", "at least 1, not n=0"),
        (":", "'' is not graph6 or sparse6"),
        (":?", "at least 1, not n=0"),
        ("&B", "this is digraph6, a directed graph"),
        (":~~?@????", "16,777,216 nodes in one graph, and the limit is 1,000,000"),
        (":~~~~~~~~", "68,719,476,735 nodes in one graph, and the limit is 1,000,000"),
        (";Bc", "this is incremental sparse6"),
    ],
)
def test_malformed_graph6(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "a.g6"
    file.write_text("Bg\n" + line + "\n")
    with pytest.raises(GeoGAEError, match=r"a\.g6 line 2: .*" + message.replace("?", r"\?")):
        read_graph6(file)


def test_graph6_keeps_only_the_topology(tmp_path: Path) -> None:
    with pytest.raises(GeoGAEError, match=r"graph 1 has attributes or a label, .* topology"):
        write_graph6([PATH, Graph(1, label=1)], tmp_path / "a.g6")
    assert list(tmp_path.iterdir()) == []


# -- TU ---

TRIANGLE_AND_EDGE = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "1\n-1\n",
    "node_labels": "0, 5\n1, 5\n2, 5\n0, 6\n0, 6\n",
    "node_attributes": "0.5\n1e-3\n-2\n3\n4.25\n",
    "edge_labels": "7\n7\n8\n8\n9\n9\n0\n0\n",
    "edge_attributes": "1, 2\n1, 2\n3, 4\n3, 4\n5, 6\n5, 6\n7, 8\n7, 8\n",
}
EXPECTED = [
    Graph(
        3,
        [(0, 1), (1, 2), (0, 2)],
        node_categorical=[[0, 5], [1, 5], [2, 5]],
        node_continuous=[0.5, 1e-3, -2],
        edge_categorical=[7, 8, 9],
        edge_continuous=[[1, 2], [3, 4], [5, 6]],
        label=1,
    ),
    Graph(
        2,
        [(0, 1)],
        node_categorical=[[0, 6], [0, 6]],
        node_continuous=[3, 4.25],
        edge_categorical=[0],
        edge_continuous=[[7, 8]],
        label=-1,
    ),
]


def folder_of(tmp_path: Path, **changes: str | None) -> Path:
    folder = tmp_path / "DS"
    folder.mkdir()
    for stem, text in (TRIANGLE_AND_EDGE | changes).items():
        if text is not None:
            (folder / f"DS_{stem}.txt").write_text(text)
    return folder


def test_tu_folder(tmp_path: Path) -> None:
    back = read_tu(folder_of(tmp_path))
    assert back == EXPECTED
    assert [g.name for g in back] == ["DS/0", "DS/1"]


def test_tu_zip_with_double_slashes(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        for stem, text in TRIANGLE_AND_EDGE.items():
            archive.writestr(f"DS//DS_{stem}.txt", text)
        archive.writestr("DS//DS_label_readme.txt", "hello")
    assert read(tmp_path / "other.zip") == EXPECTED


def test_tu_line_ends_spaces_and_regression_targets(tmp_path: Path) -> None:
    folder = folder_of(
        tmp_path,
        A="1,2\r\n2 ,1\r\n\r\n",
        graph_labels=None,
        graph_attributes="0.5, 1\n2, 3\n",
        **dict.fromkeys(["node_labels", "node_attributes", "edge_labels", "edge_attributes"]),
    )
    assert read_tu(folder) == [Graph(3, [(0, 1)], label=(0.5, 1)), Graph(2, label=(2, 3))]


def test_tu_policy(tmp_path: Path) -> None:
    bare = dict.fromkeys(["node_labels", "node_attributes", "edge_labels", "edge_attributes", "graph_labels"])
    folder = folder_of(tmp_path, A="1, 2\n2, 1\n2, 1\n3, 3\n4, 5\n", **bare)
    assert read_tu(folder, directed="either") == [Graph(3, [(0, 1)]), Graph(2, [(0, 1)])]
    assert read_tu(folder, directed="both") == [Graph(3, [(0, 1)]), Graph(2)]


def test_a_tu_set_is_read_alike_by_path_and_by_name(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Repeated arcs are merged and self-loops dropped, and the log says so once."""
    bare = dict.fromkeys(["node_labels", "node_attributes", "edge_labels", "edge_attributes", "graph_labels"])
    folder = folder_of(tmp_path, A="1, 2\n2, 1\n2, 1\n3, 3\n4, 5\n5, 4\n", **bare)
    by_path = read(folder)
    assert by_path == datasets.load("DS", root=tmp_path) == [Graph(3, [(0, 1)]), Graph(2, [(0, 1)])]
    said = "1 self-loops dropped, 1 repeated arcs merged"
    assert caplog.messages == [f"{folder}: {said}", f"DS: {said}"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": "1, 2\n2; 1\n"}, r"DS_A\.txt line 2: 1 values instead of 2"),
        ({"A": "1, 2\n2, 1, 1\n"}, r"DS_A\.txt line 2: 3 values instead of 2"),
        ({"A": "1, 2\n2, x\n"}, r"DS_A\.txt line 2: 'x' is not a whole number"),
        ({"A": "1, 2\n2, 1.5\n"}, r"DS_A\.txt line 2: '1.5' is not a whole number"),
        ({"A": "1, 2\n\n2, 1\n"}, r"DS_A\.txt line 2: the line is empty"),
        ({"A": "1, 2\n2,\n"}, r"DS_A\.txt line 2: '' is not a whole number"),
        ({"A": "1, 2\n2, 99999999999999999999\n"}, r"DS_A\.txt line 2: 99999999999999999999 is too large"),
        ({"A": "1, 2\n2, 1\n6, 1\n"}, r"DS_A\.txt line 3: arc \(6, 1\) is out of range; the nodes are 1 … 5"),
        ({"A": "0, 1\n"}, r"DS_A\.txt line 1: arc \(0, 1\) is out of range"),
        ({"A": "1, 2\n2, 1\n3, 4\n4, 3\n"}, r"DS_A\.txt line 3: arc \(3, 4\) joins graph 1 to graph 2"),
        ({"A": None}, "exactly one file named NAME_A.txt"),
        ({"graph_indicator": None}, r"DS_graph_indicator\.txt is missing"),
        ({"graph_indicator": ""}, r"DS_graph_indicator\.txt is empty"),
        ({"graph_indicator": "1\n1\n2\n1\n2\n"}, r"DS_graph_indicator\.txt line 4: graph 1 after graph 2"),
        ({"graph_indicator": "1\n1\n1\n3\n3\n"}, r"DS_graph_indicator\.txt line 4: graph 3 after graph 1"),
        ({"graph_indicator": "0\n0\n0\n1\n1\n"}, r"DS_graph_indicator\.txt line 1: graph 0 after graph 0"),
        ({"graph_indicator": "2\n2\n2\n3\n3\n"}, r"DS_graph_indicator\.txt line 1: graph 2"),
        ({"graph_labels": "1\n"}, r"DS_graph_labels\.txt has 1 lines; it needs one for each of the 2 graphs"),
        ({"node_labels": "1\n" * 4}, r"DS_node_labels\.txt has 4 lines; .* each of the 5 nodes"),
        ({"edge_labels": "1\n" * 9}, r"DS_edge_labels\.txt has 9 lines; .* each of the 8 arcs"),
        ({"node_attributes": "1\n2\nnan\n4\n5\n"}, r"DS_node_attributes\.txt line 3: nan is not a finite number"),
        ({"node_attributes": "1\n2\n1e99\n4\n5\n"}, r"DS_node_attributes\.txt line 3: 1e99 is not a finite number"),
        ({"node_attributes": "1\n2\nhot\n4\n5\n"}, r"DS_node_attributes\.txt line 3: 'hot' is not a number"),
        ({"node_attributes": "1\n2\n3, 4\n4\n5\n"}, r"DS_node_attributes\.txt line 3: 2 values instead of 1"),
        (
            {"A": "1, 1\n" + TRIANGLE_AND_EDGE["A"][5:], "self_loops": "error"},
            r"DS_A\.txt line 1: self-loop at node 1 .*self_loops='drop'",
        ),
        (
            {"A": TRIANGLE_AND_EDGE["A"].replace("5, 4", "4, 5"), "duplicates": "error"},
            r"DS_A\.txt line 8: edge \(4, 5\) is given again",
        ),
        (
            {
                "A": TRIANGLE_AND_EDGE["A"] + "5, 4\n",
                "edge_labels": "7\n7\n8\n8\n9\n9\n0\n0\n1\n",
                "edge_attributes": None,
            },
            r"DS_A\.txt line 9: edge \(5, 4\) has edge_categorical \[1\], but it was given with \[0\] before",
        ),
        (
            {"A": "1, 2\n", "edge_labels": None, "edge_attributes": None},
            r"DS_A\.txt line 1: arc \(1, 2\) has no reverse",
        ),
        ({"edge_labels": "7\n6\n8\n8\n9\n9\n0\n0\n"}, r"DS_A\.txt line 2: edge \(2, 1\) has edge_categorical \[6\]"),
    ],
)
def test_malformed_tu(tmp_path: Path, changes: dict, message: str) -> None:
    policy = {key: changes.pop(key) for key in ("self_loops", "duplicates") if key in changes}
    with pytest.raises(GeoGAEError, match=message) as caught:
        read_tu(folder_of(tmp_path, **changes), **policy)
    assert "\n" not in str(caught.value)


def test_tu_places_that_hold_no_set(tmp_path: Path) -> None:
    with pytest.raises(GeoGAEError, match=r"none\.zip does not exist"):
        read_tu(tmp_path / "none.zip")
    (tmp_path / "bad.zip").write_text("no zip")
    with pytest.raises(GeoGAEError, match=r"bad\.zip is not a folder or a zip in TU format that can be read"):
        read_tu(tmp_path / "bad.zip")
    whole = tmp_path / "cut.zip"
    write_tu([Graph(50, [(i, i + 1) for i in range(49)])], whole)
    content = bytearray(whole.read_bytes())
    content[60:80] = bytes(20)
    whole.write_bytes(content)
    with pytest.raises(GeoGAEError, match=r"cut\.zip is not a zip in TU format that can be read \(.*decompressing"):
        read_tu(whole)


def test_what_one_table_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(GeoGAEError, match=r"label: graph 1 has none, graph 0 has 1 columns; .*jsonl"):
        write_tu([Graph(1, label=1), Graph(1)], tmp_path / "DS")
    with pytest.raises(GeoGAEError, match="node_categorical: graph 1 has 2 columns, graph 0 has 1 columns"):
        write_tu([Graph(1, node_categorical=[1]), Graph(1, node_categorical=[[1, 2]])], tmp_path / "DS")
    with pytest.raises(GeoGAEError, match="no graphs to write"):
        write_tu([], tmp_path / "DS")
    assert list(tmp_path.iterdir()) == []


def test_a_full_folder_is_not_overwritten(tmp_path: Path) -> None:
    write_tu([PATH], tmp_path / "DS")
    with pytest.raises(GeoGAEError, match=r"cannot write .*DS: .*choose another place"):
        write_tu([Graph(1)], tmp_path / "DS")
    assert read_tu(tmp_path / "DS") == [PATH]


# -- packed ---


def test_damaged_packed_files(tmp_path: Path) -> None:
    file = tmp_path / "a.npz"
    write([Graph(3, [(0, 1), (1, 2)], node_continuous=[1, 2, 3])], file)
    stored = dict(np.load(file))
    arrays = {field: array for field, array in stored.items() if field not in ("format", "checksum")}
    for changes, message in [
        ({"edges": np.array([[0, 1], [1, 3]])}, "out of range or out of order"),
        ({"edges": np.array([[1, 2], [0, 1]])}, "out of range or out of order"),
        ({"edges": np.array([[0, 1]])}, "number of nodes or edges is out of range"),
        ({"edges": np.array([[0, 1], [0, 2], [1, 2]])}, r"edges has shape \(3, 2\), not 2 rows"),
        ({"edges": np.array([0, 1])}, "edges has another shape"),
        ({"sizes": np.array([0])}, "number of nodes or edges is out of range"),
        ({"sizes": np.array([3.0])}, "sizes holds float64, not whole numbers"),
        ({"sizes": np.array([3], np.uint64)}, "sizes holds uint64, not whole numbers"),
        ({"sizes": np.array([2_000_000])}, "2,000,000 nodes in one graph, and the limit is 1,000,000"),
        ({"edge_counts": np.array([-1])}, "number of nodes or edges is out of range"),
        ({"node_categorical": np.zeros((3, 1))}, "node_categorical holds float64, not whole numbers"),
        ({"labels": np.array(["one"])}, "labels holds <U3, not numbers"),
        ({"names": np.array([1])}, "names holds int64, not text"),
        ({"node_continuous": np.full((3, 1), np.nan, np.float32)}, "not finite"),
        ({"node_continuous": np.zeros(3, np.float32)}, r"node_continuous has shape \(3,\)"),
        ({"format": np.array("something else")}, "holds 'something else', not 'geogae graphs 2'"),
        ({"edges": np.array([[None, None]])}, r"edges\.npy: it holds object, not numbers"),
    ]:
        sums = (
            {} if "edges" in changes and changes["edges"].dtype == object else {"checksum": checksum(arrays | changes)}
        )
        np.savez(file, **stored | changes | {key: np.array(value) for key, value in sums.items()})
        with pytest.raises(GeoGAEError, match=message):
            read(file)
        if "format" not in changes and sums:
            np.savez(file, **stored | changes)
            with pytest.raises(GeoGAEError, match=r"a\.npz is damaged: its checksum does not agree"):
                read(file)
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(GeoGAEError, match=r"a\.npz is not a file of packed graphs that can be read"):
        read(file)


# -- paths ---


def test_suffixes(tmp_path: Path) -> None:
    with pytest.raises(GeoGAEError, match=r"a\.csv has no suffix that is known; write \.jsonl, \.g6"):
        write([PATH], tmp_path / "a.csv")
    (tmp_path / "a.csv").touch()
    (tmp_path / "a").touch()
    for name in ("a.csv", "a"):
        with pytest.raises(GeoGAEError, match=r"has no suffix that is known; read .*or a folder in TU format"):
            read(tmp_path / name)
    with pytest.raises(GeoGAEError, match=r"b\.jsonl does not exist"):
        read(tmp_path / "b.jsonl")


@pytest.mark.parametrize("name", ["a.jsonl", "a.g6", "a.npz", "a.zip", "DS"])
def test_places_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(GeoGAEError, match=r"cannot write .*; choose another place"):
        write([PATH], tmp_path / "file" / name)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("old")
    with pytest.raises(RuntimeError), atomic_path(file) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert [f.name for f in tmp_path.iterdir()] == ["a.txt"]
    assert file.read_text() == "old"
    with pytest.raises(GeoGAEError, match="names no file"), atomic_path("/"):
        pass


def test_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GEOGAE_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("GEOGAE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_folder() == Path("/x/geogae")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache/geogae"
