"""Tables of benchmarks/attributes.py."""

from __future__ import annotations

from statistics import mean
from typing import Any

from geogae.benchmark.blocks import markdown_table as table
from record import measured, result

CELLS = ("F1 [%]", "node F1 [%]", "node RMSE", "edge F1 [%]", "whole [%]")


def attribute_choices() -> str:
    """Validation scores by geometry dimension and node order."""
    rows = []
    for name in measured("attributes", "choose"):
        for row in result("attributes", f"choose-{name}")["result"]:
            rows.append([name, row["dim"], row["order"], *_attribute_cells(row["validation"])])
    return table(["data set", "d", "order", *CELLS, "seeds"], rows)


def attribute_ablations() -> str:
    rows = [[row["name"], *_attribute_cells(row["validation"])] for row in result("attributes", "ablations")["result"]]
    return table(["AIDS", *CELLS, "seeds"], rows)


def _attribute_cells(seeds: list[dict[str, float]]) -> list[Any]:
    cells = []
    for name in ("f1", "node_f1", "node_rmse", "edge_f1", "whole"):
        values = [seed[name] for seed in seeds if name in seed]
        form = ".3f" if name.endswith("rmse") else ".2f"
        cells.append(f"{mean(values) * (1 if name.endswith('rmse') else 100):{form}}" if values else "–")
    return [*cells, len(seeds)]


def attribute_speed() -> str:
    found = result("attributes", "speed")["result"]
    rows = [
        [mode, f"{rate:.0f}", f"{found['ratio'][mode]:.2f}"] for mode, rate in found["graphs_per_cpu_second"].items()
    ]
    return table(["attributes", "training graphs in a second of processor time, AIDS", "ratio"], rows)


def molecules() -> str:
    rows = [
        [row["m"], *(f"{100 * row[name]:.2f}" for name in ("valid", "same_smiles", "whole"))]
        for row in result("attributes", "molecules")["result"]
    ]
    return table(["m", "valid molecules [%]", "same SMILES [%]", "whole graph [%]"], rows)


TABLES = {
    "attribute-choices": attribute_choices, "attribute-ablations": attribute_ablations,
    "attribute-speed": attribute_speed, "molecules": molecules,
}  # fmt: skip
