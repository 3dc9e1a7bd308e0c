"""What slots carry: categories to the last one, numbers by their route, and the places and bounds of all of it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from geogae.attributes import Schema
from geogae.coding import decode_slots, encode_slots, fit_slots, ordered
from geogae.geometry.family import FREE
from geogae.model.linear import LinearAutoencoder
from geogae.model.parallel import ParallelAutoencoder
from geogae.model.payload import (
    LANDMARKS,
    NUMBER,
    NUMBER_WEIGHT,
    SHRINK,
    SMOOTH,
    SURPRISE,
    SURPRISE_WEIGHT,
    Payload,
    bits,
    coefficients,
    earlier_neighbours,
    functions,
    rank_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from geogae import datasets
from geogae.geometry.fitting import fit_clouds
from geogae.graph import Graph
from strategies import accepts, graphs

f32 = np.float32
BY_CATEGORY, SLOPE, NOISE = range(3)  # node columns of a made-up graph
CPU = torch.device("cpu")


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


@cache
def payload() -> Payload:
    return Payload.of(SCHEMA, TRAIN, OTHERS, 192)


def same_categories(one: Graph, other: Graph) -> bool:
    return np.array_equal(one.node_categorical, other.node_categorical) and np.array_equal(  # type: ignore[arg-type]
        one.edge_categorical,  # type: ignore[arg-type]
        other.edge_categorical,  # type: ignore[arg-type]
    )


# -- there and back ---


@pytest.mark.parametrize("graph", [*TRAIN[:3], *OTHERS], ids=lambda graph: graph.name)
def test_what_is_loaded_is_unloaded(graph: Graph) -> None:
    load = payload().load(graph)
    back = payload().unload(graph.topology(), load.values, load.riders)
    assert same_categories(back, graph) and np.array_equal(back.edges, graph.edges) and back.n == graph.n
    numbers, wanted = back.node_continuous, graph.node_continuous
    assert numbers is not None and wanted is not None
    assert numbers[:, NOISE] == pytest.approx(wanted[:, NOISE], abs=1e-4)  # in a slot
    assert back.edge_continuous == pytest.approx(graph.edge_continuous, abs=1e-5)
    assert np.abs(numbers[:, BY_CATEGORY] - wanted[:, BY_CATEGORY]).max() < 10  # of 100 between categories
    rough = numbers[:, SLOPE] - wanted[:, SLOPE]
    assert np.sqrt((rough**2).mean()) < SMOOTH**0.5 * SCHEMA.node.scale[SLOPE]


@pytest.mark.parametrize("graph", OTHERS[:3], ids=lambda graph: graph.name)
def test_what_functions_of_the_graph_add_up_to_comes_back_from_riders(graph: Graph) -> None:
    """Beside the average of each category."""
    weights = np.random.default_rng(0).normal(size=LANDMARKS + 1)
    first = SCHEMA.node.columns(graph).codes[:, 0]
    smooth = payload().averages[0][first, SLOPE] + functions(graph) @ weights
    numbers = np.array(graph.node_continuous)
    numbers[:, SLOPE] = SCHEMA.node.mean[SLOPE] + SCHEMA.node.scale[SLOPE] * smooth
    other = Graph(graph.n, graph.edges, node_categorical=graph.node_categorical, node_continuous=numbers,
                  edge_categorical=graph.edge_categorical, edge_continuous=graph.edge_continuous)  # fmt: skip
    load = payload().load(other)
    back = payload().unload(graph.topology(), load.values, load.riders)
    assert back.node_continuous is not None
    assert back.node_continuous[:, SLOPE] == pytest.approx(numbers[:, SLOPE], abs=0.01 * SCHEMA.node.scale[SLOPE])


@settings(max_examples=25)
@given(st.lists(graphs(schema=(2, 1, 1, 1)), min_size=1, max_size=4))
def test_any_graphs_come_back_by_their_own_payload(some: list[Graph]) -> None:
    """However few, small, symmetric or odd; where m leaves no room for riders, numbers come back too."""
    schema = Schema.of(some)
    own = Payload.of(schema, some[:1], some[1:], 8)
    assert own.riders == 0
    for graph in some:
        assert accepts(own, graph)
        load = own.load(graph)
        assert load.riders.shape == (0,) and load.values.shape == (graph.n, own.width)
        back = own.unload(graph.topology(), load.values, load.riders)
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
    values = (scale * random.normal(size=(graph.n, payload().width))).astype(f32)
    back = payload().unload(graph, values, (scale * random.normal(size=payload().riders)).astype(f32))
    assert back.topology() == graph and accepts(SCHEMA, back)
    assert back.node_continuous is not None and np.isfinite(back.node_continuous).all()


def test_a_graph_without_edges_and_one_without_columns() -> None:
    lone = Graph(1, node_categorical=[[5, 0]], node_continuous=[[0.0, 1.0, 7.0]])
    load = payload().load(lone)
    assert load.present.sum() == 2 + 1
    back = payload().unload(lone.topology(), load.values, load.riders)
    assert np.array_equal(back.node_categorical, lone.node_categorical)  # type: ignore[arg-type]
    bonds = [Graph(3, [(0, 1), (1, 2)], edge_categorical=[4, 9]), Graph(2, [(0, 1)], edge_categorical=[9])]
    own = Payload.of(Schema.of(bonds), bonds, [], 16)
    assert own.width == 1 and own.riders == 0
    assert [own.unload(g.topology(), own.load(g).values, own.load(g).riders) for g in bonds] == bonds
    atoms = [Graph(g.n, g.edges, node_categorical=np.arange(g.n)) for g in bonds]
    own = Payload.of(Schema.of(atoms), atoms, [], 16)
    assert own.width == 1 and own.edges == 0
    assert [own.unload(g.topology(), own.load(g).values, own.load(g).riders) for g in atoms] == atoms


# -- routes ---


def test_each_column_goes_its_way() -> None:
    assert payload().smooth == [SLOPE] and payload().loose == [NOISE]
    assert payload().riders == LANDMARKS + 1 and payload().load(TRAIN[0]).riders.shape == (LANDMARKS + 1,)
    assert payload().edges == max(map(earlier_neighbours, [*TRAIN, *OTHERS]))
    assert payload().width == 2 + 1 + payload().edges * (1 + 1)


@pytest.mark.parametrize("latent_dim", [4 * (LANDMARKS + 1) - 1, 4 * (LANDMARKS + 1)])
def test_riders_are_a_quarter_of_z_at_most(latent_dim: int) -> None:
    """Else what is smooth rides in the slots."""
    tight = Payload.of(SCHEMA, TRAIN, [], latent_dim)
    room = latent_dim % 4 == 0
    assert tight.smooth == [SLOPE] * room and tight.loose == [SLOPE] * (not room) + [NOISE]
    graph, load = OTHERS[0], tight.load(OTHERS[0])
    back = tight.unload(graph.topology(), load.values, load.riders)
    off = np.abs(back.node_continuous - graph.node_continuous)[:, SLOPE].max()  # type: ignore[operator]
    assert room or off < 1e-4


def test_numbers_of_a_category_are_carried_as_what_they_differ_by() -> None:
    """By hand: category 0 is 0 or 2, category 1 is 10 or 12, many times; what is left is -1 or 1."""
    numbers = np.tile([0.0, 2.0, 10.0, 12.0], 500)
    graph = Graph(2000, node_categorical=np.tile([0, 0, 1, 1], 500), node_continuous=numbers)
    own = Payload.of(Schema.of([graph]), [graph], [], 8)
    assert own.loose == [0]
    deviation = np.std(numbers)
    expected = NUMBER * np.tile([-1, 1, -1, 1], 500) / deviation
    assert own.load(graph).values[:, 1] == pytest.approx(expected, abs=0.01)  # but for SHRINK
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
    own, random = payload(), np.random.default_rng(0)
    load = own.load(graph)
    low, high, weight = load.bounds
    hard = load.present & (low < high)
    assert hard.sum() == 2 * graph.n + len(graph.edges)  # one for each category
    assert (low[~load.present] == -FREE).all() and (high[~load.present] == FREE).all()
    soft = load.present & ~hard
    assert soft.sum() == graph.n + len(graph.edges) and np.array_equal(low[soft], load.values[soft])
    assert ((low < load.values) & (load.values < high))[hard].all()
    assert weight.tolist() == [SURPRISE_WEIGHT, SURPRISE_WEIGHT, NUMBER_WEIGHT] + own.edges * [
        SURPRISE_WEIGHT,
        NUMBER_WEIGHT,
    ]

    share = random.uniform(0.001, 0.999, load.values.shape)
    least, most = np.maximum(low, -50), np.minimum(high, 50)
    anywhere = (least + share * (most - least)).astype(f32)
    assert same_categories(own.unload(graph.topology(), anywhere, load.riders), graph)

    sizes = [4, 3, 0] + own.edges * [3, 0]  # categories of each place
    beyond = 0
    for slot, place in random.permutation(np.argwhere(hard))[:25]:
        for end, step in ((low, -1e-3), (high, 1e-3)):
            if abs(end[slot, place]) == FREE:
                continue
            highest = rank_of(load.values[slot, place : place + 1] / SURPRISE)[0] == sizes[place] - 1
            values = load.values.copy()
            values[slot, place] = end[slot, place] - step
            assert same_categories(own.unload(graph.topology(), values, load.riders), graph)
            values[slot, place] = end[slot, place] + step
            if not (highest and step > 0):  # a rank that is too high is the highest
                assert not same_categories(own.unload(graph.topology(), values, load.riders), graph)
                beyond += 1
    assert beyond > 20


# -- places ---


def test_places_by_hand() -> None:
    """A slot has the node's surprise, then for each earlier neighbour, the first first, surprise and number."""
    known = [Graph(2, [(0, 1)], node_categorical=[7, 7], edge_categorical=[k], edge_continuous=[[9.0]]) for k in (1, 2)]
    graph = Graph(
        4,
        [(2, 3), (0, 3), (0, 1), (1, 3)],
        node_categorical=[7] * 4,
        edge_categorical=[2, 1, 2, 2],
        edge_continuous=[[4.0], [3.0], [1.0], [2.0]],
    )
    own = Payload.of(Schema.of([graph, *known]), known[:1] * 40, [graph], 8)
    assert own.edges == earlier_neighbours(graph) == 3 and own.width == 1 + 3 * 2
    load = own.load(graph)
    expected = np.zeros((4, 7), bool)
    expected[:, 0] = True
    expected[1, 1:3] = expected[3, 1:7] = True  # 1 has one, 3 has three
    assert np.array_equal(load.present, expected) and not load.values[~expected].any()
    assert not load.values[:, 0].any()  # there is one category
    assert load.values[3, 1::2].tolist() == [0, SURPRISE, SURPRISE] and load.values[1, 1] == SURPRISE  # 2 is not known
    nine, *numbers = ((np.array([9, 3, 2, 4]) - own.edge.mean) / own.edge.scale).tolist()
    numbers[0] -= 40 * nine / (40 + SHRINK)  # the average of category 1; of 2 there is none
    assert load.values[3, 2::2] == pytest.approx(NUMBER * np.array(numbers), abs=1e-6)  # of edges to 0, 1 and 2
    back = own.unload(graph.topology(), load.values, load.riders)
    assert back.edge_continuous == pytest.approx(graph.edge_continuous, abs=1e-5)
    assert graph.edge_continuous is not None
    assert graph.edge_continuous.ravel().tolist() == [1, 3, 2, 4]  # as edges are sorted


