"""``geogae datasets``: the paper's table of data sets, and what is on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from geogae.cli.data import print_json

if TYPE_CHECKING:
    from geogae.datasets import Row


def datasets(as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False) -> None:
    """List the paper's data sets, here and as published.

    Shows the number of graphs and the mean numbers of nodes and edges. Nothing is downloaded. Any other name of the
    TU collection can be used wherever a data set is asked for.

    \b
    Examples:
      geogae datasets
      GEOGAE_DATA=~/tu geogae datasets --json
    """
    from geogae.datasets import table

    rows = table()
    if as_json:
        print_json([_record(row) for row in rows])
    else:
        _print_table(rows)
    _print_missing([row.name for row in rows if row.graphs is None])


def _record(row: Row) -> dict[str, Any]:
    return {**row._asdict(), "paper": row.paper._asdict()}


def _print_table(rows: list[Row]) -> None:
    notes: list[str] = []
    typer.echo(
        f"{'':<16}{'graphs':>9}{'nodes':>9}{'edges':>10}   │{'paper:':>8} {'graphs':>8}{'nodes':>9}{'edges':>10}"
    )
    for row in rows:
        mark = ""
        if row.paper.note:
            notes.append(row.paper.note)
            mark = f"[{len(notes)}]"
        ours = f"{'not here':>28}" if row.graphs is None else f"{row.graphs:>9,}{row.nodes:>9,.2f}{row.edges:>10,.2f}"
        published = f"{row.paper.graphs:>17,}{row.paper.nodes:>9,.2f}{row.paper.edges:>10,.2f}"
        typer.echo(f"{row.name:<16}{ours}   │{published} {mark}".rstrip())
    for number, note in enumerate(notes, start=1):
        typer.echo(f"[{number}] {note}")


def _print_missing(names: list[str]) -> None:
    from geogae.datasets.sources import folders

    if "QM9" in names:
        typer.echo("note: QM9 comes with the package qm9pack: pip install 'geogae[chem]'", err=True)
    if collection := [name for name in names if name != "QM9"]:
        places = " nor in ".join(map(str, folders()))
        typer.echo(
            f"note: {', '.join(collection)}: neither NAME.zip nor folder NAME is in {places}; set GEOGAE_DATA to their "
            "folder, or use them: they are then downloaded",
            err=True,
        )
