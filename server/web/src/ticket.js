// The order ticket: every order type of the API, with shares of the balance, total and fee.
import { types } from './account.js';
import { ApiError } from './api.js';
import { brief, el, fill, group, isNumber, money, notNumber, notice, options, plainNumber, portion, product } from './dom.js';
import { takesKeyFile } from './keyfile.js';

const field = (label, input, ...more) => el('label', { 'data-field': input.name }, el('span', {}, label), input, ...more);
// The types that most orders have are buttons; the others are one step away, each with what it does.
const named = (...all) => Object.fromEntries(all.map((type) => [type, types[type]]));
const first = named('limit', 'market', 'stop_limit');
const more = {
  'Wait for a price': named('stop_market', 'take_profit_limit', 'take_profit_market'),
  'Follow the price': { trailing_market: 'Trailing stop', trailing_limit: 'Trailing stop limit' },
  'Several orders': { oco: 'OCO: one cancels the other', oto: 'OTO: one starts the other', otoco: 'OTOCO: one starts an OCO' },
};
const hints = {
  stop_limit: 'Waits until the price reaches the stop, then is a limit order.',
  stop_market: 'Waits until the price reaches the stop, then trades at once.',
  take_profit_limit: 'Waits for a better price, then is a limit order.',
  take_profit_market: 'Waits for a better price, then trades at once.',
  trailing_market: 'The stop follows the price at a distance and trades when the price turns.',
  trailing_limit: 'The stop follows the price at a distance, then is a limit order.',
  oco: 'A limit order and a stop. The first that begins to fill ends the other.',
  oto: 'The second order begins when the first is filled.',
  otoco: 'When the order is filled, take profit and stop loss begin. One ends the other.',
};
const pendingTypes = Object.entries(types).filter(([type]) => type !== 'market');
const given = (input) => input.value.trim() !== '';

// What a trader is told where the exchange's message has no number of the account, of the book or of the last trade. A sentence
// whose number is not known is undefined.
const reasons = {
  INSUFFICIENT_FUNDS: (c) => `You have ${c.free} ${c.paying} available, which is not enough for this order.`,
  TRAIL_OUT_OF_RANGE: () => 'Trail by 0.1 % to 20 %.',
  WOULD_CROSS: (c) => c.touch && `A post-only order must not trade at once: ${c.buys ? 'buy below' : 'sell above'} ${c.touch}.`,
  WOULD_TRIGGER: (c) => c.last && `The price is there already: the last trade was at ${c.last}.`,
  LIST_PRICES: (c) => c.last && `The last price, ${c.last}, must be between the two: the limit ${c.buys ? 'below it, the stop above' : 'above it, the stop below'}.`,
  NO_LIQUIDITY: (c) => `Nobody ${c.buys ? 'sells' : 'buys'} ${c.base} at the moment.`,
};
const select = (name, all, onchange) => el('select', { name, onchange }, options(all));
const capital = (text) => text[0].toUpperCase() + text.slice(1);
const valueOf = (input) => +plainNumber(input.value);

export class Ticket {
  // market returns the settings, the last price and the book of the current pair. below stands below the form.
  constructor(account, market, below) {
    Object.assign(this, { account, market, below, side: 'buy', kind: 'limit', busy: false });
    this.body = el('div', { class: 'scroll' });
    this.node = el('section', { class: 'panel ticket', 'data-panel': 'ticket', 'aria-label': 'Order ticket' }, this.body);
    this.order = this.orderForm();
    this.keys = this.keyForm();
    this.onForget = () => account.forget(); // the console asks first
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
    if (this.kind === 'market') this.pick('limit');
    this.recount('amount');
  }

  draw() {
    const { account } = this;
    if (account.signedIn && this.body.firstChild !== this.order) {
      const entered = this.keys.contains(document.activeElement);
      fill(this.body, this.order, this.below);
      if (entered) this.focus();
    }
    if (!account.signedIn && this.body.firstChild !== this.keys) fill(this.body, this.keys, this.below);
    this.keyState();
    this.estimate();
  }

