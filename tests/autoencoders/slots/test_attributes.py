"""Attributes in slots: categories to the last one, numbers by their route, and the places and bounds of all of it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geogae import datasets
from geogae.autoencoders.base import State
from geogae.autoencoders.linear import LinearAutoencoder
from geogae.autoencoders.refined import RefinedAutoencoder
from geogae.autoencoders.schema import Schema
from geogae.autoencoders.slots.attributes import (
    NUMBER,
    NUMBER_WEIGHT,
    RANK,
    RANK_WEIGHT,
    SHRINK,
    Attributes,
    bits,
    earlier_neighbours,
    rank_of,
)
from geogae.autoencoders.slots.base import FREE, SlotValues
from geogae.autoencoders.slots.graph_coefficients import FUNCTIONS, SMOOTH, coefficients, functions
from geogae.graph import Graph
from strategies import graphs

f32 = np.float32
BY_CATEGORY, SLOPE, NOISE = range(3)  # node columns of a made-up graph


def made_up(seed: int, n: int | None = None, chords: int = 2) -> Graph:
    """A path with few chords: two node categories, one edge category, numbers that go each of the three ways."""
    random = np.random.default_rng(seed)
    n = n or int(random.integers(20, 31))
    extra = {(int(i), int(i + random.integers(2, 4))) for i in random.integers(0, n - 4, chords)}
    edges = sorted({(i, i + 1) for i in range(n - 1)} | extra)
    plain = Graph(n, edges)
    first = random.integers(0, 4, n)
    slope = random.normal() * np.arange(n) + random.normal()
    return Graph(
        n,
        plain.edges,
        node_categorical=np.column_stack([first + 5, random.integers(-1, 2, n)]),
        node_continuous=np.column_stack([100.0 * first, slope, random.normal(7, 3, n)]),
        edge_categorical=random.integers(0, 3, len(edges)),
        edge_continuous=random.normal(-4, 0.1, (len(edges), 1)),
        name=f"made up {seed}",
    )


TRAIN = [made_up(seed) for seed in range(30)]
SCHEMA = Schema.of(TRAIN)
OTHERS = [made_up(seed, chords=seed % 3) for seed in range(100, 110)]


def none(graph: Graph) -> np.ndarray:
    """No count columns."""
    return np.empty((graph.n, 0), np.int64)


def attributes_of(schema: Schema, train: list[Graph], rest: list[Graph], latent_dim: int) -> Attributes:
    return Attributes.of(schema, [(graph, none(graph)) for graph in train], rest, latent_dim)


@cache
def attributes() -> Attributes:
    return attributes_of(SCHEMA, TRAIN, OTHERS, 192)


def write(own: Attributes, graph: Graph) -> SlotValues:
    return own.write(graph, none(graph))


def read(own: Attributes, graph: Graph, values: np.ndarray, smooth: np.ndarray) -> Graph:
    return own.read(values, smooth, graph.topology(), none(graph))


def same_categories(one: Graph, other: Graph) -> bool:
    return np.array_equal(one.node_categorical, other.node_categorical) and np.array_equal(  # type: ignore[arg-type]
        one.edge_categorical,  # type: ignore[arg-type]
        other.edge_categorical,  # type: ignore[arg-type]
    )


# -- there and back ---


@pytest.mark.parametrize("graph", [*TRAIN[:3], *OTHERS], ids=lambda graph: graph.name)
def test_what_is_written_is_read(graph: Graph) -> None:
    written = write(attributes(), graph)
    back = read(attributes(), graph, written.values, written.coefficients)
    assert same_categories(back, graph) and np.array_equal(back.edges, graph.edges) and back.n == graph.n
    numbers, wanted = back.node_continuous, graph.node_continuous
    assert numbers is not None and wanted is not None
    assert numbers[:, NOISE] == pytest.approx(wanted[:, NOISE], abs=1e-4)  # in a slot
    assert back.edge_continuous == pytest.approx(graph.edge_continuous, abs=1e-5)
    assert np.abs(numbers[:, BY_CATEGORY] - wanted[:, BY_CATEGORY]).max() < 10  # of 100 between categories
    rough = numbers[:, SLOPE] - wanted[:, SLOPE]
    assert np.sqrt((rough**2).mean()) < SMOOTH**0.5 * SCHEMA.node.scale[SLOPE]


@pytest.mark.parametrize("graph", OTHERS[:3], ids=lambda graph: graph.name)
def test_what_functions_of_the_graph_add_up_to_comes_back_from_coefficients(graph: Graph) -> None:
    """Beside the average of each category."""
    weights = np.random.default_rng(0).normal(size=FUNCTIONS)
    first = SCHEMA.node.columns(graph).codes[:, 0]
    smooth = attributes().averages[0][first, SLOPE] + functions(graph) @ weights
    numbers = np.array(graph.node_continuous)
    numbers[:, SLOPE] = SCHEMA.node.mean[SLOPE] + SCHEMA.node.scale[SLOPE] * smooth
    other = Graph(graph.n, graph.edges, node_categorical=graph.node_categorical, node_continuous=numbers,
                  edge_categorical=graph.edge_categorical, edge_continuous=graph.edge_continuous)  # fmt: skip
    written = write(attributes(), other)
    back = read(attributes(), graph, written.values, written.coefficients)
    assert back.node_continuous is not None
    assert back.node_continuous[:, SLOPE] == pytest.approx(numbers[:, SLOPE], abs=0.01 * SCHEMA.node.scale[SLOPE])


@settings(max_examples=25)
@given(st.lists(graphs(schema=(2, 1, 1, 1)), min_size=1, max_size=4))
def test_any_graphs_come_back(some: list[Graph]) -> None:
    """However few, small, symmetric or odd; where m has no room for coefficients, numbers come back too."""
    schema = Schema.of(some)
    own = attributes_of(schema, some[:1], some[1:], 8)
    assert own.coefficients == 0
    for graph in some:
        assert own.lossy(graph) is None
        written = write(own, graph)
        assert written.coefficients.shape == (0,) and written.values.shape == (graph.n, own.width)
        back = read(own, graph, written.values, written.coefficients)
        assert np.array_equal(back.node_categorical, graph.node_categorical)  # type: ignore[arg-type]
        if len(graph.edges):
            assert np.array_equal(back.edge_categorical, graph.edge_categorical)  # type: ignore[arg-type]
            found, wanted = back.edge_continuous, graph.edge_continuous
            [scale] = schema.edge.scale
            assert found == pytest.approx(wanted, abs=1e-4 * scale, rel=1e-4)


@settings(max_examples=25)
@given(graphs(attributed=False), st.integers(0, 2**16), st.sampled_from([0.1, 2.0, 1e6]))
def test_whatever_a_slot_holds_is_read(graph: Graph, seed: int, scale: float) -> None:
    """Also of graphs denser than any that was seen: what is decoded may be any graph with any numbers."""
    random = np.random.default_rng(seed)
    values = (scale * random.normal(size=(graph.n, attributes().width))).astype(f32)
    back = read(attributes(), graph, values, (scale * random.normal(size=attributes().coefficients)).astype(f32))
    assert back.topology() == graph and SCHEMA.why_not(back) is None and SCHEMA.unknown(back) is None
    assert back.node_continuous is not None and np.isfinite(back.node_continuous).all()


def test_a_graph_without_edges_and_one_without_columns() -> None:
    lone = Graph(1, node_categorical=[[5, 0]], node_continuous=[[0.0, 1.0, 7.0]])
    written = write(attributes(), lone)
    assert written.present.sum() == 2 + 1
    back = read(attributes(), lone, written.values, written.coefficients)
    assert np.array_equal(back.node_categorical, lone.node_categorical)  # type: ignore[arg-type]
    bonds = [Graph(3, [(0, 1), (1, 2)], edge_categorical=[4, 9]), Graph(2, [(0, 1)], edge_categorical=[9])]
    own = attributes_of(Schema.of(bonds), bonds, [], 16)
    assert own.width == 1 and own.coefficients == 0
    assert [read(own, g, write(own, g).values, write(own, g).coefficients) for g in bonds] == bonds
    atoms = [Graph(g.n, g.edges, node_categorical=np.arange(g.n)) for g in bonds]
    own = attributes_of(Schema.of(atoms), atoms, [], 16)
    assert own.width == 1 and own.edges == 0
    assert [read(own, g, write(own, g).values, write(own, g).coefficients) for g in atoms] == atoms


# -- routes ---


def test_each_column_goes_its_way() -> None:
    assert attributes().smooth == [SLOPE] and attributes().rough == [NOISE]
    assert attributes().coefficients == FUNCTIONS and write(attributes(), TRAIN[0]).coefficients.shape == (FUNCTIONS,)
    assert attributes().edges == max(map(earlier_neighbours, [*TRAIN, *OTHERS]))
    assert attributes().width == 2 + 1 + attributes().edges * (1 + 1)


@pytest.mark.parametrize("latent_dim", [4 * FUNCTIONS - 1, 4 * FUNCTIONS])
def test_coefficients_are_a_quarter_of_z_at_most(latent_dim: int) -> None:
    """Else what is smooth is written into the slots."""
    tight = attributes_of(SCHEMA, TRAIN, [], latent_dim)
    room = latent_dim % 4 == 0
    assert tight.smooth == [SLOPE] * room and tight.rough == [SLOPE] * (not room) + [NOISE]
    graph, written = OTHERS[0], write(tight, OTHERS[0])
    back = read(tight, graph, written.values, written.coefficients)
    off = np.abs(back.node_continuous - graph.node_continuous)[:, SLOPE].max()  # type: ignore[operator]
    assert room or off < 1e-4


def test_numbers_are_written_as_differences_from_the_average_of_their_category() -> None:
    """By hand: category 0 is 0 or 2, category 1 is 10 or 12, many times; what is left is -1 or 1."""
    numbers = np.tile([0.0, 2.0, 10.0, 12.0], 500)
    graph = Graph(2000, node_categorical=np.tile([0, 0, 1, 1], 500), node_continuous=numbers)
    own = attributes_of(Schema.of([graph]), [graph], [], 8)
    assert own.rough == [0]
    deviation = np.std(numbers)
    expected = NUMBER * np.tile([-1, 1, -1, 1], 500) / deviation
    assert write(own, graph).values[:, 1] == pytest.approx(expected, abs=0.01)  # but for SHRINK
    assert own.averages[0].ravel() * deviation + 6 == pytest.approx([1, 11], abs=0.05)


# -- bounds ---


@given(st.integers(0, 10_000))
def test_bits_and_ranks_are_one_another_s_inverse(rank: int) -> None:
    assert rank_of(bits(np.array([rank])).astype(f32)) == [rank]
    low, high = bits(np.array([rank - 0.5, rank + 0.5]).clip(0))
    assert rank_of(np.array([low + 1e-3 / (rank + 1), high - 1e-3 / (rank + 1)])).tolist() == [rank, rank]
    if rank:
        assert rank_of(np.array([low - 1e-3 / (rank + 1)])) == [rank - 1]
    assert rank_of(np.array([high + 1e-3 / (rank + 1)])) == [rank + 1]


def test_bits_by_hand_and_beyond_all_numbers() -> None:
    assert bits(np.array([0, 1, 3, 7])).tolist() == [0, 1, 2, 3]
    assert rank_of(np.array([-1e30, -1, 0, 0.58, 0.59, 1, 1.4, 1.6], f32)).tolist() == [0, 0, 0, 0, 1, 1, 2, 2]
    assert rank_of(np.array([1e30, np.inf], f32)).min() > 1e9


@pytest.mark.parametrize("graph", [TRAIN[0], OTHERS[0], OTHERS[5]], ids=lambda graph: graph.name)
def test_between_the_bounds_categories_are_the_same_and_beyond_them_they_are_not(graph: Graph) -> None:
    own, random = attributes(), np.random.default_rng(0)
    written = write(own, graph)
    low, high, weight = written[2:5]
    hard = written.present & (low < high)
    assert hard.sum() == 2 * graph.n + len(graph.edges)  # one for each category
    assert (low[~written.present] == -FREE).all() and (high[~written.present] == FREE).all()
    soft = written.present & ~hard
    assert soft.sum() == graph.n + len(graph.edges) and np.array_equal(low[soft], written.values[soft])
    assert ((low < written.values) & (written.values < high))[hard].all()
    assert weight.tolist() == [RANK_WEIGHT, RANK_WEIGHT, NUMBER_WEIGHT] + own.edges * [
        RANK_WEIGHT,
        NUMBER_WEIGHT,
    ]

    share = random.uniform(0.001, 0.999, written.values.shape)
    least, most = np.maximum(low, -50), np.minimum(high, 50)
    anywhere = (least + share * (most - least)).astype(f32)
    assert same_categories(read(own, graph, anywhere, written.coefficients), graph)

    sizes = [4, 3, 0] + own.edges * [3, 0]  # categories of each place
    beyond = 0
    for slot, place in random.permutation(np.argwhere(hard))[:25]:
        for end, step in ((low, -1e-3), (high, 1e-3)):
            if abs(end[slot, place]) == FREE:
                continue
            highest = rank_of(written.values[slot, place : place + 1] / RANK)[0] == sizes[place] - 1
            values = written.values.copy()
            values[slot, place] = end[slot, place] - step
            assert same_categories(read(own, graph, values, written.coefficients), graph)
            values[slot, place] = end[slot, place] + step
            if not (highest and step > 0):  # a rank that is too high is the highest
                assert not same_categories(read(own, graph, values, written.coefficients), graph)
                beyond += 1
    assert beyond > 20


# -- places ---


def test_places_by_hand() -> None:
    """A slot has the node's rank, then for each earlier neighbour, the first first, rank and number."""
    known = [Graph(2, [(0, 1)], node_categorical=[7, 7], edge_categorical=[k], edge_continuous=[[9.0]]) for k in (1, 2)]
    graph = Graph(
        4,
        [(2, 3), (0, 3), (0, 1), (1, 3)],
        node_categorical=[7] * 4,
        edge_categorical=[2, 1, 2, 2],
        edge_continuous=[[4.0], [3.0], [1.0], [2.0]],
    )
    own = attributes_of(Schema.of([graph, *known]), known[:1] * 40, [graph], 8)
    assert own.edges == earlier_neighbours(graph) == 3 and own.width == 1 + 3 * 2
    written = write(own, graph)
    expected = np.zeros((4, 7), bool)
    expected[:, 0] = True
    expected[1, 1:3] = expected[3, 1:7] = True  # 1 has one, 3 has three
    assert np.array_equal(written.present, expected) and not written.values[~expected].any()
    assert not written.values[:, 0].any()  # there is one category
    assert written.values[3, 1::2].tolist() == [0, RANK, RANK] and written.values[1, 1] == RANK  # 2 is not known
    nine, *numbers = ((np.array([9, 3, 2, 4]) - own.edge.mean) / own.edge.scale).tolist()
    numbers[0] -= 40 * nine / (40 + SHRINK)  # the average of category 1; of 2 there is none
    assert written.values[3, 2::2] == pytest.approx(NUMBER * np.array(numbers), abs=1e-6)  # of edges to 0, 1 and 2
    back = read(own, graph, written.values, written.coefficients)
    assert back.edge_continuous == pytest.approx(graph.edge_continuous, abs=1e-5)
    assert graph.edge_continuous is not None
    assert graph.edge_continuous.ravel().tolist() == [1, 3, 2, 4]  # as edges are sorted


