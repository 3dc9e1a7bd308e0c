"""``geogae demo``: the whole story on data that comes with the package."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from geogae.cli.data import check_writable

if TYPE_CHECKING:
    from geogae.graph import Graph

DIM = 3  # discs: the smallest dimension in which all of MUTAG is exact
SHOWN = 6  # graphs in a picture
STRIDE, TIMES = 15, 3  # every 15th graph is renumbered three times
NEXT = """
Next:
  geogae train mutag --minutes 20                the paper's recipe, for longer
  geogae cloud AIDS --dim auto                   2,000 molecules, and the smallest dimension that is exact
  geogae cloud graphs.jsonl -o clouds.npz        your own graphs
  geogae datasets                                what else there is"""


def demo(
    out: Annotated[Path, typer.Option(help="The folder for pictures, clouds and the model.")] = Path("demo"),
    minutes: Annotated[float, typer.Option(help="How long to train.")] = 0.75,
) -> None:
    """Graphs become clouds, clouds become vectors, and all the way back, on the embedded MUTAG.

    Fits and proves every cloud exact, trains for a moment, and draws unseen graphs beside what came back.

    \b
    Examples:
      geogae demo
      geogae demo --minutes 5 --out /tmp/geogae
    """
    check_writable(out / "clouds.png", (".png",))
    from geogae import datasets

    graphs = datasets.load("MUTAG")
    _show_clouds(graphs, out)
    _show_model(graphs, out, minutes)
    typer.echo(NEXT)


def _say(step: str, result: str) -> None:
    typer.echo(f"{step:<12}{result}")


def _show_clouds(graphs: list[Graph], out: Path) -> None:
    import numpy as np

    from geogae.geometry.fitting import fit_clouds
    from geogae.geometry.storage import save_clouds
    from geogae.plots import plot_clouds
    from geogae.progress import progress_bar

    nodes, edges = np.mean([(g.n, len(g.edges)) for g in graphs], axis=0)
    _say("graphs", f"{len(graphs)} molecules of MUTAG, {nodes:.1f} nodes and {edges:.1f} edges on average")

    with progress_bar("compiling (first run only)", total=None):
        fit_clouds(graphs[:1], DIM, cache=False)
    began = perf_counter()
    clouds = fit_clouds(graphs, DIM, cache=False, progress=True)
    _say("clouds", f"a disc for each node (d = {DIM}), fitted anew in {perf_counter() - began:.1f} s")

    exact = sum(cloud.to_graph() == graph for cloud, graph in zip(clouds, graphs, strict=True))
    _say("exact", f"{exact} of {len(graphs)} graphs read back from their discs, edge for edge")
    _say("margin", f"the closest call is right by {min(cloud.margin for cloud in clouds):.2f}")

    random = np.random.default_rng(0)
    originals = [*range(0, len(graphs), STRIDE)] * TIMES
    shuffled = [graphs[i].relabel(random.permutation(graphs[i].n)) for i in originals]
    same = sum(
        np.array_equal(cloud.balls, clouds[i].balls)
        and graph.relabel(cloud.order).topology() == graphs[i].relabel(clouds[i].order).topology()
        for i, graph, cloud in zip(originals, shuffled, fit_clouds(shuffled, DIM, cache=False), strict=True)
    )
    _say("renumbered", f"{same} of {len(originals)} graphs with shuffled nodes get the same discs in the same order")

    save_clouds(clouds, out / "clouds.npz")
    by_size = sorted(clouds, key=lambda cloud: cloud.n)
    plot_clouds([by_size[i * (len(by_size) - 1) // (SHOWN - 1)] for i in range(SHOWN)], out / "clouds.png")


def _show_model(graphs: list[Graph], out: Path, minutes: float) -> None:
    from geogae import datasets
    from geogae.estimator import GeoGAE
    from geogae.plots import plot_curves, plot_reconstructions

    train, validation, test = datasets.split(graphs, seed=0)
    model = GeoGAE.from_preset("mutag", dim=DIM, batch_size=8, minutes=minutes, epochs=None)
    model.fit(train, validation=validation, progress=True)
    _say(
        "training",
        f"{minutes:g} minutes on {len(train)} graphs: the paper's autoencoder, z of {model.latent_dim} numbers",
    )
    scores = model.evaluate(test)
    _say(
        "unseen",
        f"{len(test)} graphs through z and back: F1 {100 * scores['f1']:.1f} %, {100 * scores['exact']:.0f} % exact",
    )
    _say("sizes", f"wrong by {scores['size_error']:.2f} nodes on average")

    model.save(out / "model")
    plot_curves(model.history_, out / "curves.png")
    plot_reconstructions(model.reconstruct(test[:SHOWN]), out / "reconstructions.png")
    _say("saved", f"{out}/clouds.png, curves.png, reconstructions.png, clouds.npz and model/")
