// The unified words of ccxt become the order that was asked for or none: node client/js/unified_test.mjs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { APIError } from './tickhive.mjs';
import { attached, candlesOf, editOf, listOf, orderOf } from './unified.mjs';

const wire = (body) => JSON.parse(JSON.stringify(body));
const place = (...args) => attached(...args) ?? orderOf(...args);

// sends asserts the body that is sent; the pair and the side are those of the call.
function sends(want, ...args) {
  assert.deepEqual(wire(place('A/B', ...args)), { side: args[1], currencyPairCode: 'A_B', ...want });
}

// refuses asserts an error that names the field.
function refuses(field, ...args) {
  const call = JSON.stringify(args, (_, v) => (typeof v === 'number' && !Number.isFinite(v) ? String(v) : v));
  assert.throws(() => place('A/B', ...args), (error) => {
    assert.ok(error instanceof APIError, `${call}: ${error}`);
    assert.equal(error.code, 'INVALID_PARAM');
    assert.equal(error.field, field, `${call}: ${error.message}`);
    assert.ok(error.message.includes(field), error.message);
    return true;
  }, call);
}

test('a stop order is a stop order in every spelling', () => {
  for (const params of [{ stopPrice: '30000' }, { triggerPrice: 30000 }, { stopLossPrice: '30000' }, { stopPrice: 30000, triggerPrice: '30000' }, { triggerPrice: 30000, triggerDirection: 'below' }]) {
    for (const type of ['market', 'stop_market', 'stop_loss', 'STOP_MARKET', 'stop-market', 'stopMarket']) {
      sends({ type: 'stop_market', amount: '0.001', stopPrice: '30000' }, type, 'sell', '0.001', undefined, params);
    }
    for (const type of ['limit', 'stop_limit', 'stop_loss_limit', 'STOP_LOSS_LIMIT', 'stopLimit']) {
      sends({ type: 'stop_limit', amount: '0.001', price: '29000', stopPrice: '30000' }, type, 'sell', '0.001', '29000', params);
    }
  }
  sends({ type: 'stop_limit', amount: '1', price: '7', stopPrice: '6' }, 'limit', 'buy', 1, 7, { triggerPrice: 6, triggerDirection: 'ascending' });
});

test('a stop type without a stop price is refused, whatever its price says', () => {
  refuses('stopPrice', 'stop_market', 'sell', '0.001', '30000');
  refuses('stopPrice', 'stop_loss', 'sell', '0.001', '30000');
  refuses('stopPrice', 'stop_limit', 'sell', '0.001', '30000');
  refuses('stopPrice', 'stop_limit', 'sell', '0.001', '30000', { stopPrice: undefined });
});

test('a type that the exchange does not have is refused', () => {
  for (const type of ['take', 'trailing', 'stop', 'oco', 'pegged_limit', 'limt', 'Market!', '', undefined, null, 'constructor', '__proto__']) {
    refuses('type', type, 'sell', '0.001', '30000', { stopPrice: '30000' });
  }
});

test('limit and market orders in any case', () => {
  for (const type of ['limit', 'LIMIT', 'Limit']) {
    sends({ type: 'limit', amount: '2', price: '3' }, type, 'buy', 2, 3);
  }
  for (const type of ['market', 'MARKET']) {
    sends({ type: 'market', amount: '2' }, type, 'sell', 2, 3); // ccxt ignores a market order's price
  }
  sends({ type: 'stop_market', amount: '2', stopPrice: '1.5' }, 'stop_market', 'sell', 2, undefined, { stopPrice: 1.5 });
});

test('a limit order without a price, and any order without an amount, is refused', () => {
  for (const price of [undefined, null, '', NaN, Infinity, -1, '-1', '1,5', 'abc', {}, '0x10', '1e']) refuses('price', 'limit', 'buy', '1', price);
  for (const amount of [undefined, null, '', NaN, Infinity, -1, 'one', []]) {
    refuses('amount', 'limit', 'buy', amount, '1');
    refuses('amount', 'market', 'sell', amount);
  }
  refuses('amount', 'market', 'buy');
});

