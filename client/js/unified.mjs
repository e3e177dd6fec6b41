// The unified orders, lists and candles of ccxt in the words of the exchange. ccxt.mjs makes an exchange class of it.
import { APIError, Code, plain } from './tickhive.mjs';

const invalid = (field, message) => new APIError(400, { code: Code.INVALID_PARAM, message: `${field} ${message}`, field });

export const timeframes = {
  '1m': 'minute', '3m': 'minutes3', '5m': 'minutes5', '15m': 'minutes15', '30m': 'minutes30',
  '1h': 'hour', '4h': 'hour4', '1d': 'day', '1M': 'month', '1y': 'year',
};

// The shortest length of each, in seconds, and the most rows of one answer.
const seconds = {
  '1m': 60, '3m': 180, '5m': 300, '15m': 900, '30m': 1800, '1h': 3600, '4h': 14400, '1d': 86400, '1M': 28 * 86400, '1y': 365 * 86400,
};
const maxCandles = 1000;

// The order types of createOrder, in ccxt's spelling and in others' that mean the same. A stop waits for a price that
// is worse for its side, a take profit for a better one.
const orderTypes = new Map([
  ['limit', {}], ['market', { market: true }], ['limit_maker', { postOnly: true }], ['stop_limit', { waits: 'stop' }], ['stop_loss_limit', { waits: 'stop' }],
  ['stop_market', { waits: 'stop', market: true }], ['stop_loss', { waits: 'stop', market: true }], ['take_profit_limit', { waits: 'take_profit' }],
  ['take_profit_market', { waits: 'take_profit', market: true }], ['take_profit', { waits: 'take_profit', market: true }],
  ['trailing_stop_limit', { trails: true }], ['trailing_stop_market', { trails: true, market: true }], ['trailing_stop', { trails: true, market: true }],
]);
const timesInForce = ['gtc', 'ioc', 'fok'];
const otherSide = { buy: 'sell', sell: 'buy' };

// The spellings of the price at which an order triggers: of both types, of a stop, of a take profit.
const triggerPrices = ['stopPrice', 'triggerPrice', 'trailingTriggerPrice', 'stopLossPrice', 'takeProfitPrice'];
const typeOfPrice = { stopLossPrice: 'stop', takeProfitPrice: 'take_profit' };
const stopDirections = { buy: ['above', 'ascending', 'up'], sell: ['below', 'descending', 'down'] };
const trails = ['trailingDelta', 'trailingPercent'];
const sentAsGiven = ['clientOrderId', 'clientIdScope', 'selfTradePrevention', 'strictTrigger', 'expireUnfilled', 'strategyId', 'strategyType'];
const otherParams = ['triggerDirection', 'timeInForce', 'postOnly', 'cost', 'quoteAmount', 'displayAmount'];

// one returns the decimal that several spellings of one parameter give, undefined without any.
function one(names, given, read = plain) {
  let value;
  for (const name of names.filter((n) => given[n] !== undefined)) {
    const text = read(name, given[name]);
    if (value !== undefined && value !== text) throw invalid(name, `is ${text}, another spelling of it says ${value}.`);
    value = text;
  }
  return value;
}

// basisPoints reads trailingDelta, and trailingPercent, which is a hundred times as much.
function basisPoints(name, value) {
  const text = plain(name, value), points = Number(name === 'trailingPercent' ? plain(name, `${text}e2`) : text);
  if (!Number.isSafeInteger(points)) throw invalid(name, `must be a whole number of basis points, which are hundredths of a percent, not ${text}.`);
  return points;
}

