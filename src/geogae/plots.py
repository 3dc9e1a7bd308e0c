"""Pictures: graphs beside their clouds. Figures are built from matplotlib's objects, pyplot's state is not touched."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import to_rgb, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Circle
from numpy.typing import NDArray

from geogae.errors import GeoGAEError
from geogae.files import atomic_path
from geogae.formats import as_graph
from geogae.geometry.cloud import RADIUS_SCALE, HyperballCloud
from geogae.geometry.starts import mds_start, path_distances
from geogae.graph import Graph

Colours: TypeAlias = NDArray[np.float64]  # (n, 3)

PALETTE = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#AA3377", "#66CCEE", "#777777")  # P. Tol's bright scheme
INK, LINE, ALARM = "#222222", "#555555", "#BB0000"
PANEL = 2.7  # inches
TURN, TILT = np.deg2rad([25, 20])  # how a cloud of balls is turned about its vertical and its horizontal axis
_RELAXED = 150  # graphs of up to so many nodes get a Kamada-Kawai layout, larger ones its start
_SPRITE = 96  # pixels across a shaded ball


def plot_clouds(
    clouds: Sequence[HyperballCloud], path: str | os.PathLike[str] | None = None, *, columns: int = 2
) -> Figure:
    """Each graph beside its cloud, ``columns`` such pairs in a row; also saved if a ``path`` is given.

    Balls are drawn with 0.75 times their radius, so that balls which touch are nodes that are joined: intervals for
    d = 2, discs for d = 3, balls for d = 4; above, where touching is not seen, the first two principal axes.
    Nodes are coloured by their first categorical attribute, or by their place in the node order.
    """
    if not clouds or columns < 1:
        raise GeoGAEError(f"a picture needs at least one cloud and one column, not {len(clouds)} and {columns}")
    columns = min(columns, len(clouds))
    rows = -(-len(clouds) // columns)
    figure = Figure(
        figsize=(2 * PANEL * columns, (PANEL + 0.5) * rows + 0.35),
        layout=ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.12),
    )
    panels = figure.subplots(rows, 2 * columns, squeeze=False).reshape(-1, 2)
    categories = sorted({int(c) for cloud in clouds if (kinds := _kinds(cloud)) is not None for c in kinds})
    for (left, right), cloud in zip(panels, clouds, strict=False):
        colours = _colours(cloud, categories)
        graph = cloud.to_graph() if cloud.graph is None else cloud.graph
        draw_graph(left, graph, cloud.centers if cloud.dim == 3 else layout(graph), colours)
        draw_cloud(right, cloud, colours)
    for panel in panels[len(clouds) :].flat:
        panel.set_axis_off()
    _explain_colours(figure, clouds, categories)
    if path is not None:
        save_figure(figure, path)
    return figure


def save_figure(figure: Figure, path: str | os.PathLike[str], *, dpi: int = 150) -> None:
    """Write the figure, whole or not at all, in the format that the suffix names."""
    suffix = Path(path).suffix.lower().lstrip(".")
    if suffix not in (valid := figure.canvas.get_supported_filetypes()):
        raise GeoGAEError(f"{path} has no suffix of a picture; valid are {', '.join(f'.{s}' for s in sorted(valid))}")
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format=suffix, dpi=dpi)


# -- a graph ----------------------------------------------------------------------------------------------------


def layout(graph: Graph) -> NDArray[np.float64]:
    """Positions in the plane whose distances follow the shortest paths, (n, 2)."""
    start = mds_start(graph, 2).T + 0.1 * np.random.default_rng(0).standard_normal((graph.n, 2))  # twins move apart
    if not 2 < graph.n <= _RELAXED:
        return start
    distances = {i: dict(enumerate(row)) for i, row in enumerate(path_distances(graph).astype(float).tolist())}
    relaxed = nx.kamada_kawai_layout(graph.to_networkx(), dist=distances, pos=dict(enumerate(start)))
    return np.array([relaxed[i] for i in range(graph.n)])


def literal(text: str) -> str:
    """The text as it is: a dollar sign starts no formula."""
    return text.replace("$", r"\$")


def draw_graph(axes: Axes, graph: Graph, positions: NDArray[np.floating], colours: Colours) -> None:
    """Nodes and edges at the given positions."""
    _draw_edges(axes, positions[graph.edges], graph.n)
    x, y = positions.T
    size = np.clip(1200 / graph.n, 6, 60)
    axes.scatter(x, y, s=size, c=colours, edgecolors="white", linewidths=0.7, zorder=3)
    _frame(axes, positions, np.full(graph.n, 0.06 * np.ptp(positions, axis=0).max() + 0.02))
    nodes, edges = (f"{k:,} {word}{'s' * (k != 1)}" for k, word in ((graph.n, "node"), (len(graph.edges), "edge")))
    axes.set_title(f"{literal(graph.name or 'graph')}\n{nodes}, {edges}", fontsize=9, color=INK)


# -- a cloud ----------------------------------------------------------------------------------------------------


def draw_cloud(axes: Axes, cloud: HyperballCloud, colours: Colours) -> None:
    """The balls and the edges that they make."""
    draw = {2: _draw_intervals, 3: _draw_discs, 4: _draw_balls}.get(cloud.dim, _draw_discs)
    draw(axes, cloud, colours)
    shape = {2: "intervals, d = 2", 3: "discs, d = 3", 4: "balls, d = 4"}
    title = shape.get(cloud.dim, f"d = {cloud.dim}, first 2 of {cloud.dim - 1} axes")
    if cloud.graph is None:
        axes.set_title(f"{title}\ndecoded", fontsize=9, color=INK)
    elif not cloud.exact:
        axes.set_title(f"{title}\nNOT exact, margin {cloud.margin:.2f}", fontsize=9, color=ALARM)
    else:
        margin = "" if np.isinf(cloud.margin) else f", margin {cloud.margin:.2f}"
        axes.set_title(f"{title}\nexact{margin}", fontsize=9, color=INK)


def _draw_intervals(axes: Axes, cloud: HyperballCloud, colours: Colours) -> None:
    """One line for each interval, from the leftmost down."""
    reach = RADIUS_SCALE * cloud.radii
    left = cloud.centers[:, 0] - reach
    row = np.argsort(np.argsort(left, kind="stable"))
    axes.barh(-row, 2 * reach, left=left, height=0.62, color=colours, alpha=0.6, linewidth=0)
    axes.plot(cloud.centers[:, 0], -row, ".", color=INK, markersize=3)
    axes.use_sticky_edges = False  # room at both ends
    axes.set_yticks([])
    axes.tick_params(labelsize=7, colors=LINE)
    axes.spines[["left", "right", "top"]].set_visible(False)


def _draw_discs(axes: Axes, cloud: HyperballCloud, colours: Colours) -> None:
    """Discs in the plane of the first two axes, the large ones below."""
    centers, reach = cloud.centers[:, :2], RADIUS_SCALE * cloud.radii
    faint = 1.0 if cloud.dim == 3 else 0.5
    below = np.argsort(-reach, kind="stable")
    discs = [Circle(centers[i], reach[i]) for i in below]
    axes.add_collection(
        PatchCollection(
            discs,
            facecolors=to_rgba_array(colours[below], 0.2 * faint),
            edgecolors=to_rgba_array(colours[below], 0.8 * faint),
            linewidths=0.8,
        )
    )
    _draw_edges(axes, centers[cloud.to_graph().edges], cloud.n)
    axes.scatter(centers[:, 0], centers[:, 1], s=np.clip(300 / cloud.n, 3, 14), c=colours, zorder=3)
    _frame(axes, centers, reach)


def _draw_balls(axes: Axes, cloud: HyperballCloud, colours: Colours) -> None:
    """Translucent balls in parallel projection, painted from the back to the front; what is far is paler."""
    x, y, z = cloud.centers.T
    x, z = x * np.cos(TURN) - z * np.sin(TURN), x * np.sin(TURN) + z * np.cos(TURN)
    y, z = y * np.cos(TILT) - z * np.sin(TILT), y * np.sin(TILT) + z * np.cos(TILT)
    flat, reach = np.column_stack([x, y]), RADIUS_SCALE * cloud.radii
    near = (z - z.min()) / np.ptp(z) if np.ptp(z) else np.ones(cloud.n)  # 0 at the back, 1 at the front
    pale = 1 - (1 - colours) * (0.6 + 0.4 * near[:, None])
    for i in np.argsort(z):
        extent = (x[i] - reach[i], x[i] + reach[i], y[i] - reach[i], y[i] + reach[i])
        axes.imshow(_ball(pale[i]), extent=extent, interpolation="bilinear", clip_on=False, zorder=1)
    _draw_edges(axes, flat[cloud.to_graph().edges], cloud.n)
    axes.scatter(x, y, s=np.clip(300 / cloud.n, 3, 14), c=pale, zorder=3)
    _frame(axes, flat, reach)


def _ball(colour: NDArray[np.float64]) -> NDArray[np.float64]:
    """A translucent ball, lit from the upper left, (pixels, pixels, 4)."""
    grid = np.linspace(-1, 1, _SPRITE)
    x, y = np.meshgrid(grid, -grid)
    square = x * x + y * y
    z = np.sqrt(np.clip(1 - square, 0, 1))
    light = np.clip(-0.45 * x + 0.55 * y + 0.70 * z, 0, 1)[..., None]
    rgb = np.clip(colour * (0.6 + 0.5 * light) + 0.5 * light**24, 0, 1)
    alpha = (0.25 + 0.45 * (1 - z) ** 2) * np.clip((1 - np.sqrt(square)) * _SPRITE / 2, 0, 1)
    return np.dstack([rgb, alpha])


def _draw_edges(axes: Axes, segments: NDArray[np.floating], n: int) -> None:
    width = np.clip(12 / n**0.5, 0.35, 1.4)
    axes.add_collection(LineCollection(list(segments), colors=LINE, linewidths=width, alpha=0.75, zorder=2))


def _frame(axes: Axes, centers: NDArray[np.floating], reach: NDArray[np.floating]) -> None:
    """All balls in a square panel, to scale."""
    low, high = (centers - reach[:, None]).min(axis=0), (centers + reach[:, None]).max(axis=0)
    middle, half = (low + high) / 2, 0.53 * (high - low).max()
    axes.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half), aspect="equal")
    axes.set_axis_off()


# -- colours ----------------------------------------------------------------------------------------------------


def _kinds(cloud: HyperballCloud) -> NDArray[np.int64] | None:
    """The first categorical attribute, (n,)."""
    block = None if cloud.graph is None else cloud.graph.node_categorical
    return None if block is None else block[:, 0]


def _palette(count: int) -> Colours:
    if count <= len(PALETTE):
        return np.array([to_rgb(colour) for colour in PALETTE[:count]])
    return colormaps["turbo"](np.linspace(0.05, 0.95, count))[:, :3]


def _colours(cloud: HyperballCloud, categories: list[int]) -> Colours:
    if (kinds := _kinds(cloud)) is not None:
        return _palette(len(categories))[np.searchsorted(categories, kinds)]
    place = np.empty(cloud.n)
    place[cloud.order] = np.linspace(0, 0.9, cloud.n)
    return colormaps["viridis"](place)[:, :3]


def _explain_colours(figure: Figure, clouds: Sequence[HyperballCloud], categories: list[int]) -> None:
    def dot(colour: Any, label: str) -> Line2D:
        return Line2D([], [], marker="o", linestyle="", markersize=5, color=colour, label=label)

    if categories and len(categories) <= 12:
        title = "node category"
        handles = [dot(colour, str(c)) for colour, c in zip(_palette(len(categories)), categories, strict=True)]
    elif not categories and max(cloud.n for cloud in clouds) > 1:
        title, ends = "place in the node order", colormaps["viridis"]([0.0, 0.45, 0.9])
        handles = [dot(colour, label) for colour, label in zip(ends, ("first", "middle", "last"), strict=True)]
    else:
        return
    figure.legend(
        handles=[Line2D([], [], linestyle="", label=f"{title}:"), *handles],
        loc="outside lower center",
        ncols=len(handles) + 1,
        frameon=False,
        fontsize=8,
        handletextpad=0.1,
        columnspacing=1.0,
        labelcolor=INK,
    )


def plot_reconstructions(
    pairs: Sequence[tuple[Any, Any]], path: str | os.PathLike[str] | None = None, *, columns: int = 3
) -> Figure:
    """Each graph beside what came back from its vector, nodes in the same places; wrong and missing edges in red."""
    if not pairs or columns < 1:
        raise GeoGAEError(f"a picture needs at least one pair and one column, not {len(pairs)} and {columns}")
    known = [(as_graph(true), None if back is None else as_graph(back)) for true, back in pairs]
    columns = min(columns, len(pairs))
    rows = -(-len(pairs) // columns)
    figure = Figure(figsize=(2 * PANEL * columns, (PANEL + 0.4) * rows), layout="constrained")
    panels = figure.subplots(rows, 2 * columns, squeeze=False).reshape(-1, 2)
    for (left, right), (true, back) in zip(panels, known, strict=False):
        places, decoded = layout(true), back or Graph(1)
        extra = places[-1:] + 0.1 * np.arange(1, max(0, decoded.n - true.n) + 1)[:, None]  # nodes that should not be
        both = np.concatenate([places, extra])
        colours = _palette(len(both))  # by place in the node order, alike on both sides
        draw_graph(left, true, places, colours[: true.n])
        draw_graph(right, decoded, both[: decoded.n], colours[: decoded.n])
        right.set(xlim=left.get_xlim(), ylim=left.get_ylim())
        wanted, found = ({tuple(edge) for edge in graph.edges.tolist()} for graph in (true, decoded))
        for edges, style in ((found - wanted, "-"), (wanted - found, ":")):
            segments = [both[[i, j]] for i, j in sorted(edges)]
            right.add_collection(LineCollection(segments, colors=ALARM, linestyles=style, linewidths=1.6, zorder=1))
        wrong = len(found ^ wanted)
        left.set_title(literal(true.name or f"{true.n} nodes"), fontsize=9)
        verdict = (
            "exact" if not wrong and true.n == decoded.n else f"{wrong} edges wrong, {decoded.n - true.n:+d} nodes"
        )
        verdict = "cannot be encoded" if back is None else verdict
        right.set_title(f"from z: {verdict}", fontsize=9, color=ALARM if verdict != "exact" else INK)
    for panel in panels[len(pairs) :].flat:
        panel.set_axis_off()
    if path is not None:
        save_figure(figure, path)
    return figure


def plot_curves(history: Sequence[dict[str, Any]], path: str | os.PathLike[str] | None = None) -> Figure:
    """Losses, and F1, exact rate and size error on validation graphs, against the time of training."""
    if not history:
        raise GeoGAEError("there are no curves yet: training was not validated once")
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    losses, scores = figure.subplots(1, 2)
    minutes = [row["seconds"] / 60 for row in history]
    for colour, name in zip(PALETTE, [key for key in history[0] if key.startswith("loss_")], strict=False):
        losses.semilogy(minutes, [row[name] for row in history], color=colour, label=name.removeprefix("loss_"))
    for colour, name in zip(PALETTE, ("f1", "exact"), strict=False):
        scores.plot(minutes, [100 * row[f"validation_{name}"] for row in history], color=colour, label=f"{name} [%]")
    sizes = scores.twinx()
    sizes.plot(minutes, [row["validation_size_error"] for row in history], color=PALETTE[6], ls="--", lw=1)
    sizes.set_ylabel("size error [nodes], dashed")
    losses.set(xlabel="minutes", title="Loss")
    scores.set(xlabel="minutes", title="Validation, decoded from z", ylim=(0, 101))
    for axes in (losses, scores):
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, loc="best")
    if path is not None:
        save_figure(figure, path)
    return figure
