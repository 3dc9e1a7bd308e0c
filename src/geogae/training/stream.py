"""An endless stream of training graphs, made ahead of the training by a process of its own."""

from __future__ import annotations

import logging
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from joblib.externals.loky import ProcessPoolExecutor

from geogae.graph import Graph
from geogae.training.batches import Source
from geogae.training.edits import Editor

log = logging.getLogger("geogae")

EPOCH = 2048  # graphs in an epoch of the stream: what is held in memory, twice

Read = Callable[[Sequence[Graph]], Source]  # graphs to what batches are cut from; fits their clouds, for ours


class EditedGraphs:
    """Epochs of edited graphs, each ready when the one before it is done.

    Epoch e is a function of the editor's seed and e alone: a run that is resumed, or that has more processes, trains on
    the same graphs. Every copy is in ``repeats`` epochs in a row. ``read`` is called in the background process, so it
    must be a function of a module, or a ``functools.partial`` of one. A daemon, which may start no process, makes the
    graphs itself.
    """

    def __init__(
        self, editor: Editor, read: Read, *, count: int | None = None, repeats: int = 1, background: bool = True
    ) -> None:
        self.editor, self.read, self.count, self.repeats = editor, read, count or EPOCH, repeats
        self.sizes = np.array([graph.n for graph in editor.places.graphs])  # of the graphs that are edited
        self.core_seconds = 0.0  # of processor time that the background process took for what was used so far
        self.held: dict[int, Source] = {}  # one block by its number
        self.ahead: dict[int, Future[tuple[Source, float]]] = {}
        background = background and not multiprocessing.current_process().daemon
        self.pool: Any = ProcessPoolExecutor(1, initializer=_keep_interrupts_out) if background else None

    def __len__(self) -> int:
        return self.count

    def epoch(self, number: int) -> Source:
        block = number // self.repeats
        if block not in self.held:
            self.held.clear()  # before the next one comes: memory is bounded
            self.held[block] = self._made(block)
        return self.held[block]

    def close(self) -> None:
        if self.pool is not None:
            self.pool.shutdown(wait=False, kill_workers=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _made(self, block: int) -> Source:
        if self.pool is None:
            return make(self.editor, self.read, block, self.count)[0]
        try:
            future = self.ahead.pop(block, None) or self._submit(block)
            self.ahead = {block + 1: self._submit(block + 1)}
            source, seconds = future.result()
        except BrokenProcessPool as error:
            log.warning("the process that edits graphs ended (%s); training makes them itself from here", error)
            self.pool = None
            return self._made(block)
        self.core_seconds += seconds
        return source

    def _submit(self, block: int) -> Future[tuple[Source, float]]:
        submitted: Future[tuple[Source, float]] = self.pool.submit(make, self.editor, self.read, block, self.count)
        return submitted


def make(editor: Editor, read: Read, block: int, count: int) -> tuple[Source, float]:
    """Copies number block · count and on, read, and the processor time that it took."""
    begin = time.process_time()
    copies = [editor.copy(block * count + k) for k in range(count)]
    with _quiet():
        source = read(copies)
    return source, time.process_time() - begin


@contextmanager
def _quiet() -> Iterator[None]:
    """No warnings about single copies, which would come in every block."""
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


def _keep_interrupts_out() -> None:
    """Ctrl-C is the training's to handle: it writes a checkpoint and then ends this process, too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
