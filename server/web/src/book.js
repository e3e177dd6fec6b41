// The order book with sums, grouping and depth bars, and the trade tape.
import { canMove } from './account.js';
import { clockTime, compact, dateTime, decimal, digitsOf, el, group, options, product, replayed, setText, units, wait } from './dom.js';
import { Book } from '../../../client/js/book.mjs';

const depths = [100, 1000]; // levels of a side: for prices one by one, for grouped ones and the depth chart
const most = 40; // rows of a side
const rowHeight = 19; // px, as in style.css
const steps = [0, 1, 2, 3]; // powers of ten of the price's last digit

// grouped joins levels into steps of size 10^power of the last digit of a price: bids round down,
// asks up, so no group shows a better price than its levels have.
function grouped(levels, power, up) {
  if (power === 0 || !levels.length) return levels;
  const digits = digitsOf(levels[0][0]), step = 10n ** BigInt(power), amountDigits = digitsOf(levels[0][1]);
  const all = [];
  for (const [price, amount] of levels) {
    const p = units(price), at = up ? (p + step - 1n) / step * step : p / step * step;
    if (all.length && all.at(-1)[0] === at) all.at(-1)[1] += units(amount); else all.push([at, units(amount)]);
  }
  return all.map(([p, a]) => [decimal(p, digits), decimal(a, amountDigits)]);
}

export class Ladder {
  // own returns the open orders of the current pair.
  constructor(stream, onPrice, own) {
    Object.assign(this, { stream, onPrice, own, power: 0, wide: false, inQuote: false, listeners: new Set() });
    this.asks = el('div', { class: 'ask' });
    this.bids = el('div', { class: 'bid' });
    this.kept = new Map([[this.asks, []], [this.bids, []]]); // the rows of each side; the elements are reused
    this.last = el('b', { class: 'last' });
    this.gap = el('span', { class: 'gap dim' });
    this.spread = el('div', { class: 'spread' }, this.last, this.gap);
    this.groups = el('select', { 'aria-label': 'Group prices', onchange: () => { this.power = +this.groups.value; this.subscribe(); this.draw(); } });
    this.sides = el('select', { name: 'sides', 'aria-label': 'Sides of the book', onchange: () => { this.node.dataset.sides = this.sides.value; this.fit(); } },
      options({ both: 'Both', bids: 'Bids', asks: 'Asks' }));
    this.unit = el('button', { type: 'button', class: 'link-like', title: 'Show amounts in the other currency', onclick: () => { this.inQuote = !this.inQuote; this.nameUnit(); this.draw(); } });
    this.node = el('section', { class: 'panel book', 'data-panel': 'book', 'aria-label': 'Order book' },
      el('div', { class: 'bar' }, el('h2', {}, 'Book'), this.sides, this.groups),
      el('div', { class: 'heads' }, this.heads = el('span', {}, 'Price'), el('span', {}, this.unit), el('span', {}, 'Sum')),
      el('div', { class: 'ladder' }, this.asks, this.spread, this.bids));
    this.rows = 10;
    this.redraw = () => this.draw();
    const sizes = new ResizeObserver(() => this.fit());
    for (const side of [this.asks, this.bids]) sizes.observe(side);
  }

  load(pair, digits) {
    if (this.pair) this.stream.unsubscribe('book', this.pair);
    Object.assign(this, { pair, digits, book: new Book(), depth: 0, power: 0 });
    this.groups.replaceChildren(...options(Object.fromEntries(steps.map((p) => [p, decimal(10n ** BigInt(p), digits)]))));
    this.heads.textContent = `Price ${pair.split('_')[1]}`;
    this.nameUnit();
    this.last.textContent = '';
    this.gap.textContent = '';
    wait(this.node, true);
    for (const side of [this.bids, this.asks]) side.replaceChildren();
    this.subscribe();
  }

  nameUnit() { this.unit.textContent = `Amount ${this.pair.split('_')[this.inQuote ? 1 : 0]}`; }

  // subscribe asks for as many levels as are shown.
  subscribe() {
    const depth = this.power > 0 || this.wide ? depths[1] : depths[0];
    if (depth === this.depth) return;
    this.depth = depth;
    this.stream.subscribe('book', this.pair, (m) => this.receive(m), { depth, interval: 100 });
  }

  setWide(on) { this.wide = on; if (this.pair) this.subscribe(); }

  // fit shows as many whole levels as there is room for.
  fit() {
    const rows = Math.min(most, Math.floor(Math.max(this.asks.clientHeight, this.bids.clientHeight) / rowHeight));
    if (!rows || rows === this.rows) return;
    this.rows = rows;
    if (this.book?.ready) this.draw();
  }

  receive(m) {
    if (m.currencyPairCode !== this.pair) return;
    if (m.type === 'heartbeat' && !this.book.ready) return; // the snapshot is on its way
    if (this.book.apply(m) === 'broken') { this.stream.resync('book', this.pair); return; }
    if (m.type !== 'heartbeat') this.stream.afterwards(this.redraw);
  }

  // trade shows the last price and its direction.
  trade(price, up) {
    this.last.textContent = `${group(price)} ${up ? '↑' : '↓'}`;
    this.last.className = `last ${up ? 'up' : 'down'}`;
  }

