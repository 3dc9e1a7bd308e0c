"""Tables of the paper's model on edited training graphs: its runs, and benchmarks/edits.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geogae.benchmark.blocks import NOT_MEASURED
from geogae.benchmark.blocks import markdown_table as table
from geogae.benchmark.paper import paper
from geogae.benchmark.summary import Row, Spread
from record import recorded

METHOD, PLAIN = "sequential-edits", "sequential"


def edits(rows: Sequence[Row]) -> str:
    """Each run of the recipe beside the paper and the plain recipe with the same split."""
    plain = {(row.data, row.split): row for row in rows if row.method == PLAIN and not row.changes and not row.swept}
    lines = []
    for row in rows:
        if row.method != METHOD or row.f1 is None:
            continue
        size = paper().size_error.get(row.dataset)
        lines.append(
            [row.data, row.split, row.name.removeprefix(f"{METHOD}, "), len(row.seeds), _percent(row.f1),
             row.printed.mean or "–", _beside(plain.get((row.data, row.split))),
             _percent(row.f1_unseen), _percent(row.exact), f"{row.size_error.mean:.2f}" if row.size_error else "–",
             size.mean if size else "–"]
        )  # fmt: skip
    header = ["data set", "split", "budget", "seeds", "F1", "paper", "plain recipe", "F1, graphs that training had not"]
    return table([*header, "exact [%]", "size error", "paper"], lines)


def _beside(plain: Row | None) -> str:
    """The score of the plain recipe, and its budget."""
    return "–" if plain is None else f"{_percent(plain.f1)} ({plain.name.removeprefix(f'{PLAIN}, ')})"


def _percent(score: Spread | None) -> str:
    if score is None:
        return "–"
    return f"{100 * score.mean:.1f}" + (f" ± {100 * score.deviation:.1f}" if score.deviation is not None else "")


def edits_memory() -> str:
    """Scores of the test graphs that training had, that the stream of copies held, and of the others."""
    lines = []
    for part, found in recorded("edits").items():
        if not part.startswith("memory-"):
            continue
        cells: list[Any] = [found["config"]["run"], f"{found['result']['copies']:,}"]
        for kind in ("training", "stream", "neither"):
            own = found["result"][kind]
            cells += [own["graphs"], f"{100 * own['f1']:.1f}" if own["graphs"] else "–"]
        lines.append(cells)
    kinds = [f"{kind}: {what}" for kind in ("in training", "in the stream", "in neither") for what in ("graphs", "F1")]
    return table(["run", "copies", *kinds], lines)


def edits_refined() -> str:
    """Test graphs with z as the encoder gives it, and refined by descent through the decoder."""
    lines = []
    for part, found in recorded("edits").items():
        if part.startswith("refined-"):
            config = found["config"]
            cells: list[Any] = [config["dataset"], config["seed"], f"{config['core_minutes']:g} core-min"]
            for row in found["result"].values():
                cells += [f"{100 * row['f1']:.1f}", f"{100 * row['exact']:.1f}", f"{row['core_seconds']:.1f} s"]
            lines.append(cells)
    header = ["data set", "seed", "budget", "F1", "exact [%]", "processor time"]
    return table([*header, "F1, z refined", "exact [%]", "processor time"], lines) if lines else NOT_MEASURED


def edits_speed() -> str:
    lines = []
    for part, found in recorded("edits").items():
        if part.startswith("speed-"):
            row = found["result"]
            rates = [row[name] for name in ("edited", "edited_and_fitted", "training_plain", "training_edited")]
            share = f"{100 * row['share_of_core_time_for_steps']:.0f} %"
            lines.append([found["config"]["dataset"], *(f"{rate:,.0f}" for rate in rates), share])
    header = ["data set", "edited", "edited and fitted", "training steps, plain", "training steps, edited"]
    return table([*header, "of processor time, for steps"], lines)


def edits_choices() -> str:
    lines = []
    for part, found in recorded("edits").items():
        if part.startswith("choose-"):
            row, config = found["result"], found["config"]
            name = part.removeprefix(f"choose-{config['dataset']}-")
            lines.append(
                [config["dataset"], name, f"{config['core_minutes']:g}", row["step"], f"{100 * row['best']:.1f}",
                 f"{row['validation_size_error']:.2f}"]
            )  # fmt: skip
    return table(["data set", "variant", "core-minutes", "steps", "validation F1", "size error"], lines) or NOT_MEASURED


def edits_sizes() -> str:
    lines = []
    for part, found in recorded("edits").items():
        if part.startswith("sizes-"):
            plain, refined = (
                [row for row in found["result"] if bool(row["refine_steps"]) is kind] for kind in (False, True)
            )
            for row, other in zip(plain, refined, strict=True):
                bounds = f"{row['from']} to {row['to']}" if row["to"] < 1000 else f"{row['from']} or more"
                lines.append(
                    [found["config"]["dataset"], bounds, row["graphs"], f"{100 * row['share_of_nodes']:.0f} %",
                     f"{100 * row['f1']:.1f}", f"{100 * row['exact']:.0f} %", f"{row['size_error']:.2f}",
                     f"{100 * other['f1']:.1f}"]
                )  # fmt: skip
    header = ["data set", "nodes", "validation graphs", "of all nodes", "F1", "exact", "size error", "F1, z refined"]
    return table(header, lines) if lines else NOT_MEASURED


TABLES = {
    "edits-sizes": edits_sizes,
    "edits-memory": edits_memory,
    "edits-refined": edits_refined,
    "edits-speed": edits_speed,
    "edits-choices": edits_choices,
}
TABLES_OF_RUNS = {"edits": edits}
