// What the tests of clients share: the exchange, and Binance's clients on it.
import ccxt from 'ccxt';

export const at = JSON.parse(process.env.EXCHANGE);
export const symbol = 'BTC/USDT', id = 'BTCUSDT';

// moved returns the URLs of a client with the exchange's address in place of every other.
function moved(urls) {
  if (typeof urls === 'string') return urls.replace(/^http[^/]+\/\/[^/]+/, at.binance).replace(/^wss:\/\/[^/]+/, at.binance.replace('http', 'ws'));
  return Object.fromEntries(Object.entries(urls).map(([name, url]) => [name, moved(url)]));
}

// binance returns ccxt's class of Binance with no change but the URLs.
export function binance(options = {}) {
  const x = new ccxt.pro.binance({ apiKey: at.publicKey, secret: at.privateKey, ...options });
  x.urls.api = moved(x.urls.api);
  return x;
}

// account makes an account with these balances and returns its key for a client of ccxt.
export async function account(balances) {
  const post = async (path, body) => {
    const answer = await fetch(`${at.internal}/internal/v1${path}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    const json = await answer.json();
    if (!answer.ok) throw new Error(`${path}: ${JSON.stringify(json)}`);
    return json;
  };
  const { id } = await post('/users', {});
  for (const [currencyCode, amount] of Object.entries(balances)) await post(`/users/${id}/deposits`, { currencyCode, amount });
  const { publicKey, privateKey } = await post(`/users/${id}/apikeys`, { name: 'client' });
  return { apiKey: publicKey, secret: privateKey };
}

// within ends a wait that hangs: it fails after three minutes with what was waited for.
export const limit = 180000;
export async function within(what, promise) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`waited ${limit / 1000} s for ${what}`)), limit);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

// pending calls a watch method of ccxt and returns { next } with its promise as soon as ccxt waits for messages of
// hash, or of one that the pattern fits. ccxt does so after it has subscribed, so every later message ends the wait. An error of the call is thrown.
export async function pending(x, hash, call) {
  const waits = new Promise((go) => {
    for (const method of ['watch', 'watchMultiple']) {
      const watch = x[method].bind(x);
      x[method] = (url, of, ...rest) => {
        const message = watch(url, of, ...rest);
        if ([of].flat().some((one) => (hash instanceof RegExp ? hash.test(one) : one === hash))) go();
        return message;
      };
    }
  });
  const next = call();
  await within(`ccxt to wait for ${hash}`, Promise.race([waits, next]));
  return { next };
}

// showsOrder returns the first row of an order that next, a promise of watchOrders, or a later call has.
export async function showsOrder(x, symbol, orderId, next) {
  for (; ; next = x.watchOrders(symbol)) {
    const row = (await within(`a message of order ${orderId}`, next)).find((o) => o.id === orderId);
    if (row) return row;
  }
}

// native reads the exchange's own API.
export const native = async (path) => (await fetch(at.public + path)).json();

// calls makes each call of a client, one after the other. A row is [name, call, refusal]: a call without a refusal must
// answer something; one with a refusal, [code, why], must be refused with that code. At least "least" calls must work.
export async function calls(t, least, rows) {
  const wrong = [], refused = [];
  for (const [name, call, refusal] of rows) {
    let answer, error;
    try {
      answer = await within(name, call());
    } catch (e) {
      error = e;
    }
    if (refusal) {
      refused.push(`${name} (${refusal.join(': ')})`);
      if (!error || !describe(error).includes(String(refusal[0]))) wrong.push(`${name}: ${error ? describe(error) : 'works'}, not refused with ${refusal[0]}`);
    } else if (error || answer === undefined || answer === null || answer === false) {
      wrong.push(`${name}: ${error ? describe(error) : `answers ${answer}`}`);
    }
  }
  if (wrong.length > 0) throw new Error(`${wrong.length} of ${rows.length} calls:\n${wrong.join('\n')}`);
  const works = rows.length - refused.length;
  if (works < least) throw new Error(`${works} calls work, of ${rows.length}, not ${least}`);
  t.diagnostic(`${rows.length} calls, ${works} work; refused: ${refused.join(', ') || 'none'}`);
}

// describe returns what an error says, wherever a client keeps the answer of the exchange.
export function describe(e) {
  const own = e.response?.data ?? e.response?.body ?? e.body ?? e.error ?? {};
  return `${e.code ?? ''} ${e.message ?? ''} ${typeof own === 'string' ? own : JSON.stringify(own)} ${typeof e === 'object' && !(e instanceof Error) ? JSON.stringify(e) : ''}`.slice(0, 300);
}

// heard collects what a client calls back with; wait returns the first that fits.
export function heard() {
  const all = [], waiting = [];
  const push = (e) => {
    all.push(e);
    for (const w of waiting.splice(0)) w();
  };
  const wait = async (fits) => {
    for (let from = 0; ; ) {
      for (; from < all.length; from++) if (fits(all[from])) return all[from];
      await within(`${fits}; nothing fits among ${JSON.stringify(all).slice(0, 2000)}`, new Promise((go) => waiting.push(go)));
    }
  };
  return { all, push, wait };
}

// about returns the last price of BTC_USDT times a factor, with the pair's digits.
export async function about(times) {
  const { last_price: last } = (await native('/api/marketdata/getaggregator/tickers')).find((row) => row.ticker_id === 'BTC_USDT');
  return (Number(last) * times).toFixed(2);
}