  draw() {
    if (!this.book?.ready) return;
    const { seq, bids, asks } = this.book;
    const shown = [grouped(bids, this.power, false).slice(0, this.rows), grouped(asks, this.power, true).slice(0, this.rows)].map((side) => (this.inQuote ? side.map(([p, a]) => [p, product(p, a, this.digits + digitsOf(a))]) : side));
    const sums = shown.map((side) => { let sum = 0n; return side.map((l) => (sum += units(l[1]))); });
    const top = Math.max(...sums.map((s) => Number(s.at(-1) ?? 0n)), 1);
    const mine = new Set(this.own().filter(canMove).map((o) => `${o.isBid} ${grouped([[o.price, '0']], this.power, !o.isBid)[0][0]}`));
    this.show(this.bids, shown[0], sums[0], top, (p) => mine.has(`true ${p}`));
    this.show(this.asks, shown[1], sums[1], top, (p) => mine.has(`false ${p}`));
    const gap = bids.length && asks.length ? units(asks[0][0]) - units(bids[0][0]) : null;
    this.gap.textContent = gap === null ? (bids.length || asks.length ? 'one side is empty' : 'the book is empty')
      : `spread ${decimal(gap, this.digits)} · ${(Number(gap) / Number(units(asks[0][0])) * 10000).toFixed(1)} bp`;
    this.node.dataset.seq = seq;
    wait(this.node, false);
    for (const f of this.listeners) f(this.book);
  }

  // show writes levels into the rows of a side, the best next to the spread. A click uses the price
  // that the row shows then.
  show(side, levels, sums, top, mine) {
    const kept = this.kept.get(side), up = side === this.asks, digits = levels.length ? digitsOf(levels[0][1]) : 0;
    while (kept.length < levels.length) {
      const row = { bar: el('i', { class: 'bar' }), price: el('span', { class: 'p' }), amount: el('span'), sum: el('span', { class: 's' }) };
      row.node = el('button', { class: 'row', type: 'button', tabindex: '-1', title: 'Use this price', onclick: () => this.onPrice(row.price.dataset.price, up) },
        row.bar, row.price, row.amount, row.sum);
      kept.push(row);
    }
    while (side.children.length > levels.length) side.lastChild.remove();
    levels.forEach((_, i) => {
      const row = kept[i], at = up ? levels.length - 1 - i : i, [price, amount] = levels[at];
      if (row.node.parentNode !== side) side.append(row.node);
      row.price.textContent = group(price);
      row.price.dataset.price = price;
      row.amount.textContent = this.inQuote ? compact(amount) : group(amount);
      row.sum.textContent = compact(decimal(sums[at], digits));
      row.bar.style.width = `${Math.min(100, (Number(sums[at]) / top) * 100)}%`;
      row.node.classList.toggle('mine', mine(price));
      row.node.tabIndex = (up ? at === 0 : i === 0) ? 0 : -1;
    });
  }
}

export class Tape {
  constructor(stream, onTrade) {
    Object.assign(this, { stream, onTrade, mine: new Set() });
    this.body = el('tbody');
    this.day = el('span', { class: 'dim' }); // of the newest trade of a recording
    this.node = el('section', { class: 'panel tape', 'data-panel': 'tape', 'aria-label': 'Trades' }, el('h2', {}, 'Market trades ', this.day),
      el('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Newest trades' }, el('table', {}, el('thead', {}, el('tr', {},
        el('th', { scope: 'col' }, 'Time'), el('th', { scope: 'col', class: 'num' }, 'Price'), el('th', { scope: 'col', class: 'num' }, 'Amount'))), this.body)));
    document.addEventListener('zone', () => this.body.querySelectorAll('td[data-at]').forEach((td) => { td.textContent = clockTime(+td.dataset.at); }));
  }

  load(pair) {
    if (this.pair) this.stream.unsubscribe('trades', this.pair);
    this.pair = pair;
    this.mine.clear();
    this.body.replaceChildren();
    wait(this.node, true);
    this.stream.subscribe('trades', pair, (m) => {
      if (m.currencyPairCode !== this.pair || !m.trades) return;
      wait(this.node, false);
      if (m.type === 'snapshot') this.body.replaceChildren();
      this.body.prepend(...m.trades.slice(-60).map((t) => this.row(t)).reverse());
      while (this.body.children.length > 60) this.body.lastChild.remove();
      const last = m.trades.at(-1);
      if (last && replayed) setText(this.day, dateTime(Date.parse(last.dealDateUtc)).slice(0, 10));
      if (last) this.onTrade(last);
    });
  }

  // own marks trades of the account, by their ids.
  own(ids) {
    this.mine = new Set(ids);
    for (const row of this.body.children) {
      const mine = this.mine.has(+row.dataset.id);
      row.classList.toggle('mine', mine);
      row.title = mine ? 'Your trade' : '';
    }
  }

  row(t) {
    const at = Date.parse(t.dealDateUtc);
    return el('tr', { 'data-id': String(t.tradeId), class: this.mine.has(t.tradeId) && 'mine', title: this.mine.has(t.tradeId) && 'Your trade' }, el('td', { class: 'dim', 'data-at': String(at) }, clockTime(at)),
      el('td', { class: `num ${t.isBuy ? 'up' : 'down'}` }, group(t.price)), el('td', { class: 'num' }, group(t.volume)));
  }
}
