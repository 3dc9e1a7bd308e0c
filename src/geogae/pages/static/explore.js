// The explorer: the map first, the rest when all data is there.

const NEAREST = 8, LISTED = 40;

const shown = readData("map");
const state = { chosen: -1, column: 0, offsets: [] };
let store = null, film = null, moved = null, clouds = null;

const map = new GraphMap(byId("map"), unpack(shown.xy), { choose: (i) => choose(i, true), hover: showTip });
const columns = shown.columns.map((column) => ({ ...column, values: unpack(column.values) }));

function start() {
  document.title = shown.title;
  byId("title").textContent = shown.title;
  byId("subtitle").textContent = shown.subtitle;
  byId("note").textContent = shown.notes.join(" ");
  byId("note").hidden = !shown.notes.length;
  columns.forEach((column, k) => byId("colour").append(element("option", { value: k }, column.name)));
  byId("colour").addEventListener("change", (event) => { state.column = Number(event.target.value); colourMap(); });
  byId("colour").closest(".field").hidden = !columns.length;
  for (const [id, action] of [["closer", () => map.zoom(1.5)], ["wider", () => map.zoom(1 / 1.5)], ["fit", () => map.fit()]]) {
    byId(id).addEventListener("click", action);
  }
  colourMap();
  requestAnimationFrame(() => { document.documentElement.dataset.map = performance.now(); });  // the first map is there
}

// -- colours ----------------------------------------------------------------------------------------------------------

function colourMap() {
  const column = columns[state.column], legend = byId("legend");
  legend.replaceChildren();
  if (!column) return map.setColours(new Array(map.count).fill(PALETTE[0]));
  legend.append(element("h2", {}, column.name));
  if (column.categories) {
    map.setColours(Array.from(column.values, (code) => categoryColour(code)));
    const list = element("ul");
    column.categories.forEach((name, code) => {
      const dot = element("i");
      dot.style.background = categoryColour(code);
      const count = column.values.reduce((sum, other) => sum + (other === code), 0);
      list.append(element("li", {}, dot, name, element("small", {}, count.toLocaleString("en"))));
    });
    legend.append(list);
  } else {
    const known = column.values.filter(Number.isFinite).sort(), last = known.length - 1;
    let [low, high] = [known[0], known[last]];
    const [inner, outer] = [known[Math.floor(0.01 * last)], known[Math.ceil(0.99 * last)]];
    if (outer > inner && (high - low) > 1.5 * (outer - inner)) [low, high] = [inner, outer];  // a few far out do not wash out the rest
    const steps = 63, colours = Array.from({ length: steps + 1 }, (_, k) => scaleColour(k / steps));
    const share = (value) => (high > low ? clamp((value - low) / (high - low), 0, 1) : 0.5);
    map.setColours(Array.from(column.values, (value) => (Number.isFinite(value) ? colours[Math.round(steps * share(value))] : OTHER)));
    const unknown = column.values.length - known.length;
    if (unknown) legend.append(element("p", {}, `grey: not known (${unknown.toLocaleString("en")})`));
    if (known.length && !(high > low)) legend.append(element("p", {}, `${formatNumber(low)} for all ${unknown ? "others" : "graphs"}`));
    if (!(high > low)) return;
    const bar = element("div", { class: "ramp" });
    bar.style.background = `linear-gradient(to right, ${SCALE.map((_, k) => scaleColour(k / (SCALE.length - 1))).join(", ")})`;
    const ends = [[low, known[0] < low, "≤ "], [high, known[last] > high, "≥ "]].map(([end, beyond, sign]) =>
      element("span", {}, (beyond ? sign : "") + formatNumber(end)));
    legend.querySelector("h2").after(bar, element("div", { class: "ends" }, ...ends));
  }
}

function columnText(column, i) {
  const value = column.values[i];
  return column.categories ? column.categories[value] ?? "–" : formatNumber(value);
}

// -- hovering ---------------------------------------------------------------------------------------------------------

function showTip(i, x, y) {
  const tip = byId("tip");
  tip.hidden = i < 0 || !store;
  if (tip.hidden) return;
  const graph = store.graph(i), column = columns[state.column];
  const facts = [plural(graph.n, "node"), plural(graph.edges.length / 2, "edge")];
  if (column) facts.push(`${column.name}: ${columnText(column, i)}`);
  tip.querySelector("p").replaceChildren(element("strong", {}, store.name(i)), facts.join(" · "));
  const room = byId("map").clientWidth, flip = x > room - 240;
  tip.style.left = `${flip ? x - 214 : x + 14}px`;
  tip.style.top = `${Math.min(y + 14, byId("map").clientHeight - 220)}px`;
  drawGraph(tip.querySelector("canvas"), graph, store.places(i), { most: 26 });
}

