// A client of TickHive. Names and words are the exchange's own (docs/contract): a pair is BTC_USDT, a decimal of an
// answer is text with all its digits, a decimal that is sent may be text or a number. It has no dependencies but fetch,
// WebCrypto and, for the streams, WebSocket, which browsers and Node from 22 on have.
import { Book, crc32 } from './book.mjs';

export { Book, crc32 };

// Directly after its start the exchange accepts no signed request for a second, and carries out none: it is sent again.
const startSeconds = 2;

// otherMessage is what an answer says that has not the form of this exchange's errors.
function otherMessage({ code, msg }) {
  if (typeof code !== 'number' || msg === undefined) return 'no message';
  return `${msg} (This is an answer of a Binance interface: give the address of the exchange's own interface as base.)`;
}

// APIError is an answer of the exchange with a status other than 2xx, or a call that cannot be sent as asked. The
// status of an error of a stream is 0. retryAfter has the seconds after which the call may succeed, if the exchange has
// said so.
export class APIError extends Error {
  constructor(status, body, retryAfter = undefined) {
    super(`${body.code ?? status}: ${body.message ?? otherMessage(body)}`);
    Object.assign(this, { status, code: body.code, field: body.field, requestId: body.requestId, retryAfter });
  }

  get name() { return 'APIError'; }
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

const utf8 = (text) => new TextEncoder().encode(text);
const hex = (bytes) => [...new Uint8Array(bytes)].map((b) => b.toString(16).padStart(2, '0')).join('');
function invalid(field, message) {
  return new APIError(400, { code: Code.INVALID_PARAM, message: `${field} ${message}`, field });
}

// plain returns a number or a text as the exchange reads decimals: without an exponent. A
// text keeps its digits.
export function plain(field, value) {
  const text = ['string', 'number'].includes(typeof value) ? String(value) : '';
  const m = /^(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3}))?$/i.exec(text);
  if (!m) throw invalid(field, `must be a decimal such as 0.25 that is not negative, not ${String(value)}.`);
  const [, whole, fraction = '', power] = m;
  if (power === undefined) return m[0];
  const digits = whole + fraction, point = whole.length + Number(power);
  const left = point > 0 ? digits.slice(0, point).padEnd(point, '0').replace(/^0+(?=\d)/, '') : '0';
  const right = point > 0 ? digits.slice(point) : '0'.repeat(-point) + digits;
  return right ? `${left}.${right}` : left;
}

// only refuses members that have no meaning, before the others are looked at. at is what stands before their names in an
// error, such as commands[1].place.
function only(what, members, names, { more = '', at = '' } = {}) {
  for (const name of Object.keys(members)) {
    if (!names.includes(name)) throw invalid(at + name, `is no ${what}; they are ${more}${names.join(', ')}.`);
  }
}

const orderMembers = [
  'pair', 'side', 'amount', 'price', 'market', 'type', 'quoteAmount', 'timeInForce', 'postOnly', 'clientOrderId',
  'clientIdScope', 'stopPrice', 'trailingDelta', 'strictTrigger', 'displayAmount', 'selfTradePrevention',
  'expireUnfilled', 'strategyId', 'strategyType', 'currencyPairCode', 'isMarket', // the last two: the exchange's names
];
const decimals = ['price', 'amount', 'quoteAmount', 'stopPrice', 'displayAmount'];
const given = (members) => Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

// exact returns the members that are given, decimals as text.
function exact(members, at = '') {
  const text = ([name, value]) => [name, decimals.includes(name) ? plain(at + name, value) : value];
  return Object.fromEntries(Object.entries(given(members)).map(text));
}

// orderBody returns an order as the exchange reads it: pair is its currencyPairCode, market its isMarket.
function orderBody({ pair, market, ...order }, at = '') {
  only('member of an order', order, orderMembers, { at });
  const { type = 'limit' } = order, limit = !market && !order.isMarket && !/market$/.test(type);
  if (limit && order.price === undefined) {
    const other = /limit$/.test(type) && type !== 'limit' ? `the type ${type.replace(/limit$/, 'market')}` : 'market: true';
    throw invalid(`${at}price`, `is required for the type ${type}; ${other} makes an order at the price of the market.`);
  }
  return exact({ ...order, currencyPairCode: pair, isMarket: market }, at);
}

function listBody({ pair, orders, ...list }, at = '') {
  const rows = orders?.map((order, i) => orderBody(order, `${at}orders[${i}].`));
  return given({ ...list, currencyPairCode: pair, orders: rows });
}

// commandBody returns one command of a batch.
function commandBody({ place, placeList, replace, ...command }, i) {
  const at = `commands[${i}]`;
  return given({
    ...command, place: place && orderBody(place, `${at}.place.`),
    placeList: placeList && listBody(placeList, `${at}.placeList.`), replace: replace && exact(replace, `${at}.replace.`),
  });
}

