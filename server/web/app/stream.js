// One WebSocket for the page: subscriptions survive reconnects, books are rebuilt from
// snapshot and updates and checked at every step.
import { credentials, hasKeys } from './api.js';

const crcTable = new Uint32Array(256).map((_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

export function crc32(text) {
  let c = 0xffffffff;
  for (let i = 0; i < text.length; i++) c = crcTable[(c ^ text.charCodeAt(i)) & 0xff] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

// comparePrices orders decimals of one pair, which all have the same number of digits.
const comparePrices = (a, b) => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
const isZero = (amount) => /^[0.]+$/.test(amount);

export class Book {
  constructor() { this.bids = []; this.asks = []; this.seq = 0; this.ready = false; }

  // apply answers false when the book failed a check and needs a new snapshot.
  apply(m) {
    if (m.type === 'snapshot') {
      this.bids = m.bids; this.asks = m.asks; this.seq = m.seq; this.ready = true;
    } else if (m.type === 'update') {
      if (!this.ready || m.seq <= this.seq) return true;
      if (m.prevSeq !== this.seq) return this.fail();
      m.bids.forEach((l) => put(this.bids, l, -1));
      m.asks.forEach((l) => put(this.asks, l, 1));
      this.seq = m.seq;
    } else if (m.type === 'heartbeat') {
      return !this.ready || m.seq === this.seq || this.fail();
    } else return true;
    return this.checksum() === m.checksum || this.fail();
  }

  fail() { this.ready = false; return false; }

  checksum() {
    const side = (ls) => ls.slice(0, 10).map((l) => `${l[0]}:${l[1]}`).join(',');
    return crc32(`${side(this.bids)}|${side(this.asks)}`);
  }
}

function put(side, level, direction) {
  let lo = 0, hi = side.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (comparePrices(side[mid][0], level[0]) * direction < 0) lo = mid + 1; else hi = mid;
  }
  const found = lo < side.length && side[lo][0] === level[0];
  if (isZero(level[1])) { if (found) side.splice(lo, 1); } else side.splice(lo, found ? 1 : 0, level);
}

const isPrivate = (channel) => ['orders', 'fills', 'balances'].includes(channel);
const perSecond = 16; // messages sent; the server takes 20
const alike = (a, b) => JSON.stringify({ ...a, pairs: 0 }) === JSON.stringify({ ...b, pairs: 0 });

export class Stream {
  constructor(onState) {
    this.onState = onState;
    this.subs = new Map(); // channel|pair -> {request, handler}
    this.wait = 500;
    this.sent = []; // times of the last second's messages
    this.open();
  }

  open() {
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    this.queue = [];
    this.signedIn = false;
    this.socket = new WebSocket(`${scheme}://${location.host}/ws`);
    this.socket.onopen = () => {
      this.wait = 500;
      this.onState(true);
      this.auth();
      for (const s of this.subs.values()) this.request(s.request);
    };
    this.socket.onmessage = (e) => this.receive(JSON.parse(e.data));
    this.socket.onclose = () => {
      this.onState(false);
      setTimeout(() => this.open(), this.wait);
      this.wait = Math.min(this.wait * 2, 10000);
    };
  }

  auth() { if (hasKeys()) this.send({ op: 'auth', ...credentials('GET', '/ws') }); }

  // request sends a subscription; a private one waits for the sign-in.
  request(r) { if (this.signedIn || !isPrivate(r.channel)) this.send(r); }

  // send queues a message: pairs of one channel go in one, and no more in a second than
  // the server takes. While the socket is closed nothing is: opening sends every subscription.
  send(message) {
    if (this.socket.readyState !== WebSocket.OPEN) return;
    const last = this.queue.at(-1);
    if (last?.pairs && message.pairs && alike(last, message)) last.pairs = last.pairs.concat(message.pairs);
    else this.queue.push({ ...message });
    this.timer ??= setTimeout(() => this.flush(), 0);
  }

  flush() {
    this.timer = undefined;
    const now = performance.now();
    this.sent = this.sent.filter((at) => now - at < 1000);
    while (this.queue.length && this.sent.length < perSecond && this.socket.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify(this.queue.shift()));
      this.sent.push(now);
    }
    if (this.queue.length) this.timer = setTimeout(() => this.flush(), 100);
  }

  subscribe(channel, pair, handler, options = {}) {
    const request = { op: 'subscribe', channel, decimals: 'string', ...options };
    if (pair) request.pairs = [pair];
    this.subs.set(`${channel}|${pair ?? ''}`, { request, handler });
    this.request(request);
  }

  unsubscribe(channel, pair) {
    if (!this.subs.delete(`${channel}|${pair ?? ''}`)) return;
    this.send({ op: 'unsubscribe', channel, pairs: pair ? [pair] : undefined });
  }

  resync(channel, pair) { this.send({ op: 'resync', channel, pairs: [pair] }); }

  receive(m) {
    if (m.type === 'error') {
      console.error(`stream: ${m.code}: ${m.message}`);
      if (m.code === 'UNAUTHORIZED') this.signedIn = false; // the key ended: private channels wait for the next one
    }
    if (m.type === 'authenticated') {
      this.signedIn = true;
      for (const s of this.subs.values()) if (isPrivate(s.request.channel)) this.send(s.request);
      return;
    }
    this.subs.get(`${m.channel}|${m.currencyPairCode ?? ''}`)?.handler(m);
  }
}
