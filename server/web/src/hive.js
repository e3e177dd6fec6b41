// The hive page: overview, workers, proposals and the action log. Each part is drawn when it changes.
import { cell, dateTime, el, fill, table } from './dom.js';
import { click, poll } from './poll.js';

const pollMs = 4000; // one part at a time
const card = (name, value) => el('div', { class: 'panel card' }, el('span', { class: 'dim' }, name), el('b', {}, String(value)));

// tally draws the votes: yes from the left, no from the right, nothing without votes.
function tally(t) {
  const [yes, no] = [+t.yesWeight, +t.noWeight], cast = yes + no;
  const part = (cls, share) => { const i = el('i', { class: cls }); i.style.width = `${share * 100}%`; return i; };
  return el('div', { class: 'votes' }, el('div', { class: 'tally', role: 'img', 'aria-label': `yes ${t.yesWeight}, no ${t.noWeight}, abstain ${t.abstainWeight}` },
    cast ? [part('yes', yes / cast), part('no', no / cast)] : []), el('small', { class: 'dim' }, cast ? `${Math.round((100 * yes) / cast)} % yes` : 'no votes'));
}

const parts = [
  [['/api/agents/overview'], (o) => el('div', { class: 'cards' }, card('Tokens', o.hive.totalTokens), card('Workers', o.hive.totalWorkers), card('Active', o.swarm.activeWorkers), card('Queens', o.hive.totalQueens),
    card('Scouts', o.hive.totalScouts), card('Actions, 24 h', o.ecosystem.totalActions24h), card('Overrides, 24 h', o.ecosystem.totalOverrides24h), card('Spawned, 7 d', o.ecosystem.tokensSpawnedLast7d))],
  [['/api/agents/proposals', { pageSize: 15 }], (proposals) => table('Proposals', ['Proposal', 'Token', 'Topic', 'Status', 'Votes', 'Closes'],
    proposals.items.map((p) => el('tr', {}, cell(p.proposalId), cell(String(p.tokenId)), cell(`${p.topic} ${JSON.stringify(Object.values(p.payload)[0])}`, 'clip'), cell(p.status, p.status === 'passed' ? 'up' : ''),
      el('td', {}, tally(p.tally)), cell(dateTime(p.closesAt * 1000)))))],
  [['/api/agents/workers', { pageSize: 25 }], (workers) => table('Workers', ['Worker', 'Token', 'Status', { name: 'Actions, 24 h', num: true }, { name: 'Slippage cap', num: true }],
    workers.items.map((w) => el('tr', {}, cell(String(w.workerId)), cell(w.tokenSymbol), cell(w.status, w.status === 'active' ? 'up' : 'dim'), cell(String(w.actionCount24h), 'num'), cell(`${w.config.slippageCapBps} bp`, 'num'))))],
  [['/api/agents/action-logs', { pageSize: 30 }], (log) => table('Action log', ['Entry', 'At', 'Agent', 'Action', 'Token', 'Reason'],
    log.items.map((e) => el('tr', {}, cell(String(e.entryId)), cell(dateTime(e.timestamp * 1000)), cell(e.sourceAgentId), cell(e.actionType), cell(String(e.targetTokenId)), cell(e.reasonCode))))],
];

export async function show(main) {
  document.title = 'Hive · TickHive';
  const say = el('p', { class: 'busy', role: 'status' }, 'Loading…');
  const [overview, proposals, workers, log] = parts.map(() => el('div', { class: 'wide', tabindex: '0', role: 'group' }));
  const nodes = [overview, proposals, workers, log], drawn = [];
  ['Overview', 'Proposals', 'Workers', 'Action log'].forEach((name, i) => nodes[i].setAttribute('aria-label', name));
  overview.removeAttribute('tabindex');
  fill(main, say);
  const draw = (i, body) => {
    const text = JSON.stringify(body);
    if (drawn[i] === text) return;
    drawn[i] = text;
    fill(nodes[i], parts[i][1](body));
  };
  const all = await click(parts.map(([call]) => call), (s) => { say.textContent = `The limit of 60 requests a minute is reached. Loading in ${s} s.`; });
  all.forEach((body, i) => draw(i, body));
  fill(main, el('h1', { class: 'unseen' }, 'Hive'), overview, el('div', { class: 'split' },
    el('section', { class: 'panel' }, el('h2', {}, 'Proposals'), proposals), el('section', { class: 'panel' }, el('h2', {}, 'Workers'), workers)),
  el('section', { class: 'panel below' }, el('h2', {}, 'Action log'), log));
  let turn = 0;
  setInterval(() => {
    const i = turn++ % parts.length;
    poll(parts[i][0]).then((a) => { if (a) draw(i, a[0]); }, () => {}); // the next turn asks again
  }, pollMs);
}
