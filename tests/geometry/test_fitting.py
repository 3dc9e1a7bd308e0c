"""fit_clouds: exact, the same however nodes are numbered and whatever the batch, and clear about what it cannot do."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from families import FAMILIES, assert_same, copies, plain, random_graph, shuffled
from geogae import datasets
from geogae.errors import GeoGAEError
from geogae.geometry import fitting
from geogae.geometry.cache import Fit
from geogae.geometry.descent import merge_adjacent_twins
from geogae.geometry.fitting import fit_clouds
from geogae.graph import Graph
from geogae.labelling import canonical
from strategies import graphs

CYCLE = plain(nx.cycle_graph(6))
PATH = plain(nx.path_graph(6))


def fit(what: Any, dim: Any, **how: Any) -> Any:
    return fit_clouds(what, dim, **{"cache": False} | how)


# -- exact ------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_random_graphs_come_back(graph: Graph) -> None:
    (cloud,) = fit([graph], 8)
    assert cloud.exact and cloud.margin > 0 and cloud.to_graph() == graph and cloud.graph is graph
    assert sorted(cloud.order) == list(range(graph.n))
    np.testing.assert_allclose(cloud.centers.mean(axis=0), 0, atol=1e-4)


@pytest.mark.parametrize("start", ["mds", "random"])
@pytest.mark.parametrize("order", ["greedy", "axis"])
def test_starts_and_orders(start: str, order: str) -> None:
    members = [random_graph(n, 0.3, seed=n) for n in (1, 2, 3, 10, 25)]
    for cloud, graph in zip(fit(members, 9, start=start, order=order), members, strict=True):
        assert cloud.exact and cloud.dim == 9 and cloud.to_graph() == graph
        if order == "axis":
            assert (np.diff(cloud.ordered().centers[:, 0]) >= 0).all()


def test_a_single_graph_and_none() -> None:
    assert fit(nx.path_graph(3), 2)[0].exact
    assert fit([], 2) == fit([], "auto") == []


def test_dense_and_disconnected_extremes() -> None:
    cliques = plain(copies(nx.complete_graph(200), 3))
    (cloud,) = fit([cliques], 2)
    assert cloud.exact and len(np.unique(cloud.balls, axis=0)) == 3  # twins share a ball
    almost = nx.complete_graph(40)
    almost.remove_edge(0, 1)
    assert fit([plain(almost)], 2)[0].exact


# -- the same graph, the same cloud -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
def test_symmetric_families(name: str) -> None:
    graph, dim = FAMILIES[name]
    (alone,) = fit([graph], dim)
    assert alone.exact
    for cloud in fit([PATH, *(shuffled(graph, seed) for seed in range(3)), CYCLE], dim, tries=6)[1:-1]:
        assert_same(cloud, alone)


def test_coloured_symmetric_graphs() -> None:
    """The colour takes no part in the cloud, but settles which of the symmetric nodes is which."""
    one = Graph(6, CYCLE.edges, node_categorical=[1, 0, 0, 0, 0, 0])
    bonds = Graph(6, CYCLE.edges, edge_categorical=[1, 2, 2, 1, 1, 2], edge_continuous=[[0.5]] * 6)
    star = Graph(9, [(0, i) for i in range(1, 9)], node_continuous=[[0.0], *([i % 2] for i in range(8))])
    for graph in (one, bonds, star):
        (alone,) = fit([graph], 3)
        for cloud in fit([CYCLE, *(shuffled(graph, seed) for seed in range(5))], 3)[1:]:
            assert_same(cloud, alone)
    np.testing.assert_array_equal(fit([one], 3)[0].balls, fit([CYCLE], 3)[0].balls)


def check_relabelled(members: list[Graph], dim: int) -> None:
    once = fit(members, dim)
    assert all(cloud.exact for cloud in once)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(members))[: len(members) // 2]  # another batch
        again = fit([shuffled(members[i], seed) for i in order], dim)
        for i, cloud in zip(order, again, strict=True):
            assert_same(cloud, once[i])


def test_mutag_relabelled() -> None:
    check_relabelled(datasets.load("MUTAG"), 3)


@pytest.mark.skipif("GEOGAE_DATA" not in os.environ, reason="GEOGAE_DATA does not name a folder with TU data")
@pytest.mark.parametrize(("name", "dim"), [("AIDS", 4), ("IMDB-BINARY", 6)])
def test_data_sets_relabelled(name: str, dim: int) -> None:
    members = datasets.load(name)
    check_relabelled([members[i] for i in np.random.default_rng(0).choice(len(members), 200, replace=False)], dim)


@pytest.fixture
def nothing_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small graphs go the way of those that take longer."""
    monkeypatch.setattr(fitting, "fit_all_quickly", lambda *_: {})


