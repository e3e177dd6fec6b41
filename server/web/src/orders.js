// The account's lists over all pairs: open orders, order history, trades and balances.
import { signed } from './api.js';
import { canMove, endOf, filledOf, isOpen, percentOf, typeOf } from './account.js';
import { brief, dayTime, el, fill, group, money, nice, pickTab, tabs } from './dom.js';
import { toast } from './toast.js';

const lists = { open: 'Open orders', history: 'History', trades: 'Trades', balances: 'Balances' };
const pageSize = 50;
const states = { Pending: 'pending', Created: 'open', PartiallyCompleted: 'partly filled', Completed: 'filled', Canceled: 'canceled', PartiallyExecutedAndCanceled: 'partly filled, canceled' };
const time = (iso) => dayTime(Date.parse(iso));
const head = (name, cls) => el('th', cls ? { scope: 'col', class: cls } : { scope: 'col' }, name);
const data = (text, cls) => el('td', cls ? { class: cls } : {}, text);
const side = (bid) => data(bid ? 'Buy' : 'Sell', bid ? 'up' : 'down');
const num = (text) => (text === null || text === undefined ? '–' : group(text));
// priceOf returns what an order waits for, its price, and whether it waits for another order.
const triggerOf = (o) => `${o.trailingDelta ? 'from' : o.type.startsWith('take') ? 'at' : 'stop'} ${num(o.stopPrice)}`;
const priceOf = (o) => [o.trailingDelta && `trails ${percentOf(o.trailingDelta)}`, o.stopPrice && triggerOf(o), o.price && `${o.stopPrice || o.trailingDelta ? '→ ' : ''}${num(o.price)}`,
  o.status === 'Pending' && 'pending'].filter(Boolean);
// newest sorts orders by time, the newest first; the later of two orders in one moment has the larger id.
const newest = (a, b) => (a.date === b.date ? Number(BigInt(b.id) - BigInt(a.id)) : a.date < b.date ? 1 : -1);
// byList joins the orders of each list, the first one first; the others stay alone.
function byList(rows) {
  const found = new Map();
  for (const o of rows) {
    const name = o.listId ? `list ${o.listId}` : o.id;
    if (found.has(name)) found.get(name).unshift(o); else found.set(name, [o]);
  }
  return [...found.values()];
}
// amountOf returns what an order is for; the amount of one that sells what another buys is 0 until then.
const amountOf = (o) => (o.initialQuoteAmount && !o.initialAmount ? `${group(brief(o.initialQuoteAmount))} ${o.currencyPairCode.split('_')[1]}` : num(+o.initialAmount ? o.initialAmount : null));

export class Orders {
  constructor(account, onPair) {
    Object.assign(this, { account, onPair, tab: 'open', older: { history: 1, trades: 1 }, read: { history: -1, trades: -1 }, rows: { history: [], trades: [] } });
    this.tabs = tabs('list', 'Lists', lists, (name) => this.open(name));
    this.only = el('input', { type: 'checkbox', name: 'thisPair', onchange: () => this.draw() });
    this.all = el('button', { type: 'button', class: 'quiet', 'data-cancel-all': '', onclick: () => this.cancelAll() }, 'Cancel all');
    this.list = el('div', { class: 'scroll', id: 'list', role: 'tabpanel', tabindex: '0' });
    this.node = el('section', { class: 'panel orders', 'data-panel': 'orders', 'aria-label': 'Your orders and balances' },
      el('div', { class: 'bar' }, this.tabs, el('label', { class: 'check' }, this.only, 'This pair'), this.all), this.list);
    account.on((part) => this.changed(part));
    account.stream.listeners.add(() => this.draw());
    document.addEventListener('zone', () => this.draw());
    this.open('open');
  }

  load(pair) { this.pair = pair; this.draw(); }

  changed(part) {
    const shows = { open: 'orders', history: 'past', trades: 'past', balances: 'balances' }[this.tab];
    if (part === 'past' && shows === 'past') this.refresh(); else if (part === shows || part === 'key') this.draw();
    this.tabs.firstChild.textContent = this.account.orders.size ? `${lists.open} (${this.account.orders.size})` : lists.open;
  }

