// The structures that ccxt's manual documents, as checks of any ccxt exchange. What ccxt's own
// tests of an exchange demand is demanded here too, and where members depend on one another
// more than that. Each check returns its findings as sentences; an empty list means that
// everything is right.

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
  kind: (v) => typeof v === 'string' && v !== '' && v === v.toLowerCase(),
  code: (v) => typeof v === 'string' && /^[A-Z0-9]+$/.test(v),
  // a price or amount step: 2 to 16 are counts of digits that somebody took for a step
  step: (v) => isNumber(v) && v > 0 && (v < 2 || v > 16 || v === 5 || v === 10),
  asset: (v) => ['crypto', 'fiat', 'leveraged', 'other'].includes(v),
  absent: (v) => v === undefined,
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

const minute = 60000;

// stamps checks that datetime is timestamp in ISO 8601, and that the time is one of this century
// and not ahead.
function stamps(what, v) {
  if (v.timestamp === undefined) return v.datetime === undefined ? [] : [`${what}.datetime is there without timestamp`];
  const found = [];
  if (!(v.timestamp > Date.UTC(2010) && v.timestamp < Date.now() + minute)) found.push(`${what}.timestamp ${v.timestamp} is not in milliseconds, or ahead`);
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(v.datetime)) found.push(`${what}.datetime ${v.datetime} has another form`);
  else if (Date.parse(v.datetime) !== v.timestamp) found.push(`${what}.datetime ${v.datetime} is not timestamp ${v.timestamp}`);
  return found;
}

// near compares what was computed from decimals and rounded to a double at most a few times.
const near = (a, b, part = 1e-12) => Math.abs(a - b) <= part * Math.max(Math.abs(a), Math.abs(b));
const all = (rows, check) => rows.flatMap((r, i) => check(r, i));

// range checks a pair of limits: both keys, and a maximum that is not below the minimum.
function range(what, limits) {
  const found = members(what, limits, { min: 'amount?', max: 'positive?' });
  return found.length || !(limits.min > limits.max) ? found : [`${what}: min is above max`];
}

export function checkMarket(m, currencies = undefined, what = `market ${m?.symbol}`) {
  const found = members(what, m, {
    id: 'string', symbol: 'string', base: 'code', quote: 'code', baseId: 'string', quoteId: 'string', active: 'boolean', type: 'string', spot: 'boolean',
    margin: 'boolean?', swap: 'boolean', future: 'boolean', option: 'boolean', contract: 'boolean', settle: 'string?', settleId: 'string?',
    contractSize: 'positive?', linear: 'boolean?', inverse: 'boolean?', expiry: 'integer?', expiryDatetime: 'string?', strike: 'number?', optionType: 'string?',
    taker: 'number', maker: 'number', precision: 'object', limits: 'object', marginModes: 'object', created: 'integer?', info: 'any',
  });
  if (found.length) return found;
  if (m.spot) {
    if (m.symbol !== `${m.base}/${m.quote}`) found.push(`${what}.symbol is not base/quote`);
    const none = ['contractSize', 'settle', 'settleId', 'linear', 'inverse', 'expiry', 'expiryDatetime', 'strike', 'optionType'];
    found.push(...members(what, m, Object.fromEntries(none.map((key) => [key, 'absent']))));
    if (m.type !== 'spot' || m.swap || m.future || m.option || m.contract) found.push(`${what} is a spot market and another one`);
  }
  if (m.id !== m.info.symbol && m.id !== m.info.code) found.push(`${what}.id ${m.id} is not that of info`);
  for (const key of ['taker', 'maker']) if (!(Math.abs(m[key]) < 1)) found.push(`${what}.${key} ${m[key]} is no share of the price`);
  for (const key of ['baseId', 'quoteId']) {
    const code = m[key.slice(0, -2)];
    if (currencies && currencies[code]?.id !== m[key]) found.push(`${what}.${key} ${m[key]} is not the id of currency ${code}`);
  }
  found.push(...members(`${what}.precision`, m.precision, { amount: 'step', price: 'step' }), ...members(`${what}.marginModes`, m.marginModes, { cross: 'boolean?', isolated: 'boolean?' }));
  for (const name of ['leverage', 'amount', 'price', 'cost']) found.push(...range(`${what}.limits.${name}`, m.limits[name]));
  return found;
}

