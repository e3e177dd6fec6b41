// Every call for Spot of node-binance-api, binance-api-node, @binance/connector and binance, unmodified but for their
// URLs. The other files compare what they answer with the exchange's own API; this one has each call.
import { after, test } from 'node:test';
import NodeBinanceApi from 'node-binance-api';
import nodeBinance from 'binance-api-node';
import { Spot, WebsocketStream } from '@binance/connector';
import { MainClient, WebsocketAPIClient, WebsocketClient } from 'binance';
import { about, account, at, calls, heard, id } from './common.mjs';

const ws = at.binance.replace('http', 'ws');
const symbol = id, symbols = [id, 'ETHUSDT'], quantity = 0.01;
const [low, high, lower] = (await Promise.all([about(0.5), about(2), about(0.4)])).map(Number);
const nothing = [-2043, 'no pair has a reference price'], routed = [-1020, 'one book a pair: nothing routes an order'];
const quiet = Object.fromEntries(['trace', 'debug', 'info', 'warn', 'error', 'log'].map((name) => [name, () => {}]));
const funds = { BTC: '50', USDT: '1000000' };

// tables returns the rows of a client: row names a method, its arguments, and what must hold of the answer.
const tables = (client) => (name, args = [], fits = () => true, refusal = undefined) => [name, async () => {
  const answer = await client[name](...(typeof args === 'function' ? args() : args));
  if (!fits(answer?.data ?? answer)) throw new Error(`wrong: ${JSON.stringify(answer?.data ?? answer).slice(0, 200)}`);
  return answer ?? true;
}, refusal];
// speaks is a row of a stream: begin takes the function to call with each message.
const speaks = (name, begin, fits = () => true) => [name, async () => {
  const h = heard();
  await begin(h.push);
  await h.wait(fits);
  return true;
}];
const some = (n) => (a) => a.length === n;

test('node-binance-api', async (t) => {
  const { apiKey, secret } = await account(funds);
  const c = new NodeBinanceApi().options({
    APIKEY: apiKey, APISECRET: secret, log: () => {},
    urls: { base: `${at.binance}/api/`, sapi: `${at.binance}/sapi/`, fapi: `${at.binance}/fapi/`, stream: `${ws}/ws/`, combineStream: `${ws}/stream?streams=` },
  });
  c.wsApi = `${ws}/ws-api/v3`; // it has no option for it
  const row = tables(c);
  let o;
  await calls(t, 38, [
    row('time', [], (a) => a.serverTime > 0), row('exchangeInfo', [], (a) => a.symbols.length > 0), row('prices', [], (a) => Number(a[id]) > 0),
    row('tickerPrice', [symbol]), row('avgPrice', [symbol]), row('bookTickers', [], (a) => a[id] !== undefined), row('prevDay', [symbol]),
    row('depth', [symbol, 5], (a) => Object.keys(a.bids).length === 5), row('candlesticks', [symbol, '1m', { limit: 5 }], some(5)),
    row('aggTrades', [symbol, { limit: 5 }], some(5)), row('recentTrades', [symbol, 5], some(5)), row('historicalTrades', [symbol, 5], some(5)),
    row('account', [], (a) => a.balances.length > 0), row('balance', [], (a) => Number(a.BTC.available) === 50), row('useServerTime'),
    row('buy', [symbol, quantity, low], (a) => (o = a).status === 'NEW'), row('orderStatus', () => [symbol, o.orderId], (a) => a.status === 'NEW'),
    row('openOrders', [symbol], some(1)), row('cancel', () => [symbol, o.orderId], (a) => a.status === 'CANCELED'),
    row('sell', [symbol, quantity, high], (a) => a.status === 'NEW'), row('cancelAll', [symbol], some(1)),
    row('limitOrder', ['BUY', symbol, quantity, low], (a) => a.status === 'NEW'), row('cancelAllOrders', [symbol], some(1)),
    row('marketBuy', [symbol, quantity], (a) => a.status === 'FILLED'), row('marketSell', [symbol, quantity], (a) => a.status === 'FILLED'),
    row('marketBuyWithCost', [symbol, 500], (a) => a.status === 'FILLED'), row('marketSellWithCost', [symbol, 400], (a) => a.status === 'FILLED'),
    row('order', ['STOP_LOSS', 'SELL', symbol, quantity, undefined, { stopPrice: low }]), row('order', ['TAKE_PROFIT', 'SELL', symbol, quantity, undefined, { stopPrice: high }]),
    row('order', ['OCO', 'SELL', symbol, quantity, undefined, { aboveType: 'LIMIT_MAKER', abovePrice: high, belowType: 'STOP_LOSS', belowStopPrice: low }], (a) => a.orders.length === 2),
    row('ocoOrder', ['SELL', symbol, quantity, { aboveType: 'LIMIT_MAKER', abovePrice: high, belowType: 'STOP_LOSS', belowStopPrice: low }], (a) => a.orders.length === 2),
    row('cancelAll', [symbol], some(4)), row('allOrders', [symbol], (a) => a.length > 5), row('trades', [symbol], (a) => a.length >= 4), row('myTrades', [symbol], (a) => a.length >= 4),
    speaks('websockets.depth', (push) => c.websockets.depth(symbol, push), (m) => m.e === 'depthUpdate'),
    speaks('websockets.depthCache', (push) => c.websockets.depthCache([symbol], (s, depth) => push(depth)), (m) => Object.keys(m.bids).length > 0),
    speaks('websockets.aggTrades', (push) => c.websockets.aggTrades(symbol, push)), speaks('websockets.trades', (push) => c.websockets.trades(symbol, push)),
    speaks('websockets.chart', (push) => c.websockets.chart(symbol, '1m', (s, interval, chart) => push(chart))),
    speaks('websockets.candlesticks', (push) => c.websockets.candlesticks(symbol, '1m', push)), speaks('websockets.miniTicker', (push) => c.websockets.miniTicker(push)),
    speaks('websockets.bookTickers', (push) => c.websockets.bookTickers(symbol, push)), speaks('websockets.prevDay', (push) => c.websockets.prevDay(symbol, (e, m) => push(m))),
    speaks('websockets.userData', async (push) => {
      const ready = heard();
      c.websockets.userData(push, push, push, ready.push);
      await ready.wait(() => true);
      await c.marketBuy(symbol, quantity);
    }, (m) => m.X === 'FILLED' || m.x === 'TRADE'),
  ]);
});

