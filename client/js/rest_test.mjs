// The class against a made-up exchange: node client/js/rest_test.mjs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TickHive } from './tickhive.mjs';

// candles answers /api/ohlc as the exchange does: 1,000 rows at most, the oldest of the range.
function candles(dates, now) {
  const asked = [];
  globalThis.fetch = async (url) => {
    const u = new URL(url), q = Object.fromEntries(u.searchParams);
    asked.push(u.pathname);
    const at = (text) => Date.parse(`${text}Z`);
    const body = u.pathname === '/api/time' ? { serverTime: now } : dates.filter((d) => d >= at(q.start) && d <= at(q.end)).slice(0, 1000)
      .map((d) => ({ date: new Date(d).toISOString().slice(0, 19), open: '1', max: '2', min: '1', close: '2', volumeBase: '3' }));
    return { ok: true, json: async () => body };
  };
  return asked;
}

const minutes = (from, n) => Array.from({ length: n }, (_, i) => from + i * 60000);
const t0 = Date.UTC(2026, 0, 1);

// The vectors of docs/contract/signing.md.
test('sign covers the documented text with HMAC and with Ed25519', async () => {
  const pem = '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n';
  for (const [secret, get, post] of [
    ['privKEY456', '7c72f27d874d374164db11a4998dd423cdae47c857517918e62f06eb69370f37', '1063a1ede675edbe514081291c52fb5572d123ed807dcff377e4a224cc7ffb5e'],
    [pem, '8e29a52d8f7aa321c61e61a7b0dc3c3fe7c5653a21ff59c7b5c2bb22b4568aa19d042af1998d9ee9e94ff925a137a187f9a1a4ddbc1c814dc37fee85daebd801',
      '677edfb52f1122f56714b9ab1f692687ae23b29fe5e995344ab01b63f3d918166b982762339870b927e846b2db53b4ff8142765a4ecbb88f8f22212bc682f400'],
  ]) {
    const x = new TickHive({ apiKey: 'pub', secret });
    const signature = async (...request) => (await x.sign(...request))['API-Signature'];
    assert.equal(await signature('GET', '/api/affiliate/accruals?pageNumber=1&currencyCode=US%44T', '', '1767225600000', 'n-1'), get);
    assert.equal(await signature('POST', '/api/launchpad/spawn', '{"name":"My Token","symbol":"ALPHA"}', '1767225600000', 'n-2'), post);
  }
  await assert.rejects(new TickHive({ apiKey: 'pub', secret: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----' }).sign('GET', '/'));
});

test('fetchOHLCV without since answers the newest candles, oldest first', async () => {
  const x = new TickHive();
  const all = minutes(t0, 12000), now = all.at(-1) + 30500;
  const asked = candles(all, now);
  for (const limit of [1, 5, 1000, 2500]) {
    const rows = await x.fetchOHLCV('A/B', '1m', undefined, limit);
    assert.deepEqual(rows.map((r) => r[0]), all.slice(-limit));
  }
  assert.ok(asked.length <= 2 + 2 + 3 + 7, `${asked.length} requests`);
});

test('fetchOHLCV without since looks behind gaps, up to the first candle', async () => {
  const x = new TickHive();
  const all = [...minutes(t0 - 400 * 86400000, 3000), ...minutes(t0, 50)];
  const asked = candles(all, t0 + 3 * 3600000);
  assert.deepEqual((await x.fetchOHLCV('A/B', '1m')).map((r) => r[0]), all.slice(-1000));
  assert.ok(asked.length <= 20, `${asked.length} requests`);
  candles(all.slice(0, 7), t0);
  assert.deepEqual((await x.fetchOHLCV('A/B', '1m')).map((r) => r[0]), all.slice(0, 7));
  candles([], t0);
  assert.deepEqual(await x.fetchOHLCV('A/B', '1m'), []);
});

test('fetchOHLCV with since answers the candles from there on', async () => {
  const x = new TickHive();
  const all = minutes(t0, 12000);
  candles(all, 0);
  for (const limit of [10, 1000, 2500]) {
    const rows = await x.fetchOHLCV('A/B', '1m', all[300] - 500, limit);
    assert.deepEqual(rows.map((r) => r[0]), all.slice(300, 300 + limit));
  }
  assert.equal((await x.fetchOHLCV('A/B', '1m', all[300] + 500, 1))[0][0], all[301]);
});

test('createOrder writes small numbers without an exponent, and no amount where none is given', async () => {
  const x = new TickHive();
  Object.assign(x, { apiKey: 'k', secret: 's' });
  const bodies = [];
  globalThis.fetch = async (_, { body }) => { bodies.push(JSON.parse(body)); return { ok: true, json: async () => 'id' }; };
  await x.createOrder('A/B', 'limit', 'buy', 1e21, 0.00000012);
  await x.createOrder('A/B', 'market', 'buy', undefined, undefined, { quoteAmount: '5' });
  assert.equal(bodies[0].amount, '1000000000000000000000');
  assert.equal(bodies[0].price, '0.00000012');
  assert.deepEqual(bodies[1], { side: 'buy', currencyPairCode: 'A_B', quoteAmount: '5', type: 'market' });
});

test('a timeframe that does not exist is refused', async () => {
  for (const since of [undefined, 0]) await assert.rejects(new TickHive().fetchOHLCV('A/B', '2m', since), { code: 'INVALID_PARAM', field: 'timeframe' });
});

test('a request that comes directly after a start of the exchange is signed and sent once more', async () => {
  const sent = [];
  globalThis.fetch = async (url, { headers }) => {
    sent.push(headers['API-Nonce']);
    const early = sent.length === 1;
    return new Response(early ? '{"code":"UNAUTHORIZED"}' : '[]', { status: early ? 401 : 200, headers: early ? { 'Retry-After': '1' } : {} });
  };
  await new TickHive({ apiKey: 'p', secret: 's' }).request('GET', '/api/apikeys', {}, undefined, true);
  assert.equal(sent.length, 2);
  assert.notEqual(sent[0], sent[1]);
});

test('an error that is not JSON keeps its status', async () => {
  globalThis.fetch = async () => new Response('<h1>Bad Gateway</h1>', { status: 502 });
  await assert.rejects(new TickHive().fetchTime(), { name: 'Error', status: 502 });
  globalThis.fetch = async () => new Response('not JSON');
  await assert.rejects(new TickHive().fetchTime(), SyntaxError);
});

test('a canceled order is filled as far as it traded', () => {
  const order = { id: '1', currencyPairCode: 'A_B', date: '2026-01-01T00:00:00.0000000Z', isBid: true, price: 10, initialAmount: 0.3 };
  const shown = (o) => new TickHive('http://x').parseOrder({ ...order, ...o });
  const parts = ({ status, filled, remaining }) => [status, filled, remaining];
  assert.deepEqual(parts(shown({ status: 'Canceled', amount: 0, filledAmount: 0.1 })), ['canceled', 0.1, 0.2]);
  assert.deepEqual(parts(shown({ status: 'PartiallyCompleted', amount: 0.2, filledAmount: 0.1 })), ['open', 0.1, 0.2]);
  assert.deepEqual(parts(shown({ status: 'Completed', amount: 0, filledAmount: 0.3 })), ['closed', 0.3, 0]);
});
