// Categories by their context ranks: what is expected of a node or an edge, given the graph and what was read before.
//
// The counterpart of autoencoders/slots/context_ranks.py; hashes are 64-bit integers that wrap, as BigInt.

const LEVELS = 8, ROUNDS = 3, BLEND = 2.0;

const wrap = (value) => BigInt.asIntN(64, value);

function mix(value) {  // the finaliser of splitmix64
  value = wrap((value + 1n) * -7046029254386353131n);
  value = wrap((value ^ (value >> 30n)) * -4658895280553007687n);
  value = wrap((value ^ (value >> 27n)) * -7723592293110705685n);
  return value ^ (value >> 31n);
}

class Attributes {
  constructor(packed) {
    Object.assign(this, packed);
    for (const name of ["contexts", "codes", "counts"]) this[name] = unpack(packed[name]);
    this.width = packed.node_width + packed.edge_places * packed.edge_width;
  }

  unfold(graph) { return graph; }

  // Categories of the nodes, in their order, then of the edges, by their later end.
  read(graph, slot) {
    if (!this.decoded) return;
    const { n, pairs, counts } = graph, around = neighbourhoods(n, pairs);
    const order = pairs.map((_, e) => e).sort((a, b) => pairs[a][1] - pairs[b][1] || pairs[a][0] - pairs[b][0]);
    const label = new Array(n).fill(0n), kind = new Array(pairs.length).fill(-1n);  // hashes of the categories so far
    const walk = { around, colours: structureHashes(around, counts), label, kind };
    const rank = (i, k) => rint(2 ** clamp(Math.fround(slot(i, k) / this.unit) || 0, 0, 40) - 1);
    graph.nodes = Array.from({ length: n }, (_, i) => this.node_values.map((values, column) => {
      const contexts = nodeContexts(walk, i, wrap(walk.label[i] + mix(BigInt(column))));
      const code = this.ranked(contexts, values.length, rank(i, column));
      walk.label[i] = mix(walk.label[i] ^ mix(BigInt(code + 1)));
      return values[code];
    }));
    const places = new Int32Array(n);  // edges to earlier nodes so far
    graph.kinds = new Array(pairs.length);
    for (const e of order) {
      const [i, j] = pairs[e], place = Math.min(places[j]++, Math.max(0, this.edge_places - 1));
      const begin = this.node_width + this.edge_width * place;
      let own = 0n;
      graph.kinds[e] = this.edge_values.map((values, column) => {
        const contexts = edgeContexts(walk, i, j, mix(wrap(own + BigInt(column))));
        const code = this.ranked(contexts, values.length, rank(j, begin + column));
        own = mix(own ^ mix(BigInt(code + 1)));
        return values[code];
      });
      walk.kind[e] = own;
    }
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

const SLOT_FEATURES = { leaves: Leaves, twins: Twins, attributes: Attributes };

function neighbourhoods(n, pairs) {  // of each node, [neighbour, edge] pairs
  const around = Array.from({ length: n }, () => []);
  pairs.forEach(([i, j], e) => { around[i].push([j, e]); around[j].push([i, e]); });
  return around;
}

function structureHashes(around, counts) {  // around each node: its degree and counts, its neighbours', and so on
  const own = (arcs, i) => counts[i].reduce((hash, count) => mix(hash ^ mix(BigInt(count))), BigInt(arcs.length));
  const rounds = [around.map(own)];
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
  let near = 0n, far = 0n;  // sums of hashes: of sets with repeats
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
  for (const [end, other] of [[i, j], [j, i]]) {  // sums: the two ends have no order
    let edges = 0n, near = 0n;
    for (const [k, e] of around[end]) {
      if (kind[e] !== -1n) edges += mix(kind[e]);
      if (k !== other) near += mix(label[k] ^ mix(kind[e]));
    }
    const e = mix(wrap(edges)), named = label[end];
    sums[1] += mix(named);
    sums[2] += mix(named ^ mix(colours[0][end]));
    for (const [level, depth] of [[3, 0], [4, 1], [6, 2], [7, 3]]) sums[level] += mix(named ^ mix(colours[depth][end] ^ e));
    sums[5] += mix(named ^ mix(wrap(near)));
  }
  return sums.map((sum, level) => mix(mix(wrap(sum + BigInt(level))) ^ ~own));
}
