"""``geogae benchmark``: methods on data sets, measured alike; and the tables and pictures made from the results."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from geogae.cli.data import check_writable, print_facts, print_json
from geogae.errors import GeoGAEError
from geogae.files import atomic_path

log = logging.getLogger("geogae")

benchmark = typer.Typer(invoke_without_command=True)

RESULTS = Path("benchmarks/results")
Results = Annotated[Path, Option(help="The folder of results, one .jsonl for each data set.")]


@benchmark.callback()
def _benchmark(context: typer.Context) -> None:
    """Run methods on data sets, and report what they scored.

    \b
    Examples:
      geogae benchmark run --datasets MUTAG
      geogae benchmark report --plots pictures
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@benchmark.command()
def run(
    methods: Annotated[
        str, Option(help="Such as path,linear,sequential; if not given, all that are not trained.")
    ] = "",
    datasets: Annotated[str, Option(help="Names or files; NAME:COUNT for a sample.")] = "MUTAG",
    seeds: Annotated[str, Option(help="Such as 0-4 or 0,2.")] = "0-4",
    split: Annotated[
        str, Option(help="paper (at random), disjoint (isomorphic graphs on one side), or both.")
    ] = "paper",
    minutes: Annotated[float | None, Option(help="Budget of a trained method; its preset's if not given.")] = None,
    core_minutes: Annotated[
        float | None, Option(help="The same in processor time, which work beside it does not shorten.")
    ] = None,
    sizes: Annotated[str, Option(help="Sizes m of z to go through, such as 8,16,32.")] = "",
    change: Annotated[list[str] | None, Option("--set", metavar="NAME=VALUE", help="Change a parameter.")] = None,
    threads: Annotated[int | None, Option(min=1, max=1024, help="Threads of a run; all cores if not given.")] = None,
    jobs: Annotated[int, Option(min=1, max=1024, help="Runs at a time.")] = 1,
    results: Results = RESULTS,
    work: Annotated[Path, Option(help="Where trainings keep their checkpoints.")] = Path("runs/benchmark"),
    retry: Annotated[bool, Option("--retry", help="Run again what failed before.")] = False,
    again: Annotated[bool, Option("--again", help="Run again what has a result from another commit.")] = False,
) -> None:
    """Fit each method on the training graphs, choose on the validation graphs, and measure it once on the test graphs.

    A run is one method, data set, split and seed; its result is one line in the .jsonl file of the data set. Runs that
    have a result are skipped, an interrupted training continues from its checkpoint, and what fails is a result that
    says so. A newer line of the same run replaces the older one.

    \b
    Examples:
      geogae benchmark run                                              all that need no training, on the embedded MUTAG
      geogae benchmark run --methods linear --datasets MUTAG,AIDS,QM9:20000 --split both
      geogae benchmark run --methods sequential --datasets AIDS --seeds 0-2 --core-minutes 20
      geogae benchmark run --methods linear-tuned --datasets AIDS --sizes 8,16,32,64,128,192,384
    """
    from geogae.benchmark.methods import METHODS
    from geogae.benchmark.plan import SPLITS, parse_numbers, plan
    from geogae.benchmark.provenance import cores
    from geogae.benchmark.runner import run_plan
    from geogae.cli.train import parse_changes

    if split not in (*SPLITS, "both"):
        raise GeoGAEError(f"--split {split!r} is not known; valid are {', '.join(SPLITS)}, both")
    changes = parse_changes(change or [])
    for name, budget in (("minutes", minutes), ("core_minutes", core_minutes)):
        if budget is not None:
            changes[name] = int(budget) if budget.is_integer() else budget
    names = [name.strip() for name in methods.split(",") if name.strip()]
    wanted = [name.strip() for name in datasets.split(",") if name.strip()]
    if not wanted:
        raise GeoGAEError("--datasets names none; give names such as MUTAG,AIDS")
    counts = run_plan(
        plan(
            names or [name for name, entry in METHODS.items() if not entry.trained],
            wanted,
            parse_numbers(seeds, "--seeds"),
            SPLITS if split == "both" else (split,),
            parse_numbers(sizes, "--sizes") if sizes else (None,),
            changes.items(),
        ),
        results,
        work,
        threads=threads or cores(),
        jobs=jobs,
        retry=retry,
        again=again,
    )
    where = "" if results == RESULTS else f" --results {results}"
    print_facts({name: str(count) for name, count in counts.items()} | {"next": f"geogae benchmark report{where}"})
    if counts["failed"]:
        raise typer.Exit(1)


@benchmark.command()
def report(
    results: Results = RESULTS,
    output: Annotated[Path | None, Option("-o", "--output", help="Write the tables as .md.")] = None,
    into: Annotated[
        list[Path] | None, Option(metavar="FILE", help="Fill the blocks of this page; may be repeated.")
    ] = None,
    plots: Annotated[Path | None, Option(metavar="FOLDER", help="Save f1.png, sizes.png and time.png there.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print the rows behind the tables, F1 as fractions.")] = False,
) -> None:
    """Tables and pictures of what was run: our methods, trivial baselines, and the paper's scores beside them.

    Markdown goes to stdout, unless -o, --into or --json ask for something else. A block of a page is what stands
    between <!-- results: NAME --> and <!-- end -->; names are f1-paper, f1-disjoint, unseen,
    attributes, sizes, detail and origin.

    \b
    Examples:
      geogae benchmark report
      geogae benchmark report -o benchmark.md --plots pictures
      geogae benchmark report --into README.md --into docs/benchmark.md
      geogae benchmark report --results my_scores --json
    """
    check_writable(output, (".md",))
    from geogae.benchmark.blocks import fill_file
    from geogae.benchmark.results import read_results
    from geogae.benchmark.summary import summarise
    from geogae.benchmark.tables import document, tables

    rows = summarise(read_results(results))
    if not rows:
        raise GeoGAEError(f"{results} holds no results; run geogae benchmark run first, or give --results")
    for page in into or []:
        log.info("%s %s", page, "is updated" if fill_file(page, tables(rows)) else "is up to date")
    if output is not None:
        with atomic_path(output) as temporary:
            temporary.write_text(document(rows), encoding="utf-8")
        log.info("wrote %s", output)
    if plots is not None:
        from geogae.benchmark.figures import save_figures

        log.info("wrote %s", ", ".join(map(str, save_figures(rows, plots))))
    if as_json:
        print_json([row.as_dict() for row in rows])
    elif not into and output is None:
        typer.echo(document(rows), nl=False)
