// The calls of the client against a made-up exchange: node client/js/rest_test.mjs.
import assert from 'node:assert/strict';
import { generateKeyPairSync, verify } from 'node:crypto';
import { test } from 'node:test';
import { APIError, TickHive, plain } from './tickhive.mjs';

const keys = { publicKey: 'pub', privateKey: 'secret' };

// exchange answers each request with answer(request), and keeps what was sent.
function exchange(answer = () => ({})) {
  const sent = [];
  globalThis.fetch = async (url, { method, headers, body }) => {
    const { origin, pathname, searchParams } = new URL(url);
    const request = {
      method, origin, path: pathname, query: Object.fromEntries(searchParams), headers, body: body && JSON.parse(body),
    };
    sent.push(request);
    const { status = 200, json = {}, text = JSON.stringify(json), headers: more } = await answer(request, sent.length);
    return new Response(text, { status, headers: more });
  };
  return sent;
}

const all = async (rows) => { const list = []; for await (const row of rows) list.push(row); return list; };

// The vectors of docs/contract/signing.md.
test('a signature covers the documented text with HMAC and with Ed25519', async () => {
  const pem = '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n'
    + '-----END PRIVATE KEY-----\n';
  for (const [privateKey, get, post] of [
    ['privKEY456', '7c72f27d874d374164db11a4998dd423cdae47c857517918e62f06eb69370f37',
      '1063a1ede675edbe514081291c52fb5572d123ed807dcff377e4a224cc7ffb5e'],
    [pem, '8e29a52d8f7aa321c61e61a7b0dc3c3fe7c5653a21ff59c7b5c2bb22b4568aa1'
      + '9d042af1998d9ee9e94ff925a137a187f9a1a4ddbc1c814dc37fee85daebd801',
    '677edfb52f1122f56714b9ab1f692687ae23b29fe5e995344ab01b63f3d91816'
      + '6b982762339870b927e846b2db53b4ff8142765a4ecbb88f8f22212bc682f400'],
  ]) {
    const x = new TickHive({ publicKey: 'pub', privateKey });
    const signed = async (...request) => (await x.sign(...request))['API-Signature'];
    const target = '/api/affiliate/accruals?pageNumber=1&currencyCode=US%44T';
    assert.equal(await signed('GET', target, '', '1767225600000', 'n-1'), get);
    const body = '{"name":"My Token","symbol":"ALPHA"}';
    assert.equal(await signed('POST', '/api/launchpad/spawn', body, '1767225600000', 'n-2'), post);
  }
});

test('an RSA key signs with PKCS #1 v1.5 and SHA-256', async () => {
  for (const modulusLength of [2048, 4096]) {
    const pair = generateKeyPairSync('rsa', { modulusLength, privateKeyEncoding: { type: 'pkcs8', format: 'pem' } });
    const x = new TickHive({ publicKey: 'pub', privateKey: pair.privateKey });
    const h = await x.sign('GET', '/api/time', '');
    const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
    const text = [h['API-Timestamp'], h['API-Nonce'], 'GET', '/api/time', empty].join('\n');
    const right = (t) => verify('sha256', Buffer.from(t), pair.publicKey, Buffer.from(h['API-Signature'], 'hex'));
    assert.deepEqual([right(text), right(`${text} `)], [true, false]);
    assert.match(h['API-Signature'], /^[0-9a-f]+$/);
  }
});

