// The structures that ccxt's manual documents, as checks of any ccxt exchange. Each check
// returns its findings as sentences; an empty list means that everything is right.

const isNumber = (v) => typeof v === 'number' && Number.isFinite(v);
const kinds = {
  string: (v) => typeof v === 'string' && v !== '',
  number: isNumber,
  positive: (v) => isNumber(v) && v > 0,
  amount: (v) => isNumber(v) && v >= 0,
  integer: Number.isSafeInteger,
  boolean: (v) => typeof v === 'boolean',
  object: (v) => typeof v === 'object' && v !== null,
  array: Array.isArray,
  side: (v) => v === 'buy' || v === 'sell',
  role: (v) => v === 'taker' || v === 'maker',
  status: (v) => ['open', 'closed', 'canceled', 'expired', 'rejected'].includes(v),
  force: (v) => ['GTC', 'IOC', 'FOK', 'PO', 'GTD'].includes(v),
  kind: (v) => typeof v === 'string' && v === v.toLowerCase(),
  asset: (v) => v === 'crypto' || v === 'fiat',
  any: (v) => v !== null && v !== undefined,
};

// members checks that every key of a form is there and of its kind. A kind with a question mark
// may be undefined; null is never right.
function members(what, value, form) {
  if (!kinds.object(value)) return [`${what} is ${value}, not an object`];
  const found = [];
  for (const [key, kind] of Object.entries(form)) {
    const name = kind.replace('?', '');
    if (!(key in value)) found.push(`${what}.${key} is missing`);
    else if (value[key] === undefined && kind.endsWith('?')) continue;
    else if (!kinds[name](value[key])) found.push(`${what}.${key} is ${JSON.stringify(value[key])}, not ${name}`);
  }
  return found;
}

// stamps checks that datetime is timestamp in ISO 8601, and that the time is one of this century.
function stamps(what, v) {
  if (v.timestamp === undefined) return v.datetime === undefined ? [] : [`${what}.datetime is there without timestamp`];
  const found = [];
  if (!(v.timestamp > Date.UTC(2010) && v.timestamp < Date.UTC(2100))) found.push(`${what}.timestamp ${v.timestamp} is not in milliseconds`);
  if (v.datetime !== undefined && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(v.datetime)) found.push(`${what}.datetime ${v.datetime} has another form`);
  else if (Date.parse(v.datetime) !== v.timestamp) found.push(`${what}.datetime ${v.datetime} is not timestamp ${v.timestamp}`);
  return found;
}

const near = (a, b) => Math.abs(a - b) <= 1e-8 * Math.max(Math.abs(a), Math.abs(b), 1e-8);
const all = (rows, check) => rows.flatMap((r, i) => check(r, i));

export function checkMarket(m, what = `market ${m?.symbol}`) {
  const found = members(what, m, {
    id: 'string', symbol: 'string', base: 'string', quote: 'string', baseId: 'string', quoteId: 'string', active: 'boolean?', type: 'string', spot: 'boolean',
    margin: 'boolean?', swap: 'boolean', created: 'integer?', marginModes: 'object?',  future: 'boolean', option: 'boolean', contract: 'boolean', settle: 'string?', settleId: 'string?',
    contractSize: 'positive?', linear: 'boolean?', inverse: 'boolean?', expiry: 'integer?', expiryDatetime: 'string?', strike: 'number?', optionType: 'string?',
    taker: 'number?', maker: 'number?', precision: 'object', limits: 'object', info: 'any',
  });
  if (found.length) return found;
  if (m.symbol !== `${m.base}/${m.quote}` && m.spot) found.push(`${what}.symbol is not base/quote`);
  found.push(...members(`${what}.precision`, m.precision, { amount: 'positive', price: 'positive' }));
  if (m.spot && [m.contract, m.swap, m.future, m.option].some(Boolean)) found.push(`${what} is spot and something else`);
  if (m.id !== m.info?.symbol && m.id !== m.info?.code) found.push(`${what}.id ${m.id} is not that of info`);
  for (const name of ['amount', 'price', 'cost', 'leverage']) {
    found.push(...members(`${what}.limits.${name}`, m.limits[name], { min: 'amount?', max: 'amount?' }));
    if (m.limits[name]?.min > m.limits[name]?.max) found.push(`${what}.limits.${name}: min is above max`);
  }
  return found;
}

