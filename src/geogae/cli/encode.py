"""``geogae encode`` and ``geogae decode``: graphs to vectors and back."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zipfile import BadZipFile

import typer
from typer import Argument, Option

from geogae.cli.data import DATA, Simplify, check_writable, load_run, read_graphs
from geogae.errors import GeoGAEError

if TYPE_CHECKING:
    from geogae.graph import Graph

log = logging.getLogger("geogae")

_LISTED = 20  # rows that a warning lists


def encode(
    run: Annotated[Path, Argument(metavar="RUN", help="A run folder or a saved model.")],
    data: Annotated[str, Argument(metavar="DATA", help=DATA)],
    output: Annotated[Path | None, Option("-o", "--output", help="An .npy file; JSON to stdout if not given.")] = None,
    simplify: Simplify = False,
) -> None:
    """Turn graphs into vectors: a float32 array with a row for each graph. As JSON, a line for each.

    \b
    Examples:
      geogae encode runs/mutag graphs.jsonl -o z.npy
      geogae encode runs/mutag graphs.jsonl > z.json
    """
    check_writable(output, (".npy",))
    import numpy as np

    from geogae.files import atomic_path

    z = load_run(run).encode(read_graphs(data, simplify=simplify))
    if output is None:
        typer.echo("[" + ",\n ".join(json.dumps(row) for row in z.tolist()) + "]")
        return
    with atomic_path(output) as temporary, temporary.open("wb") as file:
        np.save(file, z, allow_pickle=False)
    log.info("wrote %s: %d vectors of %d numbers", output, *z.shape)


def decode(
    run: Annotated[Path, Argument(metavar="RUN", help="A run folder or a saved model.")],
    vectors: Annotated[Path, Argument(metavar="Z", help="Vectors as geogae encode writes them: .npy, or .json.")],
    output: Annotated[
        Path | None,
        Option("-o", "--output", help="Where the graphs go: .jsonl, .g6, .s6, .npz, .smi; JSON lines to stdout."),
    ] = None,
) -> None:
    """Turn vectors back into graphs; of a model of molecules, into SMILES (.smi).

    Nodes come in the model's order; names do not go through z, attributes only if the model decodes them.
    A line of a .smi file is a SMILES and the name z/ROW, rows counted from 0; rows that are no valid molecules are
    left out, and said to be.

    \b
    Examples:
      geogae decode runs/mutag z.npy -o back.jsonl
      geogae decode runs/qm9 z.npy -o back.smi
    """
    check_writable(output, (".jsonl", ".g6", ".s6", ".npz", ".smi"))
    from geogae import formats
    from geogae.formats.jsonl import to_record
    from geogae.formats.optional import require

    smiles = output is not None and output.suffix.lower() == ".smi"
    if smiles:
        require("rdkit.Chem", "chem")
    graphs = load_run(run).inverse_transform(_read_vectors(vectors))
    if output is None:
        for graph in graphs:
            typer.echo(json.dumps(to_record(graph)))
    elif smiles:
        check_atoms(graphs, run)
        _write_molecules(graphs, output)
    else:
        formats.write(graphs, output)
        log.info("wrote %s: %d graphs", output, len(graphs))


def _read_vectors(path: Path) -> Any:
    import numpy as np

    wanted = "it must be an .npy file of numbers, or JSON: a list of rows of equally many numbers"
    try:
        if path.suffix.lower() != ".json":
            return np.load(path, allow_pickle=False)
        return np.array(json.loads(path.read_text(encoding="utf-8")), dtype=np.float64)
    except OSError as error:
        raise GeoGAEError(f"cannot read {path}: {error.strerror or error}; {wanted}") from None
    except (EOFError, TypeError, ValueError, BadZipFile, RecursionError):  # NumPy's words recommend to unpickle it
        raise GeoGAEError(f"{path} holds no vectors; {wanted}") from None


def check_atoms(graphs: Sequence[Graph | None], run: Path) -> None:
    """Fail where what a model decodes cannot be read as molecules."""
    if any(graph is not None and graph.node_categorical is None for graph in graphs):
        raise GeoGAEError(
            f"{run} decodes graphs without atoms (0 node_categorical columns), which are no molecules; "
            "train on molecules with attributes='decoded'"
        )


def _write_molecules(graphs: Sequence[Graph], output: Path) -> None:
    from geogae.files import atomic_path
    from geogae.formats import to_smiles_list

    rows = list(enumerate(to_smiles_list(graphs)))
    with atomic_path(output) as temporary:
        text = "".join(f"{smiles} z/{row}\n" for row, smiles in rows if smiles is not None)
        temporary.write_text(text, encoding="utf-8", newline="\n")
    if invalid := [str(row) for row, smiles in rows if smiles is None]:
        listed = ", ".join(invalid[:_LISTED]) + ", …" * (len(invalid) > _LISTED)
        log.warning("%d of %d rows are not valid molecules and left out: %s", len(invalid), len(rows), listed)
    log.info("wrote %s: %d molecules", output, len(rows) - len(invalid))
