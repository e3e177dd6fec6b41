// A bot with types, for package_test.mjs. It is not run.
import { APIError, Code, TickHive } from 'tickhive';
import type { Cursor, Fill, NewOrder, Order } from 'tickhive';
import { makeTickHive } from 'tickhive/ccxt';
import { start } from 'tickhive/testing';
import type { Exchange } from 'tickhive/testing';

const x = new TickHive({ base: ['http://127.0.0.1:8080'], publicKey: 'p', privateKey: 's', retry: [100, 5000] });
const order: NewOrder = { pair: 'BTC_USDT', side: 'buy', amount: 0.01, market: true };
const id: string = await x.placeOrder(order);
const list = await x.placeList({
  kind: 'oco', pair: 'BTC_USDT', orders: [
    { side: 'sell', amount: '1', price: '70000', postOnly: true },
    { side: 'sell', amount: '1', type: 'stop_market', stopPrice: 60000 },
  ],
});
const changed: Order = await x.changeOrder(list.orders[0].id, { price: '71000' });
const [first] = await x.batch([{ place: order }, { cancel: { orderId: id, onlyIf: 'new' } }]);
if (first.rejectReason === 'insufficient_funds') await x.cancelAllAfter(0);
const since = new Date(0);
for await (const fill of x.fills({ pair: 'BTC_USDT', sinceDate: since })) console.log(fill.feeCurrencyCode);
for await (const event of x.followTrades('BTC_USDT', { fromTradeId: 1 })) {
  if (event.type !== 'lost') console.log(event.trades.map((t) => t.tradeId), event.lost);
}

for await (const { open, volume } of x.candles('BTC_USDT', 'minutes5', since, since)) console.log(open, volume);

let from: Cursor | undefined;
const stream = x.privateStream({ from });
const seen = (fill: Fill, missed: boolean) => console.log(fill.orderId, fill.price, missed);
for await (const event of stream) {
  if (event.type === 'lost') console.log(event.reason);
  else if (event.type === 'snapshot' && event.channel === 'orders') console.log(event.orders, event.lists[0].orderIds);
  else if (event.type === 'update' && event.channel === 'fills') seen(event.fill, event.missed);
  else if (event.type === 'update' && event.channel === 'orders') console.log(event.order?.status, event.list?.status);
  if (event.fill) seen(event.fill, event.missed);
  if (event.balances) console.log(event.balances.length, event.order, event.list, event.channel);
  from = stream.cursor;
}
try {
  await x.cancelOrder(changed.id);
} catch (error) {
  if (!(error instanceof APIError && error.code === Code.ORDER_CLOSED)) throw error;
}
export const exchange = new (makeTickHive({}))({ hostname: '127.0.0.1:8080' });

const started: Exchange = await start({ pairs: [{ code: 'ABC_USDT', priceDigits: 2, amountDigits: 4 }], sim: 7 });
await started.sell('ABC_USDT', 1, '100');
const other: TickHive = (await started.newUser('1000 USDT')).client;
const hits: number = await (await started.fault('lost-ack')).hits();
console.log(started.url, started.now() + 1, other, hits);
await started.stop();
