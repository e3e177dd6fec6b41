"""The routes of the exchange, one method each."""

import decimal
import http.client
import json
import re
import ssl
import threading
import time
import urllib.parse
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from .errors import APIError
from .shapes import Amount, Balance, Fill, Order, OrderBody, OrderList
from .signing import credentials

MAX_ANSWER = 256 << 20  # bytes of one answer; a book of 100,000 levels has 5 MB
START_WAIT = 2  # seconds; directly after its start the exchange accepts no signed request for one, and carries out none
IDLE = 30.0  # seconds after which a kept connection is not used again

_DECIMALS = ('amount', 'price', 'quoteAmount', 'stopPrice', 'displayAmount')


def plain(value: Amount, name: str = 'the number') -> str:
    """Returns a decimal as the exchange reads it: text without an exponent. Errors name the argument."""
    if isinstance(value, float):
        raise TypeError('%s %r is a float, which has no exact digits: pass text or Decimal' % (name, value))
    if isinstance(value, bool) or not isinstance(value, (str, int, decimal.Decimal)):
        raise TypeError('%s %r is no number: pass text, int or Decimal' % (name, value))
    try:
        d = decimal.Decimal(value)
    except decimal.InvalidOperation:
        d = decimal.Decimal('NaN')
    if not d.is_finite():
        raise ValueError("%s %r is no number such as '0.001'" % (name, value))
    return format(d, 'f')


def _body(value: Any, where: str = '') -> Any:
    """Returns a body with the members that are given, decimals as text, also in lists and in members of members. Errors name
    a member with its place: commands[1].replace.price."""
    if isinstance(value, Mapping):
        return {name: plain(member, where + name) if name in _DECIMALS else _body(member, '%s%s.' % (where, name))
                for name, member in value.items() if member is not None}
    if isinstance(value, (list, tuple)):
        return [_body(member, '%s[%d].' % (where[:-1], i)) for i, member in enumerate(value)]
    return value


def order(side: str, amount: Optional[Amount] = None, price: Optional[Amount] = None, *, market: Optional[bool] = None,
          type: Optional[str] = None, quoteAmount: Optional[Amount] = None, stopPrice: Optional[Amount] = None,
          trailingDelta: Optional[int] = None, strictTrigger: Optional[bool] = None, timeInForce: Optional[str] = None,
          postOnly: Optional[bool] = None, displayAmount: Optional[Amount] = None,
          selfTradePrevention: Optional[str] = None, expireUnfilled: Optional[bool] = None,
          clientOrderId: Optional[str] = None, clientIdScope: Optional[str] = None, strategyId: Optional[int] = None,
          strategyType: Optional[int] = None, currencyPairCode: Optional[str] = None) -> OrderBody:
    """Returns an order for place_list and batch; place_order takes the same arguments.

    side: buy, sell. amount: in the base currency. price: of a limit order.
    market: True trades at the market's price at once. Without market and type it is a limit order, which needs a price.
    type: limit, market, and for orders that wait for stopPrice stop_limit, stop_market, take_profit_limit,
    take_profit_market.
    quoteAmount: instead of amount, in the quote currency, of orders at the market's price.
    trailingDelta: 10 to 2,000 basis points by which the trigger trails the market; stopPrice is optional then.
    strictTrigger: refuse the order (WOULD_TRIGGER) if it would trigger at once.
    timeInForce: gtc (default), ioc, fok. postOnly: refuse it (WOULD_CROSS) if it would trade at once.
    displayAmount: an iceberg, which shows this much at a time.
    selfTradePrevention: none, cancel_taker (default), cancel_maker, cancel_both, decrement.
    expireUnfilled: accept and cancel what the book cannot fill, where it would be refused.
    clientOrderId: a name of yours; a repeat gets the first order again, so a request may be sent twice.
    clientIdScope: recent (default), open: among which orders the name is unique. strategyId, strategyType: labels.
    currencyPairCode: of an order of a batch.
    """
    kind = type or 'limit'
    if price is None and not market and kind.endswith('limit'):
        instead = 'market=True' if kind == 'limit' else kind.replace('limit', 'market')
        raise ValueError("a %s order needs a price; %s trades at the market's price" % (kind, instead))
    return _body({
        'side': side, 'amount': amount, 'price': price, 'isMarket': market, 'type': type, 'quoteAmount': quoteAmount,
        'stopPrice': stopPrice, 'trailingDelta': trailingDelta, 'strictTrigger': strictTrigger, 'timeInForce': timeInForce,
        'postOnly': postOnly, 'displayAmount': displayAmount, 'selfTradePrevention': selfTradePrevention,
        'expireUnfilled': expireUnfilled, 'clientOrderId': clientOrderId, 'clientIdScope': clientIdScope,
        'strategyId': strategyId, 'strategyType': strategyType, 'currencyPairCode': currencyPairCode,
    })


