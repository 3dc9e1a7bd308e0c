"""Training and validation graphs for what is fitted, test graphs through one door, and every reading in the log."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from spies import one

import geogae.benchmark
from geogae import Graph, datasets, formats
from geogae.benchmark.folds import TEST_READS, development, held_out, unseen
from geogae.errors import GeoGAEError
from geogae.labelling.labelling import canonical_form

SOURCES = {path.name: path.read_text() for path in Path(geogae.benchmark.__file__).parent.glob("*.py")}


@pytest.mark.parametrize("split", ["paper", "disjoint"])
def test_parts_are_those_of_the_split(tmp_path: Path, split: str) -> None:
    for seed in (0, 1):
        run = one(split=split, seed=seed)
        train, validation, test = datasets.split(datasets.load("MUTAG"), seed, disjoint=split == "disjoint")
        assert development(run) == (train, validation) and held_out(run, tmp_path) == test


def test_disjoint_parts_share_no_isomorphic_graphs(tmp_path: Path) -> None:
    shared = {}
    for split in ("paper", "disjoint"):
        train, validation = development(one(split=split))
        forms = [canonical_form(graph.topology()) for graph in train + validation]
        test = [canonical_form(graph.topology()) for graph in held_out(one(split=split), tmp_path)]
        shared[split] = len({*forms} & {*test})
    assert shared["paper"] > 0 == shared["disjoint"]


def test_every_reading_of_test_graphs_is_a_line(tmp_path: Path) -> None:
    results, runs = tmp_path / "new" / "results", [one(seed=2), one("path", split="disjoint"), one(seed=2)]
    for run in runs:
        development(run)
    assert not results.exists()
    for count, run in enumerate(runs, 1):
        held_out(run, results)
        lines = [json.loads(line) for line in (results / TEST_READS).read_text().splitlines()]
        assert [line["run"] for line in lines] == [str(run) for run in runs[:count]]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line["when"]) for line in lines)


def test_no_test_graphs_without_a_log(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(GeoGAEError, match=r"cannot write .*file/test_reads.log: .*; choose another folder"):
        held_out(one(), tmp_path / "file")


def test_one_door() -> None:
    """Nothing else in the benchmark splits, or asks for test graphs."""
    assert {name for name, text in SOURCES.items() if "held_out(" in text} == {"folds.py", "measurement.py"}
    assert SOURCES["measurement.py"].count("held_out(") == 1
    for name in ("datasets.split(", "datasets.read(", "_parts("):
        assert {file for file, text in SOURCES.items() if name in text} == {"folds.py"}


def test_unseen_graphs_are_isomorphic_to_no_training_graph(tmp_path: Path) -> None:
    run = one(seed=1)
    known = {canonical_form(graph.topology()) for graph in development(run)[0]}
    new = [canonical_form(graph.topology()) not in known for graph in held_out(run, tmp_path)]
    assert unseen(run) == new and 0 < sum(new) < len(new)
    assert all(unseen(one(split="disjoint")))


# -- samples and files ---


def test_a_sample_is_the_same_for_all_seeds_and_splits(tmp_path: Path) -> None:
    def names(**fields: object) -> set[str | None]:
        run = one(sample=40, **fields)
        parts = [*development(run), held_out(run, tmp_path)]
        assert [len(part) for part in parts] == [28, 6, 6] or fields.get("split") == "disjoint"
        return {graph.name for part in parts for graph in part}

    chosen = names(seed=0)
    assert len(chosen) == 40 and chosen == names(seed=1) == names(split="disjoint") == names(method="path")
    assert chosen < {graph.name for graph in datasets.load("MUTAG")}


def test_a_sample_of_more_than_there_is() -> None:
    with pytest.raises(GeoGAEError, match="MUTAG:189 asks for more than its 188 graphs; ask for fewer"):
        development(one(sample=189))


def test_graphs_of_a_file(tmp_path: Path) -> None:
    graphs = [Graph(n, [(0, 1)], name=f"g{n}") for n in range(2, 22)]
    formats.write(graphs, tmp_path / "my.jsonl")
    run = one(dataset=str(tmp_path / "my.jsonl"))
    assert [*development(run), held_out(run, tmp_path)] == list(datasets.split(graphs, 0))
    with pytest.raises(GeoGAEError, match=r"no\.jsonl does not exist"):
        development(one(dataset=str(tmp_path / "no.jsonl")))


def test_too_few_graphs(tmp_path: Path) -> None:
    formats.write([Graph(2), Graph(3)], tmp_path / "two.jsonl")
    with pytest.raises(GeoGAEError, match=r"two\.jsonl splits into 1, 1, 0 graphs; each part needs one: give more"):
        development(one(dataset=str(tmp_path / "two.jsonl")))
