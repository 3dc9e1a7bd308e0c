"""The policy: each choice on small cases by hand, and against plain set arithmetic on random rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geogae.errors import GeoGAEError
from geogae.formats.simplify import simplify

ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=25)


@given(ROWS)
def test_rows_as_edges(rows: list[tuple[int, int]]) -> None:
    simple = simplify(6, rows, self_loops="drop", duplicates="merge")
    assert [tuple(e) for e in simple.edges.tolist()] == sorted({(min(r), max(r)) for r in rows if r[0] != r[1]})


@given(ROWS, st.sampled_from(["either", "both"]))
def test_rows_as_arcs(rows: list[tuple[int, int]], directed: str) -> None:
    simple = simplify(6, rows, arcs=True, self_loops="drop", duplicates="merge", directed=directed)  # type: ignore[arg-type]
    arcs = {r for r in rows if r[0] != r[1]}
    kept = arcs if directed == "either" else {(i, j) for i, j in arcs if (j, i) in arcs}
    assert [tuple(e) for e in simple.edges.tolist()] == sorted({(min(r), max(r)) for r in kept})


@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda r: r[0] < r[1])), st.booleans())
def test_attributes_stay_with_their_edges(edges: set[tuple[int, int]], arcs: bool) -> None:
    rows = list(edges) + ([(j, i) for i, j in edges] if arcs else [])
    simple = simplify(6, rows, arcs=arcs, attributes={"code": np.array([[10 * min(r) + max(r)] for r in rows])})
    assert simple.report == ""
    if edges:
        assert simple.attributes["code"].ravel().tolist() == [10 * i + j for i, j in sorted(edges)]


def test_the_report_counts_what_was_changed() -> None:
    rows = [(0, 0), (0, 1), (1, 0), (0, 1), (2, 3)]
    assert simplify(4, rows, arcs=True, self_loops="drop", duplicates="merge", directed="both").report == (
        "1 self-loops dropped, 1 repeated arcs merged, 1 one-way arcs dropped"
    )


@pytest.mark.parametrize(
    ("rows", "arguments", "message"),
    [
        ([(0, 1), (2, 2)], {}, r"self-loop at node 2 \(1 in all\); drop them with self_loops='drop'"),
        ([(0, 1), (1, 0)], {}, r"edge \(1, 0\) is given again \(1 repeats in all\); .*duplicates='merge'"),
        ([(0, 1), (1, 0), (2, 1)], {"arcs": True}, r"arc \(2, 1\) has no reverse .*directed='either'.*directed='both'"),
        ([(0, 1), (1, 2)], {"weight": np.array([1, 2.5])}, r"edge \(1, 2\) has weight 2.5 .*weights='drop'"),
        ([(0, 3)], {}, r"edge \(0, 3\) is out of range"),
        ([(0, 1)], {"self_loops": "keep"}, "self_loops='keep' is not known; choose one of 'error', 'drop'"),
        ([(0, 1)], {"directed": "yes"}, "directed='yes' is not known"),
        ([(0, 1)], {"duplicates": "sum"}, "duplicates='sum' is not known"),
        ([(0, 1)], {"weights": 3}, "weights=3 is not known"),
        ([(0, 1)], {"attributes": {"edge_categorical": [1, 2]}}, "one row for each of the 1 edges"),
        ([(0, 1)], {"attributes": {"edge_categorical": [[1], [1, 2]]}}, "must be a table"),
        (
            [(0, 1), (1, 0)],
            {"duplicates": "merge", "attributes": {"bond": [[1], [2]]}},
            r"edge \(1, 0\) has bond \[2\], but it was given with \[1\] before",
        ),
        (
            [(0, 1), (1, 0)],
            {"arcs": True, "attributes": {"bond": [[1], [2]]}},
            r"edge \(1, 0\) has bond \[2\], but it was given with \[1\] before",
        ),
    ],
)
def test_bad_rows_are_one_clear_line(rows: list, arguments: dict, message: str) -> None:
    with pytest.raises(GeoGAEError, match=message) as caught:
        simplify(3, rows, **arguments)
    assert "\n" not in str(caught.value)
