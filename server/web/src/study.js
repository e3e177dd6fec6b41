// Studies of candles: their settings and the points of their lines. A study with a pane of its own has another scale than
// the price.

const point = (b, value) => ({ time: b.time, value });
const closes = (bars) => bars.map((b) => b.close);

// Each of these returns a value for each value of a list, from the first one for which there are enough; null before.

// mean is the mean of the last n values. Each is summed afresh: a running sum would collect the errors of its roundings.
function mean(values, n) {
  return values.map((_, i) => (i < n - 1 ? null : values.slice(i - n + 1, i + 1).reduce((sum, v) => sum + v, 0) / n));
}

// smooth moves towards each value by a part of the distance. It begins with the mean of the first n values.
function smooth(values, n, part) {
  let last = null, sum = 0;
  return values.map((v, i) => {
    if (i < n) sum += v;
    if (i < n - 1) return null;
    return (last = i === n - 1 ? sum / n : last + (v - last) * part);
  });
}

const ema = (values, n) => smooth(values, n, 2 / (n + 1));

const drawn = (bars, values) => bars.flatMap((b, i) => (values[i] === null ? [] : [point(b, values[i])]));

// bollinger is the mean of the last n closes, and so many standard deviations (of the n closes) above and below.
function bollinger(bars, { length, width }) {
  const all = closes(bars), middle = mean(all, length);
  const off = middle.map((m, i) => (m === null ? null : width * Math.sqrt(all.slice(i - length + 1, i + 1).reduce((sum, v) => sum + (v - m) ** 2, 0) / length)));
  const at = (sign) => drawn(bars, middle.map((m, i) => (m === null ? null : m + sign * off[i])));
  return { upper: at(1), middle: drawn(bars, middle), lower: at(-1) };
}

// vwap is the mean price weighted by volume: of the last n candles, or with 0 since the start of the day (UTC).
function vwap(bars, { length }) {
  let day = null, from = 0, paid = 0, volume = 0;
  const worth = (b) => (b.high + b.low + b.close) / 3 * b.volume;
  return { line: bars.map((b, i) => {
    const d = Math.floor(b.time / 86400);
    if (length || d !== day) { day = d; from = length ? Math.max(0, i - length + 1) : i; paid = 0; volume = 0; } else from = i;
    for (const c of bars.slice(from, i + 1)) { paid += worth(c); volume += c.volume; }
    return point(b, volume > 0 ? paid / volume : b.close);
  }) };
}

// rsi is the share of the gains in all changes of the last closes, smoothed as Wilder does; 50 where nothing changed.
function rsi(bars, { length }) {
  const changes = bars.slice(1).map((b, i) => b.close - bars[i].close);
  const gains = smooth(changes.map((c) => Math.max(c, 0)), length, 1 / length), losses = smooth(changes.map((c) => Math.max(-c, 0)), length, 1 / length);
  return { line: drawn(bars.slice(1), gains.map((g, i) => (g === null ? null : g + losses[i] > 0 ? 100 * g / (g + losses[i]) : 50))) };
}

// macd is the fast average less the slow one, the signal the average of that, the bars their difference.
function macd(bars, { fast, slow, signal }) {
  const all = closes(bars), quick = ema(all, fast), late = ema(all, slow);
  const differences = quick.map((q, i) => (q === null || late[i] === null ? null : q - late[i])), from = differences.findIndex((d) => d !== null);
  if (from < 0) return { bars: [], line: [], signal: [] };
  const rest = bars.slice(from), of = differences.slice(from), mark = ema(of, signal);
  return { bars: drawn(rest, mark.map((m, i) => (m === null ? null : of[i] - m))), line: drawn(rest, of), signal: drawn(rest, mark) };
}

const length = (first, least = 1) => ({ label: 'Length', first, least, most: 500 });

// A study has a name, settings (whole numbers, or with tenths where its step says so), lines with their colours, and points,
// which returns the points of each line.
export const studies = {
  ma: { label: 'MA', title: 'Moving average (MA)', settings: { length: length(20) }, lines: { line: '--line-1' }, points: (bars, s) => ({ line: drawn(bars, mean(closes(bars), s.length)) }) },
  ema: { label: 'EMA', title: 'Exponential average (EMA)', settings: { length: length(50) }, lines: { line: '--line-2' }, points: (bars, s) => ({ line: drawn(bars, ema(closes(bars), s.length)) }) },
  vwap: { label: 'VWAP', title: 'Price by volume (VWAP)', settings: { length: { ...length(0, 0), label: 'Length, 0 for the day' } }, lines: { line: '--line-3' }, points: vwap },
  bollinger: {
    label: 'BB', title: 'Bollinger bands (BB)', settings: { length: length(20, 2), width: { label: 'Deviations', first: 2, least: 0.1, most: 10, step: 0.1 } },
    lines: { upper: '--line-4', middle: '--line-5', lower: '--line-4' }, points: bollinger,
  },
  rsi: { label: 'RSI', title: 'Relative strength (RSI)', pane: true, settings: { length: length(14, 2) }, lines: { line: '--line-2' }, guides: [30, 70], points: rsi },
  macd: {
    label: 'MACD', title: 'Two averages (MACD)', pane: true, settings: { fast: { ...length(12), label: 'Fast' }, slow: { ...length(26), label: 'Slow' }, signal: { ...length(9), label: 'Signal' } },
    lines: { bars: '--dim', line: '--line-1', signal: '--line-3' }, points: macd,
  },
};

// settingsOf returns the settings of a study: those that were kept, where they are within their limits.
export function settingsOf(name, kept = {}) {
  return Object.fromEntries(Object.entries(studies[name].settings).map(([key, { first, least, most }]) => [key, kept[key] >= least && kept[key] <= most ? kept[key] : first]));
}

// nameOf returns a study with its settings, as "MACD 12 26 9".
export const nameOf = (name, s) => [studies[name].label, ...Object.values(s).filter((v) => v !== 0)].join(' ');
