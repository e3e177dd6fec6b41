// The programs of docs/programs.md run as they are printed, but for the address.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

const at = JSON.parse(process.env.EXCHANGE);
const page = fs.readFileSync('../../docs/programs.md', 'utf8');
const programs = [...page.matchAll(/```(js|go)\n([^]*?)```/g)].map((m) => ({ language: m[1], text: m[2] }));

// run runs a program and returns what it printed.
function run({ language, text }) {
  text = text.replaceAll('127.0.0.1:8090', new URL(at.binance).host);
  let command = ['node', '--input-type=module', '-e', text];
  if (language === 'go') { // in this folder, so that go.mod has the version
    const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'program-')), 'main.go');
    fs.writeFileSync(file, text);
    command = ['go', 'run', '-pgo=off', file];
  }
  const child = spawn(command[0], command.slice(1),
    { env: { ...process.env, PUBLIC: at.publicKey, PRIVATE: at.privateKey }, stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '', errors = '';
  child.stdout.on('data', (b) => out += b);
  child.stderr.on('data', (b) => errors += b);
  return new Promise((done) => child.on('close', (code) => done({ code, out, errors })));
}

const name = ({ language, text }) => text.match(language === 'go' ? /"(github.com\/.*?)"/ : /from '(.*?)'/)[1];

test('the page has a program for each client', () => {
  assert.deepEqual(programs.map(name).sort(), ['@binance/connector', '@binance/spot', 'binance', 'binance-api-node', 'ccxt',
    'github.com/adshao/go-binance/v2', 'node-binance-api']);
});

for (const program of programs) {
  test(name(program), async () => {
    const { code, out, errors } = await run(program);
    assert.equal(code, 0, errors);
    assert.match(out, /^FILLED$/m);
  });
}
