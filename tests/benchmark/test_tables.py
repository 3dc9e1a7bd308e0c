"""Tables of results that were made by hand."""

from __future__ import annotations

import json
import random

import pytest
from entries import cells, entry, failure

from geogae import __version__
from geogae.benchmark.baselines import OutOfMemory
from geogae.benchmark.blocks import NOT_MEASURED
from geogae.benchmark.summary import Spread, summarise
from geogae.benchmark.tables import attributes, detail, document, f1, origin, sizes, sweeps, unseen

FIVE = [0.5, 0.6, 0.7, 0.8, 0.9]
GAP = "best without side information, minus GeoGAE (paper)"


def by_method(markdown: str) -> dict[str, dict[str, str]]:
    """The lines of a table of F1."""
    return {line["method"]: line for line in cells(markdown)}


def test_mean_and_sample_deviation() -> None:
    (row,) = summarise([entry(f1=f1, seed=seed) for seed, f1 in enumerate(FIVE)])
    assert row.f1 == Spread(pytest.approx(0.7), pytest.approx(0.025**0.5))  # type: ignore[arg-type]
    lines = by_method(f1([row], "paper"))
    assert lines["linear"] == {"method": "linear", "side information": "none", "MUTAG": "**70.0 ± 15.8**"}
    assert lines[GAP]["MUTAG"] == "+8.7"  # 61.3 in the paper
    assert lines["GeoGAE (paper)"]["MUTAG"] == "61.3 ± 5.4"


def test_other_numbers_of_seeds_and_failures_are_said() -> None:
    some = [
        entry(f1=0.5),
        entry(f1=0.7, seed=1),
        failure(seed=2),
        entry("star", f1=0.1),
        failure("path"),
        failure("path", 1),
    ]
    lines = by_method(f1(summarise(some), "paper"))
    assert lines["linear"]["MUTAG"] == "**60.0 ± 14.1** (2 seeds, 1 failed)"
    assert lines["star"]["MUTAG"] == "10.0 (1 seed)"
    assert lines["path"]["MUTAG"] == "– (2 failed)"


def test_bold_is_the_best_without_side_information() -> None:
    some = [entry("path", 0.99), entry("nearest", 0.7), entry("linear", 0.8), entry("linear-tuned", 0.80001)]
    text = f1(summarise(some), "paper")
    lines = by_method(text)
    assert list(lines)[:4] == ["path", "nearest", "linear", "linear-tuned"]
    assert [line["MUTAG"].startswith("**") for line in lines.values()][:4] == [False, False, True, True]
    assert lines[GAP]["MUTAG"] == "+18.7"
    known = {name: line["side information"] for name, line in lines.items()}
    assert (known["path"], known["nearest"], known["PIGVAE (paper)"]) == ("size", "none", "size, alignment")
    assert "Side information is what a decoder gets beside z" in text


def test_methods_with_side_information_alone_leave_no_difference() -> None:
    lines = by_method(f1(summarise([entry("path", 0.99)]), "paper"))
    assert (lines["path"]["MUTAG"], lines[GAP]["MUTAG"]) == ("99.0 (1 seed)", "–")


def test_scores_with_and_without_side_information() -> None:
    given = {"alignment": {"f1": 0.9}, "size": {"f1": 0.5}}
    rows = summarise([entry("linear", 0.4, seed, scores_with=given) for seed in range(5)])
    lines = [line for line in cells(f1(rows, "paper")) if line["method"] == "linear"]
    assert [(line["side information"], line["MUTAG"]) for line in lines] == [
        ("none", "**40.0 ± 0.0**"), ("alignment", "90.0 ± 0.0"), ("size", "50.0 ± 0.0"),
    ]  # fmt: skip


def test_runs_that_were_refused_for_memory() -> None:
    refusal = str(OutOfMemory(1207 * 2**30, 11 * 2**30, "a batch of 1 graphs of 3782 nodes"))
    some = [failure("pigvae", seed, error=refusal, dataset="REDDIT-BINARY") for seed in range(2)]
    some += [failure("grale", error="OOM", dataset="REDDIT-BINARY"), failure("regae", dataset="REDDIT-BINARY")]
    some += [entry("linear", dataset="REDDIT-BINARY"), failure("linear", 1, error=refusal, dataset="REDDIT-BINARY")]
    text = f1(summarise(some), "paper")
    scores = {name: line["REDDIT-BINARY"] for name, line in by_method(text).items()}
    assert (scores["pigvae"], scores["grale"], scores["regae"]) == ("OOM (1207.0 GiB)", "OOM", "– (1 failed)")
    assert scores["linear"] == "**90.0** (1 seed, 1 failed)"
    legend = "OOM (GiB): refused before training"
    assert legend in text and legend not in f1(summarise([entry()]), "paper")