// queryOf returns parameters as the exchange reads them. A time is a Date, Unix milliseconds, or text.
const times = ['sinceDate', 'endDate', 'start', 'end'];
const timeText = (t) => (typeof t === 'string' ? t : new Date(t).toISOString().slice(0, 23));
const queryOf = ({ pair, ...query }) => Object.fromEntries(Object.entries(given({ ...query, currencyPairCode: pair }))
  .map(([name, value]) => [name, times.includes(name) ? timeText(value) : value]));

const part = encodeURIComponent;
function byClientId(path, pair, clientOrderId) {
  if (!/^[A-Za-z0-9_.:-]{1,64}$/.test(clientOrderId)) throw invalid('clientOrderId', 'must be 1 to 64 of A-Z a-z 0-9 _ . : -');
  return `${path}/by-client-id/${part(pair)}/${part(clientOrderId)}`;
}

// The private key of each kind: text is a secret of HMAC, PEM (PKCS #8) an Ed25519 or an RSA key, as the identifier in
// it says.
const hmac = { name: 'HMAC', hash: 'SHA-256' };
const pemKinds = [
  ['06032b6570', { name: 'Ed25519' }], ['06092a864886f70d010101', { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }],
];
let imported = {};

async function importKey(privateKey) {
  const subtle = globalThis.crypto?.subtle;
  if (!subtle) throw new Error('There is no crypto.subtle to sign with: browsers have it on https and localhost only.');
  if (!privateKey.startsWith('-----BEGIN')) return subtle.importKey('raw', utf8(privateKey), hmac, false, ['sign']);
  const pem = /^-----BEGIN PRIVATE KEY-----([^-]+)-----END PRIVATE KEY-----/.exec(privateKey);
  const bytes = pem && Uint8Array.from(atob(pem[1].replace(/\s/g, '')), (c) => c.charCodeAt(0));
  const [, algorithm] = (bytes && pemKinds.find(([id]) => hex(bytes.slice(0, 32)).includes(id))) || [];
  if (!algorithm) {
    throw new Error('The private key must be an Ed25519 or RSA key in PKCS #8 without a password; '
      + 'openssl pkcs8 -topk8 -nocrypt -in FILE makes it one.');
  }
  return subtle.importKey('pkcs8', bytes, algorithm, false, ['sign']);
}

// signature returns the credential headers of a request (docs/contract/signing.md). It keeps the key that it used last.
export async function signature(publicKey, privateKey, method, target, body = '', timestamp = String(Date.now()),
  nonce = newNonce()) {
  if (![publicKey, privateKey].every((key) => key && typeof key === 'string')) {
    throw new Error('This call is signed: give publicKey and privateKey, both text, to new TickHive().');
  }
  if (imported.privateKey !== privateKey) imported = { privateKey, key: importKey(privateKey) };
  const key = await imported.key, digest = hex(await crypto.subtle.digest('SHA-256', utf8(body)));
  const text = [timestamp, nonce, method, target, digest].join('\n');
  return {
    'API-PublicKey': publicKey, 'API-Timestamp': timestamp, 'API-Nonce': nonce,
    'API-Signature': hex(await crypto.subtle.sign(key.algorithm.name, key, utf8(text))),
  };
}

const newNonce = () => hex(crypto.getRandomValues(new Uint8Array(16)));

// now is the exchange's clock, if that is a virtual one; timeout limits a request; retry has the times after which a
// lost stream is opened again, the first and the longest. All in milliseconds.
const defaults = { now: Date.now, timeout: 30000, retry: [100, 5000], WebSocket: undefined };

// TickHive calls one exchange. Only signed calls need the keys; the members of the file of `tickhive demo-key` are
// options. base may be a list of the addresses of a cluster: when one does not answer, the next call goes to the next
// one.
export class TickHive {
  constructor({ base = 'http://127.0.0.1:8080', publicKey, privateKey, kind, userId, ...options } = {}) {
    only('option', options, Object.keys(defaults), { more: 'base, publicKey, privateKey, kind, userId, ' });
    this.bases = [base].flat().map((address) => address.replace(/\/+$/, ''));
    Object.assign(this, { base: this.bases[0], publicKey, privateKey }, defaults, given(options));
    this.WebSocket ??= globalThis.WebSocket;
  }

  async sign(method, target, body = '', timestamp = String(this.now()), nonce = newNonce()) {
    return signature(this.publicKey, this.privateKey, method, target, body, timestamp, nonce);
  }

  // request sends one request and returns the decoded answer. It is signed if signed is true.
  async request(method, path, query = {}, body = undefined, signed = false) {
    return (await this.send(method, path, query, body, signed)).answer;
  }

  // signed is request with a signature.
  async signed(method, path, query, body) { return this.request(method, path, query, body, true); }

