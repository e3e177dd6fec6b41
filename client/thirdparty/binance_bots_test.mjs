// The bots trade for some seconds (BOT_SECONDS) on the demo market. Their books, folded from the user data stream,
// then agree with the exchange's own fills and balances to the last digit.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { at, binance, pending, showsOrder, within } from './common.mjs';
import { TickHive } from '../js/tickhive.mjs';
import { marketMaker, stopLoss, units } from './bots.mjs';

const seconds = Number(process.env.BOT_SECONDS || 8);
const clients = [];
after(() => Promise.all(clients.map((x) => x.close())));
const client = async () => {
  const x = binance({ options: { defaultType: 'spot', fetchMarkets: { types: ['spot'] } } });
  clients.push(x);
  await x.loadMarkets();
  await x.loadHttpProxyAgent();
  await x.authenticate({ type: 'spot' }); // ends with the answer to the subscription of user data: no fill comes before
  return x;
};
const own = new TickHive({ base: at.public, publicKey: at.publicKey, privateKey: at.privateKey });
// total returns free + held of each currency, in 10^-18.
async function total() {
  return Object.fromEntries((await own.balances()).map((b) => [b.currencyCode, units(b.free) + units(b.held)]));
}

// settled returns when the user data of x have shown an order that is newer than all others: the stream keeps the
// order, so no earlier message is on its way.
async function settled(x, symbol) {
  const price = Number(x.priceToPrecision(symbol, (await x.fetchTicker(symbol)).bid / 2));
  const { next } = await pending(x, `orders:${symbol}`, () => x.watchOrders(symbol));
  const last = await x.createOrder(symbol, 'limit', 'buy', 0.1, price);
  await showsOrder(x, symbol, last.id, next);
  await x.cancelOrder(last.id, symbol);
}

// ordered returns when x has placed its first order.
const ordered = (x) => new Promise((go) => {
  const create = x.createOrder.bind(x);
  x.createOrder = async (...order) => {
    const o = await create(...order);
    go();
    return o;
  };
});

test(`a market maker and a stop-loss bot for ${seconds} s`, async (t) => {
  const before = await total();
  const [makes, sells] = [await client(), await client()];
  let end = Infinity; // the time runs from the first orders on, however slow the machine is
  const stop = () => Date.now() > end;
  const begun = within('the first order of each bot', Promise.all([ordered(makes), ordered(sells)]))
    .finally(() => { end = Date.now() + seconds * 1000; });
  const [maker, loss] = await Promise.all([
    marketMaker(makes, 'ETH/USDT', { amount: 0.05, spread: 0.0001, stop }),
    stopLoss(sells, 'BTC/USDT', { amount: 0.002, distance: 0.0003, stop }), begun,
  ]);
  await Promise.all([settled(makes, 'ETH/USDT'), settled(sells, 'BTC/USDT')]);
  const now = await total();
  const moved = (code) => (now[code] ?? 0n) - (before[code] ?? 0n);
  assert.deepEqual([moved('ETH'), moved('BTC'), moved('USDT')], [
    maker.books.base, loss.books.base, maker.books.quote + loss.books.quote,
  ]);
  assert.ok(maker.placed > 0 && loss.books.seen.size > 0);
  t.diagnostic(`market maker: ${maker.placed} quotes, ${maker.books.seen.size} fills, ETH ${moved('ETH')}; stop-loss: ${loss.rounds} stops sold, ${loss.moves} moved, ${loss.books.seen.size} fills, BTC ${moved('BTC')}; USDT ${moved('USDT')} e-18`);
});
