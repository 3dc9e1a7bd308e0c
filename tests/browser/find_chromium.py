"""Where a Chromium is: of the system, or Playwright's own. As a script it says what to install if there is none."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
ADVICE = "no Chromium found: apt-get install chromium (Debian), or .venv/bin/playwright install chromium"


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


if __name__ == "__main__" and find_chromium() is None:
    sys.exit(ADVICE)
