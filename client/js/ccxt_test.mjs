// What the ccxt class does by itself, on a stand-in for ccxt: node client/js/ccxt_test.mjs. With
// ccxt it is tested in client/thirdparty.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeTickHive } from './ccxt.mjs';
import { crc32 } from './tickhive.mjs';
import { orderOf, statusOf } from './unified.mjs';

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
  const errors = { Exchange, Precise: { stringAdd: (a, b) => String((Number(a) * 1e9 + Number(b) * 1e9) / 1e9) } };
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
    ['WOULD_TRIGGER', '', '', null, 'OrderImmediatelyFillable'], ['LIST_PRICES', '', '', null, 'InvalidOrder'], ['TRAIL_OUT_OF_RANGE', '', '', null, 'InvalidOrder'],
    ['NOT_FOUND', 'There is no pair A_B.', '/api/tickers', null, 'BadSymbol'], ['NOT_FOUND', 'There is no such order.', '/api/orders/5', null, 'OrderNotFound'],
    ['NOT_FOUND', 'No such path.', '/api/x', null, 'BadRequest'], ['UNAUTHORIZED', '', '', 'API-Timestamp', 'InvalidNonce'],
    ['UNAUTHORIZED', '', '', 'timestamp', 'InvalidNonce'], ['UNAUTHORIZED', '', '', 'nonce', 'InvalidNonce'], ['UNAUTHORIZED', '', '', null, 'AuthenticationError'],
    ['UNAUTHORIZED', '', '', 'API-Signature', 'AuthenticationError'], ['OUTCOME_UNKNOWN', '', '', null, 'RequestTimeout'],
    ['RATE_LIMIT', '', '', null, 'RateLimitExceeded'], ['INTERNAL', '', '', null, 'ExchangeError'],
  ]) {
    assert.throws(() => x.handleErrors(400, '', url, 'GET', {}, '', { code, message, field }), (e) => e instanceof ccxt[name], `${code} ${field}`);
  }
  assert.equal(x.handleErrors(502, '', '', 'GET', {}, '<h1>', undefined), undefined);
});

test('an order that cannot be placed as asked is an InvalidOrder', () => {
  assert.throws(() => x.local(() => orderOf('A/B', 'stop_market', 'sell', '1')), (e) => e instanceof ccxt.InvalidOrder && /stopPrice/.test(e.message));
  assert.equal(x.local(() => orderOf('A/B', 'limit', 'buy', 1e-7, '5')).amount, '0.0000001');
});

// placed returns what a call sends, by path and body.
async function placed(run) {
  const sent = [], y = new (makeTickHive(ccxt))({ hostname: 'h:1', options: { orderAfterCreate: false } });
  const market = { id: 'A_B', symbol: 'A/B', base: 'A', quote: 'B', info: { digitsPrice: 2, digitsAmount: 3 } };
  Object.assign(y, {
    loadMarkets: async () => {}, market: () => market, safeOrder: (o) => o, parseOrder: (o) => o,
    request: async (path, api, method, body) => { sent.push([method, path, JSON.parse(JSON.stringify(body))]); return path.endsWith('lists') ? { id: '7', orders: [{ id: '7' }] } : '"7"'; },
  });
  const answer = await run(y);
  return { sent, answer };
}
const order = (body) => ['POST', 'api/orders', { currencyPairCode: 'A_B', ...body }];

