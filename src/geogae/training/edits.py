"""Edited copies of training graphs: as many as training can use, near the graphs it has, none of those held back.

A model that sees a few hundred graphs overfits. Small random edits keep what the graphs have in common and
vary the rest. Attributes follow: a new node or edge takes its own from a place of the same kind in the training graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random

import numpy as np

from geogae.errors import GeoGAEError
from geogae.geometry.fitting import canonicalise
from geogae.graph import Graph
from geogae.training.drafts import Draft, Places

REDRAWS = 20  # copies that may turn out to be a graph that is held back, before training graphs are too few to edit

Edit = Callable[[Draft, Places, Random], None]


# -- the edits; one that finds no place for itself changes nothing ----------------------------------------------------


def add_leaf(draft: Draft, places: Places, random: Random) -> None:
    if not draft.full:
        at = _node(draft, random)
        row, edge = places.leaf(draft.rows[at], random)
        draft.join(at, draft.add(row), edge)


def remove_leaf(draft: Draft, places: Places, random: Random) -> None:
    leaf = _of_degree(draft, 1, random)
    if leaf is not None and len(draft.rows) > 2:
        draft.remove(leaf)


def move_leaf(draft: Draft, places: Places, random: Random) -> None:
    leaf, to = _of_degree(draft, 1, random), _node(draft, random)
    if leaf is not None and to != leaf:
        [at] = draft.edges[leaf]
        draft.join(leaf, to, draft.cut(leaf, at))


def add_edge(draft: Draft, places: Places, random: Random) -> None:
    """Between nodes that are near each other: it closes a ring of a length that training graphs have."""
    a, length = _node(draft, random), random.choice(places.rings)
    b = _chosen([b for b, steps in draft.near(a, length).items() if steps == length], random)
    if b is not None:
        draft.join(a, b, places.link(draft.rows[a], draft.rows[b], random))


def remove_edge(draft: Draft, places: Places, random: Random) -> None:
    """Unless it is a bridge."""
    a = _node(draft, random)
    b = _chosen(list(draft.edges[a]), random)
    if b is not None:
        row = draft.cut(a, b)
        if not draft.linked(a, b):
            draft.join(a, b, row)


def move_edge(draft: Draft, places: Places, random: Random) -> None:
    """One end moves to a neighbour of its node."""
    a = _node(draft, random)
    b = _chosen(list(draft.edges[a]), random)
    c = None if b is None else _chosen([c for c in draft.edges[b] if c != a and c not in draft.edges[a]], random)
    if b is not None and c is not None:
        draft.cut(a, b)
        draft.join(a, c, places.link(draft.rows[a], draft.rows[c], random))


def subdivide(draft: Draft, places: Places, random: Random) -> None:
    """A new node in the middle of an edge."""
    a = _node(draft, random)
    b = _chosen(list(draft.edges[a]), random)
    if b is not None and not draft.full:
        draft.cut(a, b)
        middle = draft.add(places.middle(draft.rows[a], draft.rows[b], random))
        for end in (a, b):
            draft.join(middle, end, places.link(draft.rows[end], draft.rows[middle], random))


def contract(draft: Draft, places: Places, random: Random) -> None:
    """A node of degree two leaves, and its neighbours are joined."""
    middle = _of_degree(draft, 2, random)
    if middle is not None:
        a, b = draft.edges[middle]
        if b not in draft.edges[a]:
            draft.remove(middle)
            draft.join(a, b, places.link(draft.rows[a], draft.rows[b], random))


def join_parts(draft: Draft, places: Places, random: Random) -> None:
    """A connected part of the draft stays, and a part of another training graph is joined to it by an edge."""
    _keep(draft, random.randint(1, len(draft.rows)), random)
    if draft.full:
        return
    other = Draft.of(places, random.randrange(len(places.graphs)), draft.most)
    _keep(other, random.randint(1, min(len(other.rows), draft.most - len(draft.rows))), random)
    a = _node(draft, random)
    number = {node: draft.add(row) for node, row in other.rows.items()}
    for i, ends in other.edges.items():
        for j, row in ends.items():
            draft.join(number[i], number[j], row)
    b = number[_node(other, random)]
    draft.join(a, b, places.link(draft.rows[a], draft.rows[b], random))


def split_twin(draft: Draft, places: Places, random: Random) -> None:
    """A node becomes two with the same neighbours, joined to each other or not, as its neighbours mostly are."""
    if draft.full:
        return
    a = _node(draft, random)
    around = list(draft.edges[a].items())
    twin = draft.add(draft.rows[a])
    for b, row in around:
        draft.join(twin, b, row)
    if len(around) > 1:
        other = random.choice(around)[0]
        shared = sum(c in draft.edges[other] for c, _ in around)  # how many neighbours of a are its neighbours, too
        if random.random() < shared / (len(around) - 1):
            draft.join(twin, a, places.link(draft.rows[a], draft.rows[a], random))


def merge_twins(draft: Draft, places: Places, random: Random) -> None:
    """Remove a node that has the same neighbours as another one, the two themselves not counted."""
    a = _node(draft, random)
    ends = draft.edges[a].keys()
    candidates = {b for c in ends for b in draft.edges[c]} | set(ends)
    if any(b != a and ends - {b} == draft.edges[b].keys() - {a} for b in candidates):
        draft.remove(a)


def rewire(draft: Draft, places: Places, random: Random) -> None:
    """Remove a random edge; join two random nodes that are not joined."""
    a = _node(draft, random)
    b = _chosen(list(draft.edges[a]), random)
    c, d = _node(draft, random), _node(draft, random)
    if b is not None and c != d and d not in draft.edges[c]:
        draft.cut(a, b)
        draft.join(c, d, places.link(draft.rows[c], draft.rows[d], random))


EDITS: dict[str, tuple[Edit, ...]] = {
    "leaves": (add_leaf, remove_leaf, move_leaf),
    "edges": (add_edge, remove_edge, move_edge),
    "paths": (subdivide, contract),
    "parts": (join_parts,),
    "twins": (split_twin, merge_twins),
    "rewire": (rewire,),
}


# -- copies -----------------------------------------------------------------------------------------------------------


class Editor:
    """Copy number k of the training graphs: a function of ``seed`` and k alone.

    A copy has 0 to ``edits`` edits of the given ``kinds``, each kind equally often. It has no more nodes than the
    largest training graph. No copy is one of the ``excluded`` graphs, whatever the attributes and the numbering, unless
    that is a training graph, too.

    Training graphs are drawn alike at first. From copy number ``ramp`` on they are drawn in proportion to their nodes,
    and in between by a growing power of them: small graphs are learned first, and large ones count most.
    """

    def __init__(
        self,
        graphs: Sequence[Graph],
        *,
        edits: int,
        kinds: Iterable[str] = ("leaves", "edges", "paths"),
        excluded: Sequence[Graph] = (),
        ramp: int = 0,
        seed: int = 0,
    ) -> None:
        kinds = list(kinds)
        if unknown := [kind for kind in kinds if kind not in EDITS]:
            raise GeoGAEError(f"edit kind {unknown[0]!r} is not known; valid are {', '.join(EDITS)}")
        if edits < 1 or not kinds:
            raise GeoGAEError(f"edits={edits} of {len(kinds)} kinds change no graph; give at least 1 edit of 1 kind")
        if not graphs:
            raise GeoGAEError("there are no training graphs to edit; give at least one")
        self.edits, self.kinds, self.ramp, self.seed = edits, kinds, ramp, seed
        self.places = Places(graphs)
        self.most = max(graph.n for graph in graphs)
        self.suspects = {_invariant(graph) for graph in excluded}
        known = {_form(graph) for graph in graphs if _invariant(graph) in self.suspects}
        self.excluded = {_form(graph) for graph in excluded} - known

    def copy(self, number: int) -> Graph:
        random = Random(f"{self.seed} {number}")
        for _ in range(REDRAWS):
            draft = Draft.of(self.places, self._drawn(number, random), self.most)
            for _ in range(random.randint(0, self.edits)):
                random.choice(EDITS[random.choice(self.kinds)])(draft, self.places, random)
            graph = draft.graph(self.places)
            if not self.is_excluded(graph):
                return graph
        raise GeoGAEError(
            f"{REDRAWS} edited copies in a row are validation graphs: the training graphs are too few or too small "
            f"to edit; train with edits=0, or give other edit_kinds than {', '.join(self.kinds)}"
        )

    def _drawn(self, number: int, random: Random) -> int:
        """The training graph that copy ``number`` is made of: any, with probability ~ n^p, 0 ≤ p ≤ 1."""
        power = min(1.0, number / self.ramp) if self.ramp else 0.0
        while True:
            drawn = random.randrange(len(self.places.graphs))
            if not power or random.random() < (self.places.graphs[drawn].n / self.most) ** power:
                return drawn

    def is_excluded(self, graph: Graph) -> bool:
        """The canonical form is only made where the degrees do not settle it."""
        return _invariant(graph) in self.suspects and _form(graph) in self.excluded


def _form(graph: Graph) -> bytes:
    """Equal for isomorphic graphs."""
    return canonicalise(graph.topology()).key


def _invariant(graph: Graph) -> bytes:
    """Sorted degrees: equal for equal graphs, and seldom for others of the same kind."""
    return np.sort(graph.degrees).astype(np.int32).tobytes()


def _keep(draft: Draft, count: int, random: Random) -> None:
    """``count`` nodes stay, those nearest to a random one."""
    kept = list(draft.near(_node(draft, random), len(draft.rows)))[:count]
    for node in draft.rows.keys() - set(kept):
        draft.remove(node)


def _node(draft: Draft, random: Random) -> int:
    return random.choice(list(draft.rows))


def _of_degree(draft: Draft, degree: int, random: Random) -> int | None:
    return _chosen([node for node, ends in draft.edges.items() if len(ends) == degree], random)


def _chosen(options: list[int], random: Random) -> int | None:
    return random.choice(options) if options else None
