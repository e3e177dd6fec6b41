"""Tests of the package tickhive: python3 client/python/tickhive_test.py. With BASE, INTERNAL (the two listeners), PUBLIC and
PRIVATE (a key pair) in the environment it also asks a running exchange everything once; with TICKHIVE_BINARY
(the program) it starts exchanges."""

import contextlib
import inspect
import json
import os
import socket
import subprocess
import struct
import sys
import tempfile
import threading
import time
import typing
import unittest
import unittest.mock
import urllib.request
from decimal import Decimal

sys.dont_write_bytecode = True
import tickhive  # noqa: E402
from tickhive import private, rest, streams, testing  # noqa: E402


class Signing(unittest.TestCase):
    def test_the_vectors_of_the_contract(self):
        for nonce, method, target, body, want in [
            ('n-1', 'GET', '/api/affiliate/accruals?pageNumber=1&currencyCode=US%44T', b'',
             '7c72f27d874d374164db11a4998dd423cdae47c857517918e62f06eb69370f37'),
            ('n-2', 'POST', '/api/launchpad/spawn', b'{"name":"My Token","symbol":"ALPHA"}',
             '1063a1ede675edbe514081291c52fb5572d123ed807dcff377e4a224cc7ffb5e'),
        ]:
            self.assertEqual(tickhive.sign('privKEY456', 1767225600000, nonce, method, target, body), want)

    def test_a_key_in_pem_is_refused(self):
        with self.assertRaisesRegex(ValueError, 'Ed25519 or RSA'):
            tickhive.credentials('p', '-----BEGIN PRIVATE KEY-----', 'GET', '/')

    def test_a_request_directly_after_a_start_is_sent_once_more(self):
        sent, slept = [], []
        x = tickhive.Client('http://127.0.0.1:1', 'p', 's')

        def send(method, target, raw, headers):
            sent.append(headers['API-Nonce'])
            x.headers = {'retry-after': '1'} if len(sent) == 1 else {}
            return (401, b'{"code": "UNAUTHORIZED", "message": "m"}') if len(sent) == 1 else (200, b'[]')

        x._send, sleep, rest.time.sleep = send, rest.time.sleep, slept.append
        try:
            self.assertEqual(x.request('GET', '/api/apikeys', signed=True), [])
        finally:
            rest.time.sleep = sleep
        self.assertEqual((len(set(sent)), slept), (2, [1]))

    def test_an_answer_that_breaks_off_is_no_answer(self):
        listener = socket.create_server(('127.0.0.1', 0))
        self.addCleanup(listener.close)

        def answer():
            line, _ = listener.accept()
            with line:
                line.recv(4096)
                line.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[1]')
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        x = tickhive.Client('http://127.0.0.1:%d' % listener.getsockname()[1])
        self.assertRaises(rest.http.client.IncompleteRead, x.pairs)
        thread.join(30)

    def test_decimals_are_exact(self):
        self.assertEqual([tickhive.plain(v) for v in ('1E-7', Decimal('1E+3'), 5)], ['0.0000001', '1000', '5'])
        for bad in (0.1, 'NaN', 'x'):
            self.assertRaises((TypeError, ValueError, ArithmeticError), tickhive.plain, bad)


