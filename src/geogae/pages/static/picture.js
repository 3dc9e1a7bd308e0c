// Pictures of graphs and of their clouds on a canvas.

// The canvas as wide as it is shown, in the pixels of the screen; draws in CSS pixels.
function openCanvas(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas, ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.lineCap = pen.lineJoin = "round";
  return { pen, width, height };
}

// From places to pixels: as large as fits, but a step of the graph is at most `most` pixels.
function frame(places, width, height, most = 42, border = 16) {
  let left = Infinity, right = -Infinity, top = Infinity, bottom = -Infinity;
  for (let i = 0; i < places.length; i += 2) {
    left = Math.min(left, places[i]); right = Math.max(right, places[i]);
    top = Math.min(top, places[i + 1]); bottom = Math.max(bottom, places[i + 1]);
  }
  const wide = Math.max(right - left, 1e-9), high = Math.max(bottom - top, 1e-9);
  const room = Math.min((width - 2 * border) / wide, (height - 2 * border) / high);
  const unit = Math.max(Math.min(room, most), 0.1);
  const x0 = width / 2 - (unit * (left + right)) / 2, y0 = height / 2 - (unit * (top + bottom)) / 2;
  return { unit, x: (i) => x0 + unit * places[2 * i], y: (i) => y0 + unit * places[2 * i + 1] };
}

const edgeKey = (i, j) => i * 1048576 + j;

function edgeSet(edges) {
  const keys = new Set();
  for (let e = 0; e < edges.length; e += 2) keys.add(edgeKey(edges[e], edges[e + 1]));
  return keys;
}

// How a graph differs from another one, node by node and edge by edge.
function difference(graph, from) {
  const here = edgeSet(graph.edges), there = edgeSet(from.edges), added = new Set(), missing = [];
  for (const key of here) if (!there.has(key)) added.add(key);
  for (let e = 0; e < from.edges.length; e += 2) {
    if (!here.has(edgeKey(from.edges[e], from.edges[e + 1]))) missing.push(from.edges[e], from.edges[e + 1]);
  }
  const nodes = new Set();
  for (let i = 0; i < graph.n; i++) if (i >= from.n || !sameCategories(graph, from, i)) nodes.add(i);
  let bonds = 0;
  if (graph.edgeCodes && from.edgeCodes && graph.edgeColumns === from.edgeColumns) {
    const known = new Map();
    for (let e = 0; e < from.edges.length; e += 2) known.set(edgeKey(from.edges[e], from.edges[e + 1]), e / 2);
    for (let e = 0; e < graph.edges.length; e += 2) {
      const key = edgeKey(graph.edges[e], graph.edges[e + 1]), other = known.get(key), k = graph.edgeColumns;
      if (other === undefined) continue;
      const kind = (codes, row) => codes.slice(row * k, (row + 1) * k).join();
      if (kind(graph.edgeCodes, e / 2) === kind(from.edgeCodes, other)) continue;
      added.add(key);  // another kind of edge
      bonds++;
    }
  }
  return { added, missing, nodes, bonds, size: graph.n - from.n, edges: added.size - bonds + missing.length / 2 };
}

function sameCategories(graph, from, i) {
  if (!graph.nodeCodes || !from.nodeCodes || graph.nodeColumns !== from.nodeColumns) return true;
  for (let c = 0; c < graph.nodeColumns; c++) {
    if (graph.nodeCodes[i * graph.nodeColumns + c] !== from.nodeCodes[i * from.nodeColumns + c]) return false;
  }
  return true;
}

