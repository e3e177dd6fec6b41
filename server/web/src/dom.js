// Small helpers for building elements. Text is always set as text, never as markup.

export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key === 'class') node.className = value;
    else if (key in node && typeof value !== 'string') node[key] = value;
    else node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined));
  return node;
}

// fill replaces the children of a node.
export function fill(node, ...children) {
  node.replaceChildren(...children.flat().filter((c) => c !== null && c !== undefined));
}

// setText writes a text that differs: a node that keeps its text is not laid out again.
export function setText(node, text) { if (node.textContent !== text) node.textContent = text; }

// table builds a table with a caption for screen readers. On a narrow screen each cell has its head above it. A head is a
// text, a text that stands above numbers, or an element.
export function table(caption, heads, rows) {
  const all = heads.map((h) => (h.nodeType ? h : el('th', { scope: 'col', class: h.num ? 'num' : null }, h.name ?? h)));
  for (const row of rows) [...row.cells].forEach((cell, i) => { cell.dataset.head = all[i].textContent; });
  return el('table', { 'aria-label': caption }, el('thead', {}, el('tr', {}, all)), el('tbody', {}, rows));
}

export const cell = (text, cls) => el('td', cls ? { class: cls } : {}, text);

// copies returns a button that copies the text of a node, or selects it where the browser refuses that.
export function copies(node, label) {
  const button = el('button', { type: 'button', class: 'quiet', 'aria-label': label, onclick: async () => {
    try { await navigator.clipboard.writeText(node.textContent); button.textContent = 'Copied'; } catch { getSelection().selectAllChildren(node); button.textContent = 'Selected'; }
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  } }, 'Copy');
  return button;
}

// options returns the options of a list of choices: texts by their values, or values alone.
export const options = (all) => (Array.isArray(all) ? all.map((v) => [v, v]) : Object.entries(all)).map(([value, text]) => el('option', { value }, text));

// ask opens a question upon the page and returns the value of the button that closed it, empty without one.
export function ask(name, title, ...content) {
  return new Promise((resolve) => {
    const dialog = el('dialog', { class: `question ${name}`, 'aria-labelledby': name, onclose: () => { dialog.remove(); resolve(dialog.returnValue); } },
      el('form', { method: 'dialog' }, el('h2', { id: name }, title), content));
    document.body.append(dialog);
    dialog.showModal();
  });
}

// answer returns a button of a question.
export const answer = (value, text, attributes) => el('button', { type: 'submit', value, ...attributes }, text);

// notice shows a text in its place, or without a text none.
export function notice(place, text, bad = false) {
  place.textContent = text;
  place.className = bad ? 'notice bad' : 'notice';
  place.hidden = !text;
}

// stored returns what is kept in this browser under a name, or what it is otherwise.
export function stored(name, otherwise, storage = localStorage) {
  try {
    const value = JSON.parse(storage.getItem(name));
    return value && Array.isArray(value) === Array.isArray(otherwise) ? value : otherwise;
  } catch { return otherwise; }
}

// wait marks a panel whose first data are on their way.
export function wait(panel, on) { panel.setAttribute('aria-busy', String(on)); }

// css returns a variable of the style.
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// tabs builds a list of tabs for the panel with the id; pick is called with the name of one. Arrow keys move along them.
export function tabs(panel, label, names, pick) {
  const buttons = Object.entries(names).map(([name, text]) => el('button', {
    type: 'button', role: 'tab', id: `${panel}-${name}`, [`data-${panel}`]: name, 'aria-controls': panel, onclick: () => pick(name), onkeydown: (e) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key], next = buttons[(buttons.indexOf(e.target) + step + buttons.length) % buttons.length];
      if (!step) return;
      next.focus();
      next.click();
    },
  }, text));
  return el('div', { class: 'tablist', role: 'tablist', 'aria-label': label }, buttons);
}

// pickTab marks the tab that is shown.
export function pickTab(list, panel, name) {
  for (const b of list.children) {
    const shown = b.dataset[panel.id] === name;
    b.setAttribute('aria-selected', String(shown));
    b.tabIndex = shown ? 0 : -1;
    if (shown) panel.setAttribute('aria-labelledby', b.id);
  }
}

const menuWidth = 400; // px, as in style.css

// menu returns a button and the small panel that it opens below itself. Escape and a click elsewhere close the panel.
export function menu(name, label, ...content) {
  const panel = el('div', { class: 'menu', id: `menu-${name}`, popover: 'auto', role: 'group', 'aria-label': label }, content);
  const button = el('button', { type: 'button', 'data-menu': name, popovertarget: panel.id }, label);
  panel.addEventListener('beforetoggle', (e) => {
    const { left, bottom } = button.getBoundingClientRect();
    if (e.newState === 'open') Object.assign(panel.style, { left: `${Math.max(4, Math.min(left, innerWidth - menuWidth - 4))}px`, top: `${bottom + 4}px` });
  });
  panel.addEventListener('toggle', (e) => { if (e.newState === 'open') panel.querySelector('input')?.focus(); });
  return { button, panel };
}

