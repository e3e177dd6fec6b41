// The client's streams against a made-up exchange, on a clock of its own: node client/js/streams_test.mjs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TickHive, crc32 } from './tickhive.mjs';

async function settled() {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => { setImmediate(resolve); });
}

// clock takes the place of setTimeout; pass runs what is due.
const clock = { now: 0, timers: new Map(), next: 1 };
globalThis.setTimeout = (run, ms) => {
  clock.timers.set(clock.next, { at: clock.now + ms, run });
  return clock.next++;
};
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

// exchange is a client whose sockets are kept, with what was sent on each. rest has the rows that each list answers.
function exchange(options) {
  clock.timers.clear();
  const sockets = [], rest = {}, asked = [];
  class Socket {
    constructor(url) { this.url = url; this.sent = []; sockets.push(this); }
    send(text) {
      assert.ok(this.opened && !this.closed, 'sent on a socket that is not open');
      this.sent.push(JSON.parse(text));
    }
    close() { this.closed = true; }
    open() { this.opened = true; this.onopen(); return this; }
    say(m) { this.onmessage({ data: JSON.stringify({ currencyPairCode: 'A_B', time: 1, ...m }) }); }
    get last() { return this.sent.at(-1); }
    acknowledge() {
      const { channel, id = null } = this.last;
      this.say({ type: 'subscribed', channel, id, epoch: 'e' });
    }
    book(seq, wrong = 0) {
      const bids = [['99.0', '1.0']], checksum = crc32('99.0:1.0|') + wrong;
      this.say({ channel: 'book', type: 'snapshot', seq, epoch: 'e', bids, asks: [], checksum });
    }
  }
  globalThis.fetch = async (url) => {
    const { pathname, searchParams } = new URL(url);
    asked.push(`${pathname} ${searchParams.get('sinceDate') ?? ''}`.trim());
    const rows = rest[pathname];
    if (rows instanceof Error) throw rows;
    const status = rows === undefined ? 404 : 200;
    return { ok: status === 200, status, headers: new Headers(), json: async () => rows ?? { code: 'NOT_FOUND' } };
  };
  const x = new TickHive({ WebSocket: Socket, retry: [1000, 4000], ...options });
  x.sign = async () => ({ 'API-PublicKey': 'k', 'API-Timestamp': '1', 'API-Nonce': 'n', 'API-Signature': 's' });
  return { x, sockets, rest, asked };
}

// state returns the present state of a promise.
async function state(promise) {
  const outcome = promise.then((value) => ({ value }), (error) => ({ error }));
  await settled();
  return Promise.race([outcome, settled().then(() => 'waits')]);
}
const next = async (follower) => (await follower.next()).value;

test('a pair that does not exist ends the stream with its error', async () => {
  const { x, sockets } = exchange();
  const follower = x.followBook('A_B'), s = sockets[0].open(), answer = state(follower.next());
  s.say({ type: 'error', id: s.last.id, code: 'NOT_FOUND', message: 'There is no pair A_B.' });
  assert.equal((await answer).error?.code, 'NOT_FOUND');
  assert.deepEqual([await follower.next(), s.closed, clock.timers.size], [{ value: undefined, done: true }, true, 0]);
});

test('a book that failed is asked for again until it is right, once a second', async () => {
  const { x, sockets } = exchange();
  const follower = x.followBook('A_B', { depth: 25 }), s = sockets[0].open();
  assert.deepEqual([s.last.depth, s.last.interval, s.last.decimals], [25, 100, 'string']);
  s.book(0); // before the acknowledgement: of something else
  s.acknowledge();
  s.book(1);
  assert.deepEqual(await next(follower), {
    type: 'snapshot', pair: 'A_B', seq: 1, time: 1, bids: [['99.0', '1.0']], asks: [],
  });
  const waits = follower.next();
  s.say({ channel: 'book', type: 'update', prevSeq: 5, seq: 6, bids: [], asks: [], checksum: 0 });
  const resyncs = () => s.sent.filter((r) => r.op === 'resync').length;
  assert.equal(resyncs(), 1);
  s.say({ type: 'error', id: null, channel: '', currencyPairCode: null, code: 'RATE_LIMIT' });
  for (let i = 0; i < 4; i++) { pass(1000); s.book(7, 1); s.book(7, 1); }
  assert.equal(resyncs(), 5);
  assert.equal(await state(waits), 'waits');
  s.book(8);
  assert.equal((await state(waits)).value?.value.seq, 8);
  pass(3000);
  assert.equal(resyncs(), 5);
  follower.close();
});