def test_what_cannot_be_written() -> None:
    """Other columns cannot; an unknown category, or more earlier neighbours than there are places, is lossy."""
    graph, own = OTHERS[0], attributes()
    assert all(own.lossy(one) is None and SCHEMA.why_not(one) is None for one in (graph, *TRAIN))
    blocks = {name: getattr(graph, name) for name in ("node_categorical", "node_continuous")}
    edges = {name: getattr(graph, name) for name in ("edge_categorical", "edge_continuous")}
    assert SCHEMA.why_not(graph.topology()) == (
        "it has 0 node_categorical columns; the model was fitted on graphs with 2: give graphs of the same kind, or "
        "fit with attributes='ignored'"
    )
    assert "0 edge_categorical columns" in (SCHEMA.why_not(Graph(graph.n, graph.edges, **blocks)) or "")
    strange = np.array(blocks["node_categorical"])
    strange[3, 1] = 77
    unknown = Graph(graph.n, graph.edges, **{**blocks, "node_categorical": strange}, **edges)
    assert SCHEMA.why_not(unknown) is None
    assert own.lossy(unknown) == "node_categorical column 1 holds 77; the model knows -1, 0, 1"
    written = write(own, unknown)
    assert np.isfinite(written.values).all()
    back = read(own, unknown, written.values, written.coefficients)
    assert np.array_equal(np.delete(back.node_categorical, 3, 0), np.delete(strange, 3, 0))  # type: ignore[arg-type]
    assert back.node_categorical[3, 0] == strange[3, 0]  # type: ignore[index]