// triggerOf returns what an order waits for: the price and the trail, and in waits whether it is a stop or a take
// profit, undefined if it does not wait.
function triggerOf(type, side, given) {
  const stopPrice = one(triggerPrices, given), trailingDelta = one(trails, given, basisPoints), direction = given.triggerDirection;
  const { waits, trails: mustTrail } = orderTypes.get(type), directions = Object.values(stopDirections).flat();
  if (direction !== undefined && !directions.includes(direction)) throw invalid('triggerDirection', `must be one of ${directions.join(', ')}.`);
  if (mustTrail && trailingDelta === undefined) throw invalid('trailingPercent', `(or trailingDelta) is required in params for the type ${type}.`);
  if (stopPrice === undefined && trailingDelta === undefined) {
    const what = waits ? `the type ${type}` : 'a triggerDirection';
    if (waits || direction !== undefined) throw invalid('stopPrice', `(or ${triggerPrices.slice(1).join(', ')}) is required in params for ${what}.`);
    return {};
  }
  const says = [['type', waits], ...triggerPrices.map((name) => [name, given[name] === undefined ? undefined : typeOfPrice[name]]),
    ['triggerDirection', direction && (stopDirections[side].includes(direction) ? 'stop' : 'take_profit')]].filter(([, kind]) => kind !== undefined);
  for (const [name, kind] of says) if (kind !== says[0][1]) throw invalid(name, `means a ${kind} order, ${says[0][0]} means a ${says[0][1]} order.`);
  return { stopPrice, trailingDelta, waits: says[0]?.[1] ?? 'stop' };
}

// forceOf returns timeInForce and postOnly as the exchange writes them; PO is ccxt's post-only.
function forceOf(type, given) {
  const force = given.timeInForce === undefined ? undefined : String(given.timeInForce).toLowerCase();
  if (force !== undefined && force !== 'po' && !timesInForce.includes(force)) throw invalid('timeInForce', 'must be one of GTC, IOC, FOK, PO.');
  const post = force === 'po' || orderTypes.get(type).postOnly;
  if (![undefined, true, Boolean(post)].includes(given.postOnly)) throw invalid('postOnly', post ? 'must not be false here.' : 'must be true or false.');
  return { timeInForce: force === 'po' ? undefined : force, postOnly: post || given.postOnly };
}

// orderOf returns the body of POST /api/orders for a call of createOrder. What it cannot say
// in the exchange's words it refuses, so that no other order is ever sent.
export function orderOf(symbol, kind, side, amount, price, params = {}) {
  const type = String(kind).replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase().replaceAll('-', '_');
  if (!orderTypes.has(type)) throw invalid('type', `must be one of ${[...orderTypes.keys()].join(', ')}, not ${kind}.`);
  if (!Object.hasOwn(otherSide, side)) throw invalid('side', `must be buy or sell, not ${side}.`);
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined));
  if (given.reduceOnly === false) delete given.reduceOnly;
  const known = [...triggerPrices, ...trails, ...otherParams, ...sentAsGiven];
  for (const name of Object.keys(given)) if (!known.includes(name)) throw invalid(name, `is not offered; params may have ${known.join(', ')}.`);
  const { market } = orderTypes.get(type), { waits, ...trigger } = triggerOf(type, side, given);
  const quoteAmount = one(['quoteAmount', 'cost'], given), kindOfPrice = market ? 'market' : 'limit';
  const order = {
    side, currencyPairCode: symbol.replace('/', '_'), type: waits ? `${waits}_${kindOfPrice}` : kindOfPrice, quoteAmount, ...trigger, ...forceOf(type, given),
    displayAmount: one(['displayAmount'], given), ...Object.fromEntries(sentAsGiven.map((name) => [name, given[name]])),
  };
  if (quoteAmount === undefined || amount !== undefined) order.amount = plain('amount', amount);
  if (!market && price === undefined) throw invalid('price', `is required for the type ${type}; ${/limit$/.test(type) ? type.replace(/limit$/, 'market') : 'market'} needs none.`);
  if (!market) order.price = plain('price', price);
  return order;
}

// The kinds of lists; the pending orders of the last two sell what the working order has bought, and have no amount.
const listKinds = ['oco', 'oto', 'otoco', 'opo', 'opoco'], listParams = ['clientOrderId', 'clientIdScope'];

// listOf returns the body of POST /api/orders/lists; the orders have the form of createOrders.
export function listOf(kind, symbol, orders, params = {}) {
  if (!listKinds.includes(kind)) throw invalid('kind', `must be one of ${listKinds.join(', ')}, not ${kind}.`);
  for (const name of Object.keys(params)) if (!listParams.includes(name)) throw invalid(name, `is not offered; params may have ${listParams.join(', ')}.`);
  const sum = (o, i) => (kind.startsWith('opo') && i > 0 && o.amount === undefined);
  return { kind, currencyPairCode: symbol.replace('/', '_'), ...params, orders: orders.map((o, i) => {
    const { currencyPairCode, ...order } = orderOf(symbol, o.type, o.side, sum(o, i) ? '0' : o.amount, o.price, o.params);
    if (sum(o, i)) delete order.amount;
    return order;
  }) };
}

