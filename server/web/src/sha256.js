// SHA-256 and HMAC over bytes. Browsers offer crypto.subtle only on https and on localhost; a
// phone on the local network has neither.

const K = new Uint32Array(64);
const H0 = new Uint32Array(8);
(() => {
  const frac = (x) => Math.floor((x - Math.floor(x)) * 4294967296);
  let n = 0;
  for (let c = 2; n < 64; c++) {
    let prime = true;
    for (let d = 2; d * d <= c; d++) if (c % d === 0) { prime = false; break; }
    if (!prime) continue;
    if (n < 8) H0[n] = frac(Math.sqrt(c));
    K[n++] = frac(Math.cbrt(c));
  }
})();

const rot = (x, n) => (x >>> n) | (x << (32 - n));

export function sha256(bytes) {
  const size = ((bytes.length + 8) >> 6) + 1 << 6;
  const data = new Uint8Array(size);
  data.set(bytes);
  data[bytes.length] = 0x80;
  const view = new DataView(data.buffer);
  view.setUint32(size - 8, Math.floor(bytes.length / 536870912));
  view.setUint32(size - 4, (bytes.length << 3) >>> 0);
  const h = H0.slice();
  const w = new Uint32Array(64);
  for (let at = 0; at < size; at += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getUint32(at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (rot(a, 7) ^ rot(a, 18) ^ (a >>> 3)) + (rot(b, 17) ^ rot(b, 19) ^ (b >>> 10));
    }
    let [a, b, c, d, e, f, g, k] = h;
    for (let i = 0; i < 64; i++) {
      const t1 = (k + (rot(e, 6) ^ rot(e, 11) ^ rot(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
      const t2 = ((rot(a, 2) ^ rot(a, 13) ^ rot(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      k = g; g = f; f = e; e = (d + t1) | 0; d = c; c = b; b = a; a = (t1 + t2) | 0;
    }
    [a, b, c, d, e, f, g, k].forEach((v, i) => { h[i] += v; });
  }
  const out = new Uint8Array(32);
  const dv = new DataView(out.buffer);
  h.forEach((v, i) => dv.setUint32(4 * i, v));
  return out;
}

export const hex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');
export const utf8 = (text) => new TextEncoder().encode(text);

export function hmacSha256(key, message) {
  const block = new Uint8Array(64);
  block.set(key.length > 64 ? sha256(key) : key);
  const join = (pad, tail) => {
    const all = new Uint8Array(64 + tail.length);
    block.forEach((b, i) => { all[i] = b ^ pad; });
    all.set(tail, 64);
    return sha256(all);
  };
  return join(0x5c, join(0x36, message));
}
