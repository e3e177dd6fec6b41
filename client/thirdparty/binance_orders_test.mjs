// Trading with clients of Binance, unmodified but for their URLs. Results are compared with the
// exchange's own API.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import ccxt from 'ccxt';
import nodeBinance from 'binance-api-node';
import { Spot } from '@binance/connector';
import { MainClient } from 'binance';
import { makeTickHive } from '../js/ccxt.mjs';
import { account, at, binance, id, symbol } from './common.mjs';
import { checkBalance, checkCurrency, checkOrder, checkTrades } from './check.mjs';

const clean = (found) => assert.deepEqual(found, []);
const x = binance();
const own = new (makeTickHive(ccxt))({ hostname: new URL(at.public).host, apiKey: at.publicKey, secret: at.privateKey });
after(() => Promise.all([x.close(), own.close()]));
const far = async () => Number(own.priceToPrecision(symbol, (await own.fetchTicker(symbol)).bid / 2));

// same compares the members of an order that both interfaces have, to the last digit.
function same(o, native) {
  for (const key of ['id', 'clientOrderId', 'symbol', 'side', 'type', 'price', 'amount', 'filled', 'remaining', 'cost', 'triggerPrice', 'status', 'timestamp']) {
    assert.deepEqual(o[key], native[key], key);
  }
}

test('ccxt: markets, currencies and fees with a key', async () => {
  await x.loadMarkets();
  await own.loadMarkets();
  // ccxt takes the limits from the networks of a currency, of which there are none.
  for (const c of Object.values(await x.fetchCurrencies())) {
    // ccxt takes these from networks, which the exchange has none of
    const none = { precision: 1e-8, deposit: c.active, withdraw: c.active };
    const limits = { withdraw: c.limits?.withdraw ?? {}, deposit: c.limits?.deposit ?? {} };
    for (const range of Object.values(limits)) for (const key of ['min', 'max']) range[key] ??= undefined;
    clean(checkCurrency({ ...c, ...Object.fromEntries(Object.entries(none).map(([key, v]) => [key, c[key] ?? v])), limits }));
  }
  assert.ok(Object.keys(x.currencies).includes('BTC'));
  const fees = await x.fetchTradingFees();
  assert.deepEqual([fees[symbol].maker, fees[symbol].taker], [0.001, 0.001]);
});

test('ccxt: orders rest, are found, changed and canceled', async () => {
  const price = await far();
  const order = await x.createOrder(symbol, 'limit', 'buy', 0.01, price, { clientOrderId: 'ccxt-1' });
  clean(checkOrder(order, symbol));
  same(await x.fetchOrder(order.id, symbol), await own.fetchOrder(order.id, symbol));
  assert.deepEqual([order.status, order.price, order.amount, order.clientOrderId], ['open', price, 0.01, 'ccxt-1']);
  const post = await x.createOrder(symbol, 'limit', 'buy', 0.01, price, { postOnly: true, clientOrderId: 'ccxt-2' });
  const stop = await x.createOrder(symbol, 'limit', 'sell', 0.01, price, { stopLossPrice: price, clientOrderId: 'ccxt-3' });
  const iceberg = await x.createOrder(symbol, 'limit', 'buy', 0.1, price, { icebergQty: '0.01', clientOrderId: 'ccxt-4' });
  const open = await x.fetchOpenOrders(symbol);
  open.forEach((o) => clean(checkOrder(o, symbol)));
  assert.deepEqual(open.map((o) => o.id), [order, post, stop, iceberg].map((o) => o.id));
  const edited = await x.editOrder(order.id, symbol, 'limit', 'buy', 0.02, price - 1);
  assert.deepEqual([edited.amount, edited.price, (await own.fetchOrder(order.id)).status], [0.02, price - 1, 'canceled']);
  const canceled = await x.cancelOrder(post.id, symbol);
  clean(checkOrder(canceled, symbol));
  assert.equal(canceled.status, 'canceled');
  const balance = await x.fetchBalance();
  clean(checkBalance(balance, x.currencies));
  const native = await own.fetchBalance();
  for (const code of Object.keys(native.total)) assert.deepEqual(balance[code], native[code], code);
  await x.cancelAllOrders(symbol);
  assert.deepEqual([await x.fetchOpenOrders(symbol), await own.fetchOpenOrders()], [[], []]);
});

