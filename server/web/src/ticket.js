// The order ticket: every order type of the API, with shares of the balance, total and fee.
import { ApiError } from './api.js';
import { brief, el, fill, fixed, group, isNumber, money, notNumber, pickTab, plainNumber, portion, tabs } from './dom.js';

const field = (label, input, ...more) => el('label', { 'data-field': input.name }, el('span', {}, label), input, ...more);
const forms = { one: 'Order', oco: 'OCO' };
const types = {
  limit: 'Limit', market: 'Market', stop_limit: 'Stop limit', stop_market: 'Stop market', take_profit_limit: 'Take profit limit', take_profit_market: 'Take profit',
  trailing_limit: 'Trailing stop limit', trailing_market: 'Trailing stop',
};
const given = (input) => input.value.trim() !== '';
const select = (name, options, onchange) => el('select', { name, onchange }, Object.entries(options).map(([value, text]) => el('option', { value }, text)));
const valueOf = (input) => +plainNumber(input.value);

export class Ticket {
  // market returns the settings, the last price and the book of the current pair.
  constructor(account, market) {
    Object.assign(this, { account, market, side: 'buy', form: 'one', busy: false });
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
    this.order.querySelectorAll('input:not([type])').forEach((input) => { input.value = ''; });
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
      trail: number('trailingDelta'), stopLimit: number('stopLimit'), profit: number('takeProfit'), loss: number('stopLoss'),
      attach: el('input', { type: 'checkbox', name: 'attach', onchange: () => this.shape() }),
      post: el('input', { type: 'checkbox', name: 'postOnly', onchange: () => this.shape() }),
      stp: select('selfTradePrevention', { cancel_taker: 'Cancel new', cancel_maker: 'Cancel old', cancel_both: 'Cancel both', decrement: 'Decrement', none: 'Off' }),
    };
    this.fields = f;
    this.sides = ['buy', 'sell'].map((side) => el('button', { type: 'button', 'data-side': side, onclick: () => this.choose(side) }, side === 'buy' ? 'Buy' : 'Sell'));
    this.available = el('dd');
    this.fee = el('dd');
    this.submit = el('button', { type: 'submit' });
    this.status = el('p', { role: 'status', class: 'notice', hidden: true });
    const f2 = (label, input, of) => { const l = field(label, input); l.append(of === '%' ? el('i', { class: 'unit' }, of) : unit(of)); l.classList.add('boxed'); return l; };
    this.rows = { stop: f2('Stop price', f.stop, 'quote'), price: f2('Price', f.price, 'quote'), amount: f2('Amount', f.amount, 'base'), total: f2('Total', f.total, 'quote') };
    Object.assign(this.rows, { trail: f2('Trail by', f.trail, '%'), stopLimit: f2('Stop limit (optional)', f.stopLimit, 'quote') });
    this.rows.attach = el('label', { class: 'check' }, f.attach, 'Take profit / stop loss');
    this.rows.exits = el('div', { class: 'pair2' }, field('Take profit at', f.profit), field('Stop loss at', f.loss));
    this.rows.types = el('div', { class: 'pair2' }, field('Type', f.type), this.rows.tif = field('Time in force', f.tif));
    this.rows.post = el('label', { class: 'check' }, f.post, 'Post only');
    this.rows.shows = f2('Show only (iceberg)', f.shows, 'base');
    const form = el('form', { class: 'order', onsubmit: (e) => { e.preventDefault(); this.place(); } },
      el('div', { class: 'sides', role: 'group', 'aria-label': 'Side' }, this.sides),
      this.rows.types, this.rows.trail, this.rows.stop, this.rows.stopLimit, this.rows.price, this.rows.amount,
      el('div', { class: 'shares', role: 'group', 'aria-label': 'Share of the available balance' },
        [25, 50, 75, 100].map((p) => el('button', { type: 'button', 'data-share': String(p), onclick: () => this.share(p) }, `${p} %`))),
      this.rows.total, this.rows.attach, this.rows.exits,
      el('dl', {}, el('dt', {}, 'Available'), this.available, el('dt', {}, 'Fee, at most'), this.fee),
      this.submit, this.status,
      el('details', {}, el('summary', {}, 'More options'), this.rows.shows, field('Own orders that meet', f.stp), this.rows.post),
      el('p', { class: 'keyline' }, el('button', { type: 'button', class: 'quiet', 'data-forget': '', onclick: () => this.account.forget() }, 'Forget this key')));
    this.tabs = tabs('form', 'Kinds of orders', forms, (name) => this.open(name));
    this.panel = el('div', { id: 'form', role: 'tabpanel' }, form);
    this.open('one');
    return el('div', {}, this.tabs, this.panel);
  }

  // open shows the form of one order or of two of which one cancels the other.
  open(name) {
    this.form = name;
    pickTab(this.tabs, this.panel, name);
    this.shape();
  }

  // type returns the type that is chosen; an OCO has the fields of a limit order, and more.
  type() { return this.form === 'oco' ? 'oco' : this.fields.type.value; }

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
    const { fields: f, rows } = this, type = this.type(), oco = type === 'oco', trails = type.startsWith('trailing');
    const limit = !type.endsWith('market');
    rows.types.hidden = oco;
    rows.price.hidden = !limit;
    rows.trail.hidden = !trails;
    rows.stop.hidden = !/^(stop|take|trail|oco)/.test(type);
    rows.stop.firstChild.textContent = trails ? 'Start at (optional)' : type.startsWith('take') ? 'Trigger price' : 'Stop price';
    rows.stopLimit.hidden = !oco;
    rows.price.firstChild.textContent = oco ? 'Limit price' : 'Price';
    rows.tif.hidden = rows.post.hidden = rows.shows.hidden = !limit || oco;
    rows.attach.hidden = type !== 'limit';
    rows.exits.hidden = type !== 'limit' || !f.attach.checked;
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
      else if (['price', 'amount', 'total'].includes(from)) total.value = much > 0 && at > 0 ? brief((much * at).toFixed(s.digitsPrice)) : '';
    } else if (from === 'amount') total.value = ''; else if (from === 'total') amount.value = '';
    this.estimate();
  }

  rate() { return this.account.rates.get(this.pair) ?? 0; }

  // share fills in a part of the available balance.
  share(percent) {
    const { settings: s, last } = this.market(), { price, amount, total, stop, stopLimit } = this.fields;
    if (!s) return;
    const market = this.type().endsWith('market');
    if (!market && !(valueOf(price) > 0)) price.value = last ?? '';
    const owned = this.account.free(this.side === 'buy' ? this.quote : this.base), free = owned.startsWith('-') ? '0' : owned;
    const dearest = [price, ...this.type() === 'oco' ? [stop, stopLimit] : []].map((input) => plainNumber(input.value)).sort((a, b) => b - a)[0];
    const at = this.side === 'sell' || market ? '1' : dearest;
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
    if (type !== 'market') return type.endsWith('_market') || buys ? 0 : amount * valueOf(f.price) || 0;
    const { book } = this.market();
    if (!book?.ready) return 0;
    if (!buys) return valueOf(f.total) || this.walk(amount, book.bids, false);
    return this.walk(valueOf(f.total) || 0, book.asks, true);
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

  // orderOf returns an order with the decimals of its inputs, or throws with the field that is wrong. place is where the order
  // stands in a list; an error of the exchange names it.
  orderOf(place, order, inputs) {
    for (const [name, input] of Object.entries(inputs)) {
      const text = plainNumber(input.value);
      if (!isNumber(text)) throw Object.assign(new Error(text ? notNumber(input.value) : 'Please fill in this field.'), { input });
      order[name] = name === 'trailingDelta' ? Number((text * 100).toFixed(6)) : text;
      this.sent.set(place + name, input);
    }
    return order;
  }

  // inputOf returns the input of a member that an error names, or of the first member of an order of a list. What is wrong
  // with the price of an order that has none is its stop price.
  inputOf(name) {
    const sent = (text) => [...this.sent].find(([n]) => n === text || n.startsWith(`${text}.`))?.[1];
    return sent(name) ?? sent(name.replace(/price$/, 'stopPrice')) ?? this.order.querySelector(`[name="${CSS.escape(name)}"]`);
  }

  // request returns the body of the order or of the list.
  request() {
    const { fields: f, side } = this, type = this.type(), limit = !type.endsWith('market');
    const stp = f.stp.value === 'cancel_taker' ? {} : { selfTradePrevention: f.stp.value }, market = { currencyPairCode: this.pair };
    this.sent = new Map();
    if (type === 'oco') {
      const stop = given(f.stopLimit) ? { stopPrice: f.stop, price: f.stopLimit } : { stopPrice: f.stop };
      return { kind: 'oco', ...market, orders: [this.orderOf('orders[0].', { side, type: 'limit', postOnly: true, ...stp }, { price: f.price, amount: f.amount }),
        this.orderOf('orders[1].', { side, type: stop.price ? 'stop_limit' : 'stop_market', ...stp }, { ...stop, amount: f.amount })] };
    }
    const inputs = {};
    if (type.startsWith('trailing')) inputs.trailingDelta = f.trail;
    if (given(f.stop) && inputs.trailingDelta || /^(stop|take)/.test(type)) inputs.stopPrice = f.stop;
    if (limit) inputs.price = f.price;
    if (!limit && given(f.total)) inputs.quoteAmount = f.total; else inputs.amount = f.amount;
    if (limit && given(f.shows)) inputs.displayAmount = f.shows;
    const force = limit ? { timeInForce: f.tif.value, ...f.post.checked && { postOnly: true } } : {};
    const exits = type === 'limit' && f.attach.checked ? [['take_profit_market', f.profit], ['stop_market', f.loss]].filter(([, input]) => given(input)) : null;
    const order = this.orderOf(exits ? 'orders[0].' : '', { side, type: this.wireType(type), ...force, ...stp }, inputs);
    if (!exits) return { ...order, ...market };
    if (!exits.length) this.orderOf('', {}, { stopPrice: f.profit });
    // A purchase pays its fee in what it buys, so that its pending orders sell what is left.
    const other = side === 'buy' ? { side: 'sell' } : { side: 'buy', amount: order.amount };
    return { kind: `${side === 'buy' ? 'opo' : 'oto'}${exits.length > 1 ? 'co' : ''}`, ...market,
      orders: [order, ...exits.map(([exit, input], i) => this.orderOf(`orders[${i + 1}].`, { ...other, type: exit, ...stp }, { stopPrice: input }))] };
  }

  // wireType returns the exchange's word. A trailing order that starts at a better price than the last is a take profit.
  wireType(type) {
    if (!type.startsWith('trailing')) return type;
    const start = valueOf(this.fields.stop), last = Number(this.market().last ?? NaN), better = this.side === 'sell' ? start > last : start > 0 && start < last;
    return type.replace('trailing', better ? 'take_profit' : 'stop');
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
      if (error.field) wrong(this.inputOf(error.field));
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