def test_runs_of_an_older_version_are_marked() -> None:
    some = [entry(versions={"geogae": "0.1.0"}), entry("linear-tuned")]
    text = f1(summarise(some), "paper")
    assert [by_method(text)[name]["MUTAG"] for name in ("linear", "linear-tuned")] == [
        "**90.0**° (1 seed)", "**90.0** (1 seed)",
    ]  # fmt: skip
    assert "° Measured with an older version" in text and "°" not in f1(summarise(some[1:]), "paper")


def test_a_mean_is_of_one_version() -> None:
    old = [entry(seed=seed, f1=0.5, versions={"geogae": "0.1.0"}) for seed in (2, 3, 4)]
    mixed = f1(summarise([*old, entry(seed=0), entry(seed=1)]), "paper")
    assert by_method(mixed)["linear"]["MUTAG"] == "**90.0 ± 0.0** (2 seeds)"
    assert "(3 seeds)" in by_method(f1(summarise(old), "paper"))["linear"]["MUTAG"]


def test_data_sets_in_the_papers_order_and_its_footnotes() -> None:
    names = ["graphs.jsonl", "REDDIT-BINARY", "COLLAB", "QM9", "MUTAG"]
    some = [entry(dataset=name, sample=20000 if name == "QM9" else None) for name in names]
    text = f1(summarise(some), "paper")
    lines = by_method(text)
    wanted = ["MUTAG", "QM9 (20,000 sampled)", "COLLAB", "REDDIT-BINARY", "graphs.jsonl"]
    assert list(lines["linear"])[2:] == wanted
    assert [lines["ReGAE (paper)"][name] for name in wanted[2:]] == ["78.0 ± 2.4¹", "53.0 ± 2.0²", "–"]
    assert [lines["GRALE (paper)"][name] for name in wanted[2:]] == ["OOM", "OOM", "–"]
    assert "¹ Score from 3 seeds" in text and "² Score taken as reported" in text
    assert lines[GAP]["graphs.jsonl"] == "–"


def test_unseen_graphs_have_a_table() -> None:
    scores = {"f1": 0.9, "exact": 0.5, "size_error": 0.25, "f1_unseen": 0.8, "exact_unseen": 0.25}
    (line,) = cells(unseen(summarise([entry(scores=scores), entry("path")])))
    assert (line["method"], line["F1 [%]"], line["F1, unseen [%]"]) == ("linear", "90.0", "80.0")
    assert (line["exact [%]"], line["exact, unseen [%]"], line["side information"]) == ("50.0", "25.0", "none")


def test_attributes_beside_the_papers_with_attributes_treated_alike() -> None:
    scores = {"f1": 0.984, "exact": 0.98, "size_error": 0.1, "node_f1": 0.976, "node_rmse": 0.571, "whole": 0.964}
    some = [
        entry("refined-attributes", dataset="AIDS", scores=scores, not_encoded=5),
        entry("refined-attributes", 0.7, dataset="AIDS", changes={"attributes": "encoded"}),
        entry("linear", dataset="AIDS"),
        entry("refined-attributes", dataset="graphs.jsonl", scores=scores),
    ]
    rows = summarise(some)
    lines = cells(attributes(rows))
    assert [(line["data set"], line["method"]) for line in lines] == [
        ("AIDS", "refined-attributes"),
        ("AIDS", "refined-attributes, attributes=encoded"),
        ("AIDS", "PIGVAE (paper)"),
        ("AIDS", "GRALE (paper)"),
        ("AIDS", "GeoGAE (paper)"),
        ("AIDS", "GeoGAE, attributes=encoded (paper)"),
        ("graphs.jsonl", "refined-attributes"),
    ]
    ours, encoded, *_, theirs, theirs_encoded, _ = lines
    columns = ("F1 [%]", "node F1 [%]", "node RMSE", "edge F1 [%]", "whole [%]", "graphs not encoded")
    assert [ours[name] for name in columns] == ["98.4", "97.6", "0.571", "–", "96.4", "5"]
    assert [theirs[name] for name in columns] == ["80.4 ± 2.6", "62.2 ± 5.3", "0.8 ± 0.1", "85.0 ± 1.7", "–", "–"]
    assert (encoded["F1 [%]"], theirs_encoded["F1 [%]"]) == ("70.0", "86.0 ± 3.6")
    gaps = {line["method"]: line["difference"] for line in cells(detail(rows)) if line["data set"] == "AIDS"}
    assert gaps == {
        "linear": "+5.9",  # 84.1
        "refined-attributes": "+18.0",
        "refined-attributes, attributes=encoded": "-16.0",
    }
    assert attributes([row for row in rows if row.method == "linear"]) == NOT_MEASURED


