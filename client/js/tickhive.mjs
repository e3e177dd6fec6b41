// TickHive in the conventions of ccxt: symbols are BTC/USDT, times are Unix ms, amounts and
// prices are numbers, and `info` holds the exchange's own answer with its exact decimals as
// text. No dependencies: fetch, WebCrypto and, for the streams, WebSocket (or one that is
// given as options.WebSocket).

const code = (symbol) => symbol.replace('/', '_');
const symbolOf = (pair) => pair.replace('_', '/');
const utf8 = (text) => new TextEncoder().encode(text);
const hex = (bytes) => [...new Uint8Array(bytes)].map((b) => b.toString(16).padStart(2, '0')).join('');
const number = (text) => (text === undefined || text === null ? undefined : Number(text));

export const timeframes = {
  '1m': 'minute', '3m': 'minutes3', '5m': 'minutes5', '15m': 'minutes15', '30m': 'minutes30',
  '1h': 'hour', '4h': 'hour4', '1d': 'day', '1M': 'month', '1y': 'year',
};

// The shortest length of each, in seconds, and the most rows of one answer.
const seconds = {
  '1m': 60, '3m': 180, '5m': 300, '15m': 900, '30m': 1800, '1h': 3600, '4h': 14400, '1d': 86400, '1M': 28 * 86400, '1y': 365 * 86400,
};
const maxCandles = 1000;

// Directly after its start the exchange accepts no signed request for a second, and carries out none: it is sent again.
const startSeconds = 2;

export class ExchangeError extends Error {
  constructor(status, body) {
    super(`${body.code ?? status}: ${body.message ?? 'no message'}`);
    Object.assign(this, { status, code: body.code, field: body.field, requestId: body.requestId });
  }
}

// Code has the codes of ExchangeError (docs/contract/errors.md#codes).
// go test ./internal/refuse -run TestTables -update writes them.
export const Code = Object.freeze({
  INVALID_PARAM: 'INVALID_PARAM',
  UNAUTHORIZED: 'UNAUTHORIZED',
  FORBIDDEN: 'FORBIDDEN',
  NOT_FOUND: 'NOT_FOUND',
  METHOD_NOT_ALLOWED: 'METHOD_NOT_ALLOWED',
  REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
  CONFLICT: 'CONFLICT',
  PAYLOAD_TOO_LARGE: 'PAYLOAD_TOO_LARGE',
  URI_TOO_LONG: 'URI_TOO_LONG',
  UNSUPPORTED_MEDIA_TYPE: 'UNSUPPORTED_MEDIA_TYPE',
  RATE_LIMIT: 'RATE_LIMIT',
  HEADERS_TOO_LARGE: 'HEADERS_TOO_LARGE',
  INTERNAL: 'INTERNAL',
  UNAVAILABLE: 'UNAVAILABLE',
  OUTCOME_UNKNOWN: 'OUTCOME_UNKNOWN',
  NOT_WRITER: 'NOT_WRITER',
  STALE: 'STALE',
  INVALID_SYMBOL: 'INVALID_SYMBOL',
  SYMBOL_TAKEN: 'SYMBOL_TAKEN',
  COOLDOWN_ACTIVE: 'COOLDOWN_ACTIVE',
  INSUFFICIENT_FEE: 'INSUFFICIENT_FEE',
  SPAWNER_FAILED: 'SPAWNER_FAILED',
  LEVEL_TOO_LOW: 'LEVEL_TOO_LOW',
  NO_HOLDINGS: 'NO_HOLDINGS',
  PROPOSAL_NOT_FOUND: 'PROPOSAL_NOT_FOUND',
  ALREADY_VOTED: 'ALREADY_VOTED',
  PROPOSAL_CLOSED: 'PROPOSAL_CLOSED',
  PRICE_NOT_POSITIVE: 'PRICE_NOT_POSITIVE',
  PRICE_OFF_TICK: 'PRICE_OFF_TICK',
  PRICE_OUT_OF_RANGE: 'PRICE_OUT_OF_RANGE',
  AMOUNT_NOT_POSITIVE: 'AMOUNT_NOT_POSITIVE',
  AMOUNT_OFF_LOT: 'AMOUNT_OFF_LOT',
  AMOUNT_OUT_OF_RANGE: 'AMOUNT_OUT_OF_RANGE',
  TOTAL_OUT_OF_RANGE: 'TOTAL_OUT_OF_RANGE',
  BELOW_MIN_QUOTE_AMOUNT: 'BELOW_MIN_QUOTE_AMOUNT',
  ABOVE_MAX_QUOTE_AMOUNT: 'ABOVE_MAX_QUOTE_AMOUNT',
  TRAIL_OUT_OF_RANGE: 'TRAIL_OUT_OF_RANGE',
  PRICE_OUT_OF_BAND: 'PRICE_OUT_OF_BAND',
  ACCOUNT_HALTED: 'ACCOUNT_HALTED',
  INSUFFICIENT_FUNDS: 'INSUFFICIENT_FUNDS',
  WOULD_CROSS: 'WOULD_CROSS',
  WOULD_TRIGGER: 'WOULD_TRIGGER',
  LIST_PRICES: 'LIST_PRICES',
  NO_LIQUIDITY: 'NO_LIQUIDITY',
  FOK_UNFILLED: 'FOK_UNFILLED',
  PAIR_POST_ONLY: 'PAIR_POST_ONLY',
  PAIR_CANCEL_ONLY: 'PAIR_CANCEL_ONLY',
  PAIR_HALTED: 'PAIR_HALTED',
  ORDER_CLOSED: 'ORDER_CLOSED',
  ORDER_PENDING: 'ORDER_PENDING',
  AMEND_NOT_SMALLER: 'AMEND_NOT_SMALLER',
  CANCEL_RESTRICTED: 'CANCEL_RESTRICTED',
  CANCEL_FAILED: 'CANCEL_FAILED',
  DUPLICATE_CLIENT_ORDER_ID: 'DUPLICATE_CLIENT_ORDER_ID',
  TOO_MANY_ORDERS: 'TOO_MANY_ORDERS',
  TOO_MANY_STOPS: 'TOO_MANY_STOPS',
  TOO_MANY_LISTS: 'TOO_MANY_LISTS',
  TOO_MANY_SLICES: 'TOO_MANY_SLICES',
  TOO_MANY_AMENDS: 'TOO_MANY_AMENDS',
});

