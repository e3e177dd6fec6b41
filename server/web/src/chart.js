// The candle chart: it reads the history from /udf/history, which answers the candles of /api/ohlc in
// a third of the bytes, older candles when the view reaches the first one, and each changed candle
// from the stream. A chart calculates, so it asks for numbers.
import { CandlestickSeries, HistogramSeries, LineSeries, createChart, createSeriesMarkers } from './vendor/lightweight-charts.mjs';
import { canMove } from './account.js';
import { get } from './api.js';
import { Depth } from './depth.js';
import { brief, clockTime, dateTime, el, group, isLocal, setLocal } from './dom.js';
import { studies } from './study.js';

export const intervals = {
  minute: ['1m', 60, '1'], minutes3: ['3m', 180, '3'], minutes5: ['5m', 300, '5'], minutes15: ['15m', 900, '15'], minutes30: ['30m', 1800, '30'],
  hour: ['1h', 3600, '60'], hour4: ['4h', 14400, '240'], day: ['1d', 86400, '1D'], month: ['1M', 2678400, '1M'], year: ['1y', 31622400, '12M'],
};
const shown = 160, older = 500; // candles of the first request and of a later one for older candles
const latest = 253402300799; // s: the end of the year 9999
const reach = 5; // px between the pointer and a line that it grabs
const few = 100; // candles that are spread over the whole width
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const seconds = (date) => Date.parse(`${date}Z`) / 1000;
const bar = (c) => ({ time: seconds(c.date), open: +c.open, high: +c.max, low: +c.min, close: +c.close, volume: +c.volumeBase });
const bars = (u) => (u.s === 'ok' ? u.t.map((time, i) => ({ time, open: u.o[i], high: u.h[i], low: u.l[i], close: u.c[i], volume: u.v[i] })) : []);
const colour = (b) => css(b.close >= b.open ? '--up-soft' : '--down-soft');
const volume = (b) => ({ time: b.time, value: b.volume, color: colour(b) });
const firstWait = 500, longestWait = 10000; // ms before the page requests the history again
const saved = (() => { try { return JSON.parse(localStorage.getItem('chart') ?? '{}'); } catch { return {}; } })();
const remember = (change) => { Object.assign(saved, change); localStorage.setItem('chart', JSON.stringify(saved)); };
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

export class Chart {
  // onInterval receives an interval that the user picked, onDepth whether the depth chart is open,
  // onEdit an order and the price to which its line was dragged.
  constructor(stream, onInterval, onDepth, onEdit) {
    Object.assign(this, { stream, onDepth, onEdit, interval: 'minute', bars: [], lines: new Map(), orders: [], fills: [], priceLines: [] });
    this.canvas = el('div', { class: 'canvas', role: 'img', 'aria-label': 'Candle chart' });
    this.depth = new Depth();
    this.legend = el('p', { class: 'legend', 'aria-hidden': 'true' });
    this.say = el('p', { role: 'status', class: 'say' });
    this.turn = 0; // counts the loads: an answer to an earlier load is dropped
    this.pending = []; // updates that arrived while the history is loading
    const button = (attributes, label, onclick) => el('button', { type: 'button', ...attributes, onclick }, label);
    this.choices = Object.entries(intervals).map(([name, [label]]) => button({ 'data-interval': name }, label, () => onInterval(name)));
    this.studies = Object.entries(studies).map(([name, [label]]) => button({ 'data-study': name, 'aria-pressed': String(!!saved[name]) }, label, () => this.toggle(name)));
    this.log = button({ 'data-scale': 'log', 'aria-pressed': String(!!saved.log), 'aria-label': 'Log scale' }, 'Log', () => { remember({ log: !saved.log }); this.scale(); });
    this.zone = button({ 'data-zone': '' }, '', () => setLocal(!isLocal()));
    this.mode = button({ 'data-depth': '', 'aria-pressed': 'false' }, 'Depth', () => this.setDepth(this.depth.node.hidden));
    const full = button({ 'aria-label': 'Full screen' }, 'Full', () => { if (document.fullscreenElement) document.exitFullscreen(); else this.node.requestFullscreen().catch(() => {}); });
    this.node = el('section', { class: 'panel chart', 'data-panel': 'chart', 'aria-label': 'Chart' },
      el('div', { class: 'tools' }, el('div', { role: 'group', 'aria-label': 'Interval' }, this.choices), el('div', { role: 'group', 'aria-label': 'Indicators' }, this.studies),
        this.actions = el('div', { class: 'actions', role: 'group', 'aria-label': 'View' }, this.log, this.zone, this.mode, full)),
      this.say, el('div', { class: 'stage' }, this.legend, this.canvas, this.depth.node),
      el('p', { class: 'credit' }, 'Charts by ', el('a', { href: 'https://www.tradingview.com/', rel: 'noopener' }, 'TradingView Lightweight Charts')));
  }