test('binance-api-node', async (t) => {
  const { apiKey, secret } = await account(funds);
  const c = (nodeBinance.default ?? nodeBinance)({ httpBase: at.binance, wsBase: `${ws}/ws`, wsApi: `${ws}/ws-api/v3`, apiKey, apiSecret: secret });
  const row = tables(c), ends = [];
  after(() => ends.forEach((end) => end()));
  const stream = (name, ...args) => speaks(`ws.${name}`, (push) => ends.push(c.ws[name](...args, push)));
  let o, oco, key;
  await calls(t, 36, [
    row('ping'), row('time'), row('exchangeInfo', [], (a) => a.symbols.length > 0), row('book', [{ symbol, limit: 5 }], (a) => a.bids.length === 5),
    row('aggTrades', [{ symbol, limit: 5 }], some(5)), row('candles', [{ symbol, interval: '1m', limit: 5 }], some(5)), row('trades', [{ symbol, limit: 5 }], some(5)),
    row('tradesHistory', [{ symbol, limit: 5 }], some(5)), row('dailyStats', [{ symbol }]), row('prices', [], (a) => Number(a[id]) > 0), row('avgPrice', [{ symbol }]), row('allBookTickers'),
    row('orderTest', [{ symbol, side: 'BUY', quantity, price: low }]), row('order', [{ symbol, side: 'BUY', quantity, price: low }], (a) => (o = a).status === 'NEW'),
    row('getOrder', () => [{ symbol, orderId: o.orderId }], (a) => a.status === 'NEW'),
    row('updateOrder', () => [{ symbol, side: 'BUY', type: 'LIMIT', timeInForce: 'GTC', quantity, price: lower, cancelOrderId: o.orderId }], (a) => (o = a.newOrderResponse).status === 'NEW'),
    row('openOrders', [{ symbol }], some(1)), row('cancelOrder', () => [{ symbol, orderId: o.orderId }], (a) => a.status === 'CANCELED'),
    row('orderOco', [{ symbol, side: 'SELL', quantity, price: high, stopPrice: low, stopLimitPrice: lower }], (a) => (oco = a).orders.length === 2),
    row('getOrderOco', () => [{ orderListId: oco.orderListId }], (a) => a.listOrderStatus === 'EXECUTING'),
    row('cancelOrderOco', () => [{ symbol, orderListId: oco.orderListId }], (a) => a.listOrderStatus === 'ALL_DONE'), row('allOrdersOCO', [{}], some(1)),
    row('order', [{ symbol, side: 'BUY', quantity, price: low }], (a) => a.status === 'NEW'), row('cancelOpenOrders', [{ symbol }], some(1)),
    row('allOrders', [{ symbol }], some(5)), row('accountInfo', [], (a) => a.balances.length > 0), row('myTrades', [{ symbol }], some(0)), row('tradeFee', [{ symbol }], some(1)),
    row('accountCoins', [], (a) => a.length > 0), row('getBnbBurn'), row('getDataStream', [], (a) => (key = a.listenKey).length > 0),
    row('keepDataStream', () => [{ listenKey: key }]), row('closeDataStream', () => [{ listenKey: key }]),
    stream('depth', symbol), stream('partialDepth', { symbol, level: 5 }), stream('candles', symbol, '1m'), stream('trades', symbol), stream('aggTrades', symbol),
    stream('bookTicker', symbol), stream('ticker', symbol), stream('allTickers'), stream('miniTicker', symbol), stream('allMiniTickers'), stream('customSubStream', `${id.toLowerCase()}@trade`),
    speaks('ws.user', async (push) => {
      ends.push(await c.ws.user(push));
      await c.order({ symbol, side: 'BUY', type: 'MARKET', quantity });
    }, (m) => m.eventType === 'executionReport' && m.orderStatus === 'FILLED'),
  ]);
});

