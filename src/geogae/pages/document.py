"""One HTML file out of the parts in ``static/``: styles, scripts and data inside, nothing fetched from anywhere.

The page's content security policy allows exactly the scripts and styles that are written here, by their hashes: text
that comes with the data is never run, whatever it holds.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from geogae.pages.packing import to_script

STYLES = ("base.css",)
SCRIPTS = ("arrays.js", "colours.js", "layout.js", "molecule.js", "picture.js", "theme.js")


def document(
    title: str,
    body: str,
    styles: Sequence[str],
    scripts: Sequence[str],
    first: Mapping[str, Any],
    rest: Mapping[str, Any],
) -> str:
    """The page whose ``body``, ``styles`` and ``scripts`` are files in ``static/``; data by the name of its element.

    The scripts run after the ``first`` data and before the ``rest`` is read, so that something is soon to be seen.
    """
    style = "\n".join(map(read_static, (*STYLES, *styles)))
    inner = "\n".join(map(read_static, (*SCRIPTS, *scripts)))
    script = f'(() => {{\n"use strict";\n{inner}\n}})();'
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<meta name="generator" content="geogae">',
            '<link rel="icon" href="data:,">',
            f"<title>{escape(title)}</title>",
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            read_static(body),
            *map(_data, first.items()),
            f"<script>{script}</script>",
            *map(_data, rest.items()),
            "</body>",
            "</html>\n",
        ]
    )


def read_static(name: str) -> str:
    return (files(__package__) / "static" / name).read_text(encoding="utf-8").rstrip("\n")


def _data(named: tuple[str, Any]) -> str:
    return f'<script type="application/json" id="data-{escape(named[0])}">{to_script(named[1])}</script>'


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
