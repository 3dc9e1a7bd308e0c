// Categories by their ranks: what one expects of a node or an edge, given the graph and all that was read by then.
//
// The counterpart of the Python side's context tables; hashes are 64-bit integers that wrap, as BigInt.

const LEVELS = 8, ROUNDS = 3, BLEND = 2.0;

const wrap = (value) => BigInt.asIntN(64, value);

function mix(value) {  // the finaliser of splitmix64
  value = wrap((value + 1n) * -7046029254386353131n);
  value = wrap((value ^ (value >> 30n)) * -4658895280553007687n);
  value = wrap((value ^ (value >> 27n)) * -7723592293110705685n);
  return value ^ (value >> 31n);
}

class ContextTables {
  constructor(packed) {
    Object.assign(this, packed);
    for (const name of ["contexts", "codes", "counts"]) this[name] = unpack(packed[name]);
  }

  // Codes of nodes and of edges, row by row, out of what the slots carry behind their balls.
  read({ n, edges }, slots, width, dim) {
    const nodeColumns = this.node_sizes.length, edgeColumns = this.edge_sizes.length, count = edges.length / 2;
    const order = Array.from({ length: count }, (_, e) => e);
    order.sort((a, b) => edges[2 * a + 1] - edges[2 * b + 1] || edges[2 * a] - edges[2 * b]);  // by the later end
    const around = neighbourhoods(n, edges);
    const walk = { n, around, colours: structureHashes(around), label: new Array(n).fill(0n), kind: new Array(count).fill(-1n) };
    const rank = (at) => rint(2 ** clamp(Math.fround(slots[at] / this.unit), 0, 40) - 1);
    const nodeCodes = new Int32Array(n * nodeColumns), edgeCodes = new Int32Array(count * edgeColumns);
    for (let i = 0; i < n; i++) {
      for (let column = 0; column < nodeColumns; column++) {
        const contexts = nodeContexts(walk, i, wrap(walk.label[i] + mix(BigInt(column))));
        const code = this.ranked(contexts, this.node_sizes[column], rank(i * width + dim + column));
        nodeCodes[i * nodeColumns + column] = code;
        walk.label[i] = mix(walk.label[i] ^ mix(BigInt(code + 1)));
      }
    }
    const places = new Int32Array(n);  // edges to earlier nodes so far
    for (const e of order) {
      const i = edges[2 * e], j = edges[2 * e + 1];
      const place = Math.min(places[j]++, Math.max(0, this.edge_places - 1));
      const begin = j * width + dim + this.node_width + this.edge_width * place;
      let own = 0n;
      for (let column = 0; column < edgeColumns; column++) {
        const contexts = edgeContexts(walk, i, j, mix(wrap(own + BigInt(column))));
        const code = this.ranked(contexts, this.edge_sizes[column], rank(begin + column));
        edgeCodes[e * edgeColumns + column] = code;
        own = mix(own ^ mix(BigInt(code + 1)));
      }
      walk.kind[e] = own;
    }
    return { nodeCodes, edgeCodes };
  }

  // The code that has this rank among what is expected in these contexts, from coarse to fine.
  ranked(contexts, size, rank) {
    const expected = new Float64Array(size).fill(1 / size);
    for (const context of contexts) {
      const begin = this.first(context);
      let end = begin, total = 0;
      while (end < this.contexts.length && this.contexts[end] === context) total += Number(this.counts[end++]);
      if (end === begin) continue;
      for (let code = 0; code < size; code++) expected[code] *= BLEND / (total + BLEND);
      for (let seen = begin; seen < end; seen++) {
        const code = Number(this.codes[seen]);
        if (code < size) expected[code] += Number(this.counts[seen]) / (total + BLEND);
      }
    }
    let best = 0;
    for (let taken = 0, wanted = clamp(rank, 0, size - 1); taken <= wanted; taken++) {
      best = 0;
      for (let code = 1; code < size; code++) if (expected[code] > expected[best]) best = code;
      if (taken < wanted) expected[best] = -1;
    }
    return best;
  }

  first(value) {  // where the value stands among the ascending contexts, or would
    let low = 0, high = this.contexts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.contexts[middle] < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function neighbourhoods(n, edges) {  // of each node, [neighbour, edge] pairs
  const around = Array.from({ length: n }, () => []);
  for (let e = 0; e < edges.length / 2; e++) {
    around[edges[2 * e]].push([edges[2 * e + 1], e]);
    around[edges[2 * e + 1]].push([edges[2 * e], e]);
  }
  return around;
}

function structureHashes(around) {  // hashes of the structure around each node: its degree, then that of its neighbours, …
  const rounds = [around.map((arcs) => BigInt(arcs.length))];
  for (let depth = 0; depth < ROUNDS; depth++) {
    const before = rounds[depth], mixed = before.map(mix);
    rounds.push(before.map((own, i) => {
      let sum = 0n;
      for (const [j] of around[i]) sum += mixed[j];
      return mix(own ^ mix(wrap(sum)));
    }));
  }
  return rounds;
}

function nodeContexts({ around, colours, label }, i, own) {
  let near = 0n, far = 0n;
  for (const [j] of around[i]) {
    if (j >= i) continue;
    near += mix(label[j]);
    let beyond = 0n;
    for (const [k] of around[j]) if (k < i) beyond += mix(label[k]);
    far += mix(label[j] ^ mix(wrap(beyond)));
  }
  const n = mix(wrap(near)), f = mix(wrap(far)), c = colours.map((round) => round[i]);
  const contexts = [0n, c[0], c[0] ^ n, c[1] ^ n, c[0] ^ f, c[1] ^ f, c[2] ^ f, c[3] ^ f];
  return contexts.map((context, level) => mix(mix(wrap(context + BigInt(level))) ^ own));
}

function edgeContexts({ around, colours, label, kind }, i, j, own) {
  const sums = new Array(LEVELS).fill(0n);
  for (const [end, other] of [[i, j], [j, i]]) {
    let edges = 0n, near = 0n;
    for (const [k, e] of around[end]) {
      const known = kind[e];
      if (known !== -1n) edges += mix(known);
      if (k !== other) near += mix(label[k] ^ mix(known));
    }
    const e = mix(wrap(edges)), named = label[end];
    sums[1] += mix(named);
    sums[2] += mix(named ^ mix(colours[0][end]));
    for (const [level, depth] of [[3, 0], [4, 1], [6, 2], [7, 3]]) sums[level] += mix(named ^ mix(colours[depth][end] ^ e));
    sums[5] += mix(named ^ mix(wrap(near)));
  }
  return sums.map((sum, level) => mix(mix(wrap(sum + BigInt(level))) ^ ~own));
}
