"""``geogae cloud``: graphs to hyperball clouds, with a report on how exact they are."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from geogae.cli.data import DATA, Format, Simplify, check_writable, print_facts, print_json, read_graphs
from geogae.geometry.recipe import Recipe

if TYPE_CHECKING:
    from geogae.geometry.cloud import HyperballCloud

log = logging.getLogger("geogae")

DRAWN = 12  # clouds in a picture


def cloud(
    data: Annotated[str, Argument(metavar="DATA", help=DATA)],
    dim: Annotated[
        str, Option(metavar="N|auto", help="Geometry dimension d; auto: the smallest that is exact.")
    ] = "auto",
    start: Annotated[
        str, Option(metavar="mds|random", help="Where the fit begins; random is the paper's.")
    ] = Recipe.start,
    order: Annotated[str, Option(metavar="greedy|axis|…", help="Node order; greedy is the paper's.")] = "greedy",
    margin: Annotated[float, Option(help="By how much the rule should be right.")] = Recipe.margin,
    tries: Annotated[int, Option(help="Tries for a graph that stays inexact.")] = Recipe.tries,
    budget: Annotated[
        float, Option(show_default=f"{Recipe.budget:.0e}", help="Pairs of nodes times steps that one graph may cost.")
    ] = Recipe.budget,
    seed: Annotated[int, Option(min=0, help="Seed of the fits and of --sample.")] = Recipe.seed,
    first: Annotated[int | None, Option(metavar="N", help="Only the first N graphs.")] = None,
    sample: Annotated[int | None, Option(metavar="N", help="Only N graphs drawn at random.")] = None,
    n_jobs: Annotated[int, Option("--jobs", help="Workers; -1: all cores.")] = -1,
    device: Annotated[str, Option(help="Where first tries are made: cpu, cuda, …")] = "cpu",
    strict: Annotated[
        bool, Option("--strict", help="Exit with code 1, writing nothing, if a cloud is inexact.")
    ] = False,
    no_cache: Annotated[bool, Option("--no-cache", help="Fit again, and keep no fits for the next time.")] = False,
    output: Annotated[Path | None, Option("-o", "--output", help="Save the clouds as .npz or .jsonl.")] = None,
    plot: Annotated[Path | None, Option(help=f"Save a picture of up to {DRAWN} graphs beside their clouds.")] = None,
    simplify: Simplify = False,
    format: Format = None,
    as_json: Annotated[bool, Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Fit clouds that give back exactly the same graphs.

    \b
    Examples:
      geogae cloud MUTAG --dim 3
      geogae cloud AIDS --dim auto --plot aids.png
      geogae cloud graphs.jsonl --dim 6 --strict -o clouds.npz
      geogae cloud QM9 --sample 10000 --dim 4 --json
    """
    check_writable(output, (".npz", ".jsonl"))
    check_writable(plot, (".png", ".pdf", ".svg"))
    from geogae.geometry.fitting import check_dim, fit_clouds

    how: dict[str, Any] = {
        "dim": dim if dim == "auto" else check_dim(int(dim) if dim.isdecimal() else dim),
        "order": order, "device": device, "n_jobs": n_jobs, "cache": not no_cache,
        "start": start, "margin": margin, "tries": tries, "budget": budget, "seed": seed,
    }  # fmt: skip
    graphs = read_graphs(data, first=first, sample=sample, seed=seed, simplify=simplify, format=format)
    began = perf_counter()
    clouds = fit_clouds(graphs, progress=True, **how)
    facts = summary(clouds, perf_counter() - began)
    if as_json:
        print_json({"data": data, **facts})
    else:
        print_facts(_in_words(data, facts))
    if strict and facts["inexact"]:
        raise typer.Exit(1)
    if output is not None:
        from geogae.geometry.storage import save_clouds

        save_clouds(clouds, output)
        log.info("wrote %s", output)
    if plot is not None:
        from geogae.plots import plot_clouds

        shown = [clouds[i * len(clouds) // DRAWN] for i in range(DRAWN)] if len(clouds) > DRAWN else clouds
        plot_clouds(shown, plot)
        log.info("wrote %s (%d of %d clouds)", plot, len(shown), len(clouds))


def summary(clouds: Sequence[HyperballCloud], seconds: float) -> dict[str, Any]:
    """What came out; isomorphic graphs were fitted once and count once in steps."""
    distinct = {cloud.balls.tobytes(): cloud for cloud in clouds}.values()  # same structure, same balls in node order
    margins = [cloud.margin for cloud in clouds if math.isfinite(cloud.margin)]  # a single node has none
    return {
        "graphs": len(clouds),
        "topologies": len(distinct),
        "dim": clouds[0].dim,
        "exact": sum(cloud.exact for cloud in clouds),
        "inexact": [(cloud.graph and cloud.graph.name) or f"#{i}" for i, cloud in enumerate(clouds) if not cloud.exact],
        "canonical": sum(cloud.canonical for cloud in clouds),
        "smallest_margin": min(margins, default=None),
        "median_margin": median(margins) if margins else None,
        "steps": sum(cloud.steps for cloud in distinct),
        "tries": max(cloud.tries for cloud in distinct),
        "seconds": round(seconds, 3),
    }


def _in_words(data: str, facts: dict[str, Any]) -> dict[str, str]:
    margins = (
        "none" if facts["smallest_margin"] is None else "smallest {smallest_margin:.3f}, median {median_margin:.3f}"
    )
    return {
        "data": "{data}: {graphs:,} graphs, {topologies:,} distinct".format(data=data, **facts),
        "dim": str(facts["dim"]),
        "exact": "{exact:,} of {graphs:,}".format(**facts),
        "margin": margins.format(**facts),
        "work": "{steps:,} steps, at most {tries} {}".format("try" if facts["tries"] == 1 else "tries", **facts),
        "time": "{seconds:.1f} s".format(**facts),
    }
