"""What the verbs share: reading graphs, loading runs, printing results."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from geogae.errors import GeoGAEError
from geogae.formats.limits import IN_HELP

if TYPE_CHECKING:
    from geogae.estimator import GeoGAE
    from geogae.graph import Graph


log = logging.getLogger("geogae")

STDIN = "-"
DATA = (
    "A data set's name, or a file: .jsonl, .g6, .s6, .smi, .parquet, .npz, TU .zip or folder; "
    f"- reads JSONL, SMILES or graph6 lines from stdin. {IN_HELP}"
)
RUN = "A run folder, a saved model, or the name of a pretrained model, such as molecules; a folder comes first."
Format = Annotated[
    str | None,
    Option("--format", help="The format of DATA, if not by its suffix: jsonl, smi, g6, …; for stdin, if not guessed."),
]
Simplify = Annotated[
    bool, Option("--simplify", help="Drop self-loops and weights, merge repeated edges, read arcs as edges.")
]
KeepRules = Annotated[
    bool,
    Option(
        "--keep-rules",
        help="Decode only graphs that obey what all training graphs obey: connectedness, categories, valences.",
    ),
]


def iter_graphs(data: str, *, simplify: bool = False, format: str | None = None) -> Iterator[Graph]:
    """The graphs of a data set, of a file, or of stdin (``-``), one at a time.

    Memory is bounded for the formats with one graph a line and for Parquet, see :func:`geogae.formats.iter_read`.
    """
    from geogae import datasets, formats

    if data != STDIN:
        return datasets.iter_read(data, simplify=simplify, format=format)
    if sys.stdin is None:
        raise GeoGAEError("there is no stdin to read graphs from; give a file")
    if sys.stdin.isatty():
        log.info("reading graphs from the terminal, one a line, until Ctrl-D")
    return formats.iter_read(sys.stdin.buffer, simplify=simplify, format=format)


def read_graphs(
    data: str,
    *,
    first: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    simplify: bool = False,
    format: str | None = None,
) -> list[Graph]:
    """The graphs of a data set, of a file, or of stdin (``-``), all or some of them."""
    from geogae import datasets
    from geogae.formats.limits import limited

    if first is not None and sample is not None:
        raise GeoGAEError("--first and --sample exclude each other; give one of them")
    graphs = limited(iter_graphs(data, simplify=simplify, format=format), data)
    wanted = first if sample is None else sample
    if not graphs:
        raise GeoGAEError(f"{data} holds no graphs")
    if wanted is None:
        return graphs
    if not 1 <= wanted <= len(graphs):
        option = "--first" if sample is None else "--sample"
        raise GeoGAEError(f"{option} {wanted} must be from 1 to {len(graphs)}, the number of graphs in {data}")
    return graphs[:wanted] if sample is None else datasets.sample(graphs, wanted, seed)


def model_path(run: Path) -> Path:
    """The folder of a model: the folder itself, which comes first, or that of a pretrained model of this name."""
    from geogae import pretrained
    from geogae.model_folder import CONFIG
    from geogae.pretrained.hub import PREFIX

    name = str(run)
    if run.exists():
        return run
    if name in pretrained.names() or name.startswith(PREFIX):
        return pretrained.path(name)
    raise GeoGAEError(
        f"{run} is no folder; a saved model is a folder with {CONFIG} and its weights, and the pretrained models are "
        f"{', '.join(pretrained.names()) or 'none in this installation'}, or {PREFIX}user/name from the hub"
    )


def load_run(run: Path) -> GeoGAE:
    """The model of a run folder, or a pretrained one by its name."""
    from geogae.estimator import GeoGAE
    from geogae.model_folder import CONFIG
    from geogae.training.loop import STATE

    run = model_path(run)
    if (run / STATE).exists() and not (run / CONFIG).exists():
        raise GeoGAEError(f"{run} was interrupted before it had a model; finish it with geogae train … --resume")
    return GeoGAE.load(run)


def check_writable(path: Path | None, suffixes: tuple[str, ...]) -> None:
    """Fail before the work, not after it, where a file could not be written."""
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        raise GeoGAEError(f"cannot write {path}: its suffix must be {' or '.join(suffixes)}")
    try:
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise GeoGAEError(f"cannot write {path}: {error.strerror or error}; choose another place") from None


def print_facts(facts: Mapping[str, str]) -> None:
    """A line for each fact."""
    width = max(map(len, facts)) + 2
    for name, fact in facts.items():
        typer.echo(f"{name:<{width}}{fact}")


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))