test('the sides are buy and sell', () => {
  refuses('side', 'limit', undefined, '1', '1');
  refuses('side', 'limit', 'long', '1', '1');
});

test('times in force have the spellings of ccxt', () => {
  for (const [given, sent] of [['GTC', 'gtc'], ['gtc', 'gtc'], ['IOC', 'ioc'], ['Fok', 'fok']]) {
    sends({ type: 'limit', amount: '1', price: '1', timeInForce: sent }, 'limit', 'buy', 1, 1, { timeInForce: given });
  }
  sends({ type: 'limit', amount: '1', price: '1', postOnly: true }, 'limit', 'buy', 1, 1, { timeInForce: 'PO' });
  sends({ type: 'limit', amount: '1', price: '1', postOnly: true }, 'limit', 'buy', 1, 1, { postOnly: true });
  sends({ type: 'limit', amount: '1', price: '1', postOnly: true }, 'limit_maker', 'buy', 1, 1);
  for (const given of ['GTD', 'day', '', 1]) refuses('timeInForce', 'limit', 'buy', 1, 1, { timeInForce: given });
  refuses('postOnly', 'limit_maker', 'buy', 1, 1, { postOnly: false });
  refuses('postOnly', 'limit', 'buy', 1, 1, { timeInForce: 'PO', postOnly: false });
  refuses('postOnly', 'limit', 'buy', 1, 1, { postOnly: 'yes' });
});

test('prices, types and directions that contradict each other are refused', () => {
  refuses('triggerPrice', 'market', 'sell', 1, undefined, { stopPrice: 5, triggerPrice: 6 });
  refuses('stopLossPrice', 'take_profit', 'sell', 1, undefined, { stopLossPrice: 5 });
  refuses('takeProfitPrice', 'market', 'sell', 1, undefined, { stopLossPrice: 5, takeProfitPrice: 5 });
  refuses('takeProfitPrice', 'market', 'sell', 1, undefined, { stopLossPrice: 5, takeProfitPrice: 6 });
  refuses('triggerDirection', 'stop_market', 'sell', 1, undefined, { triggerPrice: 5, triggerDirection: 'above' });
  refuses('triggerDirection', 'market', 'buy', 1, undefined, { stopLossPrice: 5, triggerDirection: 'descending' });
  refuses('triggerDirection', 'market', 'buy', 1, undefined, { triggerPrice: 5, triggerDirection: 'sideways' });
  refuses('stopPrice', 'limit', 'buy', 1, 1, { triggerDirection: 'above' });
  for (const name of ['takeProfit', 'stopLoss', 'trailingAmount', 'isMarket', 'price', 'leverage', 'icebergQty']) {
    refuses(name, 'limit', 'sell', 1, 1, { [name]: 5 });
  }
  refuses('reduceOnly', 'limit', 'sell', 1, 1, { reduceOnly: true });
  sends({ type: 'limit', amount: '1', price: '1' }, 'limit', 'sell', 1, 1, { reduceOnly: false, takeProfitPrice: undefined, takeProfit: undefined });
});

test('no number has an exponent, wherever it stands', () => {
  sends({ type: 'stop_limit', amount: '0.000002', price: '0.00000012', displayAmount: '0.0000001', stopPrice: '0.000000015' },
    'limit', 'buy', 2e-6, 1.2e-7, { displayAmount: 1e-7, stopPrice: 1.5e-8 });
  sends({ type: 'limit', amount: '1000000000000000000000', price: '0.00000125' }, 'limit', 'buy', 1e21, '1.25E-6');
  sends({ type: 'market', quoteAmount: '0.0000005' }, 'market', 'buy', undefined, undefined, { quoteAmount: 5e-7 });
  sends({ type: 'market', quoteAmount: '25' }, 'market', 'buy', undefined, undefined, { cost: 25 });
  sends({ type: 'limit', amount: '0.10000000', price: '1.2300' }, 'limit', 'buy', '0.10000000', '1.2300'); // text keeps its digits
  refuses('displayAmount', 'limit', 'buy', 1, 1, { displayAmount: NaN });
  refuses('price', 'limit', 'buy', 1, '1e999999999');
  refuses('cost', 'market', 'buy', undefined, undefined, { cost: 5, quoteAmount: 6 });
});