export function checkCurrency(c, what = `currency ${c?.code}`) {
  const found = members(what, c, {
    id: 'string', code: 'string', numericId: 'integer?', type: 'asset?', fees: 'object', precision: 'positive?', name: 'string?', active: 'boolean?', deposit: 'boolean?', withdraw: 'boolean?', fee: 'number?',
    limits: 'object', networks: 'object', info: 'any',
  });
  if (found.length) return found;
  if (c.active && (c.deposit === false || c.withdraw === false)) found.push(`${what}: active ${c.active}, deposit ${c.deposit}, withdraw ${c.withdraw}`);
  for (const name of ['deposit', 'withdraw'].filter((n) => c.limits[n] !== undefined)) { // Binance's currencies get theirs from networks
    found.push(...members(`${what}.limits.${name}`, c.limits[name], { min: 'amount?', max: 'amount?' }));
    if (c.limits[name]?.min > c.limits[name]?.max) found.push(`${what}.limits.${name}: min is above max`);
  }
  for (const [name, n] of Object.entries(c.networks)) {
    found.push(...members(`${what}.networks.${name}`, n, {
      id: 'string', network: 'string', active: 'boolean?', deposit: 'boolean?', withdraw: 'boolean?', fee: 'amount?', precision: 'positive?', limits: 'object', info: 'any',
    }));
  }
  return found;
}

export function checkTicker(t, symbol, what = `ticker ${symbol}`) {
  const found = members(what, t, {
    symbol: 'string', timestamp: 'integer?', datetime: 'string?', high: 'positive?', low: 'positive?', bid: 'positive?', bidVolume: 'amount?', ask: 'positive?',
    askVolume: 'amount?', vwap: 'positive?', open: 'positive?', close: 'positive?', last: 'positive?', previousClose: 'positive?', change: 'number?',
    percentage: 'number?', average: 'positive?', baseVolume: 'amount?', quoteVolume: 'amount?', info: 'any',
  });
  if (found.length) return found;
  found.push(...stamps(what, t));
  if (t.symbol !== symbol) found.push(`${what}.symbol is ${t.symbol}`);
  if (t.last !== t.close) found.push(`${what}: last ${t.last} is not close ${t.close}`);
  if (t.bid > t.ask) found.push(`${what}: bid ${t.bid} is above ask ${t.ask}`);
  if (t.high < t.low || t.high < t.last || t.low > t.last) found.push(`${what}: last ${t.last} is not between low ${t.low} and high ${t.high}`);
  if (t.vwap > t.high * (1 + 1e-8) || t.vwap < t.low * (1 - 1e-8)) found.push(`${what}: vwap ${t.vwap} is not between low ${t.low} and high ${t.high}`);
  if (t.high < t.open || t.low > t.open) found.push(`${what}: open ${t.open} is not between low ${t.low} and high ${t.high}`);
  if (t.quoteVolume > t.baseVolume * t.high * (1 + 1e-8) || t.quoteVolume < t.baseVolume * t.low * (1 - 1e-8)) {
    found.push(`${what}: quoteVolume ${t.quoteVolume} is not baseVolume ${t.baseVolume} at prices from ${t.low} to ${t.high}`);
  }
  for (const [name, want] of [['change', t.last - t.open], ['average', (t.last + t.open) / 2]]) {
    if (t.open !== undefined && t[name] !== undefined && Math.abs(t[name] - want) > 1e-4 * t.last) found.push(`${what}.${name} is ${t[name]}, not ${want}`);
  }
  if (t.open !== undefined && t.percentage !== undefined && Math.abs((t.last / t.open - 1) * 100 - t.percentage) > 0.01) {
    found.push(`${what}: percentage ${t.percentage} is not that of open ${t.open} and last ${t.last}`);
  }
  return found;
}

