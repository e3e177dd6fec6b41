// Places each kind of order of ../testdata/kinds.json at a running exchange and sees it to its end: node
// client/js/kinds.mjs, with BASE and INTERNAL (the two listeners) in the environment.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { TickHive } from './tickhive.mjs';

export const kinds = JSON.parse(readFileSync(new URL('../testdata/kinds.json', import.meta.url)));

// market makes a pair of its own at a last price of 100, and a user with money of both currencies. Orders at 90 and at 110
// take whatever triggers; trade sets the last price between them.
export async function market(internal, pair) {
  const call = async (path, body) => {
    const answer = await fetch(`${internal}/internal/v1${path}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    const json = await answer.json();
    if (!answer.ok) throw new Error(`${path}: ${JSON.stringify(json)}`);
    return json;
  };
  const order = (side, price, amount, more = {}) => call('/orders', { currencyPairCode: pair, side, type: 'limit', price, amount, ...more });
  await call('/pairs', { code: pair, digitsPrice: 2, digitsAmount: 3 });
  const { id } = await call('/users', {});
  for (const currencyCode of pair.split('_')) await call(`/users/${id}/deposits`, { currencyCode, amount: 10000 });
  const { publicKey, privateKey } = await call(`/users/${id}/apikeys`, { name: 'kinds' });
  await order('buy', '90', '1000');
  await order('sell', '110', '1000');
  return {
    apiKey: publicKey, secret: privateKey,
    trade: async (price) => { await order('sell', price, '1'); await order('buy', price, '2', { timeInForce: 'ioc' }); },
  };
}

// see takes the kinds through a client: place returns the ids of the orders, read an order in the exchange's words.
export async function see(trade, { place, read, cancel, cancelList, codeOf }, cases = kinds) {
  for (const c of cases) {
    await trade('100');
    if (c.refused) {
      await assert.rejects(place(c), (e) => assert.equal(codeOf(e), c.refused, c.name) ?? true, c.name);
      continue;
    }
    const ids = await place(c), states = () => Promise.all(ids.map(read));
    for (const price of c.waits ?? []) {
      await trade(price);
      assert.ok((await states()).some((o) => ['Created', 'Pending'].includes(o.status)), `${c.name}: at ${price} it has ended`);
    }
    for (const price of c.trades ?? []) await trade(price);
    if (c.cancel) await cancelList(ids[0]);
    if (c.cancelFirst) await cancel(ids[0]);
    const ended = await states();
    assert.deepEqual(ended.map((o) => [o.status, o.endReason]), c.ends, c.name);
    if (c.amounts) assert.deepEqual(ended.map((o) => o.filledAmount.padEnd(5, '0')).filter((_, i) => c.ends[i][1] === null), c.amounts.filter((_, i) => c.ends[i][1] === null), c.name);
    if (c.list) assert.ok(ended.every((o) => o.listId === ids[0]), c.name);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { trade, apiKey, secret } = await market(process.env.INTERNAL, 'JSA_USDT'), symbol = 'JSA/USDT';
  const x = new TickHive({ baseUrl: process.env.BASE, apiKey, secret });
  const asked = ({ side, type, amount, price, ...params }) => ({ symbol, side, type, amount, price, params });
  await see(trade, {
    place: async (c) => {
      if (c.list) return (await x.placeList(c.list.kind, symbol, c.list.orders.map(asked))).orders.map((o) => o.id);
      const o = asked(c.order);
      return [(await x.createOrder(symbol, o.type, o.side, o.amount, o.price, o.params)).id];
    },
    read: (id) => x.request('GET', `/api/orders/${id}`, {}, undefined, true), cancel: (id) => x.cancelOrder(id),
    cancelList: async (id) => assert.equal((await x.cancelList(id)).status, 'closed'), codeOf: (e) => e.code,
  });

  // What the other calls say of a list and of orders.
  await trade('100');
  const legs = [{ type: 'limit_maker', side: 'sell', amount: 2, price: 108 }, { type: 'stop_loss', side: 'sell', amount: 2, params: { stopPrice: 92 } }];
  const oco = await x.placeList('oco', symbol, legs, { clientOrderId: 'js-list' });
  assert.deepEqual([oco.kind, oco.status, oco.clientOrderId, oco.orders.map((o) => o.status)], ['oco', 'open', 'js-list', ['open', 'open']]);
  const bought = await x.createOrder(symbol, 'limit', 'buy', 1, 99, { takeProfit: { triggerPrice: 105 }, stopLoss: { triggerPrice: 95, price: 91 } });
  assert.deepEqual((await x.fetchLists({ status: 'executing' })).map((l) => [l.id, l.kind]), [[bought.listId, 'opoco'], [oco.id, 'oco']]);
  assert.deepEqual([(await x.fetchList(oco.id)).status, (await x.fetchList(bought.listId)).orders.map((o) => o.info.status)], ['open', ['Created', 'Pending', 'Pending']]);
  const edited = await x.editOrder(oco.orders[1].id, symbol, 'market', 'sell', undefined, undefined, { triggerPrice: 93 });
  assert.deepEqual([edited.id, edited.triggerPrice], [oco.orders[1].id, 93]);
  const smaller = await x.editOrder(bought.id, symbol, 'limit', 'buy', 0.5, undefined, { keepPriority: true });
  assert.deepEqual([smaller.id, smaller.amount], [bought.id, 0.5]);
  await assert.rejects(x.editOrder(bought.id, symbol, 'limit', 'buy', 0.6, undefined, { keepPriority: true }), { code: 'AMEND_NOT_SMALLER' });
  await assert.rejects(x.cancelOrder(bought.id, symbol, { onlyIf: 'partial' }), { code: 'CANCEL_RESTRICTED' });
  const results = await x.batch([{ cancel: { orderId: oco.id } }, { placeList: { kind: 'oto', currencyPairCode: 'JSA_USDT', orders: [
    { side: 'buy', type: 'limit', amount: '1', price: '98' }, { side: 'sell', type: 'market', amount: '1' }] } }]);
  assert.deepEqual([results[0].status, results[0].endReason, results[1].kind, results[1].status], ['Canceled', 'request', 'oto', 'executing']);

  if (globalThis.WebSocket) {
    const first = await Promise.all([x.watchOrders(), x.watchLists()]);
    assert.deepEqual([first[0].length, first[1].map((l) => l.kind).sort()], [5, ['opoco', 'oto']]);
    await x.cancelList(bought.listId);
    let lists = [];
    while (!lists.some((l) => l.id === bought.listId && l.status === 'closed')) lists = await x.watchLists();
    x.close();
  }
  console.log('each kind of order was seen to its end');
}
