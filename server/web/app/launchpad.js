// The launchpad page: tokens, and one token with its pool, worker and boost.
import { brief, cell, dateTime, el, fill, group, short, table } from './dom.js';
import { burst, politely } from './poll.js';

const sorts = ['recent', 'volume', 'tvl', 'holders'];
const item = (name, value) => el('tr', {}, el('th', { scope: 'row' }, name), cell(value));

export async function show(main) {
  let sort = 'volume';
  let picked = null;
  const [first] = await burst(['/api/launchpad/tokens', { sort, pageSize: 50 }]);
  const list = el('div', { class: 'wide' });
  const detail = el('section', { class: 'panel wide', 'aria-label': 'Token' }, el('p', { class: 'dim' }, 'Select a token.'));
  const tools = el('div', { class: 'tools', role: 'group', 'aria-label': 'Sort by' });

  const drawTools = () => fill(tools, 'Sort by', sorts.map((s) => el('button', {
    type: 'button', 'aria-pressed': String(s === sort), onclick: async () => { sort = s; drawTools(); draw(await load()); },
  }, s)));
  const load = () => politely('/api/launchpad/tokens', { sort, pageSize: 50 });
  const draw = (page) => fill(list, table('Tokens', ['Token', { name: 'TVL $', num: true }, { name: '24 h volume $', num: true }, { name: 'Holders', num: true }, 'Worker', 'Boost', 'Spawned'],
    page.items.map((t) => el('tr', { class: 'pick', tabindex: '0', 'aria-selected': String(t.address === picked), onclick: () => open(t.address), onkeydown: (e) => { if (e.key === 'Enter') open(t.address); } },
      cell(`${t.symbol} · ${t.name}`), cell(group(t.tvl), 'num'), cell(group(t.volume24h), 'num'), cell(String(t.holders), 'num'),
      cell(t.workerStatus), cell(t.boosted ? 'boosted' : ''), cell(dateTime(t.spawnedAt * 1000))))),
  el('p', { class: 'dim' }, `${page.totalItems} tokens`));

  const open = async (address) => {
    picked = address;
    const [t, pool, worker] = await Promise.all(['', '/pool', '/worker'].map((part) => politely(`/api/launchpad/tokens/${address}${part}`)));
    if (picked !== address) return;
    fill(detail, el('h2', {}, `${t.token.symbol} · ${t.token.name}`), el('table', {}, el('tbody', {},
      item('Address', short(t.token.address)), item('Owner', short(t.token.owner)), item('Supply', group(t.token.totalSupply)), item('Pool', `${pool.side}, fee ${pool.feeTier / 10000} %`),
      item('Price', pool.price ?? 'no liquidity'), item('Reserves', `${brief(pool.reserveToken)} / ${brief(pool.reserveQuote)}`), item('TVL', `$ ${group(t.pool.tvl)}`),
      item('24 h volume', `$ ${group(t.pool.volume24h)}`), item('Boost', t.boost.active ? `${t.boost.tier} until ${dateTime(t.boost.expiresAt * 1000)}` : 'none'),
      item('Worker', `${worker.worker.id}, ${worker.worker.status}`))),
    el('h2', {}, 'Recent actions'), table('Actions', ['Action', 'Block', 'At'],
      worker.recentActions.map((a) => el('tr', {}, cell(a.actionType), cell(String(a.blockNumber)), cell(dateTime(a.blockTimestamp * 1000))))));
  };

  drawTools();
  fill(main, el('div', { class: 'split' }, el('section', { class: 'panel', 'aria-label': 'Tokens' }, el('h2', {}, 'Agent tokens'), tools, list), detail));
  draw(first);
  if (first.items.length) open(first.items[0].address).catch(() => {});
  setInterval(() => load().then(draw).catch(() => {}), 15000);
}