// checkFee checks that a fee has a currency and a cost. A fee that is not known may be an object of ccxt without either.
function checkFee(what, fee, known = false) {
  if (!known && (fee === undefined || fee.currency === undefined && fee.cost === undefined)) return [];
  return members(what, fee, { currency: 'string', cost: 'number' });
}

export function checkTrade(t, symbol, mine = false, what = `trade ${t?.id}`) {
  const found = members(what, t, {
    id: 'string', order: mine ? 'string' : 'string?', timestamp: 'integer', datetime: 'string', symbol: 'string', type: 'kind?', side: 'side',
    takerOrMaker: mine ? 'role' : 'role?', price: 'positive', amount: 'positive', cost: 'positive', fee: mine ? 'object' : 'object?', fees: 'array', info: 'any',
  });
  if (found.length) return found;
  found.push(...stamps(what, t), ...checkFee(`${what}.fee`, t.fee, mine), ...all(t.fees, (f, i) => checkFee(`${what}.fees[${i}]`, f, mine)));
  if (symbol !== undefined && t.symbol !== symbol) found.push(`${what}.symbol is ${t.symbol}, not ${symbol}`);
  if (!near(t.cost, t.price * t.amount)) found.push(`${what}: cost ${t.cost} is not price x amount`);
  if (mine && t.fees.length !== 1) found.push(`${what}.fees has ${t.fees.length} rows`);
  return found;
}

// ascending checks that a list is oldest first and has no row twice.
export function checkTrades(rows, symbol, mine = false) {
  if (!Array.isArray(rows)) return [`trades are ${rows}, not an array`];
  const found = all(rows, (t) => checkTrade(t, symbol, mine));
  if (rows.some((t, i) => i && t.timestamp < rows[i - 1].timestamp)) found.push('trades are not oldest first');
  if (new Set(rows.map((t) => `${t.symbol} ${t.id} ${t.order} ${t.side}`)).size !== rows.length) found.push('a trade is there twice');
  return found;
}

export function checkOrderBook(b, symbol, limit = undefined, what = `book ${symbol}`) {
  const found = members(what, b, { symbol: 'string', timestamp: 'integer?', datetime: 'string?', nonce: 'integer?', bids: 'array', asks: 'array' });
  if (found.length) return found;
  found.push(...stamps(what, b));
  if (b.symbol !== symbol) found.push(`${what}.symbol is ${b.symbol}`);
  for (const [name, side, sign] of [['bids', b.bids, -1], ['asks', b.asks, 1]]) {
    if (limit !== undefined && side.length > limit) found.push(`${what}.${name} has ${side.length} levels, ${limit} were asked for`);
    side.forEach(([price, amount], i) => {
      if (!kinds.positive(price) || !kinds.positive(amount)) found.push(`${what}.${name}[${i}] is ${price}, ${amount}`);
      if (i && (price - side[i - 1][0]) * sign <= 0) found.push(`${what}.${name}[${i}] is out of order`);
    });
  }
  if (b.bids.length && b.asks.length && b.bids[0][0] >= b.asks[0][0]) found.push(`${what} is crossed`);
  return found;
}

export function checkOHLCV(rows, step, what = 'candles') {
  if (!Array.isArray(rows) || rows.length === 0) return [`${what} are ${JSON.stringify(rows)}`];
  return all(rows, (c, i) => {
    if (!Array.isArray(c) || c.length < 6 || !c.slice(0, 6).every(isNumber)) return [`${what}[${i}] is ${JSON.stringify(c)}`];
    const [at, open, high, low, close, volume] = c, found = [];
    if (step !== undefined && at % step !== 0) found.push(`${what}[${i}]: ${at} is no beginning of a candle`);
    if (i && at <= rows[i - 1][0]) found.push(`${what}[${i}] is not after the one before it`);
    if (high < Math.max(open, close) || low > Math.min(open, close) || low <= 0) found.push(`${what}[${i}]: ${c} contradicts itself`);
    if (volume < 0) found.push(`${what}[${i}]: volume ${volume}`);
    return found;
  });
}

