// The checks themselves: what is right passes, and each planted fault is found.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkBalance, checkCurrency, checkLastPrice, checkMarket, checkOHLCV, checkOrder, checkOrderBook, checkTicker, checkTrade, checkTrades } from './check.mjs';

const at = Date.UTC(2026, 0, 1);
const time = { timestamp: at, datetime: '2026-01-01T00:00:00.000Z' };
const none = (...names) => Object.fromEntries(names.map((n) => [n, undefined]));
const range = { min: undefined, max: undefined };

const both = { precision: 1e-18, active: true, deposit: true, withdraw: true, fee: undefined, limits: { withdraw: { min: 1, max: 2 }, deposit: range }, info: {} };

const good = {
  market: {
    id: 'A_B', symbol: 'A/B', base: 'A', quote: 'B', baseId: 'A', quoteId: 'B', active: true, type: 'spot', spot: true, margin: false, swap: false,
    future: false, option: false, contract: false, taker: 0.001, maker: 0.001, precision: { amount: 1e-8, price: 0.01 },
    limits: { leverage: range, amount: { min: 1e-8, max: undefined }, price: range, cost: { min: 1, max: 5 } },
    marginModes: { cross: undefined, isolated: undefined }, created: at, info: { code: 'A_B' },
    ...none('settle', 'settleId', 'contractSize', 'linear', 'inverse', 'expiry', 'expiryDatetime', 'strike', 'optionType'),
  },
  currency: {
    ...both, id: 'A', code: 'A', name: 'Aa', numericId: undefined, type: 'crypto', fees: {}, networks: { N: { ...both, id: 'n', network: 'N' } },
  },
  ticker: {
    symbol: 'A/B', ...time, high: 12, low: 9, bid: 10, bidVolume: 1, ask: 11, askVolume: 1, vwap: 10, open: 10, close: 11, last: 11, change: 1, percentage: 10,
    average: 10.5, baseVolume: 5, quoteVolume: 50, previousClose: undefined, info: {},
  },
  lastPrice: { symbol: 'A/B', ...time, price: 11, side: 'buy', info: {} },
  trade: {
    id: '7', order: '1', ...time, symbol: 'A/B', type: undefined, side: 'buy', takerOrMaker: 'taker', price: 10, amount: 0.5, cost: 5,
    fee: { currency: 'B', cost: 0.005 }, fees: [{ currency: 'B', cost: 0.005 }], info: {},
  },
  book: { symbol: 'A/B', ...time, nonce: 4, bids: [[10, 1], [9, 2]], asks: [[11, 1], [12, 2]] },
  balance: { info: {}, free: { A: 1 }, used: { A: 2 }, total: { A: 3 }, A: { free: 1, used: 2, total: 3 } },
  order: {
    id: '1', clientOrderId: undefined, ...time, lastTradeTimestamp: at, lastUpdateTimestamp: at, symbol: 'A/B', type: 'limit', timeInForce: 'GTC', postOnly: false,
    reduceOnly: false, side: 'buy', price: 10, stopPrice: undefined, triggerPrice: undefined, takeProfitPrice: undefined, stopLossPrice: undefined, amount: 1,
    filled: 0.5, remaining: 0.5, cost: 5, average: 10, status: 'open', fee: undefined, fees: [], trades: [], info: {},
  },
};
const checks = {
  market: (v) => checkMarket(v, { A: { id: 'A' }, B: { id: 'B' } }), currency: (v) => checkCurrency(v), ticker: (v) => checkTicker(v, 'A/B'), trade: (v) => checkTrade(v, 'A/B', true),
  lastPrice: (v) => checkLastPrice(v, 'A/B'),
  book: (v) => checkOrderBook(v, 'A/B', 2), balance: (v) => checkBalance(v, { A: {} }), order: (v) => checkOrder(v, 'A/B'),
};

test('what is right passes', () => {
  for (const [name, value] of Object.entries(good)) assert.deepEqual(checks[name](value), [], name);
  assert.deepEqual(checkOHLCV([[at, 1, 3, 1, 2, 5], [at + 60000, 2, 2, 2, 2, 0]], 60000), []);
  assert.deepEqual(checkTrades([good.trade, { ...good.trade, id: '8' }], 'A/B', true), []);
  for (const [free, used, total] of [[0.1, 0.2, 0.3], [1e-8, 2e-7, 2.1e-7], [89999999.99999999, 1e-8, 90000000], [0, 0, 0]]) {
    assert.deepEqual(checkBalance({ info: {}, free: { A: free }, used: { A: used }, total: { A: total }, A: { free, used, total } }), []);
  }
});

