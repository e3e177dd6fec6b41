"""An exchange for a test: the program tickhive in a process of its own, on free ports and a virtual clock.

    with testing.start() as x:
        x.sell('BTC_USDT', '0.5', '65000')
        bot = Bot(x.client)
        ...
        x.advance('1h')

It ends with stop(), and with the test process however that ends. The names are those of the Go package tickhivetest.
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from types import TracebackType
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Type

from .rest import Client, plain
from .shapes import Amount

CLOCK_START = '2026-01-01T00:00:00Z'
TIMEOUT = 600  # seconds of a call of the internal API; a clock that advances by months simulates them

_OWN_ACCOUNT = '00000000-0000-0000-0000-000000000000'
_MAX_LOG = 64 << 10  # bytes of the log that are shown, the newest
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the exchange is on this machine


class Pair(NamedTuple):
    """A pair to trade: its code (ABC_USDT), the fractional digits of prices and of amounts, and the rate for makers and
    takers. Its currencies have 8 digits; it has no limits of prices or of small orders."""

    code: str
    price_digits: int
    amount_digits: int
    fee: str = '0.001'


class User:
    """A user with a key that trades; client signs with it and the exchange's clock."""

    def __init__(self, exchange: 'Exchange', id: str, public_key: str, private_key: str) -> None:
        self.exchange, self.id, self.public_key, self.private_key = exchange, id, public_key, private_key
        self.client = Client(exchange.url, public_key, private_key, now=exchange.now)

    def deposit(self, amount: Amount, currency: str) -> None:
        """Adds money to the user's balance."""
        self.exchange.call('POST', '/users/%s/deposits' % self.id, {'currencyCode': currency, 'amount': plain(amount, 'amount')})


class Fault:
    """A rule by which the exchange misbehaves."""

    def __init__(self, exchange: 'Exchange', id: int) -> None:
        self.exchange, self.id = exchange, id

    def hits(self) -> int:
        """Returns how often the fault was done so far, 0 when its rule has ended."""
        rules = self.exchange.call('GET', '/faults')['rules']
        return next((rule['applied'] for rule in rules if rule['id'] == self.id), 0)