test('a slow reader of a book gets the newest one', async () => {
  const { x, sockets } = exchange();
  const follower = x.followBook('A_B'), s = sockets[0].open();
  s.acknowledge();
  s.book(1);
  for (const seq of [2, 3]) {
    const bids = [['99.0', `${seq}.0`]], checksum = crc32(`99.0:${seq}.0|`);
    s.say({ channel: 'book', type: 'update', prevSeq: seq - 1, seq, bids, asks: [], checksum });
  }
  const { type, seq, bids } = await next(follower);
  assert.deepEqual([type, seq, bids], ['snapshot', 3, [['99.0', '3.0']]]);
  assert.equal(await state(follower.next()), 'waits');
  follower.close();
});

test('after a broken line a book goes on from its seq', async () => {
  const { x, sockets } = exchange();
  const follower = x.followBook('A_B');
  sockets[0].open().acknowledge();
  sockets[0].book(4);
  await next(follower);
  sockets[0].onclose({ code: 1006 });
  assert.deepEqual(await next(follower), { type: 'lost', reason: 'The connection was closed (1006).' });
  pass(1000);
  const { fromSeq, epoch } = sockets[1].open().last;
  assert.deepEqual([fromSeq, epoch], [4, 'e']);
  follower.close();
});

test('a line that cannot be opened is tried again, later and later, at each address', () => {
  const { x, sockets } = exchange({ base: ['http://a', 'http://b'] });
  const follower = x.followTicker('A_B'), tried = [];
  for (const ms of [1000, 2000, 4000, 4000]) {
    sockets.at(-1).onclose();
    pass(ms - 1);
    tried.push(sockets.length);
    pass(1);
    tried.push(sockets.length);
  }
  assert.deepEqual(tried, [1, 2, 2, 3, 3, 4, 4, 5]);
  assert.deepEqual(sockets.map((s) => s.url), ['a', 'b', 'a', 'b', 'a'].map((host) => `ws://${host}/ws`));
  follower.close();
});

test('a line that is silent is given up', async () => {
  const { x, sockets } = exchange();
  const follower = x.followBook('A_B');
  sockets[0].open().acknowledge();
  sockets[0].book(4);
  await next(follower);
  for (let i = 0; i < 20; i++) { pass(1000); sockets[0].say({ channel: 'book', type: 'heartbeat', seq: 4 }); }
  assert.equal(sockets.length, 1);
  pass(12000);
  assert.ok(sockets.length > 1 && sockets[0].closed);
  assert.match((await next(follower)).reason, /silent for 5000 ms/);
  assert.equal(sockets.at(-1).open().last.fromSeq, 4);
  sockets[0].onclose(); // late: the old connection has no listeners any more
  const n = sockets.length;
  pass(2000);
  assert.equal(sockets.length, n);
  follower.close();
});

test('close leaves nothing behind: no call that waits, no timer, no line', async () => {
  for (const lost of [false, true]) {
    const { x, sockets } = exchange();
    const follower = x.followTicker('A_B');
    sockets[0].open();
    if (lost) sockets[0].onclose();
    if (lost) assert.equal((await next(follower)).type, 'lost');
    const waits = state(follower.next());
    follower.close();
    sockets[0].onclose();
    pass(60000);
    const end = { value: undefined, done: true };
    assert.deepEqual([sockets.length, clock.timers.size, (await waits).value], [1, 0, end]);
  }
});

test('an error event of a socket is listened to', () => {
  const { x, sockets } = exchange();
  const follower = x.followTicker('A_B');
  assert.equal(typeof sockets[0].onerror, 'function'); // without one, some libraries end the process
  follower.close();
});

test('without a WebSocket the error says what to do', () => {
  const x = new TickHive();
  x.WebSocket = undefined;
  assert.throws(() => x.privateStream(), /Node 22.*--experimental-websocket.*npm install ws/);
});

test('the loop over a stream ends it', async () => {
  const { x, sockets } = exchange();
  const done = (async () => { for await (const e of x.followTicker('A_B')) return e; })();
  const s = sockets[0].open();
  s.acknowledge();
  const window = { high24h: '2.0', low24h: '0.5', quoteVolume24h: '3.0' };
  s.say({ channel: 'ticker', type: 'snapshot', ticker: { price: '1.0' }, ...window });
  assert.deepEqual(await done, { type: 'snapshot', pair: 'A_B', time: 1, ticker: { price: '1.0', ...window } });
  assert.ok(s.closed);
});