// -- the chosen graph -------------------------------------------------------------------------------------------------

function choose(i, announce = false) {
  if (!store || i < 0 || i >= map.count) return;
  state.chosen = i;
  const graph = store.graph(i);
  byId("name").textContent = store.name(i);
  byId("smiles").textContent = (store.smiles && store.smiles[i]) || "";
  byId("smiles").hidden = !byId("smiles").textContent;
  const facts = [["nodes", formatNumber(graph.n)], ["edges", formatNumber(graph.edges.length / 2)]];
  for (const column of columns) if (!["nodes", "edges"].includes(column.name)) facts.push([column.name, columnText(column, i)]);
  const shownFact = ([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value));
  byId("facts").replaceChildren(...facts.map(shownFact));
  state.offsets.fill(0);
  document.querySelectorAll("#sliders input").forEach((slider) => setSlider(slider, 0));
  drawChosen();
  if (store.decoder) moveZ();
  showNear(i);
  markMap();
  map.show(i);
  if (!announce) return;
  const details = facts.map((fact) => fact.join(" ")).join(", ");
  byId("status").textContent = `${store.name(i)}: ${details}. ${byId("back-caption").textContent}`;
}

function drawChosen() {
  const i = state.chosen, graph = store.graph(i), back = store.back(i), places = store.places(i);
  const wrong = difference(back, graph);
  drawGraph(byId("graph"), graph, places);
  clouds.draw(graph);
  const start = new Float64Array(2 * Math.max(back.n, graph.n)).fill(NaN);
  start.set(places);
  settleNew(start.length / 2, back.edges, start, randomNumbers(1));  // nodes that should not be there
  drawGraph(byId("back"), back, start.subarray(0, 2 * Math.max(back.n, graph.n)), { marks: wrong });
  const faults = [];
  if (wrong.size) faults.push(`${wrong.size > 0 ? "+" : "−"}${plural(Math.abs(wrong.size), "node")}`);
  if (wrong.edges) faults.push(`${plural(wrong.edges, "edge")} wrong`);
  const kinds = [...wrong.nodes].filter((node) => node < graph.n).length + wrong.bonds;
  if (kinds) faults.push(`${plural(kinds, "category").replace(/ys$/, "ies")} wrong`);
  byId("back-caption").textContent = `From z: ${faults.length ? faults.join(", ") : "exact"}`;
  byId("back-caption").classList.toggle("wrong", faults.length > 0);
  const shape = { 2: "interval", 3: "disc" }[store.dim] || "ball", caption = byId("cloud-caption");
  caption.textContent = `Cloud: ${plural(graph.ballCount, shape)}, d = ${store.dim}`;
  caption.title = store.dim > 4 ? `Drawn by 3 of its ${store.dim - 1} axes.` : "";
}

function showNear(i) {
  byId("near").replaceChildren();
  for (const [other, distance] of store.neighbours(i, NEAREST)) {
    const canvas = element("canvas", { "aria-hidden": "true" });
    byId("near").append(element("button", { type: "button", onclick: () => choose(other, true) }, canvas,
      element("span", { class: "near-name" }, store.name(other)), element("small", {}, `distance ${formatNumber(distance)}`)));
    drawGraph(canvas, store.graph(other), store.places(other), { most: 22 });
  }
}

function markMap() {
  const near = store.neighbours(state.chosen, NEAREST).map(([index]) => ({ index, colour: "accent", faint: true }));
  const ends = film.ends.map((index, k) => ({ index, letter: "AB"[k], colour: "accent-2" })).filter(({ index }) => index >= 0);
  map.marks = [...near, ...ends, { index: state.chosen, colour: "accent" }];
  map.draw();
}

// -- moving z ---------------------------------------------------------------------------------------------------------

function makeSliders() {
  const groups = new Map();
  store.axes.forEach((axis, k) => {
    const id = `axis-${k}`, output = element("output", { for: id }, "0");
    const slider = element("input", { type: "range", id, min: -3, max: 3, step: 0.01, value: 0, "aria-label": `${axis.name}, in deviations` });
    const set = (value) => { state.offsets[k] = Number(value); setSlider(slider, value); moveZ(); };
    slider.addEventListener("input", () => set(slider.value));
    slider.addEventListener("dblclick", () => set(0));
    if (!groups.has(axis.group)) groups.set(axis.group, element("fieldset", {}, element("legend", {}, axis.group)));
    groups.get(axis.group).append(element("div", { class: "slider" }, element("label", { for: id }, axis.name), slider, output));
    state.offsets.push(0);
  });
  byId("sliders").replaceChildren(...groups.values());
}

