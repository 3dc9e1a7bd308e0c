"""``geogae cache``: where fitted clouds are kept, how many there are, and how to remove them."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

from geogae.cli.data import print_facts, print_json

cache = typer.Typer(
    help="Show or clear the cache of fitted clouds.",
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@cache.callback(invoke_without_command=True)
def show(
    context: typer.Context, as_json: Annotated[bool, Option("--json", help="Print the facts as JSON.")] = False
) -> None:
    """Show where fitted clouds are kept, how many there are and how much room they take.

    \b
    Examples:
      geogae cache
      geogae cache --json
      geogae cache clear
      GEOGAE_CACHE_LIMIT=200 geogae train mutag    at most 200 MB; the oldest clouds are dropped
    """
    if context.invoked_subcommand is not None:
        return
    from geogae.geometry.cache import CloudCache, default_path

    path = default_path()
    facts = CloudCache(path).facts()
    if as_json:
        print_json({"path": str(path), **facts})
    else:
        size = f"{facts['bytes'] / 1e6:.1f} of {facts['limit'] / 1e6:,.0f} MB"
        print_facts({"path": str(path), "clouds": f"{facts['entries']:,}", "size": size})


@cache.command()
def clear() -> None:
    """Remove the cache of fitted clouds, and what was set aside or left behind beside it.

    \b
    Examples:
      geogae cache clear
    """
    from geogae.geometry.cache import default_path

    path = default_path()
    files = sorted(path.parent.glob(f"{path.name}*"))
    size = sum(file.stat().st_size for file in files)
    for file in files:
        file.unlink(missing_ok=True)
    typer.echo(f"removed {size / 1e6:.1f} MB: {path}", err=True)