def test_what_it_does_not_carry() -> None:
    graph = OTHERS[0]
    assert accepts(payload(), graph) and all(accepts(payload(), own) for own in TRAIN)
    blocks = {name: getattr(graph, name) for name in ("node_categorical", "node_continuous")}
    edges = {name: getattr(graph, name) for name in ("edge_categorical", "edge_continuous")}
    strange = np.array(blocks["node_categorical"])
    strange[3, 1] = 77
    assert not accepts(payload(), Graph(graph.n, graph.edges, **{**blocks, "node_categorical": strange}, **edges))
    assert not accepts(payload(), Graph(graph.n, graph.edges, **blocks))
    assert not accepts(payload(), graph.topology())
    most = payload().edges
    for leaves in (most, most + 1):
        joined = [(i, leaves) for i in range(leaves)]
        crowded = Graph(
            leaves + 1, joined, node_categorical=[[5, 0]] * (leaves + 1), node_continuous=np.zeros((leaves + 1, 3)),
            edge_categorical=[0] * leaves, edge_continuous=np.zeros((leaves, 1)),
        )  # fmt: skip
        assert accepts(payload(), crowded) == (leaves == most)
        first = crowded.relabel(np.arange(leaves + 1)[::-1])  # the middle before its leaves
        assert earlier_neighbours(first) == 1 and accepts(payload(), first)
    bare = Payload.of(Schema.of([Graph(1, node_categorical=[1])]), [Graph(1, node_categorical=[1])], [], 8)
    assert accepts(bare, Graph(9, [(i, 8) for i in range(8)], node_categorical=[1] * 9))  # edges have nothing to carry