// group puts thin spaces between thousands of a decimal's whole part.
export function group(text) {
  const [whole, frac] = String(text).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
  return frac === undefined ? grouped : `${grouped}.${frac}`;
}

// compact shortens an amount to about six digits, and to two digits of its fraction at least where it has six digits or
// fewer before it. It cuts off rather than rounding up.
export function compact(text) {
  const [whole, frac = ''] = String(text).split('.');
  return group(frac && whole.length < 7 ? `${whole}.${frac.slice(0, Math.max(2, 6 - whole.length))}` : whole);
}

// brief drops trailing zeros of a fraction, for narrow places.
export function brief(text) {
  return String(text).includes('.') ? String(text).replace(/\.?0+$/, '') : String(text);
}

// Times are shown in UTC or in the zone of the computer. Bundles have a copy of this file each, so the choice is read where
// it is kept.
export const isLocal = () => localStorage.getItem('zone') === 'local';
export function setLocal(on) { localStorage.setItem('zone', on ? 'local' : 'utc'); document.dispatchEvent(new Event('zone')); }
const shifted = (ms) => new Date(ms - (isLocal() ? new Date(ms).getTimezoneOffset() * 60000 : 0)).toISOString();
// replayed reports whether the exchange replays a recording, whose days are not today.
export const replayed = 'replay' in document.documentElement.dataset;
export const clockTime = (ms) => shifted(ms).slice(11, 19);
export const dayTime = (ms) => shifted(ms).slice(5, 19).replace('T', ' ');
export const dateTime = (ms) => `${shifted(ms).slice(0, 19).replace('T', ' ')}${isLocal() ? '' : ' UTC'}`;
export const short = (address) => (address && address.length > 14 ? `${address.slice(0, 8)}…${address.slice(-4)}` : address);

// Decimals are text with a fixed number of digits. units returns them as an integer of their last
// digit, or of the last of so many digits; decimal is the reverse.
export const units = (text, digits) => BigInt(String(digits === undefined ? text : product(text, '1', digits)).replace('.', ''));
export function decimal(value, digits) {
  if (digits === 0) return value.toString();
  const negative = value < 0n, all = (negative ? -value : value).toString().padStart(digits + 1, '0');
  return `${negative ? '-' : ''}${all.slice(0, -digits)}.${all.slice(-digits)}`;
}
export const digitsOf = (text) => (String(text).split('.')[1] ?? '').length;

// portion returns so many percent of an amount, divided by a price, cut off behind so many digits.
export function portion(text, percent, price, digits) {
  const up = 10n ** BigInt(digits + digitsOf(price)), down = 10n ** BigInt(2 + digitsOf(text));
  return decimal(units(text) * BigInt(percent) * up / (units(price) * down), digits);
}

// product multiplies two decimals, cut off behind so many digits.
export function product(a, b, digits) {
  const all = digitsOf(a) + digitsOf(b), exact = units(a) * units(b);
  return decimal(all > digits ? exact / 10n ** BigInt(all - digits) : exact * 10n ** BigInt(digits - all), digits);
}

// plainNumber returns a typed number in the form of the API, without marks between thousands and with a decimal
// point. One that can be read in two ways, as 1,234, stays as it is: isNumber refuses it.
export function plainNumber(typed) {
  const text = typed.replace(/\s/g, '');
  if (isUnclear(text)) return text;
  if (/^[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/.test(text)) return text.replaceAll(',', '');
  if (/^[1-9]\d{0,2}(\.\d{3})+,\d*$/.test(text)) return text.replaceAll('.', '').replace(',', '.');
  return text.replace(',', '.');
}
const isUnclear = (text) => /^[1-9]\d{0,2},\d{3}$/.test(text);
export const isNumber = (text) => /^[0-9]{1,20}(\.[0-9]{1,18})?$/.test(text);

// notNumber says why a typed text is none.
export function notNumber(typed) {
  const text = typed.replace(/\s/g, '');
  return `\u201c${text}\u201d ${isUnclear(text) ? `can mean ${text.replace(',', '')} or ${text.replace(',', '.')}. Write it without the comma.` : 'is not a number.'}`;
}

// money shortens a balance to at most eight digits of its fraction.
export const money = (text) => { const [whole, frac = ''] = String(text).split('.'); const f = frac.slice(0, 8).replace(/0+$/, ''); return group(f ? `${whole}.${f}` : whole); };
export const nice = (code) => (code ?? '').replace('_', '/');
