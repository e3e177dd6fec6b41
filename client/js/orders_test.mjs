// createOrder sends the order that was asked for or nothing: node client/js/orders_test.mjs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExchangeError, TickHive } from './tickhive.mjs';

// place calls createOrder and returns what was sent, with what it resolved to or the error.
async function place(...args) {
  const sent = [];
  globalThis.fetch = async (url, { method, body }) => {
    sent.push({ method, path: new URL(url).pathname, order: JSON.parse(body) });
    return { ok: true, json: async () => '17' };
  };
  const x = new TickHive({ apiKey: 'k', secret: 's' });
  try {
    return { sent, result: await x.createOrder(...args) };
  } catch (error) {
    return { sent, error };
  }
}

// sends asserts the one order on the wire; the pair and the side are those of the call.
async function sends(want, ...args) {
  const { sent, result, error } = await place('A/B', ...args);
  assert.equal(error, undefined);
  assert.deepEqual(sent, [{ method: 'POST', path: '/api/orders', order: { side: args[1], currencyPairCode: 'A_B', ...want } }]);
  return result;
}

// refuses asserts an error that names the field, and that nothing was sent.
async function refuses(field, ...args) {
  const { sent, result, error } = await place('A/B', ...args);
  const call = JSON.stringify(args, (_, v) => (typeof v === 'number' && !Number.isFinite(v) ? String(v) : v));
  assert.deepEqual(sent, [], `${call} sent an order`);
  assert.equal(result, undefined, `${call} resolved`);
  assert.ok(error instanceof ExchangeError, `${call}: ${error}`);
  assert.equal(error.code, 'INVALID_PARAM');
  assert.equal(error.field, field, `${call}: ${error.message}`);
  assert.ok(error.message.includes(field), error.message);
}

test('a stop order is a stop order in every spelling', async () => {
  for (const params of [{ stopPrice: '30000' }, { triggerPrice: 30000 }, { stopLossPrice: '30000' }, { stopPrice: 30000, triggerPrice: '30000' }, { triggerPrice: 30000, triggerDirection: 'below' }]) {
    for (const type of ['market', 'stop_market', 'stop_loss', 'STOP_MARKET', 'stop-market', 'stopMarket']) {
      await sends({ amount: '0.001', isMarket: true, stopPrice: '30000' }, type, 'sell', '0.001', undefined, params);
    }
    for (const type of ['limit', 'stop_limit', 'stop_loss_limit', 'STOP_LOSS_LIMIT', 'stopLimit']) {
      await sends({ amount: '0.001', price: '29000', stopPrice: '30000' }, type, 'sell', '0.001', '29000', params);
    }
  }
  await sends({ amount: '1', price: '7', stopPrice: '6' }, 'limit', 'buy', 1, 7, { triggerPrice: 6, triggerDirection: 'ascending' });
});

test('a stop type without a stop price is refused, whatever its price says', async () => {
  await refuses('stopPrice', 'stop_market', 'sell', '0.001', '30000');
  await refuses('stopPrice', 'stop_loss', 'sell', '0.001', '30000');
  await refuses('stopPrice', 'stop_limit', 'sell', '0.001', '30000');
  await refuses('stopPrice', 'stop_limit', 'sell', '0.001', '30000', { stopPrice: undefined });
});

test('a type that the exchange does not have is refused', async () => {
  for (const type of ['take_profit', 'TAKE_PROFIT_LIMIT', 'trailing_stop_market', 'stop', 'oco', 'limt', 'Market!', '', undefined, null, 'constructor', '__proto__']) {
    await refuses('type', type, 'sell', '0.001', '30000', { stopPrice: '30000' });
  }
});

test('limit and market orders in any case', async () => {
  for (const type of ['limit', 'LIMIT', 'Limit']) {
    const order = await sends({ amount: '2', price: '3' }, type, 'buy', 2, 3);
    assert.deepEqual([order.id, order.type, order.price, order.stopPrice, order.symbol, order.side], ['17', 'limit', 3, undefined, 'A/B', 'buy']);
  }
  for (const type of ['market', 'MARKET']) {
    const order = await sends({ amount: '2', isMarket: true }, type, 'sell', 2, 3); // ccxt ignores a market order's price
    assert.deepEqual([order.type, order.price], ['market', undefined]);
  }
  const stop = await sends({ amount: '2', isMarket: true, stopPrice: '1.5' }, 'stop_market', 'sell', 2, undefined, { stopPrice: 1.5 });
  assert.deepEqual([stop.type, stop.price, stop.stopPrice, stop.triggerPrice], ['market', undefined, 1.5, 1.5]);
});

