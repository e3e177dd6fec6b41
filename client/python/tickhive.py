"""Talks to a TickHive exchange: signed REST, and streams whose every message is checked.

It needs Python 3.8 or newer and nothing else. Decimals are decimal.Decimal in answers; pass text or
Decimal, never float. Requests are signed with HMAC; an Ed25519 key would need a library.

    x = Client('http://127.0.0.1:8080', public_key, private_key)
    order = x.place_order('BTC_USDT', 'buy', amount='0.01', price='10000')
    for book in BookStream('http://127.0.0.1:8080', ['BTC_USDT'], depth=10):
        print(book.pair, book.bids[0], book.asks[0])
"""

import base64
import binascii
import decimal
import hashlib
import hmac
import http.client
import json
import os
import secrets
import socket
import ssl
import struct
import time
import urllib.parse

MAX_ANSWER = 256 << 20  # bytes of one answer; a book of 100,000 levels has 5 MB
MAX_MESSAGE = 64 << 20  # bytes of one message of a stream
START_WAIT = 2  # seconds; directly after its start the exchange accepts no signed request for one, and carries out none
IDLE = 30.0  # seconds after which a kept connection is not used again
PATIENCE = 5.0  # seconds: a subscription speaks once a second at least
RETRY = 1.0  # seconds before a lost line is opened again, and between two resyncs


class Code:
    """The codes of APIError (docs/contract/errors.md#codes).

    go test ./internal/refuse -run TestTables -update writes them.
    """

    # the codes: internal/refuse/table.go
    INVALID_PARAM = 'INVALID_PARAM'
    UNAUTHORIZED = 'UNAUTHORIZED'
    FORBIDDEN = 'FORBIDDEN'
    NOT_FOUND = 'NOT_FOUND'
    METHOD_NOT_ALLOWED = 'METHOD_NOT_ALLOWED'
    REQUEST_TIMEOUT = 'REQUEST_TIMEOUT'
    CONFLICT = 'CONFLICT'
    PAYLOAD_TOO_LARGE = 'PAYLOAD_TOO_LARGE'
    URI_TOO_LONG = 'URI_TOO_LONG'
    UNSUPPORTED_MEDIA_TYPE = 'UNSUPPORTED_MEDIA_TYPE'
    RATE_LIMIT = 'RATE_LIMIT'
    HEADERS_TOO_LARGE = 'HEADERS_TOO_LARGE'
    INTERNAL = 'INTERNAL'
    UNAVAILABLE = 'UNAVAILABLE'
    OUTCOME_UNKNOWN = 'OUTCOME_UNKNOWN'
    NOT_WRITER = 'NOT_WRITER'
    STALE = 'STALE'
    INVALID_SYMBOL = 'INVALID_SYMBOL'
    SYMBOL_TAKEN = 'SYMBOL_TAKEN'
    COOLDOWN_ACTIVE = 'COOLDOWN_ACTIVE'
    INSUFFICIENT_FEE = 'INSUFFICIENT_FEE'
    SPAWNER_FAILED = 'SPAWNER_FAILED'
    LEVEL_TOO_LOW = 'LEVEL_TOO_LOW'
    NO_HOLDINGS = 'NO_HOLDINGS'
    PROPOSAL_NOT_FOUND = 'PROPOSAL_NOT_FOUND'
    ALREADY_VOTED = 'ALREADY_VOTED'
    PROPOSAL_CLOSED = 'PROPOSAL_CLOSED'
    PRICE_NOT_POSITIVE = 'PRICE_NOT_POSITIVE'
    PRICE_OFF_TICK = 'PRICE_OFF_TICK'
    PRICE_OUT_OF_RANGE = 'PRICE_OUT_OF_RANGE'
    AMOUNT_NOT_POSITIVE = 'AMOUNT_NOT_POSITIVE'
    AMOUNT_OFF_LOT = 'AMOUNT_OFF_LOT'
    AMOUNT_OUT_OF_RANGE = 'AMOUNT_OUT_OF_RANGE'
    TOTAL_OUT_OF_RANGE = 'TOTAL_OUT_OF_RANGE'
    BELOW_MIN_QUOTE_AMOUNT = 'BELOW_MIN_QUOTE_AMOUNT'
    ABOVE_MAX_QUOTE_AMOUNT = 'ABOVE_MAX_QUOTE_AMOUNT'
    TRAIL_OUT_OF_RANGE = 'TRAIL_OUT_OF_RANGE'
    PRICE_OUT_OF_BAND = 'PRICE_OUT_OF_BAND'
    ACCOUNT_HALTED = 'ACCOUNT_HALTED'
    INSUFFICIENT_FUNDS = 'INSUFFICIENT_FUNDS'
    WOULD_CROSS = 'WOULD_CROSS'
    WOULD_TRIGGER = 'WOULD_TRIGGER'
    LIST_PRICES = 'LIST_PRICES'
    NO_LIQUIDITY = 'NO_LIQUIDITY'
    FOK_UNFILLED = 'FOK_UNFILLED'
    PAIR_POST_ONLY = 'PAIR_POST_ONLY'
    PAIR_CANCEL_ONLY = 'PAIR_CANCEL_ONLY'
    PAIR_HALTED = 'PAIR_HALTED'
    ORDER_CLOSED = 'ORDER_CLOSED'
    ORDER_PENDING = 'ORDER_PENDING'
    AMEND_NOT_SMALLER = 'AMEND_NOT_SMALLER'
    CANCEL_RESTRICTED = 'CANCEL_RESTRICTED'
    CANCEL_FAILED = 'CANCEL_FAILED'
    DUPLICATE_CLIENT_ORDER_ID = 'DUPLICATE_CLIENT_ORDER_ID'
    TOO_MANY_ORDERS = 'TOO_MANY_ORDERS'
    TOO_MANY_STOPS = 'TOO_MANY_STOPS'
    TOO_MANY_LISTS = 'TOO_MANY_LISTS'
    TOO_MANY_SLICES = 'TOO_MANY_SLICES'
    TOO_MANY_AMENDS = 'TOO_MANY_AMENDS'
    # end


