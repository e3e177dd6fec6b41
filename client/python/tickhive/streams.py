"""WebSockets, subscriptions, and order books that are checked message by message (docs/contract/streams.md)."""

import base64
import binascii
import decimal
import hashlib
import json
import os
import socket
import ssl
import struct
import time
import urllib.parse
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

from .errors import APIError, Code
from .signing import credentials

MAX_MESSAGE = 64 << 20  # bytes of one message of a stream
PATIENCE = 5.0  # seconds: a subscription speaks once a second at least
RETRY = 1.0  # seconds before a lost line is opened again, and between two resyncs


class StreamClosed(Exception):
    """The line is closed; code is the WebSocket close code, None without one."""

    def __init__(self, code: Optional[int] = None, reason: str = '') -> None:
        super().__init__('the stream was closed: ' + ' '.join(str(part) for part in (code, reason) if part))
        self.code, self.reason = code, reason


class WebSocket:
    """A client of RFC 6455, as far as the streams need it: text messages, pings, the close."""

    def __init__(self, base: str, path: str = '/ws', timeout: float = PATIENCE,
                 context: Optional[ssl.SSLContext] = None) -> None:
        at = urllib.parse.urlsplit(base)
        secure = at.scheme in ('https', 'wss')
        port = at.port or (443 if secure else 80)
        host = at.hostname or ''
        self.buffer, self.closed = b'', False
        self.parts: List[bytes] = []
        self.socket = socket.create_connection((host, port), timeout=timeout)
        try:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if secure:
                self.socket = (context or ssl.create_default_context()).wrap_socket(self.socket, server_hostname=host)
            self._handshake('%s:%d' % (host, port), path)
        except BaseException:
            self.socket.close()
            raise

    def _handshake(self, host: str, path: str) -> None:
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

    def _fill(self) -> None:
        chunk = self.socket.recv(1 << 16)
        if not chunk:
            raise StreamClosed(None, 'the server closed the connection')
        self.buffer += chunk

    def _frame(self) -> Tuple[int, bytes]:
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

    def _need(self, n: int) -> bytes:
        while len(self.buffer) < n:
            self._fill()
        return self.buffer[:n]

    def receive(self, timeout: Optional[float] = None) -> str:
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

    def send(self, message: str) -> None:
        """Sends one text message."""
        self._write(1, message.encode())

    def _write(self, code: int, payload: bytes) -> None:
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

    def close(self) -> None:
        """Sends a close frame and closes the connection."""
        if not self.closed:
            self.closed = True
            try:
                self._write(8, struct.pack('>H', 1000))
            except OSError:
                pass
            self.socket.close()


def _codes(pairs: Iterable[str]) -> List[str]:
    if isinstance(pairs, str):
        raise TypeError('pairs must be a list of codes: [%r], not %r' % (pairs, pairs))
    return list(pairs)