def test_edges_beyond_the_places_are_lossy() -> None:
    own, most = attributes(), attributes().edges
    for leaves in (most, most + 1):
        joined = [(i, leaves) for i in range(leaves)]
        crowded = Graph(
            leaves + 1, joined, node_categorical=[[5, 0]] * (leaves + 1), node_continuous=np.zeros((leaves + 1, 3)),
            edge_categorical=[0] * leaves, edge_continuous=np.zeros((leaves, 1)),
        )  # fmt: skip
        assert (own.lossy(crowded) is None) == (leaves == most)
        back = read(own, crowded, *write(own, crowded)[::5])
        assert np.array_equal(back.node_categorical, crowded.node_categorical)  # type: ignore[arg-type]
        first = crowded.relabel(np.arange(leaves + 1)[::-1])  # the middle before its leaves
        assert earlier_neighbours(first) == 1 and own.lossy(first) is None
    lone = [Graph(1, node_categorical=[1])]
    bare = attributes_of(Schema.of(lone), lone, [], 8)
    assert bare.lossy(Graph(9, [(i, 8) for i in range(8)], node_categorical=[1] * 9)) is None  # edges have no columns


def test_state() -> None:
    own = attributes()
    again = Attributes.from_state(own.state())
    for graph in OTHERS[:3]:
        written = write(own, graph)
        assert all(np.array_equal(*pair) for pair in zip(write(again, graph), written, strict=True))
        assert read(again, graph, *written[::5]) == read(own, graph, *written[::5])
    damaged = own.state()
    with pytest.raises(ValueError, match="context ranks do not belong together"):
        Attributes.from_state(State({**damaged.tensors, "codes": damaged.tensors["codes"] + 99}, damaged.facts))
    with pytest.raises(ValueError, match="the averages do not fit the schema"):
        Attributes.from_state(State({**damaged.tensors, "node_averages": damaged.tensors["codes"]}, damaged.facts))


