"""A Chromium is installed where that is allowed; where it is not, one line says what to install."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

import find_chromium as finder
import pytest


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A machine without a Chromium, on which no command works; what is tried on it."""
    tried: list[list[str]] = []

    def fails(command: list[str], **_: Any) -> None:
        tried.append(command)
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(subprocess, "run", fails)
    monkeypatch.setattr(finder, "find_chromium", lambda: None)
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    return tried


def test_root_takes_that_of_debian_then_that_of_playwright(
    machine: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert finder.install_chromium() is None
    assert machine[0][0] == "apt-get" and "playwright" in machine[-1]


def test_a_user_takes_that_of_playwright_alone(machine: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert finder.install_chromium() is None
    assert [command[1:] for command in machine] == [["-m", "playwright", "install", "chromium"]]


def test_the_first_way_that_works_is_enough(machine: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(subprocess, "run", lambda command, **_: machine.append(command))
    monkeypatch.setattr(finder, "find_chromium", lambda: "/usr/bin/chromium" if machine else None)
    assert finder.install_chromium() == "/usr/bin/chromium"
    assert all(command[0] == "apt-get" for command in machine)


def test_a_machine_without_apt(machine: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert [way[0][1] for way in finder.ways_to_install()] == ["-m"]
