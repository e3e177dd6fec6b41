// The market page: pairs with 24 h figures, chart, book, tape, ticket and orders on one screen. On a
// phone one of them at a time, with a bar of tabs and the buttons to buy and sell.
import { Account } from './account.js';
import { Alerts } from './alerts.js';
import { get, now, publicKey, signed, syncClock } from './api.js';
import { Ladder, Tape } from './book.js';
import { intervals } from './candles.js';
import { Chart } from './chart.js';
import { clockTime, el, fill, nice } from './dom.js';
import { Facts } from './facts.js';
import { Head } from './head.js';
import { showKeys } from './keys.js';
import { Orders } from './orders.js';
import { PairList } from './pairs.js';
import { Panels } from './panels.js';
import { Ticket } from './ticket.js';
import { messages, toast } from './toast.js';
import { Worth } from './worth.js';

const tabs = { chart: 'Chart', tape: 'Trades', pairs: 'Pairs', orders: 'Orders' };
const summaryMs = 15000; // how often the figures of pairs out of view are read

export async function show(main, stream) {
  const [pairs, rows] = await Promise.all([get('/api/currencies/pairs'), get('/api/summary')]);
  const loadedAt = now();
  const settings = new Map(pairs.body.map((p) => [p.code, p]));
  const figures = new Map(rows.body.map((r) => [r.trading_pairs, r]));
  if (!settings.size) { fill(main, el('p', { class: 'notice' }, 'There are no pairs yet. Add one through the internal API: POST /internal/v1/pairs.')); document.body.classList.remove('trading'); return {}; }
  const account = new Account(stream);
  let current = null, last = null;
  const own = () => [...account.orders.values()].filter((o) => o.currencyPairCode === current);
  const facts = new Facts(account, figures, (code) => go(code));
  const ticket = new Ticket(account, () => ({ settings: settings.get(current), last, book: ladder.book }), facts.node);
  const take = (p) => { ticket.price(p); open('ticket'); };
  const ladder = new Ladder(stream, take, own);
  const tape = new Tape(stream, (t) => { last = t.price; ladder.trade(t.price, t.isBuy); });
  const chart = new Chart(stream, {
    onInterval: (interval) => go(current, interval), onDepth: (on) => ladder.setWide(on), onEdit: (id, price) => account.move(id, price), onPrice: take,
  });
  const alerts = new Alerts(() => ({ pair: current, settings: settings.get(current), last: figures.get(current)?.last_price }), {
    onChange: () => { chart.setAlerts(alerts.of(current)); follow(inView, pricing); }, onHit: () => head.mark(), onPlace: () => chart.placeAlert((price) => alerts.add(price) || alerts.panel.showPopover()),
  });
  chart.menus.append(alerts.button);
  chart.node.append(alerts.panel);
  const worth = new Worth([...settings.keys()], figures);
  const orders = new Orders(account, (code) => go(code), worth, (codes) => follow(inView, codes));
  const followed = new Set(); // pairs whose ticker the stream sends
  let inView = [], pricing = new Set(); // of the list, and by whose prices the balances are shown
  // follow subscribes to the tickers of these pairs and of the current one.
  const follow = (view, prices) => {
    inView = view;
    pricing = prices;
    const wanted = new Set([...view, ...prices]);
    if (current) wanted.add(current);
    for (const c of alerts.pairs()) if (settings.has(c)) wanted.add(c);
    for (const c of followed) if (!wanted.has(c)) { followed.delete(c); stream.unsubscribe('ticker', c); }
    for (const c of wanted) if (!followed.has(c)) { followed.add(c); stream.subscribe('ticker', c, (m) => onTicker(m)); }
  };

  const list = new PairList(settings.keys(), figures, (code) => { go(code); open('chart'); if (!list.node.checkVisibility()) head.pair.focus(); }, (codes) => follow(codes, pricing));
  const head = new Head(() => (page.dataset.shows === 'pairs' ? open('chart') : find()));
  const tab = (name, label, attributes = {}, act = () => {}) => el('button', { type: 'button', 'data-tab': name, ...attributes, onclick: () => { act(); open(name); } }, label);
  const bar = el('nav', { class: 'tabs', 'aria-label': 'Panels' }, Object.entries(tabs).map(([name, label]) => tab(name, label)),
    tab('ticket', 'Buy', { class: 'buy' }, () => ticket.choose('buy')), tab('ticket', 'Sell', { class: 'sell' }, () => ticket.choose('sell')));
  const lost = el('p', { class: 'lost', role: 'alert', hidden: true });
  const foot = el('div', { class: 'foot' }, bar);
  const panels = new Panels(head.node, { pairs: list.node, chart: chart.node, book: ladder.node, tape: tape.node, ticket: ticket.node, orders: orders.node }, foot), page = panels.node;
  chart.actions.append(panels.again);
  // Messages are where nothing else is: in the head of the page, on small screens in a line above the tabs.
  const news = el('div', { class: 'news' }, lost, messages), wide = matchMedia('(min-width: 1024px)'), upon = matchMedia('(min-width: 1024px) and (max-width: 1899px)');
  const settle = () => (wide.matches ? document.getElementById('link') : bar).before(news);
  wide.addEventListener('change', settle);
  settle();

  // open shows the panel of a tab where there is no room for all.
  const open = (name) => {
    page.dataset.shows = name;
    head.pair.setAttribute('aria-expanded', String(name === 'pairs'));
    for (const b of bar.children) if (!b.className) b.setAttribute('aria-pressed', String(b.dataset.tab === name));
  };

  const drawHead = () => head.draw(current, figures.get(current));

  // find opens the list of pairs at its search. Where it lies upon the chart, Escape and a click beside it close it.
  const find = () => { open('pairs'); list.search.focus(); };
  document.addEventListener('pointerdown', (e) => {
    if (page.dataset.shows === 'pairs' && upon.matches && !e.target.closest('.pairs, .head h1')) open('chart');
  });
  list.node.addEventListener('keydown', (e) => { if (e.key === 'Escape' && upon.matches && !list.search.value) { open('chart'); head.pair.focus(); } }, { capture: true });

  const onTicker = (m) => {
    if (!m.ticker) return;
    const code = m.currencyPairCode, t = m.ticker;
    figures.set(code, { // all of one moment: the last price is never outside of high and low
      trading_pairs: code, last_price: t.price, price_change_percent_24h: t.priceChangePercentage24h, highest_bid: t.bidPrice, lowest_ask: t.askPrice,
      highest_price_24h: m.high24h, lowest_price_24h: m.low24h, base_volume: t.volume24h, quote_volume: m.quoteVolume24h,
    });
    if (code === current) drawHead();
    alerts.check(code, t.price);
    stream.afterwards(drawFigures);
  };
  const drawFigures = () => { list.draw(); orders.drawWorth(); facts.draw(); };

  // refresh reads the figures of the pairs that the stream does not send.
  const refresh = async () => {
    const { body } = await get('/api/summary');
    for (const r of body) if (settings.has(r.trading_pairs) && !followed.has(r.trading_pairs)) figures.set(r.trading_pairs, r);
    list.draw();
    facts.rank();
  };

  const marks = async () => {
    chart.setOrders(own());
    ladder.draw();
    if (!account.signedIn) { chart.setFills([]); return; }
    const code = current, { body } = await signed('GET', `/api/user/deals?currencyPairCode=${code}&pageSize=100&decimals=string`);
    if (code !== current) return;
    tape.own(body.map((d) => d.tradeId));
    chart.setFills(body.map((d) => ({ at: Date.parse(d.dealDateUtc) / 1000, buy: d.isUserBuyer })));
  };
  const later = (f) => () => { f.waiting ??= setTimeout(() => { f.waiting = undefined; f().catch(() => {}); }, 150); }; // the next change tries again
  const marksLater = later(marks);
  account.on((part) => { if (part === 'key' || part === 'past') marksLater(); else if (part === 'orders') { chart.setOrders(own()); ladder.draw(); } });

  // pick shows a pair and an interval.
  const pick = (code, interval) => {
    if (code !== current) {
      current = code;
      last = null;
      localStorage.setItem('pair', code);
      list.pick(code);
      follow(inView, pricing);
      ladder.load(code, settings.get(code).digitsPrice); tape.load(code); ticket.load(code); facts.load(code, settings.get(code)); orders.load(code);
      drawHead();
      chart.setFills([]);
      chart.setOrders(own());
      chart.setAlerts(alerts.of(code));
      marksLater();
    }
    localStorage.setItem('interval', interval);
    chart.load(code, settings.get(code).digitsPrice, interval);
  };

  // go picks and remembers it in the history, so that links and the back button work.
  const address = (code, interval) => `/?${new URLSearchParams({ pair: code, interval })}`;
  const go = (code, interval = chart.interval) => {
    if (code === current && interval === chart.interval) return;
    if (!settings.has(code)) { toast('pair', 'warn', `${nice(code)} was delisted.`, 'It is not traded any more.'); return; }
    history.pushState(null, '', address(code, interval));
    pick(code, interval);
  };

  const asked = () => {
    const query = new URLSearchParams(location.search), busiest = [...figures.values()].sort((a, b) => b.quote_volume - a.quote_volume)[0]?.trading_pairs;
    const code = [query.get('pair')?.toUpperCase().replace(/[-/]/, '_'), localStorage.getItem('pair'), busiest].find((c) => settings.has(c)) ?? [...settings.keys()][0];
    const interval = [query.get('interval'), localStorage.getItem('interval')].find((i) => i && Object.hasOwn(intervals, i)) ?? 'minute';
    return [code, interval];
  };
  window.addEventListener('popstate', () => pick(...asked()));

  // A pair that was delisted leaves the page. Each of its subscriptions says so.
  stream.onGone = (code) => {
    if (!settings.delete(code)) return;
    figures.delete(code);
    followed.delete(code);
    if (!settings.size) { location.reload(); return; }
    list.remove(code);
    facts.rank();
    if (code !== current) return;
    go(...asked());
    toast('pair', 'warn', `${nice(code)} was delisted.`, `Here is ${nice(current)}.`);
  };

  // Keys outside of fields: / searches, b and s open the ticket, ? lists the keys (keys.js).
  document.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.('input, select, textarea')) return;
    const act = { '/': find, '?': showKeys, b: () => ticket.choose('buy'), s: () => ticket.choose('sell') }[e.key];
    if (!act) return;
    e.preventDefault();
    act();
    if (e.key === 'b' || e.key === 's') { open('ticket'); ticket.focus(); }
  });

  // lose says since when nothing is new. Later attempts that fail change nothing of it.
  const lose = () => {
    if (!lost.hidden) return;
    lost.textContent = `${stream.reason ?? 'Connection lost.'} Figures are from ${clockTime(stream.asOf ?? loadedAt)}. Trading is off until it is back.`;
    lost.hidden = false;
  };
  stream.listeners.add((up) => {
    if (!up) { lose(); return; }
    if (lost.hidden) return;
    lost.hidden = true;
    lost.textContent = '';
    syncClock().catch(() => {}); refresh().catch(() => {}); marksLater(); // the next interval tries again
  });
  setInterval(() => { if (stream.up && !document.hidden) refresh().catch(() => {}); }, summaryMs);

  fill(main, page);
  open('chart');
  chart.mount();
  ladder.listeners.add((book) => { chart.depth.update(book); facts.book(book); });
  window.tickhive = { candles: () => chart.data(), lines: () => chart.own(), studies: () => chart.studied(), price: () => chart.tagged(), alerts: () => chart.alerted(), now }; // for tests and the console
  const [code, interval] = asked();
  history.replaceState(null, '', address(code, interval));
  pick(code, interval);
  if (stream.up === false) lose();
  return { account, ticket, toast, publicKey, signed }; // for the console
}
