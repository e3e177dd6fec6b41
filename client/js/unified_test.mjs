// createOrder sends the order that was asked for or nothing: node client/js/orders_test.mjs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExchangeError, TickHive } from './tickhive.mjs';

// call runs one call of the class and returns what was sent, with what it resolved to or the error. The exchange answers
// what is given.
async function call(answer, run) {
  const sent = [];
  globalThis.fetch = async (url, { method, body }) => {
    const { pathname, searchParams } = new URL(url);
    sent.push({ method, path: pathname, ...body && { order: JSON.parse(body) }, ...searchParams.get('status') && { status: searchParams.get('status') },
      ...searchParams.get('onlyIf') && { onlyIf: searchParams.get('onlyIf') } });
    return { ok: true, json: async () => answer };
  };
  try {
    return { sent, result: await run(new TickHive({ apiKey: 'k', secret: 's' })) };
  } catch (error) {
    return { sent, error };
  }
}
const place = (...args) => call('17', (x) => x.createOrder(...args));

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
      await sends({ type: 'stop_market', amount: '0.001', stopPrice: '30000' }, type, 'sell', '0.001', undefined, params);
    }
    for (const type of ['limit', 'stop_limit', 'stop_loss_limit', 'STOP_LOSS_LIMIT', 'stopLimit']) {
      await sends({ type: 'stop_limit', amount: '0.001', price: '29000', stopPrice: '30000' }, type, 'sell', '0.001', '29000', params);
    }
  }
  await sends({ type: 'stop_limit', amount: '1', price: '7', stopPrice: '6' }, 'limit', 'buy', 1, 7, { triggerPrice: 6, triggerDirection: 'ascending' });
});

test('a stop type without a stop price is refused, whatever its price says', async () => {
  await refuses('stopPrice', 'stop_market', 'sell', '0.001', '30000');
  await refuses('stopPrice', 'stop_loss', 'sell', '0.001', '30000');
  await refuses('stopPrice', 'stop_limit', 'sell', '0.001', '30000');
  await refuses('stopPrice', 'stop_limit', 'sell', '0.001', '30000', { stopPrice: undefined });
});

test('a type that the exchange does not have is refused', async () => {
  for (const type of ['take', 'trailing', 'stop', 'oco', 'pegged_limit', 'limt', 'Market!', '', undefined, null, 'constructor', '__proto__']) {
    await refuses('type', type, 'sell', '0.001', '30000', { stopPrice: '30000' });
  }
});

test('limit and market orders in any case', async () => {
  for (const type of ['limit', 'LIMIT', 'Limit']) {
    const order = await sends({ type: 'limit', amount: '2', price: '3' }, type, 'buy', 2, 3);
    assert.deepEqual([order.id, order.type, order.price, order.stopPrice, order.symbol, order.side], ['17', 'limit', 3, undefined, 'A/B', 'buy']);
  }
  for (const type of ['market', 'MARKET']) {
    const order = await sends({ type: 'market', amount: '2' }, type, 'sell', 2, 3); // ccxt ignores a market order's price
    assert.deepEqual([order.type, order.price], ['market', undefined]);
  }
  const stop = await sends({ type: 'stop_market', amount: '2', stopPrice: '1.5' }, 'stop_market', 'sell', 2, undefined, { stopPrice: 1.5 });
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
    await sends({ type: 'limit', amount: '1', price: '1', timeInForce: sent }, 'limit', 'buy', 1, 1, { timeInForce: given });
  }
  await sends({ type: 'limit', amount: '1', price: '1', postOnly: true }, 'limit', 'buy', 1, 1, { timeInForce: 'PO' });
  await sends({ type: 'limit', amount: '1', price: '1', postOnly: true }, 'limit', 'buy', 1, 1, { postOnly: true });
  await sends({ type: 'limit', amount: '1', price: '1', postOnly: true }, 'limit_maker', 'buy', 1, 1);
  for (const given of ['GTD', 'day', '', 1]) await refuses('timeInForce', 'limit', 'buy', 1, 1, { timeInForce: given });
  await refuses('postOnly', 'limit_maker', 'buy', 1, 1, { postOnly: false });
  await refuses('postOnly', 'limit', 'buy', 1, 1, { timeInForce: 'PO', postOnly: false });
  await refuses('postOnly', 'limit', 'buy', 1, 1, { postOnly: 'yes' });
});