def test_splits_are_apart() -> None:
    rows = summarise([entry(f1=0.9), entry(f1=0.8, split="disjoint")])
    assert by_method(f1(rows, "paper"))["linear"]["MUTAG"] == "**90.0** (1 seed)"
    assert by_method(f1(rows, "disjoint"))["linear"]["MUTAG"] == "**80.0** (1 seed)"
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
    lines = by_method(f1(rows, "paper"))
    names = ["sequential", "sequential, 0.5 core-min, lr=0.01", "sequential, 20 core-min", "sequential, 120 core-min"]
    assert list(lines)[:4] == names
    assert lines["sequential, 20 core-min"]["MUTAG"] == "60.0 ± 14.1 (2 seeds)"
    assert lines["sequential, 120 core-min"]["MUTAG"] == "**90.0** (1 seed)"
    assert [row.threads for row in rows if row.core_minutes == 20] == [[1, 2]]


def test_sizes() -> None:
    scores = {8: 0.5, 32: 0.989, 64: 0.99}
    some = [entry(f1=f1, changes={"latent_dim": m}) for m, f1 in scores.items()]
    some += [entry(f1=1.0), entry("linear-tuned"), entry("path", 0.7, changes={"latent_dim": 8}), entry(dataset="AIDS")]
    some += [failure(seed=1, changes={"latent_dim": 8})]
    (line,) = cells(sizes(summarise(some)))
    assert line == {
        "data set": "MUTAG", "method": "linear", "side information": "none", "split": "paper",
        "m = 8": "50.0 (1 seed, 1 failed)",
        "m = 32": "98.9 (1 seed)", "m = 64": "99.0 (1 seed)", "m = 128": "100.0 (1 seed)", "smallest m for 99 %": "64",
    }  # fmt: skip
    lines = by_method(f1(summarise(some), "paper"))
    assert lines["linear"]["MUTAG"] == "**100.0** (1 seed)"
    assert lines["path"]["MUTAG"] == "70.0 (1 seed)"  # a trivial baseline has no m
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
    some = [entry(f1=0.9, seed=seed, not_encoded=seed) for seed in range(3)]
    some[0]["config"] = {**some[0]["config"], "dim": 3, "order": "axis"}
    some[2] |= {"commit": "def5678", "modified": True, "peak_gib": 1.25}
    text = detail(summarise([*some, failure(seed=3), entry(changes={"latent_dim": 8})]))
    swept = detail(summarise([failure(seed=3, changes={"latent_dim": 8})]))
    (line,) = cells(text)
    assert line == {
        "data set": "MUTAG", "method": "linear", "side information": "none", "split": "paper", "F1 [%]": "90.0 ± 0.0",
        "paper's GeoGAE": "61.3 ± 5.4", "difference": "+28.7", "exact [%]": "50.0", "size error, nodes": "0.25",
        "graphs not encoded": "1", "m": "128", "d, order": "d=4, greedy (2×); d=3, axis (1×)", "fit": "2.0 s",
        "clouds": "fitted", "compile time": "500 ms", "graphs/s, encoded and decoded": "390",
        "CPU time": "2.5 s", "peak memory": "1.25 GiB", "seeds": "3", "failed": "1",
        "commit": "abc1234, def5678 (modified)", "threads": "1",
    }  # fmt: skip
    assert text.endswith("\n- MUTAG, linear, paper split, seed 3 failed: the process ended with SIGKILL\n")
    assert "- MUTAG, linear, m = 8, paper split, seed 3 failed: " in swept


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([{"cached": 9, "fitted": 0}], "cached"),
        ([{"cached": 9, "fitted": 2}], "fitted"),
        ([{"cached": 9, "fitted": 2}, {"cached": 9, "fitted": 0}], "some cached"),
        ([{"cached": 0, "fitted": 0}], "none"),
        ([None], "not known"),
        ([None, {"cached": 9, "fitted": 2}], "not known"),
    ],
)
def test_where_the_clouds_came_from(counts: list[dict[str, int] | None], said: str) -> None:
    (line,) = cells(detail(summarise([entry(seed=seed, clouds=one) for seed, one in enumerate(counts)])))
    assert line["clouds"] == said


def test_older_results_have_compile_time_in_fit() -> None:
    seconds = {name: value for name, value in entry()["seconds"].items() if name != "compile"}
    assert cells(detail(summarise([entry(seconds=seconds)])))[0]["compile time"] == "in fit"


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
    assert (path["method"], path["runs"], path["total time"], path["command"]) == ("path", "1", "1.5 min", "1")
    assert path["geogae"] == __version__
    assert (linear["runs"], linear["total time"], linear["command"]) == ("3", "15.0 s", "1, 2")
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
    found = json.loads(json.dumps(row.as_dict()))
    assert found["name"] == "linear" and found["seeds"] == [0, 1] and found["paper_f1"] == pytest.approx(0.613)
    assert found["f1"] == {"mean": pytest.approx(0.6), "deviation": pytest.approx(0.02**0.5)}
    assert found["failed"] == [{"seed": 2, "error": "the process ended\nwith SIGKILL"}]
    assert found["difference"] == pytest.approx(-0.013)
