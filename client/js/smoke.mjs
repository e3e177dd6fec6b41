// Asks a running exchange everything once: node client/js/smoke.mjs, with BASE, PUBLIC and
// PRIVATE in the environment. Without a WebSocket (Node before 22, unless started with
// --experimental-websocket) the stream is left out and said so.
import assert from 'node:assert/strict';
import { TickHive, crc32 } from './tickhive.mjs';

assert.equal(crc32('65000.50:0.12500000,65000.00:1.00000000|65001.00:0.50000000'), 1722274598);
assert.equal(crc32('|'), 2343686810);

const vector = new TickHive({ apiKey: 'x', secret: 'privKEY456' });
const signed = await vector.sign('POST', '/api/launchpad/spawn', '{"name":"My Token","symbol":"ALPHA"}', '1767225600000', 'n-2');
assert.equal(signed['API-Signature'], '1063a1ede675edbe514081291c52fb5572d123ed807dcff377e4a224cc7ffb5e');

const x = new TickHive({ baseUrl: process.env.BASE, apiKey: process.env.PUBLIC, secret: process.env.PRIVATE });
const markets = await x.fetchMarkets();
assert.ok(markets.some((m) => m.symbol === 'BTC/USDT'));
const ticker = await x.fetchTicker('BTC/USDT');
assert.ok(ticker.bid > 0 && ticker.ask > ticker.bid);
assert.ok((await x.fetchTickers(['BTC/USDT']))['BTC/USDT'].last > 0);
const book = await x.fetchOrderBook('BTC/USDT', 5);
assert.equal(book.bids.length, 5);
assert.ok(book.bids[0][0] > book.bids[1][0] && book.asks[0][0] < book.asks[1][0]);
const trades = await x.fetchTrades('BTC/USDT', undefined, 10);
assert.ok(trades.length === 10 && trades[0].timestamp <= trades[9].timestamp);
const candles = await x.fetchOHLCV('BTC/USDT', '1m');
assert.ok(candles.length > 0 && candles.every((c, i) => !i || c[0] > candles[i - 1][0]));
assert.ok(candles.at(-1)[0] > (await x.fetchTime()) - 5 * 60000, 'the last candle is not the newest');
assert.equal((await x.fetchOHLCV('BTC/USDT', '1m', undefined, 3)).length, 3);
assert.deepEqual((await x.fetchOHLCV('BTC/USDT', '1m', candles[2][0], 3)).map((c) => c[0]), candles.slice(2, 5).map((c) => c[0]));
await assert.rejects(x.fetchTicker('AA/BB'), { code: 'NOT_FOUND' });

const order = await x.createOrder('BTC/USDT', 'limit', 'buy', '0.01', '10000');
assert.ok((await x.fetchOpenOrders('BTC/USDT')).some((o) => o.id === order.id));
assert.ok((await x.fetchBalance()).USDT.used > 0);
assert.equal((await x.cancelOrder(order.id)).status, 'canceled');

// A stop above the market waits; as a plain limit order it would trade at once. Without a
// stop price none is placed.
const above = Math.ceil(2 * (await x.fetchTicker('BTC/USDT')).ask);
const stop = await x.createOrder('BTC/USDT', 'stop_limit', 'buy', '0.001', above, { triggerPrice: above });
const waiting = (await x.fetchOpenOrders('BTC/USDT')).find((o) => o.id === stop.id);
assert.deepEqual([waiting?.status, waiting?.filled, waiting?.price], ['open', 0, above]);
assert.equal((await x.cancelOrder(stop.id)).status, 'canceled');
await assert.rejects(x.createOrder('BTC/USDT', 'stop_market', 'sell', '0.001', '30000'), { code: 'INVALID_PARAM', field: 'stopPrice' });
assert.deepEqual(await x.fetchOpenOrders('BTC/USDT'), []);

if (globalThis.WebSocket) {
  const watch = async (last) => {
    const b = await x.watchOrderBook('BTC/USDT', 10);
    assert.ok(b.nonce > last, `the book of ${b.nonce} came after that of ${last}`);
    assert.ok(b.bids.length === 10 && b.asks.length === 10 && b.bids[0][0] < b.asks[0][0]);
    return b.nonce;
  };
  let seq = 0;
  for (let i = 0; i < 3; i++) seq = await watch(seq);
  const watched = x.books.get('BTC/USDT');
  watched.bids[0] = [watched.bids[0][0], '123456.00000000']; // the next checksum cannot be right
  for (let i = 0; i < 3; i++) seq = await watch(seq);
  assert.equal(watched.checksum(), watched.lastChecksum);
  watched.socket.close(); // it reconnects by itself and resumes from its seq
  for (let i = 0; i < 3; i++) seq = await watch(seq);
  assert.equal((await x.watchOrderBook('BTC/USDT', 20)).bids.length, 20);
  for (let i = 0; i < 2; i++) await assert.rejects(x.watchOrderBook('AA/BB'), { code: 'NOT_FOUND' });
  x.close();
  console.log('watchOrderBook: checked, mended after a wrong book, resumed after a broken line');
} else {
  console.log('no WebSocket in this Node: watchOrderBook was not tried');
}
console.log('smoke ok');
