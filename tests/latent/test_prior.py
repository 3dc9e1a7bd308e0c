"""Priors: exact inverses, densities that integrate, draws that look like the data, conditions that hold."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import kstest, multivariate_normal

from geogae.errors import GeoGAEError
from geogae.latent.autoregressive import AutoregressivePrior
from geogae.latent.bins import Bins
from geogae.latent.flow import FlowPrior
from geogae.latent.masked import MaskedNetwork, Stepper
from geogae.latent.mixture import MixturePrior
from geogae.latent.prior import GaussianPrior, find, slerp


def ring(count: int, seed: int = 0) -> np.ndarray:
    """Points on a noisy circle, and a third number that follows from the first: no normal distribution is like it."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, count)
    flat = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.05 * rng.normal(size=(count, 2))
    return np.column_stack([3 * flat, np.sign(flat[:, 0]) + 0.05 * rng.normal(size=count)]).astype(np.float32)


@pytest.fixture(scope="module")
def fitted() -> AutoregressivePrior:
    torch.set_num_threads(1)
    z = ring(3000)
    return AutoregressivePrior().fit(z, {"height": z[:, 1]}, core_minutes=0.08)


def test_gaussian_density_and_inverse() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(500, 3)) @ np.array([[2, 0.3, 0], [0, 1, -0.5], [0, 0, 0.2]]) + [1, 2, 3]
    prior = GaussianPrior().fit(z)
    expected = multivariate_normal(z.mean(0), np.cov(z.T, bias=True)).logpdf(z)
    np.testing.assert_allclose(prior.log_prob(z), expected, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(prior.from_normal(prior.to_normal(z)), z, atol=1e-5)
    again = GaussianPrior.from_state(prior.state())
    np.testing.assert_array_equal(again.sample(5, seed=1), prior.sample(5, seed=1))


def test_gaussian_conditions_shift_the_mean() -> None:
    rng = np.random.default_rng(0)
    c = rng.normal(size=400)
    z = np.column_stack([2 * c, rng.normal(size=400)])
    drawn = GaussianPrior().fit(z, {"c": c}).sample(200, given={"c": 1.5})
    assert abs(drawn[:, 0].mean() - 3) < 0.05
    assert abs(drawn[:, 1].mean()) < 0.3


def test_bins_have_a_place_for_every_number() -> None:
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=2000), np.full(2000, 7.0), rng.integers(0, 3, 2000)]).astype(float)
    bins = Bins.of(rows, 16)
    tested = np.concatenate([rows[:50], [[9.0, 7.00001, 4.0], [-9.0, 6.99999, -2.0]]])
    place, share = bins.place(tested)
    back = np.column_stack([bins.number(c, place[:, c], share[:, c]) for c in range(3)])
    np.testing.assert_allclose(back, tested, atol=1e-5)
    grid = np.linspace(-30, 30, 200_001)[:, None].repeat(3, 1)
    place, share = bins.place(grid)
    one_bin = np.exp(bins.log_density(place, share))  # each bin's density integrates to 1
    width = grid[1, 0] - grid[0, 0]
    for wanted in (0, 5, 15):
        assert abs(one_bin[place[:, 0] == wanted, 0].sum() * width - 1) < 0.02


def test_stepping_gives_the_logits_of_one_pass() -> None:
    torch.manual_seed(0)
    network = MaskedNetwork(5, 7, 2, units=3, blocks=2)
    for part in network.parameters():
        torch.nn.init.normal_(part, std=0.3)
    bins, numbers, given = torch.randint(7, (4, 5)), torch.randn(4, 5), torch.randn(4, 2)
    with torch.no_grad():
        whole = network(bins, numbers, given)
        stepper = Stepper(network, 4, given)
        for i in range(5):
            torch.testing.assert_close(stepper.logits(), whole[:, i], atol=1e-5, rtol=1e-4)
            stepper.append(bins[:, i], numbers[:, i])
        numbers[:, 3], bins[:, 3] = 9.0, (bins[:, 3] + 1) % 7  # a number says nothing of itself or earlier ones
        torch.testing.assert_close(network(bins, numbers, given)[:, :4], whole[:, :4])


def test_autoregressive_is_exact_in_both_directions(fitted: AutoregressivePrior) -> None:
    z = ring(300, seed=1)
    np.testing.assert_allclose(fitted.from_normal(fitted.to_normal(z)), z, atol=1e-4)
    far = np.array([[40.0, -40.0, 9.0]])
    assert np.isfinite(fitted.log_prob(far)).all() and fitted.log_prob(far)[0] < fitted.log_prob(z).min()
    given = {"height": z[:, 1]}
    np.testing.assert_allclose(fitted.from_normal(fitted.to_normal(z, given), given), z, atol=1e-4)


