"""Generated tables in pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from geogae import GeoGAEError
from geogae.benchmark.blocks import NOT_MEASURED, block_names, fill_file, filled, markdown_table

PAGE = """before

<!-- results: one -->
old
<!-- end -->

between `<!-- results: one -->`
<!-- results: other -->
<!-- end -->
"""


def test_a_table() -> None:
    assert markdown_table(["a", "b"], [[1, "x|y"]]) == "| a | b |\n| --- | --- |\n| 1 | x\\|y |\n"
    assert markdown_table(["a"], []) == NOT_MEASURED


def test_only_what_stands_in_the_block_changes() -> None:
    new = filled(PAGE, {"one": lambda: "new \\1\n", "none": lambda: "never\n"})
    assert new == PAGE.replace("old", "new \\1")
    assert filled(new, {"one": lambda: "old\n"}) == PAGE
    assert block_names(PAGE) == ["one", "other"]


def test_what_is_not_measured_is_said() -> None:
    def missing() -> str:
        raise FileNotFoundError(2, "no such file", "results/speed.json")

    assert "<!-- results: one -->\n*Not measured yet: speed.json*\n<!-- end -->" in filled(PAGE, {"one": missing})


def test_a_block_without_end_eats_nothing() -> None:
    broken = PAGE.replace("old\n<!-- end -->", "old")
    with pytest.raises(GeoGAEError, match="results: one --> has no <!-- end -->"):
        filled(broken, {"one": lambda: "new\n", "other": lambda: "new\n"})


def test_a_file(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert fill_file(page, {"one": lambda: "ä\n"}) and not fill_file(page, {"one": lambda: "ä\n"})
    assert page.read_text(encoding="utf-8") == PAGE.replace("old", "ä")
    assert list(tmp_path.iterdir()) == [page]
    with pytest.raises(GeoGAEError, match=r"page\.md has no block to fill; .* one of two, three"):
        fill_file(page, {"two": str, "three": str})
    with pytest.raises(GeoGAEError, match=r"cannot read .*none\.md"):
        fill_file(tmp_path / "none.md", {})