  // send is request with the headers of the answer.
  async send(method, path, query = {}, body = undefined, signed = false) {
    const target = `${path}?${new URLSearchParams({ ...queryOf(query), decimals: 'string' })}`;
    const text = body === undefined ? '' : JSON.stringify(body);
    const once = async () => {
      const headers = signed ? await this.sign(method, target, text) : {};
      if (text) headers['Content-Type'] = 'application/json';
      const { base, timeout } = this, signal = AbortSignal.timeout(timeout);
      const answered = fetch(base + target, { method, headers, body: text || undefined, signal });
      return answered.catch((error) => { this.turn(base); throw error; });
    };
    let response = await once();
    const retryAfter = () => Number(response.headers.get('Retry-After')) || undefined, seconds = retryAfter();
    if (response.status === 401 && seconds <= startSeconds) {
      await new Promise((r) => { setTimeout(r, seconds * 1000); });
      response = await once();
    }
    const answer = await response.json().catch((error) => {
      if (response.ok) throw error;
      return {}; // a proxy's page
    });
    if (!response.ok) throw new APIError(response.status, answer, retryAfter());
    return { answer, headers: response.headers };
  }

  // pages yields all rows of a list, page by page: none comes twice, none that stays in the list is left out.
  async* pages(path, query, signed) {
    for (let cursor; ;) {
      const { answer, headers } = await this.send('GET', path, { pageSize: 100, ...query, cursor }, undefined, signed);
      yield* answer;
      cursor = headers.get('X-Next-Cursor') ?? undefined;
      if (cursor === undefined) return;
    }
  }

  // Market data

  async time() { return (await this.request('GET', '/api/time')).serverTime; }

  async status() { return this.request('GET', '/api/status'); }

  async pairs() { return this.request('GET', '/api/currencies/pairs'); }

  async ticker(pair) { return this.request('GET', '/api/tickers', { pair }); }

  async summary() { return this.request('GET', '/api/summary'); }

  // orderBook returns depth / 2 levels of each side, best first; depth 0 means the whole book.
  async orderBook(pair, depth = 100) {
    const path = '/api/marketdata/getaggregator/orderbook';
    const { answer, headers } = await this.send('GET', path, { ticker_id: pair, depth });
    return { ...answer, seq: Number(headers.get('X-Seq')) };
  }

  // deals yields the trades of a pair, newest first; query may have sinceDate and endDate.
  deals(pair, query = {}) { return this.pages('/api/deals', { ...query, pair }, false); }

  // candles yields the candles of an interval (minute, minutes3, hour, day and so on) from start to end, oldest first.
  async* candles(pair, interval, start, end) {
    for (let from = start; from !== null;) {
      const { answer, headers } = await this.send('GET', '/api/ohlc', { pair, interval, start: from, end });
      yield* answer;
      from = headers.get('X-Next-Start');
    }
  }

  // Trading

  // placeOrder places an order and returns its id. It has pair, side and amount, with a price or market: true, and the
  // other members of POST /api/orders: type, quoteAmount, stopPrice, trailingDelta, timeInForce and so on.
  async placeOrder(order) { return this.signed('POST', '/api/orders', {}, orderBody(order)); }

  // placeList places a list, whole or not at all, and returns it: kind (oco, oto, otoco, opo, opoco), pair and orders.
  async placeList(list) { return this.signed('POST', '/api/orders/lists', {}, listBody(list)); }

  // changeOrder changes price and total amount of an order, stopPrice and trailingDelta of one that waits, and returns
  // it. With keepPriority it lowers the amount alone, and the order keeps its place in the queue.
  async changeOrder(id, change) { return this.signed('PATCH', `/api/orders/${part(id)}`, {}, exact(change)); }

  // cancelOrder cancels an order and returns it; with onlyIf new or partial only if it has no deal yet, or has one.
  async cancelOrder(id, { onlyIf } = {}) { return this.signed('DELETE', `/api/orders/${part(id)}`, { onlyIf }); }

  async cancelOrderByClientId(pair, clientOrderId, { onlyIf } = {}) {
    return this.signed('DELETE', byClientId('/api/orders', pair, clientOrderId), { onlyIf });
  }

  // cancelList cancels all orders of a list and returns it.
  async cancelList(id) { return this.signed('DELETE', `/api/orders/lists/${part(id)}`); }

  async cancelListByClientId(pair, clientOrderId) {
    return this.signed('DELETE', byClientId('/api/orders/lists', pair, clientOrderId));
  }

  // cancelAll cancels the open orders on a pair, without one in all pairs that are not halted, and returns their
  // number.
  async cancelAll(pair = undefined) {
    if (pair !== undefined && !pair) throw invalid('pair', 'must be the code of a pair; without it the orders of all pairs are canceled.');
    return (await this.signed('DELETE', '/api/orders', pair === undefined ? { all: true } : { pair })).canceled;
  }

  // cancelAllAfter sets the dead man's switch: unless it is set again within timeoutMs (1,000 to 86,400,000), every
  // open order of the account is canceled. 0 turns it off.
  async cancelAllAfter(timeoutMs) { return this.signed('POST', '/api/orders/cancel-all-after', {}, { timeoutMs }); }

  // batch carries out up to 100 commands in order and returns a result for each: { place: order }, { placeList: list },
  // { cancel: { orderId, onlyIf } }, { replace: { orderId, ...change } }. That of a refused command has a rejectReason.
  async batch(commands) {
    return (await this.signed('POST', '/api/orders/batch', {}, { commands: commands.map(commandBody) })).results;
  }

