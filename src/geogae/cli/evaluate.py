"""``geogae evaluate``: how well graphs come back through z."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from geogae.cli.data import DATA, RUN, Format, Simplify, check_writable, load_run, print_facts, print_json, read_graphs
from geogae.cli.encode import check_atoms
from geogae.cli.train import in_words, parts_of_run
from geogae.errors import GeoGAEError

SPLITS = ("train", "validation", "test")
DRAWN, DRAWN_MOLECULES = 6, 12
MOLECULE_SCORES = {"valid": "valid molecules", "same_smiles": "same SMILES"}


def evaluate(
    run: Annotated[Path, Argument(metavar="RUN", help=RUN)],
    data: Annotated[str | None, Argument(metavar="[DATA]", help=f"Other graphs, all of them. {DATA}")] = None,
    split: Annotated[
        str | None, Option(metavar="|".join(SPLITS), help="Which part of the run's own data; test if not given.")
    ] = None,
    plot: Annotated[Path | None, Option(help="Save a picture of graphs beside what came back.")] = None,
    molecules: Annotated[
        Path | None,
        Option(help="Save a .png or .svg of molecules beside what came back, and score them as molecules."),
    ] = None,
    simplify: Simplify = False,
    format: Format = None,
    as_json: Annotated[bool, Option("--json", help="Print the scores as JSON.")] = False,
) -> None:
    """Encode graphs, decode their vectors, compare: F1 (the paper's), exact rate, size error.

    With --molecules also: the rate of valid molecules, and of those that have the SMILES of the original.

    \b
    Examples:
      geogae evaluate runs/mutag --split test --json
      geogae evaluate runs/mutag graphs.jsonl --plot back.png
      geogae evaluate runs/qm9 --molecules grid.png
    """
    check_writable(plot, (".png", ".pdf", ".svg"))
    check_writable(molecules, (".png", ".svg"))
    from geogae import metrics
    from geogae.formats.optional import require

    if data is not None and split is not None:
        raise GeoGAEError(f"--split {split} is of the run's own data; leave it out, or leave out DATA")
    split = split or SPLITS[-1]
    if split not in SPLITS:
        raise GeoGAEError(f"--split {split!r} is not known; valid are {', '.join(SPLITS)}")
    if molecules is not None:
        require("rdkit.Chem", "chem")
    model = load_run(run)
    if data is not None:
        graphs = read_graphs(data, simplify=simplify, format=format)
    else:
        if not run.exists():  # pretrained
            raise GeoGAEError(f"the pretrained model {run} comes without its graphs; give graphs as DATA")
        graphs = parts_of_run(run)[SPLITS.index(split)]
        if not graphs:
            raise GeoGAEError(f"the {split} part of the data of {run} is empty; give DATA, or train with more graphs")
    chemistry: dict[str, float] = {}
    if molecules is not None:  # first: what is no molecule should not wait for the other scores
        from geogae.molecule_plots import plot_molecules

        pairs = model.reconstruct(graphs)
        decoded = [back for _, back in pairs]
        check_atoms(decoded, run)
        chemistry = metrics.molecules([true for true, _ in pairs], decoded)
        plot_molecules(pairs[:DRAWN_MOLECULES], molecules)
    scores = model.evaluate(graphs)
    what = {"run": str(run), "data": data or split, "graphs": len(graphs)}
    if as_json:
        print_json({**what, **scores, **chemistry})
    else:
        rates = {name: f"{100 * chemistry[key]:.2f} %" for key, name in MOLECULE_SCORES.items() if key in chemistry}
        print_facts({**{name: str(value) for name, value in what.items()}, **in_words(scores), **rates})
    if plot is not None:
        from geogae.plots import plot_reconstructions

        plot_reconstructions(model.reconstruct(graphs[:DRAWN]), plot)
