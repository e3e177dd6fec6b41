// Sockets of clients of Binance, unmodified but for their URLs: market streams, user data streams and the WebSocket
// API. What they deliver is compared with the exchange's own API.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import ccxt from 'ccxt';
import nodeBinance from 'binance-api-node';
import { Spot, WebsocketAPI, WebsocketStream } from '@binance/connector';
import { WebsocketAPIClient, WebsocketClient } from 'binance';
import { makeTickHive } from '../js/ccxt.mjs';
import { at, binance, heard, id, pending, showsOrder, symbol, within } from './common.mjs';
import { checkBalance, checkOHLCV, checkOrder, checkOrderBook, checkTicker, checkTrades } from './check.mjs';

const clean = (found) => assert.deepEqual(found, []);
const ws = at.binance.replace('http', 'ws');
const x = binance({ options: { defaultType: 'spot', fetchMarkets: { types: ['spot'] } } });
const own = new (makeTickHive(ccxt))({ hostname: new URL(at.public).host, apiKey: at.publicKey, secret: at.privateKey });
const quiet = Object.fromEntries(['trace', 'debug', 'info', 'warn', 'error', 'log'].map((name) => [name, () => {}]));
after(() => Promise.all([x.close(), own.close()]));

// agrees compares the last report of a filled order with the native order and fills, to the last digit.
async function agrees(report) {
  const [native, fills] = await Promise.all([own.fetchOrder(String(report.i)), own.fetchMyTrades(symbol)]);
  const mine = fills.filter((t) => t.order === String(report.i));
  assert.deepEqual([Number(report.z), Number(report.Z), report.X], [native.filled, native.cost, native.status === 'closed' ? 'FILLED' : report.X]);
  const last = mine.find((t) => t.id === String(report.t));
  assert.deepEqual([Number(report.l), Number(report.L), Number(report.n), report.N, report.m],
    [last.amount, last.price, last.fee.cost, last.fee.currency, last.takerOrMaker === 'maker']);
}

const fields = ['e', 'E', 's', 'c', 'S', 'o', 'f', 'q', 'p', 'P', 'F', 'g', 'C', 'x', 'X', 'r', 'i', 'l', 'z', 'L', 'n', 'N', 'T', 't', 'I', 'w', 'm', 'M', 'O', 'Z', 'Y', 'Q', 'W', 'V'];

test('ccxt pro: market streams', async () => {
  await Promise.all([x.loadMarkets(), own.loadMarkets()]);
  await x.loadHttpProxyAgent(); // ccxt speaks ws:// only with an agent
  const book = await x.watchOrderBook(symbol);
  clean(checkOrderBook(book, symbol, undefined, false)); // the first state is a book of REST, without a time
  clean(checkTrades(await x.watchTrades(symbol), symbol));
  clean(checkTicker(await x.watchTicker(symbol), symbol));
  clean(checkOHLCV(await x.watchOHLCV(symbol, '1m')));
  const best = (await x.watchBidsAsks([symbol]))[symbol];
  assert.ok(best.bid > 0 && best.bid < best.ask);
});

test('ccxt pro: orders, trades and balances', async () => {
  const orders = heard(), trades = heard(), balances = heard();
  const follow = async (h, hash, call) => {
    const first = await pending(x, hash, call);
    const rows = async () => {
      for (let { next } = first; ; next = call()) for (const row of [await next].flat()) h.push({ ...row });
    };
    rows().catch(h.push); // it ends with x
  };
  await Promise.all([
    follow(orders, `orders:${symbol}`, () => x.watchOrders(symbol)), follow(trades, `myTrades:${symbol}`, () => x.watchMyTrades(symbol)),
    follow(balances, 'spot:balance', () => x.watchBalance()),
  ]);
  const clientOrderId = `pro-${Date.now()}`;
  const o = await x.createOrder(symbol, 'market', 'buy', 0.01, undefined, { clientOrderId });
  const row = await orders.wait((r) => r.id === o.id && r.status === 'closed');
  // ccxt keeps the stop price 0 of a report; the other exchange sends it too
  clean(checkOrder({ ...row, trades: [], triggerPrice: row.triggerPrice || undefined, stopPrice: row.stopPrice || undefined }, symbol));
  const native = await own.fetchOrder(o.id);
  assert.deepEqual([row.filled, row.cost, row.clientOrderId], [native.filled, native.cost, clientOrderId]);
  const fills = (await own.fetchMyTrades(symbol)).filter((t) => t.order === o.id);
  for (const f of fills) {
    const t = await trades.wait((one) => one.id === f.id);
    clean(checkTrades([t], symbol, true));
    assert.deepEqual([t.price, t.amount, t.fee.cost, t.fee.currency, t.side], [f.price, f.amount, f.fee.cost, f.fee.currency, f.side]);
  }
  const want = await own.fetchBalance();
  clean(checkBalance(await balances.wait((b) => ['BTC', 'USDT'].every((code) => b[code]?.free === want[code].free && b[code].used === want[code].used))));
});