test('what is no member of an order is refused before what is missing, and no request is sent', async () => {
  const sent = exchange(), x = new TickHive(keys), order = { pair: 'A_B', side: 'buy', amount: '1' };
  const wrong = { code: 'INVALID_PARAM', field: 'prize', message: /prize is no member of an order; they are pair, / };
  const at = (where) => ({ ...wrong, field: `${where}.prize` }), list = { kind: 'oco', pair: 'A_B', orders: [{ ...order, prize: '2' }] };
  await assert.rejects(x.placeOrder({ ...order, prize: '2' }), wrong);
  await assert.rejects(x.placeList(list), at('orders[0]'));
  await assert.rejects(x.batch([{ place: { ...order, price: '1' } }, { place: { ...order, prize: '2' } }]), at('commands[1].place'));
  await assert.rejects(x.batch([{ placeList: list }]), at('commands[0].placeList.orders[0]'));
  await assert.rejects(x.batch([{ place: { ...order, price: 'x' } }]), { field: 'commands[0].place.price' });
  await assert.rejects(x.batch([{ replace: { orderId: '1', amount: 'x' } }]), { field: 'commands[0].replace.amount' });
  await assert.rejects(x.cancelAll(''), { field: 'pair' });
  for (const id of ['', 'a/b', 'x'.repeat(65)]) {
    await assert.rejects(x.cancelOrderByClientId('A_B', id), { field: 'clientOrderId' });
    await assert.rejects(x.listByClientId('A_B', id), { field: 'clientOrderId' });
  }
  await assert.rejects(x.placeOrder(order), { field: 'price', message: /for the type limit; market: true makes/ });
  assert.deepEqual(sent, []);
});

test('the members of a key file are options', () => {
  const key = { kind: 'tickhive-demo-key', userId: 'u', ...keys }, x = new TickHive(key);
  assert.deepEqual([x.publicKey, x.privateKey, x.base], ['pub', 'secret', 'http://127.0.0.1:8080']);
});

test('a key that cannot sign is an error that says what to do', async () => {
  const sign = (privateKey) => new TickHive({ publicKey: 'p', privateKey }).sign('GET', '/');
  for (const key of [undefined, null, '', 5]) await assert.rejects(sign(key), /give publicKey and privateKey/);
  await assert.rejects(new TickHive({ privateKey: 's' }).sign('GET', '/'), /give publicKey and privateKey/);
  await assert.rejects(sign('-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----'), /openssl pkcs8/);
  await assert.rejects(sign('-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----'), /Ed25519 or RSA/);
});