class Exchange:
    """A running exchange, which start() makes. Its methods return when every later read shows the change.

    url: public REST and the page. stream_url: public and private streams. internal: the internal API. binance,
    binance_stream, binance_socket: Binance's REST, its streams (with the paths /ws and /stream), its WebSocket API.
    user: has money: 10,000 of each currency and 1,000 NATIVE, with a simulated market what is worth about 100,000 USDT of
    each. client: the client of user.
    """

    def __init__(self, run: Callable[[Sequence[str]], Tuple[Any, str]], log: Any, real: bool) -> None:
        self._run, self._log, self._now, self._real = run, log, 0.0, real
        self._users: List[User] = []
        said = self._said = self._begin([])
        self.url, self.internal = said['public'], said['internal'] + '/internal/v1'
        self.stream_url = self.url.replace('http', 'ws', 1) + '/ws'
        self.binance = said.get('binance', '')
        self.binance_stream = self.binance.replace('http', 'ws', 1)
        self.binance_socket = self.binance_stream and self.binance_stream + '/ws-api/v3'
        if not real:
            self.advance('0s')  # reads the clock
        self.user = self._user(said['userId'], said)
        self.client = self.user.client

    def __enter__(self) -> 'Exchange':
        return self

    def __exit__(self, type: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.stop()

    def _begin(self, flags: Sequence[str]) -> Dict[str, Any]:
        """Starts the program and returns what it says when it serves clients."""
        self._process, line = self._run(flags)
        self._down = False
        if not line:
            raise self._ended('before it was ready')
        said: Dict[str, Any] = json.loads(line)
        return said

    def _user(self, id: str, key: Dict[str, Any]) -> User:
        self._users.append(User(self, id, key['publicKey'], key['privateKey']))
        return self._users[-1]

    def _ended(self, when: str) -> RuntimeError:
        code = self._process.wait()
        return RuntimeError('%s ended with %d %s:\n%s' % (self._process.args[0], code, when, self.log()))

    def log(self) -> str:
        """Returns the last 64 KiB of the log."""
        end = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), _MAX_LOG, max(0, end - _MAX_LOG)).decode('utf-8', 'replace')

    def now(self) -> float:
        """Returns the time of the exchange's clock in seconds since 1970."""
        return time.time() if self._real else self._now

    def advance(self, duration: str) -> None:
        """Moves the clock, for example by '1h30m': what falls due on the way is applied."""
        self._now = self.call('POST', '/clock', {'advance': duration})['now'] / 1000

    def new_user(self, *money: str) -> User:
        """Adds a user with money, each amount with its currency: new_user('1000 USDT', '0.5 BTC')."""
        parts = [_money(m) for m in money]
        id = self.call('POST', '/users', {})['id']
        user = self._user(id, self.call('POST', '/users/%s/apikeys' % id, {'name': 'test'}))
        for amount, currency in parts:
            user.deposit(amount, currency)
        return user

    def buy(self, pair: str, amount: Amount, price: Optional[Amount] = None) -> None:
        """Places an order of the exchange's own account, which needs no money and pays no fee; without a price at the
        market."""
        self._place('buy', pair, amount, price)

    def sell(self, pair: str, amount: Amount, price: Optional[Amount] = None) -> None:
        """Is buy for the other side."""
        self._place('sell', pair, amount, price)

    def _place(self, side: str, pair: str, amount: Amount, price: Optional[Amount]) -> None:
        order = {'currencyPairCode': pair, 'side': side, 'type': 'market', 'amount': plain(amount, 'amount')}
        if price is not None:
            order.update(type='limit', price=plain(price, 'price'))
        reason = self.call('POST', '/orders', order)['rejectReason']
        if reason:
            at = 'the market' if price is None else price
            raise RuntimeError('%s %s %s at %s: %s (docs/contract/errors.md)' % (side, amount, pair, at, reason))

    def clear_book(self, pair: str) -> None:
        """Cancels the open orders of the exchange's own account on a pair."""
        query = urllib.parse.urlencode({'accountId': _OWN_ACCOUNT, 'currencyPairCode': pair})
        self.call('DELETE', '/orders?' + query)

    def fault(self, rule: str) -> Fault:
        """Makes the exchange misbehave by a rule, for example 'lost-ack probability=0.1 seed=1'."""
        return Fault(self, self.call('POST', '/faults', {'rules': [rule]})['rules'][0]['id'])

    def clear_faults(self) -> None:
        """Removes every fault."""
        self.call('DELETE', '/faults')

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Calls the internal API: call('POST', '/pairs', {...})."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.internal + path, data, {'Content-Type': 'application/json'}, method=method)
        try:
            with _direct.open(request, timeout=TIMEOUT) as response:
                return json.load(response)
        except urllib.error.HTTPError as e:
            with e:
                raise RuntimeError('%s %s: status %d: %s' % (method, path, e.code, e.read().decode())) from None

    def kill(self) -> None:
        """Ends the exchange as `kill -9` does: connections break off, requests under way get no answer. What was answered
        before is there after restart(); until then every connection fails."""
        if self._down:
            raise RuntimeError('kill: the exchange does not run; restart() starts it')
        self._down = True
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    def restart(self) -> None:
        """Starts the exchange again on the same addresses, with everything that it had stored; kills one that runs."""
        if not self._down:
            self.kill()
        flags = ['--data-dir', self._said['dataDir']]
        for name, flag in (('public', '--listen'), ('internal', '--internal-listen'), ('binance', '--binance-listen')):
            if name in self._said:
                flags += [flag, self._said[name].partition('://')[2]]
        self._begin(flags)
        if not self._real:
            self.advance('0s')  # a clock that runs by itself was killed, too

    def stop(self) -> None:
        """Ends the exchange in order. It also ends with the test process, however that ends."""
        if self._log.closed:
            return
        for user in self._users:
            user.client.close()
        if self._down:
            self._log.close()
            shutil.rmtree(self._said['dataDir'], ignore_errors=True)  # of the killed program
            return
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            if self._process.wait() != 0:
                raise self._ended('at its stop')
        finally:
            self._log.close()


