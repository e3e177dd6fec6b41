// TickHive as a ccxt exchange. The file needs no package of its own: it takes ccxt as an
// argument.
//
//   import ccxt from 'ccxt';
//   import { makeTickHive } from './ccxt.mjs';
//   const TickHive = makeTickHive(ccxt);
//   const exchange = new TickHive({ hostname: '127.0.0.1:8080', apiKey, secret });
//
// apiKey is the publicKey of a key file and secret its privateKey. hostname may begin with http:// or https://.
//
// An amount or a price with more digits than the market has is an InvalidOrder: amountToPrecision, priceToPrecision and
// costToPrecision round. A createOrder with both params.stopLossPrice and params.takeProfitPrice is an OCO, of two
// orders at the market's price with the type market, of two at its price with the type limit; with
// params.takeProfit or params.stopLoss it is an order that opens those when it has filled. An unwatch call ends the
// watch calls that have one of its symbols.
import { Book, signature } from './tickhive.mjs';
import { attached, candlesOf, editOf, listOf, orderOf, statusOf, timeframes } from './unified.mjs';

const depthFor = (limit) => [10, 25, 100, 1000].find((d) => d >= limit) ?? 0;

const days = (ms) => new Date(ms).toISOString().slice(0, 23);

// The class of each error code; what is not here is an ExchangeError.
const errorClasses = {
  INVALID_PARAM: 'BadRequest', UNAUTHORIZED: 'AuthenticationError', FORBIDDEN: 'PermissionDenied', NOT_FOUND: 'BadRequest',
  METHOD_NOT_ALLOWED: 'NotSupported', REQUEST_TIMEOUT: 'RequestTimeout', CONFLICT: 'OperationRejected', PAYLOAD_TOO_LARGE: 'BadRequest',
  URI_TOO_LONG: 'BadRequest', UNSUPPORTED_MEDIA_TYPE: 'BadRequest', RATE_LIMIT: 'RateLimitExceeded', HEADERS_TOO_LARGE: 'BadRequest',
  UNAVAILABLE: 'ExchangeNotAvailable', OUTCOME_UNKNOWN: 'RequestTimeout', INSUFFICIENT_FUNDS: 'InsufficientFunds',
  PRICE_NOT_POSITIVE: 'InvalidOrder', PRICE_OFF_TICK: 'InvalidOrder', PRICE_OUT_OF_RANGE: 'InvalidOrder', AMOUNT_NOT_POSITIVE: 'InvalidOrder',
  AMOUNT_OFF_LOT: 'InvalidOrder', AMOUNT_OUT_OF_RANGE: 'InvalidOrder', TOTAL_OUT_OF_RANGE: 'InvalidOrder', BELOW_MIN_QUOTE_AMOUNT: 'InvalidOrder',
  ABOVE_MAX_QUOTE_AMOUNT: 'InvalidOrder', PRICE_OUT_OF_BAND: 'InvalidOrder', WOULD_CROSS: 'OrderImmediatelyFillable', NO_LIQUIDITY: 'OrderNotFillable',
  FOK_UNFILLED: 'OrderNotFillable', PAIR_POST_ONLY: 'OperationRejected', PAIR_CANCEL_ONLY: 'MarketClosed', PAIR_HALTED: 'MarketClosed',
  ORDER_CLOSED: 'OrderNotFound', DUPLICATE_CLIENT_ORDER_ID: 'DuplicateOrderId', WOULD_TRIGGER: 'OrderImmediatelyFillable', LIST_PRICES: 'InvalidOrder',
  ORDER_PENDING: 'OperationRejected', AMEND_NOT_SMALLER: 'InvalidOrder', CANCEL_RESTRICTED: 'OperationRejected',
  TRAIL_OUT_OF_RANGE: 'InvalidOrder', TOO_MANY_ORDERS: 'InvalidOrder', TOO_MANY_STOPS: 'InvalidOrder', TOO_MANY_LISTS: 'InvalidOrder',
  TOO_MANY_SLICES: 'InvalidOrder', TOO_MANY_AMENDS: 'InvalidOrder',
};

const pageSize = 100;

// Candles of these lengths are sums of kept ones: the timeframe of those, how many one of them has at most, its length
// in seconds, and the second at which one begins. Weeks begin on Mondays, three days at multiples of three since 1970.
const hour = 3600, day = 24 * hour;
const sums = {
  '2h': { of: '1h', count: 2, seconds: 2 * hour, from: 0 }, '6h': { of: '1h', count: 6, seconds: 6 * hour, from: 0 },
  '8h': { of: '4h', count: 2, seconds: 8 * hour, from: 0 }, '12h': { of: '4h', count: 3, seconds: 12 * hour, from: 0 },
  '3d': { of: '1d', count: 3, seconds: 3 * day, from: 0 }, '1w': { of: '1d', count: 7, seconds: 7 * day, from: 4 * day },
};
const frames = Object.fromEntries(['1m', '3m', '5m', '15m', '30m', '1h', '2h', '4h', '6h', '8h', '12h', '1d', '3d', '1w', '1M', '1y']
  .map((name) => [name, timeframes[name] ?? timeframes[sums[name].of]]));

// beginOf returns when the sum begins that the time belongs to, in milliseconds.
const beginOf = ({ seconds, from }, ms) => ms - (ms - from * 1000) % (seconds * 1000);

// summed returns the sums of candles, oldest first; plus adds two decimals.
function summed(sum, candles, plus) {
  const all = [];
  for (const [ms, open, high, low, close, volume] of candles) {
    const begin = beginOf(sum, ms), last = all.at(-1);
    if (last?.[0] !== begin) all.push([begin, open, high, low, close, volume]);
    else Object.assign(last, [begin, last[1], Math.max(last[2], high), Math.min(last[3], low), close, Number(plus(String(last[5]), String(volume)))]);
  }
  return all;
}

// The words of ccxt for what happens when an account meets itself.
const selfTrades = { NONE: 'none', EXPIRE_TAKER: 'cancel_taker', EXPIRE_MAKER: 'cancel_maker', EXPIRE_BOTH: 'cancel_both' };

