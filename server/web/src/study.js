// Indicators over candles. Each function returns the points of a line.

export function ma(bars, n = 20) {
  let sum = 0;
  const points = [];
  bars.forEach((b, i) => {
    sum += b.close - (i >= n ? bars[i - n].close : 0);
    if (i >= n - 1) points.push({ time: b.time, value: sum / n });
  });
  return points;
}

export function ema(bars, n = 50) {
  const points = [];
  let value = 0;
  bars.forEach((b, i) => {
    value = i < n ? value + b.close / n : value + (b.close - value) * 2 / (n + 1); // it begins with the mean of the first n
    if (i >= n - 1) points.push({ time: b.time, value });
  });
  return points;
}

// vwap is the mean price weighted by volume since the start of the day (UTC).
export function vwap(bars) {
  let day = null, paid = 0, volume = 0;
  return bars.map((b) => {
    const d = Math.floor(b.time / 86400);
    if (d !== day) { day = d; paid = 0; volume = 0; }
    paid += (b.high + b.low + b.close) / 3 * b.volume;
    volume += b.volume;
    return { time: b.time, value: volume > 0 ? paid / volume : b.close };
  });
}

export const studies = { ma: ['MA 20', ma, '--line-1'], ema: ['EMA 50', ema, '--line-2'], vwap: ['VWAP', vwap, '--line-3'] };