def _money(text: str) -> Tuple[str, str]:
    """Returns the amount and the currency of '1000 USDT'."""
    amount, _, currency = text.partition(' ') if isinstance(text, str) else ('', '', '')
    try:
        return plain(amount, 'the amount'), currency or plain('')
    except ValueError:
        raise ValueError("%r must have the form AMOUNT CURRENCY, for example '1000 USDT'" % (text,)) from None


def _program(binary: Optional[str]) -> Tuple[str, str]:
    """Returns the file of the program, and where its name comes from."""
    if binary:
        return binary, 'the argument binary'
    named = os.environ.get('TICKHIVE_BINARY')
    return (named, 'TICKHIVE_BINARY') if named else ('tickhive', 'PATH')


def _config(pairs: Sequence[Pair]) -> str:
    """Returns the TOML of pairs."""
    if not pairs:
        raise ValueError('pairs must have a pair; leave it out for the built-in ones')
    pairs = [Pair(*p) for p in pairs]
    assets = dict.fromkeys(asset for p in pairs for asset in p.code.split('_'))
    parts = ['[[assets]]\nsymbol = %s\n' % json.dumps(asset) for asset in assets]
    for p in pairs:
        fee = json.dumps(p.fee)
        parts.append('[[pairs]]\ncode = %s\ndigits_price = %d\ndigits_amount = %d\nmaker_fee = %s\ntaker_fee = %s\n' % (
            json.dumps(p.code), p.price_digits, p.amount_digits, fee, fee))
    return ''.join(parts)


def start(pairs: Optional[Sequence[Pair]] = None, sim: Optional[int] = None, args: Sequence[str] = (),
          binary: Optional[str] = None, clock: str = 'virtual') -> Exchange:
    """Starts an exchange and returns when it serves clients; its clock shows 2026-01-01T00:00:00Z and its books are empty.

    pairs: in place of the 12 built-in ones. sim: the seed of a simulated market, 0 or more; without it nobody trades by
    himself. args: further flags of `tickhive serve`, for example ['--pairs', 'common']. binary: the program;
    without it the file that TICKHIVE_BINARY names, or tickhive of the PATH. clock: real shows the machine's
    time, which advance does not move: for programs that sign with it.
    """
    if clock not in ('virtual', 'real'):
        raise ValueError('clock must be virtual or real: %r' % clock)
    file, source = _program(binary)
    flags = ['--clock', clock, '--set', 'journal.scrub_every=0']
    if clock == 'virtual':
        flags += ['--clock-start', CLOCK_START]
    flags += ['--sim', 'off'] if sim is None else ['--sim', 'on', '--seed', str(sim)]
    # Keys of the configuration stay out: a test is the same on every machine.
    environment = {name: value for name, value in os.environ.items() if not name.startswith('TICKHIVE_')}
    text = None if pairs is None else _config(pairs)
    log = tempfile.TemporaryFile()
    started: List[Any] = []

    def run(more: Sequence[str]) -> Tuple[Any, str]:
        """Starts the program. Returns it and its first line, which is empty when it has ended before."""
        command = [file, 'serve', '--ephemeral', '--until-stdin-closes', *flags, *args, *more]
        with tempfile.TemporaryDirectory() as folder:
            if text is not None:
                command += ['--config', os.path.join(folder, 'tickhive.toml')]
                with open(command[-1], 'w', encoding='utf-8') as out:
                    out.write(text)
            try:
                process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment)
            except OSError as e:
                raise RuntimeError(
                    'The program %s (from %s) cannot be started: %s. Build it with "make build" in the source of TickHive; '
                    'then put bin/tickhive on the PATH, or name the file in TICKHIVE_BINARY or in start(binary=...)' % (
                        file, source, e)) from e
            started.append(process)
            return process, process.stdout.readline()
    try:
        return Exchange(run, log, clock == 'real')
    except BaseException:
        for process in started:
            process.communicate()  # closes its input, which ends it
        log.close()
        raise
