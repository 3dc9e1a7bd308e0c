"""Fill the tables of README.md and docs/*.md from benchmarks/results and benchmarks/scores: numbers are never typed.

python benchmarks/report.py           # what stands between <!-- results: NAME --> and <!-- end -->, and docs/benchmark
python benchmarks/report.py --check   # exit 1 if any of it is out of date
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from geogae.benchmark.blocks import NOT_MEASURED, Tables, block_names, filled
from geogae.benchmark.blocks import markdown_table as table
from geogae.benchmark.figures import save_figures
from geogae.benchmark.paper import paper
from geogae.benchmark.results import read_results
from geogae.benchmark.summary import Row, summarise
from geogae.benchmark.tables import tables
from geogae.datasets import NUMBERS
from geogae.estimator import GeoGAE
from geogae.files import atomic_path
from geogae.geometry.recipe import Recipe

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
SCORES = ROOT / "benchmarks" / "scores"
LONGER = SCORES / "AIDS" / "sequential,core_minutes=120" / "paper-0.json"
PICTURES = ROOT / "docs" / "benchmark"
BUDGET = 20  # core-minutes of the paper's model in the headline


def result(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text())


def measured(prefix: str) -> list[str]:
    """The paper's data sets that have a result of this kind."""
    return [name for name in paper().datasets if (RESULTS / f"{prefix}-{name}.json").exists()]


def exact() -> str:
    rows = []
    for name in measured("geometry-exact"):
        found = result(f"geometry-exact-{name}")
        for row in found["result"]:
            asked = row["asked"] if row["asked"] != "auto" else f"auto → **{row['dim']}**"
            share = f"{row['exact']:,} of {row['graphs']:,}"
            label = f"{name} (sample)" if found["config"]["sample"] else name
            margin, seconds = row["margin"]["smallest"], row["seconds"]
            rows.append([label, paper().d[name], asked, share, f"{margin:.2g}", f"{seconds:.1f} s"])
    return table(["data set", "paper's d", "d asked for", "exact", "smallest margin", "time, 2 cores"], rows)


def relabel() -> str:
    rows = [
        [name, row["dim"], f"{row['identical']} of {row['checked']}", f"{row['apart']:.0e}"]
        for name, row in result("geometry-relabel")["result"].items()
    ]
    return table(["graphs", "d", "identical ordered adjacency", "largest difference of clouds"], rows)


def speed() -> str:
    rows = []
    for name, row in result("geometry-speed")["result"].items():
        theirs = row["papers_reading"]
        inexact = f"{theirs['inexact']} inexact" if theirs["inexact"] else "all exact"
        if not theirs["within_limit"]:
            inexact = "stopped at its time limit"
        mine, ratios = row["ours"], row["ratios"]
        rows.append(
            [f"{name}, d={row['dim']}",
             f"{mine['seconds']:.2f} s ({mine['labelling_seconds']:.2f} s labelling), {mine['inexact']} inexact",
             f"{theirs['seconds']:.1f} s, {inexact}", f"{ratios['whole']:.1f}×", f"{ratios['fit']:.1f}×"]
        )  # fmt: skip
    header = ["graphs", "geogae", "random start, batched Adam in eager torch", "ratio", "ratio without labelling"]
    return table(header, rows)


def kernels() -> str:
    rows = []
    for row in result("geometry-kernels")["result"]:
        names = ("numba", "eager", "compile")
        cells = [f"{row[k]['ns_per_pair']:.1f} ns (first call {row[k]['first_call_seconds']:.1f} s)" for k in names]
        rows.append([row["n"], row["graphs"], row["dim"], *cells])
    return table(["nodes", "graphs", "d", "numba, fused", "eager torch", "torch.compile"], rows)


def scaling() -> str:
    rows = [
        [row["kind"], row["n"], row["dim"], "yes" if row["exact"] else "no", row["steps"],
         f"{row['fit_seconds']:.2f} s", f"{row['labelling_seconds'] * 1e3:.0f} ms", f"{row['peak_gib']:.2f} GiB"]
        for row in result("geometry-scaling")["result"]
    ]  # fmt: skip
    return table(["graph", "nodes", "d", "exact", "steps", "fit", "labelling", "peak memory of the process"], rows)