class Stream:
    """Subscriptions of one connection. Messages are dictionaries with decimals as text."""

    def __init__(self, base: str, timeout: float = PATIENCE, context: Optional[ssl.SSLContext] = None) -> None:
        self.line = WebSocket(base, '/ws', timeout, context)
        self.last_id = 0

    def send(self, op: str, **members: Any) -> int:
        """Sends one operation and returns its id."""
        self.last_id += 1
        self.line.send(json.dumps(dict(members, op=op, id=self.last_id)))
        return self.last_id

    def subscribe(self, channel: str, pairs: Optional[Iterable[str]] = None, **options: Any) -> int:
        """Subscribes to a channel; options are depth, interval, fromSeq, epoch, fromTradeId, decimals."""
        members = dict({'decimals': 'string'}, channel=channel, **options)
        if pairs:
            members['pairs'] = _codes(pairs)
        return self.send('subscribe', **members)

    def auth(self, public_key: str, private_key: str, now: Callable[[], float] = time.time,
             cancel_on_disconnect: bool = False, grace_ms: Optional[int] = None,
             recv_window: Optional[int] = None) -> int:
        """Authenticates the connection for the channels orders, fills and balances. With cancel_on_disconnect all orders of
        the account are canceled grace_ms (5,000) after its last connection with this wish is gone. recv_window (5,000)
        is the age in ms up to which the exchange accepts the timestamp."""
        stamp, nonce, signature = credentials(public_key, private_key, 'GET', '/ws', now=now)
        members: Dict[str, Any] = {'cancelOnDisconnect': True} if cancel_on_disconnect else {}
        if grace_ms is not None:
            members['graceMs'] = grace_ms
        if recv_window is not None:
            members['recvWindow'] = recv_window
        return self.send('auth', publicKey=public_key, timestamp=stamp, nonce=nonce, signature=signature, **members)

    def receive(self, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Returns the next message. An error of the exchange is raised as APIError."""
        m = json.loads(self.line.receive(timeout), parse_float=decimal.Decimal)
        if not isinstance(m, dict) or 'type' not in m:
            raise APIError(0, None, 'this is no stream of TickHive, perhaps that of the Binance-compatible listener: %.200s' % m)
        if m['type'] == 'error':
            raise APIError(0, m.get('code'), m.get('message'))
        return m

    def close(self) -> None:
        self.line.close()

    def __enter__(self) -> 'Stream':
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Book:
    """One order book, rebuilt from a snapshot and updates. Prices and amounts are text, best first."""

    def __init__(self, pair: str) -> None:
        self.pair, self.seq, self.ready = pair, 0, False
        self.bids: List[List[str]] = []
        self.asks: List[List[str]] = []
        self.epoch: Optional[str] = None
        self.time: Optional[int] = None  # of the last change, Unix ms

    def apply(self, m: Dict[str, Any]) -> str:
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

    def checksum(self) -> int:
        """CRC-32 of the ten best bids and asks, as printed."""
        def text(side: List[List[str]]) -> str:
            return ','.join('%s:%s' % (price, amount) for price, amount in side[:10])
        return binascii.crc32((text(self.bids) + '|' + text(self.asks)).encode())


def _put(side: List[List[str]], level: Sequence[str], direction: int) -> None:
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

    def __init__(self, base: str, pairs: Iterable[str], depth: int = 100, interval: int = 100,
                 context: Optional[ssl.SSLContext] = None) -> None:
        self.base, self.depth, self.interval, self.context = base, depth, interval, context
        self.books = {pair: Book(pair) for pair in _codes(pairs)}
        self.stream: Optional[Stream] = None
        self.asked: Dict[str, float] = {}
        self.opened = 0.0
        self.resyncs = self.reconnects = 0

    def __iter__(self) -> 'BookStream':
        return self

    def __next__(self) -> Book:
        while True:
            book = self.step()
            if book is not None:
                return book

    def step(self) -> Optional[Book]:
        """Takes one message; returns the book that it changed, or None."""
        try:
            m = (self.stream or self._open()).receive()
        except APIError as e:
            if e.code == Code.RATE_LIMIT:
                return None
            if e.code != Code.STALE:  # said by a node that is behind
                self.close()
                raise
            self._lose()
            return None
        except (OSError, StreamClosed):
            self._lose()
            return None
        book = self.books.get(m.get('currencyPairCode'))
        if book is None or m.get('channel') != 'book':
            return None
        outcome = book.apply(m)
        if outcome == 'broken' and self.stream is not None:
            self._resync(self.stream, book)
        return book if outcome == 'shown' else None

    def _lose(self) -> None:
        self.close()
        self.reconnects += 1
        time.sleep(max(0.0, RETRY - (time.monotonic() - self.opened)))

    def _open(self) -> Stream:
        self.opened = time.monotonic()
        stream = self.stream = Stream(self.base, PATIENCE, self.context)
        self.asked = {}
        for pair, book in self.books.items():
            more: Dict[str, Any] = {'fromSeq': book.seq, 'epoch': book.epoch} if book.ready else {}
            stream.subscribe('book', [pair], depth=self.depth, interval=self.interval, **more)
        return stream

    def _resync(self, stream: Stream, book: Book) -> None:
        now = time.monotonic()
        if now - self.asked.get(book.pair, -RETRY) >= RETRY:
            self.asked[book.pair] = now
            self.resyncs += 1
            stream.send('resync', channel='book', pairs=[book.pair])

    def close(self) -> None:
        if self.stream is not None:
            self.stream.close()
        self.stream = None
