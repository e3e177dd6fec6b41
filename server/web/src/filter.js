// The filter of the lists of past orders and trades. What it leaves out, the exchange leaves out: of a page as of the file of
// comma-separated values.
import { types } from './account.js';
import { signed } from './api.js';
import { el, isLocal, options } from './dom.js';

const routes = { history: '/api/user/orders', trades: '/api/user/deals' };
const sides = { '': 'Both sides', buy: 'Buy', sell: 'Sell' };
const states = { ended: 'All states', completed: 'Filled', canceled: 'Canceled' };
const mostPages = 200; // of 100 rows; tickhive export reads longer lists

// dayOf returns the first or the last moment of a day in the zone in which times are shown, as the exchange takes it.
function dayOf(day, end) {
  const at = Date.parse(`${day}T${end ? '23:59:59.999' : '00:00:00.000'}${isLocal() ? '' : 'Z'}`);
  return new Date(at).toISOString().slice(0, -1);
}

export class Filter {
  constructor(onChange) {
    const select = (label, name, all) => el('select', { name, 'aria-label': label, onchange: onChange }, options(all));
    const day = (label, name) => el('label', { class: 'day' }, label, el('input', { type: 'date', name, onchange: onChange }));
    this.side = select('Side', 'filterSide', sides);
    this.type = select('Type', 'filterType', { '': 'All types', ...types });
    this.state = select('State', 'filterState', states);
    const from = day('From', 'filterFrom'), to = day('To', 'filterTo');
    [this.from, this.to] = [from, to].map((label) => label.lastChild);
    this.csv = el('button', { type: 'button', class: 'quiet', 'data-csv': '', title: 'Download what the filter shows as comma-separated values', onclick: () => this.onDownload() }, 'CSV');
    this.clear = el('button', { type: 'button', class: 'quiet', 'data-clear': '', onclick: () => { for (const f of [this.side, this.type, this.state, this.from, this.to]) f.value = f.options?.[0].value ?? ''; onChange(); } }, 'Clear');
    this.node = el('div', { class: 'filter', role: 'group', 'aria-label': 'Filter', hidden: true }, this.side, this.type, this.state, from, to, this.clear, this.csv);
  }

  // show shows the fields that a list has.
  show(tab) {
    this.node.hidden = !Object.hasOwn(routes, tab);
    this.type.hidden = this.state.hidden = tab !== 'history';
  }

  get active() { return this.side.value !== '' || this.type.value !== '' || this.state.value !== 'ended' || this.from.value !== '' || this.to.value !== ''; }

  // target returns the request for rows of a list. pair is undefined for all pairs.
  target(tab, pair, more) {
    const query = new URLSearchParams(more), set = (name, value) => { if (value) query.set(name, value); };
    set('currencyPairCode', pair);
    set('side', this.side.value);
    if (tab === 'history') { set('type', this.type.value); set('status', this.state.value); }
    set('sinceDate', this.from.value && dayOf(this.from.value, false));
    set('endDate', this.to.value && dayOf(this.to.value, true));
    return `${routes[tab]}?${query}`;
  }

  // download saves all rows as a file, and returns whether there are more than it has.
  async download(tab, pair) {
    let text = '', cursor = null, pages = 0;
    do {
      const { body, headers } = await signed('GET', this.target(tab, pair, { format: 'csv', pageSize: 100, ...cursor && { cursor } }), undefined, 'text');
      text += pages++ ? body.slice(body.indexOf('\n') + 1) : body;
      cursor = headers.get('X-Next-Cursor');
    } while (cursor && pages < mostPages);
    const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
    el('a', { href: url, download: `tickhive-${tab === 'history' ? 'orders' : 'trades'}${pair ? `-${pair}` : ''}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
    return cursor !== null;
  }
}
