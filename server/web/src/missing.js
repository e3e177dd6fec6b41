// The page of a path that does not exist.
import { el, fill } from './dom.js';

const known = ['/', '/launchpad', '/hive', '/status', '/admin', '/docs', '/swagger'];

export function show(main) {
  document.title = 'No such page · TickHive';
  const path = location.pathname.toLowerCase().replace(/\/+$/, '');
  const near = known.find((p) => p === path) ?? '/';
  fill(main, el('section', { class: 'panel starting' }, el('h1', {}, 'No such page'),
    el('p', {}, `There is no page ${location.pathname}. `, el('a', { href: near }, `Go to ${near === '/' ? 'the market' : near}`))));
}
