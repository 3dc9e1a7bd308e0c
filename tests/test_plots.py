"""Pictures: what is drawn is what the clouds say."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PatchCollection

from geogae import GeoGAEError, Graph, HyperballCloud, fit_clouds
from geogae.plots import PALETTE, layout, plot_clouds, save_figure

STAR = Graph(6, [(0, i) for i in range(1, 6)], name="star")
RING = Graph(7, [(i, (i + 1) % 7) for i in range(7)], name="ring", node_categorical=[8, 6, 6, 6, 6, 6, 6])


def test_discs_and_edges_are_those_of_the_cloud() -> None:
    (cloud,) = fit_clouds(RING, 3)
    left, right = plot_clouds([cloud]).axes
    assert left.get_title() == "ring\n7 nodes, 7 edges"
    assert right.get_title() == f"discs, d = 3\nexact, margin {cloud.margin:.2f}"
    (discs,) = [c for c in right.collections if isinstance(c, PatchCollection)]
    areas = [np.ptp(path.vertices[:, 0]) / 2 for path in discs.get_paths()]
    assert areas == pytest.approx(sorted(0.75 * cloud.radii, reverse=True), rel=1e-3)
    for panel in (left, right):  # the graph is drawn where its discs are
        (lines,) = [c for c in panel.collections if isinstance(c, LineCollection)]
        assert np.array(lines.get_segments()) == pytest.approx(cloud.centers[RING.edges])


def test_colours_are_the_categories_of_the_whole_figure() -> None:
    figure = plot_clouds(fit_clouds([RING, Graph(2, [(0, 1)], node_categorical=[8, 7])], 3))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["node category:", "6", "7", "8"]
    nodes = figure.axes[2].collections[-1].get_facecolors()[:, :3]
    assert nodes == pytest.approx(np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in PALETTE[2:0:-1]]))


@pytest.mark.parametrize("dim", [2, 3, 4, 6])
def test_every_dimension(dim: int, tmp_path: Path) -> None:
    clouds = fit_clouds([STAR, Graph(1), Graph(3), nx.path_graph(2)], dim)
    figure = plot_clouds(clouds, tmp_path / "clouds.png", columns=3)
    assert (tmp_path / "clouds.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["clouds.png"]
    titles = [axes.get_title() for axes in figure.axes[1::2]]
    shape = {2: "intervals, d = 2", 3: "discs, d = 3", 4: "balls, d = 4", 6: "d = 6, first 2 of 5 axes"}[dim]
    assert titles[:2] == [f"{shape}\nexact, margin {clouds[0].margin:.2f}", f"{shape}\nexact"]
    assert titles[4:] == ["", ""]  # six pairs of panels, four clouds


def test_inexact_and_decoded_clouds_are_said_to_be_so() -> None:
    (cloud,) = fit_clouds(STAR, 3)
    wrong = HyperballCloud(cloud.centers * 9, cloud.radii_raw, cloud.order, graph=STAR)
    decoded = HyperballCloud(cloud.centers, cloud.radii_raw, cloud.order)
    axes = plot_clouds([wrong, decoded]).axes
    assert axes[1].get_title() == f"discs, d = 3\nNOT exact, margin {wrong.margin:.2f}"
    assert axes[1].title.get_color() != axes[3].title.get_color()
    assert (axes[2].get_title(), axes[3].get_title()) == ("graph\n6 nodes, 5 edges", "discs, d = 3\ndecoded")


@pytest.mark.parametrize("n", [1, 2, 40, 200])
def test_layouts_are_finite_and_keep_nodes_apart(n: int) -> None:
    positions = layout(Graph(n, [(0, i) for i in range(1, n // 2)]))  # a star and as many isolated nodes
    assert positions.shape == (n, 2)
    assert np.isfinite(positions).all()
    assert len(np.unique(positions.round(6), axis=0)) == n


def test_pyplot_is_left_alone() -> None:
    import matplotlib.pyplot as plt

    plot_clouds(fit_clouds(STAR, 3))
    assert plt.get_fignums() == []


def test_what_cannot_be_drawn_or_saved(tmp_path: Path) -> None:
    figure = plot_clouds(fit_clouds(STAR, 3))
    with pytest.raises(GeoGAEError, match=r"x\.txt has no suffix of a picture; valid are .*\.png"):
        save_figure(figure, tmp_path / "x.txt")
    (tmp_path / "file").touch()
    with pytest.raises(GeoGAEError, match=r"cannot write .*; choose another place"):
        save_figure(figure, tmp_path / "file" / "x.png")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    with pytest.raises(GeoGAEError, match="at least one cloud and one column, not 0 and 2"):
        plot_clouds([])