// both checks the members that a currency and one of its networks have in common.
function both(what, v, form) {
  const found = members(what, v, {
    id: 'string', precision: 'step', active: 'boolean', deposit: 'boolean', withdraw: 'boolean', fee: 'amount?', limits: 'object', info: 'any', ...form,
  });
  if (found.length) return found;
  if (v.deposit === v.withdraw && v.active !== v.deposit) found.push(`${what}: active ${v.active}, deposit and withdraw ${v.deposit}`);
  return [...found, ...range(`${what}.limits.withdraw`, v.limits.withdraw), ...range(`${what}.limits.deposit`, v.limits.deposit)];
}

export function checkCurrency(c, what = `currency ${c?.code}`) {
  const found = both(what, c, { code: 'code', numericId: 'integer?', name: 'string', type: 'asset?', fees: 'object', networks: 'object' });
  if (found.length) return found;
  if (c.active && !(c.deposit && c.withdraw)) found.push(`${what}: active ${c.active}, deposit ${c.deposit}, withdraw ${c.withdraw}`);
  return [...found, ...all(Object.entries(c.networks), ([name, n]) => both(`${what}.networks.${name}`, n, { network: 'string' }))];
}

// checkTicker: tick is the step of the market's prices, to which ccxt cuts the average.
export function checkTicker(t, symbol, tick = 0) {
  const what = `ticker ${symbol}`;
  const found = members(what, t, {
    symbol: 'string', timestamp: 'integer?', datetime: 'string?', high: 'positive?', low: 'positive?', bid: 'positive?', bidVolume: 'amount?', ask: 'positive?',
    askVolume: 'amount?', vwap: 'positive?', open: 'positive?', close: 'positive?', last: 'positive?', previousClose: 'positive?', change: 'number?',
    percentage: 'number?', average: 'positive?', baseVolume: 'amount?', quoteVolume: 'amount?', info: 'any',
  });
  if (found.length) return found;
  found.push(...stamps(what, t));
  if (t.symbol !== symbol) found.push(`${what}.symbol is ${t.symbol}`);
  if (t.last !== t.close) found.push(`${what}: last ${t.last} is not close ${t.close}`);
  if (t.bid >= t.ask) found.push(`${what}: bid ${t.bid} is not below ask ${t.ask}`);
  if (t.high < t.low || t.high < t.last || t.low > t.last) found.push(`${what}: last ${t.last} is not between low ${t.low} and high ${t.high}`);
  if ((t.high === undefined) !== (t.low === undefined)) found.push(`${what} has one of high ${t.high} and low ${t.low}`);
  if (t.vwap > t.high * (1 + 1e-8) || t.vwap < t.low * (1 - 1e-8)) found.push(`${what}: vwap ${t.vwap} is not between low ${t.low} and high ${t.high}`);
  if (t.high < t.open || t.low > t.open) found.push(`${what}: open ${t.open} is not between low ${t.low} and high ${t.high}`);
  if (t.quoteVolume > t.baseVolume * t.high * (1 + 1e-8) || t.quoteVolume < t.baseVolume * t.low * (1 - 1e-8)) {
    found.push(`${what}: quoteVolume ${t.quoteVolume} is not baseVolume ${t.baseVolume} at prices from ${t.low} to ${t.high}`);
  }
  for (const [name, want, cut] of [['change', t.last - t.open, 0], ['average', (t.last + t.open) / 2, tick]]) {
    if (t.open !== undefined && t.last !== undefined && !(Math.abs(t[name] - want) <= Math.max(1e-4 * t.last, cut))) found.push(`${what}.${name} is ${t[name]}, not ${want}`);
  }
  if (t.open !== undefined && t.percentage !== undefined && Math.abs((t.last / t.open - 1) * 100 - t.percentage) > 0.01) {
    found.push(`${what}: percentage ${t.percentage} is not that of open ${t.open} and last ${t.last}`);
  }
  if (t.vwap !== undefined && !near(t.vwap * t.baseVolume, t.quoteVolume, 1e-4)) found.push(`${what}: vwap ${t.vwap} is not quoteVolume by baseVolume`);
  return found;
}

