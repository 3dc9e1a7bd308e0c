from __future__ import annotations

from pathlib import Path

import pytest
from shell import Result, Run

from geogae.cli import main
from geogae.datasets import qm9


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line in this process, in an empty folder, without network."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("GEOGAE_DATA", raising=False)
    monkeypatch.setenv("GEOGAE_TU_URL", "http://127.0.0.1:9/none")
    monkeypatch.setattr(qm9, "find", list)

    def run(*arguments: object) -> Result:
        with pytest.raises(SystemExit) as exit:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(exit.value.code, captured.out, captured.err)  # type: ignore[arg-type]

    return run
