// The list of pairs: search, favourites, filter by quote, order, and 24 h figures. Only the rows in
// view exist, so that a thousand pairs cost no more than twenty.
import { get } from './api.js';
import { brief, el, group, nice, options, setText, stored } from './dom.js';

// A change in percent has two digits, and the sign and the colour of these: one that rounds to zero has none.
const rounded = (change) => +(+change).toFixed(2) || 0;
export const sign = (change) => (rounded(change) === 0 ? 'flat' : rounded(change) < 0 ? 'down' : 'up');
export const percent = (change) => `${rounded(change) > 0 ? '+' : ''}${rounded(change).toFixed(2)} %`;

// plain drops the separators that people type between the two currencies.
const plain = (text) => text.toUpperCase().replace(/[^A-Z0-9]/g, '');
const orders = {
  volume: ['Volume', (f) => -f.quote_volume], gain: ['Gain', (f) => -f.price_change_percent_24h],
  loss: ['Loss', (f) => +f.price_change_percent_24h], name: ['Name', () => 0],
};
const rowHeight = 42; // px, as in style.css
const beyond = 6; // rows above and below the view that exist too

export class PairList {
  // figures holds the rows of /api/summary by pair; the owner updates it. onView receives the pairs
  // whose rows exist.
  constructor(codes, figures, onPick, onView) {
    Object.assign(this, { figures, onPick, onView, codes: [...codes].sort(), favourites: new Set(stored('favourites', [])), rows: new Map(), shown: [], named: new Map() });
    this.search = el('input', {
      type: 'search', placeholder: 'Search pairs', 'aria-label': 'Search pairs', autocomplete: 'off', spellcheck: 'false',
      oninput: () => this.filter(), onkeydown: (e) => this.searchKey(e), onfocus: () => this.readNames(),
    });
    this.order = el('select', { 'aria-label': 'Order of the pairs', onchange: () => { localStorage.setItem('order', this.order.value); this.filter(); } },
      options(Object.fromEntries(Object.entries(orders).map(([value, [label]]) => [value, label]))));
    const saved = localStorage.getItem('order');
    if (Object.hasOwn(orders, saved)) this.order.value = saved;
    const quotes = [...new Set(this.codes.map((c) => c.split('_')[1]))];
    this.only = 'all';
    this.filters = el('div', { class: 'filters', role: 'group', 'aria-label': 'Show' }, [['all', 'All'], ['favourites', '★'], ...quotes.map((q) => [q, q])].map(([value, label]) => el('button', {
      type: 'button', 'data-filter': value, 'aria-label': value === 'favourites' ? 'Favourites' : null, 'aria-pressed': String(value === 'all'), onclick: () => this.limit(value),
    }, label)));
    this.none = el('p', { class: 'empty', role: 'status' });
    this.space = el('div', { class: 'space' });
    this.list = el('div', { class: 'pairlist', onkeydown: (e) => this.listKey(e), onscroll: () => this.draw() }, this.space);
    this.node = el('section', { class: 'panel pairs', 'data-panel': 'pairs', 'aria-label': 'Pairs' },
      el('div', { class: 'find' }, this.search, this.order), this.filters, this.none, this.list);
    new ResizeObserver(() => this.draw()).observe(this.list);
    this.filter();
  }

  limit(value) {
    this.only = value;
    for (const b of this.filters.children) b.setAttribute('aria-pressed', String(b.dataset.filter === value));
    this.filter();
  }

  // readNames reads the names of the assets when they are searched first.
  readNames() {
    this.names ??= get('/api/marketdata/getaggregator/asset').then(({ body }) => {
      for (const [code, asset] of Object.entries(body)) this.named.set(code, plain(asset.name ?? ''));
      this.filter();
    }, () => { this.names = undefined; }); // the next focus tries again
  }

  // filter decides which pairs the list has, and their order. The order then stays while figures
  // change, so a row under a finger or with the focus never moves.
  filter() {
    const wanted = plain(this.search.value), [, key] = orders[this.order.value];
    const name = (c) => this.named.get(c.split('_')[0]) ?? '';
    const fits = (c) => (plain(c).includes(wanted) || name(c).includes(wanted)) && (this.only === 'all' || (this.only === 'favourites' ? this.favourites.has(c) : c.endsWith(`_${this.only}`)));
    const keys = new Map(this.codes.map((c) => [c, this.figures.has(c) ? key(this.figures.get(c)) : 0]));
    const rank = (c) => [c, c.split('_')[0]].some((n) => plain(n) === wanted) ? 0 : plain(c).startsWith(wanted) ? 1 : name(c).startsWith(wanted) ? 2 : 3;
    const ranks = new Map(this.codes.map((c) => [c, wanted ? rank(c) : 0]));
    this.shown = this.codes.filter(fits).sort((a, b) => ranks.get(a) - ranks.get(b) || keys.get(a) - keys.get(b));
    setText(this.none, this.shown.length ? '' : this.search.value ? `No pair has \u201c${this.search.value}\u201d in its name.` : 'Mark pairs with a star to see them here.');
    this.list.dataset.count = String(this.shown.length);
    this.space.style.height = `${this.shown.length * rowHeight}px`;
    this.list.scrollTop = 0;
    this.draw();
  }

