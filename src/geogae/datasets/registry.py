"""Data sets by name: one file and one line each.

An entry is a :class:`DataSet` or the place where it is found ("module:NAME"), which is imported on first use. A name
that is not listed is looked for in the TU collection. A new data set can be added from outside of the package::

    from geogae.datasets import DATASETS, DataSet
    DATASETS["mine"] = DataSet(load=lambda name, root, policy: [...])
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from geogae.formats.simplify import Policy

Root = str | os.PathLike[str] | None


@dataclass(frozen=True)
class DataSet:
    """How a data set is loaded.

    ``load(name, root, policy)`` gives a :class:`geogae.formats.packed.Packed`, or anything that
    :func:`geogae.formats.as_graphs` takes. ``root`` is the folder to look in, None for the usual places; ``policy`` is
    that of :mod:`geogae.formats.simplify`. ``is_here(name, root)`` says whether loading needs no download.
    """

    load: Callable[[str, Root, Policy], Any]
    is_here: Callable[[str, Root], bool] = lambda name, root: True


COLLECTION = "geogae.datasets.collection:TU"

DATASETS: dict[str, DataSet | str] = {
    "MUTAG": "geogae.datasets.mutag:MUTAG",
    "AIDS": COLLECTION,
    "IMDB-BINARY": COLLECTION,
    "QM9": "geogae.datasets.qm9:QM9",
    "QM9-numbers": "geogae.datasets.qm9:QM9_NUMBERS",
    "SYNTHETICnew": COLLECTION,
    "COLLAB": COLLECTION,
    "REDDIT-BINARY": COLLECTION,
}
