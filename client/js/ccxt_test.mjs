// What the ccxt class does by itself, on a stand-in for ccxt: node client/js/ccxt_test.mjs. With
// ccxt it is tested in client/thirdparty.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeTickHive } from './ccxt.mjs';
import { crc32 } from './tickhive.mjs';

// standIn has the few helpers of ccxt's Exchange that the tests reach, and an error class of
// each name that is asked for.
function standIn() {
  class Exchange {
    constructor(config) { Object.assign(this, this.describe(), config, { clients: {} }); }
    describe() { return {}; }
    deepExtend(a, b) { return { ...a, ...b }; }
    parseNumber(text) { return Number(text); }
    implodeHostname(url) { return url.replace('{hostname}', this.hostname); }
    implodeParams(path, params) { return path.replace(/\{(\w+)\}/g, (_, name) => params[name]); }
    extractParams(path) { return [...path.matchAll(/\{(\w+)\}/g)].map((m) => m[1]); }
    omit(params, names) { return Object.fromEntries(Object.entries(params).filter(([name]) => !names.includes(name))); }
    json(value) { return JSON.stringify(value); }
    urlencode(params) { return String(new URLSearchParams(params)); }
    milliseconds() { return 1767225600000; }
    checkRequiredCredentials() {}
    spawn(run) { run(); }
    async fetch(url, method, headers, body) { return { url, method, headers, body }; }
  }
  const errors = { Exchange };
  return new Proxy(errors, { get: (all, name) => (all[name] ??= { [name]: class extends Error {} }[name]) });
}
const ccxt = standIn();
const x = new (makeTickHive(ccxt))({ hostname: 'h:1', apiKey: 'pub', secret: 'privKEY456' });

test('requests are signed over their target and body', async () => {
  const send = async (...request) => { const r = x.sign(...request); return x.fetch(r.url, r.method, r.headers, r.body); };
  const get = await send('api/orders/{orderId}', 'private', 'GET', { orderId: 5 });
  assert.equal(get.url, 'http://h:1/api/orders/5?decimals=string');
  assert.match(get.headers['API-Signature'], /^[0-9a-f]{64}$/);
  assert.equal(get.headers['API-Timestamp'], '1767225600000');
  const post = await send('api/orders', 'private', 'POST', { side: 'buy' });
  assert.deepEqual([post.url, post.body, post.headers['Content-Type']], ['http://h:1/api/orders', '{"side":"buy"}', 'application/json']);
  assert.equal((await send('api/time', 'public', 'GET', {})).headers['API-Signature'], undefined);
});

test('codes become errors of ccxt', () => {
  for (const [code, message, url, field, name] of [
    ['INSUFFICIENT_FUNDS', '', '', null, 'InsufficientFunds'], ['WOULD_CROSS', '', '', null, 'OrderImmediatelyFillable'],
    ['NOT_FOUND', 'There is no pair A_B.', '/api/tickers', null, 'BadSymbol'], ['NOT_FOUND', 'There is no such order.', '/api/orders/5', null, 'OrderNotFound'],
    ['NOT_FOUND', 'No such path.', '/api/x', null, 'BadRequest'], ['UNAUTHORIZED', '', '', 'API-Timestamp', 'InvalidNonce'],
    ['UNAUTHORIZED', '', '', 'API-Signature', 'AuthenticationError'], ['OUTCOME_UNKNOWN', '', '', null, 'RequestTimeout'],
    ['RATE_LIMIT', '', '', null, 'RateLimitExceeded'], ['INTERNAL', '', '', null, 'ExchangeError'],
  ]) {
    assert.throws(() => x.handleErrors(400, '', url, 'GET', {}, '', { code, message, field }), (e) => e instanceof ccxt[name], `${code} ${field}`);
  }
  assert.equal(x.handleErrors(502, '', '', 'GET', {}, '<h1>', undefined), undefined);
});

test('an order that cannot be placed as asked is an InvalidOrder', () => {
  assert.throws(() => x.localOrder('A/B', 'stop_market', 'sell', '1', undefined, {}), (e) => e instanceof ccxt.InvalidOrder && /stopPrice/.test(e.message));
  assert.equal(x.localOrder('A/B', 'limit', 'buy', 1e-7, '5', {}).amount, '0.0000001');
});

test('a book that fails its checks is not shown, and is asked for again', () => {
  const sent = [], shown = [];
  const client = { url: 'ws', futures: {}, send: (m) => sent.push(m), resolve: (value, hash) => shown.push(hash) };
  const line = x.streamsOf('ws');
  const message = (m, bids) => ({ channel: 'book', currencyPairCode: 'A_B', time: 1, bids, asks: [], checksum: crc32('9.0:1.0|'), ...m });
  x.handleMessage(client, message({ type: 'snapshot', seq: 1 }, [['9.0', '1.0']])); // no call watches it
  line.books['book:A_B'] = Object.assign(new (class extends Object {})(), { apply: () => 'shown' });
  x.handleMessage(client, message({ type: 'snapshot', seq: 1 }, [['9.0', '1.0']]));
  assert.deepEqual(shown, ['book:A_B']);
  line.books['book:A_B'].apply = () => 'broken';
  for (let i = 0; i < 3; i++) x.handleMessage(client, message({ type: 'update', prevSeq: 7, seq: 8 }, []));
  assert.deepEqual([shown.length, sent.length, sent[0].op], [1, 1, 'resync']);
});

test('what comes between two calls waits, up to a limit', () => {
  x.options = { recent: 3 };
  const client = { url: 'ws', futures: {}, resolve(rows) { this.rows = rows; } };
  for (let i = 0; i < 5; i++) x.deliver(client, 'h', [i]);
  assert.deepEqual(x.streamsOf('ws').waiting.h, [2, 3, 4]);
  client.futures.h = true;
  x.deliver(client, 'h', [5]);
  assert.deepEqual([client.rows, x.streamsOf('ws').waiting.h], [[3, 4, 5], undefined]);
});
