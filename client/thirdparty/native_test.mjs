// The ccxt class of client/js with ccxt from npm against a running exchange; EXCHANGE has the line
// that `tickhive serve --ephemeral` prints.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import ccxt from 'ccxt';
import { makeTickHive } from '../js/ccxt.mjs';
import { market, see } from '../js/kinds.mjs';
import { account, pending, showsOrder, within } from './common.mjs';
import {
  checkBalance, checkCurrency, checkMarket, checkOrder, checkOrderBook, checkTrades,
} from './check.mjs';

const at = JSON.parse(process.env.EXCHANGE);
const symbol = 'BTC/USDT';
const Exchange = makeTickHive(ccxt);
const make = (options = {}) => new Exchange({ hostname: new URL(at.public).host, apiKey: at.publicKey, secret: at.privateKey, ...options });
const x = make();
after(() => x.close());
const clean = (found) => assert.deepEqual(found, []);

// far returns a price below the market at which a buy rests.
async function far() {
  const { bid } = await x.fetchTicker(symbol);
  return Number(x.priceToPrecision(symbol, bid * 0.5));
}

test('it is a ccxt exchange, and a sandbox', async () => {
  assert.ok(x instanceof ccxt.Exchange);
  assert.deepEqual([x.id, x.has.fetchOHLCV, x.has.watchOrders, x.has.fetchFundingRate], ['tickhive', true, true, undefined]);
  x.setSandboxMode(true);
  x.setSandboxMode(false);
});

test('markets and currencies', async () => {
  await x.loadMarkets();
  assert.ok(x.symbols.length >= 12);
  for (const m of Object.values(x.markets)) clean(checkMarket(m, x.currencies));
  for (const c of Object.values(await x.fetchCurrencies())) clean(checkCurrency(c));
  const ada = x.market('ADA/USDT');
  assert.deepEqual([x.priceToPrecision('ADA/USDT', 0.123456789), x.amountToPrecision(symbol, 0.1234567891)], ['0.1235', '0.12345']);
  assert.deepEqual([String(ada.precision.price), ada.taker, ada.active, ada.feeSide], ['0.0001', 0.001, true, 'get']);
  assert.deepEqual(['BTC', 'USDT', 'NATIVE'].map((code) => x.currencies[code].precision), [1e-8, 1e-8, 1e-18]);
  assert.deepEqual(['buy', 'sell'].map((side) => x.calculateFee(symbol, 'limit', side, 2, 50000, 'taker')).map((fee) => [fee.currency, fee.cost]), [['BTC', 0.002], ['USDT', 100]]);
  assert.equal(x.featureValue(symbol, 'createOrder', 'marketBuyByCost'), true);
  assert.equal((await x.fetchStatus()).status, 'ok');
  assert.ok(Math.abs((await x.fetchTime()) - Date.now()) < 60000);
});