  mount() {
    this.chart = createChart(this.canvas, {
      autoSize: true, layout: { attributionLogo: false, fontSize: 11 }, crosshair: { mode: 0 },
      timeScale: { timeVisible: true, borderVisible: false, rightOffset: 4, tickMarkFormatter: (t, type) => this.tick(t, type) }, rightPriceScale: { borderVisible: false },
      localization: { timeFormatter: (t) => dateTime(t * 1000) },
    });
    this.candles = this.chart.addSeries(CandlestickSeries, {});
    this.volumes = this.chart.addSeries(HistogramSeries, { priceScaleId: 'volume', priceFormat: { type: 'volume' }, lastValueVisible: false, priceLineVisible: false });
    this.chart.priceScale('volume').applyOptions({ scaleMargins: { top: 0.84, bottom: 0 } });
    this.chart.priceScale('right').applyOptions({ scaleMargins: { top: 0.12, bottom: 0.2 } });
    this.markers = createSeriesMarkers(this.candles, []);
    this.chart.subscribeCrosshairMove((m) => { this.hovered = m.time; this.drawLegend(); });
    this.chart.timeScale().subscribeVisibleLogicalRangeChange((range) => { if (range && range.from < 5) this.reachBack(); });
    this.drags();
    this.paint();
    this.scale();
    this.zoned();
    document.addEventListener('theme', () => this.paint());
    document.addEventListener('zone', () => this.zoned());
  }

  zoned() {
    this.zone.textContent = isLocal() ? 'Local' : 'UTC';
    this.zone.setAttribute('aria-label', isLocal() ? 'Times are local; show UTC' : 'Times are in UTC; show local times');
    this.chart.timeScale().applyOptions({ tickMarkFormatter: (t, type) => this.tick(t, type) });
  }

  tick(t, type) {
    const [date] = dateTime(t * 1000).split(' '), [year, month, day] = date.split('-');
    return [year, months[month - 1], `${+day} ${months[month - 1]}`, clockTime(t * 1000).slice(0, 5), clockTime(t * 1000)][type];
  }

  scale() {
    this.log.setAttribute('aria-pressed', String(!!saved.log));
    this.chart.priceScale('right').applyOptions({ mode: saved.log ? 1 : 0 });
  }

  setDepth(on) {
    this.depth.node.hidden = !on;
    this.canvas.hidden = on;
    this.legend.hidden = on;
    this.mode.setAttribute('aria-pressed', String(on));
    this.onDepth(on);
    this.depth.draw();
  }

  paint() {
    this.chart.applyOptions({
      layout: { background: { color: css('--panel') }, textColor: css('--dim') },
      grid: { vertLines: { color: css('--grid') }, horzLines: { color: css('--grid') } },
    });
    this.candles.applyOptions({ upColor: css('--up'), downColor: css('--down'), wickUpColor: css('--up'), wickDownColor: css('--down'), borderVisible: false });
    this.volumes.setData(this.bars.map(volume));
    for (const [name, line] of this.lines) line.applyOptions({ color: css(studies[name][2]) });
    this.mine();
  }

  toggle(name) {
    remember({ [name]: !saved[name] });
    this.studies.forEach((b) => b.setAttribute('aria-pressed', String(!!saved[b.dataset.study])));
    this.drawStudies();
    this.drawLegend();
  }

  // drawStudies draws the indicators that are on, whole or only their last point.
  drawStudies(lastOnly = false) {
    for (const [name, [, points, hue]] of Object.entries(studies)) {
      let line = this.lines.get(name);
      if (!saved[name]) { if (line) { this.chart.removeSeries(line); this.lines.delete(name); } continue; }
      const fresh = !line;
      if (fresh) {
        line = this.chart.addSeries(LineSeries, { color: css(hue), lineWidth: 1.5, priceLineVisible: false, lastValueVisible: false, crosshairMarkerVisible: false });
        this.lines.set(name, line);
      }
      const all = points(this.bars);
      if (lastOnly && !fresh && all.length) line.update(all.at(-1)); else line.setData(all);
    }
  }

