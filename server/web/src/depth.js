// The depth chart: the cumulative amounts of both sides around the middle price. A click on a price, or Enter at the one that
// the arrow keys chose, fills it into the ticket; the wheel and + and - change the range.
import { brief, compact, css, digitsOf, el, group } from './dom.js';

const zoomStep = 1.25, keyStep = 8; // px
const below = 22, above = 44; // px for the prices, and for the sums of both sides
const text = (value) => compact(value.toFixed(8));
const share = 4; // the first view shows a quarter of the amount that is known of a side: what is far away dwarfs what is near

// sumsOf returns the levels of a side with the amount and the total up to each.
function sumsOf(levels) {
  let amount = 0, total = 0;
  return levels.map(([price, of]) => { amount += +of; total += price * of; return { price: +price, amount, total }; });
}

// marks returns about n round values from zero to most.
function marks(most, n) {
  const step = [1, 2, 5, 10].map((f) => f * 10 ** Math.floor(Math.log10(most / n))).find((s) => most / s <= n + 1);
  return Array.from({ length: Math.floor(most / step) }, (_, i) => (i + 1) * step);
}

export class Depth {
  constructor(onPrice) {
    Object.assign(this, { onPrice, zoom: 1, own: [] });
    const pick = () => { if (this.picked) this.onPrice(this.picked.text); };
    this.canvas = el('canvas', { role: 'slider', tabindex: '0', 'aria-label': 'Price in the depth chart', 'aria-valuenow': '0',
      onpointermove: (e) => this.point(e.offsetX), onpointerleave: () => this.point(undefined), onclick: (e) => { this.point(e.offsetX); pick(); },
      onwheel: (e) => { e.preventDefault(); this.scale(e.deltaY > 0); },
      onkeydown: (e) => {
        const by = { ArrowLeft: -keyStep, ArrowRight: keyStep }[e.key];
        if (by) this.point(Math.max(0, Math.min(this.node.clientWidth, (this.at ?? this.node.clientWidth / 2) + by)));
        else if (e.key === '+' || e.key === '-') this.scale(e.key === '-'); else if (e.key === 'Enter') pick(); else return;
        e.preventDefault();
      } });
    this.tip = el('p', { class: 'tip' });
    this.node = el('div', { class: 'depth', hidden: true }, this.canvas, this.tip);
    new ResizeObserver(() => this.draw()).observe(this.node);
    document.addEventListener('theme', () => this.draw());
  }

  update(book) { this.book = book; if (!this.node.hidden) this.draw(); }

  // load begins with another pair.
  load(pair) { if (pair !== this.pair) Object.assign(this, { pair, book: undefined, zoom: 1, at: undefined }); }

  // setOrders marks the own orders of the pair.
  setOrders(orders) { this.own = orders; if (!this.node.hidden) this.draw(); }

  point(at) { this.at = at; this.draw(); }

  scale(out) { this.zoom = Math.max(0.02, Math.min(50, this.zoom * (out ? zoomStep : 1 / zoomStep))); this.draw(); }

  // draw draws both sides. The view reaches as far on both, and no side ends within it.
  draw() {
    const { canvas, book } = this, ratio = devicePixelRatio, w = this.node.clientWidth, h = this.node.clientHeight;
    if (!w || !h || !book?.ready) return;
    Object.assign(canvas, { width: w * ratio, height: h * ratio });
    const c = canvas.getContext('2d');
    c.scale(ratio, ratio);
    this.picked = undefined;
    if (!book.bids.length || !book.asks.length) { this.tip.textContent = 'One side of the book is empty.'; return; }
    const all = [book.bids, book.asks].map(sumsOf), best = all.map((side) => side[0].price), mid = (best[0] + best[1]) / 2;
    const part = all.map((side) => Math.abs(side.find((l) => l.amount >= side.at(-1).amount / share).price - mid));
    const far = all.map((side) => Math.abs(side.at(-1).price - mid));
    const gap = (best[1] - best[0]) / 2, reach = Math.max(gap * 1.5, Math.min(Math.min(...far), Math.max(Math.min(...part), Math.max(...far) / 50) * this.zoom));
    const sides = all.map((side) => side.filter((l) => Math.abs(l.price - mid) <= reach)), ends = sides.map((s) => s.at(-1) ?? { amount: 0, total: 0 });
    const top = Math.max(...ends.map((l) => l.amount)) || 1, base = h - below;
    const view = { c, w, base, mid, reach, top, digits: digitsOf(book.bids[0][0]), x: (p) => w / 2 + (p - mid) / reach * w / 2, y: (a) => base - a / top * (base - above) };
    sides.forEach((side, i) => this.drawSide(view, side, i, best[i]));
    this.drawAxes(view, ends);
    this.drawOwn(view, sides);
    this.drawPointer(view, sides);
  }