test('orders rest, are found, changed and canceled', async () => {
  const price = await far();
  const order = await x.createOrder(symbol, 'limit', 'buy', 0.01, price, { clientOrderId: 'native-1', postOnly: true });
  clean(checkOrder(order, symbol));
  assert.deepEqual([order.status, order.price, order.amount, order.filled, order.remaining, order.clientOrderId, order.side, order.type],
    ['open', price, 0.01, 0, 0.01, 'native-1', 'buy', 'limit']);
  assert.deepEqual([order.postOnly, order.timeInForce], [true, 'PO']);
  const stop = await x.createOrder(symbol, 'market', 'sell', 0.01, undefined, { triggerPrice: price });
  clean(checkOrder(stop, symbol));
  assert.deepEqual([stop.status, stop.triggerPrice, stop.type], ['open', price, 'market']);
  const open = await x.fetchOpenOrders(symbol);
  open.forEach((o) => clean(checkOrder(o, symbol)));
  assert.deepEqual(open.map((o) => o.id), [order.id, stop.id]);
  assert.deepEqual((await x.fetchOrder(order.id, symbol)).id, order.id);
  assert.deepEqual((await x.fetchOrder(undefined, symbol, { clientOrderId: 'native-1' })).id, order.id);
  await assert.rejects(x.fetchOrder(undefined, symbol, { clientOrderId: 'none' }), ccxt.OrderNotFound);
  const balance = await x.fetchBalance();
  clean(checkBalance(balance, x.currencies));
  assert.ok(balance.USDT.used >= Number((price * 0.01).toFixed(8))); // the product of two doubles may be above their decimal
  const edited = await x.editOrder(order.id, symbol, 'limit', 'buy', 0.02, price - 1);
  clean(checkOrder(edited, symbol));
  assert.deepEqual([edited.id, edited.price, edited.amount, edited.status], [order.id, price - 1, 0.02, 'open']);
  const canceled = await x.cancelOrder(order.id, symbol);
  clean(checkOrder(canceled, symbol));
  assert.equal(canceled.status, 'canceled');
  assert.deepEqual((await x.cancelAllOrders(symbol)).map((o) => o.id), [stop.id]);
  assert.deepEqual(await x.fetchOpenOrders(), []);
  assert.deepEqual((await x.fetchCanceledOrders(symbol)).map((o) => o.id), [order.id, stop.id]);
});

test('market orders are filled; trades, fees and balances agree with them', async () => {
  const before = await x.fetchBalance();
  const bought = await x.createOrder(symbol, 'market', 'buy', 0.02);
  const spent = await x.createMarketBuyOrderWithCost(symbol, 500);
  for (const o of [bought, spent]) {
    clean(checkOrder(o, symbol));
    assert.equal(o.status, 'closed');
    assert.ok(o.trades.length > 0);
    clean(checkTrades(o.trades, symbol, true));
  }
  const now = await x.fetchBalance();
  clean(checkBalance(now, x.currencies));
  const fees = [bought, spent].flatMap((o) => o.fees);
  assert.ok(fees.every((f) => f.currency === 'BTC' && f.cost > 0)); // a purchase pays its fee in what it buys
  const got = fees.reduce((left, f) => left - f.cost, bought.filled + spent.filled);
  assert.ok(Math.abs(now.BTC.total - before.BTC.total - got) < 1e-9, `${before.BTC.total} to ${now.BTC.total}, received ${got}`);
  assert.ok(Math.abs(before.USDT.total - now.USDT.total - bought.cost - spent.cost) < 1e-6);
  const mine = await x.fetchMyTrades(symbol);
  clean(checkTrades(mine, symbol, true));
  assert.ok(mine.length >= bought.trades.length + spent.trades.length);
  const closed = await x.fetchClosedOrders(symbol);
  closed.forEach((o) => clean(checkOrder(o, symbol)));
  assert.deepEqual(closed.map((o) => o.id), [bought.id, spent.id]);
  assert.deepEqual((await x.fetchOrders(symbol, undefined, 2)).map((o) => o.id), [bought.id, spent.id]);
});

test('each kind of order is placed and seen to its end', async () => {
  const { trade, publicKey: apiKey, privateKey: secret } = await market(at.internal, 'NAT_USDT'), pair = 'NAT/USDT';
  const y = make({ apiKey, secret });
  await see(trade, {
    place: async (c) => {
      if (c.list) return (await y.privatePostApiOrdersLists({ currencyPairCode: 'NAT_USDT', ...c.list })).orders.map((o) => o.id);
      const { side, type, amount, price, ...params } = c.order, o = await y.createOrder(pair, type, side, amount, price, params);
      clean(checkOrder(o, pair));
      return [o.id];
    },
    read: async (id) => {
      const o = await y.fetchOrder(id, pair);
      clean(checkOrder(o, pair));
      return o.info;
    },
    cancel: (id) => y.cancelOrder(id), cancelList: (listId) => y.privateDeleteApiOrdersListsListId({ listId }), codeOf: (e) => /tickhive (\w+):/.exec(e.message)[1],
  });
  await y.close();
});

