"""``geogae describe``: descriptors of graphs."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from geogae.cli.data import DATA, RUN, Format, Simplify, check_writable, load_run, read_graphs

log = logging.getLogger("geogae")


def describe(
    run: Annotated[Path, Argument(metavar="RUN", help=RUN)],
    data: Annotated[str, Argument(metavar="DATA", help=DATA)],
    output: Annotated[Path | None, Option("-o", "--output", help="An .npy file; JSON to stdout if not given.")] = None,
    simplify: Simplify = False,
    format: Format = None,
) -> None:
    """Descriptors: the numbers of z that say what a graph is like; a row for each graph.

    \b
    Examples:
      geogae describe molecules library.smi -o library.npy
      geogae describe runs/mutag graphs.jsonl > descriptors.json
    """
    check_writable(output, (".npy",))
    import numpy as np

    from geogae.files import atomic_path

    rows = load_run(run).describe(read_graphs(data, simplify=simplify, format=format))
    if output is None:
        typer.echo("[" + ",\n ".join(json.dumps(row) for row in rows.tolist()) + "]")
        return
    with atomic_path(output) as temporary, temporary.open("wb") as file:
        np.save(file, rows)
    log.info("wrote %s: %d descriptors of %d numbers", output, *rows.shape)