test('what the exchange knows beside goes through', () => {
  sends({ type: 'limit', amount: '1', price: '1', clientOrderId: 'a-1', selfTradePrevention: 'cancel_maker' },
    'limit', 'buy', 1, 1, { clientOrderId: 'a-1', selfTradePrevention: 'cancel_maker' });
});

test('take profits, directions and trails', () => {
  for (const params of [{ takeProfitPrice: '7' }, { triggerPrice: 7, triggerDirection: 'above' }, { stopPrice: 7, takeProfitPrice: '7' }]) {
    sends({ type: 'take_profit_market', amount: '1', stopPrice: '7' }, 'market', 'sell', 1, undefined, params);
    sends({ type: 'take_profit_limit', amount: '1', price: '6', stopPrice: '7' }, 'limit', 'sell', 1, 6, params);
  }
  for (const type of ['take_profit', 'TAKE_PROFIT_MARKET', 'takeProfit']) sends({ type: 'take_profit_market', amount: '1', stopPrice: '7' }, type, 'buy', 1, undefined, { stopPrice: 7 });
  sends({ type: 'take_profit_limit', amount: '1', price: '6', stopPrice: '7' }, 'TAKE_PROFIT_LIMIT', 'buy', 1, 6, { stopPrice: 7, triggerDirection: 'down' });
  for (const params of [{ trailingPercent: 1.5 }, { trailingPercent: '1.50' }, { trailingDelta: 150 }, { trailingDelta: '150', trailingPercent: 1.5 }]) {
    for (const type of ['market', 'trailing_stop', 'trailingStopMarket', 'stop_market']) sends({ type: 'stop_market', amount: '1', trailingDelta: 150 }, type, 'sell', 1, undefined, params);
    sends({ type: 'stop_limit', amount: '1', price: '6', trailingDelta: 150 }, 'trailing_stop_limit', 'sell', 1, 6, params);
    sends({ type: 'take_profit_market', amount: '1', stopPrice: '9', trailingDelta: 150 }, 'trailing_stop', 'sell', 1, undefined, { takeProfitPrice: 9, ...params });
  }
  refuses('trailingPercent', 'trailing_stop', 'sell', 1, undefined, { triggerPrice: 5 });
  refuses('trailingPercent', 'market', 'sell', 1, undefined, { trailingPercent: 0.005 });
  refuses('trailingPercent', 'market', 'sell', 1, undefined, { trailingPercent: 1, trailingDelta: 150 });
  refuses('trailingDelta', 'market', 'sell', 1, undefined, { trailingDelta: 10.5 });
  refuses('stopPrice', 'take_profit', 'sell', 1);
});

test('other members go as they are', () => {
  const members = { strictTrigger: true, expireUnfilled: true, clientIdScope: 'open', strategyId: 3, strategyType: 1000000 };
  sends({ type: 'stop_market', amount: '1', stopPrice: '7', ...members }, 'market', 'sell', 1, undefined, { triggerPrice: 7, ...members });
  sends({ type: 'market', quoteAmount: '25' }, 'market', 'sell', undefined, undefined, { cost: 25 });
});

test('lists', () => {
  const legs = [
    { type: 'limit_maker', side: 'sell', amount: 2, price: 9 },
    { type: 'stop_loss', side: 'sell', amount: 2, params: { stopPrice: 7 } },
  ];
  assert.deepEqual(wire(listOf('oco', 'A/B', legs, { clientOrderId: 'l' })), {
    kind: 'oco', currencyPairCode: 'A_B', clientOrderId: 'l', orders: [
      { side: 'sell', type: 'limit', postOnly: true, amount: '2', price: '9' },
      { side: 'sell', type: 'stop_market', stopPrice: '7', amount: '2' },
    ],
  });
  const [bought, sold] = [{ type: 'limit', side: 'buy', amount: 2, price: 9 }, { type: 'limit', side: 'sell', price: 12 }];
  assert.deepEqual(wire(listOf('opo', 'A/B', [bought, sold]).orders[1]), { side: 'sell', type: 'limit', price: '12' });
  for (const [field, ...args] of [
    ['kind', 'trio', 'A/B', legs], ['amount', 'oto', 'A/B', [legs[0], { ...legs[1], amount: undefined }]],
    ['stopPrice', 'oco', 'A/B', [legs[0], { ...legs[1], params: {} }]], ['tag', 'oco', 'A/B', legs, { tag: 1 }],
  ]) assert.throws(() => listOf(...args), { code: 'INVALID_PARAM', field });
});