test('ccxt: market orders, trades and balances agree with the native API', async () => {
  const before = await own.fetchBalance();
  const bought = await x.createOrder(symbol, 'market', 'buy', 0.02);
  const spent = await x.createMarketBuyOrderWithCost(symbol, 500);
  const sold = await x.createOrder(symbol, 'market', 'sell', 0.005);
  for (const o of [bought, spent, sold]) {
    clean(checkOrder({ ...o, trades: [] }, symbol)); // the fills of Binance's answer have neither time nor side
    assert.deepEqual([o.status, o.trades.length > 0], ['closed', true]);
    const native = await own.fetchOrder(o.id, symbol);
    assert.deepEqual([o.filled, o.cost], [native.filled, native.cost]);
  }
  const now = await x.fetchBalance();
  // a purchase pays its commission in BTC, a sale in USDT
  const fees = (...orders) => orders.flatMap((o) => o.fees).reduce((sum, fee) => sum + fee.cost, 0);
  assert.deepEqual([bought, spent, sold].map((o) => o.fees[0].currency), ['BTC', 'BTC', 'USDT']);
  assert.ok(fees(bought) > 0 && Math.abs(now.BTC.total - before.BTC.total - bought.filled - spent.filled + fees(bought, spent) + sold.filled) < 1e-9);
  assert.ok(fees(sold) > 0 && Math.abs(now.USDT.total - before.USDT.total + bought.cost + spent.cost + fees(sold) - sold.cost) < 1e-6);
  const mine = await x.fetchMyTrades(symbol);
  clean(checkTrades(mine, symbol, true));
  const native = await own.fetchMyTrades(symbol);
  assert.deepEqual(mine.map((t) => [t.id, t.order, t.price, t.amount, t.side, t.takerOrMaker, t.fee.cost, t.fee.currency]),
    native.map((t) => [t.id, t.order, t.price, t.amount, t.side, t.takerOrMaker, t.fee.cost, t.fee.currency]));
  clean(checkTrades(await x.fetchOrderTrades(bought.id, symbol), symbol, true));
  const all = await x.fetchOrders(symbol);
  all.forEach((o) => clean(checkOrder(o, symbol)));
  const closed = await x.fetchClosedOrders(symbol);
  assert.deepEqual(closed.map((o) => o.id), [bought.id, spent.id, sold.id]);
});

test('ccxt: a purchase for the whole balance is filled, and what was bought cannot be sold whole', async () => {
  const y = binance(await account({ USDT: '1000' }));
  const spent = await y.createMarketBuyOrderWithCost(symbol, 1000);
  const [fee] = spent.fees;
  assert.deepEqual([spent.status, spent.fees.length, fee.currency], ['closed', 1, 'BTC']);
  const { BTC, USDT } = await y.fetchBalance();
  assert.deepEqual([BTC.free, USDT.used], [Number((spent.filled - fee.cost).toFixed(8)), 0]);
  assert.ok(USDT.free < spent.average * 1e-5, `${USDT.free} would buy another lot`);
  await assert.rejects(y.createOrder(symbol, 'market', 'sell', spent.filled), ccxt.InsufficientFunds);
  const sold = await y.createOrder(symbol, 'market', 'sell', Number(y.amountToPrecision(symbol, BTC.free)));
  assert.deepEqual([sold.status, sold.fees[0].currency], ['closed', 'USDT']);
  await y.close();
});

test('ccxt: a limit order for the whole balance is filled', async () => {
  const y = binance(await account({ USDT: '1000' }));
  const { ask } = await own.fetchTicker(symbol);
  const price = Number(own.priceToPrecision(symbol, ask * 1.001)), amount = Number(own.amountToPrecision(symbol, 1000 / price));
  assert.ok(price * amount > 1000 - price * 1e-5);
  const bought = await y.createOrder(symbol, 'limit', 'buy', amount, price);
  assert.deepEqual([bought.status, bought.filled], ['closed', amount]);
  await y.close();
});

test('ccxt: who buys 0.01 cannot sell 0.01', async () => {
  const y = binance(await account({ USDT: '2000' }));
  assert.equal((await y.createOrder(symbol, 'market', 'buy', 0.01)).status, 'closed');
  await assert.rejects(y.createOrder(symbol, 'market', 'sell', 0.01), ccxt.InsufficientFunds);
  assert.match(y.last_http_response, /"code":-2010,/);
  const info = (await y.fetchBalance()).info.balances.filter((b) => ['BTC', 'USDT'].includes(b.asset));
  assert.equal(info.length, 2);
  for (const b of info) assert.match(`${b.free} ${b.locked}`, /^\d+\.\d{8} \d+\.\d{8}$/);
  await y.close();
});

