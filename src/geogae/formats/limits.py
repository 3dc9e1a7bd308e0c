"""Limits on what a file may ask for. They are checked before memory is taken.

An untrusted file can state any size: a zip of one megabyte can unpack to a gigabyte, a short line can state ten
million nodes. What is just below the limits takes 2 to 4 GiB while it is read. Each limit is read from its environment
variable at every check, so it can be raised for a file that is trusted:

=====================  ============  ==========================================================================
variable                    default  limits
=====================  ============  ==========================================================================
GEOGAE_MAX_NODES          1,000,000  nodes of one graph
GEOGAE_MAX_GRAPHS         5,000,000  graphs read into memory at once (``iter_read`` has no such limit)
GEOGAE_MAX_NUMBERS      100,000,000  numbers in one table or array (TU text, ``.npz``), rows of a Parquet row group
GEOGAE_MAX_LINE          67,108,864  bytes of one line of text, or of a JSON file of vectors
GEOGAE_MAX_UNPACKED   1,073,741,824  bytes of an archive when unpacked, or of an array of vectors in memory
GEOGAE_MAX_ATOMS              5,000  atoms of one molecule (RDKit's SMILES writer crashes beyond about 15,000)
=====================  ============  ==========================================================================
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from geogae.errors import GeoGAEError

T = TypeVar("T")


class Limit(NamedTuple):
    """A limit's default and what it counts."""

    default: int
    what: str


LIMITS = {
    "nodes": Limit(1_000_000, "nodes in one graph"),
    "graphs": Limit(5_000_000, "graphs in memory"),
    "numbers": Limit(100_000_000, "numbers in one table"),
    "line": Limit(1 << 26, "bytes in one line"),
    "unpacked": Limit(1 << 30, "bytes when unpacked"),
    "atoms": Limit(5_000, "atoms in one molecule"),
}

IN_HELP = (
    f"Files are read up to {LIMITS['nodes'].default:,} nodes a graph, {LIMITS['graphs'].default:,} graphs and "
    f"{LIMITS['unpacked'].default >> 30} GiB unpacked; GEOGAE_MAX_NODES, _GRAPHS and _UNPACKED change that."
)  # for the command line


def limit(name: str) -> int:
    """The limit that holds now: the environment's, or the default."""
    value = os.environ.get(_variable(name))
    if not value:
        return LIMITS[name].default
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise GeoGAEError(f"{_variable(name)}={value!r} must be a whole number, at least 1")
    return number


def check(name: str, count: int, where: str = "", *, more: bool = False) -> None:
    """An error if ``count`` is above the limit; ``where`` names the file or line it was found in.

    ``more`` says that there may be more than ``count``, which is as far as was read.
    """
    most = limit(name)
    if count > most:
        found = f"more than {most:,}" if more else f"{count:,}"
        raise GeoGAEError(
            f"{where}{': ' if where else ''}{found} {LIMITS[name].what}, and the limit is {most:,}; if the file can be "
            f"trusted, raise the limit with {_variable(name)}={'…' if more else count}"
        )


def limited(graphs: Iterable[T], source: object) -> list[T]:
    """The graphs as a list, unless they are more than the limit."""
    most, kept = limit("graphs"), []
    for graph in graphs:
        kept.append(graph)
        if len(kept) > most:
            check("graphs", len(kept), f"{source} (formats.iter_read reads one graph at a time)", more=True)
    return kept


def _variable(name: str) -> str:
    return f"GEOGAE_MAX_{name.upper()}"
