"""Where a Chromium is: of the system, or Playwright's own.

As a script it installs one where it may (Debian's as root, else Playwright's), else says what to install.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
ADVICE = "no Chromium found: apt-get install chromium (Debian), or .venv/bin/playwright install chromium"
PATIENCE = 900  # seconds that an installation may take


def find_chromium() -> str | None:
    """The path of the system's Chromium, else of Playwright's, else None."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is not None:
        return found
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    with sync_playwright() as driver:
        own = driver.chromium.executable_path
    return own if Path(own).exists() else None


def ways_to_install() -> list[list[list[str]]]:
    """Commands that bring a Chromium, to be run one after the other; the first way that works is enough."""
    apt = [["apt-get", "update", "-qq"],
           ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium", "fonts-dejavu-core"]]  # fmt: skip
    may_apt = shutil.which("apt-get") is not None and hasattr(os, "geteuid") and os.geteuid() == 0
    return [*([apt] if may_apt else []), [[sys.executable, "-m", "playwright", "install", "chromium"]]]


def install_chromium() -> str | None:
    """The path of a Chromium that is there now, or None."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for commands in ways_to_install():
        print("no Chromium here; trying", *commands[-1], file=sys.stderr)
        try:
            for command in commands:
                subprocess.run(command, env=quiet, capture_output=True, timeout=PATIENCE, check=True)
        except (OSError, subprocess.SubprocessError):
            continue
        if (path := find_chromium()) is not None:
            return path
    return None


if __name__ == "__main__" and find_chromium() is None and install_chromium() is None:
    sys.exit(ADVICE)
