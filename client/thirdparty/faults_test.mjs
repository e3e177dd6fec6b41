// Every kind of fault, as clients of others see it: requests by ccxt's class of Binance, messages of streams by ws.
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import ccxt from 'ccxt';
import WebSocket from 'ws';
import { at, binance, id, limit, native, symbol } from './common.mjs';

const x = binance({ options: { defaultType: 'spot', fetchMarkets: { types: ['spot'] } } });
after(() => x.close());

async function internal(method, path, body) {
  const answer = await fetch(`${at.internal}/internal/v1${path}`, { method, body: body && JSON.stringify(body) });
  assert.equal(answer.status, 200, await answer.clone().text());
  return answer.json();
}
const rule = (text) => internal('POST', '/faults', { rules: [text] });
const applied = async () => (await internal('GET', '/faults')).rules.reduce((n, r) => n + r.applied, 0);
afterEach(() => internal('DELETE', '/faults'));

// failed returns the error of a request, of the class that ccxt has for it.
const failed = async (request, type) => {
  const error = await request.then(() => assert.fail('the request has an answer'), (e) => e);
  assert.ok(error instanceof type, `${error.constructor.name}: ${error.message}`);
  return error;
};
const timed = async (request) => {
  const from = performance.now();
  return [await request, performance.now() - from];
};

test('requests', async (t) => {
  await x.loadMarkets();
  const faulty = (name, text, see) => t.test(name, async () => {
    await rule(`${text} listener=binance`);
    await see();
    assert.ok(await applied() > 0, 'no fault has happened');
  });
  await faulty('latency', 'latency route=/api/v3/depth delay=700ms', async () => {
    const [book, ms] = await timed(x.fetchOrderBook(symbol));
    assert.ok(book.bids.length > 0 && ms >= 700, `${ms} ms`);
  });
  await faulty('error status', 'status route=/api/v3/depth status=503', async () => {
    assert.match((await failed(x.fetchOrderBook(symbol), ccxt.OperationFailed)).message, /-1001/);
  });
  await faulty('429', 'rate-limit route=/api/v3/depth retry-after=7', async () => {
    await failed(x.fetchOrderBook(symbol), ccxt.DDoSProtection);
    assert.equal(x.last_response_headers['Retry-After'], '7');
  });
  await faulty('418', 'status route=/api/v3/depth status=418 retry-after=60', async () => {
    const start = Date.now(), { message } = await failed(x.fetchOrderBook(symbol), ccxt.DDoSProtection);
    const until = Number(message.match(/"code":-1003,"msg":"[^"]* banned until (\d+)\./)[1]);
    assert.ok(until >= start + 60_000 && until <= Date.now() + 60_000, message);
    assert.equal(x.last_response_headers['Retry-After'], '60');
  });
  await faulty('closed', 'close route=/api/v3/depth', () => failed(x.fetchOrderBook(symbol), ccxt.NetworkError));
  await faulty('half-open', 'half-open route=/api/v3/depth delay=10s', async () => {
    const { timeout } = x;
    x.timeout = 3000;
    await failed(x.fetchOrderBook(symbol), ccxt.RequestTimeout);
    x.timeout = timeout;
  });
  await faulty('truncated', 'truncate route=/api/v3/depth keep=100', async () => {
    assert.match((await failed(x.fetchOrderBook(symbol), Error)).message, /closed|terminated/);
  });
  await faulty('stale', 'stale route=/api/v3/depth age=30s', async () => {
    const { nonce } = await x.fetchOrderBook(symbol);
    const seq = async () => Number((await fetch(`${at.public}/api/marketdata/getaggregator/orderbook?ticker_id=BTC_USDT`)).headers.get('X-Seq'));
    for (const limit = Date.now() + 20000; await seq() <= nonce; ) assert.ok(Date.now() < limit, 'the book has not changed');
    assert.equal((await x.fetchOrderBook(symbol)).nonce, nonce);
  });
  await faulty('lost acknowledgement', 'lost-ack method=POST route=/api/v3/order count=1', async () => {
    const { bid } = await x.fetchTicker(symbol);
    await failed(x.createOrder(symbol, 'limit', 'buy', 0.001, bid * 0.9, { newClientOrderId: 'lost' }), ccxt.NetworkError);
    const order = await x.fetchOrder('', symbol, { origClientOrderId: 'lost' });
    assert.deepEqual([order.status, order.clientOrderId], ['open', 'lost']);
    await x.cancelOrder(order.id, symbol);
  });
  await faulty('skew', 'skew skew=-90s', async () => {
    const [seen, real] = [await x.fetchTime(), (await fetch(`${at.public}/api/time`)).headers.get('Date')];
    const behind = new Date(real).getTime() - seen;
    assert.ok(behind > 80000 && behind < 100000, `${behind} ms behind`);
  });
});

