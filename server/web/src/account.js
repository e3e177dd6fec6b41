// The signed-in account: its key, open orders, balances and fills, as the private channels report
// them. It says in messages what becomes of each order.
import { checkKeys, forgetKeys, hasKeys, signed, useKeys } from './api.js';
import { brief, decimal, digitsOf, group, isNumber, nice, notNumber, plainNumber, units } from './dom.js';
import { toast } from './toast.js';

const isOpen = (o) => o.status === 'Created' || o.status === 'PartiallyCompleted';

export const typeOf = (o) => ({ limit: 'Limit', market: 'Market', stop_limit: 'Stop limit', stop_market: 'Stop market' })[o.type] ?? (o.isMarket ? 'Market' : 'Limit');

// canMove reports whether the price of an open order can change: a stop that waits has none in the book.
export const canMove = (o) => o.price !== null && o.isTriggered !== false;

// filledOf returns the filled amount of an order view, null where the view does not say.
export function filledOf(o) {
  if (o.filledAmount !== undefined) return o.filledAmount;
  if (o.initialAmount === null) return null;
  return decimal(units(o.initialAmount) - units(o.amount) - units(o.decrementedAmount ?? '0'), digitsOf(o.initialAmount));
}

export class Account {
  constructor(stream) {
    Object.assign(this, { stream, canTrade: false, checking: false, problem: '', following: false });
    this.orders = new Map(); // open orders by id
    this.balances = new Map();
    this.rates = new Map(); // taker fee of a pair as a fraction
    this.listeners = new Set();
    this.canceling = new Map(); // orders that the user has canceled, with whether one message reports them together
    this.moving = new Set(); // orders whose price the user has changed
    this.ended = 0; // counts the orders that ended and the fills: the lists of the past are read again
    stream.onUnauthorized = (message) => { if (this.signedIn) { this.forget(); this.problem = message; this.changed('key'); } };
    if (hasKeys()) this.resume();
  }

  get signedIn() { return hasKeys() && !this.checking; }

  on(listener) { this.listeners.add(listener); }

  // changed tells the panels which part changed: key, orders, balances or past.
  changed(part) { for (const f of this.listeners) f(part); }

  // signIn checks a key pair before anything opens.
  async signIn(publicKey, privateKey) { await this.open(() => useKeys(publicKey, privateKey)); }

  async resume() { await this.open(checkKeys).catch(() => {}); }

  async open(check) {
    Object.assign(this, { checking: true, problem: '', following: false });
    this.changed('key');
    try {
      this.canTrade = await check();
    } catch (error) {
      this.problem = error.code === 'UNAUTHORIZED' ? `This key pair is not valid. ${error.message}` : error.message;
      throw error;
    } finally {
      this.checking = false;
      if (hasKeys() && !this.problem) this.connect();
      this.changed('key');
    }
  }

  connect() {
    this.stream.auth();
    this.stream.subscribe('orders', null, (m) => this.onOrders(m));
    this.stream.subscribe('fills', null, (m) => { if (m.fill) this.past(); });
    this.stream.subscribe('balances', null, (m) => {
      if (m.type === 'snapshot') this.balances.clear();
      (m.balances ?? []).forEach((b) => this.balances.set(b.currencyCode, b));
      if (m.balances) this.changed('balances');
    });
    signed('GET', '/api/currencies/user/commissions').then(({ body }) => {
      for (const c of body.commissions) {
        if (c.commissionTypeCode === '3') this.rates.set(c.currencyPairCode, body.userNoTradeCommissions ? 0 : +c.percent);
      }
      this.changed('balances');
    }, () => {}); // without it the ticket shows no fee
  }

  forget() {
    forgetKeys();
    this.orders.clear();
    this.balances.clear();
    this.rates.clear();
    this.problem = '';
    this.stream.forget();
    for (const part of ['key', 'orders', 'balances', 'past']) this.changed(part);
  }

  past() {
    this.ended++;
    this.changed('past');
  }

