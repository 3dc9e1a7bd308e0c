"""Principal axes, those that complete them, and random ones: orthonormal, as many as can be, where they are needed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from geogae.autoencoders.axes import completed, principal_components, random_axes


@given(hnp.arrays(np.float64, (6, 6), elements=st.integers(-9, 9).map(float)), st.integers(1, 8))
def test_both_gram_matrices_give_the_same(rows, count):
    """A row that is the mean widens nothing; columns of zeros are no variance."""
    tall = np.concatenate([rows, [rows.mean(0)]])
    wide = np.pad(tall, ((0, 0), (0, 9)))
    (mean, axes, deviations), (wide_mean, wide_axes, wide_deviations) = (
        principal_components(table, count) for table in (tall, wide)
    )
    assert len(tall) >= tall.shape[1] and len(wide) < wide.shape[1]
    assert wide_mean == pytest.approx(np.pad(mean, (0, 9)))
    assert len(axes) == len(wide_axes) <= min(count, 6)
    assert wide_deviations == pytest.approx(deviations, rel=1e-6, abs=1e-9)
    for found in (axes, wide_axes):
        assert found @ found.T == pytest.approx(np.eye(len(found)), abs=1e-6)
    assert ((tall - mean) @ axes.T).std(0) == pytest.approx(deviations, rel=1e-6, abs=1e-6)
    assert ((wide - wide_mean) @ wide_axes.T).std(0) == pytest.approx(deviations, rel=1e-6, abs=1e-6)


def test_an_axis_points_where_its_largest_number_is_positive():
    rows = np.random.default_rng(0).normal(size=(30, 5)) * (5, 4, 3, 2, 1)
    for mirrored in (rows, -rows):
        _, axes, _ = principal_components(mirrored, 5)
        assert (axes[np.arange(5), np.abs(axes).argmax(1)] > 0).all()


@given(st.integers(1, 12), st.integers(0, 12), st.integers(1, 14), st.integers(0, 2**16), st.booleans())
def test_completed_axes_are_orthonormal_and_as_many_as_can_be(p, k, count, seed, sparse):
    random = np.random.default_rng(seed)
    numbers = random.normal(size=(p, min(k, p))) * (random.random((p, min(k, p))) < (0.3 if sparse else 1))
    basis, triangle = np.linalg.qr(numbers)
    axes = basis.T[np.abs(np.diag(triangle)) > 1e-6]
    found = completed(axes, count)
    assert np.array_equal(found[: len(axes)], axes)
    assert len(found) == max(len(axes), min(count, p))
    assert found @ found.T == pytest.approx(np.eye(len(found)), abs=1e-9)


def test_completed_where_the_most_missed_coordinates_are_missed_alike():
    """What is left of the first two unit vectors is one direction, so a third coordinate must help."""
    axes = np.zeros((3, 5))
    axes[0, :2] = 0.5**0.5
    axes[1, 2:] = np.array([1, -1, 0]) / 2**0.5
    axes[2, 2:] = np.array([1, 1, -2]) / 6**0.5
    assert completed(axes, 5).shape == (5, 5)


def padded_numbers(sizes, d, seed=0):
    random = np.random.default_rng(seed)
    numbers = random.normal(size=(len(sizes), max(sizes), d)) * 3.0 ** -np.arange(d)
    return numbers * (np.arange(max(sizes)) < np.array(sizes)[:, None])[..., None]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=9), st.integers(1, 20), st.integers(1, 20), st.integers(0, 99))
def test_random_axes_are_orthonormal_and_across_the_others(sizes, count, more, seed):
    rows = padded_numbers(sizes, 3, seed)
    p = rows[0].size
    axes = completed(principal_components(rows.reshape(len(rows), -1), count)[1], count)
    drawn, deviations = random_axes(axes, rows, np.array(sizes), more)
    assert len(drawn) == min(more, p - len(axes))
    both = np.concatenate([axes, drawn])
    assert both @ both.T == pytest.approx(np.eye(len(both)), abs=1e-6)  # principal axes of no variance round
    assert both @ drawn.T == pytest.approx(np.eye(len(both))[:, len(axes) :], abs=1e-9)
    offsets = (rows - rows.mean(0)).reshape(len(rows), -1)
    assert deviations == pytest.approx((offsets @ drawn.T).std(0))
    again, _ = random_axes(axes, rows, np.array(sizes), more)
    assert np.array_equal(again, drawn)


def test_random_axes_lean_to_the_places_that_vary_and_the_slots_that_graphs_reach():
    rows = padded_numbers([12] * 5 + [4] * 45, 3)
    drawn, _ = random_axes(np.zeros((0, 36)), rows, np.array([12] * 5 + [4] * 45), 6)
    weight = (drawn**2).sum(0).reshape(12, 3)
    assert (np.diff(weight.sum(0)) < 0).all() and weight[:4].mean() > 2 * weight[4:].mean()
    assert weight[4:].min() > 0  # yet none is out of reach