  drawLegend() {
    const b = (this.hovered !== undefined && this.bars.find((x) => x.time === this.hovered)) || this.bars.at(-1);
    if (!b) { this.legend.replaceChildren(); return; }
    const p = (v) => group(v.toFixed(this.digits)), cls = b.close >= b.open ? 'up' : 'down', change = (b.close / b.open - 1) * 100;
    const part = (name, text) => [el('span', {}, name), el('b', { class: cls }, text)];
    this.legend.replaceChildren(...part('O', p(b.open)), ...part('H', p(b.high)), ...part('L', p(b.low)), ...part('C', p(b.close)),
      el('b', { class: cls }, `${change >= 0 ? '+' : ''}${change.toFixed(2)} %`), ...part('V', group(brief(b.volume.toFixed(4)))),
      ...[...this.lines].map(([name, line]) => {
        const point = line.data().find((x) => x.time === b.time);
        const node = el('b', {}, `${studies[name][0]} ${point ? p(point.value) : '–'}`);
        node.style.color = css(studies[name][2]);
        return node;
      }));
  }

  load(pair, digits, interval = this.interval) {
    if (this.pair) this.stream.unsubscribe(`candles.${this.interval}`, this.pair);
    Object.assign(this, { pair, digits, interval, turn: this.turn + 1, pending: [], whole: true });
    this.choices.forEach((b) => b.setAttribute('aria-pressed', String(b.dataset.interval === interval)));
    this.stream.subscribe(`candles.${interval}`, pair, (m) => this.receive(m));
  }

  // receive handles a message of the stream. Before a snapshot, updates may have been missed: at
  // the start, after a lost connection, or when the page read too slowly.
  receive(m) {
    if (m.channel !== `candles.${this.interval}` || m.currencyPairCode !== this.pair) return;
    if (m.type === 'snapshot') this.refresh(m);
    else if (m.candle && this.pending) this.pending.push(m);
    else if (m.candle) this.live(m.candle);
  }

  // refresh replaces all candles with those of the API. It repeats the request until it succeeds.
  async refresh(snapshot) {
    const turn = ++this.turn;
    this.pending = [];
    for (let wait = firstWait; ; wait = Math.min(wait * 2, longestWait)) {
      try {
        const { rows, seq } = await this.history(snapshot);
        if (turn === this.turn) this.show(rows, seq);
        return;
      } catch (error) {
        if (turn !== this.turn) return;
        this.fail(error);
      }
      await new Promise((r) => { setTimeout(r, wait); });
      if (turn !== this.turn) return;
    }
  }

  // history reads the candles from some before the candle of the snapshot up to the current one,
  // and the seq of the state that they show.
  async history({ candle, seq: known }) {
    if (!candle) return { rows: [], seq: known };
    const [, span, resolution] = intervals[this.interval];
    const from = Math.max(0, seconds(candle.date) - span * shown);
    const { body, headers } = await get('/udf/history', { decimals: 'number', symbol: this.pair, resolution, from, to: latest });
    const seq = Number(headers.get('X-Seq'));
    if (seq < known) throw new Error('the answer is older than the stream');
    return { rows: bars(body), seq };
  }

  show(rows, seq) {
    this.candles.applyOptions({ priceFormat: { type: 'price', precision: this.digits, minMove: 1 / 10 ** this.digits } });
    const same = this.drawn === `${this.pair} ${this.interval}` && this.bars.length > 0;
    // Older candles stay if the fresh ones reach them: they have ended and cannot change.
    const kept = same && rows.length && this.bars.at(-1).time >= rows[0].time ? this.bars.filter((b) => b.time < rows[0].time) : [];
    this.whole = kept.length > 0 && this.whole;
    this.draw(kept.concat(rows));
    if (!same) this.spreadOut();
    this.say.textContent = '';
    this.pending.filter((m) => m.seq > seq).forEach((m) => this.live(m.candle));
    this.pending = null;
  }

  draw(bars) {
    this.drawn = `${this.pair} ${this.interval}`;
    this.bars = bars;
    this.candles.setData(bars);
    this.volumes.setData(bars.map(volume));
    this.drawStudies();
    this.drawLegend();
    this.mine();
  }

  // spreadOut shows few candles over the whole width, and the newest of many.
  spreadOut() {
    const n = this.bars.length, margin = Math.max(0, (40 - n) / 2);
    this.chart.timeScale().resetTimeScale();
    if (n && n < few) this.chart.timeScale().setVisibleLogicalRange({ from: -0.5 - margin, to: n + 2 + margin });
  }

  // reachBack loads the candles before the first one.
  async reachBack() {
    if (this.whole || this.reaching || this.pending || !this.bars.length) return;
    const { turn } = this, first = this.bars[0].time;
    this.reaching = true;
    try {
      const { body: u } = await get('/udf/history', { decimals: 'number', symbol: this.pair, resolution: intervals[this.interval][2], to: first, countback: older });
      if (turn !== this.turn || this.bars[0]?.time !== first) return;
      const rows = bars(u);
      this.whole = rows.length < older;
      if (rows.length) this.draw(rows.concat(this.bars));
    } catch { /* the next movement tries again */ } finally { this.reaching = false; }
  }

