// The map: every graph a point. Drag or arrow keys pan, the wheel or + and − zoom, a click chooses.

class GraphMap {
  constructor(canvas, points, { choose, hover }) {
    Object.assign(this, { canvas, points, choose, hover });
    this.count = points.length / 2;
    this.painter = new PointPainter();
    this.setColours(new Array(this.count).fill(OTHER));
    this.lit = null;  // graphs that a search found: the others are faint
    this.marks = [];  // [{index, letter, colour}]
    this.under = -1;
    this.view = { x: 0, y: 0, unit: 1 };
    this.pending = false;
    this.listen();
    new ResizeObserver(() => { if (!this.moved) this.fit(); this.draw(); }).observe(canvas);
    this.fit();
  }

  get radius() { return clamp(70 / Math.sqrt(this.count), 2, 5.5) * clamp((this.view.unit / this.fitted) ** 0.35, 0.8, 2.4); }

  x(i) { return this.canvas.clientWidth / 2 + (this.points[2 * i] - this.view.x) * this.view.unit; }

  y(i) { return this.canvas.clientHeight / 2 - (this.points[2 * i + 1] - this.view.y) * this.view.unit; }

  fit() {
    let left = Infinity, right = -Infinity, low = Infinity, high = -Infinity;
    for (let i = 0; i < this.count; i++) {
      left = Math.min(left, this.points[2 * i]); right = Math.max(right, this.points[2 * i]);
      low = Math.min(low, this.points[2 * i + 1]); high = Math.max(high, this.points[2 * i + 1]);
    }
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const unit = Math.min((width - 80) / Math.max(right - left, 1e-9), (height - 110) / Math.max(high - low, 1e-9));
    this.fitted = Math.max(unit, 1e-9);
    this.view = { x: (left + right) / 2, y: (low + high) / 2, unit: this.fitted };
    this.moved = false;
    this.draw();
  }

  pan(dx, dy) {
    this.view.x -= dx / this.view.unit;
    this.view.y += dy / this.view.unit;
    this.moved = true;
    this.draw();
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const unit = clamp(this.view.unit * factor, this.fitted / 4, this.fitted * 400);
    const dx = x - this.canvas.clientWidth / 2, dy = y - this.canvas.clientHeight / 2;
    this.view.x += dx / this.view.unit - dx / unit;
    this.view.y -= dy / this.view.unit - dy / unit;
    this.view.unit = unit;
    this.moved = true;
    this.draw();
  }

  show(i) {  // brings a graph into view if it is outside
    const x = this.x(i), y = this.y(i), { clientWidth: width, clientHeight: height } = this.canvas;
    if (x > 30 && y > 30 && x < width - 30 && y < height - 30) return this.draw();
    this.view.x = this.points[2 * i];
    this.view.y = this.points[2 * i + 1];
    this.moved = true;
    this.draw();
  }

  nearest(x, y, within = Infinity) {
    const { unit } = this.view, { points } = this;  // compared in the map's own unit: every graph is looked at
    const px = this.view.x + (x - this.canvas.clientWidth / 2) / unit, py = this.view.y - (y - this.canvas.clientHeight / 2) / unit;
    let best = -1, least = (within / unit) ** 2;
    for (let i = 0; i < this.count; i++) {
      const square = (points[2 * i] - px) ** 2 + (points[2 * i + 1] - py) ** 2;
      if (square < least) { best = i; least = square; }
    }
    return best;
  }

