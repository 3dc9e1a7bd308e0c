"""``geogae demo``: every step on data that comes with the package."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geogae.cli.data import check_writable

if TYPE_CHECKING:
    from geogae.estimator import GeoGAE
    from geogae.graph import Graph

DIM = 3  # discs: the smallest dimension in which all of MUTAG is exact
SHOWN = 6  # graphs in a picture
ELEMENTS, BONDS = ["C", "N", "O", "F", "I", "Cl", "Br"], [12, 1, 2, 3]  # that MUTAG's categories stand for
SMALL = 48  # a z that no longer holds the numbers of a cloud
STRIDE, TIMES = 15, 3  # every 15th graph is renumbered three times
NEXT = """
Next:
  geogae train aids --out runs/aids              2,000 molecules through z, in seconds
  geogae train paper/mutag --minutes 20          the paper's own recipe
  geogae cloud AIDS --dim auto                   2,000 molecules, and the smallest dimension that is exact
  geogae train default --data graphs.jsonl       your own graphs
  geogae datasets                                what else there is"""


def demo(
    out: Annotated[Path, typer.Option(help="The folder for pictures, clouds and the model.")] = Path("demo"),
) -> None:
    """From graphs to clouds to vectors and back, on the embedded MUTAG.

    Fits clouds and checks that they are exact, encodes and decodes unseen graphs, and draws them beside what came back.
    Ends with two pages to open in a browser: a map of the graphs, and a report.

    \b
    Examples:
      geogae demo
      geogae demo --out pictures
    """
    check_writable(out / "clouds.png", (".png",))
    from geogae import datasets

    graphs = datasets.load("MUTAG")
    _show_clouds(graphs, out)
    _show_model(graphs, out)
    typer.echo(NEXT)


def _say(step: str, result: str) -> None:
    typer.echo(f"{step:<12}{result}")


def _show_clouds(graphs: list[Graph], out: Path) -> None:
    import numpy as np

    from geogae.estimator import GeoGAE
    from geogae.geometry.fitting import fit_clouds
    from geogae.geometry.storage import save_clouds
    from geogae.plots import plot_clouds
    from geogae.progress import progress_bar

    nodes, edges = np.mean([(g.n, len(g.edges)) for g in graphs], axis=0)
    _say("graphs", f"{len(graphs)} molecules of MUTAG, {nodes:.1f} nodes and {edges:.1f} edges on average")

    with progress_bar("compiling (first run only)", total=None):
        fit_clouds(graphs[:1], DIM, cache=False)
        GeoGAE(dim=DIM, latent_dim=8).fit(graphs[:12])
    began = perf_counter()
    clouds = fit_clouds(graphs, DIM, cache=False, progress=True)
    _say("clouds", f"a disc for each node (d = {DIM}), fitted in {perf_counter() - began:.1f} s")

    exact = sum(cloud.to_graph() == graph for cloud, graph in zip(clouds, graphs, strict=True))
    _say("exact", f"{exact} of {len(graphs)} graphs read back from their discs, edge for edge")
    _say("margin", f"the smallest margin of a pair of nodes is {min(cloud.margin for cloud in clouds):.2f}")

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


def _show_model(graphs: list[Graph], out: Path) -> None:
    from geogae import datasets
    from geogae.benchmark.paper import paper
    from geogae.estimator import GeoGAE
    from geogae.plots import plot_reconstructions

    train, validation, test = datasets.split(graphs, seed=0)
    for m in (SMALL, None):
        model = GeoGAE.from_preset("mutag", **({"latent_dim": m} if m else {}))
        began = perf_counter()
        model.fit(train, validation=validation)
        scores = model.evaluate(test)
        _say(
            f"z of {model.latent_dim}",
            f"{len(test)} unseen graphs and back from so many numbers: {100 * scores['exact']:.0f} % exact, "
            f"F1 {100 * scores['f1']:.1f} % (fitted on {len(train)} in {perf_counter() - began:.1f} s)",
        )
    theirs, size, minutes = paper().geogae("MUTAG"), paper().latent("MUTAG"), paper().minutes["MUTAG"]["topology"]
    _say(
        "the paper", f"F1 {theirs.mean} ± {theirs.deviation} % from {size} numbers, trained {minutes} minutes on a GPU"
    )

    model.save(out / "model")
    plot_reconstructions(model.reconstruct(test[:SHOWN]), out / "reconstructions.png")
    _say("saved", f"{out}/clouds.png, reconstructions.png, clouds.npz and model/")
    _show_pages(model, graphs, train, test, out)


def _show_pages(model: GeoGAE, graphs: list[Graph], train: list[Graph], test: list[Graph], out: Path) -> None:
    from geogae.formats.optional import available
    from geogae.pages.explore import explore
    from geogae.pages.run_report import run_report

    drawn: dict[str, Any] = {"elements": ELEMENTS, "bonds": BONDS} if available("rdkit") else {}
    if not drawn:
        _say("plain", "without rdkit the pages draw molecules as plain graphs: pip install 'geogae[chem]'")
    explore(model, graphs, out / "map.html", title="MUTAG", **drawn)
    run_report(model, test, out / "report.html", train=train, dataset="MUTAG", name="MUTAG", **drawn)
    pages = " and ".join((out / page).resolve().as_uri() for page in ("map.html", "report.html"))
    _say("look", f"open these pages in a browser, they need no network: {pages}")