test("ccxt's own calls make take profits, trails and lists", async () => {
  const { trade, publicKey: apiKey, privateKey: secret } = await market(at.internal, 'NAU_USDT'), pair = 'NAU/USDT';
  const y = make({ apiKey, secret });
  const ends = async (id, status) => { const o = await y.fetchOrder(id, pair); clean(checkOrder(o, pair)); assert.equal(o.status, status); return o; };
  await trade('100');
  const trail = await y.createTrailingPercentOrder(pair, 'market', 'sell', 1, undefined, 5);
  assert.deepEqual([trail.info.trailingDelta, trail.type, trail.status], [500, 'market', 'open']);
  for (const price of ['105', '99.76']) await trade(price);
  await ends(trail.id, 'open');
  await trade('99.75'); // 5 % below 105
  await ends(trail.id, 'closed');
  await trade('100');
  const profit = await y.createTakeProfitOrder(pair, 'market', 'sell', 1, undefined, 105);
  assert.deepEqual([profit.takeProfitPrice, profit.stopLossPrice, profit.triggerPrice, profit.status], [105, undefined, 105, 'open']);
  const loss = await y.createStopLossOrder(pair, 'limit', 'sell', 1, 90, 95);
  assert.deepEqual([loss.takeProfitPrice, loss.stopLossPrice, loss.price, loss.status], [undefined, 95, 90, 'open']);
  await trade('104');
  await ends(profit.id, 'open');
  await trade('105');
  await ends(profit.id, 'closed'); // at 90, which is the last price then
  await ends(loss.id, 'closed');
  const edited = await y.editOrder((await y.createOrder(pair, 'market', 'sell', 1, undefined, { stopLossPrice: 80 })).id, pair, 'market', 'sell', undefined, undefined, { triggerPrice: 85 });
  assert.deepEqual([edited.triggerPrice, edited.status], [85, 'open']);
  assert.equal((await y.cancelOrder(edited.id)).status, 'canceled');
  const sold = await y.createMarketSellOrderWithCost(pair, 180);
  assert.deepEqual([sold.status, sold.cost, sold.filled], ['closed', 180, 2]);
  await trade('100');
  await assert.rejects(y.createOrder(pair, 'market', 'sell', 1, undefined, { stopLossPrice: 105, strictTrigger: true }), ccxt.OrderImmediatelyFillable);
  const bought = await y.createOrderWithTakeProfitAndStopLoss(pair, 'limit', 'buy', 1, 99, 105, 95);
  const list = await y.privateGetApiOrdersListsListId({ listId: bought.info.listId });
  assert.deepEqual([list.kind, list.orders.map((o) => o.status)], ['opoco', ['Created', 'Pending', 'Pending']]);
  for (const price of ['99', '105']) await trade(price);
  await ends(bought.id, 'closed');
  assert.deepEqual([(await ends(list.orders[1].id, 'closed')).filled, (await ends(list.orders[2].id, 'expired')).info.endReason], [0.999, 'list']);
  assert.deepEqual((await y.fetchOpenOrders(pair)), []);
  await y.close();
});

test('amounts and prices are never cut', async () => {
  await assert.rejects(x.createOrder(symbol, 'limit', 'buy', 0.0012345678912, await far()), (e) => e instanceof ccxt.InvalidOrder && /amount .* 5 decimals of BTC\/USDT: round it with amountToPrecision/.test(e.message));
  await assert.rejects(x.createOrder(symbol, 'limit', 'buy', '0.0012345678912', await far()), ccxt.InvalidOrder); // text: the exchange refuses it
  await assert.rejects(x.createMarketBuyOrderWithCost(symbol, 10.123456789), /costToPrecision/);
  assert.deepEqual([x.amountToPrecision(symbol, 0.0012345678912), x.costToPrecision(symbol, 10.123456789)], ['0.00123', '10.1234567']);
});