test('each trade is shown once, over a lost line and a line that starts over', async () => {
  const { x, sockets } = exchange();
  const follower = x.followTrades('A_B'), trades = (...ids) => ids.map((tradeId) => ({ tradeId }));
  const say = (s, type, ...ids) => s.say({ channel: 'trades', type, trades: trades(...ids) });
  const shows = async (...want) => {
    const { type, trades: shown, lost } = await next(follower);
    assert.deepEqual([type, lost, ...shown.map((t) => t.tradeId)], want);
  };
  const begin = (s) => { s.open().acknowledge(); return s.last.fromTradeId; };
  assert.equal(begin(sockets[0]), undefined);
  say(sockets[0], 'snapshot', 5, 6);
  say(sockets[0], 'update', 7);
  await shows('snapshot', 0, 5, 6);
  await shows('update', 0, 7);
  sockets[0].onclose();
  pass(1000);
  assert.equal((await next(follower)).type, 'lost');
  assert.equal(begin(sockets[1]), 8);
  say(sockets[1], 'snapshot', 8, 9);
  await shows('update', 0, 8, 9);
  say(sockets[1], 'snapshot', 12, 13); // the line was slow: what is between is asked for
  assert.equal(sockets[1].last.fromTradeId, 10);
  sockets[1].acknowledge();
  say(sockets[1], 'snapshot', 11, 12, 13); // the exchange no longer has 10
  await shows('update', 1, 11, 12, 13);
  follower.close();
});

test('candles that ended while there was no line are read over REST', async () => {
  const { x, sockets, rest, asked } = exchange();
  const follower = x.followCandles('A_B', 'minute');
  const at = (minute) => ({ date: `2026-01-01T00:0${minute}:00`, open: '1' });
  const say = (s, type, minute, closed) => s.say({ channel: 'candles.minute', type, candle: at(minute), closed });
  const shows = async (...want) => {
    const { type, candle, closed } = await next(follower);
    assert.deepEqual([type, candle?.date.slice(15, 16), closed], want);
  };
  sockets[0].open().acknowledge();
  say(sockets[0], 'snapshot', 1, false);
  say(sockets[0], 'update', 1, true);
  say(sockets[0], 'update', 2, false);
  await shows('snapshot', '1', false);
  await shows('update', '1', true);
  await shows('update', '2', false);
  sockets[0].onclose();
  pass(1000);
  assert.equal((await next(follower)).type, 'lost');
  rest['/api/ohlc'] = [2, 3, 4].map(at);
  sockets[1].open().acknowledge();
  say(sockets[1], 'snapshot', 4, false);
  say(sockets[1], 'update', 4, true);
  await shows('update', '2', true);
  await shows('update', '3', true);
  await shows('update', '4', false);
  await shows('update', '4', true);
  assert.deepEqual(asked, ['/api/ohlc']);
  follower.close();
});

// The account of the tests below.
const date = (second) => `2026-01-01T00:00:${String(second).padStart(2, '0')}.0000000Z`;
const fill = (pair, tradeId, second = 20 + tradeId, orderId = `o${tradeId}`) => (
  { currencyPairCode: pair, tradeId, orderId, dealDateUtc: date(second) });
const order = (id, status, changed = 20) => ({ id, status, dateChanged: date(changed) });

// account opens a line and signs in; begin sends the three snapshots.
async function account(options, from) {
  const e = exchange(options);
  const stream = e.x.privateStream({ from });
  Object.assign(e.rest, { '/api/user/deals': [], '/api/user/orders': [], '/api/user/lists': [] });
  const signIn = async (s) => {
    s.open();
    await settled();
    assert.equal(s.last.op, 'auth');
    s.say({ type: 'authenticated', id: 'auth' });
    assert.deepEqual(s.sent.slice(-3).map((r) => r.channel), ['orders', 'fills', 'balances']);
  };
  const begin = (s, { orders = [], lists = [], time = Date.parse(date(30)) } = {}) => {
    s.say({ type: 'snapshot', channel: 'orders', orders, lists, time });
    s.say({ type: 'snapshot', channel: 'fills', fills: [], time });
    s.say({ type: 'snapshot', channel: 'balances', balances: [], time });
  };
  const says = (s, m) => {
    s.say({ type: 'update', channel: m.fill ? 'fills' : 'orders', time: Date.parse(date(31)), ...m });
  };
  // shows reads as many events as are named: a fill by pair and trade, an order by id and status.
  const word = (v) => {
    if (v.fill) return `${v.fill.currencyPairCode} ${v.fill.tradeId} ${v.fill.orderId}${v.missed ? ' missed' : ''}`;
    const row = v.order ?? v.list;
    if (row) return `${row.id} ${row.status}`;
    return [v.type, v.channel, v.complete].filter((part) => part !== undefined).join(' ');
  };
  const shows = async (...want) => {
    const got = [];
    for (const _ of want) {
      const outcome = await state(stream.next());
      got.push(outcome === 'waits' ? outcome : word(outcome.value.value));
    }
    assert.deepEqual(got, want);
  };
  const cut = async () => {
    e.sockets.at(-1).onclose();
    await shows('lost');
    pass(1000);
    await signIn(e.sockets.at(-1));
    return e.sockets.at(-1);
  };
  await signIn(e.sockets[0]);
  return { ...e, stream, s: e.sockets[0], begin, says, shows, cut };
}
const snapshots = ['snapshot fills true', 'snapshot orders', 'snapshot balances'];

