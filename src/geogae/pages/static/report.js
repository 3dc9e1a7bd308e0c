// The report: sections of blocks, drawn in their order.

const report = readData("report"), packedGraphs = readData("graphs");
const graphAt = packedGraphs ? unpackGraphs(packedGraphs.graphs) : null;
const drawings = [];  // canvases that are drawn again when the theme changes

const theGraph = (i) => dressed(packedGraphs.table, graphAt(i));

const BLOCKS = {
  tiles: ({ tiles }) => element("dl", { class: "tiles" }, ...tiles.map(({ name, value, remark }) => element("div", {},
    element("dt", {}, name), element("dd", {}, value), remark ? element("small", {}, remark) : null))),
  table: (block) => makeTable(block),
  facts: ({ rows }) => element("dl", { class: "facts" },
    ...rows.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)))),
  bars: (block) => {
    const kinds = { ours: "ours", baseline: "baseline", paper: "in the paper" };
    const key = Object.entries(kinds).filter(([kind]) => block.bars.some((bar) => bar.kind === kind));
    const items = key.map(([kind, name]) => element("li", {}, element("i", { class: `key-${kind}` }), name));
    return element("div", {}, barChart(block), element("ul", { class: "key" }, ...items));
  },
  lines: lineChart,
  scatter: scatterChart,
  histogram: histogramChart,
  pairs: ({ pairs }) => element("div", { class: "pairs" }, ...pairs.map(makePair)),
  grid: ({ graphs }) => element("div", { class: "grid" },
    ...graphs.map(([i, text]) => element("figure", {}, drawing(i), element("figcaption", {}, text)))),
};

function makeTable({ caption, head, rows }) {
  const cell = (value) => {
    const { text, tone } = value !== null && typeof value === "object" ? value : { text: value };
    const number = typeof text === "number" || /^[−+-]?[\d.,]+( ± [\d.,]+)?$/.test(String(text ?? ""));
    const shown = text == null ? "–" : typeof text === "number" ? formatNumber(text) : String(text);
    return element("td", { class: [number ? "number" : "", tone || ""].join(" ").trim() || null }, shown);
  };
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    element("table", {}, element("thead", {}, element("tr", {}, ...head.map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map(cell))))));
}

function drawing(i, beside = null) {
  const canvas = element("canvas", { role: "img", "aria-label": "A graph" });
  drawings.push(() => {
    const graph = theGraph(i);
    if (beside === null) return drawGraph(canvas, graph, placesOf(graph), { most: 34 });
    const from = theGraph(beside), places = new Float64Array(2 * Math.max(graph.n, from.n)).fill(NaN);
    places.set(placesOf(from));
    settleNew(places.length / 2, graph.edges, places, randomNumbers(1));
    return drawGraph(canvas, graph, places, { marks: difference(graph, from), most: 34 });
  });
  return canvas;
}

function makePair([one, other, name, verdict]) {
  const good = verdict === "exact";
  const back = other === null ? element("p", { class: "nothing" }, "nothing") : drawing(other, one);
  return element("figure", { class: "pair" }, element("div", {}, drawing(one), back),
    element("figcaption", {}, element("strong", {}, name), element("span", { class: good ? "good" : "wrong" }, verdict)));
}

function build() {
  document.title = report.title;
  byId("title").textContent = report.title;
  byId("subtitle").textContent = report.subtitle;
  report.sections.forEach(({ title, blocks, text }, k) => {
    const id = `section-${k}`, section = element("section", { "aria-labelledby": id }, element("h2", { id }, title));
    if (text) section.append(element("p", { class: "why" }, text));
    const inner = element("div", { class: "blocks" });
    for (const block of blocks) {
      const caption = block.caption ? element("h3", {}, block.caption) : null;
      inner.append(element("div", { class: `block ${block.type}-block` }, caption, BLOCKS[block.type](block)));
    }
    section.append(inner);
    byId("report").append(section);
    byId("contents").append(element("a", { href: `#${id}` }, title));
  });
  watchTheme(byId("theme"), () => drawings.forEach((draw) => draw()));
  window.addEventListener("resize", () => drawings.forEach((draw) => draw()));
  document.documentElement.dataset.page = "ready";
}

build();
