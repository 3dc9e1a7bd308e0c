"""Files are replaced whole; what a killed process left beside them goes with the next write."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from geogae.files import atomic_path

KILLED = """
import os, signal, sys
from geogae.files import atomic_path
with atomic_path(sys.argv[1]) as temporary:
    temporary.mkdir() if sys.argv[2] == "folder" else temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    target = tmp_path / "run [1].json"
    for kind in ("file", "folder"):
        subprocess.run([sys.executable, "-c", KILLED, str(target), kind], check=False)
    assert len(list(tmp_path.glob(".*.tmp"))) >= 1
    with atomic_path(target) as temporary:
        assert list(tmp_path.iterdir()) == []
        temporary.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == [target.name] and target.read_text() == "whole"


def test_what_a_living_process_writes_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    with atomic_path(target) as first:
        first.write_text("first")
        with atomic_path(target) as second:
            second.write_text("second")
        assert first.exists() and f"-{os.getpid()}-" in first.name
    assert target.read_text() == "first"
