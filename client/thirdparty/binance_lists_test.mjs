// Take profits, trailing stops and order lists with clients of Binance, unmodified but for their URLs.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import ccxt from 'ccxt';
import nodeBinance from 'binance-api-node';
import { Spot } from '@binance/connector';
import { MainClient } from 'binance';
import { account, at, binance, id, symbol } from './common.mjs';

const x = binance(await account({ BTC: '10', USDT: '1000000' }));
after(() => x.close());
await x.loadMarkets();

// away returns a price this many times the last one.
async function away(times) {
  return Number(x.priceToPrecision(symbol, (await x.fetchTicker(symbol)).last * times));
}

test('ccxt: orders that wait, and those that would trigger at once', async () => {
  const [low, high] = [await away(0.5), await away(2)];
  const rests = async (type, side, price, params, want) => {
    const o = await x.createOrder(symbol, type, side, 0.01, price, params);
    const now = await x.fetchOrder(o.id, symbol);
    assert.deepEqual([now.status, now.triggerPrice, now.info.type], ['open', ...want], JSON.stringify(params));
  };
  await rests('market', 'sell', undefined, { takeProfitPrice: high }, [high, 'TAKE_PROFIT']);
  await rests('limit', 'sell', high, { takeProfitPrice: high }, [high, 'TAKE_PROFIT_LIMIT']);
  await rests('market', 'buy', undefined, { takeProfitPrice: low }, [low, 'TAKE_PROFIT']);
  await rests('market', 'buy', undefined, { stopLossPrice: high }, [high, 'STOP_LOSS']);
  await rests('limit', 'sell', low, { trailingPercent: 5, stopLossOrTakeProfit: 'stopLoss' }, [undefined, 'STOP_LOSS_LIMIT']);
  for (const [side, params] of [['sell', { stopLossPrice: high }], ['buy', { stopLossPrice: low }], ['sell', { takeProfitPrice: low }]]) {
    await assert.rejects(x.createOrder(symbol, 'market', side, 0.01, undefined, params), ccxt.OrderImmediatelyFillable);
  }
  assert.equal((await x.fetchOpenOrders(symbol)).length, 5);
  await x.cancelAllOrders(symbol);
});

test('ccxt: a sale for a quote amount, and an order that cannot fill', async () => {
  const sold = await x.createMarketSellOrderWithCost(symbol, 500);
  assert.ok(sold.status === 'closed' && sold.cost <= 500 && sold.cost > 500 - sold.average * 1e-5, JSON.stringify(sold));
  const killed = await x.createOrder(symbol, 'limit', 'buy', 1, await away(0.5), { timeInForce: 'FOK' });
  assert.deepEqual([killed.status, killed.filled, killed.info.expiryReason], ['expired', 0, 'UNFILLED_FOK_ORDER_EXPIRED']);
});

test('binance-api-node: the older OCO', async () => {
  const { apiKey, secret } = await account({ BTC: '1' });
  const c = (nodeBinance.default ?? nodeBinance)({ httpBase: at.binance, apiKey, apiSecret: secret });
  const [price, stopPrice] = [String(await away(2)), String(await away(0.5))];
  const oco = await c.orderOco({ symbol: id, side: 'SELL', quantity: '0.01', price, stopPrice, stopLimitPrice: stopPrice });
  assert.deepEqual([oco.contingencyType, oco.orderReports.map((o) => o.type)], ['OCO', ['STOP_LOSS_LIMIT', 'LIMIT_MAKER']]);
  assert.deepEqual((await c.openOrders({ symbol: id })).map((o) => o.orderListId), [oco.orderListId, oco.orderListId]);
  assert.equal((await c.getOrderOco({ orderListId: oco.orderListId })).listOrderStatus, 'EXECUTING');
  const gone = await c.cancelOrder({ symbol: id, orderId: oco.orders[0].orderId });
  assert.deepEqual([gone.orderListId, gone.listOrderStatus], [oco.orderListId, 'ALL_DONE']);
});

test('@binance/connector: OCO', async () => {
  const { apiKey, secret } = await account({ BTC: '1' });
  const c = new Spot(apiKey, secret, { baseURL: at.binance });
  const data = async (call) => (await call).data;
  const oco = await data(c.newOCOOrder(id, 'SELL', '0.01', 'LIMIT_MAKER', 'STOP_LOSS', { abovePrice: await away(2), belowStopPrice: await away(0.5) }));
  assert.equal((await data(c.getOCOOrder({ orderListId: oco.orderListId }))).listClientOrderId, oco.listClientOrderId);
  assert.deepEqual((await data(c.getOpenOCOOrders())).map((l) => l.orderListId), [oco.orderListId]);
  const gone = await data(c.cancelOCOOrder(id, { orderListId: oco.orderListId }));
  assert.deepEqual(gone.orderReports.map((o) => o.status), ['CANCELED', 'CANCELED']);
  assert.deepEqual((await data(c.getOCOOrders())).map((l) => l.listOrderStatus), ['ALL_DONE']);
});

test('binance: lists with a working order, and an amendment', async () => {
  const { apiKey, secret } = await account({ BTC: '1', USDT: '100000' });
  const c = new MainClient({ baseUrl: at.binance, api_key: apiKey, api_secret: secret });
  const working = { symbol: id, workingType: 'LIMIT', workingSide: 'BUY', workingTimeInForce: 'GTC', workingPrice: await away(0.5), workingQuantity: 0.02, pendingSide: 'SELL' };
  const legs = { pendingAboveType: 'LIMIT_MAKER', pendingAbovePrice: await away(2), pendingBelowType: 'STOP_LOSS', pendingBelowStopPrice: await away(0.4) };
  const oto = await c.submitNewOrderListOTO({ ...working, pendingType: 'MARKET', pendingQuantity: 0.02 });
  const otoco = await c.submitNewOrderListOTOCO({ ...working, ...legs, pendingQuantity: 0.02 });
  const opoco = await c.submitNewOrderListOPOCO({ ...working, ...legs });
  for (const l of [oto, otoco, opoco]) {
    assert.deepEqual(l.orderReports.map((o) => o.status), ['NEW', ...l.orderReports.slice(1).map(() => 'PENDING_NEW')]);
  }
  // its amendOrderKeepPriority has the path of the exchange of futures
  const { amendedOrder, listStatus } = await c.putPrivate('api/v3/order/amend/keepPriority', { symbol: id, orderId: oto.orders[0].orderId, newQty: 0.01 });
  assert.deepEqual([Number(amendedOrder.qty), listStatus.orderListId], [0.01, oto.orderListId]);
  await c.cancelOCO({ symbol: id, orderListId: opoco.orderListId });
  assert.deepEqual((await c.getAllOpenOCO()).map((l) => l.orderListId), [oto.orderListId, otoco.orderListId]);
  const gone = await c.cancelAllSymbolOrders({ symbol: id });
  assert.deepEqual(gone.map((l) => l.orderReports.length), [2, 3]);
});
