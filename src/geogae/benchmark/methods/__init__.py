"""Methods of the benchmark by name: one file, or one preset, and one line of the registry each.

A method has the contract of an autoencoder: fit, why_not, read, encode, decode. ``side_information`` is what its
decoder gets beside the code. A method that can do with or without side information is scored both ways: it names the
kinds in ``optional_side_information`` and has ``decode_with(codes, readings, kind)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from geogae.benchmark.methods import trivial
from geogae.benchmark.methods.autoencoder import Settings, by_preset, linear, linear_tuned, preset
from geogae.benchmark.methods.baseline import baseline
from geogae.errors import GeoGAEError
from geogae.geometry.fitting import fit_clouds
from geogae.graph import Graph

__all__ = ["METHODS", "Entry", "Method", "Settings"]


class Method(Protocol):
    """What the benchmark asks of a method."""

    side_information: tuple[str, ...]  # what its decoder gets beside a code that it made itself: "size", "alignment"

    def fit(self, train: list[Graph], validation: list[Graph], run: Path) -> Mapping[str, Any]:
        """Learn; ``run`` is a folder to keep checkpoints in. Returns facts for the result file."""

    def why_not(self, graph: Graph) -> str | None:
        """Why a graph cannot be encoded, or None."""

    def read(self, graphs: list[Graph]) -> Sequence[Any]:
        """Readings, each of which has ``ordered``: the graph in the node order in which the method writes it."""

    def encode(self, readings: Any) -> Any: ...

    def decode(self, codes: Any) -> list[Graph]: ...


class Entry(NamedTuple):
    """A method by name."""

    make: Callable[[str, Settings], Method]  # for a data set, with changes; those that it does not know are an error
    trained: bool = False  # whether it takes a budget of minutes
    sized: bool = True  # whether it has a z of size m


def _trivial(kind: type[trivial.TrivialBaseline]) -> Entry:
    def make(dataset: str, changes: Settings) -> Method:
        paper = preset("paper", dataset)
        settings = {"dim": paper.get("dim", "auto"), "order": paper.get("order", "greedy")}
        changes = {name: value for name, value in changes.items() if name != "seed"}
        if unknown := sorted(changes.keys() - settings.keys()):
            raise GeoGAEError(
                f"a trivial baseline has no parameter {', '.join(unknown)}; valid are {', '.join(settings)}"
            )
        settings |= changes
        fit_clouds([], cache=False, n_jobs=1, **settings)  # nothing to fit: an error if a value is not valid
        return kind(**settings)

    return Entry(make, sized=False)


METHODS: dict[str, Entry] = {
    "path": _trivial(trivial.PathBaseline),
    "complete": _trivial(trivial.CompleteBaseline),
    "star": _trivial(trivial.StarBaseline),
    "mean": _trivial(trivial.MeanBaseline),
    "nearest": _trivial(trivial.NearestBaseline),
    "linear": Entry(linear),
    "linear-tuned": Entry(linear_tuned),
    "sequential": Entry(partial(by_preset, recipe="paper"), trained=True),
    "refined": Entry(by_preset),
    "sequential-edits": Entry(partial(by_preset, recipe="sequential"), trained=True),
    "sequential-attributes": Entry(partial(by_preset, recipe="paper-attributes"), trained=True),
    "refined-attributes": Entry(partial(by_preset, recipe="attributes")),
    "pigvae": Entry(partial(baseline, name="pigvae"), trained=True),
    "regae": Entry(partial(baseline, name="regae"), trained=True),
    "grale": Entry(partial(baseline, name="grale"), trained=True),
    "pigvae-attributes": Entry(partial(baseline, name="pigvae", attributes="decoded"), trained=True),
    "grale-attributes": Entry(partial(baseline, name="grale", attributes="decoded"), trained=True),
}