# -- riders ---


def test_functions_by_hand() -> None:
    """From the farthest of the first node, then from the farthest of these; what is not joined is n steps away."""
    path = functions(Graph(4, [(0, 1), (1, 2), (2, 3)]))
    assert path.shape == (4, LANDMARKS + 1)
    assert path[:, :3].T.tolist() == [[1, 1, 1, 1], [3, 2, 1, 0], [1, 0, 1, 2]]
    assert functions(Graph(3, [(0, 1)]))[:, :3].T.tolist() == [[1, 1, 1], [3, 3, 0], [1, 0, 3]]
    assert functions(Graph(1)).tolist() == [[1] + [0] * LANDMARKS]


@settings(max_examples=30)
@given(graphs(attributed=False), st.integers(0, 2**16))
def test_coefficients_give_back_what_functions_add_up_to(graph: Graph, seed: int) -> None:
    known = functions(graph)
    numbers = known @ np.random.default_rng(seed).normal(size=(LANDMARKS + 1, 2))
    found = coefficients(graph, numbers)
    assert known @ found == pytest.approx(numbers, abs=0.1)
    assert coefficients(graph, numbers[:, :0]).shape == (LANDMARKS + 1, 0)


@pytest.mark.parametrize("graph", OTHERS[:4], ids=lambda graph: graph.name)
def test_riders_beside_a_graph_that_came_back_are_its_own(graph: Graph) -> None:
    load = payload().load(graph)
    assert np.array_equal(payload().riders_beside(graph, graph.topology(), load.values), load.riders)


