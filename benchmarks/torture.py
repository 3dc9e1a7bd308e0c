"""Fault tests: `make torture` (about ten minutes on two idle cores), recorded in benchmarks/studies/torture.jsonl.

    python benchmarks/torture.py [PART …]      relabel, fuzz, kill, writers, disk

``relabel``: renumbered graphs of all sets and of regular families get the same z, bit for bit. ``fuzz``: damaged
files of every format, presets, model folders, z files and command lines end in one line, not in a traceback. ``kill``:
SIGKILL at random times during fits with a cache, saves, trainings and benchmark runs; what is on the disk stays whole,
and a resumed job gives what an uninterrupted one gives. ``writers``: eight processes on one cache. ``disk``: a full
disk.
"""

from __future__ import annotations

import io
import json
import logging
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import geogae
from geogae import GeoGAE, Graph, datasets, formats
from record import record

RELABELLED, FUZZED, KILLS, WRITERS = 10_000, 10_000, 100, 8
HANG = 120.0  # seconds after which one input counts as a hang

logging.getLogger("geogae").setLevel(logging.ERROR)


# -- relabel ----------------------------------------------------------------------------------------------------------


def collections() -> Iterator[tuple[str, list[Graph]]]:
    for name in ("MUTAG", "AIDS", "IMDB-BINARY", "COLLAB", "REDDIT-BINARY"):
        try:
            graphs = [graph for graph in datasets.load(name) if graph.n <= 120]
        except geogae.GeoGAEError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        yield name, datasets.sample(graphs, min(len(graphs), 120), 0)
    regular = [nx.circulant_graph(n, [1, 2]) for n in range(8, 30)] + [nx.hypercube_graph(k) for k in (3, 4, 5)]
    regular += [nx.paley_graph(q).to_undirected() for q in (5, 13, 17)] + [nx.petersen_graph(), nx.desargues_graph()]
    regular += [nx.random_regular_graph(3, n, seed=n) for n in range(10, 60, 2)]
    yield "regular graphs", [Graph.from_networkx(nx.convert_node_labels_to_integers(g)) for g in regular]
    trees = [nx.balanced_tree(2, 4), *(nx.random_labeled_tree(n, seed=n) for n in range(5, 90, 3))]
    yield "trees", [Graph.from_networkx(tree) for tree in trees]
    grids = [nx.grid_2d_graph(a, b) for a in range(2, 8) for b in range(a, 9)]
    yield "grids", [Graph.from_networkx(nx.convert_node_labels_to_integers(grid)) for grid in grids]


