// The depth chart: cumulative amounts of both sides around the middle price.
import { el, group } from './dom.js';

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const share = 0.8; // of the farther of both sides' shown range is drawn

export class Depth {
  constructor() {
    this.canvas = el('canvas', { role: 'img', 'aria-label': 'Depth chart', tabindex: '-1' });
    this.tip = el('p', { class: 'tip dim' });
    this.node = el('div', { class: 'depth', hidden: true }, this.canvas, this.tip);
    new ResizeObserver(() => this.draw()).observe(this.node);
    document.addEventListener('theme', () => this.draw());
    this.canvas.addEventListener('pointermove', (e) => { this.at = e.offsetX; this.draw(); });
    this.canvas.addEventListener('pointerleave', () => { this.at = undefined; this.draw(); });
  }

  update(book) { this.book = book; if (!this.node.hidden) this.draw(); }

  draw() {
    const { canvas, book } = this, ratio = devicePixelRatio, w = this.node.clientWidth, h = this.node.clientHeight;
    if (!w || !h || !book?.ready) return;
    Object.assign(canvas, { width: w * ratio, height: h * ratio });
    const c = canvas.getContext('2d');
    c.scale(ratio, ratio);
    this.tip.textContent = '';
    if (!book.bids.length || !book.asks.length) { this.tip.textContent = 'One side of the book is empty.'; return; }
    const best = [+book.bids[0][0], +book.asks[0][0]], mid = (best[0] + best[1]) / 2;
    const reach = Math.max(mid - book.bids.at(-1)[0], book.asks.at(-1)[0] - mid) * share || mid / 100;
    const sides = [book.bids, book.asks].map((levels) => { let sum = 0; return levels.map(([p, a]) => [+p, (sum += +a)]).filter(([p]) => Math.abs(p - mid) <= reach); });
    const top = Math.max(...sides.map((s) => s.at(-1)?.[1] ?? 0)) * 1.1 || 1, base = h - 22;
    const x = (p) => w / 2 + (p - mid) / reach * w / 2, y = (a) => base - a / top * (base - 8);
    sides.forEach((side, i) => {
      c.beginPath();
      c.moveTo(x(best[i]), base);
      let before = 0;
      for (const [p, a] of side) { c.lineTo(x(p), y(before)); c.lineTo(x(p), y(a)); before = a; }
      const edge = i ? w : 0;
      c.lineTo(edge, y(before));
      c.strokeStyle = css(i ? '--down' : '--up');
      c.lineWidth = 1.5;
      c.stroke();
      c.lineTo(edge, base);
      c.closePath();
      c.fillStyle = css(i ? '--down-soft' : '--up-soft');
      c.fill();
    });
    c.fillStyle = css('--dim');
    c.font = '11px system-ui, sans-serif';
    const digits = (book.bids[0][0].split('.')[1] ?? '').length;
    for (const [f, align] of [[-0.98, 'left'], [-0.5, 'center'], [0, 'center'], [0.5, 'center'], [0.98, 'right']]) {
      c.textAlign = align;
      c.fillText(group((mid + f * reach).toFixed(digits)), w / 2 + f * w / 2, h - 6);
    }
    if (this.at === undefined) return;
    const price = mid + (this.at - w / 2) / (w / 2) * reach, side = sides[price < mid ? 0 : 1];
    const sum = side.filter(([p]) => (price < mid ? p >= price : p <= price)).at(-1)?.[1] ?? 0;
    c.strokeStyle = css('--dim');
    c.beginPath(); c.moveTo(this.at, 0); c.lineTo(this.at, base); c.stroke();
    this.tip.textContent = `${group(price.toFixed(digits))}: ${group(sum.toPrecision(6))} (${((price / mid - 1) * 100).toFixed(2)} %)`;
  }
}
