// The list of pairs: search, order, and 24 h figures.
import { brief, el, group } from './dom.js';

export const sign = (percent) => (percent.startsWith('-') ? 'down' : 'up');
export const percent = (text) => `${text.startsWith('-') ? '' : '+'}${(+text).toFixed(2)} %`;

// plain drops the separators that people type between the two currencies.
const plain = (text) => text.toUpperCase().replace(/[^A-Z0-9]/g, '');
const orders = {
  volume: ['Volume', (f) => -f.quote_volume], gain: ['Gain', (f) => -f.price_change_percent_24h],
  loss: ['Loss', (f) => +f.price_change_percent_24h], name: ['Name', () => 0],
};
const setText = (node, text) => { if (node.textContent !== text) node.textContent = text; };

export class PairList {
  // figures holds the rows of /api/summary by pair; the owner updates it.
  constructor(codes, figures, onPick) {
    Object.assign(this, { figures, onPick });
    this.rows = new Map([...codes].sort().map((code) => [code, this.row(code)]));
    this.search = el('input', {
      type: 'search', placeholder: 'Search', 'aria-label': 'Search pairs', autocomplete: 'off', spellcheck: 'false',
      oninput: () => this.filter(), onkeydown: (e) => this.searchKey(e),
    });
    this.order = el('select', { 'aria-label': 'Order of the pairs', onchange: () => { localStorage.setItem('order', this.order.value); this.sort(); } },
      Object.entries(orders).map(([value, [label]]) => el('option', { value }, label)));
    const saved = localStorage.getItem('order');
    if (Object.hasOwn(orders, saved)) this.order.value = saved;
    this.none = el('p', { class: 'none dim', role: 'status' });
    this.list = el('div', { class: 'pairlist', onkeydown: (e) => this.listKey(e) });
    this.node = el('section', { class: 'panel pairs', 'data-panel': 'pairs', 'aria-label': 'Pairs' },
      el('div', { class: 'find' }, this.search, this.order), this.none, this.list);
    this.sort();
  }

  // row builds the row of a pair. The rows stay the same elements in the same order while figures
  // change, so a row under a finger or with the focus never moves.
  row(code) {
    const price = el('span'), volume = el('small', { class: 'dim' }), change = el('small');
    const button = el('button', { type: 'button', 'data-pair': code, tabindex: '-1', onclick: () => this.onPick(code) },
      el('span', {}, code.replace('_', '/')), price, volume, change);
    return { button, price, volume, change };
  }

  sort() {
    const [, key] = orders[this.order.value];
    const keys = new Map([...this.rows.keys()].map((code) => [code, this.figures.has(code) ? key(this.figures.get(code)) : 0]));
    this.list.replaceChildren(...[...this.rows].sort(([a], [b]) => keys.get(a) - keys.get(b)).map(([, r]) => r.button));
  }

  shown() { return [...this.list.children].filter((b) => !b.hidden); }

  filter() {
    const wanted = plain(this.search.value);
    for (const [code, r] of this.rows) r.button.hidden = !plain(code).includes(wanted);
    setText(this.none, this.shown().length ? '' : `No pair has \u201c${this.search.value}\u201d in its name.`);
    this.list.scrollTop = 0;
    this.enter();
  }

  // enter makes one row reachable by Tab: the selected one if it is shown. Arrow keys move from it.
  enter() {
    const first = this.rows.get(this.current)?.button;
    const target = first && !first.hidden ? first : this.shown()[0];
    for (const { button } of this.rows.values()) button.tabIndex = button === target ? 0 : -1;
  }

  searchKey(e) {
    if (e.key === 'Escape') { this.search.value = ''; this.filter(); }
    else if (e.key === 'Enter') this.shown()[0]?.click();
    else if (e.key === 'ArrowDown') this.shown()[0]?.focus();
    else return;
    e.preventDefault();
  }

  listKey(e) {
    const shown = this.shown(), at = shown.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: shown.length - 1 }[e.key];
    if (at < 0 || to === undefined) return;
    e.preventDefault();
    (shown[to] ?? (to < 0 ? this.search : shown[at])).focus();
  }

  pick(code) {
    this.current = code;
    for (const [c, r] of this.rows) r.button.setAttribute('aria-pressed', String(c === code));
    this.enter();
    this.rows.get(code).button.scrollIntoView({ block: 'nearest' });
  }

  draw() {
    for (const [code, r] of this.rows) {
      const f = this.figures.get(code);
      if (!f) continue;
      setText(r.price, f.last_price);
      setText(r.volume, `vol ${group(brief(f.base_volume).split('.')[0])}`);
      setText(r.change, percent(f.price_change_percent_24h));
      r.change.className = sign(f.price_change_percent_24h);
    }
  }
}
