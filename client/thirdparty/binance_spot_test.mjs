// Every call of Binance's own client, @binance/spot, unmodified but for its URLs.
import { after, test } from 'node:test';
import { Spot } from '@binance/spot';
import { about, account, at, calls, heard, id, within } from './common.mjs';

const keys = await account({ BTC: '50', USDT: '1000000' });
const ws = at.binance.replace('http', 'ws');
const key = { apiKey: keys.apiKey, apiSecret: keys.secret };
const client = new Spot({
  configurationRestAPI: { ...key, basePath: at.binance },
  configurationWebsocketAPI: { ...key, wsURL: `${ws}/ws-api/v3` },
  configurationWebsocketStreams: { wsURL: ws },
});
const [low, high, lower, higher] = await Promise.all([about(0.5), about(2), about(0.4), about(2.5)]);
const symbol = id, symbols = [id, 'ETHUSDT'], quantity = 0.01;
const order = { symbol, side: 'BUY', type: 'LIMIT', timeInForce: 'GTC', quantity, price: low };
const oco = { symbol, side: 'SELL', quantity, aboveType: 'LIMIT_MAKER', abovePrice: high, belowType: 'STOP_LOSS', belowStopPrice: low };
const working = { symbol, workingType: 'LIMIT', workingSide: 'BUY', workingTimeInForce: 'GTC', workingPrice: low, workingQuantity: quantity, pendingSide: 'SELL' };
const legs = { pendingAboveType: 'LIMIT_MAKER', pendingAbovePrice: high, pendingBelowType: 'STOP_LOSS', pendingBelowStopPrice: lower };
const nothing = [-2043, 'no pair has a reference price'], routed = [-1020, 'one book a pair: nothing routes an order'];
const logon = [-4056, 'a session needs an Ed25519 key, as on Binance'];

// is throws unless a value is as wanted.
function is(ok, what) {
  if (!ok) throw new Error(`wrong: ${JSON.stringify(what)}`);
  return true;
}
let list, placed; // of the calls before
test('@binance/spot: REST', async (t) => {
  const rest = client.restAPI;
  const row = (name, params, refusal, fits = () => true) => [name, async () => {
    const answer = await (await rest[name](typeof params === 'function' ? params() : params)).data();
    return is(fits(answer), answer);
  }, refusal];
  await calls(t, 43, [
    row('ping'), row('time', undefined, undefined, (a) => a.serverTime > 0),
    row('exchangeInfo', { symbols }, undefined, (a) => a.symbols.length === 2), row('executionRules', { symbol }),
    row('depth', { symbol, limit: 5 }, undefined, (a) => a.bids.length === 5 && a.asks.length === 5),
    row('getTrades', { symbol, limit: 5 }, undefined, (a) => a.length === 5), row('historicalTrades', { symbol, limit: 5 }, undefined, (a) => a.length === 5),
    row('historicalBlockTrades', { symbol, fromId: 1 }, undefined, (a) => a.length === 0), row('aggTrades', { symbol, limit: 5 }, undefined, (a) => a.length === 5),
    row('klines', { symbol, interval: '1m', limit: 5 }, undefined, (a) => a.length === 5),
    row('uiKlines', { symbol, interval: '1m', limit: 5 }, undefined, (a) => a.length === 5), row('avgPrice', { symbol }, undefined, (a) => a.price > 0),
    row('referencePrice', { symbol }, nothing), row('referencePriceCalculation', { symbol }, nothing),
    row('ticker', { symbols }, undefined, (a) => a.length === 2), row('ticker24hr', { symbols }, undefined, (a) => a.length === 2),
    row('tickerBookTicker', { symbol }, undefined, (a) => a.bidPrice > 0), row('tickerPrice', { symbols }, undefined, (a) => a.length === 2),
    row('tickerTradingDay', { symbol }, undefined, (a) => a.symbol === id),
    row('orderTest', order), row('newOrder', order, undefined, (a) => (placed = a).status === 'NEW'),
    row('getOrder', () => ({ symbol, orderId: placed.orderId }), undefined, (a) => a.status === 'NEW' && a.price === placed.price),
    row('orderAmendKeepPriority', () => ({ symbol, orderId: placed.orderId, newQty: 0.005 }), undefined, (a) => Number(a.amendedOrder.qty) === 0.005),
    row('orderAmendments', () => ({ symbol, orderId: placed.orderId }), undefined, (a) => a.length === 1),
    row('orderCancelReplace', () => ({ ...order, cancelReplaceMode: 'STOP_ON_FAILURE', cancelOrderId: placed.orderId }), undefined, (a) => (placed = a.newOrderResponse).status === 'NEW'),
    row('getOpenOrders', { symbol }, undefined, (a) => a.length === 1 && a[0].orderId === placed.orderId),
    row('deleteOrder', () => ({ symbol, orderId: placed.orderId }), undefined, (a) => a.status === 'CANCELED'),
    row('orderOco', { symbol, side: 'SELL', quantity, price: high, stopPrice: low }, undefined, (a) => a.orders.length === 2),
    row('orderListOco', oco, undefined, (a) => (list = a).orders.length === 2),
    row('getOrderList', () => ({ orderListId: list.orderListId }), undefined, (a) => a.listOrderStatus === 'EXECUTING'),
    row('openOrderList', undefined, undefined, (a) => a.length === 2),
    row('deleteOrderList', () => ({ symbol, orderListId: list.orderListId }), undefined, (a) => a.listOrderStatus === 'ALL_DONE'),
    row('orderListOto', { ...working, pendingType: 'MARKET', pendingQuantity: quantity }, undefined, (a) => a.orders.length === 2),
    row('orderListOtoco', { ...working, ...legs, pendingQuantity: quantity }, undefined, (a) => a.orders.length === 3),
    row('orderListOpo', { ...working, pendingType: 'MARKET' }, undefined, (a) => a.orders.length === 2),
    row('orderListOpoco', { ...working, ...legs }, undefined, (a) => a.orders.length === 3),
    row('deleteOpenOrders', { symbol }, undefined, (a) => a.length === 5), row('allOrderList', undefined, undefined, (a) => a.length === 6),
    row('allOrders', { symbol }, undefined, (a) => a.length > 10), row('myTrades', { symbol }, undefined, (a) => a.length === 0),
    row('getAccount', {}, undefined, (a) => a.balances.some((b) => b.asset === 'BTC' && Number(b.free) === 50 && Number(b.locked) === 0)),
    row('accountCommission', { symbol }, undefined, (a) => a.standardCommission.taker > 0), row('rateLimitOrder', {}, undefined, (a) => a.length === 2),
    row('myPreventedMatches', { symbol, preventedMatchId: 1 }, undefined, (a) => a.length === 0), row('myAllocations', { symbol }, undefined, (a) => a.length === 0),
    row('myFilters', { symbol }, undefined, (a) => a.symbolFilters.length > 0),
    row('sorOrder', order, routed), row('sorOrderTest', order, routed),
  ]);
});

