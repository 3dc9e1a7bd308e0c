"""How the latent verbs write graphs: SMILES where they are molecules, else JSON lines; to a file or stdout."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path

import typer

from geogae.errors import GeoGAEError
from geogae.graph import Graph

log = logging.getLogger("geogae")

SUFFIXES = (".smi", ".jsonl", ".g6", ".s6", ".npz")
OUTPUT_HELP = "Where the graphs go: .smi, .jsonl, .g6, .s6, .npz; SMILES or JSON lines to stdout if not given."


def write_graphs(graphs: Sequence[Graph], output: Path | None, names: Sequence[str] = ()) -> None:
    """All graphs; what is no valid molecule is left out of SMILES, and said to be."""
    from geogae import formats
    from geogae.files import atomic_path
    from geogae.formats.jsonl import to_record

    molecules = all(graph.node_categorical is not None and graph.edge_categorical is not None for graph in graphs)
    if output is not None and output.suffix.lower() != ".smi":
        formats.write(graphs, output)
        log.info("wrote %s: %d graphs", output, len(graphs))
        return
    if not molecules:
        if output is not None:
            raise GeoGAEError(f"cannot write {output}: these graphs are no molecules; take .jsonl")
        for graph in graphs:
            typer.echo(json.dumps(to_record(graph)))
        return
    smiles = formats.to_smiles_list(graphs)
    named = [*names, *[""] * len(graphs)]
    lines = [f"{one} {name}".rstrip() for one, name in zip(smiles, named, strict=False) if one is not None]
    if lost := smiles.count(None):
        log.warning("%d of %d graphs are not valid molecules and left out", lost, len(graphs))
    if output is None:
        typer.echo("\n".join(lines))
        return
    with atomic_path(output) as temporary:
        temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    log.info("wrote %s: %d molecules", output, len(lines))


def read_one(what: str) -> list[Graph]:
    """A SMILES, or all graphs of a file or data set."""
    from geogae.cli.data import read_graphs
    from geogae.formats import as_graphs

    if os.path.exists(what) or what == "-":  # noqa: PTH110  # a SMILES may be longer than a path can be
        return read_graphs(what)
    try:
        return as_graphs(what)
    except GeoGAEError as wrong:
        try:
            return read_graphs(what)
        except GeoGAEError:
            raise GeoGAEError(f"{what!r} is neither a file, a data set nor a SMILES ({wrong})") from None
