"""What README and docs show works, in sequence, and their tables are what the results say."""

from __future__ import annotations

import re
import runpy
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from geogae import formats, isomorphic
from shell import Run

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^geogae ([^#\n]*)", README, re.MULTILINE)
PAGES = [*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def test_the_python_example_and_the_commands_run_in_sequence(run: Run) -> None:
    """In one folder, from top to bottom: the commands read the file that the example writes."""
    example, use_of_z = blocks("README.md")
    scope: dict[str, Any] = {}
    exec(example, scope)
    assert scope["z"].shape == (12, 64) and Path("mine.geogae/config.json").exists()
    assert all(isomorphic(one, other) for one, other in zip(scope["back"], scope["mine"], strict=True))
    exec(use_of_z, scope)
    assert len(scope["new"]) == len(scope["between"]) == 5
    assert len(COMMANDS) >= 8
    for command in COMMANDS:
        code, _, err = run(*shlex.split(command))
        assert code == 0, f"geogae {command}: {err}"
    assert len(formats.read("back.jsonl")) == len(scope["mine"]) and Path("mutag.png").exists()


def test_the_examples_of_the_docs_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for page in ("docs/index.md", "docs/own_graphs.md"):
        scope: dict[str, Any] = {}
        for example in blocks(page):
            exec(example, scope)
    assert scope["back"].n == 14


def test_molecules_come_back() -> None:
    chemistry = pytest.importorskip("rdkit.Chem")
    from geogae import GeoGAE

    smiles = ["CCO", "CC(=O)O", "c1ccccc1O", "CC#N", "C[N+](C)(C)C"]
    model = GeoGAE(attributes="decoded").fit(smiles)
    back = model.decode(model.encode(smiles), molecules=True)
    assert isinstance(back, list)
    wanted = [chemistry.MolToSmiles(chemistry.MolFromSmiles(one)) for one in smiles]
    assert [chemistry.MolToSmiles(molecule) for molecule in back] == wanted


def test_readme_is_short_and_names_what_to_install() -> None:
    assert len(README.splitlines()) <= 120
    assert "pip install geogae" in README and "make demo" in README and "make test" in README
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {"demo", "test", "test-slow", "test-browser", "torture", "docs", "lint"} <= set(targets)


def test_tables_are_generated_from_the_results(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    monkeypatch.setattr(sys, "argv", ["report.py", "--check"])
    code = runpy.run_path(str(ROOT / "benchmarks" / "report.py"))["main"]()
    assert code == 0, f"{capsys.readouterr().err}run python benchmarks/report.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)  # C[N+](C)C is no link
    for target in re.findall(r"\]\(([^)#]+)\)", prose):
        assert target.startswith("https://") or (page.parent / target).exists(), target
