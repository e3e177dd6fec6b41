// What only an operator may do, on every page: main.js loads this bundle when the exchange has a console for the reader.
import { cockpit } from './cockpit.js';
import { controls } from './controls.js';
import { demo } from './demo.js';
import { el } from './dom.js';
import { pairadmin } from './pairadmin.js';
import { player } from './player.js';
import { users } from './users.js';

// parts are the parts of each page, in their order. A part is a function of the strip above the page, to which it may add
// itself, and of what the page's show has returned.
const parts = { '/': [player, controls, demo], '/status': [cockpit], '/admin': [users, pairadmin] };

// mount adds the parts of a page, once their style is there: they come in the place that the page has kept for them. They are
// folded away until they have something to show.
export async function mount(main, page) {
  await new Promise((done) => {
    document.head.append(el('link', { rel: 'stylesheet', href: new URL('./console.css', import.meta.url).href, onload: done, onerror: done }));
  });
  const place = el('section', { id: 'console', 'aria-label': 'Console' });
  for (const part of parts[location.pathname]) part(place, page);
  if (place.firstChild) main.before(place);
}
