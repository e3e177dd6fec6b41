// Short messages, in a place of their own that the page gives them. A message with the key of an earlier one
// replaces it. The newest is shown, with the number of the others; they come back when it ends.
import { el } from './dom.js';

const lifeMs = 8000, most = 3;
export const messages = el('div', { class: 'toasts', role: 'status', 'aria-live': 'polite', 'aria-label': 'Messages' });
const shown = new Map(); // key -> node, the newest last
let timer;

function drop(key) {
  shown.get(key)?.remove();
  shown.delete(key);
  clearTimeout(timer);
  if (shown.size) timer = setTimeout(() => drop([...shown.keys()].at(-1)), lifeMs);
  if (shown.size > 1) messages.dataset.more = `+${shown.size - 1}`; else delete messages.dataset.more;
}

export function toast(key, kind, title, text = '') {
  drop(key);
  const node = el('div', { class: `toast ${kind}`, 'data-toast': String(key) }, el('p', { title: `${title}. ${text}` }, el('b', {}, title), ' ', el('span', {}, text)),
    el('button', { type: 'button', 'aria-label': 'Close this message', onclick: () => drop(key) }, '×'));
  messages.append(node);
  shown.set(key, node);
  drop(shown.size > most ? shown.keys().next().value : undefined);
}
