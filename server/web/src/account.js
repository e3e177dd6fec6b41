// The signed-in account: its key, open orders, balances and fills, as the private channels report
// them. It says in messages what becomes of each order.
import { checkKeys, forgetKeys, hasKeys, signed, useKeys } from './api.js';
import { brief, decimal, digitsOf, group, isNumber, nice, notNumber, plainNumber, units } from './dom.js';
import { toast } from './toast.js';

const againMs = 2000; // until a sign-in that got no answer is tried again
const isOpen = (o) => ['Created', 'PartiallyCompleted', 'Pending'].includes(o.status);

export const types = {
  limit: 'Limit', market: 'Market', stop_limit: 'Stop limit', stop_market: 'Stop market', take_profit_limit: 'Take profit limit', take_profit_market: 'Take profit market',
};
export const typeOf = (o) => (o.trailingDelta ? `Trailing stop${o.isMarket ? '' : ' limit'}` : types[o.type]);
export const percentOf = (delta) => `${delta / 100} %`;

// canMove reports whether the price of an open order can change: one that waits or is pending has none in the book.
export const canMove = (o) => o.price !== null && o.isTriggered !== false && o.status !== 'Pending';

// Why an order has ended, by the words of the exchange; what its owner has canceled needs none.
const ends = {
  remainder: 'the rest found no match', self_trade: 'it met an own order', replace: 'its new total was filled', fok: 'not fillable at once', unfillable: 'the book refused it',
  funds: 'the balance ran out', no_liquidity: 'the book was empty', list: 'the other leg ended it', working: 'its first order ended', operator: 'the exchange ended it',
};
export const endOf = (o) => ends[o.endReason] ?? '';

// filledOf returns the filled amount of an order view, null where the view does not say.
export function filledOf(o) {
  if (o.filledAmount !== undefined) return o.filledAmount;
  if (o.initialAmount === null) return null;
  return decimal(units(o.initialAmount) - units(o.amount) - units(o.decrementedAmount ?? '0'), digitsOf(o.initialAmount));
}

export class Account {
  constructor(stream) {
    Object.assign(this, { stream, canTrade: false, checking: false, problem: '', following: false, counted: false });
    this.orders = new Map(); // open orders by id
    this.balances = new Map();
    this.rates = new Map(); // taker fee of a pair as a fraction
    this.listeners = new Set();
    this.canceling = new Map(); // orders that the user has canceled, with whether one message reports them together
    this.kinds = new Map(); // of lists by id, also of those that have ended
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

  // resume signs in with the key of the tab. While the exchange does not answer, or dates the request late, it tries again.
  async resume() {
    await this.open(checkKeys).catch(() => {
      if (!hasKeys()) return;
      this.checking = true;
      this.changed('key');
      setTimeout(() => this.resume(), againMs);
    });
  }

  async open(check) {
    Object.assign(this, { checking: true, problem: '', following: false, counted: false }); // until the snapshots of orders and of balances
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
      if (m.type === 'snapshot') { this.balances.clear(); this.counted = true; }
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
    for (const l of m.lists ?? []) this.kinds.set(l.id, l.kind);
    if (m.list) this.reportList(m.list);
    if (m.order) {
      const before = this.orders.get(m.order.id);
      if (isOpen(m.order)) this.orders.set(m.order.id, m.order); else { this.orders.delete(m.order.id); this.past(); }
      this.report(m.order, before);
    }
    if (m.order || m.type === 'snapshot') this.changed('orders');
  }

  // reportList says that a list was accepted.
  reportList(l) {
    if (l.status === 'executing' && !this.kinds.has(l.id)) toast(l.id, 'info', 'Orders accepted', `${l.kind.toUpperCase()} in ${nice(l.currencyPairCode)}.`);
    this.kinds.set(l.id, l.kind);
    this.changed('orders');
  }

  // report says what became of an order. Of a list the message of the list says that its orders are there, and the
  // message of the order that works or has ended is the one of interest.
  report(o, before) {
    const [base, quote] = o.currencyPairCode.split('_');
    const side = o.isBid ? 'Buy' : 'Sell';
    const asked = o.initialAmount === null ? '' : `${brief(o.initialAmount)} ${base} `;
    const spends = o.initialQuoteAmount ? `for ${group(brief(o.initialQuoteAmount))} ${quote} ` : '';
    const stop = o.stopPrice ? `, ${o.type.startsWith('take') ? 'take profit' : 'stop'} at ${group(o.stopPrice)}` : '';
    const trail = o.trailingDelta ? `, trailing by ${percentOf(o.trailingDelta)}` : '';
    const what = `${side} ${asked}${spends}in ${nice(o.currencyPairCode)}${o.price ? ` at ${group(o.price)}` : ', market'}${stop}${trail}`;
    const moved = this.moving.delete(o.id);
    if (o.status === 'Canceled' && this.canceling.get(o.id)) { this.canceling.delete(o.id); return; }
    if (o.listId && (!before || ['list', 'working'].includes(o.endReason)) && !(+o.filledAmount > 0)) return;
    if (o.status === 'Created') { toast(o.id, 'info', moved ? 'Order changed' : 'Order accepted', what); return; }
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
    const end = endOf(o);
    return end ? `${end[0].toUpperCase()}${end.slice(1)}.` : '';
  }

  // place sends an order or a list. The stream reports it, unless it has not begun to.
  async place(order) {
    const early = !this.following, id = (await signed('POST', order.kind ? '/api/orders/lists' : '/api/orders', order)).body;
    if (early && order.kind) { this.reportList(id); return; }
    if (early) signed('GET', `/api/orders/${id}?decimals=string`).then(({ body }) => this.report(body), () => {}); // the list of open orders has it later
  }

  async cancel(id) {
    this.canceling.set(id, false);
    try { await signed('DELETE', `/api/orders/${id}`); } catch (error) { this.canceling.delete(id); throw error; }
  }

  async cancelList(id) {
    const legs = [...this.orders.values()].filter((o) => o.listId === id);
    for (const o of legs) this.canceling.set(o.id, true);
    try { await signed('DELETE', `/api/orders/lists/${id}`); } catch (error) {
      for (const o of legs) this.canceling.delete(o.id);
      throw error;
    }
    toast(id, 'info', 'Orders canceled', `${this.kinds.get(id)?.toUpperCase() ?? 'A list'}: ${legs.length} open orders.`);
  }

  // move changes the price of an order, or another member that is a decimal.
  async move(id, typed, member = 'price') {
    const value = plainNumber(typed);
    this.moving.add(id);
    try {
      if (!isNumber(value)) throw new Error(notNumber(typed));
      await signed('PATCH', `/api/orders/${id}`, { [member]: value });
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
