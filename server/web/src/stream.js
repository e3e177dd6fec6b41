// One WebSocket for the page: subscriptions survive reconnects.
import { credentials, hasKeys, longestWindow, syncClock } from './api.js';
import { replayed } from './dom.js';

export const wentBack = 'went-back'; // in the session storage: a replay has begun again, and the page is loaded anew

const isPrivate = (channel) => ['orders', 'fills', 'balances'].includes(channel);
const perSecond = 16; // messages sent; the server accepts 20
const alike = (a, b) => JSON.stringify({ ...a, pairs: 0 }) === JSON.stringify({ ...b, pairs: 0 });

const patience = 5000; // ms; a subscription receives a message or a heartbeat every second
const firstWait = 500, longestWait = 10000; // ms before a lost connection is opened again
const beatMs = 250; // market data are handed over together: what they change is drawn in one frame
const startMs = 1200; // until a refused sign-in is tried again

// Stream does not report what happened while there was no connection: each subscription starts
// over with a snapshot. A subscriber that shows more than the snapshot holds must fill the gap.
export class Stream {
  constructor(onState) {
    this.up = undefined;
    this.listeners = new Set([onState]); // called with true after each connect, with false when it is lost
    this.onState = (up) => { this.up = up; for (const f of this.listeners) f(up); };
    this.onUnauthorized = () => {};
    this.onGone = () => {}; // called with a pair that was delisted
    this.gone = new Set(); // such pairs: each of their subscriptions ends
    this.subs = new Map(); // channel|pair -> {request, handler}
    this.wait = firstWait;
    this.sent = []; // times of the last second's messages
    this.waiting = []; // market data until the next beat
    this.draws = new Set(); // what is drawn once all of a beat are handed over
    this.asOf = undefined; // the exchange's time of the last message: what the page shows is true of it
    this.open();
    const retry = () => { if (this.again !== undefined && !document.hidden) this.open(); };
    window.addEventListener('online', retry);
    document.addEventListener('visibilitychange', retry);
  }

  open() {
    clearTimeout(this.again);
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    const socket = new WebSocket(`${scheme}://${location.host}/ws`);
    const mine = (run) => (e) => { if (this.socket === socket) run(e); }; // events of a connection that was dropped are ignored
    Object.assign(this, { socket, queue: [], signedIn: false, again: undefined });
    socket.onopen = mine(() => {
      this.wait = firstWait;
      this.reason = undefined;
      this.onState(true);
      this.auth();
      for (const s of this.subs.values()) this.request(s.request);
    });
    socket.onmessage = mine((e) => { this.heard = true; this.receive(JSON.parse(e.data)); });
    socket.onclose = mine(() => this.lose());
    this.listen();
  }

  // listen drops a connection that is silent: after a sleep, or when the network fails, no event
  // closes it.
  listen() {
    this.heard = false;
    this.silence = setTimeout(() => { if (this.heard || !this.subs.size) this.listen(); else this.lose(); }, patience);
  }

  // lose drops the connection without waiting for the server and opens another one later.
  lose() {
    const { socket } = this;
    this.hand();
    clearTimeout(this.silence);
    this.socket = undefined;
    socket?.close();
    this.onState(false);
    this.again = setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(this.wait * 2, longestWait);
  }

  // auth signs with the current time of the exchange, which a virtual clock may have moved far.
  async auth() {
    const { socket } = this;
    if (!hasKeys()) return;
    await syncClock().catch(() => {}); // then with the last known time
    if (this.socket === socket) this.send({ op: 'auth' }); // flush signs: the message may wait, and its time counts
  }

  // forget ends the private subscriptions of a key that the user has forgotten: a new connection takes the place of the one
  // that it signed for. Nothing is lost with it, so nobody hears of it.
  forget() {
    this.hand();
    for (const [key, s] of this.subs) if (isPrivate(s.request.channel)) this.subs.delete(key);
    const { socket } = this;
    clearTimeout(this.silence);
    this.open();
    socket?.close();
  }

  // end closes the connection for good.
  end() {
    this.lose();
    clearTimeout(this.again);
    this.again = undefined;
  }

  // request sends a subscription; a private one waits for the sign-in.
  request(r) { if (this.signedIn || !isPrivate(r.channel)) this.send(r); }

  // send queues a message. Pairs of one channel share a message, and no more messages are sent in a
  // second than the server accepts. A closed socket queues nothing: open sends every subscription.
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
      const message = this.queue.shift();
      this.socket.send(JSON.stringify(message.op === 'auth' ? { ...message, ...credentials('GET', '/ws'), recvWindow: longestWindow } : message));
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
    if (!this.subs.delete(`${channel}|${pair ?? ''}`) || this.gone.has(pair)) return;
    this.send({ op: 'unsubscribe', channel, pairs: pair ? [pair] : undefined });
  }

  resync(channel, pair) { this.send({ op: 'resync', channel, pairs: [pair] }); }

  receive(m) {
    this.asOf = m.time ?? this.asOf;
    if (m.epoch) this.epoch ??= m.epoch;
    if (replayed && m.epoch && m.epoch !== this.epoch) { // the recording has begun again: nothing on the page is true of it
      sessionStorage.setItem(wentBack, m.epoch);
      location.reload();
    }
    const pair = m.currencyPairCode;
    if (m.type === 'error' && m.code === 'NOT_FOUND' && (this.subs.delete(`${m.channel}|${pair}`) || this.gone.has(pair))) {
      this.gone.add(pair);
      this.onGone(pair);
    } else if (m.type === 'error') {
      const first = m.code === 'UNAUTHORIZED' && (m.field === 'timestamp' || !this.signedIn && this.refused !== this.socket);
      if (!first) console.error(`stream: ${m.code}: ${m.message}`);
      if (m.code === 'STALE') this.reason = m.message; // the server closes the connection behind it
      if (first) { // directly after a start the exchange accepts nothing signed for a second, and a replay runs ahead of its time
        this.refused = this.socket;
        setTimeout(() => { if (this.refused === this.socket && !this.signedIn) this.auth(); }, startMs);
      } else if (m.code === 'UNAUTHORIZED') { // the key ended: private channels wait for the next one
        this.signedIn = false;
        this.onUnauthorized(m.message);
      }
    }
    if (m.type === 'authenticated') {
      this.signedIn = true;
      for (const s of this.subs.values()) if (isPrivate(s.request.channel)) this.send(s.request);
      return;
    }
    this.waiting.push(m);
    if (m.type === 'snapshot' || isPrivate(m.channel) || document.hidden) this.hand(); // a hidden page draws nothing, and its timers are slow
    else this.beat ??= setTimeout(() => this.hand(), beatMs);
  }

  // hand gives the messages that wait to their subscribers, in the order in which they came.
  hand() {
    clearTimeout(this.beat);
    this.beat = undefined;
    for (const m of this.waiting.splice(0)) {
      try { this.subs.get(`${m.channel}|${m.currencyPairCode ?? ''}`)?.handler(m); } catch (error) { reportError(error); } // the other subscribers get theirs
    }
    const draws = [...this.draws];
    this.draws.clear();
    for (const draw of draws) draw();
  }

  // afterwards lets a subscriber's handler draw once behind the messages of a beat, however many there are.
  afterwards(draw) { this.draws.add(draw); }
}