// attached returns the list of an order with params.takeProfit and params.stopLoss, undefined without them. They are of
// the other side, at the market's price or at their own price. A purchase pays its fee in what it buys: its two sell
// what is left of it.
export function attached(symbol, type, side, amount, price, { takeProfit, stopLoss, ...params } = {}) {
  const legs = Object.entries({ takeProfit, stopLoss }).filter(([, leg]) => leg !== undefined);
  if (legs.length === 0) return undefined;
  const opens = side === 'buy' ? 'opo' : 'oto', orders = legs.map(([name, leg]) => {
    const { triggerPrice, stopPrice = triggerPrice, price: at, type: kind = at === undefined ? 'market' : 'limit', ...more } = Object(leg);
    if (stopPrice === undefined) throw invalid(name, 'must be an object with a triggerPrice.');
    return { type: kind, side: otherSide[side], amount: opens === 'opo' ? undefined : amount, price: at, params: { ...more, [`${name}Price`]: stopPrice } };
  });
  return listOf(legs.length === 2 ? `${opens}co` : opens, symbol, [{ type, side, amount, price, params }, ...orders]);
}

// editOf returns the body of PATCH /api/orders/{id}: what is given changes.
export function editOf(amount, price, { stopPrice, triggerPrice, trailingDelta, trailingPercent, ...params } = {}) {
  const body = { ...params, stopPrice: one(['stopPrice', 'triggerPrice'], { stopPrice, triggerPrice }) };
  body.trailingDelta = one(trails, { trailingDelta, trailingPercent }, basisPoints);
  if (amount !== undefined) body.amount = plain('amount', amount);
  if (price !== undefined) body.price = plain('price', price);
  return body;
}

// statusOf returns ccxt's word for the status of an order. An order that the exchange ended has expired; a pending
// order of a list is open.
export function statusOf({ status, endReason }) {
  const open = { Created: 'open', PartiallyCompleted: 'open', Pending: 'open', Completed: 'closed', Rejected: 'rejected' }[status];
  return open ?? ([undefined, null, 'request', 'replace'].includes(endReason) ? 'canceled' : 'expired');
}

// candlesOf returns the first limit candles from since on, the newest without since. An
// interval without a trade has no candle, and an answer has the oldest rows of its range:
// the newest are read backwards, in ranges that grow over gaps and are halved where one is full.
export async function candlesOf({ candles, fetchTime }, timeframe = '1m', since = undefined, limit = maxCandles) {
  if (!timeframes[timeframe]) throw invalid('timeframe', `must be one of ${Object.keys(timeframes).join(', ')}.`);
  let rows = [];
  if (since !== undefined) {
    for (let start = since; rows.length < limit;) {
      const page = await candles(timeframe, start, Date.UTC(9999, 0, 1));
      rows = rows.concat(page);
      if (page.length < maxCandles) break;
      start = page.at(-1)[0] + 1000;
    }
    return rows.slice(0, limit);
  }
  const least = (maxCandles - 1) * 1000 * seconds[timeframe]; // holds no more rows than one answer
  let span = Math.min(limit * 1000 * seconds[timeframe], least);
  let full; // from here to end there are more rows than one answer holds
  for (let end = await fetchTime(); rows.length < limit && end >= 0;) {
    const start = full === undefined ? Math.max(0, end - span) : Math.max(full, end - Math.max(least, (end - full) / 2));
    const page = await candles(timeframe, start, end);
    if (page.length === maxCandles && end - start > least) {
      full = start;
      continue;
    }
    rows = page.concat(rows);
    end = start - 1;
    if (full > end) [full, span] = [undefined, least];
    else if (page.length < maxCandles / 16) span *= 16;
  }
  return rows.slice(-limit);
}
