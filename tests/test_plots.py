"""Pictures: what is drawn is what the clouds say."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PatchCollection

from geogae import GeoGAEError, Graph, HyperballCloud, fit_clouds
from geogae.molecule_plots import _drawn_pair, _lines, plot_molecules
from geogae.plots import ALARM, PALETTE, layout, plot_clouds, plot_reconstructions, save_figure

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


# -- molecules ---

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
FIVE_BONDS = Graph(6, [(0, i) for i in range(1, 6)], node_categorical=[6] + [9] * 5, edge_categorical=[1] * 5)


def _shuffled(graph: Graph) -> Graph:
    return graph.relabel(np.random.default_rng(0).permutation(graph.n))


@pytest.fixture
def chem() -> None:
    pytest.importorskip("rdkit.Chem", reason="rdkit is not installed")


@pytest.mark.usefixtures("chem")
@pytest.mark.parametrize("smiles", [ASPIRIN, "[NH3+]CC([O-])=O", "C#CC", "C", "[H][H]", "[Na+].[Cl-]", "CCO.c1ccccc1"])
@pytest.mark.parametrize("hydrogens", [True, False])
def test_the_same_molecule_is_drawn_alike(smiles: str, hydrogens: bool) -> None:
    graph = Graph.from_smiles(smiles, hydrogens=hydrogens, name="it")
    left, right = _drawn_pair(graph, _shuffled(graph))
    assert (left.legend, right.legend, *right.atoms, *right.bonds) == ("it", "same")
    drawn = [
        sorted((a.GetSymbol(), *np.round(list(m.GetConformer().GetAtomPosition(a.GetIdx())), 3)) for a in m.GetAtoms())
        for m in (left.molecule, right.molecule)
    ]
    assert [atom[0] for atom in drawn[0]] == [atom[0] for atom in drawn[1]]
    for here, there in zip(*drawn, strict=True):
        assert here[1:] == pytest.approx(there[1:], abs=2e-3)
    assert smiles == "[H][H]" or not any(atom[0] == "H" for atom in drawn[0])


@pytest.mark.usefixtures("chem")
def test_what_is_said_and_marked() -> None:
    aspirin = Graph.from_smiles(ASPIRIN)
    left, right = _drawn_pair(aspirin, _shuffled(Graph.from_smiles("CC(=O)Nc1ccccc1C(=O)O")))
    assert (left.legend, right.legend) == (ASPIRIN, "differs: CC(=O)Nc1ccccc1C(=O)O")
    assert [right.molecule.GetAtomWithIdx(i).GetSymbol() for i in right.atoms] == ["N"]  # and nothing else
    assert right.colour == ALARM != left.colour

    left, right = _drawn_pair(Graph.from_smiles("FC(F)(F)F"), FIVE_BONDS)
    said = "not a valid molecule: Explicit valence for atom # 0 C, 5, is greater than permitted"
    assert (right.legend, right.atoms, right.molecule.GetNumBonds()) == (said, [0], 5)
    assert _lines(said) == ["not a valid molecule: Explicit", "valence for atom # 0 C, 5, is", "greater than permitted"]

    carbon = Graph(6, FIVE_BONDS.edges, node_categorical=[6, 9, 1, 1, 1, 1], edge_categorical=[1] * 5)
    right = _drawn_pair(aspirin, carbon)[1]
    assert ([a.GetSymbol() for a in right.molecule.GetAtoms()], right.atoms) == (["C", "F"], [0])  # hydrogens count

    assert _drawn_pair(aspirin, None)[1][:3] == (None, False, "cannot be encoded")
    left, right = _drawn_pair(FIVE_BONDS, aspirin)
    assert left.legend == f"6 atoms, {said}" and right.legend == f"differs: {ASPIRIN}"
    left, right = _drawn_pair(FIVE_BONDS, Graph(1, node_categorical=[500]))  # which has no picture at all
    assert right.molecule is None and right.legend == "not a valid molecule: Atomic number not found"


@pytest.mark.usefixtures("chem")
@pytest.mark.parametrize(("count", "columns", "size"), [(1, 2, (1168, 1)), (7, 2, (2308, 4)), (7, 3, (3448, 3))])
def test_grids_of_molecules(
    count: int, columns: int, size: tuple[int, int], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    aspirin = Graph.from_smiles(ASPIRIN, name="α-aspirin & <co>", hydrogens=True)
    backs = [_shuffled(aspirin), None, FIVE_BONDS, Graph.from_smiles("C"), Graph(1, node_categorical=[500])]
    pairs = [*((aspirin, back) for back in backs), (FIVE_BONDS, aspirin), (FIVE_BONDS, FIVE_BONDS)][:count]
    for name in ("new/grid.png", "new/grid.svg"):
        plot_molecules(pairs, tmp_path / name, columns=columns)
    png = (tmp_path / "new/grid.png").read_bytes()
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and png.endswith(b"IEND\xaeB`\x82")
    wide, high = (int.from_bytes(png[i : i + 4], "big") for i in (16, 20))
    svg = ElementTree.fromstring((tmp_path / "new/grid.svg").read_bytes())
    assert wide == 2 * int(svg.attrib["width"].removesuffix("px")) == size[0]
    assert 400 * size[1] < high < 540 * size[1] + 72
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["grid.png", "grid.svg"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("chem")
def test_molecules_that_cannot_be_drawn_or_saved(tmp_path: Path) -> None:
    pair = (Graph.from_smiles("CCO"), Graph.from_smiles("CCO"))
    (tmp_path / "old.png").write_bytes(b"old")
    for pairs, name, options, said in (
        ([], "old.png", {}, "at least one pair and one column, not 0 and 2"),
        ([pair], "old.png", {"columns": 0}, "at least one pair and one column, not 1 and 0"),
        ([pair], "x.pdf", {}, r"x\.pdf has no suffix of a picture of molecules; valid are \.svg, \.png"),
        ([pair, (RING.topology(), None)], "old.png", {}, "the graph has 0 node_categorical columns"),
        ([pair], "old.png/x.png", {}, "cannot write .*; choose another place"),
    ):
        with pytest.raises(GeoGAEError, match=said):
            plot_molecules(pairs, tmp_path / name, **options)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("old.png", b"old")]


def test_names_are_no_formulas(tmp_path: Path) -> None:
    from geogae.cli.grid import plot_grid

    graph = Graph(2, [(0, 1)], name=r"a $\frac$ b")
    plot_grid([graph] * 9, tmp_path / "grid.png", [graph.name] * 9)
    plot_reconstructions([(graph, graph), (graph, None)], tmp_path / "back.png")


def test_categories_that_are_no_molecules_are_drawn_as_graphs(tmp_path: Path) -> None:
    from geogae.cli.grid import plot_grid

    graph = Graph(2, [(0, 1)], node_categorical=np.ones((2, 4), int), edge_categorical=[[1]])
    plot_grid([graph], tmp_path / "grid.png")
    assert (tmp_path / "grid.png").stat().st_size > 1000