  async order(id) { return this.signed('GET', `/api/orders/${part(id)}`); }

  async orderByClientId(pair, clientOrderId) {
    return this.signed('GET', byClientId('/api/orders', pair, clientOrderId));
  }

  // orderDeals returns an order with its newest 1,000 deals.
  async orderDeals(id) { return this.signed('GET', `/api/orders/${part(id)}/deals`); }

  async amendments(id) { return this.signed('GET', `/api/orders/${part(id)}/amendments`); }

  async list(id) { return this.signed('GET', `/api/orders/lists/${part(id)}`); }

  async listByClientId(pair, clientOrderId) {
    return this.signed('GET', byClientId('/api/orders/lists', pair, clientOrderId));
  }

  // orders yields orders, newest first; query may have pair, status (all, active, canceled), sinceDate and endDate.
  orders(query = {}) { return this.pages('/api/user/orders', query, true); }

  // lists yields order lists, newest first; query may have pair, status (all, executing, done), sinceDate and endDate.
  lists(query = {}) { return this.pages('/api/user/lists', query, true); }

  // fills yields the account's deals, newest first; query may have pair, orderId, sinceDate and endDate.
  fills(query = {}) { return this.pages('/api/user/deals', query, true); }

  // preventedMatches returns up to 100 trades that self-trade prevention has prevented; query may have orderId and
  // from.
  async preventedMatches(pair, query = {}) {
    return this.signed('GET', '/api/user/prevented-matches', { ...query, pair });
  }

  async balances() { return (await this.signed('GET', '/api/wallets/balances')).balances; }

  // Streams. Each call returns an async iterator on a connection of its own, which is opened again when it is lost or
  // silent: for await (const event of x.followTrades('BTC_USDT')) ... The end of the loop, or close(), ends it.

  // followBook shows the order book after each change, checked by chain and checksum; a reader that is slow gets the
  // newest.
  followBook(pair, { depth = 100, interval = 100 } = {}) { return new BookFollower(this, pair, { depth, interval }); }

  // followTrades shows the newest trades as a snapshot, then each trade once, over lost connections too; with
  // fromTradeId all trades from there on.
  followTrades(pair, { fromTradeId } = {}) { return new TradesFollower(this, pair, fromTradeId); }

  // followTicker shows the ticker after each change; a reader that is slow gets the newest.
  followTicker(pair) { return new TickerFollower(this, pair); }

  // followCandles shows the candle that is open after each trade, and each candle once with closed: true.
  followCandles(pair, interval) { return new CandlesFollower(this, pair, interval); }

  // privateStream shows each fill of the account exactly once, those of a pair in the order of their trades, and the
  // states of its orders, lists and balances. It begins with what happens from now on; with from, the cursor of an
  // earlier stream, behind the last fill of that; with from = {} with the oldest fill that is kept. Events have a type
  // and a channel:
  //
  //   snapshot fills     complete: false if the exchange has lost the fill of the cursor, so that some may be missing
  //   snapshot orders    orders, lists: all that are open
  //   snapshot balances  balances: all that are not zero
  //   update fills       fill, missed: it was read over REST, because the stream had no line
  //   update orders      order, or list
  //   update balances    balances: those that have changed
  //   lost               reason: the line is lost; the stream opens it again by itself
  //
  // At the beginning and after each outage come the missed fills, the three snapshots and the orders and lists that
  // ended meanwhile. At the beginning those are the orders of the missed fills, and of the fills of the last 10 s
  // before the cursor, with their lists: an order that ended without a fill while the program was down is not among
  // them. A line that cannot be opened is lost, too.
  privateStream({ from } = {}) { return new PrivateStream(this, from); }

  // turn takes the next address in place of one that did not answer.
  turn(failed) {
    const { bases } = this;
    if (this.base === failed) this.base = bases[(bases.indexOf(failed) + 1) % bases.length];
  }
}

const patience = 5000; // ms: a subscription speaks once a second at least
const mostWaiting = 10000; // events that wait for the reader; beyond it the line is closed until half of them are read
const noWebSocket = 'There is no WebSocket here. Use Node 22 or newer, start Node 20 with --experimental-websocket, or '
  + "give one: npm install ws, import WebSocket from 'ws', new TickHive({ WebSocket }).";

// passing reports whether the same call may succeed later.
function passing(e) {
  return !(e instanceof APIError) || e.status >= 500 || e.retryAfter !== undefined || [408, 421].includes(e.status);
}

// Follower is an async iterator of events. A subclass has opened, which sends what the line is for, and receive, which
// gets its messages.
class Follower {
  constructor(exchange) {
    if (!exchange.WebSocket) throw new Error(noWebSocket);
    Object.assign(this, { exchange, timers: {}, events: [], readers: [], tries: 0, live: false, out: false });
  }

  [Symbol.asyncIterator]() { return this; }

  next() {
    if (this.events.length) return Promise.resolve({ value: this.hand(this.events.shift()), done: false });
    if (!this.ended) return new Promise((resolve, reject) => { this.readers.push({ resolve, reject }); });
    const { error } = this.ended;
    this.ended = {};
    return error ? Promise.reject(error) : Promise.resolve({ value: undefined, done: true });
  }

