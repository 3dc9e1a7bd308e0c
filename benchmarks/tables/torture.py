"""Tables of benchmarks/torture.py."""

from __future__ import annotations

from geogae.benchmark.blocks import markdown_table as table
from record import recorded, result


def faults() -> str:
    """One row for each part that was run."""
    result("torture", "relabel")  # else: not measured
    rows = []
    for part, line in recorded("torture").items():
        found, what = line["result"], SENTENCES[part]
        rows.append([part, what(found), found["wrong"], f"{line['seconds'] / 60:.1f} min", line["commit"]])
    return table(["part", "what was done", "went wrong", "time", "commit"], rows)


SENTENCES = {
    "relabel": lambda r: f"{r['relabelled']:,} renumbered graphs of {len(r['kinds'])} kinds, {r['changed']} changed z",
    "fuzz": lambda r: f"{r['inputs']:,} damaged inputs of {len(r['kinds'])} kinds",
    "kill": lambda r: (
        f"{r['kills']} kills; {r['resumed']} of {r['completed']} jobs that were killed and resumed gave what an "
        "uninterrupted one gives"
    ),
    "writers": lambda r: f"{r['writers']} processes wrote to one cache of clouds",
    "disk": lambda r: (
        f"{r['checks']} ways to meet a full disk: save, encode, decode, train, benchmark, two caches, stdout"
    ),
    "worker": lambda r: f"{r['killed']} workers killed, {r['failed_runs']} of {r['runs']} runs failed and were retried",
}


def fuzzed() -> str:
    found = result("torture", "fuzz")["result"]["kinds"]
    kinds = ["error", "same", "valid"]
    rows = []
    for name, counts in found.items():
        wrong = sum(number for kind, number in counts.items() if kind not in kinds)
        rows.append([name, sum(counts.values()), *(counts.get(kind, 0) for kind in kinds), wrong])
    header = ["input", "damaged", "one line of error", "read, as it was", "read, another valid content", "went wrong"]
    return table(header, rows)


def relabelled() -> str:
    found = result("torture", "relabel")["result"]["kinds"]
    return table(
        ["graphs", "of them", "renumbered", "changed z"],
        [[name, row["graphs"], row["relabelled"], row["changed"]] for name, row in found.items()],
    )


def killed() -> str:
    found = result("torture", "kill")["result"]["jobs"]
    return table(
        ["job", "kills", "came to its end", "… with the same result"],
        [[name, row["kills"], row["completed"], row["resumed"]] for name, row in found.items()],
    )


TABLES = {
    "faults": faults,
    "faults-fuzz": fuzzed,
    "faults-relabel": relabelled,
    "faults-kill": killed,
}
