// The admin page: users and pairs. Its parts are the console's; without a console it says how to turn one on.
import { el, fill } from './dom.js';

export function show(main) {
  document.title = 'Admin · TickHive';
  const place = el('div', { class: 'admin' });
  fill(main, el('h1', { class: 'unseen' }, 'Admin'), place);
  if (!document.documentElement.dataset.console) {
    fill(place, el('section', { class: 'panel starting' }, el('h2', {}, 'Users and pairs'),
      el('p', {}, 'An operator administers users and pairs here. This needs the console, which is off for you: start the exchange with ', el('code', {}, '--console loopback'),
        ' and open this page on the same machine, at a loopback address.'),
      el('p', {}, el('a', { href: '/docs/contract/internal#console' }, 'Console'), ' says what there is for other machines.')));
  }
  return { place };
}
