"""`geogae benchmark report` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from entries import cells, entry, failure, write

from shell import Run

RESULTS = Path("benchmarks/results")


@pytest.fixture
def scores(run: Run) -> Path:
    write(RESULTS, entry(f1=0.5), entry(f1=0.7, seed=1), entry("path", 0.6), failure(seed=2))
    return RESULTS


def test_markdown_on_stdout(run: Run, scores: Path) -> None:
    code, out, err = run("benchmark", "report")
    assert (code, err) == (0, "") and out.startswith("# Benchmark\n\n## F1, paper split\n")
    assert "**60.0 ± 14.1** (2 seeds, 1 failed)" in out and "seed 2 failed: the process ended with SIGKILL" in out


def test_files(run: Run, scores: Path) -> None:
    printed = run("benchmark", "report").out
    code, out, err = run("benchmark", "report", "-o", "sub/report.md", "--plots", "pictures")
    assert (code, out) == (0, "")
    pictures = ["pictures/f1.png", "pictures/sizes.png", "pictures/time.png"]
    assert err == f"note: wrote sub/report.md\nnote: wrote {', '.join(pictures)}\n"
    assert Path("sub/report.md").read_text() == printed
    assert sorted(map(str, Path("pictures").iterdir())) == pictures


def test_into_pages(run: Run, scores: Path) -> None:
    for name in ("a.md", "b.md"):
        Path(name).write_text(
            f"# {name}\n<!-- results: f1-paper -->\n<!-- end -->\n<!-- results: speed -->\nkept\n<!-- end -->\n"
        )
    code, out, err = run("benchmark", "report", "--into", "a.md", "--into", "b.md")
    assert (code, out, err) == (0, "", "note: a.md is updated\nnote: b.md is updated\n")
    text = Path("b.md").read_text()
    assert text.startswith("# b.md\n") and text.endswith("<!-- results: speed -->\nkept\n<!-- end -->\n")
    assert cells(text)[0]["method"] == "path" and cells(text)[0]["MUTAG"] == "60.0 (1 seed)"
    assert run("benchmark", "report", "--into", "a.md").err == "note: a.md is up to date\n"


def test_json(run: Run, scores: Path) -> None:
    code, out, err = run("benchmark", "report", "--json", "--results", "benchmarks/results")
    rows = json.loads(out)
    assert (code, err) == (0, "")
    assert [(row["name"], len(row["seeds"]), len(row["failed"])) for row in rows] == [("path", 1, 0), ("linear", 2, 1)]
    assert rows[1]["f1"]["mean"] == pytest.approx(0.6)


def test_lines_that_are_no_result_are_named_and_ignored(run: Run, scores: Path) -> None:
    wanted = run("benchmark", "report").out
    whole = json.dumps(entry(seed=9))
    others = [
        '{"name": "package"}',
        "[1, 2]",
        json.dumps(entry(seed=9, format=1)),
        json.dumps(entry(seed=9, f1=float("nan"))),
        json.dumps({name: value for name, value in entry(seed=9).items() if name not in ("threads", "config")}),
        json.dumps(entry(seed=9, seconds={"wall": 1.0})),
        b"\xff\xfe\x00".decode("latin-1"),
        whole[: len(whole) // 2],
    ]
    with (scores / "MUTAG.jsonl").open("a", encoding="latin-1") as file:
        file.write("\n".join(others))
    code, out, err = run("benchmark", "report")
    assert (code, out) == (0, wanted)
    lines = err.splitlines()
    assert len(lines) == 8 and all(line.startswith("warning: benchmarks/results/MUTAG.jsonl, line ") for line in lines)
    assert "threads, config missing or of another kind; ignored" in err and "cut short?" in lines[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "benchmarks/results is no folder of results; run geogae benchmark run first"),
        (("--results", "empty"), "empty holds no results; run geogae benchmark run first, or give --results"),
        (("--results", "full", "-o", "report.txt"), "its suffix must be .md"),
        (("--results", "full", "--into", "none.md"), "cannot read none.md"),
        (("--results", "full", "--into", "plain.md"), "plain.md has no block to fill"),
        (("--results", "full", "--plots", "plain.md"), "cannot write plain.md/f1.png"),
    ],
)
def test_one_line_for_what_cannot_be(run: Run, arguments: tuple[str, ...], message: str) -> None:
    Path("empty").mkdir()
    Path("plain.md").write_text("# Nothing\n")
    write(Path("full"), entry())
    code, out, err = run("benchmark", "report", *arguments)
    assert (code, out) == (2, "") and err.startswith("error: ") and err.count("\n") == 1 and message in err