class Orders(unittest.TestCase):
    def sent(self, call, answer=b'{}'):
        """Returns what a call sends: the method, the target and the body."""
        seen = []
        x = tickhive.Client('http://127.0.0.1:1', 'p', 's')

        def send(method, target, raw, headers):
            self.assertIn('API-Signature', headers)
            seen.append((method, target, json.loads(raw or b'null')))
            return 200, answer

        x._send = send
        call(x)
        return seen

    def test_members_of_orders_and_changes(self):
        for call, want in [
            (lambda x: x.place_order('A_B', 'sell', amount=1, type='stop_market', stopPrice=Decimal('9.50'), trailingDelta=150, strictTrigger=True),
             ('POST', '/api/orders', {'currencyPairCode': 'A_B', 'side': 'sell', 'amount': '1', 'type': 'stop_market',
                                      'stopPrice': '9.50', 'trailingDelta': 150, 'strictTrigger': True})),
            (lambda x: x.place_order('A_B', 'sell', quoteAmount='25', type='market', clientIdScope='open', strategyId=3, postOnly=None),
             ('POST', '/api/orders', {'currencyPairCode': 'A_B', 'side': 'sell', 'quoteAmount': '25', 'type': 'market',
                                      'clientIdScope': 'open', 'strategyId': 3})),
            (lambda x: x.change_order('7', amount='0.5', keepPriority=True),
             ('PATCH', '/api/orders/7', {'amount': '0.5', 'keepPriority': True})),
            (lambda x: x.change_order('7', price='9', stopPrice='8', trailingDelta=20),
             ('PATCH', '/api/orders/7', {'price': '9', 'stopPrice': '8', 'trailingDelta': 20})),
        ]:
            self.assertEqual(self.sent(call), [want])

    def test_what_is_no_id_and_no_number_is_refused(self):
        x = tickhive.Client('http://127.0.0.1:1', 'a', 'b')
        for wrong in ({'id': '7'}, None, True):
            with self.assertRaisesRegex(TypeError, 'is no id'):
                x.cancel_order(wrong)
        for wrong in ('abc', '0,001', ''):
            with self.assertRaisesRegex(ValueError, 'amount %r is no number' % wrong):
                x.place_order('BTC_USDT', 'buy', wrong, '1')
        with self.assertRaisesRegex(TypeError, 'amount True is no number'):
            x.place_order('BTC_USDT', 'buy', True, '1')

    def test_a_market_order_is_one_word(self):
        want = ('POST', '/api/orders', {'currencyPairCode': 'A_B', 'side': 'buy', 'amount': '1', 'isMarket': True})
        self.assertEqual(self.sent(lambda x: x.place_order('A_B', 'buy', amount=1, market=True)), [want])
        for more in ({}, {'type': 'limit'}, {'stopPrice': 9}):
            with self.assertRaisesRegex(ValueError, 'a limit order needs a price; market=True trades'):
                tickhive.order('buy', 1, **more)
        for kind, instead in (('stop_limit', 'stop_market'), ('take_profit_limit', 'take_profit_market')):
            with self.assertRaisesRegex(ValueError, 'a %s order needs a price; %s trades' % (kind, instead)):
                tickhive.order('buy', 1, type=kind, stopPrice=9)

    def test_every_other_call(self):
        for call, want in [
            (lambda x: x.cancel_order_by_client_id('A_B', 'a:1', only_if='new'),
             ('DELETE', '/api/orders/by-client-id/A_B/a%3A1?onlyIf=new', None)),
            (lambda x: x.order_by_client_id('A_B', 'a'), ('GET', '/api/orders/by-client-id/A_B/a', None)),
            (lambda x: x.cancel_list_by_client_id('A_B', 'a'), ('DELETE', '/api/orders/lists/by-client-id/A_B/a', None)),
            (lambda x: x.list_by_client_id('A_B', 'a'), ('GET', '/api/orders/lists/by-client-id/A_B/a', None)),
            (lambda x: x.amendments('7'), ('GET', '/api/orders/7/amendments', None)),
            (lambda x: x.prevented_matches('A_B', 3), ('GET', '/api/user/prevented-matches?currencyPairCode=A_B&from=3', None)),
            (lambda x: list(x.fills(order='7', since='2026-01-01')),
             ('GET', '/api/user/deals?orderId=7&sinceDate=2026-01-01&pageSize=100', None)),
        ]:
            self.assertEqual(self.sent(call), [want])
        self.assertEqual(self.sent(lambda x: self.assertEqual(x.cancel_all(), 3), b'{"canceled": 3}'),
                         [('DELETE', '/api/orders?all=true', None)])
        self.assertEqual(self.sent(lambda x: self.assertIsNone(x.cancel_all_after(0)), b'{"timeoutMs": 0, "firesAt": null}'),
                         [('POST', '/api/orders/cancel-all-after', {'timeoutMs': 0})])

    def test_lists_and_batches(self):
        legs = [tickhive.order('sell', 1, '11', type='limit', postOnly=True), tickhive.order('sell', 1, type='stop_market', stopPrice='9')]
        wire = [{'side': 'sell', 'amount': '1', 'price': '11', 'type': 'limit', 'postOnly': True},
                {'side': 'sell', 'amount': '1', 'type': 'stop_market', 'stopPrice': '9'}]
        placed = {'kind': 'oco', 'currencyPairCode': 'A_B', 'clientOrderId': 'c', 'orders': wire}
        for call, want in [
            (lambda x: x.place_list('oco', 'A_B', legs, clientOrderId='c'), ('POST', '/api/orders/lists', placed)),
            (lambda x: x.cancel_order('7'), ('DELETE', '/api/orders/7', None)),
            (lambda x: x.cancel_order('7', only_if='new'), ('DELETE', '/api/orders/7?onlyIf=new', None)),
            (lambda x: x.cancel_list('7'), ('DELETE', '/api/orders/lists/7', None)),
            (lambda x: x.list('7'), ('GET', '/api/orders/lists/7', None)),
            (lambda x: list(x.lists()), ('GET', '/api/user/lists?status=executing&pageSize=100', None)),
        ]:
            self.assertEqual(self.sent(call), [want])
        commands = [{'place': dict(legs[0], currencyPairCode='A_B')}, {'placeList': placed}, {'cancel': {'orderId': '7'}}]
        self.assertEqual(self.sent(lambda x: self.assertEqual(x.batch(commands), [1]), b'{"results": [1]}'),
                         [('POST', '/api/orders/batch', {'commands': commands})])
        self.assertRaises(TypeError, tickhive.order, 'sell', 0.1, 1)

    def test_decimals_written_by_hand_are_converted_and_refused_too(self):
        leg, none = {'side': 'sell', 'amount': Decimal('1.0'), 'price': 11}, {'clientOrderId': None}
        wire = {'side': 'sell', 'amount': '1.0', 'price': '11'}
        given = [{'cancel': {'orderId': '7'}}, {'replace': {'orderId': '7', 'price': Decimal('9')}},
                 {'placeList': {'kind': 'oco', 'orders': (leg, dict(leg, **none))}}]
        sent = [{'cancel': {'orderId': '7'}}, {'replace': {'orderId': '7', 'price': '9'}},
                {'placeList': {'kind': 'oco', 'orders': [wire, wire]}}]
        self.assertEqual(self.sent(lambda x: x.batch(iter(given)), b'{"results": []}'),
                         [('POST', '/api/orders/batch', {'commands': sent})])
        self.assertEqual(self.sent(lambda x: x.place_list('oco', 'A_B', iter([leg, leg]))),
                         [('POST', '/api/orders/lists', {'kind': 'oco', 'currencyPairCode': 'A_B', 'orders': [wire, wire]})])
        x = tickhive.Client('http://127.0.0.1:1', 'p', 's')
        for call, place in [
            (lambda: x.batch([given[0], {'replace': {'orderId': '7', 'price': 9.5}}]), r'commands\[1\].replace.price 9.5 is a float'),
            (lambda: x.batch([{'placeList': {'orders': [leg, dict(leg, amount='x')]}}]),
             r"commands\[0\].placeList.orders\[1\].amount 'x' is no number"),
            (lambda: x.place_list('oco', 'A_B', [leg, dict(leg, stopPrice=0.1)]), r'orders\[1\].stopPrice 0.1 is a float'),
        ]:
            with self.assertRaisesRegex((TypeError, ValueError), place):
                call()

    def test_what_is_no_pair_and_no_client_id_is_refused(self):
        x = tickhive.Client('http://127.0.0.1:1', 'p', 's')
        for wrong in ('', ['A_B'], 0):
            with self.assertRaisesRegex(ValueError, 'is no pair'):
                x.cancel_all(wrong)
        for wrong in ('', 'a/b', 'a\n', 'a' * 65, 7, None):
            for call in (x.cancel_order_by_client_id, x.order_by_client_id, x.list_by_client_id, x.cancel_list_by_client_id):
                with self.assertRaisesRegex(ValueError, 'is no clientOrderId, which has 1 to 64'):
                    call('A_B', wrong)
        for call in (lambda: tickhive.BookStream('http://127.0.0.1:1', 'A_B'),
                     lambda: tickhive.Stream.subscribe(unittest.mock.Mock(), 'book', 'A_B')):
            with self.assertRaisesRegex(TypeError, r"pairs must be a list of codes: \['A_B'\], not 'A_B'"):
                call()

    def test_a_key_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, 'key.json')
            for text in ('{"publicKey": "p"}', '[]', '7', 'PUBLIC=1', ''):
                with open(file, 'w', encoding='utf-8') as out:
                    out.write(text)
                with self.assertRaisesRegex(ValueError, 'key.json is no key file: .*demo-key FILE'):
                    tickhive.Client.from_key_file('http://127.0.0.1:1', file)
            with open(file, 'w', encoding='utf-8') as out:
                out.write('{"kind": "tickhive-demo-key", "publicKey": "p", "privateKey": "s"}')
            x = tickhive.Client.from_key_file('http://127.0.0.1:1', file, timeout=3)
            self.assertEqual((x.public_key, x.private_key, x.timeout), ('p', 's', 3))

    def test_a_client_in_two_threads_says_so(self):
        x, inside, go_on = tickhive.Client('http://127.0.0.1:1', 'p', 's'), threading.Event(), threading.Event()

        def send(method, target, raw, headers):
            inside.set()
            go_on.wait(30)
            return 200, b'[]'
        x._send = send
        thread = threading.Thread(target=x.pairs, daemon=True)
        thread.start()
        inside.wait(30)
        with self.assertRaisesRegex(RuntimeError, 'GET /api/time: another thread uses this client'):
            x.time()
        go_on.set()
        thread.join(30)
        self.assertEqual(x.pairs(), [])