@pytest.mark.parametrize("graph", OTHERS[:6], ids=lambda graph: graph.name)
def test_riders_beside_a_wrong_edge_fit_better(graph: Graph) -> None:
    """An edge between the ends of a path changes all distances."""
    wrong = Graph(graph.n, [*map(tuple, graph.edges.tolist()), (1, graph.n - 2)])
    values = payload().load(graph).values
    off = []
    for riders in (payload().load(graph).riders, payload().riders_beside(graph, wrong, values)):
        back = payload().unload(wrong, values, riders)
        off.append(np.sqrt(((back.node_continuous - graph.node_continuous)[:, SLOPE] ** 2).mean()))  # type: ignore[operator]
    assert off[1] < 0.7 * off[0] and off[0] > 0.1


# -- through z ---


@pytest.fixture(scope="module")
def molecules():
    clouds = fit_clouds(datasets.load("MUTAG")[:60], 3, order="axis")
    true = ordered(clouds)
    return clouds, Payload.of(Schema.of(true), true[:45], true[45:], 120)


def bare(graph: Graph) -> Graph:
    """Without its label."""
    return Graph(graph.n, graph.edges, node_categorical=graph.node_categorical, edge_categorical=graph.edge_categorical)


def build(kind, clouds, own: Payload, latent_dim: int, **how):
    slots = max(cloud.n for cloud in clouds)
    model = kind(3 + own.width, slots=slots, latent_dim=latent_dim, riders=own.riders, spare=0.3, **how)
    fit_slots(model, clouds[:45], own)
    return model


def test_a_z_with_room_for_all_gives_all_back(molecules) -> None:
    clouds, own = molecules
    model = build(LinearAutoencoder, clouds, own, 1 + own.riders + 28 * (3 + own.width))
    z = encode_slots(model, clouds, own, True, CPU)
    back = decode_slots(model, z, model.slots, 3, own, CPU)
    assert [one.graph for one in back] == [bare(graph) for graph in ordered(clouds)]
    assert all(one.graph.topology() == one.graph for one in decode_slots(model, z, model.slots, 3, None, CPU))


def test_bound_attributes_come_back_where_free_ones_do_not(molecules) -> None:
    """From a z too small for what slots carry; each graph's z is its own, whatever is beside it."""
    clouds, own = molecules
    model = build(ParallelAutoencoder, clouds, own, 120, descent=400)
    test, true = clouds[45:], [bare(graph) for graph in ordered(clouds[45:])]
    whole = {}
    for bound in (False, True):
        z = encode_slots(model, test, own, bound, CPU)
        back = [one.graph for one in decode_slots(model, z, model.slots, 3, own, CPU)]
        whole[bound] = sum(one == other for one, other in zip(back, true, strict=True))
    assert whole[True] >= whole[False] + 2
    alone = np.concatenate([encode_slots(model, [cloud], own, True, CPU) for cloud in test[:4]])
    assert np.array_equal(alone, z[:4])


@pytest.mark.parametrize("variational", [False, True])
def test_riders_come_back_through_z(variational: bool) -> None:
    """As they do without a z between, if it has room for all else."""
    clouds = fit_clouds(TRAIN[:12], 3, order="axis")
    true = ordered(clouds)
    own = Payload.of(Schema.of(true), true, [], 120)
    assert own.smooth == [SLOPE]
    latent_dim = 1 + own.riders + 31 * (3 + own.width)
    model = LinearAutoencoder(
        3 + own.width, slots=31, latent_dim=latent_dim, riders=own.riders, variational=variational
    )
    fit_slots(model, clouds, own)
    z = encode_slots(model, clouds, own, True, CPU)
    for one, graph in zip(decode_slots(model, z, 31, 3, own, CPU), true, strict=True):
        load = own.load(graph)
        expected = own.unload(graph, load.values, load.riders)
        assert same_categories(one.graph, graph) and np.array_equal(one.graph.edges, graph.edges)
        assert one.graph.node_continuous == pytest.approx(expected.node_continuous, abs=0.05)
