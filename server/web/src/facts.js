// What stands below the form of the ticket: what the account has of the pair's two currencies, the rules of the pair, where its
// price and its book stand, and the pairs that have moved most, as many as there is room for.
import { brief, compact, decimal, el, fill, group, nice, setText } from './dom.js';
import { percent, sign } from './pairs.js';

const rowHeight = 22; // px, as in style.css
const levels = 100; // of each side of the book
const part = (label, ...content) => el('section', {}, el('h2', {}, label), content);

export class Facts {
  // figures holds the rows of /api/summary by pair; the owner updates it.
  constructor(account, figures, onPair) {
    Object.assign(this, { account, figures, onPair, rows: [] });
    this.assets = el('tbody');
    this.owned = part('Your assets', el('table', { 'aria-label': 'Your assets' }, el('thead', {}, el('tr', {}, ['Currency', 'Available', 'In orders'].map((name, i) => el('th', { scope: 'col', class: i && 'num' }, name)))), this.assets));
    this.title = el('h2');
    this.rules = el('dl');
    this.spot = el('i');
    this.ends = el('p', { class: 'between dim' });
    this.bids = el('i', { class: 'yes' });
    this.asks = el('i', { class: 'no' });
    this.sides = el('p', { class: 'between' });
    this.movers = el('div', { class: 'rows' });
    this.moved = el('section', { class: 'movers' }, el('h2', {}, 'Top movers, 24 h'), this.movers);
    this.node = el('div', { class: 'facts' }, this.owned, el('section', {}, this.title, this.rules, el('div', { class: 'range', 'aria-hidden': 'true' }, this.spot), this.ends,
      el('div', { class: 'tally', 'aria-hidden': 'true' }, this.bids, this.asks), this.sides), this.moved);
    account.on((changed) => { if (changed === 'balances' || changed === 'key') this.drawAssets(); });
    new ResizeObserver(() => this.rank()).observe(this.movers);
  }

  load(pair, { digitsPrice, digitsAmount, minQuoteAmount }) {
    this.pair = pair;
    const [base, quote] = pair.split('_'), rule = (name, text) => [el('dt', {}, name), el('dd', {}, text)];
    this.title.textContent = nice(pair);
    fill(this.rules, rule('Step of a price', `${decimal(1n, digitsPrice)} ${quote}`), rule('Step of an amount', `${decimal(1n, digitsAmount)} ${base}`), minQuoteAmount === null ? [] : rule('Smallest order', `${brief(minQuoteAmount)} ${quote}`));
    this.book(null);
    this.drawAssets();
    this.draw();
    this.rank();
  }

  drawAssets() {
    this.owned.hidden = !this.account.signedIn || !this.pair;
    if (this.owned.hidden) return;
    const of = (code, name) => brief(compact(this.account.balances.get(code)?.[name] ?? '0'));
    fill(this.assets, this.pair.split('_').map((code) => el('tr', {}, el('td', {}, code), el('td', { class: 'num' }, of(code, 'free')), el('td', { class: 'num' }, of(code, 'held')))));
  }

  // book shows how much of the base currency the nearest levels of both sides have.
  book(book) {
    const [bids, asks] = [book?.bids, book?.asks].map((side) => (side ?? []).slice(0, levels).reduce((sum, [, amount]) => sum + +amount, 0)), all = bids + asks;
    this.bids.style.width = `${all ? bids / all * 100 : 0}%`;
    this.asks.style.width = `${all ? asks / all * 100 : 0}%`;
    const share = all ? Math.round(bids / all * 100) : null, text = (v) => (v === null ? '–' : `${v} %`);
    fill(this.sides, el('span', { class: 'up' }, `Bids ${text(share)}`), el('span', { class: 'down' }, `Asks ${text(share === null ? null : 100 - share)}`));
  }

  // draw writes the newest figures.
  draw() {
    const f = this.figures.get(this.pair), low = +f?.lowest_price_24h, high = +f?.highest_price_24h, last = +f?.last_price;
    const known = low > 0 && high > 0, at = known && high > low ? (last - low) / (high - low) * 100 : 50;
    this.spot.hidden = !known;
    this.spot.style.left = `${Math.max(0, Math.min(100, at))}%`;
    const end = (name, text) => el('span', {}, `${name} ${known ? group(text) : '–'}`);
    fill(this.ends, end('Low', f?.lowest_price_24h), end('High', f?.highest_price_24h));
    for (const { code, price, change } of this.rows) {
      const row = this.figures.get(code);
      if (!row) continue;
      setText(price, group(row.last_price));
      setText(change, percent(row.price_change_percent_24h));
      change.className = sign(row.price_change_percent_24h);
    }
  }

  // rank chooses the pairs that have moved most. The choice then stays while their figures change, so that no row moves
  // below a finger.
  rank() {
    const most = Math.floor(this.movers.clientHeight / rowHeight), moved = (f) => Math.abs(f.price_change_percent_24h);
    const all = [...this.figures.values()].filter((f) => f.trading_pairs !== this.pair && +f.last_price > 0).sort((a, b) => moved(b) - moved(a)).slice(0, most);
    const codes = all.map((f) => f.trading_pairs);
    this.moved.classList.toggle('none', !codes.length);
    if (codes.join() !== this.rows.map((r) => r.code).join()) {
      this.rows = codes.map((code) => ({ code, price: el('span', { class: 'num' }), change: el('span') }));
      fill(this.movers, this.rows.map(({ code, price, change }) => el('button', { type: 'button', onclick: () => this.onPair(code) }, el('span', {}, nice(code)), price, change)));
    }
    this.draw();
  }
}
