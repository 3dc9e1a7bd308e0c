"""Blocks of z are those of the whole collection; a job that was ended continues where it stopped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from geogae import GeoGAE, GeoGAEError, Graph, datasets, streaming
from geogae.streaming import decode_blocks, encode_blocks, write_resumable


@pytest.fixture(scope="module")
def graphs() -> list[Graph]:
    return datasets.load("MUTAG")[:40]


@pytest.fixture(scope="module")
def model(graphs: list[Graph]) -> GeoGAE:
    return GeoGAE(dim=3, latent_dim=48).fit(graphs)


def test_blocks_are_the_rows_of_one_call(model: GeoGAE, graphs: list[Graph]) -> None:
    blocks = list(encode_blocks(model, iter(graphs), block=7))
    assert [len(block) for block in blocks] == [7, 7, 7, 7, 7, 5]
    assert np.array_equal(np.concatenate(blocks), model.encode(graphs))
    assert list(decode_blocks(model, blocks)) == model.inverse_transform(np.concatenate(blocks))


class Ended(Exception):
    pass


def interrupted(graphs: list[Graph], after: int):
    yield from graphs[:after]
    raise Ended


def test_an_ended_job_goes_on_where_it_stopped(tmp_path: Path, model: GeoGAE, graphs: list[Graph]) -> None:
    path, about = tmp_path / "z.npy", {"data": "MUTAG"}
    with pytest.raises(Ended):
        write_resumable(model, interrupted(graphs, 18), path, about, block=5)
    assert not path.exists()
    with (tmp_path / ".z.npy.rows").open("ab") as rows:
        rows.write(b"cut")  # a row that a kill cut short
    shape, before = write_resumable(model, iter(graphs), path, about, block=5)
    assert (shape, before) == ((40, 48), 15)
    assert np.array_equal(np.load(path), model.encode(graphs))
    assert [file.name for file in tmp_path.iterdir()] == ["z.npy"]


def test_nothing_is_left_where_no_row_was_written(tmp_path: Path, model: GeoGAE, graphs: list[Graph]) -> None:
    path, about = tmp_path / "z.npy", {"data": "MUTAG"}
    too_large = Graph(5000, [(0, 1)])
    with pytest.raises(GeoGAEError, match="cannot be encoded"):
        write_resumable(model, iter([too_large]), path, about)
    with pytest.raises(Ended):
        write_resumable(model, interrupted(graphs, 4), path, about, block=5)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(GeoGAEError, match="cannot be encoded"):
        write_resumable(model, iter([*graphs[:5], too_large]), path, about, block=5)
    assert sorted(file.name for file in tmp_path.iterdir()) == [".z.npy.rows", ".z.npy.rows.json"]


def test_two_jobs_do_not_write_one_file(tmp_path: Path, model: GeoGAE, graphs: list[Graph]) -> None:
    path, about = tmp_path / "z.npy", {"data": "MUTAG"}

    def with_another_job(graphs: list[Graph]):
        yield from graphs[:12]
        with pytest.raises(GeoGAEError, match=r"another job is writing .*z\.npy; wait for it, or choose another file"):
            write_resumable(model, iter(graphs), path, about, block=5)
        yield from graphs[12:]

    shape, _ = write_resumable(model, with_another_job(graphs), path, about, block=5)
    assert shape == (40, 48) and np.array_equal(np.load(path), model.encode(graphs))
    assert [file.name for file in tmp_path.iterdir()] == ["z.npy"]
    assert write_resumable(model, iter(graphs), path, about, block=5) == ((40, 48), 0)


def test_rows_of_other_graphs_are_gone_before_the_note_is_changed(
    tmp_path: Path, model: GeoGAE, graphs: list[Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill in between would leave them under the note of this job, which would go on from them."""
    path = tmp_path / "z.npy"
    with pytest.raises(Ended):
        write_resumable(model, interrupted(graphs[::-1], 18), path, {"data": "other"}, block=5)
    assert (tmp_path / ".z.npy.rows").stat().st_size == 15 * 48 * 4

    def killed(note: Path) -> None:
        raise Ended((tmp_path / ".z.npy.rows").stat().st_size)

    monkeypatch.setattr(streaming, "atomic_path", killed)
    with pytest.raises(Ended, match=r"^0$"):
        write_resumable(model, iter(graphs), path, {"data": "MUTAG"}, block=5)


def test_rows_of_other_graphs_are_not_used(tmp_path: Path, model: GeoGAE, graphs: list[Graph]) -> None:
    path = tmp_path / "z.npy"
    with pytest.raises(Ended):
        write_resumable(model, interrupted(graphs[::-1], 18), path, {"data": "other"}, block=5)
    _, before = write_resumable(model, iter(graphs), path, {"data": "MUTAG"}, block=5)
    assert before == 0
    assert np.array_equal(np.load(path), model.encode(graphs))
