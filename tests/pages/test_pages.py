"""Pages without a browser: what is in the file, what is refused, and the command line."""

from __future__ import annotations

import json
import re
import sys
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from geogae import GeoGAE, GeoGAEError, Graph, datasets, formats
from geogae.pages import explore, run_report
from geogae.pages.document import document
from geogae.pages.explore import SCRIPTS, STYLES
from geogae.pages.packing import pack, pack_ragged, to_script
from geogae.pages.projection import principal_axes, project
from shell import Run

GRAPHS = [Graph(n, [(i, (i + 1) % n) for i in range(n)], label=n % 3, name=f"cycle {n}") for n in range(3, 15)]


@pytest.fixture(scope="module")
def model() -> GeoGAE:
    return GeoGAE("linear", latent_dim=32).fit(GRAPHS)


def data(page: str, name: str) -> dict[str, object]:
    found = re.search(rf'<script type="application/json" id="data-{name}">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_a_page_is_small_and_fetches_nothing() -> None:
    page = document("title", "explore.html", STYLES, SCRIPTS, {}, {})
    assert len(page.encode()) < 200_000
    assert not re.search(
        r"""(?:src|href)=(?!["'](?:data:|#))|@import|url\(|fetch\(|XMLHttpRequest|WebSocket|import\(""", page
    )


def test_the_policy_allows_the_script_and_the_style_of_the_page_alone() -> None:
    page = document("title", "explore.html", STYLES, SCRIPTS, {"map": {"name": "</script>"}}, {})
    for tag in ("script", "style"):
        [inner] = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        hashed = b64encode(sha256(inner.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{hashed}'" in page
    assert "default-src 'none'" in page and "unsafe" not in page.split("<title>")[0]


def test_text_cannot_leave_its_element() -> None:
    text = "</script><!--<script>\u2028&"
    assert not set("<>&\u2028") & set(to_script([text]))
    assert json.loads(to_script([text])) == [text]


def test_arrays_are_packed_in_the_narrowest_type() -> None:
    assert pack([0, 255])["type"] == "u1" and pack([-1, 3])["type"] == "i1" and pack([0, 70_000])["type"] == "i4"
    assert pack(np.array([0.5]))["type"] == "f4"
    ragged = pack_ragged([np.zeros((2, 3)), np.zeros((0, 3))])
    assert ragged["values"]["shape"] == [2, 3]


def test_principal_axes_are_those_of_the_largest_variance() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(500, 4)) * [3, 1, 0.1, 0]
    axes = principal_axes(vectors, 4)
    assert np.allclose(np.abs(axes.directions), np.eye(3, 4), atol=0.1)
    assert np.allclose(axes.deviations, vectors.std(0)[:3], rtol=0.05) and axes.shares.sum() == pytest.approx(1)
    assert project(np.ones((3, 5)), "pca").tolist() == [[0, 0]] * 3


def test_the_page_holds_what_the_model_makes_of_the_graphs(model: GeoGAE) -> None:
    page = explore(model, GRAPHS, values={"weight": np.arange(12)})
    shown = data(page, "map")
    assert [column["name"] for column in shown["columns"]] == [
        "label",
        "weight",
        "nodes",
        "edges",
        "reconstruction error",
    ]  # type: ignore[index, attr-defined]
    assert shown["columns"][0]["categories"] == ["0", "1", "2"]  # type: ignore[index]
    assert data(page, "graphs")["names"] == [graph.name for graph in GRAPHS]
    assert data(page, "latent")["z"]["shape"] == [12, 32]  # type: ignore[index]


def test_graphs_without_labels_and_graphs_that_cannot_be_encoded(model: GeoGAE) -> None:
    plain = [graph.topology() for graph in GRAPHS]
    shown = data(explore(model, [*plain, Graph(2000)]), "map")
    assert "label" not in [column["name"] for column in shown["columns"]]  # type: ignore[index, attr-defined]
    assert shown["notes"][0].startswith("1 of 13 graphs cannot be encoded")  # type: ignore[index]
    with pytest.raises(GeoGAEError, match="can encode none of the 1 graphs"):
        explore(model, [Graph(2000)])


def test_too_many_graphs_and_other_bad_input(model: GeoGAE, tmp_path: Path) -> None:
    with pytest.raises(GeoGAEError, match=r"100,000 graphs are more than the 20,000 .* --sample 20000"):
        explore(model, GRAPHS[:1] * 100_000)
    with pytest.raises(GeoGAEError, match="one number for each of the 12 graphs"):
        explore(model, GRAPHS, values={"weight": [1, 2]})
    with pytest.raises(GeoGAEError, match="no graphs to explore"):
        explore(model, [])
    with pytest.raises(GeoGAEError, match="projection 'tsne' is not known"):
        explore(model, GRAPHS, projection="tsne")
    with pytest.raises(GeoGAEError, match="symbols of elements"):
        explore(model, GRAPHS, elements=["Xx"])
    with pytest.raises(GeoGAEError, match="needs graphs to test on"):
        run_report(model, [])


def test_a_report_says_why_there_are_no_samples(model: GeoGAE) -> None:
    report = data(run_report(model, GRAPHS, train=GRAPHS), "report")
    sections = {section["title"]: section for section in report["sections"]}  # type: ignore[index, attr-defined]
    assert "no prior" in sections["Samples"]["text"] and not sections["Samples"]["blocks"]
    assert [bar["name"] for bar in sections["Scores"]["blocks"][1]["bars"]] == [
        "this model",
        "complete",
        "mean",
        "nearest",
    ]


def test_a_report_sweeps_over_the_size_of_z(model: GeoGAE) -> None:
    def section(**how: object) -> dict[str, object]:
        report = data(run_report(model, GRAPHS, train=GRAPHS, **how), "report")  # type: ignore[arg-type]
        return {found["title"]: found for found in report["sections"]}["Size of z"]  # type: ignore[index, attr-defined]

    assert "m = 32" in section()["text"]  # type: ignore[operator]
    f1, exact = section()["blocks"][0]["series"]  # type: ignore[index]
    assert [m for m, _ in f1["points"]] == [4, 8, 16, 32, 64] and exact["name"] == "exact"
    assert f1["points"][-2][1] == pytest.approx(100 * model.evaluate(GRAPHS)["f1"])
    [block] = section(sweep=[16])["blocks"]  # type: ignore[misc]
    assert [m for m, _ in block["series"][0]["points"]] == [16, 32]
    with pytest.raises(GeoGAEError, match="a sweep needs training graphs"):
        run_report(model, GRAPHS, sweep=[16])
    unswept = data(run_report(model, GRAPHS), "report")["sections"]
    [why] = [found["text"] for found in unswept if found["title"] == "Size of z"]  # type: ignore[index, attr-defined]
    assert "--sweep" in why


def test_umap_says_what_to_install(model: GeoGAE, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(GeoGAEError, match=r"this needs umap: pip install 'geogae\[umap\]'"):
        explore(model, GRAPHS, projection="umap")


def test_explore_on_the_command_line(run: Run, model: GeoGAE) -> None:
    formats.write(GRAPHS, "graphs.jsonl")
    model.save("model")
    Path("values.csv").write_text("a,b\n" + "".join(f"{k},\n" for k in range(12)))
    code, out, err = run("explore", "model", "graphs.jsonl", "-o", "map.html", "--values", "values.csv", "--sample", 5)
    assert (code, out) == (0, "") and "open it in a browser" in err
    assert len(data(Path("map.html").read_text(encoding="utf-8"), "graphs")["names"]) == 5  # type: ignore[arg-type]
    assert run("explore", "model", "graphs.jsonl", "--sample", 50).code == 2
    Path("values.csv").write_text("a,a\n" + "1,2\n" * 12)
    assert "two columns of one name" in run("explore", "model", "graphs.jsonl", "--values", "values.csv").err
    assert "bonds are given without elements" in run("explore", "model", "graphs.jsonl", "--bonds", "1,2").err
    Path("values.csv").write_text("a\n1\n")
    assert "1 lines of numbers" in run("explore", "model", "graphs.jsonl", "--values", "values.csv").err
    assert "suffix must be .html" in run("explore", "model", "graphs.jsonl", "-o", "map.png").err


def test_report_on_the_command_line(run: Run) -> None:
    formats.write(datasets.load("MUTAG")[:30], "graphs.jsonl")
    assert run("train", "linear/mutag", "--data", "graphs.jsonl", "--out", "run").code == 0
    code, out, err = run("report", "run", "-o", "report.html")
    assert (code, out) == (0, "") and "open it in a browser" in err
    titles = [
        section["title"] for section in data(Path("report.html").read_text(encoding="utf-8"), "report")["sections"]
    ]  # type: ignore[index, attr-defined]
    assert titles[0] == "Scores" and titles[-1] == "Configuration"
    code, _, err = run("report", "run", "-o", "report.html", "--sweep", "8,x")
    assert code == 2 and "--sweep '8,x' must be whole numbers from 1 on" in err
    assert run("report", "run", "-o", "report.html", "--sweep", "8,16").code == 0
    assert "does not exist" in run("report", "nothing").err
    Path("empty").mkdir()
    assert "neither a run nor scores" in run("report", "empty").err
    assert "--sweep is for a run" in run("report", "empty", "--sweep", "8").err
