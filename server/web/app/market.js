// The market page: pairs with 24 h figures, chart, book, tape and ticket.
import { get } from './api.js';
import { Ladder, Tape } from './book.js';
import { Chart } from './chart.js';
import { brief, el, fill, group } from './dom.js';
import { Ticket } from './ticket.js';

const sign = (percent) => (percent.startsWith('-') ? 'down' : 'up');
const percent = (text) => `${text.startsWith('-') ? '' : '+'}${(+text).toFixed(2)} %`;

export async function show(main, stream) {
  const [pairs, rows] = await Promise.all([get('/api/currencies/pairs'), get('/api/summary')]);
  const settings = new Map(pairs.body.map((p) => [p.code, p]));
  const figures = new Map(rows.body.map((r) => [r.trading_pairs, r]));
  if (!settings.size) { fill(main, el('p', { class: 'notice' }, 'There are no pairs yet. Add one through the internal API: POST /internal/v1/pairs.')); return; }
  const ticket = new Ticket(stream);
  const ladder = new Ladder(stream, (p) => ticket.price(p));
  const tape = new Tape(stream);
  const chart = new Chart(stream);
  const list = el('div', { class: 'pairlist' });
  const head = el('section', { class: 'panel head', 'aria-label': 'Ticker' });
  let current = null;

  // The rows stay the same elements: what is under a finger or has the focus is never
  // taken away while figures move.
  const rowOf = (code) => {
    const price = el('span'), volume = el('small'), change = el('small');
    const button = el('button', { type: 'button', 'data-pair': code, onclick: () => pick(code) },
      el('span', {}, code.replace('_', '/')), price, volume, change);
    return { button, price, volume, change };
  };
  const listRows = new Map([...settings.keys()].map((code) => [code, rowOf(code)]));
  list.append(...[...listRows.values()].map((r) => r.button));

  const drawList = () => {
    for (const [code, r] of listRows) {
      const f = figures.get(code);
      r.button.setAttribute('aria-pressed', String(code === current));
      if (!f) continue;
      r.price.textContent = f.last_price;
      r.volume.textContent = `vol ${group(brief(f.base_volume).split('.')[0])}`;
      r.change.textContent = percent(f.price_change_percent_24h);
      r.change.className = sign(f.price_change_percent_24h);
    }
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
    if (!drawList.waiting) { drawList.waiting = true; setTimeout(() => { drawList.waiting = false; drawList(); }, 500); }
  };

  const pick = (code) => {
    current = code;
    localStorage.setItem('pair', code);
    drawList();
    ladder.load(code); tape.load(code); ticket.load(code);
    chart.load(code, settings.get(code).digitsPrice);
    get('/api/tickers', { currencyPairCode: code }).then(({ body }) => { if (current === code) drawHead(body); });
  };

  fill(main, el('div', { class: 'market' },
    el('section', { class: 'panel pairs', 'data-panel': 'pairs', 'aria-label': 'Pairs' }, el('h2', {}, 'Pairs'), list),
    head, chart.node, ladder.node, tape.node, ticket.node, ticket.ordersNode));
  chart.mount();
  window.tickhive = { candles: () => chart.data() }; // for tests and the console
  const saved = localStorage.getItem('pair');
  const busiest = [...figures.values()].sort((a, b) => b.quote_volume - a.quote_volume)[0]?.trading_pairs;
  pick(settings.has(saved) ? saved : busiest ?? [...settings.keys()][0]);
  for (const code of settings.keys()) stream.subscribe('ticker', code, onTicker);
}
