"""train → evaluate → encode → decode, and presets, as a user meets them."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geogae import GeoGAE, Graph, datasets, formats, metrics, presets
from geogae.cli.data import DATA
from geogae.cli.train import parse_changes
from geogae.formats import FILES
from geogae.graph import ATTRIBUTES
from shell import Run

TINY = {"token_dim": 16, "latent_dim": 32, "encoder_hidden": 32, "encoder_layers": 1, "encoder_heads": 2}
TINY |= {"decoder_hidden": 32, "decoder_layers": 1, "passes": 1, "batch_size": 8, "validations": 2}
SMALL = [word for name, value in TINY.items() for word in ("--set", f"{name}={value}")]


@pytest.fixture(autouse=True)
def graphs(run: Run) -> None:
    """24 graphs lie in the folder."""
    formats.write(datasets.load("MUTAG")[:24], "graphs.jsonl")


@pytest.fixture
def trained(run: Run) -> Path:
    code, out, err = run("train", "paper/mutag", "--data", "graphs.jsonl", "--out", "run", "--epochs", 1, *SMALL)
    assert code == 0
    assert err == "note: 17 graphs to train on, 3 to choose by; the run is in run\n"
    facts = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert facts["run"] == "run" and facts["next"] == "geogae evaluate run --split test"
    assert {"F1", "exact", "size"} < facts.keys()
    return Path("run")


def files(folder: str = ".") -> list[str]:
    """Without the checksum in the name of weights."""
    found = (str(path.relative_to(folder)) for path in Path(folder).rglob("*"))
    return sorted(re.sub(r"model-\w{16}\.safetensors", "model.safetensors", path) for path in found)


def weights() -> bytes:
    [path] = Path("run").glob("model-*.safetensors")
    return path.read_bytes()


# -- the way of a graph ---


def test_there_and_back(run: Run, trained: Path) -> None:
    made = ["config.json", "curves.png", "metrics.jsonl", "model.safetensors", "run.json", "state.safetensors"]
    assert files("run") == made
    model, graphs = GeoGAE.load("run"), formats.read("graphs.jsonl")

    parts = dict(zip(("train", "validation", "test"), datasets.split(graphs, 0), strict=True))
    for split, part in parts.items():
        code, out, err = run("evaluate", "run", "--split", split, "--json")
        scores = json.loads(out)
        assert (code, err, scores["run"], scores["data"], scores["graphs"]) == (0, "", "run", split, len(part))
        assert scores["f1"] == model.evaluate(part)["f1"]
    assert json.loads(run("evaluate", "run", "graphs.jsonl", "--json").out)["graphs"] == 24
    code, out, _ = run("evaluate", "run", "--plot", "back.png")
    assert code == 0 and "F1" in out and "size error" in out and Path("back.png").stat().st_size > 1000

    code, out, err = run("encode", "run", "graphs.jsonl", "-o", "sub/z.npy")
    assert (code, out, err) == (0, "", "note: wrote sub/z.npy: 24 vectors of 32 numbers\n")
    z = np.load("sub/z.npy", allow_pickle=False)
    assert z.dtype == np.float32 and np.array_equal(z, model.encode(graphs))
    assert np.array_equal(np.array(json.loads(run("encode", "run", "graphs.jsonl").out), dtype=np.float32), z)

    code, out, err = run("decode", "run", "sub/z.npy", "-o", "back.jsonl")
    assert (code, out) == (0, "") and err.endswith("note: wrote back.jsonl\n")
    assert formats.read("back.jsonl") == model.decode(z)
    assert len(run("decode", "run", "sub/z.npy").out.splitlines()) == 24
    np.save("one.npy", z[0])
    assert len(run("decode", "run", "one.npy").out.splitlines()) == 1
    assert files() == sorted(
        ["back.jsonl", "back.png", "graphs.jsonl", "one.npy", "run", *(f"run/{f}" for f in made), "sub", "sub/z.npy"]
    )


def test_train_as_json_and_resume(run: Run, trained: Path) -> None:
    again = ("train", "paper/mutag", "--data", "graphs.jsonl", "--out", "run", "--resume", "--json", *SMALL)
    code, out, _ = run(*again, "--epochs", 1)
    assert code == 0
    rows = [json.loads(line) for line in Path("run/metrics.jsonl").read_text().splitlines()]
    shown = json.loads(out)
    assert shown["run"] == "run" and shown["seconds"] == rows[-1]["seconds"]
    assert shown["validation"]["f1"] == max(row["validation_f1"] for row in rows)
    assert run(*again, "--epochs", 2).code == 0  # a larger budget continues
    assert len(Path("run/metrics.jsonl").read_text().splitlines()) > len(rows)
    before = weights()
    for change, named in ((["--seed", 1], "seed, seed"), (["--set", "rho=2"], "rho"), (["--disjoint"], "disjoint")):
        code, out, err = run(*again, "--epochs", 2, *change)
        assert (code, out) == (2, "")
        assert err == f"error: run was started with other {named}; resume with the same, or start again\n"
    assert weights() == before


def test_core_minutes_end_a_training_and_a_resumed_one(run: Run) -> None:
    asked = ("train", "paper/mutag", "--data", "graphs.jsonl", "--out", "run", *SMALL)

    def rows() -> list[dict[str, Any]]:
        return [json.loads(line) for line in Path("run/metrics.jsonl").read_text().splitlines()]

    assert run(*asked, "--core-minutes", 0.005).code == 0
    first = rows()[-1]
    assert 0.3 <= first["core_seconds"] < 30 and first["epoch"] != 200
    assert run(*asked, "--core-minutes", 0.005, "--resume").code == 0 and rows()[-1] == first
    more = first["core_seconds"] + 0.3
    assert run(*asked, "--core-minutes", more / 60, "--resume").code == 0
    assert rows()[-1]["core_seconds"] >= round(more, 2) and rows()[-1]["step"] > first["step"]
    assert len(GeoGAE.load("run").encode(formats.read("graphs.jsonl"))) == 24


def test_resume_before_the_first_checkpoint(run: Run, trained: Path) -> None:
    Path("run/state.safetensors").unlink()
    options = ("--data", "graphs.jsonl", "--out", "run", "--epochs", 1, *SMALL)
    code, _, err = run("train", "paper/mutag", *options, "--resume")
    assert code == 0 and "note: run holds no checkpoint: starting from the beginning" in err


def test_linear_there_and_back(run: Run) -> None:
    code, out, err = run("train", "linear/mutag", "--out", "run", "--set", "latent_dim=60", "--seed", 1)
    assert (code, err) == (0, "note: 132 graphs to train on, 28 to choose by; the run is in run\n")
    assert files("run") == ["config.json", "model.safetensors", "run.json"]
    assert "F1" in out and "size error  0.000 nodes" in out
    code, out, err = run("evaluate", "run", "--json", "--plot", "back.png")
    scores = json.loads(out)
    assert (code, err, scores["graphs"], scores["size_error"], scores["not_encoded"]) == (0, "", 28, 0, 0)
    assert scores["f1"] == GeoGAE.load("run").evaluate(datasets.split(datasets.load("MUTAG"), 1)[2])["f1"] > 0.9
    assert run("encode", "run", "graphs.jsonl", "-o", "z.npy").code == 0
    assert run("decode", "run", "z.npy", "-o", "back.jsonl").code == 0
    assert [graph.n for graph in formats.read("back.jsonl")] == [graph.n for graph in formats.read("graphs.jsonl")]


def test_the_default_there_and_back(run: Run) -> None:
    """As README shows it: in seconds, and every unseen graph comes back."""
    code, out, err = run("train", "mutag", "--out", "runs/mutag")
    assert (code, err) == (0, "note: 132 graphs to train on, 28 to choose by; the run is in runs/mutag\n")
    facts = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert facts["F1"].startswith("100.00 %") and facts["exact"] == "100.00 %"
    assert facts["next"] == "geogae evaluate runs/mutag --split test"
    assert files("runs/mutag") == ["config.json", "model.safetensors", "run.json"]
    code, out, err = run("evaluate", "runs/mutag", "--split", "test", "--json", "--plot", "back.png")
    scores = json.loads(out)
    assert (code, err, scores["graphs"], scores["f1"], scores["exact"]) == (0, "", 28, 1, 1)
    assert Path("back.png").stat().st_size > 1000
    assert (
        run("encode", "runs/mutag", "graphs.jsonl", "-o", "z.npy").err
        == "note: wrote z.npy: 24 vectors of 128 numbers\n"
    )
    assert run("decode", "runs/mutag", "z.npy", "-o", "back.jsonl").code == 0
    model, graphs = GeoGAE.load("runs/mutag"), formats.read("graphs.jsonl")
    assert formats.read("back.jsonl") == [reading.ordered.topology() for reading in model.autoencoder_.read(graphs)]
    assert all(metrics.same_topology(*pair) for pair in zip(formats.read("back.jsonl"), graphs, strict=True))


def test_the_default_with_changes(run: Run) -> None:
    """What a shorter z costs, and what refinement is worth; --json for scripts; a run is never overwritten."""
    f1 = []
    for steps in (0, 1000):
        change = ("--set", "latent_dim=40", "--set", f"steps={steps}", "--seed", 1)
        code, out, _ = run("train", "mutag", "--out", f"runs/{steps}", *change, "--json")
        shown = json.loads(out)
        assert code == 0 and shown["run"] == f"runs/{steps}" and shown["validation"]["size_error"] == 0
        f1.append(shown["validation"]["f1"])
    assert f1[1] > 0.98 > f1[0]
    code, out, err = run("train", "mutag", "--out", "runs/0")
    assert (code, out) == (2, "") and err == "error: runs/0 holds a run already; choose another --out\n"


def test_presets_of_one_data_set_have_folders_of_their_own(run: Run) -> None:
    for preset, *data in (("mutag",), ("linear/MUTAG",), ("default", "--data", "graphs.jsonl")):
        assert run("train", preset, *data).code == 0
    for folder in ("runs/mutag", "runs/linear/mutag", "runs/default-graphs"):
        assert files(folder) == ["config.json", "model.safetensors", "run.json"]


def test_a_run_knows_its_graphs_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """From another folder, in another spelling; and when they are others, it says so."""
    assert run("train", "default", "--data", "graphs.jsonl", "--out", "run").code == 0
    whole = run("evaluate", "run", "--json").out
    assert run("train", "default", "--data", "./graphs.jsonl", "--out", "run", "--resume").code == 0
    Path("sub").mkdir()
    monkeypatch.chdir("sub")
    assert json.loads(run("evaluate", "../run", "--json").out)["f1"] == json.loads(whole)["f1"]
    monkeypatch.chdir("..")
    formats.write(formats.read("graphs.jsonl")[::-1], "graphs.jsonl")
    code, out, err = run("evaluate", "run")
    assert (code, out) == (2, "") and "graphs.jsonl has changed since run was trained" in err
    assert run("evaluate", "run", "graphs.jsonl").code == 0
    code, _, err = run("train", "default", "--data", "graphs.jsonl", "--out", "run", "--resume")
    assert code == 2 and "error: run was started with other data" in err


def test_too_few_graphs_for_a_test_part(run: Run) -> None:
    formats.write(formats.read("graphs.jsonl")[:3], "three.jsonl")
    code, out, _ = run("train", "default", "--data", "three.jsonl", "--out", "run")
    assert code == 0 and out.rstrip().endswith("geogae evaluate run --split validation")
    code, out, err = run("evaluate", "run")
    assert (code, out) == (2, "") and err.startswith("error: the test part of the data of run is empty; give DATA")


def test_simplify(run: Run) -> None:
    """What is not undirected, unweighted and simple, in a file: an error that names the option, which helps."""
    arcs = {"directed": True, "multigraph": False, "nodes": [{"id": i} for i in range(4)]}
    arcs["edges"] = [{"source": i, "target": j, "weight": 2} for i, j in ((0, 0), (0, 1), (1, 2), (2, 3))]
    lines = [json.dumps(arcs), json.dumps({"n": 4, "edges": [[0, 1], [1, 0], [1, 2], [2, 3]]})] * 6
    Path("arcs.jsonl").write_text("\n".join(lines))
    code, _, err = run("train", "default", "--data", "arcs.jsonl", "--out", "run")
    assert code == 2 and "--simplify" in err and not Path("run").exists()
    assert run("train", "default", "--data", "arcs.jsonl", "--out", "run", "--simplify").code == 0
    assert json.loads(run("evaluate", "run", "--json").out)["exact"] == 1
    for verb in (("encode", "run"), ("evaluate", "run"), ("cloud",)):
        assert "--simplify" in run(*verb, "arcs.jsonl").err
        assert run(*verb, "arcs.jsonl", "--simplify").code == 0


def test_simplify_where_there_is_nothing_to_do(run: Run) -> None:
    formats.write(datasets.load("MUTAG")[:5], "five.npz")
    assert run("cloud", "five.npz", "--simplify").code == run("cloud", "MUTAG", "--first", 5, "--simplify").code == 0


def test_the_help_names_every_kind_of_file() -> None:
    assert all(suffix in DATA for suffix in FILES)


def test_vectors_as_json(run: Run) -> None:
    assert run("train", "default", "--data", "graphs.jsonl", "--out", "run").code == 0
    text = run("encode", "run", "graphs.jsonl").out
    assert text.count("\n") == len(formats.read("graphs.jsonl"))
    Path("z.json").write_text(text)
    assert run("encode", "run", "graphs.jsonl", "-o", "z.npy").code == 0
    assert run("decode", "run", "z.json").out == run("decode", "run", "z.npy").out != ""


def test_encode_that_is_refused_leaves_no_file(run: Run) -> None:
    assert run("train", "default", "--data", "graphs.jsonl", "--out", "run").code == 0
    formats.write([Graph(5000, [(0, 1)])], "large.jsonl")
    Path("bad.jsonl").write_text("no graph\n")
    before = sorted(Path().iterdir())
    for data in ("large.jsonl", "bad.jsonl", "missing.jsonl"):
        assert run("encode", "run", data, "-o", "z.npy").code == 2
        assert sorted(Path().iterdir()) == before


def test_a_pretrained_model_by_its_name(run: Run) -> None:
    model = GeoGAE.pretrained("mutag")
    code, _, err = run("encode", "mutag", "graphs.jsonl", "-o", "z.npy")
    assert code == 0, err
    assert np.array_equal(np.load("z.npy"), model.encode(formats.read("graphs.jsonl")))
    assert run("decode", "mutag", "z.npy", "-o", "back.jsonl").code == 0
    assert len(formats.read("back.jsonl")) == 24
    assert json.loads(run("evaluate", "mutag", "graphs.jsonl", "--json").out)["not_encoded"] == 0
    code, out, err = run("evaluate", "mutag")
    assert (code, out) == (2, "") and "the pretrained model mutag comes without its graphs; give graphs as DATA" in err
    code, out, err = run("prior", "mutag", "graphs.jsonl")
    assert (code, out) == (2, "") and "GeoGAE.pretrained('mutag').save('mine')" in err and not Path("mutag").exists()
    GeoGAE("linear", latent_dim=24).fit(formats.read("graphs.jsonl")).save("mutag")  # a folder comes first
    assert run("encode", "mutag", "graphs.jsonl", "-o", "own.npy").code == 0 and np.load("own.npy").shape == (24, 24)


def test_evaluate_counts_inexact_clouds(run: Run) -> None:
    ring = Graph(6, [(i, (i + 1) % 6) for i in range(6)])  # no graph of intervals: inexact at d = 2
    formats.write([Graph(n, [(i, i + 1) for i in range(n - 1)]) for n in range(2, 14)], "paths.jsonl")
    formats.write([ring, Graph(2, [(0, 1)])], "rings.jsonl")
    assert run("train", "linear/mutag", "--data", "paths.jsonl", "--out", "run", "--set", "dim=2").code == 0
    assert json.loads(run("evaluate", "run", "rings.jsonl", "--json").out)["inexact_clouds"] == 1
    assert "inexact clouds  1 graphs" in run("evaluate", "run", "rings.jsonl").out


def test_a_run_that_was_interrupted_early(run: Run) -> None:
    Path("run").mkdir()
    Path("run/state.safetensors").touch()
    code, _, err = run("evaluate", "run")
    assert code == 2 and err.startswith("error: run was interrupted before it had a model; finish it with geogae train")


def test_a_run_from_before_a_parameter_was_there(run: Run) -> None:
    assert run("train", "mutag", "--data", "graphs.jsonl", "--out", "run").code == 0
    about = json.loads(Path("run/run.json").read_text())
    del about["params"]["leaves"]
    Path("run/run.json").write_text(json.dumps(about))
    assert run("train", "mutag", "--data", "graphs.jsonl", "--out", "run", "--resume").code == 0
    code, _, err = run("train", "mutag", "--data", "graphs.jsonl", "--out", "run", "--resume", "--set", "leaves=kept")
    assert code == 2 and "error: run was started with other leaves" in err


@pytest.mark.parametrize("preset", ["mutag", "linear/mutag"])
def test_a_graph_larger_than_all_in_training(run: Run, preset: str) -> None:
    """It is encoded and flagged; what is far too large is an error before any work."""
    assert run("train", preset, "--data", "graphs.jsonl", "--out", "run").code == 0
    formats.write([*formats.read("graphs.jsonl")[:2], path(30, "large")], "large.jsonl")
    code, out, err = run("encode", "run", "large.jsonl", "-o", "z.npy")
    assert (code, out) == (0, "") and GeoGAE.load("run").decode(np.load("z.npy"))[2].n == 30
    why = "graph 'large': it has 30 nodes; the largest graph of the fit has 28"
    assert f"warning: 1 of 3 graphs may not come back whole; {why}\n" in err
    code, out, err = run("evaluate", "run", "large.jsonl", "--json", "--plot", "back.png")
    scores = json.loads(out)
    assert (code, scores["lossy"], scores["not_encoded"], scores["size_error"]) == (0, 1, 0, 0)
    assert Path("back.png").exists()
    formats.write([path(1001, "endless")], "endless.jsonl")
    before = files()
    code, out, err = run("encode", "run", "endless.jsonl", "-o", "other.npy")
    assert (code, out) == (2, "") and set(files()) - set(before) <= {".other.npy.rows", ".other.npy.rows.json"}
    assert err.count("\n") == 1
    assert err.startswith("error: graph 'endless' cannot be encoded: it has 1001 nodes; the model encodes up to 1000")
    np.save("wide.npy", np.zeros((2, 129)))
    code, out, err = run("decode", "run", "wide.npy", "-o", "back.jsonl")
    assert (code, out) == (2, "") and err.startswith("error: z has shape (2, 129); this model decodes rows of 128")


def path(n: int, name: str) -> Graph:
    return Graph(n, [(i, i + 1) for i in range(n - 1)], name=name)


def test_a_consensus_needs_graphs_of_one_size(run: Run) -> None:
    code, out, err = run("train", "syntheticnew", "--data", "graphs.jsonl", "--out", "run")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("error: consensus=True needs graphs of one size, not of ")


def test_a_training_that_was_killed_can_be_started_again(run: Run) -> None:
    """kill -9 before the default has a model: the same command works, and says that it starts again."""
    command = ("train", "mutag", "--data", "graphs.jsonl", "--out", "run")
    child = os.fork()
    if not child:
        try:
            GeoGAE.fit = lambda *given, **how: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore
            run(*command)
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert files("run") == ["run.json"]
    code, _, err = run(*command)
    assert code == 0 and "note: run holds a run that was ended before it had a model or a checkpoint" in err
    assert run("evaluate", "run").code == 0
    code, _, err = run(*command)
    assert code == 2 and err == "error: run holds a run already; choose another --out\n"


def test_attributes_there_and_back(run: Run) -> None:
    code, out, err = run("train", "attributes/mutag", "--data", "graphs.jsonl", "--out", "run")
    assert (code, err) == (0, "note: 17 graphs to train on, 3 to choose by; the run is in run\n")
    assert files("run") == ["config.json", "model.safetensors", "run.json"]
    code, out, err = run("evaluate", "run", "--split", "train", "--json")
    scores = json.loads(out)
    assert (code, err) == (0, "") and {scores[name] for name in ("f1", "node_f1", "edge_f1", "whole")} == {1}
    graphs = datasets.split(formats.read("graphs.jsonl"), 0)[0]
    formats.write(graphs, "train.jsonl")
    assert run("encode", "run", "train.jsonl", "-o", "z.npy").code == 0
    assert run("decode", "run", "z.npy", "-o", "back.jsonl").code == 0
    readings = GeoGAE.load("run").autoencoder_.read(graphs)
    for true, back in zip([one.ordered for one in readings], formats.read("back.jsonl"), strict=True):
        assert back.edges.tolist() == true.edges.tolist() and back.label is None
        assert back.node_categorical is not None and np.array_equal(back.node_categorical, true.node_categorical)
        assert back.edge_categorical is not None and np.array_equal(back.edge_categorical, true.edge_categorical)


def test_a_category_that_no_graph_had(run: Run) -> None:
    assert run("train", "attributes/mutag", "--data", "graphs.jsonl", "--out", "run").code == 0
    some = formats.read("graphs.jsonl")[:2]
    formats.write([some[0], changed(some[1], node_categorical=np.full((some[1].n, 1), 99), name="gold")], "gold.jsonl")
    code, out, err = run("encode", "run", "gold.jsonl", "-o", "z.npy")
    why = "graph 'gold': node_categorical column 0 holds 99; the model knows "
    assert (code, out) == (0, "") and f"warning: 1 of 2 graphs may not come back whole; {why}" in err
    code, out, err = run("evaluate", "run", "gold.jsonl", "--json")
    scores = json.loads(out)
    assert (code, scores["lossy"], scores["not_encoded"], scores["exact"]) == (0, 1, 0, 1) and scores["node_f1"] < 1


def test_attributes_that_are_not_there(run: Run) -> None:
    formats.write([graph.topology() for graph in formats.read("graphs.jsonl")], "plain.jsonl")
    code, out, err = run("train", "attributes/mutag", "--data", "plain.jsonl", "--out", "run")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == (
        "error: the graphs have no attributes; give graphs that have some, or attributes='ignored'"
    )
    assert not Path("run/run.json").exists()  # free for another try


def changed(graph: Graph, **fields: Any) -> Graph:
    return Graph(graph.n, graph.edges, **{name: getattr(graph, name) for name in ATTRIBUTES} | fields)


def test_where_values_come_from(run: Run) -> None:
    Path("my.toml").write_text(
        "architecture = 'sequential'\ndim = 4\nseed = 3\nminutes = 9\n"
        + "".join(f"{k} = {v}\n" for k, v in TINY.items())
    )
    for name, options, expected in (
        ("a", ["--epochs", 1], (3, 1, None, None)),
        ("b", ["--epochs", 1, "--seed", 5], (5, 1, None, None)),
        ("c", ["--minutes", 5, "--set", "epochs=1"], (3, 1, 5, None)),
        ("d", ["--set", "epochs=1", "--set", "seed=0", "--set", "minutes=none"], (0, 1, None, None)),
        ("e", ["--core-minutes", 0.003], (3, None, None, 0.003)),
        ("f", ["--core-minutes", 2, "--minutes", 5, "--set", "epochs=1"], (3, 1, 5, 2)),
    ):
        assert run("train", "my.toml", "--data", "graphs.jsonl", "--out", name, *options).code == 0
        about = json.loads((Path(name) / "run.json").read_text())
        params = about["params"]
        found = tuple(params[name] for name in ("seed", "epochs", "minutes", "core_minutes"))
        assert found == expected and about["seed"] == expected[0]


def test_changes() -> None:
    pairs = ["lr=5e-4", "epochs=none", "dim=auto", "variational=true", 'order="axis"', "rho=2"]
    expected = {"lr": 5e-4, "epochs": None, "dim": "auto", "variational": True, "order": "axis", "rho": 2}
    assert parse_changes(pairs) == expected


# -- presets ---


def test_presets(run: Run) -> None:
    code, out, err = run("presets")
    lines = [line.split() for line in out.splitlines()]
    assert (code, err) == (0, "") and [line[0] for line in lines] == presets.names()
    assert lines[0][1:] == ["(any)", "refined", *["d", "=", "auto,", "m", "=", "192"]]
    assert lines[1][1:] == ["MUTAG", "refined", *["d", "=", "3,", "m", "=", "128"]]
    assert ["paper/mutag", "MUTAG", "sequential", *["d", "=", "4,", "m", "=", "128,", "4", "+", "2", "layers"]] in lines
    assert ["linear/mutag", *["MUTAG", "linear", "d", "=", "3,", "m", "=", "128"]] in lines
    assert run("presets", "show", "aids") == (0, presets.text("aids"), "")
    assert run("presets", "copy", "aids", "sub/my.toml") == (0, "", "")
    assert Path("sub/my.toml").read_text() == presets.text("aids")


@pytest.mark.parametrize("verb", ["train", "encode", "decode", "evaluate", "presets"])
def test_help_has_examples(run: Run, verb: str) -> None:
    code, out, err = run(verb, "--help")
    assert (code, err) == (0, "") and f"Examples:\n    geogae {verb}" in out
