"""One graph on its way through the code: where each stop is, by file and line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from geogae import formats
from geogae.autoencoders.linear import LinearAutoencoder
from geogae.autoencoders.linear_decoder import LinearDecoder
from geogae.autoencoders.refined import RefinedAutoencoder
from geogae.autoencoders.slots import SlotFeatures
from geogae.benchmark.blocks import markdown_table as table
from geogae.estimator import GeoGAE
from geogae.geometry.cloud import graphs_of_balls
from geogae.geometry.fitting import fit_clouds
from record import ROOT

Stop = tuple[Callable[..., Any], str]
THERE: Sequence[Stop] = (
    (formats.read, "a file becomes a list of `Graph`"),
    (GeoGAE.encode, "what cannot be encoded is refused before anything is fitted"),
    (LinearAutoencoder.read, "leaves and twins are folded away where the model does so; the rest gets a cloud"),
    (fit_clouds, "canonical numbering, balls that intersect exactly where nodes are joined, pose, node order"),
    (LinearAutoencoder.encode_batch, "slots (n, d + features) → the likeliest components, by least squares"),
    (RefinedAutoencoder.refined, "if these decode to another graph, the components are optimised until they do not"),
)
BACK: Sequence[Stop] = (
    (GeoGAE.decode, "z alone comes in"),
    (LinearAutoencoder.decode, "batches of z"),
    (
        LinearDecoder.decode,
        "slots = mean + descriptor · slopes + components · axes; the first number of the code is the size",
    ),
    (graphs_of_balls, "edges where balls intersect, eq. 2"),
    (SlotFeatures.read, "attributes are read from the slots; twins and leaves are unfolded"),
    (formats.write, "graphs become a file"),
)


def there() -> str:
    return _stops(THERE)


def back() -> str:
    return _stops(BACK)


def _stops(stops: Sequence[Stop]) -> str:
    rows = []
    for number, (function, what) in enumerate(stops, 1):
        function = inspect.unwrap(function)
        path = Path(inspect.getsourcefile(function) or "").resolve().relative_to(ROOT.resolve())
        line = inspect.getsourcelines(function)[1]
        rows.append([number, f"`{function.__qualname__}`", f"`{path}:{line}`", what])
    return table(["stop", "function", "line", "what happens"], rows)


TABLES = {"walk-there": there, "walk-back": back}