test('prices, types and directions that contradict each other are refused', async () => {
  await refuses('triggerPrice', 'market', 'sell', 1, undefined, { stopPrice: 5, triggerPrice: 6 });
  await refuses('stopLossPrice', 'take_profit', 'sell', 1, undefined, { stopLossPrice: 5 });
  await refuses('takeProfitPrice', 'market', 'sell', 1, undefined, { stopLossPrice: 5, takeProfitPrice: 5 });
  await refuses('takeProfitPrice', 'market', 'sell', 1, undefined, { stopLossPrice: 5, takeProfitPrice: 6 });
  await refuses('triggerDirection', 'stop_market', 'sell', 1, undefined, { triggerPrice: 5, triggerDirection: 'above' });
  await refuses('triggerDirection', 'market', 'buy', 1, undefined, { stopLossPrice: 5, triggerDirection: 'descending' });
  await refuses('triggerDirection', 'market', 'buy', 1, undefined, { triggerPrice: 5, triggerDirection: 'sideways' });
  await refuses('stopPrice', 'limit', 'buy', 1, 1, { triggerDirection: 'above' });
  for (const name of ['takeProfit', 'stopLoss', 'trailingAmount', 'isMarket', 'price', 'leverage', 'icebergQty']) {
    await refuses(name, 'limit', 'sell', 1, 1, { [name]: 5 });
  }
  await refuses('reduceOnly', 'limit', 'sell', 1, 1, { reduceOnly: true });
  await sends({ type: 'limit', amount: '1', price: '1' }, 'limit', 'sell', 1, 1, { reduceOnly: false, takeProfitPrice: undefined, takeProfit: undefined });
});

test('no number has an exponent, wherever it stands', async () => {
  await sends({ type: 'stop_limit', amount: '0.000002', price: '0.00000012', displayAmount: '0.0000001', stopPrice: '0.000000015' },
    'limit', 'buy', 2e-6, 1.2e-7, { displayAmount: 1e-7, stopPrice: 1.5e-8 });
  await sends({ type: 'limit', amount: '1000000000000000000000', price: '0.00000125' }, 'limit', 'buy', 1e21, '1.25E-6');
  await sends({ type: 'market', quoteAmount: '0.0000005' }, 'market', 'buy', undefined, undefined, { quoteAmount: 5e-7 });
  await sends({ type: 'market', quoteAmount: '25' }, 'market', 'buy', undefined, undefined, { cost: 25 });
  await sends({ type: 'limit', amount: '0.10000000', price: '1.2300' }, 'limit', 'buy', '0.10000000', '1.2300'); // text keeps its digits
  await refuses('displayAmount', 'limit', 'buy', 1, 1, { displayAmount: NaN });
  await refuses('price', 'limit', 'buy', 1, '1e999999999');
  await refuses('cost', 'market', 'buy', undefined, undefined, { cost: 5, quoteAmount: 6 });
});

test('what the exchange knows beside goes through', async () => {
  await sends({ type: 'limit', amount: '1', price: '1', clientOrderId: 'a-1', selfTradePrevention: 'cancel_maker' },
    'limit', 'buy', 1, 1, { clientOrderId: 'a-1', selfTradePrevention: 'cancel_maker' });
});

