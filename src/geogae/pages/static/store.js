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
    this.placesOf = new Map();
  }

  z(i) { return this.latent.subarray(i * this.latentDim, (i + 1) * this.latentDim); }

  name(i) { return this.names[i] || `graph ${i + 1}`; }

  graph(i) { return this.dressed(this.trueGraphs(i)); }

  // What comes back from the graph's own z: decoded here, or in Python if there is no decoder for the browser.
  back(i) { return this.decoder ? this.decode(this.z(i)) : this.dressed(this.backGraphs(i)); }

  decode(z) { return this.dressed(this.decoder.decode(z)); }

  // With atoms and bonds if the categories are those of molecules, else with the kinds of its nodes.
  dressed(graph) {
    const { elements, bonds, kinds } = this.table;
    if (!graph.nodeCodes) return graph;
    graph.kinds = Array.from({ length: graph.n }, (_, i) => kinds.indexOf(graph.nodeCodes[i * graph.nodeColumns]));
    if (!elements) return graph;
    graph.atomColumns = elements === "numbers" ? graph.nodeColumns : 1;
    graph.atoms = elements === "numbers" ? graph.nodeCodes
      : Array.from({ length: graph.n }, (_, i) => elements[graph.nodeCodes[i * graph.nodeColumns]] ?? 0);
    graph.bonds = Array.from({ length: graph.edges.length / 2 }, (_, e) => {
      const kind = graph.edgeCodes ? graph.edgeCodes[e * graph.edgeColumns] : 1;
      return bonds ? bonds[kind] ?? 1 : kind;
    });
    return graph;
  }

  places(i) {
    if (!this.placesOf.has(i)) {
      if (this.placesOf.size > 500) this.placesOf.clear();
      const graph = this.trueGraphs(i);
      const start = graph.balls ? ballStart(graph.balls, graph.ballCount, this.dim, graph.n) : null;
      this.placesOf.set(i, graph.places ? centred(Float64Array.from(graph.places, (x) => x / 256)) : layout(graph.n, graph.edges, start));
    }
    return this.placesOf.get(i);
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
      if (this.name(i).toLowerCase().includes(lower) || (this.smiles && this.smiles[i] && this.smiles[i].includes(text))) found.push(i);
    }
    return found;
  }
}

function unpackGraphs(packed) {
  const sizes = unpack(packed.n);
  const parts = Object.fromEntries(["edges", "node", "edge", "places", "balls"].map((name) => [name, packed[name] ? unpackRagged(packed[name]) : null]));
  return (i) => {
    const part = (name) => (parts[name] ? parts[name].row(i) : null), balls = part("balls"), places = part("places");
    return {
      n: sizes[i], edges: part("edges"),
      nodeCodes: part("node"), nodeColumns: parts.node ? parts.node.columns : 0,
      edgeCodes: part("edge"), edgeColumns: parts.edge ? parts.edge.columns : 0,
      places: places && places.length ? places : null,
      balls, ballCount: balls ? balls.length / parts.balls.columns : 0, dim: parts.balls ? parts.balls.columns : 0,
    };
  };
}
