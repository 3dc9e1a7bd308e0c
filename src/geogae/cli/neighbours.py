"""``geogae neighbours``: the graphs that are most like a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from geogae.cli.data import DATA, RUN, check_writable, load_run, print_json, read_graphs
from geogae.cli.grid import plot_grid
from geogae.cli.output import read_one


def neighbours(
    run: Annotated[Path, Argument(metavar="RUN", help=f"{RUN} It needs a descriptor.")],
    graph: Annotated[str, Argument(metavar="GRAPH", help="A SMILES, or a file: the neighbours of each of its graphs.")],
    among: Annotated[str, Option(help=f"What is searched. {DATA}")],
    k: Annotated[int, Option("-k", min=1, help="Neighbours of each.")] = 5,
    plot: Annotated[Path | None, Option(help="A picture of the first graph and its neighbours: .png.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """The nearest graphs by descriptor: a line of index, distance and name for each.

    \b
    Example:
      geogae neighbours molecules CCO --among library.smi -k 10
    """
    check_writable(plot, (".png",))
    queries, searched = read_one(graph), read_graphs(among)
    found = load_run(run).neighbours(queries, searched, k)
    names = [one.name or f"#{i}" for i, one in enumerate(searched)]
    if as_json:
        print_json([[{"index": i, "distance": d, "name": names[i]} for i, d in each] for each in found])
    else:
        for at, each in enumerate(found):
            if len(found) > 1:
                typer.echo(f"{queries[at].name or f'#{at}'}:")
            for index, distance in each:
                typer.echo(f"{index}\t{distance:.4g}\t{names[index]}")
    if plot is not None:
        shown = [queries[0], *(searched[index] for index, _ in found[0])]
        plot_grid(shown, plot, ["", *(f"{distance:.3g}" for _, distance in found[0])])
