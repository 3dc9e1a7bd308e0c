"""Node orders: permutations, sorted along the axis, and Algorithm 1 as it is written."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geogae.geometry.cloud import softplus
from geogae.geometry.fitting import fit_clouds
from geogae.geometry.ordering import NEAREST, ORDERS, axis_order, greedy_order
from geogae.graph import Graph


def algorithm_1(centers: np.ndarray, radii_raw: np.ndarray) -> list[int]:
    """Appendix B.1, line by line."""
    middle, f = centers.mean(axis=0), softplus(radii_raw.astype(float))
    from_middle = [max(float(np.linalg.norm(x - middle)), NEAREST) for x in centers]

    def least(nodes: list[int], key: Callable[[int], float]) -> int:
        """The smallest number among the nodes that are least, up to rounding."""
        values = [key(j) for j in nodes]
        return next(j for j, value in zip(nodes, values, strict=True) if value <= min(values) + 1e-9)

    order = [least(list(range(len(centers))), lambda j: math.log2(from_middle[j]) / 10)]
    left = [j for j in range(len(centers)) if j != order[0]]
    while left:
        last = order[-1]

        def score(j: int, last: int = last) -> float:
            apart = float(np.linalg.norm(centers[j] - centers[last]))
            return apart / (0.5 * (f[j] + f[last])) + math.log2(from_middle[j]) / 10

        order.append(least(left, score))
        left.remove(order[-1])
    return order


CLOUDS = st.tuples(st.integers(1, 40), st.integers(1, 6), st.integers(0, 2**32))


def cloud(shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    n, dimensions, seed = shape
    random = np.random.default_rng(seed)
    return random.normal(size=(n, dimensions)), random.normal(size=n)


@given(CLOUDS)
def test_greedy_is_algorithm_1(shape: tuple[int, int, int]) -> None:
    centers, raw = cloud(shape)
    assert greedy_order(centers, raw).tolist() == algorithm_1(centers, raw)


@given(CLOUDS)
def test_axis_order_is_sorted(shape: tuple[int, int, int]) -> None:
    centers, raw = cloud(shape)
    order = axis_order(centers, raw)
    assert (np.diff(centers[order, 0]) >= 0).all()


@given(CLOUDS, st.sampled_from(list(ORDERS)))
def test_orders_are_permutations(shape: tuple[int, int, int], name: str) -> None:
    centers, raw = cloud(shape)
    centers = centers.round()  # many balls coincide
    assert sorted(ORDERS[name](centers.astype(np.float32), raw.astype(np.float32))) == list(range(len(raw)))


@pytest.mark.parametrize("order", ORDERS.values())
def test_coincident_balls_go_by_number(order) -> None:  # type: ignore[no-untyped-def]
    assert order(np.ones((6, 2)), np.zeros(6)).tolist() == list(range(6))


@pytest.mark.parametrize("order", ORDERS.values())
def test_extreme_radii(order) -> None:  # type: ignore[no-untyped-def]
    """A radius that vanishes makes every other ball infinitely far: the order is still one."""
    centers, raw = np.arange(10.0).reshape(5, 2), np.full(5, -1e5)
    assert sorted(order(centers, raw)) == list(range(5))


def test_an_order_is_registered_with_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ORDERS, "by radius", lambda centers, radii_raw: np.argsort(radii_raw, kind="stable"))
    (cloud,) = fit_clouds([Graph(4, [(0, 1), (0, 2), (0, 3)])], 3, order="by radius", cache=False)
    assert (np.diff(cloud.ordered().radii_raw) >= 0).all()
