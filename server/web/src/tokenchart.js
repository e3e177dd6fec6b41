// The chart of a token: the candles of its pool's price.
import { Candles, bar } from './candles.js';
import { el } from './dom.js';

const five = /^0\.(0*)/; // a price below 1 has five digits behind its zeros, another one four behind its point

export class TokenChart extends Candles {
  // onInterval is called when the user has picked another interval.
  constructor(onInterval) {
    super((interval) => { this.choose(interval); onInterval(); });
    this.choose('minute');
    this.stage.append(this.none = el('p', { class: 'none', role: 'status' }));
    this.node = el('section', { class: 'plot', 'aria-label': 'Chart' }, el('div', { class: 'tools' }, this.spans), this.stage);
  }

  mount(library) {
    super.mount(library);
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
    this.draw(rows.map(bar));
    if (of !== before) this.spreadOut();
  }
}
