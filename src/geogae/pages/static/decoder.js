// The decoder: z → descriptor and code → numbers of each slot → balls → core → graph.
//
// Sums are float64 and slots are rounded to float32, as in Python: the two agree to the last edge.

function rint(x) {  // to the nearest whole number, halves to the even one, as NumPy and torch round
  const below = Math.floor(x), rest = x - below;
  if (rest === 0.5) return below % 2 === 0 ? below : below + 1;
  return rest < 0.5 ? below : below + 1;
}

const softplus = (raw) => Math.max(raw, 0) + Math.log1p(Math.exp(-Math.abs(raw)));

// Pairs [i, j], i < j, of balls that intersect (equation 4); a slot has `width` numbers, the first `dim` are its ball.
function intersections(slots, n, width, dim) {
  const radii = new Float64Array(n), pairs = [];
  for (let i = 0; i < n; i++) radii[i] = softplus(slots[i * width + dim - 1]);
  for (let i = 0; i < n; i++) {
    for (let j = i + 1; j < n; j++) {
      let square = 0;
      for (let k = 0; k < dim - 1; k++) {
        const difference = slots[i * width + k] - slots[j * width + k];
        square += difference * difference;
      }
      if (0.75 * (radii[i] + radii[j]) - Math.sqrt(square) > 0) pairs.push([i, j]);
    }
  }
  return pairs;
}

class Decoder {
  constructor(packed) {
    Object.assign(this, packed);
    this.mean = unpack(packed.mean);
    this.axes = unpack(packed.axes);
    this.slopes = unpack(packed.slopes);
    [this.described, this.slopeLength] = packed.slopes.shape;
    this.components = packed.axes.shape[0];
    this.features = packed.features.map((feature) => new SLOT_FEATURES[feature.name](feature));
  }

  // {n, edges: [i, j, i, j, …], nodeCodes, edgeCodes, balls (ballCount rows of dim), truncated}
  decode(z) {
    const described = z.subarray(0, this.described), code = z.subarray(this.described).map((number) => number / this.unit);
    const asked = clamp(rint(code[0]), 1, 2 ** 31), n = Math.min(asked, this.max_nodes, this.slots);
    const slots = this.slotsOf(described, code, n), { width, dim } = this;
    let graph = {  // a core: categories of nodes and edges, and what was folded into each node
      n, pairs: intersections(slots, n, width, dim), nodes: null, kinds: null, counts: Array.from({ length: n }, () => []),
    };
    let begin = dim;
    for (const feature of this.features) {
      feature.read(graph, (i, k) => slots[i * width + begin + k]);
      begin += feature.width;
    }
    for (const feature of [...this.features].reverse()) graph = feature.unfold(graph, this.max_nodes + 1);
    const balls = new Float32Array(n * dim);
    for (let i = 0; i < n; i++) balls.set(slots.subarray(i * width, i * width + dim), i * dim);
    const truncated = asked > n || graph.n > this.max_nodes;
    return { ...flattened(graph, Math.min(graph.n, this.max_nodes)), balls, ballCount: n, dim, truncated };
  }

  // mean + descriptor @ slopes + components @ axes, of the first `count` slots
  slotsOf(described, code, count) {
    const length = count * this.width, whole = this.slots * this.width, sums = new Float64Array(length);
    const add = (along, rows, begin, end) => { for (let i = 0; i < end; i++) sums[i] += along * rows[begin + i]; };
    for (let k = 0; k < this.components; k++) if (code[1 + k] !== 0) add(code[1 + k], this.axes, k * whole, length);
    described.forEach((along, k) => add(along, this.slopes, k * this.slopeLength, Math.min(length, this.slopeLength)));
    for (let i = 0; i < length; i++) sums[i] += this.mean[i];
    return Float32Array.from(sums);
  }
}

// The graph of the first n nodes, edges in ascending order.
function flattened({ pairs, nodes, kinds }, n) {
  const order = pairs.map((_, e) => e).filter((e) => pairs[e][0] < n && pairs[e][1] < n);
  const key = pairs.map(([i, j]) => i * n + j);
  order.sort((a, b) => key[a] - key[b]);
  const nodeColumns = nodes?.[0]?.length ?? 0, edgeColumns = kinds?.[0]?.length ?? 0;
  return {
    n, edges: order.flatMap((e) => pairs[e]), nodeColumns, edgeColumns,
    nodeCodes: nodeColumns ? nodes.slice(0, n).flat() : null,
    edgeCodes: edgeColumns ? order.flatMap((e) => kinds[e]) : null,
  };
}
