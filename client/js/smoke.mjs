// Asks a running exchange everything once: node client/js/smoke.mjs, with BASE, PUBLIC and
// PRIVATE in the environment. Without a WebSocket (Node before 22, unless started with
// --experimental-websocket) the streams are left out and said so.
import assert from 'node:assert/strict';
import { Code, TickHive, crc32 } from './tickhive.mjs';

assert.equal(crc32('65000.50:0.12500000,65000.00:1.00000000|65001.00:0.50000000'), 1722274598);
assert.equal(crc32('|'), 2343686810);

const pair = 'BTC_USDT';
const x = new TickHive({ base: process.env.BASE, publicKey: process.env.PUBLIC, privateKey: process.env.PRIVATE });
assert.ok((await x.pairs()).some((p) => p.code === pair));
assert.equal((await x.status()).pairs.find((p) => p.currencyPairCode === pair).state, 'online');
const ticker = await x.ticker(pair);
assert.ok(+ticker.bidPrice > 0 && +ticker.askPrice > +ticker.bidPrice);
assert.ok((await x.summary()).find((r) => r.trading_pairs === pair).last_price > 0);
const book = await x.orderBook(pair, 10);
assert.equal(book.bids.length, 5);
assert.ok(+book.bids[0][0] > +book.bids[1][0] && +book.asks[0][0] < +book.asks[1][0] && book.seq > 0);
const trades = [];
for await (const d of x.deals(pair)) if (trades.push(d) === 150) break; // more than a page
assert.ok(trades.every((d, i) => !i || d.dealDateUtc <= trades[i - 1].dealDateUtc));
assert.equal(new Set(trades.map((d) => d.id)).size, 150);
const now = await x.time(), candles = [];
for await (const c of x.candles(pair, 'minute', now - 3600000, now)) candles.push(c);
assert.ok(candles.length > 30 && candles.every((c, i) => !i || c.date > candles[i - 1].date));
await assert.rejects(x.ticker('AA_BB'), { code: Code.NOT_FOUND });

async function open() {
  const ids = [];
  for await (const o of x.orders({ pair, status: 'active' })) ids.push(o.id);
  return ids;
}
const id = await x.placeOrder({ pair, side: 'buy', amount: '0.01', price: '10000' });
assert.ok((await open()).includes(id));
assert.ok((await x.balances()).find((b) => b.currencyCode === 'USDT').held > 0);
assert.equal((await x.cancelOrder(id)).status, 'Canceled');

// A stop above the market waits; as a plain limit order it would trade at once. Without a
// price none is placed.
const above = Math.ceil(2 * ticker.askPrice);
const stop = await x.placeOrder({ pair, side: 'buy', amount: '0.001', price: above, stopPrice: above });
const waiting = await x.order(stop);
const { type, status, filledAmount, price } = waiting;
assert.deepEqual([type, status, +filledAmount, +price], ['stop_limit', 'Created', 0, above]);
assert.equal((await x.cancelOrder(stop)).status, 'Canceled');
const unpriced = x.placeOrder({ pair, side: 'sell', amount: '0.001' });
await assert.rejects(unpriced, { code: Code.INVALID_PARAM, field: 'price' });
assert.deepEqual(await open(), []);

if (globalThis.WebSocket) {
  const follower = x.followBook(pair, { depth: 10 });
  const watch = async (last) => {
    const { value: b } = await follower.next();
    if (b.type === 'lost') return watch(last);
    assert.ok(b.seq > last, `the book of ${b.seq} came after that of ${last}`);
    assert.ok(b.bids.length === 10 && b.asks.length === 10 && +b.bids[0][0] < +b.asks[0][0]);
    return b.seq;
  };
  let seq = 0;
  for (let i = 0; i < 3; i++) seq = await watch(seq);
  follower.book.bids[0] = [follower.book.bids[0][0], '123456.00000000']; // the next checksum cannot be right
  for (let i = 0; i < 3; i++) seq = await watch(seq);
  assert.equal(follower.book.checksum(), follower.book.lastChecksum);
  follower.socket.close(); // it reconnects by itself and resumes from its seq
  for (let i = 0; i < 3; i++) seq = await watch(seq);
  follower.close();
  assert.equal((await follower.next()).done, true);
  await assert.rejects(x.followBook('AA_BB').next(), { code: Code.NOT_FOUND });

  const first = async (events) => { for await (const e of events) return e; };
  assert.equal((await first(x.followTicker(pair))).ticker.currencyPairCode, pair);
  assert.ok((await first(x.followCandles(pair, 'minute'))).candle.max > 0);
  let last = 0;
  for await (const e of x.followTrades(pair)) {
    for (const t of e.trades) { assert.ok(!last || t.tradeId === last + 1); last = t.tradeId; }
    if (e.type === 'update') break;
  }
  const own = x.privateStream(), channels = [];
  for await (const e of own) if (channels.push(`${e.type} ${e.channel}`) === 3) break;
  assert.deepEqual(channels, ['snapshot fills', 'snapshot orders', 'snapshot balances']);
  assert.deepEqual(Object.keys(own.cursor), ['date', 'pairs']);
  console.log('the streams: checked, mended after a wrong book, resumed after a broken line');
} else {
  assert.throws(() => x.followTicker(pair), /Node 22/);
  console.log('no WebSocket in this Node: the streams were not tried');
}
console.log('smoke ok');