test('a stop loss and a take profit of one order are an OCO', async () => {
  const { trade, publicKey: apiKey, privateKey: secret } = await market(at.internal, 'NAV_USDT'), pair = 'NAV/USDT', y = make({ apiKey, secret });
  for (const [price, status] of [['105', ['closed', 'expired']], ['95', ['expired', 'closed']]]) {
    await trade('100');
    const o = await y.createOrder(pair, 'market', 'sell', 1, undefined, { takeProfitPrice: 105, stopLossPrice: 95 });
    clean(checkOrder(o, pair));
    const { kind, orders } = await y.privateGetApiOrdersListsListId({ listId: o.info.listId });
    assert.deepEqual([kind, orders.length, o.takeProfitPrice, (await y.fetchBalance()).NAV.used], ['oco', 2, 105, 1]);
    await trade(price);
    assert.deepEqual((await Promise.all(orders.map((leg) => y.fetchOrder(leg.id, pair)))).map((leg) => leg.status), status);
  }
  await y.close();
});

test('features have the form that ccxt gives them', async () => {
  const known = {};
  for (const id of ['binance', 'okx', 'bybit', 'kucoin', 'bitget']) known[id] = new ccxt.pro[id]().features.spot;
  for (const [call, features] of Object.entries(x.features.spot)) {
    const names = new Set(Object.values(known).flatMap((spot) => Object.keys(Object(spot[call]))));
    assert.deepEqual(Object.keys(Object(features)).filter((name) => !names.has(name)), [], call);
  }
});

test('a purchase for the whole balance is filled, and what was bought cannot be sold whole', async () => {
  const y = make(await account({ USDT: '1000.12345678' }));
  await y.loadMarkets();
  const spent = await y.createMarketBuyOrderWithCost(symbol, Number(y.costToPrecision(symbol, (await y.fetchBalance()).USDT.free)));
  assert.deepEqual([spent.status, spent.fee.currency], ['closed', 'BTC']);
  const { BTC, USDT } = await y.fetchBalance();
  assert.deepEqual([BTC.free, USDT.used], [Number((spent.filled - spent.fee.cost).toFixed(8)), 0]);
  assert.ok(USDT.free < spent.average * 1e-5, `${USDT.free} would buy another lot`);
  await assert.rejects(y.createOrder(symbol, 'market', 'sell', spent.filled), ccxt.InsufficientFunds);
  const sold = await y.createOrder(symbol, 'market', 'sell', Number(y.amountToPrecision(symbol, BTC.free)));
  assert.deepEqual([sold.status, sold.fee.currency], ['closed', 'USDT']);
  await y.close();
});

test('more than a page of open orders is listed whole', async () => {
  const price = await far();
  const fast = make({ options: { orderAfterCreate: false } });
  const ids = (await Promise.all(Array.from({ length: 105 }, (_, i) => fast.createOrder(symbol, 'limit', 'buy', 0.001, price - i)))).map((o) => o.id);
  assert.deepEqual((await x.fetchOpenOrders(symbol)).map((o) => o.id).sort(), ids.sort());
  assert.equal((await x.cancelAllOrders()).length, 105);
  assert.deepEqual(await x.fetchOpenOrders(), []);
});

test('several orders go in one request, and a refused one says so', async () => {
  const price = await far();
  const orders = [1, 2].map((n) => ({ symbol, type: 'limit', side: 'buy', amount: 0.01 * n, price }));
  const made = await x.createOrders([...orders, { symbol: 'ETH/USDT', type: 'market', side: 'buy', amount: 0.1 }, { ...orders[0], amount: 9e3 }]);
  made.slice(0, 3).forEach((o) => clean(checkOrder(o)));
  assert.deepEqual(made.map((o) => o.status), ['open', 'open', 'closed', 'rejected']);
  assert.equal(made[3].info.rejectReason, 'insufficient_funds');
  assert.deepEqual((await x.cancelAllOrders()).map((o) => o.id), made.slice(0, 2).map((o) => o.id));
});

