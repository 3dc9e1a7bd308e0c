// A picture of a graph that changes: nodes move to their new places instead of jumping there.

const STILL = matchMedia("(prefers-reduced-motion: reduce)");

class LivePicture {
  constructor(canvas) {
    this.canvas = canvas;
    this.running = false;
  }

  // The graph that others are compared with, at its own places.
  reset(graph, places) {
    this.reference = { graph, places };
    this.graph = graph;
    this.places = this.target = places;
    this.marks = null;
    this.paint();
  }

  show(graph, marks = null) {
    const same = (a, b) => a.n === b.n && a.edges.length === b.edges.length && a.edges.every((end, at) => end === b.edges[at]);
    this.marks = marks;
    if (!same(graph, this.graph)) {
      const start = new Float64Array(2 * graph.n).fill(NaN);
      start.set(this.target.subarray(0, Math.min(start.length, this.target.length)));
      this.target = same(graph, this.reference.graph) ? this.reference.places
        : layout(graph.n, graph.edges, this.target.length ? start : null, true);
      const places = Float64Array.from(this.target);
      places.set(this.places.subarray(0, Math.min(places.length, this.places.length)));
      this.places = STILL.matches ? this.target : places;
    }
    this.graph = graph;
    if (!this.running) this.step();
  }

  step() {
    this.running = true;
    let far = 0;
    const next = Float64Array.from(this.places, (place, k) => {
      const gap = this.target[k] - place;
      far = Math.max(far, Math.abs(gap));
      return place + 0.22 * gap;
    });
    this.places = far < 0.01 ? this.target : next;
    this.paint();
    if (far < 0.01) this.running = false;
    else requestAnimationFrame(() => this.step());
  }

  paint() {
    if (this.graph) drawGraph(this.canvas, this.graph, this.places, { marks: this.marks, alarm: themeColour("accent-2") });
  }
}

// A cloud that can be turned by dragging or by the arrow keys.
class TurningCloud {
  constructor(canvas, redraw) {
    Object.assign(this, { canvas, redraw, view: { turn: 0.5, tilt: 0.35 } });
    let last = null;
    canvas.addEventListener("pointerdown", (event) => {
      last = [event.clientX, event.clientY];
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!last) return;
      this.turn((event.clientX - last[0]) / 90, (event.clientY - last[1]) / 90);
      last = [event.clientX, event.clientY];
    });
    canvas.addEventListener("pointerup", () => { last = null; });
    canvas.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: [-0.2, 0], ArrowRight: [0.2, 0], ArrowUp: [0, -0.2], ArrowDown: [0, 0.2] }[event.key];
      if (!by) return;
      event.preventDefault();
      this.turn(...by);
    });
  }

  turn(across, down) {
    this.view.turn += across;
    this.view.tilt = clamp(this.view.tilt + down, -1.5, 1.5);
    this.redraw();
  }

  draw(graph) {
    const { balls, ballCount, dim } = graph;
    if (balls && ballCount) drawCloud(this.canvas, balls, ballCount, dim, nodeColours(graph), this.view);
    else openCanvas(this.canvas);
  }
}