// checkLastPrice checks the price of the last trade.
export function checkLastPrice(p, symbol, what = `last price ${symbol}`) {
  const found = members(what, p, { symbol: 'string', timestamp: 'integer?', datetime: 'string?', price: 'positive', side: 'side?', info: 'any' });
  if (found.length) return found;
  return p.symbol === symbol ? stamps(what, p) : [`${what}.symbol is ${p.symbol}`];
}

// checkFees checks fee and fees: each fee has its currency, one of the symbol's, and its cost. A
// trade has its single fee in both members; the trade of another is shown by ccxt with a fee of
// undefined members. The fee of an order may count its last fill alone.
function checkFees(what, v, mine, order = false) {
  if (!mine && v.fee && v.fees.length === 0 && 'cost' in v.fee && 'currency' in v.fee && v.fee.cost === undefined && v.fee.currency === undefined) return [];
  const fees = v.fee === undefined ? v.fees : [v.fee, ...v.fees];
  const found = all(fees, (fee, i) => {
    const wrong = members(`${what}: fee ${i}`, fee, { currency: 'code', cost: 'number' });
    return wrong.length || v.symbol.split('/').includes(fee.currency) ? wrong : [`${what}: fee ${i} is in ${fee.currency}`];
  });
  if (found.length) return found;
  const [first] = v.fees;
  if (v.fees.length === 1 && v.fee === undefined) found.push(`${what} has one of fees and no fee`);
  if (!order && v.fee && (v.fees.length !== 1 || v.fee.cost !== first.cost || v.fee.currency !== first.currency)) found.push(`${what}.fee is not the only one of fees`);
  return found;
}