test('a limit order without a price, and any order without an amount, is refused', async () => {
  for (const price of [undefined, null, '', NaN, Infinity, -1, '-1', '1,5', 'abc', {}, '0x10', '1e']) await refuses('price', 'limit', 'buy', '1', price);
  for (const amount of [undefined, null, '', NaN, Infinity, -1, 'one', []]) {
    await refuses('amount', 'limit', 'buy', amount, '1');
    await refuses('amount', 'market', 'sell', amount);
  }
  await refuses('amount', 'market', 'buy');
});

test('the sides are buy and sell', async () => {
  await refuses('side', 'limit', undefined, '1', '1');
  await refuses('side', 'limit', 'long', '1', '1');
});

test('times in force have the spellings of ccxt', async () => {
  for (const [given, sent] of [['GTC', 'gtc'], ['gtc', 'gtc'], ['IOC', 'ioc'], ['Fok', 'fok']]) {
    await sends({ amount: '1', price: '1', timeInForce: sent }, 'limit', 'buy', 1, 1, { timeInForce: given });
  }
  await sends({ amount: '1', price: '1', postOnly: true }, 'limit', 'buy', 1, 1, { timeInForce: 'PO' });
  await sends({ amount: '1', price: '1', postOnly: true }, 'limit', 'buy', 1, 1, { postOnly: true });
  await sends({ amount: '1', price: '1', postOnly: true }, 'limit_maker', 'buy', 1, 1);
  for (const given of ['GTD', 'day', '', 1]) await refuses('timeInForce', 'limit', 'buy', 1, 1, { timeInForce: given });
  await refuses('postOnly', 'limit_maker', 'buy', 1, 1, { postOnly: false });
  await refuses('postOnly', 'limit', 'buy', 1, 1, { timeInForce: 'PO', postOnly: false });
  await refuses('postOnly', 'limit', 'buy', 1, 1, { postOnly: 'yes' });
});

test('stop prices that differ, and triggers in the other direction, are refused', async () => {
  await refuses('triggerPrice', 'market', 'sell', 1, undefined, { stopPrice: 5, triggerPrice: 6 });
  await refuses('triggerDirection', 'market', 'sell', 1, undefined, { triggerPrice: 5, triggerDirection: 'above' });
  await refuses('triggerDirection', 'market', 'buy', 1, undefined, { triggerPrice: 5, triggerDirection: 'descending' });
  await refuses('triggerDirection', 'market', 'buy', 1, undefined, { triggerPrice: 5, triggerDirection: 'sideways' });
  await refuses('stopPrice', 'limit', 'buy', 1, 1, { triggerDirection: 'above' });
  for (const name of ['takeProfitPrice', 'takeProfit', 'stopLoss', 'trailingPercent', 'trailingAmount', 'isMarket', 'price', 'leverage', 'icebergQty']) {
    await refuses(name, 'limit', 'sell', 1, 1, { [name]: 5 });
  }
  await refuses('reduceOnly', 'limit', 'sell', 1, 1, { reduceOnly: true });
  await sends({ amount: '1', price: '1' }, 'limit', 'sell', 1, 1, { reduceOnly: false, takeProfitPrice: undefined });
});

test('no number has an exponent, wherever it stands', async () => {
  await sends({ amount: '0.000002', price: '0.00000012', displayAmount: '0.0000001', stopPrice: '0.000000015' },
    'limit', 'buy', 2e-6, 1.2e-7, { displayAmount: 1e-7, stopPrice: 1.5e-8 });
  await sends({ amount: '1000000000000000000000', price: '0.00000125' }, 'limit', 'buy', 1e21, '1.25E-6');
  await sends({ quoteAmount: '0.0000005', isMarket: true }, 'market', 'buy', undefined, undefined, { quoteAmount: 5e-7 });
  await sends({ quoteAmount: '25', isMarket: true }, 'market', 'buy', undefined, undefined, { cost: 25 });
  await sends({ amount: '0.10000000', price: '1.2300' }, 'limit', 'buy', '0.10000000', '1.2300'); // text keeps its digits
  await refuses('displayAmount', 'limit', 'buy', 1, 1, { displayAmount: NaN });
  await refuses('price', 'limit', 'buy', 1, '1e999999999');
  await refuses('cost', 'market', 'buy', undefined, undefined, { cost: 5, quoteAmount: 6 });
});

test('what the exchange knows beside goes through', async () => {
  await sends({ amount: '1', price: '1', clientOrderId: 'a-1', selfTradePrevention: 'cancel_maker' },
    'limit', 'buy', 1, 1, { clientOrderId: 'a-1', selfTradePrevention: 'cancel_maker' });
});
