"""The kernels are compiled by the first process that needs them, and loaded from a file by all later ones.

That takes a minute once, and a fraction of a second afterwards. A line in the log says so where it takes long.
"""

from __future__ import annotations

import logging
import time
from functools import cache
from threading import Event, Thread

from geogae.geometry.quick import fit_all_quickly
from geogae.geometry.recipe import MIN_DIM, Recipe
from geogae.graph import Graph
from geogae.labelling.canonical import canonicalise_all

log = logging.getLogger("geogae")

PATIENCE = 2.0  # seconds of processor time: what is loaded from a file is there by then, also on a busy machine


@cache
def compile_kernels() -> None:
    """Label and fit the smallest graph, with a line in the log if that takes long; does nothing the second time."""
    done, begin = Event(), time.process_time()

    def notice() -> None:
        while not done.wait(0.1):
            if time.process_time() - begin > PATIENCE:
                log.warning("compiling kernels, once: about a minute; later runs load them")
                return

    Thread(target=notice, daemon=True).start()
    try:
        (form,) = canonicalise_all([Graph(2, [(0, 1)])])
        fit_all_quickly({form.key: form.topology}, MIN_DIM, Recipe(), threads=1)
    finally:
        done.set()