  open(tab) {
    this.tab = tab;
    pickTab(this.tabs, this.list, tab);
    this.draw();
    if (tab === 'history' || tab === 'trades') this.refresh();
  }

  // refresh reads a list of the past again, once for changes that come together.
  refresh() {
    const { tab } = this;
    if (!this.account.signedIn || this.waiting) return;
    this.waiting = setTimeout(async () => {
      this.waiting = undefined;
      if (this.read[tab] === this.account.ended) return;
      const upTo = this.account.ended;
      try {
        this.rows[tab] = await this.page(tab, 1);
        this.read[tab] = upTo;
        this.older[tab] = 1;
        if (this.tab === tab) this.draw();
      } catch (error) { toast('list', 'bad', 'The list could not be loaded', error.message); }
    }, 200);
  }

  async page(tab, number) {
    const query = `pageNumber=${number}&pageSize=${pageSize}&decimals=string`;
    const { body } = await signed('GET', tab === 'history' ? `/api/user/orders?${query}` : `/api/user/deals?${query}`);
    const { kinds } = this.account;
    if (body.some((o) => o.listId && !kinds.has(o.listId))) for (const l of (await signed('GET', '/api/user/lists?status=all&pageSize=100')).body) kinds.set(l.id, l.kind);
    return body;
  }

  async more() {
    const { tab } = this;
    const next = await this.page(tab, ++this.older[tab]);
    const known = new Set(this.rows[tab].map((r) => r.id));
    this.rows[tab].push(...next.filter((r) => !known.has(r.id)));
    this.draw();
  }

  draw() {
    if (this.editing) return; // the end of the edit draws
    const { account, tab } = this, shows = (r) => !this.only.checked || r.currencyPairCode === this.pair;
    this.only.parentNode.hidden = tab === 'balances';
    this.all.hidden = tab !== 'open' || !account.orders.size;
    this.all.disabled = account.stream.up === false;
    if (!account.signedIn) { fill(this.list, el('p', { class: 'empty' }, account.checking ? 'Checking the key pair…' : 'Enter an API key to see your orders, trades and balances.')); return; }
    const { scrollTop } = this.list;
    const rows = tab === 'open' ? [...account.orders.values()].sort(newest) : tab === 'balances' ? [] : this.rows[tab];
    fill(this.list, { open: (r) => this.openOrders(r), history: (r) => this.history(r), trades: (r) => this.trades(r), balances: () => this.balances() }[tab](rows.filter(shows)));
    this.list.scrollTop = scrollTop;
  }

  table(label, heads, rows, none) {
    if (!rows.length) return el('p', { class: 'empty' }, none);
    const more = this.rows[this.tab]?.length >= pageSize * (this.older[this.tab] ?? 0) && this.rows[this.tab].length
      ? el('p', {}, el('button', { type: 'button', class: 'quiet', onclick: () => this.more().catch((e) => toast('list', 'bad', 'The list could not be loaded', e.message)) }, 'Older')) : null;
    return [el('table', { 'aria-label': label }, el('thead', {}, el('tr', {}, heads)), el('tbody', {}, rows)), more];
  }

  link(code) { return el('td', {}, el('button', { type: 'button', class: 'link-like', onclick: () => this.onPair(code) }, nice(code))); }

  openOrders(rows) {
    return this.table('Open orders', [head('Time', 'w2'), head('Pair'), head('Type', 'w2'), head('Side'), head('Price', 'num'), head('Amount', 'num w1'), head('Filled', 'num w1'), head('Action', 'num act')],
      byList(rows).flatMap((o) => (o[0].listId ? this.openList(o) : this.openRow(o[0]))), this.only.checked ? `No open orders in ${nice(this.pair)}.` : 'No open orders.');
  }

