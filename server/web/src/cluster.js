// The page of `tickhive cluster demo`: its nodes and the servers of their stream, with a button that ends or starts each,
// what the bot has found, and the takeovers (docs/contract/cluster.md#the-page-of-the-demo).
import { clockTime, el, fill, group, setText } from './dom.js';
import { internal } from './operator.js';
import './theme.js';

const pollMs = 500;
const main = document.getElementById('page'), link = document.getElementById('link');
const sentence = el('p', { class: 'notice', role: 'status' }), refusal = el('p', { class: 'notice bad', role: 'alert', hidden: true });
const cards = {}, rows = new Map();
let drawn = 0, asked = 0, takeovers = '';

// card adds a figure of the bot.
function card(key, name) {
  cards[key] = el('b', { 'data-figure': key }, '–');
  return el('div', { class: 'panel card' }, el('span', { class: 'dim' }, name), cards[key]);
}

// row returns the cells of a node or a server, and its button.
function row(name, columns) {
  const cells = columns.map((num) => el('td', num ? { class: 'num' } : {}));
  const button = el('button', { type: 'button', 'data-turn': name, onclick: () => press(name, button.dataset.verb) });
  rows.set(name, { cells, button });
  return el('tr', { 'data-row': name }, el('th', { scope: 'row' }, name), cells, el('td', { class: 'num' }, button));
}

function list(label, heads, names, columns) {
  return el('section', { class: 'panel wide' }, el('h2', {}, label), el('table', { 'aria-label': label },
    el('thead', {}, el('tr', {}, heads.map((h, i) => el('th', { scope: 'col', class: columns[i - 1] ? 'num' : null }, h)), el('td', {}))),
    el('tbody', {}, names.map((name) => row(name, columns)))));
}

const log = el('ol', { class: 'timeline' });

// build draws the page when the first state is there.
function build(state) {
  fill(main, el('h1', { class: 'unseen' }, 'Cluster demo'), sentence, refusal,
    el('div', { class: 'cards' }, card('acknowledged', 'Orders acknowledged'), card('lost', 'Lost'), card('checked', 'Read back from the new writer'),
      card('unanswered', 'Without an answer, sent again'), card('refused', 'Refused')),
    el('div', { class: 'split' }, el('div', {},
      list('Nodes', ['Node', 'Market page', 'Role', 'Term', 'Position', 'Lag ms'], state.nodes.map((n) => n.name), [false, false, true, true, true]),
      el('div', { class: 'below' }, list('Servers of the stream', ['Server', 'State'], state.servers.map((s) => s.name), [false]))),
    el('section', { class: 'panel' }, el('h2', {}, 'Takeovers'), log,
      el('p', { class: 'dim' }, 'A bot places orders all the time. After each takeover it reads what was acknowledged from the new writer and compares every figure.'))));
  for (const n of state.nodes) rows.get(n.name).cells[0].append(el('a', { href: n.url }, n.url.replace('http://', '')));
}

function setButton(name, up, off) {
  const { button } = rows.get(name), verb = up ? 'kill' : 'start', word = up ? off : 'Start';
  button.dataset.verb = verb;
  button.classList.toggle('sell', up);
  setText(button, word);
  button.setAttribute('aria-label', `${word} ${name}`);
}

function draw(state) {
  if (!rows.size) build(state);
  for (const n of state.nodes) {
    const [, role, ...figures] = rows.get(n.name).cells, known = n.role === 'writer' || n.role === 'replica';
    setText(role, n.role);
    role.className = n.role === 'writer' ? 'up' : n.up ? '' : 'down';
    [n.term, n.position, n.lagMs].forEach((v, i) => setText(figures[i], known ? group(v) : '–'));
    setButton(n.name, n.up, 'Kill');
  }
  for (const s of state.servers) {
    const [cell] = rows.get(s.name).cells;
    setText(cell, s.up ? 'runs' : 'down');
    cell.className = s.up ? 'up' : 'down';
    setButton(s.name, s.up, 'Stop');
  }
  for (const [key, node] of Object.entries(cards)) setText(node, group(state.bot[key]));
  cards.lost.className = state.bot.lost ? 'down' : 'up';
  drawTakeovers(state);
}

function drawTakeovers({ outage, takeovers: taken }) {
  const [last] = taken;
  sentence.classList.toggle('bad', Boolean(outage));
  setText(sentence, outage ? outage.stuck ?? `${outage.former} is gone. The bot waits for the next writer.`
    : !last ? 'Kill the writer: a standby takes over, and the bot counts what is lost.' : last.checked ? `${last.text}.` : `${last.node} took over. The bot reads its orders back.`);
  const said = taken.map((t) => `${t.time} ${t.checked}`).join();
  if (said === takeovers) return;
  takeovers = said;
  fill(log, taken.map((t) => el('li', {}, el('time', {}, clockTime(t.time)), el('b', {}, `${t.former} → ${t.node}`), el('span', {}, t.checked ? t.text : 'being checked'))));
}

// ask sends a request and draws the state that answers it, unless a later one is drawn already.
async function ask(method, path) {
  const turn = ++asked, state = await internal(method, path);
  if (turn < drawn) return;
  drawn = turn;
  draw(state);
}

async function press(name, verb) {
  refusal.hidden = true;
  try { await ask('POST', `/cluster/${name}/${verb}`); } catch (error) {
    refusal.textContent = `${name}: ${error.message}`;
    refusal.hidden = false;
  }
}

async function poll() {
  let up = true;
  try { await ask('GET', '/cluster'); } catch { up = false; }
  setText(link, up ? 'live' : 'ended');
  link.className = `link ${up ? 'live' : 'down'}`;
  setTimeout(poll, pollMs);
}

poll();
