// The class's streams against a made-up exchange, on a clock of its own: node client/js/streams_test.mjs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TickHive, crc32 } from './tickhive.mjs';

const settled = () => new Promise((resolve) => setImmediate(resolve));

// clock takes the place of setTimeout; pass runs what is due.
const clock = { now: 0, timers: new Map(), next: 1 };
globalThis.setTimeout = (run, ms) => { clock.timers.set(clock.next, { at: clock.now + ms, run }); return clock.next++; };
globalThis.clearTimeout = (id) => { clock.timers.delete(id); };
function pass(ms) {
  for (const end = clock.now + ms; ;) {
    const [id, t] = [...clock.timers].filter(([, t]) => t.at <= end).sort(([, a], [, b]) => a.at - b.at)[0] ?? [];
    if (!t) { clock.now = end; return; }
    clock.timers.delete(id);
    clock.now = t.at;
    t.run();
  }
}

// exchange is a class whose sockets are kept, with what was sent on each.
function exchange() {
  clock.timers.clear();
  const sockets = [];
  class Socket {
    constructor(url) { this.url = url; this.sent = []; sockets.push(this); }
    send(text) { assert.ok(this.opened && !this.closed, 'sent on a socket that is not open'); this.sent.push(JSON.parse(text)); }
    close() { this.closed = true; }
    open() { this.opened = true; this.onopen(); return this; }
    say(m) { this.onmessage({ data: JSON.stringify({ channel: 'book', currencyPairCode: 'A_B', time: 1, ...m }) }); }
    get last() { return this.sent.at(-1); }
    acknowledge() { this.say({ type: 'subscribed', id: this.last.id ?? null, epoch: 'e' }); }
    snapshot(seq, levels = 1, wrong = 0) {
      const bids = Array.from({ length: levels }, (_, i) => [`${99 - i}.0`, '1.0']);
      const top = bids.slice(0, 10).map(([p, a]) => `${p}:${a}`).join(',');
      this.say({ type: 'snapshot', seq, epoch: 'e', bids, asks: [], checksum: crc32(`${top}|`) + wrong });
    }
  }
  return { x: new TickHive({ WebSocket: Socket }), sockets };
}

// state returns the present state of a promise.
async function state(promise) {
  const outcome = promise.then((value) => ({ value }), (error) => ({ error }));
  await settled();
  return Promise.race([outcome, settled().then(() => 'waits')]);
}

test('a new limit for a known symbol is kept: more levels are subscribed to, fewer are cut', async () => {
  const { x, sockets } = exchange();
  const first = x.watchOrderBook('A/B', 5);
  const s = sockets[0].open();
  s.acknowledge();
  s.snapshot(1, 10);
  assert.equal((await first).bids.length, 5);
  const wider = x.watchOrderBook('A/B', 20);
  assert.equal(s.last.op, 'subscribe');
  assert.equal(s.last.depth, 25);
  assert.equal(s.last.fromSeq, undefined);
  s.say({ type: 'update', prevSeq: 1, seq: 2, bids: [], asks: [], checksum: 0 }); // of the stream that is left
  s.acknowledge();
  s.snapshot(2, 25);
  assert.equal((await wider).bids.length, 20);
  const narrow = x.watchOrderBook('A/B', 2), same = x.watchOrderBook('A/B', 20);
  s.snapshot(3, 25);
  assert.equal((await narrow).bids.length, 2);
  assert.equal((await same).bids.length, 20);
  s.snapshot(4, 25);
  assert.equal((await x.watchOrderBook('A/B', 22)).bids.length, 22); // the depth has them already
  assert.equal(sockets.length, 1);
  x.close();
});

test('a limit that grows before the line is open is subscribed to at once', async () => {
  const { x, sockets } = exchange();
  const narrow = x.watchOrderBook('A/B', 5), wide = x.watchOrderBook('A/B', 50);
  const s = sockets[0].open();
  assert.deepEqual(s.sent.map((r) => r.depth), [100]);
  s.acknowledge();
  s.snapshot(1, 60);
  assert.equal((await narrow).bids.length, 5);
  assert.equal((await wide).bids.length, 50);
  x.close();
});

test('a pair that does not exist is refused to every call', async () => {
  const { x, sockets } = exchange();
  for (let i = 0; i < 2; i++) {
    const book = x.watchOrderBook('A/B');
    assert.equal(sockets.length, i + 1, 'no request was sent');
    const s = sockets[i].open(), answer = state(book);
    s.say({ type: 'error', id: s.last.id ?? null, code: 'NOT_FOUND', message: 'There is no pair A_B.' });
    assert.equal((await answer).error?.code, 'NOT_FOUND');
    assert.ok(s.closed);
  }
  assert.equal(clock.timers.size, 0);
});

