"""Tables of results that were made by hand."""

from __future__ import annotations

import json
import random

import pytest
from entries import cells, entry, failure

from geogae.benchmark.blocks import NOT_MEASURED
from geogae.benchmark.summary import Spread, summarise
from geogae.benchmark.tables import attributes, detail, document, f1, origin, sizes, sweeps

FIVE = [0.5, 0.6, 0.7, 0.8, 0.9]


def test_mean_and_sample_deviation() -> None:
    (row,) = summarise([entry(f1=f1, seed=seed) for seed, f1 in enumerate(FIVE)])
    assert row.f1 == Spread(pytest.approx(0.7), pytest.approx(0.025**0.5))  # type: ignore[arg-type]
    (line,) = cells(f1([row], "paper"))
    assert line["linear"] == "**70.0 ± 15.8**"
    assert line["difference"] == "+8.7"  # 61.3 in the paper
    assert line["GeoGAE (paper)"] == "61.3 ± 5.4"


def test_other_numbers_of_seeds_and_failures_are_said() -> None:
    some = [
        entry(f1=0.5),
        entry(f1=0.7, seed=1),
        failure(seed=2),
        entry("star", f1=0.1),
        failure("path"),
        failure("path", 1),
    ]
    (line,) = cells(f1(summarise(some), "paper"))
    assert line["linear"] == "**60.0 ± 14.1** (2 seeds, 1 failed)"
    assert line["star†"] == "10.0 (1 seed)"
    assert line["path"] == "– (2 failed)"


def test_bold_is_the_best_that_is_told_nothing() -> None:
    some = [entry("path", 0.99), entry("nearest", 0.7), entry("linear", 0.8), entry("linear-tuned", 0.80001)]
    text = f1(summarise(some), "paper")
    (line,) = cells(text)
    assert list(line)[1:5] == ["path†", "nearest", "linear", "linear-tuned"]
    assert [value.startswith("**") for value in line.values()][1:5] == [False, False, True, True]
    assert line["difference"] == "+18.7"
    assert "† Told the true size." in text and "PIGVAE†‡ (paper)" in line and "ReGAE† (paper)" in line


def test_only_told_methods_leave_no_difference() -> None:
    (line,) = cells(f1(summarise([entry("path", 0.99)]), "paper"))
    assert (line["path†"], line["difference"]) == ("99.0 (1 seed)", "–")


def test_data_sets_in_the_papers_order_and_its_footnotes() -> None:
    names = ["graphs.jsonl", "REDDIT-BINARY", "COLLAB", "QM9", "MUTAG"]
    some = [entry(dataset=name, sample=20000 if name == "QM9" else None) for name in names]
    text = f1(summarise(some), "paper")
    lines = cells(text)
    wanted = ["MUTAG", "QM9 (20,000 sampled)", "COLLAB", "REDDIT-BINARY", "graphs.jsonl"]
    assert [line["data set"] for line in lines] == wanted
    assert [line["ReGAE† (paper)"] for line in lines[2:]] == ["78.0 ± 2.4¹", "53.0 ± 2.0²", "–"]
    assert [line["GRALE‡ (paper)"] for line in lines[2:]] == ["OOM", "OOM", "–"]
    assert "¹ Score from 3 seeds" in text and "² Score taken as reported" in text
    assert lines[-1]["difference"] == "–"


