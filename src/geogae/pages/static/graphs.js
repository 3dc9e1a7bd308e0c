// Graphs as graphs.py packs them.

function unpackGraphs(packed) {
  const sizes = unpack(packed.n);
  const unpacked = (name) => [name, packed[name] ? unpackRagged(packed[name]) : null];
  const parts = Object.fromEntries(["edges", "node", "edge", "places", "balls"].map(unpacked));
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

// With atoms and bonds if the categories are those of molecules, else with the kinds of its nodes.
function dressed({ elements, bonds, kinds }, graph) {
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

// Where the nodes are drawn: as RDKit has them, or as the stress of a layout is least, beginning at the balls.
function placesOf(graph) {
  if (graph.places) return centred(Float64Array.from(graph.places, (x) => x / 256));
  const start = graph.balls && graph.dim > 1 ? ballStart(graph.balls, graph.ballCount, graph.dim, graph.n) : null;
  return layout(graph.n, graph.edges, start);
}
