// The types name what the code has, and nothing else: node client/js/types_test.mjs. tsc reads them in
// client/thirdparty/package_test.mjs.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as ccxt from './ccxt.mjs';
import * as testing from './testing.mjs';
import * as client from './tickhive.mjs';

const types = (name) => readFileSync(new URL(name, import.meta.url), 'utf8');
const all = (text, pattern) => [...text.matchAll(pattern)].map((m) => m[1]).sort();
const exported = (text) => all(text, /^export declare (?:class|function|const) (\w+)/gm);

test('the exported names are the same', () => {
  assert.deepEqual(exported(types('tickhive.d.ts')), Object.keys(client).sort());
  assert.deepEqual(exported(types('ccxt.d.ts')), Object.keys(ccxt).sort());
  assert.deepEqual(exported(types('testing.d.mts')), Object.keys(testing).sort());
});

// members returns the names of the methods, and of the properties, of a class or an interface of the types.
function members(kind, name) {
  const pattern = new RegExp(`^export (?:declare )?${kind} ${name}\\b[^{]*\\{\n([^]*?)^\\}`, 'm');
  const [, body] = pattern.exec(types('tickhive.d.ts'));
  return {
    methods: all(body, /^ {2}(?!constructor)(\w+)\(/gm), properties: all(body, /^ {2}(?:readonly )?(\w+)\??:/gm),
  };
}
function methodsOf(object) {
  return Object.getOwnPropertyNames(Object.getPrototypeOf(object)).filter((n) => n !== 'constructor').sort();
}

test('the methods of the classes are the same', () => {
  const x = new client.TickHive({ WebSocket: class {} });
  assert.deepEqual(members('class', 'TickHive').methods, methodsOf(x));
  assert.deepEqual(members('class', 'Book').methods, methodsOf(new client.Book()));
});

test('the members of an order are the same', async () => {
  const x = new client.TickHive(), { properties } = members('interface', 'NewOrder');
  const names = [...properties, ...members('interface', 'ListedOrder').properties];
  const refused = await x.placeOrder({ none: 1 }).catch((error) => error.message);
  const said = refused.replace(/^.*they are |\.$/g, '').split(', ');
  assert.deepEqual(said.sort(), [...names, 'currencyPairCode', 'isMarket'].sort());
});

test('the options and the members of an error are the same', () => {
  for (const name of members('interface', 'Options').properties) {
    assert.doesNotThrow(() => new client.TickHive({ [name]: 'x' }));
  }
  assert.throws(() => new client.TickHive({ more: 1 }), (error) => {
    for (const name of members('class', 'APIError').properties) assert.ok(Object.hasOwn(error, name), name);
    for (const name of members('interface', 'Options').properties) assert.ok(error.message.includes(name), name);
    return true;
  });
});

test('a stream has the members of its type', () => {
  const x = new client.TickHive({ WebSocket: class { close() {} } });
  const streams = [x.followBook('A_B'), x.followTrades('A_B'), x.followTicker('A_B'), x.followCandles('A_B', 'hour')];
  for (const stream of [...streams, x.privateStream()]) {
    for (const name of members('interface', 'Follower').methods) assert.equal(typeof stream[name], 'function', name);
    assert.equal(stream[Symbol.asyncIterator](), stream);
    stream.close();
  }
  assert.deepEqual(members('interface', 'PrivateStream').properties, ['cursor']);
  const stream = x.privateStream({ from: {} });
  assert.deepEqual(stream.cursor, { date: '', pairs: {} });
  stream.close();
});