  return() {
    this.close();
    return Promise.resolve({ value: undefined, done: true });
  }

  close() { this.end(); }

  // end is for good: what waits can still be read, then comes the error.
  end(error = undefined) {
    if (this.ended) return;
    this.drop();
    this.ended = { error };
    for (const reader of this.readers.splice(0)) this.next().then(reader.resolve, reader.reject);
  }

  // push gives an event to the reader, or keeps it for the next call.
  push(event) {
    if (this.ended) return;
    const reader = this.readers.shift();
    if (reader) { reader.resolve({ value: this.hand(event), done: false }); return; }
    this.events.push(event);
    if (this.events.length >= mostWaiting && !this.paused) {
      this.paused = true;
      this.drop();
    }
  }

  // hand is called with each event that the reader gets.
  hand(event) {
    if (this.paused && this.events.length < mostWaiting / 2) {
      this.paused = false;
      this.open();
    }
    return event;
  }

  // pushNewest is push of a state that makes the one before it worthless.
  pushNewest(event) {
    const before = this.events.pop();
    this.push(before?.type === 'snapshot' ? { ...event, type: 'snapshot' } : event);
  }

  open() {
    const base = this.exchange.base, socket = new this.exchange.WebSocket(`${base.replace(/^http/, 'ws')}/ws`);
    const mine = (run) => (e) => { if (this.socket === socket) run(e); }; // a line that was given up is not heard
    let fate = `There is no connection to ${socket.url ?? base}`;
    Object.assign(this, { base, socket });
    socket.onopen = mine(() => { fate = 'The connection was closed'; this.opened(); });
    socket.onmessage = mine((e) => this.hear(e.data));
    socket.onerror = () => {}; // the close that follows says it; unheard it ends the process with some libraries
    socket.onclose = mine((e) => this.lose(`${fate} (${e?.code ?? 'no code'}).`));
    this.listen();
  }

  hear(text) {
    this.heard = true;
    let message;
    try { message = JSON.parse(text); } catch { this.lose('A message was no JSON.'); return; }
    const behind = message.type === 'error' && message.code === Code.STALE; // said by a replica
    if (this.repeats(message)) return;
    if (behind) this.lose(message.message);
    else if (this.misses(message)) this.lose(`A message of ${message.channel} is missing.`);
    else this.receive(message);
  }

  // repeats tells whether a message has come before.
  repeats() { return false; }

  // misses tells whether a message is missing before m. It sees each message once; receive may see it again.
  misses() { return false; }

  ask(request) { this.socket.send(JSON.stringify(request)); }

  subscribe(request) { this.ask({ op: 'subscribe', decimals: 'string', ...request }); }

  // after keeps one timer of each name, so that none is left behind.
  after(name, ms, run) {
    clearTimeout(this.timers[name]);
    this.timers[name] = setTimeout(() => { delete this.timers[name]; run(); }, ms);
  }

  listen() {
    this.heard = false;
    this.after('silence', patience, () => {
      if (this.heard) this.listen(); else this.lose(`The exchange was silent for ${patience} ms.`);
    });
  }

  // hang gives the connection up, drop also what is read for it.
  hang() {
    const { socket } = this;
    Object.values(this.timers).forEach((t) => clearTimeout(t));
    Object.assign(this, { socket: undefined, timers: {} });
    socket?.close();
  }

  drop() {
    this.hang();
    this.recovering = undefined;
  }

  // lose opens another connection, the first time soon, then later and later. What the lost one has said is shown before:
  // a line that never lasts as long as recover does would show nothing otherwise.
  lose(reason) {
    if (this.recovering) {
      this.hang();
      this.recovering.lost ??= reason;
      return;
    }
    this.drop();
    if (!this.out) this.push({ type: 'lost', reason });
    Object.assign(this, { live: false, out: true });
    if (this.paused || this.ended) return;
    this.exchange.turn(this.base);
    const [least, most] = this.exchange.retry;
    this.after('open', Math.min(least * 2 ** Math.min(this.tries++, 20), most), () => this.open());
  }

  // settle notes that the line shows what it is for, so that its loss is told, as that of the first line is.
  settle() { Object.assign(this, { live: true, tries: 0, out: false }); }

  // recover runs work, and then the messages that have come meanwhile. An error that may pass is that of the line.
  async recover(work, held = []) {
    const mine = {};
    Object.assign(this, { recovering: mine, held });
    try {
      const finish = await work();
      if (this.recovering !== mine) return; // it begins again, or has ended
      this.recovering = undefined;
      finish();
      held.forEach((m) => this.receive(m));
      if (mine.lost !== undefined) this.lose(mine.lost);
    } catch (error) {
      if (this.recovering !== mine) return;
      this.recovering = undefined;
      if (passing(error)) this.lose(mine.lost ?? error.message); else this.end(error);
    }
  }
}

// ChannelFollower follows one public channel of a pair.
class ChannelFollower extends Follower {
  constructor(exchange, channel, pair) {
    super(exchange);
    Object.assign(this, { channel, pair, id: 0 });
  }

