"""The explorer as a user meets it: click, drag, type, listen, look."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import models
import numpy as np
import pytest

from conftest import IMAGES, Open
from geogae import GeoGAE, Graph, datasets
from geogae.pages import explore
from geogae.pages.seen import Seen, see

pytestmark = pytest.mark.browser

CENTRE = (
    "i => { const m = geogae.map, b = m.canvas.getBoundingClientRect(); return [b.left + m.x(i), b.top + m.y(i)]; }"
)


@pytest.fixture(scope="module")
def model() -> GeoGAE:
    return models.molecules()


@pytest.fixture(scope="module")
def graphs() -> list[Graph]:
    return datasets.load("MUTAG")


@pytest.fixture(scope="module")
def path(model: GeoGAE, graphs: list[Graph], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "map.html"
    explore(model, graphs, path, title="MUTAG", elements=models.ELEMENTS, bonds=models.BONDS)
    return path


@pytest.fixture
def page(path: Path, open_page: Open) -> Iterator[Any]:
    return open_page(path)


def test_a_click_opens_a_graph_and_hovering_shows_one(page: Any, graphs: list[Graph]) -> None:
    page.evaluate("geogae.choose(3)")
    page.evaluate("() => { const { map } = geogae; map.zoom(8); [map.view.x, map.view.y] = map.points.slice(34, 36); }")
    x, y = page.evaluate(CENTRE, 17)
    there = page.evaluate("geogae.map.nearest(geogae.map.x(17), geogae.map.y(17))")  # 17, or its like
    page.mouse.move(x + 1, y)
    assert page.locator("#tip").is_visible()
    page.mouse.click(x, y)
    graph = graphs[there]
    assert page.locator("#name").inner_text() == graph.name != "MUTAG/3"
    facts = page.locator("#facts").inner_text()
    assert str(graph.n) in facts and str(len(graph.edges)) in facts
    assert str(graph.name) in page.locator("#status").inner_text()


def test_what_comes_back_is_compared_with_the_graph(page: Any, model: GeoGAE, graphs: list[Graph]) -> None:
    pairs = model.reconstruct(graphs)
    exact = [i for i, (true, back) in enumerate(pairs) if true.topology() == back.topology()]
    wrong = [i for i in range(len(graphs)) if i not in exact]
    page.evaluate("i => geogae.choose(i)", exact[0])
    assert "edge" not in page.locator("#back-caption").inner_text()
    for i in wrong[:1]:
        page.evaluate("i => geogae.choose(i)", i)
        assert re.search(r"wrong|node", page.locator("#back-caption").inner_text())


def test_sliders_move_z_and_decode_it_live(page: Any, model: GeoGAE) -> None:
    page.evaluate("geogae.choose(5)")
    before = page.evaluate("geogae.z(5)")
    slider = page.locator("#sliders input").first
    slider.fill("2.4")
    page.locator("#sliders input").nth(2).fill("-1.7")
    moved = page.evaluate("geogae.moved()")
    assert moved != before
    edges = page.evaluate("Array.from(geogae.decode(geogae.moved()).edges)")
    expected = model.decode(np.array(moved, dtype=np.float32))
    assert expected.edges.ravel().tolist() == edges
    assert f"{expected.n} node" in page.locator("#moved-state").inner_text()
    page.locator("#reset").click()
    assert page.evaluate("geogae.moved()") == before
    assert "the same graph" in page.locator("#moved-state").inner_text()


def test_the_film_goes_from_one_graph_to_the_other(page: Any, model: GeoGAE, graphs: list[Graph]) -> None:
    page.evaluate("geogae.choose(2)")
    page.locator("#as-a").click()
    page.evaluate("geogae.choose(40)")
    page.locator("#as-b").click()
    assert page.locator("#film-caption").inner_text() == f"{graphs[2].name} → {graphs[40].name}"
    z = model.encode([graphs[2], graphs[40]])
    for share, true in ((0, z[0]), (1, z[1])):
        page.locator("#film-slider").fill(str(share))
        back = model.decode(true)
        assert f"{back.n} nodes, {len(back.edges)} edges" in page.locator("#film-state").inner_text()
    page.locator("#film-slider").fill("0")
    page.locator("#play").click()
    page.wait_for_timeout(600)
    assert float(page.locator("#film-slider").input_value()) > 0
    page.locator("#play").click()
    stopped = page.locator("#film-slider").input_value()
    page.wait_for_timeout(200)
    assert page.locator("#film-slider").input_value() == stopped


def test_neighbours_are_the_nearest_graphs(page: Any, model: GeoGAE, graphs: list[Graph]) -> None:
    page.evaluate("geogae.choose(30)")
    shown = page.locator("#near .near-name").all_inner_texts()
    seen = see(model, graphs)
    vectors = seen.z if seen.descriptor is None else seen.descriptor
    distances = np.linalg.norm(vectors.astype(np.float64) - vectors[30], axis=1)
    nearest = np.argsort(distances, kind="stable")
    assert sorted(np.round([distances[[g.name for g in graphs].index(name)] for name in shown], 4)) == sorted(
        np.round(distances[nearest[nearest != 30][: len(shown)]], 4)
    )
    page.locator("#near button").first.click()
    assert page.locator("#name").inner_text() == shown[0]


def test_search_and_choose_by_keyboard_alone(page: Any) -> None:
    page.keyboard.press("/")
    page.keyboard.type("mutag/77")
    assert page.locator("#found li").all_inner_texts()[0].startswith("MUTAG/77")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#name").inner_text() == "MUTAG/77"
    page.locator("#map").focus()
    page.keyboard.press("]")
    assert page.locator("#name").inner_text() == "MUTAG/78"
    view = page.evaluate("({ ...geogae.map.view })")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("+")
    assert page.evaluate("geogae.map.view.x") > view["x"] and page.evaluate("geogae.map.view.unit") > view["unit"]
    page.keyboard.press("0")
    page.keyboard.press("Enter")
    chosen = page.evaluate("geogae.map.nearest(geogae.map.canvas.clientWidth / 2, geogae.map.canvas.clientHeight / 2)")
    assert page.locator("#name").inner_text() == page.evaluate("i => `MUTAG/${i}`", chosen)


def test_every_control_can_be_reached_by_tab_and_has_a_name(page: Any) -> None:
    page.locator("#search").focus()
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id"))
        outline = "getComputedStyle(document.activeElement).outlineStyle !== 'none'"
        assert page.evaluate(f"document.activeElement === document.body || {outline}")
    assert {
        "colour",
        "help",
        "theme",
        "map",
        "closer",
        "before",
        "after",
        "cloud",
        "reset",
        "axis-0",
        "as-a",
    } <= reached
    named = """() => [...document.querySelectorAll('button, input, select, canvas[tabindex]')].filter((control) =>
      !(control.getAttribute('aria-label') || control.textContent.trim() || control.labels?.length)).length"""
    assert page.evaluate(named) == 0


def test_colours_follow_the_choice(page: Any) -> None:
    options = page.locator("#colour option").all_inner_texts()
    assert options[:4] == ["label", "nodes", "edges", "reconstruction error"]
    assert page.locator("#legend li").count() == 2
    page.locator("#colour").select_option(label="nodes")
    assert page.locator("#legend .ends").inner_text().split() == ["10", "28"]


def test_legends_of_numbers(model: GeoGAE, graphs: list[Graph], open_page: Open, tmp_path: Path) -> None:
    """A few numbers far out do not wash out the rest; equal numbers have no scale; what is not known is grey."""
    few = np.linspace(0, 1, len(graphs))
    values = {
        "far": few.copy(),
        "equal": np.full(len(few), 0.5),
        "unknown": few.copy(),
        "none": np.full(len(few), np.nan),
    }
    values["far"][0] = 1e6
    values["unknown"][:10] = np.nan
    explore(model, graphs, tmp_path / "map.html", values=values)
    page = open_page(tmp_path / "map.html", "dark")

    def legend(name: str) -> list[str]:
        page.locator("#colour").select_option(label=name)
        return [line for line in page.locator("#legend").inner_text().split("\n") if line][1:]

    assert legend("far")[-1].startswith("≥ ") and "e+" not in legend("far")[-1]
    assert legend("equal") == ["0.5 for all graphs"]
    assert legend("unknown")[-1] == "grey: not known (10)"
    assert legend("none") == [f"grey: not known ({len(few)})"]
    darkest = page.evaluate("Math.min(...geogae.map.channels.filter((_, at) => at % 3 === 1))")
    assert darkest > 60  # green of the points: they stand out from a dark ground


def test_light_and_dark(page: Any) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.locator("#theme").click()
    dark = page.evaluate(ground)
    page.locator("#theme").click()
    assert light != dark and page.evaluate(ground) == light


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screenshots(path: Path, open_page: Open, scheme: str) -> None:
    page = open_page(path, scheme)
    page.evaluate("geogae.choose(101)")
    page.locator("#as-a").click()
    page.evaluate("geogae.choose(100)")
    page.locator("#as-b").click()
    page.locator("#sliders input").nth(1).fill("0.6")
    page.wait_for_timeout(1200)
    IMAGES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=IMAGES / f"explorer-{scheme}.png")


def test_names_with_html_are_text(model: GeoGAE, graphs: list[Graph], open_page: Open, tmp_path: Path) -> None:
    bad = [
        "<img src=x onerror=window.hacked=1>",
        "</script><script>window.hacked=1</script>",
        "<!--<script>",
        "\u2028&amp;'\"",
    ]
    named = [Graph(g.n, g.edges, node_categorical=g.node_categorical, edge_categorical=g.edge_categorical, name=name)
             for g, name in zip(graphs, bad, strict=False)]  # fmt: skip
    explore(model, named, tmp_path / "map.html", title="<b>title</b>", values={"<i>value</i>": [1, 2, 3, 4]})
    page = open_page(tmp_path / "map.html")
    for i, name in enumerate(bad):
        page.evaluate("i => geogae.choose(i)", i)
        assert page.evaluate("document.getElementById('name').textContent") == name
        page.evaluate("[geogae.map.view.x, geogae.map.view.y] = geogae.map.points.slice(2 * " + f"{i}, {2 * i + 2})")
        page.mouse.move(*page.evaluate(CENTRE, i))
        assert page.evaluate("document.querySelector('#tip strong').textContent") in bad
        page.mouse.move(1400, 400)
        page.locator("#search").fill(name)
        assert page.evaluate("document.querySelector('#found li span').textContent") == name
        page.locator("#search").press("Escape")
        assert set(page.locator("#near .near-name").all_text_contents()) == set(bad) - {name}
        page.locator("#as-a" if i % 2 else "#as-b").click()
        page.locator("#colour").select_option(index=0)
    assert page.evaluate("document.getElementById('film-caption').textContent") == f"{bad[3]} → {bad[2]}"
    assert page.locator("#legend h2").inner_text() == "<i>value</i>"
    assert page.locator("img, b, i i, script[src]").count() == 0
    assert page.evaluate("window.hacked") is None
    assert page.title() == page.locator("#title").inner_text() == "<b>title</b>"
    assert page.locator("#colour option").first.inner_text() == "<i>value</i>"  # these graphs have no labels


def test_a_script_that_gets_into_the_page_is_not_run(path: Path, chromium: Any) -> None:
    page = chromium.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(path.as_uri())
    page.evaluate(
        "document.head.append(Object.assign(document.createElement('script'), {textContent: 'window.hacked = 1'}))"
    )
    assert page.evaluate("window.hacked") is None
    assert len(refused) == 1 and "Content Security Policy" in refused[0]
    page.close()


def test_a_model_that_the_browser_cannot_decode(graphs: list[Graph], open_page: Open, tmp_path: Path) -> None:
    tiny = {"token_dim": 16, "latent_dim": 32, "encoder_hidden": 32, "encoder_layers": 1, "encoder_heads": 2}
    tiny |= {"decoder_hidden": 32, "decoder_layers": 1, "passes": 1, "batch_size": 8, "validations": 1, "epochs": 1}
    model = GeoGAE("sequential", **tiny).fit(graphs[:24])
    explore(model, graphs[:24], tmp_path / "map.html")
    page = open_page(tmp_path / "map.html")
    assert "cannot be decoded in the browser" in page.locator("#move-why").inner_text()
    assert not page.locator("#sliders").is_visible()
    assert "From z" in page.locator("#back-caption").inner_text()


@pytest.mark.parametrize("count", [5_000, 20_000])
def test_first_map_and_panning(
    model: GeoGAE, graphs: list[Graph], open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """The time to the first map of 5,000 graphs, and to draw 20,000 points once."""
    few = see(model, graphs)
    times = -(-count // len(graphs))

    def many(*_: Any, **__: Any) -> Seen:
        rng = np.random.default_rng(0)
        lists = {name: (getattr(few, name) * times)[:count] for name in ("graphs", "balls", "back", "back_balls")}
        z = np.tile(few.z, (times, 1))[:count] + rng.normal(size=(count, few.z.shape[1])).astype(np.float32)
        return few._replace(**lists, z=z, places=np.arange(count), descriptor=None)

    monkeypatch.setattr(sys.modules["geogae.pages.explore"], "see", many)
    explore(model, graphs, tmp_path / "map.html")
    page = open_page(tmp_path / "map.html")
    first = page.evaluate("Number(document.documentElement.dataset.map)")
    clock = page.context.new_cdp_session(page)
    clock.send("Performance.enable", {"timeDomain": "threadTicks"})
    frames = 30
    before = processor_seconds(clock)
    page.evaluate(
        "count => { for (let k = 0; k < count; k++) { geogae.map.view.x += 0.01; geogae.map.paint(); } }", frames
    )
    paint = 1000 * (processor_seconds(clock) - before) / frames
    before = processor_seconds(clock)
    for k in range(frames):
        page.mouse.move(200 + 10 * k, 300 + 5 * k)
    hover = 1000 * (processor_seconds(clock) - before) / frames
    times_used = f"{paint:.1f} ms for a frame of panning and {hover:.1f} ms for one of hovering (processor time)"
    print(f"{count} graphs: first map after {first:.1f} ms, {times_used}")
    assert first < 2000
    assert paint < 16 and hover < 16


def processor_seconds(clock: Any) -> float:
    """Time that the page's own thread has used, whatever else the machine does."""
    metrics = {metric["name"]: metric["value"] for metric in clock.send("Performance.getMetrics")["metrics"]}
    return metrics["TaskDuration"]
