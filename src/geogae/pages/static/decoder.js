// The decoder: z → numbers of each slot → balls → graph, and what slots carry beside their balls.
//
// Everything is computed in float64 and the slots are rounded to float32, as in Python: the two agree to the last edge.

function rint(x) {  // to the nearest whole number, halves to the even one, as NumPy and torch round
  const below = Math.floor(x), rest = x - below;
  if (rest === 0.5) return below % 2 === 0 ? below : below + 1;
  return rest < 0.5 ? below : below + 1;
}

const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
const softplus = (raw) => Math.max(raw, 0) + Math.log1p(Math.exp(-Math.abs(raw)));

// Pairs i < j of balls (n rows, `width` numbers apart, `dim` of them the ball) that intersect; equation 4.
function intersections(slots, n, width, dim) {
  const radii = new Float64Array(n), edges = [];
  for (let i = 0; i < n; i++) radii[i] = softplus(slots[i * width + dim - 1]);
  for (let i = 0; i < n; i++) {
    for (let j = i + 1; j < n; j++) {
      let square = 0;
      for (let k = 0; k < dim - 1; k++) {
        const difference = slots[i * width + k] - slots[j * width + k];
        square += difference * difference;
      }
      if (0.75 * (radii[i] + radii[j]) - Math.sqrt(square) > 0) edges.push(i, j);
    }
  }
  return edges;
}

class Decoder {
  constructor(packed) {
    Object.assign(this, packed);
    for (const name of ["center", "scale", "mean", "axes"]) this[name] = unpack(packed[name]);
    this.components = packed.axes.shape[0];
    this.context = packed.categories ? new ContextTables(packed.categories) : null;
  }

  // {n, edges: [i, j, i, j, …], balls (ballCount, dim), nodeCodes, edgeCodes, truncated}
  decode(z) {
    const numbers = new Float64Array(this.latent_dim);
    for (let i = 0; i < numbers.length; i++) numbers[i] = z[i] * this.scale[i] + this.center[i];
    const asked = clamp(rint(numbers[0]), 1, 2 ** 31);
    const limit = this.twins ? this.slots : Math.min(this.max_nodes, this.slots);
    const count = Math.min(asked, limit);
    let decoded = { n: count, slots: this.slotsOf(numbers, count), truncated: asked > limit };
    if (this.twins) decoded = this.withTwins(decoded);
    const { n, slots } = decoded, { width, dim } = this;
    const balls = new Float32Array(n * dim);
    for (let i = 0; i < n; i++) balls.set(slots.subarray(i * width, i * width + dim), i * dim);
    const graph = { n, edges: intersections(slots, n, width, dim), balls, ballCount: n, truncated: decoded.truncated };
    if (this.leaves) return this.withLeaves(graph, slots);
    if (this.context) Object.assign(graph, this.context.read(graph, slots, width, dim));
    return graph;
  }

  slotsOf(numbers, count) {  // mean + components @ axes, of the first `count` slots
    const length = count * this.width, whole = this.slots * this.width;
    const sums = new Float64Array(length);
    for (let i = 0; i < length; i++) sums[i] = this.mean[i];
    for (let k = 0; k < this.components; k++) {
      const along = numbers[1 + k], begin = k * whole;
      if (along === 0) continue;
      for (let i = 0; i < length; i++) sums[i] += along * this.axes[begin + i];
    }
    return Float32Array.from(sums);
  }

  withTwins({ n, slots, truncated }) {  // the last number of a slot: further nodes on the same ball
    const { width, max_nodes } = this, of = [];
    let asked = 0;
    for (let slot = 0; slot < n; slot++) {
      const more = clamp(rint(slots[slot * width + width - 1] || 0), 0, max_nodes);
      for (let i = 0; i <= more && of.length < max_nodes; i++) of.push(slot);
      asked += more + 1;
    }
    const nodes = new Float32Array(of.length * width);
    of.forEach((slot, i) => nodes.set(slots.subarray(slot * width, (slot + 1) * width), i * width));
    return { n: of.length, slots: nodes, truncated: truncated || asked > max_nodes };
  }

  withLeaves(core, slots) {  // the number after a ball: nodes that have this one as their only neighbour
    const { width, dim, max_nodes } = this, edges = [...core.edges];
    let n = core.n, asked = core.n;
    for (let i = 0; i < core.n; i++) {
      const count = rint(clamp(slots[i * width + dim] || 0, 0, max_nodes));
      asked += count;
      for (let leaf = 0; leaf < count && n < max_nodes; leaf++) edges.push(i, n++);
    }
    return { ...core, n, edges: sortedPairs(edges, n), truncated: core.truncated || asked > max_nodes };
  }
}

function sortedPairs(edges, n) {
  const keys = new Float64Array(edges.length / 2);
  for (let e = 0; e < keys.length; e++) keys[e] = edges[2 * e] * n + edges[2 * e + 1];
  keys.sort();
  const sorted = [];
  for (const key of keys) sorted.push(Math.floor(key / n), key % n);
  return sorted;
}