class APIError(Exception):
    """The error object of an answer."""

    def __init__(self, status, code, message, field=None, request_id=None):
        super().__init__('%s %s: %s' % (status, code, message))
        self.status, self.code, self.message, self.field, self.request_id = status, code, message, field, request_id


def sign(private_key, timestamp, nonce, method, target, body=b''):
    """Returns the signature of a request: hex HMAC-SHA256 over five lines."""
    text = '\n'.join([str(timestamp), nonce, method, target, hashlib.sha256(body).hexdigest()])
    return hmac.new(private_key.encode(), text.encode(), hashlib.sha256).hexdigest()


def credentials(public_key, private_key, method, target, body=b'', now=time.time):
    """Returns timestamp, nonce and signature of a request that is sent now."""
    if private_key.startswith('-----BEGIN'):
        raise ValueError('an Ed25519 key needs a library: make an HMAC key, or use the Go or JavaScript client')
    timestamp, nonce = str(int(now() * 1000)), secrets.token_hex(16)
    return timestamp, nonce, sign(private_key, timestamp, nonce, method, target, body)


def plain(value):
    """Returns a decimal as the exchange reads it: text without an exponent."""
    if isinstance(value, float):
        raise TypeError('%r is a float, which has no exact digits: pass text or Decimal' % value)
    d = decimal.Decimal(value)
    if not d.is_finite():
        raise ValueError('%r is no number' % value)
    return format(d, 'f')


_DECIMALS = ('amount', 'price', 'quoteAmount', 'stopPrice', 'displayAmount')


def _body(members):
    """Returns the members that are given, decimals as text."""
    return {name: plain(value) if name in _DECIMALS else value for name, value in members.items() if value is not None}


def order(side, amount=None, price=None, **more):
    """Returns an order of a list or of a batch; more has the other members of POST /api/orders."""
    return _body(dict(more, side=side, amount=amount, price=price))


def _part(value):
    """Returns a value as a part of a path."""
    return urllib.parse.quote(str(value), safe='')


def _parse(text):
    return json.loads(text, parse_float=decimal.Decimal)