// makeTickHive returns the exchange class on top of a ccxt.
export function makeTickHive(ccxt) {
  return class tickhive extends ccxt.Exchange {
    constructor(config = {}) {
      const [, scheme, host] = /^(https?):\/\/(.+?)\/*$/.exec(config.hostname) ?? [];
      super(host === undefined ? config : { ...config, hostname: host });
      if (scheme === 'https') for (const urls of [this.urls.api, this.urls.test]) Object.assign(urls, { rest: 'https://{hostname}', ws: 'wss://{hostname}/ws' });
    }

    describe() {
      return this.deepExtend(super.describe(), {
        id: 'tickhive', name: 'TickHive', countries: [], version: 'v1', pro: true, rateLimit: 1, hostname: '127.0.0.1:8080', timeframes: frames,
        precisionMode: 4, // TICK_SIZE
        requiredCredentials: { apiKey: true, secret: true },
        has: {
          CORS: true, sandbox: true, spot: true, margin: false, swap: false, future: false, option: false, ws: true,
          cancelAllOrders: true, cancelAllOrdersAfter: true, cancelOrder: true, cancelOrders: true, cancelOrdersForSymbols: true,
          cancelOrdersWithClientOrderId: true, cancelOrderWithClientOrderId: true, createLimitBuyOrder: true, createLimitSellOrder: true,
          createMarketBuyOrder: true, createMarketBuyOrderWithCost: true, createMarketOrderWithCost: true, createMarketOrderWs: false,
          createMarketSellOrder: true, createMarketSellOrderWithCost: true, createOrder: true, createOrders: true, createOrderWithTakeProfitAndStopLoss: true,
          createPostOnlyOrder: true, createReduceOnlyOrder: false, createStopLimitOrder: true, createStopLossOrder: true, createStopMarketOrder: true,
          createStopOrder: true, createTakeProfitOrder: true, createTrailingAmountOrder: false, createTrailingPercentOrder: true, createTriggerOrder: true,
          editOrder: true, editOrderWithClientOrderId: true, fetchBalance: true, fetchBidsAsks: true, fetchCanceledAndClosedOrders: true,
          fetchCanceledOrders: true, fetchClosedOrders: true, fetchCurrencies: true, fetchCurrenciesWs: false, fetchLastPrices: true, fetchMarkets: true,
          fetchMyTrades: true, fetchOHLCV: true, fetchOpenOrders: true, fetchOrder: true, fetchOrderBook: true, fetchOrders: true, fetchOrderTrades: true,
          fetchOrderWithClientOrderId: true, fetchStatus: true, fetchTicker: true, fetchTickers: true, fetchTime: true, fetchTrades: true,
          fetchTradingFee: true, fetchTradingFees: true, unWatchBidsAsks: true, unWatchMyTrades: true, unWatchOHLCV: true, unWatchOHLCVForSymbols: true,
          unWatchOrderBook: true, unWatchOrderBookForSymbols: true, unWatchOrders: true, unWatchTicker: true, unWatchTickers: true, unWatchTrades: true,
          unWatchTradesForSymbols: true, watchBalance: true, watchBidsAsks: true, watchMyTrades: true, watchMyTradesForSymbols: true, watchOHLCV: true,
          watchOHLCVForSymbols: true, watchOrderBook: true, watchOrderBookForSymbols: true, watchOrders: true, watchOrdersForSymbols: true, watchTicker: true,
          watchTickers: true, watchTrades: true, watchTradesForSymbols: true,
        },
        urls: {
          api: { rest: 'http://{hostname}', ws: 'ws://{hostname}/ws' },
          test: { rest: 'http://{hostname}', ws: 'ws://{hostname}/ws' }, // every TickHive is a sandbox
        },
        api: {
          public: {
            get: ['api/time', 'api/status', 'api/currencies/pairs', 'api/currencies/commissions', 'api/tickers', 'api/summary', 'api/deals', 'api/ohlc',
              'api/marketdata/getaggregator/orderbook', 'api/marketdata/getaggregator/asset', 'api/marketdata/getaggregator/historical_trades'],
          },
          private: {
            get: ['api/orders/{orderId}', 'api/orders/by-client-id/{currencyPairCode}/{clientOrderId}', 'api/orders/{orderId}/deals', 'api/orders/lists/{listId}', 'api/user/orders', 'api/user/lists', 'api/user/deals',
              'api/wallets/balances', 'api/currencies/user/commissions'],
            post: ['api/orders', 'api/orders/lists', 'api/orders/batch', 'api/orders/cancel-all-after'], patch: ['api/orders/{orderId}'],
            delete: ['api/orders/{orderId}', 'api/orders/lists/{listId}', 'api/orders'],
          },
        },
        fees: { trading: { tierBased: false, percentage: true, feeSide: 'get', maker: this.parseNumber('0.001'), taker: this.parseNumber('0.001') } },
        features: {
          spot: {
            sandbox: true,
            createOrder: {
              marginMode: false, triggerPrice: true, triggerPriceType: undefined, triggerDirection: true, stopLossPrice: true, takeProfitPrice: true,
              attachedStopLossTakeProfit: { triggerPriceType: undefined, price: true }, timeInForce: { IOC: true, FOK: true, PO: true, GTD: false }, hedged: false, leverage: false, trailing: true,
              marketBuyByCost: true, marketBuyRequiresPrice: false, iceberg: true,
              selfTradePrevention: Object.fromEntries(Object.keys(selfTrades).map((name) => [name, true])),
            },
            createOrders: { max: 100 },
            fetchMyTrades: { marginMode: false, limit: undefined, daysBack: undefined, untilDays: undefined, symbolRequired: false },
            fetchOrder: { marginMode: false, trigger: false, trailing: false, symbolRequired: false },
            fetchOpenOrders: { marginMode: false, limit: undefined, trigger: false, trailing: false, symbolRequired: false },
            fetchOrders: { marginMode: false, limit: undefined, daysBack: undefined, untilDays: undefined, trigger: false, trailing: false, symbolRequired: false },
            fetchClosedOrders: { marginMode: false, limit: undefined, daysBack: undefined, daysBackCanceled: undefined, untilDays: undefined, trigger: false, trailing: false, symbolRequired: false },
            fetchOHLCV: { limit: 1000 },
          },
          swap: { linear: undefined, inverse: undefined }, future: { linear: undefined, inverse: undefined },
        },
        options: {
          orderAfterCreate: true, // createOrder and editOrder fetch the order, so that their answer has its state
          maxPages: 1000, // of one call; more rows than that are an error, not a silent cut
          ws: { cost: 60 }, // ms between two messages: a connection may send 20 in a second
          recent: 1000, // updates that wait for the next watch call; beyond it the oldest go
        },
        exceptions: { exact: Object.fromEntries(Object.entries(errorClasses).map(([code, name]) => [code, ccxt[name]])) },
      });
    }

    // REST

    sign(path, api = 'public', method = 'GET', params = {}, headers = undefined, body = undefined) {
      let url = `${this.implodeHostname(this.urls.api.rest)}/${this.implodeParams(path, params)}`;
      const rest = this.omit(params, this.extractParams(path));
      if (method === 'POST' || method === 'PATCH') body = this.json(rest);
      const query = method === 'GET' ? { ...rest, decimals: 'string' } : method === 'DELETE' ? { ...rest, decimals: 'string' } : { decimals: 'string' };
      if (method !== 'POST') url += `?${this.urlencode(query)}`;
      headers = { ...headers };
      if (body !== undefined) headers['Content-Type'] = 'application/json';
      if (api === 'private') {
        this.checkRequiredCredentials();
        headers['API-PublicKey'] = this.apiKey; // fetch adds the signature
      }
      return { url, method, body, headers };
    }

    async fetch(url, method = 'GET', headers = undefined, body = undefined) {
      if (headers?.['API-PublicKey']) {
        const target = url.slice(this.implodeHostname(this.urls.api.rest).length);
        headers = { ...headers, ...await this.signed(method, target, body) };
      }
      return super.fetch(url, method, headers, body);
    }

    async signed(method, target, body = undefined) {
      return signature(this.apiKey, this.secret, method, target, body ?? '', String(this.nonce()));
    }

    nonce() { return this.milliseconds() - (this.options.timeDifference ?? 0); }

    handleErrors(code, reason, url, method, headers, body, response) {
      if (code < 400) {
        if (url.includes('/orderbook?')) response.seq = this.safeInteger2(headers, 'X-Seq', 'x-seq');
        if (url.includes('/api/user/')) response.cursor = this.safeString2(headers, 'X-Next-Cursor', 'x-next-cursor');
        return undefined;
      }
      if (response?.code) throw this.errorOf(response, url);
      return undefined; // a proxy's page: the status says what it is
    }

    // errorOf returns the ccxt error of an error object of the exchange.
    errorOf(e, url = '') {
      const text = `${this.id} ${e.code}: ${e.message}${e.field ? ` (${e.field})` : ''}`;
      let Class = this.exceptions.exact[e.code] ?? ccxt.ExchangeError;
      if (e.code === 'NOT_FOUND' && e.field !== 'currencyPairCode' && /\/api\/orders\//.test(url)) Class = ccxt.OrderNotFound;
      else if (e.code === 'NOT_FOUND' && /\bpair\b/i.test(e.message)) Class = ccxt.BadSymbol;
      else if (e.code === 'UNAUTHORIZED' && /^(API-)?(timestamp|nonce)$/i.test(e.field)) Class = ccxt.InvalidNonce;
      return new Class(text);
    }

    async fetchTime() { return this.safeInteger(await this.request('api/time'), 'serverTime'); }

    async fetchStatus() {
      const s = await this.request('api/status');
      const status = s.status === 'ok' ? 'ok' : s.status === 'degraded' ? 'error' : 'maintenance';
      return { status, updated: s.time, eta: undefined, url: undefined, info: s };
    }

    async fetchMarkets() {
      const [pairs, commissions, status] = await Promise.all(['api/currencies/pairs', 'api/currencies/commissions', 'api/status'].map((p) => this.request(p)));
      const fees = this.indexBy(commissions.filter((c) => c.commissionTypeCode === '3'), 'currencyPairCode');
      const states = this.indexBy(status.pairs, 'currencyPairCode');
      return pairs.map((p) => {
        const [base, quote] = p.code.split('_').map((c) => this.safeCurrencyCode(c));
        const [price, amount] = [p.digitsPrice, p.digitsAmount].map((n) => this.parseNumber(this.parsePrecision(String(n))));
        const fee = this.safeNumber(fees[p.code], 'percent');
        return this.safeMarketStructure({
          id: p.code, lowercaseId: p.code.toLowerCase(), symbol: `${base}/${quote}`, base, quote, baseId: p.code.split('_')[0], quoteId: p.code.split('_')[1],
          type: 'spot', spot: true, margin: false, swap: false, future: false, option: false, contract: false,
          active: states[p.code] === undefined || states[p.code].state !== 'halted' && states[p.code].state !== 'cancel_only',
          taker: fee, maker: fee, percentage: true, tierBased: false, feeSide: 'get', precision: { amount, price, cost: this.parseNumber(this.parsePrecision(String(p.digitsPrice + p.digitsAmount))) },
          limits: {
            leverage: { min: undefined, max: undefined }, amount: { min: amount, max: undefined }, price: { min: price, max: undefined },
            cost: { min: this.safeNumber(p, 'minQuoteAmount'), max: undefined },
          },
          info: p,
        });
      });
    }

    // fetchCurrencies adds the launchpad's currencies, which no list has and balances do. No list has the digits of a
    // currency either: they are 8, or as many as its pairs need, unless the operator has set more.
    async fetchCurrencies() {
      const launchpad = Object.fromEntries(['NATIVE', 'USBI'].map((name) => [name, { name, can_deposit: false, can_withdraw: false }]));
      const [pairs, listed] = await Promise.all(['api/currencies/pairs', 'api/marketdata/getaggregator/asset'].map((p) => this.request(p)));
      const assets = { ...launchpad, ...listed }, digits = { NATIVE: 18, USBI: 18 };
      for (const p of pairs) {
        const [base, quote] = p.code.split('_');
        digits[base] = Math.max(digits[base] ?? 8, p.digitsAmount);
        digits[quote] = Math.max(digits[quote] ?? 8, p.digitsPrice + p.digitsAmount);
      }
      return Object.fromEntries(Object.entries(assets).map(([id, a]) => [this.safeCurrencyCode(id), this.safeCurrencyStructure({
        id, code: this.safeCurrencyCode(id), name: a.name, active: a.can_deposit && a.can_withdraw, deposit: a.can_deposit, withdraw: a.can_withdraw,
        fee: undefined, precision: this.parseNumber(this.parsePrecision(String(digits[id] ?? 8))), type: undefined, networks: {},
        limits: { amount: { min: undefined, max: undefined }, deposit: { min: undefined, max: undefined }, withdraw: { min: this.safeNumber(a, 'min_withdraw'), max: this.safeNumber(a, 'max_withdraw') } },
        info: a,
      })]));
    }

    async fetchTradingFees() {
      await this.loadMarkets();
      const { commissions, dealBidDiscountFraction } = await this.request('api/currencies/user/commissions', 'private');
      const rows = commissions.filter((c) => c.commissionTypeCode === '3' && c.currencyPairCode in this.markets_by_id);
      return this.indexBy(rows.map((c) => ({
        info: { ...c, dealBidDiscountFraction }, symbol: this.safeSymbol(c.currencyPairCode), maker: this.safeNumber(c, 'percent'),
        taker: this.safeNumber(c, 'percent'), percentage: true, tierBased: false,
      })), 'symbol');
    }

    async fetchTradingFee(symbol) {
      const fees = await this.fetchTradingFees();
      return fees[this.market(symbol).symbol];
    }

    parseTicker(t, market = undefined) {
      const timestamp = t.timestamp === undefined ? undefined : t.timestamp * 1000;
      return this.safeTicker({
        symbol: this.safeSymbol(t.currencyPairCode, market), timestamp, datetime: this.iso8601(timestamp), bid: t.bidPrice, ask: t.askPrice, last: t.price,
        open: t.price24hAgo, percentage: t.priceChangePercentage24h, baseVolume: t.volume24h, high: t.high, low: t.low, quoteVolume: t.quoteVolume, info: t,
      }, market);
    }

    // fetchTicker joins two documents. When a trade came between them they are asked again; in a
    // market that never rests the last price widens the range that it belongs to.
    async fetchTicker(symbol) {
      await this.loadMarkets();
      const market = this.market(symbol);
      let t, r;
      for (let i = 0; i < 3 && (t === undefined || t.price !== r.last_price || t.volume24h !== r.base_volume); i++) {
        [t, r] = await Promise.all([this.request('api/tickers', 'public', 'GET', { currencyPairCode: market.id }), this.summary(market.id)]);
      }
      const traded = Number(t.price) > 0;
      const high = traded && Number(t.price) > Number(r.highest_price_24h) ? t.price : r.highest_price_24h;
      const low = traded && Number(t.price) < Number(r.lowest_price_24h) ? t.price : r.lowest_price_24h;
      return this.parseTicker({ ...t, high, low, quoteVolume: r.quote_volume }, market);
    }

    async summary(id) { return (await this.request('api/summary')).find((r) => r.trading_pairs === id); }

    async fetchTickers(symbols = undefined) {
      await this.loadMarkets();
      symbols = this.marketSymbols(symbols);
      const [rows, status] = await Promise.all([this.request('api/summary'), this.request('api/status')]);
      const states = this.indexBy(status.pairs, 'currencyPairCode');
      const tickers = rows.filter((r) => r.trading_pairs in this.markets_by_id).map((r) => {
        const market = this.safeMarket(r.trading_pairs);
        const timestamp = this.safeInteger(states[r.trading_pairs], 'lastChangeAt');
        const factor = 1 + Number(r.price_change_percent_24h) / 100;
        const open = Number(r.last_price) > 0 && factor > 0 ? this.priceToPrecision(market.symbol, Number(r.last_price) / factor) : undefined;
        return this.safeTicker({
          symbol: market.symbol, timestamp, datetime: this.iso8601(timestamp), bid: r.highest_bid, ask: r.lowest_ask, last: r.last_price, open,
          high: r.highest_price_24h, low: r.lowest_price_24h, percentage: r.price_change_percent_24h, baseVolume: r.base_volume, quoteVolume: r.quote_volume, info: r,
        }, market);
      });
      return this.filterByArray(tickers, 'symbol', symbols);
    }

    // fetchBidsAsks reads the book of each symbol: no list has the amounts of the best prices.
    async fetchBidsAsks(symbols = undefined) {
      await this.loadMarkets();
      const books = await Promise.all((this.marketSymbols(symbols) ?? this.symbols).map((s) => this.fetchOrderBook(s, 1)));
      return this.indexBy(books.map((b) => this.bestOf(b)), 'symbol');
    }

    // bestOf returns the best prices of a book as a ticker.
    bestOf(book) {
      const [[bid, bidVolume] = [], [ask, askVolume] = []] = [book.bids[0], book.asks[0]];
      return this.safeTicker({ symbol: book.symbol, timestamp: book.timestamp, datetime: book.datetime, bid, bidVolume, ask, askVolume, info: book }, this.market(book.symbol));
    }

    async fetchLastPrices(symbols = undefined) {
      await this.loadMarkets();
      return this.parseLastPrices((await this.request('api/summary')).filter((r) => r.trading_pairs in this.markets_by_id && Number(r.last_price) > 0), symbols);
    }

    // parseLastPrice: the list has no time and no side of the last trade.
    parseLastPrice(r) {
      return { symbol: this.safeSymbol(r.trading_pairs), timestamp: undefined, datetime: undefined, price: this.safeNumber(r, 'last_price'), side: undefined, info: r };
    }

    async fetchOrderBook(symbol, limit = 100) {
      await this.loadMarkets();
      const market = this.market(symbol);
      const b = await this.request('api/marketdata/getaggregator/orderbook', 'public', 'GET', { ticker_id: market.id, depth: (limit ?? pageSize) * 2 });
      return { ...this.parseOrderBook(b, market.symbol, b.timestamp), nonce: b.seq };
    }

    // fetchTrades answers the newest trades, with since the first ones from there on.
    async fetchTrades(symbol, since = undefined, limit = undefined, params = {}) {
      await this.loadMarkets();
      const market = this.market(symbol);
      const query = { ticker_id: market.id, ...params };
      if (since === undefined) query.limit = limit ?? pageSize; else query.start_time = since;
      const { buy = [], sell = [] } = await this.request('api/marketdata/getaggregator/historical_trades', 'public', 'GET', query);
      const trades = [...buy, ...sell].map((t) => this.parseTrade({ ...t, tradeId: t.trade_id, currencyPairCode: market.id, volume: t.base_volume, isBuy: t.type === 'buy' }, market));
      trades.sort((a, b) => a.timestamp - b.timestamp || Number(a.id) - Number(b.id));
      return since === undefined ? trades : trades.slice(0, limit);
    }

    parseTrade(t, market = undefined) {
      const timestamp = t.trade_timestamp ?? Date.parse(t.dealDateUtc);
      const mine = t.isMaker !== undefined;
      const side = mine && t.isUserBuyer !== undefined && t.isUserBuyer !== null ? t.isUserBuyer : t.isBuy;
      return this.safeTrade({
        id: t.tradeId === undefined ? t.id : String(t.tradeId), order: this.safeString(t, 'orderId'), timestamp, datetime: this.iso8601(timestamp),
        symbol: this.safeSymbol(t.currencyPairCode, market), type: undefined, side: side ? 'buy' : 'sell',
        takerOrMaker: mine ? (t.isMaker ? 'maker' : 'taker') : undefined, price: t.price, amount: t.volume, cost: undefined,
        fee: t.fee === undefined ? undefined : { currency: this.safeCurrencyCode(t.feeCurrencyCode), cost: t.fee }, info: t,
      }, market);
    }

    async fetchOHLCV(symbol, timeframe = '1m', since = undefined, limit = undefined) {
      await this.loadMarkets();
      const market = this.market(symbol), sum = this.sumOf(timeframe);
      if (sum) {
        const { seconds, of, count } = sum, first = since === undefined ? undefined : beginOf(sum, since + seconds * 1000 - 1);
        const rows = summed(sum, await this.fetchOHLCV(symbol, of, first, (limit ?? 1000) * count), ccxt.Precise.stringAdd);
        return since === undefined ? rows.slice(-(limit ?? 1000)) : rows.slice(0, limit ?? 1000);
      }
      const candles = async (frame, start, end) => (await this.request('api/ohlc', 'public', 'GET', {
        currencyPairCode: market.id, interval: timeframes[frame], start: days(start), end: days(end),
      })).map((c) => this.parseOHLCV(c, market));
      return candlesOf({ candles, fetchTime: () => this.fetchTime() }, timeframe, since, limit ?? 1000);
    }

    // sumOf returns what the candles of a timeframe are sums of, undefined for those that the exchange keeps.
    sumOf(timeframe) {
      if (!frames[timeframe]) throw new ccxt.BadRequest(`${this.id} timeframe must be one of ${Object.keys(frames).join(', ')}`);
      return sums[timeframe];
    }

    parseOHLCV(c) { return [Date.parse(`${c.date}Z`), ...['open', 'max', 'min', 'close', 'volumeBase'].map((k) => this.safeNumber(c, k))]; }

    async fetchBalance() { return this.parseBalance((await this.request('api/wallets/balances', 'private')).balances); }

    parseBalance(rows) {
      const result = { info: rows, timestamp: undefined, datetime: undefined };
      for (const b of rows) result[this.safeCurrencyCode(b.currencyCode)] = { free: b.free, used: b.held, total: b.total };
      return this.safeBalance(result);
    }

    parseOrder(o, market = undefined) {
      const timestamp = Date.parse(o.date), changed = o.dateChanged ? Date.parse(o.dateChanged) : undefined;
      const trades = o.deals?.map((d) => this.parseTrade({ orderId: o.id, ...d, isUserBuyer: o.isBid }, market)).reverse(); // oldest first
      const { stringSub } = ccxt.Precise, initial = this.omitZero(this.safeString(o, 'initialAmount')), left = this.safeString(o, 'amount');
      const size = initial === undefined ? undefined : stringSub(initial, this.safeString(o, 'decrementedAmount', '0')); // self-trade prevention may lessen it
      const filled = this.safeString(o, 'filledAmount') ?? (size === undefined || left === undefined ? undefined : stringSub(size, left));
      const kind = o.type ?? (o.isMarket ? 'market' : 'limit'), at = o.stopPrice ?? undefined;
      return this.safeOrder({
        id: o.id, clientOrderId: o.clientOrderId ?? undefined, timestamp, datetime: this.iso8601(timestamp), lastUpdateTimestamp: changed,
        lastTradeTimestamp: trades?.length ? Math.max(...trades.map((t) => t.timestamp)) : undefined, symbol: this.safeSymbol(o.currencyPairCode, market),
        type: kind.endsWith('market') ? 'market' : 'limit', timeInForce: o.postOnly ? 'PO' : o.timeInForce?.toUpperCase(), postOnly: o.postOnly, reduceOnly: false,
        side: o.isBid ? 'buy' : 'sell', price: o.price ?? undefined, triggerPrice: at, stopLossPrice: kind.startsWith('stop') ? at : undefined,
        takeProfitPrice: kind.startsWith('take_profit') ? at : undefined, amount: size,
        filled, cost: o.filledQuoteAmount, average: o.averagePrice ?? undefined, remaining: size === undefined || filled === undefined ? undefined : stringSub(size, filled),
        fee: o.fee === undefined || o.fee === null ? undefined : { currency: this.safeCurrencyCode(o.feeCurrencyCode), cost: this.parseNumber(o.fee) },
        trades, status: statusOf(o), info: o,
      }, market);
    }

    // bodyOf returns what a call of createOrder sends: an order, or a list where params has takeProfit or stopLoss.
    // Both a takeProfitPrice and a stopLossPrice make an OCO: one of two orders that wait is filled, the other one
    // ends.
    bodyOf(symbol, type, side, amount, price, params) {
      const market = this.market(symbol), call = this.exactly(market, type, side, amount, price, params);
      const { takeProfitPrice, stopLossPrice, clientOrderId, ...rest } = call[5];
      return this.local(() => {
        if (takeProfitPrice === undefined || stopLossPrice === undefined) {
          const list = attached(...call), order = list ? list.orders[0] : orderOf(...call);
          return { market, order: { ...order, currencyPairCode: market.id }, list: list && { ...list, currencyPairCode: market.id } };
        }
        const leg = (more) => ({ type, side, amount: call[3], price: call[4], params: { ...rest, ...more } });
        const list = listOf('oco', call[0], [leg({ takeProfitPrice, clientOrderId }), leg({ stopLossPrice })]);
        return { market, order: list.orders[0], list: { ...list, currencyPairCode: market.id } };
      });
    }

    // createOrder places an order. The type, or a price of params (stopPrice, triggerPrice, stopLossPrice,
    // takeProfitPrice), makes a stop or a take profit of it, trailingPercent lets it trail, and the objects takeProfit
    // and stopLoss make a list of it; both prices make an OCO. Amounts and prices may be text, which keeps digits that
    // a number would lose. What cannot be placed as asked throws before anything is sent. Of a list it answers the
    // first order.
    async createOrder(symbol, type, side, amount, price = undefined, params = {}) {
      await this.loadMarkets();
      const { market, order, list } = this.bodyOf(symbol, type, side, amount, price, params);
      const answer = await this.request(list ? 'api/orders/lists' : 'api/orders', 'private', 'POST', list ?? order);
      const id = list ? answer.orders[0].id : String(answer).replaceAll('"', '');
      if (this.options.orderAfterCreate) return this.fetchOrder(id, symbol);
      return this.safeOrder({
        id, clientOrderId: order.clientOrderId, symbol: market.symbol, type: order.type.endsWith('market') ? 'market' : 'limit', side, amount: order.amount, price: order.price,
        triggerPrice: order.stopPrice, timeInForce: order.timeInForce?.toUpperCase(), postOnly: order.postOnly, info: answer,
      }, market);
    }

    // createOrders places up to 100 orders in one request. A refused one has the status rejected,
    // and its reason in info.
    async createOrders(orders) {
      await this.loadMarkets();
      const commands = orders.map((o) => {
        const { order, list } = this.bodyOf(o.symbol, o.type, o.side, o.amount, o.price, o.params);
        return list ? { placeList: list } : { place: order };
      });
      const { results } = await this.request('api/orders/batch', 'private', 'POST', { commands });
      return results.map((r, i) => (r.rejectReason ? this.safeOrder({
        id: r.id ?? undefined, clientOrderId: r.clientOrderId ?? undefined, symbol: orders[i].symbol, side: orders[i].side, status: 'rejected', info: r,
      }) : this.parseOrder(r.orders?.[0] ?? r)));
    }

    // exactly returns a call of createOrder with its numbers as text. A number with more digits than the market has is
    // refused, because a cut one makes another order; what the arithmetic of doubles adds to a number is no digit of
    // it.
    exactly(market, type, side, amount, price, params = {}) {
      const { digitsPrice, digitsAmount } = market.info;
      const text = (name, n, places, precise) => {
        if (typeof n !== 'number' || !(n >= 0 && n < 1e21)) return n;
        const nearest = n.toFixed(places);
        if (Math.abs(Number(nearest) - n) <= n * 2 ** -50) return nearest;
        throw new ccxt.InvalidOrder(`${this.id} ${name} ${n} has more than the ${places} decimals of ${market.symbol}: round it with ${precise}`);
      };
      const asPrice = (n, name) => text(name, n, digitsPrice, 'priceToPrecision'), asAmount = (n, name) => text(name, n, digitsAmount, 'amountToPrecision');
      const asCost = (n, name) => text(name, n, digitsPrice + digitsAmount, 'costToPrecision');
      const members = (given) => Object.fromEntries(Object.entries(given).map(([name, v]) => [name, digits[name] ? digits[name](v, name) : v]));
      const asLeg = (leg) => (Object(leg) === leg ? members(leg) : leg);
      const digits = {
        price: asPrice, stopPrice: asPrice, triggerPrice: asPrice, stopLossPrice: asPrice, takeProfitPrice: asPrice, trailingTriggerPrice: asPrice,
        displayAmount: asAmount, cost: asCost, quoteAmount: asCost, takeProfit: asLeg, stopLoss: asLeg, selfTradePrevention: (word) => selfTrades[word] ?? word,
      };
      const given = members(params), byCost = ['cost', 'quoteAmount'].some((name) => given[name] !== undefined);
      return [`${market.base}/${market.quote}`, type, side, byCost ? undefined : asAmount(amount, 'amount'), asPrice(price, 'price'), given];
    }

    // local makes a body; what cannot be said in the exchange's words is an InvalidOrder.
    local(make) {
      try {
        return make();
      } catch (e) {
        throw new ccxt.InvalidOrder(`${this.id} ${e.message}`);
      }
    }

    async createMarketOrderWithCost(symbol, side, cost, params = {}) {
      return this.createOrder(symbol, 'market', side, undefined, undefined, { ...params, cost });
    }

    async createMarketBuyOrderWithCost(symbol, cost, params = {}) { return this.createMarketOrderWithCost(symbol, 'buy', cost, params); }

    // createMarketSellOrderWithCost sells until the proceeds, before the fee, are close to the cost.
    async createMarketSellOrderWithCost(symbol, cost, params = {}) { return this.createMarketOrderWithCost(symbol, 'sell', cost, params); }

    // idOf returns the id of an order of which a call names clientOrderId and symbol instead.
    async idOf(id, symbol, clientOrderId) {
      await this.loadMarkets();
      if (clientOrderId === undefined) return id;
      if (symbol === undefined) throw new ccxt.ArgumentsRequired(`${this.id} a clientOrderId needs its symbol`);
      const query = { currencyPairCode: this.market(symbol).id, clientOrderId };
      return (await this.request('api/orders/by-client-id/{currencyPairCode}/{clientOrderId}', 'private', 'GET', query)).id;
    }

    // editOrder changes price and total amount, and with params the price and the trail of an order that waits; an
    // order keeps its type and side.
    async editOrder(id, symbol, type, side, amount = undefined, price = undefined, params = {}) {
      const { clientOrderId, ...others } = params, orderId = await this.idOf(id, symbol, clientOrderId), market = this.market(symbol);
      const [, , , size, at, given] = this.exactly(market, type, side, amount, price, others);
      const body = this.local(() => editOf(size, at, given));
      return this.parseOrder(await this.request('api/orders/{orderId}', 'private', 'PATCH', { ...body, orderId }), market);
    }

    // cancelOrder cancels an order; with params.onlyIf new or partial only if it has no deal yet, or has one.
    async cancelOrder(id, symbol = undefined, params = {}) {
      const { clientOrderId, ...others } = params, orderId = await this.idOf(id, symbol, clientOrderId);
      return this.parseOrder(await this.request('api/orders/{orderId}', 'private', 'DELETE', { ...others, orderId }), this.marketOf(symbol));
    }

    async cancelOrders(ids, symbol = undefined, { clientOrderIds = [], ...params } = {}) {
      const named = clientOrderIds.map((clientOrderId) => this.cancelOrder(undefined, symbol, { ...params, clientOrderId }));
      return Promise.all([...ids.map((id) => this.cancelOrder(id, symbol, params)), ...named]);
    }

    async cancelOrdersForSymbols(orders) { return Promise.all(orders.map((o) => this.cancelOrder(o.id, o.symbol, o.clientOrderId === undefined ? {} : { clientOrderId: o.clientOrderId }))); }

    // cancelAllOrdersAfter cancels every open order when timeout ms have passed without another call; 0 turns it off.
    async cancelAllOrdersAfter(timeout) { return this.request('api/orders/cancel-all-after', 'private', 'POST', { timeoutMs: timeout }); }

    // cancelAllOrders answers the orders that it has canceled, as far as they were open before.
    async cancelAllOrders(symbol = undefined) {
      const open = await this.fetchOpenOrders(symbol);
      await this.request('api/orders', 'private', 'DELETE', symbol === undefined ? { all: true } : { currencyPairCode: this.market(symbol).id });
      return open.map((o) => ({ ...o, status: 'canceled' }));
    }

    marketOf(symbol) { return symbol === undefined ? undefined : this.market(symbol); }

    // fetchOrder finds an order by its id, or by params.clientOrderId and the symbol.
    async fetchOrder(id, symbol = undefined, params = {}) {
      const orderId = await this.idOf(id, symbol, params.clientOrderId);
      return this.parseOrder(await this.request('api/orders/{orderId}/deals', 'private', 'GET', { orderId }), this.marketOf(symbol));
    }

    async fetchOrderTrades(id, symbol = undefined) { return (await this.fetchOrder(id, symbol)).trades; }

    // pages reads a list, which is newest first, and returns its rows oldest first: with since the
    // first limit rows from there on, else the newest limit rows. limit undefined: all rows.
    async pages(path, query, since, limit) {
      const rows = [];
      if (since !== undefined) query = { ...query, sinceDate: days(since) };
      for (let n = 1, cursor; ; n++) {
        if (n > this.options.maxPages) throw new ccxt.ExchangeError(`${this.id} more than ${rows.length} rows: narrow since, or raise options.maxPages`);
        const page = await this.request(path, 'private', 'GET', cursor === undefined ? { ...query, pageSize } : { ...query, pageSize, cursor });
        rows.push(...page);
        ({ cursor } = page);
        if (cursor === undefined || since === undefined && limit !== undefined && rows.length >= limit) break;
      }
      if (since === undefined) return rows.slice(0, limit).reverse();
      return rows.reverse().slice(0, limit);
    }

    async ordersOf(status, symbol, since, limit, keep = () => true) {
      await this.loadMarkets();
      const market = this.marketOf(symbol);
      const query = market ? { status, currencyPairCode: market.id } : { status };
      return (await this.pages('api/user/orders', query, since, limit)).map((o) => this.parseOrder(o, market)).filter(keep);
    }

    async fetchOpenOrders(symbol = undefined, since = undefined, limit = undefined) { return this.ordersOf('active', symbol, since, limit); }

    async fetchOrders(symbol = undefined, since = undefined, limit = pageSize) { return this.ordersOf('all', symbol, since, limit); }

    async fetchCanceledOrders(symbol = undefined, since = undefined, limit = pageSize) { return this.ordersOf('canceled', symbol, since, limit); }

    // The exchange has no list of filled orders, nor of those that have ended: they are chosen from all, so a limit is
    // applied after the choice.
    async chosenOf(keep, symbol, since, limit) { return this.filterBySinceLimit(await this.ordersOf('all', symbol, since, undefined, keep), since, limit); }

    async fetchClosedOrders(symbol = undefined, since = undefined, limit = undefined) { return this.chosenOf((o) => o.status === 'closed', symbol, since, limit); }

    async fetchCanceledAndClosedOrders(symbol = undefined, since = undefined, limit = undefined) { return this.chosenOf((o) => o.status !== 'open', symbol, since, limit); }

    async fetchMyTrades(symbol = undefined, since = undefined, limit = pageSize) {
      await this.loadMarkets();
      const market = this.marketOf(symbol);
      const rows = await this.pages('api/user/deals', market ? { currencyPairCode: market.id } : {}, since, limit);
      return rows.map((d) => this.parseTrade({ isMaker: undefined, ...d }, market));
    }

    // Streams

    // A reader is what one watch call reads. It has an entry for each of its symbols, or for each symbol and timeframe;
    // what names the kind of call. The source of an entry is a channel of a pair, or a private channel, which has all
    // pairs; several readers may have one source, and each gets all that comes.
    entryOf(what, channel, market) {
      return { what, channel, market, name: `${what}:${market.id}`, source: `${channel}:${market.id}`, pairs: [market.id], options: {} };
    }

    ownEntryOf(channel, symbol) {
      const market = this.marketOf(symbol);
      return { what: channel, channel, market, name: market ? `${channel}:${market.id}` : channel, source: channel, options: {} };
    }

    // follow returns what has come for a reader since its last call, or waits for it.
    async follow(entries) {
      const url = this.implodeHostname(this.urls.api.ws), line = this.streamsOf(url);
      if (url.startsWith('ws://') && typeof process !== 'undefined' && process.versions?.node) await this.loadHttpProxyAgent();
      if (entries.some((e) => !e.pairs)) await this.authenticate(url);
      const name = entries.map((e) => e.name).join(',');
      entries.filter((e) => e.levels).forEach((e) => this.openBook(url, e));
      line.readers.set(name, entries);
      const waiting = line.waiting[name];
      if (waiting?.length) {
        delete line.waiting[name];
        return waiting;
      }
      return this.subscribe(url, name, entries);
    }

    // subscribe asks for the sources that the connection does not have yet, in one message where the channel and the
    // options are the same: messages are limited.
    subscribe(url, name, entries) {
      const key = (e) => `${e.source} ${e.options.depth ?? ''}`;
      const line = this.streamsOf(url), had = this.clients[url]?.subscriptions ?? {}, requests = new Map();
      for (const e of entries.filter((one) => !had[key(one)])) {
        const request = { op: 'subscribe', channel: e.channel, decimals: 'string', ...e.options };
        if (line.lastTrade[e.source]) request.fromTradeId = line.lastTrade[e.source] + 1; // a lost line continues without a gap
        const text = JSON.stringify(request);
        requests.set(text, [...requests.get(text) ?? [], e]);
      }
      for (const [text, asked] of requests) {
        const id = this.requestNumber = (this.requestNumber ?? 0) + 1, pairs = asked.flatMap((e) => e.pairs ?? []);
        const request = { ...JSON.parse(text), id, pairs: pairs.length ? pairs : undefined };
        this.watch(url, name, request, key(asked[0]), asked);
        for (const e of asked) this.clients[url].subscriptions[key(e)] = { id, asked };
      }
      return this.watch(url, name, undefined, key(entries[0]));
    }

    // unfollow ends the readers of a kind of call that have one of the markets, or all of them, and unsubscribes from
    // the sources that no other reader has. What waits is rejected with an UnsubscribeError.
    async unfollow(what, markets) {
      const url = this.implodeHostname(this.urls.api.ws), line = this.streamsOf(url), client = this.clients[url], left = [];
      for (const [name, entries] of line.readers) {
        if (!entries.some((e) => e.what === what && (markets === undefined || markets.includes(e.market)))) continue;
        left.push(...entries);
        line.readers.delete(name);
        for (const map of [line.waiting, line.best]) delete map[name];
        for (const e of entries) delete line.sums[e.name];
        if (client?.futures[name]) client.reject(new ccxt.UnsubscribeError(`${this.id} ${name}`), name);
      }
      const used = new Set([...line.readers.values()].flat().map((e) => e.source));
      const gone = new Map(left.filter((e) => !used.has(e.source)).map((e) => [e.source, e])), done = [];
      for (const [source, { channel, pairs }] of gone) {
        for (const map of [line.books, line.resyncs, line.lastTrade]) delete map[source];
        if (source === 'orders') line.open.clear();
        if (source === 'fills') line.filledAt = undefined;
        const keys = Object.keys(client?.subscriptions ?? {}).filter((key) => key.startsWith(`${source} `));
        for (const key of keys) delete client.subscriptions[key];
        if (keys.length) done.push({ channel, pairs });
      }
      const channels = Object.values(this.groupBy(done, 'channel'));
      await Promise.all(channels.map((rows) => {
        const id = this.requestNumber = (this.requestNumber ?? 0) + 1, pairs = rows.flatMap((row) => row.pairs ?? []);
        return this.watch(url, `answer:${id}`, { op: 'unsubscribe', id, channel: rows[0].channel, pairs: pairs.length ? pairs : undefined }, `answer:${id}`);
      }));
      return true;
    }

    // streamsOf returns what is known of the streams of an address. It outlives a connection, so
    // that books resume.
    streamsOf(url) {
      this.lines ??= {};
      return this.lines[url] ??= { readers: new Map(), waiting: {}, books: {}, best: {}, sums: {}, resyncs: {}, lastTrade: {}, open: new Set(), fills: new Set() };
    }

    async authenticate(url) {
      this.checkRequiredCredentials();
      if (this.clients[url]?.authenticated) return this.clients[url].authenticated;
      const h = await this.signed('GET', '/ws');
      if (this.clients[url]?.authenticated) return this.clients[url].authenticated;
      const request = { op: 'auth', id: 'auth', publicKey: h['API-PublicKey'], timestamp: h['API-Timestamp'], nonce: h['API-Nonce'], signature: h['API-Signature'] };
      const done = this.watch(url, 'auth', request, 'auth');
      this.clients[url].authenticated = done;
      return done;
    }

    handleMessage(client, m) {
      const hash = m.currencyPairCode ? `${m.channel}:${m.currencyPairCode}` : m.channel;
      switch (m.type) {
        case 'authenticated': client.resolve(true, 'auth'); break;
        case 'error': this.handleStreamError(client, m, hash); break;
        case 'heartbeat': if (m.channel === 'book') this.handleBook(client, m, hash); break;
        case 'snapshot': case 'update':
          if (m.channel === 'book') this.handleBook(client, m, hash);
          else if (m.channel === 'orders') this.handleOrders(client, m);
          else if (m.channel === 'fills') this.handleFills(client, m);
          else this.deliver(client, hash, this.rowsOf(m));
          if (m.channel === 'trades' && m.trades.length) this.streamsOf(client.url).lastTrade[hash] = m.trades.at(-1).tradeId;
          break;
        case 'unsubscribed':
          delete client.subscriptions[`answer:${m.id}`];
          client.resolve(true, `answer:${m.id}`);
          break;
        case 'shutdown': break; // the close that follows rejects what waits
        default: // subscribed, pong
      }
    }

    // handleStreamError rejects what an error is about: the message whose id it has, a source, or everything.
    handleStreamError(client, m, source) {
      const error = this.errorOf(m), { subscriptions } = client, answers = typeof m.id === 'number';
      if (m.id === 'auth' || m.code === 'UNAUTHORIZED') {
        client.authenticated = undefined;
        delete subscriptions.auth;
      }
      const failed = Object.keys(subscriptions).filter((key) => (answers ? subscriptions[key].id === m.id : key.startsWith(`${source} `)));
      const names = failed.flatMap((key) => this.readersOf(client, key.slice(0, key.lastIndexOf(' '))));
      for (const key of failed) delete subscriptions[key];
      for (const name of new Set([m.id, `answer:${m.id}`, ...names])) if (client.futures[name]) client.reject(error, name);
      if (!m.id && !source && m.code !== 'RATE_LIMIT') client.reject(error);
    }

    // readersOf returns the names of the readers of a source.
    readersOf(client, source) {
      return [...this.streamsOf(client.url).readers].filter(([, entries]) => entries.some((e) => e.source === source)).map(([name]) => name);
    }

    // rowsOf returns what a message of a channel shows, in ccxt's structures.
    rowsOf(m) {
      const market = m.currencyPairCode ? this.safeMarket(m.currencyPairCode) : undefined;
      const channel = m.channel.split('.')[0];
      switch (channel) {
        case 'trades': return m.trades.map((t) => this.parseTrade(t, market));
        case 'ticker': return [this.parseTicker({ ...m.ticker, high: m.high24h, low: m.low24h, quoteVolume: m.quoteVolume24h }, market)];
        case 'candles': return m.candle ? [{ source: `${m.channel}:${m.currencyPairCode}`, candle: this.parseOHLCV(m.candle) }] : [];
        case 'balances': return [{ rows: m.balances, all: m.type === 'snapshot', time: m.time }];
        default: return [];
      }
    }

    // handleOrders delivers orders. The snapshot of a new line has open orders only, so those that were open on the
    // line before and have ended since are fetched.
    handleOrders(client, m) {
      const line = this.streamsOf(client.url), rows = (m.orders ?? [m.order]).filter(Boolean).map((o) => this.parseOrder(o));
      const before = m.orders ? [...line.open] : [];
      for (const o of rows) {
        if (o.status === 'open') line.open.add(o.id); else line.open.delete(o.id);
      }
      this.deliver(client, 'orders', rows);
      const shown = new Set(rows.map((o) => o.id));
      const gone = before.filter((id) => !shown.has(id));
      if (gone.length) this.spawn(() => this.mend(client, 'orders', async () => {
        const ended = [];
        for (const id of gone) {
          const { trades, ...o } = await this.fetchOrder(id);
          if (o.status !== 'open') line.open.delete(id);
          ended.push({ ...o, trades: [] });
        }
        return ended;
      }));
    }

    // handleFills delivers fills, each once. The stream shows none of the past, so those since the last one of the line
    // before are fetched.
    handleFills(client, m) {
      const line = this.streamsOf(client.url);
      const fresh = (fills) => fills.filter((f) => {
        const name = `${f.symbol} ${f.id} ${f.order} ${f.side}`;
        if (line.fills.has(name)) return false;
        line.fills.add(name);
        if (line.fills.size > this.options.recent) line.fills.delete(line.fills.values().next().value);
        line.filledAt = Math.max(line.filledAt ?? 0, f.timestamp);
        return true;
      });
      if (!m.fills) {
        this.deliver(client, 'fills', fresh([this.parseTrade(m.fill)]));
        return;
      }
      const since = line.filledAt;
      line.filledAt ??= m.time;
      if (since !== undefined) this.spawn(() => this.mend(client, 'fills', async () => fresh(await this.fetchMyTrades(undefined, since, undefined))));
    }

    // mend delivers rows that a lost line has missed; an error goes to the calls that wait.
    async mend(client, source, missed) {
      try {
        this.deliver(client, source, await missed());
      } catch (e) {
        for (const name of this.readersOf(client, source)) if (client.futures[name]) client.reject(e, name);
      }
    }

    // deliver gives rows to the readers of a source, each those of its markets: to the call that waits, or to the next
    // one.
    deliver(client, source, rows) {
      const line = this.streamsOf(client.url);
      for (const name of this.readersOf(client, source)) {
        const entries = line.readers.get(name).filter((e) => e.source === source);
        const mine = entries.every((e) => e.pairs || !e.market) ? rows : rows.filter((row) => entries.some((e) => e.market.symbol === row.symbol));
        if (mine.length === 0) continue;
        const kept = [...line.waiting[name] ?? [], ...mine].slice(-this.options.recent);
        if (client.futures[name]) {
          delete line.waiting[name];
          client.resolve(kept, name);
        } else line.waiting[name] = kept;
      }
    }

    handleBook(client, m, source) {
      const line = this.streamsOf(client.url), book = line.books[source];
      if (!book) return;
      const outcome = book.apply(m);
      if (outcome === 'shown') {
        line.resyncs[source] = undefined;
        book.time = m.time;
        for (const name of this.readersOf(client, source)) client.resolve(source, name);
      } else if (outcome === 'broken' && !(this.milliseconds() - line.resyncs[source] < 1000)) {
        line.resyncs[source] = this.milliseconds();
        this.spawn(() => client.send({ op: 'resync', channel: 'book', pairs: [m.currencyPairCode] }));
      }
    }

    // openBook makes the book of an entry, or one with at least as many levels, known. It resumes on a new connection.
    openBook(url, entry) {
      const line = this.streamsOf(url), { source } = entry, depth = depthFor(entry.levels);
      let book = line.books[source];
      if (!book || book.depth !== 0 && (depth === 0 || depth > book.depth)) book = line.books[source] = Object.assign(new Book(), { depth });
      const resume = book.ready && !this.clients[url] ? { fromSeq: book.seq, epoch: book.epoch } : {};
      entry.options = { depth: book.depth, interval: 100, ...resume };
    }

    // bookOf returns levels of a followed book.
    bookOf({ market, source }, limit) {
      const book = this.streamsOf(this.implodeHostname(this.urls.api.ws)).books[source];
      const side = (levels) => levels.slice(0, limit).map(([p, a]) => [Number(p), Number(a)]);
      return this.orderBook({ symbol: market.symbol, bids: side(book.bids), asks: side(book.asks), timestamp: book.time, datetime: this.iso8601(book.time), nonce: book.seq }, limit);
    }

    // watchOrderBook shows only states that passed chain and checksum. A wrong one is asked for
    // again; after a lost connection the next call resumes from the known seq.
    async watchOrderBook(symbol, limit = 100) { return this.watchOrderBookForSymbols([symbol], limit); }

    // watchOrderBookForSymbols resolves with one book of the symbols that has changed.
    async watchOrderBookForSymbols(symbols, limit = 100) {
      const entries = (await this.marketsOf(symbols)).map((market) => ({ ...this.entryOf('book', 'book', market), levels: limit ?? pageSize }));
      const source = await this.follow(entries);
      return this.bookOf(entries.find((e) => e.source === source), limit);
    }

    // watchBidsAsks resolves with the best prices that have changed, by symbol.
    async watchBidsAsks(symbols = undefined) {
      const entries = (await this.marketsOf(symbols)).map((market) => ({ ...this.entryOf('best', 'book', market), levels: 1 }));
      const url = this.implodeHostname(this.urls.api.ws), line = this.streamsOf(url), shown = line.best[entries.map((e) => e.name).join(',')] ??= {};
      for (;;) {
        const changed = entries.filter(({ source }) => {
          const book = line.books[source], best = this.clients[url] && book?.ready ? `${book.bids[0]} ${book.asks[0]}` : shown[source];
          const same = best === shown[source];
          shown[source] = best;
          return !same;
        });
        if (changed.length) return this.indexBy(changed.map((e) => this.bestOf(this.bookOf(e, 1))), 'symbol');
        await this.follow(entries);
      }
    }

    async watchTrades(symbol, since = undefined, limit = undefined) { return this.watchTradesForSymbols([symbol], since, limit); }

    async watchTradesForSymbols(symbols, since = undefined, limit = undefined) {
      const entries = (await this.marketsOf(symbols)).map((market) => this.entryOf('trades', 'trades', market));
      return this.filterBySinceLimit(await this.follow(entries), since, limit, 'timestamp', true);
    }

    async watchTicker(symbol) { return Object.values(await this.watchTickers([symbol]))[0]; }

    // watchTickers resolves with those tickers that have changed.
    async watchTickers(symbols = undefined) {
      const entries = (await this.marketsOf(symbols)).map((market) => this.entryOf('ticker', 'ticker', market));
      return this.indexBy(await this.follow(entries), 'symbol');
    }

    async watchOHLCV(symbol, timeframe = '1m', since = undefined, limit = undefined) {
      const bySymbol = await this.watchOHLCVForSymbols([[symbol, timeframe]], since, limit);
      return bySymbol[this.symbol(symbol)][timeframe];
    }

    // watchOHLCVForSymbols resolves with the candles that have changed, by symbol and timeframe.
    async watchOHLCVForSymbols(symbolsAndTimeframes, since = undefined, limit = undefined) {
      await this.loadMarkets();
      const entries = symbolsAndTimeframes.map(([symbol, timeframe = '1m']) => {
        const sum = this.sumOf(timeframe), entry = this.entryOf(`candles ${timeframe}`, `candles.${frames[timeframe]}`, this.market(symbol));
        return { ...entry, timeframe, sum };
      });
      const rows = await this.follow(entries), changed = {};
      for (const e of entries) {
        const kept = rows.filter((row) => row.source === e.source).map((row) => row.candle);
        if (kept.length === 0) continue;
        const candles = e.sum ? await this.sumsWith(e, kept) : [...new Map(kept.map((c) => [c[0], c])).values()];
        (changed[e.market.symbol] ??= {})[e.timeframe] = this.filterBySinceLimit(candles, since, limit, 0, true);
      }
      return changed;
    }

    // sumsWith returns the sums that changed candles belong to. The candles before the last one are fetched when that
    // one begins, so that a sum misses nothing, however late it is followed.
    async sumsWith({ market, name, sum }, kept) {
      const line = this.streamsOf(this.implodeHostname(this.urls.api.ws)), begin = beginOf(sum, kept[0][0]), last = kept.at(-1);
      const known = line.sums[name] ??= {};
      if (known.before !== last[0] || !(known.begin <= begin)) {
        const rows = await this.fetchOHLCV(market.symbol, sum.of, begin, 2 * sum.count);
        Object.assign(known, { begin, before: last[0], rows: rows.filter((c) => c[0] < last[0]) });
      }
      return summed(sum, [...known.rows.filter((c) => c[0] >= begin), last], ccxt.Precise.stringAdd);
    }

    async watchOrders(symbol = undefined, since = undefined, limit = undefined) { return this.watchMine('orders', [symbol], since, limit); }

    async watchOrdersForSymbols(symbols, since = undefined, limit = undefined) { return this.watchMine('orders', symbols, since, limit); }

    async watchMyTrades(symbol = undefined, since = undefined, limit = undefined) { return this.watchMine('fills', [symbol], since, limit); }

    async watchMyTradesForSymbols(symbols, since = undefined, limit = undefined) { return this.watchMine('fills', symbols, since, limit); }

    async watchMine(channel, symbols, since, limit) {
      await this.loadMarkets();
      return this.filterBySinceLimit(await this.follow(symbols.map((symbol) => this.ownEntryOf(channel, symbol))), since, limit, 'timestamp', true);
    }

    async watchBalance() {
      await this.loadMarkets();
      const url = this.implodeHostname(this.urls.api.ws), line = this.streamsOf(url);
      for (const change of await this.follow([this.ownEntryOf('balances')])) {
        const rows = Object.fromEntries(change.rows.map((b) => [b.currencyCode, b]));
        line.balances = change.all ? rows : { ...line.balances, ...rows };
        line.balancesAt = change.time;
      }
      return { ...this.parseBalance(Object.values(line.balances)), timestamp: line.balancesAt, datetime: this.iso8601(line.balancesAt) };
    }

    // marketsOf returns the markets of symbols, all without them.
    async marketsOf(symbols) {
      await this.loadMarkets();
      return (symbols ?? this.symbols).map((s) => this.market(s));
    }

    async unWatchOrderBook(symbol) { return this.unWatchOrderBookForSymbols([symbol]); }

    async unWatchOrderBookForSymbols(symbols) { return this.unfollow('book', await this.marketsOf(symbols)); }

    async unWatchBidsAsks(symbols = undefined) { return this.unfollow('best', await this.marketsOf(symbols)); }

    async unWatchTrades(symbol) { return this.unWatchTradesForSymbols([symbol]); }

    async unWatchTradesForSymbols(symbols) { return this.unfollow('trades', await this.marketsOf(symbols)); }

    async unWatchTicker(symbol) { return this.unWatchTickers([symbol]); }

    async unWatchTickers(symbols = undefined) { return this.unfollow('ticker', await this.marketsOf(symbols)); }

    async unWatchOHLCV(symbol, timeframe = '1m') { return this.unWatchOHLCVForSymbols([[symbol, timeframe]]); }

    async unWatchOHLCVForSymbols(symbolsAndTimeframes) {
      await this.loadMarkets();
      for (const [symbol, timeframe = '1m'] of symbolsAndTimeframes) await this.unfollow(`candles ${timeframe}`, [this.market(symbol)]);
      return true;
    }

    async unWatchOrders(symbol = undefined) { return this.unWatchMine('orders', symbol); }

    async unWatchMyTrades(symbol = undefined) { return this.unWatchMine('fills', symbol); }

    async unWatchMine(channel, symbol) {
      await this.loadMarkets();
      return this.unfollow(channel, symbol === undefined ? undefined : [this.market(symbol)]);
    }

    async close(...args) {
      this.lines = {};
      return super.close(...args);
    }
  };
}
