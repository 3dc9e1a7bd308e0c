"""``geogae encode`` and ``geogae decode``: graphs to vectors and back."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Annotated
from zipfile import BadZipFile

import typer
from typer import Argument, Option

from geogae.cli.data import check_writable, print_json, read_graphs
from geogae.errors import GeoGAEError

log = logging.getLogger("geogae")


def encode(
    run: Annotated[Path, Argument(metavar="RUN", help="A run folder or a saved model.")],
    data: Annotated[str, Argument(metavar="DATA", help="A data set's name or a file of graphs.")],
    output: Annotated[Path | None, Option("-o", "--output", help="An .npy file; JSON to stdout if not given.")] = None,
) -> None:
    """Turn graphs into vectors: a float32 array with a row for each graph.

    \b
    Examples:
      geogae encode runs/mutag graphs.jsonl -o z.npy
    """
    check_writable(output, (".npy",))
    import numpy as np

    from geogae.estimator import GeoGAE
    from geogae.files import atomic_path

    z = GeoGAE.load(run).encode(read_graphs(data))
    if output is None:
        print_json(z.tolist())
        return
    with atomic_path(output) as temporary, temporary.open("wb") as file:
        np.save(file, z, allow_pickle=False)
    log.info("wrote %s: %d vectors of %d numbers", output, *z.shape)


def decode(
    run: Annotated[Path, Argument(metavar="RUN", help="A run folder or a saved model.")],
    vectors: Annotated[Path, Argument(metavar="Z", help="An .npy file of vectors, as geogae encode writes it.")],
    output: Annotated[
        Path | None, Option("-o", "--output", help="Where the graphs go: .jsonl, .g6, .s6, .npz; JSON lines to stdout.")
    ] = None,
) -> None:
    """Turn vectors back into graphs.

    \b
    Examples:
      geogae decode runs/mutag z.npy -o back.jsonl
    """
    check_writable(output, (".jsonl", ".g6", ".s6", ".npz"))
    import numpy as np

    from geogae import formats
    from geogae.estimator import GeoGAE
    from geogae.formats.jsonl import to_record

    try:
        z = np.load(vectors, allow_pickle=False)
    except (OSError, EOFError, ValueError, BadZipFile) as error:
        raise GeoGAEError(f"cannot read {vectors}: {error}; it must be an .npy file of numbers") from None
    graphs = GeoGAE.load(run).decode(np.atleast_2d(z))
    if output is None:
        for graph in graphs:
            typer.echo(json.dumps(to_record(graph)))
        return
    formats.write(graphs, output)
    log.info("wrote %s: %d graphs", output, len(graphs))
