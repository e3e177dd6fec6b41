// Two bots as they are written for Binance with ccxt: the URLs are the only thing that they know of this exchange.
// Both fold their fills from the user data stream, so that a test can compare their books with the exchange's.

// units returns the text of a decimal as a whole number of 10^-18, because floats lose digits.
export function units(text) {
  const [whole, rest = ''] = String(text).replace('-', '').split('.');
  const n = BigInt(whole + rest.padEnd(18, '0'));
  return String(text).startsWith('-') ? -n : n;
}

// Books adds up the fills of one symbol: base and quote in 10^-18, each less the fees that it paid.
export class Books {
  base = 0n;
  quote = 0n;
  seen = new Set();

  add({ info: r }) {
    if (this.seen.has(r.t)) return;
    this.seen.add(r.t);
    const buys = r.S === 'BUY' ? 1n : -1n;
    this.base += buys * units(r.l);
    this.quote -= buys * units(r.Y);
    if (r.s.startsWith(r.N)) this.base -= units(r.n); else this.quote -= units(r.n);
  }
}

// follow calls back with each row of a watch method until the client is closed.
async function follow(watch, row) {
  try {
    for (;;) for (const one of [await watch()].flat()) row(one);
  } catch (e) {
    if (!/closedByUser|closed by the user/i.test(`${e.name} ${e.message}`)) throw e;
  }
}

// marketMaker quotes both sides around the middle of the book until stop() says so, and leaves no order behind.
export async function marketMaker(x, symbol, { amount, spread, stop }) {
  const books = new Books(), quotes = {};
  let placed = 0;
  follow(() => x.watchMyTrades(symbol), (t) => books.add(t));
  follow(() => x.watchOrders(symbol), (o) => {
    if (o.status !== 'open' && quotes[o.side]?.id === o.id) delete quotes[o.side];
  });
  while (!stop()) {
    const book = await x.watchOrderBook(symbol, 5);
    const middle = (book.bids[0][0] + book.asks[0][0]) / 2;
    for (const [side, away] of [['buy', -spread], ['sell', spread]]) {
      const price = Number(x.priceToPrecision(symbol, middle * (1 + away)));
      const quote = quotes[side];
      if (quote && Math.abs(quote.price - price) < middle * spread / 2) continue;
      try {
        if (quote) await x.cancelOrder(quote.id, symbol);
        delete quotes[side];
        const o = await x.createOrder(symbol, 'limit', side, amount, price, { postOnly: true });
        placed++;
        if (o.status === 'open') quotes[side] = { id: o.id, price };
      } catch (e) {
        delete quotes[side];
        if (!['OrderNotFound', 'OrderImmediatelyFillable'].includes(e.constructor.name)) throw e; // it filled, or the book moved
      }
    }
  }
  if ((await x.fetchOpenOrders(symbol)).length > 0) await x.cancelAllOrders(symbol);
  return { books, placed };
}

// stopLoss buys, protects the purchase by a stop, moves the stop up behind the price, and buys again when it was sold.
export async function stopLoss(x, symbol, { amount, distance, stop }) {
  const books = new Books(), done = new Map();
  let rounds = 0, moves = 0;
  follow(() => x.watchMyTrades(symbol), (t) => books.add(t));
  follow(() => x.watchOrders(symbol), (o) => {
    if (o.status !== 'open') done.set(o.id, o);
  });
  let guard; // the waiting stop: { id, price }
  let bought; // what the last purchase brought, less its commission
  const protect = async (price) => {
    const trigger = Number(x.priceToPrecision(symbol, price * (1 - distance)));
    const o = await x.createOrder(symbol, 'market', 'sell', bought, undefined, { stopLossPrice: trigger });
    guard = { id: o.id, price: trigger };
  };
  while (!stop()) {
    const { last } = await x.watchTicker(symbol);
    if (!guard) {
      const o = await x.createOrder(symbol, 'market', 'buy', amount);
      bought = Number(x.amountToPrecision(symbol, o.fees.reduce((left, fee) => left - fee.cost, o.filled)));
      await protect(last);
    } else if (done.has(guard.id)) {
      guard = undefined;
      rounds++;
    } else if (last * (1 - distance) > guard.price * (1 + distance / 4)) {
      try {
        await x.cancelOrder(guard.id, symbol);
        moves++;
        await protect(last);
      } catch (e) {
        if (e.constructor.name !== 'OrderNotFound') throw e; // it has just sold
      }
    }
  }
  if ((await x.fetchOpenOrders(symbol)).length > 0) await x.cancelAllOrders(symbol);
  return { books, rounds, moves };
}