@pytest.mark.usefixtures("nothing_is_quick")
def test_isomorphic_graphs_are_fitted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = []
    real = fitting.fit_topology
    monkeypatch.setattr(fitting, "fit_topology", lambda graph, *rest: fitted.append(graph) or real(graph, *rest))
    coloured = Graph(6, CYCLE.edges, node_categorical=[1, 2, 3, 4, 5, 6])
    fit([CYCLE, PATH, shuffled(CYCLE, 1), shuffled(PATH, 2), coloured], 3)
    assert sorted(len(g.edges) for g in fitted) == [5, 6]


# -- the dimension ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("graph", "dim"),
    [
        (Graph(1), 2),
        (Graph(10), 2),
        (PATH, 2),  # intervals on a line
        (plain(nx.star_graph(4)), 2),  # a long interval over short ones
        (plain(nx.complete_graph(7)), 2),
        (plain(nx.cycle_graph(4)), 3),  # no interval graph
        (CYCLE, 3),
        (plain(nx.octahedral_graph()), 3),  # planar: discs, by Koebe's theorem
        (plain(nx.complete_bipartite_graph(3, 3)), 4),  # not planar and without triangles: no discs
    ],
)
def test_auto_finds_the_smallest_dim(graph: Graph, dim: int) -> None:
    (cloud,) = fit([graph], "auto", tries=6)
    assert (cloud.dim, cloud.exact) == (dim, True)
    assert dim == 2 or not fit([graph], dim - 1, tries=6)[0].exact
    np.testing.assert_array_equal(cloud.balls, fit([graph], dim, tries=6)[0].balls)


def test_auto_serves_the_hardest_graph() -> None:
    assert [(c.dim, c.exact) for c in fit([Graph(1), CYCLE, PATH], "auto", tries=3)] == [(3, True)] * 3


def test_strict_names_the_graphs_and_a_remedy(caplog: pytest.LogCaptureFixture) -> None:
    named = Graph(6, CYCLE.edges, name="benzene")
    line = "dim=2 leaves 2 of 3 graphs inexact: benzene, #2"
    with pytest.raises(GeoGAEError) as caught:
        fit([named, PATH, plain(nx.cycle_graph(4))], 2, tries=2, strict=True)
    remedy = "try dim=3, or more than tries=2 and budget=2e+10"
    assert str(caught.value) == f"{line}; {remedy}" and not caplog.messages
    clouds = fit([named, PATH, plain(nx.cycle_graph(4))], 2, tries=2)
    assert caplog.messages == [line] and [c.exact for c in clouds] == [False, True, False]
    with pytest.raises(GeoGAEError, match=r"7 of 7 graphs inexact: #0, #1, #2, #3, #4, …;"):
        fit([CYCLE] * 7, 2, tries=1, strict=True)


