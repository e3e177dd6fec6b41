// The order ticket with the user's open orders and balances. The key pair is only in memory, so a
// reload loses it.
import { ApiError, hasKeys, setKeys, signed } from './api.js';
import { brief, cell, el, fill, table } from './dom.js';

const field = (label, input) => el('label', {}, label, input);

export class Ticket {
  constructor(stream) {
    this.stream = stream;
    this.orders = new Map();
    this.balances = new Map();
    this.form = el('div');
    this.say = el('p', { role: 'status', class: 'notice', hidden: true });
    this.node = el('section', { class: 'panel ticket', 'data-panel': 'ticket', 'aria-label': 'Order ticket' }, el('h2', {}, 'Order ticket'), this.form, this.say);
    this.list = el('div');
    this.wallet = el('div');
    this.ordersNode = el('section', { class: 'panel orders', 'data-panel': 'orders', 'aria-label': 'Open orders and balances' },
      el('h2', {}, 'Open orders'), el('div', { class: 'wide' }, this.list), el('h2', {}, 'Balances'), el('div', { class: 'wide' }, this.wallet));
    this.draw();
    if (hasKeys()) this.connect();
  }

  load(pair) { this.pair = pair; this.draw(); this.drawOrders(); }

  price(value) { if (this.priceInput) this.priceInput.value = value; }

  connect() {
    this.stream.auth();
    this.stream.subscribe('orders', null, (m) => this.onOrders(m));
    this.stream.subscribe('balances', null, (m) => {
      if (m.type === 'snapshot') this.balances.clear();
      (m.balances ?? []).forEach((b) => this.balances.set(b.currencyCode, b));
      this.drawBalances();
    });
    this.draw();
  }

  onOrders(m) {
    if (m.type === 'snapshot') { this.orders.clear(); (m.orders ?? []).forEach((o) => this.orders.set(o.id, o)); }
    if (m.order) {
      if (['Created', 'PartiallyCompleted'].includes(m.order.status)) this.orders.set(m.order.id, m.order);
      else this.orders.delete(m.order.id);
    }
    this.drawOrders();
  }

  draw() {
    if (!hasKeys()) { fill(this.form, this.keyForm()); return; }
    fill(this.form, this.orderForm());
  }

  keyForm() {
    const pub = el('input', { autocomplete: 'off', name: 'publicKey', required: true });
    const priv = el('input', { autocomplete: 'off', name: 'privateKey', type: 'password', required: true });
    return el('form', { onsubmit: (e) => { e.preventDefault(); setKeys(pub.value.trim(), priv.value.trim()); this.connect(); } },
      el('p', { class: 'dim' }, 'Trading needs a key pair. It stays in this tab\u2019s memory. A demo market prints one on its terminal.'),
      field('Public key', pub), field('Private key', priv), el('button', { type: 'submit' }, 'Use this key pair'));
  }

  orderForm() {
    const kind = el('select', { name: 'type' }, el('option', { value: 'limit' }, 'Limit'), el('option', { value: 'market' }, 'Market'));
    this.priceInput = el('input', { name: 'price', inputmode: 'decimal', autocomplete: 'off' });
    const amount = el('input', { name: 'amount', inputmode: 'decimal', autocomplete: 'off', required: true });
    const tif = el('select', { name: 'tif' }, ['gtc', 'ioc', 'fok'].map((t) => el('option', { value: t }, t.toUpperCase())));
    const post = el('input', { type: 'checkbox', name: 'postOnly' });
    const market = () => kind.value === 'market';
    kind.addEventListener('change', () => { this.priceInput.disabled = market(); tif.disabled = market(); post.disabled = market(); });
    const place = (side) => {
      const order = { side, currencyPairCode: this.pair, amount: amount.value.trim() };
      if (market()) order.isMarket = true;
      else Object.assign(order, { price: this.priceInput.value.trim(), timeInForce: tif.value, postOnly: post.checked });
      return this.run(async () => `Order ${(await signed('POST', '/api/orders', order)).body} placed.`);
    };
    return el('form', { onsubmit: (e) => e.preventDefault() },
      el('div', { class: 'pair2' }, field('Type', kind), field('Time in force', tif)),
      el('div', { class: 'pair2' }, field('Price', this.priceInput), field('Amount', amount)),
      el('label', { class: 'check' }, post, 'Post only'),
      el('div', { class: 'pair2' },
        el('button', { type: 'button', class: 'buy', onclick: () => place('buy') }, `Buy ${this.pair?.split('_')[0] ?? ''}`),
        el('button', { type: 'button', class: 'sell', onclick: () => place('sell') }, `Sell ${this.pair?.split('_')[0] ?? ''}`)));
  }

  async run(action) {
    try {
      this.say.textContent = await action();
      this.say.className = 'notice';
    } catch (error) {
      this.say.textContent = error instanceof ApiError ? `${error.code}: ${error.message}` : error.message;
      this.say.className = 'notice bad';
    }
    this.say.hidden = false;
  }

  drawOrders() {
    const open = [...this.orders.values()].filter((o) => o.currencyPairCode === this.pair).reverse();
    if (!open.length) { fill(this.list, el('p', { class: 'dim' }, hasKeys() ? `No open orders in ${(this.pair ?? '').replace('_', '/')}.` : 'Enter an API key to see your orders.')); return; }
    fill(this.list, table('Open orders', ['Side', { name: 'Price', num: true }, { name: 'Open', num: true }, 'Status', ''],
      open.map((o) => el('tr', { 'data-order': o.id }, cell(o.isBid ? 'buy' : 'sell', o.isBid ? 'up' : 'down'), cell(o.price ?? '–', 'num'),
        cell(brief(o.amount ?? '–'), 'num'), cell(o.status), el('td', {}, el('button', {
          type: 'button', 'aria-label': `Cancel order ${o.id}`,
          onclick: () => this.run(async () => { await signed('DELETE', `/api/orders/${o.id}`); return `Order ${o.id} canceled.`; }),
        }, 'Cancel'))))));
  }

  drawBalances() {
    const all = [...this.balances.values()].filter((b) => !/^-?[0.]+$/.test(b.total)).sort((a, b) => (a.currencyCode < b.currencyCode ? -1 : 1));
    fill(this.wallet, table('Balances', ['Currency', { name: 'Free', num: true }, { name: 'Held', num: true }],
      all.map((b) => el('tr', {}, cell(b.currencyCode), cell(brief(b.free), 'num'), cell(brief(b.held), 'num')))));
  }
}
