// The users of the admin page: a list with a search, and of one user the balances, the keys and the halt.
import { answer, ask, cell, copies, dateTime, el, fill, group, money, plainNumber, short, table } from './dom.js';
import { actions, internal, request } from './operator.js';

const pageSize = 50, typingMs = 200, pollMs = 2000;
const field = (label, props, cls) => el('label', { class: cls }, label, el('input', { autocomplete: 'off', ...props }));
const check = (label, name, checked) => el('label', { class: 'check' }, el('input', { type: 'checkbox', name, defaultChecked: checked }), label);
const day = (iso) => (iso ? dateTime(Date.parse(iso)) : '');
const rights = (k) => ['Trade', 'Withdraw', 'ManageKeys'].filter((name) => k[`can${name}`]).map((name) => name.replace('ManageKeys', 'manage keys').toLowerCase()).join(', ') || 'read';

export function users(node, { place }) {
  const { said, act } = actions();
  let rows = [], next = null, turn = 0, timer, picked = null;

  const search = field('Search', { type: 'search', name: 'search', maxLength: 64, placeholder: 'Nickname, name, id, code or public key', oninput: () => { clearTimeout(timer); timer = setTimeout(look, typingMs); } }, 'grows');
  const found = el('form', { class: 'line', role: 'search', onsubmit: async (e) => {
    e.preventDefault();
    await look();
    if (rows.length) pick(rows[0].id);
  } }, search);
  const make = el('form', { class: 'line', onsubmit: (e) => {
    e.preventDefault();
    const nickname = make.elements.nickname.value.trim();
    act(async () => {
      const u = await internal('POST', '/users', nickname ? { nickname } : {});
      make.reset();
      search.querySelector('input').value = '';
      await look();
      await pick(u.id);
      return `User ${u.nickname} is created.`;
    });
  } }, field('New user', { name: 'nickname', maxLength: 32, placeholder: 'Nickname, or empty' }, 'grows'), el('button', { type: 'submit' }, 'Create user'));
  const count = el('span', { class: 'dim', role: 'status' });
  const more = el('button', { type: 'button', class: 'quiet', 'data-more': '', hidden: true, onclick: () => look(true) }, 'Show more');
  const list = el('div', { class: 'wide scroll' });
  const detail = el('section', { class: 'panel', 'aria-label': 'User' }, el('p', { class: 'empty' }, 'Select a user, or create one.'));

  // look shows the users that the search finds, or those behind the ones that are shown.
  const look = (further = false) => act(async () => {
    const mine = ++turn, query = new URLSearchParams({ pageSize }), text = search.querySelector('input').value.trim();
    if (text) query.set('search', text);
    if (further === true) query.set('cursor', next);
    const { body, headers } = await request('GET', `/users?${query}`);
    if (mine !== turn) return;
    rows = further === true ? rows.concat(body) : body;
    next = headers.get('X-Next-Cursor');
    fill(list, table('Users', ['Nickname', 'Id', 'State', { name: 'Level', num: true }, 'Created'], rows.map((u) => el('tr', { class: 'pick', 'data-row': u.id, onclick: (e) => { if (!e.target.closest('button')) pick(u.id); } },
      el('td', {}, el('button', { type: 'button', class: 'link-like', 'data-user': u.id, onclick: () => pick(u.id) }, el('b', {}, u.nickname))),
      el('td', { title: u.id }, short(u.id)), cell(u.halted ? 'halted' : '', 'down'), cell(String(u.level), 'num'), cell(day(u.dateCreated))))));
    count.textContent = rows.length ? `${group(rows.length)} ${rows.length === 1 ? 'user' : 'users'}${text ? ' found' : ''}${next ? ', and more' : ''}` : text ? 'No user found.' : 'No users yet.';
    more.hidden = !next;
    mark();
  });
  const mark = () => { for (const row of list.querySelectorAll('[data-row]')) row.classList.toggle('picked', row.dataset.row === picked?.id); };

  const pick = (id) => act(async () => {
    const one = await userPanel(id, act, look);
    picked = one;
    mark();
    fill(detail, one.node);
    if (detail.getBoundingClientRect().top > innerHeight / 2) detail.scrollIntoView(); // on a phone it is below the list
  });
  setInterval(() => { if (picked && !document.hidden) picked.read(true).catch(() => {}); }, pollMs);

  place.append(el('section', { 'aria-label': 'Users' }, said, el('div', { class: 'split' },
    el('section', { class: 'panel' }, el('h2', {}, 'Users'), found, make, list, el('p', { class: 'paging' }, count, more)), detail)));
  look();
}

