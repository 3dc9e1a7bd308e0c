"""``geogae prior`` and ``geogae sample``: fit a prior, and draw new graphs from it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from geogae.cli.data import DATA, Format, KeepRules, Simplify, check_writable, load_run, print_json, read_graphs
from geogae.cli.grid import plot_grid
from geogae.cli.output import OUTPUT_HELP, SUFFIXES, write_graphs
from geogae.errors import GeoGAEError

log = logging.getLogger("geogae")


def prior(
    run: Annotated[Path, Argument(metavar="RUN", help="A run folder or a saved model; the prior is saved with it.")],
    data: Annotated[str, Argument(metavar="DATA", help=DATA)],
    kind: Annotated[str, Option("--kind", help="flow, gaussian or mixture.")] = "flow",
    core_minutes: Annotated[float, Option(min=0.001, help="Processor time for the fit, in minutes.")] = 10.0,
    properties: Annotated[
        list[str] | None,
        Option("--property", help="Condition on a score of molecules (qed, logp, tpsa, …) or on label."),
    ] = None,
    resume: Annotated[bool, Option("--resume", help="Go on with a fit that was interrupted.")] = False,
    seed: Annotated[int, Option(min=0, help="Seed of the fit.")] = 0,
    jobs: Annotated[int, Option(min=1, max=4096, help="Workers that encode.")] = 1,
    simplify: Simplify = False,
    format: Format = None,
) -> None:
    """Fit a prior to the z of graphs, so that new graphs can be drawn.

    \b
    Examples:
      geogae prior runs/qm9 train.smi --core-minutes 30
      geogae prior runs/qm9 train.smi --property logp --property qed
    """
    model = load_run(run)
    if not run.exists():  # pretrained
        copy = f"python -c \"from geogae import GeoGAE; GeoGAE.pretrained('{run}').save('mine')\""
        raise GeoGAEError(f"a prior is saved with its model, and {run} belongs to the package; make a copy: {copy}")
    graphs = model._own(read_graphs(data, simplify=simplify, format=format))
    values = {name: _property(name, graphs) for name in properties or ()}
    checkpoint = run / "prior.part.safetensors"
    model.fit_prior(graphs, values, prior=kind, core_minutes=core_minutes, seed=seed, checkpoint=checkpoint,
                    resume=resume, progress=True, n_jobs=jobs)  # fmt: skip
    model.save(run)
    checkpoint.unlink(missing_ok=True)
    log.info("saved the prior of %d graphs with %s", len(graphs), run)


def _property(name: str, graphs: list) -> list[float]:  # type: ignore[type-arg]
    from geogae.formats import to_molecules
    from geogae.latent import scores

    if name == "label":
        labels = [graph.label for graph in graphs]
        if not all(isinstance(label, int | float) for label in labels):
            raise GeoGAEError("--property label needs graphs whose label is one number")
        return [float(label) for label in labels]
    function, molecules = scores.find(name)
    seen = to_molecules(graphs) if molecules else graphs
    if None in seen:
        raise GeoGAEError(f"--property {name} needs valid molecules; graph {seen.index(None)} is none: leave it out")
    values = []
    for index, one in enumerate(seen):
        try:
            values.append(float(function(one)))
        except (Exception, SystemExit) as error:  # whatever a function of the user's raises
            what = f"{type(error).__name__}: {error}"
            raise GeoGAEError(f"--property {name} raised {what}, of graph {index}: fix it, or leave it out") from None
    return values


def sample(
    run: Annotated[Path, Argument(metavar="RUN", help="A saved model with a prior.")],
    n: Annotated[int, Option("-n", min=1, help="Graphs to draw.")] = 100,
    output: Annotated[Path | None, Option("-o", "--output", help=OUTPUT_HELP)] = None,
    given: Annotated[list[str] | None, Option("--given", help="A condition, as in logp=2.5.")] = None,
    guidance: Annotated[
        float,
        Option(min=0, help="Strength of the conditions (classifier-free guidance); 1: as fitted, above 1: stronger."),
    ] = 1.0,
    temperature: Annotated[float, Option(min=0, max=10, help="Below 1: likelier draws, above: more diverse.")] = 1.0,
    only_valid: Annotated[bool, Option("--only-valid", help="Draw until n are valid.")] = False,
    keep_rules: KeepRules = False,
    seed: Annotated[int, Option(min=0, help="Seed of the draws.")] = 0,
    plot: Annotated[Path | None, Option(help="A picture of the first draws: .png.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print what was drawn and dropped as JSON; needs -o.")] = False,
) -> None:
    """Draw new graphs from the prior of a model; nothing is repaired unless --keep-rules.

    \b
    Examples:
      geogae sample runs/qm9 -n 1000 -o new.smi
      geogae sample runs/qm9 -n 20 --given logp=2.5 --guidance 2 --only-valid --plot grid.png
    """
    check_writable(output, SUFFIXES)
    check_writable(plot, (".png",))
    if as_json and output is None:
        raise GeoGAEError("--json prints what was drawn; the graphs themselves need -o then")
    conditions = _conditions(given or ())
    model = load_run(run)
    how: dict[str, Any] = {"seed": seed, "given": conditions or None, "guidance": guidance, "only_valid": only_valid}
    how |= {"keep_rules": keep_rules, "temperature": temperature}
    draws = model.sample(n, **how, details=True)
    names = [f"draw/{i}" for i in range(n)]
    write_graphs(draws.graphs, output, names)
    if plot is not None:
        plot_grid(draws.graphs, plot)
    broken = ", ".join(f"{count} {reason}" for reason, count in draws.broken.items()) or "none broken"
    log.info("%d drawn, %.1f %% valid (%s)", draws.drawn, 100 * draws.valid, broken)
    if as_json:
        print_json({"drawn": draws.drawn, "valid": draws.valid, "broken": draws.broken})


def _conditions(texts: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name in found:
            raise GeoGAEError(f"--given {name} is given twice; give one number for it")
        try:
            found[name] = float(value)
        except ValueError:
            raise GeoGAEError(f"--given {text!r} must be a name and a number, as in logp=2.5") from None
    return found
