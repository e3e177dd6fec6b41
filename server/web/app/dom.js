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

// table builds a table with a caption for screen readers.
export function table(caption, heads, rows) {
  return el('table', { 'aria-label': caption },
    el('thead', {}, el('tr', {}, heads.map((h) => el('th', { scope: 'col', class: h.num ? 'num' : null }, h.name ?? h)))),
    el('tbody', {}, rows));
}

export const cell = (text, cls) => el('td', cls ? { class: cls } : {}, text);

// group puts thin spaces between thousands of a decimal's whole part.
export function group(text) {
  const [whole, frac] = String(text).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
  return frac === undefined ? grouped : `${grouped}.${frac}`;
}

// brief drops trailing zeros of a fraction, for narrow places.
export function brief(text) {
  return String(text).includes('.') ? String(text).replace(/\.?0+$/, '') : String(text);
}

export const clockTime = (ms) => new Date(ms).toISOString().slice(11, 19);
export const dateTime = (ms) => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
export const short = (address) => (address && address.length > 14 ? `${address.slice(0, 8)}…${address.slice(-4)}` : address);
