// The list of keys that the market page knows.
import { answer, ask, el } from './dom.js';

const keys = [
  ['/', 'Search for a pair'], ['b', 'Buy'], ['s', 'Sell'], ['?', 'This list'], ['↑ ↓', 'In a list of pairs: the row above or below'], ['← →', 'On tabs: the next one; on a slider: more or less'],
  ['Enter', 'Send the order; take the first pair found; keep a changed price'], ['Esc', 'Empty the search; give up a change; close this list'],
  ['← → + −', 'In the depth chart: another price; a smaller or larger range. Enter takes the price'], ['← → ↑ ↓', 'On the edge of a panel: its size. Home: the smallest; End: the largest; Enter: the first'],
];
const playing = [['Space', 'In the player: play or pause'], ['← →', 'In the player: 10 s back or on; with Shift a minute']];

export function showKeys() {
  if (document.querySelector('dialog.keylist')) return;
  const all = document.querySelector('.player') ? keys.concat(playing) : keys;
  ask('keylist', 'Keys', el('dl', {}, all.flatMap(([key, text]) => [el('dt', {}, el('kbd', {}, key)), el('dd', {}, text)])), answer('', 'Close'));
}