def test_attributes_beside_the_papers_with_attributes_treated_alike() -> None:
    scores = {"f1": 0.984, "exact": 0.98, "size_error": 0.1, "node_f1": 0.976, "node_rmse": 0.571, "whole": 0.964}
    some = [
        entry("parallel-attributes", dataset="AIDS", scores=scores, too_large=5),
        entry("parallel-attributes", 0.7, dataset="AIDS", changes={"attributes": "encoded"}),
        entry("linear", dataset="AIDS"),
        entry("parallel-attributes", dataset="graphs.jsonl", scores=scores),
    ]
    rows = summarise(some)
    lines = cells(attributes(rows))
    assert [(line["data set"], line["method"]) for line in lines] == [
        ("AIDS", "parallel-attributes"),
        ("AIDS", "parallel-attributes, attributes=encoded"),
        ("AIDS", "PIGVAE (paper)"),
        ("AIDS", "GRALE (paper)"),
        ("AIDS", "GeoGAE (paper)"),
        ("AIDS", "GeoGAE, attributes=encoded (paper)"),
        ("graphs.jsonl", "parallel-attributes"),
    ]
    ours, encoded, *_, theirs, theirs_encoded, _ = lines
    columns = ("F1 [%]", "node F1 [%]", "node RMSE", "edge F1 [%]", "whole [%]", "not read")
    assert [ours[name] for name in columns] == ["98.4", "97.6", "0.571", "–", "96.4", "5"]
    assert [theirs[name] for name in columns] == ["80.4 ± 2.6", "62.2 ± 5.3", "0.8 ± 0.1", "85.0 ± 1.7", "–", "–"]
    assert (encoded["F1 [%]"], theirs_encoded["F1 [%]"]) == ("70.0", "86.0 ± 3.6")
    gaps = {line["method"]: line["difference"] for line in cells(detail(rows)) if line["data set"] == "AIDS"}
    assert gaps == {
        "linear": "+5.9",  # 84.1
        "parallel-attributes": "+18.0",
        "parallel-attributes, attributes=encoded": "-16.0",
    }
    assert attributes([row for row in rows if row.method == "linear"]) == NOT_MEASURED


def test_splits_are_apart() -> None:
    rows = summarise([entry(f1=0.9), entry(f1=0.8, split="disjoint")])
    assert cells(f1(rows, "paper"))[0]["linear"] == "**90.0** (1 seed)"
    assert cells(f1(rows, "disjoint"))[0]["linear"] == "**80.0** (1 seed)"
    assert "own split" in f1(rows, "disjoint") and "own split" not in f1(rows, "paper")
    assert f1(rows[:1], "disjoint") == NOT_MEASURED


def test_equal_core_minutes_are_one_column() -> None:
    some = [
        entry("sequential", 0.5, 0, changes={"minutes": 20}, threads=1),
        entry("sequential", 0.7, 1, changes={"minutes": 10}, threads=2),
        entry("sequential", 0.9, 0, changes={"minutes": 60}, threads=2),
        entry("sequential", 0.4, 0),
        entry("sequential", 0.3, 0, changes={"minutes": 0.5, "lr": 0.01}),
    ]
    rows = summarise(some)
    (line,) = cells(f1(rows, "paper"))
    names = ["sequential", "sequential, 0.5 core-min, lr=0.01", "sequential, 20 core-min", "sequential, 120 core-min"]
    assert list(line)[1:5] == names
    assert line["sequential, 20 core-min"] == "60.0 ± 14.1 (2 seeds)"
    assert line["sequential, 120 core-min"] == "**90.0** (1 seed)"
    assert [row.threads for row in rows if row.core_minutes == 20] == [[1, 2]]


def test_sizes() -> None:
    scores = {8: 0.5, 32: 0.989, 64: 0.99}
    some = [entry(f1=f1, changes={"latent_dim": m}) for m, f1 in scores.items()]
    some += [entry(f1=1.0), entry("linear-tuned"), entry("path", 0.7, changes={"latent_dim": 8}), entry(dataset="AIDS")]
    some += [failure(seed=1, changes={"latent_dim": 8})]
    (line,) = cells(sizes(summarise(some)))
    assert line == {
        "data set": "MUTAG", "method": "linear", "split": "paper", "m = 8": "50.0 (1 seed, 1 failed)",
        "m = 32": "98.9 (1 seed)", "m = 64": "99.0 (1 seed)", "m = 128": "100.0 (1 seed)", "smallest m for 99 %": "64",
    }  # fmt: skip
    (line, _) = cells(f1(summarise(some), "paper"))
    assert line["linear"] == "**100.0** (1 seed)"
    assert line["path†"] == "70.0 (1 seed)"  # a floor has no m
    assert sizes(summarise([entry()])) == NOT_MEASURED
    assert cells(sizes(summarise(some[:1])))[0]["smallest m for 99 %"] == "–"


