// An exchange for a test in Node: the program tickhive in a process of its own, on free ports and a virtual clock. It
// ends with stop(), and with the test process however that ends. The names are those of the Go package tickhivetest.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TickHive } from './tickhive.mjs';

const clockStart = '2026-01-01T00:00:00Z';
const ownAccount = '00000000-0000-0000-0000-000000000000';
const maxLog = 64 << 10; // characters of the log that are kept, the newest

// only refuses members that have no meaning.
function only(what, members, names) {
  for (const name of Object.keys(members)) {
    if (!names.includes(name)) throw new TypeError(`${name} is no member of ${what}; they are ${names.join(', ')}.`);
  }
}

// configOf returns the TOML of pairs.
function configOf(pairs) {
  if (pairs.length === 0) throw new TypeError('pairs must have a pair; leave it out for the built-in ones.');
  for (const p of pairs) only('a pair', p, ['code', 'priceDigits', 'amountDigits', 'fee']);
  const assets = new Set(pairs.flatMap((p) => p.code.split('_'))), text = JSON.stringify;
  return [...assets].map((a) => `[[assets]]\nsymbol = ${text(a)}\n`).join('') + pairs.map((p) => (
    `[[pairs]]\ncode = ${text(p.code)}\ndigits_price = ${p.priceDigits}\ndigits_amount = ${p.amountDigits}\n${
      p.fee === undefined ? '' : `maker_fee = ${text(p.fee)}\ntaker_fee = ${text(p.fee)}\n`}`)).join('');
}

// environment returns that of the exchange. Keys of the configuration stay out: a test is the same on every machine.
const environment = () => Object.fromEntries(Object.entries(process.env).filter(([k]) => !k.startsWith('TICKHIVE_')));

// programOf returns the file of the program, and where its name comes from.
function programOf(binary) {
  if (binary) return [binary, 'the option binary'];
  const { TICKHIVE_BINARY } = process.env;
  return TICKHIVE_BINARY ? [TICKHIVE_BINARY, 'TICKHIVE_BINARY'] : ['tickhive', 'PATH'];
}

class Fault {
  #exchange;
  #id;

  constructor(exchange, id) {
    this.#exchange = exchange;
    this.#id = id;
  }

  async hits() {
    const { rules } = await this.#exchange.call('GET', '/faults');
    return rules.find((r) => r.id === this.#id)?.applied ?? 0;
  }
}

class User {
  #exchange;

  constructor(exchange, id, publicKey, privateKey) {
    this.#exchange = exchange;
    Object.assign(this, { id, publicKey, privateKey });
    this.client = new TickHive({ base: exchange.url, publicKey, privateKey, now: () => exchange.now() });
  }

  async deposit(amount, currency) {
    await this.#exchange.call('POST', `/users/${this.id}/deposits`, { currencyCode: currency, amount: String(amount) });
  }
}

// Program is the process of an exchange, with the end of its log.
class Program {
  log = '';

  constructor([file, source], args) {
    this.process = spawn(file, args, { env: environment() });
    this.process.stderr.setEncoding('utf8').on('data', (text) => { this.log = (this.log + text).slice(-maxLog); });
    this.ended = new Promise((resolve) => { this.process.once('close', (code, signal) => resolve(signal ?? code)); });
    this.file = file;
    this.source = source;
  }

  // line returns the first line of the output.
  async line() {
    const { process, file, source } = this;
    let text = '';
    process.stdout.setEncoding('utf8');
    await new Promise((resolve, reject) => {
      process.stdout.on('data', (more) => { if ((text += more).includes('\n')) resolve(); });
      process.once('error', (error) => reject(new Error(
        `The program ${file} (from ${source}) cannot be started: ${error.message}. Build it with "make build" in the `
        + 'source of TickHive; then put bin/tickhive on the PATH, or name the file in TICKHIVE_BINARY or in '
        + 'start({ binary }).', { cause: error })));
      this.ended.then((code) => reject(new Error(`${file} ended with ${code} before it was ready:\n${this.log}`)));
    });
    this.hold(false);
    return text;
  }

  // hold says whether the program keeps the test process from its end, which ends the program.
  hold(on) {
    for (const part of [this.process, ...this.process.stdio]) part[on ? 'ref' : 'unref']();
  }

  async stop() {
    this.hold(true);
    this.process.stdin.end();
    const code = await this.ended;
    if (code !== 0) throw new Error(`${this.file} ended with ${code}:\n${this.log}`);
  }

  async kill() {
    this.hold(true);
    this.process.kill('SIGKILL');
    await this.ended;
  }
}

class Exchange {
  #run;
  #program; // undefined between kill and restart
  #said;
  #now;
  #real;

