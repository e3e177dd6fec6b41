// Types of tickhive.mjs. A test compares the names with the code, and tsc checks an example.

/** A decimal of an answer: text with all its digits. */
export type Decimal = string;
/** A decimal that is sent. A number is sent with the digits that it prints. */
export type DecimalInput = string | number;
/** A bound of a list: a Date, Unix milliseconds, or text such as 2026-01-01T00:00:00. */
export type Time = Date | number | string;

export declare class APIError extends Error {
  constructor(status: number, body: { code?: string; message?: string; field?: string | null; requestId?: string },
    retryAfter?: number);
  readonly status: number;
  readonly code: Code | undefined;
  readonly field: string | null | undefined;
  readonly requestId: string | undefined;
  /** The seconds after which the call may succeed, if the exchange has said so. */
  readonly retryAfter: number | undefined;
}

/** The codes of APIError: Code.NOT_FOUND is "NOT_FOUND". */
export declare const Code: { readonly [code: string]: string };
export type Code = string;

export declare function crc32(text: string): number;

/** Returns a decimal as the exchange reads it: without an exponent. */
export declare function plain(field: string, value: DecimalInput): string;

export interface CredentialHeaders {
  'API-PublicKey': string;
  'API-Timestamp': string;
  'API-Nonce': string;
  'API-Signature': string;
}

/** Returns the headers that sign a request. The private key is text (HMAC), or an Ed25519 or RSA key in PKCS #8 PEM. */
export declare function signature(publicKey: string, privateKey: string, method: string, target: string, body?: string,
  timestamp?: string, nonce?: string): Promise<CredentialHeaders>;

export type Level = [price: Decimal, amount: Decimal];

/** An order book of a stream, checked by chain and checksum. */
export declare class Book {
  ready: boolean;
  bids: Level[];
  asks: Level[];
  seq: number;
  epoch: string;
  lastChecksum: number;
  apply(message: object): 'shown' | 'same' | 'broken';
  put(side: Level[], level: Level, direction: number): void;
  checksum(): number;
}

export type Side = 'buy' | 'sell';
export type OrderType = 'limit' | 'market' | 'stop_limit' | 'stop_market' | 'take_profit_limit' | 'take_profit_market';
export type TimeInForce = 'gtc' | 'ioc' | 'fok';
export type SelfTradePrevention = 'none' | 'cancel_taker' | 'cancel_maker' | 'cancel_both' | 'decrement';
export type OnlyIf = 'new' | 'partial';

/** An order of a list; its pair is that of the list. */
export interface ListedOrder {
  side: Side;
  amount?: DecimalInput;
  price?: DecimalInput;
  /** An order at the market's price. */
  market?: boolean;
  type?: OrderType;
  timeInForce?: TimeInForce;
  postOnly?: boolean;
  clientOrderId?: string;
  clientIdScope?: 'recent' | 'open';
  stopPrice?: DecimalInput;
  /** Basis points, 10 to 2,000: the order trails the market. */
  trailingDelta?: number;
  strictTrigger?: boolean;
  /** Of an iceberg: what the book shows at a time. */
  displayAmount?: DecimalInput;
  selfTradePrevention?: SelfTradePrevention;
  expireUnfilled?: boolean;
  strategyId?: number;
  strategyType?: number;
}

export interface NewOrder extends ListedOrder {
  pair: string;
  /** At the market's price, instead of an amount: a buy spends at most this, a sell brings about this. */
  quoteAmount?: DecimalInput;
}

export interface NewList {
  kind: 'oco' | 'oto' | 'otoco' | 'opo' | 'opoco';
  pair: string;
  clientOrderId?: string;
  clientIdScope?: 'recent' | 'open';
  /** The working order first. */
  orders: ListedOrder[];
}

export interface Change {
  price?: DecimalInput;
  /** The new total, what is filled included. */
  amount?: DecimalInput;
  stopPrice?: DecimalInput;
  trailingDelta?: number;
  /** Lowers the amount alone, and the order keeps its place in the queue. */
  keepPriority?: boolean;
  /** The order's new id, with keepPriority. */
  clientOrderId?: string;
  clientIdScope?: 'recent' | 'open';
}

export type Command =
  | { place: NewOrder }
  | { placeList: NewList }
  | { cancel: { orderId: string; onlyIf?: OnlyIf } }
  | { replace: Change & { orderId: string } };

export interface Order {
  id: string;
  clientOrderId: string | null;
  isMarket: boolean;
  currencyPairCode: string;
  isBid: boolean;
  price: Decimal | null;
  initialAmount: Decimal | null;
  amount: Decimal | null;
  decrementedAmount: Decimal | null;
  quoteAmount: Decimal | null;
  date: string;
  userId: string;
  isCanceled: boolean;
  status: 'Created' | 'PartiallyCompleted' | 'Pending' | 'Completed' | 'Canceled' | 'PartiallyExecutedAndCanceled'
    | 'Rejected';
  type: OrderType;
  timeInForce: TimeInForce;
  postOnly: boolean;
  selfTradePrevention: SelfTradePrevention;
  stopPrice: Decimal | null;
  displayAmount: Decimal | null;
  isTriggered: boolean | null;
  initialQuoteAmount: Decimal | null;
  filledAmount: Decimal;
  filledQuoteAmount: Decimal;
  averagePrice: Decimal | null;
  fee: Decimal | null;
  feeCurrencyCode: string;
  dateChanged: string;
  trailingDelta: number | null;
  strictTrigger: boolean;
  expireUnfilled: boolean;
  trailingTime: string | null;
  endReason: string | null;
  preventedMatchId: number | null;
  strategyId: number | null;
  strategyType: number | null;
  listId: string | null;
}

