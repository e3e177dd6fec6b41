// Alerts: prices at which the page says something. They are kept in this browser. One that was reached while the page was
// closed is said when it opens again.
import { digitsOf, el, fill, group, isNumber, menu, nice, notNumber, plainNumber, stored, units } from './dom.js';
import { toast } from './toast.js';

const place = 'alerts', most = 50;

// difference is negative, zero or positive as a decimal is smaller than another one, equal, or larger.
function difference(a, b) {
  const digits = Math.max(digitsOf(a), digitsOf(b));
  return units(a, digits) - units(b, digits);
}

export class Alerts {
  // market returns the current pair, its settings and its last price. onChange runs after each change of the list, onHit when
  // a price is reached, onPlace when the user wants to click a price in the chart.
  constructor(market, { onChange, onHit, onPlace }) {
    Object.assign(this, { market, onChange, onHit, all: stored(place, []).filter((a) => typeof a?.pair === 'string' && isNumber(a.price)).slice(0, most) });
    this.price = el('input', { name: 'alert', inputmode: 'decimal', autocomplete: 'off', placeholder: 'Price', 'aria-label': 'Price of the alert' });
    this.say = el('p', { role: 'status', class: 'say' });
    this.list = el('ul');
    const { button, panel } = menu('alerts', 'Alerts',
      el('form', { onsubmit: (e) => { e.preventDefault(); if (this.add(this.price.value)) this.price.value = ''; } }, this.price, el('button', { type: 'submit' }, 'Add'),
        el('button', { type: 'button', 'data-place': '', onclick: () => { panel.hidePopover(); onPlace(); } }, 'Click in the chart')),
      this.say, this.list);
    Object.assign(this, { button, panel });
    this.draw();
  }

  of(pair) { return this.all.filter((a) => a.pair === pair); }

  pairs() { return this.all.map((a) => a.pair); }

  // add sets an alert at a price of the current pair and reports whether it could.
  add(typed) {
    const { pair, settings, last } = this.market(), price = plainNumber(typed);
    const wrong = !isNumber(price) || !+price ? (price ? notNumber(typed) : 'Please write a price.')
      : digitsOf(price) > settings.digitsPrice ? `A price in ${nice(pair)} has at most ${settings.digitsPrice} decimals.`
        : !(+last > 0) ? `${nice(pair)} has not traded yet.` : difference(price, last) === 0n ? `${nice(pair)} is at ${group(last)} now.`
          : this.of(pair).some((a) => difference(a.price, price) === 0n) ? 'There is an alert at this price.'
            : this.all.length >= most ? `There are ${most} alerts. Remove one first.` : '';
    this.say.textContent = wrong;
    if (!wrong) this.keep([...this.all, { pair, price, up: difference(price, last) > 0n }]);
    return !wrong;
  }

  keep(all) {
    this.all = all;
    localStorage.setItem(place, JSON.stringify(all));
    this.draw();
    this.onChange();
  }

  // check says which alerts of a pair its last price has reached, and removes them.
  check(pair, last) {
    if (!(+last > 0)) return;
    const hit = this.of(pair).filter((a) => (a.up ? difference(last, a.price) >= 0n : difference(last, a.price) <= 0n));
    if (!hit.length) return;
    for (const a of hit) toast(`alert ${pair} ${a.price}`, 'warn', `${nice(pair)} ${a.up ? 'rose' : 'fell'} to ${group(a.price)}.`, `The last price is ${group(last)}.`);
    this.keep(this.all.filter((a) => !hit.includes(a)));
    this.onHit();
  }

  draw() {
    this.button.textContent = this.all.length ? `Alerts ${this.all.length}` : 'Alerts';
    fill(this.list, this.all.map((a) => el('li', { 'data-alert': `${a.pair} ${a.price}` }, el('span', {}, nice(a.pair)), el('b', { class: a.up ? 'up' : 'down' }, `${a.up ? '↑' : '↓'} ${group(a.price)}`),
      el('button', { type: 'button', class: 'quiet', 'aria-label': `Remove the alert of ${nice(a.pair)} at ${a.price}`, onclick: () => { this.keep(this.all.filter((x) => x !== a)); this.price.focus(); } }, '×'))));
  }
}
