// The candle chart: it reads the history from /udf/history, which answers the candles of /api/ohlc in
// a third of the bytes, older candles when the view reaches the first one, and each changed candle
// from the stream. A chart calculates, so it asks for numbers.
import * as library from './vendor/lightweight-charts.mjs';
import { canMove } from './account.js';
import { get } from './api.js';
import { Candles, bar, intervals, seconds, volume } from './candles.js';
import { Depth } from './depth.js';
import { brief, css, el, group, isLocal, menu, setLocal, stored, wait } from './dom.js';
import { nameOf, settingsOf, studies } from './study.js';

const { HistogramSeries, LineSeries, createSeriesMarkers } = library;
const shown = 160, older = 500; // candles of the first request and of a later one for older candles
const latest = 253402300799; // s: the end of the year 9999
const reach = 5; // px between the pointer and a line that it grabs
const mainShare = 4; // of the height of the candles to that of a study's pane
const bars = (u) => (u.s === 'ok' ? u.t.map((time, i) => ({ time, open: u.o[i], high: u.h[i], low: u.l[i], close: u.c[i], volume: u.v[i] })) : []);
const firstWait = 500, longestWait = 10000; // ms before the page requests the history again
const saved = stored('chart', {});
const remember = (change) => { Object.assign(saved, change); localStorage.setItem('chart', JSON.stringify(saved)); };

export class Chart extends Candles {
  // onInterval receives an interval that the user picked, onDepth whether the depth chart is open, onEdit an order and the
  // price to which its line was dragged, onPrice a price that was picked in the depth chart.
  constructor(stream, { onInterval, onDepth, onEdit, onPrice }) {
    super(onInterval);
    Object.assign(this, { stream, onDepth, onEdit, interval: 'minute', drawn: new Map(), orders: [], fills: [], alerts: [], priceLines: [], alertLines: [] });
    this.depth = new Depth(onPrice);
    this.say = el('p', { role: 'status', class: 'say' });
    this.turn = 0; // counts the loads: an answer to an earlier load is dropped
    this.pending = []; // updates that arrived while the history is loading
    const button = (attributes, label, onclick) => el('button', { type: 'button', ...attributes, onclick }, label);
    const chosen = menu('studies', 'Studies', el('table', { 'aria-label': 'Studies' }, el('tbody', {}, Object.keys(studies).map((name) => this.choice(name)))));
    this.log = button({ 'data-scale': 'log', 'aria-pressed': String(!!saved.log), 'aria-label': 'Log scale' }, 'Log', () => { remember({ log: !saved.log }); this.scale(); });
    this.zone = button({ 'data-zone': '' }, '', () => setLocal(!isLocal()));
    this.modes = [false, true].map((deep) => button({ [deep ? 'data-depth' : 'data-candles']: '', 'aria-pressed': String(!deep) }, deep ? 'Depth' : 'Candles', () => this.setDepth(deep)));
    const full = button({ class: 'full', 'aria-label': 'Full screen' }, 'Full', () => { if (document.fullscreenElement) document.exitFullscreen(); else this.node.requestFullscreen().catch(() => {}); });
    this.node = el('section', { class: 'panel chart', 'data-panel': 'chart', 'aria-label': 'Chart' },
      el('div', { class: 'tools' }, el('div', { class: 'modes', role: 'group', 'aria-label': 'Chart' }, this.modes), this.spans,
        this.menus = el('div', { class: 'menus', role: 'group', 'aria-label': 'On the chart' }, chosen.button),
        this.actions = el('div', { class: 'actions', role: 'group', 'aria-label': 'View' }, this.log, this.zone, full)),
      chosen.panel,
      this.say, this.stage);
    this.canvas.after(this.depth.node);
  }

  mount() {
    super.mount(library);
    this.markers = createSeriesMarkers(this.candles, []);
    this.chart.timeScale().subscribeVisibleLogicalRangeChange((range) => { if (range && range.from < 5) this.reachBack(); });
    this.canvas.addEventListener('pointerup', () => this.keepShares());
    this.chart.subscribeClick((m) => { if (this.placing && m.paneIndex === 0) this.place(m.point.y); });
    document.addEventListener('keydown', (e) => { if (e.key === 'Escape') this.placeAlert(null); });
    this.drags();
    this.paint();
    this.scale();
    this.zoned();
  }

  zoned() {
    this.zone.textContent = isLocal() ? 'Local' : 'UTC';
    this.zone.setAttribute('aria-label', isLocal() ? 'Times are local; show UTC' : 'Times are in UTC; show local times');
    super.zoned();
  }

  scale() {
    this.log.setAttribute('aria-pressed', String(!!saved.log));
    this.chart.priceScale('right').applyOptions({ mode: saved.log ? 1 : 0 });
  }

