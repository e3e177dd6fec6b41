// Each unified call of ccxt, by name, with the class of this exchange and with ccxt's own class of Binance.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import ccxt from 'ccxt';
import { makeTickHive } from '../js/ccxt.mjs';
import { account, at, binance, symbol } from './common.mjs';
import { unified } from './unified.mjs';

const money = { BTC: '100', ETH: '100', USDT: '10000000' };
const own = new (makeTickHive(ccxt))({ hostname: new URL(at.public).host, ...await account(money) });
const theirs = binance({ ...await account(money), options: { defaultType: 'spot', fetchMarkets: { types: ['spot'] } } });
after(() => Promise.all([own.close(), theirs.close()]));
await Promise.all([own.loadMarkets(), theirs.loadMarkets(), theirs.loadHttpProxyAgent()]); // ccxt speaks ws:// only with an agent

// claimed returns the methods that an exchange says it has.
const verbs = /^(add|borrow|cancel|create|edit|fetch|reduce|repay|set|transfer|unWatch|watch|withdraw)/;
const claimed = (x) => Object.keys(x.has).filter((name) => ['emulated', true].includes(x.has[name]) && verbs.test(name));

const mine = unified(own, { fok: { expireUnfilled: true } });
test('the class of this exchange has each call that it claims', async (t) => {
  assert.deepEqual(claimed(own).filter((name) => !mine[name]), []);
  for (const [name, run] of Object.entries(mine)) if (claimed(own).includes(name)) await t.test(name, run);
});

// What ccxt cannot show of Binance: the fills in the answer of an order have neither time nor side, a report of an order
// without a trigger has the price 0, and what a currency may do comes from its networks, which no currency here has.
const orderOf = (o) => ({ ...o, trades: [], triggerPrice: o.triggerPrice || undefined, stopPrice: o.stopPrice || undefined });
const range = (limits) => ({ min: limits?.min, max: limits?.max });
const currencyOf = (c) => ({
  ...c, precision: c.precision ?? 1e-8, deposit: c.deposit ?? c.active, withdraw: c.withdraw ?? c.active,
  limits: { withdraw: range(c.limits?.withdraw), deposit: range(c.limits?.deposit) },
});
const binances = unified(theirs, { timed: false, orderOf, currencyOf, trail: { stopLossOrTakeProfit: 'stopLoss' } });

// Wallets and conversions of the account, which are routes of sapi.
const day = 864e5;
Object.assign(binances, {
  async fetchDepositWithdrawFee() { assert.deepEqual((await theirs.fetchDepositWithdrawFee('BTC')).networks, {}); },
  async fetchDepositWithdrawFees() { assert.ok((await theirs.fetchDepositWithdrawFees(['BTC'])).BTC); },
  async fetchDeposits() { assert.deepEqual(await theirs.fetchDeposits('BTC'), []); },
  async fetchWithdrawals() { assert.deepEqual(await theirs.fetchWithdrawals('BTC'), []); },
  async fetchTransactionFee() { assert.ok('BTC' in (await theirs.fetchTransactionFee('BTC')).withdraw); },
  async fetchTransactionFees() { assert.ok('BTC' in (await theirs.fetchTransactionFees()).withdraw); },
  async fetchCurrenciesWs() { assert.ok('BTC' in await theirs.fetchCurrenciesWs()); },
});

// What ccxt itself refuses of an exchange of spot pairs, with its own error, before it sends anything.
const order = { symbol, type: 'limit', side: 'buy', amount: 0.01, price: 30000 };
const { BadRequest, BadSymbol, NotSupported } = ccxt;
const refused = {
  cancelOrders: [BadRequest, ['1'], symbol], createOrders: [NotSupported, [order]], editOrders: [NotSupported, [{ ...order, id: '1' }]],
  fetchADLRank: [BadRequest, symbol], fetchFundingHistory: [NotSupported, symbol], fetchFundingInterval: [BadSymbol, symbol],
  fetchFundingRate: [NotSupported, symbol], fetchLedger: [NotSupported, 'BTC'], fetchLedgerEntry: [BadRequest, '1', 'BTC'], fetchLongShortRatioHistory: [BadRequest, symbol],
  fetchMarginAdjustmentHistory: [BadRequest, symbol], fetchMarginMode: [BadRequest, symbol], fetchMarginModes: [BadRequest, [symbol]], fetchMarketLeverageTiers: [BadSymbol, symbol],
  fetchMySettlementHistory: [NotSupported, symbol], fetchOpenOrder: [NotSupported, '1', symbol], fetchOrderBookWs: [BadRequest, symbol], fetchPosition: [NotSupported, symbol],
  fetchPositionADLRank: [BadRequest, symbol], fetchPositionWs: [BadRequest, symbol], fetchPositionsADLRank: [BadRequest, [symbol]], fetchPositionsWs: [BadRequest, [symbol]],
  fetchSettlementHistory: [NotSupported, symbol], fetchTickerWs: [BadRequest, symbol], setLeverage: [NotSupported, 2, symbol], setMarginMode: [NotSupported, 'cross', symbol],
  setPositionMode: [BadRequest, true, symbol], unWatchMarkPrice: [NotSupported, symbol], unWatchMarkPrices: [NotSupported, [symbol]], watchLiquidations: [BadRequest, symbol],
  watchLiquidationsForSymbols: [BadRequest, [symbol]], watchMarkPrice: [NotSupported, symbol], watchMarkPrices: [NotSupported, [symbol]],
  watchOrdersForSymbols: [NotSupported, [symbol]],
};

