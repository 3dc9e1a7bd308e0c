// The graphs of the page, one by one: unpacked when they are asked for.

class Store {
  constructor() {
    const graphs = readData("graphs"), latent = readData("latent"), decoder = readData("decoder");
    this.names = graphs.names;
    this.smiles = graphs.smiles;
    this.table = graphs.table;  // what categories stand for: {kinds, elements, bonds}
    this.dim = graphs.dim;
    this.trueGraphs = unpackGraphs(graphs.true);
    this.backGraphs = graphs.back ? unpackGraphs(graphs.back) : null;
    this.latentDim = latent.z.shape[1];
    this.latent = unpack(latent.z);
    this.likeness = latent.descriptor ? { width: latent.descriptor.shape[1], values: unpack(latent.descriptor) }
      : { width: this.latentDim, values: this.latent };
    this.axes = latent.axes.map((axis) => ({ ...axis, direction: unpack(axis.direction) }));
    this.decoder = decoder ? new Decoder(decoder) : null;
    this.placed = new Map();
  }

  z(i) { return this.latent.subarray(i * this.latentDim, (i + 1) * this.latentDim); }

  name(i) { return this.names[i] || `graph ${i + 1}`; }

  graph(i) { return dressed(this.table, this.trueGraphs(i)); }

  // What comes back from the graph's own z: decoded here, or in Python if there is no decoder for the browser.
  back(i) { return this.decoder ? this.decode(this.z(i)) : dressed(this.table, this.backGraphs(i)); }

  decode(z) { return dressed(this.table, this.decoder.decode(z)); }

  places(i) {
    if (!this.placed.has(i)) {
      if (this.placed.size > 500) this.placed.clear();
      this.placed.set(i, placesOf(this.trueGraphs(i)));
    }
    return this.placed.get(i);
  }

  // Where to draw what comes back from graph i: in the places of graph i, if it has as many nodes.
  backPlaces(i, back) {
    const places = this.places(i);
    return places.length === 2 * back.n ? places : placesOf({ ...back, places: null });
  }

  // The k graphs nearest to graph i, [index, distance] each.
  neighbours(i, k) {
    const { width, values } = this.likeness, found = [];
    for (let other = 0; other < values.length / width; other++) {
      if (other === i) continue;
      let square = 0;
      for (let c = 0; c < width; c++) square += (values[i * width + c] - values[other * width + c]) ** 2;
      if (found.length === k && square >= found[k - 1][1]) continue;
      let at = found.length;
      while (at > 0 && found[at - 1][1] > square) at--;
      found.splice(at, 0, [other, square]);
      if (found.length > k) found.pop();
    }
    return found.map(([other, square]) => [other, Math.sqrt(square)]);
  }

  // Graphs whose name or SMILES holds the text; upper and lower case differ in a SMILES.
  search(text) {
    const found = [], lower = text.toLowerCase();
    for (let i = 0; i < this.names.length; i++) {
      if (this.name(i).toLowerCase().includes(lower) || this.smiles?.[i]?.includes(text)) found.push(i);
    }
    return found;
  }
}