def fill(pair, second, trade, order):
    return {'currencyPairCode': pair, 'dealDateUtc': '2026-01-01T00:00:%02d.0000000Z' % second, 'tradeId': trade, 'orderId': order}


class Cursors(unittest.TestCase):
    def test_each_fill_is_passed_once(self):
        c = private._Cursor({})
        self.assertFalse(c.passed(fill('A_B', 1, 1, '7')))
        c.advance(fill('A_B', 5, 17, '7'))
        c.advance(fill('C_D', 3, 900, '9'))
        self.assertEqual(c.value(), {'date': '2026-01-01T00:00:05.0000000Z', 'pairs': {
            'A_B': {'date': '2026-01-01T00:00:05.0000000Z', 'tradeId': 17, 'orderIds': ['7']},
            'C_D': {'date': '2026-01-01T00:00:03.0000000Z', 'tradeId': 900, 'orderIds': ['9']}}})
        again = private._Cursor(json.loads(json.dumps(c.value())))
        for f, passed in [
            (fill('A_B', 5, 17, '7'), True),
            (fill('A_B', 5, 17, '8'), False),  # the other side of a trade with oneself
            (fill('A_B', 5, 16, '8'), True),
            (fill('A_B', 5, 18, '7'), False),
            (fill('A_B', 4, 18, '7'), True),  # of a history that the exchange has lost
            (fill('A_B', 6, 12, '7'), False),
            (fill('C_D', 4, 901, '9'), False),  # older than the newest fill of another pair
            (fill('E_F', 1, 1, '9'), False),
        ]:
            self.assertEqual(again.passed(f), passed, f)
        again.advance(fill('A_B', 5, 17, '8'))
        self.assertTrue(again.passed(fill('A_B', 5, 17, '7')) and again.passed(fill('A_B', 5, 17, '8')))
        self.assertFalse(c.passed(fill('A_B', 5, 17, '8')))

    def test_old_ends_are_forgotten(self):
        k = private._OpenOrders()
        for i in range(3000):
            o = {'id': str(i), 'status': 'Canceled', 'date': '2026-01-01T00:%02d:%02d.0000000Z' % divmod(i, 60)}
            self.assertEqual((k.note(o), k.note(o)), (True, False))
        self.assertTrue(len(k.ended) <= 1100 and '2990' in k.ended)

    def test_many_rows_are_read_from_their_list(self):
        asked = []

        def one(id):
            asked.append(id)
            if id == '0':
                raise tickhive.APIError(404, 'NOT_FOUND', 'no such row')
            return {'id': id}
        listed = iter([{'id': str(i)} for i in range(200, 0, -1)])  # 100 others are newer, and 0 is no longer kept
        ids = [str(i) for i in range(100)]
        self.assertEqual(sorted(row['id'] for row in private._read(ids, listed, one)), sorted(ids[1:]))
        self.assertEqual((len(asked), next(listed)['id']), (private._FEW, '9'))
        self.assertEqual(private._read(['0', '3'], listed, one), [{'id': '3'}])
        self.assertEqual(next(listed)['id'], '8')

    def test_the_orders_of_the_first_fills_may_have_ended(self):
        k = private._OpenOrders()
        k.note_fill({'orderId': '1'})
        self.assertEqual(k.restart({'orders': [], 'lists': []}), (['1'], []))
        self.assertEqual(k.lists_of([{'listId': 'a'}, {'listId': None}], ['b']), ['b', 'a'])
        k.heard_ms = 1
        k.note_fill({'orderId': '2'})
        self.assertEqual((k.open, k.lists_of([{'listId': 'a'}], ['b'])), (set(), ['b']))

    def test_an_update_that_comes_twice_is_taken_once(self):
        stream = tickhive.PrivateStream('http://127.0.0.1:1', 'p', 's')
        stream._seqs = {'fills': 1}

        def update(before, seq):
            stream._handle({'type': 'update', 'channel': 'fills', 'prevSeq': before, 'seq': seq, 'fill': fill('A_B', 1, seq, '7')})
        for before, seq in ((1, 2), (1, 2), (2, 3), (1, 2)):
            update(before, seq)
        with self.assertRaisesRegex(OSError, 'missing behind seq 3'):
            update(4, 5)
        self.assertEqual([event['fill']['tradeId'] for event in stream._queue], [2, 3])

    def test_a_snapshot_names_what_has_ended(self):
        k = private._OpenOrders()
        for i in '123':
            k.note({'id': i, 'status': 'Created', 'date': ''})
            k.note_list({'id': i, 'status': 'executing'})
        k.note({'id': '3', 'status': 'Completed', 'date': ''})
        k.note_list({'id': '3', 'status': 'done'})
        self.assertEqual(k.restart({'orders': [{'id': '2', 'status': 'PartiallyCompleted', 'date': ''}],
                                    'lists': [{'id': '2', 'status': 'executing'}]}), (['1'], ['1']))