def test_a_labelling_that_gives_up_is_said(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    real = canonical.canonical_labelling
    monkeypatch.setattr(canonical, "canonical_labelling", lambda graph: real(graph, budget=1))
    (cloud,) = fit([plain(nx.petersen_graph())], 5)
    assert cloud.exact and not cloud.canonical
    assert caplog.messages == ["1 graphs are too symmetric for the labelling's budget: renumbered, they may differ"]


# -- parameters -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "line"),
    [
        ({"dim": 1}, "dim=1 must be a whole number from 2 to 64, or 'auto': d-1 coordinates and a radius"),
        ({"dim": 65}, "dim=65 must be"),
        ({"dim": 2.5}, "dim=2.5 must be"),
        ({"dim": "x"}, "dim='x' must be"),
        ({"dim": True}, "dim=True must be"),
        ({"dim": None}, "dim=None must be"),
        ({"order": "size"}, "order='size' is not known; valid are greedy, axis"),
        ({"start": "grid"}, "start='grid' is not known; valid are mds, random"),
        ({"lr": 1}, "'lr' is no parameter of a fit; valid are start, margin, alpha,"),
        ({"margin": -1}, "margin=-1 must be from 0 to 1e6"),
        ({"margin": np.nan}, "margin=nan must be from 0 to 1e6"),
        ({"alpha": 0}, "alpha=0 must be between 0 and 1"),
        ({"alpha": 1}, "alpha=1 must be between 0 and 1"),
        ({"alpha": "x"}, "alpha='x' must be between 0 and 1"),
        ({"gamma": 11}, "gamma=11 must be from 0 to 10"),
        ({"temperature": 0}, "temperature=0 must be from 1e-6 to 1e6"),
        ({"temperature": np.inf}, "temperature=inf must be from 1e-6 to 1e6"),
        ({"steps": 0}, "steps=0 must be a whole number, at least 1"),
        ({"steps": 2.5}, "steps=2.5 must be a whole number, at least 1"),
        ({"tries": 0}, "tries=0 must be a whole number, at least 1"),
        ({"budget": 0}, "budget=0 must be at least 1"),
        ({"budget": np.nan}, "budget=nan must be at least 1"),
        ({"seed": -1}, "seed=-1 must be a whole number, at least 0"),
        ({"seed": 1.5}, "seed=1.5 must be a whole number, at least 0"),
        ({"n_jobs": 0}, "n_jobs=0 must be a whole number of workers, or -1 for all cores"),
        ({"device": "abacus"}, "device='abacus' cannot be used: "),
        ({"cache": None}, "cache=None must be True, False or the path of a file"),
    ],
)
def test_bad_parameters(how: dict[str, Any], line: str) -> None:
    with pytest.raises(GeoGAEError) as caught:
        fit([PATH], **{"dim": 3} | how)
    assert str(caught.value).startswith(line) and "\n" not in str(caught.value)


@pytest.mark.usefixtures("nothing_is_quick")
def test_numbers_of_numpy_are_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """gamma=2, 2.0 and np.float32(2) are the same recipe, dim=3 and np.int64(3) the same dimension."""
    cache = tmp_path / "clouds"
    fit([PATH], 3, cache=cache, gamma=2, budget=np.inf)
    monkeypatch.setattr(fitting, "fit_topology", lambda *_: pytest.fail("fitted again"))
    fit([PATH], np.int64(3), cache=cache, gamma=np.float32(2), seed=np.int8(0), budget=np.inf)


def test_the_seed_changes_the_noise_and_nothing_else_does() -> None:
    graph = random_graph(20, 0.2, seed=0)
    first, again, other = (fit([graph], 5, seed=seed, n_jobs=seed + 1)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.balls, again.balls)
    assert other.exact and not np.allclose(first.centers, other.centers, atol=1e-3)


def test_steps_tries_and_budget_are_kept() -> None:
    def cost(**how: Any) -> tuple[int, int]:
        (cloud,) = fit([CYCLE], 2, **how)  # never exact
        return cloud.steps, cloud.tries

    assert cost(steps=10, tries=1) == (10, 1)
    assert cost(steps=10, tries=3) == (10 + 20 + 40, 3)
    assert cost(steps=10, tries=3, start="random") == (30, 3)
    assert cost(steps=10, tries=9, budget=15 * 8) == (8, 1)  # 15 pairs
    assert cost(steps=10, tries=9, budget=15 * 20) == (20, 2)
    assert cost(steps=10, tries=9, budget=1) == (1, 1)


def test_a_later_try_succeeds_where_the_first_fails() -> None:
    (first,) = fit([plain(nx.complete_bipartite_graph(5, 5))], 7, tries=1)
    (later,) = fit([plain(nx.complete_bipartite_graph(5, 5))], 7)
    assert not first.exact and later.exact and later.tries > 1


# -- twins ------------------------------------------------------------------------------------------------------


def test_adjacent_twins_by_example() -> None:
    """A triangle with a tail: 0 and 1 have the same closed neighbourhood."""
    core, twins = merge_adjacent_twins(Graph(4, [(0, 1), (0, 2), (1, 2), (2, 3)]))
    assert core == Graph(3, [(0, 1), (1, 2)]) and twins.tolist() == [0, 0, 1, 2]
    assert (
        merge_adjacent_twins(plain(nx.star_graph(3)))[0].n == 4
    )  # twins that are not adjacent need balls of their own
    assert merge_adjacent_twins(plain(nx.complete_graph(9)))[0] == Graph(1)
    assert merge_adjacent_twins(Graph(3))[0] == Graph(3)


