"""Being here puts this folder on the path of the tests, so that they can share `strategies` and `shell`."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch comes: two workers share the cores, more threads only spin

from geogae.cli import main
from geogae.datasets import qm9
from geogae.geometry.compiling import compile_kernels
from shell import Result, Run

settings.register_profile("geogae", deadline=None, derandomize="CI" in os.environ)  # a busy machine is no bug
settings.load_profile("geogae")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so it is in the background of a shell, and tests send it
    signal.signal(signal.SIGINT, signal.default_int_handler)

LONG = ("training/test_processes.py", "benchmark/test_runner.py", "readme/test_readme.py", "geometry/test_kernel.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of few, long tests come first; at the end they would leave one of two test processes idle."""
    items.sort(key=lambda item: not item.path.as_posix().endswith(LONG))


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests never read or write the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEOGAE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True, scope="session")
def compiled() -> None:
    """So that no test finds in its log that kernels are compiled."""
    compile_kernels()


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
