// The candle chart: it reads the history from /api/ohlc and each changed candle from the stream.
import { CandlestickSeries, HistogramSeries, createChart } from './vendor/lightweight-charts.mjs';
import { get } from './api.js';
import { el, fill } from './dom.js';

export const intervals = {
  minute: ['1m', 60], minutes3: ['3m', 180], minutes5: ['5m', 300], minutes15: ['15m', 900], minutes30: ['30m', 1800],
  hour: ['1h', 3600], hour4: ['4h', 14400], day: ['1d', 86400], month: ['1M', 2678400], year: ['1y', 31622400],
};
const shown = 300;
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const iso = (ms) => new Date(ms).toISOString().slice(0, 19);
const seconds = (date) => Date.parse(`${date}Z`) / 1000;
const bar = (c) => ({ time: seconds(c.date), open: +c.open, high: +c.max, low: +c.min, close: +c.close });
const colour = (c) => css(+c.close >= +c.open ? '--up-soft' : '--down-soft');
const volume = (c) => ({ time: seconds(c.date), value: +c.volumeBase, color: colour(c) });
const firstWait = 500, longestWait = 10000; // ms before the page requests the history again

export class Chart {
  constructor(stream) {
    this.stream = stream;
    this.interval = 'minute';
    this.canvas = el('div', { class: 'canvas', role: 'img', 'aria-label': 'Candle chart' });
    this.tools = el('div', { class: 'tools', role: 'group', 'aria-label': 'Interval' });
    this.note = el('p', { class: 'credit' }, 'Charts by ',
      el('a', { href: 'https://www.tradingview.com/', rel: 'noopener' }, 'TradingView Lightweight Charts'), '. Times in UTC.');
    this.say = el('p', { role: 'status', class: 'say' });
    this.turn = 0; // counts the loads: an answer to an earlier load is dropped
    this.pending = []; // updates that arrived while the history is loading
    this.node = el('section', { class: 'panel chart', 'data-panel': 'chart', 'aria-label': 'Chart' }, this.tools, this.say, this.canvas, this.note);
    this.buttons();
  }

  buttons() {
    fill(this.tools, Object.entries(intervals).map(([name, [label]]) => el('button', {
      type: 'button', 'data-interval': name, 'aria-pressed': String(name === this.interval), onclick: () => this.load(this.pair, this.digits, name),
    }, label)));
  }

  mount() {
    this.chart = createChart(this.canvas, { autoSize: true, layout: { attributionLogo: false }, timeScale: { timeVisible: true } });
    this.candles = this.chart.addSeries(CandlestickSeries, {});
    this.volumes = this.chart.addSeries(HistogramSeries, { priceScaleId: 'volume', priceFormat: { type: 'volume' }, lastValueVisible: false, priceLineVisible: false });
    this.chart.priceScale('volume').applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } });
    this.paint();
    document.addEventListener('theme', () => this.paint());
  }

  paint() {
    this.chart.applyOptions({
      layout: { background: { color: css('--panel') }, textColor: css('--dim'), attributionLogo: false },
      grid: { vertLines: { color: css('--line') }, horzLines: { color: css('--line') } },
    });
    this.candles.applyOptions({
      upColor: css('--up'), downColor: css('--down'), wickUpColor: css('--up'), wickDownColor: css('--down'), borderVisible: false,
    });
    const drawn = this.candles.data();
    this.volumes.setData(this.volumes.data().map((v, i) => ({ ...v, color: colour(drawn[i]) })));
  }

  load(pair, digits, interval = this.interval) {
    if (this.pair) this.stream.unsubscribe(`candles.${this.interval}`, this.pair);
    Object.assign(this, { pair, digits, interval, turn: this.turn + 1, pending: [] });
    this.buttons();
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
    const params = { currencyPairCode: this.pair, interval: this.interval, end: '9999-12-31' };
    const rows = [];
    let start = iso(Math.max(0, seconds(candle.date) - intervals[this.interval][1] * shown) * 1000), seq;
    while (start) {
      const { body, headers } = await get('/api/ohlc', { ...params, start });
      rows.push(...body);
      start = headers.get('X-Next-Start');
      seq = Number(headers.get('X-Seq'));
    }
    if (seq < known) throw new Error('the answer is older than the stream');
    return { rows, seq };
  }

  show(rows, seq) {
    this.candles.applyOptions({ priceFormat: { type: 'price', precision: this.digits, minMove: 1 / 10 ** this.digits } });
    this.draw(rows);
    this.say.textContent = '';
    this.pending.filter((m) => m.seq > seq).forEach((m) => this.live(m.candle));
    this.pending = null;
  }

  draw(rows) {
    this.drawn = `${this.pair} ${this.interval}`;
    this.last = rows.length ? seconds(rows.at(-1).date) : 0;
    this.candles.setData(rows.map(bar));
    this.volumes.setData(rows.map(volume));
  }

  // fail shows the error. It removes the candles of another pair or interval.
  fail(error) {
    this.say.textContent = `The candles could not be loaded (${error.message}). Trying again.`;
    if (this.drawn !== `${this.pair} ${this.interval}`) this.draw([]);
  }

  live(c) {
    const at = seconds(c.date);
    if (at < this.last) return;
    this.last = at;
    this.node.dataset.close = c.close;
    this.candles.update(bar(c));
    this.volumes.update(volume(c));
  }

  // data returns the candles that are drawn.
  data() {
    const volumes = this.volumes.data();
    return this.candles.data().map((c, i) => ({ time: c.time, open: c.open, high: c.high, low: c.low, close: c.close, volume: volumes[i].value }));
  }
}
