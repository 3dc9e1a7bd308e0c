// Charts as SVG: bars, lines, points, histograms. Colours come from the style sheet, values also stand in titles.

const SVG = "http://www.w3.org/2000/svg";

function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const titled = (text, shape) => { shape.append(svg("title", {}, text)); return shape; };

// About `count` round numbers from low to high.
function ticks(low, high, count = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((size) => size >= rough);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

function logTicks(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const k of [1, 2, 5]) found.push(k * 10 ** power);
  }
  const inside = found.filter((value) => value >= 0.999 * low && value <= 1.001 * high);
  return inside.length > 9 ? inside.filter((value) => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9) : inside;
}

const LONGEST = 36;  // characters of a name beside a bar

function barChart({ bars, unit, low, high, caption }) {
  const longest = Math.max(...bars.map(({ name, kind }) => Math.min(name.length, LONGEST) * (kind === "ours" ? 8.2 : 7.5)));
  const named = clamp(longest + 14, 110, 290), row = 27, width = 720, top = 6, height = top + row * bars.length + 26;
  const x = (value) => named + ((clamp(value, low, high) - low) / (high - low)) * (width - named - 74);
  const chart = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": caption, class: "chart" });
  for (const tick of ticks(low, high)) {
    chart.append(svg("line", { x1: x(tick), x2: x(tick), y1: top, y2: height - 22, class: "rule" }));
    chart.append(svg("text", { x: x(tick), y: height - 7, class: "tick", "text-anchor": "middle" }, formatNumber(tick)));
  }
  bars.forEach(({ name, value, deviation, kind, remark }, k) => {
    const y = top + row * k, spread = deviation == null ? "" : ` ± ${deviation.toFixed(2)}`;
    const label = name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name, strong = kind === "ours" ? "name strong" : "name";
    chart.append(svg("text", { x: named - 10, y: y + 18, "text-anchor": "end", class: strong }, label));
    chart.append(titled(`${name}: ${value.toFixed(2)}${spread} ${unit}${remark ? ` (${remark})` : ""}`,
      svg("rect", { x: named, y: y + 5, width: Math.max(x(value) - named, 1), height: row - 9, rx: 3, class: `bar-${kind}` })));
    if (deviation) {
      const [from, to] = [x(value - deviation), x(value + deviation)];
      chart.append(svg("path", { d: `M${from} ${y + 14}H${to}M${from} ${y + 10}v8M${to} ${y + 10}v8`, class: "spread" }));
    }
    chart.append(svg("text", { x: x(value + (deviation || 0)) + 7, y: y + 18, class: "value" }, value.toFixed(2)));
  });
  return chart;
}

// Axes with ticks and names; returns the chart and the two scales.
function plane({ caption, x, y, log = [] }, xs, ys, width = 520, height = 290) {
  const left = 62, right = 16, top = 12, bottom = 46;
  const most = y.includes("%") && Math.max(...ys) <= 100 ? 100 : Infinity;  // shares end there, and so does their axis
  const range = (values, name, padded) => {
    let [low, high] = [Math.min(...values), Math.max(...values)];
    if (log.includes(name)) return low > 0 ? [low, high > low ? high : low * 10] : [Math.max(high / 1e6, 1e-12), high || 1];
    if (low === high) [low, high] = [low - (Math.abs(low) || 1) * 0.05, high + (Math.abs(high) || 1) * 0.05];
    const gap = padded ? 0.04 * (high - low) : 0;
    return [low >= 0 && low - gap < 0 ? 0 : low - gap, name === "y" ? Math.min(high + gap, most) : high + gap];
  };
  const [x0, x1] = range(xs, "x", false), [y0, y1] = range(ys, "y", true);
  const scale = (name, low, high, from, to) => (value) => (log.includes(name)
    ? from + ((Math.log(Math.max(value, low)) - Math.log(low)) / (Math.log(high) - Math.log(low))) * (to - from)
    : from + ((value - low) / (high - low)) * (to - from));
  const across = scale("x", x0, x1, left, width - right), up = scale("y", y0, y1, height - bottom, top);
  const chart = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": caption, class: "chart" });
  for (const tick of log.includes("y") ? logTicks(y0, y1) : ticks(y0, y1)) {
    chart.append(svg("line", { x1: left, x2: width - right, y1: up(tick), y2: up(tick), class: "rule" }));
    chart.append(svg("text", { x: left - 8, y: up(tick) + 4, "text-anchor": "end", class: "tick" }, formatNumber(tick)));
  }
  for (const tick of log.includes("x") ? logTicks(x0, x1) : ticks(x0, x1, 6)) {
    const place = { x: across(tick), y: height - bottom + 18, "text-anchor": "middle", class: "tick" };
    chart.append(svg("text", place, formatNumber(tick)));
  }
  chart.append(svg("line", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom, class: "axis" }));
  chart.append(svg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle", class: "label" }, x));
  const middle = (top + height - bottom) / 2;
  chart.append(svg("text", { x: 14, y: middle, "text-anchor": "middle", class: "label", transform: `rotate(-90 14 ${middle})` }, y));
  return { chart, across, up };
}

