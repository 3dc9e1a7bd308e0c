"""``geogae presets``: hyperparameters by name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument

from geogae.cli.data import check_writable
from geogae.errors import GeoGAEError

presets = typer.Typer(invoke_without_command=True)


@presets.callback()
def listing(context: typer.Context) -> None:
    """List, show and copy presets.

    \b
    Examples:
      geogae presets
      geogae presets show mutag
      geogae presets copy mutag my.toml
    """
    if context.invoked_subcommand is None:
        from geogae import presets as known

        width = max(map(len, known.names())) + 2
        for name in known.names():
            values = known.read(name)
            shape = "d = {dim}, m = {latent_dim}".format(**values)
            if "encoder_layers" in values:
                shape += ", {encoder_layers} + {decoder_layers} layers".format(**values)
            architecture = values.get("architecture", "refined")
            typer.echo(f"{name:<{width}}{values.get('dataset', '(any)'):<15}{architecture:<12}{shape}")


@presets.command()
def show(name: Annotated[str, Argument(metavar="PRESET")]) -> None:
    """Print a preset.

    \b
    Examples:
      geogae presets show mutag
      geogae presets show paper/aids
    """
    from geogae import presets as known

    typer.echo(known.text(name), nl=False)


@presets.command()
def copy(
    name: Annotated[str, Argument(metavar="PRESET")], path: Annotated[Path, Argument(metavar="FILE.toml")]
) -> None:
    """Copy a preset to a file to change and train from.

    \b
    Examples:
      geogae presets copy aids my.toml && geogae train my.toml
    """
    from geogae import presets as known
    from geogae.files import atomic_path

    text = known.text(name)
    check_writable(path, (".toml",))
    if path.exists():
        raise GeoGAEError(f"{path} exists already; choose another name")
    with atomic_path(path) as temporary:
        temporary.write_text(text)