test('@binance/spot: the WebSocket API', async (t) => {
  const api = await within('a connection', client.websocketAPI.connect());
  after(() => api.disconnect());
  const user = heard();
  const row = (name, params, refusal, fits = () => true) => [name, async () => {
    const got = await api[name](typeof params === 'function' ? params() : params);
    const answer = [got].flat()[0].data ?? [got].flat()[0].response?.data;
    return is(fits(answer), answer);
  }, refusal];
  await calls(t, 50, [
    row('ping'), row('time'), row('exchangeInfo', { symbols }), row('executionRules', { symbol }), row('depth', { symbol, limit: 5 }, undefined, (a) => a.bids.length === 5),
    row('tradesRecent', { symbol, limit: 5 }, undefined, (a) => a.length === 5), row('tradesHistorical', { symbol, fromId: 1, limit: 5 }, undefined, (a) => a.length === 5),
    row('tradesAggregate', { symbol, limit: 5 }, undefined, (a) => a.length === 5), row('blockTradesHistorical', { symbol, fromId: 1 }),
    row('klines', { symbol, interval: '1m', limit: 5 }, undefined, (a) => a.length === 5), row('uiKlines', { symbol, interval: '1m', limit: 5 }, undefined, (a) => a.length === 5),
    row('avgPrice', { symbol }), row('referencePrice', { symbol }, nothing), row('referencePriceCalculation', { symbol }, nothing),
    row('ticker', { symbols }, undefined, (a) => a.length === 2), row('ticker24hr', { symbol }), row('tickerBook', { symbols }, undefined, (a) => a.length === 2),
    row('tickerPrice', { symbol }), row('tickerTradingDay', { symbols }, undefined, (a) => a.length === 2),
    row('sessionStatus', {}, undefined, (a) => a.apiKey === null), row('sessionLogon', {}, logon), row('userDataStreamSubscribe', {}, [-2015, 'it needs a session']),
    ['userDataStreamSubscribeSignature', async () => {
      const { response, stream } = await api.userDataStreamSubscribeSignature();
      stream.on('message', user.push);
      return is(response.data.subscriptionId >= 0, response.data);
    }],
    row('sessionSubscriptions', {}, undefined, (a) => a.length === 1),
    row('orderTest', order), row('orderPlace', order, undefined, (a) => (placed = a).status === 'NEW'),
    ['the report of orderPlace', async () => (await user.wait((e) => e.x === 'NEW' && e.i === placed.orderId)).p === placed.price],
    row('orderStatus', () => ({ symbol, orderId: placed.orderId }), undefined, (a) => a.status === 'NEW'),
    row('orderAmendKeepPriority', () => ({ symbol, orderId: placed.orderId, newQty: 0.005 }), undefined, (a) => Number(a.amendedOrder.qty) === 0.005),
    row('orderAmendments', () => ({ symbol, orderId: placed.orderId }), undefined, (a) => a.length === 1),
    row('orderCancelReplace', () => ({ ...order, cancelReplaceMode: 'STOP_ON_FAILURE', cancelOrderId: placed.orderId }), undefined, (a) => (placed = a.newOrderResponse).status === 'NEW'),
    row('openOrdersStatus', { symbol }, undefined, (a) => a.length === 1), row('orderCancel', () => ({ symbol, orderId: placed.orderId }), undefined, (a) => a.status === 'CANCELED'),
    row('orderListPlace', { symbol, side: 'SELL', quantity, price: high, stopPrice: low }, undefined, (a) => a.orders.length === 2),
    row('orderListPlaceOco', oco, undefined, (a) => (list = a).orders.length === 2),
    ['the list status of orderListPlaceOco', async () => (await user.wait((e) => e.e === 'listStatus' && e.g === list.orderListId)).l === 'EXEC_STARTED'],
    row('orderListStatus', () => ({ orderListId: list.orderListId }), undefined, (a) => a.listOrderStatus === 'EXECUTING'),
    row('openOrderListsStatus', {}, undefined, (a) => a.length === 2), row('orderListCancel', () => ({ symbol, orderListId: list.orderListId }), undefined, (a) => a.listOrderStatus === 'ALL_DONE'),
    row('orderListPlaceOto', { ...working, pendingType: 'MARKET', pendingQuantity: quantity }, undefined, (a) => a.orders.length === 2),
    row('orderListPlaceOtoco', { ...working, ...legs, pendingQuantity: quantity }, undefined, (a) => a.orders.length === 3),
    row('orderListPlaceOpo', { ...working, pendingType: 'MARKET' }, undefined, (a) => a.orders.length === 2),
    row('orderListPlaceOpoco', { ...working, ...legs }, undefined, (a) => a.orders.length === 3), row('openOrdersCancelAll', { symbol }, undefined, (a) => a.length === 5),
    row('allOrderLists', {}, undefined, (a) => a.length >= 6), row('allOrders', { symbol }), row('myTrades', { symbol }), row('accountStatus', {}), row('accountCommission', { symbol }),
    row('accountRateLimitsOrders', {}, undefined, (a) => a.length === 2), row('myPreventedMatches', { symbol, preventedMatchId: 1 }), row('myAllocations', { symbol }), row('myFilters', { symbol }),
    row('userDataStreamUnsubscribe', {}), row('sessionLogout', {}), row('sorOrderPlace', order, routed), row('sorOrderTest', order, routed),
  ]);
});

