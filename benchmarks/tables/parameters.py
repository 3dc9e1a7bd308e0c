"""Tables of parameters, from the code itself."""

from __future__ import annotations

import inspect
import re
from functools import partial
from typing import Any

from geogae import autoencoders
from geogae.benchmark.blocks import markdown_table as table
from geogae.geometry.recipe import Recipe


def parameters(architecture: str) -> str:
    """The parameters of an autoencoder: defaults from its constructor, descriptions from its docstring and parents'."""
    cls = autoencoders.find(architecture)
    said: dict[str, str] = {}
    for parent in reversed(cls.__mro__):
        said |= _descriptions(parent)
    defaults = autoencoders.defaults(architecture)
    if missing := [name for name in defaults if name not in said]:
        raise AssertionError(f"the docstring of {cls.__name__} does not describe {', '.join(missing)}")
    rows = [[f"`{name}`", f"`{value!r}`", said[name].replace("``", "`")] for name, value in defaults.items()]
    return table(["parameter", "default", "what it is"], rows)


def _descriptions(cls: type[Any]) -> dict[str, str]:
    """Lines ``name: description`` below a line that begins with "Parameters"; a further indent continues a line."""
    found: dict[str, str] = {}
    _, begun, block = (inspect.cleandoc(cls.__doc__ or "")).partition("Parameters")
    last = ""
    for line in block.splitlines()[1:] if begun else ():
        match = re.fullmatch(r" {4}(\w+): (.*)", line)
        if match:
            last = match[1]
            found[last] = match[2]
        elif last and line.startswith(" " * 5):
            found[last] += " " + line.strip()
    return found


def recipe() -> str:
    """The fields of Recipe, from its source."""
    fields = re.findall(r"^    (\w+): .*? = (\S+)(?:  # (.*))?$", inspect.getsource(Recipe), re.MULTILINE)
    return table(
        ["parameter", "default", "what it is"], [[f"`{name}`", f"`{value}`", what] for name, value, what in fields]
    )


TABLES = {f"parameters-{name}": partial(parameters, name) for name in autoencoders.AUTOENCODERS} | {"recipe": recipe}