// socket returns an open subscription to the book, and its messages with their times.
async function socket() {
  const s = new WebSocket(`${at.public.replace('http', 'ws')}/ws`), seen = [], closed = [];
  s.on('message', (text) => {
    const m = JSON.parse(text);
    if (m.type === 'update') seen.push({ ...m, at: performance.now() });
  });
  s.on('close', (code) => closed.push(code));
  await new Promise((open, fail) => s.once('open', open).once('error', fail));
  const ready = new Promise((go) => s.on('message', (text) => JSON.parse(text).type === 'snapshot' && go()));
  s.send(JSON.stringify({ op: 'subscribe', channel: 'book', pairs: ['BTC_USDT'], depth: 0, interval: 100 }));
  await ready;
  return { s, seen, closed };
}

const pause = (ms) => new Promise((go) => { setTimeout(go, ms); });
const until = async (what) => {
  for (const end = Date.now() + limit; !what(); ) {
    assert.ok(Date.now() < end, `waited ${limit / 1000} s for ${what}`);
    await pause(50);
  }
};

// The two sockets have the same subscription, and one message to one of them is faulty: the other one is the measure.
test('messages of streams', async (t) => {
  // An order that comes and goes keeps the book moving: no heartbeat, which could get the fault, is due.
  const { bid } = await x.fetchTicker(symbol);
  let ended = false;
  const moving = (async () => {
    for (; !ended; await pause(150)) {
      const { id: order } = await x.createOrder(symbol, 'limit', 'buy', 0.001, bid * 0.95);
      await pause(150);
      await x.cancelOrder(order, symbol);
    }
  })();
  t.after(() => { ended = true; return moving; });
  const faulty = (name, text, see) => t.test(name, async () => {
    const both = [await socket(), await socket()];
    const more = (n) => {
      const mark = both.map((c) => c.seen.length);
      return until(() => both.every((c, i) => c.seen.length >= mark[i] + n));
    };
    try {
      await more(2);
      await rule(`${text} channel=book count=1`);
      for (const end = Date.now() + limit; await applied() === 0; ) assert.ok(Date.now() < end, 'no fault has happened');
      await see(both, more);
    } finally {
      for (const c of both) c.s.terminate();
    }
  });
  // compared returns the messages of the socket with the fault and of the other one, over the seqs that both have.
  const compared = async (both, more) => {
    await more(4);
    const from = Math.max(...both.map((c) => c.seen[0].seq)), to = Math.min(...both.map((c) => c.seen.at(-1).seq));
    return both.map((c) => c.seen.filter((m) => m.seq >= from && m.seq <= to)).sort((p, q) => broken(q) - broken(p));
  };
  const differ = ([a, b], member) => a.filter((m) => b.some((n) => n.seq === m.seq && n.prevSeq === m.prevSeq && n[member] !== m[member])).length;
  const seqs = (l) => l.map((m) => m.seq);
  const broken = (l) => l.filter((m, i) => i > 0 && m.prevSeq !== l[i - 1].seq).length;

  await faulty('dropped', 'drop', async (...seen) => {
    const [bad, good] = await compared(...seen);
    assert.deepEqual([good.length - bad.length, broken(bad), broken(good)], [1, 1, 0]);
  });
  await faulty('repeated', 'repeat', async (...seen) => {
    const [bad, good] = await compared(...seen);
    assert.deepEqual([bad.length - good.length, new Set(seqs(bad)).size, broken(good)], [1, good.length, 0]);
  });
  await faulty('reordered', 'reorder', async (...seen) => {
    const [bad, good] = await compared(...seen);
    assert.notDeepEqual(seqs(bad), seqs(good));
    assert.deepEqual(seqs(bad).sort((p, q) => p - q), seqs(good));
  });
  await faulty('gap', 'gap', async (...seen) => {
    const [bad, good] = await compared(...seen);
    assert.deepEqual([seqs(bad), broken(bad), broken(good)], [seqs(good), 1, 0]);
  });
  await faulty('checksum', 'checksum', async (...seen) => {
    const two = await compared(...seen);
    assert.deepEqual([differ(two, 'checksum'), broken(two[0]), broken(two[1])], [1, 0, 0]);
  });
  await faulty('delayed', 'delay delay=2s', async (both, more) => {
    await more(3);
    const [a, b] = both.map((c) => new Map(c.seen.map((m) => [m.seq, m.at])));
    const apart = [...a].filter(([seq]) => b.has(seq)).map(([seq, ms]) => Math.abs(ms - b.get(seq)));
    assert.ok(Math.max(...apart) >= 1500, `at most ${Math.max(...apart)} ms apart`);
  });
  await faulty('closed', 'close', async (both) => {
    await until(() => both.some((c) => c.closed.length > 0));
    assert.deepEqual(both.flatMap((c) => c.closed), [1006]); // no close frame
  });
  await faulty('half-open', 'half-open', async (both) => {
    const before = both.map((c) => c.seen.length);
    await until(() => both.some((c, i) => c.seen.length > before[i] + 5));
    assert.equal(both.filter((c, i) => c.seen.length === before[i]).length, 1);
    assert.deepEqual(both.map((c) => c.s.readyState), [WebSocket.OPEN, WebSocket.OPEN]);
  });
});

test('without rules nothing is faulty', async () => {
  assert.equal((await native('/api/status')).faults, undefined);
  const { headers } = await fetch(`${at.binance}/api/v3/depth?symbol=${id}`);
  assert.equal(headers.get('X-Fault'), null);
});
