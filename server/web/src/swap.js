// Buying and selling a token in its pool, with the key of this tab.
import { hasKeys, signed } from './api.js';
import { brief, decimal, digitsOf, el, fill, isNumber, money, notNumber, notice, plainNumber, units } from './dom.js';
import { spend } from './poll.js';

const digits = 18, tolerance = 99n; // percent of the estimate that a swap must give at least

// outOf returns what the pool gives for an amount, by the rule of the exchange (docs/contract/launchpad.md, Pools).
function outOf(pool, buys, amount) {
  const [from, to] = (buys ? [pool.reserveQuote, pool.reserveToken] : [pool.reserveToken, pool.reserveQuote]).map((text) => units(text, digits));
  const paid = units(amount, digits), fee = (paid * BigInt(pool.feeTier) + 999999n) / 1000000n, rest = paid - fee;
  return rest > 0n ? to * rest / (from + rest) : 0n;
}

export class Swap {
  // onDone is called when a swap has changed the pool.
  constructor(onDone) {
    Object.assign(this, { onDone, side: 'buy', busy: false });
    this.sides = ['buy', 'sell'].map((side) => el('button', { type: 'button', 'data-side': side, onclick: () => this.choose(side) }, side === 'buy' ? 'Buy' : 'Sell'));
    this.amount = el('input', { name: 'amountIn', inputmode: 'decimal', autocomplete: 'off', placeholder: '0', oninput: () => this.estimate() });
    this.unit = el('i', { class: 'unit' });
    this.have = el('button', { type: 'button', title: 'Use all of it', onclick: () => { this.amount.value = this.held(); this.estimate(); } });
    this.gets = el('span', { class: 'dim' });
    this.submit = el('button', { type: 'submit' });
    this.status = el('p', { role: 'status', class: 'notice', hidden: true });
    this.node = el('form', { class: 'swap', onsubmit: (e) => { e.preventDefault(); this.place(); } });
  }

  load(token, pool) {
    const other = this.token?.token.address !== token.token.address;
    Object.assign(this, { token, pool });
    if (!hasKeys()) { fill(this.node, el('p', { class: 'dim' }, 'To buy and sell, ', el('a', { href: '/' }, 'sign in on the market page'), ' in this tab.')); return; }
    if (!pool.price) { fill(this.node, el('p', { class: 'dim' }, 'The pool is empty: there is nothing to buy yet.')); return; }
    if (other) { this.amount.value = ''; this.say(''); }
    fill(this.node, el('div', { class: 'sides', role: 'group', 'aria-label': 'Side' }, this.sides), el('label', { class: 'boxed' }, el('span', {}, 'Pay'), this.amount, this.unit),
      el('p', { class: 'between' }, this.gets, this.have), this.submit, this.status);
    this.choose(this.side);
    this.read();
  }

  // read reads what the account has of both sides of the pool.
  async read() {
    const { token } = this;
    try {
      if (!this.all) spend(1);
      this.all ??= (await Promise.all([signed('GET', '/api/wallets/balances?decimals=string'), signed('GET', '/api/launchpad/holdings')])).map((r) => r.body); // until the next swap
      const [{ balances }, holdings] = this.all;
      this.owned = { buy: balances.find((b) => b.currencyCode === this.coin)?.free ?? '0', sell: holdings.find((h) => h.tokenAddress === token.token.address)?.amount ?? '0' };
      if (token === this.token) this.choose(this.side);
    } catch (error) { this.say(error.message, true); }
  }

  held() { return brief(this.owned?.[this.side] ?? '0'); }

  choose(side) {
    this.side = side;
    for (const b of this.sides) b.setAttribute('aria-pressed', String(b.dataset.side === side));
    const { coin, token: { token: { symbol } } } = this;
    this.unit.textContent = side === 'buy' ? coin : symbol;
    this.have.textContent = `You have ${money(this.held())} ${side === 'buy' ? coin : symbol}`;
    this.submit.className = `main ${side}`;
    this.submit.textContent = `${side === 'buy' ? 'Buy' : 'Sell'} ${symbol}`;
    this.estimate();
  }

  estimate() {
    const text = plainNumber(this.amount.value), out = isNumber(text) && digitsOf(text) <= digits ? outOf(this.pool, this.side === 'buy', text) : null;
    this.least = out === null ? null : decimal(out * tolerance / 100n, digits);
    this.gets.textContent = out ? `You get about ${money(decimal(out, digits))} ${this.side === 'buy' ? this.token.token.symbol : this.coin}` : `1 ${this.token.token.symbol} is ${money(this.pool.price)} ${this.coin}`;
    this.submit.disabled = this.busy;
  }

  // coin is the currency that pays for the token.
  get coin() { return this.pool.side === 'USBI' ? 'USBI' : 'NATIVE'; }

  async place() {
    const amountIn = plainNumber(this.amount.value);
    if (!isNumber(amountIn)) { this.say(amountIn ? notNumber(this.amount.value) : 'Please fill in this field.', true); this.amount.focus(); return; }
    this.busy = true;
    this.estimate();
    spend(1);
    try {
      const { body } = await signed('POST', `/api/launchpad/tokens/${this.token.token.address}/swaps?decimals=string`, { side: this.side, amountIn, minOut: brief(this.least ?? '0') });
      this.amount.value = '';
      this.all = undefined;
      this.say(`You ${this.side === 'buy' ? 'bought' : 'sold'} at ${money(body.price)} ${this.coin} and got ${money(body.amountOut)} ${this.side === 'buy' ? this.token.token.symbol : this.coin}.`);
      this.onDone();
    } catch (error) {
      this.say(error.code === 'CONFLICT' && error.field === 'minOut' ? 'The price moved by more than 1 % meanwhile. Nothing was swapped.' : error.message, true);
    } finally {
      this.busy = false;
      this.estimate();
    }
  }

  say(text, bad) { notice(this.status, text, bad); }
}