test('ccxt pro: watchOrders goes on over a broken line, and fetchOrder has what happened meanwhile', async () => {
  const y = binance({ options: { defaultType: 'spot', fetchMarkets: { types: ['spot'] } } });
  await y.loadMarkets();
  await y.loadHttpProxyAgent();
  const price = Number(y.priceToPrecision(symbol, (await y.fetchTicker(symbol)).bid / 2));
  const watched = () => pending(y, `orders:${symbol}`, () => y.watchOrders(symbol));
  const first = await watched();
  const kept = await own.createOrder(symbol, 'limit', 'buy', 0.01, price);
  assert.equal((await showsOrder(y, symbol, kept.id, first.next)).status, 'open');
  const lost = await watched();
  for (const c of Object.values(y.clients)) c.connection.terminate();
  await assert.rejects(within('the end of a broken line', lost.next), ccxt.NetworkError);
  await own.cancelOrder(kept.id, symbol);
  const again = await watched();
  const next = await own.createOrder(symbol, 'limit', 'buy', 0.02, price);
  const row = await showsOrder(y, symbol, next.id, again.next);
  assert.deepEqual([row.status, row.amount, row.price], ['open', 0.02, price]);
  const [missed, native] = [await y.fetchOrder(kept.id, symbol), await own.fetchOrder(kept.id, symbol)];
  assert.deepEqual([missed.status, missed.filled, missed.remaining], ['canceled', native.filled, native.remaining]);
  const last = await watched();
  await own.cancelOrder(next.id, symbol);
  assert.equal((await showsOrder(y, symbol, next.id, last.next)).status, 'canceled');
  await y.close();
});

test('ccxt pro: orders over the WebSocket API', async () => {
  const price = Number(x.priceToPrecision(symbol, (await x.fetchTicker(symbol)).bid / 2));
  const o = await x.createOrderWs(symbol, 'limit', 'buy', 0.01, price);
  assert.deepEqual([o.status, (await own.fetchOrder(o.id)).price], ['open', price]);
  assert.equal((await x.fetchOrderWs(o.id, symbol)).id, o.id);
  assert.ok((await x.fetchOpenOrdersWs(symbol)).some((r) => r.id === o.id));
  assert.equal((await x.cancelOrderWs(o.id, symbol)).status, 'canceled');
  const { balances } = (await x.fetchBalanceWs()).info, native = await own.fetchBalance(); // ccxt leaves it unparsed
  for (const b of balances) assert.equal(Number(b.free), native[b.asset]?.free ?? 0, b.asset);
});

test('binance-api-node: market streams and user data', async () => {
  const c = (nodeBinance.default ?? nodeBinance)({ httpBase: at.binance, wsBase: `${ws}/ws`, wsApi: `${ws}/ws-api/v3`, apiKey: at.publicKey, apiSecret: at.privateKey });
  const h = { depth: heard(), partial: heard(), trades: heard(), candles: heard(), ticker: heard(), mini: heard() };
  const closes = [
    c.ws.depth(id, h.depth.push), c.ws.partialDepth({ symbol: id, level: 5 }, h.partial.push), c.ws.trades([id], h.trades.push),
    c.ws.candles(id, '1m', h.candles.push), c.ws.ticker(id, h.ticker.push), c.ws.allMiniTickers(h.mini.push),
  ];
  const user = heard();
  const end = await c.ws.user(user.push); // it waits for the answer to the subscription
  const o = await c.order({ symbol: id, side: 'BUY', type: 'MARKET', quantity: '0.01' });
  const done = await user.wait((e) => e.eventType === 'executionReport' && e.orderId === o.orderId && e.orderStatus === 'FILLED');
  const native = await own.fetchOrder(String(o.orderId));
  assert.deepEqual([Number(done.totalTradeQuantity), Number(done.totalQuoteTradeQuantity), done.executionType], [native.filled, native.cost, 'TRADE']);
  const position = await user.wait((e) => e.eventType === 'outboundAccountPosition');
  const balance = await own.fetchBalance();
  for (const b of position.balances) assert.equal(Number(b.free), balance[b.asset].free, b.asset);
  await end();
  assert.equal((await h.depth.wait(() => true)).symbol, id);
  assert.equal((await h.partial.wait(() => true)).bids.length, 5);
  assert.ok(Number((await h.trades.wait(() => true)).price) > 0);
  assert.equal((await h.candles.wait(() => true)).interval, '1m');
  assert.equal((await h.ticker.wait(() => true)).symbol, id);
  assert.ok((await h.mini.wait(() => true)).length > 0);
  closes.forEach((close) => close());
});

