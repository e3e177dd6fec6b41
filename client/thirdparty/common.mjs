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
// hash. ccxt does so after it has subscribed, so every later message ends the wait. An error of the call is thrown.
export async function pending(x, hash, call) {
  const waits = new Promise((go) => {
    const watch = x.watch.bind(x);
    x.watch = (url, of, ...rest) => {
      const message = watch(url, of, ...rest);
      if (of === hash) go();
      return message;
    };
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