def test_the_papers_m_asked_for_is_no_sweep_and_counts_once() -> None:
    rows = summarise(
        [entry(f1=0.2, changes={"latent_dim": 128}), entry(f1=0.9), entry(f1=0.8, seed=1, changes={"latent_dim": 128})]
    )
    (row,) = rows
    assert (row.m, row.swept, row.seeds, row.f1 and row.f1.mean) == (128, False, [0, 1], pytest.approx(0.85))
    assert not sweeps(rows)


def test_detail() -> None:
    some = [entry(f1=0.9, seed=seed, too_large=seed) for seed in range(3)]
    some[0]["config"] = {**some[0]["config"], "dim": 3, "order": "axis"}
    some[2] |= {"commit": "def5678", "modified": True, "peak_gib": 1.25}
    text = detail(summarise([*some, failure(seed=3), entry(changes={"latent_dim": 8})]))
    swept = detail(summarise([failure(seed=3, changes={"latent_dim": 8})]))
    (line,) = cells(text)
    assert line == {
        "data set": "MUTAG", "method": "linear", "split": "paper", "F1 [%]": "90.0 ± 0.0",
        "paper's GeoGAE": "61.3 ± 5.4", "difference": "+28.7", "exact [%]": "50.0", "size error, nodes": "0.25",
        "graphs too large": "1", "m": "128", "d, order": "d=4, greedy (2×); d=3, axis (1×)", "fit": "2.0 s",
        "graphs/s, there and back": "390", "CPU time": "2.5 s", "peak memory": "1.25 GiB", "seeds": "3", "failed": "1",
        "commit": "abc1234, def5678 (modified)", "threads": "1",
    }  # fmt: skip
    assert text.endswith("\n- MUTAG, linear, paper split, seed 3 failed: the process ended with SIGKILL\n")
    assert "- MUTAG, linear, m = 8, paper split, seed 3 failed: " in swept


def test_marks_are_explained_in_the_details() -> None:
    assert detail(summarise([entry("path")])).endswith(" |\n\n† Told the true size.\n")
    assert "†" not in detail(summarise([entry()]))


def test_what_failed_altogether_has_a_line() -> None:
    (line,) = cells(detail(summarise([failure("sequential", changes={"minutes": 10}, threads=2)])))
    assert (line["method"], line["F1 [%]"], line["seeds"], line["failed"]) == ("sequential, 20 core-min", "–", "0", "1")


def test_origin() -> None:
    other = "geogae benchmark run --split disjoint"
    some = [
        entry(),
        failure(seed=1),
        entry(split="disjoint", command=other),
        entry("path", seconds={**entry()["seconds"], "wall": 90.0}),
    ]
    text = origin(summarise(some))
    path, linear = cells(text)
    assert path == {"data set": "MUTAG", "method": "path", "runs": "1", "total time": "1.5 min", "command": "1"}
    assert linear == {"data set": "MUTAG", "method": "linear", "runs": "3", "total time": "15.0 s", "command": "1, 2"}
    assert text.endswith(f"\n1. `geogae benchmark run`\n2. `{other}`\n")


def test_the_order_of_the_files_changes_nothing() -> None:
    some = [entry(method, f1, seed) for method in ("linear", "path", "mean") for seed, f1 in enumerate(FIVE)]
    some += [entry(changes={"latent_dim": m}, dataset=name) for m in (8, 16) for name in ("AIDS", "MUTAG")]
    text = document(summarise(some))
    random.Random(0).shuffle(some)
    assert document(summarise(some)) == text
    assert text.count("\n## ") == 4  # no disjoint split


def test_rows_as_json() -> None:
    (row,) = summarise([entry(f1=0.5), entry(f1=0.7, seed=1), failure(seed=2)])
    told = json.loads(json.dumps(row.as_dict()))
    assert told["name"] == "linear" and told["seeds"] == [0, 1] and told["paper_f1"] == pytest.approx(0.613)
    assert told["f1"] == {"mean": pytest.approx(0.6), "deviation": pytest.approx(0.02**0.5)}
    assert told["failed"] == [{"seed": 2, "error": "the process ended\nwith SIGKILL"}]
    assert told["difference"] == pytest.approx(-0.013)