// A graph at its places; `marks` is a difference to show in `alarm`: what is added solid, what is missing dotted.
function drawGraph(canvas, graph, places, { marks = null, alarm = themeColour("alarm"), most = 42 } = {}) {
  const { pen, width, height } = openCanvas(canvas);
  const at = frame(places, width, height, most, Math.min(18, width / 9));
  const radius = clamp(0.17 * at.unit, 1.4, 7.5), line = clamp(0.055 * at.unit, 0.6, 2);
  const marked = (i, j) => marks && marks.added.has(edgeKey(i, j));
  const dense = graph.edges.length / 2 > 6 * graph.n;
  if (graph.atoms) drawBonds(pen, graph, at, line, marked, alarm);
  else {
    for (const wrong of [false, true]) {
      pen.beginPath();
      for (let e = 0; e < graph.edges.length; e += 2) {
        const i = graph.edges[e], j = graph.edges[e + 1];
        if (Boolean(marked(i, j)) !== wrong) continue;
        pen.moveTo(at.x(i), at.y(i));
        pen.lineTo(at.x(j), at.y(j));
      }
      pen.strokeStyle = wrong ? alarm : themeColour("edge");
      pen.lineWidth = wrong ? line + 0.8 : line;
      pen.globalAlpha = dense && !wrong ? 0.35 : 1;
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }
  if (marks) drawMissing(pen, marks.missing, at, line, alarm, places.length / 2);
  if (graph.atoms) drawAtoms(pen, graph, at, (i) => marks && marks.nodes.has(i), alarm);
  else {
    const colours = nodeColours(graph);
    for (let i = 0; i < graph.n; i++) {
      pen.beginPath();
      pen.arc(at.x(i), at.y(i), radius, 0, 2 * Math.PI);
      pen.fillStyle = colours[i];
      pen.fill();
      pen.lineWidth = marks && marks.nodes.has(i) ? 2 : 1;
      pen.strokeStyle = marks && marks.nodes.has(i) ? alarm : themeColour("paper");
      pen.stroke();
    }
  }
}

function drawMissing(pen, missing, at, line, alarm, known) {
  if (!missing.length) return;
  pen.beginPath();
  for (let e = 0; e < missing.length; e += 2) {
    if (missing[e] >= known || missing[e + 1] >= known) continue;
    pen.moveTo(at.x(missing[e]), at.y(missing[e]));
    pen.lineTo(at.x(missing[e + 1]), at.y(missing[e + 1]));
  }
  pen.setLineDash([1, 4]);
  pen.strokeStyle = alarm;
  pen.lineWidth = line + 0.8;
  pen.stroke();
  pen.setLineDash([]);
}

// -- clouds -----------------------------------------------------------------------------------------------------------

const RADIUS_SCALE = 0.75;  // equation 2: balls of this share of their radius touch where nodes are joined

// Intervals for d = 2, discs for d = 3, balls above it, turned by `view` {turn, tilt}.
function drawCloud(canvas, balls, count, dim, colours, view) {
  const { pen, width, height } = openCanvas(canvas);
  const reach = Array.from({ length: count }, (_, i) => RADIUS_SCALE * softplus(balls[i * dim + dim - 1]));
  if (dim === 2) drawIntervals(pen, width, height, balls, reach, colours);
  else drawBalls(pen, width, height, turned(balls, count, dim, view), reach, colours, dim > 3);
}

function drawIntervals(pen, width, height, balls, reach, colours) {
  const left = reach.map((own, i) => balls[2 * i] - own), right = reach.map((own, i) => balls[2 * i] + own);
  const low = Math.min(...left), high = Math.max(...right), unit = (width - 24) / Math.max(high - low, 1e-9);
  const rows = left.map((_, i) => i).sort((a, b) => left[a] - left[b]), step = (height - 24) / rows.length;
  rows.forEach((i, row) => {
    const y = 12 + (row + 0.5) * step;
    pen.fillStyle = colours[i];
    pen.globalAlpha = 0.7;
    pen.fillRect(12 + unit * (left[i] - low), y - 0.31 * step, unit * (right[i] - left[i]), 0.62 * step);
    pen.globalAlpha = 1;
    pen.fillStyle = themeColour("ink");
    pen.fillRect(12 + unit * (balls[2 * i] - low) - 1, y - 1, 2, 2);
  });
}

function turned(balls, count, dim, { turn = 0.5, tilt = 0.35 }) {  // [x, y, depth] of each ball
  const points = [];
  for (let i = 0; i < count; i++) {
    const [x, y, z] = [balls[i * dim], balls[i * dim + 1], dim > 3 ? balls[i * dim + 2] : 0];
    if (dim <= 3) { points.push([x, -y, 0]); continue; }
    const across = Math.cos(turn) * x + Math.sin(turn) * z, behind = Math.cos(turn) * z - Math.sin(turn) * x;
    points.push([across, -(Math.cos(tilt) * y - Math.sin(tilt) * behind), Math.sin(tilt) * y + Math.cos(tilt) * behind]);
  }
  return points;
}

function drawBalls(pen, width, height, points, reach, colours, solid) {
  let left = Infinity, right = -Infinity, top = Infinity, bottom = -Infinity;
  points.forEach(([x, y], i) => {
    if (!Number.isFinite(x + y + reach[i])) return;
    left = Math.min(left, x - reach[i]); right = Math.max(right, x + reach[i]);
    top = Math.min(top, y - reach[i]); bottom = Math.max(bottom, y + reach[i]);
  });
  const unit = Math.min((width - 16) / Math.max(right - left, 1e-9), (height - 16) / Math.max(bottom - top, 1e-9));
  const x0 = width / 2 - (unit * (left + right)) / 2, y0 = height / 2 - (unit * (top + bottom)) / 2;
  const order = points.map((_, i) => i).sort((a, b) => (solid ? points[a][2] - points[b][2] : reach[b] - reach[a]));
  for (const i of order) {
    const x = x0 + unit * points[i][0], y = y0 + unit * points[i][1], radius = Math.max(unit * reach[i], 0.5);
    if (!Number.isFinite(x + y + radius)) continue;
    pen.beginPath();
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    if (solid) {
      const light = pen.createRadialGradient(x - 0.35 * radius, y - 0.4 * radius, 0.05 * radius, x, y, radius);
      light.addColorStop(0, "#ffffff");
      light.addColorStop(0.25, colours[i]);
      light.addColorStop(1, colours[i]);
      pen.globalAlpha = 0.62;
      pen.fillStyle = light;
    } else {
      pen.globalAlpha = 0.3;
      pen.fillStyle = colours[i];
    }
    pen.fill();
    pen.globalAlpha = 0.95;
    pen.lineWidth = 1;
    pen.strokeStyle = solid ? themeColour("paper") : colours[i];
    pen.stroke();
  }
  pen.globalAlpha = 1;
  if (solid) return;
  pen.fillStyle = themeColour("ink");
  for (const [x, y] of points) {
    pen.beginPath();
    pen.arc(x0 + unit * x, y0 + unit * y, 1.3, 0, 2 * Math.PI);
    pen.fill();
  }
}
