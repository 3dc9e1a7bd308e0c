// From one graph to another along a straight line in z, as a film.

const FILM_SECONDS = 6, STILLS = 7;

class Film {
  constructor(store, elements) {
    Object.assign(this, { store, ...elements, ends: [-1, -1], at: 0, playing: false });
    this.picture = new LivePicture(this.canvas);
    this.slider.addEventListener("input", () => { this.stop(); this.seek(Number(this.slider.value)); });
    this.button.addEventListener("click", () => (this.playing ? this.stop() : this.play()));
  }

  get ready() { return this.ends.every((end) => end >= 0); }

  setEnd(which, i) {
    this.ends[which] = i;
    this.stop();
    this.refresh();
  }

  refresh() {
    const names = this.ends.map((end) => (end >= 0 ? this.store.name(end) : null));
    this.caption.textContent = this.ready ? `${names[0]} → ${names[1]}`
      : `Choose a graph as ${names[0] ? "B" : "A"}${names[0] || names[1] ? ` (${names[0] ? "A" : "B"} is ${names[0] || names[1]})` : ", then another as B"}.`;
    this.body.hidden = !this.ready;
    if (!this.ready) return;
    const [a] = this.ends;
    this.picture.reset(this.store.back(a), this.store.places(a).length === 2 * this.store.back(a).n ? this.store.places(a) : layout(this.store.back(a).n, this.store.back(a).edges));
    this.stills.replaceChildren();
    for (let k = 0; k < STILLS; k++) {
      const t = k / (STILLS - 1), graph = this.store.decode(this.point(t));
      this.picture.show(graph);
      const canvas = element("canvas", { class: "still", "aria-hidden": "true" });
      const button = element("button", {
        type: "button", class: "still-button", "aria-label": `Go to ${Math.round(100 * t)} % of the way`,
        onclick: () => { this.stop(); this.seek(t); },
      }, canvas);
      this.stills.append(button);
      drawGraph(canvas, graph, this.picture.target, { most: 20 });
    }
    this.picture.reset(this.picture.reference.graph, this.picture.reference.places);
    this.seek(0);
  }

  point(t) {
    const [a, b] = this.ends.map((end) => this.store.z(end));
    return Float32Array.from(a, (from, k) => (1 - t) * from + t * b[k]);
  }

  seek(t) {
    this.at = t;
    this.slider.value = t;
    const graph = this.store.decode(this.point(t));
    this.picture.show(graph);
    const told = `${Math.round(100 * t)} % of the way: ${plural(graph.n, "node")}, ${plural(graph.edges.length / 2, "edge")}`;
    this.slider.setAttribute("aria-valuetext", told);
    this.state.textContent = told;
  }

  play() {
    this.playing = true;
    this.button.textContent = "Pause";
    if (this.at >= 1) this.at = 0;
    let last = performance.now();
    const step = (now) => {
      if (!this.playing) return;
      this.seek(Math.min(1, this.at + (now - last) / 1000 / FILM_SECONDS));
      last = now;
      if (this.at >= 1) this.stop();
      else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  stop() {
    this.playing = false;
    this.button.textContent = "Play";
  }

  repaint() { if (this.ready) this.refresh(); }
}