def _part(value: Any) -> str:
    """Returns an id as a part of a path."""
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == '':
        raise TypeError("%r is no id: pass the text that place_order returns, or the 'id' of an order" % (value,))
    return urllib.parse.quote(str(value), safe='')


_CLIENT_ID = re.compile('[A-Za-z0-9_.:-]{1,64}')


def address(base: str) -> urllib.parse.SplitResult:
    """Returns the parts of the address of an exchange. Errors: ValueError for one that has more than a host and a port."""
    parts = urllib.parse.urlsplit(base.rstrip('/'))
    if parts.scheme not in ('http', 'https') or not parts.hostname or parts.path or parts.query:
        raise ValueError('%r must have the form http://HOST:PORT, without a path' % base)
    return parts


def key_pair(public_key: Optional[str], private_key: Optional[str]) -> Tuple[Optional[str], Optional[str]]:
    """Returns both keys without the spaces and line breaks around them. Errors: ValueError for one without the other."""
    if (public_key is None) != (private_key is None) or '' in (public_key, private_key):
        raise ValueError('public_key and private_key belong together: one of them is missing or empty')
    return public_key and public_key.strip(), private_key and private_key.strip()


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parse(text: bytes) -> Any:
    return json.loads(text, parse_float=decimal.Decimal)