  // opened subscribes with the options. The id tells the answers from those to an earlier request.
  opened() {
    this.subscribed = false;
    this.subscribe({ id: ++this.id, channel: this.channel, pairs: [this.pair], ...this.options() });
  }

  options() { return {}; }

  receive(m) {
    if (m.type === 'error' && m.id === this.id) this.end(new APIError(0, m));
    else if (m.type === 'subscribed' && m.id === this.id) this.subscribed = true;
    else if (m.channel !== this.channel || !this.subscribed) return;
    else if (this.recovering) this.held.push(m);
    else this.show(m);
  }
}

class BookFollower extends ChannelFollower {
  constructor(exchange, pair, options) {
    super(exchange, 'book', pair);
    Object.assign(this, { asked: options, book: new Book() });
    this.open();
  }

  options() {
    const { ready, seq, epoch } = this.book;
    return ready ? { ...this.asked, fromSeq: seq, epoch } : this.asked;
  }

  show(m) {
    const outcome = this.book.apply(m), { seq, bids, asks } = this.book;
    if (outcome === 'broken') { this.resync(); return; }
    this.settle();
    if (outcome !== 'shown') return;
    this.pushNewest({ type: m.type, pair: this.pair, seq, time: m.time, bids: bids.slice(), asks: asks.slice() });
  }

  // resync asks for a snapshot, and again until one is right.
  resync() {
    if (this.timers.resync !== undefined) return;
    this.ask({ op: 'resync', channel: 'book', pairs: [this.pair] });
    this.after('resync', 1000, () => { if (!this.book.ready) this.resync(); });
  }
}

class TradesFollower extends ChannelFollower {
  constructor(exchange, pair, fromTradeId) {
    super(exchange, 'trades', pair);
    this.last = fromTradeId === undefined ? undefined : fromTradeId - 1;
    this.open();
  }

  opened() {
    this.resumed = this.last !== undefined;
    super.opened();
  }

  options() { return this.last === undefined ? {} : { fromTradeId: this.last + 1 }; }

  show({ type, trades, time }) {
    if (!trades) return;
    this.settle();
    const first = this.last === undefined, fresh = first ? trades : trades.filter((t) => t.tradeId > this.last);
    const lost = first || !fresh.length ? 0 : fresh[0].tradeId - this.last - 1;
    if (lost > 0 && !this.resumed) { this.opened(); return; } // a slow line has started over: ask for what is missing
    this.resumed = false;
    this.last = fresh.at(-1)?.tradeId ?? this.last ?? 0;
    if (first || fresh.length) this.push({ type: first ? type : 'update', pair: this.pair, time, trades: fresh, lost });
  }
}

class TickerFollower extends ChannelFollower {
  constructor(exchange, pair) {
    super(exchange, 'ticker', pair);
    this.open();
  }

  show({ type, ticker, time, high24h, low24h, quoteVolume24h }) {
    if (!ticker) return;
    this.settle();
    this.pushNewest({ type, pair: this.pair, time, ticker: { ...ticker, high24h, low24h, quoteVolume24h } });
  }
}

class CandlesFollower extends ChannelFollower {
  constructor(exchange, pair, interval) {
    super(exchange, `candles.${interval}`, pair);
    this.interval = interval;
    this.open();
  }

  show(m) {
    if (!['snapshot', 'update'].includes(m.type)) return;
    this.settle();
    if (m.type === 'snapshot' && this.last && m.candle?.date > this.last) this.recover(() => this.missed(m));
    else this.tell(m);
  }

  // missed reads the candles that have ended while there was no line.
  async missed(m) {
    const ended = [];
    for await (const candle of this.exchange.candles(this.pair, this.interval, this.last, m.candle.date)) {
      if (candle.date < m.candle.date) ended.push({ candle, closed: true, time: m.time });
    }
    return () => [...ended, m].forEach((c) => this.tell(c));
  }

  // tell shows a candle that was not shown as closed already.
  tell({ candle, closed, time }) {
    if (candle && this.closed >= candle.date) return;
    this.push({ type: this.told ? 'update' : 'snapshot', pair: this.pair, time, candle, closed });
    this.told = true;
    if (!candle) return;
    this.last = candle.date;
    if (closed) this.closed = candle.date;
  }
}

// overlap is how far behind a cursor the fills are read again, in milliseconds of the exchange's clock. A long command
// of one pair is published behind the fills of other pairs that happened meanwhile, so a fill that was not sent yet can
// be older than the newest that was.
const overlap = 10000;

// Position is the place behind the last fill of a private stream: date of the newest fill, and of each pair the date,
// the trade and the account's orders in it. Its JSON is the cursor. All dates have the same form, so that text
// compares.
class Position {
  constructor({ date = '', pairs = {}, ...unknown }) {
    const text = (v) => typeof v === 'string', ids = (v) => Array.isArray(v) && v.every(text);
    const right = (at) => text(at?.date) && Number.isSafeInteger(at.tradeId) && ids(at.orderIds);
    const known = Object.values(pairs ?? {}).every(right) && Object.keys(unknown).length === 0;
    if (!text(date) || !known) throw invalid('from', 'must be the cursor of a private stream.');
    Object.assign(this, { date, pairs: new Map(Object.entries(structuredClone(pairs ?? {}))) });
  }

