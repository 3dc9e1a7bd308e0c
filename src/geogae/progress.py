"""Progress bars for long jobs: on stderr, and only where somebody is looking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(title: str, total: int, show: bool = True) -> Iterator[Callable[[], bool]]:
    """A bar with an estimate of the time left; yields a function that moves it one step on and returns True."""
    if not show or total < 1:
        yield lambda: True
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(
        *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(title, total=total)

        def advance() -> bool:
            bar.advance(task)
            return True

        yield advance