  setDepth(on) {
    this.depth.node.hidden = !on;
    this.canvas.hidden = on;
    this.stage.classList.toggle('deep', on);
    this.modes.forEach((b, i) => b.setAttribute('aria-pressed', String(on === !!i)));
    this.onDepth(on);
    this.depth.draw();
  }

  paint() {
    super.paint();
    for (const name of [...this.drawn.keys()]) this.undraw(name);
    this.drawStudies();
    this.mine();
  }

  // choice returns the row of a study in the menu: a box that switches it, and its settings.
  choice(name) {
    const { title, settings } = studies[name];
    const now = settingsOf(name, saved[`${name} settings`]);
    const box = el('input', { type: 'checkbox', 'data-study': name, checked: !!saved[name], onchange: () => { remember({ [name]: box.checked }); this.restudy(name); } });
    const fields = Object.entries(settings).map(([key, { label, least, most, step = 1 }]) => {
      const input = el('input', { type: 'number', 'data-setting': `${name} ${key}`, 'aria-label': `${title}: ${label}`, title: label, min: String(least), max: String(most), step: String(step), value: String(now[key]), onchange: () => {
        if (!input.checkValidity() || input.value === '') { input.value = String(now[key]); return; }
        now[key] = +input.value;
        remember({ [`${name} settings`]: now });
        this.restudy(name);
      } });
      return input;
    });
    return el('tr', {}, el('td', {}, el('label', { class: 'check' }, box, title)), el('td', {}, fields));
  }

  // restudy draws a study again after a change of its settings or of its box.
  restudy(name) {
    this.undraw(name);
    this.drawStudies();
    this.drawLegend();
    requestAnimationFrame(() => this.placeLegends());
  }

  undraw(name) {
    const d = this.drawn.get(name);
    if (!d) return;
    Object.values(d.lines).forEach((line) => this.chart.removeSeries(line)); // and its pane with the last one
    d.legend?.remove();
    this.drawn.delete(name);
  }

  // drawStudies draws the studies that are on, whole or only their last points.
  drawStudies(lastOnly = false) {
    for (const [name, study] of Object.entries(studies)) {
      if (!saved[name]) continue;
      const fresh = !this.drawn.has(name), d = this.drawn.get(name) ?? this.begin(name, study);
      d.points = study.points(this.bars, d.settings);
      for (const [part, points] of Object.entries(d.points)) {
        if (lastOnly && !fresh && points.length) d.lines[part].update(points.at(-1)); else d.lines[part].setData(points);
      }
    }
  }

  // begin adds the lines of a study, in a pane of their own if their scale is not the price's.
  begin(name, { lines, pane, guides = [] }) {
    const at = pane ? this.chart.panes().length : 0;
    const d = { settings: settingsOf(name, saved[`${name} settings`]), lines: {}, points: {} };
    for (const [part, hue] of Object.entries(lines)) {
      const bars = part === 'bars';
      d.lines[part] = this.chart.addSeries(bars ? HistogramSeries : LineSeries, {
        ...(guides.length ? { autoscaleInfoProvider: () => ({ priceRange: { minValue: 0, maxValue: 100 } }) } : {}), color: css(hue), lineWidth: 1.5, priceLineVisible: false, lastValueVisible: false, crosshairMarkerVisible: false,
        priceFormat: guides.length ? { type: 'custom', minMove: 0.1, formatter: (v) => v.toFixed(1), tickmarksFormatter: (all) => all.map(() => '') } : pane ? { type: 'custom', minMove: 10 ** -this.digits, formatter: (v) => group(v.toFixed(this.digits)) } : this.format(),
      }, at);
    }
    for (const price of guides) d.lines.line.createPriceLine({ price, color: css('--line'), lineWidth: 1, lineStyle: 2, axisLabelVisible: true, axisLabelColor: css('--panel'), axisLabelTextColor: css('--dim'), title: '' });
    if (pane) {
      d.legend = el('p', { class: 'legend pane', 'aria-hidden': 'true' });
      this.stage.append(d.legend);
      d.lines.line.priceScale().applyOptions({ scaleMargins: { top: 0.3, bottom: 0.1 } }); // below the legend
      const shares = saved.shares ?? {};
      this.chart.panes()[0].setStretchFactor(mainShare);
      this.chart.panes()[at].setStretchFactor(shares[name] ?? 1);
    }
    this.drawn.set(name, d);
    return d;
  }

  // keepShares remembers the heights of the panes, which the pointer may have changed.
  keepShares() {
    const main = this.chart.panes()[0].getStretchFactor(), shares = {};
    for (const [name, d] of this.drawn) if (studies[name].pane) shares[name] = d.lines.line.getPane().getStretchFactor() / main * mainShare;
    if (Object.keys(shares).length) remember({ shares: { ...saved.shares, ...shares } });
  }

