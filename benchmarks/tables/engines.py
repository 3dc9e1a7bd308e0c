"""The table of benchmarks/engines.py."""

from __future__ import annotations

from geogae.benchmark.blocks import NOT_MEASURED
from geogae.benchmark.blocks import markdown_table as table
from record import recorded


def engines() -> str:
    if "qm9" not in (found := recorded("engines")):
        return NOT_MEASURED
    rows = [
        [row["engine"], row["workers"], f"{row['graphs']:,}", f"{row['seconds']:.0f} s",
         f"{row['graphs'] / row['seconds']:,.0f}", f"{row['peak_gib']:.1f} GiB", "yes" if row["same"] else "no"]
        for row in found["qm9"]["result"]
    ]  # fmt: skip
    header = ["engine", "workers", "graphs", "time", "graphs/s", "peak memory, all processes", "same z, bit for bit"]
    return table(header, rows)


TABLES = {"engines": engines}
