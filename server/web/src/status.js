// The status page, from the same source as /api/status.
import { get } from './api.js';
import { cell, dateTime, el, fill, group, table } from './dom.js';

const card = (name, value) => el('div', { class: 'panel card' }, el('span', { class: 'dim' }, name), el('b', {}, value));

export async function show(main, stream) {
  document.title = 'Status · TickHive';
  const asked = performance.now();
  const { body } = await get('/api/status');
  let state = body;
  let before = { seq: body.seq, at: performance.now() };
  let rate = null; // until the second reading there is no card of it
  const roundTrip = { ms: before.at - asked };
  const content = el('div', {}), place = el('div', {}); // place: for the cockpit of an operator
  const draw = () => fill(content, ...stale(state),
    el('div', { class: 'cards' }, card('Status', state.status), card('Version', state.version), card('Uptime', duration(state.uptimeSeconds)),
      card('Events', group(state.seq)), rate === null ? null : card('Events/s', rate.toFixed(0)), card('Latency', `${roundTrip.ms.toFixed(1)} ms`),
      card('Started', state.startedAt.replace('T', ' ').slice(0, 19))),
    el('div', { class: state.incidents.length ? 'split' : 'split one' },
      el('section', { class: 'panel wide' }, el('h2', {}, 'Pairs'), table('Pairs', ['Pair', 'State', { name: 'Seq', num: true }, { name: 'Last trade', num: true }, 'Last change', { name: 'View age', num: true }],
        state.pairs.map((p) => el('tr', {}, cell(p.currencyPairCode), cell(p.state, p.state === 'online' ? 'up' : 'down'), cell(String(p.seq), 'num'),
          cell(String(p.lastTradeId), 'num'), cell(p.lastChangeAt ? dateTime(p.lastChangeAt) : '–'), cell(`${p.viewAgeMs} ms`, 'num'))))),
      el('section', { class: 'panel wide' }, el('h2', {}, 'Recent incidents'), state.incidents.length
        ? el('ol', { class: 'timeline' }, state.incidents.map((i) => el('li', {}, el('time', {}, dateTime(i.at)), el('b', {}, i.kind), el('span', {}, i.count > 1 ? `${i.message} (${i.count} times since ${dateTime(i.firstAt)})` : i.message))))
        : el('p', { class: 'dim' }, 'None.'))));
  const poll = async () => {
    const start = performance.now();
    const fresh = (await get('/api/status')).body;
    roundTrip.ms = performance.now() - start;
    rate = ((fresh.seq - before.seq) * 1000) / (performance.now() - before.at);
    before = { seq: fresh.seq, at: performance.now() };
    state = fresh;
    draw();
  };
  fill(main, el('h1', { class: 'unseen' }, 'Status'), place, content);
  draw();
  setTimeout(() => poll().catch(() => {}), 1000);
  setInterval(() => poll().catch(() => {}), 5000);
  stream.subscribe('status', null, (m) => {
    if (m.status) state = m.status;
    for (const row of m.pairs ?? []) {
      const i = state.pairs.findIndex((p) => p.currencyPairCode === row.currencyPairCode);
      if (i >= 0) state.pairs[i] = row; else state.pairs.push(row);
    }
    if (m.type !== 'heartbeat') draw();
  });
  return { place };
}

// stale says that a replica refuses reads, and since when.
function stale({ status, replication: r }) {
  if (status !== 'stale') return [];
  return [el('p', { class: 'notice bad', role: 'status' }, `This replica is ${Math.round(r.lagMs / 1000)} s behind its writer. It has refused reads since ${dateTime(r.staleSince)}; it goes on by itself when it has caught up.`)];
}

function duration(s) {
  const d = Math.floor(s / 86400);
  const h = Math.floor((s % 86400) / 3600);
  const m = Math.floor((s % 3600) / 60);
  return d ? `${d} d ${h} h` : h ? `${h} h ${m} min` : `${m} min ${s % 60} s`;
}
