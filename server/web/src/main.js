// Starts a page: it waits until the exchange answers and owns the one stream.
import { ApiError, get, syncClock } from './api.js';
import { dateTime, el, fill, replayed, setText } from './dom.js';
import { Stream, wentBack } from './stream.js';
import './theme.js';
import { messages, toast } from './toast.js';

const main = document.getElementById('page');
const retryMs = 500;

function linkState(up) {
  const node = document.getElementById('link');
  node.textContent = up ? 'live' : 'reconnecting';
  node.className = `link ${up ? 'live' : 'down'}`;
  document.body.classList.toggle('stale', !up);
}

// starts reports whether a status ends by itself.
const starts = (status) => status === 'recovering' || status === 'seeking';

// waiting shows why the exchange does not answer and returns its status: it recovers or makes its
// history, it refuses with a reason (a replica behind its writer, a fault rule, a full queue), or
// it cannot be reached.
async function waiting(refused) {
  let text = refused ? `${refused.message} This page continues by itself.` : 'The exchange cannot be reached. Trying again.';
  let status, progress = null;
  try {
    ({ body: { status, progress } } = await get('/api/status'));
    if (starts(status)) text = status === 'seeking' ? 'The replay goes to another time. This page continues by itself.' : 'The exchange is starting. This page continues by itself.';
  } catch { /* the first refusal says more */ }
  const share = progress === null ? '' : `${Math.floor(progress * 100)} %`;
  const bar = main.querySelector('.starting progress');
  if (!bar) {
    fill(main, el('section', { class: 'panel starting', role: 'status' }, el('h1', {}, 'TickHive'), el('p', {}, text),
      el('progress', { max: '1', 'aria-label': 'Progress' }), el('b', {}, share)));
    main.querySelector('.starting progress').hidden = !starts(status);
    return status;
  }
  bar.hidden = !starts(status);
  main.querySelector('.starting p').textContent = text;
  main.querySelector('.starting b').textContent = share;
  if (progress === null) bar.removeAttribute('value'); else bar.value = progress;
  return status;
}

// ready resolves when the exchange answers; until then the page shows the reason. A page that needs no
// market data is ready when a replica is merely behind its writer.
async function ready(evenStale) {
  for (;;) {
    let refused = null;
    try { await syncClock(); return; } catch (error) {
      if (error instanceof ApiError && error.status !== 503) throw error;
      if (error instanceof ApiError) refused = error;
    }
    if (await waiting(refused) === 'stale' && evenStale) return;
    await new Promise((r) => { setTimeout(r, retryMs); });
  }
}

// showDate keeps the date and the time of a recording in the head, and says when it has begun again.
function showDate(stream) {
  const node = el('time', { class: 'replayed', title: 'The time of the recording' });
  document.getElementById('link').before(node);
  setInterval(() => { if (stream.asOf) setText(node, dateTime(stream.asOf)); }, 250);
  if (!sessionStorage.getItem(wentBack)) return;
  sessionStorage.removeItem(wentBack);
  toast('went-back', 'bad', 'The recording went back.', 'Your orders and trades are gone; your key and your deposits are there.');
}

// start shows a page as soon as the exchange answers. What its show returns is for the console; nothing means that the console
// has no part of this page. Messages are above a page that has no place of its own for them.
export async function start(show, evenStale = false) {
  if (document.documentElement.dataset.console) document.querySelector('nav [href="/status"]').after(el('a', { href: '/admin' }, 'Admin'));
  document.querySelectorAll('nav a').forEach((a) => {
    if (a.getAttribute('href') === location.pathname) a.setAttribute('aria-current', 'page');
  });
  try {
    await ready(evenStale);
    const stream = new Stream(linkState), page = await show(main, stream);
    if (!messages.isConnected) main.before(el('div', { class: 'news' }, messages));
    if (replayed) showDate(stream);
    if (page && document.documentElement.dataset.console) import('./console.js').then((c) => c.mount(main, page), () => {}); // without it the page is a reader's
  } catch (error) {
    fill(main, el('p', { class: 'notice bad' }, `This page could not be shown: ${error.message} `,
      el('a', { href: location.pathname }, 'Try again')));
  }
}