export interface List {
  id: string;
  kind: NewList['kind'];
  clientOrderId: string | null;
  currencyPairCode: string;
  status: 'executing' | 'done';
  date: string;
  dateChanged: string;
}

/** The result of a command of a batch; a refused one has a rejectReason and only its ids beside it. */
export type Result = (Partial<Order> | Partial<ListWithOrders>) & { id: string | null; rejectReason?: string | null };
export type ListWithOrders = List & { orders: Order[] };
/** A list of a stream has the ids of its orders. */
export type ListWithIds = List & { orderIds: string[] };

export interface Deal {
  id: string;
  tradeId: number;
  dealDateUtc: string;
  currencyPairCode: string;
  volume: Decimal;
  price: Decimal;
  /** The taker has bought. */
  isBuy: boolean;
}

/** A deal of the channel trades. */
export type Trade = Deal;

export interface Fill extends Trade {
  isUserBuyer: boolean | null;
  orderId: string;
  fee: Decimal;
  feeCurrencyCode: string;
  isMaker: boolean;
}

export interface Balance {
  currencyCode: string;
  free: Decimal;
  held: Decimal;
  total: Decimal;
}

export interface Amendment {
  seq: number;
  date: string;
  oldAmount: Decimal;
  newAmount: Decimal;
  oldClientOrderId: string | null;
  newClientOrderId: string | null;
  filledAmount: Decimal;
}

export interface PreventedMatch {
  id: number;
  currencyPairCode: string;
  date: string;
  takerOrderId: string;
  makerOrderId: string;
  takerSide: Side;
  price: Decimal;
  takerAmount: Decimal;
  makerAmount: Decimal;
  selfTradePrevention: SelfTradePrevention;
}

export interface Ticker {
  timestamp: number;
  currencyPairCode: string;
  price: Decimal;
  price24hAgo: Decimal;
  priceChangePercentage24h: Decimal;
  volume24h: Decimal;
  bidPrice: Decimal;
  askPrice: Decimal;
}

export type Interval = 'minute' | 'minutes3' | 'minutes5' | 'minutes15' | 'minutes30' | 'hour' | 'hour4' | 'day' | 'month'
  | 'year';

export interface Candle {
  date: string;
  open: Decimal;
  max: Decimal;
  min: Decimal;
  close: Decimal;
  volume: Decimal;
  volumeBase: Decimal;
}

export interface OrderBook {
  ticker_id: string;
  timestamp: number;
  bids: Level[];
  asks: Level[];
  seq: number;
}

export type Row = { [name: string]: any };

export interface ListQuery {
  pair?: string;
  sinceDate?: Time;
  endDate?: Time;
}

/** The stream has no connection; it opens one again by itself. */
export interface Lost {
  type: 'lost';
  reason: string;
}

export type BookEvent = Lost
  | { type: 'snapshot' | 'update'; pair: string; seq: number; time: number; bids: Level[]; asks: Level[] };
/** lost counts trades before these that the exchange no longer has. */
export type TradesEvent = Lost
  | { type: 'snapshot' | 'update'; pair: string; time: number; trades: Trade[]; lost: number };
export type TickerEvent = Lost | {
  type: 'snapshot' | 'update'; pair: string; time: number;
  ticker: Ticker & { high24h: Decimal; low24h: Decimal; quoteVolume24h: Decimal };
};
export type CandleEvent = Lost
  | { type: 'snapshot' | 'update'; pair: string; time: number; candle: Candle | null; closed: boolean };

type No<Name extends string> = { [name in Name]?: undefined };

export type PrivateEvent = Lost & No<'channel' | 'fill' | 'order' | 'list' | 'balances'>
  | { type: 'snapshot'; channel: 'fills'; complete: boolean } & No<'fill' | 'order' | 'list' | 'balances'>
  | { type: 'snapshot'; channel: 'orders'; time: number; orders: Order[]; lists: ListWithIds[] }
    & No<'fill' | 'order' | 'list' | 'balances'>
  | { type: 'snapshot'; channel: 'balances'; time: number; balances: Balance[] } & No<'fill' | 'order' | 'list'>
  | { type: 'update'; channel: 'fills'; fill: Fill; missed: boolean } & No<'order' | 'list' | 'balances'>
  | { type: 'update'; channel: 'orders'; order: Order } & No<'fill' | 'list' | 'balances'>
  | { type: 'update'; channel: 'orders'; list: ListWithIds | ListWithOrders } & No<'fill' | 'order' | 'balances'>
  | { type: 'update'; channel: 'balances'; balances: Balance[] } & No<'fill' | 'order' | 'list'>;