test('a book that failed is asked for again until it is right, once a second', async () => {
  const { x, sockets } = exchange();
  const first = x.watchOrderBook('A/B');
  const s = sockets[0].open();
  s.acknowledge();
  s.snapshot(1);
  await first;
  const next = x.watchOrderBook('A/B');
  s.say({ type: 'update', prevSeq: 5, seq: 6, bids: [], asks: [], checksum: 0 });
  const resyncs = () => s.sent.filter((r) => r.op === 'resync').length;
  assert.equal(resyncs(), 1);
  s.say({ type: 'error', id: null, channel: '', currencyPairCode: null, code: 'RATE_LIMIT' });
  for (let i = 0; i < 4; i++) { pass(1000); s.snapshot(7, 1, 1); s.snapshot(7, 1, 1); }
  assert.equal(resyncs(), 5);
  assert.equal(await state(next), 'waits');
  s.snapshot(8);
  assert.equal((await state(next)).value?.nonce, 8);
  pass(3000);
  assert.equal(resyncs(), 5);
  x.close();
});

test('after a broken line it goes on from its seq', async () => {
  const { x, sockets } = exchange();
  const first = x.watchOrderBook('A/B');
  sockets[0].open().acknowledge();
  sockets[0].snapshot(4);
  await first;
  sockets[0].onclose();
  pass(1000);
  const s = sockets[1].open();
  assert.equal(s.last.fromSeq, 4);
  assert.equal(s.last.epoch, 'e');
  x.close();
});

test('a line that is silent is given up', async () => {
  const { x, sockets } = exchange();
  const first = x.watchOrderBook('A/B');
  sockets[0].open().acknowledge();
  sockets[0].snapshot(4);
  await first;
  for (let i = 0; i < 20; i++) { pass(1000); sockets[0].say({ type: 'heartbeat', seq: 4 }); }
  assert.equal(sockets.length, 1);
  pass(12000);
  assert.ok(sockets.length > 1 && sockets[0].closed);
  assert.equal(sockets.at(-1).open().last.fromSeq, 4);
  sockets[0].onclose(); // late: the old connection has no listeners any more
  const n = sockets.length;
  pass(2000);
  assert.equal(sockets.length, n);
  x.close();
});

test('close leaves nothing behind: no call that waits, no timer, no line', async () => {
  for (const lost of [false, true]) {
    const { x, sockets } = exchange();
    const book = state(x.watchOrderBook('A/B'));
    sockets[0].open();
    if (lost) sockets[0].onclose();
    x.close();
    sockets[0].onclose();
    pass(60000);
    assert.equal(sockets.length, 1);
    assert.equal(clock.timers.size, 0);
    assert.ok((await book).error, 'the call waits for ever');
  }
});

test('an error event of a socket is listened to', () => {
  const { x, sockets } = exchange();
  x.watchOrderBook('A/B').catch(() => {});
  assert.equal(typeof sockets[0].onerror, 'function'); // without one, some libraries end the process
  x.close();
});

test('orders and lists that have changed are kept for the next call, on one line that signs in', async () => {
  const { x, sockets } = exchange();
  Object.assign(x, { apiKey: 'k', secret: 's' });
  const o = (id, status) => ({ id, status, currencyPairCode: 'A_B', date: '2026-01-01T00:00:00.0000000Z', initialAmount: '1', amount: '1', filledAmount: '0' });
  const l = (id, status) => ({ id, status, kind: 'oco', orderIds: [id], currencyPairCode: 'A_B', date: '2026-01-01T00:00:00.0000000Z' });
  const ids = (rows) => rows.map((r) => `${r.id} ${r.status}`);
  const orders = x.watchOrders(), lists = x.watchLists();
  const signed = async (s) => { s.open(); while (!s.sent.length) await settled(); return s.last; };
  const s = sockets[0];
  assert.equal((await signed(s)).op, 'auth');
  s.say({ type: 'error', id: 'auth', code: 'UNAUTHORIZED', channel: undefined }); // directly after a start
  pass(1000);
  while (s.sent.length < 2) await settled();
  s.say({ type: 'authenticated', id: 'auth', channel: undefined });
  assert.deepEqual([s.last.op, s.last.channel], ['subscribe', 'orders']);
  const say = (m) => s.say({ channel: 'orders', currencyPairCode: undefined, ...m });
  say({ type: 'snapshot', orders: [o('1', 'Created')], lists: [l('1', 'executing')] });
  assert.deepEqual([ids(await orders), ids(await lists)], [['1 open'], ['1 open']]);
  say({ type: 'update', order: o('1', 'Canceled') });
  say({ type: 'update', list: l('1', 'done') });
  say({ type: 'heartbeat' });
  assert.deepEqual([ids(await x.watchOrders()), ids(await x.watchLists()), sockets.length], [['1 canceled'], ['1 closed'], 1]);
  const waits = x.watchOrders();
  s.onclose();
  pass(1000);
  assert.equal((await signed(sockets[1])).op, 'auth');
  sockets[1].say({ channel: 'orders', currencyPairCode: undefined, type: 'snapshot', orders: [o('2', 'Pending')], lists: [] });
  assert.deepEqual(ids(await waits), ['2 open']);
  const never = x.watchLists();
  sockets[1].say({ type: 'error', id: null, code: 'UNAUTHORIZED', message: 'The key has ended.', channel: undefined });
  await assert.rejects(never, /The key has ended/);
  assert.equal(await state(x.watchOrders()), 'waits'); // a call after it starts again
  assert.equal(sockets.length, 3);
  const ends = x.watchLists();
  x.close();
  await assert.rejects(ends, /closed/);
});
