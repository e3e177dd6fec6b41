// TickHive as a ccxt exchange. The file needs no package of its own: it takes ccxt as an
// argument.
//
//   import ccxt from 'ccxt';
//   import { makeTickHive } from './ccxt.mjs';
//   const TickHive = makeTickHive(ccxt);
//   const exchange = new TickHive({ hostname: '127.0.0.1:8080', apiKey, secret });
//
// For TLS set urls: { api: { rest: 'https://{hostname}', ws: 'wss://{hostname}/ws' } }.
import { Book, TickHive, attached, depthFor, editOf, orderOf, signature, statusOf, timeframes } from './tickhive.mjs';

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

// makeTickHive returns the exchange class on top of a ccxt.
export function makeTickHive(ccxt) {
  return class tickhive extends ccxt.Exchange {
    describe() {
      return this.deepExtend(super.describe(), {
        id: 'tickhive', name: 'TickHive', countries: [], version: 'v1', pro: true, rateLimit: 1, hostname: '127.0.0.1:8080', timeframes,
        precisionMode: 4, // TICK_SIZE
        requiredCredentials: { apiKey: true, secret: true },
        has: {
          CORS: true, sandbox: true, spot: true, margin: false, swap: false, future: false, option: false, ws: true,
          cancelAllOrders: true, cancelOrder: true, cancelOrders: true, createOrders: true, createMarketBuyOrderWithCost: true, createMarketOrderWithCost: true,
          createMarketSellOrderWithCost: true, createOrder: true, createOrderWithTakeProfitAndStopLoss: true, createPostOnlyOrder: true, createReduceOnlyOrder: false,
          createStopLimitOrder: true, createStopLossOrder: true, createStopMarketOrder: true, createStopOrder: true, createTakeProfitOrder: true,
          createTrailingPercentOrder: true, createTriggerOrder: true, editOrder: true, fetchBalance: true,
          fetchCanceledOrders: true, fetchClosedOrders: true, fetchCurrencies: true, fetchMarkets: true, fetchMyTrades: true, fetchOHLCV: true,
          fetchOpenOrders: true, fetchOrder: true, fetchOrderBook: true, fetchOrderTrades: true, fetchOrders: true, fetchStatus: true, fetchTicker: true,
          fetchTickers: true, fetchTime: true, fetchTrades: true, fetchTradingFee: true, fetchTradingFees: true, watchBalance: true, watchMyTrades: true,
          watchOHLCV: true, watchOrderBook: true, watchOrders: true, watchTicker: true, watchTickers: true, watchTrades: true,
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
            post: ['api/orders', 'api/orders/lists', 'api/orders/batch'], patch: ['api/orders/{orderId}'],
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
              marketBuyByCost: true, marketBuyRequiresPrice: false, selfTradePrevention: false, iceberg: false,
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
      else if (e.code === 'UNAUTHORIZED' && ['API-Timestamp', 'API-Nonce'].includes(e.field)) Class = ccxt.InvalidNonce;
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
          taker: fee, maker: fee, percentage: true, tierBased: false, feeSide: 'get', precision: { amount, price },
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
      const market = this.market(symbol);
      if (!timeframes[timeframe]) throw new ccxt.BadRequest(`${this.id} timeframe must be one of ${Object.keys(timeframes).join(', ')}`);
      const candles = async (_, frame, start, end) => (await this.request('api/ohlc', 'public', 'GET', {
        currencyPairCode: market.id, interval: timeframes[frame], start: days(start), end: days(end),
      })).map((c) => this.parseOHLCV(c, market));
      return TickHive.prototype.fetchOHLCV.call({ candles, fetchTime: () => this.fetchTime() }, symbol, timeframe, since, limit ?? 1000);
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

    // createOrder takes what TickHive.createOrder in tickhive.mjs takes. Of a list it answers the first order.
    async createOrder(symbol, type, side, amount, price = undefined, params = {}) {
      await this.loadMarkets();
      const market = this.market(symbol), call = this.rounded(market, type, side, amount, price, params);
      const list = this.local(() => attached(...call)), order = list ? list.orders[0] : this.local(() => orderOf(...call));
      const body = { ...list ?? order, currencyPairCode: market.id };
      const answer = await this.request(list ? 'api/orders/lists' : 'api/orders', 'private', 'POST', body);
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
        const market = this.market(o.symbol), call = this.rounded(market, o.type, o.side, o.amount, o.price, o.params);
        const list = this.local(() => attached(...call)), order = list ?? this.local(() => orderOf(...call));
        return { [list ? 'placeList' : 'place']: { ...order, currencyPairCode: market.id } };
      });
      const { results } = await this.request('api/orders/batch', 'private', 'POST', { commands });
      return results.map((r, i) => (r.rejectReason ? this.safeOrder({
        id: r.id ?? undefined, clientOrderId: r.clientOrderId ?? undefined, symbol: orders[i].symbol, side: orders[i].side, status: 'rejected', info: r,
      }) : this.parseOrder(r.orders?.[0] ?? r)));
    }

    // rounded returns a call of createOrder with its numbers rounded to the market's digits.
    rounded(market, type, side, amount, price, params = {}) {
      const text = (n, precise) => (typeof n === 'number' ? precise(market.symbol, n) : n);
      const asPrice = (n) => text(n, (s, v) => this.priceToPrecision(s, v)), asAmount = (n) => text(n, (s, v) => this.amountToPrecision(s, v));
      const places = market.info.digitsPrice + market.info.digitsAmount;
      const asCost = (n) => text(n, (_, v) => this.decimalToPrecision(v, 0, places, 2)); // TRUNCATE, DECIMAL_PLACES
      const members = (given) => Object.fromEntries(Object.entries(given).map(([name, v]) => [name, digits[name] ? digits[name](v) : v]));
      const asLeg = (leg) => (Object(leg) === leg ? members(leg) : leg);
      const digits = {
        price: asPrice, stopPrice: asPrice, triggerPrice: asPrice, stopLossPrice: asPrice, takeProfitPrice: asPrice, trailingTriggerPrice: asPrice,
        displayAmount: asAmount, cost: asCost, quoteAmount: asCost, takeProfit: asLeg, stopLoss: asLeg,
      };
      const given = members(params), byCost = ['cost', 'quoteAmount'].some((name) => given[name] !== undefined);
      return [`${market.base}/${market.quote}`, type, side, byCost ? undefined : asAmount(amount), asPrice(price), given];
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

    // editOrder changes price and total amount, and with params the price and the trail of an order that waits; an order
    // keeps its type and side.
    async editOrder(id, symbol, type, side, amount = undefined, price = undefined, params = {}) {
      await this.loadMarkets();
      const market = this.market(symbol), [, , , size, at, given] = this.rounded(market, type, side, amount, price, params);
      const body = this.local(() => editOf(size, at, given));
      return this.parseOrder(await this.request('api/orders/{orderId}', 'private', 'PATCH', { ...body, orderId: id }), market);
    }

    // cancelOrder cancels an order; with params.onlyIf new or partial only if it has no deal yet, or has one.
    async cancelOrder(id, symbol = undefined, params = {}) {
      await this.loadMarkets();
      return this.parseOrder(await this.request('api/orders/{orderId}', 'private', 'DELETE', { ...params, orderId: id }), this.marketOf(symbol));
    }

    async cancelOrders(ids, symbol = undefined) { return Promise.all(ids.map((id) => this.cancelOrder(id, symbol))); }

    // cancelAllOrders answers the orders that it has canceled, as far as they were open before.
    async cancelAllOrders(symbol = undefined) {
      const open = await this.fetchOpenOrders(symbol);
      await this.request('api/orders', 'private', 'DELETE', symbol === undefined ? { all: true } : { currencyPairCode: this.market(symbol).id });
      return open.map((o) => ({ ...o, status: 'canceled' }));
    }

    marketOf(symbol) { return symbol === undefined ? undefined : this.market(symbol); }

    // fetchOrder finds an order by its id, or by params.clientOrderId and the symbol.
    async fetchOrder(id, symbol = undefined, params = {}) {
      await this.loadMarkets();
      if (params.clientOrderId !== undefined) {
        if (symbol === undefined) throw new ccxt.ArgumentsRequired(`${this.id} fetchOrder needs a symbol beside a clientOrderId`);
        const query = { currencyPairCode: this.market(symbol).id, clientOrderId: params.clientOrderId };
        ({ id } = await this.request('api/orders/by-client-id/{currencyPairCode}/{clientOrderId}', 'private', 'GET', query));
      }
      return this.parseOrder(await this.request('api/orders/{orderId}/deals', 'private', 'GET', { orderId: id }), this.marketOf(symbol));
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

    // The exchange has no list of filled orders: they are the closed ones of all, so a limit is
    // applied after the choice.
    async fetchClosedOrders(symbol = undefined, since = undefined, limit = undefined) {
      const closed = await this.ordersOf('all', symbol, since, undefined, (o) => o.status === 'closed');
      if (limit === undefined) return closed;
      return since === undefined ? closed.slice(-limit) : closed.slice(0, limit);
    }

    async fetchMyTrades(symbol = undefined, since = undefined, limit = pageSize) {
      await this.loadMarkets();
      const market = this.marketOf(symbol);
      const rows = await this.pages('api/user/deals', market ? { currencyPairCode: market.id } : {}, since, limit);
      return rows.map((d) => this.parseTrade({ isMaker: undefined, ...d }, market));
    }

    // Streams

    // subscribe watches one channel of one pair; a private channel needs the socket's
    // credentials first. The future resolves when something new is there.
    async subscribe(channel, market, options = {}) {
      const url = this.implodeHostname(this.urls.api.ws);
      if (url.startsWith('ws://') && typeof process !== 'undefined' && process.versions?.node) await this.loadHttpProxyAgent();
      if (market === undefined) await this.authenticate(url);
      const hash = market === undefined ? channel : `${channel}:${market.id}`;
      const line = this.streamsOf(url);
      const waiting = line.waiting[hash];
      if (waiting?.length) {
        delete line.waiting[hash];
        return waiting;
      }
      const request = { op: 'subscribe', id: hash, channel, decimals: 'string', ...options };
      if (market !== undefined) request.pairs = [market.id];
      if (line.lastTrade[hash]) request.fromTradeId = line.lastTrade[hash] + 1; // a lost line continues without a gap
      return this.watch(url, hash, request, `${hash}:${options.depth ?? ''}`);
    }

    // streamsOf returns what is known of the streams of an address. It outlives a connection, so
    // that books resume.
    streamsOf(url) {
      this.lines ??= {};
      return this.lines[url] ??= { waiting: {}, books: {}, resyncs: {}, lastTrade: {}, open: new Set(), fills: new Set() };
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
        case 'shutdown': break; // the close that follows rejects what waits
        default: // subscribed, unsubscribed, pong
      }
    }

    handleStreamError(client, m, hash) {
      const name = m.id ?? hash;
      const error = this.errorOf(m);
      if (name === 'auth') client.authenticated = undefined;
      for (const key of Object.keys(client.subscriptions)) if (key === name || key.startsWith(`${name}:`)) delete client.subscriptions[key];
      if (m.code === 'UNAUTHORIZED') client.authenticated = undefined;
      if (name && client.futures[name]) client.reject(error, name);
      else if (!name && m.code !== 'RATE_LIMIT') client.reject(error);
    }

    // rowsOf returns what a message of a channel shows, in ccxt's structures.
    rowsOf(m) {
      const market = m.currencyPairCode ? this.safeMarket(m.currencyPairCode) : undefined;
      const channel = m.channel.split('.')[0];
      switch (channel) {
        case 'trades': return m.trades.map((t) => this.parseTrade(t, market));
        case 'ticker': return [this.parseTicker({ ...m.ticker, high: m.high24h, low: m.low24h, quoteVolume: m.quoteVolume24h }, market)];
        case 'candles': return m.candle ? [this.parseOHLCV(m.candle)] : [];
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

    // mend delivers rows that a lost line has missed; an error goes to the call that waits.
    async mend(client, hash, missed) {
      try {
        this.deliver(client, hash, await missed());
      } catch (e) {
        client.reject(e, hash);
      }
    }

    // deliver resolves the call that waits, or keeps the rows for the next one.
    deliver(client, hash, rows) {
      const line = this.streamsOf(client.url);
      if (rows.length === 0) return;
      const kept = [...line.waiting[hash] ?? [], ...rows].slice(-this.options.recent);
      if (client.futures[hash]) {
        delete line.waiting[hash];
        client.resolve(kept, hash);
      } else line.waiting[hash] = kept;
    }

    handleBook(client, m, hash) {
      const line = this.streamsOf(client.url), book = line.books[hash];
      if (!book) return;
      const outcome = book.apply(m);
      if (outcome === 'shown') {
        line.resyncs[hash] = undefined;
        client.resolve(m.time, hash);
      } else if (outcome === 'broken' && !(this.milliseconds() - line.resyncs[hash] < 1000)) {
        line.resyncs[hash] = this.milliseconds();
        this.spawn(() => client.send({ op: 'resync', channel: 'book', pairs: [m.currencyPairCode], id: hash }));
      }
    }

    // watchOrderBook shows only states that passed chain and checksum. A wrong one is asked for
    // again; after a lost connection the next call resumes from the known seq.
    async watchOrderBook(symbol, limit = 100) {
      await this.loadMarkets();
      const market = this.market(symbol), hash = `book:${market.id}`;
      const url = this.implodeHostname(this.urls.api.ws), line = this.streamsOf(url);
      let book = line.books[hash];
      const depth = depthFor(limit ?? pageSize);
      if (!book || book.depth !== 0 && (depth === 0 || depth > book.depth)) {
        book = line.books[hash] = Object.assign(new Book(), { depth });
      }
      const options = { depth: book.depth, interval: 100 };
      if (book.ready && !this.clients[url]) Object.assign(options, { fromSeq: book.seq, epoch: book.epoch });
      const timestamp = await this.subscribe('book', market, options);
      const side = (levels) => levels.slice(0, limit).map(([p, a]) => [Number(p), Number(a)]);
      return this.orderBook({ symbol: market.symbol, bids: side(book.bids), asks: side(book.asks), timestamp, datetime: this.iso8601(timestamp), nonce: book.seq }, limit);
    }

    async watchTrades(symbol, since = undefined, limit = undefined) {
      await this.loadMarkets();
      const market = this.market(symbol);
      return this.filterBySinceLimit(await this.subscribe('trades', market), since, limit, 'timestamp', true);
    }

    async watchTicker(symbol) {
      await this.loadMarkets();
      return (await this.subscribe('ticker', this.market(symbol))).at(-1);
    }

    // watchTickers resolves with those tickers that have changed.
    async watchTickers(symbols = undefined) {
      await this.loadMarkets();
      const all = this.marketSymbols(symbols) ?? this.symbols;
      const first = await Promise.race(all.map((s) => this.watchTicker(s)));
      return { [first.symbol]: first };
    }

    async watchOHLCV(symbol, timeframe = '1m', since = undefined, limit = undefined) {
      await this.loadMarkets();
      if (!timeframes[timeframe]) throw new ccxt.BadRequest(`${this.id} timeframe must be one of ${Object.keys(timeframes).join(', ')}`);
      const rows = await this.subscribe(`candles.${timeframes[timeframe]}`, this.market(symbol));
      const last = new Map(rows.map((c) => [c[0], c]));
      return this.filterBySinceLimit([...last.values()], since, limit, 0, true);
    }

    async watchOrders(symbol = undefined, since = undefined, limit = undefined) { return this.watchMine('orders', symbol, since, limit); }

    async watchMyTrades(symbol = undefined, since = undefined, limit = undefined) { return this.watchMine('fills', symbol, since, limit); }

    // watchMine waits until the channel has a row of the symbol.
    async watchMine(channel, symbol, since, limit) {
      await this.loadMarkets();
      const market = this.marketOf(symbol);
      for (;;) {
        const rows = await this.subscribe(channel, undefined);
        const mine = market ? rows.filter((r) => r.symbol === market.symbol) : rows;
        if (mine.length) return this.filterBySinceLimit(mine, since, limit, 'timestamp', true);
      }
    }

    async watchBalance() {
      await this.loadMarkets();
      const url = this.implodeHostname(this.urls.api.ws), line = this.streamsOf(url);
      for (const change of await this.subscribe('balances', undefined)) {
        const rows = Object.fromEntries(change.rows.map((b) => [b.currencyCode, b]));
        line.balances = change.all ? rows : { ...line.balances, ...rows };
        line.balancesAt = change.time;
      }
      return { ...this.parseBalance(Object.values(line.balances)), timestamp: line.balancesAt, datetime: this.iso8601(line.balancesAt) };
    }

    async close(...args) {
      this.lines = {};
      return super.close(...args);
    }
  };
}
