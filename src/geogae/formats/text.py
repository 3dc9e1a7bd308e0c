"""Text with one graph a line: files and open streams, and how to tell the formats apart without a suffix."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeGuard

from geogae.errors import GeoGAEError
from geogae.formats.limits import check, limit

Source = str | os.PathLike[str] | IO[bytes]

_NOT_IN_SMILES = frozenset("?^_`{|}~!;<>&'\"")  # of the characters of graph6 and JSON, those that no SMILES has


def numbered_lines(source: Source) -> Iterator[tuple[str, str]]:
    """Each line that is not blank, with its place ("graphs.jsonl line 7") for error messages.

    The text is UTF-8, with or without a byte order mark. A line is at most ``GEOGAE_MAX_LINE`` bytes long.
    """
    longest = limit("line")
    with _opened(source) as (file, name):
        number = 0
        while raw := file.readline(longest + 1):
            number += 1
            where = f"{name} line {number}"
            check("line", len(raw), where, more=True)
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise GeoGAEError(f"{where}: this is not UTF-8 text") from None
            if line.strip():
                yield where, line.rstrip("\r\n")


def is_stream(source: object) -> TypeGuard[IO[bytes]]:
    """Whether this is an open file rather than a path."""
    return hasattr(source, "readline")


def peekable(stream: IO[bytes]) -> io.BufferedReader:
    """The stream with a look ahead."""
    return stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)  # type: ignore[arg-type]


def guessed_suffix(stream: io.BufferedReader) -> str:
    """The suffix of the line format that a stream holds, judged by its first lines; nothing is taken from it.

    JSON begins with a brace and sparse6 with a colon. A graph6 line has the length that its first characters state. If
    all lines could be both graph6 and SMILES ("CC"), that is an error which asks for the format.
    """
    lines = stream.peek(1 << 13)[: 1 << 13].removeprefix(b"\xef\xbb\xbf").decode("ascii", errors="replace").split("\n")
    if len(lines) > 1:
        lines.pop()  # it may be cut off
    lines = [line.strip() for line in lines if line.strip()]
    if not lines:
        return ".jsonl"  # nothing at all: no graphs in any format
    if lines[0].startswith("{"):
        return ".jsonl"
    if lines[0].startswith((">>graph6<<", ">>sparse6<<", ":")):
        return ".g6"
    if not all(_could_be_graph6(line) for line in lines):
        return ".smi"
    if any(_NOT_IN_SMILES & set(line) for line in lines):
        return ".g6"
    raise GeoGAEError(f"{lines[0][:40]!r} could be graph6 or SMILES; say which with format='g6' or 'smi' (--format)")


def _could_be_graph6(line: str) -> bool:
    from geogae.formats.graph6 import stated_size

    if line.startswith(":"):
        return True
    try:
        n, start = stated_size(line)
    except GeoGAEError:
        return False
    return len(line) - start == (n * (n - 1) // 2 + 5) // 6


@contextmanager
def _opened(source: Source) -> Iterator[tuple[Any, str]]:
    """The open file and its name in messages."""
    if is_stream(source):
        yield source, str(getattr(source, "name", None) or "input")
        return
    path = Path(source)  # type: ignore[arg-type]
    try:
        with path.open("rb") as file:
            yield file, str(path)
    except FileNotFoundError:
        raise GeoGAEError(f"{path} does not exist") from None
    except OSError as error:
        raise GeoGAEError(f"{path} cannot be read: {error.strerror or error}") from None
