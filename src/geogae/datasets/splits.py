"""Training, validation and test parts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np

from geogae.checks import check_number
from geogae.errors import GeoGAEError
from geogae.formats import iter_graphs

T = TypeVar("T")


def split(
    graphs: Sequence[T],
    seed: int = 0,
    *,
    fractions: tuple[float, float, float] = (0.7, 0.15, 0.15),
    disjoint: bool = False,
) -> tuple[list[T], list[T], list[T]]:
    """Training, validation and test parts, the same for the same seed; each keeps the order of ``graphs``.

    The shuffled graphs are cut at the fractions' running sums times their number, rounded half up: 188 graphs
    give 132, 28 and 28. With ``disjoint`` graphs that are isomorphic (attributes aside) stay in one part: isomorphism
    classes are assigned from the largest to the smallest, each to a part that has room for it, at random in
    proportion to the room left. The sizes then come as near to the fractions as the classes allow.

    ``graphs`` are anything that :func:`geogae.formats.as_graph` takes, and the parts hold them as they were given. A
    PyG ``Batch`` or an iterator becomes a list first.
    """
    if len(fractions) != 3 or min(fractions) < 0 or not math.isclose(sum(fractions), 1):
        raise GeoGAEError(f"fractions={fractions} must be three numbers from 0 up that sum to 1")
    check_number("seed", seed, int, 0)
    if hasattr(graphs, "to_data_list"):
        graphs = graphs.to_data_list()
    elif not hasattr(graphs, "__getitem__"):
        graphs = list(graphs)
    if not len(graphs):
        raise GeoGAEError("there are no graphs to split; give at least one")
    rng = np.random.Generator(np.random.PCG64(seed))
    cuts = [math.floor(sum(fractions[:k]) * len(graphs) + 0.5 + 1e-9) for k in (1, 2)]
    bounds = [0, *cuts, len(graphs)]
    if disjoint:
        parts = _deal(isomorphism_classes(graphs), np.diff(bounds), rng)
    else:
        order = rng.permutation(len(graphs))
        parts = [order[start:stop].tolist() for start, stop in pairwise(bounds)]
    train, validation, test = ([graphs[index] for index in sorted(part)] for part in parts)
    return train, validation, test


def isomorphism_classes(graphs: Sequence[object]) -> list[list[int]]:
    """The positions of the graphs, those of equal topology up to renumbering together.

    Only graphs whose sizes and degrees agree are compared by canonical form.
    """
    from geogae.labelling.labelling import canonical_form  # numba, which a listing of data sets does not need

    topologies = [graph.topology() for graph in iter_graphs(graphs)]
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for index, graph in enumerate(topologies):
        alike[graph.n, np.sort(graph.degrees).tobytes()].append(index)
    classes: dict[Hashable, list[int]] = defaultdict(list)
    for degrees, members in alike.items():
        for index in members:
            form = canonical_form(topologies[index]) if len(members) > 1 else b""
            classes[degrees, form].append(index)
    return list(classes.values())


def _deal(classes: list[list[int]], sizes: np.ndarray, rng: np.random.Generator) -> list[list[int]]:
    parts: list[list[int]] = [[] for _ in sizes]
    shuffled = [classes[index] for index in rng.permutation(len(classes))]
    for members in sorted(shuffled, key=len, reverse=True):
        room = sizes - [len(part) for part in parts]
        fits = np.where(room >= len(members), room, 0)
        part = rng.choice(len(parts), p=fits / fits.sum()) if fits.any() else np.argmax(room)
        parts[part].extend(members)
    return parts
