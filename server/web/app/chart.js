// The candle chart: history from /api/ohlc, the live candle from the stream.
import { CandlestickSeries, HistogramSeries, createChart } from './vendor/lightweight-charts.mjs';
import { get, now } from './api.js';
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
const volume = (c) => ({ time: seconds(c.date), value: +c.volumeBase, color: +c.close >= +c.open ? css('--up-soft') : css('--down-soft') });

export class Chart {
  constructor(stream) {
    this.stream = stream;
    this.interval = 'minute';
    this.canvas = el('div', { class: 'canvas', role: 'img', 'aria-label': 'Candle chart' });
    this.tools = el('div', { class: 'tools', role: 'group', 'aria-label': 'Interval' });
    this.note = el('p', { class: 'credit' }, 'Charts by ',
      el('a', { href: 'https://www.tradingview.com/', rel: 'noopener' }, 'TradingView Lightweight Charts'), '. Times in UTC.');
    this.node = el('section', { class: 'panel chart', 'aria-label': 'Chart' }, this.tools, this.canvas, this.note);
    this.buttons();
  }

  buttons() {
    fill(this.tools, Object.entries(intervals).map(([name, [label]]) => el('button', {
      type: 'button', 'aria-pressed': String(name === this.interval), onclick: () => this.load(this.pair, this.digits, name),
    }, label)));
  }

  mount() {
    this.chart = createChart(this.canvas, { autoSize: true, layout: { attributionLogo: false }, timeScale: { timeVisible: true } });
    this.candles = this.chart.addSeries(CandlestickSeries, {});
    this.volumes = this.chart.addSeries(HistogramSeries, { priceScaleId: 'volume', priceFormat: { type: 'volume' }, lastValueVisible: false, priceLineVisible: false });
    this.chart.priceScale('volume').applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } });
    this.paint();
    document.addEventListener('theme', () => { this.paint(); this.load(this.pair, this.digits, this.interval); });
  }

  paint() {
    this.chart.applyOptions({
      layout: { background: { color: css('--panel') }, textColor: css('--dim'), attributionLogo: false },
      grid: { vertLines: { color: css('--line') }, horzLines: { color: css('--line') } },
    });
    this.candles.applyOptions({
      upColor: css('--up'), downColor: css('--down'), wickUpColor: css('--up'), wickDownColor: css('--down'), borderVisible: false,
    });
  }

  async load(pair, digits, interval = this.interval) {
    if (this.pair) this.stream.unsubscribe(`candles.${this.interval}`, this.pair);
    Object.assign(this, { pair, digits, interval });
    this.buttons();
    const span = intervals[interval][1] * shown * 1000;
    const { body } = await get('/api/ohlc', {
      currencyPairCode: pair, interval, start: iso(Math.max(0, now() - span)), end: iso(now() + 60000),
    });
    if (this.pair !== pair || this.interval !== interval) return;
    this.candles.applyOptions({ priceFormat: { type: 'price', precision: digits, minMove: 1 / 10 ** digits } });
    this.candles.setData(body.map(bar));
    this.volumes.setData(body.map(volume));
    this.last = body.length ? seconds(body[body.length - 1].date) : 0;
    this.stream.subscribe(`candles.${interval}`, pair, (m) => this.live(m));
  }

  live(m) {
    if (!m.candle || m.channel !== `candles.${this.interval}` || m.currencyPairCode !== this.pair) return;
    const at = seconds(m.candle.date);
    if (at < this.last) return;
    this.last = at;
    this.node.dataset.close = m.candle.close;
    this.candles.update(bar(m.candle));
    this.volumes.update(volume(m.candle));
  }
}
