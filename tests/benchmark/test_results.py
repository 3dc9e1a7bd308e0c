"""Lines that are appended, read back, cut short, replaced and changed."""

from __future__ import annotations

import copy
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from entries import entry, failure, write
from hypothesis import given
from hypothesis import strategies as st

from geogae.benchmark import results
from geogae.benchmark.results import check, compact, read_file, read_results, run_of
from geogae.benchmark.summary import summarise
from geogae.benchmark.tables import document
from geogae.errors import GeoGAEError
from geogae.json_lines import append


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# -- appending ---


def test_what_is_appended_is_read_back_file_by_file(tmp_path: Path) -> None:
    some = [entry(seed=seed, dataset=name) for name in ("MUTAG", "AIDS") for seed in (1, 0)]
    write(tmp_path, *some, failure(seed=2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["AIDS.jsonl", "MUTAG.jsonl"]
    found = read_results(tmp_path)
    assert [(one["dataset"], one["seed"]) for one in found] == [
        ("AIDS", 1), ("AIDS", 0), ("MUTAG", 1), ("MUTAG", 0), ("MUTAG", 2),
    ]  # fmt: skip
    assert found[:2] == some[2:]


def test_the_newest_line_of_a_run_counts(tmp_path: Path) -> None:
    newer = entry(f1=0.8, when="2026-11-17T00:00:00Z")
    write(tmp_path, entry(f1=0.5), entry(seed=1), newer, entry(f1=0.4, when="2026-11-15"))  # joined by a merge
    assert [one["scores"]["f1"] for one in read_results(tmp_path)] == [0.8, 0.9]
    again = entry(f1=0.7, when="2026-11-17T00:00:00Z")
    write(tmp_path, again)
    assert read_file(tmp_path / "MUTAG.jsonl")[run_of(again)] == again  # the later line of two of one second
    assert compact(tmp_path / "MUTAG.jsonl") == 3
    assert lines(tmp_path / "MUTAG.jsonl") == [again, entry(seed=1)]


@pytest.mark.parametrize("cut", [1, 10, 200, -2])
def test_a_line_that_was_cut_short_is_reported_and_ignored(
    cut: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "MUTAG.jsonl"
    write(tmp_path, entry(seed=0))
    with path.open("a") as file:
        file.write((json.dumps(entry(seed=1)) + "\n")[:cut])  # killed while writing
    assert [one["seed"] for one in read_results(tmp_path)] == [0]
    [said] = caplog.messages
    assert said.startswith(f"{path}, line 2: not a whole JSON line (cut short?)") and said.endswith("; ignored")
    write(tmp_path, entry(seed=2))
    assert [one["seed"] for one in read_results(tmp_path)] == [0, 2]


def test_a_last_line_without_its_end_is_whole(tmp_path: Path) -> None:
    (tmp_path / "MUTAG.jsonl").write_text(json.dumps(entry(seed=0)))
    write(tmp_path, entry(seed=1))
    assert [one["seed"] for one in read_results(tmp_path)] == [0, 1]


def writer(folder: Path, name: str) -> int:
    """A process that writes a hundred lines."""
    child = os.fork()
    if not child:
        try:
            for number in range(100):
                write(folder, entry(seed=number, dataset="D", command=name + "x" * 5000))
            os._exit(0)
        finally:
            os._exit(1)
    return child


def test_writers_do_not_mix_their_lines_and_a_kill_loses_one_at_most(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "D.jsonl"
    killed, *others = (writer(tmp_path, str(n)) for n in range(3))
    while not path.exists():
        time.sleep(1e-4)
    os.kill(killed, signal.SIGKILL)
    assert [os.waitpid(child, 0)[1] for child in (killed, *others)][1:] == [0, 0]
    assert len(read_results(tmp_path)) == 100 and len(caplog.messages) <= 1
    whole = [line for line in path.read_text().splitlines() if line.endswith("}")]
    for who in ("1", "2"):
        assert sum(json.loads(line)["command"].startswith(who) for line in whole) == 100


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "MUTAG.jsonl"
    write(tmp_path, entry())
    before, opened = path.read_bytes(), Path.open

    class Full:
        """Takes ten bytes more."""

        def __init__(self, file: Any) -> None:
            self.file = file

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *error: object) -> None:
            self.file.close()

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def write(self, line: bytes) -> int:
            return int(self.file.write(line[:10]))

    monkeypatch.setattr(Path, "open", lambda path, *args, **kwargs: Full(opened(path, *args, **kwargs)))
    with pytest.raises(GeoGAEError, match=r"cannot write .*MUTAG.jsonl: the disk is full; choose another folder"):
        append(path, entry(seed=1))
    monkeypatch.undo()
    assert path.read_bytes() == before


def test_nan_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Out of range"):
        append(tmp_path / "MUTAG.jsonl", entry(f1=float("nan")))
    assert not list(tmp_path.iterdir())


# -- lines that somebody changed ---


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a result: keys, and what is below them."""
    if not isinstance(value, dict):
        return [at]
    return [place for key, below in value.items() for place in [(*at, key), *places(below, (*at, key))]]


RESULT = entry(
    changes={"latent_dim": 64, "core_minutes": 20, "order": "axis"},
    scores={
        "f1": 0.9,
        "exact": 0.5,
        "size_error": 0.25,
        "f1_unseen": 0.5,
        "node_f1": 0.5,
        "node_rmse": 0.1,
        "whole": 0.1,
    },
    scores_with={"size": {"f1": 0.5}},
)
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -1, 2**63, 1e308])
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["$", "|", "\n", "\ud800", "\x00", "MUTAG"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=4,
)


@given(st.sampled_from(places(RESULT)), ANYTHING | st.just("gone"))
def test_whatever_is_changed_is_a_table_or_a_line_in_the_log(
    tmp_path_factory: pytest.TempPathFactory, place: tuple[Any, ...], value: Any
) -> None:
    """The summary's own errors were tracebacks: it reads only what was checked."""
    changed = copy.deepcopy(RESULT)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    if value == "gone":
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    path = tmp_path_factory.mktemp("changed") / "MUTAG.jsonl"
    path.write_text(json.dumps(RESULT | {"seed": 1}) + "\n" + json.dumps(changed) + "\n")
    rows = summarise(read_results(path.parent))
    text = document(rows)
    text.encode()
    assert rows and "MUTAG" in text


def test_what_is_wrong_is_named() -> None:
    check(RESULT)
    with pytest.raises(GeoGAEError, match=r"^changes\.latent_dim, scores, scores\.f1 missing or of another kind$"):
        check(RESULT | {"changes": {"latent_dim": "64"}, "scores": {"f1": None, "exact": 1, "size_error": 0}})
    with pytest.raises(GeoGAEError, match="no result of geogae benchmark"):
        check(RESULT | {"format": 1})
    assert results.FORMAT == 2


# -- the committed results ---


def test_all_committed_results_are_whole(caplog: pytest.LogCaptureFixture) -> None:
    folder = Path(__file__).parents[2] / "benchmarks" / "results"
    found = read_results(folder)
    assert len(found) > 800 and not caplog.messages
    assert not {one["method"] for one in found} & {"parallel", "parallel-attributes"}
