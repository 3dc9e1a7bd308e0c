"""Autoencoders by name: one file, or folder, and one line of the registry each."""

from __future__ import annotations

import inspect
from typing import Any

from geogae.autoencoders.base import Autoencoder, Decoding, Reading, Session, State, encode, evaluate, reconstruct
from geogae.errors import GeoGAEError
from geogae.registry import entry

__all__ = [
    "AUTOENCODERS",
    "Autoencoder",
    "Decoding",
    "Reading",
    "Session",
    "State",
    "defaults",
    "encode",
    "evaluate",
    "find",
    "parameters_of",
    "reconstruct",
]

AUTOENCODERS: dict[str, str | type[Autoencoder[Any]]] = {  # a class, or where it is
    "refined": "geogae.autoencoders.refined:RefinedAutoencoder",
    "sequential": "geogae.autoencoders.transformer.sequential:SequentialAutoencoder",
    "linear": "geogae.autoencoders.linear:LinearAutoencoder",
}


def find(name: str) -> type[Autoencoder[Any]]:
    """The class of an architecture; an unknown name is an error that lists the valid ones."""
    if not isinstance(name, str) or name not in AUTOENCODERS:
        raise GeoGAEError(f"architecture={name!r} is not known; valid are {', '.join(AUTOENCODERS)}")
    return entry(AUTOENCODERS, name)


def defaults(name: str) -> dict[str, Any]:
    """The parameters of an architecture and their defaults, in the order of its constructor."""
    return parameters_of(find(name))


def parameters_of(autoencoder: type[Autoencoder[Any]]) -> dict[str, Any]:
    """The keyword arguments of a constructor and their defaults, in their order."""
    signature = inspect.signature(autoencoder.__init__)
    return {name: parameter.default for name, parameter in signature.parameters.items() if name != "self"}