def sequential() -> str:
    rows = []
    for name in measured("sequential"):
        found = result(f"sequential-{name}")
        test, config = found["result"]["test"], found["config"]
        f1, floor = 100 * test["f1"], 100 * result("sequential-floors")["result"][name]["f1"]
        printed = paper().geogae(name).mean
        rows.append(
            [name, f"{floor:.1f}", f"{f1:.1f}", printed, f"{f1 - printed:+.1f}",
             f"{100 * test['exact']:.1f} %", f"{test['size_error']:.2f}", paper().size_error[name].mean,
             f"{_core_minutes(config):g}", found["result"]["curve"][-1]["step"]]
        )  # fmt: skip
    header = ["data set", "floor: path, true size", "F1", "paper", "difference", "exact", "size error", "paper"]
    return table([*header, "core-minutes", "steps"], rows)


def _core_minutes(config: dict[str, Any]) -> float:
    """Of processor time; earlier runs were ended by the clock."""
    return config["params"].get("core_minutes") or config["minutes"] * config["threads"]


def analysis() -> str:
    rows = []
    for name in measured("sequential"):
        found = result(f"sequential-{name}")["result"]
        seen, forced = found["analysis"], found["analysis"]["teacher_forced_f1_by_pass"]
        small, large = seen["f1_of_small_and_large_half"]
        cells = [found["test"]["f1"], seen["train_f1"], forced[0], forced[-1], small, large]
        rows.append([name, *(f"{100 * cell:.1f}" for cell in cells), f"{100 * seen['share_of_wrong_sizes']:.0f} %"])
    header = ["data set", "F1", "train", "teacher-forced", "last pass", "smaller half", "larger half", "wrong sizes"]
    return table(header, rows)


def memory() -> str:
    """Test graphs that training had, up to isomorphism, and those that it had not."""
    rows = []
    for name, kinds in result("sequential-memory")["result"].items():
        cells: list[Any] = [name]
        for found in kinds.values():
            known = found["graphs"] > 0
            cells += [found["graphs"], *(f"{100 * found[key]:.1f}" if known else "–" for key in ("f1", "exact"))]
            cells.append(f"{found['size_error']:.2f}" if known else "–")
        rows.append(cells)
    header = [f"{kind}: {what}" for kind in ("seen", "unseen") for what in ("graphs", "F1", "exact [%]", "size error")]
    return table(["data set", *header], rows)


def ablations() -> str:
    found = result("sequential-ablations")
    rows = [
        [row["name"], f"{100 * row['test']['f1']:.1f}", row["paper_f1"] or "–", f"{row['test']['size_error']:.2f}",
         row["paper_size"] if row["paper_size"] is not None else "–", row["steps"]]
        for row in found["result"]
    ]  # fmt: skip
    return table(["MUTAG", "F1", "paper's F1", "size error", "paper's", "steps"], rows)


def model_speed() -> str:
    rows = [
        [row["what"], row["ours"], row["other"], f"{row['ratio']:.1f}×"] for row in result("sequential-speed")["result"]
    ]
    return table(["what", "geogae", "straightforward", "ratio"], rows)


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


def longer() -> str:
    """Whether time alone brings the sequential model to the paper's score."""
    if not LONGER.exists():
        return NOT_MEASURED
    found = json.loads(LONGER.read_text())
    curve = [(row["core_seconds"] / 60, 100 * row["validation_f1"]) for row in found["history"]]
    marks = (6, 12, 24, 48, 90, 120)
    best = [f"{max(f1 for when, f1 in curve if when <= minutes + 0.1):.1f}" for minutes in marks]
    header = ["AIDS, best validation F1 after", *(f"{minutes} core-min" for minutes in marks)]
    test, printed = f"{100 * found['scores']['f1']:.1f}", paper().geogae("AIDS").mean
    return table([*header, "test F1", "paper's test F1"], [["sequential", *best, test, printed]])


