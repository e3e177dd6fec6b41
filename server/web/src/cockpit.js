// The cockpit of the status page: the figures of GET /internal/v1/figures, live, with ten minutes of them as graphs. The
// exchange computes rates and percentiles; the page draws them.
import { cell, dateTime, el, fill, group, table } from './dom.js';
import { internal } from './operator.js';

const every = 2000, kept = 300, fewest = 30; // ms between two readings; readings of ten minutes, and of the shortest graph
const longest = 20000; // a rate over more ms, as that since the start, is no point of a graph

const rate = (v) => (v === 0 || v >= 100 ? group(v.toFixed(0)) : v.toFixed(1));
const micros = (us) => (us === null ? 'none' : us < 1000 ? `${us} µs` : us < 1e6 ? `${(us / 1000).toFixed(1)} ms` : `${(us / 1e6).toFixed(1)} s`);
function bytes(n) {
  let i = 0;
  for (; n >= 1000 && i < 4; i++) n /= 1000;
  return `${i ? n.toFixed(1) : n.toFixed(0)} ${['B', 'kB', 'MB', 'GB', 'TB'][i]}`;
}
const messages = (f) => f.streams.reduce((sum, s) => sum + s.messagesPerSecond, 0);

// graphs are the cards: a name, the value of a reading, and its text.
const graphs = [
  ['Requests/s', (f) => f.requests.perSecond, rate],
  ['Request p99', (f) => f.requests.p99Us, micros],
  ['Orders/s', (f) => f.loop?.ordersPerSecond ?? null, rate],
  ['Record to view p99', (f) => f.loop?.waitP99Us ?? null, micros],
  ['Sync p99', (f) => f.logs[0]?.syncP99Us ?? null, micros],
  ['Stream messages/s', messages, rate],
  ['Processor', (f) => f.process.cpuMsPerSecond / 10, (v) => `${v.toFixed(0)} % of a core`],
  ['Memory', (f) => f.process.residentBytes, bytes],
];

const svg = (tag, props) => {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
  return node;
};

// graph is a card whose line has a point for each reading of the last ten minutes, the newest at the right; at first it
// has room for one minute.
function graph([name, value, text]) {
  const line = svg('polyline', { points: '', 'vector-effect': 'non-scaling-stroke' }), shown = el('b', {});
  const picture = svg('svg', { preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  picture.append(line);
  const most = el('small', { class: 'dim' });
  return {
    node: el('div', { class: 'panel card graph' }, el('span', { class: 'dim' }, name), shown, picture, most),
    draw(now, past) {
      shown.textContent = value(now) === null ? 'none' : text(value(now));
      const values = past.map((f) => value(f) ?? 0), top = Math.max(...values, 0);
      const width = Math.max(values.length, fewest) - 1;
      picture.setAttribute('viewBox', `0 0 ${width} 40`);
      line.setAttribute('points', values.map((v, i) => `${width + 1 - values.length + i},${(39 - (top ? v / top : 0) * 37).toFixed(1)}`).join(' '));
      most.textContent = values.length > 1 ? `at most ${text(top)} in ${past.length * every < 60000 ? `${past.length * every / 1000} s` : `${Math.round(past.length * every / 60000)} min`}` : 'the graph begins now';
    },
  };
}

// list is a panel of names and values; rows that are null have nothing to say.
const list = (title, rows) => el('section', { class: 'panel' }, el('h2', {}, title),
  el('dl', { class: 'figures' }, rows.filter(Boolean).flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)])));

