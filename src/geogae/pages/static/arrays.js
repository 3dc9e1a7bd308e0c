// Arrays as packing.py writes them, and data elements of the page.

const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

const ARRAY_TYPES = {
  u1: Uint8Array, i1: Int8Array, u2: Uint16Array, i2: Int16Array, i4: Int32Array, i8: BigInt64Array,
  f4: Float32Array, f8: Float64Array,
};

function readData(name) {
  const element = document.getElementById(`data-${name}`);
  return element ? JSON.parse(element.textContent) : null;
}

function unpack(packed) {
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(packed.data) : bytesOf(atob(packed.data));
  return new ARRAY_TYPES[packed.type](bytes.buffer);
}

function bytesOf(binary) {
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// Rows of different lengths: ragged.row(i) is the part of row i, `columns` numbers wide.
function unpackRagged(packed) {
  const lengths = unpack(packed.lengths), values = unpack(packed.values);
  const columns = packed.values.shape.length > 1 ? packed.values.shape[1] : 1;
  const starts = new Uint32Array(lengths.length + 1);
  for (let i = 0; i < lengths.length; i++) starts[i + 1] = starts[i] + Number(lengths[i]) * columns;
  return { columns, row: (i) => values.subarray(starts[i], starts[i + 1]) };
}