def relabel() -> dict[str, Any]:
    random = np.random.default_rng(0)
    kinds = list(collections())
    counts: dict[str, dict[str, int]] = {}
    for name, graphs in kinds:
        model = GeoGAE(latent_dim=128, dim=6, steps=200).fit(graphs)
        z = model.encode(graphs)
        each = -(-RELABELLED // len(kinds))
        chosen = random.integers(0, len(graphs), each)
        again = model.encode([graphs[i].relabel(random.permutation(graphs[i].n)) for i in chosen])
        changed = int((again != z[chosen]).any(1).sum())
        counts[name] = {"relabelled": each, "changed": changed}
    return {"kinds": counts, "changed": sum(count["changed"] for count in counts.values())}


# -- fuzz -------------------------------------------------------------------------------------------------------------


def command(*arguments: str) -> tuple[int | str, str]:
    """The command line in this process: exit code, or the name of an exception that came through; and stderr."""
    from geogae.cli import main

    out, err = io.StringIO(), io.StringIO()
    signal.setitimer(signal.ITIMER_REAL, HANG)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main(list(arguments))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1, err.getvalue()
    except Hang:
        return "hang", err.getvalue()
    except BaseException as error:
        return type(error).__name__, err.getvalue()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return 0, err.getvalue()


class Hang(Exception):
    pass


def _alarm(number: int, frame: Any) -> None:
    raise Hang


def damaged(content: bytes, random: np.random.Generator) -> bytes:
    """The same bytes with one of: a changed byte, a cut, a repeated or removed piece, a long number, noise."""
    data = bytearray(content)
    at, end = sorted(random.integers(0, len(data) + 1, 2).tolist())
    match int(random.integers(6)):
        case 0 if data:
            data[min(at, len(data) - 1)] = int(random.integers(256))
        case 1:
            del data[at:]
        case 2:
            data[at:at] = data[at:end][:1000]
        case 3:
            del data[at:end]
        case 4:
            data[at:at] = b"99999999999999999999"
        case _:
            data[at : at + 8] = random.bytes(8)
    return bytes(data)


def targets(folder: Path) -> list[tuple[str, Path, Callable[[Path], list[str]]]]:
    """Kinds of input: their name, a whole file, and the command that reads it."""
    graphs = datasets.load("MUTAG")[:30]
    model = GeoGAE(dim=3, latent_dim=16, steps=50).fit(graphs)
    model.save(folder / "model")
    files = []
    for suffix in (".jsonl", ".g6", ".s6", ".npz"):
        plain = [graph.topology() for graph in graphs]
        formats.write(plain if suffix in (".g6", ".s6") else graphs, folder / f"graphs{suffix}")
        files.append((suffix, folder / f"graphs{suffix}"))
    (folder / "graphs.smi").write_text("CCO ethanol\nc1ccccc1O phenol\nCC(=O)O acid\n")
    files.append((".smi", folder / "graphs.smi"))
    formats.write_tu(graphs, folder / "TU")
    shutil.make_archive(str(folder / "TU"), "zip", folder, "TU")
    files.append((".zip", folder / "TU.zip"))
    kinds = [
        (name, path, lambda damaged: ["cloud", str(damaged), "--dim", "3", "--first", "1"]) for name, path in files
    ]
    np.save(folder / "z.npy", model.encode(graphs[:4]))
    (folder / "z.json").write_text(json.dumps(model.encode(graphs[:2]).tolist()))
    saved = str(folder / "model")
    for suffix in (".npy", ".json"):
        kinds.append((f"z{suffix}", folder / f"z{suffix}", lambda damaged: ["decode", saved, str(damaged)]))
    (folder / "preset.toml").write_text('dim = 3\nlatent_dim = 16\norder = "axis"\nsteps = 5\nseed = 1\n')
    train = ["--data", str(folder / "graphs.jsonl"), "--out"]
    kinds.append(
        ("preset", folder / "preset.toml", lambda damaged: ["train", str(damaged), *train, str(damaged) + ".run"])
    )
    return kinds


ARGUMENTS = [
    ["cloud", "{}", "--dim", "{}"],
    ["train", "{}", "--seed", "{}", "--out", "{}"],
    ["train", "mutag", "--set", "{}={}", "--out", "{}"],
    ["encode", "{}", "{}"],
    ["decode", "{}", "{}"],
    ["evaluate", "{}", "--split", "{}"],
    ["presets", "show", "{}"],
    ["benchmark", "run", "--datasets", "{}", "--seeds", "{}"],
    ["datasets", "{}"],
    ["{}"],
]
WORDS = [
    "",
    "-1",
    "0",
    "1e999",
    "nan",
    "99999999999999999999",
    "MUTAG",
    "no such",
    "../..",
    "\x00x",
    "🦜",
    "--help",
    "-",
    "/",
]


def fuzz() -> dict[str, Any]:
    signal.signal(signal.SIGALRM, _alarm)
    random = np.random.default_rng(0)
    outcomes: dict[str, Counter[str]] = {}
    bad: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        os.environ["GEOGAE_TU_URL"] = "http://127.0.0.1:9/none"
        kinds = targets(folder)
        each = FUZZED // (len(kinds) + 2)
        for kind, path, arguments in kinds:
            content = path.read_bytes()
            counts = outcomes.setdefault(kind, Counter())
            for number in range(each):
                target = folder / f"damaged{path.suffix}"
                target.write_bytes(damaged(content, random))
                _count(counts, bad, kind, number, *command(*arguments(target)))
                shutil.rmtree(f"{target}.run", ignore_errors=True)
        outcomes["model folder"] = _fuzz_model(folder, each, random, bad)
        counts = outcomes.setdefault("arguments", Counter())
        for number in range(each):
            pattern = ARGUMENTS[int(random.integers(len(ARGUMENTS)))]
            words = [WORDS[i] for i in random.integers(0, len(WORDS), 8)]
            filled = [part.format(*(words[k:] + words)) if "{" in part else part for k, part in enumerate(pattern)]
            _count(counts, bad, "arguments", number, *command(*filled))
        os.chdir("/")
    total = sum(sum(counts.values()) for counts in outcomes.values())
    return {"inputs": total, "outcomes": {kind: dict(counts) for kind, counts in outcomes.items()}, "bad": bad[:50]}


def _fuzz_model(folder: Path, each: int, random: np.random.Generator, bad: list[str]) -> Counter[str]:
    """A changed model is an error, or, where the change is only in white space, the same model."""
    counts: Counter[str] = Counter()
    z = np.load(folder / "z.npy")
    expected = GeoGAE.load(folder / "model").inverse_transform(z)
    files = sorted((folder / "model").iterdir())
    for number in range(each):
        copy = folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder / "model", copy)
        target = copy / files[number % len(files)].name
        target.write_bytes(damaged(target.read_bytes(), random))
        try:
            same = GeoGAE.load(copy).inverse_transform(z) == expected
            counts["same" if same else "silently wrong"] += 1
            bad += [] if same else [f"model folder {number}: silently wrong"]
        except geogae.GeoGAEError:
            counts["error"] += 1
        except Exception as error:
            counts[type(error).__name__] += 1
            bad.append(f"model folder {number}: {type(error).__name__}")
    return counts


