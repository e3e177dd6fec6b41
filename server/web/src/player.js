// The player of a replay: play, pause, step, speed, and a slider over the recording (docs/contract/recordings.md#the-player).
import { answer, ask, dateTime, el, fill, notice, options, replayed, setText } from './dom.js';
import { internal } from './operator.js';

const speeds = ['1', '2', '5', '10', '30', '60', '100', '300', '1000', 'max'];
const steps = { '1 record': { records: 1 }, '10 records': { records: 10 }, '100 records': { records: 100 }, '1 s': 1000, '1 min': 60000, '10 min': 600000 };
const movingMs = 400, restingMs = 1500; // between two looks at the state
const dragMs = 300; // from the last move of the slider to its seek
const nudgeMs = 10000, farMs = 60000; // an arrow key, and one with shift

export function player(place, { account, signed }) {
  if (!replayed) return;
  let now = null; // the newest state
  let again, dragging;

  const at = el('time', { class: 'at' }), status = el('span', { class: 'status', role: 'status' });
  const button = (label, onclick, cls) => el('button', { type: 'button', class: cls, onclick }, label);
  const toggle = button('Play', () => flip(), 'main'), next = button('Step', () => step()), leave = button('Leave', () => part());
  const size = el('select', { 'aria-label': 'Size of a step' }, options(Object.keys(steps)));
  const speed = el('select', { 'aria-label': 'Speed', onchange: () => give('speed', { speed: speed.value }) });
  const slider = el('input', { type: 'range', 'aria-label': 'Time of the recording', oninput: () => drag(), onchange: () => drag() });
  const noBook = el('p', { class: 'hint', hidden: true }, 'The recording has no order book: a market order of yours meets nobody, and a limit order trades at its own price. replay --quotes AMOUNT lets both trade at the market.');
  const problem = el('p', { class: 'notice bad', role: 'alert', hidden: true }); // of the newest command
  const bar = el('div', { class: 'player', role: 'toolbar', 'aria-label': 'Replay', tabIndex: 0, onkeydown: (e) => press(e) }, at, toggle,
    el('span', { class: 'pair' }, next, size), speed, slider, leave, status);
  const all = [toggle, next, size, speed, slider, leave];
  for (const c of all) c.disabled = true; // until the state is there
  place.append(bar, problem, noBook);

  function show(s) {
    now = s;
    noBook.hidden = s.hasBook;
    const moving = s.status === 'playing' || s.status === 'seeking';
    setText(toggle, s.playing && s.status !== 'ended' ? 'Pause' : 'Play');
    for (const c of all) c.disabled = false;
    toggle.disabled = next.disabled = s.status === 'ended';
    if (dragging === undefined) {
      const gridMs = 1000 * Math.max(1, Math.round((s.end - s.begin) / 360000));
      Object.assign(slider, { min: s.begin, max: s.end, step: gridMs, value: s.time });
      slider.setAttribute('aria-valuetext', dateTime(s.time));
      setText(at, dateTime(s.time));
      at.dateTime = new Date(s.time).toISOString();
    }
    if (document.activeElement !== speed) {
      const known = speeds.includes(s.speed) ? speeds : [s.speed, ...speeds];
      if (speed.length !== known.length) fill(speed, options(Object.fromEntries(known.map((v) => [v, v === 'max' ? v : `${v}×`]))));
      speed.value = s.speed;
    }
    const words = { seeking: s.target ? `on the way to ${dateTime(s.target)}` : 'stepping', ended: 'The recording has ended. Move the slider back to see it again.' };
    if (dragging === undefined) says(words[s.status] ?? s.status);
    bar.dataset.status = s.status;
    look(moving ? movingMs : restingMs);
  }

  function look(wait) {
    clearTimeout(again);
    again = setTimeout(async () => {
      if (!bar.isConnected) return; // the replay was left
      try { show(await internal('GET', '/replay', undefined, true)); } catch (error) {
        says(error.status === 401 ? 'Locked: give the token to play.' : 'The replay does not answer.');
        if (error.status === 401) { setText(toggle, 'Unlock'); toggle.disabled = false; }
        look(restingMs);
      }
    }, document.hidden ? 5 * restingMs : wait);
  }

  // says is one line, which may not have room for all of it.
  function says(text) {
    setText(status, text);
    status.title = text;
  }

  // give gives a command, or with none asks for the state, and reports whether it was taken.
  async function give(command, payload) {
    notice(problem, '');
    try { show(await (command ? internal('POST', `/replay/${command}`, payload) : internal('GET', '/replay'))); return true; } catch (error) {
      notice(problem, error.message, true);
      look(0);
      return false;
    }
  }

  const flip = () => give(now && (now.playing && now.status !== 'ended' ? 'pause' : 'play'));
  const within = (ms) => Math.round(Math.min(Math.max(ms, now.begin), now.end));

  function step() {
    const by = steps[size.value];
    if (now) give('step', typeof by === 'number' ? { to: within(now.time + by) } : by);
  }

  // drag shows the time under the slider, and seeks when the slider rests.
  function drag() {
    clearTimeout(dragging);
    const to = within(+slider.value);
    setText(at, dateTime(to));
    slider.setAttribute('aria-valuetext', dateTime(to));
    says(to < now.time ? 'Back: a new epoch begins, without your orders and trades.' : `to ${dateTime(to)}`);
    dragging = setTimeout(async () => {
      const sure = to >= now.time || !now.goesBack || await losesOrders(to);
      dragging = undefined;
      if (sure) give('seek', { to }); else show(now);
    }, dragMs);
  }

  // losesOrders asks before a seek back takes orders of the account away, and reports whether to go on.
  async function losesOrders(to) {
    if (!account?.signedIn) return true;
    let what = 'Your orders and their trades are';
    try {
      const { body: { length: n }, headers } = await signed('GET', '/api/user/orders?pageSize=100');
      if (!n) return true;
      what = headers.get('X-Next-Cursor') ? 'More than 100 own orders and their trades are' : n === 1 ? 'One own order and its trades are' : `${n} own orders and their trades are`;
    } catch { /* it does not say how many */ }
    return !!await ask('back', `Go back to ${dateTime(to)}?`, el('p', {}, `${what} deleted. Your key and your deposits stay.`), answer('', 'Stay here'), answer('back', 'Go back', { class: 'sell' }));
  }

  // part ends the replay, and the page of it.
  async function part() {
    if (!await ask('leaving', 'Leave the replay?', el('p', {}, 'Its program ends, and the exchange with it. Orders, trades and keys go, unless a data directory keeps them.'), answer('', 'Stay here'), answer('leave', 'Leave', { class: 'sell' }))) return;
    if (!await give('leave')) return;
    account?.stream.end();
    place.remove();
    document.body.className = '';
    Object.assign(document.getElementById('link'), { textContent: 'ended', className: 'link' });
    fill(document.getElementById('page'), el('section', { class: 'panel starting', role: 'status' }, el('h1', {}, 'You have left the replay'),
      el('p', {}, 'Its program has ended. The same command plays the recording again; ', el('code', {}, 'tickhive serve'), ' starts a market without one.')));
  }

  function press(e) {
    if (e.key === ' ' && (e.target === bar || e.target === slider)) flip();
    else if (e.target === bar && now && (e.key === 'ArrowLeft' || e.key === 'ArrowRight')) {
      const by = e.shiftKey ? farMs : nudgeMs;
      slider.value = within((dragging === undefined ? now.time : +slider.value) + (e.key === 'ArrowLeft' ? -by : by));
      drag();
    } else return;
    e.preventDefault();
  }

  look(0);
}
