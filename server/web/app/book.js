// The order book with depth bars, and the trade tape.
import { brief, clockTime, el } from './dom.js';
import { Book } from './stream.js';

const depth = 25; // levels a side that are asked for, the most that are shown
const rowHeight = 21; // px, as in style.css

export class Ladder {
  constructor(stream, onPrice) {
    this.stream = stream;
    this.onPrice = onPrice;
    this.asks = el('div', { class: 'ask' });
    this.bids = el('div', { class: 'bid' });
    this.kept = new Map([[this.asks, []], [this.bids, []]]); // rows, which stay the same elements
    this.spread = el('div', { class: 'spread' });
    this.node = el('section', { class: 'panel book', 'data-panel': 'book', 'aria-label': 'Order book' },
      el('h2', {}, 'Order book'), el('div', { class: 'ladder' }, this.asks, this.spread, this.bids));
    this.rows = depth;
    new ResizeObserver(() => this.fit()).observe(this.asks);
  }

  load(pair) {
    if (this.pair) this.stream.unsubscribe('book', this.pair);
    this.pair = pair;
    this.book = new Book();
    this.stream.subscribe('book', pair, (m) => this.receive(m), { depth, interval: 100 });
  }

  // fit shows as many levels as there is room for, whole ones only.
  fit() {
    const rows = Math.min(depth, Math.floor(this.asks.clientHeight / rowHeight));
    if (!rows || rows === this.rows) return;
    this.rows = rows;
    if (this.book?.ready) this.draw();
  }

  receive(m) {
    if (m.currencyPairCode !== this.pair) return;
    if (!this.book.apply(m)) { this.stream.resync('book', this.pair); return; }
    if (m.type === 'heartbeat' || this.drawing) return;
    this.drawing = true;
    setTimeout(() => { this.drawing = false; this.draw(); }, 50);
  }

  draw() {
    const { seq } = this.book;
    const bids = this.book.bids.slice(0, this.rows), asks = this.book.asks.slice(0, this.rows);
    const top = Math.max(...bids.concat(asks).map((l) => +l[1]), 1e-18);
    this.show(this.bids, bids, top);
    this.show(this.asks, asks.slice().reverse(), top);
    const best = bids.length && asks.length ? +asks[0][0] - +bids[0][0] : null;
    this.spread.textContent = best === null ? 'one side is empty' : `spread ${best.toPrecision(4)} · ${(best / +asks[0][0] * 10000).toFixed(1)} bp`;
    this.node.dataset.seq = seq;
  }

  // show writes levels into a side's rows. A click uses the level that the row shows at that time.
  show(side, levels, top) {
    const kept = this.kept.get(side);
    while (kept.length < levels.length) {
      const row = { bar: el('i', { class: 'bar' }), price: el('span', { class: 'p' }), amount: el('span') };
      row.node = el('button', { class: 'row', type: 'button', title: 'Use this price', onclick: () => this.onPrice(row.price.textContent) },
        row.bar, row.price, row.amount);
      kept.push(row);
    }
    while (side.children.length > levels.length) side.lastChild.remove();
    levels.forEach(([price, amount], i) => {
      const row = kept[i];
      if (row.node.parentNode !== side) side.append(row.node);
      row.price.textContent = price;
      row.amount.textContent = brief(amount);
      row.bar.style.width = `${Math.min(100, (+amount / top) * 100)}%`;
    });
  }
}

export class Tape {
  constructor(stream) {
    this.stream = stream;
    this.body = el('tbody');
    this.node = el('section', { class: 'panel tape', 'data-panel': 'tape', 'aria-label': 'Trades' }, el('h2', {}, 'Trades'),
      el('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Newest trades' }, el('table', {}, el('thead', {}, el('tr', {},
        el('th', { scope: 'col' }, 'Time'), el('th', { scope: 'col', class: 'num' }, 'Price'), el('th', { scope: 'col', class: 'num' }, 'Amount'))), this.body)));
  }

  load(pair) {
    if (this.pair) this.stream.unsubscribe('trades', this.pair);
    this.pair = pair;
    this.stream.subscribe('trades', pair, (m) => {
      if (m.currencyPairCode !== this.pair || !m.trades) return;
      if (m.type === 'snapshot') this.body.replaceChildren();
      this.body.prepend(...m.trades.map((t) => this.row(t)).reverse());
      while (this.body.children.length > 60) this.body.lastChild.remove();
    });
  }

  row(t) {
    return el('tr', { 'data-id': String(t.tradeId) }, el('td', { class: 'dim' }, clockTime(Date.parse(t.dealDateUtc))),
      el('td', { class: `num ${t.isBuy ? 'up' : 'down'}` }, t.price), el('td', { class: 'num' }, brief(t.volume)));
  }
}