  // remove takes a pair out of the list.
  remove(code) { this.codes = this.codes.filter((c) => c !== code); this.filter(); }

  row(code) {
    const star = el('button', { type: 'button', class: 'star', tabindex: '-1', 'aria-label': `Favourite ${nice(code)}`, onclick: () => this.mark(code) }, '★');
    const price = el('span', { class: 'p' }), volume = el('small', { class: 'dim' }), change = el('small', { class: 'c' });
    const button = el('button', { type: 'button', 'data-pair': code, tabindex: '-1', onclick: () => this.onPick(code) },
      el('span', {}, nice(code)), price, volume, change);
    return { node: el('div', { class: 'pairrow' }, star, button), star, button, price, volume, change };
  }

  // draw makes the rows in view and writes their figures.
  draw() {
    const first = Math.max(0, Math.floor(this.list.scrollTop / rowHeight) - beyond);
    const last = Math.min(this.shown.length, Math.ceil((this.list.scrollTop + this.list.clientHeight) / rowHeight) + beyond);
    const codes = this.shown.slice(first, last), wanted = new Set(codes), focused = document.activeElement?.dataset?.pair;
    for (const [code, r] of this.rows) if (!wanted.has(code) && code !== focused) { r.node.remove(); this.rows.delete(code); }
    codes.forEach((code, i) => {
      let r = this.rows.get(code);
      if (!r) { r = this.row(code); this.rows.set(code, r); }
      r.node.style.transform = `translateY(${(first + i) * rowHeight}px)`;
      this.write(code, r);
      if (this.space.children[i] !== r.node && r.button !== document.activeElement) this.space.insertBefore(r.node, this.space.children[i] ?? null);
    });
    this.enter();
    const seen = codes.join();
    if (seen !== this.seen) { this.seen = seen; this.onView(codes); }
  }

  write(code, r) {
    const f = this.figures.get(code);
    r.star.setAttribute('aria-pressed', String(this.favourites.has(code)));
    r.button.setAttribute('aria-pressed', String(code === this.current));
    if (!f) return;
    setText(r.price, +f.last_price ? group(f.last_price) : '–');
    setText(r.volume, `${group(brief(f.base_volume).split('.')[0])} ${code.split('_')[0]}`);
    setText(r.change, +f.last_price ? percent(f.price_change_percent_24h) : '–');
    r.change.className = `c ${+f.last_price ? sign(f.price_change_percent_24h) : 'dim'}`;
  }

  mark(code) {
    if (!this.favourites.delete(code)) this.favourites.add(code);
    localStorage.setItem('favourites', JSON.stringify([...this.favourites]));
    if (this.only === 'favourites') this.filter(); else this.draw();
  }

  // enter makes one row reachable by Tab: the selected one if it is there. Arrow keys move from it.
  enter() {
    const target = this.rows.has(this.current) ? this.current : [...this.rows.keys()].find((c) => this.shown.includes(c));
    for (const [code, { button, star }] of this.rows) { button.tabIndex = code === target ? 0 : -1; star.tabIndex = code === target ? 0 : -1; }
  }

  searchKey(e) {
    if (e.key === 'Escape') { if (!this.search.value) this.search.blur(); this.search.value = ''; this.filter(); }
    else if (e.key === 'Enter') this.choose(this.shown[0]);
    else if (e.key === 'ArrowDown') this.focus(0);
    else return;
    e.preventDefault();
  }

  // choose picks the first pair found and leaves the search, so that the next key is not typed into it.
  choose(code) {
    if (!code) return;
    this.search.value = '';
    this.filter();
    this.onPick(code);
    this.focus(this.shown.indexOf(code));
  }

  // focus moves the focus to a row, which it brings into view first.
  focus(at) {
    const code = this.shown[at];
    if (!code) return;
    this.reveal(at);
    this.draw();
    this.rows.get(code)?.button.focus({ preventScroll: true }); // none where a phone shows another panel
    this.draw();
  }

  reveal(at) {
    const top = at * rowHeight, { scrollTop, clientHeight } = this.list;
    if (top < scrollTop) this.list.scrollTop = top; else if (top + rowHeight > scrollTop + clientHeight) this.list.scrollTop = top + rowHeight - clientHeight;
  }

  listKey(e) {
    const at = this.shown.indexOf(e.target.dataset.pair);
    const page = Math.max(1, Math.floor(this.list.clientHeight / rowHeight) - 1), end = this.shown.length - 1;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: Math.min(at + page, end), PageUp: Math.max(at - page, 0), Home: 0, End: end }[e.key];
    if (at < 0 || to === undefined) return;
    e.preventDefault();
    if (to < 0) this.search.focus(); else this.focus(Math.min(to, end));
  }

  pick(code) {
    this.current = code;
    const at = this.shown.indexOf(code);
    if (at >= 0) this.reveal(at);
    this.draw();
  }
}
