"""Tables of benchmarks/geometry.py."""

from __future__ import annotations

from geogae.benchmark.blocks import markdown_table as table
from geogae.benchmark.paper import paper
from record import measured, recorded, result


def exact() -> str:
    rows = []
    for name in measured("geometry", "exact"):
        found = result("geometry", f"exact-{name}")
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
        for name, row in result("geometry", "relabel")["result"].items()
    ]
    return table(["graphs", "d", "identical ordered adjacency", "largest difference of clouds"], rows)


def speed() -> str:
    rows = []
    for name, row in result("geometry", "speed")["result"].items():
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
    for row in result("geometry", "kernels")["result"]:
        names = ("numba", "eager", "compile")
        cells = [f"{row[k]['ns_per_pair']:.1f} ns (first call {row[k]['first_call_seconds']:.1f} s)" for k in names]
        rows.append([row["n"], row["graphs"], row["dim"], *cells])
    return table(["nodes", "graphs", "d", "numba, fused", "eager torch", "torch.compile"], rows)


def scaling() -> str:
    rows = [
        [row["kind"], row["n"], row["dim"], "yes" if row["exact"] else "no", row["steps"],
         f"{row['fit_seconds']:.2f} s", f"{row['labelling_seconds'] * 1e3:.0f} ms", f"{row['peak_gib']:.2f} GiB"]
        for part in ("scaling", "largest")
        for row in recorded("geometry").get(part, {"result": []})["result"]
    ]  # fmt: skip
    return table(["graph", "nodes", "d", "exact", "steps", "fit", "labelling", "peak memory of the process"], rows)


def exponents() -> str:
    slopes = result("geometry", "scaling")["config"]["exponents"]
    return table(["graphs", *slopes], [["time grows as n to the power of", *slopes.values()]])


TABLES = {"exact": exact, "relabel": relabel, "speed": speed, "kernels": kernels, "scaling": scaling,
          "exponents": exponents}  # fmt: skip