  // focus moves the focus to the first field to fill in.
  focus() { [...this.node.querySelectorAll('input')].find((i) => i.checkVisibility())?.focus(); }

  keyState() {
    const { account } = this;
    notice(this.keySay, account.problem, true);
    this.keyButton.disabled = account.checking;
    this.keyButton.textContent = account.checking ? 'Checking the key pair…' : 'Use this key pair';
  }

  keyForm() {
    const pub = el('input', { autocomplete: 'off', name: 'publicKey', required: true, spellcheck: 'false' });
    const priv = el('input', { autocomplete: 'off', name: 'privateKey', type: 'password', required: true });
    this.keySay = el('p', { role: 'alert', class: 'notice bad', hidden: true });
    this.keyButton = el('button', { type: 'submit', class: 'main' }, 'Use this key pair');
    const form = el('form', { class: 'keys', onsubmit: (e) => { e.preventDefault(); this.account.signIn(pub.value.trim(), priv.value.trim()).then(() => { pub.value = ''; priv.value = ''; }, () => {}); } },
      el('h2', {}, 'Trade'), el('p', { class: 'dim' }, 'Trading needs an API key pair. It stays in this tab until you close it or forget the key. A demo market prints a pair on its terminal; ', el('code', {}, 'bin/tickhive demo-key key.json'), ' makes another: paste the text of the file here, or drop the file.'),
      field('Public key', pub), field('Private key', priv), this.keySay, this.keyButton);
    takesKeyFile(form, (publicKey, privateKey) => { pub.value = publicKey; priv.value = privateKey; form.requestSubmit(); },
      (problem) => { this.account.problem = problem; this.keyState(); });
    return form;
  }

  orderForm() {
    const number = (name) => el('input', { name, inputmode: 'decimal', autocomplete: 'off', placeholder: '0', oninput: () => this.recount(name) });
    const check = (name) => el('input', { type: 'checkbox', name, onchange: () => this.shape() });
    const f = {
      tif: select('tif', { gtc: 'GTC', ioc: 'IOC', fok: 'FOK' }, () => this.shape()),
      price: number('price'), amount: number('amount'), total: number('total'), stop: number('stopPrice'), shows: number('displayAmount'),
      trail: number('trailingDelta'), stopLimit: number('stopLimit'), profit: number('takeProfit'), profitLimit: number('takeProfitLimit'),
      loss: number('stopLoss'), lossLimit: number('stopLossLimit'), thenStop: number('thenStop'), thenPrice: number('thenPrice'), thenAmount: number('thenAmount'),
      attach: check('attach'), post: check('postOnly'), strict: check('strictTrigger'),
      share: el('input', { type: 'range', name: 'share', min: '0', max: '100', value: '0', 'aria-label': 'Percent of the available balance', oninput: () => this.share(+f.share.value) }),
      then: el('select', { name: 'then', onchange: () => this.shape() }, ['sell', 'buy'].flatMap((side) => pendingTypes.map(([type, text]) => el('option', { value: `${side} ${type}` }, `${capital(side)} ${text.toLowerCase()}`)))),
      own: el('input', { name: 'clientOrderId', autocomplete: 'off', spellcheck: 'false', maxlength: '64' }),
      stp: select('selfTradePrevention', { cancel_taker: 'Cancel new', cancel_maker: 'Cancel old', cancel_both: 'Cancel both', decrement: 'Decrement', none: 'Off' }),
    };
    this.fields = f;
    this.sides = ['buy', 'sell'].map((side) => el('button', { type: 'button', 'data-side': side, onclick: () => this.choose(side) }, capital(side)));
    this.kinds = Object.entries(first).map(([type, text]) => el('button', { type: 'button', 'data-type': type, onclick: () => this.pick(type) }, text));
    this.more = el('select', { name: 'type', 'aria-label': 'More order types', onchange: () => this.pick(this.more.value || 'limit') }, el('option', { value: '' }, 'More'),
      Object.entries(more).map(([label, all]) => el('optgroup', { label }, options(all))));
    this.hint = el('p', { class: 'hint dim' });
    this.available = el('dd');
    this.fee = el('dd');
    this.submit = el('button', { type: 'submit' });
    this.status = el('p', { role: 'status', class: 'notice', hidden: true });
    const rows = this.orderRows();
    return el('form', { class: 'order', onsubmit: (e) => { e.preventDefault(); this.place(); } },
      el('div', { class: 'sides', role: 'group', 'aria-label': 'Side' }, this.sides), el('div', { class: 'types', role: 'group', 'aria-label': 'Order type' }, this.kinds, this.more), this.hint,
      rows.trail, rows.stop, rows.stopLimit, rows.price, rows.amount, el('div', { class: 'shares', role: 'group', 'aria-label': 'Share of the available balance' }, f.share,
        [0, 25, 50, 75, 100].map((p) => el('button', { type: 'button', 'data-share': String(p), tabindex: '-1', onclick: () => this.share(p) }, `${p} %`))),
      rows.total, rows.force, rows.attach, rows.exits, rows.then, rows.thenFields,
      el('dl', {}, el('dt', {}, 'Available'), this.available, el('dt', {}, 'Fee, at most'), this.fee),
      this.submit, this.status,
      el('div', { class: 'ends' }, el('details', {}, el('summary', {}, 'More options'), rows.shows, rows.strict, field('Own orders that meet', f.stp), field('Order id of your own (optional)', f.own)),
        el('button', { type: 'button', class: 'quiet', 'data-forget': '', onclick: () => this.onForget() }, 'Forget key')));
  }