class Client:
    """Calls one exchange. Only signed routes need the keys. It is not for several threads at a time (RuntimeError): each
    has its own.

    base: for example http://127.0.0.1:8080. timeout: seconds for one request. context: for https with a certificate of
    your own. now: the clock in seconds since 1970; an exchange with a virtual clock needs its time.

    Errors: every call raises APIError for an answer other than 2xx, and OSError or http.client.HTTPException when no
    answer comes, also while the exchange restarts. A change that got no answer may have been carried out: repeat it with the
    same clientOrderId.
    """

    def __init__(self, base: str, public_key: Optional[str] = None, private_key: Optional[str] = None,
                 timeout: float = 30.0, context: Optional[ssl.SSLContext] = None,
                 now: Callable[[], float] = time.time) -> None:
        self.base = address(base)
        self.public_key, self.private_key = key_pair(public_key, private_key)
        self.timeout, self.now = timeout, now
        self.context = context or (ssl.create_default_context() if self.base.scheme == 'https' else None)
        self.connection: Optional[http.client.HTTPConnection] = None
        self.used = 0.0
        self.busy = threading.Lock()  # a request is under way
        self.headers: Dict[str, str] = {}  # of the last answer, by lower-case name

    @classmethod
    def from_key_file(cls, base: str, file: str, **options: Any) -> 'Client':
        """Returns a client with the key of a file that `tickhive demo-key FILE` wrote. options: the other arguments."""
        with open(file, encoding='utf-8') as f:
            text = f.read()
        try:
            key = json.loads(text)
            public, private = key['publicKey'], key['privateKey']
        except (ValueError, KeyError, TypeError) as e:
            raise ValueError('%s is no key file: it must have the JSON that `tickhive demo-key FILE` writes, an object with '
                             'publicKey and privateKey (%r)' % (file, e)) from None
        return cls(base, public, private, **options)

    def request(self, method: str, path: str, query: Optional[Mapping[str, Any]] = None, body: Any = None,
                signed: bool = False) -> Any:
        """Sends one request and returns the decoded answer; APIError for a status other than 2xx."""
        given = {k: _word(v) for k, v in (query or {}).items() if v is not None}
        target = path + ('?' + urllib.parse.urlencode(given) if given else '')
        raw = b'' if body is None else json.dumps(body, separators=(',', ':')).encode()
        if not self.busy.acquire(blocking=False):
            raise RuntimeError('%s %s: another thread uses this client: give each thread a client of its own' % (method, path))
        try:
            status, answer = self._once(method, target, raw, signed)
            wait = int(self.headers.get('retry-after', 0)) if status == 401 else 0
            if 0 < wait <= START_WAIT:
                time.sleep(wait)
                status, answer = self._once(method, target, raw, signed)
        finally:
            self.busy.release()
        if 200 <= status < 300:
            return _parse(answer)
        seconds = self.headers.get('retry-after', '')
        after = int(seconds) if seconds.isdigit() else None
        try:
            e = json.loads(answer)
            raise APIError(status, e['code'], e['message'], e.get('field'), e.get('requestId'), after)
        except (ValueError, KeyError, TypeError):
            text = answer[:200].decode('utf-8', 'replace')
        if text.startswith('{"code":-'):
            text += ' (this is the Binance-compatible listener: this client talks to the other address of the exchange)'
        raise APIError(status, None, text, retry_after=after)

    def _headers(self, method: str, target: str, raw: bytes, signed: bool) -> Dict[str, str]:
        headers = {'Content-Type': 'application/json'} if raw else {}
        if signed:
            if self.public_key is None or self.private_key is None:
                raise ValueError('%s %s needs the keys of the client' % (method, target))
            stamp, nonce, signature = credentials(self.public_key, self.private_key, method, target, raw, self.now)
            headers.update({
                'API-PublicKey': self.public_key, 'API-Timestamp': stamp, 'API-Nonce': nonce, 'API-Signature': signature})
        return headers

    def _once(self, method: str, target: str, raw: bytes, signed: bool) -> Tuple[int, bytes]:
        # The server closes idle connections. A GET on a kept connection that turns out to be closed
        # is repeated, signed again; anything else is not, because it may have arrived.
        if self.connection is not None and time.monotonic() - self.used > IDLE:
            self.close()
        while True:
            kept = self.connection is not None
            try:
                return self._send(method, target, raw, self._headers(method, target, raw, signed))
            except (http.client.HTTPException, OSError):
                self.close()
                if not kept or method != 'GET':
                    raise

    def _send(self, method: str, target: str, raw: bytes, headers: Dict[str, str]) -> Tuple[int, bytes]:
        connection = self.connection = self.connection or self._connect()
        connection.request(method, target, raw or None, headers)
        response = connection.getresponse()
        answer = response.read(MAX_ANSWER + 1)
        if len(answer) > MAX_ANSWER:
            self.close()
            raise ValueError('the answer of %s has more than %d bytes' % (target, MAX_ANSWER))
        if response.length:  # read does not say that the rest is missing
            raise http.client.IncompleteRead(answer, response.length)
        self.used = time.monotonic()
        self.headers = {k.lower(): v for k, v in response.getheaders()}
        return response.status, answer

    def _connect(self) -> http.client.HTTPConnection:
        host = self.base.hostname or ''
        if self.context:
            return http.client.HTTPSConnection(host, self.base.port, timeout=self.timeout, context=self.context)
        return http.client.HTTPConnection(host, self.base.port, timeout=self.timeout)

    def close(self) -> None:
        """Closes the connection; the next request opens another one."""
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def _signed(self, method: str, path: str, query: Optional[Mapping[str, Any]] = None, body: Any = None) -> Any:
        return self.request(method, path, query, body, signed=True)

    # Market data

    def time(self) -> int:
        """Returns the time of the exchange's clock in Unix ms."""
        return self.request('GET', '/api/time')['serverTime']

    def pairs(self) -> List[Dict[str, Any]]:
        """Returns the settings of all pairs: code, digitsPrice and digitsAmount (the fractional digits that prices and
        amounts of an order may have), minQuoteAmount (price x amount, None: no limit)."""
        return self.request('GET', '/api/currencies/pairs')

    def ticker(self, pair: str) -> Dict[str, Any]:
        """Returns price, bidPrice, askPrice and the figures of 24 hours."""
        return self.request('GET', '/api/tickers', {'currencyPairCode': pair})

    def summary(self) -> List[Dict[str, Any]]:
        """Returns the 24 hours of all pairs."""
        return self.request('GET', '/api/summary')

    def order_book(self, pair: str, depth: int = 100) -> Dict[str, Any]:
        """Returns depth/2 levels [price, amount] a side (0: all) in bids and asks, best first, with seq."""
        book = self.request('GET', '/api/marketdata/getaggregator/orderbook', {'ticker_id': pair, 'depth': depth})
        book['seq'] = int(self.headers['x-seq'])
        return book

    def deals(self, pair: str, page: int = 1, size: int = 100, since: Optional[str] = None,
              end: Optional[str] = None) -> List[Dict[str, Any]]:
        """Returns a page of the pair's trades, newest first; since and end are dates in UTC, both included."""
        return self.request('GET', '/api/deals', {
            'currencyPairCode': pair, 'pageNumber': page, 'pageSize': size, 'sinceDate': since, 'endDate': end})

    def candles(self, pair: str, interval: str, start: str, end: str) -> List[Dict[str, Any]]:
        """Returns at most 1,000 candles from start on; interval is minute, minutes5, hour, day and so on."""
        return self.request('GET', '/api/ohlc', {
            'currencyPairCode': pair, 'interval': interval, 'start': start, 'end': end})

    # Orders

    def place_order(self, pair: str, side: str, amount: Optional[Amount] = None, price: Optional[Amount] = None, *,
                    market: Optional[bool] = None, type: Optional[str] = None, quoteAmount: Optional[Amount] = None,
                    stopPrice: Optional[Amount] = None, trailingDelta: Optional[int] = None,
                    strictTrigger: Optional[bool] = None, timeInForce: Optional[str] = None,
                    postOnly: Optional[bool] = None, displayAmount: Optional[Amount] = None,
                    selfTradePrevention: Optional[str] = None, expireUnfilled: Optional[bool] = None,
                    clientOrderId: Optional[str] = None, clientIdScope: Optional[str] = None,
                    strategyId: Optional[int] = None, strategyType: Optional[int] = None) -> str:
        """Places an order and returns its id; Client.order(id) reads what became of it. order() explains the arguments.

        x.place_order('BTC_USDT', 'buy', amount='0.01', market=True)
        x.place_order('BTC_USDT', 'sell', amount='0.01', type='stop_market', stopPrice='60000')

        Errors: the reasons of docs/contract/errors.md, for example INSUFFICIENT_FUNDS, BELOW_MIN_QUOTE_AMOUNT.
        """
        return self._signed('POST', '/api/orders', body=order(
            side, amount, price, market=market, type=type, quoteAmount=quoteAmount, stopPrice=stopPrice,
            trailingDelta=trailingDelta, strictTrigger=strictTrigger, timeInForce=timeInForce, postOnly=postOnly,
            displayAmount=displayAmount, selfTradePrevention=selfTradePrevention, expireUnfilled=expireUnfilled,
            clientOrderId=clientOrderId, clientIdScope=clientIdScope, strategyId=strategyId, strategyType=strategyType,
            currencyPairCode=pair))

    def change_order(self, order: str, amount: Optional[Amount] = None, price: Optional[Amount] = None, *,
                     stopPrice: Optional[Amount] = None, trailingDelta: Optional[int] = None,
                     keepPriority: Optional[bool] = None, clientOrderId: Optional[str] = None,
                     clientIdScope: Optional[str] = None) -> Order:
        """Changes price or total amount of an order, stopPrice and trailingDelta of one that waits, and returns it.

        keepPriority: amount alone, smaller than before; the order keeps its place in the queue, and may get another
        clientOrderId.

        Errors: ORDER_CLOSED, AMEND_NOT_SMALLER, TOO_MANY_AMENDS, and those of place_order.
        """
        return self._signed('PATCH', '/api/orders/' + _part(order), body=_body({
            'amount': amount, 'price': price, 'stopPrice': stopPrice, 'trailingDelta': trailingDelta,
            'keepPriority': keepPriority, 'clientOrderId': clientOrderId, 'clientIdScope': clientIdScope}))

    def cancel_order(self, order: str, only_if: Optional[str] = None) -> Order:
        """Cancels an order and returns its last state; with only_if 'new' or 'partial' only if it has no deal yet, or has
        one (else CANCEL_RESTRICTED). An order of a list ends all of it. Errors: NOT_FOUND, ORDER_CLOSED."""
        return self._signed('DELETE', '/api/orders/' + _part(order), {'onlyIf': only_if})

    def cancel_order_by_client_id(self, pair: str, client_id: str, only_if: Optional[str] = None) -> Order:
        """Cancels the order of the pair with this clientOrderId."""
        return self._signed('DELETE', _by_client_id('/api/orders', pair, client_id), {'onlyIf': only_if})

    def cancel_all(self, pair: Optional[str] = None) -> int:
        """Cancels the open orders of a pair, without one of all pairs that are not halted, and returns their number."""
        if pair is not None and (pair == '' or not isinstance(pair, str)):
            raise ValueError('%r is no pair: pass its code, or nothing to cancel the orders of all pairs' % (pair,))
        return self._signed('DELETE', '/api/orders', {
            'currencyPairCode': pair, 'all': None if pair else True})['canceled']

    def cancel_all_after(self, timeout_ms: int) -> Optional[str]:
        """Sets the dead man's switch of the account: unless it is set again within timeout_ms (1,000 to 86,400,000), all
        open orders are canceled. 0 turns it off. Returns the date at which it fires, None when it is off."""
        return self._signed('POST', '/api/orders/cancel-all-after', body={'timeoutMs': timeout_ms})['firesAt']

    def order(self, order: str) -> Order:
        """Returns an order with its deals. Errors: NOT_FOUND."""
        return self._signed('GET', '/api/orders/%s/deals' % _part(order))

    def order_by_client_id(self, pair: str, client_id: str) -> Order:
        """Returns the order of the pair with this clientOrderId. Errors: NOT_FOUND."""
        return self._signed('GET', _by_client_id('/api/orders', pair, client_id))

    def amendments(self, order: str) -> List[Dict[str, Any]]:
        """Returns the changes that kept the order's place in the queue, oldest first."""
        return self._signed('GET', '/api/orders/%s/amendments' % _part(order))

    def orders(self, pair: Optional[str] = None, status: str = 'active', since: Optional[str] = None,
               end: Optional[str] = None) -> Iterator[Order]:
        """Yields all orders of a status, newest first; since and end bound the date at which they were placed.

        status: active, completed, canceled, ended (completed or canceled), all."""
        return self._pages('/api/user/orders', {
            'currencyPairCode': pair, 'status': status, 'sinceDate': since, 'endDate': end})

    def fills(self, pair: Optional[str] = None, order: Optional[str] = None, since: Optional[str] = None,
              end: Optional[str] = None) -> Iterator[Fill]:
        """Yields all fills, newest first; since and end are dates in UTC, both included."""
        return self._pages('/api/user/deals', {
            'currencyPairCode': pair, 'orderId': order, 'sinceDate': since, 'endDate': end})

    def prevented_matches(self, pair: str, first: Optional[int] = None) -> List[Dict[str, Any]]:
        """Returns at most 100 matches that self-trade prevention has prevented, by their ids from first on."""
        return self._signed('GET', '/api/user/prevented-matches', {'currencyPairCode': pair, 'from': first})

    # Order lists

    def place_list(self, kind: str, pair: str, orders: Sequence[OrderBody], *, clientOrderId: Optional[str] = None,
                   clientIdScope: Optional[str] = None) -> OrderList:
        """Places a list of a kind (oco, oto, otoco, opo, opoco), whole or not at all, and returns it. The orders are made
        by order(): two, or three of an otoco and opoco, the working order first."""
        return self._signed('POST', '/api/orders/lists', body=_body({
            'kind': kind, 'currencyPairCode': pair, 'orders': list(orders), 'clientOrderId': clientOrderId,
            'clientIdScope': clientIdScope}))

    def cancel_list(self, order_list: str) -> OrderList:
        """Cancels all orders of a list and returns its last state. Errors: NOT_FOUND, ORDER_CLOSED."""
        return self._signed('DELETE', '/api/orders/lists/' + _part(order_list))

    def cancel_list_by_client_id(self, pair: str, client_id: str) -> OrderList:
        """Cancels all orders of the newest list of the pair with this clientOrderId."""
        return self._signed('DELETE', _by_client_id('/api/orders/lists', pair, client_id))

    def list(self, order_list: str) -> OrderList:
        """Returns a list with its orders. Errors: NOT_FOUND."""
        return self._signed('GET', '/api/orders/lists/' + _part(order_list))

    def list_by_client_id(self, pair: str, client_id: str) -> OrderList:
        """Returns the newest list of the pair with this clientOrderId."""
        return self._signed('GET', _by_client_id('/api/orders/lists', pair, client_id))

    def lists(self, status: str = 'executing', pair: Optional[str] = None) -> Iterator[OrderList]:
        """Yields all lists of a status (executing, done, all), newest first."""
        return self._pages('/api/user/lists', {'currencyPairCode': pair, 'status': status})

    def batch(self, commands: Sequence[Mapping[str, Any]]) -> List[Dict[str, Any]]:
        """Carries out up to 100 commands in order and returns a result for each.

        A command is {'place': order(..., currencyPairCode=pair)}, {'placeList': {'kind', 'currencyPairCode', 'orders'}},
        {'cancel': {'orderId': id}} or {'replace': {'orderId': id, 'price': '9'}}. A result is the order or the list; of a
        command that was refused it has status 'Rejected' and rejectReason. A refusal ends its own command alone.
        """
        return self._signed('POST', '/api/orders/batch', body=_body({'commands': list(commands)}))['results']

    def _pages(self, path: str, query: Mapping[str, Any], size: int = 100) -> Iterator[Any]:
        cursor: Optional[str] = None
        while True:
            rows = self._signed('GET', path, dict(query, cursor=cursor, pageSize=size))
            cursor = self.headers.get('x-next-cursor')
            yield from rows
            if cursor is None:
                return

    def balances(self) -> Dict[str, Balance]:
        """Returns the balances that are not zero, by currency: free, held and total."""
        rows = self._signed('GET', '/api/wallets/balances')['balances']
        return {row['currencyCode']: row for row in rows}


def _by_client_id(path: str, pair: str, client_id: str) -> str:
    if not isinstance(client_id, str) or not _CLIENT_ID.fullmatch(client_id):
        raise ValueError('%r is no clientOrderId, which has 1 to 64 of A-Z a-z 0-9 _ . : -' % (client_id,))
    return '%s/by-client-id/%s/%s' % (path, _part(pair), _part(client_id))