export function checkBalance(b, what = 'balance') {
  const found = members(what, b, { info: 'any', free: 'object', used: 'object', total: 'object' });
  if (found.length) return found;
  for (const code of Object.keys(b.total)) {
    found.push(...members(`${what}.${code}`, b[code], { free: 'amount', used: 'amount', total: 'amount' }));
    for (const name of ['free', 'used', 'total']) {
      if (b[name][code] !== b[code]?.[name]) found.push(`${what}.${name}.${code} is ${b[name][code]}, ${what}.${code}.${name} is ${b[code]?.[name]}`);
    }
    if (b[code] && !near(b[code].free + b[code].used, b[code].total)) found.push(`${what}.${code}: free and used are not total`);
  }
  return found;
}

export function checkOrder(o, symbol, what = `order ${o?.id}`) {
  const found = members(what, o, {
    id: 'string', clientOrderId: 'string?', timestamp: 'integer', datetime: 'string', lastTradeTimestamp: 'integer?', lastUpdateTimestamp: 'integer?',
    symbol: 'string', type: 'kind', timeInForce: 'force?', postOnly: 'boolean?', reduceOnly: 'boolean?', side: 'side', price: 'positive?', stopPrice: 'positive?',
    triggerPrice: 'positive?', takeProfitPrice: 'positive?', stopLossPrice: 'positive?', amount: 'positive?', filled: 'amount', remaining: 'amount?',
    cost: 'amount', average: 'positive?', status: 'status', fee: 'object?', fees: 'array', trades: 'array', info: 'any',
  });
  if (found.length) return found;
  found.push(...stamps(what, o), ...checkFee(`${what}.fee`, o.fee), ...all(o.trades, (t) => checkTrade(t, o.symbol, false, `${what}: trade ${t?.id}`)));
  if (symbol !== undefined && o.symbol !== symbol) found.push(`${what}.symbol is ${o.symbol}, not ${symbol}`);
  if (o.amount !== undefined && o.remaining !== undefined && !near(o.filled + o.remaining, o.amount)) {
    found.push(`${what}: filled ${o.filled} and remaining ${o.remaining} are not amount ${o.amount}`);
  }
  if (o.type === 'limit' && o.price === undefined) found.push(`${what} is a limit order without a price`);
  if (o.filled > 0 && !(o.cost > 0 && o.average > 0 && Math.abs(o.cost / o.filled / o.average - 1) < 1e-6)) {
    found.push(`${what}: filled ${o.filled}, cost ${o.cost} and average ${o.average} contradict each other`);
  }
  if (o.filled === 0 && (o.cost !== 0 || o.average !== undefined)) found.push(`${what} is not filled and has cost ${o.cost}, average ${o.average}`);
  if (o.status === 'open' && o.remaining === 0) found.push(`${what} is open with nothing remaining`);
  if (o.trades.length && !near(o.trades.reduce((sum, t) => sum + t.amount, 0), o.filled)) found.push(`${what}: its trades are not filled ${o.filled}`);
  if (o.lastTradeTimestamp < o.timestamp) found.push(`${what}: last trade ${o.lastTradeTimestamp} before ${o.timestamp}`);
  if (o.status === 'closed' && o.remaining > 0) found.push(`${what} is closed with ${o.remaining} remaining`);
  if (o.triggerPrice !== o.stopPrice) found.push(`${what}: triggerPrice ${o.triggerPrice}, stopPrice ${o.stopPrice}`);
  return found;
}
