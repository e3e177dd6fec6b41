// Short messages at the corner of the screen. A message with the key of an earlier one replaces it.
import { el } from './dom.js';

const lifeMs = 8000, most = 3;
const region = el('div', { class: 'toasts', role: 'status', 'aria-live': 'polite', 'aria-label': 'Messages' });
document.body.append(region);
const shown = new Map(); // key -> {node, timer}

function drop(key) {
  const t = shown.get(key);
  if (!t) return;
  clearTimeout(t.timer);
  t.node.remove();
  shown.delete(key);
}

export function toast(key, kind, title, text = '') {
  drop(key);
  const node = el('div', { class: `toast ${kind}`, 'data-toast': String(key) }, el('div', {}, el('b', {}, title), el('span', {}, text)),
    el('button', { type: 'button', 'aria-label': 'Close this message', onclick: () => drop(key) }, '×'));
  region.append(node);
  shown.set(key, { node, timer: setTimeout(() => drop(key), lifeMs) });
  if (shown.size > most) drop(shown.keys().next().value);
}