  draw(anew = true) {  // not anew: the points are as they were, what is marked on them is not
    this.stale ||= anew;
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.paint(this.stale); });
  }

  setColours(colours) {
    const known = new Map();
    this.channels = new Uint8Array(3 * this.count);
    colours.forEach((colour, i) => {
      if (!known.has(colour)) known.set(colour, rgb(colour));
      this.channels.set(known.get(colour), 3 * i);
    });
    this.draw();
  }

  paint(anew = true) {
    const { pen, width, height } = openCanvas(this.canvas), ratio = this.canvas.width / Math.max(width, 1);
    if (!width || !height) return;
    if (anew || !this.painter.fits(this.canvas.width, this.canvas.height)) this.paintPoints(width, height, ratio);
    this.stale = false;
    pen.putImageData(this.painter.image, 0, 0);
    this.grid(pen, width, height);
    const radius = this.radius;
    if (this.under >= 0) this.ring(pen, this.under, radius + 3, themeColour("ink"), 1.5);
    for (const { index, letter, colour, faint } of this.marks) this.mark(pen, index, letter, themeColour(colour), radius, faint);
    if (this.focused) this.crosshair(pen, width, height);
  }

  paintPoints(width, height, ratio) {
    const { x, y, unit } = this.view, { points, channels, lit, painter } = this;
    painter.begin(this.canvas.width, this.canvas.height, themeColour("ground"));
    const mask = painter.mask(ratio * this.radius), x0 = ratio * (width / 2 - x * unit), y0 = ratio * (height / 2 + y * unit);
    for (const bright of lit ? [false, true] : [true]) {
      for (let i = 0; i < this.count; i++) {
        if (lit && lit.has(i) !== bright) continue;
        painter.disc(x0 + ratio * points[2 * i] * unit, y0 - ratio * points[2 * i + 1] * unit, mask,
          channels[3 * i], channels[3 * i + 1], channels[3 * i + 2], bright ? 1 : 0.14);
      }
    }
  }

  grid(pen, width, height) {
    const step = 2 ** Math.ceil(Math.log2(70 / this.view.unit)) * this.view.unit;
    pen.fillStyle = themeColour("grid");
    const x0 = (((width / 2 - this.view.x * this.view.unit) % step) + step) % step;
    const y0 = (((height / 2 + this.view.y * this.view.unit) % step) + step) % step;
    for (let x = x0; x < width; x += step) for (let y = y0; y < height; y += step) pen.fillRect(x - 1, y - 1, 2, 2);
  }

  ring(pen, i, radius, colour, line) {
    pen.beginPath();
    pen.arc(this.x(i), this.y(i), radius, 0, 2 * Math.PI);
    pen.lineWidth = line;
    pen.strokeStyle = colour;
    pen.stroke();
  }

  mark(pen, i, letter, colour, radius, faint) {
    this.ring(pen, i, radius + (faint ? 2.5 : 4), colour, faint ? 1.4 : 2.4);
    if (!letter) return;
    pen.font = "700 12px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "alphabetic";
    pen.lineWidth = 4;
    pen.strokeStyle = themeColour("ground");
    pen.strokeText(letter, this.x(i), this.y(i) - radius - 8);
    pen.fillStyle = colour;
    pen.fillText(letter, this.x(i), this.y(i) - radius - 8);
  }

  crosshair(pen, width, height) {
    pen.strokeStyle = themeColour("ink-2");
    pen.lineWidth = 1;
    pen.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      pen.moveTo(width / 2 + 5 * dx, height / 2 + 5 * dy);
      pen.lineTo(width / 2 + 13 * dx, height / 2 + 13 * dy);
    }
    pen.stroke();
  }

  setHover(i, x, y) {
    if (i === this.under) return;
    this.under = i;
    this.hover(i, x, y);
    this.draw(false);
  }

  listen() {
    const { canvas } = this, held = new Map();
    let dragged = 0, spread = 0;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      held.set(event.pointerId, place(event));
      [dragged, spread] = [0, 0];
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = place(event), before = held.get(event.pointerId);
      if (!before) return this.setHover(this.nearest(x, y, this.radius + 6), x, y);
      held.set(event.pointerId, [x, y]);
      dragged += Math.abs(x - before[0]) + Math.abs(y - before[1]);
      if (held.size === 2) {  // two fingers
        const [[ax, ay], [bx, by]] = [...held.values()], now = Math.hypot(ax - bx, ay - by);
        if (spread) this.zoom(now / spread, (ax + bx) / 2, (ay + by) / 2);
        spread = now;
      } else if (dragged > 3) {
        canvas.classList.add("dragging");
        this.setHover(-1);
        this.pan(x - before[0], y - before[1]);
      }
    });
    const release = (event) => {
      const [x, y] = place(event);
      if (held.size === 1 && dragged <= 3 && event.type === "pointerup") {
        const hit = this.nearest(x, y, this.radius + 8);
        if (hit >= 0) this.choose(hit);
      }
      held.delete(event.pointerId);
      canvas.classList.remove("dragging");
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => this.setHover(-1));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...place(event));
    }, { passive: false });
    canvas.addEventListener("dblclick", () => this.fit());
    canvas.addEventListener("focus", () => { this.focused = canvas.matches(":focus-visible"); this.draw(false); });
    canvas.addEventListener("blur", () => { this.focused = false; this.draw(false); });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = {
      ArrowLeft: () => this.pan(60, 0), ArrowRight: () => this.pan(-60, 0),
      ArrowUp: () => this.pan(0, 60), ArrowDown: () => this.pan(0, -60),
      "+": () => this.zoom(1.3), "=": () => this.zoom(1.3), "-": () => this.zoom(1 / 1.3), 0: () => this.fit(),
      Enter: () => this.choose(this.nearest(this.canvas.clientWidth / 2, this.canvas.clientHeight / 2)),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }
}