function panels(f) {
  const { loop, process: p, disk, replication: r } = f;
  return [
    loop && list('Loop', [
      ['Commands', `${rate(loop.commandsPerSecond)}/s`], ['Orders, trades', `${rate(loop.ordersPerSecond)}/s, ${rate(loop.tradesPerSecond)}/s`],
      ['Refused', `${rate(loop.rejectsPerSecond)}/s`], ['Publications', `${rate(loop.publishesPerSecond)}/s`],
      ['Queue', `${loop.queue} of ${group(loop.queueLimit)}`], ['Record to view', `p50 ${micros(loop.waitP50Us)}, p99 ${micros(loop.waitP99Us)}`],
      ['Oldest unseen', `${loop.viewAgeMs} ms`]]),
    ...f.logs.map((l) => list('Log and disk', [
      ['Written', `${bytes(l.bytesPerSecond)}/s`], ['Syncs', `${rate(l.syncsPerSecond)}/s, p50 ${micros(l.syncP50Us)}, p99 ${micros(l.syncP99Us)}`],
      ['Not synced', `${group(l.unsyncedRecords)} records`], ['On disk', `${bytes(l.diskBytes)} in ${l.segments} ${l.segments === 1 ? 'segment' : 'segments'}`],
      ['Snapshot', l.snapshotAt === null ? 'none yet' : `${bytes(l.snapshotBytes)}, ${dateTime(l.snapshotAt)}`], ['A start replays', bytes(l.replayBytes)],
      disk && ['Free', `${bytes(disk.freeBytes)} of ${bytes(disk.totalBytes)}`]])),
    ...f.streams.map((s) => list(s.kind === 'native' ? 'Streams' : 'Streams for Binance programs', [
      ['Sockets', group(s.sockets)], ['Subscriptions', group(s.subscriptions)], ['Messages', `${rate(s.messagesPerSecond)}/s, ${bytes(s.bytesPerSecond)}/s`],
      ['Dropped', group(s.dropped)], ['Begun again', group(s.resyncs)], ['Closed as slow', group(s.slowCloses)]])),
    list('Process', [
      ['Memory', bytes(p.residentBytes)], ['Heap', bytes(p.heapBytes)], ['Goroutines', group(p.goroutines)], ['Files', `${group(p.openFiles)} of ${group(p.maxFiles)}`],
      ['Connections', group(f.requests.connections)], ['Refused by a limit', `${rate(f.requests.limitedPerSecond)}/s`]]),
    r && r.ackP99Us !== null && list('Cluster', [['Acknowledged', `p50 ${micros(r.ackP50Us)}, p99 ${micros(r.ackP99Us)}`]]),
    f.faults.length > 0 && list('Faults', f.faults.map((x) => [`Rule ${x.id}`, `${x.rule}: applied ${group(x.applied)} times`])),
  ].filter(Boolean);
}

const num = (name) => ({ name, num: true });
const routes = (f) => table('Routes', ['Listener', 'Route', num('/s'), num('p50'), num('p99'), num('4xx/s'), num('5xx/s'), num('Since the start')],
  f.routes.slice(0, 20).map((r) => el('tr', {}, cell(r.listener), cell(`${r.method} ${r.path || 'no route'}`, 'text'), cell(rate(r.perSecond), 'num'), cell(micros(r.p50Us), 'num'),
    cell(micros(r.p99Us), 'num'), cell(rate(r.refusedPerSecond), 'num'), cell(rate(r.failedPerSecond), r.failedPerSecond ? 'num down' : 'num'), cell(group(r.total), 'num'))));

// nodes is a table with a row for each node of a cluster, this one first.
function nodes(all) {
  const row = (n, i) => {
    const state = n.failed ? 'failed' : n.stale ? 'stale' : 'ok';
    return el('tr', {}, cell(n.address || 'no address', 'text'), cell(i ? n.role : `${n.role} (this node)`), cell(state, state === 'ok' ? null : 'down'), cell(n.version), cell(group(n.term), 'num'),
      cell(group(n.position), 'num'), cell(`${group(n.lagMs)} ms`, 'num'), cell(i ? `${group(n.heardMs)} ms ago` : 'now', 'num'));
  };
  return table('Nodes', ['Address', 'Role', 'State', 'Version', num('Term'), num('Position'), num('Lag'), num('Heard')], all.map(row));
}

// cockpit fills the place that the status page has for it.
export async function cockpit(node, { place }) {
  const cards = graphs.map(graph), past = [];
  const said = el('p', { class: 'notice bad', hidden: true }), below = el('div', { class: 'figure-panels' }), cluster = el('div', {}), busiest = el('div', {});
  const panel = el('section', { class: 'panel wide', hidden: true }, el('h2', {}, 'Nodes'), cluster);
  const read = async (quiet) => {
    try {
      const f = await internal('GET', '/figures?span=5', undefined, quiet);
      if (f.spanMs <= longest) past.push(f);
      if (past.length > kept) past.shift();
      for (const c of cards) c.draw(f, past);
      fill(below, panels(f));
      panel.hidden = !f.replication;
      fill(cluster, nodes(f.replication?.nodes ?? []));
      fill(busiest, routes(f));
      said.hidden = true;
    } catch (error) {
      said.textContent = `No figures: ${error.message}`;
      said.hidden = false;
    }
  };
  await read(false);
  fill(place, el('section', { 'aria-label': 'Cockpit', class: 'cockpit' }, said, el('div', { class: 'cards' }, cards.map((c) => c.node)), below, panel,
    el('section', { class: 'panel wide' }, el('h2', {}, 'Routes'), busiest),
    el('p', { class: 'links' }, el('a', { href: '/docs/operating#what-to-watch' }, 'What to watch'), el('a', { href: '/docs/contract/internal#figures' }, 'What the figures mean'),
      el('a', { href: '/docs/operating#metrics' }, 'Metrics for Prometheus'), el('a', { href: '/docs/contract/internal' }, 'Internal API and profiles'))));
  setInterval(() => { if (!document.hidden) read(true); }, every);
}
