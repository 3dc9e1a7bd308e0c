"""Clouds on disk: they come back bit for bit, and what is no such file is said to be none."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from geogae import GeoGAEError, Graph, HyperballCloud, fit_clouds, formats
from geogae.geometry.storage import load_clouds, save_clouds

GRAPHS = [
    Graph(1, name="one", label=0),
    Graph(4, [(0, 1), (1, 2), (1, 3)], name="claw", label=1),
    Graph(3, name="edgeless", label=0),
]
COLOURED = [Graph(2, [(0, 1)], node_categorical=[1, 2], edge_continuous=[0.1], name="é"), Graph(2, [(0, 1)])]


def assert_same(clouds: list[HyperballCloud], others: list[HyperballCloud]) -> None:
    assert len(clouds) == len(others)
    for cloud, other in zip(clouds, others, strict=True):
        for field in ("centers", "radii_raw", "order"):
            ours, theirs = getattr(cloud, field), getattr(other, field)
            assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
        assert cloud.graph == other.graph
        assert (cloud.graph and cloud.graph.name) == (other.graph and other.graph.name)
        assert (cloud.steps, cloud.tries, cloud.canonical) == (other.steps, other.tries, other.canonical)


@pytest.mark.parametrize("suffix", [".npz", ".jsonl"])
def test_round_trip(tmp_path: Path, suffix: str) -> None:
    clouds = fit_clouds(GRAPHS, 3)
    clouds[2] = replace(clouds[2], canonical=False)
    save_clouds(clouds, tmp_path / f"sub/clouds{suffix}")
    loaded = load_clouds(tmp_path / f"sub/clouds{suffix}")
    assert_same(loaded, clouds)
    assert loaded[1].exact and loaded[1].to_graph() == GRAPHS[1]
    assert [path.name for path in (tmp_path / "sub").iterdir()] == [f"clouds{suffix}"]


@pytest.mark.parametrize("suffix", [".npz", ".jsonl"])
def test_decoded_clouds_have_no_graph(tmp_path: Path, suffix: str) -> None:
    clouds = [replace(cloud, graph=None) for cloud in fit_clouds(GRAPHS, 3)]
    save_clouds(clouds, tmp_path / f"clouds{suffix}")
    assert_same(load_clouds(tmp_path / f"clouds{suffix}"), clouds)


def test_an_npz_of_clouds_is_an_npz_of_graphs(tmp_path: Path) -> None:
    save_clouds(fit_clouds(GRAPHS, 4), tmp_path / "clouds.npz")
    assert formats.read(tmp_path / "clouds.npz") == GRAPHS


def test_a_mixture_goes_into_jsonl(tmp_path: Path) -> None:
    clouds = fit_clouds(COLOURED, 3) + fit_clouds(GRAPHS, 4)
    save_clouds(clouds, tmp_path / "clouds.jsonl")
    assert_same(load_clouds(tmp_path / "clouds.jsonl"), clouds)
    with pytest.raises(GeoGAEError, match=r"clouds of dims \[3, 4\] do not fit one \.npz file; write \.jsonl"):
        save_clouds(clouds, tmp_path / "clouds.npz")
    with pytest.raises(GeoGAEError, match=r"graph 1 has none, graph 0 has 1 columns.*write \.jsonl instead"):
        save_clouds(clouds[:2], tmp_path / "clouds.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["clouds.jsonl"]


def test_places_and_suffixes(tmp_path: Path) -> None:
    clouds = fit_clouds(GRAPHS, 3)
    with pytest.raises(GeoGAEError, match=r"\.txt has no suffix that is known; clouds are kept in \.npz or \.jsonl"):
        save_clouds(clouds, tmp_path / "clouds.txt")
    with pytest.raises(GeoGAEError, match="there are no clouds to write"):
        save_clouds([], tmp_path / "clouds.npz")
    (tmp_path / "file").touch()
    with pytest.raises(GeoGAEError, match=r"cannot write .*choose another place"):
        save_clouds(clouds, tmp_path / "file" / "clouds.npz")
    for suffix in (".npz", ".jsonl"):
        with pytest.raises(GeoGAEError, match="does not exist"):
            load_clouds(tmp_path / f"none{suffix}")


def rewritten(path: Path, **changes: np.ndarray) -> None:
    with np.load(path) as stored:
        arrays = {**stored, **changes}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"clouds": None}, "it holds graphs without clouds"),
        ({"clouds": np.array("geogae clouds 9")}, "it holds 'geogae clouds 9', not 'geogae clouds 1'"),
        ({"radii_raw": None}, "it is foreign or damaged"),
        ({"radii_raw": np.zeros(3, np.float32)}, r"a cloud needs centers .* not \(4, 2\), \(2,\)"),
        ({"centers": np.full((8, 2), np.nan, np.float32)}, "a centre or radius is not finite"),
        ({"order": np.zeros(8, np.int64)}, "its order does not hold each of 0 … 3 once"),
        ({"steps": np.zeros(2, np.int64)}, "it is foreign or damaged"),
        ({"centers": np.array([object()] * 8)}, "it is foreign or damaged"),
    ],
)
def test_damaged_npz(tmp_path: Path, changes: dict[str, np.ndarray], said: str) -> None:
    path = tmp_path / "clouds.npz"
    save_clouds(fit_clouds(GRAPHS, 3), path)
    rewritten(path, **changes)
    with pytest.raises(GeoGAEError, match=rf"clouds\.npz is not a file of clouds: {said}.*; fit and save it again$"):
        load_clouds(path)


def test_foreign_and_cut_npz(tmp_path: Path) -> None:
    path = tmp_path / "clouds.npz"
    save_clouds(fit_clouds(GRAPHS, 3), path)
    whole = path.read_bytes()
    for content in (b"", b"rubbish", whole[: len(whole) // 2], whole.replace(b"centers.npy", b"centres.npy")):
        path.write_bytes(content)
        with pytest.raises(GeoGAEError, match=r"clouds\.npz"):
            load_clouds(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", "b")
    with pytest.raises(GeoGAEError, match=r"clouds\.npz"):
        load_clouds(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"order": [0, 0]}, "its order does not hold each of 0 … 1 once"),
        ({"centers": [[0], [1], [2]]}, "a cloud needs centers"),
        ({"centers": [[0, 1], [2]]}, ""),
        ({"radii_raw": ["a", "b"]}, ""),
        ({"radii_raw": [1e999, 0]}, "a centre or radius is not finite"),
        ({"graph": {"n": 3, "edges": []}}, "it has 2 balls for a graph of 3 nodes"),
        ({"graph": {"n": 2, "edges": [[0, 0]]}}, "self-loop at node 0"),
        ({"steps": None}, ""),
        ({"tries": ...}, "the key 'tries' is missing"),
        (None, "this is not JSON"),
    ],
)
def test_damaged_jsonl(tmp_path: Path, change: dict[str, object] | None, said: str) -> None:
    path = tmp_path / "clouds.jsonl"
    save_clouds(fit_clouds(COLOURED, 3), path)
    first, second = path.read_text().splitlines()
    changed = {key: value for key, value in (json.loads(second) | (change or {})).items() if value is not ...}
    path.write_text(f"{first}\n{second[:-9] if change is None else json.dumps(changed)}\n")
    with pytest.raises(GeoGAEError, match=rf"clouds\.jsonl line 2 is not a cloud: .*{said}.*; fit and save it again$"):
        load_clouds(path)
