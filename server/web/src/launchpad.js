// The launchpad page: tokens, and one token with the chart of its price, its pool, worker and boost, to buy and to sell.
import { face } from './avatar.js';
import { brief, cell, dateTime, el, fill, group, money, short, table } from './dom.js';
import { click, poll } from './poll.js';
import { Swap } from './swap.js';
import { TokenChart } from './tokenchart.js';

const sorts = { recent: 'Newest', volume: 'Volume', tvl: 'TVL', holders: 'Holders' };
const pageSize = 25, pollMs = 15000;
// priceOf shows five digits of a price behind its zeros.
const priceOf = (price) => (price ? price.replace(/^(0\.0*\d{1,5}|\d+\.\d{1,4}).*$/, '$1') : '–');
const item = (name, value) => el('tr', {}, el('th', { scope: 'row' }, name), cell(value));

export async function show(main) {
  document.title = 'Launchpad · TickHive';
  let sort = 'volume', number = 1, picked = null;
  const list = el('div', { class: 'wide', 'aria-live': 'off' });
  const detail = el('section', { class: 'panel wide', 'aria-label': 'Token' }, el('p', { class: 'empty' }, 'Select a token.'));
  const say = el('p', { class: 'busy', role: 'status' });
  const chart = new TokenChart(async () => {
    const address = picked, answers = await busy('Loading the candles', [candles(address)]);
    if (answers && picked === address) chart.show(address, answers[0]);
  });
  const candles = (address) => [`/api/launchpad/tokens/${address}/ohlc`, { interval: chart.interval }];
  const library = import('./vendor/lightweight-charts.mjs'); // the other pages of this bundle need none
  const swap = new Swap(() => { if (picked) open(picked); });
  const tools = el('div', { class: 'tools' }, el('div', { role: 'group', 'aria-label': 'Sort by' }, Object.entries(sorts).map(([value, label]) => el('button', {
    type: 'button', 'data-sort': value, onclick: () => { sort = value; number = 1; turnTo(); },
  }, label))), say);
  const back = el('button', { type: 'button', class: 'quiet', onclick: () => { number--; turnTo(); } }, '‹ Previous');
  const next = el('button', { type: 'button', class: 'quiet', onclick: () => { number++; turnTo(); } }, 'Next ›');
  const count = el('span', { class: 'dim' });
  const request = () => ['/api/launchpad/tokens', { sort, pageSize, page: number }];
  const waits = (what) => (s) => { say.textContent = `${what} in ${s} s: the limit of 60 requests a minute is reached.`; };

  // busy shows at once that a click was taken, and what became of it.
  const busy = async (what, calls) => {
    say.textContent = `${what}…`;
    try {
      const answers = await click(calls, waits(what));
      if (answers) say.textContent = '';
      return answers;
    } catch (error) { say.textContent = `${what} failed: ${error.message}`; return undefined; }
  };
  const turnTo = async () => {
    drawTools();
    const answers = await busy('Loading the tokens', [request()]);
    if (answers) draw(answers[0]);
  };
  const drawTools = () => { for (const b of tools.querySelectorAll('button')) b.setAttribute('aria-pressed', String(b.dataset.sort === sort)); };
  const mark = () => { for (const row of list.querySelectorAll('tr[data-row]')) row.classList.toggle('picked', row.dataset.row === picked); };
  const draw = (page) => {
    const focused = document.activeElement?.dataset?.token;
    const pages = Math.max(1, Math.ceil(page.totalItems / pageSize));
    fill(list, table('Tokens', ['Token', { name: 'Price', num: true }, { name: 'TVL $', num: true }, { name: '24 h volume $', num: true }, { name: 'Holders', num: true }, 'Worker', 'Boost', 'Spawned'],
      page.items.map((t) => el('tr', { class: 'pick', 'data-row': t.address },
        el('td', {}, el('button', { type: 'button', class: 'link-like', 'data-token': t.address, onclick: () => open(t.address) }, face(t.address), el('b', {}, t.symbol), ` ${t.name}`)),
        cell(priceOf(t.price), 'num'), cell(group(t.tvl), 'num'), cell(group(t.volume24h), 'num'), cell(String(t.holders), 'num'),
        cell(t.workerStatus), cell(t.boosted ? 'boosted' : ''), cell(dateTime(t.spawnedAt * 1000).slice(0, 10))))));
    for (const row of list.querySelectorAll('tr[data-row]')) row.addEventListener('click', (e) => { if (!e.target.closest('button')) open(row.dataset.row); });
    if (focused) list.querySelector(`[data-token="${CSS.escape(focused)}"]`)?.focus();
    count.textContent = `Page ${number} of ${pages}, ${page.totalItems} tokens`;
    back.disabled = number <= 1;
    next.disabled = number >= pages;
    mark();
  };

  const open = async (address) => {
    picked = address;
    detail.setAttribute('aria-busy', 'true');
    mark();
    const calls = [...['', '/pool', '/worker'].map((part) => [`/api/launchpad/tokens/${address}${part}`]), candles(address)];
    const [answers, charts] = await Promise.all([busy('Loading the token', calls), library]);
    if (!answers || picked !== address) return;
    detail.removeAttribute('aria-busy');
    const [t, pool, worker, rows] = answers;
    detail.dataset.shows = address;
    swap.load(t, pool);
    fill(detail, el('h2', {}, face(address), `${t.token.symbol} · ${t.token.name}`), t.metadata.description ? el('p', { class: 'dim' }, t.metadata.description) : null, chart.node, swap.node, el('table', { 'aria-label': 'Token' }, el('tbody', {},
      item('Address', short(t.token.address)), item('Owner', short(t.token.owner)), item('Supply', group(t.token.totalSupply)), item('Pool', `${pool.side}, fee ${pool.feeTier / 10000} %`),
      item('Price', pool.price ? money(pool.price) : 'no liquidity'), item('Reserves', `${money(brief(pool.reserveToken))} / ${money(brief(pool.reserveQuote))}`), item('TVL', `$ ${group(t.pool.tvl)}`),
      item('24 h volume', `$ ${group(t.pool.volume24h)}`), item('Boost', t.boost.active ? `${t.boost.tier} until ${dateTime(t.boost.expiresAt * 1000)}` : 'none'),
      item('Worker', `${worker.worker.id}, ${worker.worker.status}`))),
    el('h2', {}, 'Recent actions'), table('Actions', ['Action', 'Block', 'At'],
      worker.recentActions.map((a) => el('tr', {}, cell(a.actionType), cell(String(a.blockNumber)), cell(dateTime(a.blockTimestamp * 1000))))));
    if (!chart.chart) chart.mount(charts); // it takes the size that it has on the page
    chart.show(address, rows);
  };

  window.tickhive = { candles: () => chart.data() }; // for tests and the console
  drawTools();
  fill(main, el('h1', { class: 'unseen' }, 'Launchpad'), el('div', { class: 'split' }, el('section', { class: 'panel', 'aria-label': 'Tokens' }, el('h2', {}, 'Agent tokens'), tools, list, el('p', { class: 'paging' }, back, count, next)), detail));
  const first = await busy('Loading the tokens', [request()]);
  if (first) {
    draw(first[0]);
    if (first[0].items.length) await open(first[0].items[0].address);
  }
  setInterval(() => {
    const asked = `${sort} ${number}`;
    poll(request()).then((a) => { if (a && asked === `${sort} ${number}`) draw(a[0]); }, () => {}); // the next turn asks again
  }, pollMs);
}
