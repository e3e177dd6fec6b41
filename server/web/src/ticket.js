// The order ticket: every order type of the API, with shares of the balance, total and fee.
import { ApiError } from './api.js';
import { brief, el, fill, fixed, group, isNumber, money, notNumber, plainNumber, portion } from './dom.js';

const field = (label, input, ...more) => el('label', { 'data-field': input.name }, el('span', {}, label), input, ...more);
const types = { limit: 'Limit', market: 'Market', stop_limit: 'Stop limit', stop_market: 'Stop market' };
const select = (name, options, onchange) => el('select', { name, onchange }, Object.entries(options).map(([value, text]) => el('option', { value }, text)));
const valueOf = (input) => +plainNumber(input.value);

export class Ticket {
  // market returns the settings, the last price and the book of the current pair.
  constructor(account, market) {
    Object.assign(this, { account, market, side: 'buy', busy: false });
    this.body = el('div', { class: 'scroll' });
    this.node = el('section', { class: 'panel ticket', 'data-panel': 'ticket', 'aria-label': 'Order ticket' }, this.body);
    this.order = this.orderForm();
    this.keys = this.keyForm();
    account.on((part) => { if (part === 'key') this.draw(); else if (part === 'balances') this.estimate(); });
    account.stream.listeners.add(() => this.estimate());
    this.draw();
  }

  load(pair) {
    this.pair = pair;
    [this.base, this.quote] = pair.split('_');
    const { price, amount, total, stop, shows } = this.fields;
    for (const input of [price, amount, total, stop, shows]) input.value = '';
    this.order.querySelectorAll('[data-unit]').forEach((n) => { n.textContent = n.dataset.unit === 'base' ? this.base : this.quote; });
    this.choose(this.side);
    this.say('');
  }

  // price fills in a price that was picked in the book.
  price(value) {
    this.fields.price.value = value;
    if (this.type() === 'market') { this.fields.type.value = 'limit'; this.shape(); }
    this.recount('amount');
  }

  draw() {
    const { account } = this;
    if (account.signedIn && this.body.firstChild !== this.order) {
      const entered = this.keys.contains(document.activeElement);
      fill(this.body, this.order);
      if (entered) this.focus();
    }
    if (!account.signedIn && this.body.firstChild !== this.keys) fill(this.body, this.keys);
    this.keyState();
    this.estimate();
  }

  // focus moves the focus to the first field to fill in.
  focus() { [...this.node.querySelectorAll('input')].find((i) => i.checkVisibility())?.focus(); }

  keyState() {
    const { account } = this;
    this.keySay.textContent = account.problem;
    this.keySay.hidden = !account.problem;
    this.keyButton.disabled = account.checking;
    this.keyButton.textContent = account.checking ? 'Checking the key pair…' : 'Use this key pair';
  }

  keyForm() {
    const pub = el('input', { autocomplete: 'off', name: 'publicKey', required: true, spellcheck: 'false' });
    const priv = el('input', { autocomplete: 'off', name: 'privateKey', type: 'password', required: true });
    this.keySay = el('p', { role: 'alert', class: 'notice bad', hidden: true });
    this.keyButton = el('button', { type: 'submit', class: 'main' }, 'Use this key pair');
    return el('form', { class: 'keys', onsubmit: (e) => { e.preventDefault(); this.account.signIn(pub.value.trim(), priv.value.trim()).then(() => { pub.value = ''; priv.value = ''; }, () => {}); } },
      el('h2', {}, 'Trade'), el('p', { class: 'dim' }, 'Trading needs an API key pair. It stays in this tab until you close it or forget the key. A demo market prints a pair on its terminal; ', el('code', {}, 'bin/tickhive demo-key key.json'), ' makes another.'),
      field('Public key', pub), field('Private key', priv), this.keySay, this.keyButton);
  }