def choices() -> str:
    """Validation F1 by geometry dimension and node order."""
    rows = []
    for name in measured("parallel-choose"):
        found = result(f"parallel-choose-{name}")
        for row in found["result"]:
            f1, exact = ([100 * seed[key] for seed in row["validation"]] for key in ("f1", "exact"))
            seconds = f"{mean(row['seconds']):.1f} s"
            cells = [f"{mean(f1):.2f}", f"{mean(exact):.1f}", len(f1), seconds]
            order = row["order"] + ", leaves folded" * row.get("folds", False)
            rows.append([name, row["m"], row["dim"], order, *cells])
    return table(["data set", "m", "d", "order", "validation F1", "exact [%]", "seeds", "time"], rows)


def parallel_ablations() -> str:
    rows = [
        [row["what"], *(f"{100 * mean(row[key][m]):.2f}" for m in row["f1"] for key in ("f1", "exact"))]
        for row in result("parallel-ablations")["result"]
    ]
    sizes = result("parallel-ablations")["result"][0]["f1"]
    return table(["AIDS", *(f"{what}, m = {m}" for m in sizes for what in ("F1", "exact [%]"))], rows)


def robustness() -> str:
    found = result("parallel-robustness")["result"]
    rows = [[row["dataset"], *(f"{100 * f1:.2f}" for f1 in row["f1"].values())] for row in found]
    return table(["data set", *found[0]["f1"]], rows)


def parallel_speed() -> str:
    rows = [
        [row["what"], f"{row['parallel']:,.0f} graphs/s", f"{row['sequential']:,.0f} graphs/s", f"{row['ratio']:.1f}×"]
        for row in result("parallel-speed")["result"]
    ]
    return table(["AIDS", "parallel", "sequential", "ratio"], rows)


def headline(rows: Sequence[Row]) -> str:
    """Ours beside the best that costs nothing, PCA, and the paper; seeds are told."""
    lines, made = [], dict[str, list[str]]()
    shown = [row for row in rows if row.split == "paper" and not row.swept and not row.changes]
    shown = [row for row in shown if row.core_minutes in (None, BUDGET)]
    for data in dict.fromkeys(row.data for row in shown):
        here = {row.method: row for row in shown if row.data == data and row.f1}
        if "parallel" not in here:
            continue
        for method in ("parallel", "sequential"):
            for command in here[method].commands if method in here else ():
                made.setdefault(command, []).append(data)
        ours, floors = here["parallel"], [row for row in here.values() if row.told or row.method == "nearest"]
        best = max(floors, key=lambda row: row.f1.mean if row.f1 else 0)
        pca = here.get("linear-tuned", here.get("linear"))
        cells = [_seeded(here.get("sequential")), _percent(best), _percent(pca)]
        theirs = paper().geogae(ours.dataset)
        exact = f"{100 * ours.exact.mean:.1f} %" if ours.exact else "–"
        lines.append(
            [data, ours.m, theirs.mean, *cells, _seeded(ours, "**"), exact, f"{ours.difference * 100:+.1f}",
             f"{ours.cpu_seconds:.1f} s"]
        )  # fmt: skip
    header = ["data set", "m", "paper", f"its model, {BUDGET} core-min", "best trivial floor", "PCA", "**geogae**"]
    commands = "".join(f"- {', '.join(sets)}: `{command}`\n" for command, sets in made.items())
    scores = table([*header, "exact", "lead over the paper", "processor time, fit and test"], lines)
    return f"{scores}\n<details><summary>The commands that made it</summary>\n\n{commands}\n</details>\n"


def attribute_headline(rows: Sequence[Row]) -> str:
    """Ours with attributes decoded, each score with the paper's in brackets."""
    lines = []
    for row in rows:
        if row.method != "parallel-attributes" or row.split != "paper" or row.swept or row.changes or not row.f1:
            continue
        theirs = paper().attributes["GeoGAE"].get(row.dataset.removesuffix(NUMBERS), {})
        cells = [f"{100 * row.f1.mean:.1f} ({theirs['topology_f1'].mean})"]
        for name in ("node_f1", "node_rmse", "edge_f1", "edge_rmse"):
            spread, printed = row.attributes.get(name), theirs.get(name)
            ours = "–" if spread is None else f"{spread.mean:.2f}" if "rmse" in name else f"{100 * spread.mean:.1f}"
            cells.append(ours if printed is None or spread is None else f"{ours} ({printed.mean})")
        whole = row.attributes["whole"].mean
        lines.append([row.data, *cells, f"{100 * whole:.1f} %", f"{row.cpu_seconds:.0f} s", len(row.seeds)])
    header = ["data set", "F1", "node F1", "node RMSE", "edge F1", "edge RMSE", "whole graph"]
    return table([*header, "time, one core", "seeds"], lines)