test('@binance/connector: market streams, user data and the WebSocket API', async () => {
  const rest = new Spot(at.publicKey, at.privateKey, { baseURL: at.binance });
  const { listenKey } = (await rest.createListenKey()).data;
  assert.deepEqual((await rest.renewListenKey(listenKey)).data, {});
  const user = heard(), market = heard(), opened = heard();
  const on = (h) => ({ open: () => opened.push(true), message: (text) => h.push(JSON.parse(text)) });
  const own1 = new WebsocketStream({ wsURL: ws, logger: quiet, callbacks: on(user) });
  own1.userData(listenKey);
  const streams = new WebsocketStream({ wsURL: ws, logger: quiet, combinedStreams: true, callbacks: on(market) });
  streams.subscribe([`${id.toLowerCase()}@bookTicker`, `${id.toLowerCase()}@depth5`, `${id.toLowerCase()}@miniTicker`]);
  const answers = heard();
  const api = new WebsocketAPI(at.publicKey, at.privateKey, { wsURL: `${ws}/ws-api/v3`, logger: quiet, callbacks: on(answers) });
  await opened.wait(() => opened.all.length === 3);
  api.newOrder(id, 'BUY', 'MARKET', { id: 'place', quantity: 0.01, newOrderRespType: 'FULL' });
  const placed = await answers.wait((a) => a.id === 'place');
  assert.deepEqual([placed.status, placed.result.status], [200, 'FILLED'], JSON.stringify(placed));
  const done = await user.wait((e) => e.x === 'TRADE' && e.X === 'FILLED' && e.i === placed.result.orderId);
  assert.deepEqual(fields.filter((f) => done[f] === undefined), []);
  await agrees(done);
  api.account({ id: 'account' });
  assert.ok((await answers.wait((a) => a.id === 'account')).result.balances.some((b) => b.asset === 'BTC'));
  api.cancelOrder(id, { id: 'cancel', orderId: 1 });
  assert.deepEqual((await answers.wait((a) => a.id === 'cancel')).error.code, -2011);
  for (const kind of ['bookTicker', 'depth5', 'miniTicker']) assert.ok((await market.wait((m) => m.stream?.endsWith(`@${kind}`))).data);
  for (const c of [own1, streams, api]) c.disconnect();
  assert.deepEqual((await rest.closeListenKey(listenKey)).data, {});
});

test('binance: market streams, user data and the WebSocket API', async () => {
  const keys = { api_key: at.publicKey, api_secret: at.privateKey, beautify: false };
  const market = new WebsocketClient({ ...keys, wsUrl: ws }, quiet), events = heard();
  market.on('message', events.push);
  market.on('exception', events.push);
  await market.subscribe([`${id.toLowerCase()}@trade`, `${id.toLowerCase()}@kline_1m`], 'main');
  const api = new WebsocketAPIClient({ ...keys, wsUrl: ws, attachEventListeners: false }, quiet), user = heard();
  api.getWSClient().on('message', user.push);
  api.getWSClient().on('exception', user.push);
  assert.equal((await api.subscribeUserDataStream('mainWSAPI')).status, 200);
  const placed = await api.submitNewSpotOrder({ symbol: id, side: 'SELL', type: 'MARKET', quantity: 0.01, newOrderRespType: 'RESULT', timestamp: Date.now() });
  assert.deepEqual([placed.status, placed.result.status], [200, 'FILLED']);
  const done = await user.wait((m) => m.X === 'FILLED' && m.i === placed.result.orderId);
  await agrees(done);
  assert.equal((await events.wait((m) => m.e === 'kline')).k.i, '1m');
  await Promise.all([market.closeAll(true), api.disconnectAll()]);
});
