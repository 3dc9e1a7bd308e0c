"""``geogae evaluate``: how well graphs come back through z."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from geogae.cli.data import check_writable, print_facts, print_json, read_graphs
from geogae.cli.train import in_words, read_about
from geogae.errors import GeoGAEError

SPLITS = ("train", "validation", "test")
DRAWN = 6


def evaluate(
    run: Annotated[Path, Argument(metavar="RUN", help="A run folder or a saved model.")],
    data: Annotated[str | None, Argument(metavar="[DATA]", help="Other graphs: all of a data set or file.")] = None,
    split: Annotated[str, Option(metavar="|".join(SPLITS), help="Which part of the run's own data.")] = "test",
    plot: Annotated[Path | None, Option(help="Save a picture of graphs beside what came back.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print the scores as JSON.")] = False,
) -> None:
    """Encode graphs, decode their vectors, compare: F1 (the paper's), exact rate, size error.

    \b
    Examples:
      geogae evaluate runs/mutag --split test --json
      geogae evaluate runs/mutag graphs.jsonl --plot back.png
    """
    check_writable(plot, (".png", ".pdf", ".svg"))
    from geogae import datasets
    from geogae.estimator import GeoGAE

    if split not in SPLITS:
        raise GeoGAEError(f"--split {split!r} is not known; valid are {', '.join(SPLITS)}")
    model = GeoGAE.load(run)
    if data is not None:
        graphs = read_graphs(data)
    else:
        about = read_about(run)
        parts = datasets.split(read_graphs(about["data"]), about["seed"], disjoint=about["disjoint"])
        graphs = parts[SPLITS.index(split)]
    scores = model.evaluate(graphs)
    what = {"run": str(run), "data": data or split, "graphs": len(graphs)}
    if as_json:
        print_json({**what, **scores})
    else:
        print_facts({**{name: str(value) for name, value in what.items()}, **in_words(scores)})
    if plot is not None:
        from geogae.plots import plot_reconstructions

        plot_reconstructions(model.reconstruct(graphs[:DRAWN]), plot)