export function checkTrade(t, symbol, mine = false, what = `trade ${t?.id}`) {
  const found = members(what, t, {
    id: 'string', order: mine ? 'string' : 'string?', timestamp: 'integer', datetime: 'string', symbol: 'string', type: 'kind?', side: 'side',
    takerOrMaker: mine ? 'role' : 'role?', price: 'positive', amount: 'positive', cost: 'positive', fee: mine ? 'object' : 'object?', fees: 'array', info: 'any',
  });
  if (found.length) return found;
  found.push(...stamps(what, t), ...checkFees(what, t, mine));
  if (symbol !== undefined && t.symbol !== symbol) found.push(`${what}.symbol is ${t.symbol}, not ${symbol}`);
  if (!near(t.cost, t.price * t.amount)) found.push(`${what}: cost ${t.cost} is not price x amount`);
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

// checkOrderBook: timed is false for a book that the exchange gives no time of.
export function checkOrderBook(b, symbol, limit = undefined, timed = true, what = `book ${symbol}`) {
  const optional = timed ? '' : '?';
  const found = members(what, b, { symbol: 'string', timestamp: `integer${optional}`, datetime: `string${optional}`, nonce: 'integer', bids: 'array', asks: 'array' });
  if (found.length) return found;
  found.push(...stamps(what, b));
  if (b.symbol !== symbol) found.push(`${what}.symbol is ${b.symbol}`);
  for (const [name, side, sign] of [['bids', b.bids, -1], ['asks', b.asks, 1]]) {
    if (limit !== undefined && side.length > limit) found.push(`${what}.${name} has ${side.length} levels, ${limit} were asked for`);
    side.forEach((level, i) => {
      const [price, amount] = level;
      if (level.length !== 2) found.push(`${what}.${name}[${i}] has ${level.length} members`);
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
    if (!Array.isArray(c) || c.length !== 6 || !c.slice(0, 6).every(isNumber)) return [`${what}[${i}] is ${JSON.stringify(c)}`];
    const [at, open, high, low, close, volume] = c, found = [];
    if (!Number.isSafeInteger(at) || at > Date.now() + minute) found.push(`${what}[${i}]: ${at} is no time, or ahead`);
    if (step !== undefined && at % step !== 0) found.push(`${what}[${i}]: ${at} is no beginning of a candle`);
    if (i && at <= rows[i - 1][0]) found.push(`${what}[${i}] is not after the one before it`);
    if (high < Math.max(open, close) || low > Math.min(open, close) || low <= 0) found.push(`${what}[${i}]: ${c} contradicts itself`);
    if (volume < 0) found.push(`${what}[${i}]: volume ${volume}`);
    return found;
  });
}

// decimalOf returns the decimal that a double prints as a whole number of 10^-24.
function decimalOf(v) {
  const [mantissa, power = '0'] = String(v).split('e'), [whole, fraction = ''] = mantissa.split('.');
  return BigInt(whole + fraction) * 10n ** BigInt(24 + Number(power) - fraction.length);
}

// summed compares a total with its parts as ccxt's own test of watchBalance does: the decimals that the three doubles
// print add up. Doubles cannot hold the 18 digits of a launchpad currency: those may differ by their rounding.
const launchpad = ['NATIVE', 'USBI'];
const summed = (code, free, used, total) => (launchpad.includes(code) ? near(free + used, total, 2 ** -51) : decimalOf(free) + decimalOf(used) === decimalOf(total));

export function checkBalance(b, currencies = undefined, what = 'balance') {
  const found = members(what, b, { info: 'any', free: 'object', used: 'object', total: 'object' });
  if (found.length) return found;
  for (const code of new Set(['free', 'used', 'total'].flatMap((name) => Object.keys(b[name])))) {
    if (currencies && !(code in currencies)) found.push(`${what} has ${code}, which is no currency of the exchange`);
    const wrong = members(`${what}.${code}`, b[code], { free: 'amount', used: 'amount', total: 'amount' });
    found.push(...wrong);
    for (const name of ['free', 'used', 'total']) {
      if (b[name][code] !== b[code]?.[name]) found.push(`${what}.${name}.${code} is ${b[name][code]}, ${what}.${code}.${name} is ${b[code]?.[name]}`);
    }
    if (wrong.length === 0 && !summed(code, b[code].free, b[code].used, b[code].total)) found.push(`${what}.${code}: free and used are not total`);
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
  found.push(...stamps(what, o), ...checkFees(what, o, true, true), ...all(o.trades, (t) => checkTrade(t, o.symbol, false, `${what}: trade ${t?.id}`)));
  if (symbol !== undefined && o.symbol !== symbol) found.push(`${what}.symbol is ${o.symbol}, not ${symbol}`);
  if (o.amount !== undefined && !near(o.filled + o.remaining, o.amount)) {
    found.push(`${what}: filled ${o.filled} and remaining ${o.remaining} are not amount ${o.amount}`);
  }
  if (o.type === 'limit' && o.price === undefined) found.push(`${what} is a limit order without a price`);
  if (o.filled > 0 && !(o.cost > 0 && o.average > 0 && Math.abs(o.cost / o.filled / o.average - 1) < 1e-6)) {
    found.push(`${what}: filled ${o.filled}, cost ${o.cost} and average ${o.average} contradict each other`);
  }
  if (o.filled === 0 && (o.cost !== 0 || o.average !== undefined)) found.push(`${what} is not filled and has cost ${o.cost}, average ${o.average}`);
  if (o.status === 'open' && o.remaining === 0) found.push(`${what} is open with nothing remaining`);
  if (o.trades.length && !near(o.trades.reduce((sum, t) => sum + t.amount, 0), o.filled)) found.push(`${what}: its trades are not filled ${o.filled}`);
  if (o.status === 'closed' && o.remaining > 0) found.push(`${what} is closed with ${o.remaining} remaining`);
  for (const t of o.trades) if (t.order !== o.id || t.side !== o.side) found.push(`${what} has trade ${t.id} of order ${t.order}, ${t.side}`);
  for (const key of ['lastTradeTimestamp', 'lastUpdateTimestamp']) if (o[key] < o.timestamp) found.push(`${what}.${key} ${o[key]} is before timestamp ${o.timestamp}`);
  if (o.timeInForce === 'PO' && o.postOnly === false) found.push(`${what} is PO and not postOnly`);
  if (o.triggerPrice !== o.stopPrice) found.push(`${what}: triggerPrice ${o.triggerPrice}, stopPrice ${o.stopPrice}`);
  return found;
}