class Client:
    """Calls one exchange. Only signed routes need the keys. It is not for several threads at a time."""

    def __init__(self, base, public_key=None, private_key=None, timeout=30.0, context=None, now=time.time):
        self.base = urllib.parse.urlsplit(base.rstrip('/'))
        if self.base.scheme not in ('http', 'https') or not self.base.hostname:
            raise ValueError('%r must have the form http://HOST:PORT' % base)
        self.public_key, self.private_key, self.timeout, self.now = public_key, private_key, timeout, now
        self.context = context or (ssl.create_default_context() if self.base.scheme == 'https' else None)
        self.connection, self.used = None, 0.0
        self.headers = {}  # of the last answer, by lower-case name

    def request(self, method, path, query=None, body=None, signed=False):
        """Sends one request and returns the decoded answer; APIError for a status other than 2xx."""
        query = {k: _word(v) for k, v in (query or {}).items() if v is not None}
        target = path + ('?' + urllib.parse.urlencode(query) if query else '')
        raw = b'' if body is None else json.dumps(body, separators=(',', ':')).encode()
        status, answer = self._once(method, target, raw, signed)
        wait = int(self.headers.get('retry-after', 0)) if status == 401 else 0
        if 0 < wait <= START_WAIT:
            time.sleep(wait)
            status, answer = self._once(method, target, raw, signed)
        if 200 <= status < 300:
            return _parse(answer)
        try:
            e = json.loads(answer)
            raise APIError(status, e['code'], e['message'], e.get('field'), e.get('requestId'))
        except (ValueError, KeyError, TypeError):
            raise APIError(status, None, answer[:200].decode('utf-8', 'replace')) from None

    def _once(self, method, target, raw, signed):
        headers = {'Content-Type': 'application/json'} if raw else {}
        if signed:
            stamp, nonce, signature = credentials(self.public_key, self.private_key, method, target, raw, self.now)
            headers.update({'API-PublicKey': self.public_key, 'API-Timestamp': stamp, 'API-Nonce': nonce, 'API-Signature': signature})
        return self._send(method, target, raw, headers)

    def _send(self, method, target, raw, headers):
        # The server closes idle connections. A GET on a kept connection that turns out to be closed
        # is repeated; anything else is not, because it may have arrived.
        if self.connection is not None and time.monotonic() - self.used > IDLE:
            self.close()
        while True:
            kept = self.connection is not None
            if not kept:
                kind = http.client.HTTPSConnection if self.context else http.client.HTTPConnection
                more = {'context': self.context} if self.context else {}
                self.connection = kind(self.base.hostname, self.base.port, timeout=self.timeout, **more)
            try:
                self.connection.request(method, target, raw or None, headers)
                response = self.connection.getresponse()
                answer = response.read(MAX_ANSWER + 1)
            except (http.client.HTTPException, OSError):
                self.close()
                if kept and method == 'GET':
                    continue
                raise
            if len(answer) > MAX_ANSWER:
                self.close()
                raise ValueError('the answer of %s has more than %d bytes' % (target, MAX_ANSWER))
            self.used = time.monotonic()
            self.headers = {k.lower(): v for k, v in response.getheaders()}
            return response.status, answer

    def close(self):
        """Closes the connection; the next request opens another one."""
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    # Market data

    def time(self):
        return self.request('GET', '/api/time')['serverTime']

    def pairs(self):
        return self.request('GET', '/api/currencies/pairs')

    def ticker(self, pair):
        return self.request('GET', '/api/tickers', {'currencyPairCode': pair})

    def summary(self):
        return self.request('GET', '/api/summary')

    def order_book(self, pair, depth=100):
        """Returns depth/2 levels a side (0: all), with seq."""
        book = self.request('GET', '/api/marketdata/getaggregator/orderbook', {'ticker_id': pair, 'depth': depth})
        book['seq'] = int(self.headers['x-seq'])
        return book

    def deals(self, pair, page=1, size=100, since=None, end=None):
        return self.request('GET', '/api/deals', {
            'currencyPairCode': pair, 'pageNumber': page, 'pageSize': size, 'sinceDate': since, 'endDate': end})

    def candles(self, pair, interval, start, end):
        return self.request('GET', '/api/ohlc', {'currencyPairCode': pair, 'interval': interval, 'start': start, 'end': end})

    # Trading

    def place_order(self, pair, side, amount=None, price=None, **more):
        """Places an order and returns its id. more has the other members of POST /api/orders: type, quoteAmount,
        stopPrice, trailingDelta and so on."""
        return self.request('POST', '/api/orders', body=dict(order(side, amount, price, **more), currencyPairCode=pair), signed=True)

    def amend_order(self, order, amount=None, price=None, **more):
        """Changes price or total amount of an order, stopPrice and trailingDelta of one that waits, and returns it.
        With keepPriority=True the amount must be smaller, and the order keeps its place in the queue."""
        return self.request('PATCH', '/api/orders/' + _part(order), body=_body(dict(more, amount=amount, price=price)), signed=True)

    def cancel_order(self, order, only_if=None):
        """Cancels an order; with only_if 'new' or 'partial' only if it has no deal yet, or has one."""
        return self.request('DELETE', '/api/orders/' + _part(order), {'onlyIf': only_if}, signed=True)

    def place_list(self, kind, pair, orders, **more):
        """Places a list of a kind (oco, oto, otoco, opo, opoco), whole or not at all, and returns it. The orders are
        made by order(); more may have clientOrderId."""
        body = dict(_body(more), kind=kind, currencyPairCode=pair, orders=orders)
        return self.request('POST', '/api/orders/lists', body=body, signed=True)

    def cancel_list(self, order_list):
        return self.request('DELETE', '/api/orders/lists/' + _part(order_list), signed=True)

    def list(self, order_list):
        """Returns a list with its orders."""
        return self.request('GET', '/api/orders/lists/' + _part(order_list), signed=True)

    def lists(self, status='executing'):
        """Yields all lists of a status (executing, done, all), newest first."""
        return self._pages('/api/user/lists', {'status': status})

    def batch(self, commands):
        """Carries out up to 100 commands in order and returns a result for each: {'place': order(...)} with a
        currencyPairCode, {'placeList': ...}, {'cancel': {'orderId': id}}, {'replace': {'orderId': id, ...}}."""
        return self.request('POST', '/api/orders/batch', body={'commands': commands}, signed=True)['results']

    def cancel_all(self, pair):
        return self.request('DELETE', '/api/orders', {'currencyPairCode': pair}, signed=True)['canceled']

    def order(self, order):
        """Returns an order with its deals."""
        return self.request('GET', '/api/orders/%s/deals' % _part(order), signed=True)

    def orders(self, pair=None, status='active'):
        """Yields all orders of a status, newest first."""
        return self._pages('/api/user/orders', {'currencyPairCode': pair, 'status': status})

    def fills(self, pair=None):
        """Yields all fills, newest first."""
        return self._pages('/api/user/deals', {'currencyPairCode': pair})

    def _pages(self, path, query, size=100):
        cursor = None
        while True:
            rows = self.request('GET', path, dict(query, cursor=cursor, pageSize=size), signed=True)
            cursor = self.headers.get('x-next-cursor')
            yield from rows
            if cursor is None:
                return

    def balances(self):
        """Returns the balances that are not zero, by currency."""
        rows = self.request('GET', '/api/wallets/balances', signed=True)['balances']
        return {row['currencyCode']: row for row in rows}