  // orderRows makes the rows of the form, of which shape shows those that the type has.
  orderRows() {
    const f = this.fields;
    const boxed = (label, input, of) => { const l = field(label, input, of === '%' ? el('i', { class: 'unit' }, of) : el('i', { 'data-unit': of, class: 'unit' })); l.classList.add('boxed'); return l; };
    const pair = (...labels) => el('div', { class: 'pair2' }, labels);
    this.rows = {
      stop: boxed('Stop price', f.stop, 'quote'), price: boxed('Price', f.price, 'quote'), amount: boxed('Amount', f.amount, 'base'), total: boxed('Total', f.total, 'quote'),
      trail: boxed('Trail by', f.trail, '%'), stopLimit: boxed('Stop limit (optional)', f.stopLimit, 'quote'), shows: boxed('Show only (iceberg)', f.shows, 'base'),
      force: el('div', { class: 'force' }, el('label', { 'data-field': 'tif', class: 'beside' }, el('span', {}, 'Time in force'), f.tif), el('label', { class: 'check' }, f.post, 'Post only')),
      attach: el('label', { class: 'check' }, f.attach, 'Take profit / stop loss'), strict: el('label', { class: 'check' }, f.strict, 'Refuse if the price is there already'),
      exits: pair(field('Take profit at', f.profit), field('Its limit (optional)', f.profitLimit), field('Stop loss at', f.loss), field('Its limit (optional)', f.lossLimit)),
      then: el('label', { 'data-field': 'then' }, el('span', {}, 'When it is filled'), f.then), thenFields: pair(field('At', f.thenStop), field('Price', f.thenPrice), field('Amount (optional)', f.thenAmount)),
    };
    f.shows.placeholder = 'all';
    return this.rows;
  }

