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

// native reads the exchange's own API.
export const native = async (path) => (await fetch(at.public + path)).json();
