// Candles with their volumes and the live price on a canvas: what the charts of a pair and of a token have in common.
import { brief, clockTime, css, dateTime, el, group, isLocal } from './dom.js';
import { percent } from './pairs.js';

export const intervals = {
  minute: ['1m', 60, '1'], minutes3: ['3m', 180, '3'], minutes5: ['5m', 300, '5'], minutes15: ['15m', 900, '15'], minutes30: ['30m', 1800, '30'],
  hour: ['1h', 3600, '60'], hour4: ['4h', 14400, '240'], day: ['1d', 86400, '1D'], month: ['1M', 2678400, '1M'], year: ['1y', 31622400, '12M'],
};
const few = 100; // candles that are spread over the whole width
const tagHeight = 16; // px of a label at the axis
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const colour = (b) => css(b.close >= b.open ? '--up-soft' : '--down-soft');
export const volume = (b) => ({ time: b.time, value: b.volume, color: colour(b) });
export const seconds = (date) => Date.parse(`${date}Z`) / 1000;
// bar returns a candle of the API as it is drawn.
export const bar = (c) => ({ time: seconds(c.date), open: +c.open, high: +c.max, low: +c.min, close: +c.close, volume: +c.volumeBase });

export class Candles {
  // onInterval receives an interval that the user picked.
  constructor(onInterval) {
    Object.assign(this, { bars: [], digits: 2 });
    this.canvas = el('div', { class: 'canvas', role: 'img', 'aria-label': 'Candle chart' });
    this.legend = el('p', { class: 'legend', 'aria-hidden': 'true' });
    this.choices = Object.entries(intervals).map(([name, [label]]) => el('button', { type: 'button', 'data-interval': name, onclick: () => onInterval(name) }, label));
    this.spans = el('div', { class: 'intervals', role: 'group', 'aria-label': 'Interval' }, this.choices);
    this.stage = el('div', { class: 'stage' }, this.legend, this.canvas,
      el('p', { class: 'credit' }, 'Charts by ', el('a', { href: 'https://www.tradingview.com/', rel: 'noopener' }, 'TradingView')));
  }

  // mount makes the chart with the library. Its colours and times follow: paint, zoned.
  mount({ CandlestickSeries, HistogramSeries, createChart }) {
    this.chart = createChart(this.canvas, {
      autoSize: true, layout: { attributionLogo: false, fontSize: 11, fontFamily: 'Inter, system-ui, sans-serif' }, crosshair: { mode: 0 },
      timeScale: { timeVisible: true, borderVisible: false, rightOffset: 4 }, rightPriceScale: { borderVisible: false },
      localization: { timeFormatter: (t) => dateTime(t * 1000) },
    });
    this.candles = this.chart.addSeries(CandlestickSeries, { lastValueVisible: false, priceLineVisible: false }); // these show the last candle in view
    this.tag = this.candles.createPriceLine({ price: NaN, lineWidth: 1, lineStyle: 1, axisLabelVisible: true, title: '' }); // the live price
    this.volumes = this.chart.addSeries(HistogramSeries, { priceScaleId: 'volume', priceFormat: { type: 'volume' }, lastValueVisible: false, priceLineVisible: false });
    this.chart.priceScale('volume').applyOptions({ scaleMargins: { top: 0.84, bottom: 0 } });
    this.chart.priceScale('right').applyOptions({ scaleMargins: { top: 0.12, bottom: 0.2 } });
    this.chart.subscribeCrosshairMove((m) => { this.hovered = m.time; this.drawLegend(); });
    document.fonts.ready.then(() => this.chart.applyOptions({ layout: { fontSize: 11 } })); // it measures its labels again
    document.addEventListener('theme', () => this.paint());
    document.addEventListener('zone', () => this.zoned());
  }

  paint() {
    this.chart.applyOptions({
      layout: { background: { color: css('--panel') }, textColor: css('--dim'), panes: { separatorColor: css('--line'), separatorHoverColor: css('--grid') } },
      grid: { vertLines: { color: css('--grid') }, horzLines: { color: css('--grid') } },
    });
    this.candles.applyOptions({ upColor: css('--up'), downColor: css('--down'), wickUpColor: css('--up'), wickDownColor: css('--down'), borderVisible: false });
    this.volumes.setData(this.bars.map(volume));
    this.retag();
  }

  zoned() { this.chart.timeScale().applyOptions({ tickMarkFormatter: (t, type) => this.tick(t, type) }); }

  tick(t, type) {
    const [date] = dateTime(t * 1000).split(' '), [year, month, day] = date.split('-');
    return [year, months[month - 1], `${+day} ${months[month - 1]}`, clockTime(t * 1000).slice(0, 5), clockTime(t * 1000)][type];
  }

  // choose marks the interval that is shown.
  choose(interval) {
    this.interval = interval;
    this.choices.forEach((b) => b.setAttribute('aria-pressed', String(b.dataset.interval === interval)));
  }

  draw(bars) {
    this.bars = bars;
    this.candles.setData(bars);
    this.volumes.setData(bars.map(volume));
    this.retag();
    this.drawLegend();
  }

  // spreadOut shows few candles over the whole width, and the newest of many.
  spreadOut() {
    const n = this.bars.length, margin = Math.max(0, (40 - n) / 2);
    this.chart.timeScale().resetTimeScale();
    if (n && n < few) this.chart.timeScale().setVisibleLogicalRange({ from: -0.5 - margin, to: n + 2 + margin });
  }

  // drawLegend shows the candle under the pointer, or the newest one, and returns it.
  drawLegend() {
    const b = (this.hovered !== undefined && this.bars.find((x) => x.time === this.hovered)) || this.bars.at(-1);
    if (!b) { this.legend.replaceChildren(); return undefined; }
    const cls = b.close >= b.open ? 'up' : 'down', change = (b.close / b.open - 1) * 100;
    const part = (name, text) => el('span', {}, name, el('b', { class: cls }, text));
    this.legend.replaceChildren(part('O', this.price(b.open)), part('H', this.price(b.high)), part('L', this.price(b.low)), part('C', this.price(b.close)),
      el('b', { class: cls }, percent(change)), part('V', group(brief(b.volume.toFixed(4)))));
    return b;
  }

  price(value) { return group(value.toFixed(this.digits)); }

  // labelled returns the lines that have a label at the axis.
  labelled() { return [this.tag]; }

  // format returns how prices are written. Beside the axis none is where a label of a line lies upon it.
  format() {
    return { type: 'custom', minMove: 10 ** -this.digits, formatter: (p) => this.price(p), tickmarksFormatter: (prices) => {
      const labels = this.labelled().map((line) => this.candles.priceToCoordinate(line.options().price)).filter((y) => y !== null);
      return prices.map((p) => { const y = this.candles.priceToCoordinate(p); return labels.some((at) => Math.abs(at - y) < tagHeight) ? '' : this.price(p); });
    } };
  }

  // retag shows the live price, which is that of the newest candle wherever the view is.
  retag() {
    const b = this.bars.at(-1);
    this.tag.applyOptions(b ? { price: b.close, color: css(b.close >= b.open ? '--up' : '--down'), lineVisible: true, axisLabelVisible: true } : { lineVisible: false, axisLabelVisible: false });
    this.candles.applyOptions({ priceFormat: this.format() });
  }

  // tagged returns the price of the tag at the axis.
  tagged() { return this.tag.options().price; }

  // data returns the candles that are drawn.
  data() {
    const volumes = this.volumes.data();
    return this.candles.data().map((c, i) => ({ time: c.time, open: c.open, high: c.high, low: c.low, close: c.close, volume: volumes[i].value }));
  }
}
