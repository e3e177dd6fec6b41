// The control bar of an operator: the simulated market, faults on demand and a virtual clock. Folded it says what is not as
// usual; open it changes it. Its state is the exchange's, also when a command has changed it.
import { dateTime, el, fill, notice, options, replayed } from './dom.js';
import { internal } from './operator.js';

const openMs = 2000, foldedMs = 5000; // between two looks at the state
const faultNames = ['dirty-listing', 'failing-cdn', 'flaky-network', 'lost-ack', 'overload', 'stale-feed'];
const speeds = { 0: 'Stop', 1: 'Real', 10: '×10', 60: '×60', 1000: '×1000' };
const jumps = { '1h': '+1 h', '1d': '+1 d' };
const words = (name) => name.replace('-', ' ');
const button = (label, attributes, onclick) => el('button', { type: 'button', ...attributes, onclick }, label);
const choice = (name, label, all, onchange, cls = 'dim') => el('label', {}, el('span', { class: cls }, label), el('select', { name, onchange }, options(all)));
const named = (all) => Object.fromEntries(all.map((name) => [name, words(name)]));

export function controls(place) {
  let sim = null, faults = [], clock = null, timer;
  const chips = el('span', { class: 'chips', role: 'status' });
  const problem = el('p', { class: 'notice bad', role: 'alert', hidden: true });

  const pause = button('Pause', { 'data-act': 'pause' }, () => change('PATCH', '/sim', { paused: !sim.paused }));
  const scenario = choice('scenario', 'Scenario', [], (e) => change('PATCH', '/sim', { scenario: e.target.value }));
  const intensity = choice('intensity', 'Activity', Object.fromEntries([10, 50, 100, 200, 400, 1000].map((n) => [n, `${n} %`])), (e) => change('PATCH', '/sim', { intensity: +e.target.value }));
  const marketPart = el('fieldset', { name: 'market' }, el('legend', {}, 'Simulated market'), pause, scenario, intensity);

  const fault = choice('fault', 'Scenario of faults', named(faultNames), undefined, 'unseen');
  const rules = el('ul', { class: 'rules', 'aria-label': 'Fault rules in force' });
  const clear = button('Clear all', { 'data-act': 'clear' }, () => change('DELETE', '/faults'));
  const faultPart = el('fieldset', { name: 'faults' }, el('legend', {}, 'Faults'), fault,
    button('Turn on', { 'data-act': 'fault' }, () => change('POST', '/faults', { scenario: fault.querySelector('select').value })), clear, rules);

  const time = el('output', { class: 'time' });
  const speedButtons = Object.entries(speeds).map(([n, text]) => button(text, { 'data-speed': n, 'aria-label': n === '0' ? 'Stop the clock' : `${text}: run the clock at ${n} times its real speed` }, () => change('POST', '/clock', { speed: +n })));
  const jumpButtons = Object.entries(jumps).map(([by, text]) => button(text, { 'data-jump': by, 'aria-label': `${text}: move the clock on` }, () => change('POST', '/clock', { advance: by })));
  const late = el('span', { class: 'dim', hidden: true }, 'At this speed signed requests may come too late.');
  const clockPart = el('fieldset', { name: 'clock' }, el('legend', {}, 'Clock'), time, el('span', { class: 'group', role: 'group', 'aria-label': 'Speed' }, speedButtons),
    el('span', { class: 'group', role: 'group', 'aria-label': 'Jump' }, jumpButtons), late);

  const bar = el('details', { class: 'controls', ontoggle: () => look() }, el('summary', {}, el('span', { class: 'name' }, 'Console'), chips),
    el('div', { class: 'parts' }, marketPart, faultPart, clockPart), problem);
  place.append(bar);

  const rest = [pause, ...bar.querySelectorAll('select, [data-act], [data-speed], [data-jump]')];
  for (const b of rest) b.disabled = true; // until the state is there

  // change carries out one action and shows what has come of it.
  async function change(method, path, payload) {
    const focused = document.activeElement;
    for (const b of rest) b.disabled = true;
    notice(problem, '');
    try { await internal(method, path, payload); } catch (error) { notice(problem, error.message, true); }
    for (const b of rest) b.disabled = false;
    if (bar.contains(focused)) focused.focus(); // a button that is disabled loses it
    await look();
  }

  const read = (path) => internal('GET', path, undefined, !bar.open);

  async function look() {
    clearTimeout(timer);
    try {
      const [s, f, c] = await Promise.all([read('/sim'), read('/faults'), read('/clock')]);
      if (!clock) for (const b of rest) b.disabled = false;
      [sim, faults, clock] = [s.enabled ? s : null, f.rules, c];
      draw();
    } catch (error) {
      fill(chips, el('span', { class: 'chip dim' }, error.status === 401 ? 'locked: open it to give the token' : `no answer: ${error.message}`));
    }
    clearTimeout(timer);
    timer = setTimeout(() => { if (!bar.isConnected) return; if (document.hidden) document.addEventListener('visibilitychange', look, { once: true }); else look(); }, bar.open ? openMs : foldedMs);
  }

  // runs reports whether the clock can be moved: it is virtual, and no player of a recording drives it.
  const runs = () => clock?.virtual && !replayed;

  function draw() {
    const notes = [];
    if (sim?.paused) notes.push('market paused');
    if (sim && sim.scenario !== 'none') notes.push(words(sim.scenario));
    if (sim && sim.intensity !== 100) notes.push(`activity ${sim.intensity} %`);
    if (faults.length) notes.push(`${faults.length} ${faults.length === 1 ? 'fault' : 'faults'} on`);
    if (runs()) notes.push(clock.speed ? `clock ×${clock.speed}` : 'clock stands still');
    say(chips, notes.join('\n'), () => (notes.length ? notes.map((n) => el('span', { class: 'chip on' }, n)) : [el('span', { class: 'chip dim' }, 'as usual')]));
    marketPart.hidden = !sim;
    clockPart.hidden = !runs();
    if (sim) {
      pause.textContent = sim.paused ? 'Resume' : 'Pause';
      pause.setAttribute('aria-pressed', String(sim.paused));
      say(scenario.querySelector('select'), sim.scenarios.join(), () => options(named(sim.scenarios)));
      pick(scenario, sim.scenario);
      pick(intensity, String(sim.intensity));
    }
    clear.hidden = !faults.length;
    say(rules, faults.map((f) => `${f.id} ${f.matched} ${f.applied}`).join(), () => faults.map((f) => el('li', { 'data-rule': String(f.id) }, el('code', {}, f.rule),
      el('span', { class: 'dim' }, ` ${f.applied} of ${f.matched} `), button('Remove', { class: 'quiet', 'aria-label': `Remove the rule ${f.rule}` }, () => change('DELETE', `/faults/${f.id}`)))));
    if (runs()) {
      late.hidden = clock.speed <= 10;
      time.textContent = dateTime(clock.now);
      for (const b of speedButtons) b.setAttribute('aria-pressed', String(+b.dataset.speed === clock.speed));
    }
  }

  look();
}

// say replaces the children of a node when their text has changed, so that a reader and the focus stay where they are.
function say(place, text, children) {
  if (place.dataset.said === text) return;
  const within = place.contains(document.activeElement) ? document.activeElement.closest('[data-rule]')?.dataset.rule : undefined;
  place.dataset.said = text;
  fill(place, children());
  if (within) place.querySelector(`[data-rule="${within}"] button`)?.focus();
}

// pick chooses an option unless the reader is choosing one; a value that is none of them becomes one.
function pick(label, value) {
  const list = label.querySelector('select');
  if (document.activeElement === list && list.matches(':open')) return;
  if (![...list.options].some((o) => o.value === value)) list.append(el('option', { value }, `${value} %`));
  list.value = value;
}