// What needs a product that the exchange does not have: margin, futures and options, conversions, payments. ccxt sends a
// request of it, and the answer is an error.
const elsewhere = {
  addMargin: [symbol, 1], borrowCrossMargin: ['BTC', 1], borrowIsolatedMargin: [symbol, 'BTC', 1], createConvertTrade: ['1', 'BTC', 'USDT', 1],
  createReduceOnlyOrder: [symbol, 'limit', 'buy', 0.01, 30000], fetchAllGreeks: [[symbol]], fetchBorrowInterest: ['BTC'], fetchBorrowRateHistory: ['BTC'],
  fetchConvertCurrencies: [], fetchConvertQuote: ['BTC', 'USDT', 1], fetchConvertTrade: ['1', 'BTC'], fetchConvertTradeHistory: ['BTC', Date.now() - day],
  fetchCrossBorrowRate: ['BTC'], fetchDepositAddress: ['BTC'], fetchFundingIntervals: [], fetchFundingRateHistory: [symbol], fetchFundingRates: [],
  fetchGreeks: [symbol], fetchIndexOHLCV: [symbol], fetchIsolatedBorrowRate: [symbol], fetchIsolatedBorrowRates: [], fetchLeverage: [symbol], fetchLeverages: [[symbol]],
  fetchLeverageTiers: [[symbol]], fetchMarkOHLCV: [symbol], fetchMarkPrice: [symbol], fetchMarkPrices: [[symbol]], fetchMyLiquidations: [symbol],
  fetchOpenInterest: [symbol], fetchOpenInterestHistory: [symbol], fetchOption: [symbol], fetchPositionMode: [symbol], fetchPositions: [[symbol]],
  fetchPositionsRisk: [[symbol]], fetchPremiumIndexOHLCV: [symbol], fetchTransfers: ['BTC'], reduceMargin: [symbol, 1], repayCrossMargin: ['BTC', 1],
  repayIsolatedMargin: [symbol, 'BTC', 1], transfer: ['BTC', 1, 'spot', 'funding'], watchMyLiquidations: [symbol], watchMyLiquidationsForSymbols: [[symbol]], watchPositions: [[symbol]],
  withdraw: ['BTC', 1, 'address'],
};

// sent counts what a client sends.
function sent(x) {
  let n = 0;
  for (const method of ['fetch', 'watch', 'watchMultiple']) {
    const send = x[method].bind(x);
    x[method] = (...args) => { n++; return send(...args); };
  }
  return () => n;
}
const requests = sent(theirs);


