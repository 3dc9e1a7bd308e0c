"""What is to be run: methods × data sets × seeds × splits, and where the result of each run goes."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from geogae.errors import GeoGAEError
from geogae.training import ENDS

SPLITS = ("paper", "disjoint")  # at random, or with isomorphic graphs on one side
MOST = 10_000  # numbers in one option
LIMIT = 2**32  # of a number: what every generator of random numbers takes as a seed


class Run(NamedTuple):
    """One method on one split of one data set."""

    method: str
    changes: tuple[tuple[str, Any], ...]  # of the method's parameters, sorted by name
    dataset: str
    sample: int | None  # so many graphs of it, drawn once for all seeds; None for all
    split: str
    seed: int

    @property
    def label(self) -> str:
        """The method with its changes, as tables and folders name it: ``sequential,minutes=10``."""
        return ",".join([self.method, *(f"{name}={value}" for name, value in self.changes)])

    @property
    def data(self) -> str:
        """The data set with its sample: ``QM9-20000``."""
        return self.dataset if self.sample is None else f"{self.dataset}-{self.sample}"

    def file(self, results: Path) -> Path:
        """The file of results that this run adds a line to."""
        return results / f"{_plain(self.data)}.jsonl"

    def folder(self, work: Path) -> Path:
        """Where its checkpoints are kept."""
        return work / _plain(self.data) / _plain(self.label) / f"{self.split}-{self.seed}"

    def __str__(self) -> str:
        return f"{self.data} {self.label} {self.split} {self.seed}"


def plan(
    methods: Sequence[str],
    datasets: Sequence[str],
    seeds: Sequence[int],
    splits: Sequence[str],
    sizes: Sequence[int | None] = (None,),
    changes: Collection[tuple[str, Any]] = (),
) -> list[Run]:
    """All runs, those of one data set and split together, so that its graphs are read once.

    A data set is a name, NAME:COUNT for a sample of it, or a file of graphs; ``sizes`` are sizes m of z to go through.
    """
    from geogae.benchmark.methods import METHODS

    for method in methods:
        if method not in METHODS:
            raise GeoGAEError(f"method {method!r} is not known; valid are {', '.join(METHODS)}")
    for split in splits:
        if split not in SPLITS:
            raise GeoGAEError(f"split {split!r} is not known; valid are {', '.join(SPLITS)}")
    runs = []
    for (name, sample), split, seed, method, m in product(map(_dataset, datasets), splits, seeds, methods, sizes):
        own = {key: value for key, value in changes if METHODS[method].trained or key not in ENDS}
        own |= {"latent_dim": m} if m is not None and METHODS[method].sized else {}
        METHODS[method].make(name, own)  # what cannot be is said now, not after the first hour
        runs.append(Run(method, tuple(sorted(own.items())), name, sample, split, seed))
    return list(dict.fromkeys(runs))


def parse_numbers(text: str, what: str) -> list[int]:
    """``0-4`` or ``0,2,5-7`` as numbers."""
    numbers: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,19})(?:-(\d{1,19}))?\s*", part)
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise GeoGAEError(f"{what} {text!r} must be numbers such as 0-4 or 0,2,5")
        first, last = int(match[1]), int(match[2] or match[1])
        if last >= LIMIT or len(numbers) + last - first >= MOST:
            raise GeoGAEError(f"{what} {text!r} must be at most {MOST:,} numbers, each below {LIMIT:,}")
        numbers |= dict.fromkeys(range(first, last + 1))
    return list(numbers)


def _dataset(text: str) -> tuple[str, int | None]:
    from geogae.datasets import names

    name, colon, count = text.rpartition(":")
    if not colon:
        name, count = text, ""
    elif not name or not count.isdecimal() or int(count) < 10:
        raise GeoGAEError(f"the sample in {text!r} must be a whole number of graphs, at least 10, such as QM9:20000")
    known = {known.lower(): known for known in names()}
    return known.get(name.lower(), name), int(count) if count else None


def _plain(name: str) -> str:
    """A name for a folder, also where a data set is a path."""
    return re.sub(r"[^\w.,=+-]+", "_", name).strip("_.") or "_"
