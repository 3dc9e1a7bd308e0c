"""A Chromium that opens pages from files and watches them: no error on the console, no request that leaves the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from find_chromium import ADVICE, find_chromium

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
)  # fmt: skip
IMAGES = Path(__file__).parents[2] / "docs" / "images"

Open = Callable[..., Any]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    path = find_chromium()
    if path is None:
        pytest.skip(ADVICE)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Open]:
    """Opens a file and waits until the page is ready; afterwards nothing may have gone wrong in it."""
    troubles: list[str] = []
    opened = []

    def open_page(path: Path, scheme: str = "light", width: int = 1440, height: int = 900) -> Any:
        page = chromium.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        page.set_default_timeout(30_000)
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
        page.on(
            "request",
            lambda request: troubles.append(f"request: {request.url}") if request.url != path.as_uri() else None,
        )
        page.goto(path.as_uri())
        page.locator("html[data-page=ready]").wait_for(state="attached")
        opened.append(page)
        return page

    yield open_page
    for page in opened:
        page.close()
    assert not troubles
