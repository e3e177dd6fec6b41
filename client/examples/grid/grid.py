"""A small grid: it rests buys below and sells above the price, and answers each filled order with one on the other side,
a step away. It knows its position from its private stream, survives a restart of the exchange, and ends after some fills, or on an
interrupt or SIGTERM, without open orders.

    PUBLIC=... PRIVATE=... python3 client/examples/grid/grid.py http://127.0.0.1:8080 BTC_USDT 10

It needs the package tickhive: pip install ./client/python.
"""

import http.client
import os
import signal
import sys
import time
from decimal import Decimal

import tickhive

STEP, LEVELS, AMOUNT = Decimal('0.0002'), 3, Decimal('0.01')  # a part of the price, orders a side, in the base currency


def again(call):
    """Calls until there is an answer: while the exchange restarts there is none, or a 503. An order has a clientOrderId, so a
    repetition does not place it twice."""
    while True:
        try:
            return call()
        except tickhive.APIError as e:
            if e.status not in (429, 503):
                raise
            time.sleep(e.retry_after or 1)
        except (OSError, http.client.HTTPException):
            time.sleep(1)


class Grid:
    """One grid on one pair."""

    def __init__(self, base, pair, public_key, private_key):
        self.pair, self.x = pair, tickhive.Client(base, public_key, private_key)
        self.stream = tickhive.PrivateStream(base, public_key, private_key)
        digits = next(p['digitsPrice'] for p in self.x.pairs() if p['code'] == pair)
        self.tick = Decimal(1).scaleb(-digits)
        self.open = {}  # side and price of our open orders, by id
        self.base = self.quote = Decimal(0)  # the position: what the fills have brought and taken
        self.fills, self.newest, self.placed = 0, self.newest_fill(), 0

    def newest_fill(self):
        """Returns the trade id of our newest fill on the pair, 0 without any."""
        return again(lambda: next((fill['tradeId'] for fill in self.x.fills(self.pair)), 0))

    def run(self, fills):
        """Trades until the fills are made. The stream has begun before any order of ours, so no fill is missed."""
        again(lambda: self.x.cancel_all(self.pair))  # of an earlier run
        with self.stream:
            try:
                self.begin()
                while self.fills < fills:
                    again(lambda: self.x.cancel_all_after(30000))  # the dead man's switch, should this program hang
                    self.note(self.stream.receive(10))
            except KeyboardInterrupt:
                pass
            finally:
                self.end()

    def begin(self):
        price = again(lambda: self.x.ticker(self.pair))['price']
        self.step = (price * STEP).quantize(self.tick)
        for level in range(1, LEVELS + 1):
            self.place('buy', price - level * self.step)
            self.place('sell', price + level * self.step)
        print('%d orders around %s, a step is %s; waits until the market reaches them, in a calm one minutes for each fill'
              % (len(self.open), price, self.step), flush=True)

    def end(self):
        """Cancels all orders and waits for the last fills."""
        again(lambda: self.x.cancel_all(self.pair))
        again(lambda: self.x.cancel_all_after(0))
        last, self.step = self.newest_fill(), None
        while self.open or self.newest < last:
            self.note(self.stream.receive())
        base, quote = self.pair.split('_')
        print('%d fills: %s %s, %s %s' % (self.fills, self.base, base, self.quote, quote))

    def place(self, side, price):
        self.placed += 1
        name = '%d-%d' % (os.getpid(), self.placed)
        order = again(lambda: self.x.place_order(self.pair, side, AMOUNT, price, type='limit', clientOrderId=name))
        self.open[order] = (side, price)

    def note(self, event):
        """Keeps the open orders and the position. Returns the type and the channel of the event."""
        if event is None:
            return None
        if event['type'] == 'lost':
            print('the line is lost:', event['reason'], file=sys.stderr)
        if 'order' in event:
            self.note_order(event['order'])
        if 'fill' in event and event['fill']['currencyPairCode'] == self.pair:
            self.note_fill(event['fill'])
        return event['type'], event.get('channel')

    def note_order(self, order):
        """Answers an order that is filled with one a step away on the other side."""
        if order['status'] in ('Created', 'PartiallyCompleted') or order['id'] not in self.open:
            return
        side, price = self.open.pop(order['id'])
        if order['status'] == 'Completed' and self.step:
            self.place('sell' if side == 'buy' else 'buy', price + (self.step if side == 'buy' else -self.step))

    def note_fill(self, fill):
        """Adds a fill to the position. The fee is of what the order receives."""
        volume, money = fill['volume'], fill['volume'] * fill['price']
        if fill['feeCurrencyCode'] == self.pair.split('_')[0]:  # a buy
            self.base, self.quote = self.base + volume - fill['fee'], self.quote - money
        else:
            self.base, self.quote = self.base - volume, self.quote + money - fill['fee']
        self.fills, self.newest = self.fills + 1, fill['tradeId']
        side = 'buy' if fill['isUserBuyer'] else 'sell'
        print('fill %d: %s %s at %s' % (self.fills, side, volume, fill['price']), flush=True)


if __name__ == '__main__':
    if len(sys.argv) != 4 or not sys.argv[3].isdigit():
        sys.exit('usage: grid.py http://HOST:PORT PAIR FILLS, with the key in PUBLIC and PRIVATE')
    base, pair, fills = sys.argv[1:]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as an interrupt does
    Grid(base, pair, os.environ['PUBLIC'], os.environ['PRIVATE']).run(int(fills))
