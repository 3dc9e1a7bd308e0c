"""The command line as a user meets it: what is printed where, exit codes, files that appear or do not."""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import geogae
from geogae import Graph, formats
from geogae.cli.cloud import cloud as cloud_verb
from geogae.cli.demo import _show_pages
from geogae.geometry.fitting import fit_clouds
from geogae.geometry.storage import load_clouds
from shell import Run

PNG = b"\x89PNG\r\n\x1a\n"
CYCLE = Graph(6, [(i, (i + 1) % 6) for i in range(6)], name="cycle")  # no interval graph: inexact at d = 2
PATH = Graph(4, [(0, 1), (1, 2), (2, 3)], name="path")


def in_new_process(*arguments: str, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "geogae", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload]


def files() -> list[str]:
    return sorted(str(path) for path in Path().rglob("*"))


# -- the whole ---


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_names_the_verbs(run: Run, arguments: tuple[str, ...]) -> None:
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    for verb in ("demo", "datasets", "cloud"):
        assert f"\n  {verb} " in out


@pytest.mark.parametrize("verb", ["demo", "datasets", "cloud"])
def test_help_of_a_verb_has_examples(run: Run, verb: str) -> None:
    code, out, err = run(verb, "--help")
    assert (code, err) == (0, "")
    assert f"Examples:\n    geogae {verb}" in out


def test_defaults_are_those_of_the_library() -> None:
    options, arguments = inspect.signature(cloud_verb).parameters, inspect.signature(fit_clouds).parameters
    assert all(options[name].default == arguments[name].default for name in ("dim", "order", "device", "n_jobs"))


def test_version(run: Run) -> None:
    assert run("--version") == (0, f"geogae {geogae.__version__}\n", "")


def test_help_is_light() -> None:
    heavy = "{'torch', 'numba', 'matplotlib', 'scipy', 'networkx'}"
    code = f"import sys, geogae.cli\ntry: geogae.cli.main(['-h'])\nexcept SystemExit: print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("set()\n")


def test_a_reader_that_leaves_early() -> None:
    process = in_new_process("datasets", "--help")
    assert process.stdout and process.stderr
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 1
    process.stderr.close()


def test_an_interrupt(tmp_path: Path) -> None:
    formats.write([PATH], tmp_path / "g.jsonl")
    program = (
        "import os, signal, threading, geogae.cli as cli\n"
        "from geogae.geometry import fitting\n"
        "def slow(*args, **options): os.kill(os.getpid(), signal.SIGINT); threading.Event().wait(30)\n"
        "fitting.fit_clouds = slow\n"
        f"cli.main(['cloud', {str(tmp_path / 'g.jsonl')!r}, '--dim', '3', '-o', {str(tmp_path / 'c.npz')!r}])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # a shell may have turned it off
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")
    assert not (tmp_path / "c.npz").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_output_that_cannot_be_written() -> None:
    command = [sys.executable, "-m", "geogae", "presets"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "error: writing: No space left on device\n")
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *command], stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# -- datasets ---