test('the parameters of ccxt become the types of the exchange', async () => {
  for (const [args, body] of [
    [['market', 'sell', 1, undefined, { stopLossPrice: 9 }], { side: 'sell', type: 'stop_market', amount: '1.000', stopPrice: '9.00' }],
    [['limit', 'sell', 1, 10.5, { takeProfitPrice: 11 }], { side: 'sell', type: 'take_profit_limit', amount: '1.000', price: '10.50', stopPrice: '11.00' }],
    [['market', 'buy', 1, undefined, { takeProfitPrice: 9 }], { side: 'buy', type: 'take_profit_market', amount: '1.000', stopPrice: '9.00' }],
    [['market', 'buy', 1, undefined, { triggerPrice: 9, triggerDirection: 'descending' }], { side: 'buy', type: 'take_profit_market', amount: '1.000', stopPrice: '9.00' }],
    [['market', 'sell', 1, undefined, { triggerPrice: 9 }], { side: 'sell', type: 'stop_market', amount: '1.000', stopPrice: '9.00' }],
    [['market', 'sell', 1, undefined, { trailingPercent: 1.15 }], { side: 'sell', type: 'stop_market', amount: '1.000', trailingDelta: 115 }],
    [['limit', 'buy', 1, 12, { trailingPercent: '20', trailingTriggerPrice: 10 }], { side: 'buy', type: 'stop_limit', amount: '1.000', price: '12.00', stopPrice: '10.00', trailingDelta: 2000 }],
    [['market', 'sell', 1, undefined, { takeProfitPrice: 11, trailingPercent: 0.1 }], { side: 'sell', type: 'take_profit_market', amount: '1.000', stopPrice: '11.00', trailingDelta: 10 }],
  ]) {
    const { sent, answer } = await placed((y) => y.createOrder('A/B', ...args));
    assert.deepEqual(sent, [order(body)]);
    assert.deepEqual([answer.id, answer.type, answer.triggerPrice], ['7', args[0], body.stopPrice]);
  }
  assert.deepEqual((await placed((y) => y.createMarketSellOrderWithCost('A/B', 25))).sent, [order({ side: 'sell', type: 'market', quoteAmount: '25.00000' })]);
  await assert.rejects(placed((y) => y.createOrder('A/B', 'market', 'sell', 1, undefined, { trailingPercent: 1.001 })), (e) => e instanceof ccxt.InvalidOrder && /trailingPercent/.test(e.message));
});

test('a number with more digits than the market has is refused, and what doubles add is none', async () => {
  for (const [args, name, places, precise] of [
    [['limit', 'buy', 0.0012, 5], 'amount', 3, 'amountToPrecision'], [['limit', 'buy', 1, 5.001], 'price', 2, 'priceToPrecision'], [['limit', 'buy', 1e-9, 5], 'amount', 3, 'amountToPrecision'],
    [['market', 'sell', 1, undefined, { stopLossPrice: 4.999 }], 'stopLossPrice', 2, 'priceToPrecision'], [['market', 'buy', 1, undefined, { cost: 5.000001 }], 'cost', 5, 'costToPrecision'],
    [['limit', 'buy', 1, 5, { takeProfit: { triggerPrice: 6.789 } }], 'triggerPrice', 2, 'priceToPrecision'], [['limit', 'buy', 123456789.12345, 5], 'amount', 3, 'amountToPrecision'],
  ]) {
    await assert.rejects(placed((y) => y.createOrder('A/B', ...args)), (e) => e instanceof ccxt.InvalidOrder && e.message.includes(`${name} `) && e.message.includes(`${places} decimals of A/B: round it with ${precise}`), `${args}`);
  }
  assert.deepEqual((await placed((y) => y.createOrder('A/B', 'limit', 'buy', 0.1 + 0.2, 1.1 * 1.1 - 0.01))).sent, [order({ side: 'buy', type: 'limit', amount: '0.300', price: '1.20' })]);
  assert.deepEqual((await placed((y) => y.createOrder('A/B', 'limit', 'buy', '0.00001', '5'))).sent, [order({ side: 'buy', type: 'limit', amount: '0.00001', price: '5' })]); // the exchange refuses text
});

test('a stop loss and a take profit of one order make an OCO', async () => {
  const { sent, answer } = await placed((y) => y.createOrder('A/B', 'market', 'sell', 1, undefined, { takeProfitPrice: 12, stopLossPrice: 8, clientOrderId: 'c', selfTradePrevention: 'EXPIRE_BOTH' }));
  assert.deepEqual(sent, [['POST', 'api/orders/lists', { kind: 'oco', currencyPairCode: 'A_B', orders: [
    { side: 'sell', type: 'take_profit_market', stopPrice: '12.00', amount: '1.000', clientOrderId: 'c', selfTradePrevention: 'cancel_both' },
    { side: 'sell', type: 'stop_market', stopPrice: '8.00', amount: '1.000', selfTradePrevention: 'cancel_both' }] }]]);
  assert.deepEqual([answer.id, answer.clientOrderId], ['7', 'c']);
  const limits = await placed((y) => y.createOrder('A/B', 'limit', 'sell', 1, 7, { takeProfitPrice: 12, stopLossPrice: 8 }));
  assert.deepEqual(limits.sent[0][2].orders.map((o) => [o.type, o.stopPrice, o.price]), [['take_profit_limit', '12.00', '7.00'], ['stop_limit', '8.00', '7.00']]);
});

