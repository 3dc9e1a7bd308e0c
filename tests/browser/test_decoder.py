"""The decoder in the browser gives what Python gives: the same sizes, edges and categories."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import models
import numpy as np
import pytest

from conftest import Open
from geogae import GeoGAE, Graph, datasets
from geogae.pages import explore

pytestmark = pytest.mark.browser

DECODE = """rows => rows.map((z) => {
  const graph = geogae.decode(z);
  return [graph.n, graph.edges, graph.nodeCodes, graph.edgeCodes];
})"""


def flat(graph: Graph, field: str) -> list[int] | None:
    table = getattr(graph, field)
    return None if table is None or not table.size else table.ravel().tolist()


@pytest.mark.parametrize(
    ("make", "graphs"),
    [
        (models.plain, datasets.load("MUTAG")),
        (models.social, models.circles()),
        (models.molecules, datasets.load("MUTAG")),
    ],
    ids=["linear", "twins", "leaves, twins and attributes"],
)
def test_a_thousand_random_z(make: Callable[[], GeoGAE], graphs: list[Graph], open_page: Open, tmp_path: Path) -> None:
    model = make()
    explore(model, graphs, tmp_path / "map.html")
    page = open_page(tmp_path / "map.html")
    z = model.encode(graphs)
    draws = np.random.default_rng(1).normal(size=(1000, z.shape[1]))
    random = (z.mean(0) + 1.5 * z.std(0) * draws).astype(np.float32)
    found = page.evaluate(DECODE, random.tolist())
    for graph, (n, edges, nodes, kinds) in zip(model.decode(random), found, strict=True):
        assert graph.n == n
        assert graph.edges.ravel().tolist() == edges
        assert flat(graph, "node_categorical") == nodes
        assert flat(graph, "edge_categorical") == (kinds or None)
    assert len({graph.n for graph in model.decode(random)}) > 5  # larger and smaller than any training graph