def _count(counts: Counter[str], bad: list[str], kind: str, number: int, code: int | str, err: str) -> None:
    if "Traceback" in err:
        code = "traceback"
    counts[str(code)] += 1
    if code not in (0, 1, 2):
        bad.append(f"{kind} {number}: {code}: {err.strip().splitlines()[-1:]}")


# -- kill -------------------------------------------------------------------------------------------------------------

JOBS = {
    "fit": "import geogae; geogae.fit_clouds(geogae.datasets.load('MUTAG'), 3, cache='clouds.sqlite', n_jobs=1)",
    "save": (
        "import geogae; g = geogae.datasets.load('MUTAG')[:30]; m = geogae.GeoGAE(dim=3, latent_dim=16).fit(g)\n"
        "while True:\n m.save('model')"
    ),
    "train": (
        "from geogae.cli import main; import sys, pathlib\n"
        "more = ['--resume'] if pathlib.Path('run/state.safetensors').exists() else []\n"
        "main(['train', 'paper/mutag', '--epochs', '3', '--out', 'run', '--threads', '1',"
        " '--set', 'validations=3', *more])"
    ),
    "benchmark": (
        "from geogae.cli import main; main(['benchmark', 'run', '--methods', 'path,linear', '--datasets', 'MUTAG',"
        " '--seeds', '0-2', '--threads', '1', '--results', 'results'])"
    ),
}


def start(code: str, folder: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GEOGAE_CACHE": str(folder / "cache")}
    quiet = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, "-c", code], cwd=folder, env=environment, stdout=quiet, stderr=quiet)


def whole(job: str, folder: Path) -> bool:
    """Whether what is on the disk can be used."""
    if job == "fit":
        graphs = datasets.load("MUTAG")[:20]
        clouds = geogae.fit_clouds(graphs, 3, cache=folder / "clouds.sqlite")
        return all(cloud.exact for cloud in clouds)
    if job == "save" and (folder / "model" / "config.json").exists():
        GeoGAE.load(folder / "model")
    if job == "train" and (folder / "run" / "config.json").exists():
        GeoGAE.load(folder / "run")
    if job == "benchmark" and (folder / "results").exists():
        from geogae.benchmark.results import read_results

        read_results(folder / "results")
    return True


