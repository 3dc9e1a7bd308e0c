"""Attributes as numbers: features and fields there and back, schemas as JSON, and what is wrong said in words."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geogae.autoencoders.schema import Block, Columns, Schema
from geogae.errors import GeoGAEError
from geogae.graph import Graph
from strategies import graphs

MOLECULE = Graph(
    3,
    [(0, 1), (1, 2)],
    node_categorical=[[6, 0], [8, 1], [6, 0]],
    node_continuous=[[1.0], [2.0], [6.0]],
    edge_categorical=[[2], [1]],
    edge_continuous=[[0.5, 7.0], [1.5, 7.0]],
    name="water",
)


def knows(schema: Schema, graph: Graph) -> bool:
    """Columns and categories."""
    return schema.why_not(graph) is None and schema.unknown(graph) is None


# -- by hand ---


def test_a_schema_by_hand() -> None:
    schema = Schema.of([MOLECULE, Graph(1, node_categorical=[[7, 0]], node_continuous=[[3.0]])])
    assert schema.node == Block("node", ((6, 7, 8), (0, 1)), (3.0,), (pytest.approx(3.5**0.5),))  # type: ignore[arg-type]
    assert schema.edge == Block("edge", ((1, 2),), (1.0, 7.0), (0.5, 1.0))  # the second does not vary
    assert (schema.node.width, schema.edge.width) == (3 + 2 + 1, 2 + 2)


def test_features_by_hand() -> None:
    schema = Schema.of([MOLECULE])
    columns = schema.edge.columns(MOLECULE)
    assert columns.codes.tolist() == [[1], [0]] and columns.numbers.tolist() == [[-1, 0], [1, 0]]
    assert schema.edge.features(columns).tolist() == [[0, 1, -1, 0], [1, 0, 1, 0]]
    node = schema.node.features(schema.node.columns(MOLECULE))
    assert node[:, :4].tolist() == [[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]]
    assert node[:, 4].tolist() == pytest.approx((np.array([1, 2, 6]) - 3) / np.std([1, 2, 6]), abs=1e-6)
    likely = np.array([[0.2, 0.1, -3, 5, 2.5], [-9, -8, 1, 0, -1]], np.float32)
    read = schema.node.read(likely)
    assert read.codes.tolist() == [[0, 1], [1, 0]] and read.numbers.tolist() == [[2.5], [-1]]
    fields = schema.node.fields(read)
    assert fields["node_categorical"].tolist() == [[6, 1], [8, 0]]
    assert fields["node_continuous"].ravel() == pytest.approx(3 + np.std([1, 2, 6]) * np.array([2.5, -1]), abs=1e-5)


# -- there and back ---


@settings(max_examples=60)
@given(st.lists(graphs(schema=(2, 1, 1, 2)), min_size=1, max_size=4))
def test_attributes_come_back_from_features(some: list[Graph]) -> None:
    schema = Schema.of(some)
    for graph in some:
        parts = []
        for block, rows in ((schema.node, graph.n), (schema.edge, len(graph.edges))):
            features = block.features(block.columns(graph))
            assert features.shape == (rows, block.width) and features.dtype == np.float32
            categories = sum(map(len, block.categories))
            assert (features[:, :categories].sum(1) == len(block.categories)).all()
            parts.append(block.read(features))
        back = schema.with_attributes(graph.topology(), *parts)
        assert np.array_equal(back.node_categorical, graph.node_categorical)  # type: ignore[arg-type]
        assert back.topology() == graph.topology() and knows(schema, back) and knows(schema, graph)
        if len(graph.edges):
            assert np.array_equal(back.edge_categorical, graph.edge_categorical)  # type: ignore[arg-type]
        for kind in ("node", "edge"):
            found, wanted = (getattr(one, f"{kind}_continuous") for one in (back, graph))
            if wanted is not None and len(wanted):
                mean, scale = (np.array(getattr(getattr(schema, kind), name)) for name in ("mean", "scale"))
                assert (np.abs(found - wanted) <= 1e-6 * (scale + np.abs(wanted) + np.abs(mean))).all()


@settings(max_examples=40)
@given(st.lists(graphs(schema=(0, 2, 0, 1)), min_size=1, max_size=5))
def test_continuous_columns_are_standardised(some: list[Graph]) -> None:
    schema = Schema.of(some)
    for block in (schema.node, schema.edge):
        numbers = np.concatenate([block.columns(graph).numbers for graph in some]).astype(float)
        raw = [getattr(graph, f"{block.kind}_continuous") for graph in some]
        for column in range(numbers.shape[1] if len(numbers) else 0):
            values = np.concatenate([table[:, column] for table in raw if table is not None])
            assert abs(numbers[:, column].mean()) < 1e-3
            varies = len(set(values.tolist())) > 1
            assert numbers[:, column].std() == pytest.approx(float(varies), abs=1e-3)


@pytest.mark.parametrize("unit", [1e-19, 1e-8, 1.0, 1e12])
def test_the_unit_of_a_column_does_not_matter(unit: float) -> None:
    values = np.array([1.0, 2.0, 4.0])
    graph = Graph(3, node_continuous=np.column_stack([unit * values, np.full(3, 7 * unit)]))
    block = Schema.of([graph]).node
    numbers = block.columns(graph).numbers
    assert numbers[:, 0].tolist() == pytest.approx((values - 7 / 3) / values.std(), rel=1e-5)
    assert not numbers[:, 1].any() and block.scale[1] == 1


def test_many_alike_that_no_float_holds_do_not_vary() -> None:
    """The rounding of a sum is no deviation."""
    graph = Graph(1001, node_continuous=np.full((1001, 2), (0.1, 1e9 / 3)))
    block = Schema.of([graph]).node
    assert block.scale == (1.0, 1.0) and np.abs(block.columns(graph).numbers).max() < 1e-6


@pytest.mark.filterwarnings("ignore:overflow")
def test_numbers_beyond_all_limits_are_the_largest() -> None:
    """A vector that no graph has may decode to anything, but to a graph."""
    schema = Schema.of([MOLECULE])
    wild = Columns(np.zeros((3, 2), np.int64), np.array([[np.inf], [-3e38], [np.nan]], np.float32))
    numbers = schema.with_attributes(MOLECULE.topology(), wild, schema.edge.columns(MOLECULE)).node_continuous
    largest = np.finfo(np.float32).max
    assert numbers is not None and numbers.ravel().tolist() == [largest, -largest, 0]


@settings(max_examples=30)
@given(st.lists(graphs(schema=(1, 2, 2, 1)), min_size=1, max_size=3))
def test_a_schema_comes_back_from_json(some: list[Graph]) -> None:
    schema = Schema.of(some)
    again = Schema.from_json(json.loads(json.dumps(schema.to_json())))
    assert again == schema and hash(again) == hash(schema)
    for graph in some:
        for one, other in ((schema.node, again.node), (schema.edge, again.edge)):
            a, b = one.columns(graph), other.columns(graph)
            assert np.array_equal(a.codes, b.codes) and np.array_equal(a.numbers, b.numbers)


# -- graphs without edges, blocks without columns ---


@pytest.mark.parametrize("given", [None, [], np.zeros((0, 3), int), np.zeros((0, 1), int)], ids=str)
def test_a_graph_without_edges_needs_no_edge_attributes(given: object) -> None:
    """Nor do the columns of a block without rows say anything."""
    lone = Graph(1, node_categorical=[[6, 0]], node_continuous=[[1.0]], edge_categorical=given)  # type: ignore[arg-type]
    for some in ([MOLECULE, lone], [lone, MOLECULE]):
        schema = Schema.of(some)
        assert schema.edge == Schema.of([MOLECULE]).edge and knows(schema, lone)
        columns = schema.edge.columns(lone)
        assert columns.codes.shape == (0, 1) and columns.numbers.shape == (0, 2)
        assert schema.edge.features(columns).shape == (0, 4)
        assert schema.edge.read(np.zeros((0, 4))).codes.shape == (0, 1)
        assert schema.with_attributes(lone.topology(), schema.node.columns(lone), columns).n == 1
    alone = Schema.of([lone])
    assert alone.edge.width == 0 and knows(alone, lone)


def test_blocks_that_are_not_there() -> None:
    schema = Schema.of([Graph(2, [(0, 1)], edge_categorical=[3])])
    assert schema.node == Block("node") and schema.node.width == 0
    graph = Graph(2, [(0, 1)], edge_categorical=[3])
    columns = schema.node.columns(graph)
    assert schema.node.features(columns).shape == (2, 0)
    assert schema.node.fields(schema.node.read(np.zeros((2, 0), np.float32))) == {
        "node_categorical": None,
        "node_continuous": None,
    }
    assert schema.with_attributes(graph.topology(), columns, schema.edge.columns(graph)) == graph


def test_rows_follow_the_edges_of_the_graph() -> None:
    one = Graph(3, [(1, 2), (0, 1)], edge_categorical=[5, 9])
    schema = Schema.of([one])
    assert schema.edge.columns(one).codes.ravel().tolist() == [1, 0]  # (0, 1) first
    assert schema.with_attributes(
        one.topology(), schema.node.columns(one), Columns(np.array([[0], [1]]), np.zeros((2, 0), np.float32))
    ) == (Graph(3, [(0, 1), (1, 2)], edge_categorical=[5, 9]))


# -- what is wrong ---


def changed(**blocks: object) -> Graph:
    given = {name: getattr(MOLECULE, f"{name}") for name in
             ("node_categorical", "node_continuous", "edge_categorical", "edge_continuous", "name")}  # fmt: skip
    return Graph(3, MOLECULE.edges, **(given | blocks))


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (
            changed(node_categorical=None),
            "it has 0 node_categorical columns; .* with 2: give graphs",
        ),
        (changed(node_categorical=[[6], [8], [6]]), "it has 1 node_categorical columns; .* graphs with 2:"),
        (changed(node_continuous=None), "it has 0 node_continuous columns; .* graphs with 1:"),
        (changed(edge_continuous=np.zeros((2, 3))), "it has 3 edge_continuous columns; .* graphs with 2:"),
    ],
)
def test_other_columns(graph: Graph, said: str) -> None:
    schema = Schema.of([MOLECULE])
    reason = schema.why_not(graph)
    assert reason is not None and re.match(said, reason) and knows(schema, MOLECULE)
    with pytest.raises(GeoGAEError, match=f"graph 'water': {said}"):
        schema.node.columns(graph), schema.edge.columns(graph)


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (
            changed(node_categorical=[[6, 0], [8, 5], [6, 0]]),
            "node_categorical column 1 holds 5; the model knows 0, 1",
        ),
        (
            changed(node_categorical=[[99, 0], [8, 1], [-3, 0]]),
            "node_categorical column 0 holds 99; the model knows 6, 8",
        ),
        (changed(edge_categorical=[[2], [4]]), "edge_categorical column 0 holds 4; the model knows 1, 2"),
    ],
)
def test_unknown_categories_are_named_and_have_no_code(graph: Graph, said: str) -> None:
    schema = Schema.of([MOLECULE])
    assert schema.why_not(graph) is None and schema.unknown(graph) == said and schema.unknown(MOLECULE) is None
    for block in (schema.node, schema.edge):
        columns, known = block.columns(graph), block.columns(MOLECULE)
        table = getattr(graph, f"{block.kind}_categorical")
        strange = [[value not in block.categories[c] for c, value in enumerate(row)] for row in table.tolist()]
        assert np.array_equal(columns.codes < 0, strange)
        features, width = block.features(columns), sum(map(len, block.categories))
        assert (features[:, :width].sum(1) == len(block.categories) - np.sum(strange, axis=1)).all()
        assert np.array_equal(columns.numbers, known.numbers)


def test_a_number_far_from_training_is_named() -> None:
    """Decoded, it would take the precision of the numbers beside it."""
    block = Block.of("node", [Graph(3, node_continuous=[[1.0], [2.0], [3.0]])])
    assert block.far(Graph(2, node_continuous=[[0.0], [500.0]])) is None
    far = block.far(Graph(2, node_continuous=[[0.0], [1e7]]))
    assert far == "node_continuous column 0 holds 1e+07; in training it was 2 ± 0.816"


def test_a_long_list_of_categories_is_cut() -> None:
    for count, end in ((100, "138, 139, …"), (40, "138, 139")):
        schema = Schema.of([Graph(count, node_categorical=range(100, 100 + count))])
        said = schema.unknown(Graph(1, node_categorical=[7]))
        assert said is not None and said.startswith("node_categorical column 0 holds 7;") and said.endswith(end)


def test_graphs_of_different_kinds_have_no_schema() -> None:
    with pytest.raises(GeoGAEError, match=r"graphs have 0 or 1 node_continuous columns \(graph 'odd' has 0\); all"):
        Schema.of([MOLECULE, changed(node_continuous=None, name="odd")])
    with pytest.raises(GeoGAEError, match=r"graphs have 1 or 2 edge_categorical columns \(graph 'water' has 1\)"):
        Schema.of([changed(edge_categorical=[[1, 1], [2, 2]], name="odd"), MOLECULE])
    with pytest.raises(GeoGAEError, match="the graphs have no attributes; give graphs that have some, or"):
        Schema.of([Graph(3, [(0, 1)]), Graph(1)])