  // fail shows the error. It removes the candles of another pair or interval.
  fail(error) {
    this.say.textContent = `The candles could not be loaded (${error.message}). Trying again.`;
    if (this.drawn !== `${this.pair} ${this.interval}`) this.draw([]);
  }

  live(c) {
    const b = bar(c), last = this.bars.at(-1);
    if (last && b.time < last.time) return;
    if (last && b.time === last.time) this.bars[this.bars.length - 1] = b; else this.bars.push(b);
    this.node.dataset.close = c.close;
    this.candles.update(b);
    this.volumes.update(volume(b));
    this.drawStudies(true);
    this.drawLegend();
  }

  // setOrders draws the open orders of the pair as lines at their prices.
  setOrders(orders) { this.orders = orders; if (this.chart) this.mine(); }

  // setFills marks the account's fills.
  setFills(fills) { this.fills = fills; if (this.chart) this.mine(); }

  // drags lets the line of an order be dragged to another price. The chart does not see the pointer
  // meanwhile, so it does not scroll.
  drags() {
    const node = this.canvas, height = (e) => e.clientY - node.getBoundingClientRect().top;
    const under = (e) => this.priceLines.find((l) => {
      const y = canMove(l.order) ? this.candles.priceToCoordinate(+l.order.price) : null; // null also without a scale
      return y !== null && Math.abs(y - height(e)) <= reach;
    });
    const release = (e) => {
      const { held } = this;
      this.held = undefined;
      if (held && e.type === 'pointerup' && held.price && held.price !== held.order.price) this.onEdit(held.order.id, held.price);
      this.mine(); // at its old price until the exchange reports the new one
    };
    const on = (type, act) => node.addEventListener(type, act, { capture: true, passive: false });
    on('pointerdown', (e) => {
      this.held = e.button ? undefined : under(e);
      if (this.held) node.setPointerCapture(e.pointerId);
    });
    on('pointermove', (e) => {
      node.classList.toggle('moves', !!(this.held ?? under(e)));
      if (!this.held) return;
      const price = this.candles.coordinateToPrice(height(e));
      if (price > 0) { this.held.price = price.toFixed(this.digits); this.held.line.applyOptions({ price: +this.held.price }); }
    });
    for (const type of ['pointerup', 'pointercancel']) on(type, release);
    for (const type of ['mousedown', 'mousemove', 'touchstart', 'touchmove']) on(type, (e) => { if (this.held) { e.stopPropagation(); e.preventDefault(); } });
    document.addEventListener('keydown', (e) => { if (e.key === 'Escape' && this.held) release(e); });
  }

  mine() {
    if (this.held) return; // release draws them
    this.priceLines.forEach((l) => this.candles.removePriceLine(l.line));
    this.priceLines = this.orders.filter((o) => o.price ?? o.stopPrice).map((order) => ({ order, line: this.candles.createPriceLine({
      price: +(order.price ?? order.stopPrice), color: css(order.isBid ? '--up' : '--down'), lineWidth: 1, lineStyle: order.stopPrice ? 1 : 2, axisLabelVisible: true,
      title: `${order.isBid ? 'Buy' : 'Sell'} ${+order.amount ? brief(order.amount) : ''}`,
    }) }));
    const times = this.bars.map((b) => b.time);
    const seen = new Map(); // one mark for the fills of a candle and a side
    for (const f of this.fills) {
      if (!times.length || f.at < times[0]) continue;
      let lo = 0, hi = times.length - 1;
      while (lo < hi) { const mid = (lo + hi + 1) >> 1; if (times[mid] <= f.at) lo = mid; else hi = mid - 1; }
      seen.set(`${times[lo]} ${f.buy}`, { time: times[lo], position: f.buy ? 'belowBar' : 'aboveBar', shape: f.buy ? 'arrowUp' : 'arrowDown', color: css(f.buy ? '--up' : '--down'), size: 1 });
    }
    const marks = [...seen.values()].sort((a, b) => a.time - b.time);
    this.markers?.setMarkers(marks);
    this.node.dataset.lines = String(this.priceLines.length);
    this.node.dataset.marks = String(marks.length);
  }

  // own returns the ids of the orders whose lines are drawn, with the height of each.
  own() { return this.priceLines.map(({ order, line }) => ({ id: order.id, y: this.candles.priceToCoordinate(line.options().price) })); }

  // data returns the candles that are drawn.
  data() {
    const volumes = this.volumes.data();
    return this.candles.data().map((c, i) => ({ time: c.time, open: c.open, high: c.high, low: c.low, close: c.close, volume: volumes[i].value }));
  }
}