  onOrders(m) {
    if (m.type === 'snapshot') {
      this.following = true;
      this.orders.clear();
      (m.orders ?? []).forEach((o) => this.orders.set(o.id, o));
      this.past();
    }
    if (m.order) {
      if (isOpen(m.order)) this.orders.set(m.order.id, m.order); else { this.orders.delete(m.order.id); this.past(); }
      this.report(m.order);
    }
    if (m.order || m.type === 'snapshot') this.changed('orders');
  }

  // report says what became of an order.
  report(o) {
    const [base, quote] = o.currencyPairCode.split('_');
    const side = o.isBid ? 'Buy' : 'Sell';
    const asked = o.initialAmount === null ? '' : `${brief(o.initialAmount)} ${base} `;
    const spends = o.initialQuoteAmount ? `for ${group(brief(o.initialQuoteAmount))} ${quote} ` : '';
    const stop = o.stopPrice ? `, stop at ${group(o.stopPrice)}` : '';
    const what = `${side} ${asked}${spends}in ${nice(o.currencyPairCode)}${o.price ? ` at ${group(o.price)}` : ', market'}${stop}`;
    const moved = this.moving.delete(o.id);
    if (o.status === 'Created') { toast(o.id, 'info', moved ? 'Order changed' : 'Order accepted', what); return; }
    if (o.status === 'Canceled' && this.canceling.get(o.id)) { this.canceling.delete(o.id); return; }
    if (o.status === 'Canceled') { toast(o.id, 'info', 'Order canceled', `${what}. ${this.reason(o)}`); return; }
    const filled = `${brief(o.filledAmount)}${asked && o.status !== 'Completed' ? ` of ${brief(o.initialAmount)}` : ''} ${base}`;
    const at = ` at ${group(brief(o.averagePrice))} on average`;
    const pair = nice(o.currencyPairCode);
    switch (o.status) {
      case 'PartiallyCompleted': toast(o.id, 'good', 'Order partly filled', `${side} ${filled}${at} in ${pair}.`); break;
      case 'Completed': toast(o.id, 'good', 'Order filled', `${side} ${filled}${at} in ${pair}.`); break;
      default: toast(o.id, 'warn', 'Order partly filled, rest canceled', `${side} ${filled}${at} in ${pair}. ${this.reason(o)}`);
    }
  }

  reason(o) {
    if (this.canceling.delete(o.id)) return 'You canceled it.';
    if (o.isMarket) return o.stopPrice ? 'The book or your balance had no more for the rest.' : 'The book had no more for the rest.';
    return o.timeInForce && o.timeInForce !== 'gtc' ? `The rest could not trade at once (${o.timeInForce.toUpperCase()}).` : '';
  }

  // place sends an order and returns its id. The stream reports it, unless it has not begun to.
  async place(order) {
    const early = !this.following, id = (await signed('POST', '/api/orders', order)).body;
    if (early) signed('GET', `/api/orders/${id}?decimals=string`).then(({ body }) => this.report(body), () => {}); // the list of open orders has it later
    return id;
  }

  async cancel(id) {
    this.canceling.set(id, false);
    try { await signed('DELETE', `/api/orders/${id}`); } catch (error) { this.canceling.delete(id); throw error; }
  }

  // move changes the price of an order.
  async move(id, typed) {
    const price = plainNumber(typed);
    this.moving.add(id);
    try {
      if (!isNumber(price)) throw new Error(notNumber(typed));
      await signed('PATCH', `/api/orders/${id}`, { price });
    } catch (error) {
      this.moving.delete(id);
      toast(id, 'bad', 'The order was not changed', error.message);
    }
  }

  // cancelAll cancels the open orders of one pair, or of all, and returns how many there were.
  async cancelAll(pair) {
    for (const o of this.orders.values()) if (!pair || o.currencyPairCode === pair) this.canceling.set(o.id, true);
    return (await signed('DELETE', `/api/orders?${pair ? `currencyPairCode=${pair}` : 'all=true'}`)).body.canceled;
  }

  free(currency) { return this.balances.get(currency)?.free ?? '0'; }
}