test('candles of other lengths are sums, whole from the first one on', async () => {
  const asked = [], y = new (makeTickHive(ccxt))({ hostname: 'h:1' }), hour = 3600e3;
  y.loadMarkets = async () => {};
  y.market = () => ({ id: 'A_B', symbol: 'A/B' });
  const rows = (from, length, n) => Array.from({ length: n }, (_, i) => [from + i * length, i + 1, i + 2, i, i + 1.5, 0.1]);
  const fetch = y.fetchOHLCV.bind(y), from = Date.UTC(2026, 0, 4); // a Sunday
  y.fetchOHLCV = async (symbol, frame, since, limit) => { asked.push([frame, since, limit]); return rows(since ?? from, frame === '1h' ? hour : 24 * hour, limit); };
  assert.deepEqual(await fetch('A/B', '2h', from + 1, 2), [[from + 2 * hour, 1, 3, 0, 2.5, 0.2], [from + 4 * hour, 3, 5, 2, 4.5, 0.2]]);
  assert.deepEqual((await fetch('A/B', '1w', undefined, 2)).map((c) => new Date(c[0]).toISOString().slice(0, 10)), ['2026-01-05', '2026-01-12']);
  assert.deepEqual((await fetch('A/B', '3d', from + 1, 1)).map((c) => new Date(c[0]).toISOString().slice(0, 10)), ['2026-01-07']); // day 20,460
  assert.deepEqual(asked, [['1h', from + 2 * hour, 4], ['1d', undefined, 14], ['1d', Date.UTC(2026, 0, 7), 3]]);
  await assert.rejects(fetch('A/B', '7m'), (e) => e instanceof ccxt.BadRequest && /2h/.test(e.message));
});

test('takeProfit and stopLoss make a list: what was bought is sold without an amount, what was sold is bought again', async () => {
  const legs = { takeProfit: { triggerPrice: 12 }, stopLoss: { triggerPrice: 8, price: 7.5 } };
  const both = await placed((y) => y.createOrder('A/B', 'limit', 'buy', 1, 10, { ...legs, clientOrderId: 'c' }));
  assert.deepEqual(both.sent, [['POST', 'api/orders/lists', { kind: 'opoco', currencyPairCode: 'A_B', orders: [
    { side: 'buy', type: 'limit', amount: '1.000', price: '10.00', clientOrderId: 'c' },
    { side: 'sell', type: 'take_profit_market', stopPrice: '12.00' }, { side: 'sell', type: 'stop_limit', price: '7.50', stopPrice: '8.00' }] }]]);
  assert.deepEqual([both.answer.id, both.answer.amount], ['7', '1.000']);
  const sold = await placed((y) => y.createOrder('A/B', 'limit', 'sell', 1, 10, { takeProfit: { triggerPrice: 8 }, stopLoss: { triggerPrice: 12 } }));
  assert.deepEqual(sold.sent[0][2].orders.slice(1), [
    { side: 'buy', type: 'take_profit_market', amount: '1.000', stopPrice: '8.00' }, { side: 'buy', type: 'stop_market', amount: '1.000', stopPrice: '12.00' }]);
  assert.equal(sold.sent[0][2].kind, 'otoco');
  for (const [side, kind] of [['buy', 'opo'], ['sell', 'oto']]) {
    const one = await placed((y) => y.createOrders([{ symbol: 'A/B', type: 'limit', side, amount: 1, price: 10, params: { stopLoss: { triggerPrice: 9 } } }]).catch(() => {}));
    assert.deepEqual([one.sent[0][1], one.sent[0][2].commands[0].placeList.kind], ['api/orders/batch', kind]);
  }
  for (const leg of [{ triggerPrice: 9, amount: 2 }, { triggerPrice: 9, priceType: 'mark' }, {}, 9]) {
    await assert.rejects(placed((y) => y.createOrder('A/B', 'limit', 'sell', 1, 10, { stopLoss: leg })), (e) => e instanceof ccxt.InvalidOrder);
  }
});

