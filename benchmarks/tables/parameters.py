"""Tables of parameters, from the code itself."""

from __future__ import annotations

import inspect
import re

from geogae.benchmark.blocks import markdown_table as table
from geogae.estimator import GeoGAE
from geogae.geometry.recipe import Recipe


def parameters() -> str:
    """GeoGAE's parameters, from its own docstring and signature."""
    lines = (inspect.getdoc(GeoGAE) or "").split("Parameters:")[1].strip().splitlines()
    defaults = {name: p.default for name, p in inspect.signature(GeoGAE.__init__).parameters.items()}
    told = dict(line.strip().split(": ", 1) for line in lines)
    assert list(told) == GeoGAE.parameter_names(), "the docstring of GeoGAE and its parameters differ"
    return table(
        ["parameter", "default", "what it is"],
        [[f"`{n}`", f"`{defaults[n]!r}`", t.replace("``", "`")] for n, t in told.items()],
    )


def recipe() -> str:
    """The fields of Recipe, from its source."""
    fields = re.findall(r"^    (\w+): .*? = (\S+)(?:  # (.*))?$", inspect.getsource(Recipe), re.MULTILINE)
    return table(
        ["parameter", "default", "what it is"], [[f"`{name}`", f"`{value}`", what] for name, value, what in fields]
    )


TABLES = {"parameters": parameters, "recipe": recipe}
