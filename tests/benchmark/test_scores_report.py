"""The report of a benchmark: which results are in which section, and what is called best."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from entries import entry, write

from geogae.pages import scores_report


def sections(page: str) -> dict[str, Any]:
    [text] = re.findall(r'<script type="application/json" id="data-report">(.*?)</script>', page, re.DOTALL)
    return {section["title"]: section["blocks"] for section in json.loads(text)["sections"]}


def history(f1: float) -> list[dict[str, float]]:
    return [{"seconds": 60.0 * k, "validation_f1": f1} for k in range(4)]


def test_a_sample_has_a_section_of_its_own() -> None:
    whole = entry("sequential", 0.5, dataset="QM9", history=history(0.5))
    sample = entry("sequential", 0.7, dataset="QM9", sample=1000, history=history(0.7))
    found = sections(scores_report([whole, sample]))
    curves = {
        title: [block for block in blocks if block.get("caption") == "Validation F1 while training"]
        for title, blocks in found.items()
    }
    assert [len(block["series"]) for block in curves["QM9, paper split"]] == [1]
    assert [len(block["series"]) for block in curves["QM9 (1,000 sampled), paper split"]] == [1]


def test_side_information_and_attributes_are_not_called_best() -> None:
    entries = [entry("linear", 0.8), entry("path", 0.9), entry("refined-attributes", 0.95)]
    page = sections(scores_report(entries))
    [every] = [block for block in page["MUTAG, paper split"] if block.get("caption") == "Every method"]
    best = [row[0] for row in every["rows"] if isinstance(row[2], dict) and row[2]["tone"] == "best"]
    assert best == ["linear"]


def test_a_file_of_results_is_reported_by_itself(run: Any, tmp_path: Path) -> None:
    write(tmp_path / "results", entry(dataset="QM9"), entry(dataset="QM9", sample=1000))
    source = tmp_path / "results" / "QM9-1000.jsonl"
    assert run("report", str(source), "-o", "report.html").code == 0
    found = sections(Path("report.html").read_text(encoding="utf-8"))
    assert [title for title in found if title.startswith("QM9")] == ["QM9 (1,000 sampled), paper split"]
