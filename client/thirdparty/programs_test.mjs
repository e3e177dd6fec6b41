// The programs of docs/programs.md run as they are printed, but for the address.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { test } from 'node:test';

const at = JSON.parse(process.env.EXCHANGE);
const page = fs.readFileSync('../../docs/programs.md', 'utf8');
const programs = [...page.matchAll(/```js\n([^]*?)```/g)].map((m) => m[1]);

// run runs a program and returns what it printed.
function run(program) {
  const text = program.replaceAll('127.0.0.1:8090', new URL(at.binance).host);
  const child = spawn('node', ['--input-type=module', '-e', text],
    { env: { ...process.env, PUBLIC: at.publicKey, PRIVATE: at.privateKey }, stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '', errors = '';
  child.stdout.on('data', (b) => out += b);
  child.stderr.on('data', (b) => errors += b);
  return new Promise((done) => child.on('close', (code) => done({ code, out, errors })));
}

test('the page has a program for each client', () => {
  const names = programs.map((p) => p.match(/from '(.*?)'/)[1]).sort();
  assert.deepEqual(names, ['@binance/connector', '@binance/spot', 'binance', 'binance-api-node', 'ccxt', 'node-binance-api']);
});

for (const program of programs) {
  test(program.split('\n')[0], async () => {
    const { code, out, errors } = await run(program);
    assert.equal(code, 0, errors);
    assert.match(out, /^FILLED$/m);
  });
}
