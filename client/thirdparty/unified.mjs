// A call of each unified method of ccxt that an exchange of spot pairs can have, and what its answer must be: one table
// for every exchange. What the tests that ccxt has for its own exchanges demand of an answer is demanded by check.mjs.
import assert from 'node:assert/strict';
import ccxt from 'ccxt';
import { pending, symbol, within } from './common.mjs';
import { checkBalance, checkCurrency, checkLastPrice, checkMarket, checkOHLCV, checkOrder, checkOrderBook, checkTicker, checkTrades } from './check.mjs';

const other = 'ETH/USDT', both = [symbol, other];
const clean = (found) => assert.deepEqual(found, []);

// The lengths of candles in ms; months and years have none.
const lengthOf = (frame) => Number.parseInt(frame, 10) * { s: 1000, m: 60e3, h: 3600e3, d: 864e5, w: 7 * 864e5 }[frame.at(-1)] || undefined;

// unified returns the calls by name, in an order in which each finds what it needs. Where an exchange of ccxt cannot show
// what a structure has, it says so: timed is false for books without a time, orderOf and currencyOf put in what an order
// and a currency lack. fok and trail are the parameters of the exchange beside ccxt's.
export function unified(x, { timed = true, orderOf = (o) => o, currencyOf = (c) => c, fok = {}, trail = {} } = {}) {
  const away = async (times, s = symbol) => Number(x.priceToPrecision(s, (await x.fetchTicker(s)).last * times));
  const ordered = (o, s = symbol) => { clean(checkOrder(orderOf(o), s)); return o; };

  // rests sees that a placed order is open, as the exchange shows it, and cancels it.
  async function rests(placed, want = {}) {
    const o = ordered(await x.fetchOrder((await placed).id, symbol));
    assert.deepEqual(Object.fromEntries(['status', ...Object.keys(want)].map((key) => [key, o[key]])), { status: 'open', ...want });
    assert.equal(ordered(await x.cancelOrder(o.id, symbol)).status, 'canceled');
  }

  // fills sees that a placed order is filled.
  async function fills(placed, want = {}) {
    const o = ordered(await x.fetchOrder((await placed).id, symbol));
    assert.deepEqual(Object.fromEntries(['status', ...Object.keys(want)].map((key) => [key, o[key]])), { status: 'closed', ...want });
    return o;
  }

  // open runs with an order that rests.
  async function open(run) {
    const o = await x.createOrder(symbol, 'limit', 'buy', 0.01, await away(0.5));
    try {
      return await run(o);
    } finally {
      await x.cancelOrder(o.id, symbol).catch((e) => { if (!(e instanceof ccxt.OrderNotFound)) throw e; });
    }
  }

  const list = (orders, s = symbol) => {
    assert.ok(Array.isArray(orders));
    orders.forEach((o) => ordered(o, s));
    assert.ok(orders.every((o, i) => !i || o.timestamp >= orders[i - 1].timestamp), 'orders are oldest first');
    return orders;
  };
  const has = (orders, o, status) => assert.equal(list(orders).find((row) => row.id === o.id)?.status, status);
  const tickers = (all, symbols = x.symbols) => {
    assert.deepEqual(Object.keys(all).sort(), [...symbols].sort());
    for (const [s, t] of Object.entries(all)) clean(checkTicker(t, s, x.market(s).precision.price));
  };
  const best = (all) => {
    for (const [s, t] of Object.entries(all)) {
      clean(checkTicker(t, s));
      assert.ok(t.bid > 0 && t.bid < t.ask && t.bidVolume > 0 && t.askVolume > 0, JSON.stringify(t));
    }
    return Object.keys(all);
  };
  const candles = (rows, frame, limit) => {
    clean(checkOHLCV(rows, frame === '1w' ? undefined : lengthOf(frame)));
    assert.ok(rows.length <= limit);
    return rows;
  };
  const allFrames = Object.keys(x.timeframes);

  // seen calls back with the rows of a watch call until one fits.
  async function seen(what, first, call, fits) {
    for (let next = first; ; next = call()) {
      const row = [await within(what, next)].flat().find(fits);
      if (row) return row;
    }
  }

  // watchesOrders sees a new order, its cancellation, and nothing of another symbol.
  async function watchesOrders(call) {
    const { next } = await pending(x, /^orders/, call);
    const o = await x.createOrder(symbol, 'limit', 'buy', 0.01, await away(0.5));
    ordered(await seen('a new order', next, call, (row) => row.id === o.id && row.status === 'open'));
    const { next: later } = await pending(x, /^orders/, call); // a message that nothing waits for is not shown
    await x.cancelOrder(o.id, symbol);
    await seen('a canceled order', later, call, (row) => row.id === o.id && row.status === 'canceled');
  }

  // A line answers in order: once it has answered to the end of a subscription, everything asked for before is there.
  async function asked() {
    await within('a ticker', x.watchTicker(other));
    await within('its end', x.unWatchTicker(other));
  }

  async function watchesTrades(call) {
    const { next } = await pending(x, /^(myTrades|fills)/, call);
    await asked();
    const o = await fills(x.createOrder(symbol, 'market', 'buy', 0.001));
    const trade = await seen('a fill', next, call, (row) => row.order === o.id);
    clean(checkTrades([trade], symbol, true));
  }

  // ends sees that an unwatch call ends what waits, and that a later call begins again.
  async function ends(watch, unwatch) {
    await within('a first message', watch());
    const { next } = await pending(x, /./, () => seen('the end', watch(), watch, () => false)), waits = assert.rejects(next, ccxt.UnsubscribeError);
    await within('the answer to it', unwatch());
    await within('the end of what waits', waits);
    assert.ok(await within('a message after that', watch()));
    await within('the answer to it', unwatch()); // ccxt loses a book that two of its connections follow
  }

  return {
    async fetchTime() { assert.ok(Math.abs((await x.fetchTime()) - Date.now()) < 60000); },
    async fetchStatus() { assert.deepEqual([(await x.fetchStatus()).status, Object.keys(await x.fetchStatus()).sort().join(' ')], ['ok', 'eta info status updated url']); },
    async fetchMarkets() { for (const m of await x.fetchMarkets()) clean(checkMarket(x.safeMarketStructure(m), x.currencies)); },
    async fetchCurrencies() {
      const all = await x.fetchCurrencies();
      for (const c of Object.values(all)) clean(checkCurrency(currencyOf(c)));
      assert.ok(all.BTC && all.USDT);
    },
    async fetchTradingLimits() { assert.ok((await x.fetchTradingLimits([symbol]))[symbol].min > 0); },
    async fetchOrderBook() { const b = await x.fetchOrderBook(symbol, 5); clean(checkOrderBook(b, symbol, 5, timed)); assert.ok(b.bids.length === 5 && b.asks.length === 5); },
    async fetchL2OrderBook() { clean(checkOrderBook(await x.fetchL2OrderBook(symbol, 5), symbol, 5, timed)); },
    async fetchTicker() { clean(checkTicker(await x.fetchTicker(symbol), symbol)); },
    async fetchTickers() { tickers(await x.fetchTickers()); tickers(await x.fetchTickers(both), both); },
    async fetchBidsAsks() { assert.deepEqual(best(await x.fetchBidsAsks(both)).sort(), both); assert.deepEqual(best(await x.fetchBidsAsks()).sort(), x.symbols); },
    async fetchLastPrices() {
      const all = await x.fetchLastPrices();
      assert.deepEqual(Object.keys(all).sort(), x.symbols);
      for (const [s, p] of Object.entries(all)) clean(checkLastPrice(p, s));
      assert.deepEqual(Object.keys(await x.fetchLastPrices([other])), [other]);
    },
    async fetchTrades() {
      const rows = await x.fetchTrades(symbol, undefined, 50), { timestamp } = rows[10];
      clean(checkTrades(rows, symbol));
      assert.equal(rows.length, 50);
      const later = await x.fetchTrades(symbol, timestamp, 3);
      assert.deepEqual([later.length, later[0].timestamp], [3, timestamp]);
    },
    async fetchOHLCV() {
      for (const frame of allFrames) {
        const rows = candles(await x.fetchOHLCV(symbol, frame, undefined, 5), frame, 5);
        const again = await x.fetchOHLCV(symbol, frame, rows[0][0], 2);
        assert.deepEqual(again.map((c) => c[0]), rows.slice(0, 2).map((c) => c[0]), frame);
      }
      await assert.rejects(x.fetchOHLCV(symbol, '7m'), ccxt.BadRequest);
    },
    async fetchTradingFee() { const f = await x.fetchTradingFee(symbol); assert.deepEqual([f.symbol, f.maker, f.taker], [symbol, 0.001, 0.001]); },
    async fetchTradingFees() { const all = await x.fetchTradingFees(); assert.deepEqual([Object.keys(all).sort(), all[symbol].maker], [x.symbols, 0.001]); },
    async fetchBalance() {
      await open(async () => {
        const b = await x.fetchBalance();
        clean(checkBalance(b, x.currencies));
        assert.ok(b.USDT.used > 0);
        assert.deepEqual([await x.fetchFreeBalance(), await x.fetchUsedBalance(), await x.fetchTotalBalance()], [b.free, b.used, b.total]);
      });
    },

    async createOrder() {
      const price = await away(0.5);
      const o = ordered(await x.createOrder(symbol, 'limit', 'buy', 0.01, price, { clientOrderId: 'unified-1' }));
      assert.deepEqual([o.status, o.price, o.amount, o.clientOrderId, o.filled, o.remaining], ['open', price, 0.01, 'unified-1', 0, 0.01]);
      await rests(o);
      await fills(x.createOrder(symbol, 'limit', 'buy', 0.001, await away(1.01), { timeInForce: 'IOC' }));
      const killed = ordered(await x.createOrder(symbol, 'limit', 'buy', 1, price, { timeInForce: 'FOK', ...fok }));
      assert.deepEqual([killed.status, killed.filled], ['expired', 0]);
      await assert.rejects(x.createOrder(symbol, 'limit', 'buy', 8e3, await away(1)), ccxt.InsufficientFunds);
      await assert.rejects(x.createOrder('AAA/BBB', 'limit', 'buy', 1, 1), ccxt.BadSymbol);
    },
    async createLimitOrder() { await rests(x.createLimitOrder(symbol, 'sell', 0.001, await away(2)), { side: 'sell' }); },
    async createLimitBuyOrder() { await rests(x.createLimitBuyOrder(symbol, 0.001, await away(0.5)), { side: 'buy' }); },
    async createLimitSellOrder() { await rests(x.createLimitSellOrder(symbol, 0.001, await away(2)), { side: 'sell' }); },
    async createMarketOrder() { await fills(x.createMarketOrder(symbol, 'buy', 0.002), { filled: 0.002, side: 'buy' }); },
    async createMarketBuyOrder() { await fills(x.createMarketBuyOrder(symbol, 0.002), { filled: 0.002, side: 'buy' }); },
    async createMarketSellOrder() { await fills(x.createMarketSellOrder(symbol, 0.002), { filled: 0.002, side: 'sell' }); },
    async createMarketOrderWithCost() { assert.ok((await fills(x.createMarketOrderWithCost(symbol, 'buy', 500))).cost <= 500); },
    async createMarketBuyOrderWithCost() { const o = await fills(x.createMarketBuyOrderWithCost(symbol, 500)); assert.ok(o.cost <= 500 && o.cost > 500 - o.average * 1e-5); },
    async createMarketSellOrderWithCost() { const o = await fills(x.createMarketSellOrderWithCost(symbol, 500)); assert.ok(o.cost <= 500 && o.cost > 500 - o.average * 1e-5); },
    async createPostOnlyOrder() {
      await rests(x.createPostOnlyOrder(symbol, 'limit', 'buy', 0.001, await away(0.5)), { postOnly: true });
      await assert.rejects(x.createPostOnlyOrder(symbol, 'limit', 'buy', 0.001, await away(1.1)), ccxt.OrderImmediatelyFillable);
    },
    async createStopOrder() { const low = await away(0.5); await rests(x.createStopOrder(symbol, 'limit', 'sell', 0.001, low, low), { type: 'limit', triggerPrice: low, price: low }); },
    async createStopLimitOrder() { const low = await away(0.5); await rests(x.createStopLimitOrder(symbol, 'sell', 0.001, low, low), { triggerPrice: low, price: low }); },
    async createStopMarketOrder() { const low = await away(0.5); await rests(x.createStopMarketOrder(symbol, 'sell', 0.001, low), { type: 'market', triggerPrice: low }); },
    async createStopLossOrder() { const low = await away(0.5); await rests(x.createStopLossOrder(symbol, 'market', 'sell', 0.001, undefined, low), { triggerPrice: low }); },
    async createTakeProfitOrder() { const high = await away(2); await rests(x.createTakeProfitOrder(symbol, 'limit', 'sell', 0.001, high, high), { triggerPrice: high, price: high }); },
    async createTriggerOrder() { const high = await away(2); await rests(x.createTriggerOrder(symbol, 'limit', 'buy', 0.001, high, high), { triggerPrice: high }); },
    async createTrailingPercentOrder() { await rests(x.createTrailingPercentOrder(symbol, 'limit', 'sell', 0.001, await away(0.5), 5, undefined, trail)); },
    async createOrderWithTakeProfitAndStopLoss() { await rests(x.createOrderWithTakeProfitAndStopLoss(symbol, 'limit', 'buy', 0.01, await away(0.5), await away(2), await away(0.4))); },
    async createOrders() {
      const order = { symbol, type: 'limit', side: 'buy', amount: 0.01, price: await away(0.5) };
      const made = await x.createOrders([order, { ...order, amount: 0.02 }, { ...order, amount: 8e3 }]);
      assert.deepEqual(made.map((o) => [o.status, o.amount]), [['open', 0.01], ['open', 0.02], ['rejected', undefined]]);
      for (const o of made.slice(0, 2)) await rests(o);
    },
    async editOrder() {
      const price = await away(0.5);
      await open(async (o) => {
        const edited = ordered(await x.editOrder(o.id, symbol, 'limit', 'buy', 0.02, price));
        assert.deepEqual([edited.status, edited.amount], ['open', 0.02]);
        await rests(edited, { amount: 0.02, price });
      });
    },
    async editOrderWithClientOrderId() {
      const price = await away(0.5), o = await x.createOrder(symbol, 'limit', 'buy', 0.01, price, { clientOrderId: 'unified-2' });
      await rests(x.editOrderWithClientOrderId('unified-2', symbol, 'limit', 'buy', 0.02, price), { id: o.id, amount: 0.02 });
    },
    async fetchOrder() {
      await open(async (o) => assert.deepEqual([(await x.fetchOrder(o.id, symbol)).status, await x.fetchOrderStatus(o.id, symbol)], ['open', 'open']));
      await assert.rejects(x.fetchOrder('1', symbol), ccxt.OrderNotFound);
    },
    async fetchOrderWithClientOrderId() {
      const o = await x.createOrder(symbol, 'limit', 'buy', 0.01, await away(0.5), { clientOrderId: 'unified-3' });
      assert.equal((await x.fetchOrderWithClientOrderId('unified-3', symbol)).id, o.id);
      await rests(o);
    },
    async fetchOpenOrders() { await open(async (o) => has(await x.fetchOpenOrders(symbol), o, 'open')); assert.deepEqual(await x.fetchOpenOrders(symbol), []); },
    async fetchOrders() { await open(async (o) => has(await x.fetchOrders(symbol), o, 'open')); assert.equal(list(await x.fetchOrders(symbol, undefined, 2)).length, 2); },
    async fetchClosedOrders() { const o = await x.createOrder(symbol, 'market', 'buy', 0.001); has(await x.fetchClosedOrders(symbol), o, 'closed'); },
    async fetchCanceledOrders() { const o = await open((made) => made); has(await x.fetchCanceledOrders(symbol), o, 'canceled'); },
    async fetchCanceledAndClosedOrders() {
      const o = await x.createOrder(symbol, 'market', 'buy', 0.001), rows = await x.fetchCanceledAndClosedOrders(symbol);
      has(rows, o, 'closed');
      assert.ok(rows.some((row) => row.status === 'canceled') && rows.every((row) => row.status !== 'open'));
    },
    async fetchOrderTrades() {
      const o = await x.createOrder(symbol, 'market', 'sell', 0.001), rows = await x.fetchOrderTrades(o.id, symbol);
      clean(checkTrades(rows, symbol, true));
      assert.ok(rows.length > 0 && rows.every((t) => t.order === o.id));
    },
    async fetchMyTrades() {
      const rows = await x.fetchMyTrades(symbol);
      clean(checkTrades(rows, symbol, true));
      assert.deepEqual((await x.fetchMyTrades(symbol, rows[1].timestamp, 1)).map((t) => t.timestamp), [rows[1].timestamp]);
      assert.deepEqual((await x.fetchMyTrades(symbol, undefined, 2)).map((t) => t.id), rows.slice(-2).map((t) => t.id));
    },
    async cancelOrder() {
      const o = await open((made) => made);
      await assert.rejects(x.cancelOrder(o.id, symbol), ccxt.OrderNotFound);
    },
    async cancelOrderWithClientOrderId() {
      const o = await x.createOrder(symbol, 'limit', 'buy', 0.01, await away(0.5), { clientOrderId: 'unified-4' });
      const gone = await x.cancelOrderWithClientOrderId('unified-4', symbol);
      assert.deepEqual([gone.id, gone.status], [o.id, 'canceled']);
    },
    async cancelOrders() { await open(async (o) => open(async (p) => assert.deepEqual((await x.cancelOrders([o.id, p.id], symbol)).map((row) => row.status), ['canceled', 'canceled']))); },
    async cancelOrdersWithClientOrderId() {
      for (const clientOrderId of ['unified-5', 'unified-6']) await x.createOrder(symbol, 'limit', 'buy', 0.01, await away(0.5), { clientOrderId });
      assert.deepEqual((await x.cancelOrdersWithClientOrderIds(['unified-5', 'unified-6'], symbol)).map((o) => [o.clientOrderId, o.status]), [['unified-5', 'canceled'], ['unified-6', 'canceled']]);
    },
    async cancelOrdersForSymbols() { await open(async ({ id }) => assert.deepEqual((await x.cancelOrdersForSymbols([{ id, symbol }])).map((o) => [o.id, o.status]), [[id, 'canceled']])); },
    async cancelAllOrders() {
      await open(async (o) => {
        assert.deepEqual((await x.cancelAllOrders(symbol)).map((row) => [row.id, row.status]), [[o.id, 'canceled']]);
        assert.deepEqual(await x.fetchOpenOrders(symbol), []);
      });
    },
    async cancelAllOrdersAfter() {
      const { timeoutMs, firesAt } = await x.cancelAllOrdersAfter(60000);
      assert.ok(timeoutMs === 60000 && Date.parse(firesAt) > Date.now());
      assert.equal((await x.cancelAllOrdersAfter(0)).firesAt, null);
    },

    async createOrderWs() { await rests(x.createOrderWs(symbol, 'limit', 'buy', 0.01, await away(0.5)), { amount: 0.01 }); },
    async createMarketOrderWs() { await fills(x.createMarketOrderWs(symbol, 'buy', 0.002), { filled: 0.002 }); },
    async editOrderWs() {
      const price = await away(0.5);
      await open(async (o) => {
        const edited = await x.editOrderWs(o.id, symbol, 'limit', 'buy', 0.02, price);
        await rests(edited, { amount: 0.02, price });
      });
    },
    async fetchOrderWs() { await open(async (o) => assert.equal(ordered(await x.fetchOrderWs(o.id, symbol)).status, 'open')); },
    async fetchOpenOrdersWs() { await open(async (o) => has(await x.fetchOpenOrdersWs(symbol), o, 'open')); },
    async fetchOrdersWs() { await open(async (o) => has(await x.fetchOrdersWs(symbol), o, 'open')); },
    async fetchMyTradesWs() { clean(checkTrades(await x.fetchMyTradesWs(symbol), symbol, true)); },
    async fetchTradesWs() { clean(checkTrades((await x.fetchTradesWs(symbol, undefined, 20)).map((t) => ({ ...t, symbol })), symbol)); }, // ccxt gives them no symbol
    async fetchOHLCVWs() { candles(await x.fetchOHLCVWs(symbol, '1m', undefined, 5), '1m', 5); },
    async fetchBalanceWs() { assert.ok((await x.fetchBalanceWs()).info.balances.some((b) => b.asset === 'BTC')); }, // ccxt leaves it unparsed
    async cancelOrderWs() { await open(async (o) => assert.equal((await x.cancelOrderWs(o.id, symbol)).status, 'canceled')); },
    async cancelAllOrdersWs() { await open(async () => { await x.cancelAllOrdersWs(symbol); assert.deepEqual(await x.fetchOpenOrders(symbol), []); }); },

    async watchOrderBook() {
      for (let i = 0, last = 0; i < 3; i++) {
        const b = await within('a book', x.watchOrderBook(symbol, 10));
        clean(checkOrderBook(b, symbol, 10, timed));
        assert.ok(b.nonce >= last);
        last = b.nonce;
      }
    },
    async unWatchOrderBook() { await ends(() => x.watchOrderBook(symbol), () => x.unWatchOrderBook(symbol)); },
    async watchOrderBookForSymbols() {
      const wanted = new Set(both);
      while (wanted.size) {
        const b = await within('books', x.watchOrderBookForSymbols(both, 10));
        clean(checkOrderBook(b, b.symbol, 10, timed));
        wanted.delete(b.symbol);
      }
    },
    async unWatchOrderBookForSymbols() { await ends(() => x.watchOrderBookForSymbols(both), () => x.unWatchOrderBookForSymbols(both)); },
    async watchBidsAsks() { const wanted = new Set(both); while (wanted.size) for (const s of best(await within('best prices', x.watchBidsAsks(both)))) wanted.delete(s); },
    async unWatchBidsAsks() { await ends(() => x.watchBidsAsks(both), () => x.unWatchBidsAsks(both)); },
    async watchTicker() { clean(checkTicker(await within('a ticker', x.watchTicker(symbol)), symbol)); },
    async unWatchTicker() { await ends(() => x.watchTicker(symbol), () => x.unWatchTicker(symbol)); },
    async watchTickers() {
      const wanted = new Set(both);
      while (wanted.size) for (const [s, t] of Object.entries(await within('tickers', x.watchTickers(both)))) { clean(checkTicker(t, s)); wanted.delete(s); }
    },
    async unWatchTickers() { await ends(() => x.watchTickers(both), () => x.unWatchTickers(both)); },
    async watchTrades() { clean(checkTrades(await within('trades', x.watchTrades(symbol)), symbol)); },
    async unWatchTrades() { await ends(() => x.watchTrades(symbol), () => x.unWatchTrades(symbol)); },
    async watchTradesForSymbols() {
      const wanted = new Set(both);
      while (wanted.size) for (const t of await within('trades', x.watchTradesForSymbols(both))) { clean(checkTrades([t], t.symbol)); wanted.delete(t.symbol); }
    },
    async unWatchTradesForSymbols() { await ends(() => x.watchTradesForSymbols(both), () => x.unWatchTradesForSymbols(both)); },
    async watchOHLCV() { for (const frame of ['1m', '12h', '1w']) candles(await within(`candles of ${frame}`, x.watchOHLCV(symbol, frame)), frame, 3); },
    async unWatchOHLCV() { await ends(() => x.watchOHLCV(symbol, '2h'), () => x.unWatchOHLCV(symbol, '2h')); },
    async watchOHLCVForSymbols() {
      const asks = [[symbol, '1m'], [other, '2h']], wanted = new Set(asks.map(String));
      while (wanted.size) {
        for (const [s, byFrame] of Object.entries(await within('candles', x.watchOHLCVForSymbols(asks)))) {
          for (const [frame, rows] of Object.entries(byFrame)) { candles(rows, frame, 3); wanted.delete(`${s},${frame}`); }
        }
      }
    },
    async unWatchOHLCVForSymbols() { const asks = both.map((s) => [s, '1m']); await ends(() => x.watchOHLCVForSymbols(asks), () => x.unWatchOHLCVForSymbols(asks)); },
    async watchOrders() { await watchesOrders(() => x.watchOrders(symbol)); await watchesOrders(() => x.watchOrders()); },
    async unWatchOrders() { await endsMine(/^orders/, () => x.watchOrders(symbol), () => x.unWatchOrders(symbol)); },
    async watchOrdersForSymbols() { await watchesOrders(() => x.watchOrdersForSymbols(both)); },
    async watchMyTrades() { await watchesTrades(() => x.watchMyTrades(symbol)); },
    async unWatchMyTrades() { await endsMine(/^(myTrades|fills)/, () => x.watchMyTrades(symbol), () => x.unWatchMyTrades(symbol)); },
    async watchMyTradesForSymbols() { await watchesTrades(() => x.watchMyTradesForSymbols(both)); },
    async watchBalance() {
      const call = () => x.watchBalance(), { next } = await pending(x, /balance/, call);
      await asked();
      await open(async () => {
        const b = await seen('held money', next, call, (row) => row.USDT?.used > 0);
        clean(checkBalance(b));
      });
    },
  };

  // endsMine is ends for calls that nothing answers at once.
  async function endsMine(hash, watch, unwatch) {
    const { next } = await pending(x, hash, () => seen('the end', watch(), watch, () => false)), waits = assert.rejects(next, ccxt.UnsubscribeError);
    await within('the answer to it', unwatch());
    await within('the end of what waits', waits);
    await (hash.test('orders') ? watchesOrders : watchesTrades)(watch);
  }
}
