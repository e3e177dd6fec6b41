// Clients of Binance, unmodified but for their URLs, against the listener that speaks Binance's
// interface. EXCHANGE has the line that `tickhive serve --ephemeral` prints.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import ccxt from 'ccxt';
import nodeBinance from 'binance-api-node';
import { Spot } from '@binance/connector';
import { MainClient } from 'binance';
import { at, binance, id, native, symbol } from './common.mjs';
import { checkMarket, checkOHLCV, checkOrderBook, checkTicker, checkTrades } from './check.mjs';

const clean = (found) => assert.deepEqual(found, []);
const x = binance({ apiKey: undefined, secret: undefined });
after(() => x.close());

test('ccxt: markets', async () => {
  await x.loadMarkets();
  const pairs = await native('/api/currencies/pairs');
  assert.deepEqual(x.symbols, pairs.map((p) => p.code.replace('_', '/')).sort());
  for (const m of Object.values(x.markets)) clean(checkMarket(m, x.currencies));
  for (const p of pairs) {
    const m = x.market(p.code.replace('_', '/'));
    assert.deepEqual([m.precision.price, m.precision.amount, m.limits.cost.min], [Number(`1e-${p.digitsPrice}`), Number(`1e-${p.digitsAmount}`), p.minQuoteAmount]);
    assert.deepEqual(['baseAssetPrecision', 'quoteAssetPrecision', 'baseCommissionPrecision', 'quoteCommissionPrecision'].map((name) => String(m.info[name])), ['8', '8', '8', '8']);
    assert.ok(m.limits.amount.max <= 9e7 && m.limits.price.max <= 1e6, `${m.symbol}: ${m.limits.amount.max}, ${m.limits.price.max}`);
  }
  assert.ok(Math.abs((await x.fetchTime()) - Date.now()) < 60000);
  assert.equal((await x.fetchStatus()).status, 'ok');
});

test('ccxt: tickers', async () => {
  clean(checkTicker(await x.fetchTicker(symbol), symbol));
  const all = await x.fetchTickers();
  assert.deepEqual(Object.keys(all).sort(), x.symbols);
  for (const [s, t] of Object.entries(all)) clean(checkTicker(t, s, x.market(s).precision.price));
  for (const [s, t] of Object.entries(await x.fetchBidsAsks())) {
    assert.ok(t.bid < t.ask && t.bidVolume > 0 && t.askVolume > 0, s);
  }
  assert.ok((await x.fetchLastPrices())[symbol].price > 0);
});

test('ccxt: a book equals the native book of the same seq', async () => {
  const book = await x.fetchOrderBook(symbol, 5);
  clean(checkOrderBook(book, symbol, 5, false)); // Binance's books have no time
  for (let i = 0, same = 0; same === 0; i++) {
    assert.ok(i < 200, 'no two books had the same seq');
    const [b, r] = await Promise.all([
      x.fetchOrderBook(symbol, 100), fetch(`${at.public}/api/marketdata/getaggregator/orderbook?ticker_id=BTC_USDT&depth=200`),
    ]);
    if (String(b.nonce) !== r.headers.get('x-seq')) continue;
    const own = await r.json();
    assert.deepEqual([b.bids, b.asks], [own.bids, own.asks]);
    same++;
  }
});