  drawLegend() {
    const b = super.drawLegend();
    if (!b) return;
    const values = (name, d) => [el('span', {}, nameOf(name, d.settings)), ...Object.keys(d.lines).map((line) => {
      const point = d.points[line].findLast((x) => x.time <= b.time);
      const node = el('b', {}, point?.time === b.time ? (studies[name].guides ? point.value.toFixed(1) : this.price(point.value)) : '–');
      node.style.color = css(studies[name].lines[line]);
      return node;
    })];
    const all = [...this.drawn];
    this.legend.append(...all.filter(([, d]) => !d.legend).map(([name, d]) => el('span', { class: 'of' }, values(name, d))));
    for (const [name, d] of all) d.legend?.replaceChildren(...values(name, d));
    this.placeLegends();
  }

  // placeLegends puts the legend of each pane to its top. The chart lays its panes out in the next frame.
  placeLegends() {
    const panes = this.chart.panes(), tops = panes.map((_, i) => panes.slice(0, i).reduce((sum, q) => sum + q.getHeight() + 1, 0));
    for (const d of this.drawn.values()) if (d.legend) d.legend.style.top = `${tops[d.lines.line.getPane().paneIndex()] + 2}px`;
  }

  load(pair, digits, interval = this.interval) {
    if (this.pair) this.stream.unsubscribe(`candles.${this.interval}`, this.pair);
    Object.assign(this, { pair, digits, turn: this.turn + 1, pending: [], whole: true });
    wait(this.node, this.of !== `${pair} ${interval}`);
    this.choose(interval);
    this.depth.load(pair);
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
    const same = this.of === `${this.pair} ${this.interval}` && this.bars.length > 0;
    // Older candles stay if the fresh ones reach them: they have ended and cannot change.
    const kept = same && rows.length && this.bars.at(-1).time >= rows[0].time ? this.bars.filter((b) => b.time < rows[0].time) : [];
    this.whole = kept.length > 0 && this.whole;
    this.draw(kept.concat(rows));
    if (!same) this.spreadOut();
    wait(this.node, false);
    this.say.textContent = '';
    this.pending.filter((m) => m.seq > seq).forEach((m) => this.live(m.candle));
    this.pending = null;
  }

  draw(bars) {
    this.of = `${this.pair} ${this.interval}`;
    super.draw(bars);
    this.drawStudies();
    this.drawLegend();
    this.mine();
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
    if (this.of !== `${this.pair} ${this.interval}`) this.draw([]);
  }

  live(c) {
    const b = bar(c), last = this.bars.at(-1);
    if (last && b.time < last.time) return;
    if (last && b.time === last.time) this.bars[this.bars.length - 1] = b; else this.bars.push(b);
    this.node.dataset.close = c.close;
    this.candles.update(b);
    this.volumes.update(volume(b));
    if (b.time !== last?.time && this.fills.some((f) => f.at >= b.time)) this.mine(); // a fill may be known before its candle
    else if (b.close !== last?.close || b.time !== last.time) this.retag();
    this.drawStudies(true);
    this.drawLegend();
  }

  labelled() { return [...super.labelled(), ...this.priceLines.map((l) => l.line), ...this.alertLines]; }

  // setAlerts draws the alerts of the pair as lines at their prices.
  setAlerts(alerts) { this.alerts = alerts; if (this.chart) this.mine(); }

  // placeAlert lets the next click in the chart pick a price for place, or with null not.
  placeAlert(place) {
    this.placing = place;
    this.canvas.classList.toggle('places', !!place);
    this.say.textContent = place ? 'Click the price of the alert, or press Escape.' : '';
  }

  place(y) {
    const price = this.candles.coordinateToPrice(y), { placing } = this;
    this.placeAlert(null);
    if (price > 0) placing(price.toFixed(this.digits));
  }

  // setOrders draws the open orders of the pair as lines at their prices.
  setOrders(orders) { this.orders = orders; this.depth.setOrders(orders.filter(canMove)); if (this.chart) this.mine(); }

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
    this.alertLines.forEach((line) => this.candles.removePriceLine(line));
    this.alertLines = this.alerts.map((a) => this.candles.createPriceLine({ price: +a.price, color: css('--accent'), lineWidth: 1, lineStyle: 3, axisLabelVisible: true, title: 'Alert' }));
    this.retag();
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

  // studied returns the points of the studies that are drawn, and the settings of each.
  studied() { return Object.fromEntries([...this.drawn].map(([name, { settings, lines }]) => [name, { settings, lines: Object.fromEntries(Object.entries(lines).map(([part, s]) => [part, s.data()])) }])); }

  // alerted returns the prices of the alerts that are drawn.
  alerted() { return this.alertLines.map((line) => line.options().price); }
}
