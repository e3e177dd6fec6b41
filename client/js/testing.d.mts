// Types of testing.mjs. A test compares the names with the code, and tsc checks an example.
import type { DecimalInput, TickHive } from './tickhive.js';

/** A pair to trade. Its currencies have 8 digits; it has no limits of prices or of small orders. */
export interface Pair {
  /** BASE_QUOTE, for example "ABC_USDT". */
  code: string;
  /** Fractional digits of prices. */
  priceDigits: number;
  /** Fractional digits of amounts. */
  amountDigits: number;
  /** The rate for makers and takers; 0.001 without it. */
  fee?: string;
}

export interface StartOptions {
  /** In place of the 12 built-in pairs. */
  pairs?: Pair[];
  /** The seed of a simulated market, 0 or more; without it nobody trades by himself. */
  sim?: number;
  /** Further flags of `tickhive serve`, for example ['--pairs', 'common']. */
  args?: string[];
  /** The program; without it the file that TICKHIVE_BINARY names, or tickhive of the PATH. */
  binary?: string;
  /** virtual (default) moves by advance alone; real shows the machine's time, for programs that sign with it. */
  clock?: 'virtual' | 'real';
}

export interface User {
  readonly id: string;
  readonly publicKey: string;
  /** The secret of the key; Binance's interface takes the same pair. */
  readonly privateKey: string;
  /** Signs with the user's key and the exchange's clock. */
  readonly client: TickHive;
  deposit(amount: DecimalInput, currency: string): Promise<void>;
}

export interface Fault {
  /** How often the fault was done so far, 0 when its rule has ended. */
  hits(): Promise<number>;
}

/** A running exchange. Its methods return when every later read shows the change. */
export interface Exchange {
  /** Public REST and the page, http://127.0.0.1:PORT. */
  readonly url: string;
  /** Public and private streams. */
  readonly streamUrl: string;
  /** The internal API, http://127.0.0.1:PORT/internal/v1. */
  readonly internal: string;
  /** Binance's REST interface. */
  readonly binance: string;
  /** Its streams, with the paths /ws and /stream. */
  readonly binanceStream: string;
  /** Its WebSocket API. */
  readonly binanceSocket: string;
  /** Has money: 10,000 of each currency and 1,000 NATIVE, with a simulated market what is worth about 100,000 USDT. */
  readonly user: User;
  /** The client of user. */
  readonly client: TickHive;
  /** The last 64 Ki characters of the log. */
  readonly log: string;
  /** The time of the exchange's clock in Unix milliseconds. */
  now(): number;
  /** Moves the clock, for example by "1h30m": what falls due on the way is applied. */
  advance(duration: string): Promise<void>;
  /** Adds a user with money, each amount with its currency: newUser('1000 USDT', '0.5 BTC'). */
  newUser(...money: string[]): Promise<User>;
  /** Places an order of the exchange's own account, which needs no money; without a price at the market. */
  buy(pair: string, amount: DecimalInput, price?: DecimalInput): Promise<void>;
  sell(pair: string, amount: DecimalInput, price?: DecimalInput): Promise<void>;
  /** Cancels the open orders of the exchange's own account on a pair. */
  clearBook(pair: string): Promise<void>;
  /** Makes the exchange misbehave by a rule, for example "lost-ack probability=0.1 seed=1". */
  fault(rule: string): Promise<Fault>;
  /** Removes every fault. */
  clearFaults(): Promise<void>;
  /** Calls the internal API: call('POST', '/pairs', { ... }). */
  call(method: string, path: string, body?: unknown): Promise<any>;
  /**
   * Ends the exchange as `kill -9` does: connections break off, requests under way get no answer. What was answered
   * before is there after restart; until then every connection fails.
   */
  kill(): Promise<void>;
  /** Starts the exchange again on the same addresses, with everything that it had stored; kills one that runs. */
  restart(): Promise<void>;
  /** Ends the exchange in order. It also ends with the test process, however that ends. */
  stop(): Promise<void>;
}

/** Starts an exchange on free ports, with a virtual clock at 2026-01-01T00:00:00Z and empty books. */
export declare function start(options?: StartOptions): Promise<Exchange>;