function setSlider(slider, value) {
  slider.value = value;
  const text = Number(value) ? `${value > 0 ? "+" : "−"}${Math.abs(value).toFixed(2)} σ` : "0";
  slider.parentElement.querySelector("output").textContent = text;
}

function movedZ() {
  const z = Float64Array.from(store.z(state.chosen));
  store.axes.forEach(({ direction, span }, k) => {
    if (state.offsets[k]) for (let c = 0; c < z.length; c++) z[c] += state.offsets[k] * span * direction[c];
  });
  return Float32Array.from(z);
}

function moveZ() {
  const graph = store.decode(movedZ()), own = store.back(state.chosen);
  if (state.offsets.every((offset) => !offset)) moved.reset(own, store.backPlaces(state.chosen, own));
  const changed = difference(graph, own);
  moved.show(graph, changed);
  const facts = [plural(graph.n, "node"), plural(graph.edges.length / 2, "edge")];
  const removed = changed.missing.length / 2, added = changed.added.size - changed.bonds;
  const others = changed.bonds + changed.nodes.size;  // nodes that are new or of another kind, edges of another kind
  if (added || removed || others) facts.push(`${plural(added, "edge")} new, ${removed} gone`);
  else facts.push("the same graph");
  if (others) facts.push(`${others} of another kind`);
  if (graph.truncated) facts.push("cut at the largest size");
  byId("moved-state").textContent = facts.join(" · ");
}

// -- everything else --------------------------------------------------------------------------------------------------

function begin() {
  store = new Store();
  film = new Film(store, {
    canvas: byId("film-picture"), slider: byId("film-slider"), button: byId("play"), caption: byId("film-caption"),
    body: byId("film"), state: byId("film-state"), stills: byId("stills"),
  });
  clouds = new TurningCloud(byId("cloud"), () => clouds.draw(store.graph(state.chosen)));
  moved = new LivePicture(byId("moved"));
  byId("near-why").textContent = shown.likeness;
  if (store.decoder) makeSliders();
  else {
    for (const id of ["move", "reset", "as-a", "as-b"]) byId(id).hidden = true;
    byId("move-why").textContent = byId("film-caption").textContent = shown.no_decoder;
    byId("move-why").hidden = false;
  }
  byId("reset").addEventListener("click", () => choose(state.chosen));
  byId("before").addEventListener("click", () => choose((state.chosen + map.count - 1) % map.count, true));
  byId("after").addEventListener("click", () => choose((state.chosen + 1) % map.count, true));
  byId("as-a").addEventListener("click", () => endOfFilm(0));
  byId("as-b").addEventListener("click", () => endOfFilm(1));
  byId("help").addEventListener("click", () => {
    byId("keys").hidden = !byId("keys").hidden;
    byId("help").setAttribute("aria-expanded", String(!byId("keys").hidden));
  });
  makeSearch(byId("search"), byId("found"));
  document.addEventListener("keydown", globalKeys);
  watchTheme(byId("theme"), redraw);
  window.addEventListener("resize", redraw);
  if (store.decoder) film.refresh();
  choose(shown.first);
  document.documentElement.dataset.page = "ready";
}

function endOfFilm(which) {
  if (!store.decoder) return;
  film.setEnd(which, state.chosen);
  markMap();
}

function redraw() {
  if (!store || state.chosen < 0) return;
  colourMap();
  drawChosen();
  showNear(state.chosen);
  if (store.decoder) { moved.paint(); film.repaint(); }
}

function globalKeys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName)) return;
  const keys = {
    "/": () => byId("search").focus(), "[": () => byId("before").click(), "]": () => byId("after").click(),
    a: () => endOfFilm(0), b: () => endOfFilm(1), "?": () => byId("help").click(),
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
}

start();
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
else begin();

// For the console: what the page knows, and its decoder.
window.geogae = {
  decode: (z) => store.decode(Float32Array.from(z)), graph: (i) => store.graph(i), z: (i) => Array.from(store.z(i)),
  moved: () => Array.from(movedZ()), choose, map,
};