  // openList returns the row of a list, and below it those of its open orders: what is canceled is the list.
  openList(legs) {
    const [{ listId, date, currencyPairCode }] = legs;
    return [el('tr', { 'data-list-id': listId }, data(time(date), 'dim w2 parts'), this.link(currencyPairCode), data('List', 'w2'), data(''), data(this.kindOf(listId), 'num'),
      data('', 'w1'), data('', 'w1'), this.cancelCell(`Cancel list ${listId}`, (button) => this.cancel(listId, button, true))),
    ...legs.map((o) => this.openRow(o, true))];
  }

  kindOf(id) { return this.account.kinds.get(id)?.toUpperCase() ?? 'List'; }

  openRow(o, leg = false) {
    return el('tr', { 'data-order': o.id, class: leg && 'leg' }, data(leg ? '' : time(o.date), 'dim w2 parts'), leg ? data('') : this.link(o.currencyPairCode), data(typeOf(o), 'w2'), side(o.isBid),
      this.price(o), data(amountOf(o), 'num w1'), data(num(filledOf(o)), 'num w1'), leg ? data('', 'act') : this.cancelCell(`Cancel order ${o.id}`, (button) => this.cancel(o.id, button)));
  }

  cancelCell(label, cancel) {
    return el('td', { class: 'num act' }, el('button', { type: 'button', class: 'quiet', disabled: this.account.stream.up === false, 'aria-label': label, onclick: (e) => cancel(e.target) }, 'Cancel'));
  }

  price(o) {
    if (!canMove(o) || !this.account.canTrade) return el('td', { class: 'num parts' }, priceOf(o).flatMap((p) => [el('span', {}, p), ' ']), priceOf(o).length ? null : '–');
    const cell = el('td', { class: 'num' }, el('button', { type: 'button', class: 'link-like', title: 'Change the price', 'aria-label': `${num(o.price)}: change the price of order ${o.id}`, onclick: () => this.edit(o, cell) }, num(o.price)));
    return cell;
  }

  history(rows) {
    const past = rows.filter((o) => !isOpen(o));
    return this.table('Order history', [head('Time', 'w1'), head('Pair'), head('Type', 'w2'), head('Side'), head('Price', 'num'), head('Average', 'num w3'), head('Amount', 'num w2'), head('Filled', 'num w1'), head('State')],
      byList(past).flatMap((o) => (o[0].listId ? this.pastList(o) : this.pastRow(o[0]))), 'No past orders yet.');
  }

  pastList(legs) {
    const [{ listId, date, currencyPairCode }] = legs;
    return [el('tr', { 'data-list-id': listId }, data(time(date), 'dim w1'), this.link(currencyPairCode), data('List', 'w2'), data(''), data(this.kindOf(listId), 'num'), data('', 'w3'),
      data('', 'w2'), data('', 'w1'), data([...this.account.orders.values()].some((o) => o.listId === listId) ? 'open' : 'done', 'dim')), ...legs.map((o) => this.pastRow(o, true))];
  }

  pastRow(o, leg = false) {
    const average = o.averagePrice && group(brief(o.averagePrice)), end = endOf(o);
    return el('tr', { 'data-order': o.id, class: leg && 'leg' }, data(leg ? '' : time(o.date), 'dim w1'), leg ? data('') : this.link(o.currencyPairCode), data(typeOf(o), 'w2'), side(o.isBid),
      data(o.price || !average ? num(o.price ?? o.stopPrice) : `avg ${average}`, 'num'), data(average ?? '–', 'num w3'), data(amountOf(o), 'num w2'), data(num(filledOf(o)), 'num w1'),
      data(`${states[o.status] ?? o.status}${end && `: ${end}`}`, 'dim parts'));
  }

