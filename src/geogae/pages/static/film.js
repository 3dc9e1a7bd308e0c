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
    const [a, b] = this.ends.map((end) => (end >= 0 ? this.store.name(end) : null));
    this.body.hidden = !this.ready;
    if (this.ready) this.caption.textContent = `${a} → ${b}`;
    else if (a) this.caption.textContent = `From ${a}: choose another graph, and use it as B.`;
    else if (b) this.caption.textContent = `To ${b}: choose another graph, and use it as A.`;
    else this.caption.textContent = "Use the chosen graph as A, then another one as B.";
    if (!this.ready) return;
    const first = this.store.back(this.ends[0]);
    this.picture.reset(first, this.store.backPlaces(this.ends[0], first));
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
    const state = `${Math.round(100 * t)} % of the way: ${plural(graph.n, "node")}, ${plural(graph.edges.length / 2, "edge")}`;
    this.slider.setAttribute("aria-valuetext", state);
    this.state.textContent = state;
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