def _seeded(row: Row | None, emphasis: str = "") -> str:
    if row is None or row.f1 is None:
        return "–"
    return f"{emphasis}{_percent(row)}{emphasis} ({len(row.seeds)} seed{'s' * (len(row.seeds) > 1)})"


def _percent(row: Row | None) -> str:
    if row is None or row.f1 is None:
        return "–"
    deviation = "" if row.f1.deviation is None else f" ± {100 * row.f1.deviation:.1f}"
    return f"{100 * row.f1.mean:.1f}{deviation}"


def attribute_choices() -> str:
    """Validation scores by geometry dimension and node order."""
    rows = []
    for name in measured("attributes-choose"):
        for row in result(f"attributes-choose-{name}")["result"]:
            rows.append([name, row["dim"], row["order"], *_attribute_cells(row["validation"])])
    return table(["data set", "d", "order", *ATTRIBUTE_CELLS, "seeds"], rows)


def attribute_ablations() -> str:
    rows = [[row["name"], *_attribute_cells(row["validation"])] for row in result("attributes-ablations")["result"]]
    return table(["AIDS", *ATTRIBUTE_CELLS, "seeds"], rows)


ATTRIBUTE_CELLS = ("F1 [%]", "node F1 [%]", "node RMSE", "edge F1 [%]", "whole [%]")


def _attribute_cells(seeds: list[dict[str, float]]) -> list[Any]:
    cells = []
    for name in ("f1", "node_f1", "node_rmse", "edge_f1", "whole"):
        values = [seed[name] for seed in seeds if name in seed]
        form = ".3f" if name.endswith("rmse") else ".2f"
        cells.append(f"{mean(values) * (1 if name.endswith('rmse') else 100):{form}}" if values else "–")
    return [*cells, len(seeds)]


def attribute_speed() -> str:
    found = result("attributes-speed")["result"]
    rows = [
        [mode, f"{rate:.0f}", f"{found['ratio'][mode]:.2f}"] for mode, rate in found["graphs_per_cpu_second"].items()
    ]
    return table(["attributes", "training graphs in a second of processor time, AIDS", "ratio"], rows)


def molecules() -> str:
    rows = [
        [row["m"], *(f"{100 * row[name]:.2f}" for name in ("valid", "same_smiles", "whole"))]
        for row in result("attributes-molecules")["result"]
    ]
    return table(["m", "valid molecules [%]", "same SMILES [%]", "whole graph [%]"], rows)


TABLES: Tables = {
    "exact": exact, "relabel": relabel, "speed": speed, "kernels": kernels, "scaling": scaling,
    "sequential": sequential, "analysis": analysis, "memory": memory, "ablations": ablations,
    "model-speed": model_speed, "parameters": parameters, "recipe": recipe, "choices": choices, "longer": longer,
    "attribute-choices": attribute_choices, "attribute-ablations": attribute_ablations,
    "attribute-speed": attribute_speed, "molecules": molecules,
    "parallel-ablations": parallel_ablations, "robustness": robustness, "parallel-speed": parallel_speed,
}  # fmt: skip


def main() -> int:
    check = "--check" in sys.argv
    scores = summarise(read_results(SCORES)) if SCORES.exists() else []
    known = {**TABLES, **tables(scores), "headline": partial(headline, scores)}
    known["attribute-headline"] = partial(attribute_headline, scores)
    stale = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = path.read_text()
        if unknown := set(block_names(text)) - known.keys():
            sys.exit(f"{path.name}: there is no table {', '.join(unknown)}; valid are {', '.join(known)}")
        new = filled(text, known)
        if new != text:
            stale.append(path.name)
            if not check:
                with atomic_path(path) as temporary:
                    temporary.write_text(new)
    if not check:
        save_figures(scores, PICTURES)
    print(f"out of date: {', '.join(stale)}" if stale else "all tables are up to date", file=sys.stderr)
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main())