test('an edit changes what it names', async () => {
  const { sent } = await placed((y) => y.editOrder('5', 'A/B', 'limit', 'sell', 2, 10, { triggerPrice: 9, trailingPercent: 2.5, keepPriority: true }));
  assert.deepEqual(sent, [['PATCH', 'api/orders/{orderId}', { orderId: '5', amount: '2.000', price: '10.00', stopPrice: '9.00', trailingDelta: 250, keepPriority: true }]]);
});

test('an order that the exchange ended has expired', () => {
  for (const [status, endReason, want] of [
    ['Created', null, 'open'], ['Pending', null, 'open'], ['PartiallyCompleted', null, 'open'], ['Completed', null, 'closed'], ['Canceled', 'request', 'canceled'],
    ['Canceled', undefined, 'canceled'], ['Canceled', 'replace', 'canceled'], ['Canceled', 'list', 'expired'], ['Canceled', 'working', 'expired'], ['Canceled', 'funds', 'expired'],
    ['PartiallyExecutedAndCanceled', 'remainder', 'expired'], ['Canceled', 'fok', 'expired'], ['Canceled', 'operator', 'expired'], ['Rejected', undefined, 'rejected'],
  ]) assert.equal(statusOf({ status, endReason }), want, `${status} ${endReason}`);
});

test('a book that fails its checks is not shown, and is asked for again', () => {
  const sent = [], shown = [];
  const client = { url: 'ws', futures: {}, send: (m) => sent.push(m), resolve: (value, hash) => shown.push(hash) };
  const line = x.streamsOf('ws');
  line.readers.set('book', [{ source: 'book:A_B' }]);
  const message = (m, bids) => ({ channel: 'book', currencyPairCode: 'A_B', time: 1, bids, asks: [], checksum: crc32('9.0:1.0|'), ...m });
  x.handleMessage(client, message({ type: 'snapshot', seq: 1 }, [['9.0', '1.0']])); // no call watches it
  line.books['book:A_B'] = Object.assign(new (class extends Object {})(), { apply: () => 'shown' });
  x.handleMessage(client, message({ type: 'snapshot', seq: 1 }, [['9.0', '1.0']]));
  assert.deepEqual(shown, ['book']);
  line.books['book:A_B'].apply = () => 'broken';
  for (let i = 0; i < 3; i++) x.handleMessage(client, message({ type: 'update', prevSeq: 7, seq: 8 }, []));
  assert.deepEqual([shown.length, sent.length, sent[0].op], [1, 1, 'resync']);
});

test('a message of a list has no order', () => {
  const told = [], y = new (makeTickHive(ccxt))({ hostname: 'h:1' });
  Object.assign(y, { parseOrder: (o) => o, deliver: (client, hash, rows) => told.push(rows) });
  y.handleMessage({ url: 'ws' }, { type: 'update', channel: 'orders', list: { id: '7', kind: 'oco' } });
  y.handleMessage({ url: 'ws' }, { type: 'update', channel: 'orders', order: { id: '8', status: 'open' } });
  assert.deepEqual(told, [[], [{ id: '8', status: 'open' }]]);
});

test('what comes between two calls waits for each reader, up to a limit', () => {
  x.options = { recent: 3 };
  const client = { url: 'ws', futures: {}, resolve(rows) { this.rows = rows; } }, line = x.streamsOf('ws');
  const mine = { source: 'h', market: { symbol: 'A/B' } };
  line.readers.set('all', [{ source: 'h' }]);
  line.readers.set('one', [mine]);
  line.readers.set('other', [{ ...mine, source: 'i' }]);
  for (let i = 0; i < 5; i++) x.deliver(client, 'h', [{ i, symbol: i === 2 ? 'A/B' : 'C/D' }]);
  const ids = (rows) => rows?.map((row) => row.i);
  assert.deepEqual(['all', 'one', 'other'].map((name) => ids(line.waiting[name])), [[2, 3, 4], [2], undefined]);
  client.futures.all = true;
  x.deliver(client, 'h', [{ i: 5 }]);
  assert.deepEqual([ids(client.rows), line.waiting.all, ids(line.waiting.one)], [[3, 4, 5], undefined, [2]]);
});