test('a missing member is found, and so is null in its place', () => {
  for (const [name, value] of Object.entries(good)) {
    for (const key of Object.keys(value)) {
      if (name === 'balance' && key === 'A') continue; // a currency of its own, not a member
      const { [key]: _, ...rest } = value;
      assert.ok(checks[name](rest).length, `${name} without ${key}`);
      assert.ok(checks[name]({ ...value, [key]: null }).length, `${name} with ${key} null`);
    }
  }
});

test('values of a wrong type and values that contradict each other are found', () => {
  for (const [name, wrong] of [
    ['market', { symbol: 'AB' }], ['market', { precision: { amount: 8, price: '0.01' } }], ['market', { active: 'yes' }], ['market', { taker: '0.001' }],
    ['market', { limits: { ...good.market.limits, cost: { min: 5, max: 1 } } }], ['market', { limits: { amount: range, price: range, cost: range } }],
    ['market', { limits: { ...good.market.limits, cost: { min: 5 } } }], ['market', { baseId: 'a' }], ['market', { linear: false }], ['market', { settle: 'B' }],
    ['market', { swap: true }], ['market', { created: '2026' }], ['market', { marginModes: true }], ['market', { id: 'AB' }], ['market', { marginModes: {} }], ['market', { active: undefined }], ['market', { base: 'a' }],
    ['market', { taker: 25 }], ['market', { precision: { amount: 8, price: 0.01 } }], ['market', { precision: { amount: 0.01, price: 0 } }],
    ['currency', { precision: '8' }], ['currency', { active: 1 }], ['currency', { deposit: undefined }],
    ['currency', { active: false }], ['currency', { deposit: false }], ['currency', { deposit: false, withdraw: false }], ['currency', { limits: { withdraw: range } }], ['currency', { fee: -1 }],
    ['currency', { limits: { withdraw: { min: 2, max: 1 }, deposit: range } }], ['currency', { type: 'coin' }], ['currency', { code: 'a' }],
    ['currency', { networks: { N: { ...both, id: 'n' } } }], ['currency', { networks: { N: { ...both, id: 'n', network: 'N', withdraw: false, deposit: false } } }],
    ['ticker', { last: '11' }], ['ticker', { close: 10 }], ['ticker', { bid: 12 }], ['ticker', { high: 10.5 }], ['ticker', { low: 11.5 }], ['ticker', { vwap: 13 }],
    ['ticker', { timestamp: at / 1000 }], ['ticker', { datetime: '2026-01-01T00:00:01.000Z' }], ['ticker', { symbol: 'B/A' }], ['ticker', { percentage: 0.1 }],
    ['ticker', { bid: 0 }], ['ticker', { high: NaN }], ['ticker', { bid: 11 }], ['ticker', { high: undefined }],
    ['ticker', { open: 8 }], ['ticker', { change: 2 }], ['ticker', { change: undefined }], ['ticker', { average: 11 }], ['ticker', { vwap: 11 }], ['ticker', { quoteVolume: 70 }],
    ['ticker', { baseVolume: 3, vwap: undefined }], ['ticker', { datetime: undefined }],
    ['lastPrice', { symbol: 'B/A' }], ['lastPrice', { price: '11' }], ['lastPrice', { price: 0 }], ['lastPrice', { side: 'Buy' }], ['lastPrice', { timestamp: at / 1000 }],
    ['trade', { cost: 4 }], ['trade', { side: 'Buy' }], ['trade', { id: 7 }], ['trade', { takerOrMaker: undefined }], ['trade', { order: undefined }],
    ['trade', { fee: undefined }], ['trade', { fee: { currency: 'B' } }], ['trade', { datetime: '2026-01-01T00:00:00.0000000Z' }], ['trade', { amount: 0 }],
    ['trade', { fee: { currency: 'B', cost: undefined }, fees: [{ currency: 'B', cost: undefined }] }], ['trade', { fee: { currency: 'C', cost: 0.005 }, fees: [{ currency: 'C', cost: 0.005 }] }],
    ['trade', { fees: [] }], ['trade', { fee: { cost: 1 } }], ['trade', { fees: [{ cost: 1 }] }], ['trade', { fees: [{ currency: 'B', cost: 1 }] }], ['trade', { cost: 5.0000001 }], ['trade', { timestamp: Date.UTC(2099, 0), datetime: '2099-01-01T00:00:00.000Z' }],
    ['book', { bids: [[9, 1], [10, 1]] }], ['book', { asks: [[10, 1]] }], ['book', { bids: [[10, 0]] }], ['book', { bids: [['10', 1]] }],
    ['book', { asks: [[11, 1], [12, 1], [13, 1]] }], ['book', { nonce: '4' }], ['book', { nonce: undefined }],
    ['book', { timestamp: undefined, datetime: undefined }], ['book', { bids: [[10, 1, 7]] }],
    ['balance', { A: { free: 1, used: 2, total: 4 }, total: { A: 4 } }], ['balance', { free: { A: 2 } }], ['balance', { free: { A: 1, C: 0 } }],
    ['balance', { free: { C: 1 }, used: { C: 2 }, total: { C: 3 }, C: { free: 1, used: 2, total: 3 } }],
    ['balance', { A: { free: 1, used: 2, total: 3.00000000001 }, total: { A: 3.00000000001 } }],
    // 0.1 + 0.2 prints as 0.30000000000000004, a sum of doubles that is not the double of the sum
    ['balance', { A: { free: 0.1, used: 0.2, total: 0.1 + 0.2 }, free: { A: 0.1 }, used: { A: 0.2 }, total: { A: 0.1 + 0.2 } }],
    ['balance', { A: { free: '1', used: 2, total: 3 } }],
    ['order', { status: 'Created' }], ['order', { filled: 0.4 }], ['order', { average: 11 }], ['order', { cost: 0 }], ['order', { price: undefined }],
    ['order', { status: 'closed' }], ['order', { status: 'canceled', remaining: 0 }], ['order', { fee: { cost: 1 } }], ['order', { lastTradeTimestamp: at - 1 }],
    ['order', { filled: 1, remaining: 0, cost: 10 }], ['order', { trades: [{ ...good.trade, amount: 0.4, cost: 4 }] }], ['order', { stopPrice: 5 }], ['order', { type: 'LIMIT' }], ['order', { timeInForce: 'gtc' }], ['order', { id: 1 }],
    ['order', { filled: 0, remaining: 1, cost: 0 }], ['order', { trades: [{ ...good.trade, cost: 1 }] }], ['order', { symbol: 'B/A' }],
    ['order', { status: 'canceled', remaining: 0 }], ['order', { remaining: undefined }], ['order', { lastUpdateTimestamp: at - 1 }], ['order', { timeInForce: 'PO' }],
    ['order', { fees: [{ currency: 'B', cost: 1 }] }], ['order', { fee: { cost: 1 }, fees: [{ cost: 1 }] }],
    ['order', { trades: [{ ...good.trade, order: '2' }] }], ['order', { trades: [good.trade, { ...good.trade, id: '8' }] }], ['order', { trades: [{ ...good.trade, side: 'sell' }] }],
  ]) assert.ok(checks[name]({ ...good[name], ...wrong }).length, `${name} with ${JSON.stringify(wrong)}`);
});

test('faults of lists are found', () => {
  const later = { ...good.trade, id: '8', timestamp: at + 1, datetime: '2026-01-01T00:00:00.001Z' };
  assert.ok(checkTrades([later, good.trade], 'A/B', true).length, 'newest first');
  assert.ok(checkTrades([good.trade, good.trade], 'A/B', true).length, 'twice');
  assert.ok(checkTrades(undefined, 'A/B').length);
  for (const rows of [
    [], undefined, [[at + 1, 1, 1, 1, 1, 1]], [[at, 1, 1, 1, 1, 1], [at, 1, 1, 1, 1, 1]], [[at, 1, 1, 2, 1, 1]], [[at, 5, 4, 1, 2, 1]], [[at, 1, 1, 1, 1]],
    [[at, '1', 1, 1, 1, 1]], [[at, 1, 1, 1, 1, -1]],
  ]) assert.ok(checkOHLCV(rows, 60000).length, JSON.stringify(rows));
});