const invalid = (field, message) => new ExchangeError(400, { code: Code.INVALID_PARAM, message: `${field} ${message}`, field });

// plain returns a number or a text as the exchange reads decimals: without an exponent. A
// text keeps its digits.
export function plain(field, value) {
  const m = /^(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3}))?$/i.exec(typeof value === 'string' || typeof value === 'number' ? String(value) : '');
  if (!m) throw invalid(field, `must be a decimal such as 0.25 that is not negative, not ${String(value)}.`);
  const [, whole, fraction = '', power] = m;
  if (power === undefined) return m[0];
  const digits = whole + fraction, point = whole.length + Number(power);
  const left = point > 0 ? digits.slice(0, point).padEnd(point, '0').replace(/^0+(?=\d)/, '') : '0';
  const right = point > 0 ? digits.slice(point) : '0'.repeat(-point) + digits;
  return right ? `${left}.${right}` : left;
}

// The order types of createOrder, in ccxt's spelling and in others' that mean the same. A stop waits for a price that is
// worse for its side, a take profit for a better one.
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

// triggerOf returns what an order waits for: the price and the trail, and in waits whether it is a stop or a take profit,
// undefined if it does not wait.
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
    side, currencyPairCode: code(symbol), type: waits ? `${waits}_${kindOfPrice}` : kindOfPrice, quoteAmount, ...trigger, ...forceOf(type, given),
    displayAmount: one(['displayAmount'], given), ...Object.fromEntries(sentAsGiven.map((name) => [name, given[name]])),
  };
  if (quoteAmount === undefined || amount !== undefined) order.amount = plain('amount', amount);
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
  return { kind, currencyPairCode: code(symbol), ...params, orders: orders.map((o, i) => {
    const { currencyPairCode, ...order } = orderOf(symbol, o.type, o.side, sum(o, i) ? '0' : o.amount, o.price, o.params);
    if (sum(o, i)) delete order.amount;
    return order;
  }) };
}

