"""What README and docs show works, and their tables are what the result files say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from geogae import datasets, formats, metrics
from shell import Run

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^geogae ([^#\n]*)", README, re.MULTILINE)


def test_the_python_examples_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first, own, second = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    exec(first, scope)
    assert (tmp_path / "mutag.geogae" / "model.safetensors").exists()
    assert len(scope["back"]) == len(scope["test"]) == len(scope["z"]) and scope["z"].shape[1] == 128
    assert all(metrics.same_topology(*pair) for pair in zip(scope["back"], scope["test"], strict=True))
    exec(own, scope)
    assert len(formats.read("graphs.jsonl")) == len(scope["mine"]) == 16
    assert scope["model"].decode(scope["model"].encode(scope["mine"][3])).n == 14
    chemistry = pytest.importorskip("rdkit.Chem")
    exec(second, scope)
    back = scope["molecules"].decode(scope["z"], molecules=True)  # as its last line does
    told = [chemistry.MolToSmiles(chemistry.MolFromSmiles(smiles)) for smiles in scope["smiles"]]
    assert [chemistry.MolToSmiles(molecule) for molecule in back] == told and len(told) == 5


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_exist_with_their_options(command: str) -> None:
    verb, *rest = command.split()
    words = [verb, *(w for w in rest[:1] if verb == "benchmark")]
    done = subprocess.run(
        [sys.executable, "-m", "geogae", *words, "--help"], capture_output=True, text=True, check=True
    )
    for option in (word for word in rest if word.startswith("-")):
        assert option in done.stdout, f"geogae {verb} has no {option}"


def test_the_commands_work_one_after_the_other(run: Run) -> None:
    """All but the benchmark's, which are long."""
    formats.write(datasets.load("MUTAG")[:24], "graphs.jsonl")
    for command in COMMANDS:
        if not command.startswith("benchmark"):
            assert run(*command.split()).code == 0, command
    assert len(formats.read("back.jsonl")) == 24 and Path("mutag.png").exists() and Path("demo/model").is_dir()


def test_the_readme_names_the_two_commands_first() -> None:
    assert re.search(r"```\nmake demo .*\nmake test ", README)
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {"demo", "test"} <= set(targets)


def test_tables_are_generated_from_the_results() -> None:
    done = subprocess.run([sys.executable, "benchmarks/report.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", [*sorted(ROOT.glob("docs/*.md")), ROOT / "README.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)  # C[N+](C)C is no link
    for target in re.findall(r"\]\(([^)#]+)\)", prose):
        assert (page.parent / target).exists(), target
