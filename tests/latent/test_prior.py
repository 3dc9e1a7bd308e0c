"""Priors: exact inverses, densities that integrate, draws that look like the data, conditions that hold."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import kstest, multivariate_normal

from geogae.errors import GeoGAEError
from geogae.latent.flow import FlowPrior
from geogae.latent.interpolation import paths
from geogae.latent.mixture import MixturePrior
from geogae.latent.prior import GaussianPrior, Prior, find, slerp


def ring(count: int, seed: int = 0) -> np.ndarray:
    """Points on a noisy circle, and a third number that follows from the first: no normal distribution is like it."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, count)
    flat = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.05 * rng.normal(size=(count, 2))
    return np.column_stack([3 * flat, np.sign(flat[:, 0]) + 0.05 * rng.normal(size=count)]).astype(np.float32)


@pytest.fixture(scope="module")
def fitted() -> FlowPrior:
    torch.set_num_threads(1)
    z = ring(3000)
    return FlowPrior().fit(z, {"height": z[:, 1]}, core_minutes=0.15)


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


@pytest.mark.parametrize("kind", [GaussianPrior, MixturePrior])
def test_temperature_scales_the_spread_of_draws(kind: type[Prior]) -> None:
    prior = kind().fit(np.random.default_rng(0).normal(size=(15, 3)))  # one component in a mixture
    spread = [prior.sample(500, seed=1, temperature=t).std(0) for t in (0.0, 1.0, 2.0)]
    np.testing.assert_allclose(spread[0], 0, atol=1e-6)
    np.testing.assert_allclose(spread[2], 2 * spread[1], rtol=1e-4)
    with pytest.raises(GeoGAEError, match="temperature"):
        prior.sample(5, temperature=-1.0)


def test_flow_is_invertible(fitted: FlowPrior) -> None:
    z = ring(300, seed=1)
    np.testing.assert_allclose(fitted.from_normal(fitted.to_normal(z)), z, atol=0.05)
    given = {"height": z[:, 1]}
    np.testing.assert_allclose(fitted.from_normal(fitted.to_normal(z, given), given), z, atol=0.05)
    assert fitted.log_prob(z[:50]).mean() > fitted.log_prob(z[:50] + 4).mean() + 2


def test_flow_learns_what_no_normal_distribution_has(fitted: FlowPrior) -> None:
    drawn = fitted.sample(1000, seed=3)
    assert np.mean(np.abs(np.hypot(drawn[:, 0], drawn[:, 1]) - 3) < 0.6) > 0.8
    assert np.mean(np.sign(drawn[:, 0]) == np.sign(drawn[:, 2])) > 0.8
    normal = fitted.to_normal(ring(1000, seed=2))
    assert max(kstest(column, "norm").statistic for column in normal.T) < 0.3
    upper = fitted.sample(300, given={"height": 3.0}, guidance=1.5)
    assert upper[:, 1].mean() > 1.5


def test_denoising_moves_draws_to_the_data(fitted: FlowPrior) -> None:
    z = ring(500, seed=5)
    noisy = fitted.blurred(z, 0.2)

    def off(points: np.ndarray) -> float:
        return float(np.mean(np.abs(np.hypot(points[:, 0], points[:, 1]) - 3)))

    assert off(fitted.denoised(noisy)) < off(noisy)
    np.testing.assert_array_equal(GaussianPrior().fit(z).denoised(noisy), noisy)


def test_restarts_pull_draws_to_the_data(fitted: FlowPrior) -> None:
    off = ring(500, seed=4) + np.random.default_rng(5).normal(0, 0.6, (500, 3)).astype(np.float32)
    back = fitted.restarted(off, (0.6, 0.8), np.random.default_rng(6))
    again = fitted.restarted(off, (0.6, 0.8), np.random.default_rng(6))
    away = [np.abs(np.hypot(z[:, 0], z[:, 1]) - 3).mean() for z in (off, back)]
    assert away[1] < 0.5 * away[0]
    np.testing.assert_array_equal(back, again)
    np.testing.assert_array_equal(fitted.restarted(off, (), np.random.default_rng(0)), off)


def test_flow_comes_back_from_its_state(fitted: FlowPrior) -> None:
    again = FlowPrior.from_state(fitted.state())
    np.testing.assert_array_equal(again.sample(20, seed=5), fitted.sample(20, seed=5))
    assert again.conditions == ("height",)


