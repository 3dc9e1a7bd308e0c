"""Latent refinement: what is right stays, nothing gets worse, each graph is refined by itself, no number is lost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx import cycle_graph, grid_2d_graph, path_graph, star_graph

from families import plain, random_graph
from geogae.autoencoders import refinement
from geogae.autoencoders.refinement import COLD, MARGIN, NEAR, RATE, REACH
from geogae.autoencoders.refinement import refine as refine_written
from geogae.autoencoders.slots.base import FREE, SlotValues
from geogae.geometry.cloud import margins
from geogae.geometry.differentiable import focal
from geogae.geometry.differentiable import margins as torch_margins
from geogae.geometry.fitting import fit_clouds
from geogae.graph import Graph

f32 = np.float32
SLOTS, D, K = 12, 3, 10
EXACT = [Graph(1), plain(path_graph(7)), plain(cycle_graph(9)), plain(star_graph(4)), plain(grid_2d_graph(3, 4))]


class Bounds(NamedTuple):
    """Between which the numbers of a graph's slots beside the balls are to be."""

    low: np.ndarray  # (n, e)
    high: np.ndarray  # (n, e)
    weight: np.ndarray  # (e,)


def refine(
    starts: np.ndarray, mean: np.ndarray, loadings: np.ndarray, adjacencies: Sequence[np.ndarray], steps: int,
    bounds: Sequence[Bounds] | None = None, pull: float = 0.0,
) -> np.ndarray:  # fmt: skip
    """As an autoencoder calls it, but what the slots hold is given by its bounds alone."""
    if bounds is None:
        bounds = [free(len(one), 0) for one in adjacencies]
    present = [np.ones(own.low.shape, bool) for own in bounds]
    written = [SlotValues(own.low, there, *own, np.empty(0, f32)) for own, there in zip(bounds, present, strict=True)]
    return refine_written(starts, mean, loadings, adjacencies, written, steps, pull)


