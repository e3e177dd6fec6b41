// The order book that a stream of the channel book builds (docs/contract/streams.md), checked by chain and checksum.

const crcTable = new Uint32Array(256).map((_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

export function crc32(text) {
  let c = 0xffffffff;
  for (let i = 0; i < text.length; i++) c = crcTable[(c ^ text.charCodeAt(i)) & 0xff] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

// Prices of one pair have the same number of digits, so that text compares like numbers.
const compare = (a, b) => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);

// Book is one order book, rebuilt from a snapshot and updates. It is ready while its bids and
// asks have passed their checks.
export class Book {
  constructor() { this.ready = false; }

  // apply returns 'shown' for a change that passed its checks, 'same' for a message without
  // one, and 'broken' when a snapshot is needed.
  apply(m) {
    if (m.type === 'heartbeat') {
      if (this.ready && m.seq === this.seq) return 'same';
      this.ready = false;
      return 'broken';
    }
    const { bids, asks, seq, epoch } = m;
    if (m.type === 'snapshot') Object.assign(this, { bids, asks, seq, epoch, ready: true });
    else if (m.type === 'update') {
      if (!this.ready || m.seq <= this.seq) return 'same';
      this.ready = m.prevSeq === this.seq;
      if (!this.ready) return 'broken';
      m.bids.forEach((l) => this.put(this.bids, l, -1));
      m.asks.forEach((l) => this.put(this.asks, l, 1));
      this.seq = m.seq;
    } else return 'same';
    this.lastChecksum = m.checksum;
    this.ready = this.checksum() === m.checksum;
    return this.ready ? 'shown' : 'broken';
  }

  put(side, level, direction) {
    let lo = 0, hi = side.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (compare(side[mid][0], level[0]) * direction < 0) lo = mid + 1; else hi = mid;
    }
    const found = lo < side.length && side[lo][0] === level[0];
    if (/^[0.]+$/.test(level[1])) { if (found) side.splice(lo, 1); } else side.splice(lo, found ? 1 : 0, level);
  }

  checksum() {
    const text = (side) => side.slice(0, 10).map(([p, a]) => `${p}:${a}`).join(',');
    return crc32(`${text(this.bids)}|${text(this.asks)}`);
  }
}
