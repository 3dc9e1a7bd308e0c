"""Order by matching: hidden numberings found again, one base from many copies, the same balls however numbered."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from families import FAMILIES, plain, random_graph, shuffled
from geogae.autoencoders import consensus
from geogae.autoencoders.consensus import Consensus, _doubly_stochastic, consensus_clouds, make_consensus, match
from geogae.autoencoders.transformer.sequential import SequentialAutoencoder
from geogae.errors import GeoGAEError
from geogae.geometry import fitting
from geogae.graph import Graph
from geogae.metrics import same_topology

N, DIM = 30, 7
BASE = random_graph(N, 0.25, seed=2)  # every node has neighbours enough to be known by


def rewired(graph: Graph, edges: int, seed: int) -> Graph:
    """As many edges fewer, and as many others more."""
    random = np.random.default_rng(seed)
    joined = graph.adjacency()
    for there in (True, False):
        pairs = np.argwhere(np.triu(joined == there, 1))
        for i, j in pairs[random.permutation(len(pairs))[:edges]]:
            joined[i, j] = joined[j, i] = not there
    return Graph(graph.n, np.argwhere(np.triu(joined, 1)))


def numbers(graph: Graph) -> np.ndarray:
    return graph.adjacency().astype(float)


@pytest.fixture(scope="module")
def copies() -> list[Graph]:
    """Each with three edges changed, in a numbering of its own."""
    return [shuffled(rewired(BASE, 3, seed), seed) for seed in range(14)]


@pytest.fixture(scope="module")
def made(copies: list[Graph]) -> Consensus:
    return make_consensus(copies[:9], DIM)


# -- matching ---


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("changed", [0, 1, 3])
def test_a_hidden_numbering_is_found_again(changed: int, seed: int) -> None:
    base = random_graph(40, 0.12, seed)
    order = np.random.default_rng(seed).permutation(40)
    slots = match(numbers(base), numbers(rewired(base, changed, seed).relabel(order)))
    right = order[slots] == np.arange(40)  # slot i holds the node that was node i
    loose = base.degrees < 2  # nothing tells such nodes from each other
    assert right[~loose].mean() >= (1 if changed == 0 else 0.9)


@pytest.mark.parametrize("name", [name for name, (graph, _) in FAMILIES.items() if graph.n <= 100])
def test_symmetric_graphs_lie_on_themselves(name: str) -> None:
    """There are many ways to, and one is found, or another match at least."""
    graph = FAMILIES[name][0]
    slots = match(numbers(graph), numbers(shuffled(graph, 1)))
    assert sorted(slots) == list(range(graph.n))


@settings(max_examples=40)
@given(st.integers(1, 12), st.floats(0, 1), st.floats(0, 1), st.integers(0, 2**16))
def test_any_graph_lies_on_any_other(n: int, density: float, other: float, seed: int) -> None:
    base, graph = random_graph(n, density, seed), random_graph(n, other, seed + 1)
    slots = match(numbers(base), numbers(graph))
    assert sorted(slots) == list(range(n))
    assert np.array_equal(slots, match(numbers(base), numbers(graph)))


@settings(max_examples=50)
@given(st.integers(1, 15), st.sampled_from([0.1, 1.0, 10.0, 1e3]), st.integers(0, 2**16), st.integers(1, 50))
def test_rows_and_columns_sum_to_one(n: int, spread: float, seed: int, rounds: int) -> None:
    """Also where Sinkhorn has not come to its end."""
    weights = np.exp(-spread * np.random.default_rng(seed).random((n, n))) + 1e-4
    shares = _doubly_stochastic(weights, rounds)
    assert shares.min() >= 0
    np.testing.assert_allclose(shares.sum(0), 1, rtol=1e-9)
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-9)


def test_sinkhorn_scales_and_does_no_more() -> None:
    weights = np.random.default_rng(0).random((6, 6)) + 0.1
    factors = _doubly_stochastic(weights) / weights
    np.testing.assert_allclose(factors * factors[0, 0], np.outer(factors[:, 0], factors[0]), rtol=1e-5)


# -- the consensus ---


def test_the_consensus_of_noisy_copies_is_their_base(made: Consensus) -> None:
    assert same_topology(made.graph, BASE)
    assert made.balls.shape == (N, DIM) and made.balls.dtype == np.float32


def test_the_smallest_dimension_is_one_in_which_all_graphs_are_exact(copies: list[Graph]) -> None:
    found = make_consensus(copies[:9], "auto")
    dim = found.balls.shape[1]
    assert all(cloud.exact for cloud in consensus_clouds(copies[:9], found))
    assert not all(cloud.exact for cloud in consensus_clouds(copies[:9], make_consensus(copies[:9], dim - 1)))
    [alone] = fitting.fit_clouds([found.graph], "auto")
    assert dim > alone.dim  # what most graphs have needs less


def test_the_consensus_of_one_graph_is_that_graph() -> None:
    for graph in (Graph(1), Graph(2, [(0, 1)]), plain(nx.cycle_graph(6)), Graph(5)):
        found = make_consensus([shuffled(graph, 1)], "auto")
        assert same_topology(found.graph, graph)
        [cloud] = consensus_clouds([graph], found)
        assert cloud.exact and same_topology(cloud.to_graph(), graph)


def test_graphs_of_different_sizes_are_one_line() -> None:
    with pytest.raises(GeoGAEError) as error:
        make_consensus([Graph(4), Graph(3), Graph(9)], 3)
    said = "consensus=True needs graphs of one size, not of 3 to 9 nodes; use consensus=False"
    assert str(error.value) == said


# -- clouds in its slots ---


def test_clouds_are_exact_and_in_the_graphs_own_numbering(made: Consensus, copies: list[Graph]) -> None:
    clouds = consensus_clouds(copies, made)
    for graph, cloud in zip(copies, clouds, strict=True):
        assert cloud.exact and cloud.to_graph() == graph and cloud.graph is graph and cloud.canonical
        assert sorted(cloud.order) == list(range(N)) and cloud.dim == DIM
        assert cloud.margin >= consensus.MARGIN - 1e-5 or cloud.steps == consensus.STEPS


def test_what_graphs_share_stays_in_place(made: Consensus, copies: list[Graph]) -> None:
    """Slots hold the same node of the base in unseen graphs too, and their balls stay near."""
    base = made.graph.adjacency()
    for cloud in consensus_clouds(copies[9:], made):
        ordered = cloud.ordered()
        assert ordered.graph is not None
        both = (ordered.graph.adjacency() & base).sum() / base.sum()
        assert both >= 1 - 3.5 / len(BASE.edges)  # all but the three that were changed
        moved, turned = (np.abs(ordered.balls - np.roll(made.balls, by, axis=0)).mean() for by in (0, 1))
        assert moved < turned / 2


def test_a_relabelled_graph_has_the_same_balls(made: Consensus, copies: list[Graph]) -> None:
    for seed, graph in enumerate(copies[:6]):
        one, two = consensus_clouds([graph, shuffled(graph, seed + 50)], made)
        assert np.array_equal(one.balls, two.balls)
        assert one.ordered().graph == two.ordered().graph


def test_attributes_come_along_and_change_nothing(made: Consensus, copies: list[Graph]) -> None:
    graph = copies[0]
    kinds = np.arange(N)[:, None] % 4
    coloured = Graph(N, graph.edges, node_categorical=kinds, label=1, name="coloured")
    plain_cloud, cloud = consensus_clouds([graph, coloured], made)
    assert np.array_equal(cloud.balls, plain_cloud.balls)
    assert cloud.to_graph() == coloured
    renumbered = shuffled(coloured, 3)
    [again] = consensus_clouds([renumbered], made)
    assert again.ordered().graph == cloud.ordered().graph


def test_each_graph_by_itself(made: Consensus, copies: list[Graph]) -> None:
    together = consensus_clouds(copies[:4], made)
    for graph, cloud in zip(copies, together, strict=False):
        [alone] = consensus_clouds([graph], made)
        assert np.array_equal(alone.balls, cloud.balls) and np.array_equal(alone.order, cloud.order)
    assert consensus_clouds([], made) == []


def test_another_size_is_one_line_before_any_work(made: Consensus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consensus, "match", lambda *graphs: pytest.fail("matched in vain"))
    with pytest.raises(GeoGAEError) as error:
        consensus_clouds([BASE, Graph(29, [(0, 1)], name="small")], made)
    said = str(error.value)
    assert "small" in said and "cannot be laid on the consensus of 30 nodes" in said and "\n" not in said
    assert said.endswith("leave it out, or train with consensus=False")


# -- log lines ---


def test_inexact_clouds_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """On a line no cycle is exact, and a path is."""
    line = make_consensus([plain(nx.path_graph(6))], 2)
    clouds = consensus_clouds(
        [plain(nx.path_graph(6)), Graph(6, [(i, (i + 1) % 6) for i in range(6)], name="ring")], line
    )
    assert [cloud.exact for cloud in clouds] == [True, False]
    assert caplog.messages == [
        "dim=2 leaves 1 of 2 graphs inexact when fitted from the consensus (ring); a fit with dim=3 may not"
    ]


def test_a_labelling_that_gives_up_is_logged(
    made: Consensus, copies: list[Graph], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(consensus, "canonicalise", lambda graph: fitting.canonicalise(graph)._replace(complete=False))
    assert not consensus_clouds(copies[:1], made)[0].canonical
    assert caplog.messages == ["1 graphs are too symmetric for the labelling's budget: renumbered, they may differ"]


def test_edited_copies_for_training_are_of_the_consensus(copies: list[Graph]) -> None:
    """Edits of the training graphs would keep the edges that each has of its own."""
    model = SequentialAutoencoder(consensus=True, dim=DIM, edits=4, edit_kinds="rewire")
    model.reader.fit(copies)
    stream = model.stream(copies, [], background=False)
    assert model.reader.consensus is not None
    base = {tuple(edge) for edge in model.reader.consensus.graph.edges.tolist()}
    missing = []
    for copy in (stream.editor.copy(k) for k in range(60)):
        own = {tuple(edge) for edge in copy.edges.tolist()}
        assert len(own) == len(base) and copy.n == N
        missing.append(len(base - own))
    assert set(missing) == set(range(5))  # 0 to 4 edges are elsewhere