# -- graph coefficients ---


def test_functions_by_hand() -> None:
    """From the farthest of the first node, then from the farthest of these; what is not joined is n steps away."""
    path = functions(Graph(4, [(0, 1), (1, 2), (2, 3)]))
    assert path.shape == (4, FUNCTIONS)
    assert path[:, :3].T.tolist() == [[1, 1, 1, 1], [3, 2, 1, 0], [1, 0, 1, 2]]
    assert functions(Graph(3, [(0, 1)]))[:, :3].T.tolist() == [[1, 1, 1], [3, 3, 0], [1, 0, 3]]
    assert functions(Graph(1)).tolist() == [[1] + [0] * (FUNCTIONS - 1)]


@settings(max_examples=30)
@given(graphs(attributed=False), st.integers(0, 2**16))
def test_coefficients_give_back_what_functions_add_up_to(graph: Graph, seed: int) -> None:
    known = functions(graph)
    numbers = known @ np.random.default_rng(seed).normal(size=(FUNCTIONS, 2))
    found = coefficients(graph, numbers)
    assert known @ found == pytest.approx(numbers, abs=0.1)
    assert coefficients(graph, numbers[:, :0]).shape == (FUNCTIONS, 0)


@pytest.mark.parametrize("graph", OTHERS[:4], ids=lambda graph: graph.name)
def test_coefficients_beside_a_graph_that_came_back_are_its_own(graph: Graph) -> None:
    written = write(attributes(), graph)
    assert np.array_equal(
        attributes().coefficients_beside(graph, graph.topology(), written.values, none(graph)), written.coefficients
    )