def test_a_basis_changes_no_density() -> None:
    z = ring(400)
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0] @ np.diag([1.0, 2.0, 0.5])
    prior = FlowPrior().fit(z, basis=basis, core_minutes=0.01)
    np.testing.assert_allclose(prior.from_normal(prior.to_normal(z)), z, atol=1e-2)


@pytest.mark.parametrize("kind", [FlowPrior, GaussianPrior])
def test_paths_have_their_ends(fitted: FlowPrior, kind: type) -> None:
    z = ring(6, seed=4)
    prior = fitted if kind is FlowPrior else GaussianPrior().fit(ring(300))
    ways = prior.between(z[:3], z[3:], [0.0, 0.5, 1.0])
    assert ways.shape == (3, 3, 3)
    near = 0.5 if kind is FlowPrior else 1e-4  # a flow denoises
    np.testing.assert_allclose(ways[:, 0], z[:3], atol=near)
    np.testing.assert_allclose(ways[:, 2], z[3:], atol=near)
    whole = paths(prior, z[:3], z[3:], 5)
    np.testing.assert_array_equal(whole[:, [0, -1]], np.stack([z[:3], z[3:]], axis=1))
    np.testing.assert_allclose(whole[:, 2], ways[:, 1], atol=1e-5)
    assert paths(prior, z[:3], z[3:], 2).shape == (3, 2, 3)


def test_resumed_is_uninterrupted(tmp_path, monkeypatch) -> None:
    import geogae.latent.fitting as module

    clock = iter(range(10_000))
    monkeypatch.setattr(module.time, "process_time", lambda: float(next(clock)))  # one second a step
    z = ring(200)
    whole = FlowPrior().fit(z, core_minutes=0.5)

    def stop(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(module.Trainer, "_overfits", stop)
    with pytest.raises(KeyboardInterrupt):
        FlowPrior().fit(z, core_minutes=0.5, checkpoint=tmp_path / "prior.part")
    monkeypatch.setattr(module.Trainer, "_overfits", lambda self: False)
    resumed = FlowPrior().fit(z, core_minutes=0.5, checkpoint=tmp_path / "prior.part", resume=True)
    np.testing.assert_allclose(resumed.sample(10), whole.sample(10), atol=1e-5)
    for changed, rows in ((("data",), ring(200, 1)), (("seed",), z)):
        with pytest.raises(GeoGAEError, match=f"a prior with other {changed[0]}; resume with the same, or fit anew"):
            seed = int(changed == ("seed",))
            FlowPrior().fit(rows, core_minutes=0.5, seed=seed, checkpoint=tmp_path / "prior.part", resume=True)


def test_temperature_holds_in_restarts_of_a_flow(fitted: FlowPrior) -> None:
    assert np.ptp(fitted.sample(50, temperature=0.0), axis=0).max() < 1e-3  # one point
    assert fitted.sample(200, temperature=0.2).std(0).sum() < fitted.sample(200).std(0).sum()


@pytest.mark.parametrize("kind", [GaussianPrior, MixturePrior])
def test_what_only_a_flow_can_do_is_an_error(kind: type[Prior]) -> None:
    prior = kind().fit(ring(200))
    with pytest.raises(GeoGAEError, match=r"guidance=2.0 needs prior='flow'"):
        prior.sample(3, guidance=2.0)
    with pytest.raises(GeoGAEError, match="'logP' is no condition of this prior"):
        prior.log_prob(ring(3), {"logP": 1.0})


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
        (lambda p: FlowPrior().fit(ring(9), {"a": [1, 2]}), "9 finite numbers"),
        (lambda p: FlowPrior().fit(ring(1)), "at least 2 graphs"),
        (lambda p: find("flux"), "valid are flow"),
    ],
)
def test_wrong_input_is_one_clear_line(fitted: FlowPrior, call, words: str) -> None:
    with pytest.raises(GeoGAEError, match=words):
        call(fitted)


def test_great_circles_keep_lengths() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 50))
    points = slerp(one, other, [0, 0.5, 1])
    np.testing.assert_allclose(points[[0, 2]], [one, other], atol=1e-9)
    assert abs(np.linalg.norm(points[1]) - (np.linalg.norm(one) + np.linalg.norm(other)) / 2) < 1e-6
    np.testing.assert_allclose(slerp(one, one, [0.5])[0], one)