def test_datasets_as_json(run: Run) -> None:
    code, out, err = run("datasets", "--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert code == 0
    assert list(rows) == geogae.datasets.names()
    assert rows["MUTAG"]["graphs"] == rows["MUTAG"]["paper"]["graphs"] == 188
    assert rows["MUTAG"]["nodes"] == pytest.approx(17.93, abs=0.005)
    assert rows["MUTAG"]["edges"] == pytest.approx(19.79, abs=0.005)
    assert rows["AIDS"]["graphs"] is None
    assert rows["AIDS"]["paper"] == {"graphs": 2000, "nodes": 15.69, "edges": 16.2, "note": ""}
    assert "AIDS, IMDB-BINARY" in err


def test_datasets_as_a_table(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    formats.write([PATH, CYCLE], tmp_path / "data" / "AIDS.zip")
    monkeypatch.setenv("GEOGAE_DATA", str(tmp_path / "data"))
    code, out, err = run("datasets")
    lines = {line.split()[0]: line.split() for line in out.splitlines()}
    assert code == 0
    assert lines["MUTAG"] == ["MUTAG", "188", "17.93", "19.79", "│", "188", "17.90", "19.80", "[1]"]
    assert lines["AIDS"] == ["AIDS", "2", "5.00", "4.50", "│", "2,000", "15.69", "16.20"]
    assert lines["COLLAB"][1:4] == ["not", "here", "│"]
    assert "[4] the paper counts the 2,837 self-loops" in out
    assert f"IMDB-BINARY, SYNTHETICnew, COLLAB, REDDIT-BINARY: neither NAME.zip nor folder NAME is in {tmp_path}" in err
    assert f"nor in {os.environ['GEOGAE_CACHE']}" in err
    assert "pip install 'geogae[chem]'" in err


# -- cloud ---


def test_cloud_of_mutag(run: Run) -> None:
    code, out, err = run(
        "cloud", "mutag", "--dim", 3, "--json", "-o", "sub/clouds.npz", "--plot", "clouds.png", "--strict"
    )
    facts = json.loads(out)
    assert code == 0
    assert (facts["graphs"], facts["exact"], facts["inexact"], facts["dim"]) == (188, 188, [], 3)
    assert facts["topologies"] == len({geogae.canonical_form(g.topology()) for g in geogae.datasets.load("MUTAG")})
    assert 0 < facts["smallest_margin"] <= facts["median_margin"]
    assert facts["steps"] >= facts["topologies"] > facts["tries"] >= 1
    assert err.splitlines() == ["note: wrote sub/clouds.npz", "note: wrote clouds.png (12 of 188 clouds)"]
    assert files() == ["clouds.png", "sub", "sub/clouds.npz"]
    assert Path("clouds.png").read_bytes().startswith(PNG)
    graphs = geogae.datasets.load("MUTAG")
    assert [cloud.to_graph() for cloud in load_clouds("sub/clouds.npz")] == graphs
    assert formats.read("sub/clouds.npz") == graphs


def test_cloud_in_words(run: Run) -> None:
    formats.write([PATH, CYCLE, Graph(1), PATH.relabel([2, 0, 3, 1])], "mine.jsonl")
    code, out, err = run("cloud", "mine.jsonl", "-o", "clouds.jsonl")
    assert code == 0
    lines = [line.split(maxsplit=1) for line in out.splitlines()]
    assert lines[:3] == [["data", "mine.jsonl: 4 graphs, 3 distinct"], ["dim", "3"], ["exact", "4 of 4"]]
    assert err.endswith("note: wrote clouds.jsonl\n")
    assert all(line.startswith("note: ") for line in err.splitlines())
    assert [cloud.dim for cloud in load_clouds("clouds.jsonl")] == [3] * 4


def test_some_of_the_graphs(run: Run) -> None:
    run("cloud", "MUTAG", "--dim", 3, "--first", 3, "-o", "first.npz")
    assert [c.graph.name for c in load_clouds("first.npz") if c.graph] == ["MUTAG/0", "MUTAG/1", "MUTAG/2"]
    for name in ("a.npz", "b.npz"):
        run("cloud", "MUTAG", "--dim", 3, "--sample", 5, "--seed", 7, "-o", name)
    names = [c.graph.name for c in load_clouds("a.npz") if c.graph]
    assert len(set(names)) == 5
    assert names == [c.graph.name for c in load_clouds("b.npz") if c.graph]


@pytest.mark.parametrize("strict", [False, True])
def test_inexact_clouds(run: Run, strict: bool) -> None:
    formats.write([PATH, CYCLE], "mine.jsonl")
    few = ("--dim", 2, "--tries", 1, "-o", "clouds.npz", "--json")
    code, out, err = run("cloud", "mine.jsonl", *few, *(["--strict"] * strict))
    assert code == int(strict)
    assert json.loads(out)["inexact"] == ["cycle"]
    assert err.startswith("warning: dim=2 leaves 1 of 2 graphs inexact: cycle")
    assert files() == ["mine.jsonl"] if strict else ["clouds.npz", "mine.jsonl"]


def test_graphs_without_a_margin(run: Run) -> None:
    formats.write([Graph(1)], "one.jsonl")
    code, out, _ = run("cloud", "one.jsonl", "--json")
    assert code == 0
    assert json.loads(out)["smallest_margin"] is json.loads(out)["median_margin"] is None
    assert "margin  none" in run("cloud", "one.jsonl").out


def test_a_broken_cache_costs_time_only(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEOGAE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "clouds.sqlite").write_bytes(b"no database" * 100)
    tree = {"n": 300, "edges": [[(i - 1) // 2, i] for i in range(1, 300)]}  # too large to be fitted without the cache
    Path("tree.jsonl").write_text(json.dumps(tree) + "\n")
    code, _, err = run("cloud", "tree.jsonl", "--dim", 6)
    assert code == 0
    assert err.startswith("warning: ") and "is not a cloud cache" in err and err.count("\n") == 1
    assert run("cloud", "tree.jsonl", "--dim", 6).err == ""


BAD = {
    "unknown data set": (["NOPE"], "data set 'NOPE' is not in $GEOGAE_DATA (not set), not in the cache"),
    "missing file": (["nope.jsonl"], "nope.jsonl does not exist"),
    "unknown suffix": (["nope.csv"], "nope.csv does not exist"),
    "malformed file": (["bad.jsonl"], "bad.jsonl line 2: this is not JSON"),
    "self-loop": (["loop.jsonl"], "loop.jsonl line 1: self-loop at node 0"),
    "empty file": (["empty.jsonl"], "empty.jsonl holds no graphs"),
    "dim too small": (["MUTAG", "--dim", "1"], "dim=1 must be a whole number from 2 to 64, or 'auto'"),
    "dim no number": (["MUTAG", "--dim", "x"], "dim='x' must be a whole number"),
    "dim a fraction": (["MUTAG", "--dim", "2.5"], "dim='2.5' must be a whole number"),
    "start": (["MUTAG", "--start", "x"], "start='x' is not known; valid are mds, random"),
    "order": (["MUTAG", "--order", "x"], "order='x' is not known; valid are greedy, axis"),
    "margin": (["MUTAG", "--margin", "-1"], "margin=-1.0 must be"),
    "tries": (["MUTAG", "--tries", "0"], "tries=0 must be"),
    "jobs": (["MUTAG", "--jobs", "0"], "n_jobs=0 must be a whole number of workers, or -1 for all cores"),
    "device": (["MUTAG", "--dim", "3", "--device", "warp", "--no-cache"], "device='warp' cannot be used"),
    "first and sample": (["MUTAG", "--first", "1", "--sample", "1"], "--first and --sample exclude each other"),
    "too many": (["MUTAG", "--sample", "189"], "--sample 189 must be from 1 to 188"),
    "suffix of -o": (["MUTAG", "-o", "x.txt"], "cannot write x.txt: its suffix must be .npz or .jsonl"),
    "suffix of --plot": (["MUTAG", "--plot", "x"], "cannot write x: its suffix must be .png"),
    "unwritable -o": (["MUTAG", "-o", "bad.jsonl/x.npz"], "cannot write bad.jsonl/x.npz: Not a directory"),
    "folder as -o": (["MUTAG", "-o", "folder.npz"], "cannot write folder.npz: it is a folder"),
    "no such option": (["MUTAG", "--xyz"], "No such option: --xyz; see geogae cloud --help"),
    "no data": ([], "Missing argument 'DATA'; see geogae cloud --help"),
}


@pytest.mark.parametrize(("arguments", "said"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line(run: Run, arguments: list[str], said: str) -> None:
    Path("bad.jsonl").write_text('{"n": 1, "edges": []}\n{"n": 2\n')
    Path("loop.jsonl").write_text('{"n": 2, "edges": [[0, 0]]}\n')
    Path("empty.jsonl").touch()
    Path("folder.npz").mkdir()
    before = files()
    elsewhere = [] if {"-o", "--plot"} & set(arguments) else ["-o", "sub/out.npz", "--plot", "sub/out.png"]
    code, out, err = run("cloud", *arguments, *elsewhere)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {said}")
    assert err.count("\n") == 1
    assert files() == before


def test_no_such_verb(run: Run) -> None:
    assert run("nope") == (2, "", "error: No such command 'nope'; see geogae --help\n")


# -- demo ---


def test_demo(run: Run) -> None:
    """Unseen graphs come back exactly, also from a z that is smaller than a cloud."""
    code, out, err = run("demo", "--out", "shown")
    assert (code, err) == (0, "")
    assert "188 of 188 graphs read back" in out
    assert "39 of 39 graphs with shuffled nodes get the same discs" in out
    for m in (128, 48):
        [line] = [line for line in out.splitlines() if line.startswith(f"z of {m}")]
        assert "28 unseen graphs and back from so many numbers: 100 % exact, F1 100.0 % (fitted on 132 in" in line
    assert "the paper   F1 61.3" in out and "128 numbers" in out
    [weights] = Path("shown/model").glob("model-*.safetensors")
    model = ["shown/model", "shown/model/config.json", str(weights)]
    pictures, pages = ["shown/clouds.png", "shown/reconstructions.png"], ["shown/map.html", "shown/report.html"]
    assert sorted(files()) == sorted(["shown", "shown/clouds.npz", *pictures, *pages, *model])
    assert all(Path(page).resolve().as_uri() in out for page in pages)
    assert all(Path(picture).read_bytes().startswith(PNG) for picture in pictures)
    assert np.mean([cloud.exact for cloud in load_clouds("shown/clouds.npz")]) == 1
    test = geogae.datasets.split(geogae.datasets.load("MUTAG"), seed=0)[2]
    shown = geogae.GeoGAE.load("shown/model")
    assert shown.latent_dim == 128 and shown.evaluate(test)["exact"] == 1


def test_pages_of_the_demo_need_no_chemistry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`make demo` installs no extras."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "rdkit"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rdkit", None)
    graphs = geogae.datasets.load("MUTAG")[:12]
    model = geogae.GeoGAE(latent_dim=24, dim=3, descriptor=4).fit(graphs)
    _show_pages(model, graphs, graphs, graphs[:3], tmp_path)
    assert "as plain graphs: pip install 'geogae[chem]'" in capsys.readouterr().out
    assert (tmp_path / "map.html").exists() and (tmp_path / "report.html").exists()


def test_demo_without_a_place(run: Run) -> None:
    Path("taken").touch()
    code, out, err = run("demo", "--out", "taken")
    assert (code, out) == (2, "")
    assert err == "error: cannot write taken/clouds.png: Not a directory; choose another place\n"