test('takeProfit and stopLoss of an order make a list', () => {
  const both = { takeProfit: { triggerPrice: 12 }, stopLoss: { triggerPrice: 8, price: 7 } };
  assert.deepEqual(wire(place('A/B', 'limit', 'buy', 2, 9, both)), {
    kind: 'opoco', currencyPairCode: 'A_B', orders: [
      { side: 'buy', type: 'limit', amount: '2', price: '9' }, { side: 'sell', type: 'take_profit_market', stopPrice: '12' },
      { side: 'sell', type: 'stop_limit', price: '7', stopPrice: '8' },
    ],
  });
  const sold = wire(place('A/B', 'limit', 'sell', 2, 9, { stopLoss: { triggerPrice: 12 } }));
  assert.deepEqual([sold.kind, sold.orders[1]], ['oto', { side: 'buy', type: 'stop_market', amount: '2', stopPrice: '12' }]);
});

test('changes', () => {
  assert.deepEqual(wire(editOf(1, undefined, { keepPriority: true })), { amount: '1', keepPriority: true });
  assert.deepEqual(wire(editOf(undefined, undefined, { triggerPrice: 8, trailingPercent: 2 })), { stopPrice: '8', trailingDelta: 200 });
});

// source answers as /api/ohlc does: 1,000 rows at most, the oldest of the range.
function source(dates, now) {
  const asked = [];
  return {
    asked,
    fetchTime: async () => { asked.push('time'); return now; },
    candles: async (_, start, end) => {
      asked.push('candles');
      return dates.filter((d) => d >= start && d <= end).slice(0, 1000).map((d) => [d, 1, 2, 1, 2, 3]);
    },
  };
}

const minutes = (from, n) => Array.from({ length: n }, (_, i) => from + i * 60000);
const t0 = Date.UTC(2026, 0, 1);

test('candles without since are the newest, oldest first', async () => {
  const all = minutes(t0, 12000), from = source(all, all.at(-1) + 30500);
  for (const limit of [1, 5, 1000, 2500]) {
    assert.deepEqual((await candlesOf(from, '1m', undefined, limit)).map((r) => r[0]), all.slice(-limit));
  }
  assert.ok(from.asked.length <= 2 + 2 + 3 + 7, `${from.asked.length} requests`);
});

test('candles without since are looked for behind gaps, up to the first one', async () => {
  const all = [...minutes(t0 - 400 * 86400000, 3000), ...minutes(t0, 50)], from = source(all, t0 + 3 * 3600000);
  assert.deepEqual((await candlesOf(from, '1m')).map((r) => r[0]), all.slice(-1000));
  assert.ok(from.asked.length <= 20, `${from.asked.length} requests`);
  assert.deepEqual((await candlesOf(source(all.slice(0, 7), t0), '1m')).map((r) => r[0]), all.slice(0, 7));
  assert.deepEqual(await candlesOf(source([], t0), '1m'), []);
});

test('candles with since are those from there on', async () => {
  const all = minutes(t0, 12000), from = source(all, 0);
  for (const limit of [10, 1000, 2500]) {
    assert.deepEqual((await candlesOf(from, '1m', all[300] - 500, limit)).map((r) => r[0]), all.slice(300, 300 + limit));
  }
  assert.equal((await candlesOf(from, '1m', all[300] + 500, 1))[0][0], all[301]);
});

test('a timeframe that does not exist is refused', async () => {
  for (const since of [undefined, 0]) {
    await assert.rejects(candlesOf(source([], 0), '2m', since), { code: 'INVALID_PARAM', field: 'timeframe' });
  }
});