class Types(unittest.TestCase):
    def test_every_function_is_annotated(self):
        for module in (tickhive.errors, private, rest, tickhive.signing, streams, testing):
            for name, value in vars(module).items():
                if getattr(value, '__module__', None) != module.__name__:
                    continue
                for f in [value] + list(vars(value).values()) if isinstance(value, type) else [value]:
                    if inspect.isfunction(f) and f.__code__.co_filename == module.__file__:
                        hints = typing.get_type_hints(f)
                        missing = set(inspect.signature(f).parameters) - {'self', '_'} - set(hints)
                        self.assertTrue('return' in hints and not missing, '%s.%s: %s' % (name, f.__name__, missing))
        for shape in (tickhive.Order, tickhive.OrderList, tickhive.Fill, tickhive.Balance, tickhive.Cursor, tickhive.Event):
            self.assertTrue(typing.get_type_hints(shape))


def message(kind, seq, bids, asks=(), checksum=None, **more):
    m = dict(more, type=kind, channel='book', currencyPairCode='A_B', seq=seq, time=1, epoch='e', bids=bids, asks=asks)
    m['checksum'] = checksum
    return m


class Books(unittest.TestCase):
    def test_the_checksums_of_the_contract(self):
        b = tickhive.Book('A_B')
        self.assertEqual(b.checksum(), 2343686810)
        b.bids, b.asks = [['65000.50', '0.12500000'], ['65000.00', '1.00000000']], [['65001.00', '0.50000000']]
        self.assertEqual(b.checksum(), 1722274598)

    def test_a_gap_a_wrong_checksum_and_a_lost_update_are_found(self):
        def ready():
            b, twin = tickhive.Book('A_B'), tickhive.Book('A_B')
            twin.bids = [['9.0', '1.0'], ['8.0', '1.0']]
            self.assertEqual(b.apply(message('snapshot', 5, twin.bids, checksum=twin.checksum())), 'shown')
            return b, twin
        b, twin = ready()
        twin.bids = [['10.0', '2.0'], ['8.0', '3.0']]
        update = message('update', 7, [['9.0', '0.0'], ['10.0', '2.0'], ['8.0', '3.0']], checksum=twin.checksum(), prevSeq=5)
        self.assertEqual([b.apply(update), b.apply(update), b.bids], ['shown', 'same', twin.bids])
        self.assertEqual(b.apply(message('heartbeat', 7, [])), 'same')
        self.assertEqual(b.apply(message('heartbeat', 8, [])), 'broken')
        self.assertEqual((ready()[0].apply(message('update', 9, [], prevSeq=8)), ready()[0].apply(dict(update, checksum=1))), ('broken', 'broken'))
        b, _ = ready()
        b.apply(message('update', 9, [], prevSeq=8))
        self.assertEqual((b.ready, b.apply(message('update', 10, [], prevSeq=9))), (False, 'same'))


