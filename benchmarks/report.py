"""Fill the tables of README.md and docs/ from benchmarks/results and benchmarks/studies: numbers are never typed.

python benchmarks/report.py             # what stands between <!-- results: NAME --> and <!-- end -->, and the pictures
python benchmarks/report.py --check     # exit 1 if any of it is out of date
python benchmarks/report.py --compact   # first drop the lines of results that newer ones replace
"""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from pkgutil import iter_modules

import tables
from geogae.benchmark.blocks import Tables, block_names, filled
from geogae.benchmark.figures import save_figures
from geogae.benchmark.results import compact, read_results
from geogae.benchmark.summary import Row, summarise
from geogae.benchmark.tables import tables as tables_of_results
from geogae.files import atomic_path
from record import PICTURES, RESULTS, ROOT


def known_tables(rows: list[Row]) -> Tables:
    """Every table by the name of its block."""
    found = {**tables_of_results(rows)}
    for module in (import_module(f"tables.{info.name}") for info in iter_modules(tables.__path__)):
        found |= getattr(module, "TABLES", {})
        found |= {name: partial(make, rows) for name, make in getattr(module, "TABLES_OF_RUNS", {}).items()}
    return found


def main() -> int:
    check = "--check" in sys.argv
    if "--compact" in sys.argv:
        for path in sorted(RESULTS.glob("*.jsonl")):
            print(f"{path.name}: {compact(path)} lines dropped", file=sys.stderr)
    rows = summarise(read_results(RESULTS))
    known = known_tables(rows)
    stale = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        if unknown := set(block_names(text)) - known.keys():
            sys.exit(f"{path.name}: there is no table {', '.join(sorted(unknown))}; valid are {', '.join(known)}")
        new = filled(text, known)
        if new != text:
            stale.append(path.name)
            if not check:
                with atomic_path(path) as temporary:
                    temporary.write_text(new, encoding="utf-8")
    if not check:
        save_figures(rows, PICTURES)
    print(f"out of date: {', '.join(stale)}" if stale else "all tables are up to date", file=sys.stderr)
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main())
