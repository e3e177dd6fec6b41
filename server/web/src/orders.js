// The account's lists over all pairs: open orders, order history, trades and balances.
import { signed } from './api.js';
import { endOf, filledOf, percentOf, typeOf } from './account.js';
import { answer, ask, brief, dayTime, decimal, digitsOf, el, fill, group, money, nice, options, pickTab, product, table, tabs, units, wait } from './dom.js';
import { Filter } from './filter.js';
import { toast } from './toast.js';

const lists = { open: 'Open orders', history: 'History', trades: 'Trades', balances: 'Balances' };
const pageSize = 50;
const states = { Pending: 'pending', Created: 'open', PartiallyCompleted: 'partly filled', Completed: 'filled', Canceled: 'canceled', PartiallyExecutedAndCanceled: 'partly filled, canceled' };
const time = (iso) => { const [day, clock] = dayTime(Date.parse(iso)).split(' '); return el('td', { class: 'dim parts' }, el('span', {}, day), ' ', el('span', {}, clock)); };
const head = (name, cls) => el('th', cls ? { scope: 'col', class: cls } : { scope: 'col' }, name);
const data = (text, cls) => el('td', cls ? { class: cls } : {}, text);
const side = (bid) => data(bid ? 'Buy' : 'Sell', bid ? 'up' : 'down');
const num = (text) => (text === null || text === undefined ? '–' : group(text));
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
  // worth tells what currencies are worth; onWorth receives the pairs by whose prices the balances are shown.
  constructor(account, onPair, worth, onWorth) {
    Object.assign(this, { account, onPair, worth, onWorth, tab: 'open', next: {}, read: { history: -1, trades: -1 }, rows: { history: [], trades: [] } });
    this.tabs = tabs('list', 'Lists', lists, (name) => this.open(name));
    this.only = el('input', { type: 'checkbox', name: 'thisPair', onchange: () => this.refilter() });
    this.all = el('button', { type: 'button', class: 'quiet', 'data-cancel-all': '', onclick: () => this.cancelAll() }, 'Cancel all');
    this.filter = new Filter(() => this.refilter());
    this.filter.onDownload = () => this.download();
    this.quote = el('select', { name: 'worthIn', 'aria-label': 'Value in', onchange: () => { localStorage.setItem('worth', this.quote.value); this.draw(); } }, options(worth.quotes));
    const saved = localStorage.getItem('worth');
    if (worth.quotes.includes(saved)) this.quote.value = saved;
    this.list = el('div', { class: 'scroll', id: 'list', role: 'tabpanel', tabindex: '0' });
    this.node = el('section', { class: 'panel orders', 'data-panel': 'orders', 'aria-label': 'Your orders and balances' },
      el('div', { class: 'bar' }, this.tabs, el('label', { class: 'check' }, this.only, 'This pair'), this.quote, this.all), this.filter.node, this.list);
    account.on((part) => this.changed(part));
    account.stream.listeners.add(() => this.draw());
    document.addEventListener('zone', () => this.refilter());
    this.open('open');
  }

  load(pair) { this.pair = pair; if (this.only.checked) this.refilter(); else this.draw(); }

  changed(part) {
    const shows = { open: 'orders', history: 'past', trades: 'past', balances: 'balances' }[this.tab];
    if (part === 'past' && shows === 'past') this.refresh(); else if (part === shows || part === 'key') this.draw();
    this.tabs.firstChild.textContent = this.account.orders.size ? `${lists.open} (${this.account.orders.size})` : lists.open;
  }

  open(tab) {
    this.tab = tab;
    pickTab(this.tabs, this.list, tab);
    this.draw();
    this.refresh();
  }

  // refilter reads the lists of the past anew, since another choice of their rows is wanted.
  refilter() {
    this.read = { history: -1, trades: -1 };
    this.draw();
    this.refresh();
  }

  // refresh reads a list of the past again, once for changes that come together.
  refresh() {
    if (!this.account.signedIn || this.waiting || !Object.hasOwn(this.rows, this.tab)) return;
    this.waiting = setTimeout(async () => {
      this.waiting = undefined;
      const { tab } = this, upTo = this.account.ended;
      if (this.read[tab] === upTo) return;
      const asked = this.target(tab);
      try {
        const rows = await this.page(tab);
        if (asked !== this.target(tab)) { this.refresh(); return; } // another choice was made meanwhile
        this.rows[tab] = rows;
        this.read[tab] = upTo;
        if (this.tab === tab) this.draw();
      } catch (error) {
        wait(this.node, false);
        toast('list', 'bad', 'The list could not be loaded', error.message);
      }
    }, 200);
  }

  // target returns the request for a page of a list of the past.
  target(tab, more = {}) { return this.filter.target(tab, this.only.checked ? this.pair : undefined, { pageSize, decimals: 'string', ...more }); }

  async page(tab, cursor) {
    const { body, headers } = await signed('GET', this.target(tab, cursor && { cursor }));
    const { kinds } = this.account;
    if (body.some((o) => o.listId && !kinds.has(o.listId))) for (const l of (await signed('GET', '/api/user/lists?status=all&pageSize=100')).body) kinds.set(l.id, l.kind);
    this.next[tab] = headers.get('X-Next-Cursor');
    return body;
  }

  async more() {
    const { tab } = this;
    this.rows[tab].push(...await this.page(tab, this.next[tab]));
    this.draw();
  }

  async download() {
    const { csv } = this.filter;
    csv.disabled = true;
    try {
      if (await this.filter.download(this.tab, this.only.checked ? this.pair : undefined)) toast('csv', 'warn', 'The file has the newest 20 000 rows.', 'The command tickhive export reads all.');
    } catch (error) { toast('csv', 'bad', 'The file could not be made', error.message); }
    csv.disabled = false;
  }

  draw() {
    if (this.editing) return; // the end of the edit draws
    const { account, tab } = this, past = Object.hasOwn(this.rows, tab);
    this.only.parentNode.hidden = tab === 'balances';
    this.quote.hidden = tab !== 'balances';
    this.filter.show(account.signedIn ? tab : '');
    this.all.hidden = tab !== 'open' || !account.orders.size;
    this.all.disabled = account.stream.up === false;
    const waits = account.signedIn && !{ open: account.following, balances: account.counted }[tab] && !(this.read[tab] >= 0);
    wait(this.node, waits);
    if (waits) { fill(this.list); return; }
    if (!account.signedIn) { fill(this.list, el('p', { class: 'empty' }, account.checking ? 'Checking the key pair…' : 'Enter an API key to see your orders, trades and balances.')); return; }
    const { scrollTop } = this.list;
    const rows = tab === 'open' ? [...account.orders.values()].filter((o) => !this.only.checked || o.currencyPairCode === this.pair).sort(newest) : past ? this.rows[tab] : [];
    fill(this.list, { open: () => this.openOrders(rows), history: () => this.history(rows), trades: () => this.trades(rows), balances: () => this.balances() }[tab]());
    this.list.scrollTop = scrollTop;
  }

  // table makes a table, or says that there is nothing.
  table(label, heads, rows, none) {
    if (!rows.length) return el('p', { class: 'empty' }, none);
    const more = this.next[this.tab] ? el('p', {}, el('button', { type: 'button', class: 'quiet', onclick: () => this.more().catch((e) => toast('list', 'bad', 'The list could not be loaded', e.message)) }, 'Older')) : null;
    return [table(label, heads, rows), more];
  }

  link(code) { return el('td', {}, el('button', { type: 'button', class: 'link-like', onclick: () => this.onPair(code) }, nice(code))); }

  openOrders(rows) {
    return this.table('Open orders', [head('Time'), head('Pair'), head('Type'), head('Side'), head('Price', 'num'), head('Amount', 'num'), head('Filled', 'num'), head('Action', 'num act')],
      byList(rows).flatMap((o) => (o[0].listId ? this.openList(o) : this.openRow(o[0]))), this.only.checked ? `No open orders in ${nice(this.pair)}.` : 'No open orders.');
  }

  // openList returns the row of a list, and below it those of its open orders: what is canceled is the list.
  openList(legs) {
    const [{ listId, date, currencyPairCode }] = legs;
    return [el('tr', { 'data-list-id': listId, class: 'list' }, time(date), this.link(currencyPairCode), data('List'), data(''), data(this.kindOf(listId), 'num'),
      data(''), data(''), this.cancelCell(`Cancel list ${listId}`, (button) => this.cancel(listId, button, true))),
    ...legs.map((o) => this.openRow(o, true))];
  }

  kindOf(id) { return this.account.kinds.get(id)?.toUpperCase() ?? 'List'; }

  openRow(o, leg = false) {
    return el('tr', { 'data-order': o.id, class: leg && 'leg' }, leg ? data('') : time(o.date), leg ? data('') : this.link(o.currencyPairCode), data(typeOf(o), 'parts'), side(o.isBid),
      this.price(o), this.amount(o), data(num(filledOf(o)), 'num'), leg ? data('', 'act') : this.cancelCell(`Cancel order ${o.id}`, (button) => this.cancel(o.id, button)));
  }

  cancelCell(label, cancel) {
    return el('td', { class: 'num act' }, el('button', { type: 'button', class: 'quiet', disabled: this.account.stream.up === false, 'aria-label': label, onclick: (e) => cancel(e.target) }, 'Cancel'));
  }

  // drawWorth shows the balances by the newest prices.
  drawWorth() { if (this.tab === 'balances') this.draw(); }

  // change returns a button that puts a field in its place, for a new value of a member of the order. Text around the value stays.
  change(o, member, name, before = '') {
    const text = `${before}${num(o[member])}`, { canTrade, stream } = this.account;
    const mayChange = member === 'stopPrice' ? o.isTriggered === false : member === 'initialAmount' ? o.initialAmount !== null && +o.initialAmount > 0 : o.price !== null;
    if (!mayChange || o.status === 'Pending' || !canTrade || stream.up === false) return el('span', {}, text);
    const button = el('button', { type: 'button', class: 'link-like', title: `Change the ${name}`, 'aria-label': `${text}: change the ${name} of order ${o.id}`, onclick: () => this.edit(o, button, member, name) }, text);
    return button;
  }

  // price returns what an order waits for, its price, and whether it waits for another order.
  price(o) {
    const stop = o.trailingDelta ? 'from ' : o.type.startsWith('take') ? 'at ' : 'stop ';
    const parts = [o.trailingDelta && el('span', {}, `trails ${percentOf(o.trailingDelta)}`), o.stopPrice && this.change(o, 'stopPrice', 'stop price', stop),
      o.price && this.change(o, 'price', 'price', o.stopPrice || o.trailingDelta ? '→ ' : ''), o.status === 'Pending' && el('span', {}, 'pending')].filter(Boolean);
    return el('td', { class: 'num parts' }, parts.length ? parts.flatMap((p) => [p, ' ']) : '–');
  }

  amount(o) { return o.initialAmount !== null && +o.initialAmount ? el('td', { class: 'num' }, this.change(o, 'initialAmount', 'amount')) : data(amountOf(o), 'num'); }

  none(text) { return this.filter.active || this.only.checked ? `${text.replace(' yet', '')} The filter leaves out the others.`.replace('..', '.') : text; }

  history(rows) {
    return this.table('Order history', [head('Time'), head('Pair'), head('Type'), head('Side'), head('Price', 'num'), head('Average', 'num'), head('Amount', 'num'), head('Filled', 'num'), head('State')],
      byList(rows).flatMap((o) => (o[0].listId ? this.pastList(o) : this.pastRow(o[0]))), this.none('No past orders yet.'));
  }

  pastList(legs) {
    const [{ listId, date, currencyPairCode }] = legs;
    return [el('tr', { 'data-list-id': listId, class: 'list' }, time(date), this.link(currencyPairCode), data('List'), data(''), data(this.kindOf(listId), 'num'), data(''),
      data(''), data(''), data([...this.account.orders.values()].some((o) => o.listId === listId) ? 'open' : 'done', 'dim')), ...legs.map((o) => this.pastRow(o, true))];
  }

  pastRow(o, leg = false) {
    const average = o.averagePrice && group(brief(o.averagePrice)), end = endOf(o);
    return el('tr', { 'data-order': o.id, class: leg && 'leg' }, leg ? data('') : time(o.date), leg ? data('') : this.link(o.currencyPairCode), data(typeOf(o), 'parts'), side(o.isBid),
      data(o.price || !average ? num(o.price ?? o.stopPrice) : `avg ${average}`, 'num'), data(average ?? '–', 'num'), data(amountOf(o), 'num'), data(num(filledOf(o)), 'num'),
      data(`${states[o.status] ?? o.status}${end && `: ${end}`}`, 'dim parts'));
  }

  trades(rows) {
    const fee = (d) => (d.fee === undefined ? '–' : `${brief(d.fee)} ${d.feeCurrencyCode}`);
    return this.table('Trades', [head('Time'), head('Pair'), head('Side'), head('Price', 'num'), head('Amount', 'num'), head('Total', 'num'), head('Fee', 'num'), head('Role'), head('Order', 'num wide-only')],
      rows.map((d) => el('tr', { 'data-trade': d.id }, time(d.dealDateUtc), this.link(d.currencyPairCode), side(d.isUserBuyer), data(num(d.price), 'num'), data(num(d.volume), 'num'),
        data(num(product(d.price, d.volume, digitsOf(d.price))), 'num'), data(fee(d), 'num'), data(d.isMaker ? 'maker' : 'taker', 'dim'), data(d.orderId ?? '–', 'num dim wide-only'))), this.none('No trades yet.'));
  }

  // balances shows what each currency is worth in the chosen one, and all of them together.
  balances() {
    const quote = this.quote.value, pairs = new Set(), digits = 2, rate = (code) => this.worth.of(code, quote, pairs);
    const all = [...this.account.balances.values()].filter((b) => !/^-?[0.]+$/.test(b.total)).map((b) => { const one = rate(b.currencyCode); return { ...b, value: one && product(b.total, one, 8) }; });
    const known = all.filter((b) => b.value), sum = known.reduce((s, b) => s + units(b.value), 0n);
    all.sort((a, b) => (units(b.value ?? '0') > units(a.value ?? '0') ? 1 : -1) || (a.currencyCode < b.currencyCode ? -1 : 1));
    if ([...pairs].sort().join() !== this.pricing) { this.pricing = [...pairs].sort().join(); this.onWorth(pairs); }
    const shown = (value) => (value ? group(product(value, '1', digits)) : '–');
    const list = this.table('Balances', [head('Currency'), head('Available', 'num'), head('In orders', 'num'), head('Total', 'num'), head(`Value ${quote}`, 'num'), head('Share', 'num')],
      all.map((b) => el('tr', { 'data-balance': b.currencyCode }, data(b.currencyCode), data(money(b.free), 'num'), data(money(b.held), 'num'), data(money(b.total), 'num'), data(shown(b.value), 'num'),
        data(b.value && sum > 0n ? `${Number(units(b.value) * 1000n / sum) / 10} %` : '–', 'num dim'))), 'No balances yet.');
    if (!all.length) return list;
    return [el('p', { class: 'worth' }, 'Portfolio ≈ ', el('b', {}, `${group(product(decimal(sum, 8), '1', digits))} ${quote}`),
      known.length < all.length ? el('span', { class: 'dim' }, ` without ${all.filter((b) => !b.value).map((b) => b.currencyCode).join(', ')}, which no pair prices`) : null), list].flat();
  }

  async cancel(id, button, list = false) {
    button.disabled = true;
    try { await (list ? this.account.cancelList(id) : this.account.cancel(id)); } catch (error) {
      button.disabled = false;
      toast(id, 'bad', list ? 'The list was not canceled' : 'The order was not canceled', error.message);
    }
  }

  // whose lets the user choose whose orders to cancel when orders of other pairs are among them: all, a pair's, or
  // none (an empty text).
  whose(here) {
    const codes = [...this.account.orders.values()].map((o) => o.currencyPairCode), pairs = new Set(codes).size;
    const many = (n) => `${n} open ${n === 1 ? 'order' : 'orders'}`;
    return ask('canceling', pairs > 1 ? `Cancel ${many(codes.length)} in ${pairs} pairs?` : `Cancel ${many(codes.length)} in ${nice(codes[0])}?`,
      el('p', { class: 'dim' }, here ? `${here} of them ${here === 1 ? 'is' : 'are'} in ${nice(this.pair)}, the pair that is shown.` : `None of them is in ${nice(this.pair)}, the pair that is shown.`),
      answer('', 'Keep them'), here ? answer(this.pair, `Cancel those in ${nice(this.pair)}`) : null, answer('all', `Cancel all ${codes.length}`, { class: 'sell' }));
  }

  async cancelAll() {
    const { orders } = this.account, here = [...orders.values()].filter((o) => o.currencyPairCode === this.pair).length;
    const choice = this.only.checked ? this.pair : here === orders.size ? 'all' : await this.whose(here);
    if (!choice) return;
    const pair = choice === 'all' ? undefined : choice;
    this.all.disabled = true;
    try {
      const n = await this.account.cancelAll(pair);
      toast('all', 'info', 'All orders canceled', `${n} open ${n === 1 ? 'order' : 'orders'}${pair ? ` in ${nice(pair)}` : ''}.`);
    } catch (error) { toast('all', 'bad', 'Not all orders were canceled', error.message); }
    this.draw();
  }

  // edit puts a field for a new value in the place of the value.
  edit(o, place, member, name) {
    this.editing = true;
    const end = () => { this.editing = false; this.draw(); };
    const sent = member === 'initialAmount' ? 'amount' : member;
    const input = el('input', { 'aria-label': `New ${name} of order ${o.id}`, inputmode: 'decimal', autocomplete: 'off', value: o[member], onblur: end, onkeydown: (e) => {
      if (e.key === 'Enter' && input.value.trim() !== o[member]) this.account.move(o.id, input.value.trim(), sent);
      if (e.key === 'Enter' || e.key === 'Escape') { e.stopPropagation(); input.blur(); this.list.focus(); }
    } });
    place.replaceWith(input);
    input.select();
  }
}