def test_autoregressive_learns_what_no_normal_distribution_has(fitted: AutoregressivePrior) -> None:
    drawn = fitted.sample(1000, seed=3)
    assert np.mean(np.abs(np.hypot(drawn[:, 0], drawn[:, 1]) - 3) < 0.6) > 0.85
    assert np.mean(np.sign(drawn[:, 0]) == np.sign(drawn[:, 2])) > 0.9
    assert fitted.log_prob(ring(300, 1)).mean() > GaussianPrior().fit(ring(3000)).log_prob(ring(300, 1)).mean() + 1
    normal = fitted.to_normal(ring(1000, seed=2))
    assert max(kstest(column, "norm").statistic for column in normal.T) < 0.1
    upper = fitted.sample(300, given={"height": 3.0}, guidance=1.5)
    assert upper[:, 1].mean() > 2


def test_autoregressive_comes_back_from_its_state(fitted: AutoregressivePrior) -> None:
    again = AutoregressivePrior.from_state(fitted.state())
    np.testing.assert_array_equal(again.sample(20, seed=5), fitted.sample(20, seed=5))
    assert again.conditions == ("height",)


@pytest.mark.slow
def test_flow() -> None:
    z = ring(3000)
    prior = FlowPrior().fit(z, {"height": z[:, 1]}, core_minutes=0.6)
    np.testing.assert_allclose(prior.from_normal(prior.to_normal(z[:100])), z[:100], atol=0.05)
    drawn = prior.sample(500, seed=3)
    assert np.mean(np.abs(np.hypot(drawn[:, 0], drawn[:, 1]) - 3) < 0.6) > 0.7
    assert prior.sample(200, given={"height": 3.0})[:, 1].mean() > 1.5
    assert prior.log_prob(z[:50]).mean() > prior.log_prob(z[:50] + 4).mean() + 2
    again = FlowPrior.from_state(prior.state())
    np.testing.assert_array_equal(again.sample(9, seed=5), prior.sample(9, seed=5))


def test_a_basis_changes_no_density() -> None:
    z = ring(400)
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0] @ np.diag([1.0, 2.0, 0.5])
    prior = AutoregressivePrior().fit(z, basis=basis, core_minutes=0.01)
    np.testing.assert_allclose(prior.from_normal(prior.to_normal(z)), z, atol=1e-4)


def test_resumed_is_uninterrupted(tmp_path, monkeypatch) -> None:
    import geogae.latent.fitting as module

    clock = iter(range(10_000))
    monkeypatch.setattr(module.time, "process_time", lambda: float(next(clock)))  # one second a step
    z = ring(200)
    whole = AutoregressivePrior().fit(z, core_minutes=0.5)

    def stop(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(module.Trainer, "_overfits", stop)
    with pytest.raises(KeyboardInterrupt):
        AutoregressivePrior().fit(z, core_minutes=0.5, checkpoint=tmp_path / "prior.part")
    monkeypatch.setattr(module.Trainer, "_overfits", lambda self: False)
    resumed = AutoregressivePrior().fit(z, core_minutes=0.5, checkpoint=tmp_path / "prior.part", resume=True)
    np.testing.assert_allclose(resumed.sample(10), whole.sample(10), atol=1e-5)


def test_mixture_draws_and_says_what_it_is_not() -> None:
    prior = MixturePrior().fit(ring(600))
    assert prior.log_prob(ring(100, 1)).mean() > GaussianPrior().fit(ring(600)).log_prob(ring(100, 1)).mean()
    assert MixturePrior.from_state(prior.state()).sample(4).shape == (4, 3)
    with pytest.raises(GeoGAEError, match="no invertible map"):
        prior.to_normal(ring(3))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda p: p.sample(3, given={"logP": 2.0}), "logP.*fitted with height"),
        (lambda p: p.sample(3, given={"height": float("nan")}), "finite number"),
        (lambda p: p.log_prob(np.zeros((2, 5))), r"shape \(2, 5\)"),
        (lambda p: p.log_prob(np.full((2, 3), np.inf)), "not finite"),
        (lambda p: GaussianPrior().fit(ring(9)).sample(3, given={"a": 1}), "without any"),
        (lambda p: AutoregressivePrior().fit(ring(9), {"a": [1, 2]}), "9 finite numbers"),
        (lambda p: AutoregressivePrior().fit(ring(1)), "at least 2 graphs"),
        (lambda p: find("flux"), "valid are flow"),
    ],
)
def test_wrong_input_is_one_clear_line(fitted: AutoregressivePrior, call, words: str) -> None:
    with pytest.raises(GeoGAEError, match=words):
        call(fitted)


def test_great_circles_keep_lengths() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 50))
    points = slerp(one, other, [0, 0.5, 1])
    np.testing.assert_allclose(points[[0, 2]], [one, other], atol=1e-9)
    assert abs(np.linalg.norm(points[1]) - (np.linalg.norm(one) + np.linalg.norm(other)) / 2) < 1e-6
    np.testing.assert_allclose(slerp(one, one, [0.5])[0], one)
