"""The batched descent: exact by the rule, each graph by itself, and done when it is done."""

from __future__ import annotations

import numpy as np
import pytest
from networkx import complete_graph, cycle_graph, path_graph

from families import plain, random_graph
from geogae.geometry import descent, fitting, torch_engine
from geogae.geometry.cloud import HyperballCloud
from geogae.geometry.torch_engine import descend_batch
from geogae.graph import Graph


def descended(graphs: list[Graph], dim: int = 5, **other: float) -> list[HyperballCloud]:
    how = {
        "alpha": 0.5,
        "gamma": 2.0,
        "temperature": 0.4,
        "margin": 0.1,
        "rate": 0.2,
        "steps": 600,
        "widen": 100,
    } | other
    starts = [np.random.default_rng(len(g.edges)).standard_normal((g.n, dim)).astype(np.float32) for g in graphs]
    results = descend_batch(starts, [g.adjacency() for g in graphs], device="cpu", **how)  # type: ignore[arg-type]
    return [
        HyperballCloud(balls[:, :-1], balls[:, -1], np.arange(g.n), g, steps)
        for g, (balls, steps) in zip(graphs, results, strict=True)
    ]


def test_what_it_calls_exact_the_rule_calls_exact() -> None:
    graphs = [random_graph(n, 0.3, seed=n) for n in (1, 2, 5, 9, 12, 12)] + [Graph(7), plain(complete_graph(7))]
    for cloud in descended(graphs, dim=8):
        assert cloud.steps < 600 and cloud.exact and cloud.margin >= 0.1 - 1e-5


def test_batch_mates_do_not_matter() -> None:
    graphs = [random_graph(12, density, seed=3) for density in (0.1, 0.2, 0.3, 0.4, 0.5)]
    for alone, among in zip([descended([g])[0] for g in graphs], descended(graphs), strict=True):
        np.testing.assert_allclose(alone.balls, among.balls, atol=1e-5)
        assert alone.steps == among.steps


def test_what_is_done_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    real = torch_engine.margins
    monkeypatch.setattr(torch_engine, "margins", lambda balls: sizes.append(len(balls)) or real(balls))
    graphs = [Graph(6), plain(path_graph(6)), plain(cycle_graph(6))]
    clouds = descended(graphs, dim=2, steps=50)  # a cycle is not exact on a line
    assert [c.exact for c in clouds] == [True, True, False] and clouds[2].steps == 50
    assert sizes[0] == 3 and sizes[-1] == 1 and sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == sum(c.steps + 1 for c in clouds)


def test_first_tries_on_a_device_are_finished_on_the_cpu() -> None:
    """ "cpu:0" is a device of torch like another: what its first try leaves inexact goes on with the fused kernel."""
    graphs = [random_graph(n, 0.4, seed=n) for n in (1, 3, 8, 14)] + [plain(complete_graph(6)), plain(cycle_graph(12))]
    for start in ("mds", "random"):
        clouds = fitting.fit_clouds(graphs, 8, device="cpu:0", start=start, cache=False)
        assert all(cloud.exact for cloud in clouds)
        alone = fitting.fit_clouds(graphs[3], 8, device="cpu:0", start=start, cache=False)[0]
        assert alone.tries == clouds[3].tries
    hard = fitting.fit_clouds(plain(cycle_graph(6)), 2, device="cpu:0", steps=5, tries=3, cache=False)[0]
    assert hard.tries == 3 and not hard.exact and hard.steps <= 5 + 10 + 20


def test_a_later_try_that_is_worse_does_not_replace_the_first() -> None:
    topology, recipe = plain(cycle_graph(12)), fitting.Recipe(steps=1, tries=3)
    nearly = descent.fit_topology(topology, 3, fitting.Recipe()).balls.copy()
    nearly[0, :2] += 50  # two edges lost
    first = fitting.Fit(descent.pose_balls(nearly[:, :-1], nearly[:, -1]), 1, 1)
    kept = descent.fit_topology(topology, 3, recipe, first)
    assert descent.wrong_pairs(kept.balls, topology) <= 2 and kept.tries == 3


def test_shared_balls_keep_their_radius() -> None:
    cloud = fitting.fit_clouds(plain(complete_graph(5)), 3, device="cpu:0", cache=False)[0]
    assert cloud.margin > 0.2
