"""The fused descent: its gradient is autograd's, it stops when asked, and it keeps the best state."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from networkx import cycle_graph, path_graph

from families import plain, random_graph
from geogae.geometry.cloud import intersection_rule, margins
from geogae.geometry.differentiable import focal
from geogae.geometry.differentiable import margins as torch_margins
from geogae.geometry.kernel import _exp_neg, _log1p, descend, sphere_gradient
from geogae.graph import Graph

f32 = np.float32


def signs(graph: Graph, twins: bool = False) -> np.ndarray:
    sign = np.where(graph.adjacency(), 1, -1).astype(np.int8)
    np.fill_diagonal(sign, np.arange(graph.n) % 2 if twins else -1)
    return sign


@pytest.mark.parametrize("twins", [False, True])
@pytest.mark.parametrize("temperature", [0.4, 1.5])
@pytest.mark.parametrize("alpha", [0.5, 0.2])
@pytest.mark.parametrize("gamma", [0.0, 1.0, 2.0, 2.5])
def test_gradient_is_autograd_s(gamma: float, alpha: float, temperature: float, twins: bool) -> None:
    graph = random_graph(23, 0.3, seed=1)
    sign = signs(graph, twins)
    random = np.random.default_rng(2)
    centers, raw = random.normal(size=(4, 23)).astype(f32), random.normal(size=23).astype(f32)
    centers[:, 1] = centers[:, 0]  # coincident centres pull nowhere
    grad_centers, grad_raw = np.empty_like(centers), np.empty_like(raw)
    wrong, narrow = sphere_gradient(
        centers, raw, sign, f32(alpha), f32(gamma), f32(temperature), f32(0.3), grad_centers, grad_raw,
        *np.zeros((3, 23), f32),
    )  # fmt: skip

    balls = torch.tensor(np.vstack([centers, raw]).T, dtype=torch.float64, requires_grad=True)
    pair = torch.from_numpy(np.triu(np.ones_like(sign), 1) + np.diag(np.diag(sign) > 0)) > 0
    margin = torch_margins(balls)
    signed = margin * torch.from_numpy(sign)
    loss = focal(margin / temperature, torch.from_numpy(sign > 0), alpha, gamma)[pair].sum()
    (expected,) = torch.autograd.grad(loss, balls)
    scale = float(expected.abs().max())
    np.testing.assert_allclose(np.vstack([grad_centers, grad_raw]).T, expected, atol=1e-4 * scale)
    assert (wrong, narrow) == (int((signed[pair] <= 0).sum()), int((signed[pair] <= 0.3).sum()))


def test_polynomials() -> None:
    a = np.linspace(0, 20, 2001, dtype=f32)
    error = np.abs([_exp_neg(x) for x in a] / np.exp(-a.astype(float)) - 1)
    assert error[a <= 13].max() < 2e-5 and error.max() < 5e-4
    assert _exp_neg(f32(1e6)) == _exp_neg(f32(20))
    u = np.linspace(0, 1, 1001, dtype=f32)
    np.testing.assert_allclose([_log1p(x) for x in u], np.log1p(u.astype(float)), atol=2e-6)


def run(graph: Graph, dimensions: int, **other: Any) -> tuple[np.ndarray, np.ndarray, int, int, int]:
    """Centres (n, D), raw radii, steps, wrong and narrow pairs of a descent from noise."""
    how = {"lifted": 0, "margin": 0.2, "rate": 0.2, "steps": 1000, "widen": 300, "halted": False} | other
    random = np.random.default_rng(0)
    centers = random.normal(size=(dimensions + how["lifted"], graph.n)).astype(f32)
    raw = np.full(graph.n, 0.5, f32)
    step, wrong, narrow = descend(
        centers, raw, signs(graph), how["lifted"], f32(0.5), f32(2), f32(0.4), f32(0.4), f32(how["margin"]),
        how["rate"], how["steps"], how["widen"], np.array([how["halted"]]),
    )  # fmt: skip
    return centers[:dimensions].T, raw, step, wrong, narrow


def signed_margins(graph: Graph, centers: np.ndarray, raw: np.ndarray) -> np.ndarray:
    return (signs(graph) * margins(centers, raw))[np.triu_indices(graph.n, 1)]


@pytest.mark.parametrize("lifted", [0, 1])
@pytest.mark.parametrize("margin", [0.0, 0.2, 0.5])
def test_it_stops_with_the_margin_asked_for(margin: float, lifted: int) -> None:
    graph = plain(cycle_graph(8))
    centers, raw, step, wrong, narrow = run(graph, 3, margin=margin, lifted=lifted)
    assert step < 1000 and wrong == narrow == 0
    assert np.array_equal(intersection_rule(centers, raw), graph.edges)
    assert signed_margins(graph, centers, raw).min() >= margin - 1e-5


def test_it_widens_for_so_long_and_no_longer() -> None:
    graph = plain(path_graph(8))
    exact = run(graph, 3, margin=0.0)[2]
    assert run(graph, 3, margin=1e3, widen=7)[2] == exact + 7
    assert run(graph, 3, margin=1e3, widen=10**6)[2] == 1000


@pytest.mark.parametrize("lifted", [0, 1])
def test_it_keeps_the_best_state(lifted: int) -> None:
    """On a line the cycle cannot be exact; the longer the descent, the better what remains."""
    graph = plain(cycle_graph(9))
    ends = {steps: run(graph, 1, steps=steps, rate=1.0, lifted=lifted) for steps in (1, 3, 10, 30, 100, 300)}
    for steps, (centers, raw, step, wrong, narrow) in ends.items():
        signed = signed_margins(graph, centers, raw)
        assert step == steps and (wrong, narrow) == ((signed <= 0).sum(), (signed <= f32(0.2)).sum()) and wrong > 0
    if not lifted:  # a lifted descent has another schedule for each length
        quality = [(wrong, narrow) for *_, wrong, narrow in ends.values()]
        assert quality == sorted(quality, reverse=True)


def test_it_halts() -> None:
    _, raw, step, wrong, _ = run(plain(cycle_graph(9)), 1, steps=10**9, halted=True)
    assert step == 0 and wrong > 0 and (raw == 0.5).all()


def test_a_shared_ball_keeps_its_radius() -> None:
    """Two twins apart from a third ball: what is not with itself could shrink to nothing."""
    sign = np.array([[1, -1], [-1, -1]], np.int8)
    centers, raw = np.zeros((1, 2), f32), np.full(2, -9, f32)
    centers[0, 1] = 0.1
    _, wrong, narrow = descend(
        centers, raw, sign, 0, f32(0.5), f32(2), f32(0.4), f32(0.4), f32(0.2), 0.2, 1000, 300, np.zeros(1, bool)
    )
    assert wrong == narrow == 0 and 1.5 * np.logaddexp(raw[0], 0) > 0.2


@pytest.mark.parametrize("n", [1, 2])
def test_the_smallest_graphs(n: int) -> None:
    _, _, step, wrong, narrow = run(Graph(n), 1)
    assert wrong == narrow == 0 and step < 100


DESCEND = """
import numpy as np
from geogae.geometry.kernel import descend