  // pick shows the form of a type of order.
  pick(kind) {
    this.kind = kind;
    this.recount(this.typed); // of an order at the market's price what was typed last holds, not what it came to at a price
    if (kind === 'oto') this.fields.then.value = this.side === 'buy' ? 'sell limit' : 'buy limit';
    this.shape();
  }

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
    const { fields: f, rows, kind } = this, oco = kind === 'oco', trails = kind.startsWith('trailing'), limit = !kind.endsWith('market'), starts = ['limit', 'oto', 'otoco'].includes(kind);
    for (const b of this.kinds) b.setAttribute('aria-pressed', String(b.dataset.type === kind));
    this.more.value = Object.hasOwn(first, kind) ? '' : kind;
    this.more.classList.toggle('picked', this.more.value !== '');
    fill(this.hint, this.more.value && el('b', {}, `${this.more.selectedOptions[0].textContent}. `), hints[kind] ?? '');
    this.hint.hidden = !hints[kind];
    const [, then] = f.then.value.split(' '), waits = /^(stop|take|trail)/.test(kind);
    const show = (row, on) => { row.hidden = !on; };
    show(rows.price, limit);
    show(rows.trail, trails);
    show(rows.stop, waits || oco);
    rows.stop.firstChild.textContent = trails ? 'Start at (optional)' : kind.startsWith('take') ? 'Trigger price' : 'Stop price';
    show(rows.stopLimit, oco);
    rows.price.firstChild.textContent = oco || trails ? 'Limit price' : 'Price';
    show(rows.force, limit && !oco);
    show(rows.shows, limit && !oco);
    show(rows.strict, waits && !trails);
    show(rows.attach, kind === 'limit');
    show(rows.exits, kind === 'otoco' || kind === 'limit' && f.attach.checked);
    show(rows.then, kind === 'oto');
    show(rows.thenFields, kind === 'oto');
    show(f.thenStop.parentNode, !then.startsWith('limit'));
    show(f.thenPrice.parentNode, then.endsWith('limit'));
    show(f.own.parentNode, !oco && !starts || kind === 'limit' && !f.attach.checked);
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
    const [at, much, worth] = [price, amount, total].map((input) => plainNumber(input.value)), known = (...texts) => texts.every((text) => isNumber(text) && +text > 0);
    this.heed();
    if (['amount', 'total'].includes(from)) this.typed = from;
    if (s && !this.kind.endsWith('market')) {
      if (from === 'total' && known(worth, at)) amount.value = brief(portion(worth, 100, at, s.digitsAmount));
      else if (['price', 'amount', 'total'].includes(from)) total.value = known(much, at) ? brief(product(much, at, s.digitsPrice + s.digitsAmount)) : '';
    } else if (from === 'amount') total.value = ''; else if (from === 'total') amount.value = '';
    this.fields.share.value = '0';
    this.estimate();
  }

  rate() { return this.account.rates.get(this.pair) ?? 0; }

  // share fills in a part of the available balance.
  share(percent) {
    const { settings: s, last } = this.market(), { price, amount, total, stop, stopLimit, share } = this.fields;
    if (!s) return;
    const done = (from) => { this.recount(from); share.value = String(percent); };
    const market = this.kind.endsWith('market');
    if (!market && !(valueOf(price) > 0)) price.value = last ?? '';
    const owned = this.account.free(this.side === 'buy' ? this.quote : this.base), free = owned.startsWith('-') ? '0' : owned;
    const dearest = [price, ...this.kind === 'oco' ? [stop, stopLimit] : []].map((input) => plainNumber(input.value)).sort((a, b) => b - a)[0];
    const at = this.side === 'sell' || market ? '1' : dearest;
    if (this.side === 'buy' && market) { total.value = brief(portion(free, percent, at, s.digitsPrice + s.digitsAmount)); done('total'); return; }
    amount.value = isNumber(at) && +at > 0 ? brief(portion(free, percent, at, s.digitsAmount)) : '';
    done('amount');
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
    const { fields: f } = this, type = this.kind, buys = this.side === 'buy', amount = valueOf(f.amount) || 0;
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
    const about = brings && this.kind === 'market' ? `of ≈ ${text(brings)}: ` : '';
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
    const { fields: f, side, kind } = this, limit = !kind.endsWith('market'), stp = f.stp.value === 'cancel_taker' ? {} : { selfTradePrevention: f.stp.value };
    this.sent = new Map();
    if (kind === 'oco') return { currencyPairCode: this.pair, ...this.either(stp) };
    const exits = kind === 'otoco' || kind === 'limit' && f.attach.checked, starts = exits || kind === 'oto';
    const inputs = {};
    if (kind.startsWith('trailing')) inputs.trailingDelta = f.trail;
    if (given(f.stop) && inputs.trailingDelta || /^(stop|take)/.test(kind)) inputs.stopPrice = f.stop;
    if (limit) inputs.price = f.price;
    if (!limit && given(f.total)) inputs.quoteAmount = f.total; else inputs.amount = f.amount;
    if (limit && given(f.shows)) inputs.displayAmount = f.shows;
    const force = limit ? { timeInForce: f.tif.value, ...f.post.checked && { postOnly: true } } : {};
    const order = this.orderOf(starts ? 'orders[0].' : '', { side, type: starts ? 'limit' : this.wireType(kind), ...force, ...stp }, inputs);
    if (starts) return { currencyPairCode: this.pair, ...(exits ? this.withExits(order, stp) : this.withNext(order, stp)) };
    if (inputs.stopPrice && !inputs.trailingDelta && f.strict.checked) order.strictTrigger = true;
    if (given(f.own)) { order.clientOrderId = f.own.value.trim(); this.sent.set('clientOrderId', f.own); }
    return { ...order, currencyPairCode: this.pair };
  }

  // either returns a limit order and a stop of which one cancels the other.
  either(stp) {
    const { fields: f, side } = this, stop = given(f.stopLimit) ? { stopPrice: f.stop, price: f.stopLimit } : { stopPrice: f.stop };
    return { kind: 'oco', orders: [this.orderOf('orders[0].', { side, type: 'limit', postOnly: true, ...stp }, { price: f.price, amount: f.amount }),
      this.orderOf('orders[1].', { side, type: stop.price ? 'stop_limit' : 'stop_market', ...stp }, { ...stop, amount: f.amount })] };
  }

  // withExits returns an order that starts a take profit, a stop loss, or both. A purchase pays its fee in what it buys, so that
  // its pending orders sell what is left.
  withExits(order, stp) {
    const { fields: f, side } = this, other = side === 'buy' ? { side: 'sell' } : { side: 'buy', amount: order.amount };
    const all = [['take_profit', f.profit, f.profitLimit], ['stop', f.loss, f.lossLimit]], exits = all.filter(([, at]) => this.kind === 'otoco' || given(at));
    if (!exits.length) this.orderOf('', {}, { stopPrice: f.profit });
    return { kind: `${side === 'buy' ? 'opo' : 'oto'}${exits.length > 1 ? 'co' : ''}`, orders: [order, ...exits.map(([type, at, limit], i) => this.orderOf(`orders[${i + 1}].`,
      { ...other, type: `${type}_${given(limit) ? 'limit' : 'market'}`, ...stp }, { stopPrice: at, ...given(limit) && { price: limit } }))] };
  }

  // withNext returns an order that starts another one. Without an amount that sells what the first buys.
  withNext(order, stp) {
    const { fields: f } = this, [side, type] = f.then.value.split(' '), sellsIt = order.side === 'buy' && side === 'sell' && !given(f.thenAmount);
    const inputs = { ...type !== 'limit' && { stopPrice: f.thenStop }, ...type.endsWith('limit') && { price: f.thenPrice }, ...!sellsIt && { amount: given(f.thenAmount) ? f.thenAmount : f.amount } };
    return { kind: sellsIt ? 'opo' : 'oto', orders: [order, this.orderOf('orders[1].', { side, type, ...stp }, inputs)] };
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
      this.say(error instanceof ApiError ? this.reason(error) : `No answer came (${error.message}). See your open orders before you try again.`, true);
      if (error.field) wrong(this.inputOf(error.field));
    } finally {
      this.busy = false;
      this.estimate();
    }
  }

  // reason says why the exchange refused the order.
  reason(error) {
    const { last, book } = this.market(), buys = this.side === 'buy', paying = buys ? this.quote : this.base, touch = book?.ready && (buys ? book.asks : book.bids)[0]?.[0];
    return reasons[error.code]?.({ buys, paying, base: this.base, free: money(this.account.free(paying)), last: last && group(last), touch: touch && group(touch) }) || error.message;
  }

  say(text, bad) { notice(this.status, text, bad); }
}
