"""The paper's numbers, from ``paper.toml`` beside this file."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class Score(NamedTuple):
    """Mean and deviation as printed, and the name of a footnote; or the word that stands in their place."""

    mean: float | None
    deviation: float | None = None
    note: str = ""
    word: str = ""


class Paper(NamedTuple):
    """Scores by data set and method; F1 in percent, sizes in nodes, times in minutes on an A100."""

    datasets: tuple[str, ...]
    side_information: dict[str, tuple[str, ...]]  # by method: "size", "alignment"
    f1: dict[str, dict[str, Score]]
    size_error: dict[str, Score]  # GeoGAE's
    attributes: dict[str, dict[str, dict[str, Score]]]  # by method, data set and metric
    d: dict[str, int]
    m: dict[str, dict[str, int]]
    minutes: dict[str, dict[str, int]]  # GeoGAE's by data set, for topology and with attributes
    ablations: dict[str, dict[str, dict[str, Score]]]  # by configuration, data set and metric
    notes: dict[str, str]

    def geogae(self, dataset: str, attributes: str = "ignored") -> Score:
        """GeoGAE's F1 of the topology, attributes ignored, encoded or decoded; nothing where the paper has none."""
        printed = {
            "ignored": self.f1.get(dataset, {}).get("GeoGAE"),
            "encoded": self.ablations["attributes encoded, not decoded"].get(dataset, {}).get("f1"),
            "decoded": self.attributes["GeoGAE"].get(dataset, {}).get("topology_f1"),
        }
        return printed.get(attributes) or Score(None)

    def latent(self, dataset: str) -> int | None:
        """GeoGAE's m."""
        return self.m.get(dataset, {}).get("GeoGAE")


@cache
def paper() -> Paper:
    """The numbers, read once."""
    values = tomllib.loads((files(__package__) / "paper.toml").read_text(encoding="utf-8"))
    scores = {name: _scores(values.pop(name)) for name in ("f1", "size_error", "attributes", "ablations")}
    side_information = {method: tuple(what) for method, what in values.pop("side_information").items()}
    return Paper(datasets=tuple(values.pop("datasets")), side_information=side_information, **scores, **values)


def _scores(value: Any) -> Any:
    """Tables stay tables, what they hold becomes scores."""
    if isinstance(value, dict):
        return {name: _scores(inner) for name, inner in value.items()}
    return Score(None, word=value) if isinstance(value, str) else Score(*value)