test('take profits, directions and trails', async () => {
  for (const params of [{ takeProfitPrice: '7' }, { triggerPrice: 7, triggerDirection: 'above' }, { stopPrice: 7, takeProfitPrice: '7' }]) {
    await sends({ type: 'take_profit_market', amount: '1', stopPrice: '7' }, 'market', 'sell', 1, undefined, params);
    await sends({ type: 'take_profit_limit', amount: '1', price: '6', stopPrice: '7' }, 'limit', 'sell', 1, 6, params);
  }
  for (const type of ['take_profit', 'TAKE_PROFIT_MARKET', 'takeProfit']) await sends({ type: 'take_profit_market', amount: '1', stopPrice: '7' }, type, 'buy', 1, undefined, { stopPrice: 7 });
  await sends({ type: 'take_profit_limit', amount: '1', price: '6', stopPrice: '7' }, 'TAKE_PROFIT_LIMIT', 'buy', 1, 6, { stopPrice: 7, triggerDirection: 'down' });
  for (const params of [{ trailingPercent: 1.5 }, { trailingPercent: '1.50' }, { trailingDelta: 150 }, { trailingDelta: '150', trailingPercent: 1.5 }]) {
    for (const type of ['market', 'trailing_stop', 'trailingStopMarket', 'stop_market']) await sends({ type: 'stop_market', amount: '1', trailingDelta: 150 }, type, 'sell', 1, undefined, params);
    await sends({ type: 'stop_limit', amount: '1', price: '6', trailingDelta: 150 }, 'trailing_stop_limit', 'sell', 1, 6, params);
    await sends({ type: 'take_profit_market', amount: '1', stopPrice: '9', trailingDelta: 150 }, 'trailing_stop', 'sell', 1, undefined, { takeProfitPrice: 9, ...params });
  }
  await refuses('trailingPercent', 'trailing_stop', 'sell', 1, undefined, { triggerPrice: 5 });
  await refuses('trailingPercent', 'market', 'sell', 1, undefined, { trailingPercent: 0.005 });
  await refuses('trailingPercent', 'market', 'sell', 1, undefined, { trailingPercent: 1, trailingDelta: 150 });
  await refuses('trailingDelta', 'market', 'sell', 1, undefined, { trailingDelta: 10.5 });
  await refuses('stopPrice', 'take_profit', 'sell', 1);
});

test('other members go as they are', async () => {
  const members = { strictTrigger: true, expireUnfilled: true, clientIdScope: 'open', strategyId: 3, strategyType: 1000000 };
  await sends({ type: 'stop_market', amount: '1', stopPrice: '7', ...members }, 'market', 'sell', 1, undefined, { triggerPrice: 7, ...members });
  await sends({ type: 'market', quoteAmount: '25' }, 'market', 'sell', undefined, undefined, { cost: 25 });
});

const common = { id: '17', currencyPairCode: 'A_B', date: '2026-01-01T00:00:00.0000000Z' };
const view = { ...common, status: 'executing', kind: 'oco', clientOrderId: 'l', orders: [
  { ...common, listId: '17', status: 'Created', isBid: false, initialAmount: '2.0', amount: '2.0', filledAmount: '0.0', price: '9.00' }] };