  orderForm() {
    const number = (name) => el('input', { name, inputmode: 'decimal', autocomplete: 'off', placeholder: '0', oninput: () => this.recount(name) });
    const unit = (of) => el('i', { 'data-unit': of, class: 'unit' });
    const f = {
      type: select('type', types, () => this.shape()),
      tif: select('tif', { gtc: 'GTC', ioc: 'IOC', fok: 'FOK' }, () => this.shape()),
      price: number('price'), amount: number('amount'), total: number('total'), stop: number('stopPrice'), shows: number('displayAmount'),
      post: el('input', { type: 'checkbox', name: 'postOnly', onchange: () => this.shape() }),
      stp: select('selfTradePrevention', { cancel_taker: 'Cancel new', cancel_maker: 'Cancel old', cancel_both: 'Cancel both', decrement: 'Decrement', none: 'Off' }),
    };
    this.fields = f;
    this.sides = ['buy', 'sell'].map((side) => el('button', { type: 'button', 'data-side': side, onclick: () => this.choose(side) }, side === 'buy' ? 'Buy' : 'Sell'));
    this.available = el('dd');
    this.fee = el('dd');
    this.submit = el('button', { type: 'submit' });
    this.status = el('p', { role: 'status', class: 'notice', hidden: true });
    const f2 = (label, input, of) => { const l = field(label, input); l.append(unit(of)); l.classList.add('boxed'); return l; };
    this.rows = { stop: f2('Stop price', f.stop, 'quote'), price: f2('Price', f.price, 'quote'), amount: f2('Amount', f.amount, 'base'), total: f2('Total', f.total, 'quote') };
    this.rows.tif = field('Time in force', f.tif);
    this.rows.post = el('label', { class: 'check' }, f.post, 'Post only');
    this.rows.shows = f2('Show only (iceberg)', f.shows, 'base');
    const form = el('form', { class: 'order', onsubmit: (e) => { e.preventDefault(); this.place(); } },
      el('div', { class: 'sides', role: 'group', 'aria-label': 'Side' }, this.sides),
      el('div', { class: 'pair2' }, field('Type', f.type), this.rows.tif),
      this.rows.stop, this.rows.price, this.rows.amount,
      el('div', { class: 'shares', role: 'group', 'aria-label': 'Share of the available balance' },
        [25, 50, 75, 100].map((p) => el('button', { type: 'button', 'data-share': String(p), onclick: () => this.share(p) }, `${p} %`))),
      this.rows.total,
      el('dl', {}, el('dt', {}, 'Available'), this.available, el('dt', {}, 'Fee, at most'), this.fee),
      this.submit, this.status,
      el('details', {}, el('summary', {}, 'More options'), this.rows.shows, field('Own orders that meet', f.stp), this.rows.post),
      el('p', { class: 'keyline' }, el('button', { type: 'button', class: 'quiet', 'data-forget': '', onclick: () => this.account.forget() }, 'Forget this key')));
    this.form = form;
    this.shape();
    return form;
  }

  type() { return this.fields.type.value; }

  // choose selects the side.
  choose(side) {
    this.side = side;
    for (const b of this.sides) b.setAttribute('aria-pressed', String(b.dataset.side === side));
    this.submit.className = `main ${side}`;
    this.submit.textContent = `${side === 'buy' ? 'Buy' : 'Sell'} ${this.base ?? ''}`;
    this.shape();
  }

  // shape shows the fields that the type of the order has.
  shape() {
    const { fields: f, rows } = this, type = this.type();
    const limit = !type.endsWith('market');
    rows.price.hidden = !limit;
    rows.stop.hidden = !type.startsWith('stop');
    rows.tif.hidden = !limit;
    rows.post.hidden = !limit;
    rows.shows.hidden = !limit;
    rows.total.hidden = !limit && this.side === 'sell';
    f.post.disabled = !limit || f.tif.value !== 'gtc';
    if (f.post.disabled) f.post.checked = false;
    this.heed();
    this.estimate();
  }

  // heed takes back what was said about the fields, when one of them changes.
  heed() {
    this.order?.querySelectorAll('[aria-invalid]').forEach((n) => n.removeAttribute('aria-invalid'));
    if (this.status.classList.contains('bad')) this.say('');
  }

  // recount keeps amount and total in step. Of a market order only one of them is given.
  recount(from) {
    const { price, amount, total } = this.fields, s = this.market().settings;
    const [at, much, worth] = [price, amount, total].map(valueOf);
    this.heed();
    if (s && !this.type().endsWith('market')) {
      if (from === 'total' && worth > 0 && at > 0) amount.value = fixed(worth / at, s.digitsAmount);
      else if (from !== 'stopPrice' && from !== 'displayAmount') total.value = much > 0 && at > 0 ? brief((much * at).toFixed(s.digitsPrice)) : '';
    } else if (from === 'amount') total.value = ''; else if (from === 'total') amount.value = '';
    this.estimate();
  }

  rate() { return this.account.rates.get(this.pair) ?? 0; }