test('errors are those of ccxt', async () => {
  const price = await far();
  const rejects = (call, Class) => assert.rejects(call, (e) => e instanceof Class || assert.fail(`${e.constructor.name}: ${e.message}, not ${Class.name}`));
  await rejects(x.createOrder(symbol, 'limit', 'buy', 9e3, price), ccxt.InsufficientFunds);
  await rejects(x.createOrder(symbol, 'limit', 'buy', 0.01, price * 4, { postOnly: true }), ccxt.OrderImmediatelyFillable);
  await rejects(x.createOrder(symbol, 'limit', 'buy', '0.00000001', '1'), ccxt.InvalidOrder);
  await rejects(x.createOrder(symbol, 'stop_market', 'sell', 0.01), ccxt.InvalidOrder);
  await rejects(x.createOrder(symbol, 'trailing', 'sell', 0.01), ccxt.InvalidOrder);
  await rejects(x.createOrder('AAA/BBB', 'limit', 'buy', 1, 1), ccxt.BadSymbol);
  await rejects(x.cancelOrder('1', symbol), ccxt.OrderNotFound);
  await rejects(x.fetchOrder('1', symbol), ccxt.OrderNotFound);
  await rejects(x.fetchOHLCV(symbol, '7m'), ccxt.BadRequest);
  const twice = await x.createOrder(symbol, 'limit', 'buy', 0.01, price, { clientOrderId: 'twice' });
  assert.equal((await x.createOrder(symbol, 'limit', 'buy', 0.01, price, { clientOrderId: 'twice' })).id, twice.id); // a repeat is placed once
  await rejects(x.createOrder(symbol, 'limit', 'buy', 0.02, price, { clientOrderId: 'twice' }), ccxt.DuplicateOrderId);
  await x.cancelOrder(twice.id);
  await rejects(x.cancelOrder(twice.id), ccxt.OrderNotFound);
  await rejects(make({ secret: 'wrong' }).fetchBalance(), ccxt.AuthenticationError);
  await rejects(make({ options: { timeDifference: 3600000 } }).fetchBalance(), ccxt.InvalidNonce);
  await rejects(make({ apiKey: undefined }).fetchBalance(), ccxt.AuthenticationError);
  await rejects(make({ hostname: '127.0.0.1:1' }).fetchTime(), ccxt.NetworkError);
});

test('a book grows with what is asked for', async () => {
  assert.equal((await x.watchOrderBook(symbol, 10)).bids.length, 10);
  assert.equal((await x.watchOrderBook(symbol, 50)).asks.length, 50);
});

test('two timeframes, and two calls for one pair, miss nothing of each other', async () => {
  const all = [], one = [], both = ['BTC/USDT', 'ETH/USDT'];
  const read = async (rows, call, end) => { while (!end()) rows.push(...await within('trades', call())); };
  const enough = () => one.length > 100 && all.length > 100 && all.some((t) => t.symbol !== symbol);
  await Promise.all([read(all, () => x.watchTradesForSymbols(both), enough), read(one, () => x.watchTrades(symbol), enough)]);
  const mine = all.filter((t) => t.symbol === symbol).map((t) => t.id), next = (ids) => ids.every((id, i) => !i || Number(id) === Number(ids[i - 1]) + 1);
  assert.ok(next(mine) && next(one.map((t) => t.id)) && mine.length > 0);
  await x.unWatchTrades(symbol); // ends the call for both, too: it has the pair
  const [hour, hours] = [await within('an hour', x.watchOHLCV(symbol, '1h')), await within('two hours', x.watchOHLCV(symbol, '2h'))];
  assert.ok(hours.at(-1)[0] <= hour.at(-1)[0] && hours.at(-1)[2] >= hour.at(-1)[2] && hours.at(-1)[3] <= hour.at(-1)[3]);
  const kept = await x.fetchOHLCV(symbol, '2h', undefined, 1);
  assert.deepEqual(hours.at(-1).slice(0, 2), kept[0].slice(0, 2));
});