@pytest.mark.parametrize("graph", OTHERS[:6], ids=lambda graph: graph.name)
def test_coefficients_beside_a_wrong_edge_fit_better(graph: Graph) -> None:
    """An edge between the ends of a path changes all distances."""
    wrong = Graph(graph.n, [*map(tuple, graph.edges.tolist()), (1, graph.n - 2)])
    values = write(attributes(), graph).values
    off = []
    beside = attributes().coefficients_beside(graph, wrong, values, none(graph))
    for smooth in (write(attributes(), graph).coefficients, beside):
        back = read(attributes(), wrong, values, smooth)
        off.append(np.sqrt(((back.node_continuous - graph.node_continuous)[:, SLOPE] ** 2).mean()))  # type: ignore[operator]
    assert off[1] < 0.7 * off[0] and off[0] > 0.1


# -- through z ---


def bare(graph: Graph) -> Graph:
    """Without its label."""
    return Graph(graph.n, graph.edges, node_categorical=graph.node_categorical, edge_categorical=graph.edge_categorical)


@pytest.fixture(scope="module")
def molecules() -> list[Graph]:
    return datasets.load("MUTAG")[:60]


def test_a_z_with_numbers_for_all_gives_all_back(molecules: list[Graph]) -> None:
    model = LinearAutoencoder(latent_dim=1 + 28 * 8, attributes="decoded", dim=3, order="axis")
    model.fit(molecules[:45], molecules[45:])
    assert model.decoder.slots * model.decoder.width < model.latent_dim
    readings = model.read(molecules)
    back = [decoding.graph for decoding in model.decode(model.encode(readings))]
    assert back == [bare(reading.ordered) for reading in readings]