test('each call sends its request', async () => {
  const order = { pair: 'A_B', side: 'buy', amount: 1e-7, price: '5.10' };
  const wire = { currencyPairCode: 'A_B', side: 'buy', amount: '0.0000001', price: '5.10' };
  const { currencyPairCode, ...leg } = wire, trail = { type: 'stop_market', trailingDelta: 150, strictTrigger: true };
  for (const [call, method, path, { query = {}, body, signed = true } = {}] of [
    [(x) => x.time(), 'GET', '/api/time', { signed: false }],
    [(x) => x.status(), 'GET', '/api/status', { signed: false }],
    [(x) => x.pairs(), 'GET', '/api/currencies/pairs', { signed: false }],
    [(x) => x.summary(), 'GET', '/api/summary', { signed: false }],
    [(x) => x.ticker('A_B'), 'GET', '/api/tickers', { query: { currencyPairCode: 'A_B' }, signed: false }],
    [(x) => x.orderBook('A_B', 10), 'GET', '/api/marketdata/getaggregator/orderbook',
      { query: { ticker_id: 'A_B', depth: '10' }, signed: false }],
    [(x) => x.placeOrder(order), 'POST', '/api/orders', { body: wire }],
    [(x) => x.placeOrder({ pair: 'A_B', side: 'sell', quoteAmount: 5e-7, market: true }), 'POST', '/api/orders',
      { body: { side: 'sell', quoteAmount: '0.0000005', currencyPairCode: 'A_B', isMarket: true } }],
    [(x) => x.placeOrder({ pair: 'A_B', side: 'sell', amount: 1, ...trail }), 'POST', '/api/orders',
      { body: { side: 'sell', amount: '1', ...trail, currencyPairCode: 'A_B' } }],
    [(x) => x.placeList({ kind: 'oco', pair: 'A_B', clientOrderId: 'l', orders: [{ ...order, pair: undefined }] }),
      'POST', '/api/orders/lists',
      { body: { kind: 'oco', clientOrderId: 'l', currencyPairCode: 'A_B', orders: [leg] } }],
    [(x) => x.changeOrder('7', { amount: 0.5, keepPriority: true, clientOrderId: 'b' }), 'PATCH', '/api/orders/7',
      { body: { amount: '0.5', keepPriority: true, clientOrderId: 'b' } }],
    [(x) => x.cancelOrder('7', { onlyIf: 'new' }), 'DELETE', '/api/orders/7', { query: { onlyIf: 'new' } }],
    [(x) => x.cancelOrder('7'), 'DELETE', '/api/orders/7'],
    [(x) => x.cancelOrderByClientId('A_B', 'a:1'), 'DELETE', '/api/orders/by-client-id/A_B/a%3A1'],
    [(x) => x.cancelList('7'), 'DELETE', '/api/orders/lists/7'],
    [(x) => x.cancelListByClientId('A_B', 'a'), 'DELETE', '/api/orders/lists/by-client-id/A_B/a'],
    [(x) => x.cancelAll('A_B'), 'DELETE', '/api/orders', { query: { currencyPairCode: 'A_B' } }],
    [(x) => x.cancelAll(), 'DELETE', '/api/orders', { query: { all: 'true' } }],
    [(x) => x.cancelAllAfter(5000), 'POST', '/api/orders/cancel-all-after', { body: { timeoutMs: 5000 } }],
    [(x) => x.batch([{ place: order }, { cancel: { orderId: '7' } }, { replace: { orderId: '8', price: 2e-7 } },
      { placeList: { kind: 'oco', pair: 'A_B', orders: [] } }]), 'POST', '/api/orders/batch', { body: { commands: [
      { place: wire }, { cancel: { orderId: '7' } }, { replace: { orderId: '8', price: '0.0000002' } },
      { placeList: { kind: 'oco', currencyPairCode: 'A_B', orders: [] } }] } }],
    [(x) => x.order('7'), 'GET', '/api/orders/7'],
    [(x) => x.orderByClientId('A_B', 'a'), 'GET', '/api/orders/by-client-id/A_B/a'],
    [(x) => x.orderDeals('7'), 'GET', '/api/orders/7/deals'],
    [(x) => x.amendments('7'), 'GET', '/api/orders/7/amendments'],
    [(x) => x.list('7'), 'GET', '/api/orders/lists/7'],
    [(x) => x.listByClientId('A_B', 'a'), 'GET', '/api/orders/lists/by-client-id/A_B/a'],
    [(x) => x.preventedMatches('A_B', { from: 3 }), 'GET', '/api/user/prevented-matches',
      { query: { currencyPairCode: 'A_B', from: '3' } }],
    [(x) => x.balances(), 'GET', '/api/wallets/balances'],
  ]) {
    const sent = exchange();
    await call(new TickHive(keys));
    const [{ headers, ...request }] = sent;
    const want = { method, origin: 'http://127.0.0.1:8080', path, query: { ...query, decimals: 'string' }, body };
    const got = [request, sent.length, headers['API-PublicKey']];
    assert.deepEqual(got, [want, 1, signed ? 'pub' : undefined], String(call));
  }
});

test('an order without a price that is no market order is refused before it is sent', async () => {
  const sent = exchange();
  const ways = { limit: /market: true/, stop_limit: /stop_market/, take_profit_limit: /take_profit_market/ };
  for (const [type, message] of [[undefined, /market: true/], ...Object.entries(ways)]) {
    const call = new TickHive(keys).placeOrder({ pair: 'A_B', side: 'buy', amount: 1, type });
    await assert.rejects(call, { code: 'INVALID_PARAM', field: 'price', message });
  }
  assert.deepEqual(sent, []);
  const waits = { type: 'take_profit_market', stopPrice: 1 };
  for (const order of [{ market: true }, { isMarket: true }, { type: 'market' }, waits]) {
    await new TickHive(keys).placeOrder({ pair: 'A_B', side: 'buy', amount: 1, ...order });
  }
  assert.equal(sent.length, 4);
});

test('decimals are sent without an exponent, and text keeps its digits', () => {
  for (const [given, want] of [[1e21, '1000000000000000000000'], [1.2e-7, '0.00000012'], ['1.25E-6', '0.00000125'],
    ['0.10000000', '0.10000000'], [5, '5']]) assert.equal(plain('price', given), want);
  const texts = ['', '-1', '1,5', 'abc', '0x10', '1e', '1e999999999'];
  for (const given of [undefined, null, NaN, Infinity, -1, {}, [], ...texts]) {
    assert.throws(() => plain('price', given), { code: 'INVALID_PARAM', field: 'price' });
  }
});