test('ccxt: trades and candles', async () => {
  const trades = await x.fetchTrades(symbol, undefined, 50);
  clean(checkTrades(trades, symbol));
  assert.equal(trades.length, 50);
  const { buy, sell } = await native('/api/marketdata/getaggregator/historical_trades?ticker_id=BTC_USDT&limit=400');
  const own = new Map([...buy, ...sell].map((t) => [String(t.trade_id), t]));
  for (const t of trades.slice(0, 20)) assert.deepEqual([t.price, t.amount, t.side, t.timestamp], ['price', 'base_volume', 'type', 'trade_timestamp'].map((k) => own.get(t.id)[k]));
  for (const [frame, step] of [['1s', 1000], ['1m', 60000], ['2h', 7200000], ['1d', 86400000], ['1w', 0], ['1M', 0]]) {
    clean(checkOHLCV(await x.fetchOHLCV(symbol, frame, undefined, 10), step || undefined));
  }
  const minutes = await x.fetchOHLCV(symbol, '1m', undefined, 30);
  const start = new Date(minutes[5][0]).toISOString().slice(0, 19), end = new Date(minutes[20][0]).toISOString().slice(0, 19);
  const candles = await native(`/api/ohlc?currencyPairCode=BTC_USDT&interval=minute&start=${start}&end=${end}&fill=previous`);
  assert.deepEqual(minutes.slice(5, 21), candles.map((c) => [Date.parse(`${c.date}Z`), c.open, c.max, c.min, c.close, c.volumeBase]));
});

test('ccxt: errors', async () => {
  await assert.rejects(x.publicGetDepth({ symbol: 'AAABBB' }), ccxt.BadSymbol);
  await assert.rejects(x.publicGetDepth({}), ccxt.BadRequest);
});

test('binance-api-node', async () => {
  const c = (nodeBinance.default ?? nodeBinance)({ httpBase: at.binance, wsBase: `${at.binance.replace('http', 'ws')}/ws` });
  assert.equal(await c.ping(), true);
  assert.ok(Math.abs((await c.time()) - Date.now()) < 60000);
  const info = await c.exchangeInfo();
  assert.ok(info.symbols.some((s) => s.symbol === id));
  assert.equal((await c.book({ symbol: id, limit: 5 })).bids.length, 5);
  assert.equal((await c.trades({ symbol: id, limit: 7 })).length, 7);
  assert.equal((await c.aggTrades({ symbol: id, limit: 7 })).length, 7);
  assert.equal((await c.candles({ symbol: id, interval: '5m', limit: 3 })).length, 3);
  assert.equal((await c.dailyStats({ symbol: id })).symbol, id);
  assert.ok(Number((await c.prices())[id]) > 0 && Number((await c.avgPrice({ symbol: id })).price) > 0);
  assert.ok(Number((await c.allBookTickers())[id].bidPrice) > 0);
});

test('@binance/connector', async () => {
  const c = new Spot('', '', { baseURL: at.binance });
  const data = async (call) => (await call).data;
  assert.deepEqual(await data(c.ping()), {});
  assert.ok((await data(c.time())).serverTime > 0);
  assert.equal((await data(c.exchangeInfo({ symbol: id }))).symbols.length, 1);
  assert.equal((await data(c.depth(id, { limit: 5 }))).asks.length, 5);
  assert.equal((await data(c.trades(id, { limit: 3 }))).length, 3);
  assert.equal((await data(c.aggTrades(id, { limit: 3 }))).length, 3);
  assert.equal((await data(c.klines(id, '1m', { limit: 3 }))).length, 3);
  assert.ok(Number((await data(c.avgPrice(id))).price) > 0);
  assert.equal((await data(c.ticker24hr(id))).symbol, id);
  assert.equal((await data(c.tickerPrice(id))).symbol, id);
  assert.ok(Number((await data(c.bookTicker(id))).askPrice) > 0);
});

test('binance', async () => {
  const c = new MainClient({ baseUrl: at.binance });
  assert.deepEqual(await c.testConnectivity(), {});
  assert.ok((await c.getExchangeInfo({ symbol: id })).symbols.length === 1);
  assert.equal((await c.getOrderBook({ symbol: id, limit: 5 })).bids.length, 5);
  assert.equal((await c.getRecentTrades({ symbol: id, limit: 3 })).length, 3);
  assert.equal((await c.getKlines({ symbol: id, interval: '1m', limit: 3 })).length, 3);
  assert.equal((await c.get24hrChangeStatistics({ symbol: id })).symbol, id);
  assert.equal((await c.getSymbolPriceTicker({ symbol: id })).symbol, id);
});
