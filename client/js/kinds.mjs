// Places each kind of order of ../testdata/kinds.json at a running exchange and sees it to its end: node
// client/js/kinds.mjs, with BASE and INTERNAL (the two listeners) in the environment.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { Code, TickHive } from './tickhive.mjs';

export const kinds = JSON.parse(readFileSync(new URL('../testdata/kinds.json', import.meta.url)));

// market makes a pair of its own at a last price of 100, and a user with money of both currencies. Orders at 90 and at
// 110 take whatever triggers; trade sets the last price between them.
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
    publicKey, privateKey,
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
  const pair = process.env.PAIR ?? 'JSA_USDT', { trade, ...keys } = await market(process.env.INTERNAL, pair);
  const x = new TickHive({ base: process.env.BASE, ...keys });
  const own = globalThis.WebSocket && x.privateStream();
  await see(trade, {
    place: async (c) => {
      if (c.list) return (await x.placeList({ pair, ...c.list })).orders.map((o) => o.id);
      return [await x.placeOrder({ pair, ...c.order })];
    },
    read: (id) => x.order(id), cancel: (id) => x.cancelOrder(id),
    cancelList: async (id) => assert.equal((await x.cancelList(id)).status, 'done'), codeOf: (e) => e.code,
  });

  // What the other calls say of a list and of orders.
  await trade('100');
  const all = async (rows) => { const list = []; for await (const row of rows) list.push(row); return list; };
  const legs = [
    { type: 'limit', postOnly: true, side: 'sell', amount: 2, price: 108 },
    { type: 'stop_market', side: 'sell', amount: 2, stopPrice: 92 },
  ];
  const oco = await x.placeList({ kind: 'oco', pair, orders: legs, clientOrderId: 'js-list' });
  const states = oco.orders.map((o) => o.status);
  assert.deepEqual([oco.kind, oco.status, oco.clientOrderId], ['oco', 'executing', 'js-list']);
  assert.deepEqual(states, ['Created', 'Created']);
  assert.equal(oco.orders[0].price, '108.00'); // text, with all digits
  const bought = await x.placeList({ kind: 'opoco', pair, orders: [
    { side: 'buy', amount: 1, price: 99, clientOrderId: 'js-buy' },
    { side: 'sell', type: 'take_profit_market', stopPrice: 105 },
    { side: 'sell', type: 'stop_limit', stopPrice: 95, price: 91 },
  ] });
  const executing = await all(x.lists({ status: 'executing' }));
  assert.deepEqual(executing.map((l) => [l.id, l.kind]), [[bought.id, 'opoco'], [oco.id, 'oco']]);
  assert.deepEqual((await x.list(bought.id)).orders.map((o) => o.status), ['Created', 'Pending', 'Pending']);
  assert.equal((await x.listByClientId(pair, 'js-list')).id, oco.id);
  const moved = await x.changeOrder(oco.orders[1].id, { stopPrice: 93 });
  assert.deepEqual([moved.id, moved.stopPrice], [oco.orders[1].id, '93.00']);
  const smaller = await x.changeOrder(bought.id, { amount: 0.5, keepPriority: true, clientOrderId: 'js-smaller' });
  assert.deepEqual([smaller.id, smaller.initialAmount, smaller.clientOrderId], [bought.id, '0.500', 'js-smaller']);
  assert.deepEqual((await x.amendments(bought.id)).map((a) => [a.oldAmount, a.newAmount]), [['1.000', '0.500']]);
  assert.equal((await x.orderByClientId(pair, 'js-smaller')).id, bought.id);
  const larger = x.changeOrder(bought.id, { amount: 0.6, keepPriority: true });
  await assert.rejects(larger, { code: Code.AMEND_NOT_SMALLER });
  await assert.rejects(x.cancelOrder(bought.id, { onlyIf: 'partial' }), { code: Code.CANCEL_RESTRICTED });
  const results = await x.batch([
    { cancel: { orderId: oco.id } }, { replace: { orderId: bought.id, price: 98.5 } },
    { placeList: { kind: 'oto', pair, orders: [
      { side: 'buy', amount: 1, price: 98, clientOrderId: 'js-oto' }, { side: 'sell', amount: 1, market: true }] } },
    { place: { pair, side: 'buy', amount: 1, price: 120, postOnly: true } },
  ]);
  assert.deepEqual([results[0].status, results[0].endReason, results[1].price, results[2].kind, results[2].status,
    results[3].rejectReason], ['Canceled', 'request', '98.50', 'oto', 'executing', 'would_cross']);
  assert.equal((await x.cancelListByClientId(pair, 'js-list').catch((e) => e)).code, Code.ORDER_CLOSED);
  assert.equal((await x.cancelOrderByClientId(pair, 'js-oto', { onlyIf: 'new' })).status, 'Canceled');

  // One order trades with the account's own, and is kept from it.
  await x.placeOrder({ pair, side: 'buy', amount: 1, price: 99 });
  await x.placeOrder({ pair, side: 'sell', amount: 1, price: 99, selfTradePrevention: 'cancel_maker' });
  const [prevented] = await x.preventedMatches(pair);
  assert.deepEqual([prevented.price, prevented.selfTradePrevention], ['99.00', 'cancel_maker']);
  const id = await x.placeOrder({ pair, side: 'buy', amount: 1, market: true, selfTradePrevention: 'none' });
  const { deals, status } = await x.orderDeals(id);
  assert.deepEqual([status, deals.length], ['Completed', 1]);

  // The dead man's switch, and what is left.
  const armed = await x.cancelAllAfter(60000), off = await x.cancelAllAfter(0);
  assert.deepEqual([armed.timeoutMs, typeof armed.firesAt, off.firesAt], [60000, 'string', null]);
  const open = await all(x.orders({ pair, status: 'active' }));
  assert.equal(await x.cancelAll(pair), open.length);
  await x.placeOrder({ pair, side: 'buy', amount: 1, price: 90 });
  assert.equal(await x.cancelAll(), 1);
  const held = (await x.balances()).map((b) => b.held);
  assert.deepEqual(held.filter((h) => h !== '0.0'), []);

  // The private stream has shown each fill once, and each order to its end.
  const fills = (await all(x.fills())).reverse();
  if (own) {
    const seen = [], last = new Map(), orders = await all(x.orders());
    const open = (o) => ['Created', 'PartiallyCompleted', 'Pending'].includes(o.status);
    while (seen.length < fills.length || last.size < orders.length || [...last.values()].some(open)) {
      const { fill, order } = (await own.next()).value;
      if (fill) seen.push(fill);
      if (order) last.set(order.id, order);
    }
    own.close();
    // A trade of the account with itself is two fills, in no order.
    const key = (f) => `${String(f.tradeId).padStart(9)} ${f.orderId}`;
    const rows = (list) => list.map((f) => `${key(f)} ${f.volume} ${f.price} ${f.fee}`).sort();
    assert.deepEqual(seen.map((f) => f.tradeId), fills.map((f) => f.tradeId));
    assert.deepEqual(rows(seen), rows(fills));
    assert.deepEqual([...last.keys()].sort(), orders.map((o) => o.id).sort());
  }
  console.log(`each kind of order was seen to its end${own ? ', by the private stream too' : ''}`);
}