def outcome(job: str, folder: Path) -> Any:
    """What an uninterrupted job leaves, as far as it must be the same."""
    if job == "train":
        model = GeoGAE.load(folder / "run")
        return model.encode(datasets.load("MUTAG")[:20]).tobytes()
    if job == "benchmark":
        from geogae.benchmark.results import read_results

        return sorted(
            (entry["method"], entry["seed"], entry["scores"]["f1"]) for entry in read_results(folder / "results")
        )
    return None


def kill() -> dict[str, Any]:
    random = np.random.default_rng(0)
    results: dict[str, Any] = {}
    for job, code in JOBS.items():
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            began = time.monotonic()
            reference = start(code, Path(one))
            if job == "save":
                time.sleep(20)
                reference.kill()
            reference.wait()
            length, damaged_runs, folder = time.monotonic() - began, 0, Path(other)
            for _ in range(KILLS // len(JOBS)):
                process = start(code, folder)
                try:
                    process.wait(float(random.uniform(0.1, 1.0)) * length)
                    if job != "save":  # it came to its end: once more from the beginning
                        damaged_runs += outcome(job, folder) != outcome(job, Path(one))
                        shutil.rmtree(folder)
                        folder.mkdir()
                        continue
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                try:
                    damaged_runs += not whole(job, folder)
                except Exception as error:
                    damaged_runs += 1
                    print(f"{job}: {error!r}", file=sys.stderr)
            if job != "save":
                start(code, folder).wait()
            same = outcome(job, folder) == outcome(job, Path(one))
            results[job] = {"kills": KILLS // len(JOBS), "damaged": damaged_runs, "resumed_as_uninterrupted": same}
    return results


# -- writers and disk -------------------------------------------------------------------------------------------------


def writers() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        code = "import geogae; geogae.fit_clouds(geogae.datasets.load('MUTAG'), 3, cache='clouds.sqlite', n_jobs=1)"
        processes = [start(code, folder) for _ in range(WRITERS)]
        codes = [process.wait() for process in processes]
        return {"writers": WRITERS, "exit_codes": codes, "whole": whole("fit", folder)}


def disk() -> dict[str, Any]:
    """A limit on the size of files stands for a full disk: saves fail with one line, and the old model stays."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        graphs = datasets.load("MUTAG")[:40]
        GeoGAE(dim=3, latent_dim=16).fit(graphs).save(folder / "model")
        z = GeoGAE.load(folder / "model").encode(graphs)
        code = (
            "import resource, signal, geogae\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
            "m = geogae.GeoGAE(dim=3, latent_dim=64).fit(geogae.datasets.load('MUTAG')[:40])\n"
            "try:\n m.save('model')\nexcept geogae.GeoGAEError as error:\n raise SystemExit(7)\n"
        )
        ended = start(code, folder).wait()
        same = np.array_equal(GeoGAE.load(folder / "model").encode(graphs), z)
        left = sorted(path.name for path in (folder / "model").iterdir() if path.suffix == ".tmp")
        return {"one_line": ended == 7, "old_model_stays": same, "left_behind": left}


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "relabel": relabel, "fuzz": fuzz, "kill": kill, "writers": writers, "disk": disk,
}  # fmt: skip

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))  # a bomb ends in a MemoryError, not in the machine's end
    here = Path.cwd()
    for part in sys.argv[1:] or PARTS:
        begun = time.perf_counter()
        measured = PARTS[part]()
        os.chdir(here)
        record("torture", part, {"relabelled": RELABELLED, "fuzzed": FUZZED, "kills": KILLS}, measured,
               time.perf_counter() - begun)  # fmt: skip
        print(json.dumps({part: measured}, indent=1))