  // share fills in a part of the available balance.
  share(percent) {
    const { settings: s, last } = this.market(), { price, amount, total } = this.fields;
    if (!s) return;
    const market = this.type().endsWith('market');
    if (!market && !(valueOf(price) > 0)) price.value = last ?? '';
    const owned = this.account.free(this.side === 'buy' ? this.quote : this.base), free = owned.startsWith('-') ? '0' : owned;
    const at = this.side === 'sell' || market ? '1' : plainNumber(price.value);
    if (this.side === 'buy' && market) { total.value = brief(portion(free, percent, at, s.digitsPrice + s.digitsAmount)); this.recount('total'); return; }
    amount.value = isNumber(at) && +at > 0 ? brief(portion(free, percent, at, s.digitsAmount)) : '';
    this.recount('amount');
  }

  // walk estimates what a market order gets in the book: the worth of an amount, or the amount for money; null if the
  // book has less.
  walk(rest, levels, forMoney) {
    let got = 0;
    for (const [p, a] of levels) {
      if (!(rest > 0)) break;
      const part = Math.min(rest, forMoney ? a * p : +a);
      got += forMoney ? part / p : part * p;
      rest -= part;
    }
    return rest > 0 ? null : got;
  }

  // brings estimates what the order brings before its fee: base currency if it buys, quote currency if it sells; 0 if that
  // is not known yet, null if it is more than the book shows.
  brings() {
    const { fields: f } = this, type = this.type(), buys = this.side === 'buy', amount = valueOf(f.amount) || 0;
    if (buys && amount > 0) return amount;
    if (type !== 'market') return type === 'stop_market' || buys ? 0 : amount * valueOf(f.price) || 0;
    const { book } = this.market();
    if (!book?.ready) return 0;
    return buys ? this.walk(valueOf(f.total) || 0, book.asks, true) : this.walk(amount, book.bids, false);
  }

  estimate() {
    const { fields: f, account } = this;
    if (!f || !this.pair) return;
    const paying = this.side === 'buy' ? this.quote : this.base;
    fill(this.available, `${money(account.free(paying))} ${paying}`);
    const brings = this.brings(), received = this.side === 'buy' ? this.base : this.quote;
    const text = (v) => group(brief(v.toFixed(8)));
    const about = brings && this.type() === 'market' ? `of ≈ ${text(brings)}: ` : '';
    fill(this.fee, brings === null ? 'more than the book shows' : brings ? `${about}${text(brings * this.rate())} ${received}` : `${brief((this.rate() * 100).toFixed(4))} %`);
    const down = account.stream.up === false;
    this.submit.disabled = this.busy || down || !account.canTrade;
    this.submit.title = down ? 'The connection is lost' : account.canTrade ? '' : 'This key may not trade';
    if (!account.canTrade && account.signedIn) this.say('This key can only read: it may not trade.', true);
  }

  // request returns the body of the order, or throws with the field that is wrong.
  request() {
    const { fields: f } = this, type = this.type(), limit = !type.endsWith('market');
    const order = { side: this.side, currencyPairCode: this.pair };
    const put = (name, input) => {
      const text = plainNumber(input.value);
      if (!isNumber(text)) throw Object.assign(new Error(text ? notNumber(input.value) : 'Please fill in this field.'), { input });
      order[name] = text;
    };
    if (type.startsWith('stop')) put('stopPrice', f.stop);
    if (limit) put('price', f.price); else order.isMarket = true;
    if (!limit && this.side === 'buy' && f.total.value.trim()) put('quoteAmount', f.total); else put('amount', f.amount);
    if (limit) {
      order.timeInForce = f.tif.value;
      if (f.post.checked) order.postOnly = true;
      if (f.shows.value.trim()) put('displayAmount', f.shows);
    }
    if (f.stp.value !== 'cancel_taker') order.selfTradePrevention = f.stp.value;
    return order;
  }

  async place() {
    this.say('');
    this.heed();
    const wrong = (input) => { input?.setAttribute('aria-invalid', 'true'); input?.focus(); };
    let order;
    try { order = this.request(); } catch (error) { this.say(error.message, true); wrong(error.input); return; }
    this.busy = true;
    this.estimate();
    try {
      await this.account.place(order); // a message says that it was accepted
    } catch (error) {
      this.say(error instanceof ApiError ? `${error.message}` : `No answer came (${error.message}). See your open orders before you try again.`, true);
      if (error.field) wrong(this.form.querySelector(`[name="${CSS.escape({ quoteAmount: 'total' }[error.field] ?? error.field)}"]`));
    } finally {
      this.busy = false;
      this.estimate();
    }
  }

  say(text, bad = false) {
    this.status.textContent = text;
    this.status.className = bad ? 'notice bad' : 'notice';
    this.status.hidden = !text;
  }
}