  // passed reports whether a fill is at or before the position. The date decides before the id: an exchange that has
  // lost its newest trades, in a power cut for example, gives their ids again, at a later time.
  passed({ currencyPairCode, dealDateUtc, tradeId, orderId }) {
    const at = this.pairs.get(currencyPairCode);
    if (!at) return false;
    if (dealDateUtc !== at.date) return dealDateUtc < at.date;
    return tradeId === at.tradeId ? at.orderIds.includes(orderId) : tradeId < at.tradeId;
  }

  // advance moves the position behind a fill that it has not passed.
  advance({ currencyPairCode, dealDateUtc, tradeId, orderId }) {
    let at = this.pairs.get(currencyPairCode);
    if (at?.tradeId !== tradeId || at.date !== dealDateUtc) {
      at = { date: dealDateUtc, tradeId, orderIds: [] };
      this.pairs.set(currencyPairCode, at);
    }
    at.orderIds.push(orderId);
    if (dealDateUtc > this.date) this.date = dealDateUtc;
  }

  // isAt reports whether a fill is the newest one before the position, or another one of the same trade.
  isAt({ currencyPairCode, dealDateUtc, tradeId }) {
    const at = this.pairs.get(currencyPairCode);
    return dealDateUtc === this.date && dealDateUtc === at?.date && tradeId === at.tradeId;
  }

  cursor() { return { date: this.date, pairs: structuredClone(Object.fromEntries(this.pairs)) }; }
}

const before = (date) => (date ? new Date(Date.parse(date) - overlap) : undefined);

const privateChannels = ['orders', 'fills', 'balances'];
const authTries = 4; // a second apart: directly after a start the exchange accepts nothing signed for a second
const fewRows = 10; // up to how many rows are read one by one; the newest of more are read from the list
const mostEnded = 1000; // ended orders that are remembered, so that no older state of them is shown
const isOpen = (row) => ['Created', 'PartiallyCompleted', 'Pending', 'executing'].includes(row.status);

// States remembers which orders, or lists, are open and which have ended last.
class States {
  constructor() { Object.assign(this, { open: new Map(), ended: new Map() }); }

  // note reports whether a state is newer than the one that was shown.
  note(row) {
    const before = this.open.get(row.id);
    if (this.ended.has(row.id) || before > row.dateChanged) return false;
    if (isOpen(row)) { this.open.set(row.id, row.dateChanged); return true; }
    this.open.delete(row.id);
    this.ended.set(row.id, row.dateChanged);
    if (this.ended.size > mostEnded) this.ended.delete(this.ended.keys().next().value);
    return true;
  }
}

// PrivateStream follows an account. On each new line it subscribes, and reads over REST what the account did meanwhile:
// the fills behind its position, the orders and lists that it knew as open and those that were placed since. What the
// line says before all is read waits, and what both say is shown once.
class PrivateStream extends Follower {
  constructor(exchange, from) {
    super(exchange);
    const fromNow = from === undefined;
    Object.assign(this, {
      fromNow, received: new Position(from ?? {}), handed: fromNow ? undefined : new Position(from),
      orders: new States(), lists: new States(), refused: 0,
    });
    this.open();
  }

  // cursor is the position behind the last fill that the reader got: give it to privateStream as from after a restart
  // of the program. A stream that begins with what happens from now on has none before the first snapshot of fills.
  get cursor() { return this.handed?.cursor(); }

  hand({ position, ...event }) {
    if (position) this.handed ??= new Position(position);
    if (event.fill) this.handed.advance(event.fill);
    return super.hand(event);
  }

  opened() {
    const { socket } = this;
    Object.assign(this, { snapshots: {}, early: [], seqs: {} });
    this.exchange.sign('GET', '/ws').then((h) => {
      if (this.socket !== socket) return;
      const names = ['publicKey', 'timestamp', 'nonce', 'signature'], values = Object.values(h); // in the same order
      this.ask({ op: 'auth', id: 'auth', ...Object.fromEntries(names.map((name, i) => [name, values[i]])) });
    }, (error) => this.end(error));
  }

  receive(m) {
    if (m.type === 'error') this.fail(m);
    else if (m.type === 'authenticated') {
      this.refused = 0;
      for (const channel of privateChannels) this.subscribe({ id: channel, channel });
    } else if (!privateChannels.includes(m.channel)) return;
    else if (m.type === 'snapshot') this.begin(m);
    else if (this.recovering) this.held.push(m);
    else if (this.live) this.show(m);
    else if (this.snapshots[m.channel]) this.early.push(m);
    if (this.live && m.time) this.heardAt = m.time;
  }

  repeats({ type, channel, seq }) { return type === 'update' && seq <= this.seqs?.[channel]; }

