// The hive page: overview, workers, proposals and the action log.
import { cell, dateTime, el, fill, table } from './dom.js';
import { burst, politely } from './poll.js';

const card = (name, value) => el('div', { class: 'panel card' }, el('span', { class: 'dim' }, name), el('b', {}, String(value)));

function tally(t) {
  const bar = el('i');
  const decided = +t.yesWeight + +t.noWeight;
  bar.style.width = decided > 0 ? `${(100 * +t.yesWeight) / decided}%` : '0';
  return el('div', { class: 'tally', role: 'img', 'aria-label': `yes ${t.yesWeight}, no ${t.noWeight}, abstain ${t.abstainWeight}` }, bar);
}

export async function show(main) {
  const calls = [['/api/agents/overview'], ['/api/agents/workers', { pageSize: 25 }], ['/api/agents/proposals', { pageSize: 15 }], ['/api/agents/action-logs', { pageSize: 30 }]];
  const draw = ([o, workers, proposals, log]) => fill(main,
    el('div', { class: 'cards' }, card('Tokens', o.hive.totalTokens), card('Workers', o.hive.totalWorkers), card('Active', o.swarm.activeWorkers), card('Queens', o.hive.totalQueens),
      card('Scouts', o.hive.totalScouts), card('Actions, 24 h', o.ecosystem.totalActions24h), card('Overrides, 24 h', o.ecosystem.totalOverrides24h), card('Spawned, 7 d', o.ecosystem.tokensSpawnedLast7d)),
    el('div', { class: 'split' },
      el('section', { class: 'panel wide' }, el('h2', {}, 'Proposals'), table('Proposals', ['Proposal', 'Token', 'Topic', 'Status', 'Tally', 'Closes'],
        proposals.items.map((p) => el('tr', {}, cell(p.proposalId), cell(String(p.tokenId)), cell(`${p.topic} ${JSON.stringify(Object.values(p.payload)[0])}`), cell(p.status, p.status === 'passed' ? 'up' : ''),
          el('td', {}, tally(p.tally)), cell(dateTime(p.closesAt * 1000)))))),
      el('section', { class: 'panel wide' }, el('h2', {}, 'Workers'), table('Workers', ['Worker', 'Token', 'Status', { name: 'Actions, 24 h', num: true }, { name: 'Slippage cap', num: true }],
        workers.items.map((w) => el('tr', {}, cell(String(w.workerId)), cell(w.tokenSymbol), cell(w.status, w.status === 'active' ? 'up' : 'dim'), cell(String(w.actionCount24h), 'num'), cell(`${w.config.slippageCapBps} bp`, 'num')))))),
    el('section', { class: 'panel wide' }, el('h2', {}, 'Action log'), table('Action log', ['Entry', 'At', 'Agent', 'Action', 'Token', 'Reason'],
      log.items.map((e) => el('tr', {}, cell(String(e.entryId)), cell(dateTime(e.timestamp * 1000)), cell(e.sourceAgentId), cell(e.actionType), cell(String(e.targetTokenId)), cell(e.reasonCode))))));
  const state = await burst(...calls);
  draw(state);
  let turn = 0;
  setInterval(async () => {
    const i = turn++ % calls.length;
    try { state[i] = await politely(...calls[i]); draw(state); } catch { /* the next turn asks again */ }
  }, 4000);
}
