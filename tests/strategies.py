"""Random attributed graphs for hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from geogae.graph import Graph

CATEGORIES = st.integers(-(2**40), 2**40)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)
LABELS = st.one_of(
    st.none(),
    st.integers(-(2**50), 2**50),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=4).map(tuple),
)


@st.composite
def pair_lists(draw: st.DrawFn, n: int) -> list[tuple[int, int]]:
    """Distinct pairs in any order and direction."""
    every = [(i, j) for i in range(n) for j in range(i)]
    chosen = draw(st.lists(st.sampled_from(every), unique=True, max_size=20)) if every else []
    return [pair if draw(st.booleans()) else pair[::-1] for pair in chosen]


@st.composite
def graphs(draw: st.DrawFn, schema: tuple[int, int, int, int] | None = None, attributed: bool = True) -> Graph:
    """A graph; ``schema`` fixes the columns of its four blocks."""
    n = draw(st.integers(1, 9))
    pairs = draw(pair_lists(n))
    if not attributed:
        return Graph(n, pairs)
    widths = schema or draw(st.tuples(*[st.integers(0, 2)] * 4))

    def block(rows: int, columns: int, kind: type, values: st.SearchStrategy) -> np.ndarray | None:
        return draw(hnp.arrays(kind, (rows, columns), elements=values)) if columns else None

    return Graph(
        n,
        pairs,
        node_categorical=block(n, widths[0], np.int64, CATEGORIES),
        node_continuous=block(n, widths[1], np.float32, NUMBERS),
        edge_categorical=block(len(pairs), widths[2], np.int64, CATEGORIES),
        edge_continuous=block(len(pairs), widths[3], np.float32, NUMBERS),
        label=draw(LABELS) if schema is None else None,
        name=draw(st.one_of(st.none(), st.text("abc/ äß漢", min_size=1, max_size=5))),
    )


@st.composite
def graph_lists(draw: st.DrawFn) -> list[Graph]:
    """Graphs with the same columns, all labelled alike, as formats with one table for all graphs need them."""
    schema = draw(st.tuples(*[st.integers(0, 2)] * 4))
    count = draw(st.integers(1, 4))
    members = [draw(graphs(schema=schema)) for _ in range(count)]
    kind = draw(st.sampled_from(["none", "int", "float", "tuple"]))
    number = st.floats(allow_nan=False, allow_infinity=False)
    integer = st.integers(-(2**50), 2**50)
    values = {"none": st.none(), "int": integer, "float": number, "tuple": st.tuples(number, number)}
    return [
        Graph(
            g.n,
            g.edges,
            node_categorical=g.node_categorical,
            node_continuous=g.node_continuous,
            edge_categorical=g.edge_categorical,
            edge_continuous=g.edge_continuous,
            label=draw(values[kind]),
            name=g.name,
        )
        for g in members
    ]