f32, random, n = np.float32, np.random.default_rng(0), 12
joined = np.triu(random.random((n, n)) < 0.25, 1)
sign = np.where(joined | joined.T, 1, -1).astype(np.int8)
centers, raw = random.normal(size=(2, n)).astype(f32), np.full(n, 0.5, f32)
steps, _, _ = descend(
    centers, raw, sign, 0, f32(0.5), f32(2), f32(0.4), f32(0.4), f32(0.2), 0.2, 200, 100, np.zeros(1, bool)
)
loaded, compiled = (sum(counter.values()) for counter in descend.stats[1:])
print(loaded, compiled, steps, centers.tobytes().hex(), raw.tobytes().hex())
"""

WHOLE_FIT = """
from geogae import datasets, fit_clouds
from geogae.geometry.quick import fit_quickly

clouds = fit_clouds(datasets.load("MUTAG")[:10], 3, cache=False)
loaded, compiled = (sum(counter.values()) for counter in fit_quickly.stats[1:])
print(loaded, compiled, sum(cloud.steps for cloud in clouds), *(cloud.balls.tobytes().hex() for cloud in clouds))
"""


@pytest.mark.slow  # starts several Python processes
@pytest.mark.parametrize("script", [DESCEND, WHOLE_FIT], ids=["descend", "whole fit"])
def test_a_process_that_compiles_rounds_as_one_that_loads_does(tmp_path: Path, script: str) -> None:
    """To the last bit: else the first run of a new installation gives other clouds than all later ones."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    )
    assert first[:2] == ["0", "1"] and second[:2] == ["1", "0"]  # one compiled, the other loaded
    assert int(first[2]) > 50 and first[2:] == second[2:]