// The routes of Binance's Spot API that no unified call of ccxt needs, by ccxt's names, in an order in which each finds what
// it needs: the parameters, and what is read of the answer, or the error that it is.
const { id } = theirs.market(symbol), limits = { timeInForce: 'GTC', quantity: '0.01', price: '30000' };
const oco = { symbol: id, side: 'SELL', quantity: '0.01', aboveType: 'LIMIT_MAKER', abovePrice: '200000', belowType: 'STOP_LOSS', belowStopPrice: '20000' };
const working = { symbol: id, workingType: 'LIMIT', workingSide: 'BUY', workingTimeInForce: 'GTC', workingPrice: '30000', workingQuantity: '0.01', pendingSide: 'SELL' };
const pair = { pendingAboveType: 'LIMIT_MAKER', pendingAbovePrice: '200000', pendingBelowType: 'STOP_LOSS', pendingBelowStopPrice: '20000' };
const listed = (kind, orders) => (r) => { last = r; return assert.deepEqual([r.contingencyType, r.orders.length], [kind, orders]); };
const isPair = (r) => assert.equal(r.symbol, id), isEmpty = (r) => assert.deepEqual(r, []), some = (n) => (r) => assert.ok(Array.isArray(r) && r.length >= n, JSON.stringify(r));
let last; // the newest list
const routes = {
  publicGetPing: [{}, (r) => assert.deepEqual(r, {})], publicGetAvgPrice: [{ symbol: id }, (r) => assert.ok(r.price > 0)], publicGetUiKlines: [{ symbol: id, interval: '1m', limit: 3 }, some(3)],
  publicGetHistoricalTrades: [{ symbol: id, limit: 3 }, some(3)], publicGetTicker: [{ symbol: id }, isPair], publicGetTickerTradingDay: [{ symbol: id }, isPair],
  publicGetExecutionRules: [{ symbol: id }, (r) => isPair(r.symbolRules[0])], publicGetHistoricalBlockTrades: [{ symbol: id }, isEmpty],
  publicGetReferencePrice: [{ symbol: id }, /-2043/], publicGetReferencePriceCalculation: [{ symbol: id }, /-2043/], // no pair has one
  publicPostUserDataStream: [{}, (r) => { last = r; assert.ok(r.listenKey); }], publicPutUserDataStream: [() => last, (r) => assert.deepEqual(r, {})],
  publicDeleteUserDataStream: [() => last, (r) => assert.deepEqual(r, {})],
  privateGetAccountCommission: [{ symbol: id }, isPair], privateGetRateLimitOrder: [{}, some(1)], privateGetMyPreventedMatches: [{ symbol: id, orderId: 1 }, isEmpty],
  privateGetMyAllocations: [{ symbol: id }, isEmpty], privatePostOrderTest: [{ symbol: id, side: 'BUY', type: 'LIMIT', ...limits }, (r) => assert.deepEqual(r, {})],
  privatePostOrderOco: [{ symbol: id, side: 'SELL', quantity: '0.01', price: '200000', stopPrice: '20000' }, listed('OCO', 2)],
  privateGetOrderList: [() => ({ orderListId: last.orderListId }), (r) => assert.equal(r.listOrderStatus, 'EXECUTING')], privateGetOpenOrderList: [{}, some(1)],
  privateDeleteOrderList: [() => ({ symbol: id, orderListId: last.orderListId }), (r) => assert.equal(r.listOrderStatus, 'ALL_DONE')], privateGetAllOrderList: [{}, some(1)],
  privatePostOrderListOco: [oco, listed('OCO', 2)], privatePostOrderListOto: [{ ...working, pendingType: 'MARKET', pendingQuantity: '0.01' }, listed('OTO', 2)],
  privatePostOrderListOtoco: [{ ...working, ...pair, pendingQuantity: '0.01' }, listed('OTO', 3)], privatePostOrderListOpo: [{ ...working, pendingType: 'MARKET' }, listed('OTO', 2)],
  privatePostOrderListOpoco: [{ ...working, ...pair }, listed('OTO', 3)], privatePostOrder: [{ symbol: id, side: 'BUY', type: 'LIMIT', ...limits }, (r) => { last = r; isPair(r); }],
  privatePostOrderCancelReplace: [() => ({ symbol: id, side: 'BUY', type: 'LIMIT', ...limits, cancelReplaceMode: 'STOP_ON_FAILURE', cancelOrderId: last.orderId }), (r) => assert.deepEqual([r.cancelResult, r.newOrderResult], ['SUCCESS', 'SUCCESS'])],
  privateDeleteOpenOrders: [{ symbol: id }, some(5)], privatePostSorOrder: [{}, /-1020/], privatePostSorOrderTest: [{}, /-1020/], // there is no smart order routing
};
test("ccxt's class of Binance reaches each route of Spot", async (t) => {
  for (const [name, [given, check]] of Object.entries(routes)) {
    await t.test(name, async () => {
      const answer = theirs[name](typeof given === 'function' ? given() : given);
      if (check instanceof RegExp) await assert.rejects(answer, check); else check(await answer);
    });
  }
});

test("ccxt's class of Binance has each call that it permits for Spot", async (t) => {
  const names = claimed(theirs).filter((name) => theirs[name]); // it claims a method that it does not have
  assert.deepEqual(names.filter((name) => !binances[name] && !refused[name] && !elsewhere[name]), []);
  for (const name of Object.keys(binances).filter((one) => names.includes(one) && !refused[one])) await t.test(name, binances[name]);
});

test('ccxt itself refuses what is not for Spot', async (t) => {
  for (const [name, [Class, ...args]] of Object.entries(refused)) {
    await t.test(name, async () => {
      const before = requests();
      await assert.rejects(theirs[name](...args), Class);
      assert.equal(requests(), before, 'it has sent something');
    });
  }
});

test('what is of another product is answered with an error', async (t) => {
  // of margin and futures there are no routes; ccxt sends reduceOnly with an order, and reads a key that it did not get
  const absent = /"code":-1020|reduceOnly|-1104|'listenKey'/;
  for (const [name, args] of Object.entries(elsewhere)) await t.test(name, () => assert.rejects(theirs[name](...args), absent));
});

test('the candles of both are the same, whatever their length', async () => {
  for (const frame of Object.keys(own.timeframes).filter((name) => name in theirs.timeframes)) {
    const [mine, others] = await Promise.all([own, theirs].map((x) => x.fetchOHLCV(symbol, frame, undefined, 50)));
    const traded = new Map(others.filter((c) => c[5] > 0).map((c) => [c[0], c])); // Binance has candles without a trade
    for (const c of mine.slice(0, -1)) assert.deepEqual(c, traded.get(c[0]), frame);
    assert.ok(mine.length > 0, frame);
  }
});
