"""Registries by name: an entry is the thing itself, or the place where it is found ("module:NAME")."""

from __future__ import annotations

from collections.abc import MutableMapping
from importlib import import_module
from typing import TypeVar

Entry = TypeVar("Entry")


def entry(registry: MutableMapping[str, Entry | str], name: str) -> Entry:
    """The entry of a registry, imported if it is given by its place."""
    found = registry[name]
    if isinstance(found, str):
        module, _, attribute = found.partition(":")
        found = getattr(import_module(module), attribute)
        registry[name] = found
    return found
