"""Results as JSON that can be traced: what was run, from which commit, with which versions, on what, for how long."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from geogae.benchmark.provenance import provenance
from geogae.files import atomic_path

RESULTS = Path(__file__).parent / "results"
_ORIGIN = provenance()  # of the code that was loaded, whatever is committed meanwhile


def record(name: str, config: dict[str, Any], result: Any, seconds: float) -> Path:
    """Write ``results/<name>.json``."""
    entry = {"name": name, "command": "python " + " ".join(sys.argv), "config": config, "result": result}
    entry |= {"seconds": round(seconds, 2), **_ORIGIN}
    path = RESULTS / f"{name}.json"
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(entry, indent=1) + "\n")
    print(f"-> {path.relative_to(RESULTS.parent.parent)}", file=sys.stderr)
    return path
