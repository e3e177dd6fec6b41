// The npm package of client/js in an empty project: it has the files that belong to it, installs without the network,
// its types pass tsc, and it trades. EXCHANGE has the line of JSON of `tickhive serve --ephemeral`.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile), here = (name) => fileURLToPath(new URL(name, import.meta.url));
const source = here('../js');

function folder(t) {
  const path = mkdtempSync(join(tmpdir(), 'tickhive-npm-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

// project makes an empty project that has the package installed from a path.
async function project(t, path) {
  const cwd = folder(t);
  writeFileSync(join(cwd, 'package.json'), '{ "name": "bot", "private": true, "type": "module" }');
  await run('npm', ['install', path, '--offline', '--no-audit', '--no-fund'], { cwd });
  return cwd;
}

const bot = `import { TickHive } from 'tickhive';
import { makeTickHive } from 'tickhive/ccxt';
import { start } from 'tickhive/testing';
const { public: base, publicKey, privateKey } = JSON.parse(process.env.EXCHANGE);
const x = new TickHive({ base, publicKey, privateKey });
const id = await x.placeOrder({ pair: 'BTC_USDT', side: 'buy', amount: '0.001', price: '10000' });
console.log((await x.cancelOrder(id)).status, typeof makeTickHive, typeof start);
`;

async function trades(t, path) {
  const cwd = await project(t, path);
  writeFileSync(join(cwd, 'bot.mjs'), bot);
  assert.equal((await run('node', ['bot.mjs'], { cwd })).stdout, 'Canceled function function\n');
}

test('the folder installs in an empty project, and trades', (t) => trades(t, source));

test('the packed file has the files of the package, installs, and trades', async (t) => {
  const to = folder(t), { stdout } = await run('npm', ['pack', source, '--json', '--pack-destination', to]);
  const [{ filename, files }] = JSON.parse(stdout);
  assert.deepEqual(files.map((f) => f.path).sort(), ['README.md', 'book.mjs', 'ccxt.d.ts', 'ccxt.mjs', 'package.json',
    'testing.d.mts', 'testing.mjs', 'tickhive.d.ts', 'tickhive.mjs', 'unified.mjs']);
  await trades(t, join(to, filename));
});

test('the ccxt class trades as its page says', async (t) => {
  const cwd = await project(t, source), { public: base, publicKey, privateKey } = JSON.parse(process.env.EXCHANGE);
  const [, text] = /```js\n([^`]*makeTickHive[^]*?)```/.exec(readFileSync(join(source, 'README.md'), 'utf8'));
  symlinkSync(here('node_modules/ccxt'), join(cwd, 'node_modules/ccxt'));
  writeFileSync(join(cwd, 'key.json'), JSON.stringify({ publicKey, privateKey }));
  writeFileSync(join(cwd, 'bot.mjs'), text.replace('http://127.0.0.1:8080', base).replace('127.0.0.1:8080', base));
  assert.match((await run('node', ['bot.mjs'], { cwd })).stdout, /^market closed [^]*free/);
});

test('the types pass tsc, and tsc finds what is wrong', async (t) => {
  const cwd = await project(t, source), tsc = here('node_modules/typescript/bin/tsc');
  const flags = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext'];
  const check = async () => (await run(tsc, [...flags, 'example.mts'], { cwd }).catch((error) => error)).stdout;
  copyFileSync(here('testdata/example.mts'), join(cwd, 'example.mts'));
  assert.equal(await check(), '');
  const wrong = [
    `x.placeOrder({ pair: 'A_B', side: 'long', amount: 1 });`, 'x.noSuchCall();', 'x.cancelOrder(1);',
    `new TickHive({ baseUrl: 'http://x' });`, '(await x.balances())[0].free satisfies number;',
    `await start({ pairs: [{ code: 'A_B' }] });`, '(await start()).client.noSuchCall();',
  ];
  const text = [`import { TickHive } from 'tickhive'; import { start } from 'tickhive/testing';`, 'const x = new TickHive();', ...wrong].join('\n');
  writeFileSync(join(cwd, 'example.mts'), text);
  const lines = [...(await check()).matchAll(/^example\.mts\((\d+),/gm)].map((m) => Number(m[1]));
  assert.deepEqual([...new Set(lines)], [3, 4, 5, 6, 7, 8, 9]);
});