@given(graphs(attributed=False))
def test_merging_twins_keeps_the_graph(graph: Graph) -> None:
    core, twins = merge_adjacent_twins(graph)
    joined = (core.adjacency() | np.eye(core.n, dtype=bool))[np.ix_(twins, twins)]
    np.testing.assert_array_equal(joined & ~np.eye(graph.n, dtype=bool), graph.adjacency())
    assert [twins.tolist().index(k) for k in range(core.n)] == sorted(twins.tolist().index(k) for k in range(core.n))
    assert merge_adjacent_twins(core)[0] == core


# -- interrupted ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("nothing_is_quick")
def test_an_interrupt_keeps_what_was_fitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members = [plain(nx.path_graph(n)) for n in (9, 8, 7, 6)]  # the largest comes first
    real, fitted = fitting.fit_topology, []

    def interrupted(graph: Graph, *rest: Any) -> Fit:
        if graph.n == 7:
            raise KeyboardInterrupt
        fitted.append(graph.n)
        return real(graph, *rest)

    monkeypatch.setattr(fitting, "fit_topology", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit(members, 3, cache=tmp_path / "clouds", n_jobs=1)
    assert fitted[:2] == [9, 8]
    monkeypatch.setattr(fitting, "fit_topology", lambda graph, *rest: fitted.append(-graph.n) or real(graph, *rest))
    assert all(cloud.exact for cloud in fit(members, 3, cache=tmp_path / "clouds"))
    assert -9 not in fitted and -8 not in fitted and -7 in fitted


@pytest.mark.usefixtures("nothing_is_quick")
def test_a_long_job_saves_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill cannot be caught: what was fitted is written every few seconds."""
    sizes = []
    real = fitting.CloudCache.write
    monkeypatch.setattr(fitting, "SAVE_EVERY", 0.0)
    monkeypatch.setattr(fitting.CloudCache, "write", lambda self, fits: sizes.append(len(fits)) or real(self, fits))
    fit([plain(nx.path_graph(n)) for n in range(2, 7)], 2, cache=tmp_path / "clouds")
    assert sum(sizes) == 5 and len(sizes) > 1


def run_python(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)


def test_ctrl_c_ends_a_descent() -> None:
    """Without a word to the running descent, it would run for an hour."""
    done = run_python("""
import os, signal, threading, time, numpy as np
from geogae import Graph, fit_clouds
fit_clouds([Graph(2)], 2, cache=False)
tree = Graph(1500, [(i, i // 2) for i in range(1, 1500)])
threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start()
began = time.monotonic()
try:
    fit_clouds([tree], 2, cache=False, steps=10**7, budget=1e15)
except KeyboardInterrupt:
    print("ended after", time.monotonic() - began)
""")
    assert done.stdout.startswith("ended after"), done.stderr
    assert float(done.stdout.split()[-1]) < 15


def test_memory_of_a_graph_of_4000_nodes() -> None:
    done = run_python("""
import resource, numpy as np
from geogae import Graph, fit_clouds
random = np.random.default_rng(0)
tree = Graph(4000, [(i, int(random.integers(i))) for i in range(1, 4000)])
(cloud,) = fit_clouds([tree], 4, cache=False, steps=5, tries=1)
assert cloud.steps == 5 and np.isfinite(cloud.margin) and not cloud.exact
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
""")
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 2, "GiB"


def test_a_graph_too_large_is_named_before_the_work() -> None:
    with pytest.raises(GeoGAEError, match=r"^graph #1 has 200001 nodes; at most 200000 can be fitted: leave it out$"):
        fit([CYCLE, Graph(200_001)], 3)


def test_progress_goes_to_nobody_who_is_not_looking(capfd: pytest.CaptureFixture[str], caplog: Any) -> None:
    with caplog.at_level(logging.INFO, logger="geogae"):
        fit([plain(nx.complete_bipartite_graph(3, 3))], "auto", tries=2, progress=True)
    out, _ = capfd.readouterr()
    assert out == "" and caplog.messages == ["dim=3 leaves a graph of 6 nodes inexact"]
