// The chart of a token: the candles of its pool's price.
import { Candles, bar, intervals } from './candles.js';
import { el } from './dom.js';

const most = 1000; // candles that are drawn

// after returns the start of the interval behind the one that starts at a time.
function after(time, interval) {
  const d = new Date(time * 1000), year = d.getUTCFullYear();
  if (interval === 'month') return Date.UTC(year, d.getUTCMonth() + 1) / 1000;
  return interval === 'year' ? Date.UTC(year + 1) / 1000 : time + intervals[interval][1];
}

// filled puts a flat candle into each interval between two in which nobody swapped: the price of a pool stands meanwhile. Of
// many candles it keeps the newest.
function filled(bars, interval) {
  const all = [];
  bars.forEach((b, i) => {
    const until = bars[i + 1]?.time, span = intervals[interval][1];
    all.push(b);
    for (let t = Math.max(after(b.time, interval), until - most * span); t < until; t = after(t, interval)) all.push({ time: t, open: b.close, high: b.close, low: b.close, close: b.close, volume: 0 });
  });
  return all.slice(-most);
}

const five = /^0\.(0*)/; // a price below 1 has five digits behind its zeros, another one four behind its point

export class TokenChart extends Candles {
  // onInterval is called when the user has picked another interval.
  constructor(onInterval) {
    super((interval) => { this.choose(interval); onInterval(); });
    this.choose('hour');
    this.stage.append(this.none = el('p', { class: 'none', role: 'status' }));
    this.node = el('section', { class: 'plot', 'aria-label': 'Chart' }, el('div', { class: 'tools' }, this.spans), this.stage);
  }

  mount(library) {
    super.mount(library);
    this.chart.priceScale('right').applyOptions({ scaleMargins: { top: 0.16, bottom: 0.2 } }); // its legend may have two lines
    this.paint();
    this.zoned();
  }

  // show draws the candles of a token in the interval that is chosen. The view stays where it is if they are of the same.
  show(address, rows) {
    const of = `${address} ${this.interval}`, before = this.of, zeros = five.exec(rows.at(-1)?.close);
    this.of = of;
    this.digits = zeros ? zeros[1].length + 5 : 4;
    this.none.textContent = rows.length ? '' : 'There is no price yet: the pool is empty.';
    if (rows.length && rows.every((c) => !+c.volume)) this.none.textContent = 'Nobody has bought or sold this token yet.';
    this.draw(filled(rows.map(bar), this.interval));
    if (of !== before) this.spreadOut();
  }
}
