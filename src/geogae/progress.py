"""Progress bars for long jobs: on stderr, and only if it is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress_bar(
    title: str, total: int | None, show: bool = True, *, size: bool = False
) -> Iterator[Callable[..., bool]]:
    """A bar with an estimate of the time left, gone when done; yields ``advance(steps=1)``, which returns True.

    ``total`` may be None where it is not known; with ``size`` the steps are bytes.
    """
    if not show or total == 0 or not sys.stderr.isatty():
        yield lambda steps=1: True
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn() if size else MofNCompleteColumn())
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, *times, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)

        def advance(steps: int = 1) -> bool:
            bar.advance(task, steps)
            return True

        yield advance


class Meter:
    """A line that says how far a job is and what it measures on the way."""

    def __init__(self, title: str, show: bool) -> None:
        self.title, self.visible = title, show
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Meter:
        if self.visible:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                Progress,
                TaskProgressColumn,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )

            console = Console(stderr=True)
            self.bar = Progress(
                TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(),
                TimeRemainingColumn(), TextColumn("{task.fields[facts]}"),
                console=console, disable=not console.is_terminal,
            )  # fmt: skip
            self.task = self.bar.add_task(self.title, total=1.0, facts="")
            self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar:
            self.bar.stop()

    def show(self, done: float, **facts: float) -> None:
        """``done`` runs from 0 to 1."""
        if self.bar and self.task is not None:
            text = "  ".join(f"{name} {value:.4g}" for name, value in facts.items())
            self.bar.update(self.task, completed=done, facts=text)