  misses({ type, channel, prevSeq, seq }) {
    if (!privateChannels.includes(channel)) return false;
    const last = this.seqs[channel];
    if (type === 'update' && prevSeq !== last || type === 'heartbeat' && seq !== last) return true;
    if (type === 'snapshot' || type === 'update') this.seqs[channel] = seq;
    return false;
  }

  fail(m) {
    const error = new APIError(0, m);
    const early = m.code === Code.UNAUTHORIZED && m.id === 'auth' && ++this.refused < authTries;
    if (early) this.after('auth', 1000, () => this.opened());
    else if ([Code.UNAUTHORIZED, Code.FORBIDDEN].includes(m.code)) this.end(error);
    else this.lose(error.message); // a replica is not the writer, or there is too much to do
  }

  // begin collects the snapshots of the three channels, which come together, also when a slow line starts over. An
  // update before the snapshot of its channel is older than it.
  begin(m) {
    Object.assign(this, { recovering: undefined, live: false });
    if (this.snapshots[m.channel]) Object.assign(this, { snapshots: {}, early: [] });
    this.snapshots[m.channel] = m;
    if (privateChannels.some((channel) => !this.snapshots[channel])) return;
    const { snapshots: { orders: open, balances }, early } = this;
    Object.assign(this, { snapshots: {}, early: [] });
    this.recover(async () => {
      const fills = await this.readFills(), known = this.heardAt !== undefined; // what was open before
      const orders = await this.readEnded('orders', open, known ? [] : fills.orderIds);
      const lists = await this.readEnded('lists', open, known ? [] : orders.flatMap((o) => o.listId ?? []));
      return () => this.restart(open, balances, fills, orders, lists);
    }, early);
  }

  // restart shows what was read, and what is open.
  restart(open, { balances, time }, { missed, complete, position }, orders, lists) {
    for (const fill of missed) this.showFill(fill, true);
    if (position) Object.assign(this, { received: position, fromNow: false });
    this.push({ type: 'snapshot', channel: 'fills', complete, position: position?.cursor() });
    open.orders.forEach((o) => this.orders.note(o));
    open.lists.forEach((l) => this.lists.note(l));
    this.push({ type: 'snapshot', channel: 'orders', time, orders: open.orders, lists: open.lists });
    this.push({ type: 'snapshot', channel: 'balances', time, balances });
    for (const order of orders) this.show({ order });
    for (const list of lists) {
      for (const order of list.orders) if (!isOpen(order)) this.show({ order });
      this.show({ list });
    }
    this.heardAt = time;
    this.settle();
  }

  // readFills returns the fills behind the position, oldest first. It is complete if it reaches back to the position.
  // The very first time it sets the position.
  async readFills() {
    const { received, fromNow } = this, missed = [], orderIds = new Set();
    let complete = received.date === '';
    for await (const fill of this.exchange.fills({ sinceDate: before(received.date) })) {
      if (fromNow && missed.length && Date.parse(fill.dealDateUtc) < before(missed[0].dealDateUtc)) break;
      complete ||= received.isAt(fill);
      orderIds.add(fill.orderId);
      if (!received.passed(fill)) missed.push(fill);
    }
    missed.reverse();
    if (!fromNow) return { missed, complete, orderIds };
    const position = new Position({});
    for (const fill of missed) position.advance(fill);
    return { missed: [], complete, position, orderIds: [] };
  }

  // readEnded returns the states of the orders, or the lists, that have ended since the line was lost: of those that
  // were open and are not any more, or have one of the ids, and of those that were placed and ended meanwhile.
  async readEnded(rows, snapshot, ids) {
    const states = this[rows], shown = new Set(snapshot[rows].map((r) => r.id)), ended = [];
    const wanted = new Set([...states.open.keys(), ...ids].filter((id) => !shown.has(id)));
    if (this.heardAt !== undefined) {
      for await (const r of this.exchange[rows]({ status: 'all', sinceDate: this.heardAt - overlap })) {
        if (shown.has(r.id) || isOpen(r)) continue;
        ended.push(r);
        wanted.delete(r.id);
      }
    }
    if (wanted.size > fewRows) {
      for await (const r of this.exchange[rows]({ status: 'all' })) {
        if (wanted.delete(r.id)) ended.push(r);
        if (wanted.size <= fewRows) break;
      }
    }
    ended.reverse();
    for (const id of wanted) {
      try {
        ended.push(await this.exchange[rows.slice(0, -1)](id));
      } catch (error) {
        if (error.code !== Code.NOT_FOUND) throw error;
        states.open.delete(id); // the exchange no longer keeps it
      }
    }
    return ended;
  }

  show({ fill, order, list, balances }) {
    if (fill) this.showFill(fill, false);
    else if (order && this.orders.note(order)) this.push({ type: 'update', channel: 'orders', order });
    else if (list && this.lists.note(list)) this.push({ type: 'update', channel: 'orders', list });
    else if (balances) this.push({ type: 'update', channel: 'balances', balances });
  }

  showFill(fill, missed) {
    if (this.received.passed(fill)) return;
    this.received.advance(fill);
    this.push({ type: 'update', channel: 'fills', fill, missed });
  }
}