test('each fill is shown once, whether the line or REST says it first', async () => {
  const { s, rest, begin, says, shows, cut, stream, asked } = await account();
  rest['/api/user/deals'] = [fill('A_B', 3), fill('A_B', 2)]; // before the beginning
  assert.equal(stream.cursor, undefined);
  begin(s);
  says(s, { fill: fill('A_B', 3) }); // of before, too
  says(s, { fill: fill('A_B', 4) });
  await shows(...snapshots, 'A_B 4 o4');
  assert.deepEqual(stream.cursor, { date: date(24), pairs: { A_B: { date: date(24), tradeId: 4, orderIds: ['o4'] } } });

  // Trade 5 is one of the account with itself, of which one fill came before the cut. C_D has an older time than the
  // last.
  says(s, { fill: fill('A_B', 5, 25, 'mine') });
  await shows('A_B 5 mine');
  const t = await cut();
  rest['/api/user/deals'] = [
    fill('A_B', 6), fill('A_B', 5, 25, 'own'), fill('A_B', 5, 25, 'mine'), fill('A_B', 4), fill('C_D', 1, 23),
  ];
  begin(t);
  says(t, { fill: fill('A_B', 6) });
  says(t, { fill: fill('A_B', 7) });
  await shows('C_D 1 o1 missed', 'A_B 5 own missed', 'A_B 6 o6 missed', ...snapshots, 'A_B 7 o7', 'waits');
  assert.deepEqual(asked.filter((a) => a.startsWith('/api/user/deals')),
    ['/api/user/deals', '/api/user/deals 2026-01-01T00:00:15.000']); // 10 s before the last
  stream.close();
});

test('an update that comes twice is shown once, and one that is missing costs the line', async () => {
  const { s, begin, says, shows, stream } = await account();
  begin(s);
  await shows(...snapshots);
  for (const [prevSeq, seq] of [[undefined, 1], [1, 2], [1, 2], [undefined, 1], [2, 3]]) {
    says(s, { order: order(`o${seq}`, 'Created'), prevSeq, seq });
  }
  await shows('o1 Created', 'o2 Created', 'o3 Created');
  says(s, { order: order('o5', 'Created'), prevSeq: 4, seq: 5 });
  assert.match((await next(stream)).reason, /A message of orders is missing/);
  stream.close();
});

test('fills that were dropped for a slow line are read, and the states start over', async () => {
  const { s, rest, begin, says, shows, stream } = await account();
  begin(s, { orders: [order('1', 'Created')] });
  await shows(...snapshots);
  says(s, { fill: fill('A_B', 1) });
  await shows('A_B 1 o1');
  rest['/api/user/deals'] = [fill('A_B', 2), fill('A_B', 1)];
  rest['/api/orders/1'] = order('1', 'Completed', 25);
  begin(s);
  await shows('A_B 2 o2 missed', ...snapshots, '1 Completed');
  stream.close();
});