  constructor(run, { program, said }, real) {
    this.#run = run;
    this.#program = program;
    this.#said = said;
    this.#real = real;
    const socket = (address) => address.replace(/^http/, 'ws'), binance = said.binance ?? '';
    Object.assign(this, {
      url: said.public, streamUrl: `${socket(said.public)}/ws`, internal: `${said.internal}/internal/v1`, binance,
      binanceStream: socket(binance), binanceSocket: binance && `${socket(binance)}/ws-api/v3`,
    });
    this.user = new User(this, said.userId, said.publicKey, said.privateKey);
    this.client = this.user.client;
  }

  get log() { return this.#program?.log ?? ''; }

  now() { return this.#real ? Date.now() : this.#now; }

  async advance(duration) { this.#now = (await this.call('POST', '/clock', { advance: duration })).now; }

  async newUser(...money) {
    const { id } = await this.call('POST', '/users', {});
    const key = await this.call('POST', `/users/${id}/apikeys`, { name: 'test' });
    const user = new User(this, id, key.publicKey, key.privateKey);
    for (const m of money) {
      const [, amount, currency] = /^(\S+) (\S+)$/.exec(m) ?? [];
      if (!currency) throw new TypeError(`${m} must have the form AMOUNT CURRENCY, for example "1000 USDT".`);
      await user.deposit(amount, currency);
    }
    return user;
  }

  async buy(pair, amount, price) { await this.#place('buy', pair, amount, price); }

  async sell(pair, amount, price) { await this.#place('sell', pair, amount, price); }

  async #place(side, pair, amount, price) {
    const order = { currencyPairCode: pair, side, type: 'market', amount: String(amount) };
    if (price !== undefined) Object.assign(order, { type: 'limit', price: String(price) });
    const { rejectReason } = await this.call('POST', '/orders', order);
    if (rejectReason) throw new Error(`${side} ${amount} ${pair} at ${price ?? 'the market'}: ${rejectReason}`);
  }

  async clearBook(pair) {
    await this.call('DELETE', `/orders?accountId=${ownAccount}&currencyPairCode=${encodeURIComponent(pair)}`);
  }

  async fault(rule) {
    return new Fault(this, (await this.call('POST', '/faults', { rules: [rule] })).rules[0].id);
  }

  async clearFaults() { await this.call('DELETE', '/faults'); }

  async call(method, path, body) {
    const response = await fetch(this.internal + path, { method, body: body && JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: status ${response.status}: ${text}`);
    return JSON.parse(text);
  }

  async kill() {
    if (!this.#program) throw new Error('kill: the exchange does not run; restart starts it.');
    await this.#program.kill();
    this.#program = undefined;
  }

  async restart() {
    if (this.#program) await this.kill();
    const { dataDir, ...said } = this.#said, at = (address) => address.replace(/^https?:\/\//, '');
    const flags = ['--data-dir', dataDir, '--listen', at(said.public), '--internal-listen', at(said.internal)];
    if (said.binance) flags.push('--binance-listen', at(said.binance));
    this.#program = (await this.#run(flags)).program;
    if (!this.#real) await this.advance('0s'); // a clock that runs by itself was killed, too
  }

  async stop() {
    if (this.#program) await this.#program.stop();
    else rmSync(this.#said.dataDir, { recursive: true, force: true }); // of the killed program
  }
}

// start starts an exchange and returns when it serves clients.
export async function start(options = {}) {
  only('start', options, ['pairs', 'sim', 'args', 'binary', 'clock']);
  const { pairs, sim, args = [], binary, clock = 'virtual' } = options, program = programOf(binary);
  if (!['virtual', 'real'].includes(clock)) throw new TypeError(`clock must be virtual or real, not ${clock}.`);
  const flags = ['--clock', clock, '--set', 'journal.scrub_every=0'];
  if (clock === 'virtual') flags.push('--clock-start', clockStart);
  flags.push(...(sim === undefined ? ['--sim', 'off'] : ['--sim', 'on', '--seed', String(sim)]));
  const config = pairs && configOf(pairs);
  const run = async (more) => {
    const folder = config && mkdtempSync(join(tmpdir(), 'tickhive-test-')), all = [...flags, ...args, ...more];
    try {
      if (folder) {
        const file = join(folder, 'tickhive.toml');
        writeFileSync(file, config);
        all.push('--config', file);
      }
      const started = new Program(program, ['serve', '--ephemeral', '--until-stdin-closes', ...all]);
      return { program: started, said: JSON.parse(await started.line()) };
    } finally {
      if (folder) rmSync(folder, { recursive: true });
    }
  };
  const x = new Exchange(run, await run([]), clock === 'real');
  if (clock === 'virtual') await x.advance('0s'); // reads the clock
  return x;
}
