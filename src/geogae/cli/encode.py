"""``geogae encode`` and ``geogae decode``: graphs to vectors and back."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from geogae.cli.data import DATA, RUN, STDIN, Format, Simplify, check_writable, iter_graphs, load_run, model_path
from geogae.errors import GeoGAEError

if TYPE_CHECKING:
    from geogae.graph import Graph

log = logging.getLogger("geogae")

_LISTED = 20  # rows that a warning lists


def encode(
    run: Annotated[Path, Argument(metavar="RUN", help=RUN)],
    data: Annotated[str, Argument(metavar="DATA", help=DATA)],
    output: Annotated[Path | None, Option("-o", "--output", help="An .npy file; JSON to stdout if not given.")] = None,
    jobs: Annotated[int, Option(min=1, max=4096, help="Workers.")] = 1,
    simplify: Simplify = False,
    format: Format = None,
) -> None:
    """Turn graphs into vectors: a float32 array with a row for each graph. As JSON, a line for each.

    Graphs are read and encoded block by block, so that a file may be larger than memory. With -o, a job that was ended
    continues where it stopped when the same command is given again.

    \b
    Examples:
      geogae encode runs/mutag graphs.jsonl -o z.npy
      geogae encode molecules big.smi -o z.npy --jobs 2
      geogae encode runs/mutag graphs.jsonl > z.json
      cat molecules.smi | geogae encode molecules - -o z.npy
    """
    check_writable(output, (".npy",))
    from geogae.model_folder import CONFIG
    from geogae.progress import progress_bar
    from geogae.streaming import encode_blocks, write_resumable

    model = load_run(run)
    config = (model_path(run) / CONFIG).read_text(encoding="utf-8")
    graphs = iter_graphs(data, simplify=simplify, format=format)
    with progress_bar("encoding", None) as advance:
        counted = _some((graph for graph in graphs if advance()), data)
        if output is None:
            _print_rows(encode_blocks(model, counted, n_jobs=jobs))
            return
        about = {"model": config, "data": _identity(data), "simplify": simplify}
        shape, before = write_resumable(model, counted, output, about, n_jobs=jobs)
    if before:
        log.info("%d rows were there from a job that was ended", before)
    log.info("wrote %s: %d vectors of %d numbers", output, *shape)


def _print_rows(blocks: Iterable[Any]) -> None:
    separator = "["
    for block in blocks:
        for row in block.tolist():
            typer.echo(f"{separator}{json.dumps(row)}", nl=False)
            separator = ",\n "
    typer.echo("]")


def _some(graphs: Iterable[Graph], data: str) -> Iterator[Graph]:
    """The same graphs; an error if there are none."""
    count = 0
    for count, graph in enumerate(graphs, 1):  # noqa: B007
        yield graph
    if not count:
        raise GeoGAEError(f"{data} holds no graphs")


def _identity(data: str) -> list[Any]:
    """What changes when the graphs do; what comes from stdin is never the same again."""
    path = Path(data)
    if data == STDIN:
        return [STDIN, time.time()]
    return [str(path.resolve()), (stat := path.stat()).st_size, stat.st_mtime_ns] if path.exists() else [data]


def decode(
    run: Annotated[Path, Argument(metavar="RUN", help=RUN)],
    vectors: Annotated[Path, Argument(metavar="Z", help="Vectors as geogae encode writes them: .npy, or .json.")],
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            help="Where the graphs go: .jsonl, .g6, .s6, .parquet, .npz, .smi; JSON lines to stdout if not given.",
        ),
    ] = None,
) -> None:
    """Turn vectors back into graphs; of a model of molecules, into SMILES (.smi).

    Vectors are read and decoded block by block, so that a file may be larger than memory (.npz is packed as a whole).
    Nodes come in the model's order; names do not go through z, attributes only if the model decodes them.
    A line of a .smi file is a SMILES and the name z/ROW, rows counted from 0; rows that are no valid molecules are
    left out, and said to be.

    \b
    Examples:
      geogae decode runs/mutag z.npy -o back.jsonl
      geogae decode runs/qm9 z.npy -o back.smi
    """
    check_writable(output, (".jsonl", ".g6", ".s6", ".parquet", ".npz", ".smi"))
    from geogae import formats
    from geogae.formats.jsonl import to_record
    from geogae.formats.optional import require
    from geogae.formats.vectors import iter_vectors
    from geogae.streaming import decode_blocks

    suffix = "" if output is None else output.suffix.lower()
    if suffix == ".smi":
        require("rdkit.Chem", "chem")
    if suffix == ".parquet":
        require("pyarrow.parquet", "parquet")
    graphs = decode_blocks(load_run(run), iter_vectors(vectors))
    if output is None:
        for graph in graphs:
            typer.echo(json.dumps(to_record(graph)))
    elif suffix == ".smi":
        _write_molecules(graphs, output, run)
    else:
        formats.write(graphs, output)
        log.info("wrote %s", output)


def check_atoms(graphs: Sequence[Graph | None], run: Path) -> None:
    """Fail where what a model decodes cannot be read as molecules."""
    if any(graph is not None and graph.node_categorical is None for graph in graphs):
        raise GeoGAEError(
            f"{run} decodes graphs without atoms (0 node_categorical columns), which are no molecules; "
            "train on molecules with attributes='decoded'"
        )


def _write_molecules(graphs: Iterator[Graph], output: Path, run: Path) -> None:
    """A line for each molecule, written block by block; rows that are no molecules are counted and said."""
    from geogae.files import atomic_path
    from geogae.formats import to_smiles_list
    from geogae.streaming import BLOCK

    rows, invalid = 0, list[int]()
    with atomic_path(output) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        while block := list(islice(graphs, BLOCK)):
            check_atoms(block, run)
            for row, smiles in enumerate(to_smiles_list(block), rows):
                if smiles is None:
                    invalid.append(row)
                else:
                    file.write(f"{smiles} z/{row}\n")
            rows += len(block)
    if invalid:
        listed = ", ".join(map(str, invalid[:_LISTED])) + ", …" * (len(invalid) > _LISTED)
        log.warning("%d of %d rows are not valid molecules and left out: %s", len(invalid), rows, listed)
    log.info("wrote %s: %d molecules", output, rows - len(invalid))
