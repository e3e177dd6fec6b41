// The head of the market: the pair, which opens the list of pairs, its price and its figures of 24 hours. Only the text
// of a figure that has changed is written, and a figure has always the same number of digits, so nothing trembles.
import { compact, el, group, nice, setText } from './dom.js';
import { percent, sign } from './pairs.js';

const acts = ['pointerdown', 'keydown'];

export class Head {
  constructor(onPairs) {
    this.pair = el('button', { type: 'button', 'aria-expanded': 'false', title: 'Choose a pair (/)', onclick: onPairs });
    this.price = el('span', { class: 'price', id: 'last' });
    this.values = {};
    const item = (name, label) => { const dt = el('dt', {}, label), dd = el('dd'); this.values[name] = { dt, dd }; return el('div', {}, dt, dd); };
    this.node = el('section', { class: 'panel head', 'aria-label': 'Ticker' }, el('h1', {}, this.pair), this.price, el('dl', {},
      item('change', '24 h change'), item('bid', 'Bid'), item('ask', 'Ask'), item('high', '24 h high'), item('low', '24 h low'), item('base', ''), item('quote', '')));
  }

  // draw shows the figures of a pair, of which there are none before the stream's first message of it.
  draw(code, figures) {
    const [base, quote] = code.split('_'), f = figures ?? {}, v = this.values, traded = +f.last_price > 0, or = (text) => (+text > 0 ? group(text) : '–');
    setText(this.pair, nice(code));
    setText(this.price, or(f.last_price));
    this.price.className = `price ${traded ? sign(f.price_change_percent_24h) : 'flat'}`;
    this.price.dataset.price = f.last_price ?? '';
    setText(v.change.dd, traded ? percent(f.price_change_percent_24h) : '–');
    v.change.dd.className = traded ? sign(f.price_change_percent_24h) : '';
    for (const [name, text] of [['bid', f.highest_bid], ['ask', f.lowest_ask], ['high', f.highest_price_24h], ['low', f.lowest_price_24h]]) setText(v[name].dd, or(text));
    for (const [name, currency, text] of [['base', base, f.base_volume], ['quote', quote, f.quote_volume]]) {
      setText(v[name].dt, `24 h volume ${currency}`);
      setText(v[name].dd, text === undefined ? '–' : compact(text));
    }
    this.title = `${or(f.last_price)} ${nice(code)} · TickHive`;
    this.drawTitle();
  }

  drawTitle() { document.title = `${this.marked ? '(!) ' : ''}${this.title}`; }

  // mark marks the title of the tab until the user does something in it.
  mark() {
    this.marked = true;
    const seen = () => { this.marked = false; this.drawTitle(); for (const type of acts) document.removeEventListener(type, seen); };
    for (const type of acts) document.addEventListener(type, seen);
    this.drawTitle();
  }
}
