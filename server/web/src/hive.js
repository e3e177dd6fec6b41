// The hive page: overview, workers, proposals and the action log. Each part is drawn when it changes.
import { hasKeys, signed } from './api.js';
import { face } from './avatar.js';
import { cell, dateTime, dayTime, el, fill, notice, table } from './dom.js';
import { click, poll, spend } from './poll.js';
import { spawn } from './spawn.js';

const pollMs = 4000; // one part at a time
const card = (name, value) => el('div', { class: 'panel card' }, el('span', { class: 'dim' }, name), el('b', {}, String(value)));

// tally draws the votes: yes from the left, no from the right, nothing without votes.
function tally(t) {
  const [yes, no] = [+t.yesWeight, +t.noWeight], cast = yes + no;
  const part = (cls, share) => { const i = el('i', { class: cls }); i.style.width = `${share * 100}%`; return i; };
  return el('div', { class: 'votes' }, el('div', { class: 'tally', role: 'img', 'aria-label': `yes ${t.yesWeight}, no ${t.noWeight}, abstain ${t.abstainWeight}` },
    cast ? [part('yes', yes / cast), part('no', no / cast)] : []), el('small', { class: 'dim' }, cast ? `${Math.round((100 * yes) / cast)} % yes` : 'no votes'));
}

// Names of tokens by their id, of the workers that were read.
const names = new Map();
const named = (id) => (id ? names.get(id) ?? String(id) : '–');
const agent = (id) => el('td', {}, face(id), id);
const topics = { slippage_cap: (p) => `Slippage cap ${p.slippageCapBps / 100} %`, mev_protection: (p) => `MEV protection ${p.mevProtection}`, signal_subscriptions: (p) => `Signals ${p.signalSubscriptions.join(', ')}` };

// ballot offers the three votes on a proposal that is open, to who has a key.
function ballot(p, redraw) {
  if (p.status !== 'active' || !hasKeys()) return cell('');
  const said = el('small', { role: 'status' });
  const vote = async (choice) => {
    spend(1);
    try {
      await signed('POST', `/api/agents/workers/${p.tokenId}/vote`, { proposalId: p.proposalId, vote: choice });
      votes.set(p.proposalId, `voted ${choice}`);
      redraw();
    } catch (error) { said.textContent = error.message; said.className = 'down'; }
  };
  if (votes.has(p.proposalId)) return cell(votes.get(p.proposalId), 'dim');
  return el('td', { class: 'ballot' }, ['yes', 'no', 'abstain'].map((choice) => el('button', { type: 'button', 'data-vote': choice, 'aria-label': `Vote ${choice} on ${p.proposalId}`, onclick: () => vote(choice) }, choice[0].toUpperCase() + choice.slice(1))), said);
}
const votes = new Map(); // proposal -> what this tab has voted

const figures = {
  Tokens: (o) => o.hive.totalTokens, Workers: (o) => o.hive.totalWorkers, Active: (o) => o.swarm.activeWorkers, Queens: (o) => o.hive.totalQueens, Scouts: (o) => o.hive.totalScouts,
  'Actions, 24 h': (o) => o.ecosystem.totalActions24h, 'Overrides, 24 h': (o) => o.ecosystem.totalOverrides24h, 'Spawned, 7 d': (o) => o.ecosystem.tokensSpawnedLast7d,
};

const parts = [
  [['/api/agents/overview'], (o) => el('div', { class: 'cards' }, Object.entries(figures).map(([name, of]) => card(name, o ? of(o) : '–')))],
  [['/api/agents/proposals', { pageSize: 15 }], (proposals, redraw) => table('Proposals', ['Proposal', 'Token', 'Topic', 'Status', 'Votes', 'Closes', ...hasKeys() ? ['Your vote'] : []],
    proposals.items.map((p) => el('tr', {}, cell(p.proposalId), cell(named(p.tokenId)), cell(topics[p.topic]?.(p.payload) ?? p.topic, 'clip'), cell(p.status, p.status === 'passed' ? 'up' : ''),
      el('td', {}, tally(p.tally)), cell(dayTime(p.closesAt * 1000).slice(0, 11)), hasKeys() ? ballot(p, redraw) : null)))],
  [['/api/agents/workers', { pageSize: 100 }], (workers) => table('Workers', ['Worker', 'Token', 'Status', { name: 'Actions, 24 h', num: true }, { name: 'Slippage cap', num: true }],
    workers.items.map((w) => el('tr', {}, agent(`worker-${w.workerId}`), cell(w.tokenSymbol), cell(w.status, w.status === 'active' ? 'up' : 'dim'), cell(String(w.actionCount24h), 'num'), cell(`${w.config.slippageCapBps} bp`, 'num'))))],
  [['/api/agents/action-logs', { pageSize: 30 }], (log) => table('Action log', ['Entry', 'At', 'Agent', 'Action', 'Token', 'Reason'],
    log.items.map((e) => el('tr', {}, cell(String(e.entryId)), cell(dateTime(e.timestamp * 1000)), agent(e.sourceAgentId), cell(e.actionType), cell(named(e.targetTokenId)), cell(e.reasonCode))))],
];

export async function show(main) {
  document.title = 'Hive · TickHive';
  const say = el('p', { class: 'notice', role: 'status', hidden: true });
  const [overview, proposals, workers, log] = parts.map(() => el('div', { class: 'wide', tabindex: '0', role: 'group' }));
  const nodes = [overview, proposals, workers, log], drawn = [];
  ['Overview', 'Proposals', 'Workers', 'Action log'].forEach((name, i) => nodes[i].setAttribute('aria-label', name));
  overview.removeAttribute('tabindex');
  const draw = (i, body) => {
    for (const w of body.items ?? []) if (w.tokenSymbol) names.set(w.agentNftId, w.tokenSymbol);
    const text = JSON.stringify(body);
    if (drawn[i] === text || nodes[i].contains(document.activeElement) && document.activeElement.dataset.vote) return;
    drawn[i] = text;
    fill(nodes[i], parts[i][1](body, () => { drawn[i] = undefined; draw(i, body); }));
  };
  fill(overview, parts[0][1]());
  let turn = 0; // of the parts; who spawns an agent sees the workers next
  const again = () => {
    const i = turn++ % parts.length;
    poll(parts[i][0]).then((a) => { if (a) draw(i, a[0]); }, () => {}); // the next turn asks again
  };
  fill(main, el('h1', { class: 'unseen' }, 'Hive'), say, overview, spawn(() => { turn = 2; again(); }), el('div', { class: 'split' },
    el('section', { class: 'panel' }, el('h2', {}, 'Proposals'), proposals), el('section', { class: 'panel' }, el('h2', {}, 'Workers'), workers)),
  el('section', { class: 'panel below' }, el('h2', {}, 'Action log'), log));
  const all = await click(parts.map(([call]) => call), (s) => notice(say, `The limit of 60 requests a minute is reached. Loading in ${s} s.`));
  notice(say, '');
  [2, 0, 1, 3].forEach((i) => draw(i, all[i])); // the workers first: they have the names
  setInterval(again, pollMs);
}