  drawAxes({ c, w, base, mid, reach, top, digits, y }, ends) {
    Object.assign(c, { font: '11px Inter, system-ui, sans-serif', fillStyle: css('--dim'), textAlign: 'right', lineJoin: 'round' });
    for (const amount of marks(top, 4)) {
      Object.assign(c, { lineWidth: 1, strokeStyle: css('--line') });
      c.beginPath(); c.moveTo(0, y(amount)); c.lineTo(w, y(amount)); c.stroke();
      const label = group(brief(amount.toFixed(8)));
      Object.assign(c, { lineWidth: 3, strokeStyle: css('--panel') }); // upon the curve the label has a rim
      c.strokeText(label, w - 4, y(amount) - 4);
      c.fillText(label, w - 4, y(amount) - 4);
    }
    for (const [f, align] of [[-0.98, 'left'], [-0.5, 'center'], [0, 'center'], [0.5, 'center'], [0.98, 'right']]) {
      c.textAlign = align;
      c.fillText(group((mid + f * reach).toFixed(digits)), w / 2 + f * w / 2, base + 16);
    }
    const [base1, quote] = this.pair.split('_');
    ends.forEach((end, i) => {
      Object.assign(c, { textAlign: i ? 'right' : 'left', fillStyle: css(i ? '--down' : '--up') });
      c.fillText(`${i ? 'Asks' : 'Bids'} ${text(end.amount)} ${base1} · ${text(end.total)} ${quote}`, i ? w - 4 : 4, 30);
    });
  }

  drawSide({ c, w, base, x, y }, side, i, best) {
    c.beginPath();
    c.moveTo(x(best), base);
    let before = 0;
    for (const { price, amount } of side) { c.lineTo(x(price), y(before)); c.lineTo(x(price), y(amount)); before = amount; }
    const edge = i ? w : 0;
    c.lineTo(edge, y(before));
    Object.assign(c, { strokeStyle: css(i ? '--down' : '--up'), lineWidth: 1.5, fillStyle: css(i ? '--down-soft' : '--up-soft') });
    c.stroke();
    c.lineTo(edge, base);
    c.closePath();
    c.globalAlpha = 0.7;
    c.fill();
    c.globalAlpha = 1;
  }

  drawOwn({ c, mid, reach, base, x, y }, sides) {
    Object.assign(c, { fillStyle: css('--accent'), strokeStyle: css('--accent'), lineWidth: 1 });
    const shown = this.own.filter((o) => Math.abs(o.price - mid) <= reach);
    for (const o of shown) {
      const level = sides[o.isBid ? 0 : 1].findLast((l) => (o.isBid ? l.price >= o.price : l.price <= o.price)), at = y(level?.amount ?? 0);
      c.beginPath(); c.moveTo(x(+o.price), base); c.lineTo(x(+o.price), at); c.stroke();
      c.beginPath(); c.arc(x(+o.price), at, 4, 0, 7); c.fill();
    }
    this.canvas.dataset.own = String(shown.length);
  }

  drawPointer({ c, w, mid, reach, base, digits, y }, sides) {
    if (this.at === undefined) { this.tip.textContent = ''; return; }
    const price = mid + (this.at - w / 2) / (w / 2) * reach, bid = price < mid, level = sides[bid ? 0 : 1].findLast((l) => (bid ? l.price >= price : l.price <= price));
    const [base1, quote] = this.pair.split('_'), own = this.own.filter((o) => Math.abs(o.price - price) / reach * w / 2 <= 4);
    Object.assign(c, { strokeStyle: css('--dim'), fillStyle: css(bid ? '--up' : '--down'), lineWidth: 1 });
    c.beginPath(); c.moveTo(this.at, above); c.lineTo(this.at, base); c.stroke();
    c.beginPath(); c.arc(this.at, y(level?.amount ?? 0), 4, 0, 7); c.fill();
    this.picked = { text: price.toFixed(digits) };
    this.tip.textContent = `${group(this.picked.text)} ${quote} (${((price / mid - 1) * 100).toFixed(2)} %): ${text(level?.amount ?? 0)} ${base1} for ${text(level?.total ?? 0)} ${quote}${own.length ? `, ${own.length} own` : ''}`;
    this.canvas.setAttribute('aria-valuenow', this.picked.text);
    this.canvas.setAttribute('aria-valuetext', this.tip.textContent);
  }
}
