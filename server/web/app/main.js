// Picks the page by the path and owns the one stream.
import { syncClock } from './api.js';
import { el, fill } from './dom.js';
import { Stream } from './stream.js';
import './theme.js';

const pages = {
  '/': () => import('./market.js'),
  '/launchpad': () => import('./launchpad.js'),
  '/hive': () => import('./hive.js'),
  '/status': () => import('./status.js'),
};

function linkState(up) {
  const node = document.getElementById('link');
  node.textContent = up ? 'live' : 'reconnecting';
  node.className = `link ${up ? 'live' : 'down'}`;
  document.body.classList.toggle('stale', !up);
}

async function start() {
  document.querySelectorAll('nav a').forEach((a) => {
    if (a.getAttribute('href') === location.pathname) a.setAttribute('aria-current', 'page');
  });
  const main = document.getElementById('page');
  try {
    await syncClock();
    const page = await (pages[location.pathname] ?? pages['/'])();
    await page.show(main, new Stream(linkState));
  } catch (error) {
    fill(main, el('p', { class: 'notice bad' }, `This page could not be shown: ${error.message} `,
      el('a', { href: location.pathname }, 'Try again')));
  }
}

start();
