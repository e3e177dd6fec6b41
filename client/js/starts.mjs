// What testing.mjs starts: node --test client/js/starts.mjs, with the program in TICKHIVE_BINARY.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { start } from './testing.mjs';

// started is start for a test, which ends it.
async function started(t, options) {
  const x = await start(options);
  t.after(() => x.stop());
  return x;
}

const free = async (user, currency) => (await user.client.balances()).find((b) => b.currencyCode === currency)?.free;

test('a bot trades with the exchange\'s own account and with others', async (t) => {
  const x = await started(t), user = await x.newUser('1000 USDT');
  assert.equal((await x.client.pairs()).length, 12);
  await x.sell('BTC_USDT', '0.5', '65000');
  await user.client.placeOrder({ pair: 'BTC_USDT', side: 'buy', amount: '0.01', price: '65000' });
  await assert.rejects(x.sell('BTC_USDT', '0.01'), /sell 0.01 BTC_USDT at the market: no_liquidity/);
  await user.client.placeOrder({ pair: 'BTC_USDT', side: 'buy', amount: '0.001', price: '60000' });
  await x.sell('BTC_USDT', '0.001'); // at the market
  await x.clearBook('BTC_USDT');
  assert.deepEqual((await x.client.orderBook('BTC_USDT')).asks, []);
  assert.equal(await free(user, 'BTC'), '0.010989'); // 0.011 less the fee
  await user.deposit('5', 'BTC');
  assert.equal(await free(user, 'BTC'), '5.010989');
  assert.ok(+(await free(x.user, 'BTC')) > 0);
  await assert.rejects(x.newUser('1000'), /AMOUNT CURRENCY/);
  await assert.rejects(x.call('POST', '/pairs', {}), /POST \/pairs: status 400/);
});

test('a real clock shows the time of the machine, by which requests are signed', async (t) => {
  const x = await start({ clock: 'real' });
  t.after(() => x.stop());
  assert.ok(Math.abs(x.now() - Date.now()) < 60_000);
  assert.ok((await x.client.balances()).length > 0);
  await assert.rejects(start({ clock: 'fast' }), /clock must be virtual or real, not fast/);
});

test('the clock moves when the test moves it, and requests are signed with it', async (t) => {
  const x = await started(t), begin = Date.parse('2026-01-01T00:00:00Z');
  assert.deepEqual([x.now(), await x.client.time()], [begin, begin]);
  await x.advance('1d');
  assert.deepEqual([x.now(), await x.client.time()], [begin + 86400000, begin + 86400000]);
  assert.ok(+(await free(x.user, 'USDT')) > 0);
});

test('a fault is done and counted', async (t) => {
  const x = await started(t);
  const fault = await x.fault('status status=503 route=/api/wallets/balances');
  await assert.rejects(x.client.balances(), { status: 503 });
  assert.equal(await fault.hits(), 1);
  await x.clearFaults();
  assert.ok(+(await free(x.user, 'USDT')) > 0);
  assert.equal(await fault.hits(), 0);
  await assert.rejects(x.fault('nonsense'), /rules\[0\]/);
});

test('a killed exchange comes back on its addresses with what it had', async (t) => {
  const x = await started(t, { pairs: [{ code: 'ABC_XYZ', priceDigits: 3, amountDigits: 1, fee: '0' }] });
  const state = async () => {
    const { asks } = await x.client.orderBook('ABC_XYZ'), fills = [];
    for await (const f of x.client.fills()) fills.push(f.tradeId);
    return { asks, fills, balances: await x.client.balances(), now: x.now(), time: await x.client.time() };
  };
  await x.sell('ABC_XYZ', 10, '0.125');
  await x.client.placeOrder({ pair: 'ABC_XYZ', side: 'buy', amount: 4, price: '0.125' });
  await x.advance('90m');
  const before = await state(), { url, binance, user } = x;
  await x.kill();
  await assert.rejects(x.client.time(), (error) => error.cause.code === 'ECONNREFUSED');
  await assert.rejects(x.kill(), /does not run/);
  await x.restart();
  assert.deepEqual([await state(), x.url, x.user], [before, url, user]);
  await x.restart(); // one that runs
  assert.deepEqual(await state(), before);
  assert.equal((await fetch(`${binance}/api/v3/ping`)).status, 200);
  await x.advance('1h');
  assert.equal(await x.client.time(), before.time + 3600000);
});

