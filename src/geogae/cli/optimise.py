"""``geogae optimise``: better graphs by a score."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from geogae.cli.data import DATA, KeepRules, check_writable, load_run, print_json, read_graphs
from geogae.cli.grid import plot_grid
from geogae.cli.output import OUTPUT_HELP, SUFFIXES, write_graphs

log = logging.getLogger("geogae")


def optimise(
    run: Annotated[Path, Argument(metavar="RUN", help="A saved model with a prior.")],
    score: Annotated[
        str,
        Option(
            help="qed, logp, plogp, tpsa, nodes, sa (synthetic accessibility: high is hard to make), or "
            "module:function; higher is better."
        ),
    ],
    budget: Annotated[int, Option(min=1, help="Calls of the score.")] = 1000,
    start: Annotated[str | None, Option(help=f"Graphs to start from; draws if not given. {DATA}")] = None,
    top: Annotated[int, Option(min=1, help="Graphs to write.")] = 10,
    output: Annotated[Path | None, Option("-o", "--output", help=OUTPUT_HELP)] = None,
    scores: Annotated[Path | None, Option(help="A .jsonl file that keeps every score, for --resume.")] = None,
    resume: Annotated[bool, Option("--resume", help="Go on with the search of --scores.")] = False,
    keep_rules: KeepRules = False,
    seed: Annotated[int, Option(min=0, help="Seed of the search.")] = 0,
    plot: Annotated[Path | None, Option(help="A picture of the best: .png.")] = None,
    as_json: Annotated[
        bool, Option("--json", help="Print the best scores and the history as JSON; graphs only go to -o then.")
    ] = False,
) -> None:
    """Search for graphs with a high score.

    A function module:function is called with a graph, or with an RDKit molecule if it has the attribute molecules=True.

    \b
    Examples:
      geogae optimise runs/qm9 --score qed --budget 2000 -o best.smi
      geogae optimise runs/qm9 --score mine:score --scores search.jsonl --resume
    """
    check_writable(output, SUFFIXES)
    check_writable(plot, (".png",))
    check_writable(scores, (".jsonl",))
    model = load_run(run)
    begin = None if start is None else read_graphs(start)
    how: dict[str, Any] = {"seed": seed, "file": scores, "resume": resume, "progress": True}
    how["keep_rules"] = keep_rules
    found = model.optimise(score, budget, begin, **how)
    best = found.best[:top]
    values = [f"{one.score:.4g}" for one in best]
    if as_json:
        print_json({"calls": found.calls, "failed": found.failed, "best": [one.score for one in best],
                    "history": found.history})  # fmt: skip
    if output is not None or not as_json:
        write_graphs([one.graph for one in best], output, values)
    if plot is not None:
        plot_grid([one.graph for one in best], plot, values)
    log.info("%d calls, best %s, mean of the ten best %.4g", found.calls, values[0], found.top)