  trades(rows) {
    return this.table('Trades', [head('Time', 'w1'), head('Pair'), head('Side'), head('Price', 'num'), head('Amount', 'num'), head('Total', 'num w2'), head('Fee', 'num w3'), head('Order', 'num w3')],
      rows.map((d) => el('tr', { 'data-trade': d.id }, data(time(d.dealDateUtc), 'dim w1'), this.link(d.currencyPairCode), side(d.isUserBuyer), data(num(d.price), 'num'), data(num(d.volume), 'num'),
        data(group((d.price * d.volume).toFixed(2)), 'num w2'), data(d.fee === undefined ? '–' : `${brief(d.fee)} ${d.feeCurrencyCode}`, 'num w3'), data(d.orderId ?? '–', 'num w3'))), 'No trades yet.');
  }

  balances() {
    const all = [...this.account.balances.values()].filter((b) => !/^-?[0.]+$/.test(b.total)).sort((a, b) => (a.currencyCode < b.currencyCode ? -1 : 1));
    return this.table('Balances', [head('Currency'), head('Available', 'num'), head('In orders', 'num'), head('Total', 'num')],
      all.map((b) => el('tr', { 'data-balance': b.currencyCode }, data(b.currencyCode), data(money(b.free), 'num'), data(money(b.held), 'num'), data(money(b.total), 'num'))), 'No balances yet.');
  }

  async cancel(id, button, list = false) {
    button.disabled = true;
    try { await (list ? this.account.cancelList(id) : this.account.cancel(id)); } catch (error) {
      button.disabled = false;
      toast(id, 'bad', list ? 'The list was not canceled' : 'The order was not canceled', error.message);
    }
  }

  // ask lets the user choose whose orders to cancel when orders of other pairs are among them: all, a pair's, or
  // none (an empty text).
  ask(here) {
    const codes = [...this.account.orders.values()].map((o) => o.currencyPairCode), pairs = new Set(codes).size;
    const many = (n) => `${n} open ${n === 1 ? 'order' : 'orders'}`;
    return new Promise((resolve) => {
      const choice = (value, text, cls) => el('button', { type: 'button', value, class: cls, onclick: () => dialog.close(value) }, text);
      const dialog = el('dialog', { class: 'question', 'aria-labelledby': 'question', onclose: () => { dialog.remove(); resolve(dialog.returnValue); } },
        el('h2', { id: 'question' }, pairs > 1 ? `Cancel ${many(codes.length)} in ${pairs} pairs?` : `Cancel ${many(codes.length)} in ${nice(codes[0])}?`),
        el('p', { class: 'dim' }, here ? `${here} of them ${here === 1 ? 'is' : 'are'} in ${nice(this.pair)}, the pair that is shown.` : `None of them is in ${nice(this.pair)}, the pair that is shown.`),
        choice('', 'Keep them'), here ? choice(this.pair, `Cancel those in ${nice(this.pair)}`) : null, choice('all', `Cancel all ${codes.length}`, 'sell'));
      document.body.append(dialog);
      dialog.showModal();
    });
  }

  async cancelAll() {
    const { orders } = this.account, here = [...orders.values()].filter((o) => o.currencyPairCode === this.pair).length;
    const choice = this.only.checked ? this.pair : here === orders.size ? 'all' : await this.ask(here);
    if (!choice) return;
    const pair = choice === 'all' ? undefined : choice;
    this.all.disabled = true;
    try {
      const n = await this.account.cancelAll(pair);
      toast('all', 'info', 'All orders canceled', `${n} open ${n === 1 ? 'order' : 'orders'}${pair ? ` in ${nice(pair)}` : ''}.`);
    } catch (error) { toast('all', 'bad', 'Not all orders were canceled', error.message); }
    this.draw();
  }

  // edit puts a field for a new price in the place of the price.
  edit(o, cell) {
    this.editing = true;
    const end = () => { this.editing = false; this.draw(); };
    const input = el('input', { 'aria-label': `New price of order ${o.id}`, inputmode: 'decimal', autocomplete: 'off', value: o.price, onblur: end, onkeydown: (e) => {
      if (e.key === 'Enter' && input.value.trim() !== o.price) this.account.move(o.id, input.value.trim());
      if (e.key === 'Enter' || e.key === 'Escape') { e.stopPropagation(); input.blur(); this.list.focus(); }
    } });
    fill(cell, input);
    input.select();
  }
}
