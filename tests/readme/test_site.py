"""The site's pages and its table of contents agree; the strict build itself is `make docs`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
yaml = pytest.importorskip("yaml")
SITE = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def pages(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for entry in nav.values() if isinstance(nav, dict) else nav:
            yield from pages(entry)


def test_every_page_is_in_the_table_of_contents_once() -> None:
    listed = list(pages(SITE["nav"]))
    assert sorted(listed) == sorted(str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md"))


def test_nothing_is_loaded_from_elsewhere() -> None:
    assert SITE["theme"]["font"] is False
    assert not {"extra_css", "extra_javascript", "extra_templates"} & SITE.keys()


@pytest.mark.parametrize("name", ["CHANGELOG.md", "CITATION.cff", "pyproject.toml"])
def test_one_version(name: str) -> None:
    from geogae import __version__

    text = (ROOT / name).read_text(encoding="utf-8")
    wanted = {
        "CHANGELOG.md": f"## {__version__}\n",
        "CITATION.cff": f"\nversion: {__version__}\n",
        "pyproject.toml": 'version = { attr = "geogae.__version__" }',
    }
    assert wanted[name] in text