test('ccxt: errors', async () => {
  const price = await far();
  const rejects = (call, Class) => assert.rejects(call, (e) => e instanceof Class || assert.fail(`${e.constructor.name}: ${e.message}, not ${Class.name}`));
  await rejects(x.createOrder(symbol, 'limit', 'buy', 9e3, price), ccxt.InsufficientFunds);
  await rejects(x.cancelOrder('1', symbol), ccxt.OrderNotFound);
  await rejects(x.fetchOrder('1', symbol), ccxt.OrderNotFound);
  await rejects(x.createOrder(symbol, 'limit', 'buy', 0.01, price * 4, { postOnly: true }), ccxt.OrderImmediatelyFillable);
  await rejects(binance({ secret: 'wrong' }).fetchBalance(), ccxt.AuthenticationError);
});

test('binance-api-node', async () => {
  const price = String(await far());
  const c = (nodeBinance.default ?? nodeBinance)({ httpBase: at.binance, apiKey: at.publicKey, apiSecret: at.privateKey });
  await c.orderTest({ symbol: id, side: 'BUY', type: 'LIMIT', quantity: '0.01', price });
  const o = await c.order({ symbol: id, side: 'BUY', type: 'LIMIT', quantity: '0.01', price });
  assert.equal((await c.getOrder({ symbol: id, orderId: o.orderId })).status, 'NEW');
  assert.deepEqual((await c.openOrders({ symbol: id })).map((r) => r.orderId), [o.orderId]);
  assert.equal((await c.cancelOrder({ symbol: id, orderId: o.orderId })).status, 'CANCELED');
  const m = await c.order({ symbol: id, side: 'BUY', type: 'MARKET', quantity: '0.01' });
  assert.deepEqual([m.status, m.fills.length > 0], ['FILLED', true]);
  assert.ok((await c.myTrades({ symbol: id })).some((t) => t.orderId === m.orderId));
  assert.ok((await c.allOrders({ symbol: id })).some((r) => r.orderId === m.orderId));
  assert.ok((await c.accountInfo()).balances.some((b) => b.asset === 'BTC' && Number(b.free) > 0));
});

test('@binance/connector', async () => {
  const price = String(await far());
  const c = new Spot(at.publicKey, at.privateKey, { baseURL: at.binance });
  const data = async (call) => (await call).data;
  assert.deepEqual(await data(c.newOrderTest(id, 'BUY', 'LIMIT', { quantity: '0.01', price, timeInForce: 'GTC' })), {});
  const o = await data(c.newOrder(id, 'BUY', 'LIMIT', { quantity: '0.01', price, timeInForce: 'GTC' }));
  assert.equal((await data(c.getOrder(id, { orderId: o.orderId }))).status, 'NEW');
  const replaced = await data(c.cancelAndReplace(id, 'BUY', 'LIMIT', 'STOP_ON_FAILURE', { quantity: '0.02', price, timeInForce: 'GTC', cancelOrderId: o.orderId }));
  assert.deepEqual([replaced.cancelResult, replaced.newOrderResult], ['SUCCESS', 'SUCCESS']);
  assert.equal((await data(c.openOrders({ symbol: id }))).length, 1);
  assert.equal((await data(c.cancelOpenOrders(id))).length, 1);
  assert.ok((await data(c.account())).balances.length > 0);
  assert.ok((await data(c.myTrades(id))).length > 0);
  assert.ok((await data(c.allOrders(id))).length > 0);
  await assert.rejects(c.cancelOrder(id, { orderId: 1 }), (e) => e.response.data.code === -2011);
});

test('binance', async () => {
  const price = await far();
  const c = new MainClient({ baseUrl: at.binance, api_key: at.publicKey, api_secret: at.privateKey });
  const o = await c.submitNewOrder({ symbol: id, side: 'BUY', type: 'LIMIT', quantity: 0.01, price, timeInForce: 'GTC', newOrderRespType: 'FULL' });
  assert.equal((await c.getOrder({ symbol: id, orderId: o.orderId })).status, 'NEW');
  assert.equal((await c.cancelOrder({ symbol: id, orderId: o.orderId })).status, 'CANCELED');
  assert.ok((await c.getAccountInformation()).balances.length > 0);
  assert.ok((await c.getAccountTradeList({ symbol: id })).length > 0);
});