test('what a line said is shown when it is cut while REST is read, and nothing when REST is lost', async () => {
  const { s, rest, begin, says, shows, sockets, stream } = await account();
  begin(s);
  await shows(...snapshots);
  says(s, { fill: fill('A_B', 1) });
  await shows('A_B 1 o1');
  s.onclose();
  await shows('lost');
  const right = [fill('A_B', 2), fill('A_B', 1)];
  const line = async (deals) => {
    pass(4000);
    const t = sockets.at(-1).open();
    await settled();
    t.say({ type: 'authenticated', id: 'auth' });
    rest['/api/user/deals'] = deals;
    begin(t);
    return t;
  };
  const t = await line(right);
  says(t, { fill: fill('A_B', 3) });
  t.onclose();
  assert.equal(sockets.length, 2); // the next line waits for what is read
  await shows('A_B 2 o2 missed', ...snapshots, 'A_B 3 o3', 'lost');
  await line(new TypeError('fetch failed'));
  await shows('waits');
  stream.readers.length = 0;
  await line([fill('A_B', 3), ...right]);
  await shows(...snapshots);
  assert.equal(sockets.length, 4);
  stream.close();
});

test('orders and lists that ended meanwhile are shown, and no older state', async () => {
  const { s, rest, begin, says, shows, cut, stream, asked } = await account();
  begin(s, { orders: [order('1', 'Created'), order('2', 'Created')], lists: [order('9', 'executing')] });
  says(s, { order: order('3', 'Created') });
  await shows(...snapshots, '3 Created');
  const t = await cut();
  rest['/api/user/orders'] = [order('5', 'Created', 29), order('4', 'Canceled', 28), order('3', 'Canceled', 28)];
  rest['/api/orders/1'] = order('1', 'PartiallyExecutedAndCanceled', 28); // 2 is no longer kept
  rest['/api/orders/lists/9'] = { ...order('9', 'done', 28), orders: [] };
  begin(t, { orders: [order('5', 'Created', 29)] });
  says(t, { order: order('3', 'Created', 28) }); // has ended
  says(t, { order: order('5', 'PartiallyCompleted', 28) }); // is older than the snapshot
  says(t, { order: order('5', 'Completed', 30) });
  await shows(...snapshots, '3 Canceled', '4 Canceled', '1 PartiallyExecutedAndCanceled', '9 done');
  await shows('5 Completed', 'waits');
  assert.ok(asked.includes('/api/user/orders 2026-01-01T00:00:21.000'), asked.join()); // 10 s before the last message
  stream.close();
});

test('a stream goes on behind the cursor of an earlier one, or says that it cannot', async () => {
  const from = { date: date(24), pairs: { A_B: { date: date(24), tradeId: 4, orderIds: ['o4'] } } };
  const one = await account({}, from);
  one.rest['/api/user/deals'] = [fill('A_B', 5), fill('A_B', 4)];
  one.begin(one.s);
  await one.shows('A_B 5 o5 missed', ...snapshots);
  one.stream.close();
  const two = await account({}, from);
  two.rest['/api/user/deals'] = [fill('A_B', 6)];
  two.begin(two.s);
  await two.shows('A_B 6 o6 missed', 'snapshot fills false');
  two.stream.close();
  const all = await account({}, {});
  all.rest['/api/user/deals'] = [fill('A_B', 6)];
  all.begin(all.s);
  await all.shows('A_B 6 o6 missed', ...snapshots);
  all.stream.close();
  const text = { A_B: { date: '', tradeId: '1', orderIds: [] } };
  for (const wrong of [{ date: 1 }, { pairs: { A_B: {} } }, { seq: 1 }, { date: '', pairs: text }]) {
    assert.throws(() => exchange().x.privateStream({ from: wrong }), { code: 'INVALID_PARAM', field: 'from' });
  }
});

test('after a restart of its program a stream tells which orders and lists of its fills have ended', async () => {
  const from = { date: date(24), pairs: { A_B: { date: date(24), tradeId: 4, orderIds: ['o4'] } } };
  const { rest, begin, says, shows, cut, s, stream, asked } = await account({}, from);
  rest['/api/user/deals'] = [fill('A_B', 6, 26, 'open'), fill('A_B', 5, 25), fill('A_B', 4)];
  rest['/api/orders/o4'] = order('o4', 'Completed', 24); // the program may have died before it heard so
  const leg = { ...order('o5', 'Completed', 25), listId: 'l' };
  rest['/api/orders/o5'] = leg;
  rest['/api/orders/lists/l'] = { ...order('l', 'done', 25), orders: [leg, order('other', 'Canceled', 25)] };
  const open = { orders: [order('open', 'PartiallyCompleted', 26)] };
  begin(s, open);
  says(s, { order: order('o5', 'Completed', 25) }); // is known
  await shows('A_B 5 o5 missed', 'A_B 6 open missed', ...snapshots);
  await shows('o5 Completed', 'o4 Completed', 'other Canceled', 'l done', 'waits');
  stream.readers.length = 0;
  const before = asked.length;
  begin(await cut(), open);
  await shows(...snapshots, 'waits');
  assert.deepEqual(asked.slice(before).map((a) => a.split(' ')[0]),
    ['/api/user/deals', '/api/user/orders', '/api/user/lists']); // nothing is asked for twice
  stream.close();
});