def some_decoder(seed: int = 0, k: int = K, scale: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    """Mean (slots, d) and loadings (k, slots, d)."""
    random = np.random.default_rng(seed)
    return random.normal(size=(SLOTS, D)).astype(f32), (scale * random.normal(size=(k, SLOTS, D))).astype(f32)


def some_graphs(count: int, seed: int = 0) -> list[np.ndarray]:
    sizes = np.random.default_rng(seed).integers(1, SLOTS + 1, count)
    return [random_graph(int(n), 0.25, seed + i).adjacency() for i, n in enumerate(sizes)]


def some_starts(count: int, seed: int = 0, k: int = K) -> np.ndarray:
    return np.random.default_rng([seed, 1]).normal(size=(count, k)).astype(f32)


def signed(points: np.ndarray, mean: np.ndarray, loadings: np.ndarray, joined: Sequence[np.ndarray]) -> list:
    """By how much the rule is right for each pair of each graph."""
    balls = mean + np.einsum("gk,ksd->gsd", points.astype(float), loadings.astype(float))
    upper = [np.triu_indices(len(one), 1) for one in joined]
    return [
        (np.where(one, 1, -1) * margins(own[: len(one), :-1], own[: len(one), -1]))[pairs]
        for own, one, pairs in zip(balls, joined, upper, strict=True)
    ]


def wrong(*given: object, slack: float = 0.0) -> np.ndarray:
    return np.array([(right <= slack).sum() for right in signed(*given)])  # type: ignore[arg-type]


def around(graphs: list[Graph], k: int = K) -> tuple[list[np.ndarray], np.ndarray, list[np.ndarray], np.ndarray]:
    """For each graph a mean with which the decoder has an exact cloud of it, at the point that is given last."""
    _, loadings = some_decoder(k=k)
    points, means, joined = some_starts(len(graphs), seed=5, k=k), [], []
    for point, cloud in zip(points, fit_clouds(graphs, D, cache=False), strict=True):
        ordered = cloud.ordered()
        mean = -np.tensordot(point, loadings, 1)
        mean[: cloud.n] += ordered.balls
        means.append(mean.astype(f32))
        joined.append(ordered.graph.adjacency())  # type: ignore[union-attr]
    return means, loadings, joined, points


# -- what stays ---


def test_a_start_that_is_right_stays() -> None:
    means, loadings, joined, points = around(EXACT)
    for mean, one, point in zip(means, joined, points, strict=True):
        found = refine(point[None], mean, loadings, [one], 100)
        assert np.array_equal(found, point[None])


def test_no_steps_no_change() -> None:
    starts, (mean, loadings), joined = some_starts(20), some_decoder(), some_graphs(20)
    assert wrong(starts, mean, loadings, joined).any()
    found = refine(starts, mean, loadings, joined, 0)
    assert np.array_equal(found, starts) and found is not starts


def test_what_is_given_is_not_touched() -> None:
    starts, (mean, loadings), joined = some_starts(8), some_decoder(), some_graphs(8)
    given = [starts, mean, loadings, *joined]
    before = [array.copy() for array in given]
    for array in given:
        array.flags.writeable = False
    refine(starts, mean, loadings, joined, 30)
    assert all(np.array_equal(*pair) for pair in zip(given, before, strict=True))


def test_single_nodes_and_no_graphs() -> None:
    mean, loadings = some_decoder()
    starts = some_starts(3)
    assert np.array_equal(refine(starts, mean, loadings, [np.zeros((1, 1), bool)] * 3, 50), starts)
    assert refine(starts[:0], mean, loadings, [], 50).shape == (0, K)


# -- what is found ---


@pytest.mark.parametrize("noise", [0.05, 0.3])
def test_an_exact_cloud_nearby_is_found(noise: float) -> None:
    means, loadings, joined, points = around(EXACT)
    random = np.random.default_rng(3)
    for mean, one, point in zip(means, joined, points, strict=True):
        start = (point + noise * random.normal(size=K)).astype(f32)[None]
        found = refine(start, mean, loadings, [one], 1000)
        [right] = signed(found, mean, loadings, [one])
        assert right.min(initial=1) >= MARGIN - 1e-5


def test_a_decoder_of_all_clouds_is_free_descent() -> None:
    """The identity decodes to every cloud: from noise about an exact one all come back."""
    clouds = [cloud.ordered() for cloud in fit_clouds(EXACT, D, cache=False)]
    joined = [cloud.graph.adjacency() for cloud in clouds if cloud.graph]
    loadings = np.eye(SLOTS * D, dtype=f32).reshape(-1, SLOTS, D)
    mean = np.zeros((SLOTS, D), f32)
    random = np.random.default_rng(0)
    starts = np.zeros((len(clouds), SLOTS, D), f32)
    for start, cloud in zip(starts, clouds, strict=True):
        start[: cloud.n] = cloud.balls
    starts += 0.3 * random.normal(size=starts.shape).astype(f32)
    starts = starts.reshape(len(clouds), -1)
    assert wrong(starts, mean, loadings, joined).any()
    found = refine(starts, mean, loadings, joined, 1000)
    assert min(right.min(initial=1) for right in signed(found, mean, loadings, joined)) >= MARGIN - 1e-5
    for start, end, one in zip(starts, found, joined, strict=True):  # slots that a graph has not are let alone
        assert np.array_equal(start[len(one) * D :], end[len(one) * D :])


@settings(max_examples=40)
@given(st.integers(0, 2**16), st.sampled_from([1, 20, 200]), st.sampled_from([0.05, 0.4, 3.0]))
def test_never_more_wrong_pairs_than_at_the_start(seed: int, steps: int, scale: float) -> None:
    (mean, loadings), joined, starts = some_decoder(seed, scale=scale), some_graphs(6, seed), some_starts(6, seed)
    found = refine(starts, mean, loadings, joined, steps)
    assert np.isfinite(found).all()
    hair = 1e-4  # the kernel counts in float32
    before = wrong(starts, mean, loadings, joined, slack=hair)
    after = wrong(found, mean, loadings, joined, slack=-hair)
    assert (after <= before).all()


def test_more_steps_find_more() -> None:
    starts, (mean, loadings), joined = some_starts(60, k=30), some_decoder(k=30), some_graphs(60)
    left = [wrong(refine(starts, mean, loadings, joined, steps), mean, loadings, joined).sum()
            for steps in (0, 30, 300)]  # fmt: skip
    assert left[0] > 2 * left[1] and left[1] > left[2]


def descended(
    start: np.ndarray, mean: np.ndarray, loadings: np.ndarray, joined: np.ndarray, steps: int, hot: float
) -> np.ndarray:
    """The same refinement by autograd and torch's Adam, in float64."""
    n = len(joined)
    offset, axes = torch.from_numpy(mean[:n]).double(), torch.from_numpy(loadings[:, :n]).double()
    target, pair = torch.from_numpy(joined), torch.ones(n, n).triu(1).bool()
    point = torch.from_numpy(start).double().requires_grad_()
    adam = torch.optim.Adam([point], betas=(0.9, 0.99))
    best, states = (math.inf, math.inf), []
    for step in range(steps + 1):
        done = step / steps
        margin = torch_margins(offset + torch.tensordot(point, axes, 1))
        right = torch.where(target, margin, -margin)[pair]
        if (state := (int((right <= 0).sum()), int((right <= MARGIN).sum()))) < best:
            best, states = state, [point.detach().clone()]
        if best[1] == 0:
            break
        loss = focal(margin / (hot ** (1 - done) * COLD**done), target, 0.5, 0.0)[pair].sum()
        (point.grad,) = torch.autograd.grad(loss, point)
        adam.param_groups[0]["lr"] = RATE * 0.5 * (1 + math.cos(math.pi * done))
        adam.step()
    return states[0].numpy()


def test_it_is_adam_on_autograd_s_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    """One attempt of a few steps: over many, rounding grows."""
    monkeypatch.setattr(refinement, "ATTEMPTS", ((1.0, 0.3),))
    (mean, loadings), joined = some_decoder(), [random_graph(SLOTS, 0.25, seed).adjacency() for seed in range(25)]
    starts = some_starts(25)
    found = refine(starts, mean, loadings, joined, 8)
    expected = np.stack(
        [descended(start, mean, loadings, one, 8, 0.3) for start, one in zip(starts, joined, strict=True)]
    )
    assert (np.abs(found - starts).max(1) > RATE).sum() > 15
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_an_attempt_begins_at_the_best_of_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    starts, decoder, joined = some_starts(20), some_decoder(), some_graphs(20)
    found = refine(starts, *decoder, joined, 100)
    expected = starts
    for share, hot in refinement.ATTEMPTS:
        monkeypatch.setattr(refinement, "ATTEMPTS", ((1.0, hot),))
        expected = refine(expected, *decoder, joined, round(100 * share))
    np.testing.assert_array_equal(found, expected)
    left = [wrong(points, *decoder, joined).sum() for points in (refine(starts, *decoder, joined, 70), found)]
    assert left[1] < left[0]


# -- numbers beside the balls, and a pull ---


def beside(e: int, seed: int = 1, k: int = K) -> np.ndarray:
    """Loadings (k, slots, e) of further numbers."""
    return np.random.default_rng([seed, 2]).normal(size=(k, SLOTS, e)).astype(f32)


def free(n: int, e: int, weight: float = 30.0) -> Bounds:
    return Bounds(np.full((n, e), -FREE, f32), np.full((n, e), FREE, f32), np.full(e, weight, f32))


def decoded(points: np.ndarray, mean: np.ndarray, loadings: np.ndarray) -> np.ndarray:
    """All numbers of all slots, (G, slots, d + e)."""
    return mean + np.einsum("gk,ksd->gsd", points.astype(float), loadings.astype(float))


@pytest.mark.parametrize("width", [0.2, 1.0, 7.0])
def test_numbers_are_pushed_between_their_bounds(width: float) -> None:
    """The last number of a slot is no ball's; beyond a width of 1 none is pushed further in."""
    means, loadings, joined, points = around(EXACT)
    loadings = np.concatenate([loadings, beside(1)], axis=2)
    random = np.random.default_rng(1)
    moved = 0
    for mean, one, point in zip(means, joined, points, strict=True):
        middle = random.integers(0, 9, (SLOTS, 1)).astype(f32)
        mean = np.column_stack([mean, middle - np.tensordot(point, loadings[..., -1:], 1)]).astype(f32)
        low, high = middle[: len(one)] - f32(width / 2), middle[: len(one)] + f32(width / 2)
        bounds = [Bounds(low, high, np.array([300], f32))]
        assert np.array_equal(refine(point[None], mean, loadings, [one], 50, bounds=bounds)[0], point)
        start = (point + 0.3 * random.normal(size=K)).astype(f32)[None]
        found = refine(start, mean, loadings, [one], 2000, bounds=bounds)
        numbers, inner = decoded(found, mean, loadings)[0, : len(one), -1:], NEAR * min(width, 1) - 1e-4
        assert (low + inner <= numbers).all() and (numbers <= high - inner).all()
        moved += not np.array_equal(found, start)
        [right] = signed(found, mean[:, :-1], loadings[..., :-1], [one])
        assert right.min(initial=1) >= MARGIN - 1e-5
    assert moved >= 3


def test_one_bound_may_be_free() -> None:
    """Each number at 0 is to be beyond 1, or below -1, and no nearer than that."""
    mean, loadings = np.zeros((1, 2 + 4), f32), np.zeros((4, 1, 6), f32)
    loadings[:, 0, 2:] = np.eye(4)
    low = np.array([[1, 1, -FREE, -FREE]], f32)
    high = np.array([[FREE, FREE, -1, -1]], f32)
    starts = np.array([[0, 50, 0, -50]], f32)
    bounds = [Bounds(low, high, np.ones(4, f32))]
    [found] = refine(starts, mean, loadings, [np.zeros((1, 1), bool)], 300, bounds=bounds)
    assert 1 + NEAR <= found[0] < 2 and -2 < found[2] <= -1 - NEAR
    assert found[[1, 3]].tolist() == [50, -50]


def test_a_value_that_is_asked_for_is_never_wrong() -> None:
    """It does not begin a refinement, however far off it is."""
    means, loadings, joined, points = around(EXACT)
    loadings = np.concatenate([loadings, beside(2)], axis=2)
    for mean, one, point in zip(means, joined, points, strict=True):
        mean = np.pad(mean, ((0, 0), (0, 2)))
        wanted = np.full((len(one), 2), 40, f32)
        bounds = [Bounds(wanted, wanted, np.ones(2, f32))]
        assert np.array_equal(refine(point[None], mean, loadings, [one], 100, bounds=bounds)[0], point)


def test_values_are_approached_softly() -> None:
    count = 30
    (mean, loadings), joined, starts = some_decoder(), some_graphs(count), some_starts(count)
    mean, loadings = np.pad(mean, ((0, 0), (0, 1))), np.concatenate([loadings, beside(1)], axis=2)
    wanted = [np.random.default_rng(n).normal(size=(len(one), 1)).astype(f32) for n, one in enumerate(joined)]
    distances = []
    for weight in (0, 1):
        bounds = [Bounds(own, own, np.array([weight], f32)) for own in wanted]
        found = refine(starts, mean, loadings, joined, 100, bounds=bounds)
        numbers = decoded(found, mean, loadings)[..., -1:]
        distances.append(np.mean([np.abs(a[: len(b)] - b).mean() for a, b in zip(numbers, wanted, strict=True)]))
        after = wrong(found, mean[:, :D], loadings[..., :D], joined, slack=-1e-4)
        assert (after <= wrong(starts, mean[:, :D], loadings[..., :D], joined, slack=1e-4)).all()
    assert distances[0] > 1.1 * distances[1]


@pytest.mark.parametrize("weight", [0.0, 30.0])
def test_bounds_that_are_free_change_nothing(weight: float) -> None:
    """However large the numbers beside the balls are."""
    count = 20
    (mean, loadings), joined, starts = some_decoder(), some_graphs(count), some_starts(count)
    expected = refine(starts, mean, loadings, joined, 20)
    wide = np.concatenate([mean, 1e6 * beside(3)[0]], axis=1), np.concatenate([loadings, 1e3 * beside(3)], axis=2)
    found = refine(starts, *wide, joined, 20, bounds=[free(len(one), 3, weight) for one in joined])
    assert (expected != starts).any(1).sum() > 10
    np.testing.assert_allclose(found, expected, atol=1e-3)  # sums of more terms round otherwise
    right = (expected == starts).all(1)
    assert right.any() and np.array_equal(found[right], starts[right])


@settings(max_examples=30)
@given(st.integers(0, 2**16), st.sampled_from([1, 20, 150]), st.sampled_from([1.0, 30.0, 300.0]))
def test_never_more_wrong_pairs_and_numbers_than_at_the_start(seed: int, steps: int, weight: float) -> None:
    (mean, loadings), joined, starts = some_decoder(seed), some_graphs(4, seed), some_starts(4, seed)
    mean, loadings = np.pad(mean, ((0, 0), (0, 2))), np.concatenate([loadings, beside(2, seed)], axis=2)
    random = np.random.default_rng([seed, 3])
    bounds = []
    for one in joined:
        low = random.normal(size=(len(one), 2)).astype(f32)
        high = (low + random.choice([0.3, 1, FREE], low.shape)).astype(f32)
        bounds.append(Bounds(low, high, np.full(2, weight, f32)))

    def amiss(points: np.ndarray, hair: float) -> np.ndarray:
        numbers = decoded(points, mean, loadings)[..., D:]
        inside = [np.minimum(own[: len(b.low)] - b.low, b.high - own[: len(b.low)])
                  for own, b in zip(numbers, bounds, strict=True)]  # fmt: skip
        pairs = wrong(points, mean[:, :D], loadings[..., :D], joined, slack=hair)
        return pairs + np.array([(own <= hair).sum() for own in inside])

    found = refine(starts, mean, loadings, joined, steps, bounds=bounds)
    assert (amiss(found, -1e-4) <= amiss(starts, 1e-4)).all()


def test_bounds_are_a_graph_s_own() -> None:
    """Those of the graphs beside it, and of slots beyond it, play no part."""
    count = 12
    (mean, loadings), joined, starts = some_decoder(), some_graphs(count), some_starts(count)
    mean, loadings = np.pad(mean, ((0, 0), (0, 2))), np.concatenate([loadings, beside(2)], axis=2)
    random = np.random.default_rng(0)
    lows = [random.normal(size=(len(one), 2)).astype(f32) for one in joined]
    bounds = [Bounds(low, low + f32(1), np.full(2, 30, f32)) for low in lows]
    together = refine(starts, mean, loadings, joined, 60, bounds=bounds)
    for graph in range(count):
        alone = slice(graph, graph + 1)
        found = refine(starts[alone], mean, loadings, joined[alone], 60, bounds=bounds[alone])
        assert np.array_equal(found[0], together[graph])
    unbound = refine(starts, mean, loadings, joined, 60, bounds=[free(len(one), 2) for one in joined])
    assert (unbound != together).any(1).sum() > count / 2


def test_a_pull_keeps_points_near_the_mean() -> None:
    starts, (mean, loadings), joined = some_starts(40, k=30), some_decoder(k=30), some_graphs(40)
    ends = [refine(starts, mean, loadings, joined, 300, pull=pull) for pull in (0.0, 0.01, 1.0)]
    lengths = [float(np.linalg.norm(end, axis=1).mean()) for end in ends]
    assert lengths[0] > lengths[1] > lengths[2]
    assert np.array_equal(ends[0], refine(starts, mean, loadings, joined, 300))
    right = wrong(starts, mean, loadings, joined, slack=MARGIN + 1e-4) == 0
    assert right.any() and all(np.array_equal(end[right], starts[right]) for end in ends)


# -- each by itself ---


def test_the_graphs_beside_it_change_no_bit() -> None:
    count = 30
    (mean, loadings), joined, starts = some_decoder(), some_graphs(count), some_starts(count)
    joined += [random_graph(SLOTS, 0.25, seed).adjacency() for seed in range(count)]
    starts = np.concatenate([starts, some_starts(count, seed=9)])
    together = refine(starts, mean, loadings, joined, 120)
    assert (together != starts).any(1).sum() > count
    order = np.random.default_rng(0).permutation(len(joined))
    shuffled = refine(starts[order], mean, loadings, [joined[i] for i in order], 120)
    assert np.array_equal(shuffled, together[order])
    for graph in range(0, len(joined), 5):
        n = len(joined[graph])
        alone = refine(starts[graph : graph + 1], mean[:n], loadings[:, :n], joined[graph : graph + 1], 120)
        assert np.array_equal(alone[0], together[graph])


def test_slots_beyond_a_graph_play_no_part() -> None:
    (mean, loadings), joined, starts = some_decoder(), [random_graph(7, 0.3, 1).adjacency()], some_starts(1)
    found = refine(starts, mean, loadings, joined, 60)
    mean[7:], loadings[:, 7:] = np.nan, np.inf
    assert np.array_equal(refine(starts, mean, loadings, joined, 60), found)


def test_layout_does_not_matter() -> None:
    (mean, loadings), starts, joined = some_decoder(), some_starts(10), some_graphs(10)
    found = refine(starts, mean, loadings, joined, 40)
    columns = [np.asfortranarray(array) for array in (starts, mean, loadings)]
    assert np.array_equal(refine(*columns, [np.asfortranarray(one) for one in joined], 40), found)
    loops = [one | np.eye(len(one), dtype=bool) for one in joined]  # what the diagonal says is not read
    assert np.array_equal(refine(starts, mean, loadings, loops, 40), found)


# -- numbers without limits ---

POWERS = st.integers(-30, 30)


@settings(max_examples=60)
@given(st.integers(0, 2**16), POWERS, POWERS, POWERS, POWERS)
def test_no_number_is_ever_lost(seed: int, start: int, mean: int, loading: int, radius: int) -> None:
    """Whatever overflows ends the refinement: a finite point stays one, and is not worse than the start."""
    (middle, loadings), joined, starts = some_decoder(seed), some_graphs(5, seed), some_starts(5, seed)
    starts, middle, loadings = starts * f32(10.0**start), middle * f32(10.0**mean), loadings * f32(10.0**loading)
    middle[:, -1] *= f32(10.0 ** min(radius, 38 - max(mean, 0) - 1))
    found = refine(starts, middle, loadings, joined, 25)
    assert np.isfinite(found).all()
    balls = np.abs(middle) + np.einsum("gk,ksd->gsd", np.abs(starts).astype(float), np.abs(loadings).astype(float))
    for graph in np.flatnonzero((balls > REACH).any((1, 2))):
        if not np.array_equal(found[graph], starts[graph]):  # its own slots are within reach
            n = len(joined[graph])
            own = middle[:n] + np.tensordot(starts[graph].astype(float), loadings[:, :n], 1)
            assert np.abs(own).max() <= 1.001 * REACH


def test_what_is_not_finite_stays_with_its_graph() -> None:
    (mean, loadings), joined, starts = some_decoder(), some_graphs(4), some_starts(4)
    expected = refine(starts, mean, loadings, joined, 40)
    starts[1, 3], starts[2, 0] = np.nan, np.inf
    found = refine(starts, mean, loadings, joined, 40)
    assert np.array_equal(found[[1, 2]], starts[[1, 2]], equal_nan=True)
    assert np.array_equal(found[[0, 3]], expected[[0, 3]])


def test_a_refinement_that_overflows_keeps_its_best_state() -> None:
    """Loadings so large that one step is beyond reach."""
    mean, loadings = some_decoder(scale=1e12)
    joined = some_graphs(8)
    starts = np.zeros((8, K), f32)
    assert wrong(starts, mean, loadings, joined).any()
    assert np.array_equal(refine(starts, mean, loadings, joined, 50), starts)