test('a wrong book is mended, and a broken line resumes', async () => {
  const url = x.implodeHostname(x.urls.api.ws), line = x.streamsOf(url);
  const book = line.books['book:BTC_USDT'];
  await x.watchOrderBook(symbol, 10);
  book.bids[0] = [book.bids[0][0], '123456.00000000'];
  for (let i = 0; i < 3; i++) clean(checkOrderBook(await x.watchOrderBook(symbol, 10), symbol, 10));
  assert.ok(line.resyncs['book:BTC_USDT'] === undefined && book.checksum() === book.lastChecksum);
  const trades = await x.watchTrades(symbol);
  const waits = x.watchOrderBook(symbol, 10);
  x.clients[url].connection.terminate();
  await assert.rejects(waits, ccxt.NetworkError);
  const seq = book.seq;
  const again = await x.watchOrderBook(symbol, 10);
  assert.ok(again.nonce > seq && line.books['book:BTC_USDT'] === book);
  while (trades.at(-1).timestamp < again.timestamp) trades.push(...await x.watchTrades(symbol));
  trades.forEach((t, i) => assert.ok(!i || Number(t.id) === Number(trades[i - 1].id) + 1, `trade ${t.id} follows ${trades[i - 1]?.id}`));
});

test('private streams miss nothing over a broken line', async () => {
  const url = x.implodeHostname(x.urls.api.ws), price = await far(), other = make();
  const fills = await pending(x, 'fills:BTC_USDT', () => x.watchMyTrades(symbol).catch((e) => e));
  const watched = await pending(x, 'orders:BTC_USDT', () => x.watchOrders(symbol));
  const orders = [await other.createOrder(symbol, 'limit', 'buy', 0.01, price), await other.createOrder(symbol, 'limit', 'buy', 0.01, price - 1)];
  await showsOrder(x, symbol, orders[1].id, watched.next);
  const waits = await pending(x, 'orders:BTC_USDT', () => x.watchOrders(symbol));
  x.clients[url].connection.terminate();
  await assert.rejects(within('the end of a broken line', waits.next), ccxt.NetworkError);
  assert.ok(await within('the end of a broken line', fills.next) instanceof ccxt.NetworkError);
  await other.cancelOrder(orders[0].id, symbol);
  const bought = await other.createOrder(symbol, 'market', 'buy', 0.01);
  const latest = new Map();
  while (latest.get(orders[0].id)?.status !== 'canceled' || latest.get(orders[1].id)?.status !== 'open') {
    for (const o of await within('what the broken line has missed', x.watchOrders(symbol))) {
      clean(checkOrder(o, symbol));
      latest.set(o.id, o);
    }
  }
  for (const [id, seen] of latest) {
    const { status, filled, remaining } = await other.fetchOrder(id, symbol);
    assert.deepEqual([seen.status, seen.filled, seen.remaining], [status, filled, remaining]);
  }
  const trades = [];
  while (trades.length < bought.trades.length) trades.push(...await within('the missed fills', x.watchMyTrades(symbol)));
  clean(checkTrades(trades, symbol, true));
  assert.deepEqual(trades.map((t) => t.id), bought.trades.map((t) => t.id));
  const again = await other.createOrder(symbol, 'market', 'buy', 0.01);
  const later = [];
  while (later.length < again.trades.length) later.push(...await within('the later fills', x.watchMyTrades(symbol)));
  assert.deepEqual(later.map((t) => t.id), again.trades.map((t) => t.id)); // each once
  await other.cancelAllOrders();
  await other.close();
});
