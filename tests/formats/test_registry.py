"""A file format, a kind of object and a data set are added from outside of the package and used as any other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import networkx as nx
import pytest

from geogae import datasets, formats
from geogae.datasets import DATASETS, DataSet
from geogae.errors import GeoGAEError
from geogae.formats import FILES, OBJECTS, FileFormat, ObjectKind
from geogae.graph import Graph

PATH, PAIR = Graph(3, [(0, 1), (1, 2)]), Graph(2, [(0, 1)])


class Ring:
    """An object of a library that geogae has never heard of."""

    def __init__(self, size: int) -> None:
        self.size = size


def read_rings(path: Path) -> Iterator[Graph]:
    for line in path.read_text().split():
        yield formats.as_graph(Ring(int(line)))


def write_rings(graphs: Iterable[Graph], path: Path) -> None:
    path.write_text("".join(f"{graph.n}\n" for graph in graphs))


RINGS = FileFormat(read=read_rings, write=write_rings)
RING = ObjectKind(
    "a Ring", lambda obj: isinstance(obj, Ring), lambda ring: Graph.from_networkx(nx.cycle_graph(ring.size))
)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FILES, ".rings", RINGS)
    monkeypatch.setitem(OBJECTS, "ring", RING)
    monkeypatch.setitem(DATASETS, "my-rings", DataSet(load=lambda name, root, policy: [Ring(3), Ring(5)]))


def test_a_new_kind_of_object() -> None:
    assert formats.as_graph(Ring(3)) == Graph(3, [(0, 1), (1, 2), (0, 2)])
    assert formats.is_graph(Ring(3))
    assert [g.n for g in formats.as_graphs([Ring(3), PATH])] == [3, 3]
    with pytest.raises(GeoGAEError, match=r"give a geogae\.Graph, a networkx\.Graph, .* or a Ring"):
        formats.as_graph(5)


def test_a_new_file_format(tmp_path: Path) -> None:
    rings = [Ring(3), Ring(4)]
    formats.write(rings, tmp_path / "a.rings")
    assert formats.read(tmp_path / "a.rings") == formats.as_graphs(rings)
    assert next(formats.iter_read(tmp_path / "a.rings", simplify=True)).n == 3
    assert datasets.read(str(tmp_path / "a.rings")) == formats.as_graphs(rings)
    with pytest.raises(GeoGAEError, match=r"a\.csv has no suffix that is known; write .*\.rings"):
        formats.write([PATH], tmp_path / "a.csv")


def test_a_new_data_set() -> None:
    assert [g.n for g in datasets.load("MY-rings")] == [g.n for g in datasets.read("my-rings")] == [3, 5]
    assert not datasets.is_path("my-rings")
    with pytest.raises(GeoGAEError, match=r"known names: .*my-rings"):
        datasets.load("../elsewhere")


def test_entries_are_found_where_they_say() -> None:
    """Every line of the registries leads to something."""
    from geogae.registry import entry

    assert all(isinstance(entry(FILES, suffix), FileFormat) for suffix in FILES)
    assert all(isinstance(entry(OBJECTS, kind), ObjectKind) for kind in OBJECTS)
    assert all(isinstance(entry(DATASETS, name), DataSet) for name in DATASETS)
    assert set(datasets.names()) <= set(DATASETS)


@pytest.mark.parametrize("name", ["a.jsonl", "a.g6", "a.s6", "a.npz", "a.zip", "DS", "a.parquet"])
def test_writers_take_graphs_of_other_libraries(name: str, tmp_path: Path) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    formats.write([nx.path_graph(3), PAIR.adjacency()], tmp_path / name)
    assert formats.read(tmp_path / name) == [PATH, PAIR]
    with pytest.raises(GeoGAEError, match="graph 1: int cannot be read as a graph"):
        formats.write([nx.path_graph(3), 5], tmp_path / f"b{name}")


def test_one_graph_is_written_as_a_list_of_one(tmp_path: Path) -> None:
    formats.write_jsonl(nx.path_graph(3), tmp_path / "a.jsonl")
    assert formats.read(tmp_path / "a.jsonl") == [PATH]
    assert nx.utils.graphs_equal(formats.to_networkx(PATH.adjacency()), PATH.to_networkx())


def test_molecules_of_all_kinds_are_written(tmp_path: Path) -> None:
    chem = pytest.importorskip("rdkit.Chem", reason="rdkit is not installed")
    formats.write(["CCO", chem.MolFromSmiles("C"), formats.from_smiles("N")], tmp_path / "a.smi")
    assert (tmp_path / "a.smi").read_text() == "CCO\nC\nN\n"
    assert formats.to_smiles("OCC") == "CCO"
    with pytest.raises(GeoGAEError, match="graph 1 has 0 node_categorical columns"):
        formats.write(["C", PATH], tmp_path / "b.smi")


def test_a_message_names_a_graph() -> None:
    assert formats.graph_name(Graph(1, name="a"), 17) == "graph 'a'"
    assert formats.graph_name(Graph(1), 17) == "graph 17"
    assert formats.graph_name(Graph(1, name=""), 17) == "graph 17"


def test_other_libraries_are_split() -> None:
    path, pair = nx.path_graph(3), nx.path_graph(2)
    train, validation, test = datasets.split([path] * 7 + [pair] * 3, fractions=(0.7, 0.3, 0.0), disjoint=True)
    assert (len(train), len(validation), len(test)) == (7, 3, 0)
    assert all(graph is path for graph in train) and all(graph is pair for graph in validation)
    assert list(map(len, datasets.split(iter([PATH] * 10)))) == [7, 2, 1]
    with pytest.raises(GeoGAEError, match="graph 1: int cannot be read as a graph"):
        datasets.split([path, 5], disjoint=True)
