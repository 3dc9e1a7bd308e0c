"""``geogae explore``: a map of graphs as a page."""

from __future__ import annotations

import csv
import logging
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from geogae.cli.data import DATA, RUN, Simplify, check_writable, load_run, read_graphs
from geogae.errors import GeoGAEError

log = logging.getLogger("geogae")


def explore(
    run: Annotated[Path, Argument(metavar="MODEL", help=RUN)],
    data: Annotated[str, Argument(metavar="GRAPHS", help=DATA)],
    output: Annotated[Path, Option("-o", "--output", help="The page, an .html file.")] = Path("map.html"),
    projection: Annotated[str, Option(metavar="pca|umap", help="How vectors become points of the map.")] = "pca",
    sample: Annotated[int | None, Option(help="So many graphs at random; a page holds up to 20,000.")] = None,
    seed: Annotated[int, Option(help="Seed of --sample and of UMAP.")] = 0,
    values: Annotated[
        Path | None, Option(help="A .csv file with a line of names and a line of numbers for each graph, to colour by.")
    ] = None,
    elements: Annotated[
        str | None, Option(help="Symbols that node categories 0, 1, … stand for, to draw molecules: C,N,O,F,I,Cl,Br")
    ] = None,
    bonds: Annotated[
        str | None, Option(help="RDKit's bond types that edge categories 0, 1, … stand for: 12,1,2,3")
    ] = None,
    title: Annotated[str | None, Option(help="The title of the page.")] = None,
    simplify: Simplify = False,
) -> None:
    """Write a page with a map of the graphs: one HTML file that works offline, in any browser.

    The page shows each graph beside its cloud and what comes back from its z, moves z by sliders and decodes it live,
    finds neighbours, and plays the way from one graph to another. Graphs that the model cannot encode are left out.

    \b
    Examples:
      geogae explore runs/mutag MUTAG -o map.html
      geogae explore runs/mutag MUTAG --elements C,N,O,F,I,Cl,Br --bonds 12,1,2,3
      geogae explore runs/qm9 QM9 --sample 5000 --projection umap
    """
    check_writable(output, (".html", ".htm"))
    from geogae.pages.explore import explore as page

    model = load_run(run)
    graphs = read_graphs(data, simplify=simplify)
    table = None if values is None else read_values(values, len(graphs))
    if sample is not None:
        import numpy as np

        if not 1 <= sample <= len(graphs):
            raise GeoGAEError(f"--sample {sample} must be from 1 to {len(graphs)}, the number of graphs in {data}")
        rows = np.sort(np.random.default_rng(seed).choice(len(graphs), sample, replace=False)).tolist()
        graphs = [graphs[row] for row in rows]
        table = table and {name: [numbers[row] for row in rows] for name, numbers in table.items()}
    name = Path(data).stem if Path(data).suffix else data
    page(
        model,
        graphs,
        output,
        projection=projection,
        title=title or f"{name} · {run.name}",
        values=table,
        elements=[symbol.strip() for symbol in elements.split(",")] if elements else None,
        bonds=whole_numbers(bonds, "--bonds") if bonds else None,
        seed=seed,
        progress=True,
    )
    log.info("wrote %s (%.1f MB): open it in a browser", output, output.stat().st_size / 1e6)


def read_values(path: Path, count: int) -> dict[str, list[float]]:
    """Columns of numbers by their names; an empty cell is not known."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            names, *rows = [row for row in csv.reader(file) if row] or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise GeoGAEError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if len(rows) != count:
        raise GeoGAEError(
            f"{path} has {len(rows)} lines of numbers below the names; give one for each of {count} graphs"
        )
    table: dict[str, list[float]] = {name.strip(): [] for name in names}
    if len(table) < len(names):
        raise GeoGAEError(f"{path} has two columns of one name; rename one of them")
    for line, row in enumerate(rows, 2):
        if len(row) != len(names):
            raise GeoGAEError(f"{path}:{line} has {len(row)} cells; the line of names has {len(names)}")
        for name, cell in zip(table, row, strict=True):
            try:
                table[name].append(float(cell) if cell.strip() else float("nan"))
            except ValueError:
                raise GeoGAEError(f"{path}:{line}: {cell!r} in column {name} is not a number") from None
    return table


def whole_numbers(text: str, option: str, least: int = 0) -> list[int]:
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < least:
        raise GeoGAEError(
            f"{option} {text!r} must be whole numbers from {least} on with commas between them, such as 12,1,2,3"
        )
    return found
