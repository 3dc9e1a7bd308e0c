// Positions of nodes in the plane whose distances follow the shortest paths: stochastic gradient descent on stress
// (Zheng, Pawar and Goodman 2018). A graph that changes a little moves a little: it starts from where it was.

const FULL_LAYOUT = 300;  // nodes up to which every pair is looked at; larger graphs stay where they start

function pathDistances(n, edges) {  // (n, n), -1 where there is no path
  const around = Array.from({ length: n }, () => []);
  for (let e = 0; e < edges.length; e += 2) {
    around[edges[e]].push(edges[e + 1]);
    around[edges[e + 1]].push(edges[e]);
  }
  const distances = new Int16Array(n * n).fill(-1), queue = new Int32Array(n);
  for (let root = 0; root < n; root++) {
    const row = root * n;
    distances[row + root] = 0;
    queue[0] = root;
    for (let head = 0, tail = 1; head < tail; head++) {
      const i = queue[head];
      for (const j of around[i]) {
        if (distances[row + j] >= 0) continue;
        distances[row + j] = distances[row + i] + 1;
        queue[tail++] = j;
      }
    }
  }
  return distances;
}

function randomNumbers(seed) {  // 0 … 1, the same for the same seed
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13; state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5; state >>>= 0;
    return state / 4294967296;
  };
}

// `start` (2n numbers, NaN for nodes without a place) is kept as far as it fits; `gently` where little has changed.
function layout(n, edges, start = null, gently = false) {
  const random = randomNumbers(n * 7919 + edges.length), places = new Float64Array(2 * n);
  for (let i = 0; i < 2 * n; i++) places[i] = start && Number.isFinite(start[i]) ? start[i] : NaN;
  settleNew(n, edges, places, random);
  if (n < 2 || n > FULL_LAYOUT) return centred(places);
  for (let i = 0; i < 2 * n; i++) places[i] += 0.02 * (random() - 0.5);  // twins move apart
  const distances = pathDistances(n, edges), pairs = new Int32Array((n * (n - 1)) / 2);
  let longest = 1, count = 0;
  for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) pairs[count++] = i * n + j;
  for (let k = 0; k < n * n; k++) if (distances[k] > longest) longest = distances[k];
  const apart = 1.6 + 0.25 * Math.sqrt(n);  // of parts that no path joins, at least
  const rounds = gently ? 14 : n > 120 ? 20 : 36, first = gently ? 2 : longest * longest, last = 0.05;
  for (let round = 0; round < rounds; round++) {
    const rate = first * (last / first) ** (round / (rounds - 1));
    for (let k = pairs.length - 1; k > 0; k--) {
      const other = Math.floor(random() * (k + 1)), held = pairs[k];
      pairs[k] = pairs[other];
      pairs[other] = held;
    }
    for (const pair of pairs) {
      const i = Math.floor(pair / n), j = pair % n, steps = distances[pair];
      const wanted = steps < 0 ? apart : steps === 1 ? 1 : 0.866 * steps;  // a chain zigzags: two steps are √3 long
      const x = places[2 * i] - places[2 * j], y = places[2 * i + 1] - places[2 * j + 1];
      const length = Math.hypot(x, y) || 1e-6;
      if (steps < 0 && length >= apart) continue;
      const moved = (Math.min(rate / (wanted * wanted), 1) * (length - wanted)) / (2 * length);
      places[2 * i] -= moved * x; places[2 * i + 1] -= moved * y;
      places[2 * j] += moved * x; places[2 * j + 1] += moved * y;
    }
  }
  return centred(places);
}

// Nodes without a place go beside their neighbours that have one.
function settleNew(n, edges, places, random) {
  const known = Array.from({ length: n }, (_, i) => Number.isFinite(places[2 * i]));
  for (let round = 0; round < n && known.includes(false); round++) {
    const sums = new Map();
    for (let e = 0; e < edges.length; e += 2) {
      for (const [i, j] of [[edges[e], edges[e + 1]], [edges[e + 1], edges[e]]]) {
        if (known[i] || !known[j]) continue;
        const sum = sums.get(i) || [0, 0, 0];
        sums.set(i, [sum[0] + places[2 * j], sum[1] + places[2 * j + 1], sum[2] + 1]);
      }
    }
    if (!sums.size) break;
    for (const [i, [x, y, count]] of sums) {
      const angle = 2 * Math.PI * random();
      places[2 * i] = x / count + Math.cos(angle);
      places[2 * i + 1] = y / count + Math.sin(angle);
      known[i] = true;
    }
  }
  const wide = Math.sqrt(n);
  for (let i = 0; i < n; i++) {
    if (known[i]) continue;
    places[2 * i] = wide * (random() - 0.5);
    places[2 * i + 1] = wide * (random() - 0.5);
  }
}

function centred(places) {
  let x = 0, y = 0;
  const n = places.length / 2;
  for (let i = 0; i < n; i++) { x += places[2 * i] / n; y += places[2 * i + 1] / n; }
  for (let i = 0; i < n; i++) { places[2 * i] -= x; places[2 * i + 1] -= y; }
  return places;
}

// Where to start: the centres of the balls, on their first two axes, as wide as so many nodes are.
function ballStart(balls, count, dim, n) {
  const start = new Float64Array(2 * n).fill(NaN);
  let widest = 1e-9;
  for (let i = 0; i < count; i++) {
    for (let k = 0; k < Math.min(2, dim - 1); k++) widest = Math.max(widest, Math.abs(balls[i * dim + k]));
  }
  const unit = (0.6 * Math.sqrt(n)) / widest;
  for (let i = 0; i < Math.min(n, count); i++) {
    start[2 * i] = unit * balls[i * dim];
    start[2 * i + 1] = dim > 2 ? -unit * balls[i * dim + 1] : 0;
  }
  return start;
}
