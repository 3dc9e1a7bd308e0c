"""GeoGAE: whole graphs as vectors and back, through clouds of hyperballs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geogae import datasets, formats, metrics, plots, presets
    from geogae.errors import GeoGAEError
    from geogae.estimator import GeoGAE
    from geogae.geometry.cloud import HyperballCloud
    from geogae.geometry.fitting import fit_clouds
    from geogae.graph import Graph
    from geogae.labelling.labelling import canonical_form, isomorphic

__all__ = [
    "GeoGAE",
    "GeoGAEError",
    "Graph",
    "HyperballCloud",
    "canonical_form",
    "datasets",
    "fit_clouds",
    "formats",
    "isomorphic",
    "metrics",
    "plots",
    "presets",
]

__version__ = "0.2.0"

_LAZY = {  # name → module that has it, or that it is: importing geogae stays light
    "GeoGAE": "geogae.estimator",
    "GeoGAEError": "geogae.errors",
    "Graph": "geogae.graph",
    "HyperballCloud": "geogae.geometry.cloud",
    "canonical_form": "geogae.labelling.labelling",
    "datasets": "geogae.datasets",
    "fit_clouds": "geogae.geometry.fitting",
    "formats": "geogae.formats",
    "isomorphic": "geogae.labelling.labelling",
    "metrics": "geogae.metrics",
    "plots": "geogae.plots",
    "presets": "geogae.presets",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'geogae' has no attribute {name!r}")
    module = import_module(_LAZY[name])
    return module if _LAZY[name] == f"geogae.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