test('pairs, a market, flags, and every address', async (t) => {
  const pairs = [{ code: 'ABC_XYZ', priceDigits: 3, amountDigits: 1, fee: '0' }];
  const x = await started(t, { pairs }), market = await started(t, { sim: 7, args: ['--backfill', '1h'] });
  assert.deepEqual((await x.client.pairs()).map((p) => [p.code, p.digitsPrice, p.digitsAmount]), [['ABC_XYZ', 3, 1]]);
  await x.sell('ABC_XYZ', 10, '0.125');
  await x.client.placeOrder({ pair: 'ABC_XYZ', side: 'buy', amount: 10, price: '0.125' });
  assert.equal(await free(x.user, 'ABC'), '10010.0');
  assert.equal((await fetch(`${x.binance}/api/v3/ping`)).status, 200);
  assert.match(x.log, /msg=/);
  for (const address of [x.streamUrl, x.binanceStream, x.binanceSocket]) assert.match(address, /^ws:\/\/127.0.0.1:\d+/);
  await market.advance('1m');
  assert.ok((await market.client.orderBook('BTC_USDT')).bids.length > 0);
  const candles = market.client.candles('BTC_USDT', 'minute', market.now() - 3600000, market.now());
  assert.ok(!(await candles.next()).done, 'the backfill was not made');
});

test('the types name what an exchange has', async (t) => {
  const x = await started(t), text = readFileSync(new URL('testing.d.mts', import.meta.url), 'utf8');
  const all = (body, pattern) => [...body.matchAll(pattern)].map((m) => m[1]).sort();
  const fault = await x.fault('latency delay=1ms');
  for (const [name, object] of Object.entries({ Exchange: x, User: x.user, Fault: fault })) {
    const [, body] = new RegExp(`^export interface ${name} \\{\n([^]*?)^\\}`, 'm').exec(text);
    const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(object)).filter((n) => n !== 'constructor');
    assert.deepEqual(all(body, /^ {2}(?:readonly )?(\w+)[(:]/gm), [...methods, ...Object.keys(object)].sort());
  }
});

test('a start that cannot be says why', async () => {
  await assert.rejects(start({ more: 1 }), /more is no member of start; they are pairs, sim, args, binary/);
  await assert.rejects(start({ pairs: [] }), /pairs must have a pair/);
  await assert.rejects(start({ pairs: [{ code: 'A_B', digits: 1 }] }), /digits is no member of a pair/);
  await assert.rejects(start({ args: ['--no-such-flag'] }), /ended with 2 before it was ready:\n.*--no-such-flag/);
  await assert.rejects(start({ binary: '/no/such/file' }), /\/no\/such\/file \(from the option binary\).*make build/);
  const { TICKHIVE_BINARY: binary, PATH: path } = process.env;
  try {
    process.env.TICKHIVE_BINARY = '/none';
    await assert.rejects(start(), /\/none \(from TICKHIVE_BINARY\)/);
    delete process.env.TICKHIVE_BINARY;
    process.env.PATH = '/none';
    await assert.rejects(start(), /tickhive \(from PATH\)/);
  } finally {
    Object.assign(process.env, { TICKHIVE_BINARY: binary, PATH: path });
  }
});

// ends returns once nobody listens at an address.
async function ends(url) {
  const fate = () => fetch(url).then(() => 'an answer', (error) => error.cause.code);
  while (await fate() !== 'ECONNREFUSED');
}

test('stop ends it and leaves nothing; an exchange that has died is an error of stop', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tickhive-starts-')), { TMPDIR } = process.env;
  t.after(() => rmSync(folder, { recursive: true }));
  process.env.TMPDIR = folder;
  const x = await start({ pairs: [{ code: 'A_B', priceDigits: 1, amountDigits: 1 }] });
  if (TMPDIR === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = TMPDIR;
  assert.equal(readdirSync(folder).length, 1);
  await x.stop();
  await x.stop();
  assert.deepEqual(readdirSync(folder), []);
  await ends(x.url);
  for (const again of [true, false]) {
    process.env.TMPDIR = folder;
    const killed = await start();
    await killed.kill();
    assert.equal(readdirSync(folder).length, 1);
    if (again) await killed.restart();
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
    await killed.stop();
    assert.deepEqual(readdirSync(folder), []);
  }
  const binary = join(folder, 'binary');
  const script = `#!/bin/sh\necho $$ >'${folder}/pid'\nexec '${process.env.TICKHIVE_BINARY}' "$@"\n`;
  writeFileSync(binary, script, { mode: 0o700 });
  const dying = await start({ binary });
  process.kill(Number(readFileSync(join(folder, 'pid'), 'utf8')), 'SIGKILL');
  await assert.rejects(dying.stop(), /ended with SIGKILL/);
});

// program returns a test program that starts an exchange, prints its address and goes on with some code.
const program = (code) => ['--input-type=module', '-e', `
  import { start } from '${fileURLToPath(new URL('testing.mjs', import.meta.url))}';
  const x = await start();
  console.log(x.url);
  ${code}`];

test('it does not keep a test program from its end', async () => {
  await ends((await promisify(execFile)('node', program(''))).stdout.trim());
});

for (const [name, signal] of [['killed', 'SIGKILL'], ['interrupted', 'SIGTERM']]) {
  test(`it ends with a test program that is ${name}`, async () => {
    const child = spawn('node', program('setInterval(() => {}, 1000);'), { stdio: ['ignore', 'pipe', 'inherit'] });
    const [text] = await once(child.stdout, 'data'), url = String(text).trim();
    assert.equal((await fetch(url)).status, 200);
    child.kill(signal);
    await ends(url);
  });
}