class Server:
    """A made-up exchange: one script for each connection."""

    def __init__(self, *scripts):
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.base = 'http://127.0.0.1:%d' % self.listener.getsockname()[1]
        self.heard, self.scripts = [], scripts
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        for script in self.scripts:
            line, _ = self.listener.accept()
            with line:
                head = b''
                while b'\r\n\r\n' not in head:
                    head += line.recv(4096)
                key = [x.split(': ')[1] for x in head.decode().split('\r\n') if x.startswith('Sec-WebSocket-Key')][0]
                digest = streams.hashlib.sha1((key + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').encode()).digest()
                line.sendall(b'HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: ' + streams.base64.b64encode(digest) + b'\r\n\r\n')
                script(self, line)
        self.listener.close()

    def hear(self, line):
        """Reads one masked frame of the client."""
        def take(n):
            out = b''
            while len(out) < n:
                chunk = line.recv(n - len(out))
                if not chunk:
                    raise EOFError
                out += chunk
            return out
        first, second = take(2)
        n = second & 0x7f
        if n > 125:
            n = int.from_bytes(take(2 if n == 126 else 8), 'big')
        mask, payload = take(4), take(n)
        payload = bytes(x ^ mask[i % 4] for i, x in enumerate(payload))
        self.heard.append((first & 15, payload))
        return payload


def frame(payload, code=1, final=True):
    n = len(payload)
    head = struct.pack('>BB', (0x80 if final else 0) | code, n) if n < 126 else struct.pack('>BBH', (0x80 if final else 0) | code, 126, n) \
        if n < 65536 else struct.pack('>BBQ', (0x80 if final else 0) | code, 127, n)
    return head + payload


class Sockets(unittest.TestCase):
    def test_fragments_pings_and_lengths(self):
        long, longer = b'a' * 300, b'b' * 70000

        def script(server, line):
            line.sendall(frame(b'one ', final=False) + frame(b'?', 9) + frame(b'message', 0))
            server.hear(line)
            for byte in frame(long):
                line.sendall(bytes([byte]))
            line.sendall(frame(longer))
            server.hear(line)
            line.sendall(frame(struct.pack('>H', 1013) + b'SLOW_CONSUMER', 8))
            server.hear(line)
        server = Server(script)
        ws = tickhive.WebSocket(server.base, timeout=30)
        self.assertEqual([ws.receive(), ws.receive(), ws.receive()], ['one message', long.decode(), longer.decode()])
        ws.send('x' * 70000)
        with self.assertRaises(tickhive.StreamClosed) as e:
            ws.receive()
        self.assertEqual((e.exception.code, e.exception.reason), (1013, 'SLOW_CONSUMER'))
        server.thread.join(30)
        ws.close()
        self.assertEqual([(code, len(payload)) for code, payload in server.heard], [(10, 1), (1, 70000), (8, 2)])

    def test_a_timeout_loses_no_part_of_a_message(self):
        more = threading.Event()

        def script(server, line):
            line.sendall(frame(b'hello')[:4])
            more.wait(30)
            line.sendall(frame(b'hello')[4:])
            server.hear(line)
        server = Server(script)
        ws = tickhive.WebSocket(server.base, timeout=30)
        self.assertRaises(socket.timeout, ws.receive, 0.01)
        more.set()
        self.assertEqual(ws.receive(30), 'hello')
        ws.close()

    def test_frames_that_a_server_must_not_send(self):
        for bad in (b'\x81\x81aaaab', b'\xc1\x01a', b'\x82\x01a', b'\x81\x7f' + struct.pack('>Q', 1 << 40)):
            server = Server(lambda server, line, bad=bad: (line.sendall(bad), line.recv(1)))
            ws = tickhive.WebSocket(server.base, timeout=30)
            self.assertRaises(tickhive.StreamClosed, ws.receive)
            ws.close()

    def test_a_book_resyncs_and_resumes(self):
        self.addCleanup(setattr, streams, 'RETRY', streams.RETRY)
        streams.RETRY = 0.0
        b = tickhive.Book('A_B')
        b.bids = [['9.0', '1.0']]
        say = {'checksum': b.checksum()}

        def first(server, line):
            server.hear(line)
            line.sendall(frame(json.dumps(message('snapshot', 4, b.bids, **say)).encode()))
            line.sendall(frame(json.dumps(message('update', 9, [], prevSeq=8, checksum=1)).encode()))
            server.hear(line)
            line.sendall(frame(json.dumps(message('snapshot', 9, b.bids, **say)).encode()))

        def second(server, line):
            server.hear(line)
            line.sendall(frame(json.dumps(message('update', 10, [], prevSeq=9, **say)).encode()))
            server.hear(line)
        server = Server(first, second)
        stream = tickhive.BookStream(server.base, ['A_B'])
        self.assertEqual([next(stream).seq for _ in range(3)], [4, 9, 10])
        stream.close()
        server.thread.join(30)
        asked = [json.loads(payload) for code, payload in server.heard if code == 1]
        self.assertEqual([m['op'] for m in asked], ['subscribe', 'resync', 'subscribe'])
        self.assertNotIn('fromSeq', asked[0])
        self.assertEqual((asked[2]['fromSeq'], asked[2]['epoch'], stream.resyncs, stream.reconnects), (9, 'e', 1, 1))


@unittest.skipUnless(os.environ.get('BASE'), 'no exchange in BASE')
class Exchange(unittest.TestCase):
    def setUp(self):
        self.x = tickhive.Client(os.environ['BASE'], os.environ['PUBLIC'], os.environ['PRIVATE'])
        self.addCleanup(self.x.close)

    def test_market_data(self):
        x = self.x
        self.assertIn('BTC_USDT', [p['code'] for p in x.pairs()])
        t = x.ticker('BTC_USDT')
        self.assertIsInstance(t['price'], Decimal)
        self.assertTrue(0 < t['bidPrice'] < t['askPrice'])
        book = x.order_book('BTC_USDT', 10)
        self.assertEqual((len(book['bids']), book['seq'] > 0), (5, True))
        self.assertEqual(len(x.deals('BTC_USDT', size=7)), 7)
        self.assertTrue(x.candles('BTC_USDT', 'minute', '2020-01-01', '2100-01-01'))
        self.assertTrue(abs(x.time() - time.time() * 1000) < 60000)
        with self.assertRaises(tickhive.APIError) as e:
            x.ticker('AA_BB')
        self.assertEqual((e.exception.status, e.exception.code), (404, 'NOT_FOUND'))

    def test_trading(self):
        x = self.x
        price = (x.ticker('BTC_USDT')['bidPrice'] / 2).quantize(Decimal('0.01'))
        ids = [x.place_order('BTC_USDT', 'buy', amount='0.001', price=price, clientOrderId='py-%d' % i) for i in range(103)]
        self.assertEqual([o['id'] for o in x.orders('BTC_USDT')], ids[::-1])
        self.assertTrue(x.balances()['USDT']['held'] > 0)
        self.assertEqual(x.cancel_order(ids[0])['status'], 'Canceled')
        self.assertEqual(x.cancel_all('BTC_USDT'), 102)
        bought = x.order(x.place_order('BTC_USDT', 'buy', quoteAmount='100', market=True))
        self.assertEqual(bought['status'], 'Completed')
        self.assertEqual(len(list(x.fills('BTC_USDT'))), len(bought['deals']))
        with self.assertRaises(tickhive.APIError) as e:
            x.cancel_order('1')
        self.assertEqual(e.exception.code, 'NOT_FOUND')
        other = tickhive.Client(os.environ['BASE'], os.environ['PUBLIC'], 'wrong')
        self.addCleanup(other.close)
        with self.assertRaises(tickhive.APIError) as e:
            other.balances()
        self.assertEqual(e.exception.code, 'UNAUTHORIZED')

    def test_each_kind_of_order_to_its_end(self):
        """Places each kind of order of ../testdata/kinds.json; client/js/kinds.mjs says what the cases mean."""
        pair, trade, x = self.market('PYA_USDT')
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'testdata', 'kinds.json')) as file:
            cases = json.load(file)
        for c in cases:
            with self.subTest(c['name']):
                trade('100')
                if 'refused' in c:
                    with self.assertRaises(tickhive.APIError) as e:
                        self.place(x, pair, c)
                    self.assertEqual(e.exception.code, c['refused'])
                    continue
                ids = self.place(x, pair, c)
                for price in c.get('waits', ()):
                    trade(price)
                    self.assertTrue({x.order(i)['status'] for i in ids} & {'Created', 'Pending'}, price)
                for price in c.get('trades', ()):
                    trade(price)
                if c.get('cancel'):
                    self.assertEqual(x.cancel_list(ids[0])['status'], 'done')
                if c.get('cancelFirst'):
                    x.cancel_order(ids[0])
                self.assertEqual([[o['status'], o['endReason']] for o in map(x.order, ids)], c['ends'])

    def test_lists_changes_and_batches(self):
        pair, trade, x = self.market('PYB_USDT')
        trade('100')
        with tickhive.Stream(os.environ['BASE'], timeout=30) as s:
            s.auth(x.public_key, x.private_key)
            seen = []
            while not seen or seen[-1]['type'] != 'snapshot':
                seen.append(s.receive())
                if seen[-1]['type'] == 'authenticated':
                    s.subscribe('orders')
            self.assertEqual((seen[-1]['orders'], seen[-1]['lists']), ([], []))
            oco = x.place_list('oco', pair, [tickhive.order('sell', 1, 108, type='limit', postOnly=True),
                                             tickhive.order('sell', 1, type='stop_market', stopPrice=92)], clientOrderId='py-list')
            stop = oco['orders'][1]['id']
            self.assertEqual((oco['status'], oco['clientOrderId'], len(oco['orders'])), ('executing', 'py-list', 2))
            self.assertEqual([row['id'] for row in x.lists()], [oco['id']])
            self.assertEqual(x.change_order(stop, stopPrice='93')['stopPrice'], 93)
            smaller = x.place_order(pair, 'buy', 1, 99, type='limit')
            self.assertEqual(x.change_order(smaller, amount='0.5', keepPriority=True)['amount'], Decimal('0.5'))
            with self.assertRaises(tickhive.APIError) as e:
                x.cancel_order(smaller, only_if='partial')
            self.assertEqual(e.exception.code, 'CANCEL_RESTRICTED')
            results = x.batch([{'cancel': {'orderId': smaller}}, {'cancel': {'orderId': stop}}])
            self.assertEqual([row['status'] for row in results], ['Canceled'] * 2)
            self.assertEqual((x.list(oco['id'])['status'], list(x.lists())), ('done', []))
            lists = []
            while 'done' not in lists:
                m = s.receive()
                if m.get('list', {}).get('id') == oco['id']:
                    lists.append(m['list']['status'])
            self.assertEqual(lists, ['executing', 'done'])

    def place(self, x, pair, case):
        """Places the order or the list of a case and returns the ids of its orders."""
        if 'list' in case:
            orders = [tickhive.order(**o) for o in case['list']['orders']]
            return [o['id'] for o in x.place_list(case['list']['kind'], pair, orders)['orders']]
        return [x.place_order(pair, **case['order'])]

    def market(self, pair):
        """Returns a pair of its own, what sets its last price, and a client of a user with money of both currencies."""
        operator = tickhive.Client(os.environ['INTERNAL'])
        self.addCleanup(operator.close)

        def call(path, **body):
            return operator.request('POST', '/internal/v1' + path, body=body)

        def order(side, price, amount, **more):
            call('/orders', currencyPairCode=pair, side=side, type='limit', price=price, amount=amount, **more)

        def trade(price):
            order('sell', price, '1')
            order('buy', price, '2', timeInForce='ioc')
        call('/pairs', code=pair, digitsPrice=2, digitsAmount=3)
        user = call('/users')['id']
        for currency in pair.split('_'):
            call('/users/%s/deposits' % user, currencyCode=currency, amount=10000)
        key = call('/users/%s/apikeys' % user, name='kinds')
        order('buy', '90', '1000')
        order('sell', '110', '1000')
        x = tickhive.Client(os.environ['BASE'], key['publicKey'], key['privateKey'])
        self.addCleanup(x.close)
        return pair, trade, x

    def test_books_are_followed_through_faults(self):
        stream = tickhive.BookStream(os.environ['BASE'], ['BTC_USDT', 'ETH_USDT'], depth=10)
        self.addCleanup(stream.close)
        last = {}

        def follow(n):
            for _ in range(n):
                book = next(stream)
                self.assertTrue(book.seq > last.get(book.pair, 0) and Decimal(book.bids[0][0]) < Decimal(book.asks[0][0]))
                last[book.pair] = book.seq
        follow(6)
        stream.books['BTC_USDT'].bids.insert(0, ['99999999.00', '1.00000000'])  # no later checksum can be right
        while stream.resyncs == 0 or not stream.books['BTC_USDT'].ready:
            stream.step()
        stream.stream.line.socket.shutdown(socket.SHUT_RDWR)
        while stream.reconnects == 0:
            stream.step()
        for _ in range(6):
            self.assertTrue(next(stream).ready)
        self.assertEqual(stream.reconnects, 1)

    def test_a_private_stream_continues_from_its_cursor(self):
        pair, _, x = self.market('PYC_USDT')

        def open_stream(cursor=None):
            stream = tickhive.PrivateStream(os.environ['BASE'], x.public_key, x.private_key, cursor)
            self.addCleanup(stream.close)
            return stream

        def until(stream, kind, channel):
            """Reads up to an event; returns it and the orders of the fills before it, with whether they were missed."""
            fills = []
            for e in stream:
                if 'fill' in e:
                    fills.append((e['fill']['orderId'], e['missed']))
                    self.assertIsInstance(e['fill']['price'], Decimal)
                if (e['type'], e.get('channel')) == (kind, channel):
                    return e, fills
        first = x.place_order(pair, 'buy', amount=1, market=True)
        stream = open_stream()
        self.assertIsNone(stream.cursor)
        self.assertEqual(until(stream, 'snapshot', 'balances')[1], [])  # from now on
        resting = x.place_order(pair, 'buy', amount=1, price='50')
        second = x.place_order(pair, 'buy', amount=1, market=True)
        self.assertEqual(until(stream, 'update', 'fills')[1], [(second, False)])
        kept = json.dumps(stream.cursor)
        stream.close()
        third = x.place_order(pair, 'buy', amount=1, market=True)
        x.cancel_order(resting)
        e, fills = until(stream, 'snapshot', 'fills')  # the same stream opens its line again
        self.assertEqual((fills, e['complete']), ([(third, True)], True))
        states = {}
        while resting not in states:
            e, _ = until(stream, 'update', 'orders')
            states[e['order']['id']] = e['order']['status']
        self.assertEqual(states[resting], 'Canceled')
        while True:  # what is left, then nothing for a moment
            if stream.receive(0.5) is None:
                break
        again = open_stream(json.loads(kept))
        e, fills = until(again, 'snapshot', 'fills')
        self.assertEqual((fills, e['complete']), ([(third, True)], True))
        self.assertEqual(until(again, 'snapshot', 'orders')[0]['orders'], [])
        ended = set()
        while not ended >= {second, third}:  # the orders of the missed fill, and of that of the cursor
            ended.add(until(again, 'update', 'orders')[0]['order']['id'])
        self.assertNotIn(resting, ended)
        date = '2020-01-01T00:00:00.0000000Z'
        older = open_stream({'date': date, 'pairs': {pair: {'date': date, 'tradeId': 99, 'orderIds': ['1']}}})
        e, fills = until(older, 'snapshot', 'fills')
        self.assertEqual(([order for order, _ in fills], e['complete']), ([first, second, third], False))
        wrong = tickhive.PrivateStream(os.environ['BASE'], x.public_key, 'wrong')
        with self.assertRaises(tickhive.APIError) as refused:
            next(wrong)
        self.assertEqual(refused.exception.code, 'UNAUTHORIZED')
        self.assertEqual(next(wrong)['type'], 'lost')

    def test_private_streams(self):
        with tickhive.Stream(os.environ['BASE'], timeout=30) as s:
            def until(kind, channel=None):
                while True:
                    m = s.receive()
                    if m['type'] == kind and m.get('channel') in (channel, None):
                        return m
            s.auth(os.environ['PUBLIC'], os.environ['PRIVATE'])
            until('authenticated')
            s.subscribe('orders')
            until('snapshot', 'orders')
            order = self.x.place_order('BTC_USDT', 'buy', amount='0.001', price='10000')
            self.assertEqual(until('update', 'orders')['order']['id'], order)
            self.x.cancel_order(order)
            self.assertEqual(until('update', 'orders')['order']['status'], 'Canceled')
            s.subscribe('book', ['AA_BB'])
            with self.assertRaises(tickhive.APIError):
                until('never')