test('@binance/spot: streams', async (t) => {
  const speaks = (name, params, fits = () => true) => [name, async () => {
    const streams = await client.websocketStreams.connect(); // its own: one connection takes five messages a second
    const h = heard(), stream = streams[name]({ symbol: id.toLowerCase(), ...params });
    stream.on('message', h.push);
    await h.wait((m) => fits(m));
    await streams.disconnect();
    return true;
  }];
  await calls(t, 15, [
    speaks('trade', {}, (m) => m.e === 'trade'), speaks('aggTrade', {}, (m) => m.e === 'aggTrade'), speaks('kline', { interval: '1m' }, (m) => m.k.i === '1m'),
    speaks('klineOffset', { interval: '1d' }, (m) => m.k.i === '1d'), speaks('miniTicker'), speaks('ticker'), speaks('allMiniTicker', {}, (m) => m.length > 0),
    speaks('rollingWindowTicker', { windowSize: '1h' }, (m) => m.e === '1hTicker'), speaks('allMarketRollingWindowTicker', { windowSize: '1h' }, (m) => m.length > 0),
    speaks('bookTicker', {}, (m) => m.b > 0), speaks('avgPrice', {}, (m) => m.w > 0), speaks('partialBookDepth', { levels: 5 }, (m) => m.bids.length === 5),
    speaks('diffBookDepth', {}, (m) => m.u >= m.U),
    ...['blockTrade', 'referencePrice'].map((name) => [name, async () => { // neither exists here: nothing is sent, and nothing is lost
      const streams = await client.websocketStreams.connect(), h = heard();
      streams[name]({ symbol: id.toLowerCase() });
      streams.trade({ symbol: id.toLowerCase() }).on('message', h.push);
      await h.wait((m) => m.e === 'trade');
      await streams.disconnect();
      return true;
    }]),
  ]);
});