test('@binance/connector', async (t) => {
  const { apiKey, secret } = await account(funds);
  const c = new Spot(apiKey, secret, { baseURL: at.binance });
  const row = tables(c), limit = { quantity, price: low, timeInForce: 'GTC' };
  const stream = (name, ...args) => speaks(`stream ${name}`, (push) => {
    const s = new WebsocketStream({ wsURL: ws, logger: quiet, callbacks: { message: push } });
    after(() => s.disconnect());
    s[name](...args);
  });
  let o, oco, key;
  await calls(t, 45, [
    row('ping'), row('time'), row('exchangeInfo', [{ symbols }], (a) => a.symbols.length === 2), row('depth', [symbol, { limit: 5 }], (a) => a.bids.length === 5),
    row('trades', [symbol, { limit: 5 }], some(5)), row('historicalTrades', [symbol, { limit: 5 }], some(5)), row('aggTrades', [symbol, { limit: 5 }], some(5)),
    row('klines', [symbol, '1m', { limit: 5 }], some(5)), row('uiklines', [symbol, '1m', { limit: 5 }], some(5)), row('avgPrice', [symbol]), row('ticker24hr', [symbol]),
    row('tickerPrice', ['', symbols], some(2)), row('bookTicker', [symbol]), row('rollingWindowTicker', [symbol]),
    row('newOrderTest', [symbol, 'BUY', 'LIMIT', limit]), row('newOrder', [symbol, 'BUY', 'LIMIT', limit], (a) => (o = a).status === 'NEW'),
    row('getOrder', () => [symbol, { orderId: o.orderId }], (a) => a.status === 'NEW'),
    row('cancelAndReplace', () => [symbol, 'BUY', 'LIMIT', 'STOP_ON_FAILURE', { ...limit, cancelOrderId: o.orderId }], (a) => (o = a.newOrderResponse).status === 'NEW'),
    row('openOrders', [{ symbol }], some(1)), row('cancelOrder', () => [symbol, { orderId: o.orderId }], (a) => a.status === 'CANCELED'),
    row('newOCOOrder', [symbol, 'SELL', quantity, 'LIMIT_MAKER', 'STOP_LOSS', { abovePrice: high, belowStopPrice: low }], (a) => (oco = a).orders.length === 2),
    row('getOCOOrder', () => [{ orderListId: oco.orderListId }], (a) => a.listOrderStatus === 'EXECUTING'), row('getOpenOCOOrders', [], some(1)),
    row('cancelOCOOrder', () => [symbol, { orderListId: oco.orderListId }], (a) => a.listOrderStatus === 'ALL_DONE'), row('getOCOOrders', [], some(1)),
    row('newOrder', [symbol, 'BUY', 'LIMIT', limit], (a) => a.status === 'NEW'), row('cancelOpenOrders', [symbol], some(1)), row('allOrders', [symbol], (a) => a.length === 5),
    row('account', [], (a) => a.balances.length > 0), row('myTrades', [symbol], some(0)),
    row('orderCount', [], some(2)), row('createListenKey', [], (a) => (key = a.listenKey).length > 0), row('renewListenKey', () => [key]), row('closeListenKey', () => [key]),
    row('systemStatus'), row('coinInfo', [], (a) => a.length > 0), row('tradeFee', [{ symbol }], some(1)),
    stream('aggTrade', symbol), stream('trade', symbol), stream('kline', symbol, '1m'), stream('miniTicker', symbol), stream('miniTicker'), stream('ticker', symbol), stream('ticker'),
    stream('rollingWindowTicker', '1h', symbol), stream('rollingWindowTicker', '1h'), stream('bookTicker', symbol), stream('partialBookDepth', symbol, '5', '100ms'), stream('diffBookDepth', symbol, '100ms'),
    speaks('stream userData', async (push) => {
      const s = new WebsocketStream({ wsURL: ws, logger: quiet, callbacks: { open: () => c.newOrder(symbol, 'BUY', 'MARKET', { quantity }), message: push } });
      after(() => s.disconnect());
      s.userData((await c.createListenKey()).data.listenKey);
    }, (text) => text.includes('"X":"FILLED"')),
  ]);
});

