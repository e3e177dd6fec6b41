// The list of keys that the market page knows.
import { el } from './dom.js';

const keys = [
  ['/', 'Search for a pair'], ['b', 'Buy'], ['s', 'Sell'], ['?', 'This list'], ['↑ ↓', 'In a list of pairs: the row above or below'], ['← →', 'On tabs: the next one; on a slider: more or less'],
  ['Enter', 'Send the order; take the first pair found; keep a changed price'], ['Esc', 'Empty the search; give up a change; close this list'],
];

export function showKeys() {
  if (document.querySelector('dialog.keylist')) return;
  const dialog = el('dialog', { class: 'question keylist', 'aria-labelledby': 'keylist', onclose: () => dialog.remove() }, el('h2', { id: 'keylist' }, 'Keys'),
    el('dl', {}, keys.flatMap(([key, text]) => [el('dt', {}, el('kbd', {}, key)), el('dd', {}, text)])), el('button', { type: 'button', onclick: () => dialog.close() }, 'Close'));
  document.body.append(dialog);
  dialog.showModal();
}
