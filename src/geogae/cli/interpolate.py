"""``geogae interpolate``: graphs on the way between two graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from geogae.cli.data import KeepRules, check_writable, load_run
from geogae.cli.grid import plot_grid
from geogae.cli.output import OUTPUT_HELP, SUFFIXES, read_one, write_graphs
from geogae.errors import GeoGAEError


def interpolate(
    run: Annotated[Path, Argument(metavar="RUN", help="A saved model with a prior.")],
    one: Annotated[str, Argument(metavar="FROM", help="A SMILES, or a file with one graph.")],
    other: Annotated[str, Argument(metavar="TO", help="A SMILES, or a file with one graph.")],
    steps: Annotated[int, Option(min=2, help="Graphs on the way, the ends among them.")] = 9,
    keep_rules: KeepRules = False,
    output: Annotated[Path | None, Option("-o", "--output", help=OUTPUT_HELP)] = None,
    plot: Annotated[Path | None, Option(help="A picture of the path: .png.")] = None,
) -> None:
    """Graphs on the way from one graph to another, along the prior of a model.

    \b
    Example:
      geogae interpolate runs/qm9 CCO c1ccccc1 --steps 9 --plot path.png
    """
    check_writable(output, SUFFIXES)
    check_writable(plot, (".png",))
    ends = [read_one(one), read_one(other)]
    for text, graphs in zip((one, other), ends, strict=True):
        if len(graphs) != 1:
            raise GeoGAEError(f"{text} holds {len(graphs)} graphs; a path has one at each end")
    way = load_run(run).interpolate(ends[0][0], ends[1][0], steps, keep_rules=keep_rules)
    write_graphs(way, output, [f"step/{i}" for i in range(steps)])
    if plot is not None:
        plot_grid(way, plot, [str(i) for i in range(steps)])