def test_bounded_attributes_come_back_where_free_ones_do_not(molecules: list[Graph]) -> None:
    """From a z too small for all numbers of the slots; each graph's z is its own, whatever is beside it."""
    model = RefinedAutoencoder(latent_dim=120, attributes="decoded", dim=3, order="axis", steps=400)
    model.fit(molecules[:45], molecules[45:])
    readings = model.read(molecules[45:])
    [feature] = model.features.features
    assert isinstance(feature, Attributes)
    whole = {}
    for bounded in (False, True):
        feature.decoded = bounded
        z = model.encode(readings)
        feature.decoded = True
        back = [decoding.graph for decoding in model.decode(z)]
        whole[bounded] = sum(one == bare(own.ordered) for one, own in zip(back, readings, strict=True))
    assert whole[True] >= whole[False] + 2
    alone = np.concatenate([model.encode([reading]) for reading in readings[:4]])
    assert np.array_equal(alone, z[:4])


def test_graph_coefficients_come_back_through_z() -> None:
    """As they do without a z between, if it has numbers for all else."""
    model = LinearAutoencoder(latent_dim=360, attributes="decoded", dim=3, order="axis")
    model.fit(TRAIN[:12])
    [own] = model.features.features
    assert isinstance(own, Attributes) and own.smooth == [SLOPE]
    assert model.decoder.slots * model.decoder.width < model.decoder.count
    readings = model.read(TRAIN[:12])
    for decoding, reading in zip(model.decode(model.encode(readings)), readings, strict=True):
        back, true = decoding.graph, reading.ordered
        expected = read(own, true, *write(own, true)[::5])
        assert same_categories(back, true) and np.array_equal(back.edges, true.edges)
        assert back.node_continuous == pytest.approx(expected.node_continuous, abs=0.05)
