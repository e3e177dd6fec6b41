// One WebSocket for the page: subscriptions survive reconnects, books are rebuilt from
// snapshot and updates and checked at every step.
import { credentials, hasKeys, syncClock } from './api.js';

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

const patience = 5000; // ms: a subscription speaks once a second at least
const firstWait = 500, longestWait = 10000; // ms before a lost connection is opened again

// Stream tells a subscriber nothing of the time without a connection: each subscription
// begins again with a snapshot, and who shows more than the snapshot has must fill the gap.
export class Stream {
  constructor(onState) {
    this.onState = onState;
    this.subs = new Map(); // channel|pair -> {request, handler}
    this.wait = firstWait;
    this.sent = []; // times of the last second's messages
    this.open();
    const retry = () => { if (this.again !== undefined && !document.hidden) this.open(); };
    window.addEventListener('online', retry);
    document.addEventListener('visibilitychange', retry);
  }

  open() {
    clearTimeout(this.again);
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    const socket = new WebSocket(`${scheme}://${location.host}/ws`);
    const mine = (run) => (e) => { if (this.socket === socket) run(e); }; // a connection that was given up is not heard
    Object.assign(this, { socket, queue: [], signedIn: false, again: undefined });
    socket.onopen = mine(() => {
      this.wait = firstWait;
      this.onState(true);
      this.auth();
      for (const s of this.subs.values()) this.request(s.request);
    });
    socket.onmessage = mine((e) => { this.heard = true; this.receive(JSON.parse(e.data)); });
    socket.onclose = mine(() => this.lose());
    this.listen();
  }

  // listen gives up a connection that is silent: after a sleep, or when the network is gone,
  // nothing closes it.
  listen() {
    this.heard = false;
    this.silence = setTimeout(() => { if (this.heard || !this.subs.size) this.listen(); else this.lose(); }, patience);
  }

  // lose gives the connection up, without waiting for the other side, and opens another one later.
  lose() {
    const { socket } = this;
    clearTimeout(this.silence);
    this.socket = undefined;
    socket.close();
    this.onState(false);
    this.again = setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(this.wait * 2, longestWait);
  }

  // auth signs in with the exchange's current time, which a virtual clock may have moved far.
  async auth() {
    const { socket } = this;
    if (!hasKeys()) return;
    await syncClock().catch(() => {}); // then with the time that is known
    if (this.socket === socket) this.send({ op: 'auth', ...credentials('GET', '/ws') });
  }

  // request sends a subscription; a private one waits for the sign-in.
  request(r) { if (this.signedIn || !isPrivate(r.channel)) this.send(r); }

  // send queues a message: pairs of one channel go in one, and no more in a second than
  // the server takes. While the socket is closed nothing is: opening sends every subscription.
  send(message) {
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    const last = this.queue.at(-1);
    if (last?.pairs && message.pairs && alike(last, message)) last.pairs = last.pairs.concat(message.pairs);
    else this.queue.push({ ...message });
    this.timer ??= setTimeout(() => this.flush(), 0);
  }

  flush() {
    this.timer = undefined;
    const now = performance.now();
    this.sent = this.sent.filter((at) => now - at < 1000);
    while (this.queue.length && this.sent.length < perSecond && this.socket?.readyState === WebSocket.OPEN) {
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
