// The player of a replay: play, pause, step, speed, and a slider over the recording (docs/contract/recordings.md#the-player).
import { dateTime, el, fill, options, replayed, setText } from './dom.js';
import { internal } from './operator.js';

const speeds = ['1', '2', '5', '10', '30', '60', '100', '300', '1000', 'max'];
const steps = { '1 record': { records: 1 }, '10 records': { records: 10 }, '100 records': { records: 100 }, '1 s': 1000, '1 min': 60000, '10 min': 600000 };
const movingMs = 400, restingMs = 1500; // between two looks at the state
const dragMs = 300; // from the last move of the slider to its seek
const nudgeMs = 10000, farMs = 60000; // an arrow key, and one with shift

export function player(place) {
  if (!replayed) return;
  let now = null; // the newest state
  let again, dragging, problem = ''; // of the newest command

  const at = el('time', { class: 'at' }), status = el('span', { class: 'status', role: 'status' });
  const toggle = el('button', { type: 'button', class: 'main', onclick: () => flip() }, 'Play');
  const size = el('select', { 'aria-label': 'Size of a step' }, options(Object.keys(steps)));
  const speed = el('select', { 'aria-label': 'Speed', onchange: () => give('speed', { speed: speed.value }) });
  const slider = el('input', { type: 'range', 'aria-label': 'Time of the recording', oninput: () => drag(), onchange: () => drag() });
  const noBook = el('span', { class: 'hint', hidden: true }, 'The recording has no order book: a market order of yours meets nobody, and a limit order trades at its own price.');
  const bar = el('div', { class: 'player', role: 'toolbar', 'aria-label': 'Replay', tabIndex: 0, onkeydown: (e) => press(e) }, at, toggle,
    el('span', { class: 'pair' }, el('button', { type: 'button', onclick: () => step() }, 'Step'), size), speed, slider, status, noBook);
  place.append(bar);

  function show(s) {
    now = s;
    noBook.hidden = s.hasBook;
    const moving = s.status === 'playing' || s.status === 'seeking';
    setText(toggle, s.playing && s.status !== 'ended' ? 'Pause' : 'Play');
    toggle.disabled = s.status === 'ended';
    if (dragging === undefined) {
      const gridMs = 1000 * Math.max(1, Math.round((s.end - s.begin) / 360000));
      Object.assign(slider, { min: s.begin, max: s.end, step: gridMs, value: s.time });
      slider.setAttribute('aria-valuetext', dateTime(s.time));
      setText(at, dateTime(s.time));
      at.dateTime = new Date(s.time).toISOString();
    }
    if (document.activeElement !== speed) {
      const all = speeds.includes(s.speed) ? speeds : [s.speed, ...speeds];
      if (speed.length !== all.length) fill(speed, options(Object.fromEntries(all.map((v) => [v, v === 'max' ? v : `${v}×`]))));
      speed.value = s.speed;
    }
    const words = { seeking: s.target ? `on the way to ${dateTime(s.target)}` : 'stepping', ended: 'The recording has ended. Move the slider back to see it again.' };
    if (dragging === undefined) setText(status, problem || (words[s.status] ?? s.status));
    bar.dataset.status = s.status;
    look(moving ? movingMs : restingMs);
  }

  function look(wait) {
    clearTimeout(again);
    again = setTimeout(async () => {
      try { show(await internal('GET', '/replay', undefined, true)); } catch (error) {
        setText(status, error.status === 401 ? 'Press a button to give the token.' : 'The replay does not answer.');
        look(restingMs);
      }
    }, document.hidden ? 5 * restingMs : wait);
  }

  async function give(command, payload) {
    problem = '';
    try { show(await internal('POST', `/replay/${command}`, payload)); } catch (error) {
      problem = error.message;
      look(0);
    }
  }

  const flip = () => give(now?.playing && now.status !== 'ended' ? 'pause' : 'play');
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
    setText(status, to < now.time ? 'Back: a new epoch begins, without your orders and trades.' : `to ${dateTime(to)}`);
    dragging = setTimeout(() => { dragging = undefined; give('seek', { to }); }, dragMs);
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
