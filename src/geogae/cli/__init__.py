"""The command line: one file per verb. Data goes to stdout or ``-o``, messages go to stderr, errors are one line.

Exit codes: 0 done, 1 done but not as asked (``--strict``), 2 bad input, 130 interrupted. Verbs import what they need
when they run, so that ``--help`` is quick.
"""

from __future__ import annotations

import io
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Annotated, Any, NoReturn

import typer

from geogae.cli import (
    benchmark,
    cache,
    cloud,
    datasets,
    demo,
    describe,
    encode,
    evaluate,
    explore,
    interpolate,
    neighbours,
    optimise,
    presets,
    report,
    sample,
    train,
)
from geogae.errors import GeoGAEError

app = typer.Typer(
    name="geogae",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (
    demo.demo,
    datasets.datasets,
    cloud.cloud,
    train.train,
    encode.encode,
    encode.decode,
    evaluate.evaluate,
    describe.describe,
    neighbours.neighbours,
    sample.prior,
    sample.sample,
    interpolate.interpolate,
    optimise.optimise,
    explore.explore,
    report.report,
):
    app.command()(verb)
app.add_typer(presets.presets, name="presets")
app.add_typer(cache.cache, name="cache")
app.add_typer(benchmark.benchmark, name="benchmark")

MAX_NUMBER = 2**63 - 1  # what numpy and torch can hold
MAX_WORKERS = 4096  # threads, jobs, processes

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # click's, wherever this version of typer keeps it


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        utf8 = "utf-8" if os.name == "nt" else None  # tables have signs that Windows's own encodings lack
        sys.stdout.reconfigure(encoding=utf8, errors="surrogateescape")  # file names go out as they came
    with _log_on_stderr():
        code = _run(arguments)
    sys.exit(code)


@app.callback(invoke_without_command=True)
def _geogae(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Whole graphs as vectors and back, through clouds of hyperballs.

    \b
    Examples:
      geogae demo                                   from graph to z and back on the embedded MUTAG, with pictures
      geogae datasets                               the data sets of the paper, as found on this machine
      geogae cloud MUTAG --dim 3 --plot mutag.png   graphs to balls and back, exactly
      geogae train mutag                            an autoencoder for MUTAG, in seconds, into runs/mutag
      geogae train paper/mutag --minutes 5          the paper's own
      geogae evaluate runs/mutag                    how well unseen graphs come back
      geogae encode runs/mutag graphs.jsonl -o z.npy
      geogae decode runs/mutag z.npy -o back.jsonl
      geogae benchmark run --datasets MUTAG         methods and trivial baselines, measured alike
    """
    if version:
        from geogae import __version__

        typer.echo(f"geogae {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = app(arguments, prog_name="geogae", standalone_mode=False) or 0
        if sys.stdout is not None:  # closed by whoever calls
            sys.stdout.flush()
    except GeoGAEError as error:
        return _fail(str(error))
    except (OverflowError, MemoryError) as error:
        return _fail(_too_large(error, sys.argv[1:] if arguments is None else arguments))
    except _UsageError as error:
        context, message = getattr(error, "ctx", None), getattr(error, "format_message", error.__str__)()
        return _fail(f"{message.rstrip('.')}; see {context.command_path if context else 'geogae'} --help")
    except BrokenPipeError:  # the reader has seen enough
        _mute()
        return 1
    except OSError as error:  # a full disk, a folder without permission
        if error.filename is None and sys.stdout is not None:
            _mute()
        return _fail(f"{error.filename or 'writing'}: {error.strerror or error}")
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except RuntimeError as error:
        if "allocate memory" not in str(error):  # torch's MemoryError
            raise
        return _fail(_too_large(MemoryError(), sys.argv[1:] if arguments is None else arguments))
    if code == 130:
        typer.echo("interrupted", err=True)
    return code


def _check_numbers(typers: typer.Typer) -> None:
    """Every whole number of every verb is checked before the verb runs."""
    for command in typers.registered_commands:
        if command.callback is not None and not hasattr(command.callback, "__wrapped__"):
            command.callback = _checked(command.callback)
    for group in typers.registered_groups:
        if group.typer_instance is not None:
            _check_numbers(group.typer_instance)


def _checked(verb: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(verb)
    def checked(*arguments: Any, **options: Any) -> Any:
        for name, value in options.items():
            most = MAX_WORKERS if name in ("threads", "jobs", "n_jobs", "workers") else MAX_NUMBER
            if isinstance(value, int) and abs(value) > most:
                raise GeoGAEError(f"--{name.replace('_', '-')} {value} is too large; at most {most} is possible")
        return verb(*arguments, **options)

    return checked


def _too_large(error: OverflowError | MemoryError, arguments: Sequence[str]) -> str:
    """The arguments that hold long numbers, if there are any, or what the error says."""
    suspects = [argument for argument in arguments if re.search(r"\d{10,}", argument)]
    if suspects:
        return f"{', '.join(suspects)} holds a number that is too large; give a smaller one"
    if isinstance(error, MemoryError):
        return f"there is not enough memory for this ({error or 'no details'}); give fewer or smaller graphs"
    return f"a number is too large ({error}); give a smaller one"


def _mute() -> None:
    """Nothing more can be written to stdout; the last flush is to be quiet, too."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(line: str) -> int:
    typer.echo(f"error: {' '.join(line.split())}", err=True)
    return 2


@contextmanager
def _log_on_stderr() -> Iterator[None]:
    """What the library logs, as plain lines ``note: …`` and ``warning: …``."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kind = "note" if record.levelno < logging.WARNING else record.levelname.lower()
            typer.echo(f"{kind}: {record.getMessage()}", err=True)

    log, handler = logging.getLogger("geogae"), Handler()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.setLevel(level)
        log.removeHandler(handler)


_check_numbers(app)