// userPanel is what the page shows of one user.
async function userPanel(id, act, listAgain) {
  const path = `/users/${id}`;
  const facts = el('dl', { class: 'figures' }), balances = el('div', { class: 'wide' }), keys = el('div', { class: 'wide' }), name = el('h2', {});
  const halt = el('button', { type: 'button', 'data-halt': '', onclick: () => act(async () => {
    const lifts = user.halted;
    if (!lifts && !await ask('halting', `Halt ${user.nickname}?`, el('p', {}, 'All open orders are canceled, and new orders are refused until you lift the halt. Cancels, deposits and withdrawals go on.'), answer('', 'Let it trade'), answer('halt', 'Halt', { class: 'sell' }))) return undefined;
    await internal(lifts ? 'DELETE' : 'POST', `${path}/halt`);
    await read();
    await listAgain();
    return `${user.nickname} ${lifts ? 'trades again' : 'is halted'}.`;
  }) });
  let user;

  const read = async (quiet) => {
    user = await internal('GET', `${path}?decimals=string`, undefined, quiet);
    name.textContent = user.nickname;
    const rows = [['Id', user.id], ['Public id', user.publicId], ['Address', user.address], ['Invite code', user.inviteCode], ['Name', [user.name, user.secondName].filter(Boolean).join(' ')],
      ['Level', `${user.level}, staking ${user.stakingLevel}`], ['Created', day(user.dateCreated)], ['State', user.halted ? 'halted' : user.unlimited ? 'unlimited money' : 'trades']];
    const all = rows.filter(([, text]) => text);
    if (facts.textContent !== all.flat().join('')) fill(facts, all.flatMap(([what, text]) => [el('dt', {}, what), el('dd', {}, text)]));
    halt.textContent = user.halted ? 'Lift the halt' : 'Halt';
    fill(balances, user.balances.length ? table('Balances', ['Currency', { name: 'Free', num: true }, { name: 'Held', num: true }, { name: 'Total', num: true }],
      user.balances.map((b) => el('tr', { 'data-balance': b.currencyCode }, cell(b.currencyCode), ...['free', 'held', 'total'].map((part) => cell(money(b[part]), 'num'))))) : el('p', { class: 'empty' }, 'No money.'));
  };
  const readKeys = async () => {
    const all = await internal('GET', `${path}/apikeys`);
    const below = (key) => all.filter((k) => k.createdBy === key).reduce((sum, k) => sum + 1 + below(k.publicKey), 0);
    fill(keys, all.length ? table('Keys', ['Name', 'Public key', 'May', 'Last used', { name: el('span', { class: 'unseen' }, 'Actions') }], all.map((k) => el('tr', { 'data-key': k.publicKey }, cell(k.isActive ? k.name : `${k.name} (expired)`), el('td', { title: k.publicKey }, short(k.publicKey)),
      cell(rights(k), 'text'), cell(day(k.lastUsedAt) || 'not since the start', 'text'),
      el('td', {}, el('button', { type: 'button', class: 'quiet', 'data-revoke': '', 'aria-label': `Revoke the key ${k.name}`, onclick: () => revoke(k, below(k.publicKey)) }, 'Revoke'))))) : el('p', { class: 'empty' }, 'No keys.'));
  };
  const revoke = (k, n) => act(async () => {
    const others = n ? ` So do the ${n === 1 ? 'key' : `${n} keys`} that it made.` : '';
    if (!await ask('revoking', `Revoke the key ${k.name}?`, el('p', {}, `It verifies no request from now on, and its sockets are closed.${others} Open orders stay. Nothing brings a key back.`), answer('', 'Keep it'), answer('revoke', 'Revoke', { class: 'sell' }))) return undefined;
    await internal('DELETE', `${path}/apikeys/${k.publicKey}`);
    await readKeys();
    newKey.elements.name.focus(); // the button is gone
    return `The key ${k.name} is revoked.`;
  });

  const currencies = el('datalist', { id: 'currencies' });
  const deposit = el('form', { class: 'line', onsubmit: (e) => {
    e.preventDefault();
    const { currencyCode, amount } = deposit.elements;
    act(async () => {
      const b = await internal('POST', `${path}/deposits?decimals=string`, { currencyCode: currencyCode.value.trim().toUpperCase(), amount: plainNumber(amount.value) });
      amount.value = '';
      await read();
      return `${user.nickname} has ${money(b.total)} ${b.currencyCode}.`;
    });
  } }, field('Currency', { name: 'currencyCode', required: true, list: 'currencies' }, 'grows'), field('Amount', { name: 'amount', inputmode: 'decimal', required: true }, 'grows'), currencies, el('button', { type: 'submit' }, 'Deposit'));
  const newKey = el('form', { class: 'line', onsubmit: (e) => {
    e.preventDefault();
    const f = newKey.elements, addresses = f.ipWhitelist.value.split(/[\s,]+/).filter(Boolean);
    act(async () => {
      const k = await internal('POST', `${path}/apikeys`, { name: f.name.value.trim(), canTrade: f.canTrade.checked, canWithdraw: f.canWithdraw.checked, canManageKeys: f.canManageKeys.checked, ipWhitelist: addresses });
      newKey.reset();
      await Promise.all([readKeys(), shown(user, k)]);
      return `The key ${k.name} is made.`;
    });
  } }, field('New key', { name: 'name', required: true, maxLength: 64, placeholder: 'Name' }, 'grows'), field('Only from', { name: 'ipWhitelist', placeholder: 'Addresses, or empty' }, 'grows'),
  check('Trade', 'canTrade', true), check('Withdraw', 'canWithdraw', false), check('Manage keys', 'canManageKeys', true), el('button', { type: 'submit' }, 'Make a key'));

  const [, , pairs] = await Promise.all([read(), readKeys(), internal('GET', '/pairs')]);
  fill(currencies, [...new Set(pairs.flatMap((p) => p.code.split('_')).concat('NATIVE', 'USBI'))].sort().map((code) => el('option', { value: code })));
  return { id, read, node: el('div', { 'data-detail': id }, el('div', { class: 'between' }, name, halt), facts, el('h3', {}, 'Balances'), balances, deposit, el('h3', {}, 'Keys'), keys, newKey) };
}

// shown shows a new key, once.
const shown = (user, k) => savesKey(`The key ${k.name}`, 'The private key is shown this once. Copy it or save the file before you close this.', { userId: user.id, publicKey: k.publicKey, privateKey: k.privateKey }, answer('', 'I have it', { class: 'main' }));

// savesKey asks a question about a key that nobody else has: it can be copied, or saved as a file that the key form of the
// page and the clients read.
export async function savesKey(title, text, key, ...answers) {
  const url = URL.createObjectURL(new Blob([`${JSON.stringify(key, null, 2)}\n`], { type: 'application/json' }));
  const line = (label, half) => {
    const code = el('code', {}, half);
    return [el('dt', {}, label), el('dd', {}, code, ' ', copies(code, `Copy the ${label.toLowerCase()}`))];
  };
  const said = await ask('newkey', title, el('p', {}, text), el('dl', {}, line('Public key', key.publicKey), line('Private key', key.privateKey)),
    el('p', {}, el('a', { href: url, download: 'key.json' }, 'Download key.json')), ...answers);
  URL.revokeObjectURL(url);
  return said;
}