def _word(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


# Streams


class StreamClosed(Exception):
    """The line is closed; code is the WebSocket close code, None without one."""

    def __init__(self, code=None, reason=''):
        super().__init__('the stream was closed: %s %s' % (code, reason))
        self.code, self.reason = code, reason


class WebSocket:
    """A client of RFC 6455, as far as the streams need it: text messages, pings, the close."""

    def __init__(self, base, path='/ws', timeout=PATIENCE, context=None):
        at = urllib.parse.urlsplit(base)
        secure = at.scheme in ('https', 'wss')
        port = at.port or (443 if secure else 80)
        self.buffer, self.parts, self.closed = b'', [], False
        self.socket = socket.create_connection((at.hostname, port), timeout=timeout)
        try:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if secure:
                self.socket = (context or ssl.create_default_context()).wrap_socket(self.socket, server_hostname=at.hostname)
            self._handshake('%s:%d' % (at.hostname, port), path)
        except BaseException:
            self.socket.close()
            raise

    def _handshake(self, host, path):
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((
            'GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
            'Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n' % (path, host, key)).encode())
        while b'\r\n\r\n' not in self.buffer:
            if len(self.buffer) > 64 << 10:
                raise StreamClosed(None, 'the answer to the handshake does not end')
            self._fill()
        head, self.buffer = self.buffer.split(b'\r\n\r\n', 1)
        lines = head.decode('latin-1').split('\r\n')
        headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(':') for line in lines[1:])}
        digest = hashlib.sha1((key + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').encode()).digest()
        if ' 101' not in lines[0] or headers.get('sec-websocket-accept') != base64.b64encode(digest).decode():
            raise StreamClosed(None, lines[0])

    def _fill(self):
        chunk = self.socket.recv(1 << 16)
        if not chunk:
            raise StreamClosed(None, 'the server closed the connection')
        self.buffer += chunk

    def _frame(self):
        """Reads one frame. It leaves the buffer before the whole frame is there, so a timeout loses nothing."""
        first, second = self._need(2)
        length, at = second & 0x7f, 2
        if length > 125:
            at = 4 if length == 126 else 10
            length = int.from_bytes(self._need(at)[2:], 'big')
        if second & 0x80 or first & 0x70:
            raise StreamClosed(1002, 'a frame of the server is masked or has reserved bits')
        if length + sum(map(len, self.parts)) > MAX_MESSAGE:
            raise StreamClosed(1009, 'a message has more than %d bytes' % MAX_MESSAGE)
        payload = self._need(at + length)[at:]
        self.buffer = self.buffer[at + length:]
        return first, payload

    def _need(self, n):
        while len(self.buffer) < n:
            self._fill()
        return self.buffer[:n]

    def receive(self, timeout=None):
        """Returns the next text message; socket.timeout when none came in time."""
        if timeout is not None:
            self.socket.settimeout(timeout)
        while True:
            first, payload = self._frame()
            code = first & 0x0f
            if code == 8:
                status = struct.unpack('>H', payload[:2])[0] if len(payload) >= 2 else None
                self._write(8, payload[:2])
                raise StreamClosed(status, payload[2:].decode('utf-8', 'replace'))
            if code == 9:
                self._write(10, payload)
            elif code in (0, 1):
                self.parts.append(payload)
                if first & 0x80:
                    message, self.parts = b''.join(self.parts), []
                    return message.decode()
            elif code != 10:
                raise StreamClosed(1003, 'a frame of the kind %d' % code)

    def send(self, message):
        """Sends one text message."""
        self._write(1, message.encode())

    def _write(self, code, payload):
        mask, n = os.urandom(4), len(payload)
        if n < 126:
            head = struct.pack('>BB', 0x80 | code, 0x80 | n)
        elif n < 1 << 16:
            head = struct.pack('>BBH', 0x80 | code, 0x80 | 126, n)
        else:
            head = struct.pack('>BBQ', 0x80 | code, 0x80 | 127, n)
        key = (mask * (n // 4 + 1))[:n]
        masked = (int.from_bytes(payload, 'big') ^ int.from_bytes(key, 'big')).to_bytes(n, 'big')
        self.socket.sendall(head + mask + masked)

    def close(self):
        """Says goodbye and closes the connection."""
        if not self.closed:
            self.closed = True
            try:
                self._write(8, struct.pack('>H', 1000))
            except OSError:
                pass
            self.socket.close()


class Stream:
    """Subscriptions of one connection. Messages are dictionaries with decimals as text."""

    def __init__(self, base, timeout=PATIENCE, context=None):
        self.line = WebSocket(base, '/ws', timeout, context)
        self.last_id = 0

    def send(self, op, **members):
        """Sends one operation and returns its id."""
        self.last_id += 1
        self.line.send(json.dumps(dict(members, op=op, id=self.last_id)))
        return self.last_id

    def subscribe(self, channel, pairs=None, **options):
        members = dict(options, channel=channel, decimals='string')
        if pairs:
            members['pairs'] = list(pairs)
        return self.send('subscribe', **members)

    def auth(self, public_key, private_key, now=time.time):
        """Authenticates the connection for the channels orders, fills and balances."""
        stamp, nonce, signature = credentials(public_key, private_key, 'GET', '/ws', now=now)
        return self.send('auth', publicKey=public_key, timestamp=stamp, nonce=nonce, signature=signature)

    def receive(self, timeout=None):
        """Returns the next message. An error of the exchange is raised as APIError."""
        m = json.loads(self.line.receive(timeout))
        if m.get('type') == 'error':
            raise APIError(0, m.get('code'), m.get('message'))
        return m

    def close(self):
        self.line.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Book:
    """One order book, rebuilt from a snapshot and updates. Prices and amounts are text, best first."""

    def __init__(self, pair):
        self.pair, self.bids, self.asks, self.seq, self.epoch, self.time, self.ready = pair, [], [], 0, None, None, False

    def apply(self, m):
        """Returns 'shown' for a change that passed its checks, 'same' without one, 'broken' when a snapshot is needed."""
        kind = m['type']
        if kind == 'heartbeat':
            if self.ready and m['seq'] == self.seq:
                return 'same'
            self.ready = False
            return 'broken'
        if kind == 'snapshot':
            self.bids, self.asks = [list(x) for x in m['bids']], [list(x) for x in m['asks']]
            self.seq, self.epoch, self.ready = m['seq'], m['epoch'], True
        elif kind == 'update':
            if not self.ready or m['seq'] <= self.seq:
                return 'same'
            if m['prevSeq'] != self.seq:
                self.ready = False
                return 'broken'
            for level in m['bids']:
                _put(self.bids, level, -1)
            for level in m['asks']:
                _put(self.asks, level, 1)
            self.seq = m['seq']
        else:
            return 'same'
        self.time, self.ready = m['time'], self.checksum() == m['checksum']
        return 'shown' if self.ready else 'broken'

    def checksum(self):
        """CRC-32 of the ten best bids and asks, as printed."""
        def text(side):
            return ','.join('%s:%s' % (price, amount) for price, amount in side[:10])
        return binascii.crc32((text(self.bids) + '|' + text(self.asks)).encode())


def _put(side, level, direction):
    price, amount = level
    value = decimal.Decimal(price) * direction
    low, high = 0, len(side)
    while low < high:
        middle = (low + high) // 2
        if decimal.Decimal(side[middle][0]) * direction < value:
            low = middle + 1
        else:
            high = middle
    found = low < len(side) and side[low][0] == price
    if not decimal.Decimal(amount):
        if found:
            del side[low]
    elif found:
        side[low][1] = amount
    else:
        side.insert(low, [price, amount])


class BookStream:
    """Follows order books and yields each book after every checked change. A wrong book is asked for again;
    a lost or silent line is opened again and resumes from the known seq."""

    def __init__(self, base, pairs, depth=100, interval=100, context=None):
        self.base, self.depth, self.interval, self.context = base, depth, interval, context
        self.books = {pair: Book(pair) for pair in pairs}
        self.stream, self.asked, self.opened = None, {}, 0.0
        self.resyncs = self.reconnects = 0

    def __iter__(self):
        return self

    def __next__(self):
        while True:
            book = self.step()
            if book is not None:
                return book

    def step(self):
        """Takes one message; returns the book that it changed, or None."""
        try:
            if self.stream is None:
                self._open()
            m = self.stream.receive()
        except APIError as e:
            if e.code == Code.RATE_LIMIT:
                return None
            self.close()
            raise
        except (OSError, StreamClosed):
            self.close()
            self.reconnects += 1
            time.sleep(max(0.0, RETRY - (time.monotonic() - self.opened)))
            return None
        book = self.books.get(m.get('currencyPairCode'))
        if book is None or m.get('channel') != 'book':
            return None
        outcome = book.apply(m)
        if outcome == 'broken':
            self._resync(book)
        return book if outcome == 'shown' else None

    def _open(self):
        self.opened = time.monotonic()
        self.stream, self.asked = Stream(self.base, PATIENCE, self.context), {}
        for pair, book in self.books.items():
            more = {'fromSeq': book.seq, 'epoch': book.epoch} if book.ready else {}
            self.stream.subscribe('book', [pair], depth=self.depth, interval=self.interval, **more)

    def _resync(self, book):
        now = time.monotonic()
        if now - self.asked.get(book.pair, -RETRY) >= RETRY:
            self.asked[book.pair] = now
            self.resyncs += 1
            self.stream.send('resync', channel='book', pairs=[book.pair])

    def close(self):
        if self.stream is not None:
            self.stream.close()
        self.stream = None
