// Buys at the market's price and protects what it has with an OCO: a limit order above the price, a stop below it. When
// one of the two is filled the other ends, and the bot buys again. At its end it says what its fills have brought.
//
//   PUBLIC=... PRIVATE=... node client/examples/oco/oco.mjs http://127.0.0.1:8080 BTC_USDT 3
//
// Node 20 needs --experimental-websocket.
import { Code, TickHive } from '../../js/tickhive.mjs';

const [base = 'http://127.0.0.1:8080', pair = 'BTC_USDT', rounds = '3'] = process.argv.slice(2);
const amount = '0.01', distance = 2n; // 1/10,000 of the price, to both sides
const x = new TickHive({ base, publicKey: process.env.PUBLIC, privateKey: process.env.PRIVATE });

// Decimals are integers of 10^-18 here, so that no digit is lost.
function units(text) {
  const [whole, fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(18, '0'));
}
function decimal(value, digits = 18) { // rounds towards zero
  const text = String(value < 0n ? -value : value).padStart(19, '0');
  const sign = value < 0n ? '-' : '', fraction = text.slice(-18).slice(0, digits);
  return `${sign}${text.slice(0, -18)}.${fraction}`.replace(/\.$/, '');
}

const position = { base: 0n, quote: 0n, fills: 0 };

// note adds a fill to the position. The fee is of what the order receives.
function note({ volume, price, fee, isUserBuyer, feeCurrencyCode }) {
  const buys = isUserBuyer ?? feeCurrencyCode === pair.split('_')[0];
  const money = units(volume) * units(price) / 10n ** 18n;
  position.base += buys ? units(volume) - units(fee) : -units(volume);
  position.quote += buys ? -money : money - units(fee);
  position.fills++;
}

// until reads the stream up to an event. Nothing is lost when the line is: the events come after it is back.
const stream = x.privateStream();
async function until(is) {
  for (;;) {
    const { value: event } = await stream.next();
    if (event.type === 'lost') console.error(event.reason);
    if (event.fill?.currencyPairCode === pair) note(event.fill);
    if (is(event)) return event;
  }
}

// protect sells an amount by an OCO around the last price, and waits for its end.
async function protect(sold, { digitsPrice }) {
  for (;;) {
    const price = units((await x.ticker(pair)).price), step = price * distance / 10000n;
    const orders = [
      { side: 'sell', amount: sold, price: decimal(price + step, digitsPrice), postOnly: true },
      { side: 'sell', amount: sold, type: 'stop_market', stopPrice: decimal(price - step, digitsPrice) },
    ];
    try {
      const { id } = await x.placeList({ kind: 'oco', pair, orders });
      await until(({ list }) => list?.id === id && list.status === 'done');
      return;
    } catch (error) {
      if (![Code.LIST_PRICES, Code.WOULD_CROSS].includes(error.code)) throw error; // the market has moved: ask again
    }
  }
}

const settings = (await x.pairs()).find((p) => p.code === pair);
await until(({ type, channel }) => type === 'snapshot' && channel === 'balances');
for (let round = 0; round < Number(rounds); round++) {
  const had = position.base, id = await x.placeOrder({ pair, side: 'buy', amount, market: true });
  await until(({ order }) => order?.id === id && order.status !== 'Created' && order.status !== 'PartiallyCompleted');
  const bought = position.base - had;
  if (bought > 0n) await protect(decimal(bought, settings.digitsAmount), settings);
}
stream.close();
const [own, money] = pair.split('_');
console.log(`${position.fills} fills: ${decimal(position.base)} ${own}, ${decimal(position.quote)} ${money}`);
