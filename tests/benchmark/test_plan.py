"""What is to be run: numbers, names, labels and files that stay the same, and what cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geogae.benchmark.methods import METHODS
from geogae.benchmark.plan import Run, parse_numbers, plan
from geogae.errors import GeoGAEError

RESULTS = Path("results")


# -- numbers ---


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0-4", [0, 1, 2, 3, 4]),
        ("0,2,5", [0, 2, 5]),
        ("0,2,5-7", [0, 2, 5, 6, 7]),
        ("3", [3]),
        ("3-3", [3]),
        (" 1 , 2-3 ", [1, 2, 3]),
        ("5,0-2,1", [5, 0, 1, 2]),
        ("08", [8]),
    ],
)
def test_numbers(text: str, numbers: list[int]) -> None:
    assert parse_numbers(text, "--seeds") == numbers


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), min_size=1, max_size=5))
def test_ranges_are_their_numbers(ranges: list[tuple[int, int]]) -> None:
    numbers = parse_numbers(",".join(f"{low}-{low + more}" for low, more in ranges), "--seeds")
    assert len(numbers) == len(set(numbers))
    assert set(numbers) == {n for low, more in ranges for n in range(low, low + more + 1)}


@pytest.mark.parametrize("text", ["", ",", "1,", "a", "-1", "4-", "4-2", "1-2-3", "1.5", "0 1", "0..4", "1\n-"])
def test_what_are_no_numbers(text: str) -> None:
    with pytest.raises(GeoGAEError) as error:
        parse_numbers(text, "--seeds")
    assert str(error.value) == f"--seeds {text!r} must be numbers such as 0-4 or 0,2,5"


@pytest.mark.parametrize("text", ["0-99999999999", "4294967296", "0-4294967295", "9" * 19, "0-9999,10000"])
def test_too_many_or_not_encoded(text: str) -> None:
    with pytest.raises(GeoGAEError) as error:
        parse_numbers(text, "--seeds")
    assert str(error.value) == f"--seeds {text!r} must be at most 10,000 numbers, each below 4,294,967,296"


# -- the plan ---


def test_all_of_it_with_one_data_set_and_split_together() -> None:
    runs = plan(["path", "linear"], ["MUTAG", "AIDS"], [0, 3], ["paper", "disjoint"])
    assert len(set(runs)) == len(runs) == 16
    assert [(run.dataset, run.split) for run in runs[::4]] == [
        ("MUTAG", "paper"), ("MUTAG", "disjoint"), ("AIDS", "paper"), ("AIDS", "disjoint"),
    ]  # fmt: skip
    assert [(run.seed, run.method) for run in runs[:4]] == [(0, "path"), (0, "linear"), (3, "path"), (3, "linear")]


def test_nothing_is_run_twice() -> None:
    assert len(plan(["path", "path"], ["mutag", "MUTAG"], [1], ["paper"])) == 1


@pytest.mark.parametrize(
    ("text", "dataset", "sample", "data"),
    [
        ("MUTAG", "MUTAG", None, "MUTAG"),
        ("mutag", "MUTAG", None, "MUTAG"),
        ("imdb-binary", "IMDB-BINARY", None, "IMDB-BINARY"),
        ("qm9:20000", "QM9", 20000, "QM9-20000"),
        ("PROTEINS", "PROTEINS", None, "PROTEINS"),
        ("sub/my.jsonl", "sub/my.jsonl", None, "sub/my.jsonl"),
        ("sub/my.jsonl:10", "sub/my.jsonl", 10, "sub/my.jsonl-10"),
    ],
)
def test_data_sets_and_samples(text: str, dataset: str, sample: int | None, data: str) -> None:
    [run] = plan(["complete"], [text], [0], ["paper"])
    assert (run.dataset, run.sample, run.data) == (dataset, sample, data)


@pytest.mark.parametrize("text", ["QM9:", "QM9:x", "QM9:9", "QM9:-20", "QM9:1e4", "QM9:20.5", ":20", "a:b.jsonl"])
def test_what_is_no_sample(text: str) -> None:
    with pytest.raises(GeoGAEError) as error:
        plan(["complete"], [text], [0], ["paper"])
    assert str(error.value).startswith(f"the sample in {text!r} must be a whole number of graphs, at least 10, such as")


def test_a_budget_is_for_what_is_trained() -> None:
    changes = {"minutes": 10, "epochs": 3}
    runs = plan(["path", "linear", "sequential"], ["MUTAG"], [0], ["paper"], changes=changes.items())
    assert [run.label for run in runs] == ["path", "linear", "sequential,epochs=3,minutes=10"]


def test_trivial_baselines_have_no_size_to_go_through() -> None:
    assert [run.label for run in plan(["path"], ["MUTAG"], [0], ["paper"], sizes=[8, 16])] == ["path"]


def test_sizes_of_z() -> None:
    runs = plan(["linear"], ["MUTAG"], [0], ["paper"], sizes=[8, 16], changes=[("dim", 3)])
    assert [run.label for run in runs] == ["linear,dim=3,latent_dim=8", "linear,dim=3,latent_dim=16"]


# -- names ---


def test_labels_and_files_do_not_change() -> None:
    """They are where committed results lie."""
    run = Run("sequential", (("lr", 5e-4), ("minutes", 10), ("order", "axis")), "QM9", 20000, "disjoint", 3)
    assert run.label == "sequential,lr=0.0005,minutes=10,order=axis"
    assert str(run) == "QM9-20000 sequential,lr=0.0005,minutes=10,order=axis disjoint 3"
    assert str(run.file(RESULTS)) == "results/QM9-20000.jsonl"
    assert str(run.folder(RESULTS)) == "results/QM9-20000/sequential,lr=0.0005,minutes=10,order=axis/disjoint-3"
    file = Run("linear-tuned", (), "/data/my graphs.jsonl", None, "paper", 0)
    assert str(file.file(RESULTS)) == "results/data_my_graphs.jsonl.jsonl"


def test_the_order_of_changes_makes_no_difference() -> None:
    changes: list[tuple[str, Any]] = [("order", "axis"), ("dim", 3)]
    one, other = (plan(["linear"], ["MUTAG"], [0], ["paper"], changes=c) for c in (changes, changes[::-1]))
    assert one == other and one[0].label == "linear,dim=3,order=axis"


@given(st.text(min_size=1), st.text(), st.integers(0, 99))
def test_a_result_lies_within_the_folder_whatever_the_names(dataset: str, value: str, seed: int) -> None:
    run = Run("linear", (("order", value),), dataset, None, "paper", seed)
    folder, data, label, name = run.folder(RESULTS).parts
    assert folder == "results" and name == f"paper-{seed}" and label.startswith("linear,order=")
    assert run.file(RESULTS).parts == ("results", f"{data}.jsonl")
    assert not {"/", "\\", "\0", ":", " "} & set(data + label) and data.strip(".")


# -- what cannot be ---


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"methods": ["nope"]}, f"method 'nope' is not known; valid are {', '.join(METHODS)}"),
        ({"splits": ["both"]}, "split 'both' is not known; valid are paper, disjoint"),
        ({"changes": {"hue": 1, "colour": 2}}, "a trivial baseline has no parameter colour, hue; valid are dim, order"),
        ({"changes": {"dim": 1}}, "dim=1 must be a whole number from 2 to 64"),
        ({"changes": {"dim": [3]}}, "dim=[3] must be a whole number from 2 to 64"),
        ({"changes": {"order": "random"}}, "order='random' is not known; valid are greedy, axis"),
        ({"methods": ["linear"], "changes": {"colour": 1}}, "'colour' is no parameter of linear; valid are laten"),
        ({"methods": ["linear"], "sizes": [1]}, "latent_dim=1 must be a whole number, from 2 to"),
        ({"methods": ["sequential"], "sizes": [100]}, "latent_dim=100 must be a multiple of token_dim=64"),
        ({"methods": ["sequential"], "changes": {"minutes": 0}}, "minutes=0 must be a number, at least 0.001"),
        ({"methods": ["sequential"], "changes": {"epochs": None}}, "training needs an end: set one of epochs"),
    ],
)
def test_what_cannot_be_is_said_before_anything_runs(changed: dict[str, Any], said: str) -> None:
    asked: dict[str, Any] = {"methods": ["star"], "datasets": ["MUTAG"], "seeds": [0], "splits": ["paper"], **changed}
    asked["changes"] = asked.get("changes", {}).items()
    with pytest.raises(GeoGAEError) as error:
        plan(**asked)
    assert str(error.value).startswith(said) and "\n" not in str(error.value)
