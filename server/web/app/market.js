// The market page: pairs with 24 h figures, chart, book, tape, ticket and orders on one
// screen; on a phone chart and book, and a bar of tabs for the others.
import { get } from './api.js';
import { Ladder, Tape } from './book.js';
import { Chart } from './chart.js';
import { brief, el, fill, group } from './dom.js';
import { PairList, percent, sign } from './pairs.js';
import { Ticket } from './ticket.js';

const tabs = { market: 'Market', pairs: 'Pairs', tape: 'Trades', ticket: 'Buy/Sell', orders: 'Orders' };

export async function show(main, stream) {
  const [pairs, rows] = await Promise.all([get('/api/currencies/pairs'), get('/api/summary')]);
  const settings = new Map(pairs.body.map((p) => [p.code, p]));
  const figures = new Map(rows.body.map((r) => [r.trading_pairs, r]));
  if (!settings.size) { fill(main, el('p', { class: 'notice' }, 'There are no pairs yet. Add one through the internal API: POST /internal/v1/pairs.')); return; }
  const ticket = new Ticket(stream);
  const ladder = new Ladder(stream, (p) => { ticket.price(p); open('ticket'); });
  const tape = new Tape(stream);
  const chart = new Chart(stream);
  const list = new PairList(settings.keys(), figures, (code) => { pick(code); open('market'); });
  const head = el('section', { class: 'panel head', 'aria-label': 'Ticker' });
  const bar = el('nav', { class: 'tabs', 'aria-label': 'Panels' },
    Object.entries(tabs).map(([name, label]) => el('button', { type: 'button', 'data-tab': name, onclick: () => open(name) }, label)));
  const page = el('div', { class: 'market' }, list.node, head, chart.node, ladder.node, tape.node, ticket.node, ticket.ordersNode, bar);
  let current = null;

  // open shows the panels of a tab where there is no room for all.
  const open = (tab) => {
    page.dataset.shows = tab;
    for (const b of bar.children) b.setAttribute('aria-pressed', String(b.dataset.tab === tab));
  };

  const drawHead = (t) => {
    const item = (name, value, cls) => el('div', {}, el('dt', {}, name), el('dd', cls ? { class: cls } : {}, value));
    const f = figures.get(t.currencyPairCode);
    fill(head, el('h1', {}, t.currencyPairCode.replace('_', '/')), el('span', { class: `price ${sign(t.priceChangePercentage24h)}`, id: 'last' }, t.price),
      el('dl', {}, item('24 h change', percent(t.priceChangePercentage24h), sign(t.priceChangePercentage24h)), item('Bid', t.bidPrice), item('Ask', t.askPrice),
        item('24 h volume', `${group(brief(t.volume24h))} ${t.currencyPairCode.split('_')[0]}`), item('24 h high', f?.highest_price_24h ?? ''), item('24 h low', f?.lowest_price_24h ?? '')));
    document.title = `${t.price} ${t.currencyPairCode.replace('_', '/')} · TickHive`;
  };

  const onTicker = (m) => {
    if (!m.ticker) return;
    const f = figures.get(m.currencyPairCode);
    if (f) Object.assign(f, { last_price: m.ticker.price, base_volume: m.ticker.volume24h, price_change_percent_24h: m.ticker.priceChangePercentage24h });
    if (m.currencyPairCode === current) drawHead(m.ticker);
    onTicker.waiting ??= setTimeout(() => { onTicker.waiting = undefined; list.draw(); }, 500);
  };

  const pick = (code) => {
    current = code;
    localStorage.setItem('pair', code);
    list.pick(code);
    ladder.load(code); tape.load(code); ticket.load(code);
    chart.load(code, settings.get(code).digitsPrice);
    get('/api/tickers', { currencyPairCode: code }).then(({ body }) => { if (current === code) drawHead(body); }, () => {}); // on failure the stream's next message draws it
  };

  document.body.classList.add('trading');
  fill(main, page);
  open('market');
  chart.mount();
  window.tickhive = { candles: () => chart.data() }; // for tests and the console
  list.draw();
  const saved = localStorage.getItem('pair');
  const busiest = [...figures.values()].sort((a, b) => b.quote_volume - a.quote_volume)[0]?.trading_pairs;
  pick(settings.has(saved) ? saved : busiest ?? [...settings.keys()][0]);
  for (const code of settings.keys()) stream.subscribe('ticker', code, onTicker);
}