/** The position of a private stream behind a fill. */
export interface Cursor {
  date?: string;
  pairs?: { [pair: string]: { date: string; tradeId: number; orderIds: string[] } };
}

/** A stream of events: for await (const event of follower). The end of the loop, or close, ends it. */
export interface Follower<Event> extends AsyncIterableIterator<Event> {
  next(): Promise<IteratorResult<Event, undefined>>;
  return(): Promise<IteratorResult<Event, undefined>>;
  close(): void;
}

export interface PrivateStream extends Follower<PrivateEvent> {
  /** Behind the last fill that was read; undefined before the first snapshot of fills. */
  readonly cursor: Cursor | undefined;
}

export interface Options {
  /** http://127.0.0.1:8080 without it; a list has the addresses of a cluster. */
  base?: string | string[];
  publicKey?: string;
  privateKey?: string;
  /** kind and userId: of the file of `tickhive demo-key`, whose members are options. */
  kind?: string;
  userId?: string;
  /** The time of the exchange in Unix milliseconds, if it has a virtual clock. */
  now?: () => number;
  /** The limit of a request in milliseconds. */
  timeout?: number;
  /**
   * The times in milliseconds after which a lost stream is opened again: the first, the longest; [100, 5000] without
   * it. Each is twice the one before, so a stream comes back within twice the outage, and a second later after a start
   * of the exchange, which accepts no key for so long.
   */
  retry?: [first: number, longest: number];
  WebSocket?: new (url: string) => any;
}

export declare class TickHive {
  constructor(options?: Options);
  base: string;

  sign(method: string, target: string, body?: string, timestamp?: string, nonce?: string): Promise<CredentialHeaders>;
  request(method: string, path: string, query?: object, body?: unknown, signed?: boolean): Promise<any>;
  signed(method: string, path: string, query?: object, body?: unknown): Promise<any>;
  send(method: string, path: string, query?: object, body?: unknown, signed?: boolean): Promise<{
    answer: any; headers: Headers;
  }>;
  pages(path: string, query: object, signed: boolean): AsyncGenerator<any, void>;
  turn(failed: string): void;

  time(): Promise<number>;
  status(): Promise<Row>;
  pairs(): Promise<Row[]>;
  ticker(pair: string): Promise<Ticker>;
  summary(): Promise<Row[]>;
  orderBook(pair: string, depth?: number): Promise<OrderBook>;
  deals(pair: string, query?: { sinceDate?: Time; endDate?: Time }): AsyncGenerator<Deal, void>;
  candles(pair: string, interval: Interval, start: Time, end: Time): AsyncGenerator<Candle, void>;

  placeOrder(order: NewOrder): Promise<string>;
  placeList(list: NewList): Promise<ListWithOrders>;
  changeOrder(id: string, change: Change): Promise<Order>;
  cancelOrder(id: string, options?: { onlyIf?: OnlyIf }): Promise<Order>;
  cancelOrderByClientId(pair: string, clientOrderId: string, options?: { onlyIf?: OnlyIf }): Promise<Order>;
  cancelList(id: string): Promise<ListWithOrders>;
  cancelListByClientId(pair: string, clientOrderId: string): Promise<ListWithOrders>;
  /** Without a pair: in all pairs that are not halted. */
  cancelAll(pair?: string): Promise<number>;
  cancelAllAfter(timeoutMs: number): Promise<{ timeoutMs: number; firesAt: string | null }>;
  batch(commands: Command[]): Promise<Result[]>;

  order(id: string): Promise<Order>;
  orderByClientId(pair: string, clientOrderId: string): Promise<Order>;
  orderDeals(id: string): Promise<Order & { deals: Fill[] }>;
  amendments(id: string): Promise<Amendment[]>;
  list(id: string): Promise<ListWithOrders>;
  listByClientId(pair: string, clientOrderId: string): Promise<ListWithOrders>;
  orders(query?: ListQuery & { status?: 'all' | 'active' | 'canceled' }): AsyncGenerator<Order, void>;
  lists(query?: ListQuery & { status?: 'all' | 'executing' | 'done' }): AsyncGenerator<ListWithOrders, void>;
  fills(query?: ListQuery & { orderId?: string }): AsyncGenerator<Fill, void>;
  preventedMatches(pair: string, query?: { orderId?: string; from?: number; pageSize?: number }):
    Promise<PreventedMatch[]>;
  balances(): Promise<Balance[]>;

  followBook(pair: string, options?: { depth?: 10 | 25 | 100 | 1000 | 0; interval?: 0 | 100 | 1000 }):
    Follower<BookEvent>;
  followTrades(pair: string, options?: { fromTradeId?: number }): Follower<TradesEvent>;
  followTicker(pair: string): Follower<TickerEvent>;
  followCandles(pair: string, interval: Interval): Follower<CandleEvent>;
  privateStream(options?: { from?: Cursor }): PrivateStream;
}
