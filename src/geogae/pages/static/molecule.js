// Molecules: bonds by their order, atoms by their symbols.

const BOND_LINES = { 1: 1, 2: 2, 3: 3, 4: 4, 12: 1.5 };  // RDKit's types

// graph.atoms (n rows of atomic number, charge, hydrogens), graph.bonds (E, RDKit's types)
function drawBonds(pen, graph, at, line, marked, alarm) {
  const gap = clamp(0.085 * at.unit, 1.3, 4), centre = neighbourCentres(graph, at);
  for (let e = 0; e < graph.edges.length; e += 2) {
    const i = graph.edges[e], j = graph.edges[e + 1], order = BOND_LINES[graph.bonds[e / 2]] ?? 1;
    const wrong = marked(i, j);
    pen.strokeStyle = wrong ? alarm : themeColour("bond");
    pen.lineWidth = wrong ? line + 0.9 : line + 0.15;
    const x1 = at.x(i), y1 = at.y(i), x2 = at.x(j), y2 = at.y(j), length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const across = [-(y2 - y1) / length, (x2 - x1) / length];
    const stroke = (shift, shrink, dash) => {
      const dx = (shrink * (x2 - x1)) / length, dy = (shrink * (y2 - y1)) / length;
      pen.setLineDash(dash);
      pen.beginPath();
      pen.moveTo(x1 + shift * across[0] + dx, y1 + shift * across[1] + dy);
      pen.lineTo(x2 + shift * across[0] - dx, y2 + shift * across[1] - dy);
      pen.stroke();
    };
    if (order === 1 || order === 3) stroke(0, 0, []);
    if (order === 3) { stroke(gap, gap, []); stroke(-gap, gap, []); }
    if (order === 4) for (const shift of [-1.5, -0.5, 0.5, 1.5]) stroke(shift * gap, 0, []);
    if (order === 2 || order === 1.5) {  // the second line is on the side of the neighbours: inside a ring
      const [mx, my] = [(x1 + x2) / 2, (y1 + y2) / 2];
      const inner = [i, j].reduce((sum, end) => sum + (centre[end][0] - mx) * across[0] + (centre[end][1] - my) * across[1], 0);
      if (order === 2 && Math.abs(inner) < 0.2 * length) { stroke(0.6 * gap, 0, []); stroke(-0.6 * gap, 0, []); }
      else {
        stroke(0, 0, []);
        stroke(Math.sign(inner || 1) * 1.35 * gap, 1.2 * gap, order === 1.5 ? [2, 2.6] : []);
      }
    }
  }
  pen.setLineDash([]);
}

function neighbourCentres(graph, at) {
  const sums = Array.from({ length: graph.n }, () => [0, 0, 0]);
  for (let e = 0; e < graph.edges.length; e += 2) {
    for (const [i, j] of [[graph.edges[e], graph.edges[e + 1]], [graph.edges[e + 1], graph.edges[e]]]) {
      sums[i][0] += at.x(j); sums[i][1] += at.y(j); sums[i][2]++;
    }
  }
  return sums.map(([x, y, count], i) => (count ? [x / count, y / count] : [at.x(i), at.y(i)]));
}

function drawAtoms(pen, graph, at, marked, alarm) {
  const degree = new Int32Array(graph.n), size = clamp(0.36 * at.unit, 6, 14), columns = graph.atomColumns;
  for (const end of graph.edges) degree[end]++;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (let i = 0; i < graph.n; i++) {
    const number = graph.atoms[i * columns], charge = columns > 1 ? graph.atoms[i * columns + 1] : 0;
    const hydrogens = columns > 2 ? graph.atoms[i * columns + 2] : 0;
    const x = at.x(i), y = at.y(i);
    if (marked(i)) {
      pen.beginPath();
      pen.arc(x, y, 0.8 * size, 0, 2 * Math.PI);
      pen.strokeStyle = alarm;
      pen.lineWidth = 1.6;
      pen.stroke();
    }
    if (number === 6 && degree[i] > 0 && !charge) {
      if (at.unit < 12) continue;
      pen.beginPath();
      pen.arc(x, y, 1.1, 0, 2 * Math.PI);
      pen.fillStyle = themeColour("bond");
      pen.fill();
      continue;
    }
    const symbol = ELEMENTS[number] || "?";
    const text = symbol + (hydrogens > 0 && at.unit > 16 ? "H" + (hydrogens > 1 ? subscript(hydrogens) : "") : "") + sign(charge);
    pen.font = `600 ${size}px system-ui, sans-serif`;
    const wide = pen.measureText(symbol).width;
    pen.fillStyle = themeColour("paper");
    pen.beginPath();
    pen.arc(x, y, Math.max(0.62 * size, 0.62 * wide), 0, 2 * Math.PI);
    pen.fill();
    pen.fillStyle = elementColour(number);
    pen.textAlign = "left";
    pen.fillText(text, x - wide / 2, y + 0.5);
    pen.textAlign = "center";
  }
}

const subscript = (count) => [...String(count)].map((digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]).join("");
const superscript = (count) => [...String(count)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");

function sign(charge) {
  if (!charge) return "";
  return (Math.abs(charge) > 1 ? superscript(Math.abs(charge)) : "") + (charge > 0 ? "⁺" : "⁻");
}
