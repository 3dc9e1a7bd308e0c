"""MUTAG, which comes with the package; from a folder that is given, it is read as any other set of the collection."""

from __future__ import annotations

from importlib.resources import as_file, files

from geogae.datasets import collection
from geogae.datasets.registry import DataSet, Root
from geogae.formats.packed import Packed
from geogae.formats.simplify import Policy


def load(name: str, root: Root, policy: Policy) -> Packed:
    """The embedded graphs, or those in ``root``."""
    if root is not None:
        return collection.load(name, root, policy)
    with as_file(files(__package__) / "mutag.npz") as path:
        return Packed.load(path)


MUTAG = DataSet(load, lambda name, root: root is None or collection.is_here(name, root))
