"""Generated tables in hand-written pages: what stands between ``<!-- results: NAME -->`` and ``<!-- end -->``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from geogae.errors import GeoGAEError
from geogae.files import atomic_path

NOT_MEASURED = "*Not measured yet.*\n"
_START = re.compile(r"<!-- results: (\S+) -->\n")
_BLOCK = re.compile(r"(<!-- results: (\S+) -->\n)(?:(?!<!-- results: ).)*?(<!-- end -->)", re.DOTALL)

Tables = Mapping[str, Callable[[], str]]


def markdown_table(header: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """The rows under their header; without rows, a line that says so."""
    lines = [header, ["---"] * len(header), *rows]
    if len(lines) == 2:
        return NOT_MEASURED
    return "".join("| " + " | ".join(_cell(cell) for cell in line) + " |\n" for line in lines)


def _cell(value: Any) -> str:
    """On one line, with no bar of its own."""
    return " ".join(str(value).split()).replace("|", "\\|")


def block_names(text: str) -> list[str]:
    """The blocks of a page; one that has no end is an error."""
    ended = {match.start() for match in _BLOCK.finditer(text)}
    for match in _START.finditer(text):
        if match.start() not in ended:
            raise GeoGAEError(f"the block <!-- results: {match[1]} --> has no <!-- end --> of its own; add one")
    return _START.findall(text)


def filled(text: str, tables: Tables) -> str:
    """The page with its blocks filled again; those of other names stay as they are."""

    def fill(match: re.Match[str]) -> str:
        if match[2] not in tables:
            return match[0]
        try:
            return match[1] + tables[match[2]]() + match[3]
        except FileNotFoundError as error:
            return f"{match[1]}*Not measured yet: {Path(str(error.filename)).name}*\n{match[3]}"

    block_names(text)
    return _BLOCK.sub(fill, text)


def fill_file(path: Path, tables: Tables) -> bool:
    """Fill the blocks of a page; whether that changed it. A page without any of them is an error."""
    try:
        text = path.read_text(encoding="utf-8")
        new = filled(text, tables)
    except (OSError, UnicodeDecodeError) as error:
        raise GeoGAEError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    except GeoGAEError as error:
        raise GeoGAEError(f"{path}: {error}") from None
    if not tables.keys() & set(block_names(text)):
        raise GeoGAEError(
            f"{path} has no block to fill; put <!-- results: NAME --> and <!-- end --> on lines of their own, "
            f"where NAME is one of {', '.join(tables)}"
        )
    if new != text:
        with atomic_path(path) as temporary:
            temporary.write_text(new, encoding="utf-8")
    return new != text
