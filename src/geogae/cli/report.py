"""``geogae report``: a run, or the scores of a benchmark, as a page."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from geogae.cli.data import check_writable, load_run
from geogae.cli.train import parts_of_run, read_about
from geogae.errors import GeoGAEError

log = logging.getLogger("geogae")


def report(
    source: Annotated[Path, Argument(metavar="RUN|SCORES", help="A run folder, or a folder or file of scores.")],
    output: Annotated[Path, Option("-o", "--output", help="The page, an .html file.")] = Path("report.html"),
    elements: Annotated[
        str | None, Option(help="Symbols that node categories 0, 1, … stand for, to draw molecules: C,N,O,F,I,Cl,Br")
    ] = None,
    bonds: Annotated[
        str | None, Option(help="RDKit's bond types that edge categories 0, 1, … stand for: 12,1,2,3")
    ] = None,
    sweep: Annotated[
        str | None, Option(help="Of a run: sizes of z at which the model is fitted anew, such as 16,32,64.")
    ] = None,
    title: Annotated[str | None, Option(help="The title of the page.")] = None,
) -> None:
    """Write a page about a run of geogae train, or about the scores of geogae benchmark run.

    Of a run: scores on its test graphs beside baselines and the paper, curves, size errors, scores at other sizes of z,
    the worst graphs beside their reconstructions, samples where there is a prior, the configuration. Of scores: every
    data set and method.

    \b
    Examples:
      geogae report runs/mutag -o report.html
      geogae report runs/aids --sweep 32,64,128,256
      geogae report benchmarks/results -o benchmark.html
    """
    check_writable(output, (".html", ".htm"))
    from geogae.model_folder import CONFIG

    if not source.exists():
        raise GeoGAEError(f"{source} does not exist; give a run folder, or a folder or file of scores")
    if (source / CONFIG).exists():
        _report_run(source, output, title, elements, bonds, sweep)
    elif sweep is not None:
        raise GeoGAEError(f"--sweep is for a run, and {source} is none; scores of a benchmark have their own sweeps")
    else:
        _report_scores(source, output, title)
    log.info("wrote %s (%.1f MB): open it in a browser", output, output.stat().st_size / 1e6)


def _report_run(
    run: Path, output: Path, title: str | None, elements: str | None, bonds: str | None, sweep: str | None
) -> None:
    from geogae.cli.explore import whole_numbers
    from geogae.pages.run_report import run_report

    model = load_run(run)
    train, validation, test = parts_of_run(run)
    dataset = str(read_about(run)["data"])
    run_report(
        model,
        test or validation,
        output,
        train=train,
        history=_history(run),
        dataset=Path(dataset).stem if Path(dataset).suffix else dataset,
        name=title or run.name,
        elements=[symbol.strip() for symbol in elements.split(",")] if elements else None,
        bonds=whole_numbers(bonds, "--bonds") if bonds else None,
        sweep=whole_numbers(sweep, "--sweep", least=1) if sweep else None,
    )


def _report_scores(source: Path, output: Path, title: str | None) -> None:
    from geogae.benchmark.results import read_file, read_results
    from geogae.pages.scores_report import scores_report

    entries = read_results(source) if source.is_dir() else list(read_file(source).values())
    if not entries:
        raise GeoGAEError(
            f"{source} holds neither a run nor scores; give a folder of geogae train or geogae benchmark run"
        )
    scores_report(entries, output, name=title or "Benchmark")


def _history(run: Path) -> list[dict[str, Any]]:
    """What a run measured while it was trained; empty where it was not trained step by step."""
    from geogae.training.loop import METRICS

    try:
        return [json.loads(line) for line in (run / METRICS).read_text(encoding="utf-8").splitlines() if line]
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        log.warning("%s cannot be read (%s): the report has no curves", run / METRICS, error)
        return []
