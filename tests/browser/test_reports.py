"""Reports in a browser."""

from __future__ import annotations

from pathlib import Path

import models
import pytest

from conftest import IMAGES, Open
from geogae import GeoGAE, Graph, datasets
from geogae.benchmark.results import read_results
from geogae.pages import run_report, scores_report

pytestmark = pytest.mark.browser

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def test_the_report_of_a_run(open_page: Open, tmp_path: Path) -> None:
    train, validation, test = datasets.split(datasets.load("MUTAG"), 0)
    model = GeoGAE(latent_dim=32, attributes="decoded").fit(train, validation=validation)
    path = tmp_path / "report.html"
    run_report(
        model, test, path, train=train, history=model.history_, dataset="MUTAG", name="MUTAG, z of 32 numbers",
        elements=models.ELEMENTS, bonds=models.BONDS,
    )  # fmt: skip
    page = open_page(path, width=1320, height=1500)
    titles = page.locator("section h2").all_inner_texts()
    assert titles[:4] == ["Scores", "Size", "Size of z", "Worst graphs"] and titles[-1] == "Configuration"
    scores = model.evaluate(test)
    assert f"{100 * scores['f1']:.2f} %" in page.locator(".tiles").inner_text()
    bars = page.locator(".bars-block").inner_text()
    assert {"this model", "nearest", "GeoGAE (paper)"} <= set(bars.splitlines())
    assert page.locator(".pair").count() == 12
    IMAGES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=IMAGES / "report.png")


def test_names_with_html_are_text_in_a_report(open_page: Open, tmp_path: Path) -> None:
    bad = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
    graphs = [Graph(g.n, g.edges, name=f"{k}{bad}") for k, g in enumerate(datasets.load("MUTAG")[:30])]
    model = GeoGAE("linear", latent_dim=16).fit(graphs)
    run_report(model, graphs, tmp_path / "report.html", train=graphs, name=bad, dataset=bad)
    page = open_page(tmp_path / "report.html")
    assert page.title() == page.locator("#title").inner_text() == bad
    assert all(name.endswith(bad) for name in page.locator(".pair strong").all_text_contents())
    assert page.locator("circle.dot title").first.evaluate("title => title.textContent").startswith(f"0{bad}")
    assert page.locator("img").count() == 0 and page.evaluate("window.hacked") is None


def test_samples_of_a_run_with_a_prior(open_page: Open, tmp_path: Path) -> None:
    graphs = datasets.load("MUTAG")
    model = GeoGAE(latent_dim=48, descriptor=8).fit(graphs)
    model.fit_prior(graphs, prior="gaussian")
    run_report(model, graphs[:40], tmp_path / "report.html", name="MUTAG")
    page = open_page(tmp_path / "report.html")
    assert page.locator(".grid figure").count() == 24


def test_a_sweep_over_the_size_of_z(open_page: Open, tmp_path: Path) -> None:
    graphs = datasets.load("MUTAG")[:60]
    model = GeoGAE("linear", latent_dim=32).fit(graphs)
    run_report(model, graphs, tmp_path / "report.html", train=graphs)
    page = open_page(tmp_path / "report.html")
    chart = page.locator("section", has_text="Size of z").locator(".lines-block")
    assert chart.locator("path.line").count() == 2 and chart.locator("circle").count() == 10
    ticks = [float(tick) for tick in page.locator(".scatter-block .tick").all_text_contents()]
    assert max(ticks) <= 100  # no share is above it


def test_curves_of_a_run(open_page: Open, tmp_path: Path) -> None:
    graphs = datasets.load("MUTAG")[:40]
    model = GeoGAE("linear", latent_dim=16).fit(graphs)
    names = ("loss_total", "validation_f1", "validation_exact", "validation_size_error")
    history = [{"seconds": 60.0 * k, **dict.fromkeys(names, 1 / (1 + k))} for k in range(5)]
    run_report(model, graphs, tmp_path / "report.html", history=history)
    page = open_page(tmp_path / "report.html")
    assert page.locator(".lines-block").count() == 3
    assert page.locator(".lines-block").nth(1).locator("path.line").count() == 2


def test_the_report_of_a_benchmark(open_page: Open, tmp_path: Path) -> None:
    entries = read_results(RESULTS)
    scores_report(entries, tmp_path / "report.html")
    page = open_page(tmp_path / "report.html", width=1320, height=1500)
    assert "MUTAG, paper split" in page.locator("nav a").all_inner_texts()
    assert page.locator("section").first.locator("svg").count() >= 2
    assert page.locator("td.best").count() > 3
    hidden = """() => [...document.querySelectorAll(".bars-block svg .name")].filter((name) =>
      name.getBoundingClientRect().left < name.ownerSVGElement.getBoundingClientRect().left).map(String)"""
    assert page.evaluate(hidden) == []
    page.locator("#theme").click()
    IMAGES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=IMAGES / "benchmark.png")
