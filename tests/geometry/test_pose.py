"""The canonical pose: no rigid motion changes it, whatever the symmetry; applied twice it is the same."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ortho_group

from geogae.geometry.pose import canonical_pose


def polygon(n: int) -> np.ndarray:
    angle = np.arange(n) * 2 * np.pi / n
    return np.column_stack([np.cos(angle), np.sin(angle)])


def flat(points: np.ndarray, dimensions: int) -> np.ndarray:
    return np.pad(points, ((0, 0), (0, dimensions - points.shape[1])))


SYMMETRIC = {
    "triangle": polygon(3),
    "square": polygon(4),
    "17-gon": polygon(17),
    "polygon in space": flat(polygon(6), 4),
    "prism": np.vstack([np.c_[polygon(5), np.full(5, z)] for z in (-3.0, 3.0)]),
    "cube": np.array(list(itertools.product([-1.0, 1.0], repeat=3))),
    "cross-polytope": np.vstack([np.eye(5), -np.eye(5)]),
    "simplex": np.eye(4),
    "two squares": np.hstack([polygon(4), 2 * polygon(4)[::-1]]),
    "collinear": np.outer(np.arange(7.0), [1.0, 2.0, -1.0]),
    "single point": np.array([[3.0, 4.0]]),
    "two points": np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 2.0]]),
    "three points of six dimensions": np.eye(6)[:3] * [[1], [2], [3]],
    "coincident": np.full((5, 3), 2.5),
    "coincident but for one": np.vstack([np.zeros((4, 3)), np.ones((1, 3))]),
    "one dimension": np.array([[0.0], [5.0], [1.0]]),
}


def moved(points: np.ndarray, seed: int) -> np.ndarray:
    """After a random translation, rotation and, for half of the seeds, a reflection."""
    random = np.random.default_rng(seed)
    dimensions = points.shape[1]
    rotation = (
        ortho_group.rvs(dimensions, random_state=random) if dimensions > 1 else random.choice([[[1.0]], [[-1.0]]])
    )
    return points @ rotation + random.normal(scale=3, size=dimensions)


def assert_a_pose_of(posed: np.ndarray, points: np.ndarray) -> None:
    """The same points, centred, on principal axes in falling order, with third moments that are not negative."""
    apart = np.linalg.norm(points[:, None] - points, axis=-1)
    np.testing.assert_allclose(np.linalg.norm(posed[:, None] - posed, axis=-1), apart, atol=1e-5 * apart.max())
    scale = max(float(np.abs(posed).max()), 1e-9)
    np.testing.assert_allclose(posed.mean(axis=0), 0, atol=1e-9 * scale)
    gram = posed.T @ posed
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-5 * scale**2 * len(points))
    assert (np.diff(np.diag(gram)) <= 1e-5 * scale**2 * len(points)).all()
    assert ((posed**3).sum(axis=0) >= -1e-5 * scale**3 * len(points)).all()


@pytest.mark.parametrize("name", SYMMETRIC)
def test_rigid_motions_of_symmetric_clouds(name: str) -> None:
    points = SYMMETRIC[name]
    posed = canonical_pose(points)
    assert_a_pose_of(posed, points)
    np.testing.assert_allclose(canonical_pose(posed), posed, atol=1e-7)
    for seed in range(8):
        np.testing.assert_allclose(canonical_pose(moved(points, seed)), posed, atol=1e-7)


@given(st.integers(1, 12), st.integers(1, 7), st.floats(1e-3, 1e3), st.integers(0, 2**32))
def test_rigid_motions_of_random_clouds(n: int, dimensions: int, size: float, seed: int) -> None:
    points = size * np.random.default_rng(seed).normal(size=(n, dimensions)).round(2)
    posed = canonical_pose(points)
    assert posed.shape == (n, dimensions)
    assert_a_pose_of(posed, points)
    np.testing.assert_allclose(canonical_pose(posed), posed, atol=1e-6 * size)
    np.testing.assert_allclose(canonical_pose(moved(points, seed)), posed, atol=1e-6 * size)


@given(st.integers(1, 8), st.integers(1, 4), st.integers(0, 2**32))
def test_rigid_motions_of_lattice_clouds(n: int, dimensions: int, seed: int) -> None:
    """Points of {-1, 0, 1}^D: singular values and moments tie, vanish and coincide in every way."""
    points = np.random.default_rng(seed).integers(-1, 2, size=(n, dimensions)).astype(float)
    posed = canonical_pose(points)
    assert_a_pose_of(posed, points)
    np.testing.assert_allclose(canonical_pose(posed), posed, atol=1e-7)
    np.testing.assert_allclose(canonical_pose(moved(points, seed)), posed, atol=1e-7)


def test_nodes_decide_where_axes_tie() -> None:
    """All axes of a square are principal: the first node of the farthest gives the first one."""
    np.testing.assert_allclose(canonical_pose(polygon(4)), [[1, 0], [0, 1], [-1, 0], [0, -1]], atol=1e-12)
    np.testing.assert_allclose(canonical_pose(polygon(4) @ [[0, 1], [-1, 0]]), canonical_pose(polygon(4)), atol=1e-12)


def test_float32_is_posed_in_float64() -> None:
    points = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32)
    posed = canonical_pose(points)
    assert posed.dtype == np.float64
    np.testing.assert_allclose(canonical_pose(points + np.float32(1000)), posed, atol=1e-3)
