"""Talks to a TickHive exchange: signed REST, streams whose every message is checked, and a private stream that loses no fill.

It needs Python 3.8 or newer and nothing else. Decimals are decimal.Decimal in answers; pass text, int or Decimal, never
float. Requests are signed with HMAC; an Ed25519 or RSA key would need a library.

    x = Client('http://127.0.0.1:8080', public_key, private_key)
    x.place_order('BTC_USDT', 'buy', amount='0.01', price='10000')
    x.place_order('BTC_USDT', 'buy', quoteAmount='100', market=True)
    for event in PrivateStream('http://127.0.0.1:8080', public_key, private_key):
        print(event)
    for book in BookStream('http://127.0.0.1:8080', ['BTC_USDT'], depth=10):
        print(book.pair, book.bids[0], book.asks[0])
"""

from .errors import APIError, Code
from .private import PrivateStream
from .rest import Client, order, plain
from .shapes import Amount, Balance, Cursor, Event, Fill, Number, Order, OrderBody, OrderList, Position
from .signing import credentials, sign
from .streams import Book, BookStream, Stream, StreamClosed, WebSocket

__all__ = [
    'APIError', 'Amount', 'Balance', 'Book', 'BookStream', 'Client', 'Code', 'Cursor', 'Event', 'Fill', 'Number', 'Order',
    'OrderBody', 'OrderList', 'Position', 'PrivateStream', 'Stream', 'StreamClosed', 'WebSocket', 'credentials', 'order',
    'plain', 'sign',
]