test('binance', async (t) => {
  const { apiKey, secret } = await account(funds);
  const keys = { api_key: apiKey, api_secret: secret, beautify: false };
  const c = new MainClient({ ...keys, baseUrl: at.binance });
  const api = new WebsocketAPIClient({ ...keys, wsUrl: ws, attachEventListeners: false }, quiet), streams = new WebsocketClient({ ...keys, wsUrl: ws }, quiet);
  after(() => Promise.all([api.disconnectAll(), streams.closeAll(true)]));
  const user = heard();
  api.getWSClient().on('message', user.push);
  api.getWSClient().on('exception', () => {});
  streams.on('exception', () => {});
  const rest = tables(c), socket = (name, params, fits = () => true, refusal = undefined) => tables(api)(name, [params], (a) => fits(a.result ?? a), refusal);
  const order = { symbol, side: 'BUY', type: 'LIMIT', quantity, price: low, timeInForce: 'GTC' };
  const working = { symbol, workingType: 'LIMIT', workingSide: 'BUY', workingTimeInForce: 'GTC', workingPrice: low, workingQuantity: quantity, pendingSide: 'SELL' };
  const legs = { pendingAboveType: 'LIMIT_MAKER', pendingAbovePrice: high, pendingBelowType: 'STOP_LOSS', pendingBelowStopPrice: lower };
  const name = id.toLowerCase(), now = () => ({ timestamp: Date.now() });
  let o, oco, key;
  await calls(t, 52, [
    rest('testConnectivity'), rest('getExchangeInfo', [{ symbols }], (a) => a.symbols.length === 2), rest('getOrderBook', [{ symbol, limit: 5 }]),
    rest('getRecentTrades', [{ symbol, limit: 5 }], some(5)), rest('getHistoricalTrades', [{ symbol, limit: 5 }], some(5)), rest('getHistoricalBlockTrades', [{ symbol }], some(0)),
    rest('getAggregateTrades', [{ symbol, limit: 5 }], some(5)), rest('getKlines', [{ symbol, interval: '1m', limit: 5 }], some(5)), rest('getUIKlines', [{ symbol, interval: '1m', limit: 5 }], some(5)),
    rest('getAvgPrice', [{ symbol }]), rest('getExecutionRules', [{ symbol }]), rest('getReferencePrice', [{ symbol }], undefined, nothing), rest('getReferencePriceCalculation', [{ symbol }], undefined, nothing),
    rest('get24hrChangeStatistics', [{ symbol }]), rest('getTradingDayTicker', [{ symbol }]), rest('getSymbolPriceTicker', [{ symbol }]), rest('getSymbolOrderBookTicker', [{ symbol }]), rest('getRollingWindowTicker', [{ symbol }]),
    rest('testNewOrder', [order]), rest('submitNewOrder', [{ ...order, newOrderRespType: 'RESULT' }], (a) => (o = a).status === 'NEW'), rest('getOrder', () => [{ symbol, orderId: o.orderId }], (a) => a.status === 'NEW'),
    rest('replaceOrder', () => [{ ...order, cancelReplaceMode: 'STOP_ON_FAILURE', cancelOrderId: o.orderId }], (a) => (o = a.newOrderResponse).status === 'NEW'),
    rest('getOpenOrders', [{ symbol }], some(1)), rest('cancelOrder', () => [{ symbol, orderId: o.orderId }], (a) => a.status === 'CANCELED'),
    rest('submitNewOCO', [{ symbol, side: 'SELL', quantity, price: high, stopPrice: low }], (a) => (oco = a).orders.length === 2), rest('getOCO', () => [{ orderListId: oco.orderListId }]), rest('getAllOpenOCO', [], some(1)),
    rest('cancelOCO', () => [{ symbol, orderListId: oco.orderListId }]), rest('submitNewOrderListOTO', [{ ...working, pendingType: 'MARKET', pendingQuantity: quantity }]),
    rest('submitNewOrderListOTOCO', [{ ...working, ...legs, pendingQuantity: quantity }]), rest('submitNewOrderListOPO', [{ ...working, pendingType: 'MARKET' }]), rest('submitNewOrderListOPOCO', [{ ...working, ...legs }]),
    rest('getAllOCO', [], some(5)), rest('cancelAllSymbolOrders', [{ symbol }], some(4)), rest('submitNewSOROrder', [order], undefined, routed), rest('testNewSOROrder', [order], undefined, routed),
    rest('getAllOrders', [{ symbol }]), rest('getAccountInformation', [], (a) => a.balances.length > 0), rest('getAccountTradeList', [{ symbol }]), rest('getOrderRateLimit', [], some(2)),
    rest('getPreventedMatches', [{ symbol, preventedMatchId: 1 }]), rest('getAllocations', [{ symbol }]), rest('getCommissionRates', [{ symbol }]), rest('getSystemStatus'), rest('getBalances', [], (a) => a.length > 0),
    rest('getSpotUserDataListenKey', [], (a) => (key = a.listenKey).length > 0), rest('keepAliveSpotUserDataListenKey', () => [key]), rest('closeSpotUserDataListenKey', () => [key]),
    socket('testSpotConnectivity'), socket('getSpotServerTime'), socket('getSpotExchangeInfo', { symbols }), socket('getSpotOrderBook', { symbol, limit: 5 }), socket('getSpotKlines', { symbol, interval: '1m', limit: 5 }, some(5)),
    ['subscribeUserDataStream', async () => (await api.subscribeUserDataStream('mainWSAPI')).status === 200],
    socket('submitNewSpotOrder', { ...order, ...now() }, (a) => (o = a).status === 'NEW'), ['the report of submitNewSpotOrder', async () => (await user.wait((m) => m.x === 'NEW' && m.i === o.orderId)).e === 'executionReport'],
    ['cancelSpotOrder', async () => (await api.cancelSpotOrder({ symbol, orderId: o.orderId, ...now() })).result.status === 'CANCELED'],
    socket('placeSpotOCOOrderList', { symbol, side: 'SELL', quantity, aboveType: 'LIMIT_MAKER', abovePrice: high, belowType: 'STOP_LOSS', belowStopPrice: low, ...now() }, (a) => a.orders.length === 2),
    socket('cancelAllSpotOpenOrders', { symbol, ...now() }, some(1)), socket('getSpotAccountInformation', now()),
    ...[['trade', 'trade'], ['aggTrade', 'aggTrade'], ['kline_1m', 'kline'], ['miniTicker', '24hrMiniTicker'], ['ticker', '24hrTicker'], ['depth', 'depthUpdate']].map(([kind, e]) => speaks(`stream ${kind}`, async (push) => {
      streams.on('message', push);
      await streams.subscribe([`${name}@${kind}`], `main`);
    }, (m) => m.e === e)),
  ]);
});