// attached returns the list of an order with params.takeProfit and params.stopLoss, undefined without them. They are of
// the other side, at the market's price or at their own price. A purchase pays its fee in what it buys: its two sell what
// is left of it.
export function attached(symbol, type, side, amount, price, { takeProfit, stopLoss, ...params }) {
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

// statusOf returns ccxt's word for the status of an order. An order that the exchange ended has expired; a pending order
// of a list is open.
export function statusOf({ status, endReason }) {
  const open = { Created: 'open', PartiallyCompleted: 'open', Pending: 'open', Completed: 'closed', Rejected: 'rejected' }[status];
  return open ?? ([undefined, null, 'request', 'replace'].includes(endReason) ? 'canceled' : 'expired');
}

// signature returns the credential headers of a request.
export async function signature(apiKey, secret, method, target, body = '', timestamp = String(Date.now()), nonce = hex(crypto.getRandomValues(new Uint8Array(16)))) {
  const digest = hex(await crypto.subtle.digest('SHA-256', utf8(body)));
  // A secret in PEM (PKCS #8) is an Ed25519 key.
  const pem = /^-----BEGIN PRIVATE KEY-----([^-]+)/.exec(secret);
  const algorithm = pem ? { name: 'Ed25519' } : { name: 'HMAC', hash: 'SHA-256' };
  const bytes = pem ? Uint8Array.from(atob(pem[1].replace(/\s/g, '')), (c) => c.charCodeAt(0)) : utf8(secret);
  const key = await crypto.subtle.importKey(pem ? 'pkcs8' : 'raw', bytes, algorithm, false, ['sign']);
  const text = [timestamp, nonce, method, target, digest].join('\n');
  return {
    'API-PublicKey': apiKey, 'API-Timestamp': timestamp, 'API-Nonce': nonce,
    'API-Signature': hex(await crypto.subtle.sign(algorithm.name, key, utf8(text))),
  };
}

export class TickHive {
  constructor({ baseUrl = 'http://127.0.0.1:8080', apiKey, secret, WebSocket = globalThis.WebSocket } = {}) {
    Object.assign(this, { baseUrl: baseUrl.replace(/\/$/, ''), apiKey, secret, WebSocket });
    this.books = new Map();
  }

  async sign(method, target, body, timestamp, nonce) { return signature(this.apiKey, this.secret, method, target, body, timestamp, nonce); }

  async request(method, path, params = {}, payload = undefined, signed = false) {
    const query = String(new URLSearchParams(method === 'GET' ? { ...params, decimals: 'string' } : params));
    const target = query ? `${path}?${query}` : path;
    const body = payload === undefined ? '' : JSON.stringify(payload);
    const send = async () => {
      const headers = signed ? await this.sign(method, target, body) : {};
      if (body) headers['Content-Type'] = 'application/json';
      return fetch(this.baseUrl + target, { method, headers, body: body || undefined });
    };
    let response = await send();
    const seconds = response.status === 401 ? Number(response.headers.get('Retry-After') ?? 0) : 0;
    if (seconds > 0 && seconds <= startSeconds) {
      await new Promise((r) => { setTimeout(r, seconds * 1000); });
      response = await send();
    }
    const answer = await response.json().catch((error) => { if (response.ok) throw error; return {}; }); // a proxy's page is none of ours
    if (!response.ok) throw new ExchangeError(response.status, answer);
    return answer;
  }

  async fetchTime() { return (await this.request('GET', '/api/time')).serverTime; }

  async fetchMarkets() {
    const pairs = await this.request('GET', '/api/currencies/pairs');
    return pairs.map((p) => {
      const [base, quote] = p.code.split('_');
      return {
        id: p.code, symbol: `${base}/${quote}`, base, quote, type: 'spot', spot: true, active: true,
        precision: { price: Number(`1e-${p.digitsPrice}`), amount: Number(`1e-${p.digitsAmount}`) },
        limits: { cost: { min: number(p.minQuoteAmount) } }, info: p,
      };
    });
  }

  parseTicker(t) {
    return {
      symbol: symbolOf(t.currencyPairCode), timestamp: t.timestamp * 1000, datetime: new Date(t.timestamp * 1000).toISOString(),
      bid: number(t.bidPrice), ask: number(t.askPrice), last: number(t.price), close: number(t.price), open: number(t.price24hAgo),
      percentage: number(t.priceChangePercentage24h), baseVolume: number(t.volume24h), info: t,
    };
  }

  async fetchTicker(symbol) {
    return this.parseTicker(await this.request('GET', '/api/tickers', { currencyPairCode: code(symbol) }));
  }

  async fetchTickers(symbols = undefined) {
    const rows = await this.request('GET', '/api/summary');
    const all = rows.map((r) => ({
      symbol: symbolOf(r.trading_pairs), bid: number(r.highest_bid), ask: number(r.lowest_ask), last: number(r.last_price),
      high: number(r.highest_price_24h), low: number(r.lowest_price_24h), percentage: number(r.price_change_percent_24h),
      baseVolume: number(r.base_volume), quoteVolume: number(r.quote_volume), info: r,
    }));
    return Object.fromEntries(all.filter((t) => !symbols || symbols.includes(t.symbol)).map((t) => [t.symbol, t]));
  }

  async fetchOrderBook(symbol, limit = 100) {
    const b = await this.request('GET', '/api/marketdata/getaggregator/orderbook', { ticker_id: code(symbol), depth: limit * 2 });
    const side = (levels) => levels.map(([p, a]) => [Number(p), Number(a)]);
    return { symbol, timestamp: b.timestamp, datetime: new Date(b.timestamp).toISOString(), bids: side(b.bids), asks: side(b.asks), info: b };
  }

  async fetchTrades(symbol, since = undefined, limit = 100) {
    const params = { currencyPairCode: code(symbol), pageSize: limit };
    if (since !== undefined) params.sinceDate = new Date(since).toISOString().slice(0, 23);
    const deals = await this.request('GET', '/api/deals', params);
    return deals.map((d) => this.parseTrade(d)).reverse();
  }

  parseTrade(d) {
    return {
      id: d.id, symbol: symbolOf(d.currencyPairCode), timestamp: Date.parse(d.dealDateUtc), datetime: d.dealDateUtc,
      side: d.isBuy ? 'buy' : 'sell', price: number(d.price), amount: number(d.volume), cost: Number(d.price) * Number(d.volume), info: d,
    };
  }

  async candles(symbol, timeframe, start, end) {
    const text = (ms) => new Date(ms).toISOString().slice(0, 23);
    const rows = await this.request('GET', '/api/ohlc', { currencyPairCode: code(symbol), interval: timeframes[timeframe], start: text(start), end: text(end) });
    return rows.map((c) => [Date.parse(`${c.date}Z`), +c.open, +c.max, +c.min, +c.close, +c.volumeBase]);
  }

  // fetchOHLCV answers the first limit candles from since on, the newest without since. An
  // interval without a trade has no candle, and an answer has the oldest rows of its range:
  // the newest are read backwards, in ranges that grow over gaps and are halved where one is full.
  async fetchOHLCV(symbol, timeframe = '1m', since = undefined, limit = maxCandles) {
    if (!timeframes[timeframe]) throw new ExchangeError(400, { code: 'INVALID_PARAM', message: `timeframe must be one of ${Object.keys(timeframes).join(', ')}.`, field: 'timeframe' });
    let rows = [];
    if (since !== undefined) {
      for (let start = since; rows.length < limit;) {
        const page = await this.candles(symbol, timeframe, start, Date.UTC(9999, 0, 1));
        rows = rows.concat(page);
        if (page.length < maxCandles) break;
        start = page.at(-1)[0] + 1000;
      }
      return rows.slice(0, limit);
    }
    const least = (maxCandles - 1) * 1000 * seconds[timeframe]; // holds no more rows than one answer
    let span = Math.min(limit * 1000 * seconds[timeframe], least);
    let full; // from here to end there are more rows than one answer holds
    for (let end = await this.fetchTime(); rows.length < limit && end >= 0;) {
      const start = full === undefined ? Math.max(0, end - span) : Math.max(full, end - Math.max(least, (end - full) / 2));
      const page = await this.candles(symbol, timeframe, start, end);
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

  parseOrder(o) {
    const status = statusOf(o), amount = number(o.initialAmount) || undefined, filled = number(o.filledAmount); // an amount of 0 is not known yet
    const rest = () => (amount === undefined ? undefined : Number((amount - filled).toPrecision(12)));
    const left = status === 'open' ? number(o.amount) || undefined : status === 'closed' ? 0 : rest();
    return {
      id: o.id, clientOrderId: o.clientOrderId ?? undefined, symbol: symbolOf(o.currencyPairCode), timestamp: Date.parse(o.date), datetime: o.date,
      type: o.isMarket ? 'market' : 'limit', side: o.isBid ? 'buy' : 'sell', price: number(o.price), amount, stopPrice: number(o.stopPrice),
      triggerPrice: number(o.stopPrice), remaining: left, filled, status, listId: o.listId ?? undefined, info: o,
    };
  }

  // parseList: the status of a list is open until its last order has ended. A list of the stream has no orders but their ids.
  parseList(l) {
    return {
      id: l.id, clientOrderId: l.clientOrderId ?? undefined, symbol: symbolOf(l.currencyPairCode), timestamp: Date.parse(l.date), datetime: l.date,
      kind: l.kind, status: l.status === 'executing' ? 'open' : 'closed', orderIds: l.orderIds ?? l.orders.map((o) => o.id),
      orders: l.orders?.map((o) => this.parseOrder(o)), info: l,
    };
  }

  // createOrder places an order. The type, or a price of params (stopPrice, triggerPrice, stopLossPrice, takeProfitPrice),
  // makes a stop or a take profit of it, trailingPercent lets it trail, and the objects takeProfit and stopLoss make a
  // list of it. Amounts and prices may be text, which keeps digits that a number would lose. The price of a market order
  // is ignored, as ccxt does. What cannot be placed as asked throws before anything is sent.
  async createOrder(symbol, type, side, amount, price = undefined, params = {}) {
    const list = attached(symbol, type, side, amount, price, params);
    const order = list ? list.orders[0] : orderOf(symbol, type, side, amount, price, params);
    const info = list ? await this.request('POST', '/api/orders/lists', {}, list, true) : await this.request('POST', '/api/orders', {}, order, true);
    return {
      id: list ? info.orders[0].id : info, listId: list ? info.id : undefined, clientOrderId: order.clientOrderId, symbol, side,
      type: order.type.endsWith('market') ? 'market' : 'limit', amount: number(order.amount), price: number(order.price),
      stopPrice: number(order.stopPrice), triggerPrice: number(order.stopPrice), timeInForce: order.timeInForce?.toUpperCase(), postOnly: order.postOnly, info,
    };
  }

  // batch carries out up to 100 commands in order and returns a result for each: { place }, { placeList }, { cancel },
  // { replace }, in the exchange's words.
  async batch(commands) { return (await this.request('POST', '/api/orders/batch', {}, { commands }, true)).results; }

  // createOrders places up to 100 orders in one request. A refused one has the status rejected, and its reason in info.
  async createOrders(orders) {
    const commands = orders.map((o) => ({ place: orderOf(o.symbol, o.type, o.side, o.amount, o.price, o.params) }));
    const refused = (r, o) => ({ id: r.id ?? undefined, symbol: o.symbol, status: 'rejected', info: r });
    return (await this.batch(commands)).map((r, i) => (r.rejectReason ? refused(r, orders[i]) : this.parseOrder(r)));
  }

  // editOrder changes price and total amount; params may have stopPrice and trailingPercent of an order that waits. With
  // params.keepPriority the amount must be smaller, and the order keeps its place in the queue.
  async editOrder(id, symbol, type, side, amount = undefined, price = undefined, params = {}) {
    return this.parseOrder(await this.request('PATCH', `/api/orders/${id}`, {}, editOf(amount, price, params), true));
  }

  // cancelOrder cancels an order; with params.onlyIf new or partial only if it has no deal yet, or has one.
  async cancelOrder(id, symbol = undefined, params = {}) {
    return this.parseOrder(await this.request('DELETE', `/api/orders/${id}`, params, undefined, true));
  }

  // placeList places a list of a kind (oco, oto, otoco, opo, opoco), whole or not at all. Each order has type, side,
  // amount, price and params as createOrder has them.
  async placeList(kind, symbol, orders, params = {}) {
    return this.parseList(await this.request('POST', '/api/orders/lists', {}, listOf(kind, symbol, orders, params), true));
  }

  async cancelList(id) { return this.parseList(await this.request('DELETE', `/api/orders/lists/${id}`, {}, undefined, true)); }

  async fetchList(id) { return this.parseList(await this.request('GET', `/api/orders/lists/${id}`, {}, undefined, true)); }

  // fetchLists returns the newest lists, of params.status executing, done or all.
  async fetchLists(params = {}) {
    return (await this.request('GET', '/api/user/lists', { pageSize: 100, ...params }, undefined, true)).map((l) => this.parseList(l));
  }

  async fetchOpenOrders(symbol = undefined) {
    const params = { status: 'active', pageSize: 100 };
    if (symbol) params.currencyPairCode = code(symbol);
    return (await this.request('GET', '/api/user/orders', params, undefined, true)).map((o) => this.parseOrder(o));
  }

  async fetchBalance() {
    const { balances } = await this.request('GET', '/api/wallets/balances', {}, undefined, true);
    const out = { info: balances, free: {}, used: {}, total: {} };
    for (const b of balances) {
      out[b.currencyCode] = { free: Number(b.free), used: Number(b.held), total: Number(b.total) };
      out.free[b.currencyCode] = Number(b.free);
      out.used[b.currencyCode] = Number(b.held);
      out.total[b.currencyCode] = Number(b.total);
    }
    return out;
  }

  // watchOrderBook resolves with the book after each change of it; the first call with its
  // snapshot. Every message is checked by chain and checksum before it is shown.
  async watchOrderBook(symbol, limit = 10) {
    let book = this.books.get(symbol);
    if (!book) {
      book = new WatchedBook(this, symbol, limit);
      this.books.set(symbol, book);
    }
    return book.next(limit);
  }

  // watchOrders resolves with the orders that have changed since the last call, watchLists with the lists; the first call
  // with those that are open, and so the first one after a line was lost.
  async watchOrders() { return this.mine().next('orders'); }

  async watchLists() { return this.mine().next('lists'); }

  mine() { return this.own ??= new WatchedOrders(this); }

  close() {
    for (const b of [...this.books.values(), this.own]) b?.end(new Error('the exchange was closed'));
  }
}

const crcTable = new Uint32Array(256).map((_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

export function crc32(text) {
  let c = 0xffffffff;
  for (let i = 0; i < text.length; i++) c = crcTable[(c ^ text.charCodeAt(i)) & 0xff] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

// Prices of one pair have the same number of digits, so that text compares like numbers.
const compare = (a, b) => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);

// Book is one order book, rebuilt from a snapshot and updates. It is ready while its bids and
// asks have passed their checks.
export class Book {
  constructor() { this.ready = false; }

  // apply returns 'shown' for a change that passed its checks, 'same' for a message without
  // one, and 'broken' when a snapshot is needed.
  apply(m) {
    if (m.type === 'heartbeat') {
      if (this.ready && m.seq === this.seq) return 'same';
      this.ready = false;
      return 'broken';
    }
    if (m.type === 'snapshot') Object.assign(this, { bids: m.bids, asks: m.asks, seq: m.seq, epoch: m.epoch, ready: true });
    else if (m.type === 'update') {
      if (!this.ready || m.seq <= this.seq) return 'same';
      this.ready = m.prevSeq === this.seq;
      if (!this.ready) return 'broken';
      m.bids.forEach((l) => this.put(this.bids, l, -1));
      m.asks.forEach((l) => this.put(this.asks, l, 1));
      this.seq = m.seq;
    } else return 'same';
    this.lastChecksum = m.checksum;
    this.ready = this.checksum() === m.checksum;
    return this.ready ? 'shown' : 'broken';
  }

  put(side, level, direction) {
    let lo = 0, hi = side.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (compare(side[mid][0], level[0]) * direction < 0) lo = mid + 1; else hi = mid;
    }
    const found = lo < side.length && side[lo][0] === level[0];
    if (/^[0.]+$/.test(level[1])) { if (found) side.splice(lo, 1); } else side.splice(lo, found ? 1 : 0, level);
  }

  checksum() {
    const text = (side) => side.slice(0, 10).map(([p, a]) => `${p}:${a}`).join(',');
    return crc32(`${text(this.bids)}|${text(this.asks)}`);
  }
}

const askAgain = 1000; // ms between two resyncs, and before a lost connection is reopened
const patience = 5000; // ms: a subscription speaks once a second at least
const mostKept = 1000; // changed orders that wait for the next call; beyond it the oldest go
export const depthFor = (limit) => [10, 25, 100, 1000].find((d) => d >= limit) ?? 0;

// onLine adds a connection to a class. The connection is opened again when it is lost or silent; subscribe then sends
// what it is for, receive gets its messages.
const onLine = (Base) => class extends Base {
  open() {
    if (!this.exchange.WebSocket) throw new Error('there is no WebSocket here: give one as options.WebSocket');
    const socket = new this.exchange.WebSocket(`${this.exchange.baseUrl.replace(/^http/, 'ws')}/ws`);
    const mine = (run) => (e) => { if (this.socket === socket) run(e); }; // a line that was given up is not heard
    Object.assign(this, { socket, connected: false, subscribed: false });
    socket.onopen = mine(() => { this.connected = true; this.subscribe(); });
    socket.onmessage = mine((e) => { this.heard = true; this.receive(JSON.parse(e.data)); });
    socket.onerror = () => {}; // the close that follows says it; unheard it ends the process with some libraries
    socket.onclose = mine(() => this.leave(askAgain));
    this.listen();
  }

  // after keeps one timer of each name, so that none is left behind.
  after(name, ms, run) {
    clearTimeout(this.timers[name]);
    this.timers[name] = setTimeout(() => { delete this.timers[name]; run(); }, ms);
  }

  listen() {
    this.heard = false;
    this.after('silence', patience, () => { if (this.heard) this.listen(); else this.leave(0); });
  }

  // leave abandons the connection and opens another one in ms; undefined: never.
  leave(ms) {
    const { socket } = this;
    Object.values(this.timers).forEach((t) => clearTimeout(t));
    Object.assign(this, { socket: undefined, connected: false, subscribed: false, timers: {} });
    socket?.close();
    if (ms !== undefined) this.after('open', ms, () => this.open());
  }
};

// WatchedOrders follows the orders and the lists of the account, on one line for both.
class WatchedOrders extends /* @__PURE__ */ onLine(Object) {
  constructor(exchange) {
    super();
    Object.assign(this, { exchange, timers: {}, kept: { orders: [], lists: [] }, waiting: { orders: [], lists: [] } });
    this.open();
  }

  async subscribe() {
    const { socket } = this, h = await this.exchange.sign('GET', '/ws');
    const credentials = { publicKey: h['API-PublicKey'], timestamp: h['API-Timestamp'], nonce: h['API-Nonce'], signature: h['API-Signature'] };
    if (this.socket === socket) socket.send(JSON.stringify({ op: 'auth', id: 'auth', ...credentials }));
  }

  receive(m) {
    if (m.type === 'error' && m.id === 'auth' && !this.refused) { // directly after a start the exchange accepts nothing signed for a second
      this.refused = true;
      this.after('auth', askAgain, () => this.subscribe());
    } else if (m.type === 'error' && (['auth', 'orders'].includes(m.id) || m.code === Code.UNAUTHORIZED)) this.end(new ExchangeError(0, m));
    if (m.type === 'authenticated') {
      this.refused = false;
      this.socket.send(JSON.stringify({ op: 'subscribe', id: 'orders', channel: 'orders', decimals: 'string' }));
    }
    if (m.channel !== 'orders') return;
    this.tell('orders', (m.orders ?? [m.order]).filter(Boolean).map((o) => this.exchange.parseOrder(o)));
    this.tell('lists', (m.lists ?? [m.list]).filter(Boolean).map((l) => this.exchange.parseList(l)));
  }

  // tell resolves the calls that wait, or keeps the rows for the next one.
  tell(name, rows) {
    this.kept[name] = [...this.kept[name], ...rows].slice(-mostKept);
    if (!rows.length || !this.waiting[name].length) return;
    const changed = this.kept[name];
    this.kept[name] = [];
    this.waiting[name].splice(0).forEach((w) => w.resolve(changed));
  }

  next(name) {
    return new Promise((resolve, reject) => {
      const changed = this.kept[name];
      this.kept[name] = [];
      if (changed.length) resolve(changed); else this.waiting[name].push({ resolve, reject });
    });
  }

  // end is for good: the next call starts again.
  end(error) {
    this.leave();
    this.exchange.own = undefined;
    Object.values(this.waiting).flat().forEach((w) => w.reject(error));
  }
}

// WatchedBook follows one book on the stream and reconnects with fromSeq; limit is the most
// that a call wanted.
class WatchedBook extends /* @__PURE__ */ onLine(Book) {
  constructor(exchange, symbol, limit) {
    super();
    Object.assign(this, { exchange, symbol, depth: depthFor(limit), limit, id: 0, waiting: [], timers: {}, fresh: false });
    this.open();
  }

  // subscribe's id tells its answers from those to an earlier one: what comes before the
  // acknowledgement is of the depth that was left.
  subscribe() {
    const request = { op: 'subscribe', id: ++this.id, channel: 'book', pairs: [code(this.symbol)], depth: this.depth, interval: 100, decimals: 'string' };
    if (this.ready) Object.assign(request, { fromSeq: this.seq, epoch: this.epoch });
    this.subscribed = false;
    this.socket.send(JSON.stringify(request));
  }

  // resync asks for a snapshot, and again until one is right.
  resync() {
    if (this.timers.resync !== undefined) return;
    if (this.subscribed) this.socket.send(JSON.stringify({ op: 'resync', channel: 'book', pairs: [code(this.symbol)] }));
    this.after('resync', askAgain, () => { if (!this.ready) this.resync(); });
  }

  receive(m) {
    if (m.type === 'error' && m.id === this.id) this.end(new ExchangeError(0, m));
    if (m.type === 'subscribed' && m.id === this.id) this.subscribed = true;
    if (m.channel !== 'book' || !this.subscribed) return;
    const outcome = this.apply(m);
    if (outcome === 'broken') this.resync();
    else if (outcome === 'shown') this.tell(m.time);
  }

  tell(time) {
    this.show(time);
    const waiting = this.waiting.splice(0);
    this.fresh = waiting.length === 0;
    waiting.forEach((w) => w.resolve(this.cut(w.limit)));
  }

  show(time) {
    const side = (levels) => levels.slice(0, this.limit).map(([p, a]) => [Number(p), Number(a)]);
    this.book = { symbol: this.symbol, timestamp: time, datetime: new Date(time).toISOString(), nonce: this.seq, bids: side(this.bids), asks: side(this.asks) };
  }

  cut(limit) { return { ...this.book, bids: this.book.bids.slice(0, limit), asks: this.book.asks.slice(0, limit) }; }

  // widen makes the levels of a larger limit known.
  widen(limit) {
    this.limit = limit;
    const depth = depthFor(limit);
    if (depth !== this.depth) {
      Object.assign(this, { depth, ready: false, fresh: false });
      if (this.connected) this.subscribe();
    } else if (this.ready) this.show(this.book.timestamp);
    else this.fresh = false;
  }

  next(limit) {
    if (limit > this.limit) this.widen(limit);
    if (this.fresh) { this.fresh = false; return Promise.resolve(this.cut(limit)); }
    return new Promise((resolve, reject) => this.waiting.push({ limit, resolve, reject }));
  }

  // end is for good: the next call for the symbol starts again.
  end(error) {
    this.leave();
    this.exchange.books.delete(this.symbol);
    this.waiting.splice(0).forEach((w) => w.reject(error));
  }
}
