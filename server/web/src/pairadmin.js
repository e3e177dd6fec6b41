// The pairs of the admin page: their states and fees, new ones, and the end of one.
import { answer, ask, brief, cell, el, fill, nice, options, plainNumber, table } from './dom.js';
import { actions, internal } from './operator.js';

const states = { online: 'online', post_only: 'post only', cancel_only: 'cancel only', halted: 'halted' };
const field = (label, props) => el('label', {}, label, el('input', { autocomplete: 'off', required: true, ...props }));
const fees = (maker, taker) => [field('Maker fee', { name: 'makerFee', inputmode: 'decimal', value: maker }), field('Taker fee', { name: 'takerFee', inputmode: 'decimal', value: taker })];
const digits = (label, name, value) => field(label, { name, type: 'number', min: '0', max: '18', value });

export function pairadmin(node, { place }) {
  const { said, act } = actions();
  const list = el('div', { class: 'wide scroll' });
  const button = (p, name, label, onclick, cls = 'quiet') => el('button', { type: 'button', class: cls, 'data-do': name, 'aria-label': `${label} ${nice(p.code)}`, onclick }, label);
  let pairs = [];

  const change = (p, payload, done) => act(async () => {
    await internal('PATCH', `/pairs/${p.code}`, payload);
    await look();
    return done;
  });
  const edit = (p) => act(async () => {
    const state = el('select', { name: 'state' }, options(states));
    state.value = p.state;
    const form = el('div', { class: 'line' }, el('label', {}, 'State', state), fees(brief(p.makerFee), brief(p.takerFee)), el('p', { class: 'dim' }, 'A fee is a fraction of what is received: 0.001 is 0.1 %.'));
    if (!await ask('pair', nice(p.code), form, answer('save', 'Save', { class: 'main' }), answer('', 'Close', { formNoValidate: true }))) return undefined;
    const value = (name) => plainNumber(form.querySelector(`[name=${name}]`).value);
    await internal('PATCH', `/pairs/${p.code}`, { state: state.value, makerFee: value('makerFee'), takerFee: value('takerFee') });
    await look();
    return `${nice(p.code)} is ${states[state.value]}; fees ${value('makerFee')} and ${value('takerFee')}.`;
  });
  const delist = (p) => act(async () => {
    const what = el('ul', {}, ['All its open orders are canceled; what they hold is free again.', 'Every list loses the pair, its streams end, and requests for it are answered as for an unknown pair.',
      'Balances, orders and trades of users stay.', 'Nothing brings the pair back, and its code is never used again.'].map((text) => el('li', {}, text)));
    if (!await ask('delisting', `Delist ${nice(p.code)} for good?`, what, answer('', 'Keep it'), answer('delist', `Delist ${nice(p.code)}`, { class: 'sell' }))) return undefined;
    await internal('DELETE', `/pairs/${p.code}`);
    await look();
    add.elements.code.focus(); // the button is gone
    return `${nice(p.code)} is delisted.`;
  });

  const draw = () => {
    const text = filter.querySelector('input').value.trim().toUpperCase().replace('/', '_'), focused = document.activeElement?.dataset?.do, of = document.activeElement?.closest('[data-pair]')?.dataset.pair;
    fill(list, table('Pairs', ['Pair', 'State', { name: 'Maker fee', num: true }, { name: 'Taker fee', num: true }, { name: 'Digits', num: true }, { name: el('span', { class: 'unseen' }, 'Actions') }],
      pairs.filter((p) => p.code.includes(text)).map((p) => el('tr', { 'data-pair': p.code }, cell(nice(p.code)), cell(states[p.state] ?? p.state, p.state === 'online' ? 'up' : 'down'), cell(brief(p.makerFee), 'num'), cell(brief(p.takerFee), 'num'),
        el('td', { class: 'num', title: 'of the price, of the amount' }, `${p.digitsPrice}, ${p.digitsAmount}`), el('td', { class: 'text' }, p.state === 'delisted' ? [] : [
          p.state === 'halted' ? button(p, 'halt', 'Resume', () => change(p, { state: 'online' }, `${nice(p.code)} trades again.`)) : button(p, 'halt', 'Halt', () => change(p, { state: 'halted' }, `${nice(p.code)} is halted: nothing in it trades or is canceled.`)),
          button(p, 'edit', 'Edit', () => edit(p)), button(p, 'delist', 'Delist', () => delist(p))])))));
    if (focused) list.querySelector(`[data-pair="${of}"] [data-do="${focused}"]`)?.focus();
  };
  const look = async () => {
    pairs = await internal('GET', '/pairs?decimals=string');
    draw();
  };
  const filter = el('label', { class: 'grows' }, 'Filter', el('input', { type: 'search', name: 'filter', autocomplete: 'off', placeholder: 'Code', oninput: draw }));
  const add = el('form', { class: 'line', onsubmit: (e) => {
    e.preventDefault();
    const f = add.elements, code = f.code.value.trim().toUpperCase().replace('/', '_');
    act(async () => {
      await internal('POST', '/pairs', { code, digitsPrice: +f.digitsPrice.value, digitsAmount: +f.digitsAmount.value, makerFee: plainNumber(f.makerFee.value), takerFee: plainNumber(f.takerFee.value) });
      add.reset();
      await look();
      return `${nice(code)} is listed and online.`;
    });
  } }, field('New pair', { name: 'code', placeholder: 'BTC_USDT' }), digits('Digits of price', 'digitsPrice', '2'), digits('Digits of amount', 'digitsAmount', '4'), fees('0.001', '0.001'), el('button', { type: 'submit' }, 'Add the pair'));

  place.append(el('section', { 'aria-label': 'Pairs' }, said, el('section', { class: 'panel' }, el('h2', {}, 'Pairs'), add, el('div', { class: 'line' }, filter), list)));
  act(look);
}