test('lists are read page by page', async () => {
  const pages = { undefined: [['a', 'b'], 'one'], one: [['c'], 'two'], two: [[], undefined] };
  for (const [rows, path, query] of [
    [(x) => x.orders({ pair: 'A_B', status: 'active' }), '/api/user/orders',
      { currencyPairCode: 'A_B', status: 'active' }],
    [(x) => x.fills({ sinceDate: new Date(0), endDate: 1000 }), '/api/user/deals',
      { sinceDate: '1970-01-01T00:00:00.000', endDate: '1970-01-01T00:00:01.000' }],
    [(x) => x.lists(), '/api/user/lists', {}],
    [(x) => x.deals('A_B', { sinceDate: '2026-01-01T00:00:00' }), '/api/deals',
      { currencyPairCode: 'A_B', sinceDate: '2026-01-01T00:00:00' }],
  ]) {
    const sent = exchange(({ query: { cursor } }) => {
      const [json, next] = pages[cursor];
      return { json, headers: next ? { 'X-Next-Cursor': next } : {} };
    });
    assert.deepEqual(await all(rows(new TickHive(keys))), ['a', 'b', 'c']);
    assert.deepEqual(sent.map((r) => [r.path, r.query]), [undefined, 'one', 'two'].map((cursor) => [path,
      { pageSize: '100', ...query, ...(cursor && { cursor }), decimals: 'string' }]));
  }
});

test('candles are read page by page', async () => {
  const sent = exchange((_, n) => ({ json: [n], headers: n < 3 ? { 'X-Next-Start': `s${n}` } : {} }));
  assert.deepEqual(await all(new TickHive().candles('A_B', 'hour', 0, 1000)), [1, 2, 3]);
  assert.deepEqual(sent.map((r) => r.query.start), ['1970-01-01T00:00:00.000', 's1', 's2']);
});

test('a request that comes directly after a start of the exchange is signed and sent once more', async () => {
  const early = (n) => ({ status: 401, json: { code: 'UNAUTHORIZED' }, headers: { 'Retry-After': String(n) } });
  const sent = exchange((_, n) => (n === 1 ? early(1) : { json: [] }));
  await new TickHive(keys).order('7');
  assert.equal(sent.length, 2);
  assert.notEqual(sent[0].headers['API-Nonce'], sent[1].headers['API-Nonce']);
  exchange(() => early(60));
  await assert.rejects(new TickHive(keys).order('7'), { status: 401, retryAfter: 60 });
});

test('an error has what the exchange says, also when it is no JSON', async () => {
  const body = { code: 'NOT_FOUND', message: 'There is no pair A_B.', field: 'currencyPairCode', requestId: 'r' };
  exchange(() => ({ status: 404, json: body }));
  await assert.rejects(new TickHive().ticker('A_B'), (e) => {
    const { name, status, code, field, requestId, message } = e;
    assert.deepEqual({ name, status, code, field, requestId, message }, {
      ...body, name: 'APIError', status: 404, message: 'NOT_FOUND: There is no pair A_B.',
    });
    return e instanceof APIError;
  });
  exchange(() => ({ status: 502, text: '<h1>Bad Gateway</h1>' }));
  await assert.rejects(new TickHive().time(), { name: 'APIError', status: 502 });
  exchange(() => ({ text: 'not JSON' }));
  await assert.rejects(new TickHive().time(), SyntaxError);
});

test('an option that does not exist is refused', () => {
  const call = () => new TickHive({ baseUrl: 'http://x' });
  assert.throws(call, { code: 'INVALID_PARAM', field: 'baseUrl', message: /base, / });
});

test('an address that does not answer gives way to the next one', async () => {
  const asked = [];
  globalThis.fetch = async (url) => {
    asked.push(new URL(url).host);
    if (asked.length === 1) throw new TypeError('fetch failed');
    return new Response('{"serverTime":1}');
  };
  const x = new TickHive({ base: ['http://a/', 'http://b'] });
  await assert.rejects(x.time(), TypeError); // it may have arrived: only the caller knows whether to repeat it
  assert.deepEqual([await x.time(), asked], [1, ['a', 'b']]);
});
