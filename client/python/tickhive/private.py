"""The private stream: orders, fills and balances of an account, through lost lines."""

import copy
import datetime
import http.client
import socket
import ssl
import time
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Set, Tuple, Union

from .errors import APIError, Code
from .rest import Client
from .shapes import Cursor, Event, Fill, Order
from .streams import PATIENCE, RETRY, Stream, StreamClosed

# How far behind a cursor the fills are read again, by the exchange's clock. A long command of one pair is published behind
# the fills of other pairs that happened meanwhile, so a fill that was not sent yet can be older than the newest that was.
OVERLAP = datetime.timedelta(seconds=10)

_OPEN = ('Created', 'PartiallyCompleted', 'Pending')


class PrivateStream:
    """Follows the orders, the fills and the balances of an account. It opens a lost line again, also when a message is
    missing, and reads what it has missed from the signed routes: it yields each fill once, those of a pair in the order of
    their trade ids.

        with PrivateStream('http://127.0.0.1:8080', public_key, private_key, cursor=saved) as stream:
            for event in stream:
                if 'fill' in event:
                    use(event['fill'])
                if event.get('channel') == 'fills':  # a fill, or the snapshot with which the stream begins
                    save(stream.cursor)

    tickhive.Event has the shapes of the events. After the start and after each outage it yields the missed fills, the
    snapshot of fills, which ends them, the snapshot of orders, the last states of the orders and lists that ended meanwhile,
    and the snapshot of balances; then what happens. At the start those states are the orders of the missed fills, and of the
    fills of the last 10 s before the cursor, with their lists: an order that ended without a fill while the program was down is
    not among them. A state of an order may come twice.

    "with" opens the line and returns when the stream has begun: it tells everything that happens in its block. Without it the
    first receive opens the line.

    bases: the address of the exchange, or several: it looks at the others (standbys) when it loses the line.
    cursor: of an earlier stream, a dict that json can store: it continues behind it; None: it begins with what happens from
    now on; {}: with the oldest fill that is kept.
    retry: shortest time in seconds between two attempts to open the line. patience: a line that is silent for longer, in
    seconds, is lost; the exchange speaks once a second. timeout, context, now: as of Client.

    Errors: APIError that no repetition mends: a key that is unknown (UNAUTHORIZED) or may not read (FORBIDDEN). A later call
    tries again and misses nothing. It is not for several threads at a time.
    """

    def __init__(self, bases: Union[str, Sequence[str]], public_key: str, private_key: str, cursor: Optional[Cursor] = None,
                 *, retry: float = RETRY, patience: float = PATIENCE, timeout: float = 30.0,
                 context: Optional[ssl.SSLContext] = None, now: Callable[[], float] = time.time) -> None:
        if public_key is None or private_key is None:
            raise ValueError('a private stream needs the keys of the account')
        if cursor is not None and not (isinstance(cursor, dict) and set(cursor) <= {'date', 'pairs'}):
            raise ValueError('cursor %r is not the cursor of a stream: pass json.loads of a stored one' % (cursor,))
        self.bases = [bases] if isinstance(bases, str) else list(bases)
        self.clients = [Client(base, public_key, private_key, timeout, context, now) for base in self.bases]
        self.public_key, self.private_key = public_key.strip(), private_key.strip()
        self.context, self.now = context, now
        self.retry, self.patience = retry, patience
        self._at = 0  # the address in use
        self._line: Optional[Stream] = None
        self._opened = -retry
        self._heard = 0.0
        self._lost = False  # the caller knows that there is no line
        self._begun = False  # the first snapshots have come
        self._from_now = cursor is None
        self._cursor = _Cursor(cursor or {})
        self._queue: List[Event] = []
        self._orders = _OpenOrders()

    @property
    def cursor(self) -> Optional[Cursor]:
        """The position behind the last fill that was yielded. Before the first snapshot of fills a stream that begins "from
        now on" has none."""
        return None if self._from_now else self._cursor.value()

    def __iter__(self) -> 'PrivateStream':
        return self

    def __next__(self) -> Event:
        event = self.receive()
        assert event is not None
        return event

    def __enter__(self) -> 'PrivateStream':
        while not self._begun:
            self._advance(None)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def receive(self, timeout: Optional[float] = None) -> Optional[Event]:
        """Returns the next event; None when there is none for timeout seconds. None as timeout: it waits for one."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            while self._queue:
                event = self._queue.pop(0)
                if 'fill' not in event:
                    return event
                if not self._cursor.passed(event['fill']):
                    self._cursor.advance(event['fill'])
                    return event
            if not self._advance(end):
                return None

    def close(self) -> None:
        """Closes the line. A later call opens it again."""
        if self._line is not None:
            self._line.close()
        self._line = None
        self.clients[self._at].close()

    def _lose(self, reason: BaseException) -> None:
        self.close()
        if self._lost:  # here is no line to be had
            self._at = (self._at + 1) % len(self.clients)
        else:
            self._lost = True
            self._queue.append({'type': 'lost', 'reason': str(reason) or repr(reason)})

    def _advance(self, end: Optional[float]) -> bool:
        """Is _step that survives what a repetition mends."""
        try:
            return self._step(end)
        except (OSError, StreamClosed, http.client.HTTPException, APIError) as e:
            self._lose(e)
            if not _temporary(e):
                raise
            return True

    def _step(self, end: Optional[float]) -> bool:
        """Opens the line or takes a message from it; False when neither happened until end."""
        if self._line is None:
            wait = self._opened + self.retry - time.monotonic()
            left = wait if end is None else min(wait, end - time.monotonic())
            time.sleep(max(0.0, left))
            if left < wait:
                return False
            self._open()
            return True
        until = self._heard + self.patience
        try:
            message = self._line.receive(max(0.001, (until if end is None else min(until, end)) - time.monotonic()))
        except socket.timeout:
            if end is not None and end < until:
                return False
            raise OSError('the exchange is silent for %s s' % self.patience) from None
        self._heard = time.monotonic()
        self._handle(message)
        return True

    def _open(self) -> None:
        """Opens the line, authenticates it and subscribes."""
        self._opened = time.monotonic()
        line = self._line = Stream(self.bases[self._at], self.patience, self.context)
        self._seqs: Dict[str, int] = {}  # of the last message, by channel
        line.auth(self.public_key, self.private_key, self.now)
        try:
            while line.receive(self.patience)['type'] != 'authenticated':
                pass
        except APIError as e:
            if e.code in (Code.UNAUTHORIZED, Code.FORBIDDEN):
                # Directly after its start the exchange accepts no key. A request waits until it does, and then tells
                # whether it accepts this one.
                self.clients[self._at].balances()
            raise
        for channel in ('fills', 'orders', 'balances'):
            line.subscribe(channel, decimals='number')
        self._heard = time.monotonic()
        self._lost = False

    def _handle(self, m: Dict[str, Any]) -> None:
        """Queues the events that a message makes."""
        kind, channel = m['type'], m.get('channel')
        if self._chain(kind, channel, m):
            return
        if kind == 'snapshot' and channel == 'fills':
            self._read_fills()
        elif kind == 'snapshot' and channel == 'orders':
            self._read_orders(m)
        elif 'order' in m:
            self._queue_order(m['order'])
        elif kind in ('snapshot', 'update'):
            if 'fill' in m:
                self._orders.note_fill(m['fill'])
            self._orders.note_list(m.get('list'))
            event: Any = {name: m[name] for name in ('type', 'channel', 'list', 'fill', 'balances') if name in m}
            if 'fill' in event:
                event['missed'] = False
            self._queue.append(event)
            self._begun = self._begun or kind == 'snapshot'  # of balances, the last channel
        if channel == 'orders' and 'time' in m:
            self._orders.heard_ms = m['time']

    def _chain(self, kind: str, channel: Any, m: Dict[str, Any]) -> bool:
        """Raises OSError when a message is missing before m in its channel. Returns whether m has come before."""
        last = self._seqs.get(channel)
        if kind == 'update' and last is not None and m['seq'] <= last:
            return True
        if kind == 'update' and m['prevSeq'] != last or kind == 'heartbeat' and m['seq'] != last:
            raise OSError('a message of %s is missing behind seq %s' % (channel, last))
        if kind in ('snapshot', 'update'):
            self._seqs[channel] = m['seq']
        return False

    def _read_fills(self) -> None:
        """Queues the fills behind the cursor: the exchange has sent none, or has dropped some, before a snapshot."""
        complete = not self._cursor.date
        rows: List[Fill] = []
        for fill in self.clients[self._at].fills(since=_before(self._cursor.date)):
            if self._from_now and rows and fill['dealDateUtc'] < (_before(rows[0]['dealDateUtc']) or ''):
                break
            complete = complete or self._cursor.is_at(fill)
            rows.append(fill)
        rows.reverse()
        if self._from_now:
            for fill in rows:
                self._cursor.advance(fill)
            self._from_now, rows = False, []
        for fill in rows:
            self._orders.note_fill(fill)
            self._queue.append({'type': 'update', 'channel': 'fills', 'fill': fill, 'missed': True})
        self._queue.append({'type': 'snapshot', 'channel': 'fills', 'complete': complete})

    def _read_orders(self, m: Dict[str, Any]) -> None:
        """Queues a snapshot of the open orders, and the last states of those that ended without a message."""
        self._queue.append({'type': 'snapshot', 'channel': 'orders', 'orders': m['orders'], 'lists': m['lists']})
        orders, lists = self._orders.restart(m)
        client = self.clients[self._at]
        try:
            ended = _read(orders, client.orders(status='all'), client.order)
            lists = self._orders.lists_of(ended, lists)
            done = _read(lists, client.lists(status='all'), client.list)
            for order in ended:
                self._queue_order(order)
            for order_list in done:
                for order in order_list['orders']:
                    self._queue_order(order)
                self._orders.note_list(order_list)
                self._queue.append({'type': 'update', 'channel': 'orders', 'list': order_list})
        except BaseException:
            self._orders.open.update(orders)
            self._orders.lists.update(lists)
            raise
        if self._orders.heard_ms is not None:
            since = _EPOCH + datetime.timedelta(milliseconds=self._orders.heard_ms) - OVERLAP
            placed = [o for o in client.orders(status='all', since=_date(since)) if o['status'] not in _OPEN]
            for order in reversed(placed):  # since then, and before the snapshot
                self._queue_order(order)

    def _queue_order(self, order: Order) -> None:
        if self._orders.note(order):
            self._queue.append({'type': 'update', 'channel': 'orders', 'order': order})


def _temporary(e: BaseException) -> bool:
    """Whether a repetition, at another address perhaps, can succeed."""
    return not isinstance(e, APIError) or e.status in (0, 408, 421, 429) or e.status >= 500


_FEW = 10  # up to how many rows are read one by one


def _read(ids: Sequence[str], rows: Iterable[Any], one: Callable[[str], Any]) -> List[Any]:
    """Returns the rows with the ids, but those that are no longer kept: from all rows, the newest first, until few are left,
    and these by their ids. So it makes few requests for many ids, and for one that is old."""
    wanted, found = set(ids), []
    if len(wanted) > _FEW:
        for row in rows:
            if row['id'] in wanted:
                wanted.remove(row['id'])
                found.append(row)
            if len(wanted) <= _FEW:
                break
        found.reverse()
    return found + list(filter(None, (_kept(one, id) for id in sorted(wanted))))


def _kept(read: Callable[[str], Any], id: str) -> Any:
    """Reads an order or a list; None when it has ended and is no longer kept."""
    try:
        return read(id)
    except APIError as e:
        if e.code != Code.NOT_FOUND:
            raise
        return None


class _Cursor:
    """A Cursor that moves."""

    def __init__(self, value: Cursor) -> None:
        self.date = value.get('date', '')
        self.pairs = copy.deepcopy(value.get('pairs', {}))

    def value(self) -> Cursor:
        return {'date': self.date, 'pairs': copy.deepcopy(self.pairs)}

    def passed(self, fill: Fill) -> bool:
        """Whether a fill is at or before the cursor. The date decides before the id: an exchange that has lost its newest
        trades, in a power cut for example, gives their ids again, at a later time."""
        at = self.pairs.get(fill['currencyPairCode'])
        if at is None:
            return False
        here, there = (fill['dealDateUtc'], fill['tradeId']), (at['date'], at['tradeId'])
        return here < there or here == there and fill['orderId'] in at['orderIds']

    def advance(self, fill: Fill) -> None:
        """Moves behind a fill that it has not passed."""
        pair, date, trade = fill['currencyPairCode'], fill['dealDateUtc'], fill['tradeId']
        at = self.pairs.get(pair)
        if at is None or (at['date'], at['tradeId']) != (date, trade):
            at = self.pairs[pair] = {'date': date, 'tradeId': trade, 'orderIds': []}
        at['orderIds'].append(fill['orderId'])
        self.date = max(self.date, date)

    def is_at(self, fill: Fill) -> bool:
        """Whether a fill is the newest before the cursor, or another one of the same trade."""
        at = self.pairs.get(fill['currencyPairCode'])
        return at is not None and (fill['dealDateUtc'], fill['tradeId']) == (self.date, at['tradeId'])


class _OpenOrders:
    """Knows the orders and lists of which the caller does not know the end, and the orders of which it does."""

    def __init__(self) -> None:
        self.open: Set[str] = set()
        self.lists: Set[str] = set()
        self.ended: Dict[str, str] = {}  # by id the dates of orders that ended lately
        self.limit = 1000  # length of ended from which on old ones are forgotten
        self.newest = ''  # date of the newest order
        self.heard_ms: Optional[int] = None  # time of the last message about orders

    def note(self, order: Order) -> bool:
        """Notes the state of an order; False when the caller knows already that it has ended."""
        if order['id'] in self.ended:
            return False
        self.newest = max(self.newest, order['date'])
        if order['status'] in _OPEN:
            self.open.add(order['id'])
            return True
        self.open.discard(order['id'])
        if len(self.ended) >= self.limit:  # those that no list of orders placed lately has
            old = _before(self.newest) or ''
            self.ended = {id: date for id, date in self.ended.items() if date >= old}
            self.limit = max(1000, 2 * len(self.ended))
        self.ended[order['id']] = order['date']
        return True

    def note_fill(self, fill: Fill) -> None:
        """Notes the order of a fill before the first snapshot of orders: the caller may not know its end."""
        if self.heard_ms is None and fill['orderId'] not in self.ended:
            self.open.add(fill['orderId'])

    def lists_of(self, ended: List[Order], lists: List[str]) -> List[str]:
        """Returns the ids of lists, with those of orders that have ended, before the first snapshot of orders: the caller may
        not know their end."""
        if self.heard_ms is not None:
            return lists
        return lists + [o['listId'] for o in ended if o['listId'] and o['listId'] not in self.lists]

    def note_list(self, order_list: Any) -> None:
        if order_list and order_list['status'] == 'done':
            self.lists.discard(order_list['id'])
        elif order_list:
            self.lists.add(order_list['id'])

    def restart(self, m: Dict[str, Any]) -> Tuple[List[str], List[str]]:
        """Begins again with a snapshot. Returns the ids of the orders and lists that were open before and are not in it."""
        open_before, lists_before = self.open, self.lists
        self.open, self.lists = set(), set()
        for order in m['orders']:
            self.note(order)
        for order_list in m['lists']:
            self.note_list(order_list)
        return sorted(open_before - self.open), sorted(lists_before - self.lists)


_EPOCH = datetime.datetime(1970, 1, 1)


def _before(date: str) -> Optional[str]:
    """Returns the date that lies OVERLAP before a date of a fill or an order; None for an empty one."""
    if not date:
        return None
    whole, _, fraction = date.rstrip('Z').partition('.')
    at = datetime.datetime.strptime(whole + '.' + (fraction + '000000')[:6], '%Y-%m-%dT%H:%M:%S.%f')
    return _date(at - OVERLAP)


def _date(at: datetime.datetime) -> str:
    return at.strftime('%Y-%m-%dT%H:%M:%S.%f')
