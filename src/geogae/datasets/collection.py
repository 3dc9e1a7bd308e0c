"""The sets of the TU collection. A large one is parsed once and kept in the cache folder."""

from __future__ import annotations

from pathlib import Path

from geogae.datasets import sources
from geogae.datasets.registry import DataSet, Root
from geogae.datasets.store import cached, state_of
from geogae.formats.packed import Packed
from geogae.formats.simplify import Policy
from geogae.formats.tu import read_tu_packed

WORTH_CACHING = 1 << 24  # bytes of source; anything smaller is parsed within a second


def load(name: str, root: Root, policy: Policy) -> Packed:
    """The graphs of NAME.zip or the folder NAME, downloaded if they are nowhere on this machine."""
    source = sources.fetch(name, root)
    parts = sorted(source.iterdir()) if source.is_dir() else [source]
    if sum(_size(part) for part in parts) < WORTH_CACHING:
        return read_tu_packed(source, **policy)
    return cached(name, (state_of(parts), sorted(policy.items())), lambda: read_tu_packed(source, **policy))


def is_here(name: str, root: Root) -> bool:
    """Whether the set is on this machine."""
    return sources.find(name, root) is not None


TU = DataSet(load, is_here)


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0