@unittest.skipUnless(os.environ.get('TICKHIVE_BINARY'), 'no program in TICKHIVE_BINARY')
class Starts(unittest.TestCase):
    def test_a_bot_trades(self):
        with testing.start() as x:
            self.assertEqual(len(x.client.pairs()), 12)
            user = x.new_user('1000 USDT')
            x.sell('BTC_USDT', '0.5', '65000')
            user.client.place_order('BTC_USDT', 'buy', '0.01', '65000')
            with self.assertRaisesRegex(RuntimeError, 'sell 0.01 BTC_USDT at the market: no_liquidity'):
                x.sell('BTC_USDT', '0.01')
            x.clear_book('BTC_USDT')
            self.assertEqual(x.client.order_book('BTC_USDT')['asks'], [])
            x.buy('BTC_USDT', Decimal('0.001'), 60000)
            user.client.place_order('BTC_USDT', 'sell', '0.001', market=True)
            user.deposit('5', 'BTC')
            self.assertEqual(user.client.balances()['BTC']['free'], Decimal('5.00899'))
            self.assertGreater(x.client.balances()['BTC']['free'], 0)
            with self.assertRaisesRegex(ValueError, 'AMOUNT CURRENCY'):
                x.new_user('1000')
            with self.assertRaisesRegex(RuntimeError, 'POST /pairs: status 400'):
                x.call('POST', '/pairs', {})

    def test_a_real_clock(self):
        with testing.start(clock='real') as x:
            self.assertLess(abs(x.now() - time.time()), 60)
            self.assertLess(abs(x.client.time() / 1000 - time.time()), 60)
            self.assertGreater(x.client.balances()['USDT']['free'], 0)  # signed with the machine's time
        with self.assertRaisesRegex(ValueError, "clock must be virtual or real: 'fast'"):
            testing.start(clock='fast')

    def test_a_private_stream_tells_what_happens_in_its_with_statement(self):
        with testing.start() as x:
            x.sell('BTC_USDT', '0.5', '65000')
            with tickhive.PrivateStream(x.url, x.user.public_key, x.user.private_key, now=x.now) as stream:
                self.assertEqual(stream.cursor, {'date': '', 'pairs': {}})
                order = x.client.place_order('BTC_USDT', 'buy', '0.01', '65000')
                seen = []
                while not seen:
                    event = stream.receive()
                    seen += [event['fill']['orderId']] if 'fill' in event else []
            self.assertEqual(seen, [order])

    def test_another_listener_is_named(self):
        with testing.start() as x:
            with self.assertRaisesRegex(tickhive.APIError, 'this is the Binance-compatible listener'):
                tickhive.Client(x.binance).pairs()
            stream = tickhive.PrivateStream(x.binance, x.user.public_key, x.user.private_key, now=x.now)
            self.assertIn('that of the Binance-compatible listener', next(stream)['reason'])

    def test_clock_faults_and_addresses(self):
        with testing.start(pairs=[testing.Pair('ABC_XYZ', 3, 1)], args=['--log-level', 'debug']) as x:
            self.assertEqual([x.now() * 1000, x.client.time()], [1767225600000] * 2)
            x.advance('1d')
            self.assertEqual([x.now() * 1000, x.client.time()], [1767312000000] * 2)
            self.assertEqual([(p['code'], p['digitsPrice'], p['digitsAmount']) for p in x.client.pairs()],
                             [('ABC_XYZ', 3, 1)])
            fault = x.fault('status status=503 route=/api/wallets/balances')
            with self.assertRaises(tickhive.APIError) as refused:
                x.client.balances()
            self.assertIsNone(refused.exception.retry_after)
            self.assertEqual(fault.hits(), 1)
            x.fault('rate-limit route=/api/user/orders retry-after=3')
            with self.assertRaises(tickhive.APIError) as limited:
                list(x.client.orders())
            self.assertEqual(limited.exception.retry_after, 3)
            x.clear_faults()
            self.assertGreater(x.client.balances()['XYZ']['free'], 0)
            self.assertEqual(fault.hits(), 0)
            self.assertEqual(tickhive.Client(x.binance).request('GET', '/api/v3/ping'), {})
            for address in (x.stream_url, x.binance_stream, x.binance_socket):
                self.assertRegex(address, r'^ws://127.0.0.1:\d+')
            self.assertIn('msg=', x.log())

    def test_a_killed_exchange_comes_back_with_what_it_had(self):
        with testing.start(pairs=[testing.Pair('ABC_XYZ', 3, 1, fee='0')]) as x:
            def state():
                fills = [f['tradeId'] for f in x.client.fills()]
                return x.client.balances(), fills, x.client.order_book('ABC_XYZ')['asks'], x.now(), x.client.time()
            x.sell('ABC_XYZ', 10, '0.125')
            x.client.place_order('ABC_XYZ', 'buy', 4, '0.125')
            x.advance('90m')
            before, addresses = state(), (x.url, x.internal, x.binance)
            x.kill()
            x.client.close()  # its connection has died
            with self.assertRaises(ConnectionRefusedError):
                x.client.time()
            with self.assertRaisesRegex(RuntimeError, 'does not run'):
                x.kill()
            x.restart()
            self.assertEqual((state(), (x.url, x.internal, x.binance)), (before, addresses))
            x.client.close()
            x.restart()  # one that runs
            self.assertEqual(state(), before)
            with urllib.request.urlopen(x.binance + '/api/v3/ping') as answer:
                self.assertEqual(answer.status, 200)
        with tempfile.TemporaryDirectory() as folder:
            with unittest.mock.patch.dict(os.environ, TMPDIR=folder):
                x = testing.start()
                x.kill()
                self.assertEqual(len(os.listdir(folder)), 1)
                x.stop()
                x.stop()
                self.assertEqual(os.listdir(folder), [])

    def test_a_market(self):
        with testing.start(sim=7) as x:
            x.advance('1m')
            self.assertTrue(x.client.order_book('BTC_USDT')['bids'])

    def test_a_start_that_cannot_be_says_why(self):
        for given, why in [
            ({'pairs': []}, 'pairs must have a pair'), ({'args': ['--no-such-flag']}, 'ended with 2 .*\n.*--no-such-flag'),
            ({'binary': '/no/such/file'}, r'/no/such/file \(from the argument binary\).*make build'),
        ]:
            with self.assertRaisesRegex((RuntimeError, ValueError), why):
                testing.start(**given)
        kept = {name: os.environ[name] for name in ('TICKHIVE_BINARY', 'PATH')}
        try:
            os.environ['TICKHIVE_BINARY'] = '/none'
            with self.assertRaisesRegex(RuntimeError, r'/none \(from TICKHIVE_BINARY\)'):
                testing.start()
            del os.environ['TICKHIVE_BINARY']
            os.environ['PATH'] = '/none'
            with self.assertRaisesRegex(RuntimeError, r'tickhive \(from PATH\)'):
                testing.start()
        finally:
            os.environ.update(kept)

    def test_it_ends_with_stop_and_with_the_test_program(self):
        def refused(address):
            with self.assertRaises(ConnectionRefusedError):
                tickhive.Client(address).time()
        x = testing.start()
        x.stop()
        x.stop()
        refused(x.url)
        x = testing.start()
        x._process.kill()
        with self.assertRaisesRegex(RuntimeError, 'ended with -9 at its stop'):
            x.stop()
        for how in (subprocess.Popen.kill, subprocess.Popen.terminate):
            program = 'from tickhive import testing; x = testing.start(); print(x.url, flush=True); input()'
            path = os.path.dirname(os.path.dirname(os.path.abspath(tickhive.__file__)))
            with subprocess.Popen([sys.executable, '-c', program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  env=dict(os.environ, PYTHONPATH=path)) as child:
                url = child.stdout.readline().decode().strip()
                self.assertGreater(tickhive.Client(url).time(), 0)
                how(child)
            with self.assertRaises(ConnectionRefusedError):
                while True:  # until the exchange has seen it
                    with contextlib.suppress(ConnectionResetError, tickhive.APIError):
                        tickhive.Client(url).time()


if __name__ == '__main__':
    unittest.main()
