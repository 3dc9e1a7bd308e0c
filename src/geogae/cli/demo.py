"""``geogae demo``: the story so far, on data that comes with the package."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from geogae.cli.data import check_writable

DIM = 3
SHOWN = 6  # graphs in the picture
STRIDE, TIMES = 15, 3  # every 15th graph is renumbered three times
NEXT = """
Next:
  geogae cloud MUTAG --dim 4 --plot balls.png    the same graphs as balls in space
  geogae cloud AIDS --dim auto                   2,000 molecules, and the smallest dimension that is exact
  geogae cloud graphs.jsonl -o clouds.npz        your own graphs
  geogae datasets                                what else there is"""


def demo(out: Annotated[Path, typer.Option(help="The folder for the picture and the clouds.")] = Path("demo")) -> None:
    """Show graphs become clouds and come back.

    Fits the embedded MUTAG in ten seconds or so, proves every cloud exact and saves a picture.

    \b
    Examples:
      geogae demo
      geogae demo --out /tmp/geogae
    """
    picture, stored = out / "clouds.png", out / "clouds.npz"
    check_writable(picture, (".png",))
    import numpy as np

    from geogae import datasets
    from geogae.geometry.fitting import fit_clouds
    from geogae.geometry.storage import save_clouds
    from geogae.plots import plot_clouds
    from geogae.progress import progress_bar

    def say(step: str, result: str) -> None:
        typer.echo(f"{step:<12}{result}")

    graphs = datasets.load("MUTAG")
    nodes, edges = np.mean([(g.n, len(g.edges)) for g in graphs], axis=0)
    say("graphs", f"{len(graphs)} molecules of MUTAG, {nodes:.1f} nodes and {edges:.1f} edges on average")

    with progress_bar("compiling (first run only)", total=None):
        fit_clouds(graphs[:1], DIM, cache=False)
    began = perf_counter()
    clouds = fit_clouds(graphs, DIM, cache=False, progress=True)
    say("clouds", f"a disc for each node (d = {DIM}), fitted anew in {perf_counter() - began:.1f} s")

    exact = sum(cloud.to_graph() == graph for cloud, graph in zip(clouds, graphs, strict=True))
    say("exact", f"{exact} of {len(graphs)} graphs read back from their discs, edge for edge")
    say("margin", f"the closest call is right by {min(cloud.margin for cloud in clouds):.2f}")

    random = np.random.default_rng(0)
    originals = [*range(0, len(graphs), STRIDE)] * TIMES
    shuffled = [graphs[i].relabel(random.permutation(graphs[i].n)) for i in originals]
    same = sum(
        np.array_equal(cloud.balls, clouds[i].balls)
        and graph.relabel(cloud.order).topology() == graphs[i].relabel(clouds[i].order).topology()
        for i, graph, cloud in zip(originals, shuffled, fit_clouds(shuffled, DIM, cache=False), strict=True)
    )
    say("renumbered", f"{same} of {len(originals)} graphs with shuffled nodes get the same discs in the same order")

    save_clouds(clouds, stored)
    by_size = sorted(clouds, key=lambda cloud: cloud.n)
    plot_clouds([by_size[i * (len(by_size) - 1) // (SHOWN - 1)] for i in range(SHOWN)], picture)
    say("saved", f"{picture}, {stored}")
    typer.echo(NEXT)