function lineChart(block) {
  const points = block.series.flatMap(({ points }) => points);
  const { chart, across, up } = plane(block, points.map(([x]) => x), points.map(([, y]) => y));
  block.series.forEach(({ name, points }, k) => {
    const colour = PALETTE[k % PALETTE.length];
    const steps = points.map(([x, y], i) => `${i ? "L" : "M"}${across(x).toFixed(1)} ${up(y).toFixed(1)}`);
    const line = svg("path", { d: steps.join(""), class: "line" });
    line.style.stroke = colour;
    chart.append(titled(name, line));
    if (points.length > 60) return;
    for (const [x, y] of points) {
      const dot = svg("circle", { cx: across(x), cy: up(y), r: 3 });
      dot.style.fill = colour;
      chart.append(titled(`${name}: ${formatNumber(x)}, ${formatNumber(y)}`, dot));
    }
  });
  const key = element("ul", { class: "key" }, ...block.series.map(({ name }, k) => {
    const dot = element("i");
    dot.style.background = PALETTE[k % PALETTE.length];
    return element("li", {}, dot, name);
  }));
  return element("div", {}, chart, block.series.length > 1 ? key : null);
}

function scatterChart(block) {
  const { chart, across, up } = plane(block, block.points.map(([x]) => x), block.points.map(([, y]) => y));
  for (const [x, y, name] of block.points) {
    const dot = svg("circle", { cx: across(x), cy: up(y), r: 3.4, class: "dot" });
    chart.append(titled(`${name}: ${formatNumber(x)}, ${formatNumber(y)}`, dot));
  }
  return chart;
}

function histogramChart({ caption, x, bins }) {
  const width = 520, height = 290, bottom = 46, top = 24, most = Math.max(...bins.map(([, count]) => count), 1);
  const chart = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": caption, class: "chart" });
  const step = (width - 40) / bins.length, floor = height - bottom;
  bins.forEach(([name, count], k) => {
    const high = ((floor - top) * count) / most, left = 20 + k * step, middle = left + step / 2;
    const text = (y, kind, words) => svg("text", { x: middle, y, "text-anchor": "middle", class: kind }, words);
    const size = { x: left + 0.12 * step, y: floor - high, width: 0.76 * step, height: Math.max(high, count ? 1 : 0) };
    chart.append(titled(`${name}: ${plural(count, "graph")}`, svg("rect", { ...size, rx: 2, class: "bar-ours" })));
    if (count) chart.append(text(floor - high - 5, "value", count.toLocaleString("en")));
    chart.append(text(floor + 18, "tick", name));
  });
  chart.append(svg("line", { x1: 20, x2: width - 20, y1: height - bottom, y2: height - bottom, class: "axis" }));
  chart.append(svg("text", { x: width / 2, y: height - 6, "text-anchor": "middle", class: "label" }, x));
  return chart;
}