test('the ends of many orders and lists are read from their lists, and few by their ids', async () => {
  const { rest, begin, shows, s, asked, stream } = await account({}, {});
  const ids = Array.from({ length: 300 }, (_, i) => i);
  rest['/api/user/deals'] = ids.map((i) => fill('A_B', 300 - i, 20));
  const row = (i) => ({ ...order(`o${i}`, 'Completed'), listId: `l${i}` });
  const list = (i) => ({ ...order(`l${i}`, 'done'), orders: [] });
  rest['/api/user/orders'] = [order('x', 'Canceled'), ...ids.map((i) => row(300 - i))];
  rest['/api/user/lists'] = ids.map((i) => list(300 - i));
  for (const i of ids.slice(2, 12)) { // 1 is no longer kept
    rest[`/api/orders/o${i}`] = row(i);
    rest[`/api/orders/lists/l${i}`] = list(i);
  }
  begin(s);
  await shows(...ids.map((i) => `A_B ${i + 1} o${i + 1} missed`), ...snapshots);
  const told = [];
  for (let e; (e = await Promise.race([next(stream), settled()]));) told.push((e.order ?? e.list).id);
  const want = ids.slice(2).concat(300).flatMap((i) => [`o${i}`, `l${i}`]);
  assert.deepEqual(told.sort(), want.sort());
  assert.ok(asked.length < 25, `${asked.length} requests`);
  stream.close();
});

test('a line that cannot be opened is told, once', async () => {
  const { x, sockets } = exchange();
  for (const follow of [() => x.privateStream(), () => x.followTicker('A_B')]) {
    const follower = follow(), s = sockets.at(-1);
    s.onclose({ code: 1006 });
    assert.deepEqual(await next(follower), { type: 'lost', reason: `There is no connection to ${s.url} (1006).` });
    pass(1000);
    sockets.at(-1).onclose({ code: 1006 });
    assert.equal(await state(follower.next()), 'waits');
    follower.close();
  }
});

test('directly after a start the key is tried again; a wrong or deleted one ends the stream', async () => {
  const { x, sockets } = exchange();
  const stream = x.privateStream(), s = sockets[0].open(), outcome = stream.next().catch((error) => error);
  for (let i = 1; i <= 4; i++) {
    await settled();
    assert.equal(s.sent.length, i);
    s.say({ type: 'error', id: 'auth', code: 'UNAUTHORIZED', message: 'No such key.' });
    pass(1000);
  }
  assert.deepEqual([(await outcome).message, s.closed], ['UNAUTHORIZED: No such key.', true]);
  const two = await account();
  two.begin(two.s);
  await two.shows(...snapshots);
  two.s.say({ type: 'error', id: null, channel: 'orders', code: 'UNAUTHORIZED', message: 'The key was deleted.' });
  assert.match((await state(two.stream.next())).error.message, /deleted/);
  const three = await account();
  three.rest['/api/user/deals'] = undefined; // 404
  three.begin(three.s);
  assert.equal((await state(three.stream.next())).error.code, 'NOT_FOUND');
});

test('a reader that is slow stops the line, and loses nothing', async () => {
  const { s, rest, begin, says, shows, sockets, stream } = await account();
  begin(s);
  await settled();
  for (let i = 1; i <= 20000; i++) if (!s.closed) says(s, { fill: fill('A_B', i, 20) });
  assert.deepEqual([s.closed, stream.events.length, clock.timers.size], [true, 10000, 0]);
  let read = 0, last = 0;
  rest['/api/user/deals'] = Array.from({ length: 20 }, (_, i) => fill('A_B', 10010 - i, 20));
  for (; stream.events.length; read++) last = (await next(stream)).fill?.tradeId ?? last;
  assert.deepEqual([read, last, sockets.length], [10000, 9997, 2]);
  const t = sockets[1].open();
  await settled();
  t.say({ type: 'authenticated', id: 'auth' });
  begin(t);
  await shows(...Array.from({ length: 13 }, (_, i) => `A_B ${9998 + i} o${9998 + i} missed`), ...snapshots);
  stream.close();
});