test('lists are placed, read and canceled', async () => {
  const legs = [{ type: 'limit_maker', side: 'sell', amount: 2, price: 9 }, { type: 'stop_loss', side: 'sell', amount: 2, params: { stopPrice: 7 } }];
  const { sent, result } = await call(view, (x) => x.placeList('oco', 'A/B', legs, { clientOrderId: 'l' }));
  assert.deepEqual(sent, [{ method: 'POST', path: '/api/orders/lists', order: { kind: 'oco', currencyPairCode: 'A_B', clientOrderId: 'l', orders: [
    { side: 'sell', type: 'limit', postOnly: true, amount: '2', price: '9' }, { side: 'sell', type: 'stop_market', stopPrice: '7', amount: '2' }] } }]);
  assert.deepEqual([result.id, result.kind, result.status, result.symbol, result.clientOrderId, result.orders.map((o) => [o.id, o.listId, o.remaining])], ['17', 'oco', 'open', 'A/B', 'l', [['17', '17', 2]]]);
  const bought = await call(view, (x) => x.placeList('opo', 'A/B', [{ type: 'limit', side: 'buy', amount: 2, price: 9 }, { type: 'limit', side: 'sell', price: 12 }]));
  assert.deepEqual(bought.sent[0].order.orders[1], { side: 'sell', type: 'limit', price: '12' });
  for (const [run, method, path] of [
    [(x) => x.cancelList('17'), 'DELETE', '/api/orders/lists/17'], [(x) => x.fetchList('17'), 'GET', '/api/orders/lists/17'],
  ]) {
    const { sent: one, result: list } = await call({ ...view, status: 'done' }, run);
    assert.deepEqual([one, list.status], [[{ method, path }], 'closed']);
  }
  const all = await call([view], (x) => x.fetchLists({ status: 'executing' }));
  assert.deepEqual([all.sent, all.result.map((l) => l.id)], [[{ method: 'GET', path: '/api/user/lists', status: 'executing' }], ['17']]);
  for (const [field, ...args] of [
    ['kind', 'trio', 'A/B', legs], ['amount', 'oto', 'A/B', [legs[0], { ...legs[1], amount: undefined }]],
    ['stopPrice', 'oco', 'A/B', [legs[0], { ...legs[1], params: {} }]], ['tag', 'oco', 'A/B', legs, { tag: 1 }],
  ]) {
    const refused = await call(view, (x) => x.placeList(...args));
    assert.deepEqual([refused.sent, refused.error?.field], [[], field]);
  }
});

test('takeProfit and stopLoss of an order make a list', async () => {
  const { sent, result } = await call(view, (x) => x.createOrder('A/B', 'limit', 'buy', 2, 9, { takeProfit: { triggerPrice: 12 }, stopLoss: { triggerPrice: 8, price: 7 } }));
  assert.deepEqual(sent[0].order, { kind: 'opoco', currencyPairCode: 'A_B', orders: [{ side: 'buy', type: 'limit', amount: '2', price: '9' },
    { side: 'sell', type: 'take_profit_market', stopPrice: '12' }, { side: 'sell', type: 'stop_limit', price: '7', stopPrice: '8' }] });
  assert.deepEqual([result.id, result.listId, result.type, result.amount], ['17', '17', 'limit', 2]);
  const sold = await call(view, (x) => x.createOrder('A/B', 'limit', 'sell', 2, 9, { stopLoss: { triggerPrice: 12 } }));
  assert.deepEqual([sold.sent[0].order.kind, sold.sent[0].order.orders[1]], ['oto', { side: 'buy', type: 'stop_market', amount: '2', stopPrice: '12' }]);
});

test('orders are edited and come in batches', async () => {
  const canceled = await call(view.orders[0], (x) => x.cancelOrder('17', undefined, { onlyIf: 'new' }));
  assert.deepEqual(canceled.sent, [{ method: 'DELETE', path: '/api/orders/17', onlyIf: 'new' }]);
  const edit = await call(view.orders[0], (x) => x.editOrder('17', 'A/B', 'limit', 'sell', 1, undefined, { keepPriority: true }));
  assert.deepEqual([edit.sent, edit.result.id], [[{ method: 'PATCH', path: '/api/orders/17', order: { amount: '1', keepPriority: true } }], '17']);
  const trail = await call(view.orders[0], (x) => x.editOrder('17', 'A/B', 'market', 'sell', undefined, undefined, { triggerPrice: 8, trailingPercent: 2 }));
  assert.deepEqual(trail.sent[0].order, { stopPrice: '8', trailingDelta: 200 });
  const orders = [1, 2].map((amount) => ({ symbol: 'A/B', type: 'limit', side: 'sell', amount, price: 9 }));
  const made = await call({ results: [view.orders[0], { id: null, rejectReason: 'would_trigger' }] }, (x) => x.createOrders(orders));
  assert.deepEqual([made.sent[0].path, made.sent[0].order.commands.map((c) => c.place.amount), made.result.map((o) => o.status)], ['/api/orders/batch', ['1', '2'], ['open', 'rejected']]);
});
