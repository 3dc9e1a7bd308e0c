// Nodes that have no slot of their own: leaves and adjacent twins, counted in the slot that they belong to.

const readCount = (value) => rint(clamp(Number.isNaN(value) ? 0 : value, 0, 2 ** 31 - 1));

class Leaves {
  constructor({ kinds, node_columns }) {
    Object.assign(this, { kinds, columns: node_columns, width: kinds.length });
  }

  read(graph, slot) {
    for (let i = 0; i < graph.n; i++) for (let k = 0; k < this.width; k++) graph.counts[i].push(readCount(slot(i, k)));
  }

  // The core's nodes, then their leaves in the same order, those of one node kind by kind.
  unfold(graph, limit) {
    const { n, nodes, kinds, pairs } = graph;
    const grown = { ...graph, pairs: [...pairs], nodes: nodes && [...nodes], kinds: kinds && [...kinds] };
    const folded = graph.counts.map((counts) => counts.splice(counts.length - this.width));
    for (let i = 0; i < n; i++) {
      for (let k = 0; k < this.width; k++) {
        for (let leaf = 0; leaf < folded[i][k] && grown.n < Math.max(limit, n); leaf++) {
          grown.pairs.push([i, grown.n++]);
          grown.counts.push([]);
          if (nodes) grown.nodes.push(this.kinds[k].slice(0, this.columns));
          if (kinds) grown.kinds.push(this.kinds[k].slice(this.columns));
        }
      }
    }
    return grown;
  }
}

class Twins {
  constructor({ edge }) {
    Object.assign(this, { edge, width: 1 });
  }

  read(graph, slot) {
    for (let i = 0; i < graph.n; i++) graph.counts[i].push(readCount(slot(i, 0)));
  }

  // The core's nodes, then the further twins of each in the same order; twins are joined with all that each other is.
  unfold({ n, pairs, nodes, kinds, counts }, limit) {
    const members = Array.from({ length: n }, (_, i) => [i]), origin = Array.from({ length: n }, (_, i) => i);
    for (let i = 0; i < n; i++) {
      const further = counts[i].pop();
      for (let k = 0; k < further && origin.length < Math.max(limit, n); k++) {
        members[i].push(origin.length);
        origin.push(i);
      }
    }
    const grown = {
      n: origin.length, pairs: [], kinds: kinds && [],
      nodes: nodes && origin.map((i) => nodes[i]), counts: origin.map((i) => [...counts[i]]),
    };
    pairs.forEach(([i, j], e) => {
      for (const a of members[i]) {
        for (const b of members[j]) {
          grown.pairs.push(a < b ? [a, b] : [b, a]);
          if (kinds) grown.kinds.push(kinds[e]);
        }
      }
    });
    for (const own of members) {
      for (let a = 0; a < own.length; a++) {
        for (let b = a + 1; b < own.length; b++) {
          grown.pairs.push([own[a], own[b]]);
          if (kinds) grown.kinds.push(this.edge);
        }
      }
    }
    return grown;
  }
}
